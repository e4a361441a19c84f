//! A coordinator's client for asynchronous code: one request at a time, each within a time.
//!
//! The client blocks, so it works on a thread for blocking work. A request that takes too long is
//! left to end there by itself: it may still be carried out, and the next one waits its turn.

use std::sync::{Arc, Mutex, PoisonError};

use shipmate_protocol::{Ask, Client, ClientFailure, Code, Refused, Verb};
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub(crate) struct Link {
    client: Arc<Mutex<Client>>,
}

impl Link {
    pub(crate) fn new(client: Client) -> Link {
        Link { client: Arc::new(Mutex::new(client)) }
    }

    pub(crate) async fn ask<V: Verb>(&self, verb: V, until: Instant) -> Result<V::Answer, Refused> {
        let ask: Ask = verb.into();
        self.with(until, |client| client.ask(ask)).await?.of()
    }

    /// Who this link acts as: `person` or `team/name@epoch`.
    pub(crate) async fn actor(&self, until: Instant) -> Result<String, Refused> {
        self.with(until, |client| client.welcome().map(|welcome| welcome.actor)).await
    }

    /// Further requests are about this team.
    pub(crate) async fn turn_to(&self, team: String, until: Instant) -> Result<(), Refused> {
        let turn = |client: &mut Client| {
            client.team = Some(team);
            Ok(())
        };
        self.with(until, turn).await
    }

    async fn with<T: Send + 'static>(
        &self,
        until: Instant,
        work: impl FnOnce(&mut Client) -> Result<T, ClientFailure> + Send + 'static,
    ) -> Result<T, Refused> {
        let client = Arc::clone(&self.client);
        let working = tokio::task::spawn_blocking(move || {
            work(&mut client.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match tokio::time::timeout_at(until, working).await {
            Ok(Ok(done)) => done.map_err(refused),
            Ok(Err(ended)) => {
                Err(refusal(Code::Bug, format!("the request broke off: {ended}"), ""))
            }
            Err(_) => Err(refusal(
                Code::Slow,
                "the coordinator has not answered in time; the request may still be carried out",
                "look at the board before you ask again",
            )),
        }
    }
}

/// Whatever keeps a client from its answer, as a refusal.
pub(crate) fn refused(failure: ClientFailure) -> Refused {
    match failure {
        ClientFailure::Refused(refused) => refused,
        other => {
            let text = other.to_string();
            let (message, remedy) = text.split_once("\n  ").unwrap_or((&text, ""));
            refusal(Code::Unreachable, message, remedy)
        }
    }
}

pub(crate) use shipmate_protocol::refused as refusal;
