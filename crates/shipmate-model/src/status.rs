//! How things stand, in words that screens, programs and the log share. What is decided about them is
//! the core's; these are what is shown.

use serde::{Deserialize, Serialize};

use crate::message::QuestionKind;

/// Closed sets of words: each an enum that is its word in JSON. The first is the default.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $one:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $one,)*
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$one),*];

            pub fn word(self) -> &'static str {
                match self {
                    $($name::$one => $word,)*
                }
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::ALL[0]
            }
        }

        /// The error is the word that is none.
        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<$name, String> {
                let found = $name::ALL.iter().find(|one| one.word() == word);
                found.copied().ok_or_else(|| word.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    )*};
}

words! {
    /// A task on the board. That it is blocked or available is derived.
    TaskStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Failed = "failed",
        Deleted = "deleted",
    }

    /// A machine that shares a team's log.
    HostState {
        Joined = "joined",
        /// Nobody is started there any more.
        Draining = "draining",
        Left = "left",
        /// It gave no sign for a whole lease.
        Lost = "lost",
    }

    /// How far a task in progress is.
    TaskStage {
        Claimed = "claimed",
        /// A gate or the merge queue has it.
        Submitted = "submitted",
        /// It came back from there.
        Returned = "returned",
    }

    TeammateState {
        Added = "added",
        Active = "active",
        Idle = "idle",
        Paused = "paused",
        /// Its account has no room now.
        Parked = "parked",
        Stopping = "stopping",
        Stopped = "stopped",
        Disappeared = "disappeared",
        /// Not started again until somebody says so.
        Failed = "failed",
        Removed = "removed",
    }

    TeamState {
        Active = "active",
        /// It is being deleted.
        Ending = "ending",
        Deleted = "deleted",
    }

    /// Whether teammates are started in a department.
    BreakerState {
        Closed = "closed",
        Open = "open",
        HalfOpen = "half_open",
    }

    /// A phase of a playbook.
    PhaseState {
        Ahead = "ahead",
        Waits = "waits",
        Runs = "runs",
        Done = "done",
        Skipped = "skipped",
        Failed = "failed",
        /// It failed, and the team went on.
        Passed = "passed",
        /// An earlier one began again.
        Back = "back",
    }

    PlanState {
        Open = "open",
        Approved = "approved",
        Rejected = "rejected",
        Withdrawn = "withdrawn",
    }

    QuestionState {
        Open = "open",
        Answered = "answered",
        Withdrawn = "withdrawn",
    }

    /// How far a message came with one recipient.
    DeliveryState {
        Queued = "queued",
        Offered = "offered",
        Injected = "injected",
        Acknowledged = "acknowledged",
        Expired = "expired",
        Bounced = "bounced",
    }

    /// What somebody decides.
    DecisionKind {
        Question = "question",
        Permission = "permission",
        Scope = "scope",
        Plan = "plan",
        /// A person lets a phase begin.
        Approval = "approval",
    }

    PauseKind {
        /// In the words of whoever it is by.
        Asked = "asked",
        /// A person lets a phase begin.
        Approval = "approval",
        /// It is spent.
        Budget = "budget",
        TimeOver = "time_over",
        /// A phase stops every team.
        Halt = "halt",
        /// The runtime cannot go on.
        Trouble = "trouble",
    }

    /// What a claim is about for a while.
    SpanKind {
        Works = "works",
        Gate = "gate",
        Returned = "returned",
    }

    /// How a claim ended.
    SpanEnd {
        Completed = "completed",
        Returned = "returned",
        Released = "released",
        Failed = "failed",
        /// With the life that held it.
        Gone = "gone",
    }

    /// How a life ended.
    LifeEnd {
        Stopped = "stopped",
        Disappeared = "disappeared",
    }
}

impl PhaseState {
    /// Ahead, or under way.
    pub fn is_open(self) -> bool {
        matches!(self, PhaseState::Ahead | PhaseState::Waits | PhaseState::Runs)
    }
}

impl From<QuestionKind> for DecisionKind {
    fn from(kind: QuestionKind) -> DecisionKind {
        match kind {
            QuestionKind::Question => DecisionKind::Question,
            QuestionKind::Permission => DecisionKind::Permission,
            QuestionKind::Scope => DecisionKind::Scope,
        }
    }
}
