//! New objects on their way into the repository. Whoever reads the quarantine, with all that a command may have put
//! there, does so inside the boundary and hands out one pack; here that pack is indexed and checked as one from the
//! network would be, and everything reachable must be there before a single file is moved. Moves no reference.

use super::{LinkedPlace, Quarantine, read_fault, write_fault};
use crate::git::{CHECKOUT_DEADLINE, Call, Git, Session};
use crate::patch::quoted;
use crate::retain::sync_parent;
use crate::{CommitId, Error};
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The largest pack that is taken over, in bytes.
const PACK_BYTES: u64 = 1 << 30;
/// Four letters, a version, and the count of objects.
const HEADER_BYTES: u64 = 12;
/// The most private memory of a Git that reads what a command wrote, in bytes: a few bytes can unpack to any size.
const MEMORY_BYTES: u64 = 2 << 30;

/// Which objects are asked for: what is reachable from these and not from `base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Commits.
    pub tips: Vec<CommitId>,
    /// Where the run began.
    pub base: Option<CommitId>,
    /// Also what the index names.
    pub index: bool,
    /// Whether objects may be missing that a remote has promised.
    pub partial: bool,
}

impl Selection {
    /// The most bytes of a pack that are of use.
    pub const PACK_BYTES: u64 = PACK_BYTES;

    /// The arguments of the `git` that lists the objects, which reads [`revisions`](Self::revisions).
    pub fn list_arguments(&self) -> Vec<&'static str> {
        let mut arguments = vec!["rev-list", "--objects", "--no-object-names"];
        if self.index {
            arguments.extend(["--indexed-objects", "--single-worktree"]);
        }
        if self.partial {
            arguments.push("--exclude-promisor-objects");
        }
        arguments.push("--stdin");
        arguments
    }

    /// The arguments of the `git` that packs the listed objects, as far as they are in the quarantine.
    pub fn pack_arguments(&self) -> [&'static str; 4] {
        ["pack-objects", "--local", "--quiet", "--stdout"]
    }

    /// The standard input of the list.
    pub fn revisions(&self) -> Vec<u8> {
        let mut lines: Vec<String> = self.tips.iter().map(|tip| format!("{tip}\n")).collect();
        if let Some(base) = &self.base {
            // The tree too: without a new commit nothing else would leave out what the index has always named.
            lines.push(format!("^{base}\n^{base}^{{tree}}\n"));
        }
        lines.concat().into_bytes()
    }
}

/// What came of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exported {
    /// A pack of everything selected.
    Whole,
    /// None, since something selected is not there or not sound.
    Refused(String),
}

/// Writes the pack of a selection to a path that does not exist yet. An error means that this machine could not, and says
/// nothing of the objects.
pub(super) type Export<'a> = dyn FnMut(&Selection, &Path) -> Result<Exported, Error> + 'a;

/// The repository that takes objects over.
pub(super) struct Importer<'a> {
    pub(super) session: Session,
    pub(super) place: LinkedPlace,
    /// An object store of ours that borrows from the repository's.
    objects: PathBuf,
    index: PathBuf,
    export: &'a mut Export<'a>,
    tries: u32,
}

/// What was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Imported {
    pub(super) bytes: u64,
}

impl<'a> Importer<'a> {
    pub(super) fn new(quarantine: &Quarantine, git: &Git, export: &'a mut Export<'a>) -> Result<Self, Error> {
        let place = quarantine.place();
        let objects = quarantine.directory.join("import");
        // What an interrupted import left is checked again from the start.
        crate::remove::remove_tree(&objects)?;
        for path in [&objects, &objects.join("info"), &objects.join("pack")] {
            std::fs::create_dir(path).map_err(write_fault(path))?;
        }
        let alternates = objects.join("info/alternates");
        let line = [quoted(&place.common_directory.join("objects")), b"\n".to_vec()].concat();
        std::fs::write(&alternates, line).map_err(write_fault(&alternates))?;
        Ok(Self {
            session: git.session(&place.common_directory)?,
            place,
            objects,
            index: quarantine.directory.join("index"),
            export,
            tries: 0,
        })
    }

