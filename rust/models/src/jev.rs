//! The client of Jev, which answers the loop's advisory questions: one request for each, never tried again by itself, since a
//! repeated one may be charged twice. The exact bytes of the answer are handed on; a name other than the model's is no answer.

use crate::config::ProxyUse;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::refusal::shorten;
use crate::secret::{Extent, Secret};
use crate::transport::http_client;
use coder_agent::{Cost, JudgeState, QUESTIONS, QuestionKind};
use coder_digest::{ModelName, json};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Below the endpoint.
const PATH: &str = "v1/systemone";
/// The most bytes of one answer that are kept and read.
const ANSWER_BYTES: usize = 256 * 1024;
/// What a million input tokens cost, in millionths of a US dollar; output is free.
const INPUT_PRICE: u128 = 42_000;
/// How long between two looks at the stop signal.
const POLL: Duration = Duration::from_millis(20);
/// The five levels of the question how much is in place.
const LEVELS: [&str; 5] = [
    "Nothing of it is in place.",
    "A little of it is in place.",
    "About half of it is in place.",
    "Most of it is in place.",
    "All of it is in place.",
];

/// What a client of Jev is made of.
#[derive(Debug, Clone)]
pub struct JevConfig {
    /// The base address.
    pub endpoint: Endpoint,
    /// The model, exactly as its answers must name it.
    pub model: ModelName,
    /// The key.
    pub key: Secret,
    /// How long one request may take: 10 seconds are usual.
    pub timeout: Duration,
}

/// A client of one endpoint and one model.
pub struct Jev {
    config: JevConfig,
    url: String,
    authorization: HeaderValue,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

/// The answers, each within its range.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Answers {
    /// Probability that the task is done.
    pub done: Option<f64>,
    /// Probability of progress.
    pub progress: Option<f64>,
    /// Probability of a repeated failed approach.
    pub repeating: Option<f64>,
    /// Level of completeness, 0 to 4.
    pub complete: Option<u8>,
}

/// Why there are no answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionFailure {
    /// The request or its answer failed.
    Failed(String),
    /// Another model answered than the admitted one, or none is named.
    WrongModel(String),
}

/// What came of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The HTTP status, if one came.
    pub status: Option<u16>,
    /// The model, as the answer names it.
    pub model: Option<String>,
    /// The server's name for the request.
    pub request_id: Option<String>,
    /// The answer's bytes, at most 256 KiB, cleared of the key.
    pub body: Vec<u8>,
    /// Tokens of the question, if reported.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, if reported.
    pub output_tokens: Option<u64>,
    /// What it cost: by list price when it was answered, unknown when it failed.
    pub cost: Cost,
    /// The answers.
    pub answers: Result<Answers, DecisionFailure>,
}

impl Jev {
    /// Makes a client; nothing is sent.
    ///
    /// # Errors
    /// [`Error::Key`] for a key that no header can hold or that is too short, [`Error::Setup`] when TLS or the runtime
    /// cannot be set up.
    pub fn new(config: JevConfig) -> Result<Self, Error> {
        let setup = |reason: std::io::Error| Error::Setup {
            reason: reason.to_string(),
        };
        Ok(Self {
            url: config.endpoint.below(PATH),
            authorization: config.key.header("Bearer ")?,
            client: http_client(config.timeout, ProxyUse::Never)?,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(setup)?,
            config,
        })
    }

    /// The exact URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The model that must answer.
    pub fn model(&self) -> &str {
        self.config.model.as_str()
    }

    /// The exact body that asks the question set about a state: JSON text.
    pub fn body(&self, state: &JudgeState) -> String {
        let questions: Map<String, Value> = QUESTIONS
            .iter()
            .map(|question| {
                let asked = match question.kind {
                    QuestionKind::Yes => json!({ "type": "noul", "instructions": question.text }),
                    QuestionKind::Level => {
                        json!({ "type": "score", "instructions": question.text, "criteria": LEVELS })
                    }
                };
                (question.id.to_owned(), asked)
            })
            .collect();
        json!({ "model": self.config.model, "state": state, "questions": questions }).to_string()
    }

