-- Records are the truth; `tasks` is what replaying them gives, kept for quick reading and compared by `verify`.
CREATE TABLE tasks (
    task_id   TEXT PRIMARY KEY,
    revision  INTEGER NOT NULL,
    title     TEXT NOT NULL,
    turn      INTEGER NOT NULL,
    status    TEXT NOT NULL,
    execution TEXT NOT NULL,
    checks    TEXT NOT NULL,
    -- The tree the task works on, and whether it keeps others out of it now.
    tree      TEXT NOT NULL,
    reserved  INTEGER NOT NULL CHECK (reserved IN (0, 1)),
    -- The last record, and what all records together amount to.
    sequence  INTEGER NOT NULL,
    digest    BLOB NOT NULL CHECK (length(digest) = 32),
    events    INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    state     TEXT NOT NULL,
    -- When the task was put away; it then counts for no bound of the store and takes no step. No record says this: it is how
    -- the store is used, and nothing that was asked of the task.
    archived  INTEGER
) STRICT;

CREATE INDEX tasks_reserved ON tasks (task_id) WHERE reserved = 1;
-- Holds what the bounds count, so that counting reads no task's state.
CREATE INDEX tasks_counted ON tasks (sequence, events) WHERE archived IS NULL;

CREATE TABLE commands (
    command_id     TEXT PRIMARY KEY,
    task_id        TEXT NOT NULL REFERENCES tasks (task_id),
    sequence       INTEGER NOT NULL CHECK (sequence > 0),
    rules          INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    request        TEXT NOT NULL,
    request_digest BLOB NOT NULL UNIQUE CHECK (length(request_digest) = 32),
    receipt        TEXT NOT NULL,
    previous       BLOB CHECK (previous IS NULL OR length(previous) = 32),
    digest         BLOB NOT NULL CHECK (length(digest) = 32),
    UNIQUE (task_id, sequence)
) STRICT;

CREATE TABLE events (
    task_id  TEXT NOT NULL REFERENCES tasks (task_id),
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    epoch    INTEGER NOT NULL CHECK (epoch > 0),
    rules    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    event    TEXT NOT NULL,
    previous BLOB CHECK (previous IS NULL OR length(previous) = 32),
    digest   BLOB NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (task_id, sequence)
) STRICT;

-- Every record of every task in the order of acceptance, each entry tied to the one before: a record taken away together with
-- what its task's row says of it is still named here, by its own entry and by the digest of every later one.
CREATE TABLE ledger (
    position INTEGER PRIMARY KEY CHECK (position > 0),
    task_id  TEXT NOT NULL REFERENCES tasks (task_id),
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    record   BLOB NOT NULL CHECK (length(record) = 32),
    digest   BLOB NOT NULL CHECK (length(digest) = 32),
    UNIQUE (task_id, sequence)
) STRICT;

CREATE TRIGGER commands_stay BEFORE UPDATE ON commands BEGIN SELECT RAISE(ABORT, 'a command is never changed'); END;
CREATE TRIGGER commands_last BEFORE DELETE ON commands BEGIN SELECT RAISE(ABORT, 'a command is never deleted'); END;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;
CREATE TRIGGER events_last BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
CREATE TRIGGER tasks_last BEFORE DELETE ON tasks BEGIN SELECT RAISE(ABORT, 'a task is never deleted'); END;
CREATE TRIGGER ledger_stays BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER ledger_last BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'an entry is never deleted'); END;
