//! `start`: one grant carried out by a process of its own, as `coder_host::start_detached` does it. That process is the running
//! interpreter once more; what it does there is `coder_core/_detached.py`.

use crate::convert::{Name, Variables, parsed, text};
use crate::error::{Class, detached, raise};
use crate::run::{GrantSource, StorePlace};
use coder_digest::SystemClock;
use coder_host::{Carrying, DetachedStart, Grant, Work, start_detached};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::sync::Arc;

#[pyfunction]
#[pyo3(signature = (grant, *, store))]
pub(crate) fn start<'py>(py: Python<'py>, grant: GrantSource, store: StorePlace) -> PyResult<Bound<'py, PyAny>> {
    let variables = Variables::of(py)?;
    let interpreter = interpreter(py)?;
    let program: Name = py.import("coder_core._detached")?.getattr("__file__")?.extract()?;
    let pending = detached(py, || {
        let bytes = grant.read()?;
        let carrying = match Grant::parse(&bytes)?.work {
            Work::Repository(_) => Carrying::Repository,
            Work::BoundedCommand { .. } => Carrying::BoundedCommand,
        };
        let kind = match carrying {
            Carrying::Repository => "repository",
            Carrying::BoundedCommand => "execute",
        };
        start_detached(&DetachedStart {
            grant: &bytes,
            store: &store.0,
            carrying,
            name: interpreter,
            // Isolated: neither the directory it starts in nor a variable may put another module in front of ours.
            words: vec!["-I".into(), program.0, kind.into()],
            clock: Arc::new(SystemClock),
            environment: &|name| variables.get(name),
        })
    })?;
    let text = text(&pending).map_err(|error| raise(py, Class::Base, "internal", &error.to_string()))?;
    parsed(py, &text)
}

/// The name of the running interpreter, by which it also finds its environment. The program that is started is the running
/// one: where Python is embedded in another, there is none to start.
fn interpreter(py: Python<'_>) -> PyResult<OsString> {
    let name: Option<Name> = py.import("sys")?.getattr("executable")?.extract()?;
    let running = std::fs::canonicalize("/proc/self/exe").ok();
    match name.map(|name| name.0).filter(|name| !name.is_empty()) {
        Some(name) if running.is_some() && std::fs::canonicalize(&name).ok() == running => Ok(name),
        Some(_) | None => Err(raise(
            py,
            Class::Base,
            "configuration",
            "this program is not the Python interpreter that `sys.executable` names, so it cannot be started once more: \
             use `coder task start` or `microcoder repository --detach`",
        )),
    }
}
