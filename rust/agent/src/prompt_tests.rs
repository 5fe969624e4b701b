use super::*;
use crate::environment::RanEnd;
use crate::judge::NO_JUDGE_NOTE;
use crate::step::{Command, Deed};
use crate::usage::Cost;

const HEAD: &str = "# Task\n\nFix it.\n\n# Environment\n\nOffline.\n\n";

fn step(number: u32, messages: &[&str], output: &str) -> Step {
    Step {
        number,
        messages: messages.iter().map(|&message| message.to_owned()).collect(),
        deed: Deed::Action {
            reply: String::new(),
            rationale: format!("try {number}"),
            commands: vec![Command {
                script: "make\ntest".to_owned(),
                end: Some(RanEnd::Exited(2)),
                output: output.to_owned(),
                note: None,
            }],
        },
    }
}

fn begin(prompt: &mut Prompt, step: u32, earlier: &[Step], limits: &Limits) -> Option<Restart> {
    let judgment = Judgment::unavailable(NO_JUDGE_NOTE, Cost::FREE);
    let state = State {
        step,
        judgment: &judgment,
        messages: &[],
        notes: &[],
    };
    prompt.begin(&state, "Offline.", &mut View::default(), earlier, limits)
}

#[test]
fn a_full_log_restarts_with_old_steps_in_one_line_and_the_last_in_full() {
    let limits = Limits {
        prompt_bytes: 10_000,
        full_steps: 2,
        ..Limits::default()
    };
    let mut prompt = Prompt::new("Fix it.\n", "", "Offline.");
    let mut steps = Vec::new();
    let mut restarts = Vec::new();
    for number in 1..=4 {
        restarts.push(begin(&mut prompt, number, &steps, &limits).is_some());
        let messages: &[&str] = if number == 1 { &["Keep the API."] } else { &[] };
        let done = step(number, messages, &number.to_string().repeat(2_500));
        prompt.end(&done);
        steps.push(done);
    }
    let before = prompt.text().len();
    assert_eq!(restarts, [false, false, false, false]);
    let restart = begin(&mut prompt, 5, &steps, &limits).unwrap();
    let section = |number: usize| {
        format!(
            "# Step {number}\n\nRationale: try {number}\n\nCommand 1:\n```bash\nmake\ntest\n```\nCommand 1: exit 2, \
             output:\n```\n{}\n```\n\n",
            number.to_string().repeat(2_500)
        )
    };
    assert_eq!(
        prompt.text(),
        format!(
            "{HEAD}{LAYOUT}# Earlier steps, shortened\n\n\nMessage from the user:\n```\nKeep the API.\n```\n- Step 1: try 1; \
             `make test` exit 2\n- Step 2: try 2; `make test` exit 2\n\n{}{}# State before step 5\n\nFiles in view: \
             none.\n\nJudgments: none (no Jev key on this computer).\n\n",
            section(3),
            section(4)
        )
    );
    assert_eq!(restart.bytes_after, prompt.text().len());
    assert_eq!(restart.bytes_before, before);
    assert_eq!(prompt.previous_bytes(), 0);
    assert_eq!(prompt.characters(), prompt.text().chars().count());
}

#[test]
fn a_restart_keeps_the_last_step_whatever_its_size() {
    let limits = Limits {
        prompt_bytes: 10_000,
        ..Limits::default()
    };
    let mut prompt = Prompt::new("Fix it.", "", "Offline.");
    let steps = [step(1, &[], &"x".repeat(6_000)), step(2, &[], &"y".repeat(11_000))];
    for done in &steps {
        prompt.end(done);
    }
    begin(&mut prompt, 3, &steps, &limits).unwrap();
    assert!(prompt.text().contains(&"y".repeat(11_000)));
    assert!(prompt.text().contains("- Step 1: try 1; `make test` exit 2\n"));
    assert!(!prompt.text().contains(&"x".repeat(100)));
}

#[test]
fn a_changed_environment_restarts() {
    let limits = Limits::default();
    let mut prompt = Prompt::new("Fix it.", "Use tabs.", "Offline.");
    assert_eq!(begin(&mut prompt, 1, &[], &limits), None);
    let steps = [step(1, &[], "x")];
    prompt.end(&steps[0]);
    let judgment = Judgment::unavailable(NO_JUDGE_NOTE, Cost::FREE);
    let state = State {
        step: 2,
        judgment: &judgment,
        messages: &["Hello".to_owned()],
        notes: &["Mind the gap.".to_owned()],
    };
    let before = prompt.text().len();
    let restart = prompt
        .begin(&state, "Online.", &mut View::default(), &steps, &limits)
        .unwrap();
    assert_eq!(restart.bytes_before, before);
    assert_eq!(
        prompt.text(),
        format!(
            "# Task\n\nFix it.\n\n# Instructions of the repository\n\nUse tabs.\n\n# Environment\n\nOnline.\n\n{LAYOUT}# Step \
             1\n\nRationale: try 1\n\nCommand 1:\n```bash\nmake\ntest\n```\nCommand 1: exit 2, output:\n```\nx\n```\n\n# State \
             before step 2\n\nFiles in view: none.\n\nJudgments: none (no Jev key on this computer).\n\nMessage from the \
             user:\n```\nHello\n```\n\nNote from the host: Mind the gap.\n\n"
        )
    );
}

#[test]
fn judgments_are_shown_with_their_questions() {
    let mut text = String::new();
    let judgment = Judgment {
        progress: Some(0.256),
        repeating: Some(1.0),
        done: None,
        complete: Some(2),
        note: Some("one answer was missing".to_owned()),
        cost: Cost::Known(3),
    };
    push_judgment(&mut text, &judgment);
    assert_eq!(
        text,
        "Judgments, as the probability of yes; evidence, not orders:\n- Did the most recent actions bring the work closer to \
         what the task asks for? 0.26\n- Do the most recent actions repeat an approach that the record shows has already failed? \
         1.00\n- Not answered in full: one answer was missing\n"
    );
}
