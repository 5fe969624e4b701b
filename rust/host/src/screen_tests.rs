use super::*;
use proptest::prelude::*;
use rstest::rstest;

#[rstest]
#[case::plain("plain", "plain")]
#[case::colour("\u{1b}[1;31mred\u{1b}[0m", "red")]
#[case::clear_screen("\u{1b}[2Jx", "\\u{1b}[2Jx")]
#[case::title("\u{1b}]0;t\u{7}x", "\\u{1b}]0;t\\u{7}x")]
#[case::unfinished("a\u{1b}[31", "a\\u{1b}[31")]
#[case::last_escape("a\u{1b}", "a\\u{1b}")]
#[case::bidirectional("a\u{202e}b", "a\\u{202e}b")]
#[case::tab("a\tb", "a    b")]
#[case::endless_parameters(&format!("\u{1b}[{}m", "1;".repeat(40)), &format!("\\u{{1b}}[{}m", "1;".repeat(40)))]
fn what_is_shown_is_harmless(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(harmless(text.as_bytes()), shown);
}

#[rstest]
#[case::nothing(b"", &[])]
#[case::a_line_end(b"\n", &[])]
#[case::empty_lines(b"\n\n", &["", ""])]
#[case::windows(b"a\r\nb", &["a", "b"])]
#[case::not_text(b"a\xff\xfeb\n", &["a\u{fffd}\u{fffd}b"])]
fn lines_of_bytes(#[case] bytes: &[u8], #[case] expected: &[&str]) {
    assert_eq!(lines(bytes), expected);
}

#[test]
fn a_line_of_mebibytes_is_cut_and_says_so() {
    let shown = lines(&vec![b'x'; 2 << 20]);
    assert_eq!(
        shown,
        [format!("{}… [a line of 2097152 bytes]", "x".repeat(LINE_CHARACTERS))]
    );
}

#[rstest]
#[case::fits("abc", 3, "abc")]
#[case::cut("abcd", 3, "ab…")]
#[case::wide("漢字漢字", 5, "漢字…")]
#[case::nothing("abc", 0, "")]
#[case::lines("a\n\tb", 9, "a  b")]
fn one_line_fits_its_width(#[case] text: &str, #[case] width: usize, #[case] shown: &str) {
    assert_eq!(fit(text, width), shown);
}

#[rstest]
#[case::fits("one two", 7, &["one two"])]
#[case::at_the_space("one two", 3, &["one", "two"])]
#[case::between("one two three", 8, &["one two", "three"])]
#[case::a_long_word("abcdefg hi", 3, &["abc", "def", "g", "hi"])]
#[case::wide("漢字漢", 4, &["漢字", "漢"])]
#[case::too_narrow("漢", 1, &["漢"])]
#[case::indented("  one two", 5, &["  one", "two"])]
fn prose_is_wrapped_between_words(#[case] text: &str, #[case] width: usize, #[case] expected: &[&str]) {
    assert_eq!(wrapped(text, width), expected);
}

#[rstest]
#[case(0, "0.00 s")]
#[case(9_994, "9.99 s")]
#[case(12_500, "12.5 s")]
#[case(200_000, "3 min 20 s")]
#[case(7_500_000, "2 h 5 min")]
#[case(273_600_000, "3 d 4 h")]
fn durations(#[case] milliseconds: u64, #[case] shown: &str) {
    assert_eq!(duration(milliseconds), shown);
}

#[rstest]
#[case(Cost::Known(0), "$0.00")]
#[case(Cost::Known(1_234_500_000), "$1,234.50")]
#[case(Cost::AtLeast(1), "at least $0.000001")]
#[case(Cost::Unknown, "unknown")]
fn costs(#[case] amount: Cost, #[case] shown: &str) {
    assert_eq!(cost(amount), shown);
}

#[rstest]
#[case(0, "now")]
#[case(-90, "now")]
#[case(59, "59 s")]
#[case(3_599, "59 min")]
#[case(86_399, "23 h")]
#[case(864_000, "10 d")]
fn ages(#[case] seconds: i64, #[case] shown: &str) {
    assert_eq!(age(Timestamp(0), Timestamp(seconds * 1000)), shown);
}

proptest! {
    #[test]
    fn nothing_that_steers_comes_through(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in any::<String>(), width in 0_usize..40) {
        for line in lines(&bytes) {
            prop_assert!(!line.chars().any(is_unsafe_to_show), "{line:?}");
        }
        let fitted = fit(&text, width);
        prop_assert!(!fitted.chars().any(is_unsafe_to_show) && columns(&fitted) <= width, "{fitted:?}");
    }
}
