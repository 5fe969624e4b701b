//! `microcoder repository`: the exact grant, in the foreground or in a session of its own.

use crate::arguments::RepositoryArguments;
use crate::commands::granted::Granted;
use crate::output::Failure;
use coder_host::Carrying;
use std::io::Read as _;
use std::path::Path;

/// One byte more than a grant may have, so that a longer one is seen to be too long.
const READ_BYTES: u64 = 64 * 1024 + 1;
const REFUSED: u8 = 2;

pub(crate) fn repository(arguments: &RepositoryArguments) -> Result<u8, Failure> {
    run(arguments).map_err(Failure::flat)
}

fn run(arguments: &RepositoryArguments) -> Result<u8, Failure> {
    let store = arguments.store.as_deref();
    let granted = Granted::read(Carrying::Repository, &arguments.grant, store, REFUSED)?;
    if arguments.detach {
        return granted.detached("microcoder", &["repository"]);
    }
    granted.foreground(|error| Failure::of_run(error, REFUSED))
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
