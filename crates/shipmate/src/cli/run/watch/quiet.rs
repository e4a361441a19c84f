//! A terminal that does not show what is typed while a table is drawn over it: a line's end would
//! move the table down, and leave its head behind.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// What is typed is not shown until this is dropped.
#[derive(Debug)]
pub(super) struct Quiet {
    before: Option<Termios>,
}

impl Quiet {
    pub(super) fn begin() -> Quiet {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHO);
            // Where that cannot be had the table is only less tidy.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &modes);
        }
        Quiet { before }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
