use super::*;
use crate::screen::Colours;
use coder_digest::{TaskId, Timestamp};

fn screen(width: usize) -> Screen {
    Screen {
        width,
        colours: Colours::Off,
        now: Timestamp(1_000_000_000),
    }
}

fn task(name: &str, title: &str, status: Status, execution: Execution, checks: Checks, seconds: i64) -> Summary {
    Summary {
        task_id: TaskId::new(name).unwrap(),
        revision: 1,
        title: title.into(),
        submitted_at: Timestamp(0),
        changed_at: Timestamp(1_000_000_000 - seconds * 1000),
        turn: if name == "c" { 3 } else { 1 },
        status,
        execution,
        checks,
    }
}

fn tasks() -> Vec<Summary> {
    vec![
        task(
            "a",
            "Fix the parser",
            Status::Queued,
            Execution::NotStarted,
            Checks::NotRun,
            3,
        ),
        task(
            "b-longer-name",
            "Add \u{1b}[2Ja\u{202e} line\u{7}",
            Status::Running,
            Execution::Running,
            Checks::NotRun,
            90,
        ),
        task(
            "c",
            "Wide 漢字漢字漢字漢字漢字漢字 title",
            Status::Finished,
            Execution::Finished,
            Checks::Passed,
            7200,
        ),
        task(
            "d",
            "Broken",
            Status::Finished,
            Execution::Failed,
            Checks::Failed,
            200_000,
        ),
        task(
            "e",
            "Lost",
            Status::Unknown,
            Execution::Unknown,
            Checks::NotRun,
            500_000,
        ),
    ]
}

#[test]
fn a_table_fits_its_screen() {
    let expected = "\
TASK           STATE              CHECKS  CHANGED  TITLE
a              queued             -       now      Fix the parser
b-longer-name  running            -       1 min    Add \\u{1b}[2Ja\\u{202…
c              finished (turn 3)  passed  2 h      Wide 漢字漢字漢字漢…
d              finished: failed   FAILED  2 d      Broken
e              unknown            -       5 d      Lost
";
    assert_eq!(list_table(&tasks(), &screen(72)), expected);
}

#[test]
fn on_a_narrow_screen_the_title_stands_below() {
    let expected = "\
a  queued
  now ago  Fix the parser
b-longer-name  running
  1 min ago  Add \\u{1b}[2Ja…
c  finished (turn 3)
  2 h ago  Wide 漢字漢字漢…
d  finished: failed
  2 d ago  Broken
e  unknown
  5 d ago  Lost
";
    assert_eq!(list_table(&tasks(), &screen(28)), expected);
}

#[test]
fn colours_change_no_word() {
    let coloured = Screen {
        colours: Colours::On,
        ..screen(72)
    };
    let text = list_table(&tasks(), &coloured);
    assert!(text.contains("\u{1b}[32mfinished (turn 3)\u{1b}[0m"), "{text}");
    let plain: String = text
        .lines()
        .map(|line| crate::screen::harmless(line.as_bytes()) + "\n")
        .collect();
    let trimmed: String = plain.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    assert_eq!(trimmed, list_table(&tasks(), &screen(72)));
}

#[test]
fn no_task_is_said() {
    assert_eq!(list_table(&[], &screen(80)), "No tasks yet.\n");
}
