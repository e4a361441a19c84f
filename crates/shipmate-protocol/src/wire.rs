//! The lines themselves: hello, request, reply, notice.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ask::Ask;
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
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A refusal; an empty remedy is none.
pub fn refused(code: &str, message: String, remedy: &str) -> Refused {
    let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
    Refused { code: code.to_owned(), message, remedy }
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
    Created {
        tasks: Vec<u32>,
    },
    Claimed {
        task: Box<TaskView>,
        token: u64,
    },
    Sent {
        message: u64,
        to: Vec<String>,
    },
    /// A plan, question, shutdown request or reservation, by its id.
    Opened {
        id: u64,
    },
    /// A teammate's life began; its token is told once, here.
    Started {
        who: String,
        token: String,
    },
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
    Verified {
        records: u64,
    },
    Following {
        after: u64,
    },
    Resumed(Vec<Resumed>),
    Merged(Box<Merged>),
    Leftovers(Vec<Leftover>),
    HooksTried(Vec<HookTry>),
    Survey(Box<Survey>),
    /// Each setting with its value, as a file would have it.
    Settings(std::collections::BTreeMap<String, String>),
    Agents(Vec<AgentView>),
    Playbooks(Vec<PlaybookRow>),
    Playbook(Box<PlaybookView>),
    PlaybooksChecked(Vec<PlaybookChecked>),
    /// A session has a seat; its token is told once, here.
    Enrolled {
        seat: Box<TeammateView>,
        token: String,
    },
    /// A teammate's output, and how much of it there is.
    Attached {
        output: String,
        who: String,
    },
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
    Environment { variables: std::collections::BTreeMap<String, String> },
    /// Something was seen of a teammate, or the merge queue does something else; nothing of it is
    /// recorded. Who waits for a merge is also told so what is done for them.
    Sign { teammate: Option<Box<TeammateView>>, queue: Option<String> },
    /// There is more output of an attached teammate.
    Output { who: String, bytes: u64 },
}
