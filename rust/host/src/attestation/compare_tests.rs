use super::*;
use crate::attestation::statement::{PREDICATE_TYPE, STATEMENT_TYPE};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

#[rstest]
#[case::value(json!({ "a": [1, { "b": 2 }] }), json!({ "a": [1, { "b": 3 }] }), "`/a/1/b` is 2, and the store says 3")]
#[case::more(json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), "`/b` is not there in the store")]
#[case::less(json!({ "a": 1 }), json!({ "a": 1, "b~/": 2 }), "`/b~0~1` is left out")]
#[case::length(json!({ "a": [1] }), json!({ "a": [1, 2] }), "`/a` is [1], and the store says [1,2]")]
#[case::null(json!({ "a": null }), json!({}), "`/a` is not there in the store")]
fn the_first_difference(#[case] carried: Value, #[case] derived: Value, #[case] expected: &str) {
    assert_eq!(
        first_difference(&carried, &derived, String::new()).as_deref(),
        Some(expected)
    );
    assert_eq!(first_difference(&derived, &derived, String::new()), None);
}

#[rstest]
#[case::no_json(b"x".as_slice(), "bad_envelope")]
#[case::neither(b"{}", "bad_envelope")]
#[case::other_statement(br#"{"_type":"https://in-toto.io/Statement/v0.1"}"#, "bad_attestation")]
#[case::other_predicate(
    br#"{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1"}"#,
    "bad_attestation"
)]
#[case::other_payload(
    br#"{"payload":"e30=","payloadType":"text/plain","signatures":[{"sig":""}]}"#,
    "bad_attestation"
)]
#[case::twice(br#"{"_type":"https://in-toto.io/Statement/v1","_type":"x"}"#, "bad_attestation")]
fn what_is_no_attestation(#[case] bytes: &[u8], #[case] code: &str) {
    assert_eq!(verify_attestation(None, None, bytes, None).unwrap_err().code(), code);
}

proptest! {
    #[test]
    fn any_bytes_are_an_attestation_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = verify_attestation(None, None, &bytes, None);
        let text = format!(r#"{{"_type":"{STATEMENT_TYPE}","predicateType":"{PREDICATE_TYPE}","x":"{}"}}"#, bytes.len());
        prop_assert!(verify_attestation(None, None, text.as_bytes(), None).is_err());
    }
}
