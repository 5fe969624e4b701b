//! `microcoder repository`: the exact grant, in the foreground or in a session of its own.

use crate::arguments::RepositoryArguments;
use crate::output::{self, Failure};
use crate::progress::{Display, Show};
use crate::surroundings;
use coder_host::{Carrying, DetachedStart, Progress, RepositoryRun, run_repository, start_detached};
use std::io::Read as _;
use std::path::Path;

/// One byte more than a grant may have, so that a longer one is seen to be too long.
const READ_BYTES: u64 = 64 * 1024 + 1;

pub(crate) fn repository(arguments: &RepositoryArguments) -> Result<u8, Failure> {
    run(arguments).map_err(Failure::flat)
}

fn run(arguments: &RepositoryArguments) -> Result<u8, Failure> {
    let grant = read(&arguments.grant, "read_grant", 2)?;
    let store = surroundings::store(arguments.store.as_deref(), 2)?;
    if arguments.detach {
        let start = DetachedStart {
            grant: &grant,
            store: &store,
            carrying: Carrying::Repository,
            name: "microcoder".into(),
            words: vec!["repository".into()],
            clock: surroundings::clock(),
            environment: &surroundings::environment,
        };
        output::json(&start_detached(&start).map_err(|error| Failure::of(&error, 2))?)?;
        return Ok(0);
    }
    let controller = surroundings::controller()?;
    let mut display = Display::new(Show::Terminal);
    let mut watcher = |progress: &Progress<'_>| display.show(progress);
    let run = RepositoryRun {
        grant: &grant,
        store: &store,
        clock: surroundings::clock(),
        cancel: surroundings::cancel_on_signals()?,
        environment: &surroundings::environment,
        controller: &controller,
    };
    let task = run_repository(run, &mut watcher).map_err(|error| Failure::of_run(&error, 2))?;
    drop(display);
    output::json(&task)?;
    Ok(0)
}

/// A file's bytes up to the size of a grant or command; `-` is standard input.
pub(crate) fn read(path: &Path, code: &'static str, status: u8) -> Result<Vec<u8>, Failure> {
    read_at_most(READ_BYTES, path, code, status)
}

/// The first `most` bytes of the file, or of standard input for `-`.
pub(crate) fn read_at_most(most: u64, path: &Path, code: &'static str, status: u8) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let answer = if path == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    match answer {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::new(
            code,
            format!("could not read {}: {error}", path.display()),
            status,
        )),
    }
}
