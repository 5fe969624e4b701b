//! Whatever becomes of a grant's text, it means what it says or is refused, and never anything else.

use super::tests::template;
use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A grant with everything a run can have on.
fn rich() -> Value {
    let mut grant = template();
    grant["expected_source_snapshot"] = json!("ab".repeat(32));
    grant["wall_seconds"] = json!(600);
    let configuration = &mut grant["adapter_configuration"];
    configuration["max_steps"] = json!(16);
    configuration["api"] = json!("responses");
    configuration["credential_env"] = json!("KEY");
    configuration["expected_controller_digest"] = json!(Digest::of(b"controller"));
    configuration["fallbacks"] = json!([{
        "provider": "codex", "model": "gpt-6-luna", "effort": "low",
        "generation_endpoint": "https://chatgpt.com/backend-api/codex",
    }]);
    configuration["container"] = crate::container_profile::tests::template();
    grant
}

/// What a text says: without what means nothing, and digests in one form.
fn said(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let means = |name: &str, value: &Value| {
                let default = match name {
                    "access" => json!("boundary"),
                    "api" => json!("chat_completions"),
                    "fallbacks" => json!([]),
                    _ => Value::Null,
                };
                *value != default && !value.is_null() && name != "max_steps"
            };
            let kept = fields.iter().filter(|(name, value)| means(name, value));
            Value::Object(kept.map(|(name, value)| (name.clone(), said(value))).collect())
        }
        Value::Array(items) => items.iter().map(said).collect(),
        Value::String(text) => match text.parse::<Digest>() {
            Ok(digest) => json!(digest),
            Err(_) => value.clone(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// What was read, said in the same way.
fn read_back(grant: &Grant) -> Value {
    let mut fields = json!({
        "schema": SCHEMA,
        "task_id": grant.task_id,
        "intent_digest": grant.intent_digest,
        "expected_revision": grant.expected_revision,
        "expected_source_snapshot": grant.expected_source_snapshot,
        "program": grant.program,
        "arguments": grant.arguments,
        "write_workspace": grant.workspace_access == WorkspaceAccess::Write,
        "stream_bytes": grant.stream_bytes,
        "memory_bytes": grant.memory_bytes,
    });
    match &grant.work {
        Work::BoundedCommand { wall_seconds } => fields["wall_seconds"] = json!(wall_seconds),
        Work::Repository(configuration) => {
            fields["adapter_configuration"] = serde_json::to_value(configuration.to_text().unwrap()).unwrap();
        }
    }
    said(&fields)
}

/// Every place of a value, by its pointer.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| places(value, &format!("{at}/{name}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| places(value, &format!("{at}/{index}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "",
        "boundary",
        "toolchains",
        "full",
        "openai",
        "codex",
        "scripted",
        "synthetic",
        "in-process",
        "never",
        "off",
        "frozen-context",
        "low",
        "/bin/sh",
        "https://models.example/v1",
        "local:grok-acp",
        "a/b",
        "task-2",
        "\u{0}",
    ]);
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![
            -1_i64,
            0,
            1,
            1024,
            3600,
            67_108_864,
            8_589_934_592,
            9_007_199_254_740_991
        ])
        .prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        words.prop_map(Value::from),
        "[0-9a-f]{64}".prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!([])),
        Just(json!([""])),
        Just(json!({})),
    ]
}

#[derive(Debug, Clone)]
enum Change {
    Replace(prop::sample::Index, Value),
    Remove(prop::sample::Index),
    Add(prop::sample::Index, String, Value),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<prop::sample::Index>(), any_value()).prop_map(|(place, value)| Change::Replace(place, value)),
        1 => any::<prop::sample::Index>().prop_map(Change::Remove),
        1 => (any::<prop::sample::Index>(), "[a-z_]{1,12}", any_value())
            .prop_map(|(place, name, value)| Change::Add(place, name, value)),
    ]
}

fn apply(grant: &mut Value, change: &Change) {
    let mut all = Vec::new();
    places(grant, "", &mut all);
    match change {
        Change::Replace(place, value) => *grant.pointer_mut(place.get::<String>(&all)).unwrap() = value.clone(),
        Change::Remove(place) => {
            let parent = place.get::<String>(&all).rsplit_once('/');
            if let Some((parent, name)) = parent
                && let Some(Value::Object(fields)) = grant.pointer_mut(parent)
            {
                fields.remove(name);
            }
        }
        Change::Add(place, name, value) => {
            if let Some(Value::Object(fields)) = grant.pointer_mut(place.get::<String>(&all)) {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Refused in one of the ways there are, or read as it is written with its exact bytes kept.
fn holds(text: &[u8]) {
    match Grant::parse(text) {
        Ok(grant) => {
            assert_eq!((grant.text.as_bytes(), grant.digest), (text, Digest::of(text)));
            let mut written: Map<String, Value> = serde_json::from_slice(text).unwrap();
            // On a run this is a limit of earlier versions.
            if matches!(grant.work, Work::Repository(_)) {
                written.remove("wall_seconds");
            }
            assert_eq!(read_back(&grant), said(&Value::Object(written)));
        }
        Err(error) => {
            let known = ["grant_text", "grant_shape", "grant_field", "unsupported_schema"];
            assert!(known.contains(&error.code()), "{error:?}");
            assert_eq!(error.cause(), "configuration");
        }
    }
}

#[test]
fn everything_on_is_read_as_written() {
    let text = rich().to_string();
    assert!(Grant::parse(text.as_bytes()).is_ok());
    holds(text.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_changed_grant_means_what_it_says_or_is_refused(changes in prop::collection::vec(change(), 1..4)) {
        let mut grant = rich();
        changes.iter().for_each(|change| apply(&mut grant, change));
        holds(grant.to_string().as_bytes());
        holds(serde_json::to_string_pretty(&grant).unwrap().as_bytes());
    }

    #[test]
    fn changed_bytes_mean_what_they_say_or_are_refused(
        place in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..4),
        dropped in 0_usize..4,
    ) {
        let mut text = rich().to_string().into_bytes();
        let at = place.index(text.len());
        text.splice(at..(at + dropped).min(text.len()), bytes);
        holds(&text);
    }
}
