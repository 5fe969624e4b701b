//! Report 23: the state directory on a tiny file system, filled until it is full. The log must refuse with a host's
//! fault, stay readable, and still take its last records. Mounts inside a mount namespace of its own, so that nothing is
//! left behind; needs root.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs
)]

mod common;

use coder_trace::{EvidenceState, Expectation, Reader, Reserve, Source, Step, Writer, evidence_state};
use rustix::process::geteuid;
use std::io::Write as _;
use std::path::Path;

const INSIDE: &str = "CODER_TRACE_TEST_FULL_DISK";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test starts itself again in a mount namespace"
)]
fn a_full_file_system_still_takes_the_last_records() {
    if !geteuid().is_root() {
        eprintln!("skipped: a file system can be mounted by root only");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=1m,mode=0700 none "$1" && exec "$2" filled_to_the_brim --exact --nocapture"#;
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if said.contains("unshare failed") || said.contains("permission denied") {
        eprintln!("skipped: no mount namespace to be had here: {said}");
        return;
    }
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn filled_to_the_brim() {
    let Some(folder) = std::env::var_os(INSIDE) else { return };
    let folder = Path::new(&folder);
    let path = folder.join("log");
    let mut writer = Writer::create(&path, &common::session(), common::clock()).unwrap();
    assert_eq!(writer.reserve(), Reserve::Held);
    writer.append(&Step::new(Source::User, "fix it")).unwrap();

    // Something else takes all that is left.
    let mut other = std::fs::File::create(folder.join("other")).unwrap();
    while other.write_all(&[1; 4096]).is_ok() {}

    let large = Step::new(Source::System, "x".repeat(50_000));
    let refused = (0..20).find_map(|_| writer.append(&large).err()).unwrap();
    let before = writer.bytes();
    assert!(refused.is_disk_full(), "{refused}");
    assert_eq!((refused.code(), writer.reserve()), ("disk_full", Reserve::Held));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), before);
    assert_eq!(Reader::open(&path).unwrap().index().faults(), vec![]);

    // Longer than what ever fits is refused as well, and a shorter one taken.
    let disposition = |bytes: usize| Step::new(Source::System, "the disk is full ".repeat(bytes / 17));
    assert!(writer.append_final(&disposition(600_000)).unwrap_err().is_disk_full());
    writer.append_final(&disposition(90_000)).unwrap();
    let sealed = writer.seal().unwrap();
    assert!(
        other.write_all(&[1; 4096]).is_ok(),
        "sealing gives the rest of the reserve back"
    );

    let reader = Reader::open(&path).unwrap();
    let expectation = Expectation {
        digest: Some(sealed.digest),
        ..Expectation::default()
    };
    assert_eq!(evidence_state(&reader, expectation), EvidenceState::Sealed);
    assert_eq!(reader.index().lines(), sealed.lines);
}
