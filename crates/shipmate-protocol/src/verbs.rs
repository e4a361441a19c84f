//! What can be asked: a type for each verb of the command line and of the tools, with its answer.
//!
//! The list below is the whole of it. On the wire a request is one of [`Ask`], its answer one of
//! [`Answer`]; whoever asks with a verb gets that verb's answer and nothing else.

mod account;
mod host;
mod note;
mod setup;
mod talk;
mod task;
mod team;
mod teammate;
mod workspace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answers::{
    Answer, Attached, Changed, Claimed, Created, Enrolled, Following, FromAnswer, Opened, Sent,
    Started, Submitted, Verified,
};
use crate::view::{
    self, AccountView, AgentView, HookTry, HostView, InboxMessage, Leftover, LogRecord, Merged,
    NoteView, PlanView, PlaybookChecked, PlaybookRow, PlaybookView, QuestionView, Resumed, TaskRow,
    TaskView, TeamView, TeammateView,
};

pub use account::*;
pub use host::*;
pub use note::*;
pub use setup::*;
pub use shipmate_model::event::{Budget, QuestionKind, ShutdownAnswer, Supervision, Usage};
pub use talk::*;
pub use task::*;
pub use team::*;
pub use teammate::*;
pub use workspace::*;

/// Something that can be asked, and what the answer to it is.
pub trait Verb: Into<Ask> {
    type Answer: FromAnswer;
}

/// Any request at all, with whatever answer it has.
impl Verb for Ask {
    type Answer = Answer;
}

/// Writes `Ask` from the list of verbs. `look`: nothing is started or decided for it, whatever
/// environment it is asked from; `act`: everything else.
macro_rules! verbs {
    (@looks look) => { true };
    (@looks act) => { false };
    (@is $name:ident) => { Ask::$name };
    (@is $name:ident $with:ty) => { Ask::$name(_) };
    (@verb $name:ident -> $answer:ty) => {
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl From<$name> for Ask {
            fn from(_: $name) -> Ask {
                Ask::$name
            }
        }
        impl Verb for $name {
            type Answer = $answer;
        }
    };
    (@verb $name:ident ($with:ty) -> $answer:ty) => {
        impl From<$with> for Ask {
            fn from(verb: $with) -> Ask {
                Ask::$name(verb)
            }
        }
        impl Verb for $with {
            type Answer = $answer;
        }
    };
    ($($kind:ident $name:ident $(($with:ty))? -> $answer:ty;)*) => {
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(clippy::large_enum_variant, reason = "an ask is made once and sent")]
        pub enum Ask {
            $($name $(($with))?,)*
        }

        impl Ask {
            /// Nothing is started or decided for it, whatever environment it is asked from.
            pub fn only_looks(&self) -> bool {
                match self {
                    $(verbs!(@is $name $($with)?) => verbs!(@looks $kind),)*
                }
            }
        }

        $(verbs!(@verb $name $(($with))? -> $answer);)*
    };
}

