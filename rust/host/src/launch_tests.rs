use super::*;
use rstest::rstest;

#[rstest]
#[case::one_line("Fix it", "Fix it")]
#[case::first_that_says_something("\n  \n  Fix it  \nand more", "Fix it")]
#[case::nothing(" \n\t", "untitled")]
#[case::control("Fix\u{7} it", "Fix it")]
#[case::longest(&"x".repeat(72), &"x".repeat(72))]
#[case::cut(&"x".repeat(73), &format!("{}…", "x".repeat(72)))]
#[case::cut_at_a_character(&"é".repeat(40), &format!("{}…", "é".repeat(36)))]
#[case::cut_inside_a_character(&format!("x{}", "é".repeat(40)), &format!("x{}…", "é".repeat(35)))]
#[case::no_space_before_the_mark(&format!("{} y", "x".repeat(71)), &format!("{}…", "x".repeat(71)))]
fn a_title_is_the_first_line_that_says_something(#[case] prompt: &str, #[case] expected: &str) {
    let title = title(prompt);
    assert_eq!(title, expected);
    coder_digest::check_line("title", &title, 256).unwrap();
}

#[test]
fn a_task_is_named_by_its_time_and_four_random_bytes() {
    let now = "2026-11-30T12:15:09.123Z".parse().unwrap();
    let id = task_id(now, [0x0f, 0x3a, 0x9c, 0x1b]).unwrap();
    assert_eq!(id.as_str(), "run-20261130-121509-0f3a9c1b");
    BranchName::candidate(&id).unwrap();
}

#[rstest]
#[case("/home/me/.openagents/tasks", "/home/me/.openagents/tasks-worktrees")]
#[case("/srv/store.d", "/srv/store.d-worktrees")]
fn worktrees_stand_beside_their_store(#[case] store: &str, #[case] expected: &str) {
    assert_eq!(worktree_place(Path::new(store)), Path::new(expected));
}
