//! What a board keeps up: its followers, its snapshots, and the state beside the log.

use shipmate_core::Desk;
use shipmate_log::Log as _;
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Notice, Refused};

use super::{SNAPSHOT_EVERY, Worker};
use crate::answer;
use crate::open::{self, read_refusal};

impl Worker {
    pub(super) async fn tell_followers(&mut self) {
        self.followers.retain(|follower| follower.connection.is_open());
        let end = self.position();
        let mut followers = std::mem::take(&mut self.followers);
        for follower in &mut followers {
            while follower.sent < end && follower.connection.is_open() {
                let Ok(records) = answer::records(&mut self.log, follower.sent, 1000).await else {
                    follower.connection.close();
                    break;
                };
                if records.is_empty() {
                    break;
                }
                follower.sent += records.len() as u64;
                let team = self.board.root.to_string();
                follower.connection.send(&Reply::Notice(Notice::Records { team, records }));
            }
        }
        self.followers = followers;
    }

    /// A snapshot costs the size of the board, so it waits for that many records.
    pub(super) async fn keep_snapshot(&mut self) {
        let (position, tasks) =
            self.board.with_state(|state| (state.position, state.tasks().len() as u64));
        if position - self.snapshot >= SNAPSHOT_EVERY.max(4 * tasks) {
            self.rest(SNAPSHOT_EVERY).await;
        }
    }

    /// Saves a snapshot if at least so many records came since the last.
    pub(super) async fn rest(&mut self, records_min: u64) {
        let position = self.position();
        if position - self.snapshot >= records_min {
            let snapshot = self.board.with_state(open::snapshot);
            open::save(&mut self.log, &snapshot).await;
            self.snapshot = position;
        }
        self.log.rest().await;
    }

    /// Starts again from what the log has.
    pub(super) async fn rebuild(&mut self) -> Result<(), Refused> {
        let state = match &mut self.mirror {
            Some(mirror) => {
                let read = open::fold_from(&mut self.log, mirror, u64::MAX).await;
                read.map_err(|e| read_refusal(&e))?;
                mirror.clone()
            }
            None => open::fold(&mut self.log).await.map_err(|e| read_refusal(&e))?.0,
        };
        *self.board.desk.borrow_mut() = Desk::new(state);
        Ok(())
    }

    /// Takes in what other writers appended.
    pub(super) async fn catch_up(&mut self) -> Result<(), Refused> {
        loop {
            let after = self.position();
            let page = self.log.read(after, 4096).await.map_err(|e| read_refusal(&e))?;
            if page.is_empty() {
                return Ok(());
            }
            for entry in page {
                let record =
                    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))?;
                self.board.desk.borrow_mut().catch_up(&record);
                if let Some(mirror) = &mut self.mirror {
                    shipmate_core::apply(mirror, &record);
                }
                self.news = true;
            }
        }
    }
}
