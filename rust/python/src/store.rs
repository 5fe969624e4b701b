//! `Store`: the task store as coder-journal keeps it and coder-host looks at it. One open store serves many threads.

use crate::asked::{Command, Noted, Place, Task, Tasks, WorkspacePath, command_name};
use crate::convert::{Age, Name, Seconds, Variables, parsed, text};
use crate::error::{Class, detached, raise, raised};
use crate::held::Held;
use crate::supervise::{Stop, supervise};
use coder_digest::{BytePath, Clock, SystemClock, TaskId};
use coder_host::{CheckRun, Error, Sweep, TrustStore, open_existing};
use coder_journal::Ask;
use coder_process::{Cancel, Reason};
use coder_signing::{SigningKey, VerifyingKey};
use coder_trace::{Cursor, PageSize};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[pyclass(frozen, module = "coder_core")]
pub(crate) struct Store {
    store: Held<coder_journal::Store>,
    place: PathBuf,
}

impl Store {
    /// The canonical path of the store.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    fn answer<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&coder_journal::Store) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let store = self.store.get(py, Class::Store, "store")?;
        detached(py, || work(store))
    }

    /// What a function of the host answers that opens the store by itself.
    fn at_place<'py, T: Serialize>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Path, Arc<dyn Clock>) -> Result<T, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let place = self.place.as_path();
        self.document(py, |_| work(place, Arc::new(SystemClock)))
    }

    fn ask<'py>(
        &self,
        py: Python<'py>,
        task: &TaskId,
        asked: &Ask,
        command_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (name, random) = command_name(py, command_id)?;
        self.at_place(py, |place, clock| {
            coder_host::ask(task, asked, name, random, place, clock)
        })
    }

    fn document<'py, T: Serialize>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&coder_journal::Store) -> Result<T, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = self.answer(py, |store| Ok(text(&work(store)?)))?;
        let text = text.map_err(|error| raise(py, Class::Base, "internal", &error.to_string()))?;
        parsed(py, &text)
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (path, create = false))]
    fn new(py: Python<'_>, path: Name, create: bool) -> PyResult<Self> {
        let path = path.absolute()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = detached(py, || match create {
            true => Ok(coder_journal::Store::open(&path, clock)?),
            false => open_existing(&path, clock),
        })?;
        let place = store.path().to_owned();
        Ok(Self {
            store: Held::new(store),
            place,
        })
    }

    #[getter]
    fn path(&self) -> OsString {
        self.place.clone().into_os_string()
    }

    fn submit<'py>(&self, py: Python<'py>, command: Command) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| Ok(store.command(&command.0)?))
    }

    #[pyo3(signature = (task_id, reason, *, command_id = None))]
    fn cancel<'py>(
        &self,
        py: Python<'py>,
        task_id: Task,
        reason: String,
        command_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, &task_id.0, &Ask::Cancel { reason }, command_id)
    }

    #[pyo3(signature = (task_id, prompt, reason, *, command_id = None))]
    fn correct<'py>(
        &self,
        py: Python<'py>,
        task_id: Task,
        prompt: String,
        reason: String,
        command_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, &task_id.0, &Ask::Correct { prompt, reason }, command_id)
    }

    #[pyo3(signature = (task_id, prompt, *, command_id = None))]
    fn continue_<'py>(
        &self,
        py: Python<'py>,
        task_id: Task,
        prompt: String,
        command_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, &task_id.0, &Ask::Continue { prompt }, command_id)
    }

    fn steer<'py>(&self, py: Python<'py>, task_id: Task, message: String) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| coder_host::steer(store, &task_id.0, &message))
    }

    fn recover<'py>(&self, py: Python<'py>, task_id: Task) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| {
            let recovered = coder_host::recover(store, &task_id.0)?;
            Ok(json!({ "task": recovered.task, "remains": recovered.remains, "git": recovered.git }))
        })
    }

    #[pyo3(signature = (task_id, *, deadline = None))]
    fn check<'py>(&self, py: Python<'py>, task_id: Task, deadline: Option<Seconds>) -> PyResult<Bound<'py, PyAny>> {
        self.store.get(py, Class::Store, "store")?;
        let due = deadline.and_then(Seconds::end);
        let variables = Variables::of(py)?;
        let environment = |name: &str| variables.get(name);
        let trust = TrustStore::of(&environment).map_err(|error| raised(py, &error))?;
        let cancel = Cancel::new().map_err(|error| raised(py, &error.into()))?;
        let stop = |stop: Stop| {
            cancel.cancel(match stop {
                Stop::Deadline => Reason::Requested,
                Stop::Interrupt => Reason::Interrupted,
            });
        };
        let answer = supervise(py, due, &stop, || {
            let run = CheckRun {
                task: &task_id.0,
                store: &self.place,
                clock: Arc::new(SystemClock),
                cancel: cancel.clone(),
                environment: &environment,
                trust: &trust,
            };
            coder_host::run_checks(&run).map(|task| text(&task))
        })?;
        let document = answer.map_err(|error| raised(py, &error))?;
        let document = document.map_err(|error| raise(py, Class::Base, "internal", &error.to_string()))?;
        parsed(py, &document)
    }

    #[pyo3(signature = (task_ids = None, *, older_than = None))]
    fn archive<'py>(
        &self,
        py: Python<'py>,
        task_ids: Option<Tasks>,
        older_than: Option<Age>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if task_ids.is_none() && older_than.is_none() {
            return Err(PyTypeError::new_err("name tasks, or an age with `older_than`"));
        }
        let named = task_ids.map_or_else(Vec::new, |tasks| tasks.0);
        let age = older_than.map(|age| age.0);
        self.at_place(py, |place, clock| coder_host::archive(place, clock, &named, age))
    }

    fn restore(&self, py: Python<'_>, task_id: Task) -> PyResult<()> {
        self.answer(py, |store| Ok(store.restore(&task_id.0)?))
    }

    #[pyo3(
        signature = (*, dry_run = false, older_than = Age::DAY),
        text_signature = "($self, *, dry_run=False, older_than=86400.0)"
    )]
    fn gc<'py>(&self, py: Python<'py>, dry_run: bool, older_than: Age) -> PyResult<Bound<'py, PyAny>> {
        let sweep = match dry_run {
            true => Sweep::DryRun,
            false => Sweep::Remove,
        };
        let variables = Variables::of(py)?;
        self.at_place(py, |place, clock| {
            coder_host::gc(place, clock, sweep, older_than.0, &|name| variables.get(name))
        })
    }

    fn show<'py>(&self, py: Python<'py>, task_id: Task) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| Ok(store.show(&task_id.0)?))
    }

    #[pyo3(signature = (*, archived = false))]
    fn list<'py>(&self, py: Python<'py>, archived: bool) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| match archived {
            true => Ok(store.list_all()?),
            false => Ok(store.list()?),
        })
    }

    #[pyo3(signature = (task_id, limit = 100, cursor = None))]
    fn view<'py>(
        &self,
        py: Python<'py>,
        task_id: Task,
        limit: u64,
        cursor: Option<Place>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| {
            let cursor: Option<Cursor> = cursor.map(|place| place.0.parse()).transpose()?;
            let size = PageSize::new(limit)?;
            coder_host::view(store, &task_id.0, cursor.as_ref(), size, SystemClock.now())
        })
    }

    #[pyo3(signature = (task_id = None, *, head = None, attestation = None, key = None, document = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        task_id: Option<Task>,
        head: Option<Noted>,
        attestation: Option<Vec<u8>>,
        key: Option<Name>,
        document: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = key.map(|key| key.absolute()).transpose()?;
        if key.is_some() && attestation.is_none() {
            return Err(PyTypeError::new_err("`key` is for an `attestation`"));
        }
        if head.is_some() && (attestation.is_some() || document.is_some()) {
            return Err(PyTypeError::new_err("`head` is for a task alone"));
        }
        let task = task_id.map(|task| task.0);
        match (task, attestation, document) {
            (task, Some(attestation), None) => self.document(py, |store| {
                let key = key.as_deref().map(VerifyingKey::read).transpose()?;
                coder_host::verify_attestation(Some(store), task.as_ref(), &attestation, key.as_ref())
            }),
            (task, None, Some(document)) => {
                self.document(py, |store| coder_host::verify_document(store, task.as_ref(), &document))
            }
            (Some(task), None, None) => self.document(py, |store| match &head {
                Some(noted) => coder_host::verify_since(store, &task, &noted.0),
                None => coder_host::verify(store, &task),
            }),
            (None, None, None) | (_, Some(_), Some(_)) => Err(PyTypeError::new_err(
                "name a task, or give an `attestation` or a `document`, not both",
            )),
        }
    }

    #[pyo3(signature = (task_id, format = "atif", *, sign = None))]
    fn export<'py>(
        &self,
        py: Python<'py>,
        task_id: Task,
        format: &str,
        sign: Option<Name>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let key = sign.map(|key| key.absolute()).transpose()?;
        let bytes = match (format, key) {
            ("atif", None) => self.answer(py, |store| atif(store, &task_id.0))?,
            ("in-toto", key) => self.answer(py, |store| {
                let key = key.as_deref().map(SigningKey::read).transpose()?;
                coder_host::export_in_toto(store, &task_id.0, key.as_ref())
            })?,
            ("atif", Some(_)) => return Err(PyValueError::new_err("only the format `in-toto` is signed")),
            (_, _) => return Err(PyValueError::new_err("`format` is `atif` or `in-toto`")),
        };
        Ok(PyBytes::new(py, &bytes))
    }

    fn artifact<'py>(&self, py: Python<'py>, task_id: Task, path: WorkspacePath) -> PyResult<Bound<'py, PyBytes>> {
        let path = BytePath::from(Path::new(&path.0));
        let bytes = self.answer(py, |store| coder_host::artifact(store, &task_id.0, &path))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn patch<'py>(&self, py: Python<'py>, task_id: Task) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.answer(py, |store| coder_host::patch(store, &task_id.0))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn export_atif<'py>(&self, py: Python<'py>, task_id: Task) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.answer(py, |store| atif(store, &task_id.0))?;
        py.import("json")?.call_method1("loads", (PyBytes::new(py, &bytes),))
    }

    fn __repr__(&self) -> String {
        format!("Store({:?})", self.place)
    }
}

fn atif(store: &coder_journal::Store, task: &TaskId) -> Result<Vec<u8>, Error> {
    let mut document = Vec::new();
    coder_host::export_atif(store, task, &mut document)?;
    Ok(document)
}
