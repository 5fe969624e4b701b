//! `run_repository` and `run_bounded`: one exact grant to its result, as the functions of coder-host of the same names do it.
//! A deadline or an interrupt of the caller stops the run and says so in the journal, so that the task itself tells why it
//! was stopped.

use crate::convert::{Name, Seconds, Variables, parsed, text};
use crate::error::{Class, detached, raise, raised};
use crate::store::Store;
use crate::supervise::{Stop, supervise};
use coder_digest::{Clock, Digest, Identifier, SystemClock, TaskId, json};
use coder_host::{Carrying, Error, Grant, GrantRun, Progress, open_existing};
use coder_process::{Cancel, Reason};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A grant: its bytes, or the file that holds them.
pub(crate) enum GrantSource {
    Bytes(Vec<u8>),
    File(PathBuf),
}

impl FromPyObject<'_, '_> for GrantSource {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        match object.cast::<PyBytes>() {
            Ok(bytes) => Ok(Self::Bytes(bytes.as_bytes().to_vec())),
            Err(_) => Ok(Self::File(object.extract::<Name>()?.absolute()?)),
        }
    }
}

impl GrantSource {
    pub(crate) fn read(self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::File(path) => {
                let mut bytes = Vec::new();
                // One byte more than a grant may have, so that a longer one is seen to be too long.
                let bound = json::Limit::COMMAND.0 as u64 + 1;
                match File::open(&path).and_then(|file| file.take(bound).read_to_end(&mut bytes)) {
                    Ok(_) => Ok(bytes),
                    Err(source) => Err(Error::File {
                        act: "read the grant",
                        path,
                        source,
                    }),
                }
            }
        }
    }
}

/// A store: an open one, or where it is.
pub(crate) struct StorePlace(pub(crate) PathBuf);

impl FromPyObject<'_, '_> for StorePlace {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        match object.cast::<Store>() {
            Ok(store) => Ok(Self(store.get().place().to_owned())),
            Err(_) => Ok(Self(object.extract::<Name>()?.absolute()?)),
        }
    }
}

#[pyfunction]
#[pyo3(signature = (grant, *, store, deadline = None))]
pub(crate) fn run_repository<'py>(
    py: Python<'py>,
    grant: GrantSource,
    store: StorePlace,
    deadline: Option<Seconds>,
) -> PyResult<Bound<'py, PyAny>> {
    run(py, Carrying::Repository, grant, store, deadline)
}

#[pyfunction]
#[pyo3(signature = (grant, *, store, deadline = None))]
pub(crate) fn run_bounded<'py>(
    py: Python<'py>,
    grant: GrantSource,
    store: StorePlace,
    deadline: Option<Seconds>,
) -> PyResult<Bound<'py, PyAny>> {
    run(py, Carrying::BoundedCommand, grant, store, deadline)
}

fn run<'py>(
    py: Python<'py>,
    carrying: Carrying,
    grant: GrantSource,
    store: StorePlace,
    deadline: Option<Seconds>,
) -> PyResult<Bound<'py, PyAny>> {
    let due = deadline.and_then(Seconds::end);
    let variables = Variables::of(py)?;
    // What controls the run is this extension; the interpreter it is loaded into is any program.
    let controller: PathBuf = py.import("coder_core._core")?.getattr("__file__")?.extract()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (bytes, task) = detached(py, || {
        let bytes = grant.read()?;
        let task = Grant::parse(&bytes)?.task_id;
        Ok((bytes, task))
    })?;
    let cancel = Cancel::new().map_err(|error| raised(py, &error.into()))?;
    let stopping = Stopping {
        command: Identifier::new(format!("stop-{}", Digest::of(&bytes).hex()))
            .map_err(|error| raise(py, Class::Base, "internal", &error.to_string()))?,
        cancel,
        clock: Arc::clone(&clock),
        store: store.0,
        task,
        state: Mutex::default(),
    };
    let stop = |stop: Stop| match stop {
        Stop::Deadline => {
            let seconds = deadline.map_or(0.0, Seconds::as_f64);
            stopping.stop(
                Reason::Requested,
                &format!("the caller's deadline of {seconds} seconds passed"),
            );
        }
        Stop::Interrupt => stopping.stop(Reason::Interrupted, "the calling program was interrupted"),
    };
    let answer = supervise(py, due, &stop, || {
        let run = GrantRun {
            grant: &bytes,
            store: &stopping.store,
            clock,
            cancel: stopping.cancel.clone(),
            environment: &|name| variables.get(name),
            controller: &controller,
        };
        let mut watcher = |progress: &Progress<'_>| match progress {
            Progress::Admitted { .. } => stopping.admitted(),
            Progress::Prepared { .. }
            | Progress::Asking { .. }
            | Progress::Switched { .. }
            | Progress::Answered { .. }
            | Progress::Command { .. }
            | Progress::Output { .. }
            | Progress::CommandEnded { .. }
            | Progress::Ended { .. } => {}
        };
        let task = match carrying {
            Carrying::Repository => coder_host::run_repository(run, &mut watcher),
            Carrying::BoundedCommand => coder_host::run_bounded(run, &mut watcher),
        };
        task.map(|task| text(&task))
    })?;
    let document = answer.map_err(|error| raised(py, &error))?;
    let document = document.map_err(|error| raise(py, Class::Base, "internal", &error.to_string()))?;
    parsed(py, &document)
}

/// Stops one run and records why. Before the task is admitted it may be another's to run, so the reason waits until then.
struct Stopping {
    cancel: Cancel,
    store: PathBuf,
    task: TaskId,
    command: Identifier,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    admitted: bool,
    why: Option<String>,
}

impl Stopping {
    fn stop(&self, reason: Reason, why: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.why.is_none() {
            state.why = Some(why.to_owned());
            if state.admitted {
                self.record(why);
            }
        }
        drop(state);
        self.cancel.cancel(reason);
    }

    fn admitted(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.admitted = true;
        if let Some(why) = &state.why {
            self.record(why);
        }
    }

    /// The run is stopped with or without this record: a store that refuses it, as when the run has ended, changes nothing.
    fn record(&self, why: &str) {
        let _ = open_existing(&self.store, Arc::clone(&self.clock))
            .and_then(|store| Ok(store.cancel_now(&self.command, &self.task, why)?));
    }
}
