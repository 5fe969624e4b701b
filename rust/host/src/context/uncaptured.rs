//! Instruction files that lie in the repository and are not given to the model: those of other tools' names, and `AGENTS.md`
//! files of directories that no target leads to. Listed, so that nobody has to guess why a rule was not followed; never read.

use super::Instruction;
use super::instructions::FILE;
use coder_workspace::{Kind, Snapshot};
use serde::Serialize;
use std::collections::HashSet;

/// The most paths that are listed.
const LISTED: usize = 64;

/// File names that tools read as instructions, in lower case.
const NAMES: [&str; 15] = [
    "agents.md",
    "agents.override.md",
    "agent.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    "warp.md",
    "crush.md",
    "conventions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
    ".rules",
];

/// Directories whose files are instructions, and the files that are always at one place.
const PLACES: [&str; 6] = [
    ".cursor/rules/",
    ".windsurf/rules/",
    ".clinerules/",
    ".github/instructions/",
    ".github/copilot-instructions.md",
    ".junie/guidelines.md",
];

/// Directories of somebody else's files, which nobody means to be followed here.
const FOREIGN: [&str; 4] = [".git", "node_modules", ".venv", "target"];

/// What was seen and not captured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Uncaptured {
    /// The first paths, in the order of the snapshot; at most 64.
    pub paths: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl Uncaptured {
    /// Looks through the names of a snapshot.
    pub(crate) fn find(source: &Snapshot, captured: &[Instruction]) -> Self {
        let captured: HashSet<&str> = captured.iter().map(|file| file.path.as_str()).collect();
        let mut found = Self::default();
        for entry in source.entries() {
            let is_file = match entry.kind {
                Kind::File { .. } | Kind::Symlink { .. } => true,
                Kind::Directory | Kind::Other { .. } => false,
            };
            // A name that is no text is none of the names looked for.
            let Ok(path) = std::str::from_utf8(entry.path.as_bytes()) else {
                continue;
            };
            if !is_file || captured.contains(path) || !is_instruction(path) {
                continue;
            }
            if found.paths.len() < LISTED {
                found.paths.push(path.to_owned());
            } else {
                found.more += 1;
            }
        }
        found
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// A sentence for the trace; empty where nothing was left out.
    pub(crate) fn note(&self) -> String {
        match self.paths.len() + self.more {
            0 => String::new(),
            1 => format!(" One instruction file is not captured: only {FILE} on the way to a target is."),
            count => format!(" {count} instruction files are not captured: only {FILE} on the way to a target is."),
        }
    }
}

fn is_instruction(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    if directories.split('/').any(|directory| FOREIGN.contains(&directory)) {
        return false;
    }
    let named = NAMES.contains(&name.to_ascii_lowercase().as_str());
    let placed = PLACES.iter().any(|place| match place.strip_suffix('/') {
        Some(_) => path.starts_with(place),
        None => path == *place,
    });
    named || placed
}

#[cfg(test)]
#[path = "uncaptured_tests.rs"]
mod tests;
