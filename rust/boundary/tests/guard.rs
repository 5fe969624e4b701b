//! Full access to a linked worktree: everything this user's, but for the checkout it was made from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Access, Boundary, Enforced, GitView, Mode, Network, Policy, Private, SourceCheckout, Workspace};
use common::{World, again_as_an_ordinary_user, host, is_root, linked, shell};
use std::fs;
use std::path::{Path, PathBuf};

/// A linked worktree with its quarantine, a second worktree, and a policy of full access.
struct Guarded {
    world: World,
    common: PathBuf,
    policy: Policy,
}

impl Guarded {
    fn new() -> Self {
        Self::under(&std::env::temp_dir())
    }

    fn under(parent: &Path) -> Self {
        let world = World::under(parent);
        let (mut view, common) = linked(&world);
        let GitView::Linked {
            quarantine: Some(quarantine),
            ..
        } = &mut view
        else {
            panic!()
        };
        let shown = quarantine.directory.join("shown");
        fs::create_dir(&shown).unwrap();
        fs::write(
            quarantine.directory.join("objects/info/alternates"),
            format!("{}\n", shown.display()),
        )
        .unwrap();
        quarantine.real_objects = shown;
        let other = world.base.path().join("other");
        host(
            common.parent().unwrap(),
            "git",
            &["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()],
        );
        let environment = common::identity()
            .into_iter()
            .chain([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
        let policy = Policy {
            access: Access::Full,
            network: Network::Host,
            git: Some(view),
            environment: environment.collect(),
            ..world.policy()
        };
        Self { world, common, policy }
    }

    fn boundary(&self) -> Boundary {
        Boundary::prepare(self.policy.clone(), Private::Memory).unwrap()
    }

    /// Runs a script in which `$MAIN`, `$GIT`, `$OTHER` and `$OUTSIDE` are set.
    fn run(&self, script: &str) -> common::Seen {
        shell(&self.boundary(), &self.script(script))
    }

    fn script(&self, script: &str) -> String {
        let base = self.world.base.path().display();
        let variables = format!(
            "MAIN={base}/outside/repository GIT={base}/outside/repository/.git OTHER={base}/other OUTSIDE={base}/outside\n"
        );
        variables + script
    }
}

const PYTHON_MOUNT: &str = "python3 - <<E
import ctypes,sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(1 if libc.umount2(b'$MAIN', 2) < 0 else 0)
E";

const PYTHON_REMOUNT: &str = "python3 - <<E
import ctypes,sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(1 if libc.mount(None, b'$MAIN', None, 32|4096, None) < 0 else 0)
E";

/// Each would change what is held, or learn how; by name, all in one world.
const ATTEMPTS: [(&str, &str); 30] = [
    ("main file", "echo evil >$MAIN/file"),
    ("new main file", "echo evil >$MAIN/new"),
    ("removal", "rm -f $MAIN/file"),
    ("configuration", "echo evil >>$GIT/config"),
    ("configuration by git", "git config core.hooksPath /tmp"),
    ("hook", "echo evil >$GIT/hooks/pre-commit"),
    ("head", "echo ref: refs/heads/other >$GIT/HEAD"),
    ("index", "echo evil >$GIT/index"),
    ("packed references", "echo evil >$GIT/packed-refs"),
    ("branch", "git branch evil"),
    (
        "branch moved",
        "git update-ref refs/heads/main HEAD~0 && git update-ref refs/heads/main $(git commit-tree -m x HEAD^{tree})",
    ),
    ("tag", "git tag evil"),
    ("stash", "git update-ref refs/stash HEAD"),
    ("other worktree", "echo evil >$OTHER/file"),
    ("other index", "echo evil >$GIT/worktrees/other/index"),
    ("git in the main checkout", "cd $MAIN && git checkout -q -b evil"),
    (
        "commit in the main checkout",
        "cd $MAIN && git commit -q --allow-empty -m evil",
    ),
    ("link of the worktree", "echo evil >.git"),
    ("unmounted", PYTHON_MOUNT),
    ("remounted", PYTHON_REMOUNT),
    (
        "unmounted in a namespace",
        "unshare --user --map-root-user --mount umount -l $MAIN && echo x >$MAIN/new",
    ),
    (
        "remounted in a namespace",
        "unshare --user --map-root-user --mount sh -c \"mount -o remount,bind,rw $MAIN && echo x >$MAIN/new\"",
    ),
    (
        "bound in a namespace",
        "mkdir -p at && unshare --user --map-root-user --mount sh -c \"mount --bind / at && echo x >at$MAIN/new\"",
    ),
    (
        "by a process of the host",
        "for p in /proc/[0-9]*; do echo evil >$p/root$MAIN/new && exit 0; done; exit 1",
    ),
    ("by the first process", "echo evil >/proc/1/root$MAIN/new"),
    ("renamed", "mv $MAIN $OUTSIDE/moved"),
    ("hard link", "ln $MAIN/file linked && echo evil >linked"),
    (
        "quarantine around its mounts",
        "echo evil >$OUTSIDE/../quarantine/objects/info/alternates",
    ),
    (
        "set user id",
        "test $(grep NoNewPrivs /proc/self/status | tr -d -c 0-9) = 0",
    ),
    ("memory of the warden", "head -c 1 /proc/1/mem"),
];

#[test]
fn the_source_stays_as_it_is() {
    let guarded = Guarded::new();
    let before = (
        listing(&guarded.world.outside),
        listing(&guarded.world.base.path().join("other")),
    );
    for (name, attempt) in ATTEMPTS {
        let seen = guarded.run(&format!("({attempt}) 2>&1"));
        assert_ne!(seen.code, 0, "{name} succeeded: {}", seen.stdout);
        let after = (
            listing(&guarded.world.outside),
            listing(&guarded.world.base.path().join("other")),
        );
        assert_eq!(after, before, "{name} changed something: {}", seen.stdout);
    }
}

/// What could not succeed without the guard either, or for root alone: ways around a mount, of which there is none then.
const AROUND_A_MOUNT: [&str; 7] = [
    "unmounted",
    "remounted",
    "unmounted in a namespace",
    "remounted in a namespace",
    "bound in a namespace",
    "by the first process",
    "memory of the warden",
];

/// The same without the guard, so that an attempt that can never succeed shows.
#[test]
fn each_attempt_succeeds_without_the_guard() {
    let guarded = Guarded::new();
    let base = guarded.world.base.path();
    let saved = tempfile::tempdir().unwrap();
    copy(base, saved.path());
    let open = Policy {
        git: None,
        ..guarded.policy.clone()
    };
    let boundary = Boundary::prepare(open, Private::Memory).unwrap();
    for (name, attempt) in ATTEMPTS.iter().filter(|(name, _)| !AROUND_A_MOUNT.contains(name)) {
        let seen = shell(&boundary, &guarded.script(&format!("({attempt}) 2>&1")));
        assert_eq!(seen.code, 0, "{name}: {}", seen.stdout);
        for entry in fs::read_dir(base).unwrap().map(Result::unwrap) {
            fs::remove_dir_all(entry.path()).unwrap();
        }
        copy(saved.path(), base);
    }
}

/// Directories and plain files; a world holds nothing else.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&place).unwrap();
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), &place).unwrap();
        }
    }
}

