//! `coder task recover`: closes what a vanished owner left. What may still exist of its run, and what of
//! its commits was taken over, is told on standard error.

use super::{refused, task_id, writing};
use crate::arguments::TaskName;
use crate::output::{self, Failure};
use crate::published;

pub(super) fn recover(arguments: &TaskName) -> Result<u8, Failure> {
    let store = writing(&arguments.store)?;
    let recovered = coder_host::recover(&store, &task_id(arguments)?).map_err(refused)?;
    for remains in &recovered.remains {
        output::talk(&format!(
            "not known to be gone: {}",
            coder_digest::display_bytes(remains.as_bytes())
        ));
    }
    if let Some(git) = &recovered.git {
        published::told(git, Some("the killed run"));
    }
    output::json(&recovered.task)?;
    Ok(0)
}
