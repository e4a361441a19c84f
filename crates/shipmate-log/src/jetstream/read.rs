//! Finding records by position, though the server knows only sequences.
//!
//! The last message is always asked for first: it says where the end is, and after a conflict it
//! usually is all there is to read. A few more messages are fetched one by one, a longer stretch
//! through a consumer, which streams. Where a stretch starts is known for the places this holder
//! has seen, and searched for by halving otherwise, so that even in a log of millions of messages
//! the first record is some twenty questions away.

use super::{Batch, JetStreamLog, Recent, Tail, batch};
use crate::contract::READ_BYTES_MAX;
use crate::{ReadFailure, Record};
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// How long a leader may lag behind what a follower heard, and how soon it is asked again.
const LAGS_MAX: Duration = Duration::from_secs(1);
const LAGS_AGAIN: Duration = Duration::from_millis(20);
/// Up to how many messages are fetched one by one instead of through a consumer.
const FETCHED_SINGLY_MAX: u64 = 4;

/// Messages that may be on their way ahead of the reader, at up to a megabyte each.
const MESSAGES_AHEAD_MAX: i64 = 64;

/// A stretch of the log on its way from the server, kept from page to page.
pub(super) struct Replay {
    messages: Ordered,
    /// Records that came in the same message as the last one of the page before.
    rest: VecDeque<Record>,
    /// The position before the next record.
    at: u64,
}

impl JetStreamLog {
    pub(super) async fn read_page(
        &mut self,
        after: u64,
        max: usize,
    ) -> Result<Vec<Record>, ReadFailure> {
        let mut last = None;
        if after.saturating_add(max as u64) > self.tail.position {
            last = self.look_up_tail().await?;
        }
        if after >= self.tail.position || max == 0 {
            return Ok(Vec::new());
        }
        if let Some(batch) = last
            && batch.first <= after + 1
        {
            return Ok(page_of(self.unpack(&batch)?, after, max));
        }
        if let Some(replay) = self.replay.take_if(|replay| replay.at == after) {
            return self.continue_replay(replay, max).await;
        }
        let sequence = self.locate(after + 1).await?;
        if self.tail.sequence - sequence < FETCHED_SINGLY_MAX {
            return self.fetch_singly(after, sequence, max).await;
        }
        let stream = self.stream.clone();
        let messages = messages_from(stream, &self.subject, sequence).await?;
        let replay = Replay { messages, rest: VecDeque::new(), at: after };
        self.continue_replay(replay, max).await
    }

    /// Asks the leader for the last message and takes it for the end. What a follower heard the leader may
    /// be about to store, and is asked again for a moment.
    pub(super) async fn look_up_tail(&mut self) -> Result<Option<Batch>, ReadFailure> {
        let deadline = Instant::now() + LAGS_MAX.min(self.answer_within);
        loop {
            let last = self.stream.get_last_raw_message_by_subject(&self.subject).await;
            let batch = match last {
                Ok(message) => Some(self.decode(message)?),
                Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => None,
                Err(error) => return Err(unavailable(&self.subject, &error)),
            };
            let tail = batch.as_ref().map_or(Tail::default(), |batch| Tail {
                position: batch.last,
                sequence: batch.sequence,
            });
            if tail.position >= self.tail.position {
                self.set_tail(tail);
                return Ok(batch);
            }
            if Instant::now() > deadline {
                return Err(ReadFailure::Unavailable(format!(
                    "the server says that {} ends at {}, but {} was seen there: it lags behind, or \
                     the stream has lost messages",
                    self.subject, tail.position, self.tail.position
                )));
            }
            sleep_until(Instant::now() + LAGS_AGAIN).await;
        }
    }

    /// The sequence at which to start reading for a position that exists: of the message that
    /// holds it, or of a gap directly before.
    async fn locate(&self, position: u64) -> Result<u64, ReadFailure> {
        let (known, mut low) =
            self.landmarks.range(..position).next_back().map_or((0, 0), |(at, seq)| (*at, *seq));
        if known + 1 == position {
            return Ok(low + 1);
        }
        // The message is beyond `low` and not beyond `high`.
        let mut high = self.tail.sequence;
        while low < high {
            let middle = low + 1 + (high - low - 1) / 2;
            let Some(batch) = self.fetch_at_or_after(middle).await? else { break };
            if batch.last < position {
                low = batch.sequence;
            } else if batch.first > position {
                high = middle - 1;
            } else {
                return Ok(batch.sequence);
            }
        }
        Err(self.damaged(position, "no message holds it".into()))
    }

