use super::*;
use coder_agent::{ResponseSchema, action_schema};
use rstest::rstest;

#[derive(Default)]
struct Keeper {
    requests: Vec<serde_json::Value>,
    responses: Vec<AttemptResponse>,
    refuse: Option<&'static str>,
}

impl Attempts for Keeper {
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
        self.requests.push(serde_json::to_value(request).unwrap());
        match self.refuse {
            Some("request") => Err(HostFault("no space left".to_owned())),
            _ => Ok(()),
        }
    }
    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
        self.responses.push(response.clone());
        match self.refuse {
            Some("response") => Err(HostFault("no space left".to_owned())),
            _ => Ok(()),
        }
    }
}

fn scripted(turns: serde_json::Value) -> Scripted {
    let text = serde_json::json!({"schema": crate::SCRIPT_SCHEMA, "turns": turns}).to_string();
    Scripted::new(Script::parse(text.as_bytes()).unwrap(), ModelName::new("m").unwrap())
}

fn request(step: u32, prompt: &str, previous_bytes: usize) -> GenerationRequest<'_> {
    let schema: ResponseSchema = action_schema();
    GenerationRequest {
        step,
        system: "S",
        prompt,
        previous_bytes,
        schema,
    }
}

#[test]
fn turns_are_played_in_order_and_cost_an_explicit_zero() {
    let mut client = scripted(serde_json::json!([
        {"expect": [{"step": 1}, {"prompt_contains": "one"}], "reply": {"finished": true}},
        {"expect": [{"new_text_contains": "two"}, {"prompt_not_contains": "three"}], "reply": "text",
         "usage": {"input": 5, "output": 1}},
    ]));
    let mut keeper = Keeper::default();
    let first = client.call(&request(1, "one", 0), &mut keeper, &|| false);
    assert_eq!(
        first,
        Generated {
            reply: Ok(r#"{"finished":true}"#.to_owned()),
            model: Some("m".to_owned()),
            tokens: ZERO,
            cost: Cost::FREE,
            attempts: 1,
            uncounted_attempts: 0,
        }
    );
    assert_eq!(client.remaining(), 1);
    let second = client.call(&request(2, "one two", 3), &mut keeper, &|| false);
    assert_eq!((second.reply.as_deref(), second.tokens.input), (Ok("text"), Some(5)));
    assert_eq!(client.remaining(), 0);
    let body = serde_json::json!({"model": "m", "script": client.script.digest(), "system": "S", "prompt": "one"});
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(keeper.requests[0]["body"].as_str().unwrap()).unwrap(),
        body
    );
    assert_eq!(
        serde_json::to_value(&keeper.responses[1]).unwrap(),
        serde_json::json!({
            "kind": "scripted_request", "step": 2, "number": 1, "status": null, "served_model": "m", "response_id": null,
            "text": "text", "items": [], "tokens": {"input": 5, "cached": 0, "output": 1, "reasoning": 0}, "cost": {"status": "known", "micro_usd": 0}, "body_bytes": 0,
            "error": null
        })
    );
}

#[rstest]
#[case(serde_json::json!([{"step": 2}]), "turn 1 of the script expected step 2")]
#[case(serde_json::json!([{"prompt_contains": "x"}]), "turn 1 of the script expected a prompt that contains \"x\"")]
#[case(
    serde_json::json!([{"prompt_not_contains": "one"}]),
    "turn 1 of the script expected a prompt that does not contain \"one\""
)]
#[case(
    serde_json::json!([{"prompt_contains": "one"}, {"new_text_contains": "one"}]),
    "turn 1 of the script expected new text in the prompt that contains \"one\""
)]
fn a_run_that_leaves_its_script_never_finds_back(#[case] expect: serde_json::Value, #[case] message: &str) {
    let mut client = scripted(serde_json::json!([{"expect": expect, "reply": "a"}, {"reply": "b"}]));
    let mut keeper = Keeper::default();
    for step in 1..=2 {
        let generated = client.call(&request(step, "one more", 3), &mut keeper, &|| false);
        assert_eq!(generated.reply, Err(GenerationFailure::Provider(message.to_owned())));
    }
    assert_eq!(client.remaining(), 2);
    assert_eq!(
        keeper.responses[1].error,
        Some(AttemptError {
            kind: AttemptErrorKind::Script,
            message: message.to_owned(),
            capacity: None
        })
    );
}

