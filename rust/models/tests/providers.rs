//! Every HTTP provider against a local server that speaks its protocol and misbehaves: one table of scenarios, each record of
//! each attempt compared whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod server;

use coder_agent::{Cost, Generated, GenerationFailure, GenerationRequest, HostFault, action_schema};
use coder_digest::{FixedClock, ModelName, Timestamp};
use coder_models::{
    Anthropic, AnthropicConfig, AttemptRequest, AttemptResponse, Attempts, Client, Codex, CodexConfig, Endpoint,
    HttpSettings, OpenAi, OpenAiConfig, Protocol, Secret, Timeouts,
};
use rstest::rstest;
use serde_json::{Value, json};
use server::{Answer, Request, Server, begin_stream, chunk, respond, stream, until_hung_up};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const NOW: i64 = 1_796_040_000;
const MODEL: &str = "gpt-6-luna";
const KEY: &str = "canary-key-9f31c7";
/// `{"exp": 1796050000}` between two parts that stay secret.
const TOKEN: &str = "canary-head.eyJleHAiOjE3OTYwNTAwMDB9.canary-tail-5d2b";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Chat,
    Responses,
    Anthropic,
    Codex,
}

use Provider::{Anthropic as Messages, Chat, Responses};

impl Provider {
    fn kind(self) -> &'static str {
        match self {
            Chat | Responses => "openai_request",
            Messages => "anthropic_request",
            Self::Codex => "codex_request",
        }
    }

    /// The events of a whole reply by `model`.
    fn events(self, model: &str) -> Vec<String> {
        let events = match self {
            Chat => vec![
                json!({"id": "r1", "model": model, "choices": [{"index": 0, "delta": {"content": "{\"é"}}]}),
                json!({"id": "r1", "model": model, "choices": [{"index": 0, "delta": {"content": "\"}"}, "finish_reason": "stop"}]}),
                json!({"id": "r1", "model": model, "choices": [], "usage": {
                    "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens": 20,
                    "completion_tokens_details": {"reasoning_tokens": 12}}}),
            ],
            Responses | Self::Codex => vec![
                json!({"type": "response.created", "response": {"id": "r1", "model": model}}),
                json!({"type": "response.output_text.delta", "delta": "{\"é"}),
                json!({"type": "response.output_text.delta", "delta": "\"}"}),
                json!({"type": "response.completed", "response": {"id": "r1", "model": model, "status": "completed",
                    "output": [{"type": "message", "content": [{"type": "output_text", "text": "{\"é\"}"}]}],
                    "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 20,
                        "output_tokens_details": {"reasoning_tokens": 12}}}}),
            ],
            Messages => vec![
                json!({"type": "message_start", "message": {"id": "r1", "model": model, "usage": {
                    "input_tokens": 30, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 1}}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "{\"é"}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\"}"}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}}),
                json!({"type": "message_stop"}),
            ],
        };
        let mut lines: Vec<String> = events.iter().map(|event| format!("data: {event}")).collect();
        if self == Chat {
            lines.push("data: [DONE]".to_owned());
        }
        lines
    }

    fn reply(self, model: &str, size: usize) -> Answer {
        let events = self.events(model);
        stream(&events.iter().map(String::as_str).collect::<Vec<_>>(), size)
    }

    /// The native items of the whole reply.
    fn items(self) -> Value {
        match self {
            Chat => json!([{"type": "message", "role": "assistant", "content": "{\"é\"}", "finish_reason": "stop"}]),
            Responses | Self::Codex => {
                json!([{"type": "message", "content": [{"type": "output_text", "text": "{\"é\"}"}]}])
            }
            Messages => json!([{"type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "{\"é\"}"}]}]),
        }
    }

    fn tokens(self) -> Value {
        match self {
            Messages => json!({"input": 100, "cached": 64, "output": 20}),
            Chat | Responses | Self::Codex => json!({"input": 100, "cached": 64, "output": 20, "reasoning": 12}),
        }
    }

    /// Only the ChatGPT login's endpoint has list prices wherever it is.
    fn cost(self) -> Value {
        match self {
            // 36 fresh, 64 cached and 20 of the reply: 3.6 + 0.64 + 10 millionths of a dollar, rounded up.
            Self::Codex => json!({"status": "known", "micro_usd": 15}),
            Chat | Responses | Messages => json!({"status": "unknown"}),
        }
    }

    /// How many tries a limit on requests at once gets.
    fn tries_of_a_rate_limit(self) -> usize {
        match self {
            Self::Codex => 3,
            Chat | Responses | Messages => 1,
        }
    }

    fn client(self, server: &Server, timeouts: Timeouts, response_bytes: u64) -> (Box<dyn Client>, Option<TempDir>) {
        let endpoint = Endpoint::parse(&server.endpoint()).unwrap();
        let model = ModelName::new(MODEL).unwrap();
        let clock = Arc::new(FixedClock::new(Timestamp(NOW * 1_000), 0));
        let http = HttpSettings {
            timeouts,
            response_bytes,
            retry_waits: vec![Duration::ZERO; 2],
            ..HttpSettings::default()
        };
        match self {
            Chat | Responses => {
                let mut config = OpenAiConfig::new(endpoint, model);
                config.protocol = match self {
                    Responses => Protocol::Responses,
                    _ => Protocol::ChatCompletions,
                };
                config.key = Some(Secret::new(KEY));
                (config.timeouts, config.response_bytes, config.retry_waits) =
                    (http.timeouts, http.response_bytes, http.retry_waits);
                (Box::new(OpenAi::new(config, clock).unwrap()), None)
            }
            Messages => {
                let config = AnthropicConfig {
                    endpoint,
                    model,
                    effort: None,
                    key: Secret::new(KEY),
                    http,
                };
                (Box::new(Anthropic::new(config, clock).unwrap()), None)
            }
            Self::Codex => {
                let (place, login) = login(TOKEN);
                let mut config = CodexConfig::new(endpoint, model, login, "repository-task-1-1".to_owned());
                config.http = http;
                (Box::new(Codex::new(config, clock).unwrap()), Some(place))
            }
        }
    }
}

