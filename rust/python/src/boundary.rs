//! `Boundary`: commands behind the walls of one prepared boundary, as `coder_host::Execution` runs them. Many threads may
//! use one at once; its scratch goes when it was closed and the last command ended.

use crate::convert::{Name, Names, Seconds, Variables, parsed, text};
use crate::error::{Class, detached, raise, raised};
use crate::held::Held;
use crate::supervise::{Stop, supervise};
use coder_boundary::{Mode, Network, Permission, UnknownLevel};
use coder_host::{Access, Executed, Execution, Limits, PreparedExecution, Report, Streams, default_store};
use coder_process::{Cancel, Captured, Death, Ending, Reason, Window};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[pyclass(frozen, module = "coder_core")]
pub(crate) struct Boundary {
    /// Absent once closed.
    prepared: Mutex<Option<Held<Arc<PreparedExecution>>>>,
    planned: String,
}

fn permission(asked: bool) -> Permission {
    if asked {
        Permission::Allowed
    } else {
        Permission::Refused
    }
}

#[pymethods]
impl Boundary {
    #[new]
    #[pyo3(signature = (
        workspace, *, write = true, reads = None, writes = None, sealed = None, network = None, access = "boundary",
        memory = None, env = None, require = "complete", pids = None, open_files = None, file_size = None,
        cpu_seconds = None, scratch = None, allow_debugger = false, allow_nested_namespaces = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "named arguments of a Python class")]
    fn new(
        py: Python<'_>,
        workspace: Name,
        write: bool,
        reads: Option<Names>,
        writes: Option<Names>,
        sealed: Option<Names>,
        network: Option<&str>,
        access: &str,
        memory: Option<u64>,
        env: Option<&Bound<'_, PyAny>>,
        require: &str,
        pids: Option<u64>,
        open_files: Option<u64>,
        file_size: Option<u64>,
        cpu_seconds: Option<u64>,
        scratch: Option<u64>,
        allow_debugger: bool,
        allow_nested_namespaces: bool,
    ) -> PyResult<Self> {
        let paths = |names: Option<Names>| names.map_or_else(|| Ok(Vec::new()), |names| names.absolute());
        let access = access_mode(access)?;
        let network: Option<Network> = network.map(network_reach).transpose()?;
        if access == Access::Full && matches!(network, Some(Network::None | Network::Allow(_))) {
            return Err(PyValueError::new_err(
                "nothing is confined with access=\"full\", so the network cannot be anything but \"host\"",
            ));
        }
        let host = Variables::of(py)?;
        let execution = Execution {
            mode: if write { Mode::Write } else { Mode::Read },
            writes: paths(writes)?,
            reads: paths(reads)?,
            sealed: [paths(sealed)?, stores(&host)?].concat(),
            network,
            access,
            memory_bytes: memory,
            limits: Limits {
                pids,
                open_files,
                file_bytes: file_size,
                cpu_seconds,
                scratch_bytes: scratch,
            },
            require: require
                .parse()
                .map_err(|error: UnknownLevel| PyValueError::new_err(error.to_string()))?,
            debugger: permission(allow_debugger),
            nested_namespaces: permission(allow_nested_namespaces),
            variables: env.map_or_else(|| Ok(Vec::new()), variables)?,
            ..Execution::new(workspace.absolute()?)
        };
        let prepared = detached(py, || execution.prepare(&|name| host.get(name)))?;
        let planned = text(prepared.planned()).map_err(|error| internal(py, &error))?;
        Ok(Self {
            prepared: Mutex::new(Some(Held::new(Arc::new(prepared)))),
            planned,
        })
    }

    #[getter]
    fn enforced<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.planned)
    }

    #[pyo3(signature = (argv, *, stdin = None, timeout = None, output_limit = 131_072))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        argv: Names,
        stdin: Option<&Bound<'py, PyBytes>>,
        timeout: Option<Seconds>,
        output_limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let argv = argv.into_names();
        if argv.is_empty() {
            return Err(PyValueError::new_err("argv is empty: it names the program first"));
        }
        let tail = output_limit / 2;
        let streams = Streams::Capture {
            stdin: stdin.map_or_else(Vec::new, |bytes| bytes.as_bytes().to_vec()),
            window: Window {
                head: output_limit - tail,
                tail,
            },
        };
        let prepared = self.open(py)?;
        let cancel = Cancel::new().map_err(|error| raised(py, &error.into()))?;
        let stop = |stop: Stop| {
            cancel.cancel(match stop {
                Stop::Deadline => Reason::Requested,
                Stop::Interrupt => Reason::Interrupted,
            });
        };
        let due = timeout.and_then(Seconds::end);
        let executed = supervise(py, due, &stop, || prepared.run(&argv, streams, &cancel))?;
        completed(py, &executed.map_err(|error| raised(py, &error))?)
    }

    fn close(&self, py: Python<'_>) {
        // Detached, since another thread may hold the lock while it waits for Python.
        py.detach(|| drop(self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }
}

impl Boundary {
    fn open(&self, py: Python<'_>) -> PyResult<Arc<PreparedExecution>> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        match prepared.as_ref() {
            Some(held) => Ok(Arc::clone(held.get(py, Class::Boundary, "boundary")?)),
            None => Err(raise(
                py,
                Class::Boundary,
                "closed",
                "this boundary was closed: make another one",
            )),
        }
    }
}

