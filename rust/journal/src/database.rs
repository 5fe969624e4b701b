//! The database file: made whole under another name and then renamed, so that it is either absent or complete; opened
//! with every safety SQLite offers; refused when a newer program wrote it. What the tables mean is not known here.

use crate::Error;
use crate::directory::{Missing, PrivateDirectory};
use crate::reserve;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

pub(crate) const NAME: &str = "journal.db";
pub(crate) const LOG_NAME: &str = "journal.db-wal";
const INDEX_NAME: &str = "journal.db-shm";
const ROLLBACK_NAME: &str = "journal.db-journal";
const NEW_NAME: &str = ".journal.db.new";
/// "MCJ1" as a number: tells our file from any other SQLite database.
const APPLICATION: i64 = 0x4d43_4a31;
/// The format version this program writes, and the only one it reads: format 1 had no ledger and was never released.
const FORMAT: i64 = 2;
const SCHEMA: &str = include_str!("schema.sql");

const PAUSE: Duration = Duration::from_millis(2);
/// With [`PAUSE`], at least 60 s. A lock is held for one commit, so only a stopped process can use this up; a shorter wait
/// was seen to refuse honest writers on a loaded machine.
const TRIES: i32 = 30_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Makes the database unless it is there, then checks it and its companions by name.
pub(crate) fn prepare(directory: &PrivateDirectory, access: Access) -> Result<(), Error> {
    if access == Access::Write && !directory.check_name(NAME)? {
        create(directory)?;
    }
    if !directory.check_name(NAME)? {
        return Err(Error::io("open", &directory.join(NAME), io::ErrorKind::NotFound.into()));
    }
    for companion in [LOG_NAME, INDEX_NAME] {
        directory.check_name(companion)?;
    }
    // Played back, it would put older pages under the log; no journal of ours ever has one.
    if length(directory, ROLLBACK_NAME)? > 0 {
        let reason = format!("{ROLLBACK_NAME} lies beside it, which is of another database: move it away");
        return Err(Error::corrupt(&directory.join(NAME), reason));
    }
    Ok(())
}

/// The length of a file that may be missing, which is then none.
fn length(directory: &PrivateDirectory, name: &str) -> Result<u64, Error> {
    if !directory.check_name(name)? {
        return Ok(0);
    }
    let path = directory.join(name);
    let status = path
        .symlink_metadata()
        .map_err(|source| Error::io("inspect", &path, source))?;
    Ok(status.len())
}

fn create(directory: &PrivateDirectory) -> Result<(), Error> {
    let path = directory.path();
    // The directory itself is the lock: nothing to create, nothing left behind, freed when we die.
    let lock = File::open(path).map_err(|source| Error::io("open", path, source))?;
    wait_for(&lock, path, TRIES)?;
    if directory.check_name(NAME)? {
        return Ok(());
    }
    refuse_orphans(directory)?;
    let new = directory.join(NEW_NAME);
    for leftover in [
        NEW_NAME,
        ".journal.db.new-wal",
        ".journal.db.new-shm",
        ".journal.db.new-journal",
    ] {
        let leftover = directory.join(leftover);
        match std::fs::remove_file(&leftover) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::io("remove", &leftover, source)),
        }
    }
    // Made by us and not by SQLite, whose files would be open to all that the umask allows.
    directory.file(NEW_NAME, Missing::Create)?;
    build(&new)?;
    let act = |act| move |source| Error::io(act, &directory.join(NAME), source);
    let file = File::open(&new).map_err(act("open"))?;
    file.sync_all().map_err(act("sync"))?;
    std::fs::rename(&new, directory.join(NAME)).map_err(act("create"))?;
    directory.sync()
}

/// A database that is gone while its companions stayed was lost, and must not be started anew.
fn refuse_orphans(directory: &PrivateDirectory) -> Result<(), Error> {
    let path = directory.path();
    let entries = std::fs::read_dir(path).map_err(|source| Error::io("list", path, source))?;
    for entry in entries {
        let name = entry.map_err(|source| Error::io("list", path, source))?.file_name();
        let bytes = name.as_encoded_bytes();
        if name == LOG_NAME || (bytes.starts_with(b"owner-") && bytes.ends_with(b".lock")) {
            let reason = format!("it is missing, but {} belongs to it", name.display());
            return Err(Error::corrupt(&directory.join(NAME), reason));
        }
    }
    Ok(())
}

/// What the database is made of: kind, name and definition of each table, index, trigger and view.
pub(crate) type Structure = BTreeMap<(String, String), Option<String>>;

