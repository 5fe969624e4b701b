//! The quarantine of one run's or one command's Git, between the boundary that shows it and the workspace that takes it
//! over. Here the two meet: the Git that reads what commands wrote runs inside a boundary of its own, offline, with the
//! quarantine read-only, and all that comes out of it is one pack.

use crate::git_link::Place;
use crate::{Error, world};
use coder_boundary::{Boundary, Enforced, GIT_OBJECTS, GitView, Ground, Policy, Private, Resources};
use coder_process::{Cancel, Command, Ending, Event, Flow, Outcome, Output, Stdin, Stream, Window};
use coder_workspace::{
    Error as WorkspaceError, Exported, FoundNote, Git, LinkedPlace, Note, Published, Quarantine, Reopened, Restored,
    Selection,
};
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of a quarantine in the place of its run's scratch.
pub(crate) const FOLDER: &str = "git";
/// What the names of the directories begin with in which commands without a run have theirs.
pub(crate) const COMMAND: &str = "microcoder-git-";
/// The directory in a quarantine where the real objects are shown to commands whose root is the host's own.
const REAL_OBJECTS: &str = "real-objects";
/// The longest list of objects, in bytes: some 1,600,000 ids.
const LIST_BYTES: usize = 64 * 1024 * 1024;
/// How long listing or packing may take.
const DEADLINE: Duration = Duration::from_secs(300);
/// The private memory of a Git that reads what commands wrote, in bytes.
const MEMORY_BYTES: u64 = 2 << 30;
/// How much of what Git says is kept.
const MESSAGE_BYTES: usize = 4096;

/// Variables of the Git that reads the quarantine, beside those of every command: it fetches nothing, and sees objects
/// as they are and not as replacements say.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Which root the commands have that are to find a quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// One assembled from what they are granted.
    Assembled,
    /// The host's own, to which no place can be added.
    Host,
}

/// A quarantine in use, removed when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    quarantine: Quarantine,
    /// Where commands find the repository's own objects.
    real_objects: PathBuf,
    /// Where it was made for a command without a run.
    own: Option<Own>,
    fate: Fate,
    /// What the Git that reads it can be held by.
    ground: Ground,
}

/// The directory that holds the quarantine of a command without a run.
#[derive(Debug)]
struct Own {
    parent: PathBuf,
    /// How it is found if this host is killed.
    note: Note,
}

/// What becomes of a quarantine in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It goes.
    Removed,
    /// It stays for the next sweep, or for a person.
    Kept,
}

impl Held {
    /// Makes one in `parent`, the place of a run's scratch. Nothing for what is no linked worktree, and nothing where the
    /// repository keeps branches in another way than as files.
    pub(crate) fn for_run(parent: &Path, place: &Place, root: Root, ground: Ground) -> Result<Option<Self>, Error> {
        let Place::Linked(linked) = place else { return Ok(None) };
        Ok(Self::create(&parent.join(FOLDER), linked, root, ground)?)
    }

    /// Makes one in a directory of its own in `parent`, for commands without a run. It is noted before it is made.
    pub(crate) fn for_command(parent: &Path, place: &Place, root: Root, ground: Ground) -> Result<Option<Self>, Error> {
        let Place::Linked(linked) = place else { return Ok(None) };
        let made = tempfile::Builder::new().prefix(COMMAND).make_in(parent, |directory| {
            let name = directory.file_name().unwrap_or_default();
            let note = Note::write(linked, name, directory).map_err(io::Error::other)?;
            DirBuilder::new().mode(0o700).create(directory).map(|()| note)
        });
        let made = made.map_err(Error::file("create a directory in", parent))?;
        let (note, path) = made.into_parts();
        let own = path.keep().map_err(|error| Error::file("keep", parent)(error.error))?;
        let made = Self::create(&own.join(FOLDER), linked, root, ground);
        if !matches!(made, Ok(Some(_))) {
            // What was made of it goes; the reason is the one to report.
            let _ = Quarantine::remove_at(&own);
        }
        Ok(made?.map(|mut held| {
            held.own = Some(Own { parent: own, note });
            held
        }))
    }

    /// Takes over what commands without a run left in the worktree at `place` when their hosts were killed. Best effort: what
    /// cannot be read now, or is still held by something, waits for the next time.
    pub(crate) fn recover_commands(place: &Place, ground: Ground) -> Vec<Published> {
        let Place::Linked(linked) = place else {
            return Vec::new();
        };
        Note::left(&linked.admin)
            .into_iter()
            .filter_map(|found| Self::recover_command(linked, found, ground))
            .collect()
    }

