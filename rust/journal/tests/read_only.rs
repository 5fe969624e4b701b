//! A store on media that nothing can be written to, or in a directory closed to us: it is read where that is right, and
//! otherwise the refusal says what to do. Needs a mount of its own, or another user, which only root may make.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_journal::{Liveness, Status, Store};
use common::{World, clock, id};
use std::error::Error as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Media(PathBuf);

#[expect(
    clippy::disallowed_methods,
    reason = "mount and umount are programs of the test's own set-up"
)]
fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    Command::new(program)
        .args(arguments)
        .arg(path)
        .status()
        .is_ok_and(|status| status.success())
}

impl Media {
    /// Shows `path` to itself as read-only.
    fn new(path: &Path) -> Option<Self> {
        let name = path.to_str().unwrap();
        let mounted = rustix::process::geteuid().is_root() && run("mount", &["--bind", name], path);
        if !mounted {
            return None;
        }
        let media = Self(path.to_owned());
        assert!(run("mount", &["-o", "remount,bind,ro"], path));
        Some(media)
    }
}

impl Drop for Media {
    fn drop(&mut self) {
        run("umount", &[], &self.0);
    }
}

fn opened(path: &Path) -> Result<Vec<Status>, coder_journal::Error> {
    let store = Store::open_read_only(path, clock())?;
    assert_eq!(store.verify_all()?, []);
    for summary in store.list()? {
        assert_eq!(store.liveness(&summary.task_id)?, Liveness::Free);
        assert!(!store.history(&summary.task_id)?.is_empty());
    }
    Ok(store.list()?.into_iter().map(|summary| summary.status).collect())
}

/// A store that was put away, such as one on a read-only mount, could not be opened: SQLite wants to make its log.
#[test]
fn a_store_that_was_put_away_is_read_from_read_only_media() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a %23?b");
    let store = Store::open(&path, clock()).unwrap();
    store.command(&common::submit("s", "t", "/trees/t")).unwrap();
    // Closing the last connection puts every record into the database file and removes the log.
    drop(store);
    assert!(!path.join("journal.db-wal").exists());
    let Some(_media) = Media::new(&path) else {
        eprintln!("skipped a_store_that_was_put_away_is_read_from_read_only_media: it must be root to mount");
        return;
    };
    assert_eq!(opened(&path).unwrap(), [Status::Queued]);
    let refused = Store::open(&path, clock()).unwrap_err();
    assert_eq!(refused.code(), "read_only");
    assert!(
        refused
            .to_string()
            .ends_with(" can only be looked at: nothing can be written there"),
        "{refused}"
    );
}

/// The log of a process that was killed still holds records; with its index they can be read, without it they cannot.
#[test]
fn a_store_with_records_in_its_log_is_read_whole_or_not_at_all() {
    let world = World::new();
    world.finished("t");
    let copy = world.home().join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::set_permissions(&copy, Permissions::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(world.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    assert!(copy.join("journal.db-wal").metadata().unwrap().len() > 0);
    let Some(media) = Media::new(&copy) else {
        eprintln!("skipped a_store_with_records_in_its_log_is_read_whole_or_not_at_all: it must be root to mount");
        return;
    };
    assert_eq!(opened(&copy).unwrap(), [Status::Finished]);
    drop(media);
    std::fs::remove_file(copy.join("journal.db-shm")).unwrap();
    let media = Media::new(&copy).unwrap();
    let error = opened(&copy).unwrap_err();
    let place = copy.canonicalize().unwrap();
    assert_eq!(
        (error.code(), error.to_string()),
        (
            "read_only",
            format!(
                "{0}/journal.db cannot be read where nothing can be written, because records still lie in \
                 {0}/journal.db-wal: copy the whole store to a writable place and look there",
                place.display()
            )
        )
    );
    drop(media);
    assert_eq!(opened(&copy).unwrap(), [Status::Finished]);
}

/// A rollback journal beside the database was met as "Error code 776", or would have been played back into it.
#[test]
fn a_rollback_journal_is_refused_by_name() {
    let world = World::new();
    world.finished("t");
    std::fs::write(world.path().join("journal.db-journal"), "x").unwrap();
    std::fs::set_permissions(world.path().join("journal.db-journal"), Permissions::from_mode(0o600)).unwrap();
    for opened in [
        Store::open(&world.path(), clock()),
        Store::open_read_only(&world.path(), clock()),
    ] {
        let error = opened.unwrap_err();
        assert_eq!(error.code(), "corrupt_store");
        assert!(
            error.to_string().contains("journal.db-journal lies beside it"),
            "{error}"
        );
    }
}

/// A store that may not be entered is not one that is absent.
#[test]
fn a_store_that_may_not_be_entered_says_so() {
    const NAME: &str = "a_store_that_may_not_be_entered_says_so";
    if rustix::process::geteuid().is_root() {
        // Root may enter anything; the test runs again as somebody else.
        let program = std::env::current_exe().unwrap();
        let arguments = [
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            program.to_str().unwrap(),
            NAME,
        ];
        let probe = [
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            program.to_str().unwrap(),
            "--list",
        ];
        if !run("setpriv", &probe, Path::new(NAME)) {
            eprintln!("skipped {NAME}: no other user can run the test");
            return;
        }
        assert!(run("setpriv", &arguments, Path::new("--exact")));
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store");
    let store = Store::open(&path, clock()).unwrap();
    store.command(&common::submit("s", "t", "/trees/t")).unwrap();
    assert_eq!(store.show(&id("t")).unwrap().status, Status::Queued);
    drop(store);
    for (mode, part) in [(0o000, "journal.db"), (0o600, "journal.db")] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = Store::open_read_only(&path, clock()).unwrap_err();
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        let cause = error.source().unwrap().to_string();
        assert_eq!(
            (error.code(), error.to_string(), cause.as_str()),
            (
                "io",
                format!(
                    "could not inspect {}",
                    path.canonicalize().unwrap().join(part).display()
                ),
                "Permission denied (os error 13)"
            )
        );
    }
    // Nor is one that may be entered but not written to.
    std::fs::set_permissions(&path, Permissions::from_mode(0o500)).unwrap();
    assert_eq!(opened(&path).unwrap(), [Status::Queued]);
    std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
}
