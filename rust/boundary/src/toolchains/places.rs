//! Where each toolchain of the described host is installed: its variable, else its usual place in the home directory.
//! Whether anything is there is asked later.

use super::described::{Described, Variable};
use std::path::{Path, PathBuf};

/// The roots of the toolchains; `None` where neither a variable nor a home directory tells.
pub(super) struct Places {
    home: Option<PathBuf>,
    pub(super) cargo: Option<PathBuf>,
    pub(super) rustup: Option<PathBuf>,
    pub(super) nvm: Option<PathBuf>,
    pub(super) pyenv: Option<PathBuf>,
    pub(super) go: Vec<PathBuf>,
    pub(super) bun: Option<PathBuf>,
    pub(super) deno: Option<PathBuf>,
}

impl Places {
    pub(super) fn of(described: &Described) -> Self {
        let home = described.homes().next().map(Path::to_owned);
        let place = |variable, usual: &str| {
            described
                .variable(variable)
                .or_else(|| home.as_ref().map(|home| home.join(usual)))
        };
        let go = match described.variables.get(&Variable::GoPath) {
            Some(list) => std::env::split_paths(list).filter(|path| path.is_absolute()).collect(),
            None => home.iter().map(|home| home.join("go")).collect(),
        };
        Self {
            cargo: place(Variable::CargoHome, ".cargo"),
            rustup: place(Variable::RustupHome, ".rustup"),
            nvm: place(Variable::NvmDir, ".nvm"),
            pyenv: place(Variable::PyenvRoot, ".pyenv"),
            go,
            bun: place(Variable::BunInstall, ".bun"),
            deno: place(Variable::DenoInstall, ".deno"),
            home,
        }
    }

    /// A path in the home directory.
    pub(super) fn in_home(&self, relative: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(relative))
    }
}
