use super::*;
use proptest::prelude::*;
use rstest::rstest;
use serde::Deserialize;

fn fault(text: &[u8]) -> Error {
    parse(text, Limit::COMMAND).unwrap_err()
}

#[rstest]
#[case("null")]
#[case(" [1, -2, 0.5, 1e3, \"\\ud83d\\ude00\"] \n")]
#[case("9007199254740991")]
#[case("-9007199254740991")]
#[case("{\"a\":{\"a\":1}}")]
#[case("\"99999999999999999999\"")]
#[case("1e20")]
fn strict_texts_are_read(#[case] text: &str) {
    parse(text.as_bytes(), Limit::COMMAND).unwrap();
}

#[rstest]
#[case::twice(b"{\"a\":1,\"a\":1}", "the JSON object has the key `a` twice (line 1, column 10)")]
#[case::twice_by_escape(
    b"{\"a\":1,\"\\u0061\":1}",
    "the JSON object has the key `a` twice (line 1, column 15)"
)]
#[case::twice_inside(
    b"[{\"b\":{\"c\":0,\"c\":0}}]",
    "the JSON object has the key `c` twice (line 1, column 16)"
)]
#[case::mark(b"\xef\xbb\xbf{}", "the JSON text begins with a byte order mark")]
#[case::trailing(b"{} x", "not strict JSON: trailing characters (line 1, column 4)")]
#[case::second(b"{}{}", "not strict JSON: trailing characters (line 1, column 3)")]
#[case::not_utf8(b"\"\xff\"", "the JSON text is not UTF-8: byte 1")]
#[case::large(b"[9007199254740992]", "the JSON text has an integer outside ±(2^53 - 1) at byte 1")]
#[case::small(b"-9007199254740992", "the JSON text has an integer outside ±(2^53 - 1) at byte 0")]
#[case::huge(
    b"[1, 123456789012345678901234567890]",
    "the JSON text has an integer outside ±(2^53 - 1) at byte 4"
)]
#[case::infinite(b"1e400", "not strict JSON: number out of range (line 1, column 5)")]
#[case::empty(b"", "not strict JSON: EOF while parsing a value (line 1, column 0)")]
fn the_rest_is_refused_and_named(#[case] text: &[u8], #[case] message: &str) {
    assert_eq!(fault(text).to_string(), message);
}

#[rstest]
#[case::lone_leading(b"\"\\ud83d\"")]
#[case::lone_trailing(b"\"\\ude00\"")]
#[case::swapped(b"\"\\ude00\\ud83d\"")]
#[case::raw_control(b"\"a\nb\"")]
#[case::raw_nul(b"\"a\0b\"")]
#[case::nan(b"NaN")]
#[case::leading_zero(b"01")]
#[case::plus(b"+1")]
#[case::bare_minus(b"-")]
#[case::comma(b"[1,]")]
#[case::comment(b"[1] // x")]
#[case::single_quotes(b"{'a':1}")]
fn what_is_not_json_is_a_syntax_error(#[case] text: &[u8]) {
    assert!(matches!(fault(text), Error::Syntax { .. }), "{:?}", fault(text));
}

#[rstest]
#[case::arrays("[", "]")]
#[case::objects("{\"a\":", "}")]
fn sixty_four_levels_are_read_and_sixty_five_are_not(#[case] open: &str, #[case] close: &str) {
    let nested = |levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    parse(nested(64).as_bytes(), Limit::COMMAND).unwrap();
    assert!(matches!(fault(nested(65).as_bytes()), Error::TooDeep { .. }));
    // A hundred thousand levels end in the same answer and not in a stack overflow.
    assert!(matches!(
        parse(nested(100_000).as_bytes(), Limit::RECORD).unwrap_err(),
        Error::TooDeep { .. }
    ));
}

#[test]
fn size_is_bounded_before_anything_is_read() {
    assert_eq!(parse(b"[1,2]", Limit(4)), Err(Error::TooLarge { bytes: 5, limit: 4 }));
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Closed {
    name: String,
    count: u32,
}

#[test]
fn a_shape_error_names_the_field_and_not_the_value() {
    let read = |text: &str| parse_as::<Closed>(text.as_bytes(), Limit::COMMAND);
    assert_eq!(
        read(r#"{"name":"a","count":1}"#),
        Ok(Closed {
            name: "a".into(),
            count: 1
        })
    );
    let unknown = read(r#"{"name":"a","count":1,"extra":0}"#).unwrap_err();
    assert!(unknown.is_shape());
    assert!(unknown.to_string().contains("unknown field `extra`"), "{unknown}");
    let secret = read(r#"{"name":"a","count":"hush \" hush"}"#).unwrap_err().to_string();
    assert!(
        secret.contains("invalid type: string \"…\", expected u32") && !secret.contains("hush"),
        "{secret}"
    );
}

#[test]
fn canonical_form_sorts_by_code_point_at_every_depth() {
    let value = parse(
        "{\"b\":{\"z\":1,\"a\":[]},\"a\":\"é/\\u0007\\n\",\"\u{10000}\":0,\"\u{ffff}\":0}".as_bytes(),
        Limit::COMMAND,
    );
    let text = canonical(&value.unwrap());
    assert_eq!(
        text,
        "{\"a\":\"é/\\u0007\\n\",\"b\":{\"a\":[],\"z\":1},\"\u{ffff}\":0,\"\u{10000}\":0}"
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-MAXIMUM_INTEGER..=MAXIMUM_INTEGER).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |float| float.is_finite())
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(".*", inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_text_reads_back_to_the_same_value_and_is_a_fixed_point(value in any_value()) {
        let text = canonical(&value);
        let read = parse(text.as_bytes(), Limit::RECORD).unwrap();
        prop_assert_eq!(canonical(&read), text);
        prop_assert_eq!(read, value);
    }

    #[test]
    fn any_bytes_end_in_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, Limit::COMMAND);
    }
}
