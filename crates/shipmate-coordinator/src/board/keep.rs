//! What a board keeps up: its followers, its snapshots, and the state beside the log.

use std::rc::Rc;

use shipmate_log::{AnyLog, Log as _, Record as Entry};
use shipmate_model::Position;
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Notice, Refused};

use super::{Follower, SNAPSHOT_EVERY, Worker};
use crate::connection::Connection;
use crate::history;
use crate::open::{self, read_refusal};

/// What followers are sent at once: so many records, or so many bytes.
const PAGE: usize = 1000;
const PAGE_BYTES: usize = 64 * 1024;
/// So many of them, before new requests are heard.
const FOLLOWERS_AT_ONCE: usize = 32;

impl Follower {
    fn is_behind(&self, end: Position) -> bool {
        self.sent < end && self.connection.has_read_all()
    }
}

impl Worker {
    /// Sends this connection every record after this one; a connection follows once.
    pub(super) fn follow(&mut self, connection: &Rc<Connection>, sent: Position) {
        let is_it = |follower: &&mut Follower| Rc::ptr_eq(&follower.connection, connection);
        if let Some(follower) = self.followers.iter_mut().find(is_it) {
            follower.sent = sent;
            return;
        }
        connection.wake_when_read(&self.board.reader());
        self.followers.push(Follower { connection: Rc::clone(connection), sent });
    }

    /// Somebody is to be answered, or sent records, and can be now.
    pub(super) fn has_readers(&self) -> bool {
        let end = self.position();
        self.reads.is_ready() || self.followers.iter().any(|follower| follower.is_behind(end))
    }

    /// Sends each the next page who has read the last one. Nothing is kept for the others but where
    /// they are.
    pub(super) async fn tell_followers(&mut self) {
        self.followers.retain(|follower| follower.connection.is_open());
        let end = self.position();
        let mut followers = std::mem::take(&mut self.followers);
        let behind = followers.iter_mut().filter(|follower| follower.is_behind(end));
        for Follower { connection, sent } in behind.take(FOLLOWERS_AT_ONCE) {
            let page = history::records(&mut self.log, *sent, PAGE, PAGE_BYTES);
            match page.await {
                Ok(records) if !records.is_empty() => {
                    *sent += records.len() as u64;
                    let team = self.board.root.to_string();
                    connection.send(&Reply::Notice(Notice::Records { team, records }));
                }
                _ => connection.close(),
            }
        }
        // Those who had their turn come last the next time.
        let many = followers.len().min(FOLLOWERS_AT_ONCE);
        followers.rotate_left(many);
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

    /// Starts again from what the log has, with all that it is known to have.
    pub(super) async fn rebuild(&mut self, known: Position) -> Result<(), Refused> {
        let state = match &mut self.mirror {
            Some(mirror) => {
                let mut others = Vec::new();
                loop {
                    let page = newer(&mut self.log, mirror.position).await?;
                    let is_end = page.is_empty();
                    for entry in page {
                        let record = open::parse(&entry.text, entry.position);
                        let record = record.map_err(|e| read_refusal(&e))?;
                        shipmate_core::apply(mirror, &record);
                        others.push(record);
                    }
                    if is_end || known > 0 && mirror.position >= known {
                        break;
                    }
                }
                let state = mirror.clone();
                self.board.renew(state);
                self.happened(&others);
                return Ok(());
            }
            None => open::fold(&mut self.log).await.map_err(|e| read_refusal(&e))?.0,
        };
        self.board.renew(state);
        Ok(())
    }

    /// Takes in what other writers appended.
    pub(super) async fn catch_up(&mut self) -> Result<(), Refused> {
        loop {
            let after = self.position();
            let page = newer(&mut self.log, after).await?;
            if page.is_empty() {
                return Ok(());
            }
            let is_last = page.len() < PAGE;
            let mut others = Vec::with_capacity(page.len());
            for entry in page {
                let record =
                    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))?;
                self.board.writer.borrow_mut().catch_up(&record);
                if let Some(mirror) = &mut self.mirror {
                    shipmate_core::apply(mirror, &record);
                }
                others.push(record);
            }
            self.news = true;
            self.happened(&others);
            if is_last {
                return Ok(());
            }
        }
    }
}

/// What others have appended: what is known here, or else what the log has. Who chases its end until there
/// is none decides nothing while others append: a record that is missed is met by the next append, or heard.
async fn newer(log: &mut AnyLog, after: Position) -> Result<Vec<Entry>, Refused> {
    let heard = log.heard(after, PAGE).map_err(|e| read_refusal(&e))?;
    match heard.is_empty() {
        true => log.read(after, PAGE).await.map_err(|e| read_refusal(&e)),
        false => Ok(heard),
    }
}
