use super::*;
use coder_process::{Command, Output, Window};
use rstest::rstest;

/// What is kept of a stream of `total` bytes by a head of 8 and a tail of 16, each byte its own offset.
fn captured(total: u8) -> coder_process::Captured {
    let stream: Vec<u8> = (0..total).collect();
    let (head, rest) = stream.split_at(stream.len().min(8));
    let tail = &rest[rest.len().saturating_sub(16)..];
    coder_process::Captured {
        head: head.to_vec(),
        tail: tail.to_vec(),
        tail_offset: u64::from(total) - tail.len() as u64,
        total_bytes: total.into(),
    }
}

#[rstest]
#[case::nothing(0, 16, 0..0)]
#[case::in_the_head(5, 16, 0..5)]
#[case::past_the_head(12, 16, 0..12)]
#[case::whole_but_longer(20, 16, 4..20)]
#[case::gap(100, 16, 84..100)]
#[case::less_than_the_head(5, 2, 3..5)]
#[case::less_than_the_tail(100, 3, 97..100)]
fn the_last_bytes_of_a_stream_are_told_with_their_place(
    #[case] total: u8,
    #[case] most: usize,
    #[case] expected: std::ops::Range<u8>,
) {
    // A stream a little longer than the head once lost its beginning and was not called truncated.
    assert_eq!(
        last(&captured(total), most),
        (expected.clone().collect(), u64::from(expected.start))
    );
}

fn run(script: &str) -> Outcome {
    let window = Window {
        head: 32 * 1024,
        tail: 1024 * 1024,
    };
    let command = Command::new("/bin/sh")
        .arguments(["-c", script])
        .variables([("PATH", "/usr/bin:/bin")]);
    let command = command.stdout(Output::Capture(window)).stderr(Output::Capture(window));
    coder_process::run(&command, &coder_process::Cancel::never(), &mut |_| {
        coder_process::Flow::Continue
    })
    .unwrap()
}

#[test]
fn a_person_is_shown_both_streams_whole_while_they_are_short() {
    assert_eq!(joined(&run("echo out; echo err >&2")), "out\nerr\n");
    let outcome = run("head -c 60000 /dev/zero | tr '\\0' x");
    assert_eq!(joined(&outcome), "x".repeat(60_000));
}

#[test]
fn what_is_shown_of_bytes_that_are_no_text_stays_small() {
    let outcome = run("head -c 1000000 /dev/zero | tr '\\0' '\\377' | tee /dev/stderr");
    let shown = joined(&outcome);
    assert!(
        shown.contains("[934464 bytes left out]"),
        "{}",
        &shown[shown.len() - 200..]
    );
    assert!(serde_json::to_string(&shown).unwrap().len() < 1_000_000);
}
