//! A turn's decisions: everything that is asked, in order, and one append for all of it.

use shipmate_core::Outcome;
use shipmate_log::AppendFailure;
use shipmate_model::{Act, Actor, Command, Position, Record, Refusal, RequestId};
use shipmate_protocol::refused;
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Answer, Code, Refused};

use super::{CONFLICTS_MAX, Decided, Job, PARKED_LEAST, What, Worker, WorkerEnd, refuse};
use crate::clock::wall_ms;
use crate::scene::{self, Scene};
use crate::verbs::{self, Way, way};

/// How often a log may leave it open whether it took something, and be read meanwhile.
const UNCONFIRMED_MAX: usize = 1;
/// What is said of a request whose records may have arrived.
const UNKNOWN: &str = "; it is not known whether the request was carried out";

impl Worker {
    /// Decides jobs and due commands, appends, answers; again after a conflict.
    pub(super) async fn serve(
        &mut self,
        jobs: Vec<Job>,
        due: &[(Actor, Act)],
    ) -> Result<(), WorkerEnd> {
        let mut jobs = jobs;
        let mut due = due.to_vec();
        let mut unconfirmed = 0;
        for _ in 0..CONFLICTS_MAX {
            let decided = self.decide(jobs, &due);
            let (expected, texts) = self.batch();
            // Where nobody is answered, nobody can be told what is not so any more.
            let only_reads = texts.is_empty() && (!self.shared || decided.is_empty());
            let appended = match only_reads {
                true => Ok(expected),
                false => self.append(expected, &texts).await,
            };
            let failure = match appended {
                Ok(_) => {
                    if !texts.is_empty() {
                        self.board.confirms_nothing.set(false);
                    }
                    let records = self.board.writer.borrow_mut().confirm();
                    if let Some(mirror) = &mut self.mirror {
                        records.iter().for_each(|record| shipmate_core::apply(mirror, record));
                    }
                    self.answer_all(decided, &records).await;
                    return Ok(());
                }
                Err(failure) => failure,
            };
            match failure {
                AppendFailure::Unconfirmed(_) => self.doubt_silence(&mut due),
                _ => due.retain(|(_, act)| !self.is_doubted(act)),
            }
            // The writer ran ahead of the log: throw it away, and those who waited wait again.
            let (again, parked): (Vec<Job>, Vec<Job>) =
                decided.into_iter().map(|decided| decided.job).partition(|job| !job.waits());
            parked.into_iter().for_each(|job| self.wait(job));
            let rebuilt = match self.is_away() {
                true => Err(self.board.away()),
                false => self.rebuild(failure.known_end()).await,
            };
            if let Err(mut refused) = rebuilt {
                if !self.board.is_passing(&refused) {
                    refused.message.push_str(UNKNOWN);
                    return self.give_up(again, &refused);
                }
                self.tell_away(&refused);
                refused = self.board.away();
                refused.message.push_str(UNKNOWN);
                // Nothing may be built on what is not known to be in the log.
                if let Some(mirror) = &self.mirror {
                    self.board.renew(mirror.clone());
                }
                refuse(again, &refused);
                self.put_off(&due);
                return Ok(());
            }
            match failure {
                // It could be read just now, all the same.
                AppendFailure::Unconfirmed(_) if unconfirmed >= UNCONFIRMED_MAX => {
                    self.put_off(&due);
                    self.board.confirms_nothing.set(true);
                    let mut refused = self.board.unconfirmed();
                    refused.message.push_str(UNKNOWN);
                    refuse(again, &refused);
                    return Ok(());
                }
                AppendFailure::Unconfirmed(_) => {
                    unconfirmed += 1;
                    jobs = again;
                }
                AppendFailure::Conflict { .. } => jobs = again,
                AppendFailure::TooLarge { .. } if again.len() > 1 => {
                    return Box::pin(self.serve_one_by_one(again)).await;
                }
                AppendFailure::TooLarge { .. } if again.is_empty() && due.len() > 1 => {
                    return Box::pin(self.tell_one_by_one(&due)).await;
                }
                AppendFailure::TooLarge { bytes, max } => {
                    let text = format!("the request needs {bytes} bytes in the log at once");
                    let remedy = format!("the limit is {max}; ask for less at once");
                    refuse(again, &refused(Code::TooLarge, text, &remedy));
                    return Ok(());
                }
                AppendFailure::Full(text) => {
                    self.put_off(&due);
                    let remedy = "make room; nothing was lost and reading goes on";
                    refuse(again, &refused(Code::LogFull, text, remedy));
                    return Ok(());
                }
                AppendFailure::Broken(text) => {
                    let remedy = "the coordinator starts anew with the next command";
                    return self.give_up(again, &refused(Code::LogBroken, text, remedy));
                }
            }
        }
        self.put_off(&due);
        let text = format!("other writers were faster {CONFLICTS_MAX} times");
        refuse(jobs, &refused(Code::Busy, text, "ask again"));
        Ok(())
    }

    async fn tell_one_by_one(&mut self, due: &[(Actor, Act)]) -> Result<(), WorkerEnd> {
        for one in due {
            match self.is_stale {
                true => self.put_off(std::slice::from_ref(one)),
                false => self.serve(Vec::new(), std::slice::from_ref(one)).await?,
            }
        }
        Ok(())
    }

