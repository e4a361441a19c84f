//! What a person fills in before something is asked, and the request that comes of it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{TaskChanges, TaskNew};
use shipmate_protocol::view::{DecisionKind, DecisionView, TaskView};

use super::input::Input;
use super::message::{Asked, Then};
use super::store::decision_key;

#[derive(Debug)]
pub(super) struct Form {
    pub(super) title: String,
    /// What may be written, or what it brings about.
    pub(super) hint: String,
    pub(super) fields: Vec<Field>,
    pub(super) at: usize,
    /// Why it was not sent.
    pub(super) problem: Option<String>,
    does: Does,
    team: String,
    /// The decision that it answers: its row in the list.
    pub(super) decides: Option<String>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) label: &'static str,
    pub(super) input: Input,
    /// May have several lines.
    pub(super) lines: bool,
}

#[derive(Debug)]
pub(super) enum Does {
    New,
    Edit(Box<TaskView>),
    Assign(u32),
    Release(u32),
    Send { reply_to: Option<u64> },
    PauseTeam,
    PauseTeammate(String),
    Shutdown { name: Option<String>, deadline_ms: u64 },
    Reject(u64),
    Deny(u64),
    Answer(u64),
}

/// What a key does to a form.
#[derive(Debug)]
pub(super) enum Outcome {
    Stays,
    Closed,
    Sent(Box<Asked>),
}

fn field(label: &'static str, text: &str) -> Field {
    Field { label, input: Input::of(text), lines: false }
}

fn lines(label: &'static str, text: &str) -> Field {
    Field { label, input: Input::of(text), lines: true }
}

