//! Requests that only look. They are answered after those that change something, each actor in
//! turn, and so many at once that nobody waits long for what somebody else wants to see.
//!
//! An answer is made when it can be sent: of a client that does not read, only the requests are
//! kept.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use shipmate_protocol::wire::Reply;

use super::{Job, Worker};

/// How much is answered before new requests are heard.
const BYTES_AT_ONCE: usize = 1024 * 1024;

/// Those that are to be answered.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// By whoever asks.
    of: BTreeMap<String, VecDeque<Job>>,
    /// Who had its turn last.
    last: String,
    /// Those of clients that have not read their last answers.
    held: Vec<Job>,
}

impl Reads {
    pub(super) fn push(&mut self, job: Job) {
        self.of.entry(job.actor.to_string()).or_default().push_back(job);
    }

    /// Some can be answered now.
    pub(super) fn is_ready(&self) -> bool {
        !self.of.is_empty() || self.held.iter().any(can_be_sent)
    }

    /// Takes up those again whose clients have read, or are gone.
    fn resume(&mut self) {
        for job in self.held.extract_if(.., |job| can_be_sent(job)) {
            self.of.entry(job.actor.to_string()).or_default().push_back(job);
        }
    }

    /// The first of whoever comes after the one who had its turn last.
    fn pop(&mut self) -> Option<Job> {
        loop {
            let after = (Bound::Excluded(self.last.clone()), Bound::Unbounded);
            let next = self.of.range(after).next().or_else(|| self.of.iter().next());
            self.last = next?.0.clone();
            let jobs = self.of.get_mut(&self.last)?;
            let job = jobs.pop_front();
            if jobs.is_empty() {
                self.of.remove(&self.last);
            }
            match job {
                Some(job) if !can_be_sent(&job) => self.held.push(job),
                job => return job,
            }
        }
    }

    pub(super) fn take_all(&mut self) -> Vec<Job> {
        let ready = std::mem::take(&mut self.of).into_values().flatten();
        ready.chain(std::mem::take(&mut self.held)).collect()
    }
}

fn can_be_sent(job: &Job) -> bool {
    job.connection.has_room() || !job.connection.is_open()
}

impl Worker {
    pub(super) async fn answer_reads(&mut self) {
        self.reads.resume();
        let mut bytes = 0;
        while bytes < BYTES_AT_ONCE
            && let Some(job) = self.reads.pop()
        {
            // Whoever is gone, or was cut off just now, asks again.
            if !job.connection.is_open() {
                job.connection.settled_request();
                continue;
            }
            let (answer, took_log) = self.answer_look(&job).await;
            // The whole log may have been read for it.
            let cost = if took_log { BYTES_AT_ONCE } else { 0 };
            bytes += cost + job.connection.send_measured(&Reply::to(job.id, answer));
            job.connection.settled_request();
            if !job.connection.has_room() {
                job.connection.wake_when_read(&self.board.reader());
            }
        }
    }
}
