//! The log in a NATS JetStream stream, for teams on several machines.
//!
//! One subject holds one log. One append is one message, published on the condition that the last
//! message on the subject is the one this holder knows: that gives all or nothing, and one winner
//! among holders that race. Our positions travel in the message's headers; stream sequences serve
//! only to find messages and never leave this module.
//!
//! What must hold:
//! - The stream neither forgets nor changes messages: no deleting, no purging, no age limit, and a
//!   full stream refuses new messages instead of dropping old ones. Opening checks this.
//! - An answer that did not come is [`AppendFailure::Unconfirmed`], never a failure: the message may
//!   still arrive later, out of the client's buffer, and the condition on it decides then. A
//!   message id would not help: a repeated publish with a stale condition is refused, not
//!   recognised.
//! - The end is asked of the stream's leader, as any other replica may lag behind. A leader that
//!   was cut off and does not know it yet can still give a stale end, for at most as long as it
//!   takes to step down; appends are safe even then.
//!
//! **Durability is the server's.** Clients cannot see or set how often it syncs, and by default it
//! syncs every two minutes, so that a confirmed append may be lost with the power of the machine
//! (or of the majority of the cluster). Servers that hold logs must run with
//! `jetstream { sync_interval: always }`.

mod answer;
mod batch;
mod credentials;
mod line;
mod open;
mod packs;
mod read;
mod recent;
mod seal;
mod snapshot;

use self::answer::Answer;
use self::batch::Batch;
use self::read::Replay;
use self::recent::Recent;
use crate::contract::check_size;
use crate::follow::AbortOnDrop;
use crate::{AppendFailure, EndWatch, Log, ReadFailure, Record, Snapshot, SnapshotFailure};
use async_nats::jetstream;
pub use line::{Heard, Line};
pub use packs::{PackFailure, Packs};
pub use seal::Seal;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Where the log is and how to get there.
#[derive(Clone, Debug)]
pub struct JetStreamOptions {
    /// `nats://host:port` or `tls://host:port`; several are separated by commas.
    pub url: String,
    pub access: JetStreamAccess,
    /// The stream; created if it does not exist. Several logs may share one that was made for it.
    pub stream: String,
    /// The subject within the stream that is this log. No wildcards.
    pub subject: String,
    /// The subjects of all logs in the stream, as a pattern; where it is empty, this log's alone.
    pub holds: String,
    /// Certificates to trust beside the platform's own.
    pub ca: Option<PathBuf>,
    /// On how many servers a stream that is created here is kept: 1, 3 or 5.
    pub replicas: usize,
    /// Seals what is written, and has nothing read that is not sealed with the same key.
    pub seal: Option<Seal>,
    /// How large a stream that is created here may grow; without it, the server's own limits hold.
    pub stream_bytes_max: Option<u64>,
    /// How long to wait for an answer before an append is unconfirmed or a read has failed.
    pub answer_within: Duration,
}

impl JetStreamOptions {
    pub fn new(
        url: impl Into<String>,
        stream: impl Into<String>,
        subject: impl Into<String>,
    ) -> Self {
        Self {
            url: url.into(),
            access: JetStreamAccess::Open,
            stream: stream.into(),
            subject: subject.into(),
            holds: String::new(),
            ca: None,
            replicas: 1,
            seal: None,
            stream_bytes_max: None,
            answer_within: Duration::from_secs(5),
        }
    }
}

/// How the server is told who we are.
#[derive(Clone)]
pub enum JetStreamAccess {
    /// Not at all, or by what the URL holds.
    Open,
    Token(String),
    Password {
        user: String,
        password: String,
    },
    /// The seed of a key: the server is shown a signature, and never this.
    Nkey(String),
    /// A `.creds` file.
    CredentialsFile(PathBuf),
}

/// Names the kind only: options end up in diagnostics, secrets must not.
impl std::fmt::Debug for JetStreamAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Token(_) => "Token",
            Self::Password { .. } => "Password",
            Self::Nkey(_) => "Nkey",
            Self::CredentialsFile(_) => "CredentialsFile",
        })
    }
}

/// The last message on the subject, as far as this holder knows; zeros for an empty log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tail {
    position: u64,
    sequence: u64,
}

/// One holder of a log in JetStream.
pub struct JetStreamLog {
    context: jetstream::Context,
    stream: jetstream::stream::Stream,
    snapshots: jetstream::stream::Stream,
    subject: String,
    seal: Option<Seal>,
    answer_within: Duration,
    append_bytes_max: usize,
    tail: Tail,
    /// Where some messages are: last position to sequence. Spares a search for the reads that
    /// usually come, which start where this holder last saw the end.
    landmarks: BTreeMap<u64, u64>,
    replay: Option<Replay>,
    follower: Option<(watch::Receiver<u64>, Arc<AbortOnDrop>)>,
    /// What the follower brought last.
    recent: Arc<Recent>,
}

impl std::fmt::Debug for JetStreamLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JetStreamLog")
            .field("subject", &self.subject)
            .field("tail", &self.tail)
            .finish_non_exhaustive()
    }
}

impl JetStreamLog {
    /// The sequence of the last message in its stream, of whatever log.
    pub fn stream_end(&self) -> u64 {
        self.stream.cached_info().state.last_sequence
    }