impl Form {
    fn new(title: String, team: &str, does: Does, fields: Vec<Field>) -> Form {
        let (hint, team) = (String::new(), team.to_owned());
        Form { title, hint, fields, at: 0, problem: None, does, team, decides: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Form {
        self.hint = hint.into();
        self
    }

    pub(super) fn new_task(team: &str) -> Form {
        let fields = vec![
            field("Subject", ""),
            lines("Description", ""),
            field("Files", ""),
            field("Blocked by", ""),
            field("Assigned to", ""),
            field("Role", ""),
            field("Priority", ""),
        ];
        Form::new(format!("New task for {team}"), team, Does::New, fields)
            .hint("files and tasks are separated by commas; a lower priority is sooner")
    }

    pub(super) fn edit(task: Box<TaskView>) -> Form {
        let fields = vec![
            field("Subject", &task.row.subject),
            lines("Description", &task.description),
            field("Files", &task.files.join(", ")),
            field("Blocked by", &task.row.blocked_by.join(", ")),
            field("Role", task.role.as_deref().unwrap_or_default()),
            field("Priority", &task.row.priority.to_string()),
        ];
        let (title, team) = (format!("Edit task {}", task.row.id), task.row.team.clone());
        Form::new(title, &team, Does::Edit(task), fields)
            .hint("files and tasks are separated by commas; a lower priority is sooner")
    }

    pub(super) fn assign(task: u32, team: &str, to: &str, names: &str) -> Form {
        let title = format!("Assign task {task}");
        Form::new(title, team, Does::Assign(task), vec![field("To", to)])
            .hint(format!("{names}; empty: anybody may take it"))
    }

    pub(super) fn release(task: u32, team: &str, holder: &str) -> Form {
        let title = format!("Release task {task}");
        let fields = vec![field("Reason", "given back by hand")];
        Form::new(title, team, Does::Release(task), fields)
            .hint(format!("{holder} is refused from then on; somebody may take it again"))
    }

    pub(super) fn send(team: &str, to: &str, reply_to: Option<u64>, names: &str) -> Form {
        let title = match reply_to {
            Some(id) => format!("Reply to message {id}"),
            None => "Message".to_owned(),
        };
        let does = Does::Send { reply_to };
        let mut form = Form::new(title, team, does, vec![field("To", to), lines("Text", "")])
            .hint(format!("to: {names}, all"));
        form.at = usize::from(!to.is_empty());
        form
    }

    pub(super) fn pause_team(team: &str) -> Form {
        let fields = vec![field("Reason", "paused by hand")];
        Form::new(format!("Pause team {team}"), team, Does::PauseTeam, fields)
            .hint("nobody starts or claims; whoever works goes on to the end of its task")
    }

    pub(super) fn pause(team: &str, name: &str) -> Form {
        let fields = vec![field("Reason", "paused by hand")];
        Form::new(format!("Pause {name}"), team, Does::PauseTeammate(name.to_owned()), fields)
            .hint("it takes no new task; the one in its hands it finishes")
    }

    pub(super) fn shutdown(team: &str, name: Option<&str>, deadline_ms: u64) -> Form {
        let title = match name {
            Some(name) => format!("Shut down {name}"),
            None => format!("Shut down everybody in {team}"),
        };
        let does = Does::Shutdown { name: name.map(str::to_owned), deadline_ms };
        let fields = vec![field("Reason", "asked by hand")];
        Form::new(title, team, does, fields).hint(format!(
            "within {} it answers and stops, or is ended",
            super::words::lasted(deadline_ms)
        ))
    }

    fn deciding(self, one: &DecisionView) -> Form {
        Form { decides: Some(decision_key(one)), ..self }
    }

    pub(super) fn deny(one: &DecisionView) -> Form {
        let (id, who) = (one.id, super::words::name_of(&one.who));
        let form = match one.kind {
            DecisionKind::Plan => {
                let fields = vec![lines("Feedback", "")];
                Form::new(format!("Reject plan {id}"), &one.team, Does::Reject(id), fields)
                    .hint(format!("what should be different: {who} revises by it"))
            }
            _ => {
                let fields = vec![lines("Reason", "")];
                Form::new(format!("Deny {} {id}", one.kind), &one.team, Does::Deny(id), fields)
                    .hint("why not; may stay empty")
            }
        };
        form.deciding(one)
    }

    pub(super) fn answer(one: &DecisionView) -> Form {
        let title = format!("Answer question {}", one.id);
        Form::new(title, &one.team, Does::Answer(one.id), vec![lines("Answer", "")]).deciding(one)
    }

    pub(super) fn paste(&mut self, text: &str) {
        let field = &mut self.fields[self.at];
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        field.input.insert(&if field.lines { text } else { text.replace('\n', " ") });
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Outcome {
        let last = self.fields.len() - 1;
        let alt = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Outcome::Closed,
            KeyCode::Tab | KeyCode::Down => self.at = if self.at == last { 0 } else { self.at + 1 },
            KeyCode::BackTab | KeyCode::Up => {
                self.at = if self.at == 0 { last } else { self.at - 1 };
            }
            KeyCode::Enter if alt && self.fields[self.at].lines => self.paste("\n"),
            KeyCode::Char('j') if control && self.fields[self.at].lines => self.paste("\n"),
            KeyCode::Enter => return self.send_off(),
            _ => {
                self.fields[self.at].input.key(key);
            }
        }
        Outcome::Stays
    }

    fn send_off(&mut self) -> Outcome {
        match self.asked() {
            Ok(asked) => Outcome::Sent(Box::new(asked)),
            Err((at, problem)) => {
                (self.at, self.problem) = (at, Some(problem));
                Outcome::Stays
            }
        }
    }

    fn text(&self, label: &str) -> String {
        let field = self.fields.iter().find(|field| field.label == label);
        field.map(|field| field.input.text().trim().to_owned()).unwrap_or_default()
    }

    /// A text that has to be there.
    fn needed(&self, label: &str, problem: &str) -> Result<String, (usize, String)> {
        let text = self.text(label);
        let at = self.fields.iter().position(|field| field.label == label).unwrap_or(0);
        if text.is_empty() { Err((at, problem.to_owned())) } else { Ok(text) }
    }

    /// What to ask, or which field stands in the way and why.
    fn asked(&self) -> Result<Asked, (usize, String)> {
        let (ask, said) = match &self.does {
            Does::New => {
                let task = self.task_new()?;
                (Ask::TaskCreate(verbs::TaskCreate { tasks: vec![task] }), "created".to_owned())
            }
            Does::Edit(before) => {
                let changes = self.changes(before)?;
                let task = before.row.id.to_string();
                (
                    Ask::TaskUpdate(verbs::TaskUpdate { task, changes }),
                    format!("task {} is changed", before.row.id),
                )
            }
            Does::Assign(id) => {
                let to = Some(self.text("To")).filter(|to| !to.is_empty());
                let said = format!("task {id} is for {}", to.as_deref().unwrap_or("anybody"));
                (Ask::TaskAssign(verbs::TaskAssign { task: id.to_string(), to }), said)
            }
            Does::Release(id) => {
                let reason = self.text("Reason");
                let ask = Ask::TaskRelease(verbs::TaskRelease {
                    task: id.to_string(),
                    token: None,
                    reason,
                });
                (ask, format!("task {id} may be taken again"))
            }
            Does::Send { reply_to } => {
                let to = self.needed("To", "name somebody, or all")?;
                let body = self.needed("Text", "there is nothing to send")?;
                let said = format!("sent to {to}");
                (Ask::Send(verbs::Send { to, body, kind: None, reply_to: *reply_to }), said)
            }
            Does::PauseTeam => {
                let said = "the team is paused: nobody starts or claims; p lets it go on";
                (Ask::TeamPause(verbs::TeamPause { reason: self.text("Reason") }), said.to_owned())
            }
            Does::PauseTeammate(name) => {
                let ask = Ask::TeammatePause(verbs::TeammatePause {
                    name: name.clone(),
                    reason: self.text("Reason"),
                    spent: false,
                });
                (ask, format!("{name} is paused; p lets it go on"))
            }
            Does::Shutdown { name, deadline_ms } => {
                let (name, reason) = (name.clone(), self.text("Reason"));
                let whom = name.as_deref().unwrap_or("everybody");
                let said = format!("asked {whom} to shut down");
                (Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: *deadline_ms }), said)
            }
            Does::Reject(plan) => {
                let feedback = self.needed("Feedback", "a rejection needs words")?;
                (
                    Ask::PlanReject(verbs::PlanReject { plan: *plan, feedback, unworkable: false }),
                    format!("plan {plan} is rejected"),
                )
            }
            Does::Deny(question) => {
                let reason = self.text("Reason");
                let answer = match reason.as_str() {
                    "" => "deny".to_owned(),
                    reason => format!("deny: {reason}"),
                };
                (
                    Ask::Answer(verbs::QuestionAnswer { question: *question, answer }),
                    format!("{question} is denied"),
                )
            }
            Does::Answer(question) => {
                let answer = self.needed("Answer", "the answer is empty")?;
                let said = format!("question {question} is answered");
                (Ask::Answer(verbs::QuestionAnswer { question: *question, answer }), said)
            }
        };
        Ok(Asked { team: Some(self.team.clone()), ask, then: Then::Say(said) })
    }

