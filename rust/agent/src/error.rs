//! What this crate refuses: a limit that would switch a guard off, a reply that is not the action asked for. Everything
//! else that can go wrong in a run is an [`crate::Ending`], not an error.

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A limit below its least value.
    #[error("the limit `{field}` is {value}; it must be at least {least}")]
    Limit {
        /// The limit's name.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The least value allowed.
        least: u64,
    },
    /// The reply holds no JSON object.
    #[error("the reply holds no JSON object")]
    NoObject,
    /// The reply's JSON object is not the action asked for.
    #[error("the reply is not the JSON object asked for: {reason}")]
    Reply {
        /// What is wrong with it.
        reason: String,
    },
    /// A script is too long.
    #[error("commands[{index}] has {bytes} bytes; a script has at most {limit}. Write long files in several commands")]
    ScriptTooLong {
        /// Its place in `commands`.
        index: usize,
        /// Its length.
        bytes: usize,
        /// The most allowed.
        limit: usize,
    },
    /// A script holds a NUL character.
    #[error("commands[{index}] holds a NUL character, which no shell script can")]
    ScriptNul {
        /// Its place in `commands`.
        index: usize,
    },
    /// Too many commands in one reply.
    #[error("the reply has {count} commands; at most {limit} are run in one step")]
    TooManyCommands {
        /// How many there are.
        count: usize,
        /// The most allowed.
        limit: usize,
    },
}

impl Error {
    /// The stable name of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Limit { .. } => "limit",
            Self::NoObject => "no_object",
            Self::Reply { .. } => "bad_reply",
            Self::ScriptTooLong { .. } => "script_too_long",
            Self::ScriptNul { .. } => "script_nul",
            Self::TooManyCommands { .. } => "too_many_commands",
        }
    }
}
