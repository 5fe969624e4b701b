//! Where the environment of a run's commands comes from, as it is recorded: source, shell, `PATH` and names. Values may be
//! secrets and are never written down.

use coder_boundary::toolchains::Toolchains;
use coder_digest::BytePath;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The derived toolchains, for access `toolchains`.
    Toolchains,
    /// The account's login shell, for full access.
    LoginShell,
    /// What is usual, because the shell did not say.
    Fallback {
        /// Why it did not.
        reason: String,
    },
}

impl Origin {
    fn word(&self) -> &'static str {
        match self {
            Self::Toolchains => "toolchains",
            Self::LoginShell => "login_shell",
            Self::Fallback { .. } => "fallback",
        }
    }
}

/// An environment, of which only the names are shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CommandEnvironment {
    origin: Origin,
    shell: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
}

impl CommandEnvironment {
    /// In the order of the names; of one name the last counts.
    pub(crate) fn new(origin: Origin, shell: Option<&Path>, variables: Vec<(OsString, OsString)>) -> Self {
        let ordered: std::collections::BTreeMap<OsString, OsString> = variables.into_iter().collect();
        Self {
            origin,
            shell: shell.map(Path::to_owned),
            variables: ordered.into_iter().collect(),
        }
    }

    /// What commands get beside what every command has.
    pub(crate) fn of_toolchains(derived: &Toolchains) -> Self {
        let path = (OsString::from("PATH"), derived.path_variable());
        let others = derived.environment.iter();
        let others = others.map(|(name, place)| (OsString::from(name), place.clone().into_os_string()));
        Self::new(Origin::Toolchains, None, std::iter::once(path).chain(others).collect())
    }

    /// The variables with their values.
    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    fn path(&self) -> &OsStr {
        let path = self.variables.iter().find(|(name, _)| name == "PATH");
        path.map_or(OsStr::new(""), |(_, value)| value)
    }
}

impl fmt::Debug for CommandEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.variables.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("CommandEnvironment")
            .field("origin", &self.origin)
            .field("shell", &self.shell)
            .field("path", &self.path())
            .field("variables", &names)
            .finish()
    }
}

impl Serialize for CommandEnvironment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_map(None)?;
        record.serialize_entry("source", self.origin.word())?;
        if let Origin::Fallback { reason } = &self.origin {
            record.serialize_entry("reason", reason)?;
        }
        if let Some(shell) = &self.shell {
            record.serialize_entry("shell", &BytePath::from(shell.as_path()))?;
        }
        record.serialize_entry("path", &BytePath::from(Path::new(self.path())))?;
        let names: Vec<BytePath> = self.variables.iter().map(|(name, _)| Path::new(name).into()).collect();
        record.serialize_entry("variables", &names)?;
        record.end()
    }
}
