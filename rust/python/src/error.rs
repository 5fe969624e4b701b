//! How a refusal or a failure reaches Python: the class by where it came from, the stable code and the whole message as
//! they are everywhere else. The classes themselves are Python's, in `coder_core/_errors.py`.

use coder_host::Error;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The classes of `coder_core/_errors.py`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Class {
    Base,
    Refused,
    Store,
    Boundary,
    Workspace,
    Trace,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Base => "CoderError",
            Self::Refused => "Refused",
            Self::Store => "StoreError",
            Self::Boundary => "BoundaryError",
            Self::Workspace => "WorkspaceError",
            Self::Trace => "TraceError",
        }
    }

    fn of(error: &Error) -> Self {
        match error {
            Error::Journal(_)
            | Error::NoStore { .. }
            | Error::Retained { .. }
            | Error::Absent { .. }
            | Error::Unverified { .. }
            | Error::ActionMismatch { .. }
            | Error::AlreadyStarted { .. }
            | Error::Message { .. }
            | Error::NotRunning { .. }
            | Error::InboxFull { .. } => Self::Store,
            Error::Trace(_) | Error::Attestation { .. } => Self::Trace,
            Error::Workspace(_) => Self::Workspace,
            Error::Boundary(_) | Error::Process(_) | Error::TooLittleEnforced { .. } => Self::Boundary,
            Error::GrantText { .. }
            | Error::GrantShape { .. }
            | Error::GrantField { .. }
            | Error::UnsupportedSchema { .. }
            | Error::Mismatch { .. }
            | Error::NotQueued { .. }
            | Error::StoreOverlaps { .. }
            | Error::NotShell { .. }
            | Error::WritableCheckout { .. }
            | Error::SourceIncomplete { .. }
            | Error::SourceChanged { .. }
            | Error::NoCommit { .. }
            | Error::Instructions { .. }
            | Error::Knowledge { .. }
            | Error::Lineage { .. }
            | Error::Client { .. }
            | Error::NotSupported { .. }
            | Error::ProviderNotSupported { .. }
            | Error::ProviderUnavailable { .. }
            | Error::PathNotText { .. }
            | Error::Manifest { .. }
            | Error::Trust { .. }
            | Error::NotApproved { .. }
            | Error::Suite { .. }
            | Error::Signing(_)
            | Error::Models(_)
            | Error::Agent(_) => Self::Refused,
            // The error of coder-host may grow; what is not known here is still a CoderError with its code.
            Error::File { .. } | _ => Self::Base,
        }
    }
}

/// The Python exception of a host's error.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    raise(py, Class::of(error), error.code(), &error.message())
}

/// Work without Python, while other threads run: its error and even its panic become exceptions.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    // What the work was changing is not looked at again: the caller only gets the exception.
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(answer) => answer.map_err(|error| raised(py, &error)),
        Err(said) => Err(panicked(py, said.as_ref())),
    }
}

/// The exception of a panic.
pub(crate) fn panicked(py: Python<'_>, said: &(dyn Any + Send)) -> PyErr {
    let text = said.downcast_ref::<&str>().copied();
    let text = text.or_else(|| said.downcast_ref::<String>().map(String::as_str));
    let message = format!(
        "a fault of the program itself: {}",
        text.unwrap_or("it does not say which")
    );
    raise(py, Class::Base, "internal", &message)
}

/// An exception of a class, with a code and a message.
pub(crate) fn raise(py: Python<'_>, class: Class, code: &str, message: &str) -> PyErr {
    let class = py
        .import("coder_core._errors")
        .and_then(|errors| errors.getattr(class.name()))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, (code.to_owned(), message.to_owned())),
        Err(error) => error,
    }
}
