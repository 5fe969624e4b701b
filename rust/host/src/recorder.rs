//! The one writer of a run's trace, shared by everything that acts for the loop. An act begins only after its intent is
//! on disk. On a full disk it waits for space. The first record that cannot be retained is a fault: from then on no further
//! effect is admitted, and the run's result says that its evidence is incomplete.

use crate::patience::Patience;
use coder_agent::HostFault;
use coder_trace::{EffectKind, Intent, Source, Step, Writer};
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Clones share one writer.
#[derive(Clone)]
pub(crate) struct Recorder(Rc<RefCell<State>>);

struct State {
    writer: Writer,
    patience: Patience,
    fault: Option<Fault>,
    begun: Instant,
}

/// What kept a run from going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A record could not be retained: the evidence is incomplete from there on.
    Retention,
    /// The same, because no space was left.
    DiskFull,
    /// Something else; the evidence of it is whole.
    Declared,
}

/// Why a run must not go on.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) reason: String,
    pub(crate) kind: FaultKind,
}

impl Recorder {
    pub(crate) fn new(writer: Writer, patience: Patience) -> Self {
        Self(Rc::new(RefCell::new(State {
            writer,
            patience,
            fault: None,
            begun: Instant::now(),
        })))
    }

    /// Seconds since the recorder was made.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.borrow().begun.elapsed().as_secs_f64()
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.0.borrow().fault.clone()
    }

    /// Marks the run as one that must not go on, with the reason; the first one stays.
    pub(crate) fn declare_fault(&self, reason: impl Into<String>) -> HostFault {
        let mut state = self.0.borrow_mut();
        let fault = state.fault.get_or_insert_with(|| Fault {
            reason: reason.into(),
            kind: FaultKind::Declared,
        });
        HostFault(fault.reason.clone())
    }

    fn guarded<T>(&self, act: impl FnMut(&mut Writer) -> Result<T, coder_trace::Error>) -> Result<T, HostFault> {
        let mut state = self.0.borrow_mut();
        if let Some(fault) = &state.fault {
            return Err(HostFault(fault.reason.clone()));
        }
        state.retain(act).map_err(|error| {
            let reason = format!("evidence could not be retained: {error}");
            state.fault = Some(Fault {
                reason: reason.clone(),
                kind: match error.is_disk_full() {
                    true => FaultKind::DiskFull,
                    false => FaultKind::Retention,
                },
            });
            HostFault(reason)
        })
    }

    /// Appends one step.
    pub(crate) fn append(&self, step: &Step) -> Result<(), HostFault> {
        self.guarded(|writer| writer.append(step).map(drop))
    }

    /// Appends a System step with one extension.
    pub(crate) fn note(&self, message: &str, extension: &str, content: &impl Serialize) -> Result<(), HostFault> {
        self.guarded(|writer| {
            writer
                .append(&Step::new(Source::System, message).with_extension(extension, content)?)
                .map(drop)
        })
    }

    /// Retains the intent of an effect; the act may begin when this returns.
    pub(crate) fn intend(&self, message: &str, kind: EffectKind, arguments: Value) -> Result<Intent, HostFault> {
        self.guarded(|writer| writer.intend(Step::new(Source::System, message), kind.clone(), arguments.clone()))
    }

    /// Retains what came of an effect.
    pub(crate) fn conclude(&self, step: Step, intent: Intent, result: &Value) -> Result<(), HostFault> {
        let mut unspent = Some(intent);
        self.guarded(|writer| match unspent.take() {
            None => Ok(()),
            Some(intent) => writer
                .conclude(step.clone(), intent, result)
                .map(drop)
                .map_err(|unconcluded| {
                    // Comes back to be tried again with.
                    unspent = Some(unconcluded.intent);
                    unconcluded.error
                }),
        })
    }

    /// Gives the writer back once every other clone is gone.
    pub(crate) fn finish(self) -> Option<(Writer, Option<Fault>)> {
        let state = Rc::into_inner(self.0)?.into_inner();
        Some((state.writer, state.fault))
    }
}

impl State {
    /// Retains one record, waiting for space where the disk is full; says in the trace that it waited, once it goes on.
    fn retain<T>(
        &mut self,
        mut act: impl FnMut(&mut Writer) -> Result<T, coder_trace::Error>,
    ) -> Result<T, coder_trace::Error> {
        let mut waited = Duration::ZERO;
        loop {
            match act(&mut self.writer) {
                Err(error) if error.is_disk_full() && self.patience.wait(&mut waited) => {}
                Ok(value) if waited > Duration::ZERO => {
                    let note = Step::new(Source::System, "The disk was full; the run waited for space.")
                        .with_extension("disk_wait", &serde_json::json!({ "seconds": waited.as_secs_f64() }))?;
                    // What was to be kept is kept. If this is not, the next record meets the same disk.
                    let _ = self.writer.append(&note);
                    return Ok(value);
                }
                other => return other,
            }
        }
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
