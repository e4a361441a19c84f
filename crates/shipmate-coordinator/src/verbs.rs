//! The verbs, as the coordinator serves them: what each asks of the core, and how it is answered.
//!
//! [`way`] is the one match over all requests: whoever adds one is told here by the compiler. What
//! changes a team is a [`Decides`], what looks at one a [`Looks`], each beside its like in the files
//! below. What takes the log, processes or git is only named here: whoever has those does it.

mod account;
mod answers;
mod host;
mod note;
mod seat;
mod skip;
mod talk;
mod task;
mod team;
mod teammate;
pub(crate) mod work;

use shipmate_core::State;
use shipmate_model::Act;
use shipmate_protocol::verbs::{TaskFilter, Verb};
use shipmate_protocol::view::LookOf;
use shipmate_protocol::{Answer, Ask, Code, Refused, refused, verbs};

pub(crate) use answers::{FromRecords, Wrote};
pub(crate) use talk::{peek, untaken};

use crate::hooks::{HookEvent, Payload};
use crate::scene::Scene;
use crate::signs::Signs;

/// Who answers a request.
pub(crate) enum Way<'a> {
    /// The core decides it, and it is recorded.
    Decide(&'a dyn AnyDecides),
    /// The state of a team answers it.
    Look(&'a dyn AnyLooks),
    /// The log of a team answers it.
    Log(OfLog<'a>),
    /// A teammate's own process tells something that is never recorded.
    Sign(Sign<'a>),
    /// It takes processes or git, beside the board. For a person.
    Errand(Errand<'a>),
    /// About the workspace, whatever teams there are.
    Workspace(OfWorkspace<'a>),
    /// About the coordinator, which answers at once. For a person.
    Itself(Itself<'a>),
    /// What teams have left. For a person.
    Left(Left<'a>),
    /// Code is brought to this machine, for whoever works here.
    Fetch,
}

pub(crate) enum OfLog<'a> {
    Records(&'a verbs::Log),
    Follow(&'a verbs::Follow),
    Trace(&'a verbs::MessageTrace),
    /// What could have been seen when this record was the last.
    At(u64, Box<dyn AnyLooks>),
    Verify,
}

pub(crate) enum Sign<'a> {
    Attend,
    Alive(&'a verbs::Alive),
    Progress(&'a verbs::Progress),
    TreeSetUp(&'a verbs::TreeSetUp),
    Stay,
    StayOnce,
    Leave,
}

pub(crate) enum Errand<'a> {
    Attach(&'a verbs::Attach),
    Signs,
    Resume,
    Merge(&'a verbs::Merge),
    TeamUpdate,
    TaskDiff(&'a verbs::TaskDiff),
    PhasesClose,
}

pub(crate) enum OfWorkspace<'a> {
    Agents,
    Playbooks,
    PlaybookShow(&'a verbs::PlaybookFile),
    PlaybookCheck(&'a verbs::PlaybookCheck),
    /// For a person, both.
    TryHooks,
    Survey,
}

pub(crate) enum Itself<'a> {
    Settings,
    Renew(&'a verbs::Renew),
}

pub(crate) enum Left<'a> {
    /// Of everything here.
    Over(&'a verbs::Leftovers),
    /// Of a team, once it is gone.
    OfTeam,
}

/// The one match over everything that can be asked.
pub(crate) fn way(ask: &Ask) -> Way<'_> {
    match ask {
        Ask::Status => Way::Look(&verbs::Status),
        Ask::Teams => Way::Look(&verbs::Teams),
        Ask::TeamShow => Way::Look(&verbs::TeamShow),
        Ask::TeamCreate(verb) => Way::Decide(verb),
        Ask::TeamDelete(verb) => Way::Decide(verb),
        Ask::TeamBudget(verb) => Way::Decide(verb),
        Ask::TeamSet(verb) => Way::Decide(verb),
        Ask::TeamPause(verb) => Way::Decide(verb),
        Ask::TeamContinue => Way::Decide(&verbs::TeamContinue),
        Ask::Resume => Way::Errand(Errand::Resume),
        Ask::Merge(verb) => Way::Errand(Errand::Merge(verb)),
        Ask::TeamUpdate => Way::Errand(Errand::TeamUpdate),
        Ask::TeamEnd => Way::Left(Left::OfTeam),
        Ask::Leftovers(verb) => Way::Left(Left::Over(verb)),
        Ask::TryHooks => Way::Workspace(OfWorkspace::TryHooks),
        Ask::Survey => Way::Workspace(OfWorkspace::Survey),
        Ask::Renew(verb) => Way::Itself(Itself::Renew(verb)),
        Ask::Settings => Way::Itself(Itself::Settings),
        Ask::Agents => Way::Workspace(OfWorkspace::Agents),
        Ask::Playbooks => Way::Workspace(OfWorkspace::Playbooks),
        Ask::PlaybookShow(verb) => Way::Workspace(OfWorkspace::PlaybookShow(verb)),
        Ask::PlaybookCheck(verb) => Way::Workspace(OfWorkspace::PlaybookCheck(verb)),
        Ask::Enrol(verb) => Way::Decide(verb),
        Ask::Stay => Way::Sign(Sign::Stay),
        Ask::StayOnce => Way::Sign(Sign::StayOnce),
        Ask::Leave => Way::Sign(Sign::Leave),
        Ask::Hosts => Way::Look(&verbs::Hosts),
        Ask::HostDrain(verb) => Way::Decide(verb),
        Ask::HostRemove(verb) => Way::Decide(verb),
        Ask::HostHome(verb) => Way::Decide(verb),
        Ask::Teammates => Way::Look(&verbs::Teammates),
        Ask::TeammateShow(verb) => Way::Look(verb),
        Ask::TeammateAdd(verb) => Way::Decide(verb),
        Ask::TeammateStart(verb) => Way::Decide(verb),
        Ask::TeammateRemove(verb) => Way::Decide(verb),
        Ask::TeammatePause(verb) => Way::Decide(verb),
        Ask::TeammateContinue(verb) => Way::Decide(verb),
        Ask::TeammateMode(verb) => Way::Decide(verb),
        Ask::TeammateMove(verb) => Way::Decide(verb),
        Ask::TeammateBudget(verb) => Way::Decide(verb),
        Ask::TeammateIdle(verb) => Way::Decide(verb),
        Ask::Attend => Way::Sign(Sign::Attend),
        Ask::Progress(verb) => Way::Sign(Sign::Progress(verb)),
        Ask::TreeSetUp(verb) => Way::Sign(Sign::TreeSetUp(verb)),
        Ask::Alive(verb) => Way::Sign(Sign::Alive(verb)),
        Ask::Session(verb) => Way::Decide(verb),
        Ask::Attach(verb) => Way::Errand(Errand::Attach(verb)),
        Ask::Tasks(verb) => Way::Look(verb),
        Ask::TaskShow(verb) => Way::Look(verb),
        Ask::TaskDiff(verb) => Way::Errand(Errand::TaskDiff(verb)),
        Ask::TaskCreate(verb) => Way::Decide(verb),
        Ask::TaskUpdate(verb) => Way::Decide(verb),
        Ask::TaskClaim(verb) => Way::Decide(verb),
        Ask::TaskNext(verb) => Way::Decide(verb),
        Ask::TaskRenew(verb) => Way::Decide(verb),
        Ask::TaskSubmit(verb) => Way::Decide(verb),
        Ask::TaskSubmitNext(verb) => Way::Decide(verb),
        Ask::TaskComplete(verb) => Way::Decide(verb),
        Ask::TaskFail(verb) => Way::Decide(verb),
        Ask::TaskRelease(verb) => Way::Decide(verb),
        Ask::TaskAssign(verb) => Way::Decide(verb),
        Ask::TaskRetry(verb) => Way::Decide(verb),
        Ask::TaskDelete(verb) => Way::Decide(verb),
        Ask::TaskSetAside(verb) => Way::Decide(verb),
        Ask::NoteAdd(verb) => Way::Decide(verb),
        Ask::NoteRemove(verb) => Way::Decide(verb),
        Ask::Notes(verb) => Way::Look(verb),
        Ask::Send(verb) => Way::Decide(verb),
        Ask::InboxRead(verb) => Way::Decide(verb),
        Ask::InboxPeek => Way::Look(&verbs::InboxPeek),
        Ask::InboxTake(verb) => Way::Decide(verb),
        Ask::MessageTrace(verb) => Way::Log(OfLog::Trace(verb)),
        Ask::MessageInject(verb) => Way::Decide(verb),
        Ask::MessageAcknowledge(verb) => Way::Decide(verb),
        Ask::PlanSubmit(verb) => Way::Decide(verb),
        Ask::Plans(verb) => Way::Look(verb),
        Ask::PlanApprove(verb) => Way::Decide(verb),
        Ask::PlanReject(verb) => Way::Decide(verb),
        Ask::Question(verb) => Way::Decide(verb),
        Ask::Questions(verb) => Way::Look(verb),
        Ask::Answer(verb) => Way::Decide(verb),
        Ask::QuestionWithdraw(verb) => Way::Decide(verb),
        Ask::PhaseApprove(verb) => Way::Decide(verb),
        Ask::PhaseSkip(verb) => Way::Decide(verb),
        Ask::PhasesClose => Way::Errand(Errand::PhasesClose),
        Ask::Shutdown(verb) => Way::Decide(verb),
        Ask::ShutdownAnswer(verb) => Way::Decide(verb),
        Ask::Accounts => Way::Look(&verbs::Accounts),
        Ask::AccountTold(verb) => Way::Decide(verb),
        Ask::AccountRefused(verb) => Way::Decide(verb),
        Ask::AccountResume(verb) => Way::Decide(verb),
        Ask::UsageReserve(verb) => Way::Decide(verb),
        Ask::UsageReport(verb) => Way::Decide(verb),
        Ask::Log(verb) => Way::Log(OfLog::Records(verb)),
        Ask::StatusAt(verb) => Way::Log(OfLog::At(verb.position, Box::new(verbs::Status))),
        Ask::TasksAt(verb) => {
            let all = verbs::Tasks { filter: TaskFilter::default() };
            Way::Log(OfLog::At(verb.position, Box::new(all)))
        }
        Ask::Follow(verb) => Way::Log(OfLog::Follow(verb)),
        Ask::Look(verb) => Way::Look(verb),
        Ask::LookAt(verb) => {
            let all = verbs::Look { of: LookOf::Page { after: 0, max: usize::MAX } };
            Way::Log(OfLog::At(verb.position, Box::new(all)))
        }
        Ask::TreeFetch => Way::Fetch,
        Ask::Signs => Way::Errand(Errand::Signs),
        Ask::Verify => Way::Log(OfLog::Verify),
    }
}

/// An answer of the kind that the verb has.
pub(crate) fn answer_to<V: Verb>(answer: Result<V::Answer, Refused>) -> Result<Answer, Refused> {
    answer.map(Into::into)
}

/// A verb that changes a team.
pub(crate) trait Decides: Verb<Answer: FromRecords> {
    /// What it asks of the core: names checked, references resolved against the state of the moment.
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused>;

    /// What it asks for after that, where it asks for two things.
    fn then(&self, _scene: &Scene<'_>) -> Option<Act> {
        None
    }

    /// It is owed nothing until there is something for it.
    fn waits(&self) -> bool {
        false
    }

    /// It hands out messages: they are its answer, and nothing to hand out is none of them.
    fn hands_out_mail(&self) -> bool {
        false
    }

    /// It hands in work and names no commit.
    fn lacks_commit(&self) -> bool {
        false
    }

    /// The work that it hands in: task, token and commit.
    fn hands_in(&self) -> Option<(&str, u64, &str)> {
        None
    }

    /// The commit that it sets aside: task, token, ref and commit.
    fn sets_aside(&self) -> Option<(&str, u64, &str, &str)> {
        None
    }

    /// Somebody may have committed by hand what a phase waits for.
    fn wakes_phases(&self) -> bool {
        false
    }

    /// The hook that is asked before the board hears of it.
    fn hook(&self) -> Option<HookEvent> {
        None
    }

    /// What that hook is told, once for each of these. `of` is what is the same for all.
    fn payloads(&self, _state: &State, of: Payload) -> Vec<Payload> {
        vec![of]
    }
}

/// The same of any verb that changes a team.
pub(crate) trait AnyDecides {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused>;
    /// Refused where the records are another request's, or what it is about is gone since.
    fn answer(&self, wrote: &Wrote<'_>) -> Result<Answer, Refused>;
    fn then(&self, scene: &Scene<'_>) -> Option<Act>;
    fn waits(&self) -> bool;
    fn hands_out_mail(&self) -> bool;
    fn lacks_commit(&self) -> bool;
    fn hands_in(&self) -> Option<(&str, u64, &str)>;
    fn sets_aside(&self) -> Option<(&str, u64, &str, &str)>;
    fn wakes_phases(&self) -> bool;
    fn hook(&self) -> Option<HookEvent>;
    fn payloads(&self, state: &State, of: Payload) -> Vec<Payload>;
}

impl<T: Decides> AnyDecides for T {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Decides::act(self, scene)
    }

    fn answer(&self, wrote: &Wrote<'_>) -> Result<Answer, Refused> {
        let answer = <T::Answer as FromRecords>::from_records(wrote).map(Into::into);
        answer.ok_or_else(|| {
            let text = "what this request once brought about was another request's, or is gone";
            refused(Code::StaleRequest, text, "ask anew, with a request id of its own")
        })
    }

    fn then(&self, scene: &Scene<'_>) -> Option<Act> {
        Decides::then(self, scene)
    }

    fn waits(&self) -> bool {
        Decides::waits(self)
    }

    fn hands_out_mail(&self) -> bool {
        Decides::hands_out_mail(self)
    }

    fn lacks_commit(&self) -> bool {
        Decides::lacks_commit(self)
    }

    fn hands_in(&self) -> Option<(&str, u64, &str)> {
        Decides::hands_in(self)
    }

    fn sets_aside(&self) -> Option<(&str, u64, &str, &str)> {
        Decides::sets_aside(self)
    }

    fn wakes_phases(&self) -> bool {
        Decides::wakes_phases(self)
    }

    fn hook(&self) -> Option<HookEvent> {
        Decides::hook(self)
    }

    fn payloads(&self, state: &State, of: Payload) -> Vec<Payload> {
        Decides::payloads(self, state, of)
    }
}

/// A verb that only looks at a team.
pub(crate) trait Looks: Verb {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<Self::Answer, Refused>;
}

/// The same of any verb that only looks at a team.
pub(crate) trait AnyLooks {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<Answer, Refused>;
}

impl<T: Looks> AnyLooks for T {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<Answer, Refused> {
        answer_to::<T>(Looks::look(self, scene, beside))
    }
}

/// What is seen of a team beside its state.
pub(crate) struct Beside<'a> {
    /// Which log it has, in a word.
    pub(crate) log: &'a str,
    pub(crate) signs: &'a Signs,
}
