//! What happens in a team, as it happens: one connection that follows the log, for all sessions
//! of this process.
//!
//! Records are told in order. Whoever falls behind is told that it did, and looks at everything.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use shipmate_protocol::client::Heard;
use shipmate_protocol::{Ask, Client, Notice, verbs};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, WeakSender, channel};

/// How many records a listener may be behind.
const BEHIND_MAX: usize = 1024;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    /// A coordinator answers, perhaps a new one.
    Connected,
    Record(Arc<Record>),
    /// Some records were missed.
    Missed,
}

#[derive(Debug)]
pub(crate) struct Record {
    position: u64,
    /// `task.claimed`.
    pub(crate) kind: String,
    event: Value,
}

impl Record {
    fn read(text: &str) -> Option<Record> {
        let mut record: Value = serde_json::from_str(text).ok()?;
        let position = record["n"].as_u64()?;
        let event = record.get_mut("event")?.as_object_mut()?;
        let kind = event.keys().next()?.clone();
        let event = event.remove(&kind)?;
        Some(Record { position, kind, event })
    }

    /// It is about this task.
    pub(crate) fn is_of_task(&self, task: u32) -> bool {
        self.kind.starts_with("task.") && self.event["task"] == task
    }

    /// It puts something into the inbox of `team/name`, or takes it out.
    pub(crate) fn is_mail_of(&self, who: &str) -> bool {
        let to = &self.event["to"];
        let meant = |to: &Value| to["member"] == who;
        self.kind.starts_with("message.")
            && (meant(to) || to.as_array().is_some_and(|all| all.iter().any(meant)))
    }
}

/// Follows a team's log until nobody listens or there is nothing to follow. Only the thread that
/// follows holds the sender, so that listeners hear of its end.
///
/// What happened before [`Happening::Connected`] may be missing: look again when it comes.
pub(crate) fn follow(mut client: Client) -> (Receiver<Happening>, WeakSender<Happening>) {
    let (tell, news) = channel(BEHIND_MAX);
    let weak = tell.downgrade();
    std::thread::spawn(move || {
        let Ok(status) = client.ask(verbs::Status) else { return };
        let after = std::cell::Cell::new(status.position);
        let asks = || vec![Ask::Follow(verbs::Follow { after: after.get() })];
        // It ends with the team, or with the program.
        drop(client.listen(asks, |heard| {
            let records = match heard {
                Heard::Answer(_) => {
                    drop(tell.send(Happening::Connected));
                    return ControlFlow::Continue(());
                }
                Heard::Notice(Notice::Records { records, .. }) => records,
                Heard::Notice(_) => return ControlFlow::Continue(()),
            };
            for record in records {
                if let Some(record) = Record::read(record.get()) {
                    after.set(record.position);
                    drop(tell.send(Happening::Record(Arc::new(record))));
                }
            }
            match tell.receiver_count() {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }));
    });
    (news, weak)
}

/// The next thing that happens; none when nothing can any more.
pub(crate) async fn next(news: &mut Receiver<Happening>) -> Option<Happening> {
    match news.recv().await {
        Ok(happening) => Some(happening),
        Err(RecvError::Lagged(_)) => Some(Happening::Missed),
        Err(RecvError::Closed) => None,
    }
}
