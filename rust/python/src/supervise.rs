//! Work of some length, called from Python: it runs on a thread of its own while the calling one waits without holding
//! up other Python threads, looks for signals and watches a deadline. It says when the work should stop and never leaves
//! it behind: the call returns after the work ended. How the work is stopped is the caller's.

use crate::error::{Class, panicked, raise};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How long a signal may wait for Python's handler.
const SIGNAL_POLL: Duration = Duration::from_millis(100);

/// Why the work should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The deadline passed.
    Deadline,
    /// A signal handler raised, usually `KeyboardInterrupt`.
    Interrupt,
}

/// Runs `work` to its end. `stop` is called at most once for each reason, from the waiting thread.
///
/// # Errors
/// What a signal handler raised, `threads` when there is no thread, `internal` when the work panicked.
pub(crate) fn supervise<T: Send>(
    py: Python<'_>,
    deadline: Option<Instant>,
    stop: &(dyn Fn(Stop) + Sync),
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let ended = py.detach(|| {
        std::thread::scope(|scope| {
            // Nothing is sent: the end of the thread closes the channel, also the end by a panic.
            let (ending, ended) = sync_channel::<()>(0);
            let thread = std::thread::Builder::new().name("coder-core".to_owned());
            let worker = thread.spawn_scoped(scope, move || {
                let answer = work();
                drop(ending);
                answer
            });
            let worker = worker.map_err(Failed::NoThread)?;
            let mut due = deadline;
            let mut raised = None;
            loop {
                let wait = due.map_or(SIGNAL_POLL, |due| {
                    SIGNAL_POLL.min(due.saturating_duration_since(Instant::now()))
                });
                match ended.recv_timeout(wait) {
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if due.is_some_and(|due| due <= Instant::now()) {
                    due = None;
                    stop(Stop::Deadline);
                }
                if raised.is_none() {
                    raised = Python::try_attach(|py| py.check_signals().err()).flatten();
                    if raised.is_some() {
                        stop(Stop::Interrupt);
                    }
                }
            }
            let answer = worker.join().map_err(Failed::Panicked)?;
            match raised {
                Some(error) => Err(Failed::Raised(error)),
                None => Ok(answer),
            }
        })
    });
    ended.map_err(|failed| match failed {
        Failed::Raised(error) => error,
        Failed::NoThread(error) => raise(
            py,
            Class::Base,
            "threads",
            &format!("no thread could be started: {error}"),
        ),
        Failed::Panicked(said) => panicked(py, said.as_ref()),
    })
}

enum Failed {
    Raised(PyErr),
    NoThread(std::io::Error),
    Panicked(Box<dyn Any + Send>),
}
