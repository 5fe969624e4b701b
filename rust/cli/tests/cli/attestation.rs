//! A statement of a run, signed and carried away: made twice alike, verified with and without the store, and every one
//! of its fields and every one of the store's changed in turn.

use crate::call::Seen;
use crate::repository::finished;
use crate::world::World;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

fn statement(world: &World) -> Value {
    world.task(&["export", "task-1", "--in-toto"]).json()
}

/// Makes a key and the signed envelope beside it.
fn signed(world: &World) -> Value {
    let key = world.text("work/key");
    world.coder(&["key", "generate", "--output", &key]).json();
    let envelope = world
        .task(&["export", "task-1", "--format", "in-toto", "--sign", &key])
        .json();
    world.write("work/envelope.json", envelope.to_string());
    envelope
}

/// `coder task verify --attestation` on bytes, without a store.
fn carried(world: &World, attestation: &str, more: &[&str]) -> Seen {
    world.write("work/carried.json", attestation);
    let file = world.text("work/carried.json");
    world
        .coder(&["task", "verify", "--attestation", &file])
        .arguments(more)
        .run()
}

/// The same against the world's store.
fn compared(world: &World, attestation: &str, more: &[&str]) -> Seen {
    let store = world.text("tasks");
    carried(world, attestation, &[&["--store", &store], more].concat())
}

#[test]
fn a_statement_names_all_that_the_run_left_and_how_it_came_to_be() {
    let world = World::new();
    let prepared = finished(&world);
    let stated = statement(&world);
    let task = world.task(&["show", "task-1"]).json();
    let (run, result) = (&task["run"], &task["run"]["result"]);
    let subjects: Vec<&str> = (stated["subject"].as_array().unwrap().iter())
        .map(|subject| subject["name"].as_str().unwrap())
        .collect();
    let manifest = result["artifact_file"].as_str().unwrap();
    let expected = [
        "candidate",
        "source.snapshot.json",
        "candidate.snapshot.json",
        "candidate.patch",
        "task-1.1.atif.jsonl",
        manifest,
        "candidate/notes.txt",
        "candidate/odd name",
    ];
    assert_eq!(subjects, expected);
    let snapshot = &stated["subject"][0]["digest"]["microcoderSnapshotV1"];
    assert_eq!(snapshot, &result["candidate_snapshot"]);

    let predicate = &stated["predicate"];
    let admission = &run["admission"];
    let controller = env!("CARGO_BIN_EXE_microcoder");
    assert_eq!(predicate["task"], json!({ "id": "task-1", "turn": 1 }));
    assert_eq!(predicate["intent_digest"], prepared.grant["intent_digest"]);
    assert_eq!(predicate["grant_digest"], admission["grant_digest"]);
    let context = format!("sha256:{}", admission["context"]["digest"].as_str().unwrap());
    assert_eq!(predicate["context_digest"], context);
    assert_eq!(
        predicate["source"],
        json!({ "snapshot": admission["source_snapshot"], "revision": admission["source_revision"] })
    );
    assert_eq!(predicate["result"], *result);
    assert_eq!(predicate["trace_digest"], result["trace_digest"]);
    assert_eq!(predicate["controller"]["version"], env!("CARGO_PKG_VERSION"));
    let path = predicate["controller"]["path"].as_str().unwrap();
    assert_eq!(path.rsplit('/').next(), controller.rsplit('/').next());
    assert_eq!(predicate["checks"], Value::Null);
    assert_eq!(predicate["boundary"]["commands"], 3);
    assert_eq!(predicate["boundary"]["enforced"][0]["root"], "assembled");
    assert_eq!(predicate["journal"]["sequence"], 4);
}

#[test]
fn the_same_statement_is_the_same_bytes_and_the_same_signature() {
    let world = World::new();
    finished(&world);
    let first = world
        .task(&["export", "task-1", "--in-toto"])
        .run()
        .printed()
        .to_owned();
    assert_eq!(
        first,
        world.task(&["export", "task-1", "--format", "in-toto"]).run().printed()
    );
    let envelope = signed(&world);
    let key = world.text("work/key");
    let again = world.task(&["export", "task-1", "--in-toto", "--sign", &key]).json();
    assert_eq!(envelope, again);
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(payload).unwrap(), first.trim_end());
}

