use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn envelope(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = json!({
        "schema": "openagents.coder.task-command.v1",
        "command_id": "c-1",
        "task_id": "t-1",
        "expected_revision": 3,
        "action": {"type": "correct", "prompt": "hush", "reason": "hush"},
    });
    change(&mut value);
    serde_json::to_vec(&value).unwrap()
}

fn refusal(bytes: &[u8]) -> (&'static str, String) {
    let error = Command::parse(bytes).unwrap_err();
    (error.code(), error.to_string())
}

#[test]
fn the_four_actions_are_read() {
    let read = |change: fn(&mut Value)| Command::parse(&envelope(change)).unwrap().action;
    assert_eq!(
        read(|_| ()),
        Action::Correct {
            expected_revision: 3,
            prompt: "hush".into(),
            reason: "hush".into()
        }
    );
    assert_eq!(
        read(|value| value["action"] = json!({"type": "cancel", "reason": "r"})),
        Action::Cancel {
            expected_revision: 3,
            reason: "r".into()
        }
    );
    assert_eq!(
        read(|value| value["action"] = json!({"type": "continue", "prompt": "p"})),
        Action::Continue {
            expected_revision: 3,
            prompt: "p".into()
        }
    );
    let submitted = read(|value| {
        value["expected_revision"] = Value::Null;
        value["action"] = json!({"type": "submit", "intent": crate::fixtures::intent("/w")});
    });
    assert_eq!(submitted.name(), "submit");
}

#[rstest]
#[case::schema(|value: &mut Value| value["schema"] = json!("openagents.coder.task-command.v2"), "unsupported_schema")]
#[case::schema_first(|value: &mut Value| *value = json!({"schema": "other", "future": 1}), "unsupported_schema")]
#[case::no_schema(|value: &mut Value| { value.as_object_mut().unwrap().remove("schema"); }, "invalid_command")]
#[case::no_revision(|value: &mut Value| { value.as_object_mut().unwrap().remove("expected_revision"); }, "invalid_command")]
#[case::null_revision(|value: &mut Value| value["expected_revision"] = Value::Null, "invalid_command")]
#[case::negative_revision(|value: &mut Value| value["expected_revision"] = json!(-1), "invalid_command")]
#[case::unknown_field(|value: &mut Value| value["extra"] = json!(1), "invalid_command")]
#[case::unknown_inside(|value: &mut Value| value["action"]["extra"] = json!(1), "invalid_command")]
#[case::missing_inside(|value: &mut Value| { value["action"].as_object_mut().unwrap().remove("prompt"); }, "invalid_command")]
#[case::unknown_action(|value: &mut Value| value["action"]["type"] = json!("hush"), "invalid_command")]
#[case::no_action(|value: &mut Value| value["action"] = Value::Null, "invalid_command")]
#[case::same_ids(|value: &mut Value| value["command_id"] = json!("t-1"), "invalid_command")]
#[case::bad_id(|value: &mut Value| value["command_id"] = json!("hush hush"), "invalid_command")]
#[case::long_reason(|value: &mut Value| value["action"]["reason"] = json!("hush".repeat(513)), "invalid_command")]
#[case::long_prompt(|value: &mut Value| value["action"]["prompt"] = json!("a".repeat(32 * 1024 + 1)), "invalid_command")]
#[case::blank(|value: &mut Value| value["action"]["prompt"] = json!("\n"), "invalid_command")]
#[case::control(|value: &mut Value| value["action"]["prompt"] = json!("hush\u{1b}[2J"), "invalid_command")]
#[case::wrong_type(|value: &mut Value| value["action"]["prompt"] = json!(["hush"]), "invalid_command")]
#[case::text_for_number(|value: &mut Value| value["expected_revision"] = json!("hush"), "invalid_command")]
#[case::submit_with_revision(
    |value: &mut Value| value["action"] = json!({"type": "submit", "intent": crate::fixtures::intent("/w")}),
    "invalid_command"
)]
fn a_bad_command_is_refused_without_echo(#[case] change: fn(&mut Value), #[case] code: &str) {
    let (found, message) = refusal(&envelope(change));
    assert_eq!(found, code, "{message}");
    assert!(!message.contains("hush"), "{message}");
}

#[test]
fn an_intent_is_closed_and_complete() {
    for change in [
        |intent: &mut Value| intent["extra"] = json!(1),
        |intent: &mut Value| intent["workspace"]["extra"] = json!(1),
        |intent: &mut Value| {
            intent["workspace"].as_object_mut().unwrap().remove("source_revision");
        },
        |intent: &mut Value| {
            intent["configuration"].as_object_mut().unwrap().remove("model");
        },
    ] {
        let mut intent = crate::fixtures::intent("/w");
        change(&mut intent);
        let bytes = envelope(|value| {
            value["expected_revision"] = Value::Null;
            value["action"] = json!({"type": "submit", "intent": intent});
        });
        assert_eq!(refusal(&bytes).0, "invalid_command");
    }
}

#[test]
fn the_size_bound_counts_white_space() {
    let mut bytes = envelope(|_| ());
    bytes.resize(64 * 1024, b' ');
    Command::parse(&bytes).unwrap();
    bytes.push(b' ');
    assert_eq!(refusal(&bytes).0, "invalid_command");
}

proptest::proptest! {
    #[test]
    fn any_bytes_end_in_an_answer(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = Command::parse(&bytes);
    }

    #[test]
    fn any_damage_to_a_command_ends_in_an_answer(at in 0_usize..200, byte in proptest::prelude::any::<u8>()) {
        let mut bytes = envelope(|_| ());
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = Command::parse(&bytes);
    }
}
