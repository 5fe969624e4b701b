//! Values on their way in and out: names that keep every byte, lengths of time, the process's environment, and JSON
//! documents. No act of its own.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde::Serialize;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A name of the system, given as `str`, `bytes` or anything with `__fspath__`. Text that stands for bytes that are not
/// UTF-8 (`os.fsdecode`) becomes those bytes again.
pub(crate) struct Name(pub(crate) OsString);

impl FromPyObject<'_, '_> for Name {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        let py = object.py();
        let plain = match object.cast::<PyString>().is_ok() || object.cast::<PyBytes>().is_ok() {
            true => object.to_owned(),
            false => py.import("os")?.call_method1("fspath", (object,))?,
        };
        let name = match plain.cast::<PyBytes>() {
            Ok(bytes) => OsString::from_vec(bytes.as_bytes().to_vec()),
            Err(_) => plain.extract()?,
        };
        match name.as_encoded_bytes().contains(&0) {
            true => Err(PyValueError::new_err("embedded null byte")),
            false => Ok(Self(name)),
        }
    }
}

impl Name {
    /// The path it means now, from the root. Links and `..` stay as they are.
    pub(crate) fn absolute(&self) -> PyResult<PathBuf> {
        Ok(std::path::absolute(&self.0)?)
    }
}

/// Several names. One `str` is refused, since it would be taken apart into characters.
pub(crate) struct Names(pub(crate) Vec<Name>);

impl FromPyObject<'_, '_> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        if object.cast::<PyString>().is_ok() || object.cast::<PyBytes>().is_ok() {
            return Err(PyTypeError::new_err("a sequence of names is needed, not one name"));
        }
        let names = object
            .try_iter()?
            .map(|item| item?.extract())
            .collect::<PyResult<_>>()?;
        Ok(Self(names))
    }
}

impl Names {
    pub(crate) fn absolute(&self) -> PyResult<Vec<PathBuf>> {
        self.0.iter().map(Name::absolute).collect()
    }

    pub(crate) fn into_names(self) -> Vec<OsString> {
        self.0.into_iter().map(|name| name.0).collect()
    }
}

/// A length of time in seconds, more than nothing.
#[derive(Clone, Copy)]
pub(crate) struct Seconds(Duration);

impl FromPyObject<'_, '_> for Seconds {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        let seconds: f64 = object.extract()?;
        match Duration::try_from_secs_f64(seconds) {
            Ok(length) if !length.is_zero() => Ok(Self(length)),
            Ok(_) | Err(_) => Err(PyValueError::new_err(format!(
                "{seconds} is no positive, finite number of seconds"
            ))),
        }
    }
}

impl Seconds {
    /// The moment at which it ends, if it begins now; `None` beyond what a clock can say.
    pub(crate) fn end(self) -> Option<Instant> {
        Instant::now().checked_add(self.0)
    }

    pub(crate) fn as_f64(self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// How long ago something may be in seconds, from nothing on.
#[derive(Clone, Copy)]
pub(crate) struct Age(pub(crate) Duration);

impl Age {
    /// What is younger than a day may still be in use.
    pub(crate) const DAY: Self = Self(Duration::from_secs(86_400));
}

impl FromPyObject<'_, '_> for Age {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> Result<Self, PyErr> {
        let seconds: f64 = object.extract()?;
        Duration::try_from_secs_f64(seconds)
            .map(Self)
            .map_err(|_| PyValueError::new_err(format!("{seconds} is no finite number of seconds from 0 on")))
    }
}

/// The environment as Python has it at this moment. Copied, because another thread may change it while the work goes on.
pub(crate) struct Variables(HashMap<Vec<u8>, Vec<u8>>);

impl Variables {
    pub(crate) fn of(py: Python<'_>) -> PyResult<Self> {
        let copy = py.import("os")?.getattr("environb")?.call_method0("copy")?;
        Ok(Self(copy.extract()?))
    }

    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.0
            .get(name.as_bytes())
            .map(|value| OsString::from_vec(value.clone()))
    }
}

/// The JSON text of a document.
pub(crate) fn text(document: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(document)
}

/// The Python value of a JSON text, by Python's own reader.
pub(crate) fn parsed<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

/// The exact bytes of a document that was given as a `dict`: compact, with sorted keys, so that equal values give equal
/// bytes.
pub(crate) fn written(document: &Bound<'_, PyDict>) -> PyResult<Vec<u8>> {
    let py = document.py();
    let form = PyDict::new(py);
    form.set_item("ensure_ascii", false)?;
    form.set_item("allow_nan", false)?;
    form.set_item("sort_keys", true)?;
    form.set_item("separators", (",", ":"))?;
    let text = py.import("json")?.call_method("dumps", (document,), Some(&form))?;
    Ok(text.extract::<String>()?.into_bytes())
}
