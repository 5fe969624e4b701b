//! Where the Claude Code program is installed. Looks at places, in the order in which a person would expect them to count, and
//! asks the login shell for its `PATH` last; reads nothing of the program's own files.

use crate::error::Error;
use coder_process::{Command, Ending};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "claude";
/// Where package managers put programs for everybody.
const SYSTEM: [&str; 3] = ["/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin"];
/// How long a login shell may take to say its `PATH`.
const SHELL_TIME: Duration = Duration::from_secs(5);
/// What the login shell's answer begins with, since its start files may print, too.
const ANSWER: &[u8] = b"login-path=";

/// Finds the program: `CLAUDE_BIN`, `PATH`, then where its installers put it, then the login shell's `PATH`.
///
/// # Errors
/// [`Error::Program`] when it is nowhere, or `CLAUDE_BIN` names no program.
pub fn locate_claude(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    locate(environment, &SYSTEM)
}

fn locate(environment: &dyn Fn(&str) -> Option<OsString>, system: &[&str]) -> Result<PathBuf, Error> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(named) = set("CLAUDE_BIN").map(PathBuf::from) {
        return match is_program(&named) {
            true => Ok(named),
            false => Err(Error::Program {
                reason: format!(
                    "CLAUDE_BIN names {}, which is no program that can be run",
                    named.display()
                ),
            }),
        };
    }
    let path = set("PATH").unwrap_or_default();
    found(std::env::split_paths(&path))
        .or_else(|| found(places(&set, system)))
        .or_else(|| found(std::env::split_paths(&login_path(&set)?)))
        .ok_or_else(|| Error::Program {
            reason: "the Claude Code program was not found: install it, or name it with CLAUDE_BIN".to_owned(),
        })
}

fn found(directories: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let mut candidates = directories
        .into_iter()
        // A relative entry would mean another program in every directory.
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(NAME));
    candidates.find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    path.is_absolute()
        && path
            .metadata()
            .is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
}

/// Where installers and package managers put it.
fn places(set: &dyn Fn(&str) -> Option<OsString>, system: &[&str]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let home = set("HOME").map(PathBuf::from);
    let below = |path: &str| home.as_ref().map(|home| home.join(path));
    let named = |name: &str, otherwise: &str| set(name).map(PathBuf::from).or_else(|| below(otherwise));
    places.extend(below(".local/bin"));
    places.extend(below(".claude/local"));
    for prefix in ["NPM_CONFIG_PREFIX", "npm_config_prefix"] {
        places.extend(set(prefix).map(|prefix| PathBuf::from(prefix).join("bin")));
    }
    places.extend(below(".npm-global/bin"));
    places.extend(named("VOLTA_HOME", ".volta").map(|volta| volta.join("bin")));
    places.extend(named("BUN_INSTALL", ".bun").map(|bun| bun.join("bin")));
    places.extend(system.iter().map(PathBuf::from));
    if let Some(versions) = named("NVM_DIR", ".nvm").map(|nvm| nvm.join("versions/node")) {
        places.extend(newest_first(&versions));
    }
    places
}

/// The `bin` of each installed Node, the newest first.
fn newest_first(versions: &Path) -> Vec<PathBuf> {
    let number = |name: &OsStr| -> Option<Vec<u64>> {
        let text = name.to_str()?.strip_prefix('v')?;
        text.split('.').map(|part| part.parse().ok()).collect()
    };
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let mut found: Vec<(Vec<u64>, PathBuf)> = entries
        .filter_map(|entry| Some((number(&entry.file_name())?, entry.path().join("bin"))))
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The `PATH` of the person's login shell.
fn login_path(set: &dyn Fn(&str) -> Option<OsString>) -> Option<OsString> {
    let shell = set("SHELL").map(PathBuf::from).filter(|shell| shell.is_absolute())?;
    let variables = ["HOME", "USER", "LOGNAME", "PATH"];
    let variables = variables
        .into_iter()
        .filter_map(|name| Some((OsString::from(name), set(name)?)));
    let outcome = Command::new(shell)
        .arguments(["-l", "-c", "printf '\\nlogin-path=%s\\n' \"$PATH\""])
        .variables(variables)
        .deadline(SHELL_TIME)
        .capture(64 * 1024)
        .ok()?;
    match outcome.ending {
        Ending::Exited(0) => {}
        Ending::Exited(_)
        | Ending::Signalled(_)
        | Ending::Unknown
        | Ending::DeadlineExceeded { .. }
        | Ending::Cancelled { .. }
        | Ending::OutputLimit { .. }
        | Ending::Stopped { .. } => return None,
    }
    let lines = outcome.stdout.head.split(|byte| *byte == b'\n');
    let answer = lines.filter_map(|line| line.strip_prefix(ANSWER)).next_back()?;
    Some(OsStr::from_bytes(answer).to_owned())
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
