use super::*;
use crate::testing::{log, rewrite, step};
use coder_digest::Digest;
use rstest::rstest;

/// What is done to a sealed log of one step before it is examined.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    CutTheEnd,
    CutSeven,
    Edit,
    Empty,
    Oversize,
    Remove,
    OpenToAll,
}

#[derive(Debug, Clone, Copy)]
enum Known {
    Nothing,
    TheDigest,
    AnotherDigest,
    /// The digest of the file as it is after the change.
    DigestAfterwards,
}

#[rstest]
#[case(Change::Nothing, Known::TheDigest, Retention::Complete, EvidenceState::Sealed)]
#[case(Change::Nothing, Known::Nothing, Retention::Complete, EvidenceState::Unsealed)]
#[case(Change::Nothing, Known::TheDigest, Retention::Incomplete, EvidenceState::Incomplete)]
#[case(
    Change::Nothing,
    Known::AnotherDigest,
    Retention::Incomplete,
    EvidenceState::DigestMismatch
)]
#[case(Change::CutTheEnd, Known::Nothing, Retention::Complete, EvidenceState::Unsealed)]
#[case(
    Change::CutTheEnd,
    Known::DigestAfterwards,
    Retention::Complete,
    EvidenceState::Unsealed
)]
#[case(
    Change::CutTheEnd,
    Known::TheDigest,
    Retention::Complete,
    EvidenceState::DigestMismatch
)]
#[case(Change::CutSeven, Known::Nothing, Retention::Incomplete, EvidenceState::Damaged)]
#[case(
    Change::CutSeven,
    Known::DigestAfterwards,
    Retention::Complete,
    EvidenceState::Damaged
)]
#[case(
    Change::CutSeven,
    Known::TheDigest,
    Retention::Complete,
    EvidenceState::DigestMismatch
)]
#[case(Change::Edit, Known::Nothing, Retention::Complete, EvidenceState::Damaged)]
#[case(Change::Empty, Known::TheDigest, Retention::Complete, EvidenceState::Malformed)]
#[case(Change::Oversize, Known::TheDigest, Retention::Complete, EvidenceState::Oversized)]
#[case(Change::Remove, Known::TheDigest, Retention::Complete, EvidenceState::Missing)]
#[case(
    Change::OpenToAll,
    Known::TheDigest,
    Retention::Complete,
    EvidenceState::UnavailableOrUnsafe
)]
fn states_and_their_precedence(
    #[case] change: Change,
    #[case] known: Known,
    #[case] retention: Retention,
    #[case] expected: EvidenceState,
) {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    let without_end = usize::try_from(log.writer.bytes()).unwrap();
    let sealed = log.writer.seal().unwrap();
    let bytes = std::fs::read(&log.path).unwrap();
    match change {
        Change::Nothing => {}
        Change::CutTheEnd => rewrite(&log.path, &bytes[..without_end]),
        Change::CutSeven => rewrite(&log.path, &bytes[..bytes.len() - 7]),
        Change::Edit => {
            let edited = String::from_utf8(bytes).unwrap().replace("one", "two");
            rewrite(&log.path, edited.as_bytes());
        }
        Change::Empty => rewrite(&log.path, b""),
        Change::Oversize => {
            let file = std::fs::OpenOptions::new().write(true).open(&log.path).unwrap();
            file.set_len(crate::limits::FILE + 1).unwrap();
        }
        Change::Remove => std::fs::remove_file(&log.path).unwrap(),
        Change::OpenToAll => {
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o604);
            std::fs::set_permissions(&log.path, open).unwrap();
        }
    }
    let digest = match known {
        Known::Nothing => None,
        Known::TheDigest => Some(sealed.digest),
        Known::AnotherDigest => Some(Digest::of(b"another")),
        Known::DigestAfterwards => Some(Digest::of(&std::fs::read(&log.path).unwrap())),
    };
    let examined = examine(Some(&log.path), Expectation { digest, retention });
    assert_eq!(examined.state, expected);
}

#[test]
fn the_words_are_fixed() {
    let words = serde_json::to_string(&[
        EvidenceState::NotStarted,
        EvidenceState::Missing,
        EvidenceState::UnavailableOrUnsafe,
        EvidenceState::Unreadable,
        EvidenceState::Oversized,
        EvidenceState::Malformed,
        EvidenceState::DigestMismatch,
        EvidenceState::Damaged,
        EvidenceState::Incomplete,
        EvidenceState::Unsealed,
        EvidenceState::Sealed,
    ]);
    let expected = r#"["not_started","missing","unavailable_or_unsafe","unreadable","oversized","malformed","digest_mismatch","damaged","incomplete","unsealed","sealed"]"#;
    assert_eq!(words.unwrap(), expected);
    assert_eq!(examine(None, Expectation::default()).state, EvidenceState::NotStarted);
}
