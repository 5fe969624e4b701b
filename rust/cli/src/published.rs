//! What is said on standard error of commits that were made inside a boundary: which of them have reached the repository.

use crate::output::talk;
use coder_workspace::Published;

/// Says what of somebody's Git has not reached the repository; where it is of somebody who was killed, also what has.
pub(crate) fn told(git: &Published, killed: Option<&str>) {
    if let Some(killed) = killed {
        for moved in &git.moved {
            let (name, to) = (shown(&moved.name), shown(&moved.to));
            talk(&format!("microcoder: {name} is at {to} now, as {killed} had left it"));
        }
    }
    for restored in &git.restored {
        let (name, reason) = (shown(&restored.name), shown(&restored.reason));
        talk(&format!("microcoder: {name} stays as it was: {reason}"));
    }
    for operation in &git.unfinished {
        talk(&format!("microcoder: what {operation} had begun is not carried over"));
    }
}

/// Text that others chose, without anything a terminal obeys.
fn shown(text: &str) -> String {
    coder_digest::display_bytes(text.as_bytes())
}
