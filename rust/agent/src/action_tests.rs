use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn look() -> Action {
    Action {
        rationale: "look".to_owned(),
        commands: vec!["ls".to_owned()],
        ..Action::default()
    }
}

#[rstest]
#[case::bare(r#"{"rationale":"look","commands":["ls"],"finished":false}"#)]
#[case::all_eight_keys(
    r#"{"reply":"","ask":"none","rationale":"look","commands":["ls"],"view":[],"freeze_tests":false,"expand":[],"finished":false}"#
)]
#[case::fence("```json\n{\"rationale\":\"look\",\"commands\":[\"ls\"],\"finished\":false}\n```")]
#[case::prose_before_and_after("Sure:\n{\"rationale\":\"look\",\"commands\":[\"ls\"],\"finished\":false}\nDone {}.")]
#[case::braces_in_thinking(
    "<think>maybe {x}? {}</think>{\"rationale\":\"look\",\"commands\":[\"ls\"],\"finished\":false}"
)]
#[case::nulls(
    r#"{"reply":null,"ask":null,"rationale":"look","commands":["ls"],"view":null,"freeze_tests":null,"expand":null,"finished":false}"#
)]
#[case::unknown_key(r#"{"rationale":"look","commands":["ls"],"finished":false,"mood":"good"}"#)]
#[case::wrapped(r#"{"next_action":{"rationale":"look","commands":["ls"],"finished":false}}"#)]
#[case::blank_scripts_are_none(r#"{"rationale":"look","commands":["","ls"," \n"],"finished":false}"#)]
#[case::first_of_two(
    r#"{"rationale":"look","commands":["ls"],"finished":false}{"rationale":"other","commands":[],"finished":true}"#
)]
fn the_first_action_is_read(#[case] text: &str) {
    assert_eq!(parse_action(text), Ok(look()));
}

#[rstest]
#[case::nothing("", "the reply holds no JSON object")]
#[case::prose("I will list the files.", "the reply holds no JSON object")]
#[case::array("[1]", "the reply holds no JSON object")]
#[case::missing_key(
    r#"{"rationale":"look","commands":[]}"#,
    "the reply is not the JSON object asked for: missing field `finished` at line 1 column 34"
)]
#[case::wrong_type(
    r#"{"rationale":"look","commands":"ls","finished":false}"#,
    "the reply is not the JSON object asked for: invalid type: string \"ls\", expected a sequence at line 1 column 35"
)]
#[case::the_object_and_not_the_brace_before_it(
    r#"a {b} c {"rationale":"look","commands":[]}"#,
    "the reply is not the JSON object asked for: missing field `finished` at line 1 column 34"
)]
#[case::cut(
    r#"{"rationale":"look","comm"#,
    "the reply is not the JSON object asked for: EOF while parsing a string at line 1 column 25"
)]
#[case::twice(
    r#"{"rationale":"a","rationale":"b","commands":[],"finished":true}"#,
    "the reply is not the JSON object asked for: duplicate field `rationale` at line 1 column 28"
)]
#[case::unknown_ask(
    r#"{"rationale":"","commands":[],"finished":true,"ask":"maybe"}"#,
    "the reply is not the JSON object asked for: unknown variant `maybe`, expected one of `none`, `question`, `approval` at \
     line 1 column 59"
)]
#[case::nul(
    r#"{"rationale":"","commands":["ok","a\u0000b"],"finished":true}"#,
    "commands[1] holds a NUL character, which no shell script can"
)]
fn what_is_no_action_is_named(#[case] text: &str, #[case] message: &str) {
    assert_eq!(parse_action(text).unwrap_err().to_string(), message);
}

#[test]
fn scripts_are_bounded_in_number_and_length() {
    let reply =
        |commands: &[String]| serde_json::json!({"rationale": "", "commands": commands, "finished": false}).to_string();
    let most = vec!["true".to_owned(); COMMANDS_PER_STEP];
    assert_eq!(parse_action(&reply(&most)).unwrap().commands, most);
    assert_eq!(
        parse_action(&reply(&vec!["true".to_owned(); COMMANDS_PER_STEP + 1])),
        Err(Error::TooManyCommands {
            count: 65,
            limit: COMMANDS_PER_STEP
        })
    );
    let longest = "x".repeat(SCRIPT_BYTES);
    let one = std::slice::from_ref(&longest);
    assert_eq!(parse_action(&reply(one)).unwrap().commands, one);
    assert_eq!(
        parse_action(&reply(&["true".to_owned(), longest + "x"])),
        Err(Error::ScriptTooLong {
            index: 1,
            bytes: SCRIPT_BYTES + 1,
            limit: SCRIPT_BYTES
        })
    );
}

#[test]
fn nesting_cannot_exhaust_the_stack() {
    let deep = format!("{{\"view\":{}", "[".repeat(100_000));
    assert!(matches!(parse_action(&deep), Err(Error::Reply { .. })));
    assert!(matches!(parse_action(&"{".repeat(1_000_000)), Err(Error::Reply { .. })));
}

#[test]
fn the_schema_is_strict_and_has_exactly_the_keys_that_are_read() {
    let schema: serde_json::Value = serde_json::from_str(ACTION_SCHEMA).unwrap();
    let action = serde_json::to_value(Action::default()).unwrap();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let read = sorted(action.as_object().unwrap().keys().cloned().collect());
    let described = sorted(schema["properties"].as_object().unwrap().keys().cloned().collect());
    let required: Vec<String> = serde_json::from_value(schema["required"].clone()).unwrap();
    assert_eq!(described, read);
    assert_eq!(sorted(required.clone()), read);
    assert_eq!(required[0], "reply");
    assert_eq!(schema["additionalProperties"], false);
    assert!(ACTION_SCHEMA.find("\"reply\"").unwrap() < ACTION_SCHEMA.find("\"commands\"").unwrap());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,400}") {
        let _ = parse_action(&text);
    }

    #[test]
    fn any_text_made_of_json_pieces_is_read_or_refused(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("{"), Just("}"), Just("["), Just("]"), Just(","), Just(":"), Just("\""), Just("\\"), Just("```json\n"),
                Just("\"rationale\":\"\""), Just("\"commands\":[]"), Just("\"finished\":true"), Just("\\u0000"), Just("null"),
                Just("\u{1f600}"), Just("1e999"),
            ],
            0..60,
        )
    ) {
        let _ = parse_action(&pieces.concat());
    }

    #[test]
    fn what_is_written_is_read_back(
        reply in ".{0,30}",
        rationale in "(?s).{0,30}",
        commands in proptest::collection::vec("[a-z{}\"\\\\` \u{e9}]{0,12}[a-z]", 0..5),
        view in proptest::collection::vec(".{0,12}", 0..5),
        finished in any::<bool>(),
        before in "[^{]{0,20}",
        after in "(?s).{0,20}",
    ) {
        let action = Action { reply, rationale, commands, view, finished, ..Action::default() };
        let text = format!("{before}{}{after}", serde_json::to_string(&action).unwrap());
        prop_assert_eq!(parse_action(&text), Ok(action));
    }
}
