//! Opening the file: whose it is, whether all that was acknowledged is there, and the settings.
//!
//! Nothing is written before the file is known to be ours and whole. Until then the connection may
//! not even tidy up on close, because a write-ahead log with a flaw in the middle still holds what
//! a person may want to rescue.
//!
//! A disk without space is no reason not to read: what opening has to write is then owed before
//! the first append.

use super::mark::Mark;
use super::{Durability, SqliteLog, place};
use crate::OpenFailure;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;

/// "ship": what `file` and others tell our files by.
const APPLICATION_ID: i32 = 0x7368_6970;

/// Grows when an older release could no longer read the file.
const FORMAT: i32 = 1;

/// Every append writes the last page of the table again, so small pages write less; below this,
/// records of some hundred bytes would no longer share one. Measured against SQLite's usual 4096:
/// half as many appends again per second.
const PAGE_BYTES: i32 = 2048;

/// Pages in the write-ahead log before SQLite moves them into the file: 16 MiB. More would make
/// the pause longer, fewer would pay for the pause more often.
const CHECKPOINT_PAGES: i32 = 8000;

/// What the write-ahead log is cut back to after one append or snapshot has made it larger.
const WAL_BYTES_KEPT: i32 = 32 * 1024 * 1024;

/// How long a write waits for another program that has the file locked. Ours is the only writer,
/// so this is a person with a SQLite shell.
const BUSY_FOR: Duration = Duration::from_secs(2);

const TABLES: &str = "
    CREATE TABLE record (
        position INTEGER PRIMARY KEY, text TEXT NOT NULL, crc INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE snapshot (
        position INTEGER PRIMARY KEY, text TEXT NOT NULL, crc INTEGER NOT NULL
    ) STRICT;
";

impl SqliteLog {
    /// Opens the log at `path`, or creates it there; `<path>.lock`, `<path>.mark` and SQLite's own
    /// `<path>-wal` and `<path>-shm` belong to it.
    pub fn open(path: impl AsRef<Path>, durability: Durability) -> Result<Self, OpenFailure> {
        let path = path.as_ref();
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        place::check(directory)?;
        let lock = lock(path)?;
        let mark_path = beside(path, ".mark");
        let (mark, owed) =
            Mark::open(&mark_path, durability).map_err(|error| not_writable(&mark_path, &error))?;
        let opened = open_database(path, durability, owed, Sharing::WithReaders);
        let (db, end) = opened
            .or_else(|flaw| match &flaw {
                // Its shared memory takes some space too, and is not needed by one alone.
                Flaw::Sqlite(error) if !is_elsewhere(error) => {
                    open_database(path, durability, owed, Sharing::Alone).map_err(|_| flaw)
                }
                _ => Err(flaw),
            })
            .map_err(|failure| failure.explain(path, &mark_path, owed))?;
        let mut log = Self {
            db,
            place: path.display().to_string(),
            end,
            mark,
            followers: watch::Sender::new(end),
            broken: None,
            is_settled: false,
            _lock: lock,
        };
        if end > 0 {
            log.read_now(end - 1, 1).map_err(|failure| OpenFailure::Damaged {
                place: log.place.clone(),
                reason: failure.to_string(),
            })?;
        }
        match log.settle() {
            Err(error) if is_elsewhere(&error) => {
                let reason = format!("{} is locked: {error}", log.place);
                return Err(OpenFailure::Unavailable(reason));
            }
            // The first append tries again, and says why not.
            Ok(()) | Err(_) => {}
        }
        Ok(log)
    }

    /// Takes possession of a file that was found whole.
    ///
    /// What was read may sit in the page cache only, after a sync that failed under an earlier
    /// opener. Moving it into the file writes and syncs it once more, before anything is
    /// acknowledged on top of it.
    pub(super) fn settle(&mut self) -> rusqlite::Result<()> {
        checkpoint(&self.db)?;
        keep_wal_on_close(&self.db, false);
        self.mark.acknowledge(self.end);
        self.is_settled = true;
        Ok(())
    }
}

/// Whether other programs may read the file meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    WithReaders,
    Alone,
}

