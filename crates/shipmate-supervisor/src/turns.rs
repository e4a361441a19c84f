//! The turns of one piece of work: from handing it over until the agent has said what came
//! of it.
//!
//! A plain command has one turn, and its end is the answer. An agent that can be talked to
//! may need several: messages that could not be handed over while it worked, a plan that
//! was decided, an answer it waits for, its program that died. Nothing is taken for done
//! that the agent did not call so, unless it was asked once and still ended its turn.

use std::path::PathBuf;
use std::time::Duration;

use shipmate_programs::preparation;
use shipmate_protocol::verbs;
use shipmate_protocol::view::{PlanState, PlanView, TaskView};

use super::desk::Verdict;
use super::driver::{Driver, Finished, NoRoom, NotGiven, Work};
use super::link::LinkEnd;
use super::tree::Ready;
use super::{Ending, Supervisor, brief};

/// How often in one piece of work the program may die and be started again.
const DEATHS_MAX: u32 = 2;
/// How often a lead that ends its turn without a plan is asked for one. Small models often answer
/// in plain text first.
const PLAN_NUDGES_MAX: u32 = 2;
/// How long an answer is waited for before the agent is asked what it is doing.
const ANSWER_WITHIN: Duration = Duration::from_secs(600);

/// How long is waited for what the machine had no room for, at first and at most: about a minute in
/// all.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(32);

type Held = Option<(u32, u64)>;

impl<D: Driver> Supervisor<D> {
    /// All turns of a piece of work, and what came of it; an ending if this life ends here.
    pub(super) async fn turns(&mut self, first: Work, held: Held) -> (Finished, Option<Ending>) {
        let (finished, ending) = self.turn_by_turn(first, held).await;
        (finished.bounded(), ending)
    }

    async fn turn_by_turn(&mut self, first: Work, held: Held) -> (Finished, Option<Ending>) {
        let (mut work, mut deaths, mut nudges) = (first, 0, 0);
        loop {
            if let Err(not) = self.give_patiently(&work).await {
                let reason = format!("the agent could not be started: {not}");
                return match not {
                    NotGiven::Died(_) => (Finished::Died { reason }, None),
                    NotGiven::Spent(reason) => (self.not_begun(reason), None),
                    _ => (Finished::Unable { reason }, None),
                };
            }
            if let Some(ending) = self.watch_over(held).await {
                return (Finished::Failed { reason: String::new() }, Some(ending));
            }
            let finished = self.conclude().await;
            self.tell_session().await;
            let finished = match held {
                Some(_) => self.what_was_said(finished).await,
                None => finished,
            };
            let note = match finished {
                Finished::Died { .. } if deaths < DEATHS_MAX => {
                    deaths += 1;
                    Some(brief::interrupted(held.map(|(task, _)| task)))
                }
                Finished::Done { ref result } if self.agent.reports() || self.has_planned() => {
                    match self.after_turn(held, &mut nudges, result).await {
                        After::Turn(_) if held.is_none() && self.talked_enough() => {
                            return (finished, None);
                        }
                        After::Turn(note) => note,
                        After::Over(finished) => {
                            return (
                                finished.unwrap_or(Finished::Done { result: result.clone() }),
                                None,
                            );
                        }
                        After::Ends(ending) => return (finished, Some(ending)),
                    }
                }
                finished => return (finished, None),
            };
            self.desk.goes_on();
            work = self.further(&work, note);
        }
    }

    /// A command has said how it would do its task, and goes on when that is decided.
    fn has_planned(&self) -> bool {
        self.desk.said().plan.is_some()
    }

    /// Starts on a piece of work; what the machine has no room for now is tried again later.
    async fn give_patiently(&mut self, work: &Work) -> Result<(), NotGiven> {
        let mut patience = Patience::default();
        loop {
            match self.give(work).await {
                Err(NotGiven::Passing(_)) if !patience.is_over() => patience.wait().await,
                given => return given,
            }
        }
    }

    /// There was no room for another turn. What was said of the task in the turns before stands.
    fn not_begun(&mut self, no: NoRoom) -> Finished {
        let handed = std::mem::take(&mut self.handed);
        self.kept.splice(0..0, handed);
        match self.desk.said().verdict {
            Some(verdict) => verdict.finished(),
            None => no.into(),
        }
    }