    /// Takes over one selection whole, or nothing of it and says why.
    pub(super) fn import(&mut self, selection: &Selection) -> Result<Result<Imported, String>, Error> {
        self.tries += 1;
        let pack = self.objects.join(format!("pack/pack-{}.pack", self.tries));
        if let Exported::Refused(reason) = (self.export)(selection, &pack)? {
            return Ok(Err(reason));
        }
        let bytes = pack.metadata().map_err(read_fault(&pack))?.len();
        let name = if holds_objects(&pack)? {
            match self.check(selection, &pack)? {
                Ok(name) => Some(name),
                Err(reason) => return Ok(Err(reason)),
            }
        } else {
            std::fs::remove_file(&pack).map_err(write_fault(&pack))?;
            None
        };
        if let Err(reason) = self.connected(selection)? {
            return Ok(Err(reason));
        }
        match name {
            None => Ok(Ok(Imported::default())),
            Some(name) => self.take(&pack, &name).map(|()| Ok(Imported { bytes })),
        }
    }

    /// Indexes a pack as one from a stranger. Returns the name Git gives it.
    fn check(&self, selection: &Selection, pack: &Path) -> Result<Result<String, String>, Error> {
        // Links are looked at by `connected` where some objects are elsewhere.
        let strict = if selection.partial {
            "--fsck-objects"
        } else {
            "--strict"
        };
        let bound = format!("--max-input-size={PACK_BYTES}");
        let index = pack.with_extension("idx");
        let call = self.session.call(["index-pack", strict, &bound, "-o"]);
        let call = call.argument(&index).argument(pack);
        Ok(judged(self.careful(call).output())?.map(|answer| {
            let name = answer.strip_suffix(b"\n").unwrap_or(&answer);
            coder_digest::display_bytes(name)
        }))
    }

    /// Whether everything selected is in the pack or in the repository.
    fn connected(&self, selection: &Selection) -> Result<Result<(), String>, Error> {
        let mut call = self.session.call(selection.list_arguments()).argument("--quiet");
        if selection.index {
            call = call.variable("GIT_INDEX_FILE", &self.index);
        }
        Ok(judged(self.careful(call.input(selection.revisions())).output())?.map(drop))
    }

    fn careful<'c>(&self, call: Call<'c>) -> Call<'c> {
        call.variable("GIT_DIR", &self.place.common_directory)
            .variable("GIT_OBJECT_DIRECTORY", &self.objects)
            .deadline(CHECKOUT_DEADLINE)
            .memory(MEMORY_BYTES)
    }

    /// Moves a checked pack into the repository, its index last: until that has its name Git sees none of it.
    fn take(&self, pack: &Path, name: &str) -> Result<(), Error> {
        let directory = self.place.common_directory.join("objects/pack");
        if let Err(error) = std::fs::create_dir(&directory)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(write_fault(&directory)(error));
        }
        for extension in ["pack", "rev", "idx"] {
            let from = pack.with_extension(extension);
            if extension != "rev" || from.exists() {
                place_file(&from, &directory.join(format!("pack-{name}.{extension}")))?;
            }
        }
        sync_parent(&directory.join("x")).map_err(write_fault(&directory))
    }
}

/// Whether the header of a pack counts any object. A pack of one small object is no longer than one of none in another
/// object format.
fn holds_objects(pack: &Path) -> Result<bool, Error> {
    let mut header = Vec::new();
    File::open(pack)
        .and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut header))
        .map_err(read_fault(pack))?;
    // What is no header at all is Git's to refuse.
    Ok(header.get(8..) != Some(&[0; 4]))
}

/// Copies a file to a name that nothing has. Something of that name is what was to be put there: it is a digest.
pub(super) fn place_file(from: &Path, to: &Path) -> Result<(), Error> {
    // The prefix by which `git gc` knows what an interrupted Git left.
    let name = to.file_name().unwrap_or_default().display();
    let temporary = to.with_file_name(format!("tmp_{name}_{}", std::process::id()));
    let copied = copy(from, &temporary).and_then(|()| {
        match rustix::fs::renameat_with(rustix::fs::CWD, &temporary, rustix::fs::CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => std::fs::remove_file(&temporary),
            // A file system without that kind of renaming.
            Err(Errno::INVAL | Errno::NOSYS) => match std::fs::hard_link(&temporary, to) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                Ok(()) | Err(_) => std::fs::remove_file(&temporary),
            },
            renamed => Ok(renamed?),
        }
    });
    copied.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        write_fault(to)(error)
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o444).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

/// Tells what Git found wrong apart from what kept Git from looking.
fn judged<T>(answer: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(error @ (Error::GitFailed { .. } | Error::GitAnswer { .. } | Error::GitDeadline { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error),
    }
}
