//! The answers of a turn, after the log has confirmed it.

use shipmate_log::Log as _;
use shipmate_model::event::Event;
use shipmate_model::profile::StartRule;
use shipmate_model::{Position, Record};
use shipmate_protocol::ask::TaskFilter;
use shipmate_protocol::refused;
use shipmate_protocol::view::LookOf;
use shipmate_protocol::{Answer, Ask, Refused};

use super::{Decided, Job, LOOK_AFTER_MS, REST_AFTER_MS, What, Worker};
use crate::answer;
use crate::open::{self, read_refusal};
use crate::translate::Scene;

impl Worker {
    pub(super) async fn answer_all(&mut self, decided: Vec<Decided>, records: &[Record]) {
        if !records.is_empty() {
            if let Some(attendant) = self.board.attendant.borrow().clone() {
                attendant.saw(records);
            }
            let now = self.clock.now_ms();
            let soon = if self.is_urgent(records) { now } else { now + LOOK_AFTER_MS };
            self.rest_at_ms = Some(now + REST_AFTER_MS);
            self.look_at_ms = Some(self.look_at_ms.map_or(soon, |at| at.min(soon)));
        }
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

    /// Something may be owed to the world at once, not only a timer to be watched.
    fn is_urgent(&self, records: &[Record]) -> bool {
        let starts = |record: &Record| {
            matches!(&record.event, Event::TeammateAdded { profile, .. }
                if profile.start == StartRule::WhenNeeded)
        };
        self.staffed
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
        if let (Ask::InboxRead { .. } | Ask::InboxTake { .. }, Some(messages)) =
            (&job.ask, answer::read_messages(own))
        {
            return Ok(Answer::Messages(answer::bodies(&mut self.log, messages).await?));
        }
        let desk = self.board.desk.borrow();
        Ok(answer::from_records(&job.ask, own, desk.state(), &self.secrets))
    }

    /// None if it takes the log.
    pub(super) fn answer_from_state(&self, job: &Job) -> Option<Result<Answer, Refused>> {
        let team = job.about(&self.board.root);
        let desk = self.board.desk.borrow();
        let (state, actor) = (desk.state(), &job.actor);
        let scene = Scene { state, actor, secrets: &self.secrets, team: &team };
        answer::from_state(&scene, &job.ask, self.log_word(), &self.board.signs.borrow())
    }

    pub(super) async fn answer_from_log(&mut self, job: &Job) -> Result<Answer, Refused> {
        match &job.ask {
            Ask::Log { after, max } => {
                let records = answer::records(&mut self.log, *after, *max, answer::LOG_BYTES);
                Ok(Answer::Log(records.await?))
            }
            Ask::Follow { after } => {
                let sent = (*after).min(self.position());
                self.follow(&job.connection, sent);
                Ok(Answer::Following { after: sent })
            }
            Ask::MessageTrace { message } => answer::trace(&mut self.log, *message).await,
            Ask::StatusAt { position } | Ask::TasksAt { position } | Ask::LookAt { position } => {
                let end = self.position();
                let then = answer::at(&mut self.log, *position, end).await?;
                let team = job.about(&self.board.root);
                let scene =
                    Scene { state: &then, actor: &job.actor, secrets: &self.secrets, team: &team };
                let now = match job.ask {
                    Ask::StatusAt { .. } => Ask::Status,
                    Ask::LookAt { .. } => {
                        Ask::Look { of: LookOf::Page { after: 0, max: usize::MAX } }
                    }
                    _ => Ask::Tasks { filter: TaskFilter::default() },
                };
                let answer = answer::from_state(
                    &scene,
                    &now,
                    self.log_word(),
                    &crate::signs::Signs::default(),
                );
                answer.expect("each is answered from a state")
            }
            Ask::Verify => {
                let verified = self.log.verify().await.map_err(|e| read_refusal(&e))?;
                Ok(Answer::Verified { records: verified.records })
            }
            other => Err(refused("BadRequest", format!("{other:?} is not for a team"), "")),
        }
    }
}
