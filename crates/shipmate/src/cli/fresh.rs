//! A command that is refused leaves no workspace behind that was made only for it.

use std::fs;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use shipmate_protocol::Place;

use crate::cli::coordinator;
use crate::cli::session::{Globals, place};

/// A folder in which nothing was kept when the command began.
#[derive(Debug)]
pub(crate) struct Fresh(Place);

impl Fresh {
    pub(crate) fn of(globals: &Globals) -> Option<Fresh> {
        let place = place(globals.workspace.as_deref()).ok()?;
        (!place.has_state()).then_some(Fresh(place))
    }

    /// Removes what the command made, unless a team is there: then it is somebody's. Best
    /// effort, because the refusal is what the person has to hear.
    pub(crate) fn take_back(self) {
        let Fresh(place) = self;
        if !place.has_state() {
            return;
        }
        // First: a team that was taken back is put away by then.
        if let Some(pid) = coordinator::found(&place)
            && coordinator::end(pid, Duration::from_secs(10)).is_err()
        {
            return;
        }
        // Whoever starts another one meanwhile has them, or waits for them.
        let locks = [place.starting_lock(), place.lock()].map(|path| {
            let lock = fs::File::open(path).ok()?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive).ok().map(|()| lock)
        });
        let teams = fs::read_dir(place.teams()).is_ok_and(|mut teams| teams.next().is_some());
        if teams || locks.iter().any(Option::is_none) {
            return;
        }
        drop(fs::remove_dir_all(place.state()));
        // Only where nothing else is in it.
        drop(fs::remove_dir(place.project()));
    }
}
