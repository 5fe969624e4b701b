use super::super::front_matter::tests::DOCUMENT;
use super::*;
use crate::testing::World;
use rstest::rstest;

fn pin(text: &str) -> KnowledgeInput {
    KnowledgeInput {
        id: "git.reflog-recovery".to_owned(),
        version: 1,
        digest: Digest::of(text.as_bytes()),
        path: "context/recovery.md".to_owned(),
        // In another order than the document's: a set, and no list.
        sources: vec!["old-run-17".to_owned(), "reference".to_owned()],
    }
}

fn capture(world: &World, inventory: &[KnowledgeInput]) -> Result<Vec<Document>, Error> {
    world.write("repo/file", "");
    read(&Confined::open(&world.path("repo")).unwrap(), inventory)
}

#[track_caller]
fn refused(answer: Result<Vec<Document>, Error>) -> String {
    match answer.unwrap_err() {
        Error::Knowledge { id, path, reason } => {
            assert_eq!(
                (id.as_str(), path.as_str()),
                ("git.reflog-recovery", "context/recovery.md")
            );
            reason
        }
        error => panic!("{error}"),
    }
}

#[test]
fn exactly_what_is_pinned_is_given_whole() {
    let world = World::new();
    world.write("repo/context/recovery.md", DOCUMENT);
    let pin = pin(DOCUMENT);
    let expected = Document {
        id: pin.id.clone(),
        version: 1,
        digest: pin.digest,
        path: pin.path.clone(),
        sources: pin.sources.clone(),
        text: DOCUMENT.to_owned(),
    };
    assert_eq!(capture(&world, &[pin]).unwrap(), [expected]);
}

#[rstest]
#[case::id(|pin: &mut KnowledgeInput| pin.id = "git.other".to_owned(), "says its `id` is `git.reflog-recovery`")]
#[case::version(|pin: &mut KnowledgeInput| pin.version = 2, "says its `version` is 1, and 2 is pinned")]
#[case::digest(|pin: &mut KnowledgeInput| pin.digest = Digest::of(b""), "is pinned")]
#[case::fewer(|pin: &mut KnowledgeInput| pin.sources.truncate(1), "not exactly the `sources`")]
#[case::more(|pin: &mut KnowledgeInput| pin.sources.push("another".to_owned()), "not exactly the `sources`")]
fn a_pin_that_differs_in_anything_refuses(#[case] change: fn(&mut KnowledgeInput), #[case] said: &str) {
    let world = World::new();
    world.write("repo/context/recovery.md", DOCUMENT);
    let mut pin = pin(DOCUMENT);
    change(&mut pin);
    match capture(&world, &[pin]).unwrap_err() {
        Error::Knowledge { reason, .. } => assert!(reason.contains(said), "{reason}"),
        error => panic!("{error}"),
    }
}

#[test]
fn a_withdrawn_document_refuses() {
    let world = World::new();
    let text = DOCUMENT.replace("status: admitted", "status: withdrawn");
    world.write("repo/context/recovery.md", &text);
    assert_eq!(refused(capture(&world, &[pin(&text)])), "it is withdrawn");
}

#[test]
fn what_is_not_a_plain_file_of_text_inside_the_workspace_refuses() {
    let world = World::new();
    assert_eq!(refused(capture(&world, &[pin(DOCUMENT)])), "there is no such file");
    let outside = world.write("outside.md", DOCUMENT);
    std::fs::create_dir(world.path("repo/context")).unwrap();
    let inside = world.path("repo/context/recovery.md");
    std::os::unix::fs::symlink(&outside, &inside).unwrap();
    assert!(refused(capture(&world, &[pin(DOCUMENT)])).contains("symbolic link"));
    std::fs::remove_file(&inside).unwrap();
    std::fs::hard_link(&outside, &inside).unwrap();
    assert!(refused(capture(&world, &[pin(DOCUMENT)])).contains("2 names"));
    std::fs::remove_file(&inside).unwrap();
    let mut bytes = DOCUMENT.as_bytes().to_vec();
    bytes.push(0xff);
    world.write("repo/context/recovery.md", &bytes);
    let mut pin = pin(DOCUMENT);
    pin.digest = Digest::of(&bytes);
    assert_eq!(refused(capture(&world, &[pin])), "it is not UTF-8");
}

#[test]
fn each_document_and_all_of_them_are_bounded() {
    let world = World::new();
    let longest = format!("{DOCUMENT}{}", "x".repeat(DOCUMENT_BYTES - DOCUMENT.len()));
    world.write("repo/context/recovery.md", &longest);
    let pin = pin(&longest);
    assert_eq!(
        capture(&world, std::slice::from_ref(&pin)).unwrap()[0].text.len(),
        DOCUMENT_BYTES
    );
    // Ids are told apart by the requirements; here only the sum counts.
    let four = vec![pin.clone(); 4];
    assert_eq!(capture(&world, &four).unwrap().len() * DOCUMENT_BYTES, ALL_BYTES);
    assert!(refused(capture(&world, &vec![pin.clone(); 5])).contains("at most 262144 are read"));
    world.write("repo/context/recovery.md", format!("{longest}x"));
    assert!(refused(capture(&world, &[pin])).contains("65537 bytes"));
}
