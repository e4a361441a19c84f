//! A log in memory, for the simulator and for tests.
//!
//! Handles share one log, as several machines share a JetStream log. Every operation also exists
//! as a plain function (`append_now`, …), because the simulator runs without an executor, and the
//! answers to appends can be made to go wrong in each of the ways a real store's answers do.

use crate::contract::{READ_BYTES_MAX, check_size, checksum};
use crate::{AppendFailure, EndWatch, Log, ReadFailure, Record, Snapshot, SnapshotFailure};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// As much as the SQLite log takes.
const APPEND_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What goes wrong with one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFault {
    /// The append is stored, but the answer is lost.
    LoseAnswer,
    /// The append never arrives, and neither does an answer.
    LoseRequest,
    /// There is no space.
    Full,
    /// The append is stored, but its sync fails: the handle is broken from now on.
    Break,
}

/// One handle to a log in memory. A clone is a second handle to the same log.
#[derive(Debug)]
pub struct MemoryLog {
    shared: Arc<Shared>,
    broken: Option<String>,
}

#[derive(Debug)]
struct Shared {
    contents: Mutex<Contents>,
    end: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Contents {
    records: Vec<String>,
    snapshot: Option<(Snapshot, u32)>,
    faults: VecDeque<MemoryFault>,
}

impl MemoryLog {
    pub fn new() -> Self {
        let shared = Shared { contents: Mutex::default(), end: watch::Sender::new(0) };
        Self { shared: Arc::new(shared), broken: None }
    }

    /// Lets the next append that would succeed, on any handle, go wrong; several faults queue up.
    pub fn inject(&self, fault: MemoryFault) {
        self.contents().faults.push_back(fault);
    }

    /// Flips a bit in the kept snapshot.
    pub fn damage_snapshot(&self) {
        if let Some((_, crc)) = &mut self.contents().snapshot {
            *crc ^= 1;
        }
    }

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
        let mut contents = self.contents();
        let end = contents.end();
        if expected_end != end {
            return Err(AppendFailure::Conflict { end });
        }
        if records.is_empty() {
            return Ok(end);
        }
        let fault = contents.faults.pop_front();
        match fault {
            Some(MemoryFault::LoseRequest) => {
                return Err(AppendFailure::Unconfirmed("the request was lost".into()));
            }
            Some(MemoryFault::Full) => return Err(AppendFailure::Full("out of memory".into())),
            Some(MemoryFault::LoseAnswer | MemoryFault::Break) | None => {}
        }
        contents.records.extend_from_slice(records);
        let end = contents.end();
        drop(contents);
        self.shared.end.send_replace(end);
        match fault {
            Some(MemoryFault::LoseAnswer) => {
                Err(AppendFailure::Unconfirmed("the answer was lost".into()))
            }
            Some(MemoryFault::Break) => {
                let reason = "the sync failed".to_string();
                self.broken = Some(reason.clone());
                Err(AppendFailure::Broken(reason))
            }
            _ => Ok(end),
        }
    }

    /// [`Log::read`] without an executor.
    pub fn read_now(&self, after: u64, max: usize) -> Vec<Record> {
        let contents = self.contents();
        let mut bytes = 0;
        let mut page = Vec::new();
        let start = usize::try_from(after).unwrap_or(usize::MAX);
        for text in contents.records.iter().skip(start).take(max) {
            let position = after + page.len() as u64 + 1;
            page.push(Record { position, text: text.clone() });
            bytes += text.len();
            if bytes >= READ_BYTES_MAX {
                break;
            }
        }
        page
    }

    /// [`Log::end`] without an executor.
    pub fn end_now(&self) -> u64 {
        self.contents().end()
    }

    /// [`Log::save_snapshot`] without an executor.
    pub fn save_snapshot_now(&self, snapshot: &Snapshot) {
        let mut contents = self.contents();
        assert!(snapshot.position <= contents.end(), "a snapshot is of a state that was logged");
        if contents.snapshot.as_ref().is_none_or(|(kept, _)| kept.position <= snapshot.position) {
            let crc = checksum(snapshot.position, snapshot.text.as_bytes());
            contents.snapshot = Some((snapshot.clone(), crc));
        }
    }

    /// [`Log::load_snapshot`] without an executor.
    pub fn load_snapshot_now(&self) -> Option<Snapshot> {
        let contents = self.contents();
        let (snapshot, crc) = contents.snapshot.as_ref()?;
        let whole = *crc == checksum(snapshot.position, snapshot.text.as_bytes());
        whole.then(|| snapshot.clone())
    }

    /// A panic elsewhere cannot leave the contents half-changed: every change is the last step.
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.shared.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn end(&self) -> u64 {
        self.records.len() as u64
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for MemoryLog {
    /// The second handle starts whole even if this one is broken: breaking is a handle's affair.
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), broken: None }
    }
}

impl Log for MemoryLog {
    async fn append(
        &mut self,
        expected_end: u64,
        records: &[String],
    ) -> Result<u64, AppendFailure> {
        self.append_now(expected_end, records)
    }

    async fn read(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        Ok(self.read_now(after, max))
    }

    async fn end(&mut self) -> Result<u64, ReadFailure> {
        Ok(self.end_now())
    }

    fn follow(&mut self) -> EndWatch {
        EndWatch::new(self.shared.end.subscribe())
    }

    async fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotFailure> {
        self.save_snapshot_now(snapshot);
        Ok(())
    }

    async fn load_snapshot(&mut self) -> Result<Option<Snapshot>, ReadFailure> {
        Ok(self.load_snapshot_now())
    }

    fn append_bytes_max(&self) -> usize {
        APPEND_BYTES_MAX
    }
}
