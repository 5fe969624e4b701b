//! The client of Anthropic's Messages API with a key. What the Claude Code program does with its own login is another client.

use crate::attempts::{AttemptKind, Attempts};
use crate::client::Client;
use crate::config::{AnthropicConfig, Effort};
use crate::dialect::{Credentials, Dialect, Reader};
use crate::error::Error;
use crate::http::Http;
use crate::messages::{self, Messages};
use crate::prices::{self, ListPrice};
use coder_agent::{Generated, GenerationRequest};
use coder_digest::{Clock, ModelName, Timestamp};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Where Anthropic itself serves, at its list prices.
const HOSTED: &str = "https://api.anthropic.com/";

/// A client of one endpoint and one model.
#[derive(Debug)]
pub struct Anthropic(Http<AnthropicDialect>);

#[derive(Debug)]
struct AnthropicDialect {
    config: AnthropicConfig,
    url: String,
    headers: HeaderMap,
}

impl Anthropic {
    /// Makes a client; nothing is sent.
    ///
    /// # Errors
    /// [`Error::Key`] for a key that no header can hold or that has fewer than 8 characters, [`Error::Setup`] when TLS or the
    /// runtime cannot be set up.
    pub fn new(config: AnthropicConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let headers = HeaderMap::from_iter([
            (
                HeaderName::from_static("anthropic-version"),
                HeaderValue::from_static("2023-06-01"),
            ),
            (HeaderName::from_static("x-api-key"), config.key.header("")?),
        ]);
        let settings = config.http.clone();
        let dialect = AnthropicDialect {
            url: config.endpoint.below(messages::PATH),
            headers,
            config,
        };
        Http::new(dialect, settings, clock).map(Self)
    }
}

impl Client for Anthropic {
    fn model(&self) -> &str {
        self.0.model()
    }

    fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated {
        self.0.call(request, attempts, cancelled)
    }
}

impl Dialect for AnthropicDialect {
    fn kind(&self) -> AttemptKind {
        AttemptKind::AnthropicRequest
    }

    fn model(&self) -> &ModelName {
        &self.config.model
    }

    fn effort(&self) -> Option<Effort> {
        self.config.effort
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn body(
        &self,
        request: &GenerationRequest<'_>,
        schema: Option<&RawValue>,
        pieces: &[&str],
    ) -> Result<String, serde_json::Error> {
        let effort = self.config.effort.map(Effort::as_str);
        messages::body(request, self.config.model.as_str(), effort, schema, pieces)
    }

    fn between(&self) -> Option<&'static str> {
        Some(messages::BETWEEN)
    }

    fn credentials(&self, _now: Timestamp) -> Result<Credentials, String> {
        Ok(Credentials {
            headers: self.headers.clone(),
            secret: Some(self.config.key.clone()),
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Messages::default())
    }

    fn price(&self) -> Option<&'static ListPrice> {
        let hosted = self.url.starts_with(HOSTED);
        hosted.then(|| prices::anthropic(self.config.model.as_str())).flatten()
    }
}
