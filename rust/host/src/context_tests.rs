use super::*;
use crate::testing::World;
use rstest::rstest;

const PROMPT: &str = "Fix it.";

fn capture(world: &World) -> Result<Context, Error> {
    let task = world.submit(&world.store(), "task-1", PROMPT);
    Context::capture(&task, &world.path("repo"), Vec::new())
}

#[test]
fn the_prompt_and_the_instruction_file_with_their_digests() {
    let world = World::new();
    world.write("repo/AGENTS.md", "Be brief.\n\n");
    world.write("repo/inner/AGENTS.md", "Not this one.");
    let context = capture(&world).unwrap();
    let instructions = vec![Instruction {
        path: "AGENTS.md".to_owned(),
        scope: "the whole repository".to_owned(),
        digest: Digest::of(b"Be brief.\n\n"),
        text: "Be brief.\n\n".to_owned(),
    }];
    assert_eq!(context.instructions, instructions);
    assert_eq!((context.task_revision, context.prompt.as_str()), (1, PROMPT));
    assert_eq!(
        context.instruction_text(),
        "From AGENTS.md (for the whole repository):\nBe brief."
    );
    // The digest is of exactly what is written besides it.
    let mut written = serde_json::to_value(&context).unwrap();
    let digest = written.as_object_mut().unwrap().remove("digest").unwrap();
    assert_eq!(digest, json!(json::digest(&written).hex()));
}

#[test]
fn without_an_instruction_file_there_is_nothing_to_say() {
    let world = World::new();
    world.write("repo/file", "");
    let context = capture(&world).unwrap();
    assert_eq!(
        (context.instructions.len(), context.instruction_text()),
        (0, String::new())
    );
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
fn the_longest_instruction_file_is_taken_whole() {
    let world = World::new();
    world.write("repo/AGENTS.md", vec![b'x'; FILE_BYTES]);
    assert_eq!(capture(&world).unwrap().instructions[0].text.len(), FILE_BYTES);
}

#[test]
fn a_link_is_not_followed() {
    let world = World::new();
    world.write("secret", "secret");
    world.write("repo/file", "");
    std::os::unix::fs::symlink(world.path("secret"), world.path("repo/AGENTS.md")).unwrap();
    assert_eq!(capture(&world).unwrap_err().code(), "instructions");
}
