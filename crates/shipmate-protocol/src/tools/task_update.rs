//! `TaskUpdate`: one call, several parts, each carried out where it can succeed.
//!
//! What shapes the work (files, role, blockers) is changed while a task is pending: before it is
//! taken, after it is given back. Words are changed while it is held. The first part that is
//! refused ends the call, and the answer says what was done, refused and not tried.

use serde_json::{Map, Value, json};
use shipmate_model::handoff::Handoff;

use crate::Code;
use crate::answers::Answer;
use crate::handoff;
use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::handed_over::from_others;
use crate::tools::outcome::{Did, Parts, Reply, refused};
use crate::tools::task_create::{block, last, metadata, priority};
use crate::tools::task_read::{reference, show};
use crate::tools::words::{self, Status};
use crate::tools::{Board, Seat, SeatKind, Tool, schema};
use crate::verbs;
use crate::verbs::{Ask, TaskChanges};
use crate::view::{TaskStatus, TaskView};

pub(crate) fn tool() -> Tool {
    let list =
        |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "TaskUpdate",
        title: "Take, finish or change a task",
        description: "Takes a task (status in_progress), hands it in (completed, with result), gives it \
             back (pending) or gives it up (failed), or changes it. Work that was handed in comes back \
             where its gate is red, with the reason: go on with the next task.",
        input_schema: schema(
            json!({
                "taskId": { "type": "string" },
                "task_id": text("The same"),
                "plan_id": text("The plan of an alias such as T3"),
                "status": { "type": "string",
                    "description": "pending, in_progress, completed, failed or deleted" },
                "owner": text("Assigns it; nobody frees it"),
                "assignee": text("The same as owner"),
                "subject": { "type": "string" },
                "description": { "type": "string" },
                "activeForm": text("A new text to show while it is worked on"),
                "addBlocks": list("Tasks that wait for this one from now on"),
                "addBlockedBy": { "type": "array", "items": { "type": "string" } },
                "removeBlockedBy": { "type": "array", "items": { "type": "string" } },
                "files": { "type": "array", "items": { "type": "string" } },
                "role": text("any: for everybody"),
                "priority": { "type": "integer", "description": "Lower is sooner; 100 is usual" },
                "metadata": { "type": "object", "description": "Keys to set; null deletes a key" },
                "commit": text("What is handed in"),
                "result": text("What came out, for those who go on from it"),
                "handoff": { "type": "object", "description": "With completed: summary, and lists: done, left, \
                     commands ({command, exit, result}), surprises, interfaces (changed); all optional" },
                "reason": text("Why failed or pending"),
            }),
            &[],
        ),
        destructive: true,
        ..Tool::default()
    }
}

#[derive(Debug, PartialEq)]
enum Owner {
    Me,
    Other(String),
    Nobody,
}

#[derive(Debug)]
struct Update {
    task: String,
    words: TaskChanges,
    shape: TaskChanges,
    blocks: Vec<String>,
    owner: Option<Owner>,
    status: Option<Status>,
    commit: Option<String>,
    result: Option<String>,
    handoff: Option<Box<Handoff>>,
    reason: Option<String>,
}

fn read(seat: &Seat, arguments: &mut Arguments) -> Result<Update, Bad> {
    let task = reference(arguments)?;
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let tasks = |list: Option<Vec<String>>| -> Vec<String> {
        list.unwrap_or_default().iter().map(|text| words::task(text)).collect()
    };
    let words = TaskChanges {
        subject: filled(arguments.text(&["subject"])?),
        description: filled(arguments.text(&["description"])?),
        active_form: filled(arguments.text(&["active_form"])?),
        priority: priority(arguments)?,
        duration_ms: arguments.whole(&["duration_ms"])?,
        metadata: metadata(arguments)?,
        ..TaskChanges::default()
    };
    let role = arguments.word(&["role"])?;
    let shape = TaskChanges {
        // The board's word for any role is the empty one.
        role: role.map(|role| if role == "any" { String::new() } else { role }),
        files: arguments.words(&["files"])?.filter(|files| !files.is_empty()),
        add_blocked_by: tasks(arguments.words(&["add_blocked_by", "blocked_by"])?),
        remove_blocked_by: tasks(arguments.words(&["remove_blocked_by"])?),
        ..TaskChanges::default()
    };
    let status = arguments.word(&["status"])?;
    let status = status.map(|word| words::status("status", &word)).transpose()?;
    let commit = arguments.word(&["commit", "commit_hash"])?;
    let result = filled(arguments.text(&["result", "summary", "output"])?);
    let reason = filled(arguments.text(&["reason", "feedback"])?);
    if let Some(commit) = commit.as_deref().filter(|_| status != Some(Status::Completed)) {
        let expected = "status completed beside it: a commit is named when the work is handed in";
        return Err(Bad::new("commit", &Value::from(commit), expected));
    }
    if let (Some(result), None | Some(Status::InProgress | Status::Deleted)) = (&result, status) {
        let expected = "status completed beside it: a result comes with the finished work";
        return Err(Bad::new("result", &Value::from(result.as_str()), expected));
    }
    Ok(Update {
        task,
        words,
        shape,
        blocks: tasks(arguments.words(&["add_blocks", "blocks"])?),
        owner: arguments.word(&["owner", "assignee"])?.map(|who| owner(seat, &who)),
        status,
        commit,
        result,
        handoff: None,
        reason,
    })
}

