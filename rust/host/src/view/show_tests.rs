use super::*;
use crate::screen::Colours;
use crate::testing::run::task;
use coder_digest::Timestamp;

fn screen(width: usize) -> Screen {
    Screen {
        width,
        colours: Colours::Off,
        now: Timestamp(0),
    }
}

#[test]
fn a_finished_task_on_one_sheet() {
    let expected = "\
fix-parser  Fix the parser
State      finished: failed
Checks     FAILED
Prompt     fix the <parser>
           please
Workspace  /data/tree
Model      small (microcoder-repository)
Commit     0123456789abcdef0123456789abcdef01234567
Ended      loop_incomplete, after 1 min 23 s
Cost       at least $0.0125
Processes  not proved gone: something of the run may still be there
Evidence   incomplete: the run could not keep everything
Candidate  none kept
Check      FAILED 2 of 3 hold
Next       coder task view fix-parser [--html FILE]
";
    assert_eq!(task_sheet(&task(), &screen(80)), expected);
}

#[test]
fn a_queued_task_and_a_long_prompt() {
    let mut task = task();
    task.run = None;
    task.status = Status::Queued;
    task.execution = coder_journal::Execution::NotStarted;
    task.checks = Checks::NotRun;
    task.intent.prompt = "several words that have to be wrapped\n".repeat(7);
    let sheet = task_sheet(&task, &screen(40));
    let expected = "\
fix-parser  Fix the parser
State      queued
Prompt     several words that have to be
           wrapped
";
    assert!(sheet.starts_with(expected), "{sheet}");
    let end = "\
           … 2 more lines
Workspace  /data/tree
Model      small (microcoder-repository)
Next       microcoder repository --gran…
";
    assert!(sheet.ends_with(end), "{sheet}");
    assert!(sheet.lines().all(|line| screen::columns(line) <= 40));
}
