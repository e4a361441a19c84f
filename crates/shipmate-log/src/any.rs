//! One type for whichever log a team was started with.
//!
//! An enum rather than a trait object: the choice is made once at start, the set of logs is closed,
//! and the trait's futures keep their static types.

use crate::{
    AppendFailure, EndWatch, JetStreamLog, Log, MemoryLog, ReadFailure, Record, Snapshot,
    SnapshotFailure, SqliteLog, Verified,
};

/// A log of any kind.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one per process, and it is not moved")]
pub enum AnyLog {
    Memory(MemoryLog),
    Sqlite(SqliteLog),
    JetStream(JetStreamLog),
}

/// Evaluates the same expression on whichever log it is.
macro_rules! on {
    ($any:expr, $log:ident => $call:expr) => {
        match $any {
            AnyLog::Memory($log) => $call,
            AnyLog::Sqlite($log) => $call,
            AnyLog::JetStream($log) => $call,
        }
    };
}

impl Log for AnyLog {
    async fn append(
        &mut self,
        expected_end: u64,
        records: &[String],
    ) -> Result<u64, AppendFailure> {
        let appended = on!(self, log => log.append(expected_end, records).await);
        match &appended {
            Ok(_) => {}
            // One of several writers loses such a race now and then.
            Err(AppendFailure::Conflict { end }) => {
                tracing::debug!(expected_end, end, "another writer was faster");
            }
            Err(failure) => {
                let records = records.len();
                tracing::warn!(expected_end, records, %failure, "nothing was appended");
            }
        }
        appended
    }

    async fn read(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        on!(self, log => log.read(after, max).await)
    }

    fn heard(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        on!(self, log => log.heard(after, max))
    }

    async fn end(&mut self) -> Result<u64, ReadFailure> {
        on!(self, log => log.end().await)
    }

    fn follow(&mut self) -> EndWatch {
        on!(self, log => log.follow())
    }

    async fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotFailure> {
        on!(self, log => log.save_snapshot(snapshot).await)
    }

    async fn load_snapshot(&mut self) -> Result<Option<Snapshot>, ReadFailure> {
        on!(self, log => log.load_snapshot().await)
    }

    fn append_bytes_max(&self) -> usize {
        on!(self, log => log.append_bytes_max())
    }

    async fn rest(&mut self) {
        on!(self, log => log.rest().await)
    }

    async fn verify(&mut self) -> Result<Verified, ReadFailure> {
        on!(self, log => log.verify().await)
    }
}
