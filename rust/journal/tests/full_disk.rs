//! A disk that is full (report 23): the refusal says so, nothing half done stays, looking goes on, and an ending still lands
//! because room was held back for it. Needs a file system of its own, which only root may mount.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_journal::{Error, Status, Store};
use common::{admitted, clock, effect, ended, id, result};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

struct SmallDisk(tempfile::TempDir);

#[expect(
    clippy::disallowed_methods,
    reason = "mount and umount are programs of the test's own set-up"
)]
fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    let status = Command::new(program).args(arguments).arg(path).status();
    status.is_ok_and(|status| status.success())
}

impl SmallDisk {
    fn new() -> Option<Self> {
        let home = tempfile::TempDir::new().unwrap();
        let mounted = rustix::process::geteuid().is_root()
            && run(
                "mount",
                &["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"],
                home.path(),
            );
        mounted.then_some(Self(home))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all the room that is left.
    fn fill(&self, name: &str) {
        let mut file = File::create(self.path().join(name)).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        while file.write_all(&[0]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &[], self.0.path());
    }
}

#[test]
fn a_full_disk_is_named_and_an_ending_still_lands() {
    let Some(disk) = SmallDisk::new() else {
        eprintln!("skipped a_full_disk_is_named_and_an_ending_still_lands: it must be root to mount a small tmpfs");
        return;
    };
    let path = disk.path().join("store");
    let store = Store::open(&path, clock()).unwrap();
    let submit = |number: usize| {
        let task = format!("t-{number}");
        common::submit(&format!("s-{number}"), &task, &format!("/trees/{task}"))
    };
    store.command(&submit(0)).unwrap();
    let task = id("t-0");
    let owner = store.own(&task, Duration::ZERO).unwrap();
    let shown = owner.record(&admitted(&store.show(&task).unwrap()), None).unwrap();
    owner.record(&effect(&shown), None).unwrap();

    // Until commands are refused, with a filler so that it is the disk and not the log's next checkpoint that decides.
    disk.fill("filler");
    let mut accepted = 1;
    let refused = loop {
        match store.command(&submit(accepted)) {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.code(), "disk_full", "{refused:?}");
    assert_eq!(store.list().unwrap().len(), accepted);
    assert_eq!(store.verify_all().unwrap(), []);

    // Refused, not doubtful: the same handle records the ending, in the room held back.
    let shown = owner.record(&ended(result()), None).unwrap();
    assert_eq!(shown.status, Status::Finished);
    drop((owner, store));

    for round in 0..2 {
        let store = Store::open(&path, clock()).unwrap();
        assert_eq!(store.list().unwrap().len(), accepted);
        assert_eq!(store.show(&task).unwrap().status, Status::Finished);
        assert_eq!(store.verify_all().unwrap(), []);
        let reader = Store::open_read_only(&path, clock()).unwrap();
        assert_eq!(reader.list().unwrap().len(), accepted);
        drop((store, reader));
        // Once more with every byte taken that closing gave back: the reserve opens it.
        if round == 0 {
            disk.fill("more");
        }
    }

    std::fs::remove_file(disk.path().join("filler")).unwrap();
    let store = Store::open(&path, clock()).unwrap();
    assert_eq!(store.command(&submit(accepted)).unwrap().revision, 1);
}

/// A refusal for want of space said that nothing was recorded, and the task was in the list: the submission had landed, and
/// the admission after it was what found no room. Page by page of what is left: what a call says is what is there, and its
/// words are of that one step.
#[test]
fn a_refusal_for_want_of_space_is_of_one_step() {
    let mut refused = Vec::new();
    for pages in 0..40_u64 {
        let Some(disk) = SmallDisk::new() else {
            eprintln!("skipped a_refusal_for_want_of_space_is_of_one_step: it must be root to mount a small tmpfs");
            return;
        };
        let path = disk.path().join("store");
        drop(Store::open(&path, clock()).unwrap());
        disk.fill("filler");
        let filler = File::options().write(true).open(disk.path().join("filler")).unwrap();
        let length = filler.metadata().unwrap().len();
        filler.set_len(length - pages * 4096).unwrap();
        let task = id("t");
        let (mut recorded, mut refusal) = (0, None);
        let mut note = |answer: Result<(), Error>| match answer {
            Ok(()) => recorded += 1,
            Err(error) => refusal = refusal.take().or(Some(error)),
        };
        if let Ok(store) = Store::open(&path, clock()) {
            note(store.command(&common::submit("s", "t", "/trees/t")).map(drop));
            if let Ok(owner) = store.own(&task, Duration::ZERO) {
                note(owner.record(&admitted(&store.show(&task).unwrap()), None).map(drop));
            }
        }
        filler.set_len(0).unwrap();
        let store = Store::open(&path, clock()).unwrap();
        let revision = store.show(&task).map_or(0, |task| task.revision);
        assert_eq!(
            (revision, store.verify_all().unwrap()),
            (recorded, Vec::new()),
            "{pages}"
        );
        if let Some(error) = refusal {
            assert_eq!(
                error.to_string(),
                format!(
                    "no space left on the disk of {}: this step was not recorded, what was recorded before it stands; free \
                     some space and repeat",
                    path.join("journal.db").display()
                )
            );
            refused.push(recorded);
        }
    }
    // Both happened: no room for the submission, and room for it but not for the admission.
    assert!(refused.contains(&0) && refused.contains(&1), "{refused:?}");
}