fn owner(seat: &Seat, who: &str) -> Owner {
    match who {
        "nobody" | "none" | "unassigned" | "null" => Owner::Nobody,
        "me" | "self" => Owner::Me,
        who if words::is_me(seat, who) => Owner::Me,
        "lead" | "team-lead" | "main" if seat.kind == SeatKind::Lead => Owner::Me,
        who => Owner::Other(last(&words::teammate(who))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Words,
    Shape,
    /// Words and shape in one, where nothing comes between them.
    Both,
    /// One of the tasks that are to wait for this one.
    Block(usize),
    Owner,
    Status,
}

impl Update {
    fn steps(&self) -> Vec<Step> {
        use Step::{Both, Owner, Shape, Status as SetStatus, Words};
        let order: &[Step] = match self.status {
            None => &[Both, Owner],
            Some(Status::InProgress) => &[Shape, Owner, SetStatus, Words],
            // To free it for anybody is more than to give it back, and may be refused.
            Some(Status::Pending | Status::Blocked) if self.owner == Some(self::Owner::Nobody) => {
                &[Words, SetStatus, Owner, Shape]
            }
            Some(Status::Pending | Status::Blocked) => &[Words, Owner, SetStatus, Shape],
            Some(Status::Completed | Status::Failed | Status::Deleted) => &[Both, Owner, SetStatus],
        };
        let blocks = (0..self.blocks.len()).map(Step::Block);
        let ends =
            matches!(self.status, Some(Status::Completed | Status::Failed | Status::Deleted));
        let steps: Vec<Step> = match ends {
            true => blocks.chain(order.iter().copied()).collect(),
            false => order.iter().copied().chain(blocks).collect(),
        };
        steps.into_iter().filter(|step| !self.parts(*step).is_empty()).collect()
    }

    /// What a step would change, by the names of the fields.
    fn parts(&self, step: Step) -> String {
        match step {
            Step::Words => changed(&self.words).join(", "),
            Step::Shape => changed(&self.shape).join(", "),
            Step::Both => [changed(&self.words), changed(&self.shape)].concat().join(", "),
            Step::Block(index) => format!("addBlocks {}", self.blocks[index]),
            Step::Owner if self.assigns() => "owner".to_owned(),
            Step::Owner => String::new(),
            // Taking a task is its status; it says whose it is.
            Step::Status if self.owner.is_some() && !self.assigns() => "owner, status".to_owned(),
            Step::Status => "status".to_owned(),
        }
    }

    /// Whether the owner is a part of its own.
    fn assigns(&self) -> bool {
        match (&self.owner, self.status) {
            (None, _) => false,
            (Some(Owner::Me), status) => matches!(status, None | Some(Status::Pending)),
            _ => true,
        }
    }

    fn both(&self) -> TaskChanges {
        let (words, shape) = (self.words.clone(), self.shape.clone());
        TaskChanges {
            role: shape.role,
            files: shape.files,
            add_blocked_by: shape.add_blocked_by,
            remove_blocked_by: shape.remove_blocked_by,
            ..words
        }
    }
}

fn changed(changes: &TaskChanges) -> Vec<&'static str> {
    let fields = [
        ("subject", changes.subject.is_some()),
        ("description", changes.description.is_some()),
        ("activeForm", changes.active_form.is_some()),
        ("priority", changes.priority.is_some()),
        ("duration_ms", changes.duration_ms.is_some()),
        ("metadata", !changes.metadata.is_empty()),
        ("role", changes.role.is_some()),
        ("files", changes.files.is_some()),
        ("addBlockedBy", !changes.add_blocked_by.is_empty()),
        ("removeBlockedBy", !changes.remove_blocked_by.is_empty()),
    ];
    fields.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
}

pub(crate) async fn run(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let handed = arguments.value(&["handoff"])?;
    let mut update = read(seat, arguments)?;
    if let Some((field, value)) = handed {
        if update.status != Some(Status::Completed) {
            let expected = "status completed beside it: a handoff comes with the finished work";
            return Err(Bad::new(&field, &value, expected).into());
        }
        update.handoff = Some(Box::new(handoff::read(value)?));
    }
    let steps = update.steps();
    if steps.is_empty() {
        let expected = "something to change: status, owner, subject, addBlockedBy, …";
        return Err(Bad::missing("status", expected).into());
    }
    // Boards between this and the coordinator know tasks by their number.
    if !update.task.bytes().all(|b| b.is_ascii_digit()) {
        update.task = show(board, &update.task).await?.row.id.to_string();
    }
    let mut parts = Parts::default();
    for step in steps {
        let names = update.parts(step);
        if parts.is_refused() {
            parts.skip(&names);
            continue;
        }
        let how = carry_out(board, seat, &update, step).await;
        parts.note(&names, how);
    }
    let (mut fields, mut told) = (Map::new(), String::new());
    fields.insert("taskId".to_owned(), json!(update.task));
    if let Ok(view) = show(board, &update.task).await {
        if update.status == Some(Status::Completed) && parts.is_changed() && !parts.is_refused() {
            parts.tell(&verdict(&view));
        }
        if update.status == Some(Status::InProgress) && parts.is_changed() && !parts.is_refused() {
            told = from_others(&view);
        }
        fields.insert("task".to_owned(), json!(view));
    }
    let ended = update.status == Some(Status::Completed) && !parts.is_refused();
    let outcome = parts.outcome(&format!("task #{}", update.task), fields);
    let outcome = if told.is_empty() { outcome } else { outcome.and(&told) };
    Ok(match ended && seat.kind == SeatKind::Teammate {
        true => outcome.and("Call TaskList now to find your next task."),
        false => outcome,
    })
}

/// What handing in came to.
fn verdict(view: &TaskView) -> String {
    match view.row.status {
        TaskStatus::Completed => "It is completed.".to_owned(),
        _ => {
            "It is completed when its gate is green; if not, it comes back to you with the reason."
                .to_owned()
        }
    }
}

async fn carry_out(
    board: &impl Board,
    seat: &Seat,
    update: &Update,
    step: Step,
) -> Result<Did, Refused> {
    let task = update.task.clone();
    let changes = match step {
        Step::Words => update.words.clone(),
        Step::Shape => update.shape.clone(),
        Step::Both => update.both(),
        Step::Block(index) => {
            return block(board, &task, &update.blocks[index]).await.map(|()| Did::change(""));
        }
        Step::Owner => return assign(board, seat, update).await,
        Step::Status => return set_status(board, seat, update).await,
    };
    change(board, Ask::TaskUpdate(verbs::TaskUpdate { task, changes }), "").await
}

/// Asks for a change; what it did in words, unless all was so already.
async fn change(board: &impl Board, ask: Ask, words: &str) -> Result<Did, Refused> {
    Ok(match board.ask(ask).await? {
        Answer::Unchanged => Did::Nothing("it was so already".to_owned()),
        _ => Did::change(words),
    })
}

async fn assign(board: &impl Board, seat: &Seat, update: &Update) -> Result<Did, Refused> {
    let to = match &update.owner {
        Some(Owner::Other(name)) => Some(name.clone()),
        Some(Owner::Me) if update.status.is_none() => return claim(board, &update.task).await,
        Some(Owner::Me) => Some(seat.name.clone()),
        Some(Owner::Nobody) | None => None,
    };
    let words = match &to {
        Some(name) => format!("assigned to {name}, who takes it up when free"),
        None => "anybody may take it".to_owned(),
    };
    change(board, Ask::TaskAssign(verbs::TaskAssign { task: update.task.clone(), to }), &words)
        .await
}

async fn claim(board: &impl Board, task: &str) -> Result<Did, Refused> {
    let claim = verbs::TaskClaim { task: task.to_owned(), lease_ms: None };
    Ok(match board.ask(claim).await? {
        Some(claimed) => Did::Change(format!("it is yours (claim {})", claimed.token)),
        None => Did::Nothing("it is yours already".to_owned()),
    })
}

async fn set_status(board: &impl Board, seat: &Seat, update: &Update) -> Result<Did, Refused> {
    let Some(status) = update.status else { return Ok(Did::Nothing(String::new())) };
    let task = update.task.clone();
    match (status, &update.owner) {
        (Status::Deleted, _) => {
            change(board, Ask::TaskDelete(verbs::TaskDelete { task }), "deleted").await
        }
        (Status::InProgress, Some(Owner::Other(name))) => started_by(board, update, name).await,
        (Status::InProgress, _) => claim(board, &task).await,
        (Status::Completed, _) => finish(board, seat, update).await,
        (Status::Failed, _) => {
            let view = show(board, &task).await?;
            let Some(token) = view.token else { return Err(not_held(&view)) };
            let reason = update.reason.clone().or_else(|| update.result.clone());
            let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
            let told = "given up; it is free for another attempt unless it has no retries left";
            change(board, Ask::TaskFail(verbs::TaskFail { task, token, reason }), told).await
        }
        (Status::Pending | Status::Blocked, _) => give_back(board, seat, update).await,
    }
}

/// Nobody starts work for somebody else; that it is started already is fine.
async fn started_by(board: &impl Board, update: &Update, name: &str) -> Result<Did, Refused> {
    let view = show(board, &update.task).await?;
    let holder = view.row.owner.as_deref().map(words::teammate).map(|who| last(&who));
    if view.row.status == TaskStatus::InProgress && holder.as_deref() == Some(name) {
        return Ok(Did::Nothing(format!("{name} works on it")));
    }
    let message = format!("{name} has not begun on task {}: it takes it up itself", view.row.id);
    Err(refused(Code::NotTheirs, message, "leave out the status; the owner is enough"))
}

fn not_held(view: &TaskView) -> Refused {
    let message = format!("task {} is {}, not in progress", view.row.id, view.row.status);
    refused(Code::NotInProgress, message, "take it first: TaskUpdate with status in_progress")
}

/// Hands the work in, or for whoever may decides that it is done.
async fn finish(board: &impl Board, seat: &Seat, update: &Update) -> Result<Did, Refused> {
    let task = update.task.clone();
    let view = show(board, &task).await?;
    if view.row.status == TaskStatus::Completed {
        return Ok(Did::Nothing("it was completed already".to_owned()));
    }
    let mine = view.row.owner.as_deref().is_some_and(|who| words::is_me(seat, who));
    let commit = update.commit.clone();
    let result = update.result.clone().or_else(|| update.reason.clone()).unwrap_or_default();
    let ask = match view.token.filter(|_| mine) {
        Some(token) => {
            let handoff = update.handoff.clone();
            Ask::TaskSubmit(verbs::TaskSubmit { task, token, commit, result, handoff })
        }
        None if update.handoff.is_some() => {
            let message = format!(
                "task {} is not yours: a handoff comes from whoever did the work",
                view.row.id
            );
            return Err(refused(Code::NotTheirs, message, "leave it out, or add a note (Note)"));
        }
        None => Ask::TaskComplete(verbs::TaskComplete { task, token: None, commit, result }),
    };
    change(board, ask, "handed in").await.map_err(|refused| match refused.code {
        Code::NotInProgress => Refused { remedy: not_held(&view).remedy, ..refused },
        _ => refused,
    })
}

/// Pending again: given back, or tried anew. Blocked needs something that blocks.
async fn give_back(board: &impl Board, seat: &Seat, update: &Update) -> Result<Did, Refused> {
    let task = update.task.clone();
    let view = show(board, &task).await?;
    let blocked = update.status == Some(Status::Blocked);
    let waits = !update.shape.add_blocked_by.is_empty() || view.row.blocked;
    if blocked && !waits {
        let message = format!("nothing blocks task {}", view.row.id);
        let remedy = "name what it waits for in addBlockedBy; or give it back with status pending \
                      and tell the lead with SendMessage";
        return Err(refused(Code::NothingBlocks, message, remedy));
    }
    match view.row.status {
        TaskStatus::Pending if blocked => {
            Ok(Did::Nothing("it is pending until nothing blocks it".into()))
        }
        TaskStatus::Pending => Ok(Did::Nothing("it is pending".to_owned())),
        TaskStatus::Failed => {
            change(board, Ask::TaskRetry(verbs::TaskRetry { task }), "to be tried again").await
        }
        _ => {
            let mine = view.row.owner.as_deref().is_some_and(|who| words::is_me(seat, who));
            let token = view.token.filter(|_| mine);
            let reason = update.reason.clone().or_else(|| update.result.clone());
            let reason = reason.unwrap_or_else(|| "given back".to_owned());
            let ask = Ask::TaskRelease(verbs::TaskRelease { task, token, reason });
            change(board, ask, "given back to the board").await
        }
    }
}

/// What a status alone does to a task: for lists that carry one.
pub(crate) async fn set(
    board: &impl Board,
    seat: &Seat,
    task: u32,
    status: Status,
) -> Result<String, Refused> {
    let update = Update {
        task: task.to_string(),
        words: TaskChanges::default(),
        shape: TaskChanges::default(),
        blocks: Vec::new(),
        owner: None,
        status: Some(status),
        commit: None,
        result: None,
        handoff: None,
        reason: None,
    };
    set_status(board, seat, &update).await.map(Did::words)
}