#[test]
fn with_the_store_everything_is_derived_again_and_nothing_is_written() {
    let world = World::new();
    finished(&world);
    let envelope = signed(&world).to_string();
    world.write("work/carried.json", &envelope);
    let key = world.text("work/key.pub");
    let before = world.listing("");
    let verification = compared(&world, &envelope, &["--key", &key, "task-1"]).json(0);
    assert_eq!(crate::world::differences(&before, &world.listing("")), [""; 0]);
    let names: Vec<&str> = (verification["checks"].as_array().unwrap().iter())
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..3], ["signature", "task", "statement"]);
    assert_eq!(names[names.len() - 2..], ["subjects", "predicate"]);
    assert_eq!(verification["verdict"], "verified");
    let key_id = world
        .coder(&["task", "verify", "--attestation", &world.text("work/carried.json")])
        .json()["attestation"]["signature"]
        .clone();
    assert_eq!(key_id, "not_checked");
    assert_eq!(verification["attestation"]["signature"], "valid");
    assert_eq!(verification["attestation"]["compared_with"], "store");
    // A store that cannot be written is enough.
    let made_read_only = fs::metadata(world.path("tasks")).unwrap().mode() & 0o777;
    fs::set_permissions(world.path("tasks"), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(
        compared(&world, &envelope, &["--key", &key]).json(0)["verdict"],
        "verified"
    );
    fs::set_permissions(world.path("tasks"), fs::Permissions::from_mode(made_read_only)).unwrap();
}

#[test]
fn without_a_store_only_the_statement_itself_is_judged_and_the_answer_says_so() {
    let world = World::new();
    finished(&world);
    let envelope = signed(&world);
    let key = world.text("work/key.pub");
    let key_id = envelope["signatures"][0]["keyid"].clone();
    fs::remove_dir_all(world.path("tasks")).unwrap();
    let verification = carried(&world, &envelope.to_string(), &["--key", &key]).json(0);
    let expected = json!({
        "task_id": "task-1",
        "verdict": "consistent",
        "state": "not_compared",
        "attestation": { "turn": 1, "compared_with": "nothing", "signature": "valid", "key_id": key_id },
        "checks": [{ "name": "signature", "finding": "holds" }, { "name": "statement", "finding": "holds" }],
    });
    assert_eq!(verification, expected);
}

/// What was attested of a turn stays true of it when the task goes on, and is not the later one's.
#[test]
fn the_statement_of_an_earlier_turn_holds_after_the_task_went_on() {
    let world = World::new();
    let prepared = finished(&world);
    let first = statement(&world);
    prepared.send("command-2", json!({ "type": "continue", "prompt": "Go on." }));
    let queued = compared(&world, &first.to_string(), &[]);
    assert_eq!((queued.status, &queued.json(0)["attestation"]["turn"]), (0, &json!(1)));
    let mut next = prepared.grant.clone();
    next["expected_revision"] = world.task(&["show", "task-1"]).json()["revision"].clone();
    prepared.call_with(next.to_string()).json();
    let second = statement(&world);
    assert_ne!(first["subject"], second["subject"]);
    for (turn, stated) in [(1, &first), (2, &second)] {
        let seen = compared(&world, &stated.to_string(), &[]);
        let verification: Value = serde_json::from_str(&seen.stdout).unwrap();
        let found = (&verification["verdict"], &verification["attestation"]["turn"]);
        assert_eq!(found, (&json!("verified"), &json!(turn)), "{verification:#}");
    }
    // The later turn under the earlier one's number.
    let mut mixed = second.clone();
    mixed["predicate"]["task"]["turn"] = json!(1);
    assert_eq!(compared(&world, &mixed.to_string(), &[]).json(1)["verdict"], "mismatch");
}

