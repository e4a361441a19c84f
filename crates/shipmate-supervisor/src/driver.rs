//! What a supervisor does with an agent, whatever program that is.
//!
//! A driver starts work, hands over messages, tells what it sees and ends everything it
//! started. It decides nothing about the board: claiming, submitting and shutting down
//! are the supervisor's. Messages never cancel work.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use shipmate_model::account::Window;
use shipmate_process::SpawnFailure;
use shipmate_protocol::verbs::Context;
use shipmate_protocol::view::InboxMessage;
use shipmate_protocol::view::TaskView;

/// One piece of work, with all an agent needs to know about it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Work {
    pub(crate) team: String,
    pub(crate) teammate: String,
    pub(crate) epoch: u32,
    /// Absent when only messages are handed over.
    pub(crate) task: Option<TaskView>,
    pub(crate) token: Option<u64>,
    pub(crate) scope: Vec<String>,
    #[serde(skip)]
    pub(crate) role: String,
    /// It has this task and nobody to talk to.
    #[serde(skip)]
    pub(crate) alone: bool,
    /// Commands that must succeed on the merged tree.
    #[serde(skip)]
    pub(crate) gate: Vec<String>,
    /// The text of the plan that the team works by, if there is one.
    #[serde(skip)]
    pub(crate) plan: String,
    /// Where to work.
    pub(crate) tree: PathBuf,
    /// Why the last attempt came back, for whoever takes it up again.
    pub(crate) feedback: Option<String>,
    /// The tree holds work that was done for this task before.
    pub(crate) is_begun: bool,
    /// Files that clash with what others did meanwhile; markers are in the tree.
    pub(crate) conflicts: Vec<String>,
    pub(crate) messages: Vec<InboxMessage>,
    /// What the runtime has to say in a further turn on the same task; absent in the first.
    #[serde(skip)]
    pub(crate) note: Option<String>,
}

/// What came of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finished {
    /// It ended well; these were its last words.
    Done {
        result: String,
    },
    /// It said itself that its task is done, and what came of it.
    Stated {
        result: String,
    },
    Failed {
        reason: String,
    },
    /// It wants nothing more to do with the task: somebody else may.
    GivenBack {
        reason: String,
    },
    /// There is no budget for the next step.
    Spent {
        reason: String,
    },
    /// Its account has no room for the next step: the task is free again, and nothing has failed.
    Limited {
        reason: String,
        /// What the provider said, where it was this agent that was refused.
        refused: Option<Refusal>,
    },
    /// The program ended in the middle; its conversation may be taken up again.
    Died {
        reason: String,
    },
    /// It cannot work until a person has mended something: its program, its login, its model.
    /// Nothing that was tried counts.
    Unable {
        reason: String,
    },
}

/// How much is said of why a task failed, in bytes, and of why an agent does not go on.
const FAILURE_BYTES_MAX: usize = 16 * 1024;
const REASON_CHARS_MAX: usize = 2 * 1024;

/// A provider has refused: the account is used up until then, where it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Refusal {
    /// Wall clock in milliseconds.
    pub(crate) until: Option<u64>,
}

/// Why there is no room for a next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoRoom {
    Budget(String),
    Account(String),
}

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (NoRoom::Budget(reason) | NoRoom::Account(reason)) = self;
        f.write_str(reason)
    }
}

impl From<NoRoom> for Finished {
    fn from(no: NoRoom) -> Finished {
        match no {
            NoRoom::Budget(reason) => Finished::Spent { reason },
            NoRoom::Account(reason) => Finished::Limited { reason, refused: None },
        }
    }
}

impl Finished {
    /// This agent was refused by its provider.
    pub(crate) fn limited(reason: String, until: Option<u64>) -> Finished {
        Finished::Limited { reason, refused: Some(Refusal { until }) }
    }

    /// With a reason that the board takes, whatever a provider or a model has said.
    #[must_use]
    pub(crate) fn bounded(mut self) -> Finished {
        match &mut self {
            Finished::Done { .. } | Finished::Stated { .. } => {}
            // Said of the task, for whoever has it next.
            Finished::Failed { reason } | Finished::GivenBack { reason } => {
                if reason.len() > FAILURE_BYTES_MAX {
                    reason.truncate(reason.floor_char_boundary(FAILURE_BYTES_MAX));
                    reason.push('…');
                }
            }
            Finished::Spent { reason }
            | Finished::Limited { reason, .. }
            | Finished::Died { reason }
            | Finished::Unable { reason } => {
                if reason.len() > REASON_CHARS_MAX {
                    *reason = shipmate_process::one_line(reason, REASON_CHARS_MAX);
                }
            }
        }
        self
    }

