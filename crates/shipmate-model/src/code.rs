//! The stable word of a refusal, for programs: what it says may change, this does not.
//!
//! Decisions are made by these and never by a message's text. One that is not in this list comes from
//! another release.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($code:ident)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($code,)*
            /// Of another release.
            #[serde(other)]
            Unrecognised,
        }

        impl Code {
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$code => stringify!($code),)*
                    Code::Unrecognised => "Unrecognised",
                }
            }

            #[cfg(test)]
            const ALL: &'static [Code] = &[$(Code::$code),*];
        }
    };
}

codes! {
    // What the rules of a team refuse.
    BadName
    BadPattern
    Empty
    Zero
    OverLimit
    UnknownTeam
    TeamExists
    TeamGone
    TeamEnding
    SecondRoot
    UnknownTeammate
    TeammateExists
    LeadExists
    AmbiguousTeammate
    Stopped
    UnknownHost
    HostExists
    OtherRelease
    HostGone
    HostIsHome
    HostBusy
    NoHost
    StillRunning
    NotRunning
    StaleTeammate
    Paused
    TeamPaused
    AccountParked
    AccountShort
    UnknownAccount
    AccountElsewhere
    OneShotDone
    OutsideScope
    ShuttingDown
    UnknownTask
    UnknownNote
    UnknownGroup
    AliasTaken
    SelfDependency
    Cycle
    NoSuchDependency
    NotPending
    AlreadyClaimed
    ClaimStands
    NotInProgress
    Blocked
    OtherRole
    AssignedElsewhere
    OtherTeam
    FilesHeld
    HoldsEnough
    NothingAvailable
    QueueFull
    StaleClaim
    Renewed
    NotSubmitted
    AlreadySubmitted
    GateCompletes
    NotFailed
    NotAllowed
    NotTheirs
    NoteOfAnother
    InboxFull
    NotInInbox
    NobodyElse
    NoRoute
    NotByMessage
    NoInbox
    NotOneUp
    AlreadyEscalated
    NoEscalation
    UnknownEscalation
    OtherPhase
    ApprovalPast
    PhaseNeeded
    UnknownPlan
    PlanDecided
    PlanNotApproved
    PlanFirst
    PlanReplaced
    BadPlan
    UnknownQuestion
    QuestionAnswered
    NotAnOption
    UnknownShutdown
    NobodyRuns
    BreakerOpen
    BreakerProbing
    BreakerElsewhere
    BudgetSpent
    StaleRequest

    // What is refused before or beside them.
    AmbiguousTask
    AmbiguousTeam
    BadArgument
    BadConfig
    BadHandoff
    BadHello
    BadHooks
    BadPath
    BadPlaybook
    BadRequest
    BadToken
    BadWork
    BranchExists
    BranchTaken
    Bug
    Busy
    CannotLead
    CannotRun
    CodeUnavailable
    CommitNeeded
    DirtyTree
    GateKilled
    GateRed
    HandedOut
    HookRejected
    HostSilent
    LogBroken
    LogDamaged
    LogFull
    LogInUse
    LogUnavailable
    LogUnsuitable
    NoAgent
    NoCommits
    NoDepartment
    NoDiff
    NoFolder
    NoModel
    NoMorePlans
    NoPhase
    NoRepository
    NoRuntime
    NoSeat
    NoTask
    NoTeam
    NoToken
    NoTrees
    NoValue
    NotForThePage
    NotFound
    NotHome
    NotInstalled
    NotJson
    NotLeftOver
    NotMerged
    NotPutAway
    NotSupervised
    NotUpdated
    NotYours
    NothingBlocks
    NothingDone
    Over
    RepositoryUnusable
    Slow
    StateUnreadable
    TeamActive
    TooLarge
    TooLong
    TooMany
    TooManyConnections
    TooManyWait
    TooMuchKept
    UnexpectedAnswer
    UnknownAgent
    UnknownKind
    UnknownMessage
    UnknownPlaybook
    UnknownPrice
    UnknownRecord
    UnknownSetting
    UnknownTool
    Unreachable
    Unreadable
    Version
    WrongHost
    WrongMethod
    WrongOrigin
}

impl Code {
    /// Something was named that is not there.
    pub fn is_unknown(self) -> bool {
        matches!(
            self,
            Code::UnknownTeam
                | Code::UnknownTeammate
                | Code::UnknownHost
                | Code::UnknownAccount
                | Code::UnknownTask
                | Code::UnknownNote
                | Code::UnknownGroup
                | Code::UnknownEscalation
                | Code::UnknownPlan
                | Code::UnknownQuestion
                | Code::UnknownShutdown
                | Code::UnknownAgent
                | Code::UnknownKind
                | Code::UnknownMessage
                | Code::UnknownPlaybook
                | Code::UnknownRecord
                | Code::UnknownSetting
                | Code::UnknownTool
        )
    }

    /// The log cannot be read or written.
    pub fn is_of_log(self) -> bool {
        matches!(
            self,
            Code::LogBroken
                | Code::LogDamaged
                | Code::LogFull
                | Code::LogInUse
                | Code::LogUnavailable
                | Code::LogUnsuitable
        )
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_its_word_in_both_directions() {
        for code in Code::ALL {
            let text = serde_json::to_string(code).expect("a code is JSON");
            assert_eq!(text, format!("{:?}", code.as_str()));
            assert_eq!(serde_json::from_str::<Code>(&text).expect("its own word is read"), *code);
        }
        let newer: Code = serde_json::from_str("\"OfALaterRelease\"").expect("any word is read");
        assert_eq!(newer, Code::Unrecognised);
    }

    #[test]
    fn the_groups_are_those_that_the_words_say() {
        for code in Code::ALL {
            // That a price is not known is not that something was looked for and not found.
            let is_unknown = code.as_str().starts_with("Unknown") && *code != Code::UnknownPrice;
            assert_eq!(code.is_unknown(), is_unknown, "{code}");
            assert_eq!(code.is_of_log(), code.as_str().starts_with("Log"), "{code}");
        }
    }
}
