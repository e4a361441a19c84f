//! What a supervisor does beside everything else: shows that it is there, takes its mail, tells
//! signs of progress. Each on a connection of its own, so that none waits for another.

use std::rc::Rc;
use std::time::Duration;

use shipmate_protocol::view::InboxMessage;
use shipmate_protocol::{Ask, Notice, verbs};
use tokio::sync::mpsc;

use super::driver::Progress;
use super::link::{Line, Link, LinkEnd, SharedLink};

/// Progress is told at most this often.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Keeps a connection up as the sign of life, and answers when one is asked for.
pub(super) fn attend(line: &Rc<Line>, control: &SharedLink, over: mpsc::UnboundedSender<String>) {
    let (mut link, mut notices) = Link::greeting(line, Ask::Attend);
    tokio::task::spawn_local(async move {
        if let LinkEnd::Over(reason) = link.listen().await {
            drop(over.send(reason));
        }
    });
    let control = control.clone();
    tokio::task::spawn_local(async move {
        while let Some(notice) = notices.recv().await {
            match notice {
                Notice::Alive { asked } => drop(control.ask(verbs::Alive { asked }).await),
                Notice::Environment { variables } => {
                    shipmate_process::environment::renew(variables)
                }
                _ => {}
            }
        }
    });
}

pub(super) fn take_mail(
    line: &Rc<Line>,
    mail: mpsc::UnboundedSender<InboxMessage>,
    over: mpsc::UnboundedSender<String>,
) {
    let mut link = Link::new(line);
    tokio::task::spawn_local(async move {
        loop {
            match link.ask(verbs::InboxTake { max: 100, wait: true }).await {
                Ok(messages) => {
                    messages.into_iter().for_each(|message| drop(mail.send(message)));
                }
                Err(LinkEnd::Refused(refused)) => return drop(over.send(refused.message)),
                Err(LinkEnd::Over(reason)) => return drop(over.send(reason)),
            }
        }
    });
}

/// Tells signs of progress, no more often than anybody could look at them.
pub(super) fn tell_progress(
    control: &SharedLink,
    mut progress: tokio::sync::watch::Receiver<Progress>,
) {
    let control = control.clone();
    tokio::task::spawn_local(async move {
        while progress.changed().await.is_ok() {
            let seen = progress.borrow_and_update().clone();
            let Progress { bytes, last_words, context, waits_until } = seen;
            drop(control.ask(verbs::Progress { bytes, last_words, context, waits_until }).await);
            tokio::time::sleep_until(tokio::time::Instant::now() + TELL_EVERY).await;
        }
    });
}
