use super::*;
use crate::testing::World;
use rstest::rstest;

fn id() -> TaskId {
    TaskId::new("task-1").unwrap()
}

fn place() -> (World, PathBuf) {
    let world = World::new();
    let store = world.store().path().to_owned();
    (world, store)
}

fn append(store: &Path, text: &str) {
    let mut file = open(&path(store, &id(), 1), OFlags::WRONLY | OFlags::APPEND).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_message_is_given_once_and_in_order() {
    let (_world, store) = place();
    let mut inbox = Inbox::create(&store, &id(), 1).unwrap();
    assert_eq!(inbox.take().unwrap(), Vec::<String>::new());
    append(&store, "\"first\"\n\"second\\nline\"\n");
    assert_eq!(inbox.take().unwrap(), ["first", "second\nline"]);
    append(&store, "\"third\"\n");
    assert_eq!(inbox.close().unwrap(), ["third"]);
    assert!(!path(&store, &id(), 1).exists());
}

#[test]
fn an_inbox_a_killed_owner_left_is_not_read_by_the_next_and_one_that_is_dropped_goes() {
    let (_world, store) = place();
    std::mem::forget(Inbox::create(&store, &id(), 1).unwrap());
    append(&store, "\"to the dead\"\n");
    let mut inbox = Inbox::create(&store, &id(), 1).unwrap();
    assert_eq!(inbox.take().unwrap(), Vec::<String>::new());
    drop(inbox);
    assert!(!path(&store, &id(), 1).exists());
}

#[rstest]
#[case::empty(" \n".to_owned())]
#[case::long("x".repeat(STEER_MESSAGE_BYTES + 1))]
#[case::control("bell \u{7}".to_owned())]
fn a_message_that_cannot_be_sent_is_refused(#[case] message: String) {
    let (world, _) = place();
    let refused = steer(&world.store(), &id(), &message).unwrap_err();
    assert_eq!(refused.code(), "invalid_message");
}

#[test]
fn a_task_that_does_not_run_takes_no_message() {
    let (world, _) = place();
    let store = world.store();
    world.submit(&store, "task-1", "Do it.");
    assert_eq!(steer(&store, &id(), "stop that").unwrap_err().code(), "not_running");
    let missing = TaskId::new("task-2").unwrap();
    assert_eq!(steer(&store, &missing, "stop that").unwrap_err().code(), "not_found");
}
