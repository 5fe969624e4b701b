//! Tests of `points`: the places it chooses. What is mounted there is tested whole, in the crate's `tests/`.

use super::*;
use crate::paths::Presence;
use crate::policy::Mode;
use rstest::rstest;

#[rstest]
#[case::nothing(&[], "/home/agent", "/tmp")]
#[case::inside(&["/tmp/x", "/home/agent/x", "/home/me"], "/home/agent", "/tmp")]
#[case::exactly(&["/tmp", "/home/agent"], "/run/agent/home", "/run/agent/tmp")]
#[case::around(&["/home"], "/run/agent/home", "/tmp")]
fn the_private_places_keep_out_of_granted_trees(#[case] paths: &[&str], #[case] home: &str, #[case] temporary: &str) {
    let grants: Vec<Granted> = paths
        .iter()
        .map(|path| Granted {
            role: "read",
            path: path.into(),
            source: None,
            kind: Kind::Directory,
            mode: Mode::Read,
            presence: Presence::Required,
        })
        .collect();
    let expected = Places {
        home: home.into(),
        temporary: temporary.into(),
    };
    assert_eq!(Places::beside(&grants), expected);
}
