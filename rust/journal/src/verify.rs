//! Replays a task from its records and compares: the chain of digests, the receipts given out, and the state kept for quick
//! reading must all be what the records make. Reports every fault it finds and repairs none.

use crate::Error;
use crate::command::Command;
use crate::event::Event;
use crate::record::{Body, Stored};
use crate::store::{Current, Store};
use crate::task::{Receipt, Rules, Task, apply_command};
use crate::transition::apply_event;
use crate::{database, ledger};
use coder_digest::{Digest, TaskId};
use rusqlite::{Connection, Transaction};
use serde::Serialize;

/// Something in the records of a task that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// A record is missing, or there twice.
    Gap {
        /// The sequence that should come.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// A record does not name the one before it.
    Chain {
        /// Which record.
        sequence: u64,
    },
    /// A record's digest is not that of its content.
    Digest {
        /// Which record.
        sequence: u64,
    },
    /// A record's text cannot be read.
    Unreadable {
        /// Which record.
        sequence: u64,
    },
    /// The rules do not allow the record at its place.
    Refused {
        /// Which record.
        sequence: u64,
        /// The refusal's code.
        code: &'static str,
    },
    /// The rules version of a record is not known here: written by a newer program.
    Rules {
        /// Which record.
        sequence: u64,
        /// The version.
        found: u32,
    },
    /// A receipt is not what its command made.
    Receipt {
        /// Which record.
        sequence: u64,
    },
    /// The kept state, or one of the columns drawn from it, is not what the records make.
    State {
        /// The first such column of `tasks`.
        column: &'static str,
    },
    /// The kept end of the chain is not its last record.
    End {
        /// The first column of `tasks` that says otherwise.
        column: &'static str,
    },
    /// A record is not in the store's ledger as it is.
    Unentered {
        /// Which record.
        sequence: u64,
    },
    /// The ledger has an entry for a record of the task that is gone.
    Removed {
        /// Which record.
        sequence: u64,
    },
    /// The ledger's own chain does not hold, for whatever task that entry is.
    Ledger {
        /// The first entry that is missing or not tied to the one before.
        position: u64,
    },
    /// A task that was owned has no lock file.
    LockMissing,
    /// The tables of the database cannot be read, or are not those that this version makes.
    Tables {
        /// What SQLite says, or what differs.
        reason: String,
    },
}

impl Fault {
    /// The error where nothing is wrong with a task but that a newer version wrote it. A record whose rules version was
    /// changed afterwards does not have its digest, which is another fault.
    ///
    /// # Errors
    /// `unsupported_schema`.
    pub fn refuse_newer(task: &TaskId, faults: &[Self]) -> Result<(), Error> {
        match faults {
            [Self::Rules { sequence, found }] => Err(Error::NewerRules {
                task: task.clone(),
                sequence: *sequence,
                found: *found,
            }),
            _ => Ok(()),
        }
    }
}

impl Store {
    /// The faults of `task`, of the ledger and of the tables' definitions, none where all is as it must be. Reads one
    /// consistent state and blocks no writer. Takes time with all records of the store, for the ledger is read whole.
    ///
    /// # Errors
    /// `not_found`, `io`, `disk_full`.
    pub fn verify(&self, task: &TaskId) -> Result<Vec<Fault>, Error> {
        let reader = self.reader();
        let transaction = self.begin_to_read(&reader)?;
        let mut faults = self.verify_structure(&transaction)?;
        // Where a table is missing, nothing more can be read, and there is nothing more to say.
        if faults.is_empty() || self.has_all_tables(&transaction)? {
            faults.extend(self.verify_task(&transaction, task)?);
            faults.extend(ledger::check_chain(self, &transaction)?);
        }
        Ok(faults)
    }

    /// As [`Store::verify`] without the ledger's own chain: whoever is to own a task needs that its records are right, and not
    /// to read those of all others.
    pub(crate) fn verify_to_own(&self, task: &TaskId) -> Result<Vec<Fault>, Error> {
        let reader = self.reader();
        let transaction = self.begin_to_read(&reader)?;
        let mut faults = self.verify_structure(&transaction)?;
        faults.extend(self.verify_task(&transaction, task)?);
        Ok(faults)
    }

