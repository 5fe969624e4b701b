use super::*;
use crate::checks::suite::{Outside, tests::Laid};
use crate::testing::{World, clock};
use rstest::rstest;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn store(world: &World) -> TrustStore {
    TrustStore::new(world.path("home/.openagents/capability-trust.json"))
}

/// A world with an approved suite.
fn approved() -> World {
    let world = World::new();
    fs::create_dir_all(world.path("tree")).unwrap();
    world.write("judges/data/expected", "two");
    Laid {
        reads: vec!["judges/data".into()],
        ..Laid::in_directory("judges")
    }
    .write(&world);
    store(&world)
        .approve(&world.path("judges/judge.json"), clock().as_ref())
        .unwrap();
    world
}

/// What a store decides now of the suite as it is now.
fn decided(world: &World, store: &TrustStore) -> Result<Approval, String> {
    let mut laid = Laid::in_directory("judges");
    laid.reads.push("judges/data".into());
    let found = Found::at(&world.path("judges/judge.json"), clock().as_ref()).unwrap();
    let requirements = laid.pinning(world, &found);
    let outside = Outside {
        workspace: &world.path("tree"),
        store: &world.path("tasks"),
        git: None,
    };
    let suite = Suite::find(&requirements.plan.checks[0], outside, clock().as_ref()).unwrap();
    store
        .decide(&suite, &world.path("tree"))
        .map_err(|error| format!("{}: {}", error.code(), error.message()))
}

#[test]
fn an_approval_names_everything_by_its_digest() {
    let world = approved();
    let listed = store(&world).list().unwrap();
    let [record] = listed.as_slice() else {
        panic!("{listed:?}")
    };
    assert_eq!(decided(&world, &store(&world)).as_ref(), Ok(record));
    let data = world.path("judges/data").to_str().unwrap().to_owned();
    assert_eq!((&record.pinned[0].word, &record.pinned[0].path), (&data, &data));
    let text = fs::read_to_string(store(&world).path()).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        written,
        serde_json::json!({ "v": 1, "records": [{
            "slug": "judge",
            "manifest": Digest::of(&fs::read(world.path("judges/judge.json")).unwrap()).hex(),
            "adapter": world.path("judges/judge"),
            "adapter_digest": Digest::of(b"#!/bin/sh\n").hex(),
            "pinned": [{ "word": data, "path": data, "digest": record.pinned[0].digest.hex() }],
            "writable": [],
        }] })
    );
    let mode = store(&world).path().metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600);
}

#[test]
fn looking_changes_nothing_and_approving_again_replaces() {
    let world = approved();
    let before = fs::read(store(&world).path()).unwrap();
    let shown = store(&world)
        .examine(&world.path("judges/judge.json"), clock().as_ref())
        .unwrap();
    assert_eq!(shown.replaced, store(&world).list().unwrap());
    assert_eq!(fs::read(store(&world).path()).unwrap(), before);
    world.write("judges/judge", "#!/bin/sh\nexit 1\n");
    let again = store(&world)
        .approve(&world.path("judges/judge.json"), clock().as_ref())
        .unwrap();
    assert_eq!(store(&world).list().unwrap(), [again.approval]);
}

/// Read again at each decision, and closed in each doubt.
#[rstest]
#[case::removed(|w: &World| fs::remove_file(store(w).path()).unwrap(), "not_approved")]
#[case::revoked(|w: &World| drop(store(w).revoke(&Identifier::new("judge").unwrap()).unwrap()), "not_approved")]
#[case::readable_by_others(|w: &World| fs::set_permissions(store(w).path(), fs::Permissions::from_mode(0o644)).unwrap(), "capability_trust")]
#[case::a_link(|w: &World| { fs::rename(store(w).path(), w.path("elsewhere")).unwrap(); symlink(w.path("elsewhere"), store(w).path()).unwrap(); }, "io")]
#[case::a_second_name(|w: &World| fs::hard_link(store(w).path(), w.path("elsewhere")).unwrap(), "capability_trust")]
#[case::another_version(|w: &World| rewrite(w, "\"v\": 1", "\"v\": 2"), "capability_trust")]
#[case::a_field_more(|w: &World| rewrite(w, "\"v\": 1", "\"v\": 1, \"all\": true"), "capability_trust")]
#[case::no_json(|w: &World| rewrite(w, "{", ""), "capability_trust")]
#[case::another_slug(|w: &World| rewrite(w, "\"judge\"", "\"other\""), "not_approved")]
#[case::program(|w: &World| drop(w.write("judges/judge", "#!/bin/sh\nexit 0\n")), "not_approved")]
#[case::data(|w: &World| drop(w.write("judges/data/expected", "three")), "not_approved")]
#[case::manifest(|w: &World| { let path = w.path("judges/judge.json"); let text = fs::read_to_string(&path).unwrap(); fs::write(path, text + "\n").unwrap(); }, "not_approved")]
fn what_does_not_match_to_the_byte_is_not_approved(#[case] change: fn(&World), #[case] code: &str) {
    let world = approved();
    change(&world);
    let told = decided(&world, &store(&world)).unwrap_err();
    assert!(told.starts_with(&format!("{code}: ")), "{told}");
}