#[test]
fn one_turn_too_many_is_named() {
    let mut client = scripted(serde_json::json!([{"reply": "a"}]));
    let mut keeper = Keeper::default();
    client.call(&request(1, "", 0), &mut keeper, &|| false);
    assert_eq!(
        client.call(&request(2, "", 0), &mut keeper, &|| false).reply,
        Err(GenerationFailure::Provider(
            "the script has 1 turns, and turn 2 was asked for".to_owned()
        ))
    );
}

#[test]
fn failures_are_played_and_the_script_goes_on() {
    let mut client = scripted(serde_json::json!([
        {"fail": {"kind": "capacity", "resets_at": 7}}, {"fail": {"kind": "error", "message": "down"}}, {"reply": "a"},
    ]));
    let mut keeper = Keeper::default();
    let mut call = || client.call(&request(1, "", 0), &mut keeper, &|| false).reply;
    assert_eq!(
        call(),
        Err(GenerationFailure::Capacity(CapacityRefusal {
            resets_at: Some(7),
            origin: Some(ResetOrigin::Field {
                name: "resets_at".to_owned()
            }),
            ..CapacityRefusal::without_reset(
                CapacityKind::UsageLimit,
                "turn 1 of the script refuses for a usage limit"
            )
        }))
    );
    assert_eq!(call(), Err(GenerationFailure::Provider("down".to_owned())));
    assert_eq!(call(), Ok("a".to_owned()));
}

#[test]
fn another_model_is_refused_after_its_reply_is_retained() {
    let mut client = scripted(serde_json::json!([{"reply": "a", "model": "n"}]));
    let mut keeper = Keeper::default();
    let generated = client.call(&request(1, "", 0), &mut keeper, &|| false);
    let words = "the response names the model `n`; the route admits only `m`";
    assert_eq!(
        generated.reply,
        Err(GenerationFailure::HostFault(HostFault(words.to_owned())))
    );
    assert_eq!(
        (
            keeper.responses[0].text.as_str(),
            keeper.responses[0].served_model.as_deref()
        ),
        ("a", Some("n"))
    );
}

#[test]
fn what_is_not_retained_is_not_played_and_not_acted_on() {
    let fault = Err(GenerationFailure::HostFault(HostFault("no space left".to_owned())));
    let mut client = scripted(serde_json::json!([{"reply": "a"}]));
    let mut keeper = Keeper {
        refuse: Some("request"),
        ..Keeper::default()
    };
    let generated = client.call(&request(1, "", 0), &mut keeper, &|| false);
    assert_eq!(
        (&generated.reply, generated.attempts, keeper.responses.len()),
        (&fault, 0, 0)
    );
    assert_eq!(client.remaining(), 1);
    keeper.refuse = Some("response");
    assert_eq!(client.call(&request(1, "", 0), &mut keeper, &|| false).reply, fault);
}

#[test]
fn a_delay_ends_with_the_run() {
    let mut client = scripted(serde_json::json!([{"reply": "a", "delay_ms": 3_600_000}]));
    let mut keeper = Keeper::default();
    let asked = std::cell::Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let generated = client.call(&request(1, "", 0), &mut keeper, &cancelled);
    assert_eq!(generated.reply, Err(GenerationFailure::Cancelled));
    assert_eq!(
        keeper.responses[0].error.as_ref().unwrap().kind,
        AttemptErrorKind::Cancelled
    );
}
