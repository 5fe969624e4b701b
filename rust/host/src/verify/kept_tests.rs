use super::*;
use rstest::rstest;
use serde_json::json;

/// A manifest of a created file that was kept, a removed one and a renamed one.
fn manifest() -> Value {
    let digest = Digest::of(b"x");
    let entry = |path: &str, state: &str| json!({ "path": path, "state": state, "digest": null, "bytes": null, "link_target": null });
    json!({
        "schema": "openagents.coder.task-artifacts.v1",
        "source_snapshot": digest.hex(),
        "candidate_snapshot": digest.hex(),
        "complete": true,
        "omitted_changes": 0,
        "changes": [
            { "change": "created", "path": "a" },
            { "change": "removed", "path": "b" },
            { "change": "renamed", "from": "c", "to": "d", "altered": false },
        ],
        "entries": [entry("a", "retained"), entry("b", "removed"), entry("c", "removed"), entry("d", "retained")],
    })
}

fn listed(manifest: Value) -> Result<(), String> {
    listed_whole(&serde_json::from_value(manifest).unwrap())
}

#[test]
fn a_manifest_that_lists_what_it_says() {
    assert_eq!(listed(manifest()), Ok(()));
}

#[rstest]
#[case::an_entry_less("entries are not those", |manifest: &mut Value| drop(manifest["entries"].as_array_mut().unwrap().pop()))]
#[case::another_entry("entries are not those", |manifest: &mut Value| manifest["entries"][0]["path"] = json!("z"))]
#[case::an_entry_twice("entries are not those", |manifest: &mut Value| manifest["entries"][1] = manifest["entries"][0].clone())]
#[case::lost("`complete` does not follow", |manifest: &mut Value| manifest["entries"][0]["state"] = json!("unavailable"))]
#[case::over("`complete` does not follow", |manifest: &mut Value| manifest["entries"][0]["state"] = json!("unavailable_or_over_limit"))]
#[case::omitted("`complete` does not follow", |manifest: &mut Value| manifest["omitted_changes"] = json!(1))]
#[case::modest("`complete` does not follow", |manifest: &mut Value| manifest["complete"] = json!(false))]
fn a_manifest_that_does_not(#[case] says: &str, #[case] change: fn(&mut Value)) {
    let mut changed = manifest();
    change(&mut changed);
    let said = listed(changed).unwrap_err();
    assert!(said.contains(says), "{said}");
}

#[test]
fn a_patch_of_another_length() {
    let directory = tempfile::tempdir().unwrap();
    let retention = Retention::open(&directory.path().join("store")).unwrap();
    let digest = retention.put(b"patch").unwrap();
    let told = |bytes: u64| json!({ "digest": digest, "bytes": bytes });
    assert_eq!(patch(&retention, &told(5)), Ok(()));
    assert_eq!(
        patch(&retention, &told(6)),
        Err("its length is not the one recorded".to_owned())
    );
    assert_eq!(patch(&retention, &json!({})), Err("it has no digest".to_owned()));
}
