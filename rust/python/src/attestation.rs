//! What is done with attestations where there is no store: their verification as such, and the keys they are signed with.

use crate::asked::Task;
use crate::convert::{Name, parsed, text};
use crate::error::{Class, detached, raise};
use coder_signing::{SigningKey, VerifyingKey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pyfunction]
#[pyo3(signature = (attestation, *, key = None, task_id = None))]
pub(crate) fn verify_attestation<'py>(
    py: Python<'py>,
    attestation: Vec<u8>,
    key: Option<Name>,
    task_id: Option<Task>,
) -> PyResult<Bound<'py, PyAny>> {
    let key = key.map(|key| key.absolute()).transpose()?;
    let verification = detached(py, || {
        let key = key.as_deref().map(VerifyingKey::read).transpose()?;
        let task = task_id.map(|task| task.0);
        coder_host::verify_attestation(None, task.as_ref(), &attestation, key.as_ref())
    })?;
    let text = text(&verification).map_err(|error| raise(py, Class::Base, "internal", &error.to_string()))?;
    parsed(py, &text)
}

#[pyfunction]
pub(crate) fn generate_key(py: Python<'_>, path: Name) -> PyResult<String> {
    let path = path.absolute()?;
    let random: Vec<u8> = py.import("os")?.call_method1("urandom", (32,))?.extract()?;
    let seed = <[u8; 32]>::try_from(random).map_err(|_| PyValueError::new_err("os.urandom gave another length"))?;
    detached(py, || {
        let key = SigningKey::from_seed(&seed)?;
        key.write(&path)?;
        Ok(key.verifying_key().key_id().as_str().to_owned())
    })
}