fn login(token: &str) -> (TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("auth.json");
    let text = json!({"auth_mode": "chatgpt", "tokens": {"access_token": token, "account_id": "acct-1", "refresh_token": "canary-refresh"}});
    std::fs::write(&path, text.to_string()).unwrap();
    (place, path)
}

#[derive(Debug, Default)]
struct Keeper {
    requests: Vec<Value>,
    responses: Vec<AttemptResponse>,
    cuts: Vec<Vec<usize>>,
}

impl Attempts for Keeper {
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
        self.requests.push(serde_json::to_value(request).unwrap());
        self.cuts.push(request.form.cuts.to_vec());
        Ok(())
    }
    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
        self.responses.push(response.clone());
        Ok(())
    }
}

/// What came of one scenario: the call, and the record of each attempt without the count of bytes, which is the server's.
struct Came {
    generated: Generated,
    responses: Vec<Value>,
    requests: Vec<Request>,
}

fn play(provider: Provider, answers: Vec<Answer>, timeouts: Timeouts, response_bytes: u64) -> Came {
    let server = Server::start(answers);
    let mut keeper = Keeper::default();
    let (mut client, login) = provider.client(&server, timeouts, response_bytes);
    let request = GenerationRequest {
        step: 3,
        system: "Be brief.",
        prompt: "Fix it.",
        previous_bytes: 0,
        schema: action_schema(),
    };
    let generated = client.call(&request, &mut keeper, &|| false);
    // What is kept of it holds no secret, and the login is as it was.
    let kept = format!(
        "{client_requests:?} {:?} {generated:?}",
        keeper.responses,
        client_requests = keeper.requests
    );
    assert!(!kept.contains("canary"), "{kept}");
    if let Some(place) = login {
        let left: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["auth.json"]);
    }
    let responses = keeper.responses.iter().map(|response| {
        let mut value = serde_json::to_value(response).unwrap();
        assert!(value.as_object_mut().unwrap().remove("body_bytes").is_some());
        value
    });
    Came {
        generated,
        responses: responses.collect(),
        requests: server.finish(),
    }
}

fn usual(provider: Provider, answers: Vec<Answer>) -> Came {
    play(provider, answers, Timeouts::default(), 1_000_000)
}

/// The record of an attempt that gave nothing.
fn nothing(provider: Provider, number: usize, status: Option<u16>, error: Value, cost: Value) -> Value {
    json!({
        "kind": provider.kind(), "step": 3, "number": number, "status": status, "served_model": null, "response_id": null,
        "text": "", "items": [], "tokens": {}, "cost": cost, "error": error,
    })
}

fn free() -> Value {
    json!({"status": "known", "micro_usd": 0})
}

fn unknown() -> Value {
    json!({"status": "unknown"})
}

