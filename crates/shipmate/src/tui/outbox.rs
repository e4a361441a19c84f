//! Decisions that were made here and are not sent yet: for a few seconds they can be taken back.
//!
//! They are nowhere but here. Whoever leaves the screen sends them; whoever is killed leaves them
//! undecided.

use super::form::Form;
use super::message::Asked;

/// How long a decision can be taken back.
pub(super) const UNDO_MS: u64 = 5_000;

#[derive(Debug)]
pub(super) struct Held {
    /// Its row in the list of decisions.
    pub(super) key: String,
    /// `plan 41: approve`
    pub(super) what: String,
    pub(super) asked: Asked,
    /// When it is sent, in milliseconds since 1970.
    due: u64,
    /// What was filled in, for whoever takes it back.
    pub(super) form: Option<Form>,
}

impl Held {
    pub(super) fn left_ms(&self, now: u64) -> u64 {
        self.due.saturating_sub(now)
    }
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    held: Vec<Held>,
    /// Sent, and the record after which each is gone from the list; not known before its answer.
    sent: Vec<(String, Option<u64>)>,
}

impl Outbox {
    pub(super) fn hold(
        &mut self,
        now: u64,
        key: String,
        what: String,
        asked: Asked,
        form: Option<Form>,
    ) {
        self.held.push(Held { key, what, asked, due: now + UNDO_MS, form });
    }

    pub(super) fn held(&self) -> &[Held] {
        &self.held
    }

    /// The last one that is not sent yet.
    pub(super) fn take_back(&mut self) -> Option<Held> {
        self.held.pop()
    }

    /// Those whose time is over. A clock that was set back makes nobody wait for ever.
    pub(super) fn due(&mut self, now: u64) -> Vec<Asked> {
        self.send(|held| held.due <= now || held.due > now + UNDO_MS)
    }

    /// All of them.
    pub(super) fn empty(&mut self) -> Vec<Asked> {
        self.send(|_| true)
    }

    fn send(&mut self, mut is_due: impl FnMut(&Held) -> bool) -> Vec<Asked> {
        let due: Vec<Held> = self.held.extract_if(.., |held| is_due(held)).collect();
        self.sent.extend(due.iter().map(|held| (held.key.clone(), None)));
        due.into_iter().map(|held| held.asked).collect()
    }

    /// It was decided here: nobody is asked again while that is on its way.
    pub(super) fn hides(&self, key: &str) -> bool {
        self.held.iter().any(|held| held.key == key) || self.sent.iter().any(|(own, _)| own == key)
    }

    /// The answer to one that was sent: after this record it is gone, or was not settled by it.
    pub(super) fn accepted(&mut self, key: &str, record: u64) {
        for (_, until) in self.sent.iter_mut().filter(|(own, _)| own == key) {
            *until = Some(record);
        }
    }

    /// It is to be decided again.
    pub(super) fn refused(&mut self, key: &str) {
        self.sent.retain(|(own, _)| own != key);
    }

    /// The list is that of this record. What waits no more is not sent: it comes back in words.
    pub(super) fn look(&mut self, position: u64, is_open: impl Fn(&str) -> bool) -> Vec<String> {
        let gone = self.held.extract_if(.., |held| !is_open(&held.key));
        let gone = gone.map(|held| held.what).collect();
        self.sent.retain(|(key, until)| is_open(key) && until.is_none_or(|at| at > position));
        gone
    }
}
