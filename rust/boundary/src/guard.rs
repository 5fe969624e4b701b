//! Full access with the source checkout held: the host's own root, in which the main working tree of a linked worktree,
//! its repository and its other worktrees are read-only. Whoever runs a command with full access gives it everything but
//! the checkout that the worktree was made to keep it out of (specification, "Effects, credentials, and cancellation").
//!
//! A mount that a command could take away again would hold nothing, so it keeps no right to mount, to look into a process
//! outside, to open files by handle, or to write to a disk directly. What another program of this user does at a
//! command's request is not held here.

mod checkouts;
mod mounts;
mod powers;

use crate::assembly::Act;
use crate::confinement::{NAMESPACES, drop_capabilities_but};
use crate::layers::{Layer, LayerSet};
use crate::paths::{self, Granted, Kind, Presence};
use crate::policy::{GitView, Mode, Policy};
use crate::step::Step;
use crate::system::{self, Called};
use crate::{Error, git};
use coder_process::{Confinement, Failure};
use mounts::Mounts;
use powers::Powers;
use std::ffi::CString;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The role of what is held, for errors.
const ROLE: &str = "source checkout";
/// Act numbers of the command's own process come after those of the list.
const GIVE_UP_PRIVILEGES: u32 = 1 << 16;
const GIVE_UP_CAPABILITIES: u32 = GIVE_UP_PRIVILEGES + 1;

/// A prepared guard.
#[derive(Debug)]
pub(crate) struct Guarded {
    namespaces: LayerSet,
    acts: Vec<Act>,
    powers: Powers,
    held: Vec<PathBuf>,
}

impl Guarded {
    /// Works out what is held; nothing where the policy names no linked worktree and grants its workspace for writing.
    ///
    /// # Errors
    /// What of the repository cannot be found or cannot be held: then there is no full access to it.
    pub(crate) fn prepare(policy: &Policy) -> Result<Option<Self>, Error> {
        let Some(workspace) = &policy.workspace else {
            return Ok(None);
        };
        let mode = workspace.mode;
        let workspace = paths::grant("workspace", &workspace.path, mode)?;
        let (sources, repository) = match (&policy.git, mode) {
            (Some(GitView::Linked { common, .. }), _) => {
                let common = paths::resolve("common Git directory", common)?;
                (checkouts::around(&common, &workspace.path)?, policy.git.as_ref())
            }
            (Some(GitView::Checkout { .. }) | None, Mode::Read) => (Vec::new(), None),
            (Some(GitView::Checkout { .. }) | None, Mode::Write) => return Ok(None),
        };
        let mounts = Mounts::read()?;
        let mut grants = Vec::new();
        let mut held = sources.clone();
        if mode == Mode::Read {
            held.push(workspace.path.clone());
        }
        for path in &held {
            grants.push(paths::grant(ROLE, path, Mode::Read)?);
            for alias in mounts.aliases(path) {
                grants.push(paths::grant(ROLE, &alias, Mode::Read)?);
            }
        }
        let mut covered = Vec::new();
        if let Some(view) = repository {
            let shown = git::shown(view, policy.workspace.as_ref(), std::slice::from_ref(&workspace))?;
            // Its parts are reached through their mounts alone, as where nothing else of the host is visible.
            if let GitView::Linked {
                quarantine: Some(quarantine),
                ..
            } = view
            {
                grants.push(paths::grant("quarantine", &quarantine.directory, Mode::Read)?);
            }
            grants.extend(shown.grants);
            covered = shown.covered;
        }
        grants.push(workspace);
        let powers = Powers::of_this_process()?;
        let namespaces = powers.namespaces();
        let mut acts = crate::boundary::id_maps(namespaces);
        acts.push(act(Step::Private, "keep mounts from the host"));
        for place in mounts.process_files() {
            acts.push(process_files(&place)?);
        }
        for granted in uncovered_first(paths::ordered(grants)) {
            acts.push(hold(&granted)?);
        }
        let empty = covered.into_iter().map(|path| blind(path, Kind::File));
        let disks = mounts::disks().into_iter().map(|path| blind(path, Kind::File));
        let kernel = powers.kernel_settings().map(|path| kernel_settings(Path::new(path)));
        for granted in empty.chain(disks).chain(kernel) {
            acts.push(hold(&granted)?);
        }
        Ok(Some(Self {
            namespaces,
            acts,
            powers,
            held,
        }))
    }

    /// The trees that are read-only.
    pub(crate) fn held(&self) -> &[PathBuf] {
        &self.held
    }

