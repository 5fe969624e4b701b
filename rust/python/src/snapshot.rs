//! `snapshot`: one observation of a tree by coder-workspace, as the values of `coder_core/_values.py`.

use crate::convert::Name;
use crate::error::detached;
use coder_digest::SystemClock;
use coder_workspace::{Entry, Kind, Observer};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[pyfunction]
pub(crate) fn snapshot<'py>(py: Python<'py>, path: Name) -> PyResult<Bound<'py, PyAny>> {
    let path = path.absolute()?;
    let (snapshot, digest) = detached(py, || {
        let snapshot = Observer::new(&SystemClock).observe(&path)?;
        let digest = snapshot.digest().hex();
        Ok((snapshot, digest))
    })?;
    let values = py.import("coder_core._values")?;
    let entry = values.getattr("Entry")?;
    let entries = snapshot
        .entries()
        .iter()
        .map(|item| entry_value(&entry, item))
        .collect::<PyResult<Vec<_>>>()?;
    let faults: Vec<String> = snapshot.faults().iter().map(ToString::to_string).collect();
    values.getattr("Snapshot")?.call1((
        snapshot.root().as_path().as_os_str(),
        digest,
        PyTuple::new(py, entries)?,
        snapshot.is_complete(),
        PyTuple::new(py, faults)?,
        snapshot.omitted_faults(),
        snapshot.content_bytes(),
    ))
}

fn entry_value<'py>(class: &Bound<'py, PyAny>, entry: &Entry) -> PyResult<Bound<'py, PyAny>> {
    let (length, digest, target) = match &entry.kind {
        Kind::File { length, digest, .. } => (Some(*length), Some(digest.hex()), None),
        Kind::Symlink { target } => (None, None, Some(target.as_path().as_os_str())),
        Kind::Directory | Kind::Other { .. } => (None, None, None),
    };
    let path = entry.path.as_path().as_os_str();
    class.call1((path, entry.kind.word(), entry.mode, length, digest, target))
}