fn rewrite(world: &World, from: &str, to: &str) {
    let path = store(world).path().to_owned();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// A record that the approved thing could write is its own word for itself.
#[test]
fn a_store_in_the_workspace_or_the_manifests_repository_approves_nothing() {
    let world = approved();
    let inside = TrustStore::new(world.path("tree/trust.json"));
    fs::copy(store(&world).path(), inside.path()).unwrap();
    let told = decided(&world, &inside).unwrap_err();
    assert!(told.contains("it lies in the workspace"), "{told}");
    world.git("judges", &["init", "--quiet", "--template="]);
    let beside = TrustStore::new(world.path("judges/deep/trust.json"));
    let refused = beside
        .approve(&world.path("judges/judge.json"), clock().as_ref())
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("it lies in the repository of the manifest"),
        "{refused}"
    );
    assert!(!world.path("judges/deep").exists());
}

#[test]
fn a_worktree_elsewhere_is_the_same_repository() {
    let world = World::new();
    world.repository();
    world.worktree("tree", None);
    Laid::in_directory("tree").write(&world);
    let inside = TrustStore::new(world.path("repo/trust.json"));
    let refused = inside
        .approve(&world.path("tree/judge.json"), clock().as_ref())
        .unwrap_err();
    assert_eq!(refused.code(), "capability_trust");
}

#[test]
fn a_directory_that_others_can_write_holds_no_store() {
    let world = approved();
    fs::create_dir(world.path("open")).unwrap();
    fs::set_permissions(world.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let open = TrustStore::new(world.path("open/trust.json"));
    let refused = open
        .approve(&world.path("judges/judge.json"), clock().as_ref())
        .unwrap_err();
    assert_eq!(refused.code(), "capability_trust");
    assert!(!open.path().exists());
}

#[test]
fn many_approve_at_once_and_none_is_lost() {
    let world = World::new();
    let names: Vec<String> = (0..8).map(|number| format!("judge-{number}")).collect();
    for name in &names {
        Laid::in_directory(name).write(&world);
        let path = world.path(&format!("{name}/judge.json"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("\"judge\"", &format!("\"{name}\""))).unwrap();
    }
    let world = &world;
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(move || {
                let manifest = world.path(&format!("{name}/judge.json"));
                store(world).approve(&manifest, clock().as_ref()).unwrap();
            });
        }
    });
    let mut listed: Vec<String> = store(world)
        .list()
        .unwrap()
        .iter()
        .map(|record| record.slug.to_string())
        .collect();
    listed.sort();
    assert_eq!(listed, names);
}

#[rstest]
#[case::named(Some("/named/trust.json"), Some("/home/me"), Some("/named/trust.json"))]
#[case::home(None, Some("/home/me"), Some("/home/me/.openagents/capability-trust.json"))]
#[case::empty(Some(""), Some("/home/me"), Some("/home/me/.openagents/capability-trust.json"))]
#[case::relative(Some("trust.json"), Some("/home/me"), None)]
#[case::nowhere(None, None, None)]
fn the_environment_says_where_the_store_is(
    #[case] named: Option<&'static str>,
    #[case] home: Option<&'static str>,
    #[case] expected: Option<&str>,
) {
    let environment = move |name: &str| match name {
        "CODER_CAPABILITY_TRUST" => named.map(Into::into),
        "HOME" => home.map(Into::into),
        _ => None,
    };
    let found = TrustStore::of(&environment).ok();
    assert_eq!(found.as_ref().map(TrustStore::path), expected.map(Path::new));
}
