//! What a store is asked with, as Python gives it: tasks, exact commands, places in a view, paths of a workspace. A malformed
//! one is a mistake of the caller and raises `ValueError` or `TypeError`; no store is looked at.

use crate::convert::{Name, written};
use coder_digest::{BytePath, Identifier, TaskId};
use coder_journal::Head;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

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
pub(crate) struct Command(pub(crate) Vec<u8>);

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
pub(crate) struct Place(pub(crate) String);

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
pub(crate) struct WorkspacePath(pub(crate) OsString);

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

/// Several tasks. One `str` is refused, since it would be taken apart into characters.
pub(crate) struct Tasks(pub(crate) Vec<TaskId>);

impl FromPyObject<'_, '_> for Tasks {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        if object.cast::<PyString>().is_ok() {
            return Err(PyTypeError::new_err("a sequence of tasks is needed, not one name"));
        }
        let tasks = object
            .try_iter()?
            .map(|item| Ok(item?.extract::<Task>()?.0))
            .collect::<PyResult<_>>()?;
        Ok(Self(tasks))
    }
}

/// The end of a journal, as a verification wrote it: its `journal_head`, or the text of the command line.
pub(crate) struct Noted(pub(crate) Head);

impl FromPyObject<'_, '_> for Noted {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        let wrong =
            |error: &dyn std::fmt::Display| PyValueError::new_err(format!("not the head of a journal: {error}"));
        if object.cast::<PyString>().is_ok() {
            return object
                .extract::<String>()?
                .parse()
                .map(Self)
                .map_err(|error| wrong(&error));
        }
        let Ok(document) = object.cast::<PyDict>() else {
            return Err(PyTypeError::new_err(
                "a head is the `journal_head` of a verification, or its text",
            ));
        };
        serde_json::from_slice(&written(&document)?)
            .map(Self)
            .map_err(|error| wrong(&error))
    }
}

/// The name of a command: the caller's, to repeat it safely, or sixteen random bytes to make one of.
pub(crate) fn command_name(py: Python<'_>, name: Option<String>) -> PyResult<(Option<Identifier>, [u8; 16])> {
    let name = name.map(Identifier::new).transpose();
    let name = name.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let random: Vec<u8> = py.import("os")?.call_method1("urandom", (16,))?.extract()?;
    let random = <[u8; 16]>::try_from(random).map_err(|_| PyValueError::new_err("os.urandom gave another length"))?;
    Ok((name, random))
}
