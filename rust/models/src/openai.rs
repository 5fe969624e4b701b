//! The client of any OpenAI-compatible endpoint: Ollama, llama.cpp, vLLM, a hosted service. Retries what may pass by
//! itself, drops the response format once when the server does not know it, and refuses a reply of another model. Every
//! request is an attempt of its own on record.

use crate::attempts::{AttemptError, AttemptErrorKind, AttemptKind, AttemptRequest, AttemptResponse, Attempts};
use crate::client::{Client, wrong_model};
use crate::config::{Effort, OpenAiConfig, Protocol};
use crate::error::Error;
use crate::exchange::Exchange;
use crate::received::Received;
use crate::secret::Secret;
use crate::transport::http_client;
use crate::{chat, responses};
use coder_agent::{Cost, Generated, GenerationFailure, GenerationRequest, HostFault, Tokens};
use coder_digest::{Clock, Digest};
use reqwest::header::HeaderValue;
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long between two looks at the stop signal while waiting to try again.
const POLL: Duration = Duration::from_millis(20);

/// The shortest key: what is cleared of a shorter one is cleared of ordinary words with it. Backslashes do not count, since
/// escaping makes any number of them.
const MINIMUM_KEY_CHARACTERS: usize = 8;

/// Whether the endpoint is asked to enforce the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseFormat {
    Schema,
    /// It refused once; the system text describes the reply in words, too.
    Free,
}

/// A request that was sent: what it used counts whether or not its record was retained.
struct Attempted {
    response: AttemptResponse,
    retained: Result<(), HostFault>,
}

/// A client of one endpoint and one model.
pub struct OpenAi {
    config: OpenAiConfig,
    url: String,
    authorization: Option<HeaderValue>,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    clock: Arc<dyn Clock>,
    format: ResponseFormat,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OpenAi")
            .field("config", &self.config)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl OpenAi {
    /// Makes a client; nothing is sent. `clock` turns a stated wait into a time.
    ///
    /// # Errors
    /// [`Error::Key`] for a key that no header can hold or that has fewer than 8 characters, [`Error::Setup`] when TLS or the runtime cannot be set up.
    pub fn new(config: OpenAiConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let authorization = config.key.as_ref().map(authorization).transpose()?;
        let client = http_client(config.timeouts.connect, config.proxy)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Setup {
                reason: error.to_string(),
            })?;
        let path = match config.protocol {
            Protocol::ChatCompletions => chat::PATH,
            Protocol::Responses => responses::PATH,
        };
        Ok(Self {
            url: config.endpoint.below(path),
            authorization,
            client,
            runtime,
            clock,
            format: ResponseFormat::Schema,
            config,
        })
    }

    fn body(&self, request: &GenerationRequest<'_>) -> Result<String, serde_json::Error> {
        let schema = match self.format {
            ResponseFormat::Schema => Some(serde_json::from_str::<&RawValue>(request.schema.json)?),
            ResponseFormat::Free => None,
        };
        let (model, effort) = (self.config.model.as_str(), self.config.effort.map(Effort::as_str));
        match self.config.protocol {
            Protocol::ChatCompletions => chat::body(request, model, effort, schema),
            Protocol::Responses => responses::body(request, model, effort, schema),
        }
    }

    /// One request with its two records. The error is the one that the keeper or this crate met, not the server's.
    fn attempt(
        &self,
        request: &GenerationRequest<'_>,
        number: u32,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Attempted, GenerationFailure> {
        let fault = |reason: String| GenerationFailure::HostFault(HostFault(reason));
        // A runtime inside a runtime panics; the face of this crate is synchronous and says so instead.
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err(fault(
                "the client was called from inside an asynchronous runtime; call it from a plain thread".to_owned(),
            ));
        }
        let body = self
            .body(request)
            .map_err(|error| fault(format!("the request has no JSON form: {error}")))?;
        if cancelled() {
            return Err(GenerationFailure::Cancelled);
        }
        attempts
            .request(&AttemptRequest {
                kind: AttemptKind::OpenaiRequest,
                step: request.step,
                number,
                endpoint: &self.url,
                model: self.config.model.as_str(),
                effort: self.config.effort.map(Effort::as_str),
                body_digest: Digest::of(body.as_bytes()),
                body: &body,
                prompt: request.prompt,
                previous_bytes: request.previous_bytes,
            })
            .map_err(GenerationFailure::HostFault)?;
        let exchange = Exchange {
            client: &self.client,
            url: &self.url,
            authorization: self.authorization.as_ref(),
            body,
            protocol: self.config.protocol,
            admitted: self.config.model.as_str(),
            timeouts: self.config.timeouts,
            response_bytes: self.config.response_bytes,
            clock: self.clock.as_ref(),
        };
        let received = self.runtime.block_on(exchange.carry_out(cancelled));
        let mut response = self.described(request.step, number, received);
        if let Some(key) = &self.config.key {
            response.clear(key);
        }
        let retained = attempts.response(&response);
        Ok(Attempted { response, retained })
    }

