//! Where a SQLite log may be kept, and what is said where it may not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/temp.rs"]
mod temp;

use shipmate_log::conformance::records;
use shipmate_log::{AppendFailure, Durability, OpenFailure, SqliteLog};
use std::path::Path;
use temp::TempDir;

fn refused(path: &Path) -> String {
    match SqliteLog::open(path, Durability::Power) {
        Err(OpenFailure::Unsuitable(text)) => text,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_second_opener_is_told_that_the_log_is_in_use() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let first = SqliteLog::open(&path, Durability::Power).unwrap();
    let outcome = SqliteLog::open(&path, Durability::Power);
    assert!(matches!(outcome, Err(OpenFailure::InUse { .. })), "{outcome:?}");
    drop(first);
    SqliteLog::open(&path, Durability::Power).unwrap();
}

#[test]
fn a_database_of_another_application_is_refused_and_left_alone() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE diary (day TEXT)").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    let text = refused(&path);
    assert!(text.contains("log.db") && text.contains("another application"), "{text}");
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_newer_format_is_refused_with_the_remedy() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    drop(SqliteLog::open(&path, Durability::Power).unwrap());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 2").unwrap();
    drop(newer);
    let text = refused(&path);
    assert!(text.contains("format 2") && text.contains("update shipmate"), "{text}");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let note = "a note, long enough to be looked at twice. ".repeat(100);
    std::fs::write(&path, &note).unwrap();
    let text = refused(&path);
    assert!(text.contains("log.db is not a database"), "{text}");
    assert!(std::fs::read_to_string(&path).unwrap() == note);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let text = refused(Path::new("/proc/log.db"));
    assert!(text.contains("/proc/log.db") && text.contains("cannot be written"), "{text}");
    let text = refused(Path::new("/nowhere/log.db"));
    assert!(text.contains("/nowhere") && text.contains("does not exist"), "{text}");
    let directory = TempDir::new();
    std::fs::create_dir(directory.join("log.db")).unwrap();
    let text = refused(&directory.join("log.db"));
    assert!(text.contains("log.db") && text.contains("cannot be written"), "{text}");
}

#[test]
fn a_writer_that_gets_past_the_lock_is_a_conflict() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let mut log = SqliteLog::open(&path, Durability::Power).unwrap();
    log.append_now(0, &records("a", 2)).unwrap();
    let intruder = rusqlite::Connection::open(&path).unwrap();
    intruder.execute_batch("INSERT INTO record VALUES (3, '{}', 0)").unwrap();
    for batch in [records("b", 1), records("b", 3)] {
        assert_eq!(log.append_now(2, &batch), Err(AppendFailure::Conflict { end: 3 }));
    }
}

#[test]
fn a_program_that_holds_the_file_only_delays_an_append() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let mut log = SqliteLog::open(&path, Durability::Power).unwrap();
    log.append_now(0, &records("a", 1)).unwrap();
    let shell = rusqlite::Connection::open(&path).unwrap();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcome = log.append_now(1, &records("b", 2));
    assert!(matches!(outcome, Err(AppendFailure::Unconfirmed(_))), "{outcome:?}");
    assert_eq!(log.read_now(0, 9).unwrap().len(), 1);
    shell.execute_batch("ROLLBACK").unwrap();
    assert_eq!(log.append_now(1, &records("b", 2)), Ok(3));
}

#[test]
fn the_write_ahead_log_stays_bounded_and_after_a_rest_the_file_alone_is_complete() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let mut log = SqliteLog::open(&path, Durability::Process).unwrap();
    let batch = vec!["x".repeat(30_000); 8];
    for turn in 0..300 {
        log.append_now(turn * 8, &batch).unwrap();
        let size = std::fs::metadata(directory.join("log.db-wal")).unwrap().len();
        assert!(size < 24 * 1024 * 1024, "{size} bytes after {turn} appends");
    }
    log.rest_now();
    let copy = directory.join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let mut copy = SqliteLog::open(&copy, Durability::Power).unwrap();
    assert_eq!(copy.verify_now().unwrap().records, 2400);
}
