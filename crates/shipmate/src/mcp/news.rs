//! What happens in a team, as it happens: one connection that follows the log, for all sessions
//! of this process.
//!
//! Records are told in order. Whoever falls behind is told that it did, and looks at everything.

use std::ops::ControlFlow;
use std::sync::Arc;

use shipmate_model::event::{Recipient, TaskId};
use shipmate_model::{Event, Record};
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
    Record(Arc<Event>),
    /// A record of a newer release, which may be about anything.
    Unreadable,
    /// Some records were missed.
    Missed,
}

/// It is about this task.
pub(crate) fn is_of_task(event: &Event, id: TaskId) -> bool {
    event.task() == Some(&id)
}

/// Into whose inbox it puts something, or out of whose it takes it.
fn mail_of(event: &Event) -> Option<&[Recipient]> {
    match event {
        Event::MessageSent { to, .. } => Some(to),
        Event::MessageOffered { to, .. }
        | Event::MessageInjected { to, .. }
        | Event::MessageAcknowledged { to, .. }
        | Event::MessageExpired { to, .. }
        | Event::MessageBounced { to, .. } => Some(std::slice::from_ref(to)),
        _ => None,
    }
}

/// It changes the inbox of `team/name`.
pub(crate) fn is_mail_of(event: &Event, who: &str) -> bool {
    mail_of(event).is_some_and(|to| to.iter().any(|to| to.to_string() == who))
}

/// It changes the board: it is neither mail nor what agents use.
pub(crate) fn is_of_board(event: &Event) -> bool {
    let usage = matches!(event, Event::UsageReserved { .. } | Event::UsageRecorded { .. });
    !usage && mail_of(event).is_none()
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
                // They come without gaps.
                after.set(after.get() + 1);
                drop(tell.send(match serde_json::from_str::<Record>(record.get()) {
                    Ok(record) => Happening::Record(Arc::new(record.event)),
                    Err(_) => Happening::Unreadable,
                }));
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
