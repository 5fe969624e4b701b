//! Messages to a task while it runs. Each waits in the turn's inbox, one JSON string a line, until the loop reads it, once, at
//! the start of a step or before it finishes. Who writes is told so only once the message is on disk; who reads closes the
//! inbox when the loop is over, so that nothing is accepted that nobody will look at.

use crate::Error;
use coder_digest::{Digest, TaskId};
use coder_journal::{Liveness, Status, Store};
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most bytes of one message.
pub const STEER_MESSAGE_BYTES: usize = 32 * 1024;
/// The most bytes of an inbox.
const INBOX_BYTES: u64 = 1024 * 1024;

/// What the writer of a message is told: it is on disk and waits for the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Steered {
    /// The task.
    pub task_id: TaskId,
    /// The turn that will read it, from 1.
    pub turn: usize,
    /// The digest of the message.
    pub message_digest: Digest,
    /// How the task stood when the message was accepted.
    pub status: &'static str,
}

/// Leaves `message` for the running task.
///
/// # Errors
/// [`Error::Message`] for an empty or too long text or one with control characters, [`Error::NotRunning`] where no loop of the
/// task will read it, [`Error::InboxFull`], [`Error::File`]; the journal's own.
pub fn steer(store: &Store, task: &TaskId, message: &str) -> Result<Steered, Error> {
    check(message)?;
    let shown = store.show(task)?;
    let not_running = |status| Error::NotRunning {
        task: task.clone(),
        status,
    };
    if shown.status != Status::Running {
        return Err(not_running(shown.status.as_str()));
    }
    if store.liveness(task)? == Liveness::Free {
        return Err(not_running("left by its owner"));
    }
    let turn = shown.turn();
    let path = path(store.path(), task, turn);
    let act = |act| Error::file(act, &path);
    let mut file = match open(&path, OFlags::RDWR) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(not_running("ending")),
        Err(error) => return Err(act("open")(error)),
    };
    lock(&file).map_err(act("lock"))?;
    if !is_at(&file, &path) {
        return Err(not_running("ending"));
    }
    let mut line = serde_json::Value::from(message).to_string();
    line.push('\n');
    let size = file.seek(SeekFrom::End(0)).map_err(act("look at"))?;
    if size + line.len() as u64 > INBOX_BYTES {
        return Err(Error::InboxFull { task: task.clone() });
    }
    let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a line would join the next one.
        let _ = file.set_len(size);
        return Err(act("write")(error));
    }
    Ok(Steered {
        task_id: task.clone(),
        turn,
        message_digest: Digest::of(message.as_bytes()),
        status: shown.status.as_str(),
    })
}

fn check(message: &str) -> Result<(), Error> {
    let refuse = |reason| Err(Error::Message { reason });
    let plain = |character: char| !character.is_control() || matches!(character, '\n' | '\r' | '\t');
    if message.trim().is_empty() {
        refuse("it says nothing")
    } else if message.len() > STEER_MESSAGE_BYTES {
        refuse("it is longer than 32 KiB")
    } else if !message.chars().all(plain) {
        refuse("it holds control characters other than line breaks and tabs")
    } else {
        Ok(())
    }
}

fn path(store: &Path, task: &TaskId, turn: usize) -> PathBuf {
    store.join(format!("{task}.{turn}.steer.jsonl"))
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Held for microseconds by each side, so it is waited for.
fn lock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(file, FlockOperation::LockExclusive)?)
}

fn unlock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(file, FlockOperation::Unlock)?)
}

/// Whether the open file is still the one that bears the name.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        (Ok(_) | Err(_), _) => false,
    }
}

/// The owner's end: made before the task is called running, gone once nothing reads any more.
#[derive(Debug)]
pub(crate) struct Inbox {
    file: File,
    path: PathBuf,
    read: u64,
}

impl Inbox {
    /// Opens the inbox of a turn. The caller owns the task, so one that is there was left by an owner that died before the
    /// turn began.
    pub(crate) fn create(store: &Path, task: &TaskId, turn: usize) -> Result<Self, Error> {
        let path = path(store, task, turn);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::file("remove", &path)(error)),
            Ok(()) | Err(_) => {}
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = open(&path, flags).map_err(Error::file("create", &path))?;
        Ok(Self { file, path, read: 0 })
    }

    /// The messages that came since, oldest first; each is given once.
    pub(crate) fn take(&mut self) -> Result<Vec<String>, Error> {
        lock(&self.file).map_err(Error::file("lock", &self.path))?;
        let messages = self.unread();
        unlock(&self.file).map_err(Error::file("unlock", &self.path))?;
        messages
    }

    /// Takes what is left and lets nothing more in.
    pub(crate) fn close(&mut self) -> Result<Vec<String>, Error> {
        lock(&self.file).map_err(Error::file("lock", &self.path))?;
        let messages = self.unread();
        std::fs::remove_file(&self.path).map_err(Error::file("remove", &self.path))?;
        unlock(&self.file).map_err(Error::file("unlock", &self.path))?;
        messages
    }

    fn unread(&mut self) -> Result<Vec<String>, Error> {
        let act = Error::file("read", &self.path);
        let mut text = String::new();
        let read = self
            .file
            .seek(SeekFrom::Start(self.read))
            .and_then(|_| (&self.file).take(INBOX_BYTES).read_to_string(&mut text));
        let bytes = match read {
            Ok(bytes) => bytes as u64,
            Err(error) => return Err(act(error)),
        };
        let messages: Result<Vec<String>, _> = text.lines().map(serde_json::from_str).collect();
        let messages = messages.map_err(|error| act(io::Error::other(error)))?;
        self.read += bytes;
        Ok(messages)
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        if is_at(&self.file, &self.path) {
            // Not closed: the run did not get as far as its loop, or an error ended it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[path = "steering_tests.rs"]
mod tests;
