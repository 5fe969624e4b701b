//! The store: commands in, receipts out, tasks to look at, from any number of processes at once. Reading takes no lock that
//! keeps a writer out. What only a task's owner may record goes through `owner`.

use crate::command::Command;
use crate::database::{self, Access};
use crate::directory::{Missing, PrivateDirectory};
use crate::event::Event;
use crate::limits::Limits;
use crate::record::{Record, Stored};
use crate::state::{Checks, Execution, Status};
use crate::task::{Receipt, Rules, Task, apply_command, check_revision};
use crate::transition::{apply_event, epoch_of};
use crate::write::{self, Room};
use crate::{Error, reservation, reserve};
use coder_digest::{Clock, Digest, TaskId, Timestamp, json};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open store. Clones share one pair of connections; threads may share a clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) directory: PrivateDirectory,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    /// Apart from the writer, so that looking never waits for another thread's commit.
    pub(crate) reader: Mutex<Connection>,
    pub(crate) writer: Option<Mutex<Connection>>,
    /// Set once a write failed and may have landed or not.
    pub(crate) doubtful: AtomicBool,
}

/// One line of [`Store::list`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The task.
    pub task_id: TaskId,
    /// Its revision.
    pub revision: u64,
    /// Its title.
    pub title: String,
    /// When it was submitted.
    pub submitted_at: Timestamp,
    /// When its last record was made.
    pub changed_at: Timestamp,
    /// Its current turn, from 1.
    pub turn: u64,
    /// Where it stands.
    pub status: Status,
    /// How its run went.
    pub execution: Execution,
    /// What its checks say.
    pub checks: Checks,
}

