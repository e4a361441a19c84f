//! Plans and questions: what a teammate asks before it goes on, and the answers.
//!
//! An answer is control: it reaches the life that asked or nobody.

use crate::command::Verdict;
use crate::event::{Event, MessageKind, Mode, PlanId, QuestionId, QuestionKind, Recipient, TaskId};
use crate::files::FileSet;
use crate::limits::{CLOSED_KEPT, OPEN_MAX, SUBJECT_BYTES_MAX, TEXT_BYTES_MAX};
use crate::message;
use crate::name::{Actor, Address};
use crate::refusal::Refusal;
use crate::state::{Decision, Plan, Question, State};
use crate::task::create::check_texts;

/// Work of a teammate in plan mode counts only after its plan was approved.
pub(crate) fn require_approved(state: &State, who: &Address) -> Result<(), Refusal> {
    let teammate = &state.teammates[who];
    if teammate.profile.mode == Mode::Plan && teammate.approved_plan.is_none() {
        return Err(Refusal::PlanNotApproved { who: who.clone() });
    }
    Ok(())
}

pub(crate) fn decide_submit(
    state: &State,
    by: &Actor,
    task: Option<TaskId>,
    body: &str,
) -> Result<Vec<Event>, Refusal> {
    let (who, _) = state.require_teammate(by, "submit a plan")?;
    if body.trim().is_empty() {
        return Err(Refusal::Empty { what: "the plan" });
    }
    check_texts(&[("the plan", body, TEXT_BYTES_MAX)])?;
    if let Some(task) = task {
        state.require_task(task)?;
    }
    let open = state.plans.values().filter(|plan| plan.decision == Decision::Open).count();
    require_room("the queue of plans", open)?;
    let id = state.position + 1;
    let text = format!("{who} asks for approval of plan {id}:\n{body}");
    let mut events = vec![Event::PlanSubmitted { who: who.clone(), task, body: body.to_owned() }];
    let kind = MessageKind::PlanApprovalRequest;
    events.extend(message::tell_lead_as(state, &who.address, kind, text));
    message::reply_to(&mut events, id);
    Ok(events)
}

pub(crate) fn decide_verdict(
    state: &State,
    by: &Actor,
    id: PlanId,
    verdict: &Verdict,
) -> Result<Vec<Event>, Refusal> {
    let plan = state.plans.get(&id).ok_or(Refusal::UnknownPlan { plan: id })?;
    state.require_manager(by, &plan.who.address.team, "decide plans")?;
    if matches!(by, Actor::Teammate(me) if *me == plan.who) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "approve its own plan" });
    }
    if plan.decision == Decision::Withdrawn {
        state.require_current(&plan.who)?;
    }
    if plan.decision != Decision::Open {
        return Err(Refusal::PlanDecided { plan: id });
    }
    state.require_current(&plan.who)?;
    let (event, text) = match verdict {
        Verdict::Approve => (Event::PlanApproved { plan: id }, format!("plan {id} is approved")),
        Verdict::Reject { feedback } => {
            check_texts(&[("the feedback", feedback, TEXT_BYTES_MAX / 2)])?;
            if feedback.trim().is_empty() {
                return Err(Refusal::Empty { what: "the feedback" });
            }
            let feedback = feedback.clone();
            let text = format!("plan {id} is rejected: {feedback}");
            (Event::PlanRejected { plan: id, feedback }, text)
        }
    };
    let mut events = vec![event];
    events.extend(message::control(state, &plan.who, MessageKind::PlanApprovalResponse, text));
    message::reply_to(&mut events, id);
    Ok(events)
}

pub(crate) fn apply_submitted(state: &mut State, id: PlanId, plan: Plan) {
    state.plans.insert(id, plan);
    let closed = |plan: &Plan| plan.decision != Decision::Open;
    forget_oldest(&mut state.plans, closed);
}

pub(crate) fn apply_verdict(state: &mut State, id: PlanId, decision: Decision) {
    let plan = state.plans.get_mut(&id).expect("a decided plan was submitted");
    let (who, approved) = (plan.who.address.clone(), matches!(decision, Decision::Approved { .. }));
    plan.decision = decision;
    state.teammate_mut(&who).approved_plan = approved.then_some(id);
}

pub(crate) fn decide_ask(
    state: &State,
    by: &Actor,
    kind: QuestionKind,
    text: &str,
    options: &[String],
) -> Result<Vec<Event>, Refusal> {
    let (who, _) = state.require_teammate(by, "ask a person")?;
    if text.trim().is_empty() {
        return Err(Refusal::Empty { what: "the question" });
    }
    check_texts(&[("the question", text, TEXT_BYTES_MAX)])?;
    for option in options {
        check_texts(&[("an option", option, SUBJECT_BYTES_MAX)])?;
    }
    if options.len() > 32 {
        let (size, limit) = (options.len(), 32);
        return Err(Refusal::OverLimit { what: "the question", size, limit, unit: "options" });
    }
    let open = state.questions.values().filter(|question| question.is_open()).count();
    require_room("the queue of questions", open)?;
    let id = state.position + 1;
    let mut told = format!("{who} asks (question {id}): {text}");
    if !options.is_empty() {
        told.push_str(&format!("\noptions: {}", options.join(", ")));
    }
    let told = match kind {
        QuestionKind::Permission => {
            message::to_one(state, Recipient::Person, MessageKind::Question, told, None)
        }
        _ => message::tell_lead_as(state, &who.address, MessageKind::Question, told),
    };
    let (who, text, options) = (who.clone(), text.to_owned(), options.to_vec());
    let (task, files) = (None, FileSet::default());
    let mut events = vec![Event::QuestionAsked { who, kind, text, options, task, files }];
    events.extend(told);
    message::reply_to(&mut events, id);
    Ok(events)
}