#[test]
fn a_signature_of_somebody_else_or_none_is_a_mismatch() {
    let world = World::new();
    finished(&world);
    let envelope = signed(&world);
    world
        .coder(&["key", "generate", "--output", &world.text("work/other")])
        .json();
    let (key, other) = (world.text("work/key.pub"), world.text("work/other.pub"));
    let named = |seen: Seen| {
        let verification = seen.json(1);
        assert_eq!(verification["verdict"], "mismatch");
        verification["first_mismatch"].as_str().unwrap().to_owned()
    };
    assert!(named(carried(&world, &envelope.to_string(), &["--key", &other])).starts_with("signature"));
    let bare = statement(&world).to_string();
    assert!(named(carried(&world, &bare, &["--key", &key])).starts_with("signature"));
    let mut changed = envelope.clone();
    let text = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap().replacen("\"turn\":1", "\"turn\":2", 1);
    changed["payload"] = STANDARD.encode(text).into();
    assert!(named(carried(&world, &changed.to_string(), &["--key", &key])).starts_with("signature"));
    assert!(named(carried(&world, &envelope.to_string(), &["another"])).starts_with("task"));
}

/// Every leaf of the statement, with where it is.
fn leaves(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                leaves(
                    inner,
                    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                leaves(inner, format!("{place}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(place),
    }
}

/// Another value of the same kind, so that it is still a statement.
fn other(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
        Value::String(text) if text.len() >= 40 && text.ends_with(|end: char| end.is_ascii_hexdigit()) => {
            let last = if text.ends_with('0') { "1" } else { "0" };
            format!("{}{last}", &text[..text.len() - 1]).into()
        }
        Value::String(text) => format!("{text}x").into(),
        Value::Null | Value::Array(_) | Value::Object(_) => "x".into(),
    }
}

/// In-process, for there are about a hundred fields: each changed alone is a refusal or named as the first mismatch.
#[test]
fn every_field_of_a_statement_is_derived_again() {
    let world = World::new();
    finished(&world);
    let stated = statement(&world);
    let clock = std::sync::Arc::new(coder_digest::SystemClock);
    let store = coder_host::open_to_read(&world.path("tasks"), clock).unwrap();
    let mut places = Vec::new();
    leaves(&stated, String::new(), &mut places);
    assert!(places.len() > 60, "{places:?}");
    for place in places {
        let mut changed = stated.clone();
        let leaf = changed.pointer_mut(&place).unwrap();
        *leaf = other(leaf);
        let Ok(verification) = coder_host::verify_attestation(Some(&store), None, changed.to_string().as_bytes(), None)
        else {
            continue;
        };
        let first = verification.first_mismatch.unwrap_or_default();
        assert_eq!(verification.verdict, coder_host::Verdict::Mismatch, "{place}");
        // What a statement says twice is a contradiction before it is a difference.
        let named = ["statement does not hold", "subjects of turn", "predicate of turn"];
        assert!(named.iter().any(|named| first.starts_with(named)), "{place}: {first}");
        if first.starts_with("predicate") {
            let field = place.strip_prefix("/predicate").unwrap();
            assert!(first.contains(&format!("`{field}`")), "{place}: {first}");
        }
    }
    for index in 0..stated["subject"].as_array().unwrap().len() {
        let mut fewer = stated.clone();
        let removed = fewer["subject"].as_array_mut().unwrap().remove(index);
        let verification =
            coder_host::verify_attestation(Some(&store), None, fewer.to_string().as_bytes(), None).unwrap();
        assert_eq!(verification.verdict, coder_host::Verdict::Mismatch, "{removed}");
    }
}

/// What the store alone cannot show: a history written anew is whole in itself, and not the one that was attested.
#[test]
fn a_store_that_was_written_anew_is_not_the_one_attested() {
    let world = World::new();
    finished(&world);
    let envelope = signed(&world).to_string();
    let other = World::new();
    finished(&other);
    assert_eq!(other.task(&["verify", "task-1"]).json()["verdict"], "verified");
    let verification = compared(&other, &envelope, &[]).json(1);
    let first = verification["first_mismatch"].as_str().unwrap();
    assert!(
        first.starts_with("subjects of turn 1 does not hold: the digest of `"),
        "{first}"
    );
}

#[test]
fn a_store_that_does_not_verify_is_not_attested() {
    let world = World::new();
    finished(&world);
    let envelope = signed(&world).to_string();
    let trace = world.path("tasks/task-1.1.atif.jsonl");
    let text = fs::read_to_string(&trace).unwrap().replacen("second", "secone", 1);
    fs::write(&trace, text).unwrap();
    let (code, message) = world.task(&["export", "task-1", "--in-toto"]).run().refused(1);
    assert_eq!(code, "unverified");
    assert!(message.contains("trace of turn 1"), "{message}");
    let first = compared(&world, &envelope, &[]).json(1)["first_mismatch"].clone();
    assert!(first.as_str().unwrap().starts_with("trace of turn 1"), "{first}");
}

#[test]
fn nothing_is_attested_of_a_task_that_did_not_run() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[]);
    let (code, _) = world.task(&["export", "task-1", "--in-toto"]).run().refused(1);
    assert_eq!(code, "absent");
}