    fn has_all_tables(&self, connection: &Connection) -> Result<bool, Error> {
        self.query(connection, "look for the tables", |connection| {
            connection
                .prepare_cached(
                    "SELECT count(*) FROM sqlite_schema WHERE type = 'table'
                     AND name IN ('tasks', 'commands', 'events', 'ledger')",
                )?
                .query_row([], |row| Ok(row.get::<_, i64>(0)? == 4))
        })
    }

    fn begin_to_read<'a>(&self, reader: &'a Connection) -> Result<Transaction<'a>, Error> {
        reader
            .unchecked_transaction()
            .map_err(|source| self.database_error("begin to read", source))
    }

    fn verify_task(&self, connection: &Connection, task: &TaskId) -> Result<Vec<Fault>, Error> {
        match self.verify_on(connection, task) {
            Err(Error::CorruptStore { reason, .. }) => Ok(vec![Fault::Tables { reason }]),
            other => other,
        }
    }

    /// A dropped trigger lets records be changed, and an added one may change them by itself.
    fn verify_structure(&self, connection: &Connection) -> Result<Vec<Fault>, Error> {
        let found = self.query(connection, "read the tables' definitions", database::structure)?;
        let expected = self.query(connection, "make the tables' definitions", |_| {
            database::expected_structure()
        })?;
        let fault = |(kind, name): &(String, String), what| Fault::Tables {
            reason: format!("the {kind} `{name}` {what}"),
        };
        let missing = expected.iter().filter_map(|(key, definition)| match found.get(key) {
            Some(other) if other == definition => None,
            Some(_) => Some(fault(key, "is not defined as this version defines it")),
            None => Some(fault(key, "is missing")),
        });
        let added = found.keys().filter(|key| !expected.contains_key(*key));
        Ok(missing
            .chain(added.map(|key| fault(key, "does not belong to a journal")))
            .collect())
    }

    /// The faults of the database's own structure and of every task.
    ///
    /// # Errors
    /// As [`Store::verify`]; `corrupt_store` where not even the list of tasks can be read.
    pub fn verify_all(&self) -> Result<Vec<(Option<TaskId>, Fault)>, Error> {
        let answers: Vec<String> = self.query(&self.reader(), "check the tables", |connection| {
            connection
                .prepare("PRAGMA integrity_check(20)")?
                .query_map([], |row| row.get(0))?
                .collect()
        })?;
        let mut faults: Vec<_> = answers
            .into_iter()
            .filter(|answer| answer != "ok")
            .map(|reason| (None, Fault::Tables { reason }))
            .collect();
        let orphaned = self.query(&self.reader(), "look for records without a task", |connection| {
            connection.prepare("PRAGMA foreign_key_check")?.exists([])
        })?;
        if orphaned {
            let reason = "records of a task that is gone".to_owned();
            faults.push((None, Fault::Tables { reason }));
        }
        let structure = self.verify_structure(&self.reader())?;
        faults.extend(structure.into_iter().map(|fault| (None, fault)));
        faults.extend(ledger::check_chain(self, &self.reader())?.map(|fault| (None, fault)));
        for summary in self.list_all()? {
            let task = summary.task_id;
            let reader = self.reader();
            let transaction = self.begin_to_read(&reader)?;
            let found = self.verify_task(&transaction, &task)?;
            faults.extend(found.into_iter().map(|fault| (Some(task.clone()), fault)));
        }
        Ok(faults)
    }

    fn verify_on(&self, connection: &Connection, task: &TaskId) -> Result<Vec<Fault>, Error> {
        let kept = self.required(connection, task)?;
        let records = self.query(connection, "read the history", |connection| {
            Stored::all(connection, task)
        })?;
        let mut faults = Vec::new();
        let mut end = End::default();
        for record in &records {
            replay(task, record, &mut end, &mut faults);
        }
        faults.extend(end.differs(&kept).map(|column| Fault::End { column }));
        faults.extend(ledger::compare(self, connection, task, &records)?);
        // After a record that could not be replayed, every later state differs; one fault for one cause.
        let replayed = !end.broken;
        if replayed {
            let column = match end.task.as_ref() == Some(&kept.task) {
                true => self.column_that_differs(connection, &kept)?,
                false => Some("state"),
            };
            faults.extend(column.map(|column| Fault::State { column }));
        }
        if kept.task.was_owned() && !self.shared.directory.check_name(&crate::owner::lock_name(task))? {
            faults.push(Fault::LockMissing);
        }
        Ok(faults)
    }

    /// The first column that is not what the kept state says.
    fn column_that_differs(&self, connection: &Connection, kept: &Current) -> Result<Option<&'static str>, Error> {
        let task = &kept.task;
        self.query(connection, "read the task", |connection| {
            connection
                .prepare_cached(
                    "SELECT CASE WHEN revision <> ?2 THEN 'revision' WHEN title <> ?3 THEN 'title' WHEN turn <> ?4 THEN 'turn'
                     WHEN status <> ?5 THEN 'status' WHEN execution <> ?6 THEN 'execution' WHEN checks <> ?7 THEN 'checks'
                     WHEN tree <> ?8 THEN 'tree' WHEN reserved <> ?9 THEN 'reserved' END FROM tasks WHERE task_id = ?1",
                )?
                .query_row(
                    rusqlite::params![
                        task.task_id.as_str(),
                        task.revision,
                        task.intent.title,
                        task.turn(),
                        task.status.as_str(),
                        task.execution.as_str(),
                        task.checks.as_str(),
                        task.intent.workspace.path,
                        task.reserves_tree()
                    ],
                    |row| row.get::<_, Option<String>>(0),
                )
        })
        .map(|found| COLUMNS.into_iter().find(|column| found.as_deref() == Some(*column)))
    }
}