/// Answers a question: a person, or for anything but a permission the lead.
pub(crate) fn decide_answer(
    state: &State,
    by: &Actor,
    id: QuestionId,
    answer: &str,
) -> Result<Vec<Event>, Refusal> {
    let question = state.questions.get(&id).ok_or(Refusal::UnknownQuestion { question: id })?;
    state.require_manager(by, &question.who.address.team, "answer questions")?;
    // Nor in its next life: a question about work outlives the one that handed it in.
    if matches!(by, Actor::Teammate(me) if me.address == question.who.address) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "answer its own question" });
    }
    if question.kind == QuestionKind::Permission && matches!(by, Actor::Teammate(_)) {
        let what = "answer a permission request; a person may";
        return Err(Refusal::NotTheirs { by: by.clone(), what });
    }
    if question.withdrawn {
        state.require_current(&question.who)?;
    }
    if !question.is_open() {
        return Err(Refusal::QuestionAnswered { question: id });
    }
    if question.task.is_none() {
        state.require_current(&question.who)?;
    }
    check_texts(&[("the answer", answer, TEXT_BYTES_MAX / 2)])?;
    if !question.options.is_empty() && !question.options.iter().any(|option| option == answer) {
        let (answer, options) = (answer.to_owned(), question.options.clone());
        return Err(Refusal::NotAnOption { answer, options });
    }
    let mut events = vec![Event::QuestionAnswered { question: id, answer: answer.to_owned() }];
    let text = format!("answer to question {id}: {answer}");
    events.extend(message::control(state, &question.who, MessageKind::Answer, text));
    message::reply_to(&mut events, id);
    if let Some(task) = question.task {
        events.extend(crate::task::finish::answer_scope(state, task, question, answer));
    }
    Ok(events)
}

/// Takes a question back. One about a submission is the runtime's and stays.
pub(crate) fn decide_withdraw(
    state: &State,
    by: &Actor,
    id: QuestionId,
    reason: &str,
) -> Result<Vec<Event>, Refusal> {
    let question = state.questions.get(&id).ok_or(Refusal::UnknownQuestion { question: id })?;
    let (who, _) = state.require_teammate(by, "withdraw a question")?;
    if question.who != *who || question.task.is_some() {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "withdraw this question" });
    }
    if !question.is_open() {
        return Err(Refusal::QuestionAnswered { question: id });
    }
    check_texts(&[("the reason", reason, SUBJECT_BYTES_MAX)])?;
    Ok(vec![Event::QuestionWithdrawn { question: id, reason: reason.to_owned() }])
}

pub(crate) fn apply_withdrawn(state: &mut State, id: QuestionId) {
    if let Some(question) = state.questions.get_mut(&id) {
        question.withdrawn = true;
    }
}

pub(crate) fn apply_asked(state: &mut State, id: QuestionId, question: Question) {
    if let Some(task) = question.task {
        state.task_mut(task).scope_question = Some(id);
    }
    state.questions.insert(id, question);
    forget_oldest(&mut state.questions, |question| !question.is_open());
}

pub(crate) fn apply_answered(state: &mut State, id: QuestionId, by: &Actor, answer: &str) {
    let question = state.questions.get_mut(&id).expect("an answered question was asked");
    question.answer = Some((by.clone(), answer.to_owned()));
    if let Some(task) = question.task {
        let waits = &mut state.task_mut(task).scope_question;
        if *waits == Some(id) {
            *waits = None;
        }
    }
}

fn require_room(what: &'static str, open: usize) -> Result<(), Refusal> {
    if open >= OPEN_MAX {
        return Err(Refusal::OverLimit { what, size: open + 1, limit: OPEN_MAX, unit: "entries" });
    }
    Ok(())
}

/// Closed entries beyond the last few are only in the log.
pub(crate) fn forget_oldest<T>(
    map: &mut std::collections::BTreeMap<u64, T>,
    closed: impl Fn(&T) -> bool,
) {
    if map.len() <= CLOSED_KEPT {
        return;
    }
    let ids: Vec<u64> = map.iter().filter(|(_, item)| closed(item)).map(|(id, _)| *id).collect();
    for id in ids.iter().take(ids.len().saturating_sub(CLOSED_KEPT)) {
        map.remove(id);
    }
}
