//! Tests of `lacks`.

use crate::enforced::Enforced;
use crate::policy::{Access, Network};
use crate::{Ground, Layer, Level};
use rstest::rstest;

#[rstest]
#[case::complete(Level::Complete, &[])]
#[case::namespaces(Level::Namespaces, &["no Landlock behind the other walls"])]
#[case::landlock(Level::Landlock, &[
    "what Git obeys in a writable workspace can be changed, and is compared afterwards",
    "the host's processes can be seen, and on its end every descendant is hunted instead of gone at once",
    "no user namespace", "no unix sockets but pairs", "no loopback network", "no System V IPC", "the host's name shows",
])]
#[case::system_calls(Level::SystemCalls, &[
    "every file of this user can be read and changed",
    "no Landlock behind the other walls",
    "the host's processes can be seen, and on its end every descendant is hunted instead of gone at once",
    "signals reach every process of this user", "the memory of this user's processes can be reached",
    "no user namespace", "no unix sockets but pairs", "no loopback network", "no System V IPC", "the host's name shows",
])]
fn each_level_says_what_it_lacks(#[case] level: Level, #[case] lacks: &[&str]) {
    let enforced = Enforced::least_on(Access::Boundary, &Network::None, Ground::no_more_than(level));
    assert_eq!((enforced.level, enforced.lacks()), (Some(level), lacks.to_vec()));
}

/// Report 3: what is not enforced is never passed over.
#[test]
fn report_3_no_filter_is_no_level() {
    let ground = Ground::without([Layer::SystemCalls]);
    assert_eq!(ground.level(&Network::None), None);
    let enforced = Enforced::least_on(Access::Boundary, &Network::None, ground);
    assert_eq!(enforced.level, None);
    assert!(enforced.lacks().contains(&"system calls are not filtered"));
}

#[test]
fn full_access_lacks_nothing_since_it_promises_nothing() {
    let enforced = Enforced::least(Access::Full, &Network::Host);
    assert_eq!((enforced.level, enforced.lacks()), (None, Vec::new()));
}
