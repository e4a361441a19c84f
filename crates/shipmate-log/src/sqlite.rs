//! The log in one SQLite file: the default, for one machine and one coordinator.
//!
//! What must hold:
//! - One opener. A kernel lock on `<path>.lock` keeps others out and falls with its process; that is
//!   what allows the end to be kept in memory instead of being read for every append.
//! - One transaction per append, synced before it returns under [`Durability::Power`].
//! - Every record carries a checksum over its position and text, checked at every read; positions
//!   are dense. Damage is named by position and file and is never a silently shorter history.
//! - Calls block. The caller groups commands into appends, so exactly one sync is in flight and
//!   there is nothing to gain from another thread.
//!
//! What SQLite does not report and `<path>.mark` does: a write-ahead log that was cut short or
//! flipped is read up to its last good transaction, as if the rest had never been committed. The
//! mark keeps the acknowledged end beside the file (see `mark`). What cannot be noticed: the loss
//! of file and mark together, a roll-back of both to an older copy, and a change made by somebody
//! who also renews the checksums.
//!
//! The file may be read by others meanwhile (`sqlite3 'file:log.db?mode=ro'`), though a reader that
//! stays inside one transaction keeps the write-ahead log from being reused.

mod mark;
mod open;
mod place;
#[cfg(test)]
mod tests;

use self::mark::Mark;
use crate::contract::{READ_BYTES_MAX, check_size, checksum};
use crate::{
    AppendFailure, EndWatch, Log, ReadFailure, Record, Snapshot, SnapshotFailure, Verified,
};
use rusqlite::{CachedStatement, Connection, ErrorCode, ffi, params};
use std::fs::File;
use tokio::sync::watch;

/// Far above any real batch, and low enough that one append cannot fill memory or disk.
const APPEND_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How many snapshots the file keeps: the newest, and one to fall back to if it is damaged.
const SNAPSHOTS_KEPT: u32 = 2;

/// What an acknowledged append survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The loss of power: every append waits for the disk.
    #[default]
    Power,
    /// The death of the process. A loss of power may take the last seconds with it, but never
    /// leaves a gap or a half append.
    Process,
}

/// The log in one SQLite file.
#[derive(Debug)]
pub struct SqliteLog {
    db: Connection,
    /// The path, as failures name it.
    place: String,
    end: u64,
    mark: Mark,
    followers: watch::Sender<u64>,
    broken: Option<String>,
    /// What was found in the file is synced; see `settle`.
    is_settled: bool,
    /// Declared last, so that it is released after the connection is closed.
    _lock: File,
}

impl SqliteLog {
    /// [`Log::append`] without an executor.
    pub fn append_now(
        &mut self,
        expected_end: u64,
        records: &[String],
    ) -> Result<u64, AppendFailure> {
        if let Some(reason) = &self.broken {
            return Err(AppendFailure::Broken(reason.clone()));
        }
        check_size(records, APPEND_BYTES_MAX)?;
        if expected_end != self.end {
            return Err(AppendFailure::Conflict { end: self.end });
        }
        if records.is_empty() {
            return Ok(self.end);
        }
        if !self.is_settled
            && let Err(error) = self.settle()
        {
            return Err(self.not_appended(&error));
        }
        if let Err(error) = self.insert(records) {
            return Err(self.not_appended(&error));
        }
        self.end += records.len() as u64;
        self.mark.acknowledge(self.end);
        self.followers.send_replace(self.end);
        Ok(self.end)
    }

    fn insert(&self, records: &[String]) -> rusqlite::Result<()> {
        const INSERT: &str = "INSERT INTO record (position, text, crc) VALUES (?1, ?2, ?3)";
        let mut statement = self.db.prepare_cached(INSERT)?;
        // A single statement is a transaction of its own, and saves two more.
        if let [text] = records {
            return insert_one(&mut statement, self.end + 1, text);
        }
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for (position, text) in (self.end + 1..).zip(records) {
            insert_one(&mut statement, position, text)?;
        }
        self.db.prepare_cached("COMMIT")?.execute([]).map(drop)
    }

    fn not_appended(&mut self, error: &rusqlite::Error) -> AppendFailure {
        self.roll_back();
        match classify(error) {
            Trouble::Taken => match self.stored_end() {
                Ok(end) if end != self.end => {
                    self.end = end;
                    AppendFailure::Conflict { end }
                }
                _ => self.break_down(error),
            },
            Trouble::Full => AppendFailure::Full(format!("{}: {error}", self.place)),
            Trouble::Busy => AppendFailure::Unconfirmed(format!(
                "{} is locked by another program: {error}",
                self.place
            )),
            Trouble::Fatal => self.break_down(error),
        }
    }

