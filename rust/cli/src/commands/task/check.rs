//! `coder task check`: the independent checks of a finished run. Prints the task, whose `checks` and last run's `report` say
//! what came of it.

use super::{REFUSED, refused, task_id};
use crate::arguments::CheckArguments;
use crate::output::{self, Failure};
use crate::surroundings;
use coder_host::{CheckRun, TrustStore, run_checks};
use coder_journal::Checks;

pub(super) fn check(arguments: &CheckArguments) -> Result<u8, Failure> {
    let store = surroundings::store(arguments.name.store.store.as_deref(), REFUSED)?;
    let trust = TrustStore::of(&surroundings::environment).map_err(refused)?;
    let run = CheckRun {
        task: &task_id(&arguments.name)?,
        store: &store,
        clock: surroundings::clock(),
        cancel: surroundings::cancel_on_signals()?,
        environment: &surroundings::environment,
        trust: &trust,
    };
    let task = run_checks(&run).map_err(refused)?;
    output::json(&task)?;
    Ok(u8::from(arguments.require_passed && task.checks != Checks::Passed))
}
