use super::*;
use rstest::rstest;

#[rstest]
#[case("a")]
#[case("7")]
#[case("task-1.a_b")]
fn inside_the_grammar(#[case] text: &str) {
    assert_eq!(Identifier::new(text).unwrap().as_str(), text);
    assert_eq!(ModelName::new(text).unwrap().as_str(), text);
}

#[rstest]
#[case("")]
#[case("-a")]
#[case(".hidden")]
#[case("a b")]
#[case("a\n")]
#[case("ä")]
#[case("../x")]
fn outside_the_grammar(#[case] text: &str) {
    assert!(Identifier::new(text).is_err());
    assert!(ModelName::new(text).is_err());
}

#[test]
fn length_is_bounded_at_128() {
    assert!(TaskId::new("a".repeat(128)).is_ok());
    assert!(TaskId::new("a".repeat(129)).is_err());
}

#[test]
fn only_a_model_name_holds_what_servers_put_before_a_tag() {
    assert!(Identifier::new("meta/llama").is_err());
    for name in ["meta/llama", "llama3.2:3b", "claude-opus-5-5@20260701"] {
        assert!(Identifier::new(name).is_err() && ModelName::new(name).is_ok(), "{name}");
    }
    assert!(ModelName::new("/llama").is_err());
}

#[test]
fn reading_checks() {
    assert!(serde_json::from_str::<TaskId>("\"ok\"").is_ok());
    assert!(serde_json::from_str::<TaskId>("\"no way\"").is_err());
}
