//! The client that uses a ChatGPT login: Responses as a stream, with a few more tries for what may pass, and none for a plan
//! that is used up. What the response's headers say of the plan's windows is kept beside each attempt.

use crate::attempts::{AttemptKind, Attempts};
use crate::client::Client;
use crate::config::{CodexConfig, Effort};
use crate::dialect::{Credentials, Dialect, RateLimit, Reader};
use crate::error::Error;
use crate::http::Http;
use crate::login::{self, login_fingerprint};
use crate::prices::{self, ListPrice};
use crate::received::Received;
use crate::refusal::Failing;
use crate::responses::{self, Extras, Responses};
use coder_agent::{Generated, GenerationRequest};
use coder_digest::{Clock, ModelName, Timestamp};
use coder_failover::UsageWindow;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// How this program names itself to the server.
const ORIGINATOR: HeaderValue = HeaderValue::from_static("microcoder");

/// A client of one login and one model.
#[derive(Debug)]
pub struct Codex {
    http: Http<CodexDialect>,
    account: String,
}

#[derive(Debug)]
struct CodexDialect {
    config: CodexConfig,
    url: String,
}

impl Codex {
    /// Makes a client; nothing is sent. The login must be usable now, and is read again before each request.
    ///
    /// # Errors
    /// [`Error::Login`] without a usable login, [`Error::Setup`] when TLS or the runtime cannot be set up.
    pub fn new(config: CodexConfig, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let usable = login::read(&config.login, clock.now()).map_err(|reason| Error::Login { reason })?;
        let settings = config.http.clone();
        let dialect = CodexDialect {
            url: config.endpoint.below(responses::PATH),
            config,
        };
        Ok(Self {
            account: login_fingerprint("codex", &usable.account, None),
            http: Http::new(dialect, settings, clock)?,
        })
    }

    /// The fingerprint of the account.
    pub fn account(&self) -> &str {
        &self.account
    }
}

impl Client for Codex {
    fn model(&self) -> &str {
        self.http.model()
    }

    fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated {
        self.http.call(request, attempts, cancelled)
    }
}

impl Dialect for CodexDialect {
    fn kind(&self) -> AttemptKind {
        AttemptKind::CodexRequest
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
        let effort = self.config.effort.map(Effort::as_str);
        let extras = Extras {
            prompt_cache_key: &self.config.session,
        };
        responses::body(request, self.config.model.as_str(), effort, schema, Some(extras))
    }

    fn credentials(&self, now: Timestamp) -> Result<Credentials, String> {
        let login = login::read(&self.config.login, now)?;
        let unsendable = |what: &str| format!("the Codex login has {what} that no header can hold: run `codex login`");
        let authorization = login.token.header("Bearer ").map_err(|_| unsendable("a token"))?;
        let account = HeaderValue::from_str(&login.account).map_err(|_| unsendable("an account"))?;
        let session = HeaderValue::from_str(&self.config.session).map_err(|_| unsendable("a session"))?;
        let headers = HeaderMap::from_iter([
            (AUTHORIZATION, authorization),
            (HeaderName::from_static("chatgpt-account-id"), account),
            (HeaderName::from_static("originator"), ORIGINATOR),
            (HeaderName::from_static("session-id"), session),
            (ACCEPT, HeaderValue::from_static("text/event-stream")),
        ]);
        Ok(Credentials {
            headers,
            secret: Some(login.token),
        })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(CodexReader(Responses::default()))
    }

    fn rate_limit(&self) -> RateLimit {
        RateLimit::TryAgain
    }

    fn price(&self) -> Option<&'static ListPrice> {
        prices::openai(self.config.model.as_str())
    }
}

/// Responses, with what the headers say of the plan's windows.
struct CodexReader(Responses);

impl Reader for CodexReader {
    fn headers(&mut self, headers: &HeaderMap, now: Timestamp, received: &mut Received) {
        received.windows = ["primary", "secondary"]
            .iter()
            .filter_map(|window| read_window(headers, window, now))
            .collect();
    }

    fn event(&mut self, data: &str, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        self.0.event(data, admitted, failing, received);
    }

    fn whole(&mut self, response: &Value, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        self.0.whole(response, admitted, failing, received);
    }

    fn finish(self: Box<Self>, received: &mut Received) {
        Box::new(self.0).finish(received);
    }
}

/// One window of the plan, where the headers tell of it.
fn read_window(headers: &HeaderMap, window: &str, now: Timestamp) -> Option<UsageWindow> {
    let number = |name: &str| {
        let value = headers.get(format!("x-codex-{window}-{name}"))?.to_str().ok()?;
        value
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0)
    };
    let after = || number("reset-after-seconds").map(|wait| now.0 as f64 / 1000.0 + wait);
    Some(UsageWindow {
        window: window.to_owned(),
        used_fraction: number("used-percent")? / 100.0,
        resets_at: number("reset-at").or_else(after).map(|time| time.ceil() as i64),
        length_seconds: number("window-minutes").map(|minutes| (minutes * 60.0) as u64),
    })
}
