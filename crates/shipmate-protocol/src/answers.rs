//! What is answered: one type for each kind of answer, and all of them as they cross the socket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shipmate_model::Code;

use crate::refused::{Refused, refused};
use crate::view::{
    AccountView, AgentView, HookTry, HostView, InboxMessage, Leftover, LogRecord, Look, Merged,
    MessageTrace, NoteView, PlanView, PlaybookChecked, PlaybookRow, PlaybookView, QuestionView,
    Resumed, Status, Survey, TaskDiff, TaskRow, TaskView, TeamView, TeammateView,
};

/// On the wire. Which of them a request gets is said by its verb.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Done and durable: the records `first..=last` say what happened.
    Done {
        first: u64,
        last: u64,
    },
    /// The state already was as asked.
    Unchanged,
    Created(Created),
    Claimed(Claimed),
    Sent(Sent),
    Opened(Opened),
    Started(Started),
    Messages(Vec<InboxMessage>),
    Status(Box<Status>),
    Teams(Vec<TeamView>),
    Team(Box<TeamView>),
    Teammates(Vec<TeammateView>),
    Teammate(Box<TeammateView>),
    Tasks(Vec<TaskRow>),
    Task(Box<TaskView>),
    Diff(Box<TaskDiff>),
    Trace(Box<MessageTrace>),
    Plans(Vec<PlanView>),
    Notes(Vec<NoteView>),
    Questions(Vec<QuestionView>),
    Hosts(Vec<HostView>),
    Accounts(Vec<AccountView>),
    Log(Vec<LogRecord>),
    Look(Box<Look>),
    Verified(Verified),
    Following(Following),
    Resumed(Vec<Resumed>),
    Merged(Box<Merged>),
    Leftovers(Vec<Leftover>),
    HooksTried(Vec<HookTry>),
    Survey(Box<Survey>),
    /// Each setting with its value, as a file would have it.
    Settings(BTreeMap<String, String>),
    Agents(Vec<AgentView>),
    Playbooks(Vec<PlaybookRow>),
    Playbook(Box<PlaybookView>),
    PlaybooksChecked(Vec<PlaybookChecked>),
    Enrolled(Enrolled),
    Attached(Attached),
}

impl Answer {
    /// Its word on the wire.
    pub fn word(&self) -> String {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
            Ok(Value::String(word)) => word,
            _ => String::new(),
        }
    }

    /// As the answer to the verb that was asked; a coordinator of another release may give another.
    pub fn of<T: FromAnswer>(self) -> Result<T, Refused> {
        T::from_answer(self).map_err(|other| {
            let text =
                format!("the coordinator gave an answer that was not asked for ({})", other.word());
            let remedy = "call again; if it stays so, restart shipmate";
            refused(Code::UnexpectedAnswer, text, remedy)
        })
    }
}

/// What a verb's answer is made from, and made into.
pub trait FromAnswer: Sized + Into<Answer> {
    /// The answer itself comes back where it is one to another verb.
    fn from_answer(answer: Answer) -> Result<Self, Answer>;
}

/// Nothing where the state already was as asked.
impl<T: FromAnswer> FromAnswer for Option<T> {
    fn from_answer(answer: Answer) -> Result<Option<T>, Answer> {
        match answer {
            Answer::Unchanged => Ok(None),
            answer => T::from_answer(answer).map(Some),
        }
    }
}

impl<T: Into<Answer>> From<Option<T>> for Answer {
    fn from(answer: Option<T>) -> Answer {
        answer.map_or(Answer::Unchanged, Into::into)
    }
}

impl FromAnswer for Answer {
    fn from_answer(answer: Answer) -> Result<Answer, Answer> {
        Ok(answer)
    }
}

/// Each type with its place in [`Answer`].
macro_rules! answers {
    (plain { $($variant:ident($inner:ty),)* } boxed { $($in_box:ident($of:ty),)* }) => {
        $(
            impl From<$inner> for Answer {
                fn from(inner: $inner) -> Answer {
                    Answer::$variant(inner)
                }
            }
            impl FromAnswer for $inner {
                fn from_answer(answer: Answer) -> Result<$inner, Answer> {
                    match answer {
                        Answer::$variant(inner) => Ok(inner),
                        other => Err(other),
                    }
                }
            }
        )*
        $(
            impl From<$of> for Answer {
                fn from(inner: $of) -> Answer {
                    Answer::$in_box(Box::new(inner))
                }
            }
            impl FromAnswer for $of {
                fn from_answer(answer: Answer) -> Result<$of, Answer> {
                    match answer {
                        Answer::$in_box(inner) => Ok(*inner),
                        other => Err(other),
                    }
                }
            }
        )*
    };
}

