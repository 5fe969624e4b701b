//! The calls of every HTTP provider: one attempt after another, each with its two records, until a reply, a refusal or the
//! end of the tries. What may pass by itself is tried again, a response format that the server does not know is left out
//! once, and a reply of another model is refused. What a provider adds is its [`Dialect`].

use crate::attempts::{AttemptError, AttemptErrorKind, AttemptRequest, AttemptResponse, Attempts, PromptForm};
use crate::client::wrong_model;
use crate::config::HttpSettings;
use crate::dialect::{Dialect, RateLimit};
use crate::error::Error;
use crate::exchange::Exchange;
use crate::prices::LIST_PRICES;
use crate::received::Received;
use crate::transport::http_client;
use coder_agent::{CapacityKind, Cost, Generated, GenerationFailure, GenerationRequest, HostFault};
use coder_digest::{Clock, Digest};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long between two looks at the stop signal while waiting to try again.
const POLL: Duration = Duration::from_millis(20);

/// How many turns the tasks of a connection get to close it.
const TURNS: usize = 8;

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

/// The client of one dialect.
pub(crate) struct Http<D> {
    dialect: D,
    settings: HttpSettings,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    clock: Arc<dyn Clock>,
    format: ResponseFormat,
    /// Where the prompt was cut so far: at the end of each earlier one.
    cuts: Vec<usize>,
}

