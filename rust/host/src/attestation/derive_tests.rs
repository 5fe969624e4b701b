use super::*;
use proptest::prelude::*;
use rstest::rstest;

#[rstest]
#[case::plain("notes.txt".as_bytes(), "candidate/notes.txt")]
#[case::letters("bücher/a b".as_bytes(), "candidate/bücher/a b")]
#[case::percent(b"50%", "candidate/50%25")]
#[case::control(b"a\nb\x1b[2J", "candidate/a%0Ab%1B[2J")]
#[case::reordering("a\u{202e}b".as_bytes(), "candidate/a%E2%80%AEb")]
#[case::no_text(b"na\xffme", "candidate/na%FFme")]
fn names_of_kept_files(#[case] path: &[u8], #[case] expected: &str) {
    assert_eq!(name(&BytePath::new(path)), expected);
}

proptest! {
    #[test]
    fn two_paths_never_have_one_name(
        one in proptest::collection::vec(prop_oneof![Just(b'%'), Just(b'2'), Just(b'5'), any::<u8>()], 0..6),
        other in proptest::collection::vec(prop_oneof![Just(b'%'), Just(b'2'), Just(b'5'), any::<u8>()], 0..6),
    ) {
        let same = name(&BytePath::new(one.as_slice())) == name(&BytePath::new(other.as_slice()));
        prop_assert_eq!(same, one == other);
    }
}
