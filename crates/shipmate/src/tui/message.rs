//! What the screen hears, and what it wants done.

use ratatui::crossterm::event::KeyEvent;
use shipmate_protocol::view::{Delta, LogLine, MessageRow, TeamView};
use shipmate_protocol::watch::TaskPage;
use shipmate_protocol::{Answer, Ask, ClientFailure};

/// Whatever may change the screen.
#[derive(Debug)]
pub(crate) enum Message {
    Key(KeyEvent),
    Paste(String),
    /// The window has another size.
    Resized,
    Delta(Box<Delta>),
    /// The watch over this tree has ended.
    Over(String, ClientFailure),
    Answered(Then, Result<Answer, ClientFailure>),
    Teams(Result<Vec<TeamView>, ClientFailure>),
    /// Older lines of the log; none when there are none.
    Lines(Vec<LogLine>),
    Output(Output),
    Suspend,
    /// Somebody else may have used the terminal meanwhile.
    Continued,
    Quit,
    /// A thread has failed, and said so.
    Panicked,
}

/// Something of what a teammate prints.
#[derive(Debug)]
pub(crate) enum Output {
    /// This life is shown from here on.
    Life {
        address: String,
        who: String,
    },
    Text {
        address: String,
        text: String,
    },
    /// There is nothing to show, and why.
    None {
        address: String,
        why: String,
    },
}

/// A request to the coordinator.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) team: Option<String>,
    pub(crate) ask: Ask,
    pub(crate) then: Then,
}

/// What its answer is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Then {
    Say(String),
    /// Of a decision: its row in the list, and what to say.
    Decided {
        key: String,
        said: String,
    },
    Show(u32),
    Edit,
    Record(u64),
    /// The notes, as of this record.
    Notes(u64),
}

impl Then {
    /// The person waits for its answer.
    pub(super) fn is_act(&self) -> bool {
        matches!(self, Then::Say(_) | Then::Decided { .. } | Then::Edit)
    }
}

/// What the screen wants from the world.
#[derive(Debug)]
pub(crate) enum Effect {
    Ask(Box<Asked>),
    /// Watch this tree.
    Watch(String),
    ListTeams,
    /// What the log has of a task.
    TaskPage(u32),
    OlderMessages {
        before: u64,
    },
    OlderLines {
        before: u64,
    },
    /// Follow what `team/name` prints, in place of what was followed before.
    Tail(Option<String>),
    Redraw,
    Suspend,
    Quit,
}

/// What the picture had at hand.
#[derive(Debug)]
pub(crate) enum Found {
    TaskPage(Box<TaskPage>),
    Messages(Vec<MessageRow>),
}
