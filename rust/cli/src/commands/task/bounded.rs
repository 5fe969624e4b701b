//! `coder task execute` and `coder task start`: one bounded-command grant, in the foreground or in a session of its own.

use super::{REFUSED, refused};
use crate::arguments::GrantFile;
use crate::output::{self, Failure};
use crate::progress::{Display, Show};
use crate::surroundings;
use coder_host::{BoundedRun, Carrying, DetachedStart, Progress, run_bounded, start_detached};
use std::path::Path;

pub(super) fn execute(arguments: &GrantFile) -> Result<u8, Failure> {
    let grant = crate::commands::repository::read(&arguments.grant, "read_grant", REFUSED)?;
    let store = surroundings::store(arguments.store.store.as_deref(), REFUSED)?;
    let controller = surroundings::controller()?;
    let mut display = Display::new(Show::Terminal);
    let mut watcher = |progress: &Progress<'_>| display.show(progress);
    let run = BoundedRun {
        grant: &grant,
        store: &store,
        clock: surroundings::clock(),
        cancel: surroundings::cancel_on_signals()?,
        environment: &surroundings::environment,
        controller: &controller,
    };
    let task = run_bounded(run, &mut watcher).map_err(refused)?;
    drop(display);
    output::json(&task)?;
    Ok(0)
}

pub(super) fn start(arguments: &GrantFile) -> Result<u8, Failure> {
    if arguments.grant == Path::new("-") {
        let message = "a detached start needs the grant in a file, not on standard input";
        return Err(Failure::new("configuration", message, REFUSED));
    }
    let grant = crate::commands::repository::read(&arguments.grant, "read_grant", REFUSED)?;
    let store = surroundings::store(arguments.store.store.as_deref(), REFUSED)?;
    let start = DetachedStart {
        grant: &grant,
        store: &store,
        carrying: Carrying::BoundedCommand,
        name: "coder".into(),
        words: vec!["task".into(), "execute".into()],
        clock: surroundings::clock(),
        environment: &surroundings::environment,
    };
    output::json(&start_detached(&start).map_err(refused)?)?;
    Ok(0)
}
