//! The client through a program that behaves as Claude Code does, and as it does when it goes wrong: real processes, whose end
//! is proved. What the real program says is read the same way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use coder_agent::{Cost, Generated, GenerationFailure, GenerationRequest, HostFault, Tokens, action_schema};
use coder_digest::{FixedClock, ModelName, Timestamp};
use coder_models::{AttemptRequest, AttemptResponse, Attempts, Claude, ClaudeConfig, Client as _, Effort};
use coder_process::{Cancel, Reason};
use rstest::rstest;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const MODEL: &str = "claude-opus-5-5";
const SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"","structured_output":{"a":"é"},"session_id":"s","total_cost_usd":0.5,"usage":{"input_tokens":3,"cache_read_input_tokens":7,"output_tokens":2},"modelUsage":{"claude-opus-5-5":{}}}"#;

#[derive(Debug, Default)]
struct Keeper {
    requests: Vec<Value>,
    responses: Vec<AttemptResponse>,
}

impl Attempts for Keeper {
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
        self.requests.push(serde_json::to_value(request).unwrap());
        Ok(())
    }
    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
        self.responses.push(response.clone());
        Ok(())
    }
}

/// A place with a program that is this script, and the client of it.
fn client(script: &str, change: impl FnOnce(&mut ClaudeConfig)) -> (TempDir, Claude) {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("claude");
    std::fs::write(&program, format!("#!/bin/bash\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (model, directory) = (ModelName::new(MODEL).unwrap(), place.path().to_owned());
    let mut config = ClaudeConfig::new(program, model, directory, Cancel::never());
    config.variables = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("TOKEN".into(), "canary-5d21".into()),
    ];
    config.grace = Duration::from_millis(200);
    change(&mut config);
    (
        place,
        Claude::new(config, Arc::new(FixedClock::new(Timestamp(1_796_040_000_000), 0))),
    )
}

fn call(client: &mut Claude, keeper: &mut Keeper) -> Generated {
    let request = GenerationRequest {
        step: 1,
        system: "Be brief.",
        prompt: "Fix it.",
        previous_bytes: 0,
        schema: action_schema(),
    };
    client.call(&request, keeper, &|| false)
}

fn said() -> Generated {
    Generated {
        reply: Ok(r#"{"a":"é"}"#.to_owned()),
        model: Some(MODEL.to_owned()),
        tokens: Tokens {
            input: Some(10),
            cached: Some(7),
            output: Some(2),
            reasoning: None,
        },
        cost: Cost::Known(500_000),
        attempts: 1,
        uncounted_attempts: 0,
    }
}

#[test]
fn the_program_is_given_its_exact_arguments_and_one_line() {
    let script = format!(
        "printf '%s\\n' \"$@\" >arguments; cat >input; env | sort >environment; pwd >directory; echo '{SUCCESS}'"
    );
    let (place, mut client) = client(&script, |config| config.effort = Some(Effort::High));
    let mut keeper = Keeper::default();
    assert_eq!(call(&mut client, &mut keeper), said());
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let schema = action_schema().json;
    let expected = format!(
        "-p\n--input-format\nstream-json\n--output-format\nstream-json\n--verbose\n--include-partial-messages\n\
         --no-session-persistence\n--tools\n\n--max-turns\n1\n--setting-sources\n\n--model\n{MODEL}\n--effort\nhigh\n\
         --system-prompt\nBe brief.\n--json-schema\n{schema}\n"
    );
    assert_eq!(read("arguments"), expected);
    let content = json!([{"type": "text", "text": "Fix it.", "cache_control": {"type": "ephemeral"}}]);
    let line = json!({"type": "user", "message": {"role": "user", "content": content}});
    assert_eq!(serde_json::from_str::<Value>(&read("input")).unwrap(), line);
    assert!(read("input").ends_with("}\n"));
    // Trap 16: connectors of the account added a hundred thousand tokens.
    let environment = read("environment");
    for variable in [
        "ENABLE_CLAUDEAI_MCP_SERVERS=false",
        "FORCE_PROMPT_CACHING_5M=1",
        "TOKEN=canary-5d21",
    ] {
        assert!(
            environment.lines().any(|line| line == variable),
            "{variable} in {environment}"
        );
    }
    assert_eq!(read("directory").trim_end(), place.path().to_str().unwrap());
    let body: Value = serde_json::from_str(keeper.requests[0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&body["input"], body["arguments"].as_array().unwrap().len()),
        (&line, 22)
    );
    assert!(!format!("{:?} {:?} {client:?}", keeper.requests, keeper.responses).contains("canary"));
    let mut kept = serde_json::to_value(&keeper.responses).unwrap();
    kept[0].as_object_mut().unwrap().remove("body_bytes");
    assert_eq!(
        kept,
        json!([{
            "kind": "claude_request", "step": 1, "number": 1, "status": null, "served_model": MODEL, "response_id": "s",
            "text": "{\"a\":\"é\"}", "items": [], "tokens": {"input": 10, "cached": 7, "output": 2},
            "cost": {"status": "known", "micro_usd": 500_000}, "error": null,
        }])
    );
}

/// Report 29: a program that printed its result and did not end held its caller for ever.
#[rstest]
#[case::sleeps("echo 'RESULT'; exec sleep 1000")]
#[case::will_not_hear_of_it("trap '' TERM; echo 'RESULT'; while :; do sleep 1000; done")]
#[case::waits_for_its_input("echo 'RESULT'; cat >/dev/null; exec sleep 1000")]
#[case::leaves_a_child_with_its_output("(setsid sleep 1000 &) ; echo 'RESULT'; exit 0")]
#[case::says_more_than_its_result("echo 'RESULT'; exec yes")]
fn report_29_the_result_is_the_end(#[case] script: &str) {
    let (_place, mut client) = client(&script.replace("RESULT", SUCCESS), |_| {});
    assert_eq!(call(&mut client, &mut Keeper::default()), said());
}

#[rstest]
#[case::ends_without(
    "echo oh no >&2; exit 3",
    "the program ended with status 3 and no result: oh no",
    Cost::Unknown
)]
#[case::stalls("exec sleep 1000", "nothing came from the program for 0.2 s", Cost::Unknown)]
#[case::drips(
    "while :; do echo; sleep 0.05; done",
    "the program was not done in 1 s",
    Cost::Unknown
)]
#[case::floods("exec yes", "the program printed more than 100000 bytes", Cost::Unknown)]
#[case::broken_text(
    r#"printf '{"type":"\303'; sleep 0.05; printf '\303"}\n'; exec sleep 1000"#,
    "a line of the program is no JSON in UTF-8",
    Cost::Unknown
)]
#[case::server_error(
    r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"result":"API Error","total_cost_usd":0}'; exit 1"#,
    "the program reports HTTP status 500: API Error", Cost::FREE)]