    /// A turn that was refused its next request may have been about to close: what was said of the task before
    /// stands.
    async fn what_was_said(&mut self, finished: Finished) -> Finished {
        let said = self.desk.said();
        let stands = match (said.verdict, said.plan) {
            (Some(verdict), _) => verdict.finished(),
            (None, Some(_)) => Finished::Done { result: String::new() },
            (None, None) => return finished,
        };
        // Told first: with the task settled the next would be claimed at once.
        match finished {
            Finished::Spent { reason } => self.stop_taking(&reason).await,
            Finished::Limited { reason, refused } => self.is_parked(&reason, refused).await,
            _ => return finished,
        }
        stands
    }

    /// Makes the tree ready for a task, and tries that again later when it fails: a disk may be
    /// full for a moment, and git does not say so in a way that can be told from other failures.
    pub(super) async fn ready_patiently(
        &mut self,
        task: &TaskView,
        token: u64,
    ) -> Result<Ready, Ending> {
        self.fetch().await?;
        let mut patience = Patience::default();
        loop {
            match self.tree.ready_for(task, token).await {
                Err(_) if !patience.is_over() => self.wait_or_end(&mut patience).await?,
                ready => return ready.map_err(Ending::Broken),
            }
        }
    }

    /// The same for the tree of an agent that has no task now.
    pub(super) async fn home_patiently(&mut self) -> Result<PathBuf, Ending> {
        if self.desk.is_closed() {
            let nowhere = self.order.grounds.temp().join("desk");
            let made = std::fs::create_dir_all(&nowhere);
            return made.map(|()| nowhere).map_err(|e| Ending::Broken(e.to_string()));
        }
        self.fetch().await?;
        let mut patience = Patience::default();
        loop {
            match self.tree.home().await {
                Err(_) if !patience.is_over() => self.wait_or_end(&mut patience).await?,
                home => return home.map_err(Ending::Broken),
            }
        }
    }

    /// Has what the team has brought to this machine, where its work is merged on another; and has what is
    /// secret of copied files hidden, here and there, before an agent can tell any of it.
    async fn fetch(&mut self) -> Result<(), Ending> {
        let copies = self.order.tree.as_ref().map(|tree| &tree.preparation);
        let copies = copies.filter(|preparation| !preparation.copy.is_empty());
        if let Some(preparation) = copies {
            preparation::secrets::hide(&self.order.workspace, preparation).await;
        } else if !self.order.fetches {
            return Ok(());
        }
        match self.control.ask(verbs::TreeFetch).await {
            Ok(_) => Ok(()),
            Err(LinkEnd::Over(reason)) => Err(Ending::Over(reason)),
            Err(LinkEnd::Refused(refused)) => Err(Ending::Broken(refused.message)),
        }
    }

    async fn wait_or_end(&mut self, patience: &mut Patience) -> Result<(), Ending> {
        tokio::select! {
            Some(reason) = self.over.recv() => Err(Ending::Over(reason)),
            () = patience.wait() => Ok(()),
        }
    }

    /// A further turn on the same piece, with the messages that came meanwhile.
    fn further(&mut self, work: &Work, note: Option<String>) -> Work {
        let mut next = self.piece(None, work.token, work.tree.clone(), work.conflicts.clone());
        (next.task, next.feedback) = (work.task.clone(), None);
        // Without a note the messages are all there is to say.
        next.note = Some(note.unwrap_or_default());
        next
    }

    /// What follows a turn that ended well.
    async fn after_turn(&mut self, held: Held, nudges: &mut u32, words: &str) -> After {
        while let Ok(message) = self.mail.try_recv() {
            self.keep(message).await;
        }
        let said = self.desk.said();
        if let (Some(plan), Some((task, _))) = (said.plan, held) {
            return self.after_plan(plan, task, held).await;
        }
        if !self.kept.is_empty() {
            return After::Turn(None);
        }
        let Some((task, _)) = held else {
            return match self.desk.owes_plan() {
                true if *nudges < PLAN_NUDGES_MAX => {
                    *nudges += 1;
                    After::Turn(Some(brief::plan_nudge()))
                }
                true => {
                    self.desk.has_no_plan(words).await;
                    After::Over(None)
                }
                false => After::Over(None),
            };
        };
        match said.verdict {
            Some(Verdict::Done { result }) if result.trim().is_empty() => return After::Over(None),
            Some(verdict) => return After::Over(Some(verdict.finished())),
            None => {}
        }
        if said.spoke {
            match self.wait_for_mail(held).await {
                Waited::Mail => return After::Turn(None),
                Waited::TakenAway => return After::Over(Some(taken_away())),
                Waited::Ends(ending) => return After::Ends(ending),
                Waited::Shutdown => {
                    let reason = "asked to shut down while it waited for an answer".to_owned();
                    return After::Over(Some(Finished::GivenBack { reason }));
                }
                Waited::Nothing => {}
            }
        }
        if *nudges > 0 {
            return After::Over(None);
        }
        *nudges += 1;
        After::Turn(Some(brief::nudge(task)))
    }

