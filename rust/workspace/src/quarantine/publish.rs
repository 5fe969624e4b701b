//! Taking over what commands left in a quarantine: first the objects, then the branches and HEAD, then the index. Each is
//! taken only if all it names is there, and only if the original is still what it was; otherwise it stays as it is, and
//! the answer says why. Can be repeated after an interruption at any point.

use super::import::{Export, Exported, Importer, Selection, place_file};
use super::left::{HeadLeft, IndexLeft, Left, digest_of, shared};
use super::{Quarantine, first_line, own_head, write_fault};
use crate::git::{Answer, CHECKOUT_DEADLINE, Git};
use crate::identity::partial;
use crate::retain::sync_parent;
use crate::{BranchName, CommitId, Error};
use coder_digest::display_bytes;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Beneath it lie the branches of runs, each run's in a folder of its own.
const RUNS: &str = "refs/heads/microcoder/";
/// The reason in every log of a reference.
const REASON: &str = "microcoder: taken over from a command";

/// What of a quarantine has reached the repository, and what has not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Published {
    /// The size of the packs of new objects, in bytes.
    pub pack_bytes: u64,
    /// References that were moved.
    pub moved: Vec<Moved>,
    /// Whether the index was taken over.
    pub index: bool,
    /// What stays as it was before.
    pub restored: Vec<Restored>,
    /// Operations that were begun and not finished, by the names Git gives them. None of them is carried over.
    pub unfinished: Vec<&'static str>,
}

/// A reference that was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its full name, or `HEAD`.
    pub name: String,
    /// Where it is now: a commit, or for HEAD a branch.
    pub to: String,
}

/// Something that stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// A reference, or `index`.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What can be taken over on its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    Branch(BranchName, CommitId),
    Head(CommitId),
    Index,
}

impl Root {
    fn name(&self) -> String {
        match self {
            Self::Branch(name, _) => name.reference(),
            Self::Head(_) => "HEAD".to_owned(),
            Self::Index => "index".to_owned(),
        }
    }
}

impl Quarantine {
    /// Takes over what commands left. `export` reads the quarantine where nothing it holds can do harm and writes the pack
    /// of a selection. When nothing was changed, nothing is asked of Git.
    ///
    /// # Errors
    /// What keeps this machine from doing it now: the repository is then whole, the quarantine as it was, and the call can
    /// be repeated. What is wrong with the objects is no error; it is in the answer.
    pub fn publish(
        &self,
        git: &Git,
        export: &mut dyn FnMut(&Selection, &Path) -> Result<Exported, Error>,
    ) -> Result<Published, Error> {
        let left = self.left()?;
        let mut published = Published {
            unfinished: left.unfinished.clone(),
            ..Published::default()
        };
        if left.is_nothing() {
            return Ok(published);
        }
        let mut export = export;
        let export: &mut Export<'_> = &mut export;
        let mut publishing = Publishing {
            quarantine: self,
            importer: Importer::new(self, git, export)?,
            published: &mut published,
        };
        publishing.all(&left)?;
        Ok(published)
    }
}

/// Whose a lock on the index is.
enum Lock {
    Ours,
    Theirs,
}

struct Publishing<'a> {
    quarantine: &'a Quarantine,
    importer: Importer<'a>,
    published: &'a mut Published,
}

