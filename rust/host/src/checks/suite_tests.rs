use super::*;
use crate::requirements::{CANDIDATE, Requirements};
use crate::testing::{World, clock};
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A suite whose files are where the fields say.
pub(crate) struct Laid {
    pub(crate) manifest: String,
    pub(crate) program: String,
    pub(crate) reads: Vec<String>,
}

impl Laid {
    pub(crate) fn in_directory(directory: &str) -> Self {
        Self {
            manifest: format!("{directory}/judge.json"),
            program: format!("{directory}/judge"),
            reads: Vec::new(),
        }
    }

    /// Writes manifest and program, and returns the requirements that pin them.
    pub(crate) fn write(&self, world: &World) -> Requirements {
        let program = world.write(&self.program, "#!/bin/sh\n");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let reads: Vec<_> = self.reads.iter().map(|name| world.path(name)).collect();
        let manifest = json!({
            "v": 1, "slug": "judge", "transport": "subprocess",
            "detect": { "binary": program, "version": [program] },
            "needs": { "reads": reads },
        })
        .to_string();
        world.write(&self.manifest, &manifest);
        self.requirements(world, Digest::of(manifest.as_bytes()), Digest::of(b"#!/bin/sh\n"))
    }

    /// Requirements that pin the suite as it was found.
    pub(crate) fn pinning(&self, world: &World, found: &Found) -> Requirements {
        self.requirements(world, found.manifest_file.digest(), found.program.digest())
    }

    fn requirements(&self, world: &World, manifest: Digest, program: Digest) -> Requirements {
        let mut written: Value = crate::requirements::tests::template();
        written["requirements"] = json!([{ "id": "r", "statement": "It works.", "checks": ["unit"] }]);
        written["check_lineage"] = json!([{ "check": "unit", "sources": ["manual"] }]);
        written["knowledge"] = json!([]);
        written["plan"]["checks"] = json!([{
            "id": "unit",
            "manifest": world.path(&self.manifest),
            "manifest_digest": manifest,
            "arguments": [CANDIDATE],
            "seconds": 1,
            "output_bytes": 1,
            "acceptance": { "kind": "suite", "suite_digest": program, "input_digest": CANDIDATE },
        }]);
        Requirements::parse(&written).unwrap()
    }
}

fn frozen(world: &World, requirements: &Requirements) -> Result<Vec<ProtectedSuite>, String> {
    for name in ["tree", "store", "repo/.git"] {
        std::fs::create_dir_all(world.path(name)).unwrap();
    }
    let outside = Outside {
        workspace: &world.path("tree"),
        store: &world.path("store"),
        git: Some(&world.path("repo/.git")),
    };
    frozen_suites(requirements, outside, clock().as_ref()).map_err(|error| {
        assert_eq!(error.code(), "protected_suite");
        error.to_string()
    })
}

#[test]
fn a_suite_is_frozen_by_everything_that_identifies_it() {
    let world = World::new();
    let laid = Laid::in_directory("judges");
    let requirements = laid.write(&world);
    let check = &requirements.plan.checks[0];
    let expected = ProtectedSuite {
        check: check.id.clone(),
        manifest: world.path("judges/judge.json").to_str().unwrap().to_owned(),
        manifest_digest: check.manifest_digest,
        program: world.path("judges/judge").to_str().unwrap().to_owned(),
        program_digest: check.suite_digest,
    };
    assert_eq!(frozen(&world, &requirements), Ok(vec![expected]));
}

/// Where the run could write, a candidate could write its own judge.
#[rstest]
#[case::program_in_workspace("judges/judge.json", "tree/judge", None, "is not outside the workspace")]
#[case::manifest_in_workspace("tree/judge.json", "judges/judge", None, "is not outside the workspace")]
#[case::data_in_workspace(
    "judges/judge.json",
    "judges/judge",
    Some("tree/data"),
    "is not outside the workspace"
)]
#[case::data_around_workspace("judges/judge.json", "judges/judge", Some("."), "is not outside the workspace")]
#[case::program_in_store("judges/judge.json", "store/judge", None, "is not outside the task store")]
#[case::program_in_git(
    "judges/judge.json",
    "repo/.git/objects/judge",
    None,
    "is not outside the repository's Git directory"
)]
fn a_suite_that_a_run_could_write_is_refused(
    #[case] manifest: &str,
    #[case] program: &str,
    #[case] read: Option<&str>,
    #[case] reason: &str,
) {
    let world = World::new();
    world.write("tree/data/expected", "");
    let mut laid = Laid {
        manifest: manifest.into(),
        program: program.into(),
        reads: Vec::new(),
    };
    laid.reads.extend(read.filter(|read| *read != ".").map(str::to_owned));
    let requirements = match read {
        Some(".") => around(&world, &laid),
        Some(_) | None => laid.write(&world),
    };
    let told = frozen(&world, &requirements).unwrap_err();
    assert!(told.contains(reason), "{told}");
}

/// The same with a directory that holds everything.
fn around(world: &World, laid: &Laid) -> Requirements {
    let top = world.path("x");
    let program = world.write(&laid.program, "#!/bin/sh\n");
    let manifest = json!({
        "v": 1, "slug": "judge", "transport": "subprocess",
        "detect": { "binary": program, "version": [program] },
        "needs": { "reads": [top.parent().unwrap()] },
    });
    world.write(&laid.manifest, manifest.to_string());
    let digest = Digest::of(manifest.to_string().as_bytes());
    laid.requirements(world, digest, Digest::of(b"#!/bin/sh\n"))
}

#[test]
fn a_program_behind_a_link_is_refused_since_the_link_can_be_turned() {
    let world = World::new();
    let laid = Laid::in_directory("judges");
    laid.write(&world);
    std::fs::rename(world.path("judges/judge"), world.path("judges/real")).unwrap();
    symlink("real", world.path("judges/judge")).unwrap();
    let told = Found::at(&world.path("judges/judge.json"), clock().as_ref()).unwrap_err();
    assert_eq!(told.code(), "capability_manifest");
    assert!(told.to_string().ends_with("judges/real: write that path"), "{told}");
}

#[rstest]
#[case::program("judges/judge", "its program")]
#[case::manifest("judges/judge.json", "its manifest")]
fn another_file_than_the_one_pinned_is_refused(#[case] name: &str, #[case] which: &str) {
    let world = World::new();
    let requirements = Laid::in_directory("judges").write(&world);
    let changed = std::fs::read_to_string(world.path(name)).unwrap() + "\n";
    world.write(name, changed);
    let told = frozen(&world, &requirements).unwrap_err();
    assert!(
        told.contains(which) && told.ends_with("is not the one pinned"),
        "{told}"
    );
    std::fs::remove_file(world.path(name)).unwrap();
    assert!(frozen(&world, &requirements).is_err());
}
