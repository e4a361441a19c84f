//! What a run has exercised: a simulator that never meets a fault proves nothing about it.

use std::collections::BTreeMap;

use shipmate_core::Outcome;
use shipmate_model::{Act, Event, Refusal};

/// The ways in which the simulated world goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    LostAnswer,
    RequestTwiceInFlight,
    Conflict,
    ConflictOfARefusal,
    UnconfirmedStored,
    UnconfirmedNotStored,
    DiskFull,
    BrokenHandle,
    CrashBeforeAppend,
    CrashBeforeAnswer,
    RestartFromSnapshot,
    RestartFromWholeLog,
    DamagedSnapshot,
    StaleEpochActs,
    StaleTokenShown,
    LateTimer,
    ExpiryAfterRenewal,
    LeaseRanOut,
    WallClockJump,
    ClockSuspended,
    TeammateDisappeared,
    TeammateStartedAgain,
    BreakerOpened,
    BreakerProbed,
    RemovedNameCameBack,
    ProcessKilled,
    ProcessHung,
    HostLost,
    CrewCoordinatorDied,
    CrashBeforeSpawn,
}

impl Fault {
    pub const ALL: [Fault; 30] = [
        Fault::LostAnswer,
        Fault::RequestTwiceInFlight,
        Fault::Conflict,
        Fault::ConflictOfARefusal,
        Fault::UnconfirmedStored,
        Fault::UnconfirmedNotStored,
        Fault::DiskFull,
        Fault::BrokenHandle,
        Fault::CrashBeforeAppend,
        Fault::CrashBeforeAnswer,
        Fault::RestartFromSnapshot,
        Fault::RestartFromWholeLog,
        Fault::DamagedSnapshot,
        Fault::StaleEpochActs,
        Fault::StaleTokenShown,
        Fault::LateTimer,
        Fault::ExpiryAfterRenewal,
        Fault::LeaseRanOut,
        Fault::WallClockJump,
        Fault::ClockSuspended,
        Fault::TeammateDisappeared,
        Fault::TeammateStartedAgain,
        Fault::BreakerOpened,
        Fault::BreakerProbed,
        Fault::RemovedNameCameBack,
        Fault::ProcessKilled,
        Fault::ProcessHung,
        Fault::HostLost,
        Fault::CrewCoordinatorDied,
        Fault::CrashBeforeSpawn,
    ];
}

/// One word per variant. The match is exhaustive: a new variant does not compile until it has a
/// word, and then the simulator fails until it is exercised.
macro_rules! words {
    ($list:ident, $word:ident, $type:ident: $($variant:ident)*) => {
        pub(crate) const $list: &[&str] = &[$(stringify!($variant)),*];
        pub(crate) fn $word(of: &$type) -> &'static str {
            match of { $($type::$variant { .. } => stringify!($variant)),* }
        }
    };
}

words!(ACTS, act_word, Act:
    CreateTeam DeleteTeam ChangeTeam SetTeamBudget PauseTeam ContinueTeam ExpireTeam AddTeammate StartTeammate
    RemoveTeammate PauseTeammate ContinueTeammate SetTeammateMode PlaceTeammate SetTeammateBudget ReportIdle
    ReportDisappeared ReportStalled ReportSession ReportStopped CreateTasks UpdateTask ClaimTask
    ClaimNext RenewClaim ExpireClaim SubmitTask CompleteTask ReturnTask ReturnUnchanged AskScope ReportGate
    ReportHook AddNote RemoveNote FailTask ReleaseTask AssignTask RetryTask DeleteTask SetAsideWork SendMessage
    TakeIn ReadInbox TakeInbox InjectMessages AcknowledgeMessages ExpireMessages SubmitPlan DecidePlan Ask
    Answer WithdrawQuestion RequestShutdown AnswerShutdown ExpireShutdown RaiseEscalation AskApproval
    ApprovePhase BeginPhase HoldPhase
    EndPhase ExpirePhase ForgiveStrike ProbeBreaker ReportProbe
    ReserveUsage ReportUsage RevertTask JoinHost DrainHost LeaveHost ReportHostLost MoveHome
    ReportBranch SetAccount ReportWindows ParkAccount ResumeAccount FallOver);

words!(EVENTS, event_word, Event:
    TeamCreated TeamPaused TeamContinued TeamDeletionRequested TeamDeleted TeamBudgetSet
    TeamChanged TeammateAgentChanged TeammateFellOver
    TeammateAdded TeammateStarted TeammateIdle TeammatePaused TeammateContinued TeammateModeChanged TeammatePlaced
    TeammateDisappeared TeammateStalled TeammateSession TeammateStopped TeammateRemoved
    TeammateBudgetSet TaskCreated TaskUpdated TaskClaimed TaskRenewed TaskSubmitted TaskCompleted
    TaskReturned TaskReleased TaskFailed TaskRetried TaskAssigned TaskDeleted TaskWorkSetAside
    TaskScopeGranted TaskScopeLeftOut GateRan NoteAdded NoteRemoved HookNoted MessageSent MessageOffered
    MessageInjected MessageAcknowledged MessageExpired MessageBounced PlanSubmitted PlanApproved PlanRejected
    PlanWithdrawn QuestionAsked QuestionAnswered QuestionWithdrawn ShutdownRequested ShutdownAnswered
    ShutdownTimedOut EscalationRaised EscalationResolved PhaseWaits PhaseBegan PhaseLeftToLead
    PhaseEnded BreakerOpened BreakerHalfOpened BreakerClosed BreakerStrikeForgiven UsageReserved
    UsageRecorded TaskReverted HostJoined HostDraining HostLeft HostLost HomeMoved
    BranchMoved TeammateAccount AccountTold AccountParked AccountResumed);

