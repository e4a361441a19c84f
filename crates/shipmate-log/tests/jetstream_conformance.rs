//! Holds the JetStream log, on a real server, to the promises of a log.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/nats.rs"]
mod nats;
#[path = "support/temp.rs"]
mod temp;

use nats::Server;
use shipmate_log::conformance::Opener;
use shipmate_log::{AnyLog, JetStreamLog, JetStreamOptions};
use std::time::Duration;

struct InJetStream(Server);

impl InJetStream {
    fn new() -> Self {
        Self(Server::start())
    }
}

impl Opener for InJetStream {
    type Log = AnyLog;

    async fn open(&mut self) -> AnyLog {
        let options = JetStreamOptions::new(self.0.url(), "TEAM", "team.log");
        // A server may stand still for a while.
        let options = JetStreamOptions { answer_within: Duration::from_secs(120), ..options };
        AnyLog::JetStream(JetStreamLog::open(options).await.unwrap())
    }

    async fn open_beside(&mut self) -> Option<AnyLog> {
        Some(self.open().await)
    }

    async fn damage_snapshot(&mut self) {
        let context = async_nats::jetstream::new(async_nats::connect(self.0.url()).await.unwrap());
        let stream = context.get_stream("TEAM-snapshots").await.unwrap();
        let parts = "snapshot.TEAM.team.log.part.>";
        let part = stream.get_last_raw_message_by_subject(parts).await.unwrap();
        let mut changed = part.payload.to_vec();
        changed[0] ^= 1;
        context.publish(part.subject, changed.into()).await.unwrap().await.unwrap();
    }
}

shipmate_log::conformance!(jetstream, InJetStream::new());
