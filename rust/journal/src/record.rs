//! The records of a task as stored, and the chain of digests that ties each to the one before (so a removed or edited
//! record shows). Only the shape of the history; what a record does to the task is replayed in `verify`.

use crate::event::Event;
use crate::task::Receipt;
use coder_digest::{Digest, Hasher, Identifier, TaskId, Timestamp};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

/// One entry of a task's history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Its place, from 1 without gaps.
    pub sequence: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// The version of the rules it was accepted under.
    pub rules: u32,
    /// What it is.
    #[serde(flatten)]
    pub content: Content,
    /// The digest of the record before; null on the first.
    pub previous: Option<Digest>,
    /// The digest of this record.
    pub digest: Digest,
}

/// What a record is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// An accepted command.
    Command {
        /// Its id.
        command_id: Identifier,
        /// Its exact text.
        request: String,
        /// What its writer got.
        receipt: Receipt,
    },
    /// An owner event.
    Event {
        /// The owner's epoch.
        epoch: u64,
        /// The event.
        event: Event,
    },
}

/// A record as the tables have it, nothing of it trusted yet.
#[derive(Debug)]
pub(crate) struct Stored {
    pub sequence: u64,
    pub at: Timestamp,
    pub rules: u32,
    pub body: Body,
    pub previous: Option<Digest>,
    pub digest: Digest,
}

#[derive(Debug)]
pub(crate) enum Body {
    Command {
        command_id: String,
        request: String,
        request_digest: Digest,
        receipt: String,
    },
    Event {
        epoch: u64,
        event: String,
    },
}

impl Body {
    /// How much of the task's bound the record uses.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Command { request, receipt, .. } => (request.len() + receipt.len()) as u64,
            Self::Event { event, .. } => event.len() as u64,
        }
    }
}

impl Stored {
    /// The digest this record ought to have. Each field goes in with its length, so no two records share a preimage.
    pub(crate) fn chain_digest(&self, task: &TaskId) -> Digest {
        let mut hasher = Hasher::new();
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(b"coder-journal.record.v1");
        field(task.as_str().as_bytes());
        field(&self.sequence.to_le_bytes());
        field(&self.at.0.to_le_bytes());
        field(&self.rules.to_le_bytes());
        field(
            self.previous
                .as_ref()
                .map_or(&[], |digest| digest.as_bytes().as_slice()),
        );
        match &self.body {
            Body::Command {
                command_id,
                request,
                request_digest,
                receipt,
            } => {
                field(b"command");
                field(command_id.as_bytes());
                field(request.as_bytes());
                field(request_digest.as_bytes());
                field(receipt.as_bytes());
            }
            Body::Event { epoch, event } => {
                field(b"event");
                field(&epoch.to_le_bytes());
                field(event.as_bytes());
            }
        }
        hasher.finish()
    }

    pub(crate) fn insert(&self, connection: &Connection, task: &TaskId) -> rusqlite::Result<()> {
        let previous = self.previous.as_ref().map(Digest::as_bytes);
        match &self.body {
            Body::Command {
                command_id,
                request,
                request_digest,
                receipt,
            } => connection
                .prepare_cached(
                    "INSERT INTO commands (task_id, sequence, rules, at, previous, digest, command_id, request,
                     request_digest, receipt) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?
                .execute(params![
                    task.as_str(),
                    self.sequence,
                    self.rules,
                    self.at.0,
                    previous,
                    self.digest.as_bytes(),
                    command_id,
                    request,
                    request_digest.as_bytes(),
                    receipt
                ])?,
            Body::Event { epoch, event } => connection
                .prepare_cached(
                    "INSERT INTO events (task_id, sequence, rules, at, previous, digest, epoch, event)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![
                    task.as_str(),
                    self.sequence,
                    self.rules,
                    self.at.0,
                    previous,
                    self.digest.as_bytes(),
                    epoch,
                    event
                ])?,
        };
        Ok(())
    }

    /// All records of `task`, in order.
    pub(crate) fn all(connection: &Connection, task: &TaskId) -> rusqlite::Result<Vec<Self>> {
        connection
            .prepare_cached(
                "SELECT sequence, at, rules, previous, digest, command_id, request, request_digest, receipt,
                 NULL AS epoch, NULL AS event FROM commands WHERE task_id = ?1
                 UNION ALL
                 SELECT sequence, at, rules, previous, digest, NULL, NULL, NULL, NULL, epoch, event
                 FROM events WHERE task_id = ?1 ORDER BY sequence",
            )?
            .query_map([task.as_str()], Self::read)?
            .collect()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let body = match row.get::<_, Option<String>>("event")? {
            Some(event) => Body::Event {
                epoch: row.get("epoch")?,
                event,
            },
            None => Body::Command {
                command_id: row.get("command_id")?,
                request: row.get("request")?,
                request_digest: Digest::from_bytes(row.get("request_digest")?),
                receipt: row.get("receipt")?,
            },
        };
        Ok(Self {
            sequence: row.get("sequence")?,
            at: Timestamp(row.get("at")?),
            rules: row.get("rules")?,
            body,
            previous: row.get::<_, Option<[u8; 32]>>("previous")?.map(Digest::from_bytes),
            digest: Digest::from_bytes(row.get("digest")?),
        })
    }

    /// The record with its texts read, or which of them cannot be.
    pub(crate) fn parsed(self) -> Result<Record, &'static str> {
        let content = match self.body {
            Body::Command {
                command_id,
                request,
                receipt,
                ..
            } => Content::Command {
                command_id: command_id.parse().map_err(|_| "command id")?,
                request,
                receipt: serde_json::from_str(&receipt).map_err(|_| "receipt")?,
            },
            Body::Event { epoch, event } => Content::Event {
                epoch,
                event: serde_json::from_str(&event).map_err(|_| "event")?,
            },
        };
        Ok(Record {
            sequence: self.sequence,
            at: self.at,
            rules: self.rules,
            content,
            previous: self.previous,
            digest: self.digest,
        })
    }
}
