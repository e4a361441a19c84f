//! What a board keeps up: its followers, its snapshots, and the state beside the log.

use std::rc::Rc;
use std::time::Duration;

use shipmate_log::{AnyLog, Log as _, ReadFailure, Record as Entry};
use shipmate_model::Position;
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Notice, Refused};
use tokio::time::timeout;

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
        let mut unread = None;
        let behind = followers.iter_mut().filter(|follower| follower.is_behind(end));
        for Follower { connection, sent } in behind.take(FOLLOWERS_AT_ONCE) {
            let page = history::records(&mut self.log, *sent, PAGE, PAGE_BYTES);
            match page.await {
                Ok(records) if !records.is_empty() => {
                    *sent += records.len() as u64;
                    let team = self.board.root.to_string();
                    connection.send(&Reply::Notice(Notice::Records { team, records }));
                }
                Err(refused) if self.board.is_passing(&refused) => {
                    unread = Some(refused);
                    break;
                }
                _ => connection.close(),
            }
        }
        if let Some(refused) = unread {
            self.tell_away(&refused);
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
        let patience = self.patience(0);
        let Some(mirror) = &mut self.mirror else {
            let state = open::fold(&mut self.log).await.map_err(|e| read_refusal(&e))?.0;
            self.board.renew(state);
            return Ok(());
        };
        loop {
            let page = newer(&mut self.log, mirror.position, patience).await?;
            let is_end = page.is_empty();
            for entry in page {
                let record = open::parse(&entry.text, entry.position);
                let record = record.map_err(|e| read_refusal(&e))?;
                shipmate_core::apply(mirror, &record);
                self.untold.push(record);
            }
            if is_end || known > 0 && mirror.position >= known {
                break;
            }
        }
        self.board.renew(mirror.clone());
        let others = std::mem::take(&mut self.untold);
        self.news |= !others.is_empty();
        self.happened(&others);
        Ok(())
    }

    /// Takes in what other writers appended.
    pub(super) async fn catch_up(&mut self) -> Result<(), Refused> {
        loop {
            let after = self.position();
            let patience = self.patience(0);
            let page = newer(&mut self.log, after, patience).await?;
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
async fn newer(
    log: &mut AnyLog,
    after: Position,
    patience: Option<Duration>,
) -> Result<Vec<Entry>, Refused> {
    let heard = log.heard(after, PAGE).map_err(|e| read_refusal(&e))?;
    if !heard.is_empty() {
        return Ok(heard);
    }
    let read = log.read(after, PAGE);
    let read = match patience {
        None => read.await,
        Some(patience) => timeout(patience, read).await.unwrap_or_else(|_| {
            Err(ReadFailure::Unavailable("the NATS server does not answer".to_owned()))
        }),
    };
    read.map_err(|e| read_refusal(&e))
}
