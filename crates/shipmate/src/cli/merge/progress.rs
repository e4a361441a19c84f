//! What is done for a command that takes its time, on stderr, until the answer is there.

use std::io::Write;

use shipmate_protocol::{Notice, Verb};

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;

/// Asks, and shows what the coordinator tells this command: what others do is not shown as its own.
pub(crate) fn ask_with_progress<V: Verb>(
    session: &mut Session,
    ask: V,
) -> Result<V::Answer, Failure> {
    if session.screen.json {
        return session.ask(ask);
    }
    session.ask_hearing(ask, |notice| {
        if let Notice::Sign { queue: Some(text), .. } = notice {
            // Whoever has closed it does not want to know.
            drop(writeln!(std::io::stderr(), "{} …", plain(&text)));
        }
    })
}