verbs! {
    look Status -> view::Status;
    look Teams -> Vec<TeamView>;
    look TeamShow -> TeamView;
    act TeamCreate(TeamCreate) -> Changed;
    act TeamDelete(TeamDelete) -> Changed;
    act TeamBudget(TeamBudget) -> Changed;
    act TeamSet(TeamSet) -> Changed;
    act TeamPause(TeamPause) -> Changed;
    act TeamContinue -> Changed;
    act Resume -> Vec<Resumed>;
    act Merge(Merge) -> Merged;
    act TeamUpdate -> Merged;
    act TeamEnd -> Vec<Leftover>;
    look Leftovers(Leftovers) -> Vec<Leftover>;
    act TryHooks -> Vec<HookTry>;
    act Survey -> view::Survey;
    act Renew(Renew) -> Changed;
    look Settings -> BTreeMap<String, String>;
    act Agents -> Vec<AgentView>;
    look Playbooks -> Vec<PlaybookRow>;
    look PlaybookShow(PlaybookFile) -> PlaybookView;
    look PlaybookCheck(PlaybookCheck) -> Vec<PlaybookChecked>;
    act Enrol(Enrol) -> Enrolled;
    act Stay -> Changed;
    act StayOnce -> Changed;
    act Leave -> Changed;
    look Hosts -> Vec<HostView>;
    act HostDrain(HostDrain) -> Changed;
    act HostRemove(HostRemove) -> Changed;
    act HostHome(HostHome) -> Changed;
    look Teammates -> Vec<TeammateView>;
    look TeammateShow(TeammateShow) -> TeammateView;
    act TeammateAdd(TeammateAdd) -> Changed;
    act TeammateStart(TeammateStart) -> Started;
    act TeammateRemove(TeammateRemove) -> Changed;
    act TeammatePause(TeammatePause) -> Changed;
    act TeammateContinue(TeammateContinue) -> Changed;
    act TeammateMode(TeammateMode) -> Changed;
    act TeammateMove(TeammateMove) -> Changed;
    act TeammateBudget(TeammateBudget) -> Changed;
    act TeammateIdle(TeammateIdle) -> Changed;
    act Attend -> Changed;
    act Progress(Progress) -> Changed;
    act Alive(Alive) -> Changed;
    act TreeSetUp(TreeSetUp) -> Changed;
    act Session(Session) -> Changed;
    look Attach(Attach) -> Attached;
    look Tasks(Tasks) -> Vec<TaskRow>;
    look TaskShow(TaskShow) -> TaskView;
    look TaskDiff(TaskDiff) -> view::TaskDiff;
    act TreeFetch -> Changed;
    act TaskCreate(TaskCreate) -> Created;
    act TaskUpdate(TaskUpdate) -> Changed;
    act TaskClaim(TaskClaim) -> Option<Claimed>;
    act TaskNext(TaskNext) -> Claimed;
    act TaskRenew(TaskRenew) -> Changed;
    act TaskSubmit(TaskSubmit) -> Changed;
    act TaskSubmitNext(TaskSubmitNext) -> Submitted;
    act TaskComplete(TaskComplete) -> Changed;
    act TaskFail(TaskFail) -> Changed;
    act TaskRelease(TaskRelease) -> Changed;
    act TaskAssign(TaskAssign) -> Changed;
    act TaskRetry(TaskRetry) -> Changed;
    act TaskDelete(TaskDelete) -> Changed;
    act TaskSetAside(TaskSetAside) -> Changed;
    act NoteAdd(NoteAdd) -> Opened;
    act NoteRemove(NoteRemove) -> Changed;
    look Notes(Notes) -> Vec<NoteView>;
    act Send(Send) -> Sent;
    look InboxRead(InboxRead) -> Vec<InboxMessage>;
    look InboxPeek -> Vec<InboxMessage>;
    act InboxTake(InboxTake) -> Vec<InboxMessage>;
    look MessageTrace(MessageTrace) -> view::MessageTrace;
    act MessageInject(MessageInject) -> Changed;
    act MessageAcknowledge(MessageAcknowledge) -> Changed;
    act PlanSubmit(PlanSubmit) -> Opened;
    look Plans(Plans) -> Vec<PlanView>;
    act PlanApprove(PlanApprove) -> Changed;
    act PlanReject(PlanReject) -> Changed;
    act Question(Question) -> Opened;
    look Questions(Questions) -> Vec<QuestionView>;
    act Answer(QuestionAnswer) -> Changed;
    act QuestionWithdraw(QuestionWithdraw) -> Changed;
    act PhaseApprove(PhaseApprove) -> Changed;
    act PhaseSkip(PhaseSkip) -> Changed;
    act PhasesClose -> Changed;
    act Shutdown(Shutdown) -> Option<Opened>;
    act ShutdownAnswer(AnswerShutdown) -> Changed;
    look Accounts -> Vec<AccountView>;
    act AccountTold(AccountTold) -> Changed;
    act AccountRefused(AccountRefused) -> Changed;
    act AccountResume(AccountResume) -> Changed;
    act UsageReserve(UsageReserve) -> Option<Opened>;
    act UsageReport(UsageReport) -> Changed;
    look Log(Log) -> Vec<LogRecord>;
    look StatusAt(StatusAt) -> view::Status;
    look TasksAt(TasksAt) -> Vec<TaskRow>;
    look Follow(Follow) -> Following;
    look Look(Look) -> view::Look;
    look LookAt(LookAt) -> view::Look;
    look Signs -> Changed;
    look Verify -> Verified;
}
