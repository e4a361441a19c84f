//! Failures that can be provoked only through the connection itself.

use super::*;
use crate::conformance::records;
use rusqlite::Error;
use std::path::PathBuf;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("shipmate-log-unit-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn open(&self) -> SqliteLog {
        SqliteLog::open(self.0.join("log.db"), Durability::Power).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn limit_pages(log: &SqliteLog, pages: i64) {
    log.db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
}

#[test]
fn without_space_nothing_is_written_reads_go_on_and_appends_resume_with_space() {
    let place = Place::new("full");
    let mut log = place.open();
    log.append_now(0, &records("kept", 3)).unwrap();
    limit_pages(&log, 6);
    let large = vec!["x".repeat(3000); 2];
    let mut end = 3;
    let failure = loop {
        match log.append_now(end, &large) {
            Ok(grown) => end = grown,
            Err(failure) => break failure,
        }
    };
    assert!(matches!(failure, AppendFailure::Full(_)), "{failure:?}");
    let outcome = log.append_now(end, &large[..1]);
    assert!(matches!(outcome, Err(AppendFailure::Full(_)) | Ok(_)), "{outcome:?}");
    let end = outcome.unwrap_or(end);
    let snapshot = Snapshot { position: end, text: "s".repeat(50_000) };
    assert!(log.save_snapshot_now(&snapshot).is_err());
    assert_eq!(log.load_snapshot_now(), Ok(None));
    assert_eq!(log.verify_now().unwrap().records, end);
    assert_eq!(log.append_now(end, &[]), Ok(end));

    limit_pages(&log, 1000);
    assert_eq!(log.append_now(end, &large), Ok(end + 2));
    log.save_snapshot_now(&snapshot).unwrap();
    drop(log);
    assert_eq!(place.open().verify_now().unwrap().records, end + 2);
}

fn failed(code: i32) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

#[test]
fn after_a_failed_sync_a_handle_confirms_nothing_more_and_a_new_one_does() {
    let place = Place::new("sync");
    let mut log = place.open();
    log.append_now(0, &records("a", 2)).unwrap();
    let failure = log.not_appended(&failed(ffi::SQLITE_IOERR_FSYNC));
    assert!(matches!(failure, AppendFailure::Broken(_)), "{failure:?}");
    for batch in [records("b", 1), records("b", 2), vec![]] {
        let outcome = log.append_now(2, &batch);
        assert!(matches!(outcome, Err(AppendFailure::Broken(_))), "{outcome:?}");
    }
    assert!(log.save_snapshot_now(&Snapshot { position: 2, text: "s".into() }).is_err());
    assert_eq!(log.read_now(0, 9).unwrap().len(), 2);
    drop(log);
    assert_eq!(place.open().append_now(2, &records("b", 1)), Ok(3));
}

#[test]
fn sqlite_codes_are_told_apart_by_what_they_mean_for_the_handle() {
    for (code, trouble) in [
        (ffi::SQLITE_FULL, Trouble::Full),
        (ffi::SQLITE_BUSY, Trouble::Busy),
        (ffi::SQLITE_BUSY_SNAPSHOT, Trouble::Busy),
        (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, Trouble::Taken),
        (ffi::SQLITE_IOERR_FSYNC, Trouble::Fatal),
        (ffi::SQLITE_IOERR_WRITE, Trouble::Fatal),
        (ffi::SQLITE_IOERR_SHMSIZE, Trouble::Fatal),
        (ffi::SQLITE_CORRUPT, Trouble::Fatal),
        (ffi::SQLITE_NOTADB, Trouble::Fatal),
        (ffi::SQLITE_NOMEM, Trouble::Fatal),
    ] {
        assert_eq!(classify(&failed(code)), trouble, "{code}");
    }
}

#[test]
fn the_durability_asked_for_is_the_one_the_connection_has() {
    let place = Place::new("durability");
    for (durability, expected) in [(Durability::Power, 2), (Durability::Process, 1)] {
        let log = SqliteLog::open(place.0.join("log.db"), durability).unwrap();
        let level: i64 = log.db.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
        let mode: String = log.db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!((level, mode.as_str()), (expected, "wal"));
    }
}
