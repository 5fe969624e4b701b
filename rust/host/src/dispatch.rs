//! The last moment before a run's first effect: the source is looked at again and must be as admitted, and the epoch's intent
//! goes into the journal. Announces; does nothing else.

use crate::Error;
use crate::admission::{Tree, observe_unless};
use crate::recorder::Recorder;
use coder_agent::HostFault;
use coder_digest::Clock;
use coder_journal::{Event, Owner, Task};
use coder_process::Cancel;
use std::sync::Arc;

/// Whether the run may go on to its first effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// The intent is recorded.
    Yes,
    /// A request to stop came first.
    Stopped,
}

/// Looks at the source again and records the epoch's intent.
pub(crate) fn begin(
    recorder: &Recorder,
    owner: &Owner,
    task: &Task,
    tree: &Tree<'_>,
    clock: &Arc<dyn Clock>,
    cancel: &Cancel,
) -> Result<Begun, HostFault> {
    let stopped = || cancel.is_cancelled();
    let observed = match observe_unless(clock, tree.cache, &tree.repository.top, &stopped) {
        Ok(observed) => observed,
        Err(_) if stopped() => return Ok(Begun::Stopped),
        Err(error) => return Err(recorder.declare_fault(error.message())),
    };
    if observed != *tree.source {
        let path = tree.repository.top.clone();
        return Err(recorder.declare_fault(Error::SourceChanged { path }.message()));
    }
    if stopped() || owner.cancellation_requested().unwrap_or(true) {
        return Ok(Begun::Stopped);
    }
    let effect_id = format!("{}:{}:command", task.task_id, task.turn());
    match owner.record(&Event::EffectIntent { effect_id }, None) {
        Ok(_) => Ok(Begun::Yes),
        // A cancellation that came first makes the intent an invalid transition: that is a stop and no fault.
        Err(_) if owner.cancellation_requested().unwrap_or(false) => Ok(Begun::Stopped),
        Err(error) => Err(recorder.declare_fault(format!("the effect intent was not recorded: {error}"))),
    }
}