    fn described(&self, step: u32, number: u32, received: Received) -> AttemptResponse {
        let admitted = self.config.model.as_str();
        let error = received.error.or_else(|| {
            (received.served_model.as_deref() != Some(admitted)).then(|| AttemptError {
                kind: AttemptErrorKind::WrongModel,
                message: match wrong_model(received.served_model.as_deref(), &self.config.model) {
                    GenerationFailure::HostFault(fault) => fault.0,
                    _ => String::new(),
                },
                capacity: None,
            })
        });
        AttemptResponse {
            kind: AttemptKind::OpenaiRequest,
            step,
            number,
            status: received.status,
            served_model: received.served_model,
            response_id: received.response_id,
            text: received.text.into_string(),
            items: received.items.into_values(),
            tokens: received.tokens,
            body_bytes: received.body_bytes,
            error,
        }
    }

    /// Waits before another try; false when the run was stopped meanwhile.
    fn waited(mut left: Duration, cancelled: &dyn Fn() -> bool) -> bool {
        while !left.is_zero() {
            if cancelled() {
                return false;
            }
            let nap = left.min(POLL);
            std::thread::sleep(nap);
            left -= nap;
        }
        !cancelled()
    }
}

impl Client for OpenAi {
    fn model(&self) -> &str {
        self.config.model.as_str()
    }

    fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated {
        let mut generated = Generated {
            reply: Err(GenerationFailure::Cancelled),
            model: None,
            tokens: Tokens::UNKNOWN,
            cost: Cost::FREE,
            attempts: 0,
            uncounted_attempts: 0,
        };
        let mut waits = self.config.retry_waits.clone().into_iter();
        loop {
            let number = generated.attempts.saturating_add(1);
            let Attempted { response, retained } = match self.attempt(request, number, attempts, cancelled) {
                Ok(attempted) => attempted,
                Err(failure) => {
                    generated.reply = Err(failure);
                    return generated;
                }
            };
            generated.attempts = number;
            account(&mut generated, &response);
            if let Err(fault) = retained {
                generated.reply = Err(GenerationFailure::HostFault(fault));
                return generated;
            }
            let Some(error) = response.error else {
                generated.reply = Ok(response.text);
                return generated;
            };
            match error.kind {
                AttemptErrorKind::FormatRefused if self.format == ResponseFormat::Schema => {
                    self.format = ResponseFormat::Free;
                    continue;
                }
                kind if may_pass(kind, response.status) => match waits.next() {
                    Some(wait) if Self::waited(wait, cancelled) => continue,
                    Some(_) => {
                        generated.reply = Err(GenerationFailure::Cancelled);
                        return generated;
                    }
                    None => {}
                },
                _ => {}
            }
            generated.reply = Err(failure(error));
            return generated;
        }
    }
}

/// Whether the same request may succeed a little later.
fn may_pass(kind: AttemptErrorKind, status: Option<u16>) -> bool {
    match kind {
        AttemptErrorKind::Connect | AttemptErrorKind::Broken => true,
        AttemptErrorKind::Status => status.is_some_and(|status| status >= 500),
        AttemptErrorKind::Cancelled
        | AttemptErrorKind::IdleTimeout
        | AttemptErrorKind::TotalTimeout
        | AttemptErrorKind::TooLarge
        | AttemptErrorKind::Redirect
        | AttemptErrorKind::Capacity
        | AttemptErrorKind::FormatRefused
        | AttemptErrorKind::Malformed
        | AttemptErrorKind::Incomplete
        | AttemptErrorKind::Declined
        | AttemptErrorKind::WrongModel
        | AttemptErrorKind::Script => false,
    }
}

fn failure(error: AttemptError) -> GenerationFailure {
    match (error.kind, error.capacity) {
        (AttemptErrorKind::Capacity, Some(refusal)) => GenerationFailure::Capacity(refusal),
        (AttemptErrorKind::Cancelled, _) => GenerationFailure::Cancelled,
        (AttemptErrorKind::WrongModel, _) => GenerationFailure::HostFault(HostFault(error.message)),
        _ => GenerationFailure::Provider(error.message),
    }
}

/// Adds what one attempt used. An error status means that nothing was generated, and so does a connection that never was;
/// any other attempt costs an amount that is not known here, and its tokens count only if it reported them.
fn account(generated: &mut Generated, response: &AttemptResponse) {
    generated.tokens = generated.tokens.plus(response.tokens);
    if response.served_model.is_some() {
        generated.model.clone_from(&response.served_model);
    }
    let connected = !matches!(&response.error, Some(error) if error.kind == AttemptErrorKind::Connect);
    let generating = response.status.map_or(connected, |status| (200..300).contains(&status));
    if generating {
        generated.cost = generated.cost.plus(Cost::Unknown);
        if !response.tokens.is_complete() {
            generated.uncounted_attempts = generated.uncounted_attempts.saturating_add(1);
        }
    }
}

fn authorization(key: &Secret) -> Result<HeaderValue, Error> {
    let unsendable = Error::Key {
        reason: "no HTTP header can hold it: it is empty or holds characters other than visible ASCII",
    };
    let distinct = key.distinct();
    let key = key.expose();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unsendable);
    }
    if distinct < MINIMUM_KEY_CHARACTERS {
        return Err(Error::Key {
            reason: "it has fewer than 8 characters other than backslashes, which would be found all over a reply when that is cleared of it: \
                     use a longer key, or none where the endpoint asks for none",
        });
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| unsendable)?;
    value.set_sensitive(true);
    Ok(value)
}
