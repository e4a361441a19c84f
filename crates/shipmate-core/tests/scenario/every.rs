//! Every act, event and refusal occurs in some scenario.
//!
//! The lists below are matches without a wildcard: a new variant does not compile
//! until it is named here, and does not pass until a scenario produces it.

use std::collections::BTreeSet;

use shipmate_model::{Act, Event, Refusal};

use crate::play::{Touched, first_word, play};
use crate::{
    accounts, alone, breaker, counts, dependencies, escalations, fallbacks, files, goals, hosts,
    led_phases, messages, notes, observer, pauses, phases, plans, repairs, requests, room, routes,
    scope, shutdown, staff, stalls, tasks, teammates, teams, unchanged, usage,
};

/// The names of all variants; `is` exists to make the compiler count them.
macro_rules! every {
    ($list:ident, $is:ident, $type:ident: $($variant:ident)*) => {
        pub(crate) const $list: &[&str] = &[$(stringify!($variant)),*];
        #[allow(dead_code, reason = "the compiler checks that the list is whole")]
        fn $is(value: &$type) {
            match value {
                $($type::$variant { .. } => {})*
            }
        }
    };
}

every! { ACTS, is_act, Act:
    CreateTeam DeleteTeam ChangeTeam SetTeamBudget PauseTeam ContinueTeam ExpireTeam AddTeammate StartTeammate
    RemoveTeammate PauseTeammate ContinueTeammate SetTeammateMode PlaceTeammate SetTeammateBudget ReportIdle
    ReportDisappeared ReportStalled ReportSession ReportStopped CreateTasks UpdateTask ClaimTask
    ClaimNext RenewClaim ExpireClaim SubmitTask CompleteTask ReturnTask ReturnUnchanged AskScope ReportGate
    AddNote RemoveNote
    ReportHook FailTask ReleaseTask AssignTask RetryTask RevertTask DeleteTask SetAsideWork SendMessage TakeIn
    ReadInbox TakeInbox InjectMessages AcknowledgeMessages ExpireMessages SubmitPlan DecidePlan Ask
    Answer WithdrawQuestion RequestShutdown AnswerShutdown ExpireShutdown RaiseEscalation
    AskApproval ApprovePhase BeginPhase HoldPhase EndPhase
    ExpirePhase ForgiveStrike ProbeBreaker ReportProbe ReserveUsage
    ReportUsage JoinHost DrainHost LeaveHost ReportHostLost MoveHome ReportBranch SetAccount FallOver ReportWindows
    ParkAccount ResumeAccount
}

every! { EVENTS, is_event, Event:
    TeamCreated TeamPaused TeamContinued TeamDeletionRequested TeamDeleted TeamBudgetSet
    TeamChanged TeammateAgentChanged TeammateFellOver
    TeammateAdded TeammateStarted TeammateIdle TeammatePaused TeammateContinued TeammateModeChanged TeammatePlaced
    TeammateDisappeared TeammateStalled TeammateSession TeammateStopped TeammateRemoved
    TeammateBudgetSet TaskCreated TaskUpdated TaskClaimed TaskRenewed TaskSubmitted TaskCompleted
    TaskReturned TaskReleased TaskFailed TaskRetried TaskReverted TaskAssigned TaskDeleted
    TaskWorkSetAside TaskScopeGranted TaskScopeLeftOut GateRan NoteAdded NoteRemoved
    HookNoted MessageSent MessageOffered MessageInjected
    MessageAcknowledged MessageExpired MessageBounced PlanSubmitted PlanApproved PlanRejected
    PlanWithdrawn QuestionAsked QuestionAnswered QuestionWithdrawn ShutdownRequested
    ShutdownAnswered ShutdownTimedOut EscalationRaised EscalationResolved PhaseWaits PhaseBegan PhaseLeftToLead
    PhaseEnded BreakerOpened BreakerHalfOpened BreakerClosed BreakerStrikeForgiven UsageReserved
    UsageRecorded HostJoined HostDraining HostLeft HostLost HomeMoved BranchMoved TeammateAccount AccountTold
    AccountParked AccountResumed
}