    /// Sends one request, once. `cancelled` drops it.
    pub fn decide(&self, body: String, cancelled: &dyn Fn() -> bool) -> Decision {
        let mut decision = Decision {
            status: None,
            model: None,
            request_id: None,
            body: Vec::new(),
            input_tokens: None,
            output_tokens: None,
            cost: Cost::Unknown,
            answers: Err(DecisionFailure::Failed("the run was stopped".to_owned())),
        };
        if tokio::runtime::Handle::try_current().is_ok() {
            let words = "the client was called from inside an asynchronous runtime; call it from a plain thread";
            decision.answers = Err(DecisionFailure::Failed(words.to_owned()));
            return decision;
        }
        let timeout = self.config.timeout;
        let came = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = until(cancelled) => Err("the run was stopped".to_owned()),
                () = tokio::time::sleep(timeout) => Err(format!("no answer in {} s", timeout.as_secs_f64())),
                came = self.send(body, &mut decision) => came,
            }
        });
        let mut text = String::from_utf8(std::mem::take(&mut decision.body));
        match &mut text {
            Ok(text) => self.config.key.clear(text, Extent::Cut),
            // What is no text is no answer either, and could not be cleared of the key.
            Err(_) => text = Ok(String::new()),
        }
        decision.body = text.unwrap_or_default().into_bytes();
        decision.answers = match (came, decision.status) {
            (Err(words), _) => Err(DecisionFailure::Failed(words)),
            (Ok(()), Some(200..=299)) => self.read(&mut decision),
            (Ok(()), status) => Err(DecisionFailure::Failed(format!(
                "the server answered with HTTP status {}",
                status.unwrap_or_default()
            ))),
        };
        decision
    }

    async fn send(&self, body: String, decision: &mut Decision) -> Result<(), String> {
        let request = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, self.authorization.clone())
            .body(body);
        let broken = |error: reqwest::Error| format!("the connection failed: {}", error.without_url());
        let mut response = request.send().await.map_err(broken)?;
        decision.status = Some(response.status().as_u16());
        let request_id = response
            .headers()
            .get("x-request-id")
            .and_then(|value| value.to_str().ok());
        decision.request_id = request_id.map(shorten);
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            let left = ANSWER_BYTES.saturating_sub(decision.body.len());
            decision
                .body
                .extend_from_slice(chunk.get(..left.min(chunk.len())).unwrap_or_default());
            if chunk.len() > left {
                return Err(format!("the answer is larger than {ANSWER_BYTES} bytes"));
            }
        }
        Ok(())
    }

    /// Reads an answer, whose model must be the admitted one and whose every value must be in its range.
    fn read(&self, decision: &mut Decision) -> Result<Answers, DecisionFailure> {
        let failure = |words: &str| DecisionFailure::Failed(words.to_owned());
        let Ok(value) = json::parse(&decision.body, json::Limit(ANSWER_BYTES)) else {
            return Err(failure("the answer is not strict JSON"));
        };
        let count = |name: &str| value.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
        (decision.input_tokens, decision.output_tokens) = (count("input_tokens"), count("output_tokens"));
        decision.model = value.get("model").and_then(Value::as_str).map(shorten);
        if let Some(input) = decision.input_tokens {
            let amount = (u128::from(input) * INPUT_PRICE).div_ceil(1_000_000);
            decision.cost = Cost::Known(u64::try_from(amount).unwrap_or(u64::MAX));
        }
        let admitted = self.config.model.as_str();
        if decision.model.as_deref() != Some(admitted) {
            let served = decision.model.as_deref().unwrap_or_default();
            return Err(DecisionFailure::WrongModel(format!(
                "the decision names the model `{served}`; the grant admits only `{admitted}`: an alias such as `jev-latest` never is \
                 its own name, so name the exact version"
            )));
        }
        let probability = |id: &str| match value.pointer(&format!("/answers/{id}/noul")) {
            None => Ok(None),
            Some(answer) => match answer.as_f64().filter(|answer| (0.0..=1.0).contains(answer)) {
                Some(answer) => Ok(Some(answer)),
                None => Err(failure("a probability of the answer is not between 0 and 1")),
            },
        };
        let level = match value.pointer("/answers/complete/score") {
            None => None,
            Some(score) => match score.as_u64().filter(|level| *level < LEVELS.len() as u64) {
                Some(level) => u8::try_from(level).ok(),
                None => return Err(failure("a score of the answer is none of its levels")),
            },
        };
        Ok(Answers {
            done: probability("done")?,
            progress: probability("progress")?,
            repeating: probability("repeating")?,
            complete: level,
        })
    }
}

impl std::fmt::Debug for Jev {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Jev")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

async fn until(cancelled: &dyn Fn() -> bool) {
    while !cancelled() {
        tokio::time::sleep(POLL).await;
    }
}