    fn recover_command(place: &LinkedPlace, found: FoundNote, ground: Ground) -> Option<Published> {
        let FoundNote { mut note, directory } = found;
        let own = directory.filter(|own| is_ours(own))?;
        let directory = own.join(FOLDER);
        match Quarantine::reopen(&directory) {
            Ok(Reopened::Left(quarantine)) if quarantine.place().admin == place.admin => {
                let Ok(git) = Git::find() else {
                    note.keep();
                    return None;
                };
                let mut held = Self::found(*quarantine);
                held.own = Some(Own { parent: own, note });
                held.ground = ground;
                let published = held.publish(&git);
                (published != Published::default()).then_some(published)
            }
            Ok(Reopened::Unfinished | Reopened::WorktreeGone) => {
                let _ = Quarantine::remove_at(&directory);
                let _ = std::fs::remove_dir(&own);
                None
            }
            Ok(Reopened::Left(_) | Reopened::InUse) | Err(_) => {
                note.keep();
                None
            }
        }
    }

    fn create(
        directory: &Path,
        place: &LinkedPlace,
        root: Root,
        ground: Ground,
    ) -> Result<Option<Self>, WorkspaceError> {
        let real_objects = match root {
            Root::Assembled => PathBuf::from(GIT_OBJECTS),
            Root::Host => directory.join(REAL_OBJECTS),
        };
        let mut made = Quarantine::create(directory, place, &real_objects);
        if let (Ok(Some(_)), Root::Host) = (&made, root)
            && let Err(error) = std::fs::create_dir(&real_objects)
        {
            made = Err(written(&real_objects)(error));
        }
        if !matches!(made, Ok(Some(_))) && directory.exists() {
            let _ = Quarantine::remove_at(directory);
        }
        Ok(made?.map(|quarantine| Self {
            quarantine,
            real_objects,
            own: None,
            fate: Fate::Removed,
            ground,
        }))
    }

    /// One that an ended host left.
    pub(crate) fn found(quarantine: Quarantine) -> Self {
        let shown = quarantine.directory().join(REAL_OBJECTS);
        Self {
            real_objects: match shown.is_dir() {
                true => shown,
                false => PathBuf::from(GIT_OBJECTS),
            },
            quarantine,
            own: None,
            fate: Fate::Removed,
            ground: Ground::default(),
        }
    }

    /// As the boundary shows it.
    pub(crate) fn view(&self) -> GitView {
        let place = self.quarantine.place();
        GitView::Linked {
            common: place.common_directory,
            admin: place.admin,
            quarantine: Some(coder_boundary::Quarantine {
                directory: self.quarantine.directory().to_owned(),
                real_objects: self.real_objects.clone(),
                branch_directory: place.branch_directory,
                borrowed: self.quarantine.borrowed().to_owned(),
            }),
        }
    }

    /// Whether commands changed nothing that could be taken over.
    pub(crate) fn is_unchanged(&self) -> Result<bool, Error> {
        let left = self.quarantine.left()?;
        Ok(left.is_nothing() && left.unfinished.is_empty())
    }

    /// Takes over what commands left. When this machine cannot do it now, the quarantine stays where it is, and the answer
    /// says so.
    pub(crate) fn publish(&mut self, git: &Git) -> Published {
        let mut exporter = None;
        let published = self.quarantine.publish(git, &mut |selection, to| {
            let exporter = match &mut exporter {
                Some(exporter) => exporter,
                none => none.insert(Exporter::prepare(&self.quarantine, self.view(), self.ground, git)?),
            };
            exporter.export(selection, to)
        });
        published.unwrap_or_else(|error| {
            self.fate = Fate::Kept;
            let reason = format!(
                "{}; what commands made stays in {}",
                Error::from(error).message(),
                self.quarantine.directory().display()
            );
            Published {
                restored: vec![Restored {
                    name: "repository".to_owned(),
                    reason,
                }],
                ..Published::default()
            }
        })
    }

    /// Begins anew from what the repository holds now, for the commands that follow.
    pub(crate) fn renew(&mut self) -> Result<(), Error> {
        Ok(self.quarantine.renew()?)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        match (self.fate, &mut self.own) {
            (Fate::Removed, own) => {
                // What cannot be removed is private to this user; the next sweep looks again.
                let removed = Quarantine::remove_at(self.quarantine.directory());
                if let Some(own) = own {
                    let _ = std::fs::remove_dir(&own.parent);
                    if removed.is_err() {
                        own.note.keep();
                    }
                }
            }
            (Fate::Kept, Some(own)) => own.note.keep(),
            (Fate::Kept, None) => {}
        }
    }
}

