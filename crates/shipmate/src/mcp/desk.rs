//! The board as one tool call reaches it: every request within the time that is left for the call.
//!
//! A request that waits is asked again and again without waiting, each time something happened in
//! the team. So a call that is given up has read no mail and claimed no task that nobody hears of.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shipmate_protocol::ask::TeamCreate;
use shipmate_protocol::tools::Board;
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
pub(crate) struct Desk {
    pub(crate) hub: Arc<Hub>,
    pub(crate) link: Link,
    /// Empty for a visitor.
    pub(crate) team: String,
    pub(crate) until: Instant,
    /// The team that this call created.
    pub(crate) created: Mutex<Option<String>>,
}

impl Board for Desk {
    async fn ask(&self, ask: Ask) -> Result<Answer, Refused> {
        match ask {
            Ask::InboxRead { max, wait: true } => {
                self.wait(Ask::InboxRead { max, wait: false }).await
            }
            Ask::TaskNext { lease_ms, wait: true } => {
                self.wait(Ask::TaskNext { lease_ms, wait: false }).await
            }
            Ask::TeamCreate(create) => self.create(create).await,
            ask => self.link.ask(ask, self.until).await,
        }
    }
}

impl Desk {
    async fn wait(&self, look: Ask) -> Result<Answer, Refused> {
        let mut news: Receiver<Happening> = self.hub.news(&self.team);
        let patience = self.until - LAST_LOOK;
        loop {
            let answer = self.link.ask(look.clone(), self.until).await;
            if !is_nothing(&answer) {
                return answer;
            }
            let something = tokio::time::timeout_at(patience, happens(&mut news, &look)).await;
            if something.is_err() {
                return answer;
            }
        }
    }

    /// A team of a session works in the repository as a run does.
    async fn create(&self, mut create: TeamCreate) -> Result<Answer, Refused> {
        if create.setup.is_none()
            && create.parent.is_none()
            && let Some(setup) = self.hub.setup()
        {
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

fn is_nothing(answer: &Result<Answer, Refused>) -> bool {
    match answer {
        Ok(Answer::Messages(messages)) => messages.is_empty(),
        Ok(_) => false,
        Err(refused) => refused.code == "NothingAvailable",
    }
}

/// Waits until there may be an answer to `look`.
async fn happens(news: &mut Receiver<Happening>, look: &Ask) {
    loop {
        let worth_a_look = match news::next(news).await {
            Some(Happening::Record(record)) => match look {
                Ask::InboxRead { .. } => record.kind == "message.sent",
                _ => !record.kind.starts_with("message.") && !record.kind.starts_with("usage."),
            },
            Some(Happening::Connected | Happening::Missed) => true,
            // Nothing will happen any more: the call ends with its time.
            None => std::future::pending().await,
        };
        if worth_a_look {
            return;
        }
    }
}
