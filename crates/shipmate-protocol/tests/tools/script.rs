//! A board that answers by script, and answers in a few words.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use shipmate_protocol::tools::{Board, Seat, SeatKind};
use shipmate_protocol::{Answer, Ask, Refused};

/// Nothing here waits: what is not ready at once never will be.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a call on a board that answers at once must not wait"),
    }
}

/// Gives the answers of a script in order and keeps what was asked.
#[derive(Debug, Default)]
pub(crate) struct Script {
    answers: Mutex<VecDeque<String>>,
    pub(crate) asked: Mutex<Vec<(String, String)>>,
    /// Milliseconds that are left after each wait.
    waits: Mutex<VecDeque<u64>>,
    /// The task it shows when it has no script.
    willing: Option<String>,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = String>) -> Script {
        let is_wait = |line: &String| line.strip_prefix("news ").is_some();
        let (waits, answers): (Vec<_>, Vec<_>) = answers.into_iter().partition(is_wait);
        let waits = waits.iter().map(|line| line["news ".len()..].parse().unwrap());
        Script {
            answers: Mutex::new(answers.into()),
            asked: Mutex::default(),
            waits: Mutex::new(waits.collect()),
            willing: None,
        }
    }

    /// Says yes to whatever is asked, with what such a request is answered by.
    pub(crate) fn willing(task: &str) -> Script {
        Script { willing: Some(task.to_owned()), ..Script::default() }
    }

    pub(crate) fn unused(&self) -> usize {
        self.answers.lock().unwrap().len() + self.waits.lock().unwrap().len()
    }
}

impl Board for Script {
    async fn ask_any(&self, ask: Ask) -> Result<Answer, Refused> {
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.or_else(|| self.willing.as_ref().map(|task| willing(&ask, task)));
        let answer = answer.unwrap_or_else(|| "refused NoScript nothing was scripted".to_owned());
        self.asked.lock().unwrap().push((words(&ask), answer.clone()));
        parse(&answer)
    }

    async fn news(&self, within_ms: u64) -> u64 {
        let left = self.waits.lock().unwrap().pop_front().unwrap_or(0);
        let asked = (format!("news {within_ms}"), format!("news {left}"));
        self.asked.lock().unwrap().push(asked);
        left
    }
}

fn willing(ask: &Ask, task: &str) -> String {
    match ask {
        Ask::TaskShow(_) => task,
        Ask::TaskCreate(_) => "created 4",
        Ask::TaskClaim(_) => "claimed 3 1",
        Ask::Tasks(_) => "tasks []",
        Ask::Teammates => "teammates []",
        Ask::TeammateShow(_) => "teammate {}",
        Ask::TeammateStart(_) => "started alpha/x@1",
        Ask::Send(_) => "sent 12 alpha/bob",
        Ask::Notes(_) => "notes []",
        Ask::NoteAdd(_) | Ask::Question(_) | Ask::PlanSubmit(_) | Ask::Shutdown(_) => "opened 44",
        Ask::TeamShow => "team {}",
        _ => "done",
    }
    .to_owned()
}

