//! Where a watched run hears of what happens: the log, signals, and the person at the terminal.

use std::cell::Cell;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::mpsc::Sender;
use std::time::Duration;

use shipmate_model::Record;
use shipmate_protocol::client::Heard;
use shipmate_protocol::{Ask, Notice, verbs};

use crate::cli::failure::Failure;
use crate::cli::session::Session;

pub(in crate::cli::run) enum News {
    Record(Box<Record>),
    /// A record that only a newer release can read.
    Unreadable,
    /// The log is followed, from its beginning or again after the coordinator was away.
    Following,
    Interrupted,
    /// The terminal has another size.
    Resized,
    /// The log cannot be reached, and is asked for again; why.
    Away(String),
    Ended(Failure),
    /// Nobody looks at the page any more.
    PageLeft,
    /// A line that the person was asked for; nothing where there are no more.
    Typed(Option<String>),
}

/// How long a log that cannot be reached is left alone.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Follows the log on a connection of its own.
pub(super) fn follow(mut session: Session, tell: Sender<News>) {
    std::thread::spawn(move || {
        let after = Cell::new(0);
        let asks = || {
            // The run is over: to ask again would start a coordinator for nobody.
            while tell.send(News::Following).is_err() {
                std::thread::park();
            }
            vec![Ask::Follow(verbs::Follow { after: after.get() })]
        };
        let mut each = |heard: Heard| {
            let Heard::Notice(Notice::Records { records, .. }) = heard else {
                return ControlFlow::Continue(());
            };
            for record in records {
                // They come without gaps.
                after.set(after.get() + 1);
                let record = serde_json::from_str::<Box<Record>>(record.get());
                if tell.send(record.map_or(News::Unreadable, News::Record)).is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        };
        loop {
            let Err(failure) = session.client.listen(asks, &mut each) else { return };
            let failure = Failure::from(failure);
            let is_away = failure.is_away();
            let news = match failure.refused().filter(|_| is_away) {
                Some(refused) => News::Away(refused.message.clone()),
                None => News::Ended(failure),
            };
            // The watcher has gone when nobody hears it.
            if tell.send(news).is_err() || !is_away {
                return;
            }
            std::thread::park_timeout(AGAIN_AFTER);
        }
    });
}

/// Tells of Ctrl-C, of a request to end, and of a terminal that was resized.
pub(in crate::cli::run) fn interrupts(tell: Sender<News>) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate), Ok(mut resize)) = (
                signal(SignalKind::interrupt()),
                signal(SignalKind::terminate()),
                signal(SignalKind::window_change()),
            ) else {
                return;
            };
            loop {
                let news = tokio::select! {
                    _ = interrupt.recv() => News::Interrupted,
                    _ = terminate.recv() => News::Interrupted,
                    _ = resize.recv() => News::Resized,
                };
                if tell.send(news).is_err() {
                    return;
                }
            }
        });
    });
}

/// Reads one line from the terminal, while the run goes on.
pub(in crate::cli::run) fn read_line(tell: Sender<News>) {
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let line = matches!(read, Ok(1..)).then(|| line.trim().to_owned());
        // Nobody waits for it any more: the run is over.
        drop(tell.send(News::Typed(line)));
    });
}