/// Every path with its content, but for what is a run's own.
fn listing(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(&path).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => pending.push(entry.path()),
                false => found.push((entry.path(), fs::read(entry.path()).unwrap_or_default())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn everything_else_is_this_users() {
    let guarded = Guarded::new();
    let script = "echo outside >$OUTSIDE/written; echo here >new; cat $MAIN/file; git status --porcelain; cat $OUTSIDE/secret; \
                  printenv GIT_CEILING_DIRECTORIES";
    let printed = guarded.run(script).printed();
    let base = guarded.world.base.path().display();
    assert_eq!(printed, format!("one\n?? new\nsecret{base}\n"));
    assert_eq!(
        fs::read_to_string(guarded.world.outside.join("written")).unwrap(),
        "outside\n"
    );
}

#[test]
fn its_own_branch_can_be_committed_on_into_the_quarantine() {
    let guarded = Guarded::new();
    let before = listing(&guarded.common);
    let script = "echo two >>file; git commit -q -a -m second; git log --format=%s; git status --porcelain";
    assert_eq!(guarded.run(script).printed(), "second\nfirst\n");
    // The next command finds it.
    assert_eq!(guarded.run("git log -1 --format=%s").printed(), "second\n");
    assert_eq!(listing(&guarded.common), before);
}

#[test]
fn a_worktree_in_the_main_checkout_is_writable_and_its_surroundings_are_not() {
    let guarded = Guarded::new();
    let main = guarded.common.parent().unwrap();
    let inner = main.join("trees/inner");
    host(
        main,
        "git",
        &["worktree", "add", "--quiet", "--detach", inner.to_str().unwrap()],
    );
    let policy = Policy {
        workspace: Some(Workspace {
            path: inner.clone(),
            mode: Mode::Write,
        }),
        git: Some(GitView::Linked {
            common: guarded.common.clone(),
            admin: guarded.common.join("worktrees/inner"),
            quarantine: None,
        }),
        ..guarded.policy.clone()
    };
    let boundary = Boundary::prepare(policy, Private::Memory).unwrap();
    let printed = shell(
        &boundary,
        "echo x >new && cat new; echo evil >../evil || echo evil >../../evil || echo refused",
    )
    .printed();
    assert_eq!(printed, "x\nrefused\n");
}

#[test]
fn a_workspace_that_is_only_read_is_held_too() {
    let guarded = Guarded::new();
    let read = |git| Policy {
        workspace: Some(Workspace {
            path: guarded.world.workspace.clone(),
            mode: Mode::Read,
        }),
        git,
        ..guarded.policy.clone()
    };
    for git in [None, guarded.policy.git.clone()] {
        let boundary = Boundary::prepare(read(git), Private::Memory).unwrap();
        shell(&boundary, "echo x >new").failed("Read-only file system");
    }
}

#[test]
fn what_held_is_reported_and_can_be_demanded() {
    let guarded = Guarded::new();
    let boundary = guarded.boundary();
    let outcome = boundary.command("/bin/true").capture(0).unwrap();
    let enforced = boundary.enforced(outcome.layers);
    assert_eq!(&enforced, boundary.planned());
    assert_eq!(enforced.source_checkout, SourceCheckout::Guarded);
    let demand = Enforced::least(Access::Full, &Network::Host).with_source_guard();
    assert_eq!(enforced.satisfies(&demand), Ok(()));
    let bare = boundary.enforced(0);
    assert_eq!(bare.source_checkout, SourceCheckout::Unguarded);
    assert!(bare.satisfies(&demand).is_err());
    let base = guarded.world.base.path();
    let mut held = boundary.held().to_vec();
    held.sort();
    assert_eq!(
        held,
        [
            base.join("other"),
            base.join("outside/repository"),
            guarded.common.clone()
        ]
    );
}

#[test]
fn root_keeps_its_power_over_files_and_users_and_an_ordinary_user_has_none() {
    let guarded = Guarded::new();
    let script = "touch file2 && chown 12345:12345 file2 && setpriv --reuid 12345 --clear-groups id -u";
    let seen = guarded.run(script);
    match is_root() {
        true => assert_eq!(seen.printed(), "12345\n"),
        false => assert_ne!(seen.code, 0, "{}", seen.stdout),
    }
}

#[test]
fn disks_are_not_there_to_be_written() {
    if !is_root() {
        println!("skipped: only root could write to a disk");
        return;
    }
    let guarded = Guarded::new();
    let script = "for d in $(find /dev -xdev -type b); do test -b $d && echo $d; done; true";
    assert_eq!(guarded.run(script).printed(), "");
}

#[test]
fn all_of_it_as_an_ordinary_user() {
    again_as_an_ordinary_user("all_of_it_as_an_ordinary_user");
}
