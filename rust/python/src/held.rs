//! A value that belongs to the process that made it. After `os.fork` (as by `multiprocessing`) the child has a copy of
//! every object: a store's connection must not be used there, and a boundary's scratch must not be removed there while the
//! parent uses it. So the child can neither use nor drop what is held here. Nothing is shared between processes.

use crate::error::{Class, raise};
use pyo3::prelude::*;

/// The value and whose it is.
pub(crate) struct Held<T> {
    value: Option<T>,
    process: u32,
}

impl<T> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Some(value),
            process: std::process::id(),
        }
    }

    /// The value, in the process that made it.
    pub(crate) fn get(&self, py: Python<'_>, class: Class, what: &str) -> PyResult<&T> {
        let ours = self.process == std::process::id();
        self.value.as_ref().filter(|_| ours).ok_or_else(|| {
            let message = format!("this {what} was opened before the process forked: open it again in the new process");
            raise(py, class, "forked", &message)
        })
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}
