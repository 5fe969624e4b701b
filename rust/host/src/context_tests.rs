use super::instructions::{ALL_BYTES, FILE_BYTES};
use super::*;
use crate::requirements::tests::template;
use crate::testing::World;
use rstest::rstest;

const PROMPT: &str = "Fix it.";

/// The requirements of the template with other targets and without documents.
fn requirements(targets: &[&str]) -> Requirements {
    let mut value = template();
    value["instruction_targets"] = json!(targets);
    value["knowledge"] = json!([]);
    Requirements::parse(&value).unwrap()
}

fn capture_for(world: &World, requirements: Option<&Requirements>) -> Result<Context, Error> {
    let task = world.submit(&world.store(), "task-1", PROMPT);
    let capture = Capture {
        task: &task,
        workspace: &world.path("repo"),
        requirements,
        suites: vec![json!({ "check": "unit" })],
    };
    capture.run()
}

fn capture(world: &World) -> Result<Context, Error> {
    capture_for(world, None)
}

fn paths(context: &Context) -> Vec<&str> {
    context.instructions.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn the_prompt_and_the_instruction_file_with_their_digests() {
    let world = World::new();
    world.write("repo/AGENTS.md", "Be brief.\n\n");
    world.write("repo/inner/AGENTS.md", "Not this one.");
    let context = capture(&world).unwrap();
    let instructions = vec![Instruction {
        path: "AGENTS.md".to_owned(),
        scope: ".".to_owned(),
        digest: Digest::of(b"Be brief.\n\n"),
        text: "Be brief.\n\n".to_owned(),
    }];
    assert_eq!(context.instructions, instructions);
    assert_eq!((context.task_revision, context.prompt.as_str()), (1, PROMPT));
    assert_eq!(context.text(), "From AGENTS.md (for the whole repository):\nBe brief.");
    assert_eq!((&context.lineage, context.knowledge.len()), (&None, 0));
    // The digest is of exactly what is written besides it.
    let mut written = serde_json::to_value(&context).unwrap();
    let digest = written.as_object_mut().unwrap().remove("digest").unwrap();
    assert_eq!(digest, json!(json::digest(&written).hex()));
    let fields: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "instructions",
            "knowledge",
            "lineage",
            "prompt",
            "schema",
            "suites",
            "task_revision"
        ]
    );
}

#[test]
fn every_directory_on_the_way_to_a_target_speaks_shallow_to_deep() {
    let world = World::new();
    for name in ["", "src/", "src/parser/", "src/parser/deep/", "src/other/", "tools/"] {
        world.write(&format!("repo/{name}AGENTS.md"), format!("of {name}"));
    }
    world.write("repo/src/other/file.rs", "");
    // A directory, a file, one that does not exist yet, and one named twice.
    let targets = ["src/parser", "src/other/file.rs", "tools/new/thing.rs", "src/parser"];
    let context = capture_for(&world, Some(&requirements(&targets))).unwrap();
    let expected = [
        "AGENTS.md",
        "src/AGENTS.md",
        "tools/AGENTS.md",
        "src/other/AGENTS.md",
        "src/parser/AGENTS.md",
    ];
    assert_eq!(paths(&context), expected);
    let scopes: Vec<&str> = context.instructions.iter().map(|file| file.scope.as_str()).collect();
    assert_eq!(scopes, [".", "src", "tools", "src/other", "src/parser"]);
    assert!(
        context
            .text()
            .contains("From src/AGENTS.md (for everything below src/):\nof src/"),
        "{}",
        context.text()
    );
}

#[test]
fn a_target_below_a_file_is_a_mistake_and_refuses() {
    let world = World::new();
    world.write("repo/file", "");
    let error = capture_for(&world, Some(&requirements(&["file/inner"]))).unwrap_err();
    assert_eq!(error.code(), "instructions");
    assert!(error.to_string().contains("file/AGENTS.md"), "{error}");
}

#[test]
fn a_linked_directory_on_the_way_refuses() {
    let world = World::new();
    world.write("outside/AGENTS.md", "secret");
    world.write("repo/file", "");
    std::os::unix::fs::symlink(world.path("outside"), world.path("repo/src")).unwrap();
    for target in ["src", "src/inner"] {
        let error = capture_for(&world, Some(&requirements(&[target]))).unwrap_err();
        assert_eq!(error.code(), "instructions", "{error}");
    }
}

