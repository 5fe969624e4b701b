//! Harbor's own models judge what this crate exports, and every document they refuse is refused here too. Needs an
//! interpreter with `harbor` installed, named by `MICROCODER_HARBOR_PYTHON`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs
)]

mod common;

use coder_trace::{Call, Reader, Source, Step, Tokens, Writer, atif_document, check, write_atif_document};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::Path;

fn interpreter() -> Option<OsString> {
    let found = std::env::var_os("MICROCODER_HARBOR_PYTHON");
    if found.is_none() {
        eprintln!("skipped: MICROCODER_HARBOR_PYTHON names no interpreter with `harbor` installed");
    }
    found
}

fn log(path: &Path) -> Reader {
    let mut writer = Writer::create(path, &common::session(), common::clock()).unwrap();
    writer.append(&Step::new(Source::User, "fix it")).unwrap();
    let admission = Step::new(Source::System, "admitted").with_extension("admission", &json!({"mode": "full"}));
    writer.append(&admission.unwrap()).unwrap();
    for (id, input) in [("c1", Some(10)), ("c1", None), ("c2", Some(0))] {
        let mut step = Step::new(Source::Agent, "I run it");
        step.model = Some("model-b".into());
        step.reasoning = Some("why".into());
        step.tokens = Some(Tokens {
            input,
            output: Some(3),
            cost_microusd: input,
            ..Tokens::default()
        });
        step.call = Some(Call {
            id: id.into(),
            name: "command".into(),
            arguments: json!({"script": "make"}),
            output: "done \u{1f600}".into(),
            outcome: "ok".into(),
            milliseconds: 5,
            purpose: Some("see".into()),
            extra: Map::new(),
        });
        step.milliseconds = Some(7);
        writer.append(&step).unwrap();
    }
    writer.seal().unwrap();
    Reader::open(path).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the other judge is a Python program")]
fn harbor_accepts_what_is_exported() {
    let Some(python) = interpreter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let reader = log(&folder.path().join("log"));
    let document = folder.path().join("document.json");
    write_atif_document(&reader, std::fs::File::create(&document).unwrap()).unwrap();
    let output = std::process::Command::new(python)
        .args(["-m", "harbor.utils.trajectory_validator"])
        .arg(&document)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8(output.stderr).unwrap());
}

/// Every place of the document, with what might stand there instead.
fn mutations(document: &Value) -> Vec<Value> {
    let replacements = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(7),
        json!(1.5),
        json!(1e300),
        json!("text"),
        json!("1"),
        json!("2026-11-30T12:00:00"),
        json!("2026-11-30T12:00:60Z"),
        json!("ATIF-v1.9"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"foo": 1}),
        json!([{"type": "image"}]),
        json!([{"type": "text", "text": "a"}]),
        json!([{"type": "audio", "source": {"media_type": "image/png", "path": "https://a/b"}}]),
        json!([{"trajectory_path": "p"}, {"session_id": "s"}]),
    ];
    let mut all = Vec::new();
    for pointer in pointers(document, "") {
        for replacement in &replacements {
            let mut changed = document.clone();
            *changed.pointer_mut(&pointer).unwrap() = replacement.clone();
            all.push(changed);
        }
        let Some((parent, name)) = pointer.rsplit_once('/') else {
            continue;
        };
        let mut shorter = document.clone();
        match shorter.pointer_mut(parent).unwrap() {
            Value::Object(object) => drop(object.remove(name)),
            Value::Array(list) => drop(list.remove(name.parse().unwrap())),
            other => panic!("{other}"),
        }
        all.push(shorter);
        if let Some(Value::Object(_)) = document.pointer(&pointer) {
            let known = [
                ("metrics", json!({})),
                ("llm_call_count", json!(0)),
                ("reasoning_effort", json!([])),
                ("duration_sec", json!(-1)),
                ("foo", json!(1)),
            ];
            for (name, value) in known {
                let mut longer = document.clone();
                longer.pointer_mut(&pointer).unwrap()[name] = value;
                all.push(longer);
            }
        }
    }
    all
}

fn pointers(value: &Value, pointer: &str) -> Vec<String> {
    let mut all = vec![pointer.to_owned()];
    match value {
        Value::Object(object) => {
            all.extend(
                object
                    .iter()
                    .flat_map(|(name, value)| pointers(value, &format!("{pointer}/{name}"))),
            );
        }
        Value::Array(list) => {
            all.extend(
                list.iter()
                    .enumerate()
                    .flat_map(|(place, value)| pointers(value, &format!("{pointer}/{place}"))),
            );
        }
        _ => {}
    }
    all
}

const JUDGE: &str = "
import json, sys
from harbor.utils.trajectory_validator import TrajectoryValidator
for line in open(sys.argv[1], encoding='utf-8'):
    try:
        good = TrajectoryValidator().validate(json.loads(line))
    except Exception:
        good = False
    print('good' if good else 'bad')
";

#[test]
#[expect(clippy::disallowed_methods, reason = "the other judge is a Python program")]
fn whatever_harbor_refuses_is_refused_here() {
    let Some(python) = interpreter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let document = atif_document(&log(&folder.path().join("log"))).unwrap();
    let mut corpus = vec![document.clone()];
    corpus.extend(mutations(&document));
    let mut texts: Vec<String> = corpus.iter().map(Value::to_string).collect();
    // What a value cannot say.
    texts.push(texts[0].replace("\"prompt_tokens\":10", "\"prompt_tokens\":NaN"));
    texts.push(texts[0].replace("\"step_id\":1,", "\"step_id\":1,\"step_id\":2,"));
    texts.push("[1]".to_owned());
    let file = folder.path().join("corpus");
    std::fs::write(&file, texts.join("\n")).unwrap();
    let output = std::process::Command::new(python)
        .args(["-c", JUDGE])
        .arg(&file)
        .output()
        .unwrap();
    let verdicts = String::from_utf8(output.stdout).unwrap();
    let verdicts: Vec<&str> = verdicts.lines().collect();
    assert_eq!(
        verdicts.len(),
        texts.len(),
        "{}",
        String::from_utf8(output.stderr).unwrap()
    );
    assert_eq!(verdicts[0], "good");
    let mut refused = 0;
    for (text, verdict) in texts.iter().zip(&verdicts) {
        if *verdict == "bad" {
            refused += 1;
            assert_ne!(
                check::strict(text.as_bytes()),
                vec![],
                "harbor refuses this and the strict check does not: {text}"
            );
        }
    }
    assert!(
        refused > 500,
        "the corpus has only {refused} documents that Harbor refuses"
    );
    let stricter = texts
        .iter()
        .zip(&verdicts)
        .filter(|(text, verdict)| **verdict == "good" && !check::strict(text.as_bytes()).is_empty())
        .count();
    assert!(
        stricter > 30,
        "only {stricter} documents are refused by the strict check alone"
    );
    eprintln!(
        "{} documents: {refused} refused by both, {stricter} by the strict check alone",
        texts.len()
    );
}
