//! One durable step: an immediate transaction that appends a record to its task's chain and stores the task it makes.
//! What may be recorded was decided before; here are only the bounds, the disk, and what a failed commit means.

use crate::command::{Action, Command};
use crate::event::Event;
use crate::record::{Body, Stored};
use crate::reserve;
use crate::store::{Current, Store};
use crate::task::{Receipt, Rules, Task};
use crate::{Error, ledger};
use coder_digest::Digest;
use rusqlite::{Transaction, TransactionBehavior, params};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Which disk space a record may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Ordinary,
    /// Also what is held back: the record ends something.
    Reserve,
}

impl Command {
    pub(crate) fn room(&self) -> Room {
        match self.action {
            Action::Cancel { .. } => Room::Reserve,
            Action::Submit { .. } | Action::Correct { .. } | Action::Continue { .. } => Room::Ordinary,
        }
    }
}

impl Store {
    /// Runs `act` in one immediate transaction and makes it durable, or leaves nothing of it.
    pub(crate) fn write<T>(&self, room: Room, act: impl Fn(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        match self.write_once(&act) {
            Err(Error::DiskFull { .. }) if room == Room::Reserve => {
                reserve::release(&self.shared.directory)?;
                self.write_once(&act)
            }
            other => other,
        }
    }

    fn write_once<T>(&self, act: impl Fn(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let Some(writer) = &self.shared.writer else {
            return Err(Error::ReadOnly {
                path: self.path().to_owned(),
            });
        };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.shared.doubtful.load(Ordering::Acquire) {
            return Err(Error::ReopenRequired {
                path: self.path().to_owned(),
            });
        }
        // Immediate: a transaction that reads first and writes later can be refused in the middle, whatever the patience.
        let transaction = writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|source| self.database_error("begin to write", source))?;
        let value = act(&transaction)?;
        transaction.commit().map_err(|source| {
            if !Error::is_doubtful(&source) {
                return self.database_error("commit", source);
            }
            self.shared.doubtful.store(true, Ordering::Release);
            match self.database_error("commit", source) {
                // Said as it is: a full disk otherwise means that nothing landed.
                Error::DiskFull { path } => Error::ReopenRequired { path },
                error => error,
            }
        })?;
        Ok(value)
    }
}

/// Refuses where the store's tasks in use, with `tasks` and `commands` more, would be more than it may hold.
pub(crate) fn bound_store(
    store: &Store,
    transaction: &Transaction<'_>,
    tasks: u64,
    commands: u64,
) -> Result<(), Error> {
    let (tasks_now, commands_now): (u64, u64) = store.query(transaction, "count the records", |connection| {
        connection
            .prepare_cached("SELECT count(*), coalesce(sum(sequence - events), 0) FROM tasks WHERE archived IS NULL")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
    })?;
    let limits = store.shared.limits;
    let counts = [
        ("accepted commands", commands_now + commands, limits.commands),
        ("tasks", tasks_now + tasks, limits.tasks),
    ];
    for (what, count, limit) in counts {
        if count > limit {
            return Err(Error::LimitExceeded {
                what,
                limit,
                remedy: ": `coder task archive` puts finished tasks away, which then count no more",
            });
        }
    }
    Ok(())
}

pub(crate) fn command(
    store: &Store,
    transaction: &Transaction<'_>,
    current: Option<&Current>,
    next: &Task,
    command: &Command,
    request: &str,
    request_digest: Digest,
) -> Result<Receipt, Error> {
    bound_store(store, transaction, u64::from(current.is_none()), 1)?;
    let sequence = current.map_or(1, |current| current.sequence + 1);
    let receipt = Receipt::after(next, &command.command_id, request_digest, sequence);
    let body = Body::Command {
        command_id: command.command_id.to_string(),
        request: request.to_owned(),
        request_digest,
        receipt: text_of(store, &receipt)?,
    };
    append(store, transaction, current, next, body, command.room())?;
    Ok(receipt)
}

pub(crate) fn event(
    store: &Store,
    transaction: &Transaction<'_>,
    current: &Current,
    next: &Task,
    epoch: u64,
    event: &Event,
) -> Result<(), Error> {
    bound(
        "owner events of one task",
        current.events + 1,
        store.shared.limits.events_per_task,
    )?;
    let body = Body::Event {
        epoch,
        event: text_of(store, event)?,
    };
    let room = if event.is_ending() {
        Room::Reserve
    } else {
        Room::Ordinary
    };
    append(store, transaction, Some(current), next, body, room)
}

fn append(
    store: &Store,
    transaction: &Transaction<'_>,
    current: Option<&Current>,
    next: &Task,
    body: Body,
    room: Room,
) -> Result<(), Error> {
    let limits = store.shared.limits;
    let most = match room {
        Room::Ordinary => limits.bytes_per_task,
        Room::Reserve => limits.bytes_per_task + limits.ending_bytes,
    };
    let bytes = current.map_or(0, |current| current.bytes) + body.bytes();
    bound("bytes of records of one task", bytes, most)?;
    let events = current.map_or(0, |current| current.events) + u64::from(matches!(body, Body::Event { .. }));
    let mut record = Stored {
        sequence: current.map_or(1, |current| current.sequence + 1),
        at: store.shared.clock.now(),
        rules: Rules::CURRENT.number(),
        body,
        previous: current.map(|current| current.digest),
        digest: Digest::from_bytes([0; 32]),
    };
    record.digest = record.chain_digest(&next.task_id);
    let end = Current {
        task: next.clone(),
        sequence: record.sequence,
        digest: record.digest,
        events,
        bytes,
        archived: None,
    };
    keep(store, transaction, current.is_some(), &end)?;
    store.query(transaction, "append the record", |connection| {
        record.insert(connection, &next.task_id)
    })?;
    ledger::enter(store, transaction, &next.task_id, &record)
}

fn keep(store: &Store, transaction: &Transaction<'_>, known: bool, end: &Current) -> Result<(), Error> {
    let task = &end.task;
    let state = text_of(store, task)?;
    let statement = if known {
        "UPDATE tasks SET revision = ?2, title = ?3, turn = ?4, status = ?5, execution = ?6, checks = ?7, tree = ?8,
         reserved = ?9, sequence = ?10, digest = ?11, events = ?12, bytes = ?13, state = ?14 WHERE task_id = ?1"
    } else {
        "INSERT INTO tasks (task_id, revision, title, turn, status, execution, checks, tree, reserved, sequence, digest,
         events, bytes, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
    };
    store.query(transaction, "keep the task", |connection| {
        connection.prepare_cached(statement)?.execute(params![
            task.task_id.as_str(),
            task.revision,
            task.intent.title,
            task.turn(),
            task.status.as_str(),
            task.execution.as_str(),
            task.checks.as_str(),
            task.intent.workspace.path,
            task.reserves_tree(),
            end.sequence,
            end.digest.as_bytes(),
            end.events,
            end.bytes,
            state
        ])
    })?;
    Ok(())
}

fn bound(what: &'static str, count: u64, limit: u64) -> Result<(), Error> {
    if count <= limit {
        Ok(())
    } else {
        Err(Error::LimitExceeded {
            what,
            limit,
            remedy: "",
        })
    }
}

fn text_of(store: &Store, value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|_| store.corrupt("a record has no JSON form"))
}