    /// What it does, in order.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.acts.iter().map(|act| &act.step)
    }

    /// The layers, if the kernel gives all of them.
    pub(crate) fn layers(&self) -> LayerSet {
        let own = [Layer::SourceGuard, Layer::NoNewPrivileges];
        let capabilities = self.powers.are_none().then_some(Layer::Capabilities);
        self.namespaces.iter().chain(own).chain(capabilities).collect()
    }
}

/// What another mount will cover is taken before it does: here, unlike in an assembled root, both are in one tree.
fn uncovered_first(grants: Vec<Granted>) -> Vec<Granted> {
    let places: Vec<PathBuf> = grants
        .iter()
        .filter(|granted| granted.source.is_some())
        .map(|granted| granted.path.clone())
        .collect();
    let is_covered = |granted: &Granted| {
        let source = granted.source.as_ref();
        source.is_some_and(|source| places.iter().any(|place| source.starts_with(place)))
    };
    let (first, later): (Vec<_>, Vec<_>) = grants.into_iter().partition(is_covered);
    first.into_iter().chain(later).collect()
}

fn act(step: Step, words: impl Into<String>) -> Act {
    Act {
        step,
        words: words.into(),
    }
}

fn text(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Nul { value: path.into() })
}

/// Processes of the host, through which its own mounts could be reached, do not exist in a fresh one.
fn process_files(at: &Path) -> Result<Act, Error> {
    let step = Step::Filesystem {
        kind: c"proc",
        at: text(at)?,
        flags: libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
        options: CString::default(),
    };
    Ok(act(step, format!("mount {}", at.display())))
}

fn hold(granted: &Granted) -> Result<Act, Error> {
    let mode = match granted.mode {
        // What the machine itself shows read-only stays so.
        Mode::Write if mounts::is_read_only(granted.source()) => Mode::Read,
        mode => mode,
    };
    let words = match mode {
        Mode::Read => format!("hold {}", granted.path.display()),
        Mode::Write => format!("allow {}", granted.path.display()),
    };
    let step = Step::Hold {
        source: text(granted.source())?,
        at: text(&granted.path)?,
        mode,
        presence: granted.presence,
    };
    Ok(act(step, words))
}

/// A file in whose place nothing can be read or written.
fn blind(path: PathBuf, kind: Kind) -> Granted {
    Granted {
        role: ROLE,
        path,
        source: Some(PathBuf::from("/dev/null")),
        kind,
        mode: Mode::Read,
        presence: Presence::Optional,
    }
}

fn kernel_settings(path: &Path) -> Granted {
    Granted {
        role: ROLE,
        path: path.to_owned(),
        source: None,
        kind: Kind::Directory,
        mode: Mode::Read,
        presence: Presence::Optional,
    }
}

impl Guarded {
    fn restricted(&self) -> Result<u64, Failure> {
        let failed = |act| move |errno| Failure { act, errno };
        let privileges: Called<()> = system::control(libc::PR_SET_NO_NEW_PRIVS, 1, 0);
        privileges.map_err(failed(GIVE_UP_PRIVILEGES))?;
        drop_capabilities_but(self.powers.kept()).map_err(failed(GIVE_UP_CAPABILITIES))?;
        let applied = LayerSet::EMPTY.with(Layer::NoNewPrivileges);
        Ok(match self.powers.are_none() {
            true => applied.with(Layer::Capabilities).bits(),
            false => applied.bits(),
        })
    }
}

// SAFETY: all three make system calls through `coder_process` on memory prepared in the host. They neither allocate nor
// free, take no lock, cannot panic, and write to no memory but their own stack.
unsafe impl Confinement for Guarded {
    fn namespaces(&self) -> u64 {
        let wanted = NAMESPACES.iter().filter(|(layer, _)| self.namespaces.contains(*layer));
        wanted.fold(0, |flags, (_, flag)| flags | u64::from(flag.unsigned_abs()))
    }

    fn kept_descriptors(&self) -> &[RawFd] {
        &[]
    }

    fn enter(&self) -> Result<u64, Failure> {
        for (act, number) in self.acts.iter().zip(0..) {
            act.step.perform().map_err(|errno| Failure { act: number, errno })?;
        }
        Ok(self.namespaces.with(Layer::SourceGuard).bits())
    }

    fn seclude(&self) -> Result<u64, Failure> {
        self.restricted()
    }

    fn restrict(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn act_name(&self, act: u32) -> String {
        match act {
            GIVE_UP_PRIVILEGES => "give up new privileges".to_owned(),
            GIVE_UP_CAPABILITIES => "give up the capabilities that could undo the guard".to_owned(),
            _ => match self.acts.get(act as usize) {
                Some(act) => format!("{} ({}: {})", act.words, Layer::SourceGuard, Layer::SourceGuard.fix()),
                None => format!("act {act} of the guard"),
            },
        }
    }
}