    /// Publishes after the known tail, which is where the caller expects the end.
    async fn publish(&mut self, records: &[String]) -> Result<u64, AppendFailure> {
        let first = self.tail.position + 1;
        let message = batch::encode(&self.subject, self.seal.as_ref(), first, records)
            .expected_last_subject_sequence(self.tail.sequence)
            .expected_stream(self.stream.cached_info().config.name.as_str());
        let sent = self.context.send_publish(self.subject.clone(), message).await;
        let outcome = match sent {
            Ok(acknowledgement) => acknowledgement.await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(stored) => {
                let position = self.tail.position + records.len() as u64;
                self.set_tail(Tail { position, sequence: stored.sequence });
                Ok(position)
            }
            Err(error) => match answer::classify(&error) {
                Answer::Conflict => self.conflict(self.tail.position).await,
                Answer::Full(reason) => Err(AppendFailure::Full(reason)),
                Answer::TooLarge => Err(AppendFailure::TooLarge {
                    bytes: records.iter().map(|record| record.len() + 1).sum(),
                    max: self.append_bytes_max,
                }),
                Answer::Unknown(reason) => Err(AppendFailure::Unconfirmed(reason)),
            },
        }
    }

    /// Finds out how far the log has moved on.
    ///
    /// A cluster also refuses while another append is agreed on but not yet stored. Waiting for
    /// that one spares the caller a loop in which nothing has changed yet. A replica may announce
    /// it before the leader has stored it, so the leader is asked until it knows.
    async fn conflict(&mut self, expected_end: u64) -> Result<u64, AppendFailure> {
        if let Some(end) = self.recent.end().filter(|end| *end > expected_end) {
            return Err(AppendFailure::Conflict { end });
        }
        let deadline = Instant::now() + self.answer_within;
        loop {
            self.look_up_tail()
                .await
                .map_err(|failure| AppendFailure::Unconfirmed(failure.to_string()))?;
            if self.tail.position != expected_end {
                return Err(AppendFailure::Conflict { end: self.tail.position });
            }
            let mut watch = self.follow();
            if timeout_at(deadline, watch.beyond(expected_end)).await.is_err() {
                let reason = "another append is under way and has not been stored".into();
                return Err(AppendFailure::Unconfirmed(reason));
            }
        }
    }

    fn set_tail(&mut self, tail: Tail) {
        const LANDMARKS_MAX: usize = 256;
        self.tail = tail;
        self.landmarks.insert(tail.position, tail.sequence);
        if self.landmarks.len() > LANDMARKS_MAX {
            self.landmarks.pop_first();
        }
    }
}

impl Log for JetStreamLog {
    async fn append(
        &mut self,
        expected_end: u64,
        records: &[String],
    ) -> Result<u64, AppendFailure> {
        check_size(records, self.append_bytes_max)?;
        // The end only grows, so what is below the known tail is stale for certain. Anything else
        // is either exactly there or has to be asked for.
        if records.is_empty() || expected_end > self.tail.position {
            self.look_up_tail()
                .await
                .map_err(|failure| AppendFailure::Unconfirmed(failure.to_string()))?;
        }
        if expected_end != self.tail.position {
            return Err(AppendFailure::Conflict { end: self.tail.position });
        }
        if records.is_empty() {
            return Ok(expected_end);
        }
        self.publish(records).await
    }

    async fn read(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        self.read_page(after, max).await
    }

    fn heard(&mut self, after: u64, max: usize) -> Result<Vec<Record>, ReadFailure> {
        self.heard_after(after, max)
    }

    async fn end(&mut self) -> Result<u64, ReadFailure> {
        self.look_up_tail().await?;
        Ok(self.tail.position)
    }

    fn follow(&mut self) -> EndWatch {
        if let Some((end, source)) = &self.follower
            && end.has_changed().is_ok()
        {
            return EndWatch::fed_by(end.clone(), Arc::clone(source));
        }
        let (sender, end) = watch::channel(self.tail.position);
        let stream = self.stream.clone();
        let messages = read::messages_from(stream, &self.subject, self.tail.sequence + 1);
        let recent = Arc::clone(&self.recent);
        let task = tokio::spawn(async move {
            if let Ok(messages) = messages.await {
                read::report_end(messages, &recent, sender).await;
            }
        });
        let source = Arc::new(AbortOnDrop(task.abort_handle()));
        self.follower = Some((end.clone(), Arc::clone(&source)));
        EndWatch::fed_by(end, source)
    }

    async fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotFailure> {
        self.store_snapshot(snapshot).await
    }

    async fn load_snapshot(&mut self) -> Result<Option<Snapshot>, ReadFailure> {
        let newest = self.fetch_snapshot().await?;
        if let Some(snapshot) = &newest
            && snapshot.position > self.tail.position
        {
            self.look_up_tail().await?;
            if snapshot.position > self.tail.position {
                let reason = format!("a snapshot of position {} exists", snapshot.position);
                return Err(self.damaged(self.tail.position + 1, reason));
            }
        }
        Ok(newest)
    }

    fn append_bytes_max(&self) -> usize {
        self.append_bytes_max
    }
}