impl Publishing<'_> {
    fn all(&mut self, left: &Left) -> Result<(), Error> {
        let sound = self.objects(left)?;
        let mut moved = false;
        for root in &sound {
            if let Root::Branch(name, commit) = root {
                moved |= self.branch(name, commit)?;
            }
        }
        moved |= self.head(&left.head, &sound)?;
        match &left.index {
            IndexLeft::Same => {}
            IndexLeft::Changed(copy) if sound.contains(&Root::Index) => return self.index(copy),
            // Why is told already.
            IndexLeft::Changed(_) => {}
            IndexLeft::Unusable(reason) => self.restored("index", reason),
        }
        if moved && left.index != IndexLeft::Same {
            return self.index_of_head();
        }
        Ok(())
    }

    /// Imports what the roots need: all together if that can be, else each alone. Returns the sound ones.
    fn objects(&mut self, left: &Left) -> Result<BTreeSet<Root>, Error> {
        let branches = left.references.iter();
        let mut roots: Vec<Root> = branches
            .map(|(name, commit)| Root::Branch(name.clone(), commit.clone()))
            .collect();
        if let HeadLeft::Detached(commit) = &left.head {
            roots.push(Root::Head(commit.clone()));
        }
        if let IndexLeft::Changed(_) = &left.index {
            roots.push(Root::Index);
        }
        if roots.is_empty() {
            return Ok(BTreeSet::new());
        }
        let together = self.import(&roots)?;
        if together.is_ok() {
            return Ok(roots.into_iter().collect());
        }
        let alone = roots.len() == 1;
        let mut sound = BTreeSet::new();
        for root in roots {
            let imported = match &together {
                Err(reason) if alone => Err(reason.clone()),
                Ok(()) | Err(_) => self.import(std::slice::from_ref(&root))?,
            };
            match imported {
                Ok(()) => {
                    sound.insert(root);
                }
                Err(reason) => self.restored(root.name(), &reason),
            }
        }
        Ok(sound)
    }

    fn import(&mut self, roots: &[Root]) -> Result<Result<(), String>, Error> {
        let commit = |root: &Root| match root {
            Root::Branch(_, commit) | Root::Head(commit) => Some(commit.clone()),
            Root::Index => None,
        };
        let selection = Selection {
            tips: roots.iter().filter_map(commit).collect(),
            base: self.quarantine.record.base.clone(),
            index: roots.contains(&Root::Index),
            partial: partial(&self.importer.session).is_some(),
        };
        let imported = self.importer.import(&selection)?;
        Ok(imported.map(|imported| self.published.pack_bytes += imported.bytes))
    }

    /// Moves a branch of the run's own directory.
    fn branch(&mut self, name: &BranchName, commit: &CommitId) -> Result<bool, Error> {
        let reference = name.reference();
        let before = self.quarantine.record.references.get(name);
        // All zeros: it must not exist.
        let nothing = "0".repeat(commit.as_str().len());
        let before = before.map_or(nothing.as_str(), CommitId::as_str);
        let now = self.ask(&["rev-parse", "--verify", "--quiet", &reference])?;
        if now.output.trim_ascii_end() == commit.as_str().as_bytes() {
            return Ok(true);
        }
        let answer = self.ask(&["update-ref", "-m", REASON, &reference, commit.as_str(), before])?;
        Ok(self.told(reference, commit.to_string(), &answer))
    }

    fn head(&mut self, head: &HeadLeft, sound: &BTreeSet<Root>) -> Result<bool, Error> {
        let wanted = match head {
            HeadLeft::Same => return Ok(false),
            HeadLeft::Unusable => {
                self.restored("HEAD", "Git would not understand it");
                return Ok(false);
            }
            HeadLeft::Branch(name) => format!("ref: {name}"),
            HeadLeft::Detached(commit) => commit.to_string(),
        };
        let now = first_line(&self.importer.place.admin.join("HEAD"))?;
        if now == wanted {
            return Ok(true);
        }
        if now != self.quarantine.record.head {
            self.restored("HEAD", "it was moved by somebody else meanwhile");
            return Ok(false);
        }
        let (answer, to) = match head {
            HeadLeft::Branch(name) => {
                // One that could not be taken over would leave HEAD on a branch without a commit.
                if self.ask(&["show-ref", "--verify", "--quiet", name])?.status != 0 {
                    self.restored("HEAD", &format!("there is no branch {name}"));
                    return Ok(false);
                }
                if let Some(whose) = self.taken(name)? {
                    self.restored("HEAD", &whose);
                    return Ok(false);
                }
                (self.ask(&["symbolic-ref", "-m", REASON, "HEAD", name])?, name.clone())
            }
            HeadLeft::Detached(commit) if sound.contains(&Root::Head(commit.clone())) => (
                self.ask(&["update-ref", "--no-deref", "-m", REASON, "HEAD", commit.as_str()])?,
                commit.to_string(),
            ),
            // Why is told already.
            HeadLeft::Detached(_) | HeadLeft::Same | HeadLeft::Unusable => return Ok(false),
        };
        Ok(self.told("HEAD".to_owned(), to, &answer))
    }

    /// Whose a branch is, if HEAD may not be on it. A HEAD that was written and not switched can name any: the next run in
    /// this worktree would be given the branch of another run as its own, and no two worktrees are on one branch.
    fn taken(&self, reference: &str) -> Result<Option<String>, Error> {
        let branches = self.quarantine.record.branch_directory.as_ref();
        let own = branches.is_some_and(|own| own_head(&format!("ref: {reference}"), own.as_path()).is_some());
        if !own && reference.starts_with(RUNS) {
            return Ok(Some(format!("{reference} is the branch of another run")));
        }
        let answer = self.ask(&["for-each-ref", "--format=%(worktreepath)", reference])?;
        if answer.status != 0 {
            return Ok(Some(format!("Git did not say who is on {reference}")));
        }
        let place = display_bytes(answer.output.trim_ascii());
        Ok((!place.is_empty()).then(|| format!("{reference} is checked out in {place}")))
    }

    /// Puts an index in place of the original, as Git does: by a lock and a rename.
    fn index(&mut self, from: &Path) -> Result<(), Error> {
        let admin = &self.importer.place.admin;
        let (index, lock) = (admin.join("index"), admin.join("index.lock"));
        let now = digest_of(&index)?;
        if now == digest_of(from)? {
            self.published.index = true;
            return Ok(());
        }
        if now != self.quarantine.record.index {
            self.restored("index", "it was changed by somebody else meanwhile");
            return Ok(());
        }
        for name in shared(&self.quarantine.directory)? {
            place_file(&self.quarantine.directory.join(&name), &admin.join(&name))?;
        }
        match self.lock(from, &lock)? {
            Lock::Ours => {}
            Lock::Theirs => {
                self.restored("index", &format!("{} exists: another Git works there", lock.display()));
                return Ok(());
            }
        }
        std::fs::rename(&lock, &index)
            .and_then(|()| sync_parent(&index))
            .map_err(write_fault(&index))?;
        self.published.index = true;
        Ok(())
    }

    /// Takes Git's lock on the index, the new content in it from the first moment: so the lock of a killed host is known
    /// again.
    fn lock(&self, from: &Path, lock: &Path) -> Result<Lock, Error> {
        let whole = lock.with_file_name(format!("index.{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&whole)
            .and_then(|mut target| {
                io::copy(&mut File::open(from)?, &mut target)?;
                target.sync_all()
            })
            .and_then(|()| match std::fs::hard_link(&whole, lock) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                linked => linked.map(Some),
            });
        // Whether or not it was linked, its own name has done its part.
        let _ = std::fs::remove_file(&whole);
        match written.map_err(write_fault(lock))? {
            Some(()) => Ok(Lock::Ours),
            None if digest_of(lock)? == digest_of(from)? => Ok(Lock::Ours),
            None => Ok(Lock::Theirs),
        }
    }

    /// HEAD moved, and the index that went with it could not be taken over: the new commit's own stands in for it.
    fn index_of_head(&mut self) -> Result<(), Error> {
        let made = self.quarantine.directory.join("index-of-head");
        let call = self.importer.session.call(["read-tree", "HEAD"]);
        let answer = call
            .variable("GIT_DIR", &self.importer.place.admin)
            .variable("GIT_WORK_TREE", &self.importer.place.worktree)
            .variable("GIT_INDEX_FILE", &made)
            .deadline(CHECKOUT_DEADLINE)
            .ask()?;
        match answer.status {
            0 => self.index(&made),
            _ => Ok(()),
        }
    }

    /// Asks Git in the worktree's own directory, which no command can have changed.
    fn ask(&self, arguments: &[&str]) -> Result<Answer, Error> {
        self.importer
            .session
            .call(arguments)
            .variable("GIT_DIR", &self.importer.place.admin)
            // For the log of the reference.
            .variable("GIT_COMMITTER_NAME", "microcoder")
            .variable("GIT_COMMITTER_EMAIL", "microcoder@localhost")
            .ask()
    }

    fn told(&mut self, name: String, to: String, answer: &Answer) -> bool {
        let done = answer.status == 0;
        if done {
            self.published.moved.push(Moved { name, to });
        } else {
            self.restored(name, &answer.message);
        }
        done
    }

    fn restored(&mut self, name: impl Into<String>, reason: &str) {
        self.published.restored.push(Restored {
            name: name.into(),
            reason: reason.to_owned(),
        });
    }
}