/// It is another program that is in the way.
fn is_elsewhere(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Moves everything from the write-ahead log into the file, synced, and starts the former anew.
///
/// It keeps its length: a sync after writing over old blocks takes about two thirds of the time of
/// one after the file has grown, and far less next to other writers on the same disk.
pub(super) fn checkpoint(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
}

/// Closing the last connection normally empties the write-ahead log into the file and deletes it.
pub(super) fn keep_wal_on_close(db: &Connection, keep: bool) {
    // It fails only for a connection that is not open.
    let _ = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep);
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The kernel releases the lock with the process, so a crash leaves nothing to clean up. The file
/// itself stays: removing it would let two processes lock two different files of one name.
fn lock(path: &Path) -> Result<File, OpenFailure> {
    let lock_path = beside(path, ".lock");
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&lock_path)
        .map_err(|error| not_writable(&lock_path, &error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(OpenFailure::InUse { place: path.display().to_string() }),
        Err(error) => Err(not_writable(&lock_path, &error.into())),
    }
}

fn not_writable(path: &Path, error: &io::Error) -> OpenFailure {
    OpenFailure::Unsuitable(format!(
        "{} cannot be written: {error}; make its directory writable for this user, with some free \
         space",
        path.display()
    ))
}

/// What can be wrong with the file itself, before it has words for a person.
enum Flaw {
    Sqlite(rusqlite::Error),
    OtherApplication,
    NewerFormat(i32),
    Short { found: u64 },
    StartsAt(i64),
    NotWal(String),
}

impl From<rusqlite::Error> for Flaw {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn open_database(
    path: &Path,
    durability: Durability,
    owed: u64,
    sharing: Sharing,
) -> Result<(Connection, u64), Flaw> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    keep_wal_on_close(&db, true);
    db.busy_timeout(BUSY_FOR)?;
    if sharing == Sharing::Alone {
        // Before anything is read: the index of the write-ahead log is then kept in memory.
        db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    let new = identify(&db)?;
    if new && owed > 0 {
        return Err(Flaw::Short { found: 0 });
    }
    if new {
        db.pragma_update(None, "page_size", PAGE_BYTES)?;
    }
    let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Flaw::NotWal(mode));
    }
    let synchronous = match durability {
        Durability::Power => "FULL",
        Durability::Process => "NORMAL",
    };
    db.pragma_update(None, "synchronous", synchronous)?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    db.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    if new {
        db.execute_batch(&format!(
            "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID}; \
             PRAGMA user_version = {FORMAT}; COMMIT;"
        ))?;
    }
    // Two questions: asked in one, SQLite would go through the whole table.
    let first = "SELECT ifnull(min(position), 1) FROM record";
    let start: i64 = db.query_row(first, [], |row| row.get(0))?;
    let last = "SELECT ifnull(max(position), 0) FROM record";
    let end: i64 = db.query_row(last, [], |row| row.get(0))?;
    if start != 1 {
        return Err(Flaw::StartsAt(start));
    }
    let end = end as u64;
    if end < owed {
        return Err(Flaw::Short { found: end });
    }
    Ok((db, end))
}

/// Whether the file is still empty; anything else must be a log of ours.
fn identify(db: &Connection) -> Result<bool, Flaw> {
    let application: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format: i32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: u32 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, format, tables) {
        (0, 0, 0) => Ok(true),
        (APPLICATION_ID, ..=FORMAT, _) => Ok(false),
        (APPLICATION_ID, newer, _) => Err(Flaw::NewerFormat(newer)),
        _ => Err(Flaw::OtherApplication),
    }
}

impl Flaw {
    fn explain(self, path: &Path, mark_path: &Path, owed: u64) -> OpenFailure {
        let place = path.display().to_string();
        match self {
            Self::OtherApplication => OpenFailure::Unsuitable(format!(
                "{place} is a database of another application: name another file for the log"
            )),
            Self::NewerFormat(format) => OpenFailure::Unsuitable(format!(
                "{place} has format {format}, written by a newer release; this one reads up to \
                 format {FORMAT}: update shipmate"
            )),
            Self::NotWal(mode) => OpenFailure::Unsuitable(format!(
                "{place} cannot keep a write-ahead log (its journal mode stays {mode}): keep the \
                 state directory on a local disk"
            )),
            Self::StartsAt(start) => {
                OpenFailure::Damaged { place, reason: format!("its first record is {start}") }
            }
            Self::Short { found } => OpenFailure::Damaged {
                reason: format!(
                    "it ends at record {found}, but records up to {owed} were acknowledged; \
                     restore {place} and {place}-wal, or remove {} to go on without the rest",
                    mark_path.display()
                ),
                place,
            },
            Self::Sqlite(error) => explain_sqlite(place, &error, owed),
        }
    }
}

fn explain_sqlite(place: String, error: &rusqlite::Error, owed: u64) -> OpenFailure {
    match error.sqlite_error_code() {
        _ if is_elsewhere(error) => {
            OpenFailure::Unavailable(format!("{place} is locked by another program: {error}"))
        }
        Some(ErrorCode::NotADatabase) if owed == 0 => OpenFailure::Unsuitable(format!(
            "{place} is not a database: name another file for the log, or move this one away"
        )),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            OpenFailure::Unsuitable(format!(
                "{place} cannot be written: {error}; make it and its directory writable for this \
                 user"
            ))
        }
        Some(ErrorCode::DiskFull) => OpenFailure::Unsuitable(format!(
            "there is no space for {place}: make some and try again"
        )),
        _ => OpenFailure::Damaged {
            reason: format!("{error}; restore {place} and {place}-wal from a copy"),
            place,
        },
    }
}