/// What [`summary`] reads of the tasks; the times are those of the first and the last record.
macro_rules! summaries {
    () => {
        "SELECT task_id, revision, title, turn, status, execution, checks,
            (SELECT at FROM commands WHERE task_id = tasks.task_id AND sequence = 1),
            coalesce(
                (SELECT at FROM events WHERE task_id = tasks.task_id AND sequence = tasks.sequence),
                (SELECT at FROM commands WHERE task_id = tasks.task_id AND sequence = tasks.sequence))
        FROM tasks"
    };
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Store")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store at `path`, making it where it is missing.
    ///
    /// # Errors
    /// `unsafe_path` where the directory or a file in it is not private, `corrupt_store` naming what is damaged,
    /// `unsupported_schema` where a newer program wrote it, `read_only` where nothing can be written, `disk_full`, `io`.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Self::open_with(path, clock, Access::Write, Limits::STORE)
    }

    /// Opens an existing store to look at.
    ///
    /// # Errors
    /// As [`Store::open`]; `io` where there is no store.
    pub fn open_read_only(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Self::open_with(path, clock, Access::Read, Limits::STORE)
    }

    pub(crate) fn open_with(path: &Path, clock: Arc<dyn Clock>, access: Access, limits: Limits) -> Result<Self, Error> {
        let missing = match access {
            Access::Read => Missing::Refuse,
            Access::Write => Missing::Create,
        };
        let directory = PrivateDirectory::open(path, missing)?;
        if access == Access::Write && !directory.is_writable()? {
            return Err(Error::Unwritable {
                path: directory.path().to_owned(),
            });
        }
        database::prepare(&directory, access)?;
        let writer = match access {
            Access::Read => None,
            Access::Write => Some(Mutex::new(database::open(&directory, Access::Write)?)),
        };
        let reader = Mutex::new(database::open(&directory, Access::Read)?);
        if access == Access::Write {
            sync_log(&directory)?;
            reserve::hold(&directory)?;
        }
        let shared = Shared {
            directory,
            clock,
            limits,
            reader,
            writer,
            doubtful: AtomicBool::new(false),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The canonical path of the store.
    pub fn path(&self) -> &Path {
        self.shared.directory.path()
    }

    /// Accepts one command, given its exact bytes. The receipt is returned only once the record is durable. The same bytes
    /// again return the first receipt and change nothing; a refused command reserves nothing.
    ///
    /// # Errors
    /// `invalid_command`, `unsupported_schema`, `command_conflict`, `not_found`, `revision_mismatch`,
    /// `invalid_transition`, `limit_exceeded`, `store_busy`, `disk_full`, `reopen_required`, `io`.
    pub fn command(&self, bytes: &[u8]) -> Result<Receipt, Error> {
        if bytes.len() > crate::limits::COMMAND_BYTES {
            return Err(json::Error::TooLarge {
                bytes: bytes.len(),
                limit: crate::limits::COMMAND_BYTES,
            }
            .into());
        }
        let digest = Digest::of(bytes);
        if let Some(receipt) = self.receipt_of(&self.reader(), digest)? {
            return Ok(receipt);
        }
        let command = Command::parse(bytes)?;
        let request = std::str::from_utf8(bytes).map_err(|error| json::Error::NotUtf8 {
            offset: error.valid_up_to(),
        })?;
        self.write(command.room(), |transaction| {
            self.accept(transaction, &command, request, digest)
        })
    }

    pub(crate) fn accept(
        &self,
        transaction: &Transaction<'_>,
        command: &Command,
        request: &str,
        digest: Digest,
    ) -> Result<Receipt, Error> {
        // Again, now that no other writer can come between.
        if let Some(receipt) = self.receipt_of(transaction, digest)? {
            return Ok(receipt);
        }
        let used = self.query(transaction, "look for the command", |connection| {
            connection
                .prepare_cached("SELECT 1 FROM commands WHERE command_id = ?1")?
                .exists([command.command_id.as_str()])
        })?;
        if used {
            return Err(Error::CommandConflict {
                command: command.command_id.clone(),
            });
        }
        let current = self.current(transaction, &command.task_id)?;
        if let Some(current) = &current {
            self.require_known_rules(transaction, current)?;
            current.require_in_use()?;
        }
        let next = apply_command(Rules::CURRENT, current.as_ref().map(|current| &current.task), command)?;
        write::command(self, transaction, current.as_ref(), &next, command, request, digest)
    }

    fn receipt_of(&self, connection: &Connection, digest: Digest) -> Result<Option<Receipt>, Error> {
        let text: Option<String> = self.query(connection, "look for the command", |connection| {
            connection
                .prepare_cached("SELECT receipt FROM commands WHERE request_digest = ?1")?
                .query_row([digest.as_bytes()], |row| row.get(0))
                .optional()
        })?;
        text.map(|text| serde_json::from_str(&text).map_err(|_| self.corrupt("a receipt cannot be read")))
            .transpose()
    }

    pub(crate) fn event(&self, task: &TaskId, event: &Event, expected_revision: Option<u64>) -> Result<Task, Error> {
        let room = if event.is_ending() {
            Room::Reserve
        } else {
            Room::Ordinary
        };
        self.write(room, |transaction| {
            let current = self.required(transaction, task)?;
            self.require_known_rules(transaction, &current)?;
            current.require_in_use()?;
            if let Some(expected) = expected_revision {
                check_revision(&current.task, expected)?;
            }
            let epoch = epoch_of(&current.task, event);
            let next = apply_event(Rules::CURRENT, &current.task, epoch, event)?;
            if event.reserves_tree() {
                reservation::check(self, transaction, &next)?;
            }
            write::event(self, transaction, &current, &next, epoch, event)?;
            Ok(next)
        })
    }

    /// The task as it is now.
    ///
    /// # Errors
    /// `not_found`, `corrupt_store`, `io`.
    pub fn show(&self, task: &TaskId) -> Result<Task, Error> {
        Ok(self.required(&self.reader(), task)?.task)
    }

    /// The tasks that are not archived, in the order they were submitted.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn list(&self) -> Result<Vec<Summary>, Error> {
        self.summaries(concat!(summaries!(), " WHERE archived IS NULL ORDER BY rowid"))
    }

    /// All tasks, archived ones too, in the order they were submitted.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn list_all(&self) -> Result<Vec<Summary>, Error> {
        self.summaries(concat!(summaries!(), " ORDER BY rowid"))
    }

    fn summaries(&self, statement: &'static str) -> Result<Vec<Summary>, Error> {
        let rows: Vec<Option<Summary>> = self.query(&self.reader(), "list the tasks", |connection| {
            connection.prepare_cached(statement)?.query_map([], summary)?.collect()
        })?;
        rows.into_iter()
            .map(|row| row.ok_or_else(|| self.corrupt("a row of `tasks` cannot be read")))
            .collect()
    }

    /// The task's records, in order.
    ///
    /// # Errors
    /// `not_found`, `corrupt_store` naming the record that cannot be read, `io`.
    pub fn history(&self, task: &TaskId) -> Result<Vec<Record>, Error> {
        let reader = self.reader();
        self.required(&reader, task)?;
        let records = self.query(&reader, "read the history", |connection| Stored::all(connection, task))?;
        records
            .into_iter()
            .map(|record| {
                let sequence = record.sequence;
                record.parsed().map_err(|what| {
                    self.corrupt(format!("the {what} of record {sequence} of task {task} cannot be read"))
                })
            })
            .collect()
    }

    /// The task as `connection` sees it, with where its records end.
    pub(crate) fn current(&self, connection: &Connection, task: &TaskId) -> Result<Option<Current>, Error> {
        let row = self.query(connection, "read the task", |connection| {
            connection
                .prepare_cached(
                    "SELECT state, sequence, digest, events, bytes, archived FROM tasks WHERE task_id = ?1",
                )?
                .query_row([task.as_str()], |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                        row.get::<_, Option<i64>>(5)?,
                    ))
                })
                .optional()
        })?;
        let Some((state, sequence, digest, events, bytes, archived)) = row else {
            return Ok(None);
        };
        let Ok(kept) = serde_json::from_str(&state) else {
            // A newer version may have kept something this one does not know.
            self.require_known_rules_at(connection, task, sequence)?;
            return Err(self.corrupt(format!("task {task} cannot be read")));
        };
        Ok(Some(Current {
            task: kept,
            sequence,
            digest: Digest::from_bytes(digest),
            events,
            bytes,
            archived: archived.map(Timestamp),
        }))
    }

    /// Refuses a task whose last record follows rules of a newer version: what this one would make of it next is unknown.
    pub(crate) fn require_known_rules(&self, connection: &Connection, current: &Current) -> Result<(), Error> {
        self.require_known_rules_at(connection, &current.task.task_id, current.sequence)
    }

    fn require_known_rules_at(&self, connection: &Connection, task: &TaskId, sequence: u64) -> Result<(), Error> {
        let found: Option<u32> = self.query(connection, "read the rules version", |connection| {
            connection
                .prepare_cached(
                    "SELECT rules FROM events WHERE task_id = ?1 AND sequence = ?2
                     UNION ALL SELECT rules FROM commands WHERE task_id = ?1 AND sequence = ?2",
                )?
                .query_row(rusqlite::params![task.as_str(), sequence], |row| row.get(0))
                .optional()
        })?;
        match found {
            Some(found) if Rules::from_number(found).is_none() => Err(Error::NewerRules {
                task: task.clone(),
                sequence,
                found,
            }),
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn required(&self, connection: &Connection, task: &TaskId) -> Result<Current, Error> {
        self.current(connection, task)?
            .ok_or_else(|| Error::NotFound { task: task.clone() })
    }

    pub(crate) fn reader(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere cannot leave a connection half used: its transactions end when they are dropped.
        self.shared.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn query<T>(
        &self,
        connection: &Connection,
        act: &'static str,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        query(connection).map_err(|source| self.database_error(act, source))
    }

    pub(crate) fn database_error(&self, act: &'static str, source: rusqlite::Error) -> Error {
        Error::database(act, &self.shared.directory.join(database::NAME), source)
    }

    pub(crate) fn corrupt(&self, reason: impl Into<String>) -> Error {
        Error::corrupt(&self.shared.directory.join(database::NAME), reason)
    }
}

/// A writer killed between its write and its sync leaves a record that the next opening finds, visible but not yet durable.
/// Synced here once, whatever can be seen from now on is durable, and a receipt may be given out again as it is.
fn sync_log(directory: &PrivateDirectory) -> Result<(), Error> {
    if let Some(log) = directory.file(database::LOG_NAME, Missing::Refuse)? {
        log.sync_all()
            .map_err(|source| Error::io("sync", &directory.join(database::LOG_NAME), source))?;
    }
    directory.sync()
}

/// A task and where its records end.
pub(crate) struct Current {
    pub task: Task,
    pub sequence: u64,
    pub digest: Digest,
    pub events: u64,
    pub bytes: u64,
    /// When it was put away.
    pub archived: Option<Timestamp>,
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Option<Summary>> {
    let text = |index| row.get::<_, String>(index);
    // A task without the records it counts is damage, and told as such.
    let (Ok(task_id), Some(status), Some(execution), Some(checks), Some(submitted), Some(changed)) = (
        text(0)?.parse(),
        Status::from_text(&text(4)?),
        Execution::from_text(&text(5)?),
        Checks::from_text(&text(6)?),
        row.get::<_, Option<i64>>(7)?,
        row.get::<_, Option<i64>>(8)?,
    ) else {
        return Ok(None);
    };
    Ok(Some(Summary {
        task_id,
        revision: row.get(1)?,
        title: row.get(2)?,
        submitted_at: Timestamp(submitted),
        changed_at: Timestamp(changed),
        turn: row.get(3)?,
        status,
        execution,
        checks,
    }))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