    pub(super) async fn serve_one_by_one(&mut self, jobs: Vec<Job>) -> Result<(), WorkerEnd> {
        for job in jobs {
            match self.board.told_away() {
                Some(away) => refuse(vec![job], &away),
                None => self.serve(vec![job], &[]).await?,
            }
        }
        Ok(())
    }

    pub(super) fn give_up(&mut self, jobs: Vec<Job>, refused: &Refused) -> Result<(), WorkerEnd> {
        refuse(jobs, refused);
        refuse(std::mem::take(&mut self.parked), refused);
        refuse(self.reads.take_all(), refused);
        refuse(self.board.queue.borrow_mut().drain(..).collect(), refused);
        *self.board.broken.borrow_mut() = Some(refused.clone());
        Err(WorkerEnd::Broken(refused.message.clone()))
    }

    pub(super) fn decide(&mut self, jobs: Vec<Job>, due: &[(Actor, Act)]) -> Vec<Decided> {
        let at = wall_ms();
        let attendant = self.board.attendant.borrow().clone();
        for (by, act) in due {
            if attendant.as_ref().is_some_and(|attendant| !attendant.may_tell(act)) {
                continue;
            }
            let command = Command { by: by.clone(), req: None, act: act.clone() };
            // A refusal means that the state has moved on, which is as good.
            let _moved_on = self.board.writer.borrow_mut().handle(at, &command);
        }
        let mut decided = Vec::with_capacity(jobs.len());
        for job in jobs {
            self.decide_one(at, job, &mut decided);
        }
        let something_happened = !self.board.writer.borrow().batch().1.is_empty();
        if something_happened || self.shared {
            self.parked.retain(|job| job.connection.is_listening());
            // Those who waited are told first: the others know that they asked just now.
            let asked = std::mem::take(&mut decided);
            for job in std::mem::take(&mut self.parked) {
                job.connection.end_wait();
                self.decide_one(at, job, &mut decided);
            }
            decided.extend(asked);
        }
        decided
    }

    pub(super) fn decide_one(&mut self, at: u64, job: Job, decided: &mut Vec<Decided>) {
        let mut writer = self.board.writer.borrow_mut();
        let team = job.about(&self.board.root);
        let scene = Scene {
            state: writer.state(),
            actor: &job.actor,
            secrets: &self.secrets,
            team: &team,
            here: self.here(),
        };
        let Way::Decide(verb) = way(&job.ask) else {
            drop(writer);
            return decided.push(Decided { job, what: What::Read });
        };
        let what = match verb.act(&scene) {
            Err(refused) => What::Answer(Err(refused)),
            Ok(act) => {
                // What is read leaves the state with that; take it while it is there.
                let unread = match act {
                    Act::ReadInbox { max } => verbs::peek(scene.state, &job.actor, max),
                    Act::TakeInbox { max } => verbs::untaken(scene.state, &job.actor, max),
                    _ => Vec::new(),
                };
                let before = scene.state.position;
                let req = Some(RequestId { client: job.client.clone(), counter: job.id });
                let command = Command { by: job.actor.clone(), req, act };
                let outcome = match verb.then(&scene) {
                    None => writer.handle(at, &command),
                    Some(then) => writer.handle_then(at, &command, then),
                };
                match outcome {
                    Outcome::Done { first, .. } if first > before && !unread.is_empty() => {
                        What::Answer(Ok(Answer::Messages(unread)))
                    }
                    Outcome::Done { first, last } => What::Records { first, last },
                    Outcome::Refused(refusal) if verb.waits() && is_worth_waiting(&refusal) => {
                        drop(writer);
                        return self.park(job);
                    }
                    Outcome::Unchanged if verb.waits() => {
                        drop(writer);
                        return self.park(job);
                    }
                    Outcome::Unchanged if verb.hands_out_mail() => {
                        What::Answer(Ok(Answer::Messages(Vec::new())))
                    }
                    Outcome::Unchanged => What::Answer(Ok(Answer::Unchanged)),
                    Outcome::Refused(refusal) => What::Answer(Err(scene::refusal(&refusal))),
                }
            }
        };
        drop(writer);
        decided.push(Decided { job, what });
    }

    /// Lets a request wait; it is owed nothing until there is something for it.
    pub(super) fn park(&mut self, job: Job) {
        job.connection.settled_request();
        self.wait(job);
    }

    fn wait(&mut self, job: Job) {
        if let Err(refused) = job.connection.begin_wait() {
            return job.connection.send(&Reply::Refused { id: job.id, refused });
        }
        // Those who went while nothing happened.
        if self.parked.len() >= self.parked_max {
            self.parked.retain(|job| job.connection.is_listening());
            self.parked_max = PARKED_LEAST.max(2 * self.parked.len());
        }
        self.parked.push(job);
    }

    pub(super) fn batch(&self) -> (Position, Vec<String>) {
        let writer = self.board.writer.borrow();
        let (expected, records) = writer.batch();
        let text = |record: &Record| serde_json::to_string(record).expect("a record is JSON");
        (expected, records.iter().map(text).collect())
    }
}

/// Looked for again each time, and true only as long as it is so.
/// Why somebody who is willing to wait gets nothing now.
fn is_worth_waiting(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::NothingAvailable { .. }
            | Refusal::QueueFull { .. }
            | Refusal::Paused { .. }
            | Refusal::TeamPaused { .. }
            | Refusal::AccountParked { .. }
            | Refusal::AccountShort { .. }
            | Refusal::Switching { .. }
            | Refusal::HoldsEnough { .. }
    )
}
