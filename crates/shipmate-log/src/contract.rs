//! The promises every log keeps, and the ways in which it may fail to.
//!
//! A failure has its own variant only where a caller does something different about it; the doc of
//! the variant says what. Texts inside failures are for people.

use crate::EndWatch;

/// The most text one `read` gives back before it stops early, over all its records together.
///
/// A page is bounded in bytes as well as in records, so that a log of large records can be replayed
/// in constant memory. One record is always given, however large.
pub(crate) const READ_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// 1 for the first record, then dense.
    pub position: u64,
    /// One line of JSON. This crate never looks inside.
    pub text: String,
}

/// The state as of a position, kept so that opening a long log is quick.
///
/// A cache: losing it costs only the time to read the records again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that the state includes.
    pub position: u64,
    /// Opaque, and unlike a record it may have several lines.
    pub text: String,
}

/// What [`Log::verify`] found to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    pub records: u64,
    /// Bytes of text in those records.
    pub bytes: u64,
}

/// A sequence of records that grows only at its end, and only for whoever knows that end.
///
/// A record is one line: a text that is empty or holds a line feed is a bug in the caller and
/// panics, because it could not be told apart from two records on every backend.
#[allow(
    async_fn_in_trait,
    reason = "used with static dispatch on a single-threaded executor, where futures need no Send"
)]
pub trait Log {
    /// Appends all records or none; durable when it returns the new end.
    ///
    /// Zero records write nothing and still check the expected end, so that a refusal is never
    /// given on a stale view.
    ///
    /// Dropping this future half-way is the same as [`AppendFailure::Unconfirmed`].
    async fn append(&mut self, expected_end: u64, records: &[String])
    -> Result<u64, AppendFailure>;

    /// Up to `max` records after position `after`, in order and dense.
    ///
    /// Fewer than `max` come back at the end of the log, or once a page holds 16 MiB of text; an
    /// empty answer (with `max` above zero) always means the end.
    async fn read(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure>;

    /// Up to `max` records after position `after` that are known here already, in order and dense:
    /// nobody is asked, and there may be more.
    fn heard(&mut self, _after: u64, _max: usize) -> Result<Vec<Record>, ReadFailure> {
        Ok(Vec::new())
    }

    /// The position of the last record, 0 for an empty log.
    async fn end(&mut self) -> Result<u64, ReadFailure>;

    /// A waiter that wakes when this or any other holder has appended.
    ///
    /// It is separate from the log, so that a `select!` can wait on it while the log is in use.
    /// Must be called inside the executor that drives the log.
    fn follow(&mut self) -> EndWatch;

    /// Keeps a snapshot; the one with the highest position is the one that will be loaded.
    async fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotFailure>;

    /// The newest snapshot, or `None` if there is none or it was damaged or half-written.
    async fn load_snapshot(&mut self) -> Result<Option<Snapshot>, ReadFailure>;

    /// The largest append: the bytes of all its texts, plus one for each record.
    ///
    /// Above it an append is [`AppendFailure::TooLarge`]. An append is never split, as a half
    /// could then be stored alone.
    fn append_bytes_max(&self) -> usize;

    /// Does the housekeeping that is better done while nothing else is going on.
    async fn rest(&mut self) {}

    /// Reads everything and checks all that can be checked.
    async fn verify(&mut self) -> Result<Verified, ReadFailure> {
        let mut found = Verified { records: 0, bytes: 0 };
        loop {
            let page = self.read(found.records, 4096).await?;
            if page.is_empty() {
                return Ok(found);
            }
            for record in &page {
                assert_eq!(record.position, found.records + 1, "a page is dense");
                found.records = record.position;
                found.bytes += record.text.len() as u64;
            }
        }
    }
}

/// Why an append was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendFailure {
    /// Somebody else appended. Nothing was written: catch up to `end` and decide again.
    #[error("the log has moved on to position {end}")]
    Conflict { end: u64 },
    /// It may or may not have been stored. Read the tail before asking again.
    #[error("the append was not confirmed: {0}")]
    Unconfirmed(String),
    /// No space. Nothing was written, reads go on, and appends succeed again once there is space.
    #[error("no space for the log: {0}")]
    Full(String),
    /// More than [`Log::append_bytes_max`]. Nothing was written; ask with less.
    #[error("an append of {bytes} bytes is over the limit of {max} bytes")]
    TooLarge { bytes: usize, max: usize },
    /// The store can no longer be trusted to keep what it confirms. This append may or may not
    /// have been stored, and every later one on this handle is refused: open the log again.
    #[error("the log gives no more confirmations: {0}")]
    Broken(String),
}

impl AppendFailure {
    /// How far the log is known to go; 0 where nothing is known.
    pub fn known_end(&self) -> u64 {
        match self {
            AppendFailure::Conflict { end } => *end,
            _ => 0,
        }
    }
}

/// Why records could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// What is stored is not what was appended. Stop: a person has to restore it.
    #[error("record {position} in {place} is damaged: {reason}")]
    Damaged { position: u64, place: String, reason: String },
    /// The store did not answer. Ask again later.
    #[error("the log cannot be read now: {0}")]
    Unavailable(String),
}

/// Why a snapshot was not saved. Only time is lost: go on without it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot was not saved: {0}")]
pub struct SnapshotFailure(pub String);

/// Why a log could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenFailure {
    /// Another process on this machine has it open: talk to that one instead.
    #[error("{place} is in use by another process")]
    InUse { place: String },
    /// A log cannot be kept there. The text names the place, the reason and the remedy.
    #[error("{0}")]
    Unsuitable(String),
    /// The log is there, and what it holds is not what was acknowledged. Nothing was changed.
    #[error("{place} is damaged: {reason}")]
    Damaged { place: String, reason: String },
    /// The store did not answer. Try again later.
    #[error("the log cannot be opened now: {0}")]
    Unavailable(String),
}

/// The size of an append as [`Log::append_bytes_max`] counts it, once its records are known to be
/// single lines.
pub(crate) fn check_size(records: &[String], max: usize) -> Result<usize, AppendFailure> {
    let mut bytes = 0;
    for record in records {
        assert!(
            !record.is_empty() && !record.as_bytes().contains(&b'\n'),
            "a record is one line of JSON"
        );
        bytes += record.len() + 1;
    }
    if bytes > max {
        return Err(AppendFailure::TooLarge { bytes, max });
    }
    Ok(bytes)
}

/// The checksum of a text at its position: a record that turns up at another position is as wrong
/// as one with other content.
pub(crate) fn checksum(position: u64, text: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&position.to_le_bytes());
    hasher.update(text);
    hasher.finalize()
}
