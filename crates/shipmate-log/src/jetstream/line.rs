//! The line between machines: words that are heard by whoever listens and kept nowhere.
//!
//! It begins without a server and finds it again after every cut. What is said while it is down is
//! lost: whoever says something that must arrive asks for an answer.

use super::JetStreamOptions;
use super::open::connect_with;
use crate::OpenFailure;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{AccountError, AccountErrorKind, Context, ContextBuilder};
use async_nats::{Client, ConnectOptions, Event, Subscriber};
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::watch;

/// How many words may wait for a listener before later ones are lost to it.
const UNHEARD_MAX: usize = 65_536;

#[derive(Clone)]
pub struct Line {
    client: Client,
    context: Context,
    options: JetStreamOptions,
    up: watch::Receiver<u64>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

/// What is said on some subjects.
#[derive(Debug)]
pub struct Heard(Subscriber);

impl Heard {
    /// The next words, and the subject they were said on; none when the line is closed.
    pub async fn next(&mut self) -> Option<(String, Vec<u8>)> {
        let message = self.0.next().await?;
        Some((message.subject.to_string(), message.payload.to_vec()))
    }
}

impl Line {
    /// # Errors
    /// Where the server could never let us in: an address or a file that cannot be read.
    pub async fn open(options: &JetStreamOptions) -> Result<Line, OpenFailure> {
        let (told, up) = watch::channel(0);
        let also = |connect: ConnectOptions| {
            let connect = connect.retry_on_initial_connect().subscription_capacity(UNHEARD_MAX);
            connect.event_callback(move |event| {
                // Odd while it is up.
                let step =
                    |count: &mut u64, odd: bool| *count += u64::from((*count % 2 == 1) != odd);
                match event {
                    Event::Connected => told.send_modify(|count| step(count, true)),
                    Event::Disconnected => told.send_modify(|count| step(count, false)),
                    _ => {}
                }
                std::future::ready(())
            })
        };
        let client = connect_with(options, also).await?;
        let context = ContextBuilder::new().timeout(options.answer_within).build(client.clone());
        Ok(Line { client, context, options: options.clone(), up })
    }

    /// Whether the server is there, and a number that grows each time that changes.
    pub fn is_up(&self) -> bool {
        *self.up.borrow() % 2 == 1
    }

    /// Why the server would not let us in now: the credentials are not valid any more.
    pub fn expired(&self) -> Option<String> {
        self.options.expired()
    }

    /// Waits until the server is gone; at once where it is.
    pub async fn down(&mut self) {
        while self.is_up() {
            self.changed().await;
        }
    }

    /// Waits until the server comes or goes.
    pub async fn changed(&mut self) {
        if self.up.changed().await.is_err() {
            std::future::pending().await
        }
    }

    pub async fn hear(&self, subject: &str) -> Result<Heard, String> {
        self.client.subscribe(subject.to_owned()).await.map(Heard).map_err(|e| e.to_string())
    }

    /// Says it, if there is a server now.
    pub async fn say(&self, subject: &str, words: Vec<u8>) -> Result<(), String> {
        if !self.is_up() {
            return Err("the NATS server cannot be reached".to_owned());
        }
        self.client.publish(subject.to_owned(), words.into()).await.map_err(|e| e.to_string())
    }

    /// Whether the server says anything now: of one that is frozen no line goes down.
    pub async fn is_answered(&self, within: Duration) -> bool {
        let asked = self.context.query_account();
        let said = |failure: &AccountError| {
            !matches!(failure.kind(), AccountErrorKind::TimedOut | AccountErrorKind::Other)
        };
        let answer = tokio::time::timeout(within, asked).await;
        self.is_up() && answer.is_ok_and(|answer| answer.as_ref().err().is_none_or(said))
    }

    /// Whether the server says that it keeps nothing: it has put its JetStream out of use, as it does when
    /// its disk is full.
    pub async fn is_without_store(&self, within: Duration) -> bool {
        let asked = tokio::time::timeout(within, self.context.query_account());
        let Ok(Err(failure)) = asked.await else { return false };
        match failure.kind() {
            AccountErrorKind::JetStreamUnavailable => true,
            AccountErrorKind::JetStream(error) => matches!(
                error.error_code(),
                ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT
            ),
            AccountErrorKind::TimedOut | AccountErrorKind::Other => false,
        }
    }

    /// The subjects of all logs in the stream; none where there is no stream yet.
    pub async fn logs(&self) -> Result<BTreeSet<String>, String> {
        let Ok(stream) = self.context.get_stream(&self.options.stream).await else {
            return Ok(BTreeSet::new());
        };
        let subjects = stream.info_with_subjects(">").await.map_err(|e| e.to_string())?;
        let subjects: Vec<(String, usize)> =
            subjects.try_collect().await.map_err(|e| e.to_string())?;
        Ok(subjects.into_iter().map(|(subject, _)| subject).collect())
    }
}