    /// Leaves no transaction open after a failure. SQLite has often rolled back by itself.
    fn roll_back(&mut self) {
        if !self.db.is_autocommit()
            && let Err(error) = self.db.execute_batch("ROLLBACK")
        {
            self.break_down(&error);
        }
    }

    /// Gives no confirmation from here on: after a failed sync the kernel may drop what it could
    /// not write and report the next sync as good. Opening the file anew writes and syncs again.
    fn break_down(&mut self, error: &rusqlite::Error) -> AppendFailure {
        let reason = format!("{}: {error}", self.place);
        open::keep_wal_on_close(&self.db, true);
        self.broken = Some(reason.clone());
        AppendFailure::Broken(reason)
    }

    fn stored_end(&self) -> rusqlite::Result<u64> {
        self.db
            .prepare_cached("SELECT ifnull(max(position), 0) FROM record")?
            .query_row([], |row| Ok(row.get::<_, i64>(0)? as u64))
    }

    /// [`Log::read`] without an executor.
    pub fn read_now(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        let wanted = self.end.saturating_sub(after).min(max as u64);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let mut page = Vec::with_capacity(wanted.min(4096) as usize);
        self.read_into(&mut page, after, wanted).map_err(|failure| match failure {
            PageFailure::Sqlite(error) => self.not_read(after + page.len() as u64 + 1, &error),
            PageFailure::Damaged(reason) => self.damaged(after + page.len() as u64 + 1, reason),
        })?;
        Ok(page)
    }

    fn read_into(
        &self,
        page: &mut Vec<Record>,
        after: u64,
        wanted: u64,
    ) -> Result<(), PageFailure> {
        const SELECT: &str = "SELECT position, text, crc FROM record \
             WHERE position > ?1 ORDER BY position LIMIT ?2";
        let mut statement = self.db.prepare_cached(SELECT)?;
        let mut rows = statement.query(params![after as i64, wanted as i64])?;
        let mut bytes = 0;
        let mut position = after;
        while let Some(row) = rows.next()? {
            position += 1;
            let found: i64 = row.get(0)?;
            if found != position as i64 {
                return Err(PageFailure::Damaged(format!("the next record found is {found}")));
            }
            let stored = row.get_ref(1)?.as_bytes().map_err(rusqlite::Error::from)?;
            let text = intact(position, stored, row.get(2)?).map_err(PageFailure::Damaged)?;
            bytes += text.len();
            page.push(Record { position, text: text.to_owned() });
            if bytes >= READ_BYTES_MAX {
                return Ok(());
            }
        }
        if position < after + wanted {
            return Err(PageFailure::Damaged("it is missing".into()));
        }
        Ok(())
    }

