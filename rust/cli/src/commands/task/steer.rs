//! `coder task steer`: leaves a message that the running task reads before its next step.

use super::{refused, task_id, writing};
use crate::arguments::SteerArguments;
use crate::output::{self, Failure};

pub(super) fn steer(arguments: &SteerArguments) -> Result<u8, Failure> {
    let store = writing(&arguments.name.store)?;
    let task = task_id(&arguments.name)?;
    output::json(&coder_host::steer(&store, &task, &arguments.message).map_err(refused)?)?;
    Ok(0)
}
