use super::*;
use crate::testing::{World, clock};
use coder_workspace::Observer;
use rstest::rstest;

fn find(world: &World, captured: &[Instruction]) -> Uncaptured {
    let snapshot = Observer::new(clock().as_ref()).observe(&world.path("repo")).unwrap();
    Uncaptured::find(&snapshot, captured)
}

#[test]
fn trap_p_other_instruction_files_are_listed_and_not_read() {
    let world = World::new();
    for name in [
        "AGENTS.md",
        "CLAUDE.md",
        "inner/AGENTS.md",
        "inner/deep/gemini.md",
        ".github/copilot-instructions.md",
        ".cursor/rules/style.mdc",
        "docs/readme.md",
        "node_modules/x/AGENTS.md",
        "lib/copilot-instructions.md",
    ] {
        world.write(&format!("repo/{name}"), "");
    }
    std::os::unix::fs::symlink("/nonexistent", world.path("repo/.cursorrules")).unwrap();
    let captured = [Instruction {
        path: "AGENTS.md".to_owned(),
        scope: ".".to_owned(),
        digest: coder_digest::Digest::of(b""),
        text: String::new(),
    }];
    let found = find(&world, &captured);
    let expected = Uncaptured {
        paths: [
            ".cursor/rules/style.mdc",
            ".cursorrules",
            ".github/copilot-instructions.md",
            "CLAUDE.md",
            "inner/AGENTS.md",
            "inner/deep/gemini.md",
        ]
        .map(str::to_owned)
        .into(),
        more: 0,
    };
    assert_eq!(found, expected);
    assert_eq!(
        found.note(),
        " 6 instruction files are not captured: only AGENTS.md on the way to a target is."
    );
}

#[test]
fn a_long_list_is_cut_and_counted() {
    let world = World::new();
    for number in 0..LISTED + 3 {
        world.write(&format!("repo/{number:03}/CLAUDE.md"), "");
    }
    let found = find(&world, &[]);
    assert_eq!((found.paths.len(), found.more), (LISTED, 3));
    assert!(found.note().starts_with(" 67 instruction files"), "{}", found.note());
}

#[rstest]
#[case(0, "")]
#[case(
    1,
    " One instruction file is not captured: only AGENTS.md on the way to a target is."
)]
fn few_are_said_as_few(#[case] files: usize, #[case] note: &str) {
    let world = World::new();
    world.write("repo/file", "");
    (0..files).for_each(|_| {
        world.write("repo/CLAUDE.md", "");
    });
    let found = find(&world, &[]);
    assert_eq!((found.note().as_str(), found.is_empty()), (note, files == 0));
}