    fn not_read(&self, position: u64, error: &rusqlite::Error) -> ReadFailure {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                ReadFailure::Unavailable(format!("{} is locked: {error}", self.place))
            }
            _ => self.damaged(position, error.to_string()),
        }
    }

    fn damaged(&self, position: u64, reason: String) -> ReadFailure {
        ReadFailure::Damaged { position, place: self.place.clone(), reason }
    }

    /// [`Log::save_snapshot`] without an executor.
    pub fn save_snapshot_now(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotFailure> {
        assert!(snapshot.position <= self.end, "a snapshot is of a state that was logged");
        if let Some(reason) = &self.broken {
            return Err(SnapshotFailure(reason.clone()));
        }
        if !self.is_settled {
            return Err(SnapshotFailure(format!("{} cannot be written now", self.place)));
        }
        let Err(error) = self.replace_snapshot(snapshot) else {
            return Ok(());
        };
        self.roll_back();
        if let Trouble::Fatal = classify(&error) {
            self.break_down(&error);
        }
        Err(SnapshotFailure(format!("{}: {error}", self.place)))
    }

    fn replace_snapshot(&self, snapshot: &Snapshot) -> rusqlite::Result<()> {
        let crc = checksum(snapshot.position, snapshot.text.as_bytes());
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        self.db.execute(
            "INSERT OR REPLACE INTO snapshot (position, text, crc) VALUES (?1, ?2, ?3)",
            params![snapshot.position as i64, snapshot.text, crc],
        )?;
        self.db.execute(
            "DELETE FROM snapshot WHERE position NOT IN \
             (SELECT position FROM snapshot ORDER BY position DESC LIMIT ?1)",
            [SNAPSHOTS_KEPT],
        )?;
        self.db.execute_batch("COMMIT")
    }

    /// [`Log::load_snapshot`] without an executor.
    pub fn load_snapshot_now(&mut self) -> Result<Option<Snapshot>, ReadFailure> {
        let newest = self.newest_snapshot().unwrap_or(None);
        if let Some(snapshot) = &newest
            && snapshot.position > self.end
        {
            let reason = format!("a snapshot of position {} exists", snapshot.position);
            return Err(self.damaged(self.end + 1, reason));
        }
        Ok(newest)
    }

    fn newest_snapshot(&self) -> rusqlite::Result<Option<Snapshot>> {
        const SELECT: &str = "SELECT position, text, crc FROM snapshot ORDER BY position DESC";
        let mut statement = self.db.prepare(SELECT)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let position = row.get::<_, i64>(0)? as u64;
            let stored = row.get_ref(1)?.as_bytes()?;
            if let Ok(text) = intact(position, stored, row.get(2)?) {
                return Ok(Some(Snapshot { position, text: text.to_owned() }));
            }
        }
        Ok(None)
    }

    /// [`Log::rest`] without an executor: brings the file itself up to date.
    pub fn rest_now(&mut self) {
        // If it fails or a reader is in the way, everything is still in the write-ahead log.
        let _ = open::checkpoint(&self.db);
    }

    /// [`Log::verify`] without an executor: also lets SQLite look for damage of its own kind.
    pub fn verify_now(&mut self) -> Result<Verified, ReadFailure> {
        let mut found = Verified { records: 0, bytes: 0 };
        while found.records < self.end {
            for record in self.read_now(found.records, 4096)? {
                found.records = record.position;
                found.bytes += record.text.len() as u64;
            }
        }
        let verdict: String = self
            .db
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.not_read(self.end, &error))?;
        if verdict != "ok" {
            return Err(self.damaged(self.end, verdict));
        }
        Ok(found)
    }
}

fn insert_one(
    statement: &mut CachedStatement<'_>,
    position: u64,
    text: &str,
) -> rusqlite::Result<()> {
    let crc = checksum(position, text.as_bytes());
    statement.execute(params![position as i64, text, crc]).map(drop)
}

/// The text as it was appended, or what is wrong with it.
fn intact(position: u64, stored: &[u8], crc: i64) -> Result<&str, String> {
    if i64::from(checksum(position, stored)) != crc {
        return Err("its checksum does not match".into());
    }
    std::str::from_utf8(stored).map_err(|error| error.to_string())
}

enum PageFailure {
    Sqlite(rusqlite::Error),
    Damaged(String),
}

impl From<rusqlite::Error> for PageFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// What a failed write means for the handle.
#[derive(Debug, PartialEq, Eq)]
enum Trouble {
    /// The position exists: a second writer got past the lock.
    Taken,
    /// Nothing was written for want of space.
    Full,
    /// Nothing was written because another program holds the file.
    Busy,
    /// A failed write or sync, damage, or something unheard of.
    Fatal,
}

fn classify(error: &rusqlite::Error) -> Trouble {
    let Some(sqlite) = error.sqlite_error() else {
        return Trouble::Fatal;
    };
    match sqlite.extended_code & 0xff {
        ffi::SQLITE_CONSTRAINT => Trouble::Taken,
        ffi::SQLITE_FULL => Trouble::Full,
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Trouble::Busy,
        _ => Trouble::Fatal,
    }
}

impl Log for SqliteLog {
    async fn append(
        &mut self,
        expected_end: u64,
        records: &[String],
    ) -> Result<u64, AppendFailure> {
        self.append_now(expected_end, records)
    }

    async fn read(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        self.read_now(after, max)
    }

    async fn end(&mut self) -> Result<u64, ReadFailure> {
        Ok(self.end)
    }

    fn follow(&mut self) -> EndWatch {
        EndWatch::new(self.followers.subscribe())
    }

    async fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotFailure> {
        self.save_snapshot_now(snapshot)
    }

    async fn load_snapshot(&mut self) -> Result<Option<Snapshot>, ReadFailure> {
        self.load_snapshot_now()
    }

    fn append_bytes_max(&self) -> usize {
        APPEND_BYTES_MAX
    }

    async fn rest(&mut self) {
        self.rest_now();
    }

    async fn verify(&mut self) -> Result<Verified, ReadFailure> {
        self.verify_now()
    }
}
