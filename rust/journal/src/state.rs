//! The three words that say where a task stands (facts 1.6), each written the same in JSON and in the tables. What moves a task
//! from one to another is in `task` and `transition`.

use serde::{Deserialize, Serialize};

macro_rules! states {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// The state as written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            pub(crate) fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

states!(
    /// Where a task stands.
    Status {
        /// Waits for a grant.
        Queued = "queued",
        /// Dropped before it ran.
        Cancelled = "cancelled",
        /// An owner runs it.
        Running = "running",
        /// An owner runs it and was asked to stop.
        CancelRequested = "cancel_requested",
        /// Its run ended and nothing of it is left.
        Finished = "finished",
        /// Its owner is gone, or something of it may still run.
        Unknown = "unknown",
    }
);

states!(
    /// How the run went.
    Execution {
        /// No run yet.
        NotStarted = "not_started",
        /// Running.
        Running = "running",
        /// Ended with exit code 0.
        Finished = "finished",
        /// Ended otherwise.
        Failed = "failed",
        /// Stopped on request.
        Stopped = "stopped",
        /// Not known.
        Unknown = "unknown",
    }
);

states!(
    /// What the independent checks say.
    Checks {
        /// Not run.
        NotRun = "not_run",
        /// Running.
        Running = "running",
        /// All passed.
        Passed = "passed",
        /// One failed.
        Failed = "failed",
        /// No verdict could be reached.
        Unavailable = "unavailable",
        /// There is a verdict, but of a request that was corrected since.
        Disputed = "disputed",
    }
);
