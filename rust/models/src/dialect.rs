//! What one provider's HTTP protocol adds to the exchange that all share: its address, its headers, its body, its reader,
//! its prices. Knows nothing of sending, of retries or of records; those are [`crate::http`]'s.

use crate::attempts::AttemptKind;
use crate::config::Effort;
use crate::prices::ListPrice;
use crate::received::Received;
use crate::refusal::Failing;
use crate::secret::Secret;
use coder_agent::GenerationRequest;
use coder_digest::{ModelName, Timestamp};
use reqwest::header::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;

/// What a client of the provider does about a limit on requests at once. A used-up plan is never asked again by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateLimit {
    /// The route's affair at once.
    Refuse,
    /// A few more tries first.
    TryAgain,
}

/// What a request carries to be let in, and what must not show anywhere.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) headers: HeaderMap,
    pub(crate) secret: Option<Secret>,
}

/// One protocol with the settings of one client.
pub(crate) trait Dialect {
    fn kind(&self) -> AttemptKind;
    fn model(&self) -> &ModelName;
    fn effort(&self) -> Option<Effort>;
    fn url(&self) -> &str;

    /// The body. `schema` is left out where the server refuses it; `pieces` are the prompt, cut where [`Self::between`] says.
    fn body(
        &self,
        request: &GenerationRequest<'_>,
        schema: Option<&RawValue>,
        pieces: &[&str],
    ) -> Result<String, serde_json::Error>;

    /// What stands in the body between two pieces of the prompt; `None` where it is one piece.
    fn between(&self) -> Option<&'static str> {
        None
    }

    /// What lets the request in, looked up anew for each; the error says why there is none.
    fn credentials(&self, now: Timestamp) -> Result<Credentials, String>;

    fn reader(&self) -> Box<dyn Reader>;

    fn rate_limit(&self) -> RateLimit {
        RateLimit::Refuse
    }

    /// The list price of the model where it is served, if there is one.
    fn price(&self) -> Option<&'static ListPrice> {
        None
    }
}

/// Reads one response.
pub(crate) trait Reader {
    /// Takes the headers, before any of the body.
    fn headers(&mut self, _headers: &HeaderMap, _now: Timestamp, _received: &mut Received) {}

    /// Takes the data of one event.
    fn event(&mut self, data: &str, admitted: &str, failing: &Failing<'_>, received: &mut Received);

    /// Takes a response that did not stream.
    fn whole(&mut self, response: &Value, admitted: &str, failing: &Failing<'_>, received: &mut Received);

    /// Closes the response once no more will come.
    fn finish(self: Box<Self>, received: &mut Received);
}