    /// Waits until a plan is decided. Approval starts the program again, with leave to write.
    async fn after_plan(&mut self, plan: u64, task: u32, held: Held) -> After {
        loop {
            if let Some(decided) = self.decided(plan).await {
                self.desk.plan_settled(decided.clone());
                if decided.state == PlanState::Approved {
                    self.agent.stop(self.grace()).await;
                    // One that speaks ACP may begin anew without a word of what it had planned.
                    let forgets = self.order.protocol == "acp";
                    let plan = forgets.then_some(decided.body.as_str());
                    return After::Turn(Some(brief::approved(task, plan)));
                }
                let feedback = decided.feedback.unwrap_or_default();
                return After::Turn(Some(brief::rejected(task, &feedback)));
            }
            match self.wait_for_mail(held).await {
                Waited::Mail | Waited::Nothing => {}
                Waited::TakenAway => return After::Over(Some(taken_away())),
                Waited::Ends(ending) => return After::Ends(ending),
                Waited::Shutdown => {
                    let reason = "asked to shut down while its plan was undecided".to_owned();
                    return After::Over(Some(Finished::GivenBack { reason }));
                }
            }
        }
    }

    /// What was decided about a plan, once it was.
    pub(super) async fn decided(&self, plan: u64) -> Option<PlanView> {
        let plans = self.control.ask(verbs::Plans { all: true }).await.ok()?;
        let found = plans.into_iter().find(|found| found.id == plan)?;
        (found.state != PlanState::Open).then_some(found)
    }

    async fn wait_for_mail(&mut self, held: Held) -> Waited {
        if self.asked.is_some() {
            return Waited::Shutdown;
        }
        let message = tokio::select! {
            Some(reason) = self.over.recv() => return Waited::Ends(Ending::Over(reason)),
            message = tokio::time::timeout(ANSWER_WITHIN, self.mail.recv()) => message,
        };
        let Ok(Some(message)) = message else { return Waited::Nothing };
        if message.kind == "notice" && !self.still_holds(held).await {
            return Waited::TakenAway;
        }
        self.keep(message).await;
        match self.asked {
            Some(_) => Waited::Shutdown,
            None => Waited::Mail,
        }
    }
}

/// Longer and longer waits for what may be possible a moment later.
struct Patience {
    next: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { next: AGAIN_FIRST }
    }
}

impl Patience {
    fn is_over(&self) -> bool {
        self.next > AGAIN_MAX
    }

    async fn wait(&mut self) {
        let until = tokio::time::Instant::now() + self.next;
        self.next *= 2;
        tokio::time::sleep_until(until).await;
    }
}

impl Verdict {
    /// What came of the task by the agent's own word.
    fn finished(self) -> Finished {
        match self {
            Verdict::Done { result } => Finished::Stated { result },
            Verdict::Failed { reason } => Finished::Failed { reason },
            Verdict::GivenBack { reason } => Finished::GivenBack { reason },
        }
    }
}

/// What follows a turn.
enum After {
    /// Another turn, with these words first.
    Turn(Option<String>),
    /// The work is over; without a verdict of the agent's own the turn's end stands.
    Over(Option<Finished>),
    Ends(Ending),
}

/// The claim is over, whoever ended it: what the board is told of it changes nothing.
fn taken_away() -> Finished {
    Finished::GivenBack { reason: "it was taken away".to_owned() }
}

enum Waited {
    Mail,
    /// The task is no longer this teammate's.
    TakenAway,
    Shutdown,
    Nothing,
    Ends(Ending),
}
