//! The last messages on the subject, as the follower brought them.
//!
//! Whoever loses a race has to take in what the winner appended. Asking the server for that takes longer
//! than the winner needs for its next append, so a loser that asks loses again: what the follower heard is
//! kept for it. A question to the server is only needed for what is not here.

use super::{Batch, JetStreamLog, Tail};
use crate::{ReadFailure, Record};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// So many bytes of records are kept; the oldest go first.
const BYTES_MAX: usize = 2 * 1024 * 1024;

/// Messages one after the other, without a gap.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    batches: VecDeque<Batch>,
    bytes: usize,
}

impl Recent {
    pub(super) fn add(&self, batch: Batch) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.batches.back().is_some_and(|last| batch.first != last.last + 1) {
            // A consumer that was repaired may start over, or begin later.
            *kept = Kept::default();
        }
        kept.bytes += batch.bytes();
        kept.batches.push_back(batch);
        while kept.bytes > BYTES_MAX
            && let Some(oldest) = kept.batches.pop_front()
        {
            kept.bytes -= oldest.bytes();
        }
    }

    /// The last position that is here.
    pub(super) fn end(&self) -> Option<u64> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.batches.back().map(|last| last.last)
    }
}

impl JetStreamLog {
    /// Up to `max` records after a position that the follower has brought; none where it has not.
    pub(super) fn heard_after(
        &mut self,
        after: u64,
        max: usize,
    ) -> Result<Vec<Record>, ReadFailure> {
        let kept = self.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = kept.batches.partition_point(|batch| batch.last <= after);
        let mut page: Vec<Record> = Vec::new();
        let mut tail = None;
        for batch in kept.batches.range(begin..) {
            if batch.first > after + 1 && page.is_empty() || page.len() >= max {
                break;
            }
            let records = self.unpack(batch)?;
            page.extend(records.into_iter().filter(|record| record.position > after));
            tail = Some(Tail { position: batch.last, sequence: batch.sequence });
        }
        drop(kept);
        page.truncate(max);
        if let Some(tail) = tail.filter(|tail| tail.position > self.tail.position) {
            self.set_tail(tail);
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_without_a_gap_and_the_oldest_go() {
        let recent = Recent::default();
        let add = |first: u64, last: u64, bytes: usize| recent.add(Batch::of(first, last, bytes));
        let firsts = || {
            let kept = recent.0.lock().unwrap();
            kept.batches.iter().map(|batch| batch.first).collect::<Vec<_>>()
        };
        add(4, 6, 10);
        add(7, 7, 10);
        assert_eq!((firsts(), recent.end()), (vec![4, 7], Some(7)));
        add(9, 9, 10);
        assert_eq!(firsts(), [9]);
        add(10, 10, BYTES_MAX - 5);
        assert_eq!(firsts(), [10]);
    }
}