/// What `connection` has.
pub(crate) fn structure(connection: &Connection) -> rusqlite::Result<Structure> {
    connection
        .prepare_cached("SELECT type, name, sql FROM sqlite_schema")?
        .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
        .collect()
}

/// What this version makes; made once, since each taking of a task compares with it.
pub(crate) fn expected_structure() -> rusqlite::Result<&'static Structure> {
    static MADE: OnceLock<Structure> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    let made = structure(&connection)?;
    Ok(MADE.get_or_init(|| made))
}

fn build(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::database("create the tables", path, source);
    let connection = connect(path, Access::Write, Place::Shared)?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        return Err(Error::UnsafePath {
            path: path.to_owned(),
            reason: "its file system cannot share memory between processes, which the journal needs",
        });
    }
    connection
        .execute_batch(&format!(
            "BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
        ))
        .map_err(failed)?;
    connection.close().map_err(|(_, source)| failed(source))
}

/// Opens the database of `directory` and checks that it is ours and not newer than this program.
pub(crate) fn open(directory: &PrivateDirectory, access: Access) -> Result<Connection, Error> {
    match open_once(directory, access) {
        // Even reading needs a little room for the index of the log; that is what the reserve is for.
        Err(Error::DiskFull { .. }) => {
            reserve::release(directory)?;
            open_once(directory, access)
        }
        other => other,
    }
}

fn open_once(directory: &PrivateDirectory, access: Access) -> Result<Connection, Error> {
    let path = directory.join(NAME);
    let connection = connect(&path, access, place(directory, access)?)?;
    let number = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(|source| Error::database("read the format", &path, source))
    };
    if number("application_id")? != APPLICATION {
        return Err(Error::corrupt(&path, "it is not a journal"));
    }
    match number("user_version")? {
        FORMAT => Ok(connection),
        found if found > FORMAT => Err(Error::NewerStore {
            path,
            found,
            supported: FORMAT,
        }),
        found if found > 0 => Err(Error::OlderStore {
            path,
            found,
            supported: FORMAT,
        }),
        found => Err(Error::corrupt(&path, format!("it has no store format {found}"))),
    }
}

/// Whether anybody can change the database while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Shared,
    /// Nothing can be written there, and no process has it open.
    Still,
}

/// Even a reader makes the log and its index where they are missing. Where it cannot, the database file alone is read: right
/// only while all records are in it, and nobody at work, who would have made the index.
fn place(directory: &PrivateDirectory, access: Access) -> Result<Place, Error> {
    if access == Access::Write || directory.check_name(INDEX_NAME)? || directory.is_writable()? {
        return Ok(Place::Shared);
    }
    match length(directory, LOG_NAME)? {
        0 => Ok(Place::Still),
        _ => Err(Error::ReadOnlyPlace {
            path: directory.join(NAME),
            log: directory.join(LOG_NAME),
        }),
    }
}

/// The path as a URI that tells SQLite to take no lock and look for no log.
fn still(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

fn connect(path: &Path, access: Access, place: Place) -> Result<Connection, Error> {
    let failed = |source| Error::database("open the journal", path, source);
    let mode = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let flags = mode | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match place {
        Place::Shared => Connection::open_with_flags(path, flags),
        Place::Still => Connection::open_with_flags(still(path), flags | OpenFlags::SQLITE_OPEN_URI),
    };
    let mut connection = opened.map_err(failed)?;
    // Short even pauses: SQLite's own handler backs off to 100 ms, under which the unlucky of many writers starve.
    let busy = |tries| {
        sleep(PAUSE);
        tries < TRIES
    };
    connection.busy_handler(Some(busy)).map_err(failed)?;
    connection
        .execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA synchronous = FULL;
             PRAGMA trusted_schema = OFF;",
        )
        .map_err(failed)?;
    Ok(connection)
}

/// Takes an exclusive lock on an open file description, trying `tries` times.
///
/// This is `flock`: like the `F_OFD_SETLK` kind it belongs to the description and not to the process, so closing another
/// descriptor of the same file does not drop it, and two owners inside one process exclude each other too.
pub(crate) fn wait_for(file: &File, path: &Path, tries: i32) -> Result<(), Error> {
    let mut left = tries;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if left > 0 => {
                left -= 1;
                sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => return Err(Error::StoreBusy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path, source)),
        }
    }
}

/// How many tries of [`wait_for`] make `wait`.
pub(crate) fn tries_in(wait: Duration) -> i32 {
    i32::try_from(wait.as_millis() / PAUSE.as_millis()).unwrap_or(i32::MAX)
}
