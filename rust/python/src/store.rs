//! `Store`: the task store as coder-journal keeps it and coder-host looks at it. One open store serves many threads.

use crate::convert::{Name, parsed, text, written};
use crate::error::{Class, detached, raise};
use crate::held::Held;
use coder_digest::{BytePath, Clock, Identifier, SystemClock, TaskId};
use coder_host::{Error, open_existing};
use coder_signing::{SigningKey, VerifyingKey};
use coder_trace::{Cursor, PageSize};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[pyclass(frozen, module = "coder_core")]
pub(crate) struct Store {
    store: Held<coder_journal::Store>,
    place: PathBuf,
}

/// A task's name. A malformed one is a mistake of the caller, like any other bad value.
pub(crate) struct Task(pub(crate) TaskId);

impl FromPyObject<'_, '_> for Task {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        let name: String = object.extract()?;
        match TaskId::new(name) {
            Ok(task) => Ok(Self(task)),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }
}

/// A command's exact bytes.
struct Command(Vec<u8>);

impl FromPyObject<'_, '_> for Command {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self(bytes.as_bytes().to_vec()));
        }
        match object.cast::<PyDict>() {
            Ok(document) => Ok(Self(written(&document)?)),
            Err(_) => Err(PyTypeError::new_err(
                "a command is given as its exact bytes or as a dict",
            )),
        }
    }
}

/// A place in a view, as the view before it wrote it.
struct Place(String);

impl FromPyObject<'_, '_> for Place {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        if object.cast::<PyString>().is_ok() {
            return Ok(Self(object.extract()?));
        }
        let Ok(document) = object.cast::<PyDict>() else {
            return Err(PyTypeError::new_err("a cursor is the `next` of a view, or its text"));
        };
        String::from_utf8(written(&document)?)
            .map(Self)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// A path of the workspace: a name, or the form in which documents write one that is not UTF-8.
struct WorkspacePath(OsString);

impl FromPyObject<'_, '_> for WorkspacePath {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        let Ok(document) = object.cast::<PyDict>() else {
            return Ok(Self(object.extract::<Name>()?.0));
        };
        let path: Result<BytePath, _> = serde_json::from_slice(&written(&document)?);
        match path {
            Ok(path) => Ok(Self(OsString::from_vec(path.as_bytes().to_vec()))),
            Err(error) => Err(PyValueError::new_err(format!(
                "not a path as documents write it: {error}"
            ))),
        }
    }
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
        let name = match command_id {
            Some(name) => name,
            None => {
                let random: Vec<u8> = py.import("os")?.call_method1("urandom", (16,))?.extract()?;
                random
                    .iter()
                    .fold("cancel-".to_owned(), |name, byte| format!("{name}{byte:02x}"))
            }
        };
        let name = Identifier::new(name).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.document(py, |store| Ok(store.cancel_now(&name, &task_id.0, &reason)?))
    }

    fn show<'py>(&self, py: Python<'py>, task_id: Task) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| Ok(store.show(&task_id.0)?))
    }

    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.document(py, |store| Ok(store.list()?))
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

    #[pyo3(signature = (task_id = None, *, attestation = None, key = None, document = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        task_id: Option<Task>,
        attestation: Option<Vec<u8>>,
        key: Option<Name>,
        document: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = key.map(|key| key.absolute()).transpose()?;
        if key.is_some() && attestation.is_none() {
            return Err(PyTypeError::new_err("`key` is for an `attestation`"));
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
            (Some(task), None, None) => self.document(py, |store| coder_host::verify(store, &task)),
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