fn a_call_that_gives_nothing_says_why(#[case] script: &str, #[case] words: &str, #[case] cost: Cost) {
    let (_place, mut client) = client(script, |config| {
        config.timeouts.idle = Duration::from_millis(200);
        config.timeouts.total = Duration::from_secs(1);
        config.response_bytes = 100_000;
    });
    let generated = call(&mut client, &mut Keeper::default());
    assert_eq!(generated.reply, Err(GenerationFailure::Provider(words.to_owned())));
    assert_eq!((generated.cost, generated.attempts), (cost, 1));
}

#[test]
fn a_program_that_is_gone_says_so() {
    let (place, mut client) = client("", |_| {});
    std::fs::remove_file(place.path().join("claude")).unwrap();
    let Err(GenerationFailure::Provider(words)) = call(&mut client, &mut Keeper::default()).reply else {
        panic!("a program that is not there answered")
    };
    assert!(words.starts_with("the program cannot be run: "), "{words}");
}

#[test]
fn another_model_is_refused_after_its_reply_is_kept() {
    let (_place, mut client) = client(
        &format!("echo '{}'", SUCCESS.replace(MODEL, "claude-haiku-4-5")),
        |_| {},
    );
    let mut keeper = Keeper::default();
    let words = "the response names the model `claude-haiku-4-5`; the route admits only `claude-opus-5-5`";
    assert_eq!(
        call(&mut client, &mut keeper).reply,
        Err(GenerationFailure::HostFault(HostFault(words.to_owned())))
    );
    assert_eq!(keeper.responses[0].text, r#"{"a":"é"}"#);
}

#[test]
fn a_stopped_run_ends_the_program_and_its_cost_is_unknown() {
    let cancel = Cancel::new().unwrap();
    let stop = cancel.clone();
    // The program itself says when it is under way.
    let (place, mut client) = client("echo >begun; exec sleep 1000", |config| config.cancel = cancel);
    let begun = place.path().join("begun");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.exists() {
                std::thread::yield_now();
            }
            stop.cancel(Reason::Requested);
        });
        let generated = call(&mut client, &mut Keeper::default());
        assert_eq!(
            (generated.reply, generated.cost, generated.uncounted_attempts),
            (Err(GenerationFailure::Cancelled), Cost::Unknown, 1)
        );
    });
}

#[test]
fn a_mark_that_the_provider_does_not_take_is_left_out_from_then_on() {
    let refused = r#"{"type":"result","is_error":true,"api_error_status":400,"result":"API Error: cache_control is not allowed","total_cost_usd":0}"#;
    let script = format!("read line; case $line in *cache_control*) echo '{refused}';; *) echo '{SUCCESS}';; esac");
    let (_place, mut client) = client(&script, |_| {});
    let mut keeper = Keeper::default();
    assert_eq!(call(&mut client, &mut keeper), Generated { attempts: 2, ..said() });
    assert_eq!(call(&mut client, &mut keeper), said());
    assert_eq!(keeper.responses.len(), 3);
}
