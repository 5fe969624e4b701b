//! The store's own chain: an entry for every record of every task, in the order of acceptance, each naming the one before by
//! digest. It shows a record that was taken away together with what its task's row says of it. It cannot show that its own
//! newest entries were taken away too: for that a [`Head`] must have been kept elsewhere, as each run's trace does.

use crate::Error;
use crate::record::Stored;
use crate::store::Store;
use crate::verify::Fault;
use coder_digest::{Digest, Hasher, TaskId};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The end of the ledger at some moment. Whoever keeps one can later ask whether everything up to it is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// How many records the store had accepted.
    pub position: u64,
    /// What all of them amount to.
    pub digest: Digest,
}

impl fmt::Display for Head {
    /// As in `7:sha256:…`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.position, self.digest)
    }
}

impl FromStr for Head {
    type Err = HeadError;

    fn from_str(text: &str) -> Result<Self, HeadError> {
        let (position, digest) = text.split_once(':').ok_or(HeadError)?;
        Ok(Self {
            position: position.parse().map_err(|_| HeadError)?,
            digest: digest.parse().map_err(|_| HeadError)?,
        })
    }
}

/// The text is no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the end of a ledger is written like 7:sha256:… with 64 hexadecimal digits")]
pub struct HeadError;

struct Entry {
    position: u64,
    task: String,
    sequence: u64,
    record: Digest,
    digest: Digest,
}

impl Entry {
    /// The digest the entry ought to have after `previous`. Each field goes in with its length.
    fn chain_digest(&self, previous: Option<Digest>) -> Digest {
        let mut hasher = Hasher::new();
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(b"coder-journal.ledger.v1");
        field(&self.position.to_le_bytes());
        field(previous.as_ref().map_or(&[], |digest| digest.as_bytes().as_slice()));
        field(self.task.as_bytes());
        field(&self.sequence.to_le_bytes());
        field(self.record.as_bytes());
        hasher.finish()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            position: row.get(0)?,
            task: row.get(1)?,
            sequence: row.get(2)?,
            record: Digest::from_bytes(row.get(3)?),
            digest: Digest::from_bytes(row.get(4)?),
        })
    }
}

fn head(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    connection
        .prepare_cached("SELECT position, digest FROM ledger ORDER BY position DESC LIMIT 1")?
        .query_row([], |row| {
            Ok(Head {
                position: row.get(0)?,
                digest: Digest::from_bytes(row.get(1)?),
            })
        })
        .optional()
}

/// Enters a record that is being appended.
pub(crate) fn enter(store: &Store, transaction: &Transaction<'_>, task: &TaskId, record: &Stored) -> Result<(), Error> {
    store.query(transaction, "enter the record in the ledger", |connection| {
        let before = head(connection)?;
        let mut entry = Entry {
            position: before.map_or(1, |head| head.position + 1),
            task: task.to_string(),
            sequence: record.sequence,
            record: record.digest,
            digest: record.digest,
        };
        entry.digest = entry.chain_digest(before.map(|head| head.digest));
        connection
            .prepare_cached(
                "INSERT INTO ledger (position, task_id, sequence, record, digest) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                entry.position,
                entry.task,
                entry.sequence,
                entry.record.as_bytes(),
                entry.digest.as_bytes()
            ])
            .map(drop)
    })
}

/// The faults between the records of `task` and their entries, in the records' order.
pub(crate) fn compare(
    store: &Store,
    connection: &Connection,
    task: &TaskId,
    records: &[Stored],
) -> Result<Vec<Fault>, Error> {
    let entered: BTreeMap<u64, Digest> = store.query(connection, "read the ledger", |connection| {
        connection
            .prepare_cached("SELECT sequence, record FROM ledger WHERE task_id = ?1")?
            .query_map([task.as_str()], |row| {
                Ok((row.get(0)?, Digest::from_bytes(row.get(1)?)))
            })?
            .collect()
    })?;
    let mut there = BTreeMap::new();
    for record in records {
        there.insert(record.sequence, record.digest);
    }
    let altered = there
        .iter()
        .filter(|(sequence, digest)| entered.get(sequence) != Some(digest));
    let unentered = altered.map(|(sequence, _)| Fault::Unentered { sequence: *sequence });
    let removed = entered.keys().filter(|sequence| !there.contains_key(sequence));
    let removed = removed.map(|sequence| Fault::Removed { sequence: *sequence });
    Ok(unentered.chain(removed).collect())
}

/// The first fault of the ledger's own chain.
pub(crate) fn check_chain(store: &Store, connection: &Connection) -> Result<Option<Fault>, Error> {
    store.query(connection, "read the ledger", |connection| {
        let mut statement = connection
            .prepare_cached("SELECT position, task_id, sequence, record, digest FROM ledger ORDER BY position")?;
        let mut previous = None;
        let mut position = 0;
        for entry in statement.query_map([], Entry::read)? {
            let entry = entry?;
            position += 1;
            if entry.position != position || entry.digest != entry.chain_digest(previous) {
                return Ok(Some(Fault::Ledger { position }));
            }
            previous = Some(entry.digest);
        }
        Ok(None)
    })
}

impl Store {
    /// The end of the ledger now; none in a store without records.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn head(&self) -> Result<Option<Head>, Error> {
        self.query(&self.reader(), "read the ledger", head)
    }

    /// Whether the ledger still holds `noted`. False means that records which were there have been taken away or replaced;
    /// [`Store::verify`] must hold besides, for the entries up to there to be what they were.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn holds(&self, noted: &Head) -> Result<bool, Error> {
        self.query(&self.reader(), "read the ledger", |connection| {
            connection
                .prepare_cached("SELECT 1 FROM ledger WHERE position = ?1 AND digest = ?2")?
                .exists(params![noted.position, noted.digest.as_bytes()])
        })
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