/// The stores this user has are out of reach even of a command that was given the home directory.
fn stores(host: &Variables) -> PyResult<Vec<PathBuf>> {
    let usual = host.get("HOME").map(|home| default_store(Path::new(&home)));
    let named = host.get("MICROCODER_STORE").map(PathBuf::from);
    let stores = usual.into_iter().chain(named).filter(|store| store.is_dir());
    Ok(stores.map(std::path::absolute).collect::<Result<_, _>>()?)
}

fn access_mode(word: &str) -> PyResult<Access> {
    match word {
        "boundary" => Ok(Access::Boundary),
        "toolchains" => Ok(Access::Toolchains),
        "full" => Ok(Access::Full),
        other => Err(PyValueError::new_err(format!(
            "access is \"boundary\", \"toolchains\" or \"full\", not {other:?}"
        ))),
    }
}

fn network_reach(word: &str) -> PyResult<Network> {
    word.parse()
        .map_err(|error: coder_boundary::Error| PyValueError::new_err(error.to_string()))
}

fn variables(mapping: &Bound<'_, PyAny>) -> PyResult<Vec<(OsString, OsString)>> {
    let pairs = mapping.call_method0("items")?;
    pairs
        .try_iter()?
        .map(|pair| {
            let (name, value): (Name, Name) = pair?.extract()?;
            Ok((name.0, value.0))
        })
        .collect()
}

/// The `Completed` of `coder_core/_values.py`.
fn completed<'py>(py: Python<'py>, executed: &Executed) -> PyResult<Bound<'py, PyAny>> {
    let outcome = &executed.outcome;
    let report = Report::from(executed);
    let document = text(&report).map_err(|error| internal(py, &error))?;
    let document = parsed(py, &document)?;
    // The only switch of this command is turned on by its timeout, or by an interrupt that is raised instead.
    let timed_out = matches!(
        outcome.ending,
        Ending::Cancelled {
            reason: Reason::Requested,
            ..
        }
    );
    if timed_out {
        document.set_item("ending", "deadline_exceeded")?;
    }
    let fields = PyDict::new(py);
    fields.set_item("exit_code", report.exit)?;
    fields.set_item("signal", signal(&outcome.ending))?;
    fields.set_item("ending", document.get_item("ending")?)?;
    fields.set_item("stdout", kept(py, &outcome.stdout))?;
    fields.set_item("stderr", kept(py, &outcome.stderr))?;
    fields.set_item("stdout_bytes", outcome.stdout.total_bytes)?;
    fields.set_item("stderr_bytes", outcome.stderr.total_bytes)?;
    fields.set_item("stdout_gap", outcome.stdout.gap().map(|gap| (gap.start, gap.end)))?;
    fields.set_item("stderr_gap", outcome.stderr.gap().map(|gap| (gap.start, gap.end)))?;
    fields.set_item("seconds", report.seconds)?;
    fields.set_item("tree_clear", report.group_clear)?;
    fields.set_item("enforced", document.get_item("enforced")?)?;
    fields.set_item("report", document)?;
    py.import("coder_core._values")?
        .getattr("Completed")?
        .call((), Some(&fields))
}

fn kept<'py>(py: Python<'py>, captured: &Captured) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &[captured.head.as_slice(), captured.tail.as_slice()].concat())
}

fn signal(ending: &Ending) -> Option<i32> {
    let death = match ending {
        Ending::Signalled(signal) => return Some(*signal),
        Ending::Exited(_) | Ending::Unknown => return None,
        Ending::DeadlineExceeded { death }
        | Ending::Cancelled { death, .. }
        | Ending::OutputLimit { death }
        | Ending::Stopped { death } => death,
    };
    match death {
        Death::Signalled(signal) => Some(*signal),
        Death::Exited(_) | Death::Unknown => None,
    }
}

fn internal(py: Python<'_>, error: &serde_json::Error) -> PyErr {
    raise(py, Class::Base, "internal", &error.to_string())
}
