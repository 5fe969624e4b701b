//! A writer that is killed: what it acknowledged is in the log, and what it was writing is at most a torn tail.
//! The writer is this test program started again with a variable set.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_digest::Digest;
use coder_trace::{Fault, FaultKind, Reader, Source, Step, Writer};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

const LOG: &str = "CODER_TRACE_TEST_KILLED_LOG";

/// The child: appends until it is killed, telling of each record once `append` has returned.
#[test]
fn writer_child() {
    let Some(path) = std::env::var_os(LOG) else { return };
    let mut writer = Writer::create(Path::new(&path), &common::session(), common::clock()).unwrap();
    let mut told = std::io::stdout();
    for number in 0_usize.. {
        // Small and large records, so that the kill falls into both.
        let message = "x".repeat(if number % 3 == 0 { 200_000 } else { 20 });
        let appended = writer.append(&Step::new(Source::System, message)).unwrap();
        writeln!(told, "appended {} {}", appended.line, appended.digest).unwrap();
        told.flush().unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the test starts itself again, to kill it")]
fn start(path: &Path) -> Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["writer_child", "--exact", "--nocapture"])
        .env(LOG, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn acknowledged(line: &str) -> Option<(u64, Digest)> {
    // The test harness prints the name of the test before the first of these.
    let (_, words) = line.split_once("appended ")?;
    let (line, digest) = words.trim_end().split_once(' ')?;
    Some((line.parse().ok()?, digest.parse().ok()?))
}

#[test]
fn every_acknowledged_record_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    for kills in 0..12_usize {
        let path: PathBuf = folder.path().join(format!("log-{kills}"));
        let mut child = start(&path);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut told = Vec::new();
        let mut line = String::new();
        // Where in its next record the child is by now is left to chance.
        while told.len() <= kills * 2 {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the child ended on its own");
            told.extend(acknowledged(&line));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        told.extend(
            output
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| acknowledged(&line)),
        );

        let bytes = std::fs::read(&path).unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for (number, digest) in &told {
            let line = lines[usize::try_from(*number).unwrap() - 1];
            assert_eq!(Digest::of(line), *digest, "line {number} was acknowledged");
        }
        let reader = Reader::open(&path).unwrap();
        let whole = reader.index().lines();
        assert!(whole > told.len() as u64);
        let torn = Fault {
            line: whole + 1,
            kind: FaultKind::Torn,
        };
        assert!(
            [vec![], vec![torn]].contains(&reader.index().faults()),
            "{:?}",
            reader.index()
        );
        assert_eq!(reader.index().steps(), whole - 1);
    }
}
