//! The host's own memory while a command prints without end: constant, whatever is printed and however it is broken into
//! lines. `MICROCODER_OUTPUT_MIB` makes it as much as is wanted (256 MiB unless it says otherwise).

use crate::world::{Call, World, reply};
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;

/// What the host may have had at its most, in KiB.
const BOUND: u64 = 64 * 1024;

fn mebibytes() -> u64 {
    std::env::var("MICROCODER_OUTPUT_MIB").map_or(256, |text| text.parse().unwrap())
}

/// Runs to the end and returns the status and the most memory the host had, in KiB.
fn peak(call: Call) -> (i32, u64, String) {
    let running = call.start();
    let pid = running.pid.as_raw_nonzero().get();
    let mut most = 0;
    let status = format!("/proc/{pid}/status");
    let read = || {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    // The kernel keeps the maximum, but a process that has ended says nothing any more: so it is asked all along.
    while let Some(now) = read() {
        most = most.max(now);
        std::thread::yield_now();
    }
    let seen = running.wait();
    (seen.status, most, seen.stdout)
}

#[rstest]
#[case::lines("yes")]
#[case::one_line("tr '\\0' x </dev/zero")]
fn report_25_exec(#[case] source: &str) {
    let world = World::empty();
    let script = format!("{source} | head -c {}M", mebibytes());
    let nowhere = fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
    let (status, most, _) = peak(
        world
            .microcoder(&["exec", "--", "sh", "-c", &script])
            .stdout(nowhere.into()),
    );
    println!("exec, {source}: {most} KiB");
    assert_eq!(status, 0);
    assert!((1..BOUND).contains(&most), "{most} KiB");
}

#[rstest]
#[case::lines("yes | head -c {mebibytes}M")]
#[case::one_line("tr '\\0' x </dev/zero | head -c {mebibytes}M")]
#[case::errors("yes | head -c {mebibytes}M >&2")]
fn report_25_a_run(#[case] script: &str) {
    let world = World::new();
    let tree = world.worktree();
    let script = script.replace("{mebibytes}", &mebibytes().to_string());
    let prepared = world.prepare(&tree, &[reply(&[&script], false), reply(&[], true)]);
    let (status, most, printed) = peak(prepared.call());
    println!("run, {script}: {most} KiB");
    assert_eq!(status, 0);
    assert!((1..BOUND).contains(&most), "{most} KiB");
    let task: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(task["run"]["result"]["ending"], json!("model_finished"));
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}
