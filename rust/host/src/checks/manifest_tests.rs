use super::*;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

fn template() -> Value {
    json!({
        "v": 1,
        "slug": "judge",
        "name": "Judge of the parser",
        "summary": "",
        "transport": "subprocess",
        "detect": { "binary": "/srv/judge", "version": ["/srv/judge", "--version", "/srv/version"], "probe": ["/srv/judge"] },
        "enforces": ["time"],
        "cannot_enforce": ["network"],
        "sees_repository": true,
        "concurrent_max": 1,
        "cost": "local",
        "isolation": ["directory"],
        "invoke": ["/srv/judge", "relative", "/srv/words"],
        "invoke_writing": ["/srv/judge"],
        "workspace_probe": { "argv": ["/srv/judge", "/srv/data"], "accepts": ["ok"], "note": "" },
        "refuses": [],
        "needs": { "toolchains": true, "network": false, "programs": ["cc"], "reads": ["/srv/data"] },
    })
}

fn read(manifest: &Value) -> Result<Manifest, String> {
    Manifest::parse(Path::new("/srv/judge.json"), manifest.to_string().as_bytes()).map_err(|error| {
        assert_eq!(error.code(), "capability_manifest");
        error.to_string()
    })
}

#[test]
fn a_manifest_says_what_it_is_and_what_it_needs() {
    let manifest = Manifest {
        slug: Identifier::new("judge").unwrap(),
        name: "Judge of the parser".into(),
        program: "/srv/judge".into(),
        needs: Needs {
            toolchains: true,
            network: false,
            programs: vec!["cc".into()],
            reads: vec!["/srv/data".into()],
        },
        named: vec!["/srv/version".into(), "/srv/words".into()],
    };
    assert_eq!(read(&template()), Ok(manifest));
}

#[test]
fn nothing_is_needed_that_is_not_asked_for() {
    let least = json!({
        "v": 1, "slug": "judge", "transport": "subprocess",
        "detect": { "binary": "/srv/judge", "version": ["/srv/judge"] },
    });
    let needs = Needs {
        toolchains: false,
        network: false,
        programs: vec![],
        reads: vec![],
    };
    assert_eq!(read(&least).unwrap().needs, needs);
}

#[rstest]
#[case::version("/v", json!(2), "`v` is 2")]
#[case::slug("/slug", json!("../judge"), "identifier")]
#[case::transport("/transport", json!("relay"), "`transport`")]
#[case::relative_program("/detect/binary", json!("judge"), "`detect.binary`")]
#[case::no_words("/detect/version", json!([]), "`detect.version` is empty")]
#[case::another_head("/invoke", json!(["/bin/sh", "/srv/judge"]), "`invoke` begins with another program")]
#[case::another_probe("/workspace_probe/argv", json!(["/bin/sh"]), "`workspace_probe.argv` begins")]
#[case::many_words("/invoke", json!(vec!["/srv/judge"; 130]), "more than 128 words")]
#[case::both_claims("/cannot_enforce", json!(["time"]), "`time` is both")]
#[case::program_path("/needs/programs", json!(["/usr/bin/cc"]), "`needs.programs`")]
#[case::relative_read("/needs/reads", json!(["data"]), "`needs.reads`")]
#[case::unknown_need("/needs", json!({ "gpu": true }), "unknown field `gpu`")]
#[case::unknown_field("/detect", json!({ "binary": "/srv/judge", "version": ["/srv/judge"], "shell": true }), "unknown field `shell`")]
fn a_manifest_that_cannot_be_used_says_why(#[case] pointer: &str, #[case] value: Value, #[case] reason: &str) {
    let mut manifest = template();
    *manifest.pointer_mut(pointer).unwrap() = value;
    let told = read(&manifest).unwrap_err();
    assert!(told.contains(reason), "{told}");
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Manifest::parse(Path::new("/m"), &bytes);
    }
}
