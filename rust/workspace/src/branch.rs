//! The name of a run's branch: always below `microcoder/`, one directory for each run, so that the directory of its
//! reference can be granted to the run and no other branch with it. Stricter than Git's own grammar.

use crate::Error;
use coder_digest::TaskId;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Where all branches of ours are.
const PREFIX: &str = "microcoder/";

/// `microcoder/<run>/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct BranchName(String);

impl BranchName {
    /// `microcoder/<task>/candidate`.
    ///
    /// # Errors
    /// [`Error::BranchName`] for the few task ids that Git takes in no branch name: with `..`, or ending in `.` or
    /// `.lock`.
    pub fn candidate(task: &TaskId) -> Result<Self, Error> {
        Self::new(format!("{PREFIX}{task}/candidate"))
    }

    /// Checks a name.
    ///
    /// # Errors
    /// [`Error::BranchName`] unless it is `microcoder/`, a run and a name, each of at most 128 letters, digits, `.`,
    /// `_` and `-`, as Git takes them.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        match fault(&name) {
            None => Ok(Self(name)),
            Some(reason) => Err(Error::BranchName { name, reason }),
        }
    }

    /// The short name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `refs/heads/…`.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// The reference's directory below the Git directory, shared with no branch of another run.
    pub(crate) fn reference_directory(&self) -> String {
        let run = self.0.rsplit_once('/').map_or(self.0.as_str(), |(run, _)| run);
        format!("refs/heads/{run}")
    }
}

fn fault(name: &str) -> Option<&'static str> {
    let Some(rest) = name.strip_prefix(PREFIX) else {
        return Some("it must begin with `microcoder/`");
    };
    let parts: Vec<&str> = rest.split('/').collect();
    if parts.len() != 2 {
        return Some("it must be `microcoder/`, a run and a name");
    }
    let character = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    for part in parts {
        if !(1..=128).contains(&part.len()) || !part.bytes().all(character) {
            return Some("each part is 1 to 128 letters, digits, `.`, `_` and `-`");
        }
        if part.starts_with(['.', '-']) || part.ends_with('.') || part.contains("..") {
            return Some("no part begins with `.` or `-`, ends with `.` or holds `..`");
        }
        if part.to_ascii_lowercase().ends_with(".lock") {
            return Some("no part ends with `.lock`");
        }
    }
    None
}

impl fmt::Display for BranchName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for BranchName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "branch_tests.rs"]
mod tests;