impl<D: Dialect + fmt::Debug> fmt::Debug for Http<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Http")
            .field("dialect", &self.dialect)
            .field("settings", &self.settings)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl<D: Dialect> Http<D> {
    /// Makes a client; nothing is sent. `clock` turns a stated wait into a time.
    pub(crate) fn new(dialect: D, settings: HttpSettings, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let client = http_client(settings.timeouts.connect, settings.proxy)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Setup {
                reason: error.to_string(),
            })?;
        Ok(Self {
            dialect,
            settings,
            client,
            runtime,
            clock,
            format: ResponseFormat::Schema,
            cuts: Vec::new(),
        })
    }

    pub(crate) fn model(&self) -> &str {
        self.dialect.model().as_str()
    }

    /// Cuts the prompt where each earlier one ended, so that the pieces of the last request are those of this one, too.
    fn cut(&mut self, request: &GenerationRequest<'_>) {
        self.cuts.retain(|cut| *cut < request.previous_bytes);
        if self.dialect.between().is_some()
            && request.previous_bytes > 0
            && request.prompt.is_char_boundary(request.previous_bytes)
        {
            self.cuts.push(request.previous_bytes);
        }
    }

    fn body(&self, request: &GenerationRequest<'_>) -> Result<String, serde_json::Error> {
        let schema = match self.format {
            ResponseFormat::Schema => Some(serde_json::from_str::<&RawValue>(request.schema.json)?),
            ResponseFormat::Free => None,
        };
        self.dialect.body(request, schema, &pieces(request.prompt, &self.cuts))
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
        let credentials = self
            .dialect
            .credentials(self.clock.now())
            .map_err(GenerationFailure::Provider)?;
        attempts
            .request(&AttemptRequest {
                kind: self.dialect.kind(),
                step: request.step,
                number,
                endpoint: self.dialect.url(),
                model: self.dialect.model().as_str(),
                effort: self.dialect.effort().map(|effort| effort.as_str()),
                body_digest: Digest::of(body.as_bytes()),
                body: &body,
                prompt: request.prompt,
                previous_bytes: request.previous_bytes,
                form: PromptForm {
                    cuts: &self.cuts,
                    between: self.dialect.between().unwrap_or_default(),
                },
            })
            .map_err(GenerationFailure::HostFault)?;
        let exchange = Exchange {
            client: &self.client,
            url: self.dialect.url(),
            headers: credentials.headers,
            body,
            reader: self.dialect.reader(),
            admitted: self.dialect.model().as_str(),
            timeouts: self.settings.timeouts,
            response_bytes: self.settings.response_bytes,
            clock: self.clock.as_ref(),
        };
        let received = self.runtime.block_on(async {
            let received = exchange.carry_out(cancelled).await;
            // A connection that was dropped is closed by a task of its own, which runs only in here: without a turn for it the
            // server would go on generating until the next call.
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            received
        });
        let mut response = self.described(request.step, number, received);
        if let Some(secret) = &credentials.secret {
            response.clear(secret);
        }
        let retained = attempts.response(&response);
        Ok(Attempted { response, retained })
    }

    fn described(&self, step: u32, number: u32, received: Received) -> AttemptResponse {
        let model = self.dialect.model();
        let error = received.error.or_else(|| {
            (received.served_model.as_deref() != Some(model.as_str())).then(|| AttemptError {
                kind: AttemptErrorKind::WrongModel,
                message: match wrong_model(received.served_model.as_deref(), model) {
                    GenerationFailure::HostFault(fault) => fault.0,
                    _ => String::new(),
                },
                capacity: None,
            })
        });
        let generating = is_generating(received.status, error.as_ref());
        // Another model has another price.
        let price = self
            .dialect
            .price()
            .filter(|_| generating && received.served_model.as_deref() == Some(model.as_str()));
        let cost = match (generating, price) {
            (false, _) => Cost::FREE,
            (true, None) => Cost::Unknown,
            (true, Some(price)) => price.cost(received.tokens, received.cache_written),
        };
        AttemptResponse {
            kind: self.dialect.kind(),
            step,
            number,
            status: received.status,
            served_model: received.served_model,
            response_id: received.response_id,
            text: received.text.into_string(),
            items: received.items.into_values(),
            tokens: received.tokens,
            cost,
            list_prices: price.map(|_| LIST_PRICES.to_owned()),
            windows: received.windows,
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

    pub(crate) fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated {
        let mut generated = Generated::unsent(GenerationFailure::Cancelled);
        self.cut(request);
        let mut waits = self.settings.retry_waits.clone().into_iter();
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
                _ if may_pass(&error, response.status, self.dialect.rate_limit()) => match waits.next() {
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

/// The prompt in pieces.
pub(crate) fn pieces<'a>(prompt: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for cut in cuts {
        pieces.extend(prompt.get(from..*cut));
        from = *cut;
    }
    pieces.extend(prompt.get(from..));
    pieces
}

/// Whether the same request may succeed a little later.
fn may_pass(error: &AttemptError, status: Option<u16>, rate_limit: RateLimit) -> bool {
    match error.kind {
        AttemptErrorKind::Connect | AttemptErrorKind::Broken => true,
        AttemptErrorKind::Status => status.is_some_and(|status| status >= 500),
        AttemptErrorKind::Capacity => {
            let kind = error.capacity.as_ref().map(|refusal| refusal.kind);
            rate_limit == RateLimit::TryAgain && kind == Some(CapacityKind::RateLimit)
        }
        AttemptErrorKind::Cancelled
        | AttemptErrorKind::Login
        | AttemptErrorKind::IdleTimeout
        | AttemptErrorKind::TotalTimeout
        | AttemptErrorKind::TooLarge
        | AttemptErrorKind::Redirect
        | AttemptErrorKind::FormatRefused
        | AttemptErrorKind::Malformed
        | AttemptErrorKind::Incomplete
        | AttemptErrorKind::Declined
        | AttemptErrorKind::WrongModel
        | AttemptErrorKind::Program
        | AttemptErrorKind::Script => false,
    }
}

/// Why there is no reply, as the loop knows it.
pub(crate) fn failure(error: AttemptError) -> GenerationFailure {
    match (error.kind, error.capacity) {
        (AttemptErrorKind::Capacity, Some(refusal)) => GenerationFailure::Capacity(refusal),
        (AttemptErrorKind::Cancelled, _) => GenerationFailure::Cancelled,
        (AttemptErrorKind::WrongModel, _) => GenerationFailure::HostFault(HostFault(error.message)),
        _ => GenerationFailure::Provider(error.message),
    }
}

/// Whether tokens may have been used. An error status means that nothing was generated, and so does a connection that never
/// was; any other attempt may have cost something, whatever became of it.
fn is_generating(status: Option<u16>, error: Option<&AttemptError>) -> bool {
    let connected = !matches!(error, Some(error) if error.kind == AttemptErrorKind::Connect);
    status.map_or(connected, |status| (200..300).contains(&status))
}

/// Adds what one attempt used.
pub(crate) fn account(generated: &mut Generated, response: &AttemptResponse) {
    generated.tokens = generated.tokens.plus(response.tokens);
    if response.served_model.is_some() {
        generated.model.clone_from(&response.served_model);
    }
    generated.cost = generated.cost.plus(response.cost);
    if response.cost != Cost::FREE && !response.tokens.is_complete() {
        generated.uncounted_attempts = generated.uncounted_attempts.saturating_add(1);
    }
}
