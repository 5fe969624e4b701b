//! `microcoder demo`: the whole job offline, shown part by part.

use super::run::{came_of, document, plain, ways_on};
use crate::arguments::DemoArguments;
use crate::output::{self, Failure};
use crate::progress::{Display, Show};
use crate::surroundings;
use coder_host::{DEMO_PROMPT, Demo, Demonstrated, Progress, Verdict, open_to_read};
use serde_json::json;
use std::path::Path;

const FAILED: u8 = 1;

pub(crate) fn demo(arguments: &DemoArguments) -> Result<u8, Failure> {
    // Before anything is made: whoever interrupts this finds nothing left behind.
    let cancel = surroundings::cancel_on_signals()?;
    let temporary = tempfile::Builder::new()
        .prefix("microcoder-demo-")
        .tempdir()
        .map_err(|error| Failure::new("io", format!("could not make a temporary directory: {error}"), FAILED))?;
    let (store, place) = match &arguments.store {
        None => (temporary.path().join("tasks"), temporary.path().to_owned()),
        Some(store) => {
            let store = surroundings::store(Some(store), FAILED)?;
            let place = coder_host::worktree_place(&store).with_extension("demo");
            (store, place)
        }
    };
    let controller = surroundings::controller()?;
    let mut display = Display::new(if arguments.json { Show::Nothing } else { Show::Terminal });
    let mut watcher = |progress: &Progress<'_>| display.show(progress);
    let demo = Demo {
        store: &store,
        place: &place,
        clock: surroundings::clock(),
        cancel,
        environment: &surroundings::environment,
        controller: &controller,
        entropy: surroundings::entropy()?,
    };
    let demonstrated = demo.run(&mut watcher).map_err(|error| Failure::of(&error, FAILED))?;
    drop(display);
    let holds = demonstrated.check.passed && demonstrated.verification.verdict == Verdict::Verified;
    let named = arguments.store.as_ref().map(|_| store.as_path());
    if arguments.json {
        output::json(&json!({
            "holds": holds,
            "run": document(&demonstrated.launched, named),
            "check": {
                "passed": demonstrated.check.passed,
                "output": demonstrated.check.output,
                "enforced": demonstrated.check.enforced,
            },
            "verification": demonstrated.verification,
        }))?;
    } else {
        let diff = kept_diff(&store, &demonstrated).map_err(|error| Failure::of(&error, FAILED))?;
        output::data(shown(&demonstrated, &diff, named).as_bytes())?;
    }
    Ok(if holds { 0 } else { FAILED })
}

/// The candidate's patch as it was kept.
fn kept_diff(store: &Path, demonstrated: &Demonstrated) -> Result<String, coder_host::Error> {
    let store = open_to_read(store, surroundings::clock())?;
    let patch = coder_host::patch(&store, &demonstrated.launched.task.task_id)?;
    let lines: Vec<String> = patch
        .split(|byte| *byte == b'\n')
        .map(coder_digest::display_bytes)
        .collect();
    Ok(plain(&lines.join("\n")))
}

fn shown(demonstrated: &Demonstrated, diff: &str, store: Option<&Path>) -> String {
    let launched = &demonstrated.launched;
    let verification = &demonstrated.verification;
    let mut text = format!("Asked:     {DEMO_PROMPT}\n");
    text.push_str(&format!("Enforced:  {}\n", demonstrated.check.enforced));
    text.push_str("           held by the kernel for every command, and recorded with each result\n\n");
    text.push_str(&came_of(launched));
    for line in diff.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    if store.is_some() {
        text.push_str(&ways_on(launched, store));
    }
    let verdict = if demonstrated.check.passed { "passed" } else { "FAILED" };
    text.push_str(&format!(
        "\nCheck:     {verdict} (independent, candidate read-only): {}\n",
        demonstrated.check.output
    ));
    let held = verification.checks.len();
    text.push_str(&match verification.verdict {
        Verdict::Verified => {
            format!("Verify:    holds: {held} comparisons, from the journal's chain to every kept file\n")
        }
        Verdict::Incomplete => "Verify:    INCOMPLETE: the run could not keep all of its evidence\n".to_owned(),
        Verdict::Unfinished | Verdict::Consistent => {
            format!("Verify:    UNFINISHED: the task is {}\n", verification.state)
        }
        Verdict::Mismatch => {
            format!(
                "Verify:    FAILS: {}\n",
                verification.first_mismatch.as_deref().unwrap_or_default()
            )
        }
    });
    if store.is_none() {
        text.push_str("Everything was in a temporary store that is gone now; keep one with --store DIR.\n");
    }
    text
}
