//! Why no decision requests are made, and the judge that says so at every step. Judgments are advisory; without them the
//! loop runs as before (specification, "Prepare the request and grant").

use crate::confine::Environment;
use coder_agent::{Cost, Judge, JudgeState, Judgment, NO_JUDGE_NOTE};
use std::path::PathBuf;

/// Why this run asks for no decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// This computer has no key.
    NoKey,
    /// It has one, and this version has no client for it.
    NoClient,
}

/// Looks where a key would be: the variable, then the file in the home directory. Never reads the key itself.
pub(crate) fn unavailable_reason(environment: &Environment<'_>) -> Unavailable {
    let variable = environment("TYPESAFE_API_KEY").is_some_and(|key| !key.is_empty());
    let home = environment("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let file = home.is_some_and(|home| home.join(".openagents/jev.json").is_file());
    if variable || file {
        Unavailable::NoClient
    } else {
        Unavailable::NoKey
    }
}

impl Unavailable {
    /// The stable word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::NoKey => "no_key",
            Self::NoClient => "no_client",
        }
    }

    /// The sentence.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::NoKey => NO_JUDGE_NOTE,
            Self::NoClient => "this version makes no decision requests, although this computer has a Jev key",
        }
    }
}

impl Judge for Unavailable {
    fn judge(&mut self, _state: &JudgeState) -> Judgment {
        Judgment::unavailable(self.note(), Cost::FREE)
    }
}