#[test]
fn a_key_is_private_new_and_used_only_while_it_is() {
    let world = World::new();
    finished(&world);
    let key = world.text("work/key");
    let made = world.coder(&["key", "generate", "--output", &key]).json();
    assert_eq!(made["private"], key);
    assert_eq!(made["public"], format!("{key}.pub"));
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
    let (code, _) = world.coder(&["key", "generate", "--output", &key]).run().refused(1);
    assert_eq!(code, "key_file");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, message) = world
        .task(&["export", "task-1", "--in-toto", "--sign", &key])
        .run()
        .refused(1);
    assert_eq!(code, "key_not_private");
    assert!(message.contains("chmod 600"), "{message}");
}

#[rstest]
#[case::signed_atif(&["export", "task-1", "--atif", "--sign", "key"])]
#[case::two_formats(&["export", "task-1", "--atif", "--in-toto"])]
#[case::key_alone(&["verify", "task-1", "--key", "key.pub"])]
#[case::both(&["verify", "--attestation", "a", "--document", "b"])]
#[case::nothing(&["verify"])]
fn wrong_uses(#[case] arguments: &[&str]) {
    let world = World::new();
    assert_eq!(world.task(arguments).run().status, 64);
}

/// An exported document is compared as JSON with what the trace renders, and names its own task.
/// Documents are strict JSON of at most 64 levels: what is deeper is refused, and what is not is compared.
#[rstest]
#[case::as_deep_as_may_be(60, "mismatch")]
#[case::one_deeper(61, "json")]
#[case::far_deeper(100_000, "json")]
fn a_document_with_deep_nesting_is_an_answer_and_no_fall(#[case] levels: usize, #[case] expected: &str) {
    let world = World::new();
    finished(&world);
    let document = world.task(&["export", "task-1"]).run().stdout;
    // Below the document, its list of steps, a step and its extensions.
    let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let document = document.replacen("\"extra\":{", &format!("\"extra\":{{\"deep\":{deep},"), 1);
    assert!(document.contains(&deep));
    let file = world.write("work/deep.json", document);
    let seen = world.task(&["verify", "--document", file.to_str().unwrap()]).run();
    match expected {
        "mismatch" => assert_eq!(seen.json(1)["verdict"], "mismatch"),
        _ => assert_eq!(seen.refused(1).0, "bad_attestation"),
    }
}

#[test]
fn an_exported_document_is_held_against_the_store() {
    let world = World::new();
    finished(&world);
    let file = world.text("work/trace.json");
    world
        .task(&["export", "task-1", "--atif", "--output", &file])
        .run()
        .printed();
    let verified = world.task(&["verify", "--document", &file]).json();
    assert_eq!(verified["verdict"], "verified");
    assert_eq!(
        verified["checks"].as_array().unwrap().last().unwrap()["name"],
        "document"
    );
    let document: Value = serde_json::from_str(&world.read("work/trace.json")).unwrap();
    world.write("work/trace.json", serde_json::to_string_pretty(&document).unwrap());
    assert_eq!(
        world.task(&["verify", "task-1", "--document", &file]).json()["verdict"],
        "verified"
    );

    let mut changed = document.clone();
    changed["steps"][1]["message"] = "Admitted!".into();
    world.write("work/trace.json", changed.to_string());
    let first = world.task(&["verify", "--document", &file]).run().json(1)["first_mismatch"].clone();
    assert_eq!(
        first,
        "document of turn 1 does not hold: `/steps/1/message` is \"Admitted!\", and the store says \"Admitted.\""
    );
    for (session, code) in [("task-2-1", "not_found"), ("no", "bad_attestation")] {
        let mut other = document.clone();
        other["session_id"] = session.into();
        world.write("work/trace.json", other.to_string());
        let (refusal, _) = world.task(&["verify", "--document", &file]).run().refused(1);
        assert_eq!(refusal, code);
    }
}
