//! The host as it is described to the derivation: which system, which homes, which variables. Plain data, read once from
//! an environment that is passed in; nothing here looks at a file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The operating system whose known places apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux.
    Linux,
    /// macOS.
    MacOs,
}

impl System {
    /// The system this program was built for; every other Unix counts as Linux.
    pub fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// A toolchain variable. A launcher carries each to the engine as `OPENAGENTS_TOOLCHAIN_<NAME>`, which then wins over the
/// process's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// `CARGO_HOME`
    CargoHome,
    /// `RUSTUP_HOME`
    RustupHome,
    /// `NVM_DIR`
    NvmDir,
    /// `PYENV_ROOT`
    PyenvRoot,
    /// `GOPATH`, a list
    GoPath,
    /// `GOROOT`
    GoRoot,
    /// `BUN_INSTALL`
    BunInstall,
    /// `DENO_INSTALL`
    DenoInstall,
    /// `DENO_DIR`
    DenoDir,
    /// `DEVELOPER_DIR`
    DeveloperDir,
}

impl Variable {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::CargoHome,
        Self::RustupHome,
        Self::NvmDir,
        Self::PyenvRoot,
        Self::GoPath,
        Self::GoRoot,
        Self::BunInstall,
        Self::DenoInstall,
        Self::DenoDir,
        Self::DeveloperDir,
    ];

    /// Its name in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::CargoHome => "CARGO_HOME",
            Self::RustupHome => "RUSTUP_HOME",
            Self::NvmDir => "NVM_DIR",
            Self::PyenvRoot => "PYENV_ROOT",
            Self::GoPath => "GOPATH",
            Self::GoRoot => "GOROOT",
            Self::BunInstall => "BUN_INSTALL",
            Self::DenoInstall => "DENO_INSTALL",
            Self::DenoDir => "DENO_DIR",
            Self::DeveloperDir => "DEVELOPER_DIR",
        }
    }
}

/// A host, as far as the derivation asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The operating system.
    pub system: System,
    /// `HOME`. Known places in the home directory are looked for here, else in `account_home`.
    pub home: Option<PathBuf>,
    /// The home directory in the account database. Never granted, like `home`.
    pub account_home: Option<PathBuf>,
    /// The person's `PATH`, unchecked.
    pub path: OsString,
    /// The toolchain variables that are set. A value that is not absolute counts as not set.
    pub variables: BTreeMap<Variable, OsString>,
    /// What commands must not see, such as the task store.
    pub sealed: Vec<PathBuf>,
    /// The repository's common Git directory: granted itself, and sealed against anything wider.
    pub git_directory: Option<PathBuf>,
    /// The commands' private scratch, where macOS keeps its lookup cache.
    pub scratch: Option<PathBuf>,
}

impl Described {
    /// Describes a host by its environment; an empty variable counts as not set. Nothing is sealed yet.
    pub fn read(system: System, account_home: Option<PathBuf>, environment: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let carried = |name: &str| set(&format!("OPENAGENTS_TOOLCHAIN_{name}")).or_else(|| set(name));
        Self {
            system,
            home: set("HOME").map(PathBuf::from),
            account_home,
            path: carried("PATH").unwrap_or_default(),
            variables: Variable::ALL
                .into_iter()
                .filter_map(|variable| Some((variable, carried(variable.name())?)))
                .collect(),
            sealed: Vec::new(),
            git_directory: None,
            scratch: None,
        }
    }

    /// A variable's value, if it is an absolute path.
    pub(super) fn variable(&self, variable: Variable) -> Option<PathBuf> {
        self.variables
            .get(&variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    /// The homes that are absolute paths, `HOME` first.
    pub(super) fn homes(&self) -> impl Iterator<Item = &Path> {
        [&self.home, &self.account_home]
            .into_iter()
            .filter_map(|home| home.as_deref())
            .filter(|home| home.is_absolute())
    }
}