every! { REFUSALS, is_refusal, Refusal:
    BadName BadPattern Empty Zero OverLimit UnknownTeam TeamExists TeamGone TeamEnding TeamPaused
    SecondRoot UnknownTeammate TeammateExists LeadExists AmbiguousTeammate Stopped StillRunning
    NotRunning StaleTeammate OneShotDone Paused ShuttingDown UnknownTask UnknownNote NoteOfAnother
    UnknownGroup AliasTaken
    SelfDependency Cycle NoSuchDependency NotPending AlreadyClaimed ClaimStands NotInProgress
    Blocked OtherRole AssignedElsewhere OutsideScope OtherTeam FilesHeld HoldsEnough
    NothingAvailable QueueFull StaleClaim Renewed NotSubmitted AlreadySubmitted GateCompletes NotFailed
    NotAllowed NotTheirs InboxFull NotInInbox NobodyElse NoRoute NotByMessage NoInbox NotOneUp
    AlreadyEscalated NoEscalation
    UnknownEscalation OtherPhase ApprovalPast PhaseNeeded UnknownPlan PlanDecided PlanNotApproved
    PlanFirst PlanReplaced BadPlan
    UnknownQuestion QuestionAnswered NotAnOption UnknownShutdown NobodyRuns BreakerOpen
    BreakerProbing BreakerElsewhere BudgetSpent StaleRequest UnknownHost HostExists OtherRelease HostGone
    HostLacksCode HostIsHome HostBusy NoHost AccountParked WindowUntold AccountShort UnknownAccount AccountElsewhere
    Switching
}

/// Events by the name they have in every log there is. A line here never changes.
pub(crate) const WIRE: &[(&str, &str)] = &[
    ("TeamCreated", "team.created"),
    ("TeamPaused", "team.paused"),
    ("TeamContinued", "team.continued"),
    ("TeamDeletionRequested", "team.deletion_requested"),
    ("TeamDeleted", "team.deleted"),
    ("TeamBudgetSet", "team.budget_set"),
    ("TeamChanged", "team.changed"),
    ("TeammateAgentChanged", "teammate.agent_changed"),
    ("TeammateFellOver", "teammate.fell_over"),
    ("TeammateAdded", "teammate.added"),
    ("TeammateStarted", "teammate.started"),
    ("TeammateIdle", "teammate.idle"),
    ("TeammatePaused", "teammate.paused"),
    ("TeammateContinued", "teammate.continued"),
    ("TeammateModeChanged", "teammate.mode_changed"),
    ("TeammatePlaced", "teammate.placed"),
    ("TeammateDisappeared", "teammate.disappeared"),
    ("TeammateStalled", "teammate.stalled"),
    ("TeammateSession", "teammate.session"),
    ("TeammateStopped", "teammate.stopped"),
    ("TeammateRemoved", "teammate.removed"),
    ("TeammateBudgetSet", "teammate.budget_set"),
    ("TaskCreated", "task.created"),
    ("TaskUpdated", "task.updated"),
    ("TaskClaimed", "task.claimed"),
    ("TaskRenewed", "task.renewed"),
    ("TaskSubmitted", "task.submitted"),
    ("TaskCompleted", "task.completed"),
    ("TaskReturned", "task.returned"),
    ("TaskReleased", "task.released"),
    ("TaskFailed", "task.failed"),
    ("TaskRetried", "task.retried"),
    ("TaskReverted", "task.reverted"),
    ("TaskAssigned", "task.assigned"),
    ("TaskDeleted", "task.deleted"),
    ("TaskWorkSetAside", "task.work_set_aside"),
    ("TaskScopeGranted", "task.scope_granted"),
    ("TaskScopeLeftOut", "task.scope_left_out"),
    ("GateRan", "gate.ran"),
    ("NoteAdded", "note.added"),
    ("NoteRemoved", "note.removed"),
    ("HookNoted", "hook.noted"),
    ("MessageSent", "message.sent"),
    ("MessageOffered", "message.offered"),
    ("MessageInjected", "message.injected"),
    ("MessageAcknowledged", "message.acknowledged"),
    ("MessageExpired", "message.expired"),
    ("MessageBounced", "message.bounced"),
    ("PlanSubmitted", "plan.submitted"),
    ("PlanApproved", "plan.approved"),
    ("PlanRejected", "plan.rejected"),
    ("PlanWithdrawn", "plan.withdrawn"),
    ("QuestionAsked", "question.asked"),
    ("QuestionAnswered", "question.answered"),
    ("QuestionWithdrawn", "question.withdrawn"),
    ("ShutdownRequested", "shutdown.requested"),
    ("ShutdownAnswered", "shutdown.answered"),
    ("ShutdownTimedOut", "shutdown.timed_out"),
    ("EscalationRaised", "escalation.raised"),
    ("EscalationResolved", "escalation.resolved"),
    ("PhaseWaits", "phase.waits"),
    ("PhaseBegan", "phase.began"),
    ("PhaseLeftToLead", "phase.left_to_lead"),
    ("PhaseEnded", "phase.ended"),
    ("BreakerOpened", "breaker.opened"),
    ("BreakerHalfOpened", "breaker.half_opened"),
    ("BreakerClosed", "breaker.closed"),
    ("BreakerStrikeForgiven", "breaker.strike_forgiven"),
    ("UsageReserved", "usage.reserved"),
    ("UsageRecorded", "usage.recorded"),
    ("HostJoined", "host.joined"),
    ("HostDraining", "host.draining"),
    ("HostLeft", "host.left"),
    ("HostLost", "host.lost"),
    ("HomeMoved", "host.home"),
    ("BranchMoved", "branch.moved"),
    ("TeammateAccount", "teammate.account"),
    ("AccountTold", "account.told"),
    ("AccountParked", "account.parked"),
    ("AccountResumed", "account.resumed"),
];