#[derive(Debug, Clone, Default)]
pub struct Coverage {
    pub seeds: u64,
    /// Requests that clients asked, each once however often it was sent.
    pub requests: u64,
    /// Commands whose outcome the log confirmed, the runtime's own included.
    pub commands: u64,
    pub records: u64,
    /// Requests whose copy, still under way to another coordinator, was carried out after their
    /// client had been told of a refusal. Refusals are not remembered, so this can happen; a
    /// client that asks elsewhere only once its first coordinator is gone never sees it.
    pub done_after_refusal: u64,
    pub faults: BTreeMap<Fault, u64>,
    /// Accepted and refused, per act.
    pub acts: BTreeMap<&'static str, (u64, u64)>,
    pub events: BTreeMap<&'static str, u64>,
    pub refusals: BTreeMap<String, u64>,
}

impl Coverage {
    pub(crate) fn fault(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn event(&mut self, event: &Event) {
        self.records += 1;
        *self.events.entry(event_word(event)).or_default() += 1;
    }

    pub(crate) fn command(&mut self, act: &Act, outcome: &Outcome) {
        self.commands += 1;
        let counts = self.acts.entry(act_word(act)).or_default();
        match outcome {
            Outcome::Done { .. } | Outcome::Unchanged => counts.0 += 1,
            Outcome::Refused(refusal) => {
                counts.1 += 1;
                self.refused(refusal);
            }
        }
    }

    fn refused(&mut self, refusal: &Refusal) {
        let mut word = FirstWord(String::new());
        // It ends the formatting after the word, which is no error.
        let _ended = std::fmt::Write::write_fmt(&mut word, format_args!("{refusal:?}"));
        *self.refusals.entry(word.0).or_default() += 1;
    }

    pub fn add(&mut self, other: &Coverage) {
        self.seeds += other.seeds;
        self.requests += other.requests;
        self.commands += other.commands;
        self.records += other.records;
        self.done_after_refusal += other.done_after_refusal;
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        for (act, (accepted, refused)) in &other.acts {
            let counts = self.acts.entry(act).or_default();
            counts.0 += accepted;
            counts.1 += refused;
        }
        for (event, count) in &other.events {
            *self.events.entry(event).or_default() += count;
        }
        for (refusal, count) in &other.refusals {
            *self.refusals.entry(refusal.clone()).or_default() += count;
        }
    }

    /// What was never met: faults, acts that were never accepted or never refused, events.
    pub fn gaps(&self) -> Vec<String> {
        let faults = Fault::ALL.iter().filter(|fault| !self.faults.contains_key(fault));
        let mut gaps: Vec<String> = faults.map(|fault| format!("fault {fault:?}")).collect();
        for act in ACTS {
            let (accepted, refused) = self.acts.get(act).copied().unwrap_or_default();
            if accepted == 0 {
                gaps.push(format!("act {act} accepted"));
            }
            if refused == 0 {
                gaps.push(format!("act {act} refused"));
            }
        }
        let events = EVENTS.iter().filter(|event| !self.events.contains_key(*event));
        gaps.extend(events.map(|event| format!("event {event}")));
        gaps
    }
}

/// Takes the name of a variant from its debug text and none of its fields.
struct FirstWord(String);

impl std::fmt::Write for FirstWord {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = text.find(|c: char| !c.is_alphanumeric());
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        if end.is_some() { Err(std::fmt::Error) } else { Ok(()) }
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Coverage { seeds, requests, commands, records, .. } = self;
        writeln!(f, "{seeds} seeds, {requests} requests, {commands} commands, {records} records")?;
        let late = self.done_after_refusal;
        writeln!(f, "{late} requests were carried out after a refusal, by a copy still under way")?;
        writeln!(f, "\nfaults")?;
        for fault in Fault::ALL {
            let word = format!("{fault:?}");
            writeln!(f, "  {word:<24}{:>10}", self.faults.get(&fault).unwrap_or(&0))?;
        }
        writeln!(f, "\nacts                        accepted   refused")?;
        for act in ACTS {
            let (accepted, refused) = self.acts.get(act).copied().unwrap_or_default();
            writeln!(f, "  {act:<24}{accepted:>10}{refused:>10}")?;
        }
        writeln!(f, "\nevents")?;
        for event in EVENTS {
            writeln!(f, "  {event:<24}{:>10}", self.events.get(event).unwrap_or(&0))?;
        }
        writeln!(f, "\nrefusals")?;
        for (refusal, count) in &self.refusals {
            writeln!(f, "  {refusal:<24}{count:>10}")?;
        }
        Ok(())
    }
}