#[test]
fn without_an_instruction_file_there_is_nothing_to_say() {
    let world = World::new();
    world.write("repo/file", "");
    let context = capture(&world).unwrap();
    assert_eq!((context.instructions.len(), context.text()), (0, String::new()));
}

#[rstest]
#[case::too_long(vec![b'x'; FILE_BYTES + 1], "65537 bytes")]
#[case::not_text(b"\xff\xfe".to_vec(), "not UTF-8")]
fn an_instruction_file_that_cannot_be_taken_refuses(#[case] content: Vec<u8>, #[case] said: &str) {
    let world = World::new();
    world.write("repo/AGENTS.md", content);
    let error = capture(&world).unwrap_err();
    assert_eq!(error.code(), "instructions");
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn the_longest_instruction_file_is_taken_whole_and_all_of_them_are_bounded() {
    let world = World::new();
    let directories = ["", "a/", "a/b/", "a/b/c/"];
    for name in directories {
        world.write(&format!("repo/{name}AGENTS.md"), vec![b'x'; FILE_BYTES]);
    }
    let targets = requirements(&["a/b/c/d"]);
    let context = capture_for(&world, Some(&targets)).unwrap();
    let bytes: usize = context.instructions.iter().map(|file| file.text.len()).sum();
    assert_eq!((context.instructions.len(), bytes), (4, ALL_BYTES));
    world.write("repo/a/b/c/d/AGENTS.md", "x");
    let error = Capture {
        task: &world
            .store()
            .show(&coder_digest::TaskId::new("task-1").unwrap())
            .unwrap(),
        workspace: &world.path("repo"),
        requirements: Some(&targets),
        suites: Vec::new(),
    }
    .run()
    .unwrap_err();
    assert!(error.to_string().contains("at most 262144 are read"), "{error}");
}

#[test]
fn a_link_is_not_followed() {
    let world = World::new();
    world.write("secret", "secret");
    world.write("repo/file", "");
    std::os::unix::fs::symlink(world.path("secret"), world.path("repo/AGENTS.md")).unwrap();
    assert_eq!(capture(&world).unwrap_err().code(), "instructions");
}

/// A frozen document with the sources it declares.
fn document(world: &World, sources: &[&str]) -> Requirements {
    let text = format!(
        "---\nid: parsers/tokens\nversion: 2\nkind: tool\ntitle: t\nsummary: s\napplies_when: w\nstatus: candidate\n\
         author: a\nprovenance:\n  written_from: {}\n---\nKeep the last token.\n",
        json!(sources)
    );
    world.write("repo/docs/tokens.md", &text);
    let mut value = template();
    value["instruction_targets"] = json!([]);
    value["knowledge"][0]["digest"] = json!(Digest::of(text.as_bytes()));
    value["knowledge"][0]["sources"] = json!(sources);
    Requirements::parse(&value).unwrap()
}

#[test]
fn documents_suites_and_lineage_are_part_of_the_context() {
    let world = World::new();
    let requirements = document(&world, &["manual"]);
    let context = capture_for(&world, Some(&requirements)).unwrap();
    let written = serde_json::to_value(&context).unwrap();
    let template = template();
    let lineage = json!({
        "task_sources": template["task_sources"],
        "source_exclusions": template["source_exclusions"],
        "check_lineage": template["check_lineage"],
    });
    assert_eq!(
        (&written["lineage"], &written["suites"]),
        (&lineage, &json!([{ "check": "unit" }]))
    );
    assert_eq!(context.knowledge[0].text, world.read("repo/docs/tokens.md"));
    let shown = "Document parsers/tokens, version 2 (docs/tokens.md):\n---\nid: parsers/tokens";
    assert!(context.text().starts_with(shown), "{}", context.text());
    // Each of them is part of what the digest names.
    let mut other = written.clone();
    other.as_object_mut().unwrap().remove("digest");
    for name in ["knowledge", "suites", "lineage", "prompt"] {
        let mut changed = other.clone();
        changed[name] = Value::Null;
        assert_ne!(json::digest(&changed), context.digest, "{name}");
    }
}

#[rstest]
#[case::the_task("task-1")]
#[case::a_run_of_it("task-1-1790000000")]
fn what_comes_from_the_task_itself_is_no_independent_source(#[case] source: &str) {
    let world = World::new();
    let requirements = document(&world, &["manual", source]);
    let error = capture_for(&world, Some(&requirements)).unwrap_err();
    assert_eq!(error.code(), "lineage");
    assert!(error.to_string().contains(source), "{error}");
}
