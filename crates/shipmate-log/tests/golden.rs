//! Logs as earlier releases wrote them, which every later release must read.
//!
//! A file here is never changed. A release that changes the format adds one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/temp.rs"]
mod temp;

use shipmate_log::{Durability, Record, Snapshot, SqliteLog};
use temp::TempDir;

#[test]
fn a_log_of_format_1_is_read_and_continued() {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    std::fs::write(&path, include_bytes!("golden/format-1.db")).unwrap();
    let mut log = SqliteLog::open(&path, Durability::Power).unwrap();
    let text = |task| {
        format!(r#"{{"type":"task.created","task":{task},"title":"größer \"als\" {task} 🚢"}}"#)
    };
    let expected: Vec<Record> =
        (1..=12).map(|position| Record { position, text: text(position) }).collect();
    assert_eq!(log.read_now(0, 100), Ok(expected));
    let snapshot = Snapshot { position: 9, text: "the state\nafter nine".into() };
    assert_eq!(log.load_snapshot_now(), Ok(Some(snapshot)));
    assert_eq!(log.append_now(12, &[text(13)]), Ok(13));
    assert_eq!(log.verify_now().unwrap().records, 13);
}
