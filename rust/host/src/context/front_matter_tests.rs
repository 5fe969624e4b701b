use super::*;
use proptest::prelude::*;
use rstest::rstest;

/// A whole document.
pub(in super::super) const DOCUMENT: &str = "---
id: git.reflog-recovery
version: 1
kind: method
title: Recover commits from the reflog
summary: >-
  Lost commits stay
  reachable from the reflog.
tags: [git, recovery]
applies_when: >-
  A branch lost commits.
status: admitted
author: somebody
provenance:
  written_from: [reference, old-run-17]
  cites: [\"Pro Git, 2014\"]
evidence:
  - \"admitted 2026-09-26 by review\"
---

## Details

Look at `git reflog`.
";

#[test]
fn everything_a_document_says_of_itself() {
    let expected = FrontMatter {
        id: "git.reflog-recovery".to_owned(),
        version: 1,
        kind: Kind::Method,
        title: "Recover commits from the reflog".to_owned(),
        summary: "Lost commits stay reachable from the reflog.".to_owned(),
        tags: vec!["git".to_owned(), "recovery".to_owned()],
        applies_when: "A branch lost commits.".to_owned(),
        status: Status::Admitted,
        author: "somebody".to_owned(),
        provenance: Provenance {
            written_from: vec!["reference".to_owned(), "old-run-17".to_owned()],
            cites: vec!["Pro Git, 2014".to_owned()],
        },
        evidence: vec!["admitted 2026-09-26 by review".to_owned()],
    };
    assert_eq!(parse(DOCUMENT).unwrap(), expected);
    assert_eq!(parse(&DOCUMENT.replace('\n', "\r\n")).unwrap(), expected);
}

#[test]
fn lists_may_be_left_out() {
    let short = "---\nid: a\nversion: 2\nkind: edge-case\ntitle: t\nsummary: s\napplies_when: w\nstatus: candidate\nauthor: a\n---\nbody";
    let front = parse(short).unwrap();
    assert_eq!(
        (front.kind, front.status, front.version),
        (Kind::EdgeCase, Status::Candidate, 2)
    );
    assert_eq!(
        (front.tags, front.provenance, front.evidence),
        (vec![], Provenance::default(), vec![])
    );
}

#[rstest]
#[case::no_fence("---\n", "", "does not begin with front matter")]
#[case::no_end("\n---\n\n## ", "\n\n## ", "no closing `---`")]
#[case::no_body(
    "\n\n## Details\n\nLook at `git reflog`.\n",
    "\n \n",
    "nothing after its front matter"
)]
#[case::unknown("author:", "colour: red\nauthor:", "unknown field `colour`")]
#[case::unknown_inner("  cites:", "  heard_from: [x]\n  cites:", "unknown field `heard_from`")]
#[case::missing("author: somebody\n", "", "missing field `author`")]
#[case::empty("author: somebody", "author: \"  \"", "`author` says nothing")]
#[case::kind("kind: method", "kind: rumour", "unknown variant `rumour`")]
#[case::status("status: admitted", "status: fresh", "unknown variant `fresh`")]
#[case::zero("version: 1", "version: 0", "not positive")]
#[case::negative("version: 1", "version: -1", "front matter cannot be read")]
#[case::fraction("version: 1", "version: 1.5", "front matter cannot be read")]
#[case::twice("author: somebody", "author: somebody\nauthor: another", "duplicate")]
#[case::anchor("title: Recover", "title: &t Recover", "front matter cannot be read")]
#[case::alias("evidence:", "evidence: *t\nother:", "front matter cannot be read")]
#[case::list("tags: [git, recovery]", "tags: git", "front matter cannot be read")]
fn a_document_without_complete_front_matter_refuses(#[case] from: &str, #[case] to: &str, #[case] said: &str) {
    let document = DOCUMENT.replacen(from, to, 1);
    assert_ne!(document, DOCUMENT);
    let reason = parse(&document).unwrap_err();
    assert!(reason.contains(said), "{reason}");
    assert!(!reason.contains('\n') && reason.chars().count() < 400, "{reason}");
}

proptest! {
    #[test]
    fn no_document_makes_it_fail_in_another_way(front in "[ -~\n]{0,200}", body in "\\PC{0,20}") {
        let _ = parse(&format!("---\n{front}\n---\n{body}"));
        let _ = parse(&front);
    }
}
