use super::*;
use rstest::rstest;

fn read(text: &str) -> Intent {
    let intent: Intent = serde_json::from_str(text).unwrap();
    intent.check().unwrap();
    intent
}

// Trap j: the digest depends on one serializer's field order and escaping, so the vectors are published. Each is SHA-256 of
// the exact second text, made with `printf %s … | sha256sum` and not with this crate.
#[rstest]
#[case::plain(
    r#"{"title":"Fix","prompt":"Fix it.","workspace":{"path":"/w","source_revision":null},"configuration":{"adapter":"microcoder-repository","model":"gpt-6-luna"}}"#,
    r#"{"title":"Fix","prompt":"Fix it.","workspace":{"path":"/w","source_revision":null},"configuration":{"adapter":"microcoder-repository","model":"gpt-6-luna"}}"#,
    "sha256:042084fa5c3757c01f3b719bf3602e514d91cc35793bed21b02b676296e7cf79"
)]
#[case::order_and_escapes(
    "{\"images\":[],\"configuration\":{\"model\":null,\"adapter\":\"bounded-command\"}, \"prompt\":\"a\\/b \\\"q\\\" \\u00e9 \\u0009\\n\\\\\",\n \"workspace\":{\"source_revision\":\"0123456789012345678901234567890123456789\",\"path\":\"/w/\\u00fc\"},\"title\":\"\\ud83d\\ude00\"}",
    "{\"title\":\"😀\",\"prompt\":\"a/b \\\"q\\\" é \\t\\n\\\\\",\"workspace\":{\"path\":\"/w/ü\",\"source_revision\":\"0123456789012345678901234567890123456789\"},\"configuration\":{\"adapter\":\"bounded-command\",\"model\":null}}",
    "sha256:7aa0545be8c1cb90ad66b7f7b2bb194965539de2e80924ee3d440b1b38cfc82d"
)]
#[case::images(
    r#"{"title":"T","prompt":"P","workspace":{"path":"/w","source_revision":null},"configuration":{"adapter":"microcoder-repository","model":"a/b"},"images":["one.png"]}"#,
    r#"{"title":"T","prompt":"P","workspace":{"path":"/w","source_revision":null},"configuration":{"adapter":"microcoder-repository","model":"a/b"},"images":["one.png"]}"#,
    "sha256:720b9636a69e680affa9fe9948cb0ccba17867e3a4cb528f110fcc6621f42fe0"
)]
fn digest_vectors(#[case] written: &str, #[case] hashed: &str, #[case] digest: &str) {
    let intent = read(written);
    assert_eq!(serde_json::to_string(&intent).unwrap(), hashed);
    assert_eq!(intent.digest().to_string(), digest);
}

#[rstest]
#[case::title_of_two_lines(|intent: &mut Intent| intent.title = "a\nb".into())]
#[case::long_title(|intent: &mut Intent| intent.title = "a".repeat(257))]
#[case::blank_prompt(|intent: &mut Intent| intent.prompt = " \n".into())]
#[case::long_prompt(|intent: &mut Intent| intent.prompt = "a".repeat(32 * 1024 + 1))]
#[case::relative(|intent: &mut Intent| intent.workspace.path = "w".into())]
#[case::parent(|intent: &mut Intent| intent.workspace.path = "/w/../x".into())]
#[case::current(|intent: &mut Intent| intent.workspace.path = "/w/.".into())]
#[case::long_path(|intent: &mut Intent| intent.workspace.path = format!("/{}", "a".repeat(4096)))]
#[case::short_revision(|intent: &mut Intent| intent.workspace.source_revision = Some("abc".into()))]
#[case::upper_revision(|intent: &mut Intent| intent.workspace.source_revision = Some("A".repeat(40)))]
#[case::many_images(|intent: &mut Intent| intent.images = vec!["a".into(); 17])]
#[case::blank_image(|intent: &mut Intent| intent.images = vec![String::new()])]
fn outside_its_limits_an_intent_is_refused(#[case] change: fn(&mut Intent)) {
    let mut intent = read(
        r#"{"title":"T","prompt":"P","workspace":{"path":"/w","source_revision":null},"configuration":{"adapter":"a","model":null}}"#,
    );
    change(&mut intent);
    assert_eq!(intent.check().unwrap_err().code(), "invalid_command");
}

#[test]
fn at_its_limits_an_intent_is_accepted() {
    let mut intent = read(
        r#"{"title":"T","prompt":"P","workspace":{"path":"/w","source_revision":null},"configuration":{"adapter":"a","model":null}}"#,
    );
    intent.title = "a".repeat(256);
    intent.prompt = "\t".repeat(32 * 1024 - 1) + "a";
    intent.workspace.path = format!("/{}", "a".repeat(4095));
    intent.workspace.source_revision = Some("0".repeat(64));
    intent.images = vec!["a".into(); 16];
    intent.check().unwrap();
}
