//! What the tools take from the process they run in: environment, clock, executable, random bytes, signals. Read here
//! and passed on as values, so that nothing below this crate looks for itself.

use crate::output::Failure;
use coder_digest::{Clock, SystemClock};
use coder_host::{Colours, Screen};
use coder_process::{Cancel, Reason};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

pub(crate) fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(crate) fn controller() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::new("configuration", format!("this program has no path: {error}"), 2))
}

pub(crate) fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(
            "configuration",
            format!("the current directory cannot be used: {error}"),
            2,
        )
    })
}

pub(crate) fn entropy<const BYTES: usize>() -> Result<[u8; BYTES], Failure> {
    let mut bytes = [0; BYTES];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map(|()| bytes)
        .map_err(|error| Failure::new("io", format!("could not read random bytes: {error}"), 1))
}

/// The store that was named, else the one in the home directory. A relative one counts from the current directory.
pub(crate) fn store(named: Option<&Path>, status: u8) -> Result<PathBuf, Failure> {
    match named {
        Some(path) if path.is_absolute() => Ok(without_steps(path)),
        Some(path) => Ok(without_steps(&here()?.join(path))),
        None => match environment("HOME").filter(|home| Path::new(home).is_absolute()) {
            Some(home) => Ok(coder_host::default_store(Path::new(&home))),
            None => Err(Failure::new(
                "configuration",
                "HOME is not set: name the store with --store",
                status,
            )),
        },
    }
}

/// The path without `.` and `..`, which nothing that is pinned may have. What is above the last `..` must be there to be
/// looked at, since it may be a link; where it is not, the path stays, and whoever uses it says what is missing. The name of
/// the store itself is never followed.
fn without_steps(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return parts.iter().collect();
    };
    let (above, beneath) = parts.split_at(last + 1);
    match above.iter().collect::<PathBuf>().canonicalize() {
        Ok(above) => above.join(beneath.iter().collect::<PathBuf>()),
        Err(_) => path.to_owned(),
    }
}

/// What text on standard output is made for. Colours are off where `NO_COLOR` says so, and on a terminal that has none.
pub(crate) fn screen() -> Screen {
    let width = terminal_size::terminal_size_of(std::io::stdout()).map_or(80, |(width, _)| usize::from(width.0));
    let plain = environment("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = environment("TERM").is_none_or(|kind| kind == "dumb");
    Screen {
        // Below this a table is no help, whatever a terminal says of itself.
        width: width.max(20),
        colours: if plain || dumb { Colours::Off } else { Colours::On },
        now: clock().now(),
    }
}

/// A switch that interrupt and termination signals turn on, so that a run ends cleanly and says so.
pub(crate) fn cancel_on_signals() -> Result<Cancel, Failure> {
    Cancel::on_signals(Reason::Interrupted)
        .map_err(|error| Failure::new("signals", format!("could not watch for signals: {error}"), 2))
}