/// The columns of `tasks` that are drawn from the state.
const COLUMNS: [&str; 8] = [
    "revision",
    "title",
    "turn",
    "status",
    "execution",
    "checks",
    "tree",
    "reserved",
];

#[derive(Default)]
struct End {
    task: Option<Task>,
    sequence: u64,
    digest: Option<Digest>,
    events: u64,
    bytes: u64,
    broken: bool,
}

impl End {
    /// The first column in which `kept` has another end.
    fn differs(&self, kept: &Current) -> Option<&'static str> {
        let differ = [
            ("sequence", self.sequence != kept.sequence),
            ("digest", self.digest != Some(kept.digest)),
            ("events", self.events != kept.events),
            ("bytes", self.bytes != kept.bytes),
        ];
        differ
            .into_iter()
            .find_map(|(column, differs)| differs.then_some(column))
    }
}

fn replay(task: &TaskId, record: &Stored, end: &mut End, faults: &mut Vec<Fault>) {
    let sequence = record.sequence;
    if sequence != end.sequence + 1 {
        faults.push(Fault::Gap {
            expected: end.sequence + 1,
            found: sequence,
        });
    }
    if record.previous != end.digest {
        faults.push(Fault::Chain { sequence });
    }
    if record.digest != record.chain_digest(task) {
        faults.push(Fault::Digest { sequence });
    }
    end.sequence = sequence;
    end.digest = Some(record.digest);
    end.bytes += record.body.bytes();
    end.events += u64::from(matches!(record.body, Body::Event { .. }));
    if end.broken {
        return;
    }
    match step(end.task.as_ref(), task, record) {
        Ok((next, fault)) => {
            end.task = Some(next);
            faults.extend(fault);
        }
        Err(fault) => {
            end.broken = true;
            faults.push(fault);
        }
    }
}

fn step(before: Option<&Task>, task: &TaskId, record: &Stored) -> Result<(Task, Option<Fault>), Fault> {
    let sequence = record.sequence;
    let rules = Rules::from_number(record.rules).ok_or(Fault::Rules {
        sequence,
        found: record.rules,
    })?;
    let refused = |error: Error| Fault::Refused {
        sequence,
        code: error.code(),
    };
    let unreadable = Fault::Unreadable { sequence };
    match &record.body {
        Body::Command {
            command_id,
            request,
            request_digest,
            receipt,
        } => {
            let command = Command::parse_under(rules, request.as_bytes()).map_err(refused)?;
            if command.task_id != *task || command.command_id.as_str() != command_id {
                return Err(unreadable);
            }
            let next = apply_command(rules, before, &command).map_err(refused)?;
            let digest = Digest::of(request.as_bytes());
            let expected = Receipt::after(&next, &command.command_id, digest, sequence);
            let given = serde_json::from_str::<Receipt>(receipt).ok();
            let wrong = given.as_ref() != Some(&expected) || *request_digest != digest;
            Ok((next, wrong.then_some(Fault::Receipt { sequence })))
        }
        Body::Event { epoch, event } => {
            let event: Event = serde_json::from_str(event).map_err(|_| unreadable.clone())?;
            let before = before.ok_or(unreadable)?;
            let next = apply_event(rules, before, *epoch, &event).map_err(refused)?;
            Ok((next, None))
        }
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
