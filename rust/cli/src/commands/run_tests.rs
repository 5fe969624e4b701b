use super::*;

#[test]
fn a_reply_cannot_steer_the_terminal() {
    assert_eq!(plain("fine\n\u{1b}[2Jgone"), "fine\n\\u{1b}[2Jgone");
}
