//! The seam between a host and its providers: one call, with the keeper of records and the stop signal beside it.

use crate::attempts::Attempts;
use coder_agent::{Generate, Generated, GenerationFailure, GenerationRequest, HostFault};
use coder_digest::ModelName;

/// A client of one provider and one model.
pub trait Client {
    /// The model it asks for, which is also the one that must serve.
    fn model(&self) -> &str;

    /// Answers one prompt. `cancelled` is asked again and again while a request is in flight; once it says yes the request
    /// is dropped.
    fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated;
}

/// A client with its keeper of records and its stop signal, as the loop takes it.
#[derive(Debug)]
pub struct Recorded<C, A, F> {
    client: C,
    attempts: A,
    cancelled: F,
}

impl<C: Client, A: Attempts, F: Fn() -> bool> Recorded<C, A, F> {
    /// Joins the three.
    pub fn new(client: C, attempts: A, cancelled: F) -> Self {
        Self {
            client,
            attempts,
            cancelled,
        }
    }

    /// The client, for example to ask a script what is left of it.
    pub fn client(&self) -> &C {
        &self.client
    }

    /// The keeper of records.
    pub fn attempts(&self) -> &A {
        &self.attempts
    }
}

impl<C: Client, A: Attempts, F: Fn() -> bool> Generate for Recorded<C, A, F> {
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated {
        self.client.call(request, &mut self.attempts, &self.cancelled)
    }
}

/// The refusal of a reply that the wrong model gave. A fault of the host and not of the provider: trying again would only
/// buy another reply from a model that nobody admitted.
pub(crate) fn wrong_model(served: Option<&str>, admitted: &ModelName) -> GenerationFailure {
    GenerationFailure::HostFault(HostFault(match served {
        Some(served) => format!("the response names the model `{served}`; the route admits only `{admitted}`"),
        None => format!("the response names no model; the route admits only `{admitted}`"),
    }))
}