    /// For a trace: what agents say is not for it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Finished::Done { .. } => "done",
            Finished::Stated { .. } => "stated",
            Finished::Failed { .. } => "failed",
            Finished::GivenBack { .. } => "given back",
            Finished::Spent { .. } => "spent",
            Finished::Limited { .. } => "limited",
            Finished::Died { .. } => "died",
            Finished::Unable { .. } => "unable",
        }
    }
}

/// When the windows that are used up are reset, by the last of them.
pub(crate) fn reset_of(windows: &[Window]) -> Option<u64> {
    let full = windows.iter().filter(|window| window.used.is_some_and(|used| used >= 1000));
    full.filter_map(|window| window.resets_at).max()
}

/// Why an agent was not given its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotGiven {
    /// It cannot be started until a person has mended something.
    Unable(String),
    /// The machine had no room for it: the same may succeed a moment later.
    Passing(String),
    /// Its program was killed before it could take anything up.
    Died(String),
    /// There is no room for its first step.
    Spent(NoRoom),
}

impl From<String> for NotGiven {
    fn from(reason: String) -> NotGiven {
        NotGiven::Unable(reason)
    }
}

impl From<SpawnFailure> for NotGiven {
    fn from(failure: SpawnFailure) -> NotGiven {
        match failure.is_passing() {
            true => NotGiven::Passing(failure.to_string()),
            false => NotGiven::Unable(failure.to_string()),
        }
    }
}

impl std::fmt::Display for NotGiven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotGiven::Unable(reason) | NotGiven::Passing(reason) | NotGiven::Died(reason) => {
                f.write_str(reason)
            }
            NotGiven::Spent(reason) => reason.fmt(f),
        }
    }
}

/// A sign that the agent is at work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) bytes: u64,
    pub(crate) last_words: String,
    /// How full its context is, where the program tells.
    pub(crate) context: Option<Context>,
    /// Until when it waits for its model's provider, in milliseconds since 1970.
    pub(crate) waits_until: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Injected {
    /// The agent has them now.
    Now,
    /// They are handed over with the next piece of work.
    Later,
}

pub(crate) trait Driver {
    /// Starts on a piece of work.
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven>;

    /// Waits until the work that was given is over. May be dropped and called again.
    async fn over(&mut self);

    /// What came of it; ends whatever it left behind.
    async fn conclude(&mut self) -> Finished;

    /// Hands over a message while work goes on.
    async fn inject(&mut self, message: &InboxMessage) -> Injected;

    /// How many of the messages that were handed over last came too late for the turn.
    fn unheard(&mut self) -> usize {
        0
    }

    /// The agent's own name for its conversation, once it is known.
    fn session(&self) -> Option<String>;

    /// What was seen of the agent so far; changes wake whoever waits on it.
    fn progress(&self) -> tokio::sync::watch::Receiver<Progress>;

    /// An idle agent is woken for messages alone.
    fn wakes_for_messages(&self) -> bool {
        true
    }

    /// It says itself, by a tool, what came of a task; the end of a turn alone says nothing.
    fn reports(&self) -> bool {
        true
    }

    /// Breaks the turn off; the program goes on where it can.
    async fn cancel(&mut self, grace: Duration) {
        self.stop(grace).await;
    }

    /// Ends the work and everything it started.
    async fn stop(&mut self, grace: Duration);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_any_length_is_one_that_the_board_takes() {
        let words = "too many\n".repeat(20_000);
        let limited = Finished::limited(words.clone(), Some(9)).bounded();
        let Finished::Limited { reason, refused: Some(Refusal { until: Some(9) }) } = limited
        else {
            panic!("{limited:?}");
        };
        assert!(reason.len() < 3_000 && !reason.contains('\n') && reason.starts_with("too many"));
        let Finished::Failed { reason } = Finished::Failed { reason: words }.bounded() else {
            unreachable!("it stays what it is");
        };
        assert!(reason.len() < 20_000 && reason.starts_with("too many\ntoo many"));
        let short = Finished::Unable { reason: "no key\nset one".to_owned() };
        assert_eq!(short.clone().bounded(), short);
    }
}
