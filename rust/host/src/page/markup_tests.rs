use super::*;
use proptest::prelude::*;
use rstest::rstest;

#[rstest]
#[case::script(
    "</script><script>alert(1)</script>",
    "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
)]
#[case::attribute("\" onload='x'", "&quot; onload=&#39;x&#39;")]
#[case::entity("&lt;", "&amp;lt;")]
#[case::bidirectional("a\u{202e}b", "a\\u{202e}b")]
#[case::escape("\u{1b}[2J", "\\u{1b}[2J")]
#[case::nul("a\0b", "a\\u{0}b")]
fn text_is_never_markup(#[case] text: &str, #[case] shown: &str) {
    let mut markup = Markup::default();
    markup.text(text);
    assert_eq!(markup.finish(), shown);
}

#[test]
fn a_long_block_says_what_is_missing() {
    let mut markup = Markup::default();
    markup.lines(&vec!["x".to_owned(); BLOCK_LINES + 5]);
    let text = markup.finish();
    assert!(text.ends_with("x\n<i>… 5 more lines not shown here</i>"), "{text}");
}

#[test]
fn once_the_room_is_used_up_blocks_are_short() {
    let mut markup = Markup {
        text: String::new(),
        room: 1,
    };
    markup.lines(&["first".to_owned()]).raw("|");
    markup.lines(&vec!["x".to_owned(); 6]);
    assert_eq!(
        markup.finish(),
        "first|x\nx\nx\nx\n<i>… 2 more lines not shown here</i>"
    );
}

proptest! {
    #[test]
    fn no_text_opens_or_closes_anything(text in any::<String>()) {
        let mut markup = Markup::default();
        markup.text(&text);
        prop_assert!(!markup.finish().contains(['<', '>', '"', '\'']));
    }
}
