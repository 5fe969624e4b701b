//! Words for a command that did not start because the kernel refused a part of its boundary: what to do about it, and what
//! could be had instead. Decides nothing: less is accepted only where the caller says so.

use crate::world;
use coder_boundary::{Ground, Level, Network};
use coder_process::Error;

/// The words, if the boundary was the reason.
pub(crate) fn words(error: &Error, network: &Network) -> Option<String> {
    let reason = match (coder_boundary::explain(error), error) {
        (Some(gap), _) => format!("{}: {}", world::chain(error), gap.layer.fix()),
        // Its words name the layer and the fix already.
        (None, Error::Confinement { .. }) => world::chain(error),
        (None, _) => return None,
    };
    let found = Ground::find(Level::SystemCalls, network).ok();
    let level = found.and_then(|ground| ground.level(network));
    Some(match level {
        // Everything is to be had, so this was about the command's own paths.
        Some(Level::Complete) => reason,
        Some(level) => format!("{reason}; this machine gives the level `{level}`, which `--require {level}` accepts"),
        None => format!("{reason}; this machine gives no level at all"),
    })
}