pub(crate) fn all_scenarios() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    [
        accounts::ALL,
        fallbacks::ALL,
        alone::ALL,
        breaker::ALL,
        repairs::ALL,
        counts::ALL,
        dependencies::ALL,
        escalations::ALL,
        files::ALL,
        goals::ALL,
        hosts::ALL,
        led_phases::ALL,
        messages::ALL,
        notes::ALL,
        observer::ALL,
        pauses::ALL,
        phases::ALL,
        plans::ALL,
        requests::ALL,
        room::ALL,
        routes::ALL,
        scope::ALL,
        shutdown::ALL,
        staff::ALL,
        stalls::ALL,
        tasks::ALL,
        teammates::ALL,
        teams::ALL,
        unchanged::ALL,
        usage::ALL,
    ]
    .into_iter()
    .flatten()
}

fn missing(all: &[&str], seen: &BTreeSet<String>) -> Vec<String> {
    all.iter().filter(|name| !seen.contains(**name)).map(ToString::to_string).collect()
}

#[test]
fn every_act_event_and_refusal_occurs_in_some_scenario() {
    let mut all = Touched::default();
    for (_, text) in all_scenarios() {
        // Long ones repeat what short ones show.
        if !text.contains("repeat 10000") {
            let touched = play(text).touched;
            all.refusals.extend(touched.refusals);
            all.events.extend(touched.events);
            all.acts.extend(touched.acts);
        }
    }
    // Filling an inbox takes ten thousand messages; its own scenario does it.
    all.refusals.insert("InboxFull".to_owned());
    // Refusals are counted by their code, and these have that of BudgetSpent and AccountShort, and the one of code
    // that cannot be had.
    all.refusals.extend(["WindowUntold", "Switching", "HostLacksCode"].map(str::to_owned));
    assert_eq!(missing(ACTS, &all.acts), [""; 0], "acts without a scenario");
    assert_eq!(missing(REFUSALS, &all.refusals), [""; 0], "refusals without a scenario");
    let wire: Vec<&str> = WIRE.iter().map(|(_, wire)| *wire).collect();
    assert_eq!(missing(&wire, &all.events), [""; 0], "events without a scenario");
}

#[test]
fn the_wire_names_are_pinned_for_every_event() {
    let pinned: Vec<&str> = WIRE.iter().map(|(name, _)| *name).collect();
    assert_eq!(pinned, EVENTS, "each event has one line in WIRE, in the order of the enum");
    let names: BTreeSet<&str> = WIRE.iter().map(|(_, wire)| *wire).collect();
    assert_eq!(names.len(), WIRE.len(), "two events share a name on the wire");
    for (_, text) in all_scenarios().filter(|(_, text)| !text.contains("repeat 10000")) {
        for record in play(text).records {
            let variant = first_word(&format!("{:?}", record.event));
            let pinned = WIRE.iter().find(|(name, _)| *name == variant).unwrap().1;
            assert_eq!(crate::play::wire_name(&record.event), pinned);
        }
    }
}

#[test]
fn a_scenarios_name_is_used_once() {
    let names: Vec<&str> = all_scenarios().map(|(name, _)| *name).collect();
    let once: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(once.len(), names.len());
}
