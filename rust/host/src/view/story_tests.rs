use super::*;
use crate::screen::Colours;
use crate::testing::run::{START, recorded, task};
use coder_digest::{Digest, Timestamp};
use coder_journal::CostStatus;
use coder_trace::{EvidencePage, Fault, FaultKind, PageStep, VIEW_SCHEMA, not_started};
use proptest::prelude::*;

fn view() -> View {
    View {
        schema: VIEW_SCHEMA,
        evidence: EvidencePage {
            state: EvidenceState::Damaged,
            digest: Some(Digest::of(b"")),
            faults: vec![Fault {
                line: 3,
                kind: FaultKind::NotJson,
            }],
            faults_omitted: 2,
            total_steps: 23,
            steps: (1..)
                .zip(recorded())
                .map(|(number, step)| PageStep::new(number, step))
                .collect(),
            ..not_started()
        },
        artifacts: None,
        artifact_error: None,
        artifact_faults: vec!["`notes.txt`: altered".into()],
        verification: "failed",
        integration: "not_attempted",
        cost_usd: Some(0.0125),
        cost_status: CostStatus::Partial,
        task: task(),
    }
}

fn screen(width: usize, colours: Colours) -> Screen {
    Screen {
        width,
        colours,
        now: Timestamp(START),
    }
}

#[test]
fn a_page_on_a_terminal() {
    let story = view().story(&screen(80, Colours::Off));
    assert_eq!(story, include_str!("story_expected.txt"));
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_screen(width in 24_usize..140) {
        let story = view().story(&screen(width, Colours::Off));
        for line in story.lines() {
            prop_assert!(screen::columns(line) <= width, "{line:?}");
        }
    }
}

#[test]
fn colours_are_the_only_escapes() {
    let story = view().story(&screen(80, Colours::On));
    let plain: String = story
        .lines()
        .map(|line| screen::harmless(line.as_bytes()) + "\n")
        .collect();
    assert_eq!(plain, view().story(&screen(80, Colours::Off)));
}
