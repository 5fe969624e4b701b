use super::*;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

fn cleared(key: &str, text: &str, extent: Extent) -> String {
    let mut text = text.to_owned();
    Secret::new(key).clear(&mut text, extent);
    text
}

#[test]
fn a_key_is_not_shown_and_is_cleared_from_what_others_wrote() {
    let secret = Secret::new("canary-1\n");
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    let mut value = json!({"a canary-1": ["x canary-1canary-1", 1, null], "b": {"c": "clean"}});
    secret.clear_value(&mut value, Extent::Whole);
    assert_eq!(
        value,
        json!({"a [key]": ["x [key][key]", 1, null], "b": {"c": "clean"}})
    );
}

/// A server that echoed a key with a quote or a backslash left it in the record in its escaped form, for anyone to decode.
#[rstest]
#[case::raw(r#"say sk"\one\two"/x é"#, "say [key] é")]
#[case::escaped(r#"say sk\"\\one\\two\"/x"#, "say [key]")]
#[case::escaped_twice(r#"{"a":"{\"b\":\"sk\\\"\\\\one\\\\two\\\"/x\"}"}"#, r#"{"a":"{\"b\":\"[key]\"}"}"#)]
#[case::slash_escaped(r#"\"sk\"\\one\\two\"\/x\""#, r#"\"[key]\""#)]
#[case::code_units(r#"é\u0073\u006B\u0022\u005cone\\u005ctwo\\\u0022/x…"#, "é[key]…")]
#[case::none(r#"\"sk\" \u00e9\n \ud83d u0073 \u12"#, r#"\"sk\" \u00e9\n \ud83d u0073 \u12"#)]
fn every_escaped_form_of_a_key_is_cleared(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(cleared(r#"sk"\one\two"/x"#, text, Extent::Whole), expected);
}

#[rstest]
#[case::cut(Extent::Cut, "bad canary-", "bad [key]")]
#[case::shortened(Extent::Cut, "bad canary…", "bad [key]…")]
#[case::whole(Extent::Whole, "bad canary-", "bad canary-")]
#[case::too_little(Extent::Cut, "bad can", "bad can")]
fn the_beginning_of_a_key_where_a_text_was_cut_is_cleared(
    #[case] extent: Extent,
    #[case] text: &str,
    #[case] expected: &str,
) {
    assert_eq!(cleared("canary-1", text, extent), expected);
}

#[test]
fn an_empty_key_clears_nothing() {
    assert_eq!(cleared("", "abc", Extent::Cut), "abc");
}

proptest! {
    #[test]
    fn whatever_the_key_and_however_often_it_was_escaped_it_does_not_stay(
        key in "[!-~]{8,24}", around in r#"[ a-z"\\é]{0,8}"#, times in 0..4_u8
    ) {
        let mut text = format!("{around}{key}{around}");
        for _ in 0..times {
            text = serde_json::to_string(&text).unwrap();
        }
        let mut read = cleared(&key, &text, Extent::Whole);
        prop_assert!(!read.contains(&key));
        for _ in 0..times {
            // Where it can still be read, what it reads as is clean, too.
            let Ok(inner) = serde_json::from_str::<String>(&read) else { break };
            prop_assert!(!inner.contains(&key));
            read = inner;
        }
    }
}