fn provider_words(came: &Came) -> &str {
    match &came.generated.reply {
        Err(GenerationFailure::Provider(words)) => words,
        other => panic!("{other:?}"),
    }
}

#[rstest]
fn success_wherever_the_stream_is_cut(
    #[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider,
    // One byte at a time also cuts through characters.
    #[values(1, 7, 100_000)] size: usize,
) {
    let came = usual(provider, vec![provider.reply(MODEL, size)]);
    let mut expected = json!({
        "kind": provider.kind(), "step": 3, "number": 1, "status": 200, "served_model": MODEL, "response_id": "r1",
        "text": "{\"é\"}", "items": provider.items(), "tokens": provider.tokens(), "cost": provider.cost(), "error": null,
    });
    if provider == Provider::Codex {
        expected["list_prices"] = json!("2026-03-21");
    }
    assert_eq!(came.responses, [expected]);
    assert_eq!(came.generated.reply.as_deref(), Ok("{\"é\"}"));
    assert_eq!((came.generated.attempts, came.generated.uncounted_attempts), (1, 0));
}

#[rstest]
fn a_used_up_plan_is_refused_at_once_with_its_reset(
    #[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider,
) {
    let body = json!({"error": {"type": "usage_limit_reached", "message": "x".repeat(900), "plan_type": "pro", "resets_at": NOW + 60}});
    let came = usual(provider, vec![respond(429, &[("retry-after", "5")], &body.to_string())]);
    let message = format!(
        "the server answered with HTTP status 429 (usage_limit_reached): {}…",
        "x".repeat(400)
    );
    let refusal = json!({
        "kind": "usage_limit", "resets_at": NOW + 60, "origin": {"source": "field", "name": "resets_at"}, "plan": "pro", "message": message,
    });
    let error = json!({"kind": "capacity", "message": message, "capacity": refusal});
    assert_eq!(came.responses, [nothing(provider, 1, Some(429), error, free())]);
    let Err(GenerationFailure::Capacity(told)) = &came.generated.reply else {
        panic!("{:?}", came.generated)
    };
    assert_eq!(
        (serde_json::to_value(told).unwrap(), came.generated.cost),
        (refusal, Cost::FREE)
    );
}

