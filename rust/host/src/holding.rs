//! Every process tree a run starts has its name on disk before its first process exists. The name is read back by
//! `recovery` when the run's owner is gone. Starts and ends nothing.

use crate::recorder::Recorder;
use coder_process::{Flow, Holder, Pid};
use coder_trace::HolderRecord;

/// Writes down who holds the processes of `effect`; they start only if that is retained.
pub(crate) fn name(recorder: &Recorder, effect: u64, warden: Pid, contains: bool) -> Flow {
    let holder = match Holder::of(warden) {
        Ok(holder) => holder,
        Err(error) => {
            // A tree that could not be found again after a crash is not started.
            recorder.declare_fault(crate::world::chain(&error));
            return Flow::Stop;
        }
    };
    let record = HolderRecord {
        effect,
        process: holder.process,
        start_ticks: holder.start_ticks,
        boot: holder.boot,
        namespace: holder.namespace,
        contains,
    };
    match recorder.note("The command may begin.", HolderRecord::EXTENSION, &record) {
        Ok(()) => Flow::Continue,
        Err(_) => Flow::Stop,
    }
}
