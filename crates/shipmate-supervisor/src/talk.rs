//! What a supervisor does without a task: says that it is idle, and lets an agent that can be
//! talked to hear its mail.
//!
//! Two agents that answer each other would do so for ever, at somebody's expense: after
//! [`TALKS_MAX`] turns without a task, mail of teammates waits until a person has a word or a
//! task comes.

use shipmate_model::usage::SPENT;
use shipmate_protocol::Code;
use shipmate_protocol::verbs;
use shipmate_protocol::view::InboxMessage;

use super::driver::{Driver, Finished, Refusal};
use super::link::LinkEnd;
use super::{Ending, Supervisor};

/// Turns of talk in a row.
const TALKS_MAX: u32 = 50;

impl<D: Driver> Supervisor<D> {
    /// Counts a turn of talk; whether it was the last for now.
    pub(super) fn talked_enough(&mut self) -> bool {
        self.talks = (self.talks + 1).min(TALKS_MAX);
        self.talks == TALKS_MAX
    }

    /// Hears all mail there is, as far as the agent can, and answers a request to shut down.
    pub(super) async fn hear_out(&mut self) -> Result<(), Ending> {
        loop {
            if let Some(ending) = self.answer_now().await {
                return Err(ending);
            }
            if self.kept.is_empty() || self.is_spent || !self.agent.wakes_for_messages() {
                return Ok(());
            }
            let is_news = |message: &InboxMessage| match message.from.as_str() {
                "person" => true,
                // What the runtime has to tell a lead is no chatter, however long it goes on.
                "runtime" => self.order.lead,
                _ => false,
            };
            if self.kept.iter().any(is_news) {
                self.talks = 0;
            }
            self.kept.iter().for_each(|message| self.desk.hears_of_plan(message));
            if self.talks == TALKS_MAX {
                return Ok(());
            }
            self.talk().await?;
            if self.talked_enough() {
                let body = format!(
                    "{} has had {TALKS_MAX} turns of talk without a task and hears no more of its \
                     teammates until you write to it or it gets one",
                    self.order.name
                );
                let (to, kind, reply_to) = ("person".to_owned(), None, None);
                drop(self.control.ask(verbs::Send { to, body, kind, reply_to }).await);
            }
        }
    }

    /// What a lead was asked to report and did not send itself is what it said last.
    pub(super) async fn report(&self, finished: &Finished, handed: &[InboxMessage]) {
        let asked = handed.iter().any(|message| message.kind == "work_done");
        let Finished::Done { result } = finished else { return };
        if asked && !self.desk.said().reported && !result.trim().is_empty() {
            let (to, body) = ("person".to_owned(), result.clone());
            drop(self.control.ask(verbs::Send { to, body, kind: None, reply_to: None }).await);
        }
    }

    /// Tells the board why nothing is done. A hook may send it back to work, with words,
    /// as often as the coordinator lets it.
    pub(super) async fn say_idle(&mut self) -> Result<(), Ending> {
        loop {
            match self.control.ask(verbs::TeammateIdle { reason: "no task".to_owned() }).await {
                Err(LinkEnd::Over(reason)) => return Err(Ending::Over(reason)),
                Err(LinkEnd::Refused(refused)) if refused.code == Code::HookRejected => {
                    self.feed_back(refused.message).await?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Gives an agent that can be talked to the words of a hook.
    async fn feed_back(&mut self, text: String) -> Result<(), Ending> {
        let from = "runtime".to_owned();
        let kind = "notice".to_owned();
        let (id, reply_to, sent_at) = (0, None, 0);
        self.kept.push(InboxMessage { id, from, kind, body: text, reply_to, sent_at });
        match self.agent.wakes_for_messages() {
            true => self.talk().await,
            false => Ok(()),
        }
    }

    /// A turn without a task: the agent hears its messages.
    async fn talk(&mut self) -> Result<(), Ending> {
        let tree = self.home_patiently().await?;
        if self.tree.was_made_anew() {
            self.agent.stop(self.grace()).await;
        }
        let work = self.piece(None, None, tree, Vec::new());
        self.desk.takes_up(&work);
        match self.turns(work, None).await {
            (_, Some(ending)) => Err(ending),
            (Finished::Unable { reason }, None) => Err(Ending::Unable(reason)),
            (Finished::Died { reason }, None) => Err(Ending::Broken(reason)),
            (Finished::Spent { reason }, None) => {
                self.stop_taking(&reason).await;
                self.could_not_answer(&reason).await;
                Ok(())
            }
            (Finished::Limited { reason, refused }, None) => {
                self.is_parked(&reason, refused).await;
                Ok(())
            }
            (Finished::Failed { reason }, None) => {
                self.could_not_answer(&reason).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// No more work until a budget is set, or somebody says so.
    pub(super) async fn stop_taking(&mut self, reason: &str) {
        self.is_spent = true;
        let (name, reason) = (self.order.name.clone(), format!("{SPENT}: {reason}"));
        drop(self.control.ask(verbs::TeammatePause { name, reason, spent: true }).await);
    }

    /// Its account has no room: what it was told waits until it has.
    pub(super) async fn is_parked(&mut self, reason: &str, refused: Option<Refusal>) {
        self.is_spent = true;
        if let Some(Refusal { until }) = refused {
            let reason = reason.to_owned();
            drop(self.control.ask(verbs::AccountRefused { until, reason }).await);
        }
    }

    /// Somebody waits for an answer that does not come.
    async fn could_not_answer(&self, reason: &str) {
        if self.desk.owes_plan() {
            return self.desk.has_no_plan(reason).await;
        }
        let body = format!("{} could not answer what it was told: {reason}", self.order.name);
        let (to, kind, reply_to) = ("person".to_owned(), None, None);
        drop(self.control.ask(verbs::Send { to, body, kind, reply_to }).await);
    }
}
