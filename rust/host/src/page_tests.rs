use super::*;
use crate::testing::run::{recorded, task};
use crate::verify::{Check, Finding, Verdict};
use base64::Engine as _;
use coder_digest::Digest;
use coder_trace::FaultKind;
use rstest::rstest;

fn gathered() -> Gathered {
    let task = task();
    Gathered {
        state: "finished".to_owned(),
        evidence: Evidence {
            state: EvidenceState::Damaged,
            trace_file: Some("fix-parser.1.atif.jsonl".into()),
            digest: Some(Digest::of(b"trace")),
            faults: vec![Fault {
                line: 7,
                kind: FaultKind::BadChain,
            }],
            fault_count: 4,
            steps: 23,
            error: None,
        },
        timeline: Timeline::of(1, recorded()),
        manifest: None,
        candidate_faults: vec!["`a`: altered".into()],
        patch: Some(b"diff --git a/<x> b/<x>\n@@ -1 +1 @@\n-<old>\n+</pre><new>\n".to_vec()),
        verification: Ok(Verification {
            task_id: task.task_id.clone(),
            attestation: None,
            journal_head: None,
            verdict: Verdict::Mismatch,
            state: "finished".into(),
            first_mismatch: Some("trace of turn 1 does not hold".into()),
            checks: vec![Check {
                turn: Some(1),
                name: "trace",
                finding: Finding::Fails,
                detail: Some("<bad>".into()),
            }],
        }),
        task,
    }
}

fn rendered(gathered: &Gathered) -> String {
    let mut markup = Markup::default();
    frame::page(&mut markup, gathered);
    markup.finish()
}

/// Every tag opened is closed in its order: nothing anybody wrote has become markup.
#[track_caller]
fn assert_balanced(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "before {}", &rest[..rest.len().min(80)]);
        } else if !matches!(name, "!doctype" | "meta") {
            open.push(name);
            if matches!(name, "style" | "script") {
                rest = &rest[rest.find(&format!("</{name}")).unwrap()..];
            }
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_page_is_whole_and_the_same_each_time() {
    let page = rendered(&gathered());
    assert_balanced(&page);
    assert_eq!(page, rendered(&gathered()));
    assert!(page.starts_with("<!doctype html>\n") && page.ends_with("</html>\n"));
}

#[test]
fn what_is_wrong_stands_before_everything_else() {
    let page = rendered(&gathered());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = [
        "Verification fails: trace of turn 1 does not hold",
        "Evidence: some lines of the trace are damaged.",
        "Line 7 of the trace: bad_chain",
        "Without a result: 1 effect.",
        "The host could not go on: the disk is full",
        "Candidate: the patch is too large",
        "The run’s processes were not proved gone.",
        "Candidate: `a`: altered",
        "<h1>",
    ];
    let places: Vec<usize> = order.map(place).into();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn unknowns_are_called_so() {
    let page = rendered(&gathered());
    for said in [
        "<dt>Cost</dt><dd>at least $0.0125</dd>",
        "<dt>Tokens</dt><dd>1,200 in (1,000 cached), 34 out, without 1 request that nobody counted</dd>",
        "cost unknown",
        "no result: what became of it is not known",
        "<s>openai small</s> → <b>openai large</b>",
        "checks: failed",
        "2 of 3 hold",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn hostile_text_is_text() {
    let page = rendered(&gathered());
    assert!(
        page.contains("&lt;/pre&gt;red\\u{1b}\\u{1b}[2J\u{fffd}\\u{202e}&lt;script&gt;"),
        "{page}"
    );
    assert!(page.contains("<ins>+&lt;/pre&gt;&lt;new&gt;\n</ins>"));
    assert!(
        !page
            .chars()
            .any(|character| character != '\n' && coder_digest::is_unsafe_to_show(character))
    );
}

#[rstest]
#[case::style("<style>", "</style>", "style-src")]
#[case::script("<script>", "</script>", "script-src")]
fn only_what_the_policy_names_runs(#[case] open: &str, #[case] close: &str, #[case] directive: &str) {
    let page = rendered(&gathered());
    let (_, rest) = page.split_once(open).unwrap();
    let (content, after) = rest.split_once(close).unwrap();
    assert!(!after.contains(open));
    let digest = base64::engine::general_purpose::STANDARD.encode(Digest::of(content.as_bytes()).as_bytes());
    assert!(page.contains("default-src 'none'; ") && page.contains(&format!("{directive} 'sha256-{digest}'")));
    for asks in [
        "src=",
        "url(",
        "@import",
        "fetch(",
        "http://",
        "https://",
        " style=",
        "javascript:",
    ] {
        assert!(
            !page.contains(asks) || asks == "http://" && page.matches(asks).count() == 2,
            "{asks}"
        );
    }
}

#[test]
fn a_task_that_was_never_run_has_a_page() {
    let mut empty = gathered();
    empty.task.run = None;
    empty.timeline = Timeline::default();
    empty.evidence = Evidence {
        state: EvidenceState::NotStarted,
        trace_file: None,
        digest: None,
        faults: Vec::new(),
        fault_count: 0,
        steps: 0,
        error: None,
    };
    empty.patch = None;
    empty.candidate_faults.clear();
    empty.verification = Err("no".into());
    let page = rendered(&empty);
    assert_balanced(&page);
    assert!(page.contains("No candidate is kept.") && page.contains("Nothing happened yet."));
}

#[test]
fn of_a_very_long_run_both_ends_are_shown() {
    let mut long = gathered();
    let entries = (0..5000).map(|number| crate::timeline::Entry {
        step: number + 1,
        at: coder_digest::Timestamp(0),
        carried: false,
        event: crate::timeline::Event::Said {
            source: coder_trace::Source::System,
            text: "x".into(),
        },
    });
    long.timeline.entries = entries.collect();
    let page = rendered(&long);
    assert_balanced(&page);
    assert!(
        page.contains("1,000 more left out here") && page.contains("id=\"s5000\"") && !page.contains("id=\"s2500\"")
    );
}
