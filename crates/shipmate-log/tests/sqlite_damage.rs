//! The SQLite log when bytes go missing or change under it: right, or loudly wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/random.rs"]
mod random;
#[path = "support/temp.rs"]
mod temp;

use random::Random;
use shipmate_log::conformance::records;
use shipmate_log::{Durability, OpenFailure, ReadFailure, Record, SqliteLog};
use std::path::Path;
use temp::TempDir;

/// The files of a log that was closed properly, or of one whose process is gone.
struct Files {
    database: Vec<u8>,
    wal: Option<Vec<u8>>,
    mark: Option<Vec<u8>>,
}

impl Files {
    /// A copy of a log as a kill would leave it, with everything after the first 20 records only
    /// in the write-ahead log.
    fn unsettled() -> Self {
        let directory = TempDir::new();
        let path = directory.join("log.db");
        let mut log = SqliteLog::open(&path, Durability::Power).unwrap();
        log.append_now(0, &records("settled", 20)).unwrap();
        log.rest_now();
        for (index, pair) in records("waiting", 20).chunks(2).enumerate() {
            log.append_now(20 + 2 * index as u64, pair).unwrap();
        }
        Self {
            database: std::fs::read(&path).unwrap(),
            wal: Some(std::fs::read(directory.join("log.db-wal")).unwrap()),
            mark: Some(std::fs::read(directory.join("log.db.mark")).unwrap()),
        }
    }

    /// The same log with everything in the database.
    fn settled() -> Self {
        let mut files = Self::unsettled();
        let directory = TempDir::new();
        let path = files.place(&directory);
        drop(SqliteLog::open(&path, Durability::Power).unwrap());
        assert!(!directory.join("log.db-wal").exists());
        files.database = std::fs::read(&path).unwrap();
        files.wal = None;
        files
    }

    fn place(&self, directory: &TempDir) -> std::path::PathBuf {
        let path = directory.join("log.db");
        for name in ["log.db-wal", "log.db-shm", "log.db.mark"] {
            let _ = std::fs::remove_file(directory.join(name));
        }
        std::fs::write(&path, &self.database).unwrap();
        for (name, bytes) in [("log.db-wal", &self.wal), ("log.db.mark", &self.mark)] {
            if let Some(bytes) = bytes {
                std::fs::write(directory.join(name), bytes).unwrap();
            }
        }
        path
    }
}

fn expected() -> Vec<String> {
    [records("settled", 20), records("waiting", 20)].concat()
}

/// The whole content, or the failure that stood in the way.
fn content(path: &Path) -> Result<Vec<String>, String> {
    let mut log = SqliteLog::open(path, Durability::Power).map_err(|error| error.to_string())?;
    let mut texts: Vec<String> = Vec::new();
    loop {
        let page = log.read_now(texts.len() as u64, 15).map_err(|error| error.to_string())?;
        if page.is_empty() {
            return Ok(texts);
        }
        texts.extend(page.into_iter().map(|record| record.text));
    }
}

#[test]
fn a_copy_taken_from_a_running_log_is_whole() {
    let directory = TempDir::new();
    assert_eq!(content(&Files::unsettled().place(&directory)), Ok(expected()));
    assert_eq!(content(&Files::settled().place(&directory)), Ok(expected()));
}

#[test]
fn a_write_ahead_log_cut_anywhere_is_noticed() {
    let whole = Files::unsettled();
    let directory = TempDir::new();
    let wal = whole.wal.clone().unwrap();
    let mut random = Random(8);
    let last_frame = wal.len() - 64..wal.len();
    let anywhere = (0..150).map(|_| random.below(wal.len() as u64) as usize);
    for length in last_frame.chain([0, 1, 31, 32, 33]).chain(anywhere.collect::<Vec<_>>()) {
        let cut = Files {
            database: whole.database.clone(),
            wal: Some(wal[..length].to_vec()),
            mark: whole.mark.clone(),
        };
        let path = cut.place(&directory);
        let outcome = content(&path);
        let failure = outcome.expect_err(&format!("acknowledged records are gone at {length}"));
        assert!(failure.contains("up to 40 were acknowledged"), "{failure}");
        let left = std::fs::read(directory.join("log.db-wal")).unwrap_or_default();
        assert!(left == wal[..length], "what is left of the log at {length} stays for a rescue");
    }
}