    async fn fetch_at_or_after(&self, sequence: u64) -> Result<Option<Batch>, ReadFailure> {
        let request = self.stream.raw_message_builder().sequence(sequence);
        match request.next_by_subject(self.subject.clone()).send().await {
            Ok(message) => self.decode(message).map(Some),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(&self.subject, &error)),
        }
    }

    async fn fetch_singly(
        &self,
        after: u64,
        mut sequence: u64,
        max: usize,
    ) -> Result<Vec<Record>, ReadFailure> {
        let mut page: Vec<Record> = Vec::new();
        let mut at = after;
        while page.len() < max && at < self.tail.position {
            let Some(batch) = self.fetch_at_or_after(sequence).await? else {
                return Err(self.damaged(at + 1, "no message holds it".into()));
            };
            self.check_next(&batch, at)?;
            page.extend(page_of(self.unpack(&batch)?, at, max - page.len()));
            at = batch.last;
            sequence = batch.sequence + 1;
        }
        Ok(page)
    }

    async fn continue_replay(
        &mut self,
        mut replay: Replay,
        max: usize,
    ) -> Result<Vec<Record>, ReadFailure> {
        let mut page = Vec::new();
        let mut bytes = 0;
        while page.len() < max && replay.at < self.tail.position && bytes < READ_BYTES_MAX {
            if let Some(record) = replay.rest.pop_front() {
                replay.at = record.position;
                bytes += record.text.len();
                page.push(record);
                continue;
            }
            let batch = self.next_batch(&mut replay).await?;
            // One that was cut off before its first message is repaired by starting over from the first
            // message of all.
            if batch.last <= replay.at {
                continue;
            }
            self.check_next(&batch, replay.at)?;
            let records = self.unpack(&batch)?;
            replay.rest.extend(records.into_iter().filter(|record| record.position > replay.at));
        }
        // A consumer that has caught up would only cost heartbeats.
        if replay.at < self.tail.position {
            self.replay = Some(replay);
        }
        Ok(page)
    }

    async fn next_batch(&self, replay: &mut Replay) -> Result<Batch, ReadFailure> {
        let next = tokio::time::timeout(self.answer_within, replay.messages.next()).await;
        let Ok(Some(next)) = next else {
            let reason = format!("no more messages came on {}", self.subject);
            return Err(ReadFailure::Unavailable(reason));
        };
        let message = next.map_err(|error| unavailable(&self.subject, &error))?;
        let sequence =
            message.info().map_err(|error| unavailable(&self.subject, &error))?.stream_sequence;
        let headers = message.headers.clone().unwrap_or_default();
        Batch::decode(sequence, &headers, message.payload.to_vec())
            .ok_or_else(|| self.foreign(sequence))
    }

    /// The message read after `at` must hold the record after `at`.
    fn check_next(&self, batch: &Batch, at: u64) -> Result<(), ReadFailure> {
        if batch.first <= at + 1 && at < batch.last {
            return Ok(());
        }
        Err(self.damaged(at + 1, format!("the next message starts with record {}", batch.first)))
    }

    fn decode(&self, message: StreamMessage) -> Result<Batch, ReadFailure> {
        Batch::decode(message.sequence, &message.headers, message.payload.to_vec())
            .ok_or_else(|| self.foreign(message.sequence))
    }

    pub(super) fn unpack(&self, batch: &Batch) -> Result<Vec<Record>, ReadFailure> {
        batch
            .records(&self.subject, self.seal.as_ref())
            .map_err(|reason| self.damaged(batch.first, reason))
    }

    fn foreign(&self, sequence: u64) -> ReadFailure {
        let reason = format!("message {sequence} was not written by a log");
        self.damaged(self.tail.position + 1, reason)
    }

    pub(super) fn damaged(&self, position: u64, reason: String) -> ReadFailure {
        let stream = &self.stream.cached_info().config.name;
        let place = format!("subject {} of stream {stream}", self.subject);
        ReadFailure::Damaged { position, place, reason }
    }
}

/// At most `max` records beyond `after`.
fn page_of(records: Vec<Record>, after: u64, max: usize) -> Vec<Record> {
    records.into_iter().filter(|record| record.position > after).take(max).collect()
}

/// The messages of a subject from a sequence on, as a consumer that repairs itself.
pub(super) fn messages_from(
    stream: Stream,
    subject: &str,
    sequence: u64,
) -> impl Future<Output = Result<Ordered, ReadFailure>> + use<> {
    let config = OrderedConfig {
        filter_subject: subject.to_owned(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: sequence },
        max_batch: MESSAGES_AHEAD_MAX,
        ..OrderedConfig::default()
    };
    let subject = subject.to_owned();
    async move {
        let consumer = stream.create_consumer(config).await;
        let consumer = consumer.map_err(|error| unavailable(&subject, &error))?;
        consumer.messages().await.map_err(|error| unavailable(&subject, &error))
    }
}

pub(super) fn unavailable(subject: &str, error: &dyn std::fmt::Display) -> ReadFailure {
    ReadFailure::Unavailable(format!("the server did not give us {subject}: {error}"))
}

/// Keeps every message and tells the waiters of the new end, until there are no messages or no waiters any
/// more.
pub(super) async fn report_end(mut messages: Ordered, recent: &Recent, end: watch::Sender<u64>) {
    while let Some(Ok(message)) = messages.next().await {
        let Some(last) = message.headers.as_ref().and_then(batch::last_position) else { return };
        let sequence = message.info().ok().map(|info| info.stream_sequence);
        let headers = message.headers.clone().unwrap_or_default();
        let batch = sequence.and_then(|at| Batch::decode(at, &headers, message.payload.to_vec()));
        if let Some(batch) = batch {
            recent.add(batch);
        }
        // A repaired consumer may start over.
        end.send_if_modified(|end| {
            let grown = last > *end;
            *end = last.max(*end);
            grown
        });
    }
}
