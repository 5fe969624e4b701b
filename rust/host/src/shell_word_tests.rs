use super::*;
use rstest::rstest;

#[rstest]
#[case("/plain/path-1.0", "/plain/path-1.0")]
#[case("", "''")]
#[case("a b", "'a b'")]
#[case("it's", "'it'\\''s'")]
#[case("$(rm)", "'$(rm)'")]
fn a_shell_takes_words_as_they_are(#[case] text: &str, #[case] written: &str) {
    assert_eq!(shell_word(text), written);
}