answers! {
    plain {
    Created(Created),
    Claimed(Claimed),
    Opened(Opened),
    Started(Started),
    Messages(Vec<InboxMessage>),
    Teams(Vec<TeamView>),
    Teammates(Vec<TeammateView>),
    Tasks(Vec<TaskRow>),
    Plans(Vec<PlanView>),
    Notes(Vec<NoteView>),
    Questions(Vec<QuestionView>),
    Hosts(Vec<HostView>),
    Accounts(Vec<AccountView>),
    Log(Vec<LogRecord>),
    Verified(Verified),
    Following(Following),
    Resumed(Vec<Resumed>),
    Leftovers(Vec<Leftover>),
    HooksTried(Vec<HookTry>),
    Settings(BTreeMap<String, String>),
    Agents(Vec<AgentView>),
    Playbooks(Vec<PlaybookRow>),
    PlaybooksChecked(Vec<PlaybookChecked>),
    Enrolled(Enrolled),
    Attached(Attached),
    }
    boxed {
    Status(Status),
    Team(TeamView),
    Teammate(TeammateView),
    Task(TaskView),
    Diff(TaskDiff),
    Trace(MessageTrace),
    Look(Look),
    Merged(Merged),
    Survey(Survey),
    Playbook(PlaybookView),
    }
}

/// What a change came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// Durable: the records `first..=last` say what happened.
    Done { first: u64, last: u64 },
    /// The state already was as asked.
    Unchanged,
}

impl From<Changed> for Answer {
    fn from(changed: Changed) -> Answer {
        match changed {
            Changed::Done { first, last } => Answer::Done { first, last },
            Changed::Unchanged => Answer::Unchanged,
        }
    }
}

impl FromAnswer for Changed {
    fn from_answer(answer: Answer) -> Result<Changed, Answer> {
        match answer {
            Answer::Done { first, last } => Ok(Changed::Done { first, last }),
            Answer::Unchanged => Ok(Changed::Unchanged),
            other => Err(other),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Created {
    pub tasks: Vec<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Claimed {
    pub task: Box<TaskView>,
    pub token: u64,
}

/// What was handed in, and the next claim where there is one.
#[derive(Debug, Clone)]
pub enum Submitted {
    AndClaimed(Claimed),
    Only(Changed),
}

impl From<Submitted> for Answer {
    fn from(submitted: Submitted) -> Answer {
        match submitted {
            Submitted::AndClaimed(claimed) => claimed.into(),
            Submitted::Only(changed) => changed.into(),
        }
    }
}

impl FromAnswer for Submitted {
    fn from_answer(answer: Answer) -> Result<Submitted, Answer> {
        match answer {
            Answer::Claimed(claimed) => Ok(Submitted::AndClaimed(claimed)),
            other => Changed::from_answer(other).map(Submitted::Only),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sent {
    pub message: u64,
    pub to: Vec<String>,
}

impl From<Sent> for Answer {
    fn from(sent: Sent) -> Answer {
        Answer::Sent(sent)
    }
}

impl FromAnswer for Sent {
    fn from_answer(answer: Answer) -> Result<Sent, Answer> {
        match answer {
            Answer::Sent(sent) => Ok(sent),
            // It was recorded, and there was nobody who could be written to.
            Answer::Done { first, .. } => Ok(Sent { message: first, to: Vec::new() }),
            other => Err(other),
        }
    }
}

/// A plan, question, shutdown request or reservation, by its id.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Opened {
    pub id: u64,
}

/// A teammate's life began; its token is told once, here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Started {
    pub who: String,
    pub token: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Verified {
    pub records: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Following {
    pub after: u64,
}

/// A session has a seat; its token is told once, here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Enrolled {
    pub seat: Box<TeammateView>,
    pub token: String,
}

/// A teammate's output, and whose it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attached {
    pub output: String,
    pub who: String,
}