    fn priority(&self) -> Result<Option<i32>, (usize, String)> {
        let text = self.text("Priority");
        if text.is_empty() {
            return Ok(None);
        }
        let at = self.fields.iter().position(|field| field.label == "Priority").unwrap_or(0);
        text.parse().map(Some).map_err(|_| (at, format!("{text:?} is no whole number")))
    }

    fn task_new(&self) -> Result<TaskNew, (usize, String)> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(TaskNew {
            subject: self.needed("Subject", "a task needs a subject")?,
            description: self.text("Description"),
            files: listed(&self.text("Files")),
            blocked_by: listed(&self.text("Blocked by")),
            assignee: some(self.text("Assigned to")),
            role: some(self.text("Role")),
            priority: self.priority()?,
            ..TaskNew::default()
        })
    }

    /// Only what is different: what somebody else has changed meanwhile stays.
    fn changes(&self, before: &TaskView) -> Result<TaskChanges, (usize, String)> {
        let changed = |new: String, old: &str| Some(new).filter(|new| new != old.trim());
        let files = listed(&self.text("Files"));
        let blocked_by = listed(&self.text("Blocked by"));
        let without = |these: &[String], those: &[String]| -> Vec<String> {
            these.iter().filter(|one| !those.contains(one)).cloned().collect()
        };
        let subject = self.needed("Subject", "a task needs a subject")?;
        Ok(TaskChanges {
            subject: changed(subject, &before.row.subject),
            description: changed(self.text("Description"), &before.description),
            priority: self.priority()?.filter(|new| *new != before.row.priority),
            role: changed(self.text("Role"), before.role.as_deref().unwrap_or_default()),
            files: Some(files).filter(|new| *new != before.files),
            add_blocked_by: without(&blocked_by, &before.row.blocked_by),
            remove_blocked_by: without(&before.row.blocked_by, &blocked_by),
            ..TaskChanges::default()
        })
    }
}

fn listed(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}
