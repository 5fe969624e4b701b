use super::*;
use crate::testing::{log, rewrite, step};
use crate::{EvidenceState, Expectation, Reader, evidence_state};

#[test]
fn a_torn_tail_is_cut_and_reported() {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    let whole = std::fs::read(&log.path).unwrap();
    // Longer than a block, so that the search goes back over one.
    let tail = vec![0; 70_000];
    rewrite(&log.path, &[&whole[..], &tail].concat());
    assert_eq!(
        repair(&log.path).unwrap(),
        Repaired {
            kept: whole.len() as u64,
            cut: Some(Cut {
                bytes: 70_000,
                digest: Digest::of(&tail),
            }),
        }
    );
    assert_eq!(std::fs::read(&log.path).unwrap(), whole);
    let reader = Reader::open(&log.path).unwrap();
    assert_eq!(evidence_state(&reader, Expectation::default()), EvidenceState::Unsealed);
}

#[test]
fn a_log_without_a_torn_tail_is_left_as_it_is_even_with_a_bad_middle() {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    let mut bytes = std::fs::read(&log.path).unwrap();
    bytes[5] = 0;
    rewrite(&log.path, &bytes);
    assert_eq!(
        repair(&log.path).unwrap(),
        Repaired {
            kept: bytes.len() as u64,
            cut: None,
        }
    );
    assert_eq!(std::fs::read(&log.path).unwrap(), bytes);
}

#[test]
fn a_log_torn_in_its_first_line_becomes_empty() {
    let log = log();
    rewrite(&log.path, b"{\"record\"");
    assert_eq!(repair(&log.path).unwrap().kept, 0);
    assert_eq!(std::fs::metadata(&log.path).unwrap().len(), 0);
}

#[test]
fn a_link_is_not_repaired_through() {
    let log = log();
    rewrite(&log.path, b"torn");
    let link = log.folder.path().join("link");
    std::os::unix::fs::symlink(&log.path, &link).unwrap();
    assert_eq!(repair(&link).unwrap_err().code(), "trace_unsafe");
    assert_eq!(std::fs::read(&log.path).unwrap(), b"torn");
}