#[rstest]
fn a_limit_without_a_reset_makes_none_up(#[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider) {
    let tries = provider.tries_of_a_rate_limit();
    let answers = (0..tries).map(|_| respond(429, &[], r#"{"error":{"type":"rate_limit_error","message":"slow"}}"#));
    let came = usual(provider, answers.collect());
    let message = "the server answered with HTTP status 429 (rate_limit_error): slow";
    let error = json!({"kind": "capacity", "message": message, "capacity": {"kind": "rate_limit", "resets_at": null, "message": message}});
    let expected: Vec<Value> = (1..=tries)
        .map(|number| nothing(provider, number, Some(429), error.clone(), free()))
        .collect();
    assert_eq!(came.responses, expected);
    assert!(matches!(came.generated.reply, Err(GenerationFailure::Capacity(_))));
}

#[rstest]
fn a_server_error_is_tried_again_and_told(#[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider) {
    let answers = (0..3).map(|_| respond(500, &[], "boom"));
    let came = usual(provider, answers.collect());
    let error = json!({"kind": "status", "message": "the server answered with HTTP status 500: boom"});
    let expected: Vec<Value> = (1..=3)
        .map(|number| nothing(provider, number, Some(500), error.clone(), free()))
        .collect();
    assert_eq!(came.responses, expected);
    assert_eq!(provider_words(&came), "the server answered with HTTP status 500: boom");
    assert_eq!(came.generated.cost, Cost::FREE);
}

#[rstest]
fn a_broken_stream_is_tried_again_and_its_part_is_kept(
    #[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider,
) {
    let first: Vec<String> = provider.events(MODEL).into_iter().take(2).collect();
    let broken: Answer = Box::new(move |stream| {
        begin_stream(stream);
        for event in first {
            chunk(stream, format!("{event}\n\n").as_bytes()).unwrap();
        }
    });
    let came = usual(provider, vec![broken, provider.reply(MODEL, 100_000)]);
    let kept = &came.responses[0];
    assert_eq!(
        (&kept["error"]["kind"], &kept["served_model"]),
        (&json!("broken"), &json!(MODEL))
    );
    assert!(kept["text"].as_str().unwrap().starts_with("{\"é"), "{kept}");
    let cost = match provider {
        // The login's endpoint counts at the end only; the Messages API counts the prompt first, at a price nobody lists here.
        Chat | Responses | Messages | Provider::Codex => unknown(),
    };
    assert_eq!(kept["cost"], cost);
    assert_eq!((came.generated.attempts, came.generated.uncounted_attempts), (2, 1));
    assert!(came.generated.reply.is_ok());
    let total = match provider {
        Provider::Codex => Cost::AtLeast(15),
        Chat | Responses | Messages => Cost::Unknown,
    };
    assert_eq!(came.generated.cost, total);
}

#[rstest]
fn a_stall_ends_with_the_idle_time(#[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider) {
    let timeouts = Timeouts {
        idle: Duration::from_millis(100),
        ..Timeouts::default()
    };
    let came = play(provider, vec![Box::new(until_hung_up)], timeouts, 1_000_000);
    let error = json!({"kind": "idle_timeout", "message": "nothing came from the server for 0.1 s"});
    assert_eq!(came.responses, [nothing(provider, 1, None, error, unknown())]);
    assert_eq!(came.generated.uncounted_attempts, 1);
}

#[rstest]
fn a_slow_drip_ends_with_the_total_time(#[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider) {
    let timeouts = Timeouts {
        total: Duration::from_millis(100),
        ..Timeouts::default()
    };
    let drip: Answer = Box::new(|stream| {
        begin_stream(stream);
        while chunk(stream, b": still here\n\n").is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let came = play(provider, vec![drip], timeouts, 1_000_000);
    let error = json!({"kind": "total_timeout", "message": "the response was not over in 0.1 s"});
    assert_eq!(came.responses, [nothing(provider, 1, Some(200), error, unknown())]);
}

#[rstest]
fn a_huge_body_is_cut_at_its_bound(#[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider) {
    let flood: Answer = Box::new(|stream| {
        begin_stream(stream);
        while chunk(stream, &[b'x'; 4_096]).is_ok() {}
    });
    let came = play(provider, vec![flood], Timeouts::default(), 50_000);
    let error = json!({"kind": "too_large", "message": "the response is larger than 50000 bytes"});
    assert_eq!(came.responses, [nothing(provider, 1, Some(200), error, unknown())]);
}

#[rstest]
fn invalid_utf_8_across_two_chunks_is_no_reply(
    #[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider,
) {
    let torn: Answer = Box::new(|stream| {
        begin_stream(stream);
        // The first half of a character, then another character's.
        chunk(stream, b"data: \"\xc3").unwrap();
        chunk(stream, b"\xc3\"\n\n").unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let came = usual(provider, vec![torn]);
    let error = json!({"kind": "malformed", "message": "the event stream is not UTF-8"});
    assert_eq!(came.responses, [nothing(provider, 1, Some(200), error, unknown())]);
}

#[rstest]
fn trap_10_another_model_is_refused_after_its_response_is_kept(
    #[values(Chat, Responses, Messages, Provider::Codex)] provider: Provider,
) {
    let came = usual(provider, vec![provider.reply("gpt-6-luna-2026-09-01", 100_000)]);
    let message = "the response names the model `gpt-6-luna-2026-09-01`; the route admits only `gpt-6-luna`";
    assert_eq!(
        came.responses,
        [json!({
            "kind": provider.kind(), "step": 3, "number": 1, "status": 200, "served_model": "gpt-6-luna-2026-09-01",
            "response_id": "r1", "text": "{\"é\"}", "items": provider.items(), "tokens": provider.tokens(),
            "cost": unknown(), "error": {"kind": "wrong_model", "message": message},
        })]
    );
    assert_eq!(
        came.generated.reply,
        Err(GenerationFailure::HostFault(HostFault(message.to_owned())))
    );
}

/// Traps 16 and 17: nothing but the prompt is sent, the shape is asked for as text and not as a tool, and with reasoning.
#[test]
fn trap_17_what_a_chatgpt_login_sends_is_exact() {
    let came = usual(Provider::Codex, vec![Provider::Codex.reply(MODEL, 100_000)]);
    let schema: Value = serde_json::from_str(action_schema().json).unwrap();
    let sent = &came.requests[0];
    assert_eq!(
        sent.body,
        json!({
            "model": MODEL, "store": false, "stream": true, "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "repository-task-1-1", "reasoning": {"summary": "auto"},
            "text": {"format": {"type": "json_schema", "name": "next_action", "strict": true, "schema": schema}},
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}],
        })
    );
    let head = sent.head.to_ascii_lowercase();
    for line in [
        "post /v1/responses http/1.1".to_owned(),
        format!("authorization: bearer {}", TOKEN.to_ascii_lowercase()),
        "chatgpt-account-id: acct-1".to_owned(),
        "originator: microcoder".to_owned(),
        "session-id: repository-task-1-1".to_owned(),
        "accept: text/event-stream".to_owned(),
    ] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
}

#[test]
fn what_the_messages_api_is_sent_carries_the_key_and_the_version() {
    let came = usual(Messages, vec![Messages.reply(MODEL, 100_000)]);
    let head = came.requests[0].head.to_ascii_lowercase();
    for line in [
        "post /v1/v1/messages http/1.1",
        "x-api-key: canary-key-9f31c7",
        "anthropic-version: 2023-06-01",
    ] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    assert!(!head.contains("authorization"));
}

/// Trap 15: each request holds the pieces of the one before, with the mark after what is new.
#[test]
fn trap_15_the_prompt_grows_by_pieces() {
    let answers = (0..3).map(|_| Messages.reply(MODEL, 100_000)).collect();
    let server = Server::start(answers);
    let (mut client, _) = Messages.client(&server, Timeouts::default(), 1_000_000);
    let mut keeper = Keeper::default();
    for (step, prompt, previous_bytes) in [(1, "one ", 0), (2, "one two ", 4), (3, "one two three", 8)] {
        let request = GenerationRequest {
            step,
            system: "",
            prompt,
            previous_bytes,
            schema: action_schema(),
        };
        client.call(&request, &mut keeper, &|| false).reply.unwrap();
    }
    assert_eq!(keeper.cuts, [vec![], vec![4], vec![4, 8]]);
    let mark = json!({"type": "ephemeral"});
    let sent: Vec<Value> = server
        .finish()
        .iter()
        .map(|sent| sent.body["messages"][0]["content"].clone())
        .collect();
    assert_eq!(
        sent,
        [
            json!([{"type": "text", "text": "one ", "cache_control": mark}]),
            json!([{"type": "text", "text": "one "}, {"type": "text", "text": "two ", "cache_control": mark}]),
            json!([{"type": "text", "text": "one "}, {"type": "text", "text": "two "}, {"type": "text", "text": "three", "cache_control": mark}]),
        ]
    );
}

#[test]
fn the_windows_of_a_plan_are_kept_beside_the_reply() {
    let headers = [
        ("x-codex-primary-used-percent", "97.5"),
        ("x-codex-primary-window-minutes", "300"),
        ("x-codex-primary-reset-after-seconds", "90"),
        ("x-codex-secondary-used-percent", "12"),
        ("x-codex-secondary-reset-at", "1796140000"),
    ];
    let came = usual(
        Provider::Codex,
        vec![respond(429, &headers, r#"{"error":{"type":"usage_limit_reached"}}"#)],
    );
    assert_eq!(
        came.responses[0]["windows"],
        json!([
            {"window": "primary", "used_fraction": 0.975, "resets_at": NOW + 90, "length_seconds": 18_000},
            {"window": "secondary", "used_fraction": 0.12, "resets_at": 1_796_140_000},
        ])
    );
}

#[test]
fn a_login_that_ends_meanwhile_sends_nothing_and_says_what_to_do() {
    let server = Server::start(vec![]);
    let (_place, path) = login(TOKEN);
    let endpoint = Endpoint::parse(&server.endpoint()).unwrap();
    let config = CodexConfig::new(endpoint, ModelName::new(MODEL).unwrap(), path.clone(), "s".to_owned());
    let mut client = Codex::new(config, Arc::new(FixedClock::new(Timestamp(NOW * 1_000), 0))).unwrap();
    std::fs::write(&path, r#"{"tokens":{}}"#).unwrap();
    let request = GenerationRequest {
        step: 1,
        system: "",
        prompt: "",
        previous_bytes: 0,
        schema: action_schema(),
    };
    let mut keeper = Keeper::default();
    let generated = client.call(&request, &mut keeper, &|| false);
    let Err(GenerationFailure::Provider(words)) = &generated.reply else {
        panic!("{generated:?}")
    };
    assert!(
        words.ends_with("is not what Codex writes: run `codex login`"),
        "{words}"
    );
    assert_eq!(
        (generated.attempts, keeper.requests.len(), generated.cost),
        (0, 0, Cost::FREE)
    );
}
