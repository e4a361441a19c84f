//! Work that changes files beyond its own, and what is decided about them.

use shipmate_model::event::{Event, MessageKind, QuestionKind, TaskId, Token};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::name::Actor;
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::size::{check_files, check_texts};
use crate::state::{Question, Stage, State, Task};
use crate::task::finish::decide_return;
use crate::task::{owner, require_claim, retask};

/// The answers a scope request may have.
const GRANT: &str = "grant";
const REFUSE: &str = "refuse";
/// Merged as it is, but for those files.
const WITHOUT: &str = "without";
const OPTIONS: [&str; 3] = [GRANT, REFUSE, WITHOUT];

/// Work that changes files beyond its own waits for the lead's or a person's word. It
/// stays submitted: granted, it is merged as it is.
pub(crate) fn decide_ask_scope(
    state: &State,
    by: &Actor,
    id: TaskId,
    token: Token,
    files: &FileSet,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "ask for scope")?;
    let task = state.require_task(id)?;
    let claim = require_claim(task, token)?;
    if !matches!(claim.stage, Stage::Submitted { .. }) {
        return Err(Refusal::NotSubmitted { task: id });
    }
    if task.scope_question.is_some() {
        return Ok(Vec::new());
    }
    check_files("the request", files)?;
    let who = claim.by.clone();
    let mut text = format!("task {id} ({}) of {who} waits: {reason}", task.spec.subject);
    check_texts(&[("the request", &text, TEXT_BYTES_MAX / 2)])?;
    let claims = owner::of(state, task, &who.address, files);
    let mut to_holder = text.clone();
    if let Some(claims) = &claims {
        text.push_str(&format!("; {claims}"));
        to_holder.push_str(&format!("; {claims}: ask {} with SendMessage", claims.owner.name));
    }
    let question = state.position + 1;
    let told = format!("question {question}: {text}\noptions: {}", OPTIONS.join(", "));
    let told = mail::tell_lead_as(state, &who.address, MessageKind::Question, told);
    let to_holder = mail::control_notice(state, &who, to_holder);
    let merge = claims.as_ref().and_then(|claims| owner::propose(state, &who.address, claims));
    let mut events = vec![Event::QuestionAsked {
        who,
        kind: QuestionKind::Scope,
        text,
        options: OPTIONS.map(str::to_owned).to_vec(),
        task: Some(id),
        files: files.clone(),
        owner: claims.map(|claims| claims.owner.name),
    }];
    events.extend(told);
    events.extend(to_holder);
    mail::reply_to(&mut events, question);
    events.extend(merge);
    Ok(events)
}

/// What the answer to a scope request brings about.
pub(crate) fn answer_scope(
    state: &State,
    id: TaskId,
    question: &Question,
    answer: &str,
) -> Vec<Event> {
    let Some(task) = state.task(id) else { return Vec::new() };
    let waits =
        matches!(task.claim(), Some(claim) if matches!(claim.stage, Stage::Submitted { .. }));
    if !waits {
        return Vec::new();
    }
    if answer == GRANT {
        return vec![Event::TaskScopeGranted { task: id, files: question.files.clone() }];
    }
    // A simple agent hands in again what lies in its tree: those files are not among it.
    let mut events = vec![Event::TaskScopeLeftOut { task: id, files: question.files.clone() }];
    if answer == WITHOUT {
        return events;
    }
    let token = task.claim().expect("it waits").token;
    let reason = format!(
        "refused: {}; leave those files as they are: what you hand in is merged without them",
        question.text
    );
    events.extend(decide_return(state, &Actor::Runtime, id, token, &reason).unwrap_or_default());
    events
}

pub(crate) fn apply_granted(state: &mut State, id: TaskId, files: &FileSet) {
    let with = |own: &FileSet| FileSet::new(own.iter().chain(files.iter()).cloned().collect());
    // Beside its files, not among them: those say in whose scope the task is.
    retask(state, id, |task| {
        task.granted = with(&task.granted);
        take_back(task);
    });
}

/// Files that were to be left out and are its own by now are merged again.
pub(crate) fn take_back(task: &mut Task) {
    let (files, granted) = (&task.spec.files, &task.granted);
    let is_own = |file: &Pattern| {
        files.is_empty() || files.iter().chain(granted.iter()).any(|own| own.contains(file))
    };
    task.left_out = FileSet::new(task.left_out.iter().filter(|f| !is_own(f)).cloned().collect());
}

pub(crate) fn apply_left_out(state: &mut State, id: TaskId, files: &FileSet) {
    let with = |own: &FileSet| FileSet::new(own.iter().chain(files.iter()).cloned().collect());
    retask(state, id, |task| task.left_out = with(&task.left_out));
}