/// `task_claim {"lease_ms":null,"task":"3"}`, without what is empty or absent.
fn words(ask: &Ask) -> String {
    match serde_json::to_value(ask).unwrap() {
        Value::String(word) => word,
        Value::Object(mut fields) => {
            let (word, value) = fields.iter_mut().next().unwrap();
            prune(value);
            format!("{word} {value}")
        }
        other => panic!("an ask is a word or an object: {other}"),
    }
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // An empty value of the metadata removes a key: that is to be seen.
            fields.iter_mut().filter(|(key, _)| *key != "metadata").for_each(|(_, v)| prune(v));
            let empty = [json!(null), json!(""), json!([]), json!({}), json!(false)];
            fields.retain(|_, value| !empty.contains(value));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

/// An answer in a few words: `done`, `created 4 5`, `task {…}`, `refused Code message | remedy`.
pub(crate) fn parse(line: &str) -> Result<Answer, Refused> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let numbers = || rest.split_whitespace().map(|n| n.parse::<u64>().unwrap()).collect::<Vec<_>>();
    let value = match word {
        "refused" => {
            let (code, text) = rest.split_once(' ').unwrap();
            let (message, remedy) = match text.split_once(" | ") {
                Some((message, remedy)) => (message, Some(remedy.to_owned())),
                None => (text, None),
            };
            return Err(Refused {
                code: serde_json::from_value(code.into()).expect("a code"),
                message: message.to_owned(),
                remedy,
            });
        }
        "done" => json!({ "done": { "first": 1, "last": 1 } }),
        "unchanged" => json!("unchanged"),
        "created" => json!({ "created": { "tasks": numbers() } }),
        "claimed" => {
            let [id, token] = numbers()[..] else { panic!("claimed TASK TOKEN") };
            let view = over(task(), &json!({ "id": id, "status": "in_progress", "token": token }));
            json!({ "claimed": { "task": view, "token": token } })
        }
        "sent" => {
            let (id, to) = rest.split_once(' ').unwrap();
            let to: Vec<&str> = to.split(' ').collect();
            json!({ "sent": { "message": id.parse::<u64>().unwrap(), "to": to } })
        }
        "opened" => json!({ "opened": { "id": numbers()[0] } }),
        "started" => json!({ "started": { "who": rest, "token": "secret" } }),
        "task" => json!({ "task": over(task(), &serde_json::from_str(rest).unwrap()) }),
        "tasks" => json!({ "tasks": list(task(), rest) }),
        "teammate" => {
            json!({ "teammate": over(teammate(), &serde_json::from_str(rest).unwrap()) })
        }
        "teammates" => json!({ "teammates": list(teammate(), rest) }),
        "team" => json!({ "team": over(team(), &serde_json::from_str(rest).unwrap()) }),
        "teams" => json!({ "teams": list(team(), rest) }),
        "messages" => json!({ "messages": list(json!({ "sent_at": 0, "kind": "message" }), rest) }),
        "notes" => json!({ "notes": list(json!({ "at": 0, "by": "alpha/bob@1", "team": "alpha",
            "text": "x" }), rest) }),
        "plans" => json!({ "plans": list(
            json!({ "task": null, "state": "open", "feedback": null, "submitted_at": 0 }), rest) }),
        "questions" => json!({ "questions": list(json!({ "kind": "question", "options": [],
            "state": "open", "answer": null, "asked_at": 0 }), rest) }),
        "agents" => json!({ "agents": list(json!({ "protocol": "acp" }), rest) }),
        other => panic!("there is no answer {other:?}"),
    };
    Ok(serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{line}: {e}: {value}")))
}

fn over(mut base: Value, with: &Value) -> Value {
    let fields = base.as_object_mut().unwrap();
    for (key, value) in with.as_object().unwrap() {
        fields.insert(key.clone(), value.clone());
    }
    base
}

fn list(base: Value, rest: &str) -> Vec<Value> {
    let items: Vec<Value> = serde_json::from_str(rest).unwrap();
    items.iter().map(|item| over(base.clone(), item)).collect()
}

fn task() -> Value {
    json!({
        "id": 3, "subject": "Parse the header", "status": "pending", "available": false,
        "priority": 100, "team": "alpha", "path_ms": 0, "retries": 0, "retries_max": 3,
        "created_by": "person", "created_at": 0, "changed_at": 0,
    })
}

fn teammate() -> Value {
    json!({
        "name": "bob", "team": "alpha", "lead": false, "epoch": 1, "state": "idle", "why": "",
        "role": null, "agent": "codex", "model": "", "mode": "normal", "scope": [], "holds": [],
        "submitted": [], "returned": [], "unread": 0, "tasks_max": 1, "tokens_used": 0,
        "cost_micros": 0, "host": null, "supervision": "supervised",
    })
}

fn team() -> Value {
    json!({
        "name": "alpha", "parent": null, "description": "", "phase": "active", "lead": null,
        "gate": false, "teammates": 0, "running": 0, "breaker": "closed", "tokens_used": 0,
        "cost_micros": 0, "tokens_max": null, "cost_micros_max": null,
        "tasks": { "pending": 0, "in_progress": 0, "completed": 0, "failed": 0, "deleted": 0 },
    })
}

/// `lead`, `ana` (a teammate), `ana in mode plan`, `visitor`, `lead with SendMessage,TodoWrite`.
pub(crate) fn seat(words: &str) -> Seat {
    let (words, tools) = words.split_once(" with ").unwrap_or((words, ""));
    let tools = tools.split(',').filter(|tool| !tool.is_empty()).map(str::to_owned).collect();
    let (who, mode) = words.split_once(" in mode ").unwrap_or((words, "normal"));
    let (team, kind) = match who {
        "visitor" => ("", SeatKind::Visitor),
        "lead" => ("alpha", SeatKind::Lead),
        _ => ("alpha", SeatKind::Teammate),
    };
    let name = if kind == SeatKind::Visitor { "" } else { who };
    Seat {
        team: team.to_owned(),
        name: name.to_owned(),
        kind,
        mode: serde_json::from_value(mode.into()).expect("a mode"),
        tools,
    }
}
