use super::*;
use rstest::rstest;

const WHOLE: &str = r#"{
  "schema": "openagents.microcoder.script.v1",
  "turns": [
    {
      "expect": [{"step": 1}, {"prompt_contains": "Fix"}, {"prompt_not_contains": "done"}, {"new_text_contains": "State"}],
      "reply": {"rationale": "look", "commands": ["ls"], "finished": false},
      "model": "org/model-1",
      "usage": {"input": 10, "output": 2},
      "delay_ms": 5
    },
    {"reply": "not JSON"},
    {"fail": {"kind": "capacity", "resets_at": 7}},
    {"fail": {"kind": "error", "message": "down"}}
  ]
}"#;

#[test]
fn a_script_is_read_and_written_back_equal() {
    let script = Script::parse(WHOLE.as_bytes()).unwrap();
    assert_eq!(script.digest(), Digest::of(WHOLE.as_bytes()));
    assert_eq!(script.turns().len(), 4);
    let recorded = Script::record(script.turns().to_vec()).unwrap();
    let text = recorded.to_json().unwrap();
    assert_eq!(Script::parse(text.as_bytes()).unwrap(), recorded);
    assert_eq!(recorded.turns(), script.turns());
    assert_eq!(recorded.digest(), Digest::of(text.as_bytes()));
}

#[rstest]
#[case::schema(r#"{"schema":"other","turns":[{"reply":"x"}]}"#, "script_schema")]
#[case::no_turns(r#"{"schema":"openagents.microcoder.script.v1","turns":[]}"#, "script_turn")]
#[case::both(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":"x","fail":{"kind":"capacity"}}]}"#,
    "script_turn"
)]
#[case::neither(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"delay_ms":1}]}"#,
    "script_turn"
)]
#[case::unknown_key(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":"x","mood":1}]}"#,
    "script_json"
)]
#[case::unknown_top(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":"x"}],"x":1}"#,
    "script_json"
)]
#[case::unknown_expectation(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":"x","expect":[{"hope":"x"}]}]}"#,
    "script_json"
)]
#[case::two_in_one_expectation(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":"x","expect":[{"step":1,"prompt_contains":"x"}]}]}"#,
    "script_json"
)]
#[case::number(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":5}]}"#,
    "script_json"
)]
#[case::twice(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"reply":"x","reply":"y"}]}"#,
    "script_json"
)]
#[case::unknown_failure(
    r#"{"schema":"openagents.microcoder.script.v1","turns":[{"fail":{"kind":"explode"}}]}"#,
    "script_json"
)]
#[case::no_json("turns", "script_json")]
fn anything_else_is_refused(#[case] text: &str, #[case] code: &str) {
    assert_eq!(Script::parse(text.as_bytes()).unwrap_err().code(), code);
}

#[test]
fn a_file_must_be_the_one_that_was_admitted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    assert_eq!(Script::read(&path, None).unwrap_err().code(), "read_script");
    std::fs::write(&path, WHOLE).unwrap();
    let digest = Digest::of(WHOLE.as_bytes());
    assert_eq!(
        Script::read(&path, Some(&digest)).unwrap(),
        Script::read(&path, None).unwrap()
    );
    let other = Digest::of(b"other");
    assert_eq!(
        Script::read(&path, Some(&other)).unwrap_err().to_string(),
        format!(
            "the script {} has the digest {digest}; the grant names {other}",
            path.display()
        )
    );
    std::fs::write(&path, vec![b' '; 8 * 1024 * 1024 + 1]).unwrap();
    assert_eq!(Script::read(&path, None).unwrap_err().code(), "script_json");
}

/// A pipe that nobody writes to was waited for without end.
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    for path in [pipe.as_path(), folder.path(), std::path::Path::new("/dev/null")] {
        let error = Script::read(path, None).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(
            (error.code(), cause.as_str()),
            ("read_script", "it is not a regular file")
        );
    }
}
