use super::*;
use rstest::rstest;

#[test]
fn known_vectors() {
    assert_eq!(
        Digest::of(b"abc").to_string(),
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    let (digest, count) = Digest::of_reader(&b"abc"[..]).unwrap();
    assert_eq!((digest, count), (Digest::of(b"abc"), 3));
}

#[test]
fn both_written_forms_are_read_and_the_prefixed_one_is_written() {
    let digest = Digest::of(b"x");
    assert_eq!(digest.hex().parse(), Ok(digest));
    assert_eq!(digest.to_string().parse(), Ok(digest));
    let json = serde_json::to_string(&digest).unwrap();
    assert_eq!(json, format!("\"{digest}\""));
    assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
}

#[rstest]
#[case::empty("")]
#[case::short("sha256:00")]
#[case::upper_case("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD")]
#[case::other_algorithm("sha512:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
#[case::not_hex("sha256:ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
#[case::trailing("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad ")]
fn anything_else_is_refused(#[case] text: &str) {
    assert_eq!(text.parse::<Digest>(), Err(DigestError));
}
