//! Asks the coordinator for the page, as the person: several at once, each within a time.
//!
//! A client of the coordinator blocks and asks one thing at a time, so a few of them are kept, and
//! each works on a thread for blocking work. One that takes too long is left to end by itself: what
//! it asked may still be carried out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::{Answer, Ask, Client, ClientFailure, Code, Place, Refused, Verb, refused};
use tokio::sync::Semaphore;

const CLIENTS_MAX: usize = 8;
/// How many stay connected when nothing is asked.
const IDLE_MAX: usize = 2;
/// How long somebody waits for an answer, waiting for a free client included.
const ANSWER_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Clients {
    pub(super) place: Place,
    launch: Launch,
    room: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Client>>>,
}

impl Clients {
    pub(super) fn new(place: Place, launch: Launch) -> Clients {
        let room = Arc::new(Semaphore::new(CLIENTS_MAX));
        Clients { place, launch, room, idle: Arc::default() }
    }

    /// A client of its own, for whoever listens.
    pub(super) fn client(&self, team: &str) -> Client {
        let mut client = Client::new(self.place.clone(), self.launch.clone(), TokenSource::Person);
        client.team = Some(team.to_owned());
        client
    }

    pub(super) async fn ask<V: Verb>(
        &self,
        team: Option<String>,
        verb: V,
    ) -> Result<V::Answer, Refused> {
        let asked = self.ask_in_turn(team, verb.into());
        match tokio::time::timeout(ANSWER_MAX, asked).await {
            Ok(answer) => answer?.of(),
            Err(_) => Err(refused(
                Code::Slow,
                "the coordinator has not answered in time; what was asked may still be done",
                "look at the board before you ask again",
            )),
        }
    }

    async fn ask_in_turn(&self, team: Option<String>, ask: Ask) -> Result<Answer, Refused> {
        let room = Arc::clone(&self.room);
        let seat = room.acquire_owned().await.expect("nobody closes the room");
        let idle = Arc::clone(&self.idle);
        let (place, launch) = (self.place.clone(), self.launch.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let free = lock(&idle).pop();
            let mut client =
                free.unwrap_or_else(|| Client::new(place, launch, TokenSource::Person));
            client.team = team;
            let answer = client.ask(ask);
            let mut idle = lock(&idle);
            if idle.len() < IDLE_MAX {
                idle.push(client);
            }
            drop(seat);
            answer
        });
        match asked.await {
            Ok(answer) => answer.map_err(|failure| why(&failure)),
            Err(broken) => Err(refused(Code::Bug, format!("the request broke off: {broken}"), "")),
        }
    }
}

fn lock(idle: &Mutex<Vec<Client>>) -> std::sync::MutexGuard<'_, Vec<Client>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whatever keeps a client from its answer, as a refusal.
pub(super) fn why(failure: &ClientFailure) -> Refused {
    match failure {
        ClientFailure::Refused(refused) => refused.clone(),
        other => {
            let text = other.to_string();
            let (message, remedy) = text.split_once("\n  ").unwrap_or((&text, ""));
            let remedy = match remedy {
                "" => "see `shipmate doctor`",
                remedy => remedy,
            };
            refused(Code::Unreachable, message, remedy)
        }
    }
}
