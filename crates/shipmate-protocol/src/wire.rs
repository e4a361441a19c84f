//! The lines themselves: hello, request, reply, notice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use shipmate_model::Code;

use crate::verbs::Ask;
use crate::view::{
    AgentView, HookTry, InboxMessage, Leftover, LogRecord, Look, Merged, MessageTrace, PlanView,
    PlaybookChecked, PlaybookRow, PlaybookView, QuestionView, Resumed, Status, Survey, TaskDiff,
    TaskRow, TaskView, TeamView, TeammateView,
};

/// The first line of a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    /// Release of the program, for the message when protocols differ.
    pub version: String,
    /// Chosen at random by the client; names it in request ids.
    pub client: String,
    pub token: String,
}

/// The answer to `Hello`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Welcome {
    pub protocol: u32,
    pub version: String,
    pub pid: u32,
    /// Who this connection acts as: `person` or `team/name@epoch`.
    pub actor: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Grows by one with each request; the same again means the same request.
    pub id: u64,
    /// The team it is about; may be left out where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    pub ask: Ask,
}

/// A line from the coordinator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Welcome(Welcome),
    Answer { id: u64, answer: Answer },
    Refused { id: u64, refused: Refused },
    Notice(Notice),
}

impl Reply {
    /// The answer to a request, or its refusal.
    pub fn to(id: u64, answer: Result<Answer, Refused>) -> Reply {
        match answer {
            Ok(answer) => Reply::Answer { id, answer },
            Err(refused) => Reply::Refused { id, refused },
        }
    }
}

/// A fact that stood in the way, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Stable word for programs (`StaleClaim`); the message may change.
    pub code: Code,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A refusal; an empty remedy is none.
pub fn refused(code: Code, message: impl Into<String>, remedy: &str) -> Refused {
    let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
    Refused { code, message: message.into(), remedy }
}

impl Refused {
    /// The fact and the remedy beside it, for a list.
    pub fn one_line(&self) -> String {
        match &self.remedy {
            Some(remedy) => format!("{}; {remedy}", self.message),
            None => self.message.clone(),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  {remedy}"),
            None => Ok(()),
        }
    }
}

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
    Questions(Vec<QuestionView>),
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
    Sent(Sent),
    Opened(Opened),
    Started(Started),
    Messages(Vec<InboxMessage>),
    Teams(Vec<TeamView>),
    Teammates(Vec<TeammateView>),
    Tasks(Vec<TaskRow>),
    Plans(Vec<PlanView>),
    Questions(Vec<QuestionView>),
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

/// What happened meanwhile, for those who follow.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// New records of a team's log, in order and without gaps.
    Records { team: String, records: Vec<Box<RawValue>> },
    /// A supervisor is asked for a sign of life.
    Alive { asked: u64 },
    /// What a person has set since the coordinator began; only supervisors are told, for
    /// whatever they start next.
    Environment { variables: BTreeMap<String, String> },
    /// Something was seen of a teammate, or the merge queue does something else; nothing of it is
    /// recorded. Who waits for a merge is also told so what is done for them.
    Sign { teammate: Option<Box<TeammateView>>, queue: Option<String> },
    /// There is more output of an attached teammate.
    Output { who: String, bytes: u64 },
}
