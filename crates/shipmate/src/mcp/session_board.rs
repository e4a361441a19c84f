//! The board as one tool call reaches it: every request within the time that is left for the call.
//!
//! A call that waits looks again each time something has happened in the team; no request of it
//! waits at the coordinator. So a call that is given up has read no mail that nobody hears of.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shipmate_model::Event;
use shipmate_protocol::tools::Board;
use shipmate_protocol::verbs::TeamCreate;
use shipmate_protocol::{Answer, Ask, Refused};
use tokio::sync::broadcast::Receiver;
use tokio::time::Instant;

use crate::mcp::hub::Hub;
use crate::mcp::link::Link;
use crate::mcp::news::{self, Happening};

/// Every call returns within 20 s; this leaves time for the mail and the way back.
pub(crate) const CALL_MAX: Duration = Duration::from_secs(17);
/// What a call that waits leaves for its last look.
const LAST_LOOK: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct SessionBoard {
    hub: Arc<Hub>,
    link: Link,
    /// Empty for a visitor.
    team: String,
    until: Instant,
    /// What happens in the team, from the first wait on.
    news: tokio::sync::Mutex<Option<Receiver<Happening>>>,
    created: Mutex<Option<String>>,
}

impl Board for SessionBoard {
    async fn ask_any(&self, ask: Ask) -> Result<Answer, Refused> {
        match ask {
            Ask::TeamCreate(create) => self.create(create).await,
            ask => self.link.ask(ask, self.until).await,
        }
    }

    async fn news(&self, within_ms: u64) -> u64 {
        let mut news = self.news.lock().await;
        let Some(listening) = news.as_mut() else {
            // What happened between the caller's look and this moment nobody would tell: it
            // looks again, and from then on nothing is missed.
            *news = Some(self.hub.news(&self.team));
            return within_ms;
        };
        let begun = Instant::now();
        let end = (begun + Duration::from_millis(within_ms)).min(self.until - LAST_LOOK);
        if tokio::time::timeout_at(end, happens(listening)).await.is_err() {
            return 0;
        }
        let passed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        within_ms.saturating_sub(passed)
    }
}

impl SessionBoard {
    pub(crate) fn new(hub: &Arc<Hub>, link: &Link, team: &str, until: Instant) -> SessionBoard {
        SessionBoard {
            hub: Arc::clone(hub),
            link: link.clone(),
            team: team.to_owned(),
            until,
            news: tokio::sync::Mutex::default(),
            created: Mutex::default(),
        }
    }

    /// The team that this call created.
    pub(crate) fn created(&self) -> Option<String> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A team of a session works in the repository as a run does.
    async fn create(&self, mut create: TeamCreate) -> Result<Answer, Refused> {
        if create.parent.is_none()
            && let Some(mut setup) = self.hub.setup()
        {
            let said = create.setup.take().unwrap_or_default();
            setup.trees = said.trees.or(setup.trees);
            create.gate = true;
            create.setup = Some(setup);
        }
        let name = create.name.clone();
        let answer = self.link.ask(Ask::TeamCreate(create), self.until).await?;
        if self.team.is_empty() {
            // What else this call asks is about the team that it has just made.
            self.link.turn_to(name.clone(), self.until).await?;
        }
        *self.created.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
        Ok(answer)
    }
}

/// Waits until something has happened that a call may wait for.
async fn happens(news: &mut Receiver<Happening>) {
    loop {
        let worth_a_look = match news::next(news).await {
            Some(Happening::Record(event)) => {
                matches!(*event, Event::MessageSent { .. }) || news::is_of_board(&event)
            }
            Some(Happening::Connected | Happening::Missed | Happening::Unreadable) => true,
            // Nothing will happen any more: the call ends with its time.
            None => std::future::pending().await,
        };
        if worth_a_look {
            return;
        }
    }
}
