//! What the merge queue does, on stderr, while something waits for it.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc::channel;

use shipmate_protocol::client::Heard;
use shipmate_protocol::{Answer, Ask, Notice};

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;

/// Asks, and shows what the queue does until the answer is there.
pub(crate) fn ask_with_progress(session: &mut Session, ask: Ask) -> Result<Answer, Failure> {
    if session.screen.json {
        return session.ask(ask);
    }
    session.client.welcome()?;
    let mut watcher = session.without_starting();
    watcher.team.clone_from(&session.client.team);
    let (tell, listens) = channel();
    // Ends with this process: the answer does not wait for it.
    std::thread::spawn(move || {
        let each = |heard| {
            match heard {
                // Nobody waits for it the second time, after a restart of the coordinator.
                Heard::Answer(_) => drop(tell.send(())),
                Heard::Notice(Notice::Sign { queue: Some(text), .. }) => {
                    // Whoever has closed it does not want to know.
                    drop(writeln!(std::io::stderr(), "{} …", plain(&text)));
                }
                Heard::Notice(_) => {}
            }
            ControlFlow::Continue(())
        };
        // Without it there is only less to see.
        drop(watcher.listen(|| vec![Ask::Signs], each));
    });
    // It listens, or cannot.
    let _ = listens.recv();
    session.ask(ask)
}
