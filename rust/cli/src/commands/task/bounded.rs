//! `coder task execute` and `coder task start`: one bounded-command grant, in the foreground or in a session of its own.

use super::REFUSED;
use crate::arguments::GrantFile;
use crate::commands::granted::Granted;
use crate::output::Failure;
use coder_host::Carrying;
use std::path::Path;

pub(super) fn execute(arguments: &GrantFile) -> Result<u8, Failure> {
    granted(arguments)?.foreground(|error| Failure::of(error, REFUSED))
}

pub(super) fn start(arguments: &GrantFile) -> Result<u8, Failure> {
    if arguments.grant == Path::new("-") {
        let message = "a detached start needs the grant in a file, not on standard input";
        return Err(Failure::new("configuration", message, REFUSED));
    }
    granted(arguments)?.detached("coder", &["task", "execute"])
}

fn granted(arguments: &GrantFile) -> Result<Granted, Failure> {
    let store = arguments.store.store.as_deref();
    Granted::read(Carrying::BoundedCommand, &arguments.grant, store, REFUSED)
}