#[test]
fn a_write_ahead_log_with_a_flipped_bit_is_right_or_noticed() {
    let whole = Files::unsettled();
    let directory = TempDir::new();
    let mut random = Random(9);
    let mut noticed = 0;
    for _ in 0..400 {
        let mut wal = whole.wal.clone().unwrap();
        let bit = random.below(wal.len() as u64 * 8);
        wal[bit as usize / 8] ^= 1 << (bit % 8);
        let flipped =
            Files { database: whole.database.clone(), wal: Some(wal), mark: whole.mark.clone() };
        match content(&flipped.place(&directory)) {
            Ok(texts) => assert_eq!(texts, expected(), "bit {bit}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 350, "{noticed}");
}

#[test]
fn a_database_with_a_flipped_bit_is_right_or_noticed() {
    let whole = Files::settled();
    let directory = TempDir::new();
    let mut random = Random(10);
    let mut noticed = 0;
    for _ in 0..800 {
        let mut database = whole.database.clone();
        let bit = random.below(database.len() as u64 * 8);
        database[bit as usize / 8] ^= 1 << (bit % 8);
        let flipped = Files { database, wal: None, mark: whole.mark.clone() };
        match content(&flipped.place(&directory)) {
            Ok(texts) => assert_eq!(texts, expected(), "bit {bit}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 50, "{noticed}");
}

#[test]
fn a_database_cut_anywhere_is_right_or_noticed() {
    let whole = Files::settled();
    let directory = TempDir::new();
    let mut random = Random(11);
    let mut lengths = vec![0, 1, 99, 100, 512, 4095, 4096, whole.database.len() - 1];
    lengths.extend((0..100).map(|_| random.below(whole.database.len() as u64) as usize));
    let mut noticed = 0;
    for length in lengths {
        let database = whole.database[..length].to_vec();
        let cut = Files { database, wal: None, mark: whole.mark.clone() };
        // The last page belongs to the snapshots, which nobody needs.
        match content(&cut.place(&directory)) {
            Ok(texts) => assert_eq!(texts, expected(), "cut at {length}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 60, "{noticed}");
}

#[test]
fn a_damaged_or_missing_mark_is_no_obstacle() {
    let directory = TempDir::new();
    let mut files = Files::unsettled();
    for mark in [None, Some(vec![]), Some(b"nonsense\n".to_vec()), Some(vec![0xff; 90])] {
        files.mark = mark;
        assert_eq!(content(&files.place(&directory)), Ok(expected()));
    }
}

/// Changes a settled log with SQL and reads it from the start.
fn tampered(sql: &str) -> Result<Vec<Record>, ReadFailure> {
    let directory = TempDir::new();
    let path = Files::settled().place(&directory);
    rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let mut log = SqliteLog::open(&path, Durability::Power).unwrap();
    assert!(log.verify_now().is_err());
    log.read_now(0, 100)
}

#[test]
fn a_changed_record_is_named_by_its_position_and_file() {
    for sql in [
        "UPDATE record SET text = replace(text, 'settled', 'Settled') WHERE position = 7",
        "UPDATE record SET crc = crc + 1 WHERE position = 7",
        "UPDATE record SET text = (SELECT text FROM record WHERE position = 8), crc = \
         (SELECT crc FROM record WHERE position = 8) WHERE position = 7",
        "DELETE FROM record WHERE position = 7",
        "DELETE FROM record WHERE position BETWEEN 7 AND 30",
    ] {
        let outcome = tampered(sql);
        let Err(ReadFailure::Damaged { position: 7, place, .. }) = &outcome else {
            panic!("{sql}: {outcome:?}");
        };
        assert!(place.ends_with("log.db"));
    }
}

#[test]
fn a_missing_start_or_end_is_noticed_when_the_log_is_opened() {
    for sql in [
        "DELETE FROM record WHERE position = 1",
        "DELETE FROM record WHERE position = 40",
        "DELETE FROM record",
        "UPDATE record SET text = '{}' WHERE position = 40",
        "DROP TABLE record",
    ] {
        let directory = TempDir::new();
        let path = Files::settled().place(&directory);
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let outcome = SqliteLog::open(&path, Durability::Power);
        assert!(matches!(outcome, Err(OpenFailure::Damaged { .. })), "{sql}: {outcome:?}");
    }
}

#[test]
fn removing_the_mark_accepts_the_loss() {
    let directory = TempDir::new();
    let mut files = Files::unsettled();
    files.wal = None;
    let failure = content(&files.place(&directory)).unwrap_err();
    assert!(failure.contains("log.db.mark"), "the remedy names the file: {failure}");
    std::fs::remove_file(directory.join("log.db.mark")).unwrap();
    assert_eq!(content(&directory.join("log.db")), Ok(records("settled", 20)));
}
