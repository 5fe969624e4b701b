//! What carrying out a grant is given, of whichever kind it is. What is done with it is each kind's own.

use crate::admission::Asked;
use crate::confine::Environment;
use crate::grant::Grant;
use coder_digest::Clock;
use coder_journal::Store;
use coder_process::Cancel;
use std::path::Path;
use std::sync::Arc;

/// One grant that is to be carried out in the foreground.
pub struct GrantRun<'a> {
    /// The grant's exact bytes.
    pub grant: &'a [u8],
    /// The task store, which must exist.
    pub store: &'a Path,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Stops the run; a signal or a deadline of the caller turns it on.
    pub cancel: Cancel,
    /// The host's environment: a key's variable, and for `toolchains` access where the tools are.
    pub environment: &'a Environment<'a>,
    /// The running executable.
    pub controller: &'a Path,
}

impl GrantRun<'_> {
    /// What its admission compares the parsed grant with.
    pub(crate) fn asked<'a>(&'a self, grant: Grant, store: &'a Store) -> Asked<'a> {
        Asked {
            grant,
            store,
            environment: self.environment,
            controller: self.controller,
            clock: &self.clock,
            cancel: &self.cancel,
        }
    }
}
