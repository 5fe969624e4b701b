//! Whole-crate tests: how a command starts and ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use coder_process::*;
use rstest::rstest;

fn shell(script: &str) -> Command {
    Command::new("/bin/sh").arguments(["-c", script])
}

#[rstest]
#[case::success("exit 0", Ending::Exited(0))]
#[case::failure("exit 3", Ending::Exited(3))]
#[case::largest("exit 255", Ending::Exited(255))]
#[case::signal("kill -SEGV $$", Ending::Signalled(libc::SIGSEGV))]
#[case::own_kill("kill -KILL $$", Ending::Signalled(libc::SIGKILL))]
fn reports_the_end(#[case] script: &str, #[case] expected: Ending) {
    let outcome = shell(script).capture(100).unwrap();
    assert_eq!(
        (outcome.ending, outcome.tree, outcome.stop_signal),
        (expected, Tree::Clear(Proof::Reaped), StopSignal::None)
    );
}
