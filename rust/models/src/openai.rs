//! The client of any OpenAI-compatible endpoint: Ollama, llama.cpp, vLLM, a hosted service. Speaks Chat Completions or
//! Responses; everything else is the same for all HTTP providers.

use crate::attempts::{AttemptKind, Attempts};
use crate::chat::{self, Chat};
use crate::client::Client;
use crate::config::{Effort, OpenAiConfig, Protocol};
use crate::dialect::{Credentials, Dialect, Reader};
use crate::error::Error;
use crate::http::Http;
use crate::prices::{self, ListPrice};
use crate::responses::{self, Responses};
use coder_agent::{Generated, GenerationRequest};
use coder_digest::{Clock, ModelName, Timestamp};
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Where OpenAI itself serves, at its list prices.
const HOSTED: &str = "https://api.openai.com/";

/// A client of one endpoint and one model.
#[derive(Debug)]
pub struct OpenAi(Http<OpenAiDialect>);

#[derive(Debug)]
struct OpenAiDialect {
    config: OpenAiConfig,
    url: String,
    headers: HeaderMap,
}

impl OpenAi {
    /// Makes a client; nothing is sent. `clock` turns a stated wait into a time.
    ///
    /// # Errors
    /// [`Error::Key`] for a key that no header can hold or that has fewer than 8 characters, [`Error::Setup`] when TLS or the runtime cannot be set up.
    pub fn new(config: OpenAiConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &config.key {
            headers.insert(AUTHORIZATION, key.header("Bearer ")?);
        }
        let path = match config.protocol {
            Protocol::ChatCompletions => chat::PATH,
            Protocol::Responses => responses::PATH,
        };
        let settings = config.http();
        let dialect = OpenAiDialect {
            url: config.endpoint.below(path),
            headers,
            config,
        };
        Http::new(dialect, settings, clock).map(Self)
    }
}

impl Client for OpenAi {
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

impl Dialect for OpenAiDialect {
    fn kind(&self) -> AttemptKind {
        AttemptKind::OpenaiRequest
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
        _pieces: &[&str],
    ) -> Result<String, serde_json::Error> {
        let (model, effort) = (self.config.model.as_str(), self.config.effort.map(Effort::as_str));
        match self.config.protocol {
            Protocol::ChatCompletions => chat::body(request, model, effort, schema),
            Protocol::Responses => responses::body(request, model, effort, schema, None),
        }
    }

    fn credentials(&self, _now: Timestamp) -> Result<Credentials, String> {
        Ok(Credentials {
            headers: self.headers.clone(),
            secret: self.config.key.clone(),
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        match self.config.protocol {
            Protocol::ChatCompletions => Box::new(Chat::default()),
            Protocol::Responses => Box::new(Responses::default()),
        }
    }

    fn price(&self) -> Option<&'static ListPrice> {
        let hosted = self.url.starts_with(HOSTED);
        hosted.then(|| prices::openai(self.config.model.as_str())).flatten()
    }
}
