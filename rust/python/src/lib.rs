//! The Python extension `coder_core._core`: what Python calls, and nothing else. Each function here names one function of
//! coder-host, coder-journal or coder-workspace; it converts the arguments, lets other Python threads run while the work
//! goes on, and converts the answer or the error. The documentation for users stands in `_core.pyi`, once.
//!
//! Importing it opens no file, starts no thread and handles no signal.

mod asked;
mod attestation;
mod boundary;
mod convert;
mod error;
mod held;
mod run;
mod snapshot;
mod start;
mod store;
mod supervise;

#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::attestation::{generate_key, verify_attestation};
    #[pymodule_export]
    use crate::boundary::Boundary;
    #[pymodule_export]
    use crate::run::{run_bounded, run_repository};
    #[pymodule_export]
    use crate::snapshot::snapshot;
    #[pymodule_export]
    use crate::start::start;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python has for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