/// A real directory of this user's: where temporary files are, others can make one too.
pub(crate) fn is_ours(directory: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    directory
        .symlink_metadata()
        .is_ok_and(|status| status.is_dir() && status.uid() == user)
}

/// Reads a quarantine from inside a boundary.
struct Exporter {
    boundary: Boundary,
    demand: Enforced,
    program: PathBuf,
    git_directory: PathBuf,
}

impl Exporter {
    fn prepare(quarantine: &Quarantine, view: GitView, ground: Ground, git: &Git) -> Result<Self, WorkspaceError> {
        let place = quarantine.place();
        let policy = Policy {
            git: Some(view),
            directory: Some(place.common_directory),
            resources: Resources {
                memory_bytes: Some(MEMORY_BYTES),
                ..Resources::default()
            },
            ground,
            ..Policy::default()
        };
        let boundary = Boundary::prepare(policy, Private::Memory).map_err(failed)?;
        Ok(Self {
            demand: boundary.demand(),
            boundary,
            program: git.program().to_owned(),
            git_directory: place.admin,
        })
    }

    fn export(&self, selection: &Selection, to: &Path) -> Result<Exported, WorkspaceError> {
        let list = self
            .git(&selection.list_arguments())
            .stdin(Stdin::Bytes(selection.revisions()))
            .stdout_stop(Some(LIST_BYTES as u64));
        let outcome = self.run(list, LIST_BYTES, &mut |_| Flow::Continue)?;
        if let Some(reason) = refusal(&outcome) {
            return Ok(Exported::Refused(reason));
        }
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .open(to)
            .map_err(written(to))?;
        let mut fault = None;
        let pack = self
            .git(&selection.pack_arguments())
            .stdin(Stdin::Bytes(outcome.stdout.head))
            .stdout_stop(Some(Selection::PACK_BYTES));
        let outcome = self.run(pack, 0, &mut |bytes| match file.write_all(bytes) {
            Ok(()) => Flow::Continue,
            Err(error) => {
                fault = Some(error);
                Flow::Stop
            }
        })?;
        match (fault, refusal(&outcome)) {
            (Some(error), _) => Err(written(to)(error)),
            (None, Some(reason)) => Ok(Exported::Refused(reason)),
            (None, None) => Ok(Exported::Whole),
        }
    }

    fn git(&self, arguments: &[&str]) -> Command {
        self.boundary
            .command(&self.program)
            .argument("--no-pager")
            .arguments(arguments.iter().copied())
            .variables(ENVIRONMENT)
            .variable("GIT_DIR", &self.git_directory)
            .deadline(DEADLINE)
    }

    fn run(
        &self,
        command: Command,
        kept: usize,
        take: &mut dyn FnMut(&[u8]) -> Flow,
    ) -> Result<Outcome, WorkspaceError> {
        let window = |head| Output::Capture(Window { head, tail: 0 });
        let command = command.stdout(window(kept)).stderr(window(MESSAGE_BYTES));
        let outcome = coder_process::run(&command, &Cancel::never(), &mut |event| match event {
            Event::Output {
                stream: Stream::Stdout,
                bytes,
                ..
            } => take(bytes),
            Event::Holding { .. } | Event::Started { .. } | Event::Output { .. } => Flow::Continue,
        });
        let outcome = outcome.map_err(failed)?;
        let enforced = self.boundary.enforced(outcome.layers);
        enforced.satisfies(&self.demand).map_err(failed)?;
        Ok(outcome)
    }
}

/// Why Git gave nothing that could be used, if so.
fn refusal(outcome: &Outcome) -> Option<String> {
    let said = coder_digest::display_bytes(outcome.stderr.head.trim_ascii());
    match outcome.ending {
        Ending::Exited(0) => None,
        Ending::Exited(_) => Some(said),
        Ending::OutputLimit { .. } => Some("there are more new objects than are taken over".to_owned()),
        Ending::DeadlineExceeded { .. } => Some(format!("listing them took longer than {} s", DEADLINE.as_secs())),
        Ending::Signalled(_) | Ending::Unknown | Ending::Cancelled { .. } | Ending::Stopped { .. } => {
            Some(format!("the Git that read them was ended by a signal {said}"))
        }
    }
}

fn failed(error: impl std::error::Error) -> WorkspaceError {
    WorkspaceError::Export {
        reason: world::chain(&error),
    }
}

fn written(path: &Path) -> impl FnOnce(std::io::Error) -> WorkspaceError {
    let path = path.to_owned();
    move |source| WorkspaceError::Write { path, source }
}

#[cfg(test)]
#[path = "quarantine_tests.rs"]
mod tests;
