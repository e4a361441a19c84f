//! The answers of a turn, after the log has confirmed it.

use shipmate_log::Log as _;
use shipmate_model::event::Event;
use shipmate_model::profile::StartRule;
use shipmate_model::{Position, Record};
use shipmate_protocol::answers::{Following, Verified};
use shipmate_protocol::{Answer, Code, Refused, refused, verbs};

use super::{Decided, Job, LOOK_AFTER_MS, REST_AFTER_MS, What, Worker};
use crate::history;
use crate::open::{self, read_refusal};
use crate::scene::Scene;
use crate::signs::Signs;
use crate::verbs::{Beside, OfLog, Way, Wrote, answer_to, way};

impl Worker {
    pub(super) async fn answer_all(&mut self, decided: Vec<Decided>, records: &[Record]) {
        self.happened(records);
        for Decided { job, what } in decided {
            let answer = match what {
                What::Answer(answer) => answer,
                What::Records { first, last } => self.answer_done(&job, first, last, records).await,
                What::Read => {
                    self.reads.push(job);
                    continue;
                }
            };
            job.reply(answer);
        }
    }

    /// These are in the log, whoever appended them.
    pub(super) fn happened(&mut self, records: &[Record]) {
        if records.is_empty() {
            return;
        }
        if let Some(attendant) = self.board.attendant.borrow().clone() {
            attendant.saw(records);
        }
        let now = self.clock.now_ms();
        let soon = if self.is_urgent(records) { now } else { now + LOOK_AFTER_MS };
        self.rest_at_ms = Some(now + REST_AFTER_MS);
        self.look_at_ms = Some(self.look_at_ms.map_or(soon, |at| at.min(soon)));
    }

    /// Something may be owed to the world at once, not only a timer to be watched.
    fn is_urgent(&self, records: &[Record]) -> bool {
        let starts = |record: &Record| {
            matches!(&record.event, Event::TeammateAdded { profile, .. }
                if profile.start == StartRule::WhenNeeded)
        };
        self.staffed
            || self.shared
            || records.iter().any(starts)
            || self.board.with_state(|state| state.submissions().next().is_some())
    }

    async fn answer_done(
        &mut self,
        job: &Job,
        first: Position,
        last: Position,
        records: &[Record],
    ) -> Result<Answer, Refused> {
        let start = records.first().map_or(Position::MAX, |record| record.n);
        if first >= start {
            let own = &records[(first - start) as usize..=(last - start) as usize];
            return self.answer_own(job, own).await;
        }
        // Asked again: the records are in the log.
        let page = self.log.read(first - 1, (last - first + 1) as usize).await;
        let page = page.map_err(|e| read_refusal(&e))?;
        let own: Result<Vec<Record>, _> =
            page.iter().map(|entry| open::parse(&entry.text, entry.position)).collect();
        let own = own.map_err(|e| read_refusal(&e))?;
        self.answer_own(job, &own).await
    }

    async fn answer_own(&mut self, job: &Job, own: &[Record]) -> Result<Answer, Refused> {
        let Way::Decide(verb) = way(&job.ask) else {
            unreachable!("only what is decided writes records")
        };
        let mail = match history::handed_out(own) {
            Some(messages) if verb.hands_out_mail() => {
                history::bodies(&mut self.log, messages).await?
            }
            _ => Vec::new(),
        };
        let writer = self.board.writer.borrow();
        let (state, secrets) = (writer.state(), &*self.secrets);
        verb.answer(&Wrote { records: own, state, secrets, mail })
    }

    /// Answers a request that only looks, and says whether it took the log.
    pub(super) async fn answer_look(&mut self, job: &Job) -> (Result<Answer, Refused>, bool) {
        match way(&job.ask) {
            Way::Look(verb) => {
                let (writer, team) = (self.board.writer.borrow(), job.about(&self.board.root));
                let (state, actor) = (writer.state(), &job.actor);
                let scene =
                    Scene { state, actor, secrets: &self.secrets, team: &team, here: self.here() };
                let beside = Beside { log: self.log_word(), signs: &self.board.signs.borrow() };
                (verb.look(&scene, &beside), false)
            }
            Way::Log(verb) => (self.answer_from_log(job, verb).await, true),
            Way::Decide(_)
            | Way::Sign(_)
            | Way::Errand(_)
            | Way::Fetch
            | Way::Workspace(_)
            | Way::Itself(_)
            | Way::Left(_) => {
                let text = "that is not asked of a team".to_owned();
                (Err(refused(Code::BadRequest, text, "")), false)
            }
        }
    }

    async fn answer_from_log(&mut self, job: &Job, verb: OfLog<'_>) -> Result<Answer, Refused> {
        match verb {
            OfLog::Records(verbs::Log { after, max }) => {
                let records = history::records(&mut self.log, *after, *max, history::LOG_BYTES);
                answer_to::<verbs::Log>(records.await)
            }
            OfLog::Follow(verbs::Follow { after }) => {
                let sent = (*after).min(self.position());
                self.follow(&job.connection, sent);
                answer_to::<verbs::Follow>(Ok(Following { after: sent }))
            }
            OfLog::Trace(verbs::MessageTrace { message }) => {
                answer_to::<verbs::MessageTrace>(history::trace(&mut self.log, *message).await)
            }
            OfLog::At(position, look) => {
                let end = self.position();
                let then = history::at(&mut self.log, position, end).await?;
                let beside = Beside { log: self.log_word(), signs: &Signs::default() };
                let (state, actor, team) = (&then, &job.actor, job.about(&self.board.root));
                look.look(
                    &Scene { state, actor, secrets: &self.secrets, team: &team, here: self.here() },
                    &beside,
                )
            }
            OfLog::Verify => {
                let verified = self.log.verify().await.map_err(|e| read_refusal(&e))?;
                answer_to::<verbs::Verify>(Ok(Verified { records: verified.records }))
            }
        }
    }
}
