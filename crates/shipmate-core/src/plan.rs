//! Plans and questions: what a teammate asks before it goes on, and the answers.
//!
//! An answer is control: it reaches the life that asked or nobody. The plan that a lead makes for
//! its team is the exception: it is data, and outlives the life that handed it in.

pub(crate) mod check;
pub(crate) mod done;

use shipmate_model::command::Verdict;
use shipmate_model::event::{
    Event, MessageKind, Mode, PlanId, QuestionId, QuestionKind, Recipient, TaskId,
};
use shipmate_model::files::FileSet;
use shipmate_model::limits::{OPEN_MAX, SUBJECT_BYTES_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::planned::{Draft, PlannedWork, approval_words};
use shipmate_model::refusal::Refusal;

use crate::kept::forget_oldest;
use crate::mail;
use crate::size::check_texts;
use crate::state::{Decision, Plan, Question, State, Teammate, answered};
use crate::task::create;
use crate::teammate;

pub(crate) fn decide_submit(
    state: &State,
    by: &Actor,
    task: Option<TaskId>,
    body: &str,
    work: Option<&Draft>,
) -> Result<Vec<Event>, Refusal> {
    let (who, mate) = state.require_teammate(by, "submit a plan")?;
    if work.is_some() && !mate.is_lead() {
        let what = "plan tasks and teammates: only the lead may; hand in the plan's text alone";
        return Err(Refusal::NotTheirs { by: by.clone(), what });
    }
    if body.trim().is_empty() {
        return Err(Refusal::Empty { what: "the plan" });
    }
    check_texts(&[("the plan", body, TEXT_BYTES_MAX)])?;
    if let Some(task) = task {
        state.require_task(task)?;
    }
    // What it has in hand is what it plans, unless it says otherwise.
    let in_hand = || mate.holds.first().copied().filter(|_| mate.holds.len() == 1);
    let task = task.or_else(|| in_hand().filter(|_| work.is_none()));
    let open = state.plans.values().filter(|plan| plan.decision == Decision::Open).count();
    require_room("the queue of plans", open)?;
    let work = work.map(|draft| check::check(state, &who.address.team, draft)).transpose();
    let work = work.map_err(|problems| Refusal::BadPlan { problems })?.map(Box::new);
    let id = state.position + 1;
    let mut text = format!("{who} asks for approval of plan {id}:\n{body}");
    if let Some(work) = &work {
        let (tasks, mates) = (work.tasks.len(), work.teammates.len());
        text.push_str(&format!(
            "\n\ntasks: {tasks}, teammates: {mates}; `shipmate plan list` shows them"
        ));
    }
    if let Some(criteria) = criteria(state, &who.address) {
        text.push_str(&format!("\n\nWhat it has to meet: {criteria}"));
    }
    let (who, body) = (who.clone(), body.to_owned());
    let told = mail::tell_lead_as(state, &who.address, MessageKind::PlanApprovalRequest, text);
    let mut events = vec![Event::PlanSubmitted { who, task, body, work }];
    events.extend(told);
    mail::reply_to(&mut events, id);
    Ok(events)
}

/// What the playbook asks of the plans of this one's role.
fn criteria<'a>(state: &'a State, who: &Address) -> Option<&'a str> {
    let playbook = state.teams.get(&who.team)?.setup.playbook.as_ref()?;
    let role = playbook.role(state.teammates.get(who)?.profile.role.as_ref())?;
    Some(role.criteria.as_str()).filter(|criteria| !criteria.is_empty())
}

pub(crate) fn decide_verdict(
    state: &State,
    by: &Actor,
    id: PlanId,
    verdict: &Verdict,
) -> Result<Vec<Event>, Refusal> {
    let plan = state.plans.get(&id).ok_or(Refusal::UnknownPlan { plan: id })?;
    state.require_manager(by, &plan.who.address.team, "decide plans")?;
    if matches!(by, Actor::Teammate(me) if me.address == plan.who.address) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "approve its own plan" });
    }
    match (&plan.decision, &plan.work) {
        (Decision::Withdrawn, Some(_)) => return Err(Refusal::PlanReplaced { plan: id }),
        (Decision::Open | Decision::Withdrawn, None) => drop(state.require_current(&plan.who)?),
        _ => {}
    }
    if plan.decision != Decision::Open {
        return Err(Refusal::PlanDecided { plan: id });
    }
    let kind = MessageKind::PlanApprovalResponse;
    let mut events = match verdict {
        Verdict::Approve => {
            let mut events = vec![Event::PlanApproved { plan: id }];
            if let Some(work) = &plan.work {
                events.extend(begin(state, by, &plan.who.address, work)?);
            }
            // To the life that asked: who is not there any more needs no word to begin with.
            events.extend(mail::control(
                state,
                &plan.who,
                kind,
                approval_words(id, plan.work.is_some()),
            ));
            events
        }
        Verdict::Reject { feedback, unworkable } => {
            check_texts(&[("the feedback", feedback, TEXT_BYTES_MAX / 2)])?;
            if feedback.trim().is_empty() {
                return Err(Refusal::Empty { what: "the feedback" });
            }
            let text = format!("plan {id} is rejected: {feedback}");
            let told = match plan.work {
                None => mail::control(state, &plan.who, kind, text),
                Some(_) => mail::mail(state, &plan.who.address, kind, text),
            };
            let (feedback, unworkable) = (feedback.clone(), *unworkable);
            let rejected = Event::PlanRejected { plan: id, feedback, unworkable };
            [rejected].into_iter().chain(told).collect()
        }
    };
    mail::reply_to(&mut events, id);
    Ok(events)
}

/// The teammates and tasks of an approved plan, all in one step: a crash leaves all or nothing.
fn begin(
    state: &State,
    by: &Actor,
    lead: &Address,
    work: &PlannedWork,
) -> Result<Vec<Event>, Refusal> {
    let team = &lead.team;
    state.require_active_team(team)?;
    let mut events = Vec::new();
    let plans = |mate: &Teammate| mate.is_lead() && mate.profile.mode == Mode::Plan;
    if state.member(lead).is_some_and(plans) {
        events.push(Event::TeammateModeChanged { who: lead.clone(), mode: Mode::Delegate });
    }
    for mate in &work.teammates {
        let who = Address { team: team.clone(), name: mate.name.clone() };
        events.extend(teammate::decide_add(state, by, &who, &mate.profile)?);
    }
    let joining: Vec<&Name> = work.teammates.iter().map(|mate| &mate.name).collect();
    events.extend(create::created(state, team, &work.new_tasks(), &joining)?);
    Ok(events)
}

pub(crate) fn apply_submitted(state: &mut State, id: PlanId, plan: Plan) {
    // A lead has one plan: the last.
    let replaces = |other: &Plan| {
        let own = other.who.address == plan.who.address;
        own && plan.work.is_some() && other.work.is_some() && other.decision == Decision::Open
    };
    for other in state.plans.values_mut().filter(|other| replaces(other)) {
        other.decision = Decision::Withdrawn;
    }
    state.plans.insert(id, plan);
    let closed = |plan: &Plan| plan.decision != Decision::Open;
    forget_oldest(&mut state.plans, closed);
}

pub(crate) fn apply_verdict(state: &mut State, id: PlanId, decision: Decision) {
    let plan = state.plans.get_mut(&id).expect("a decided plan was submitted");
    let (who, approved) = (plan.who.address.clone(), matches!(decision, Decision::Approved { .. }));
    plan.decision = decision;
    let work = plan.work.is_some();
    if approved && work {
        let text = plan.body.clone();
        let team = state.team_mut(&who.team);
        (team.plan, team.goal) = (text, None);
    }
    let mate = state.teammate_mut(&who);
    // A lead's plan outlives it: whoever has that name now may be somebody else.
    if !work || mate.is_lead() {
        mate.approved_plan = approved.then_some(id);
    }
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
            mail::to_one(state, Recipient::Person, MessageKind::Question, told, None)
        }
        _ => mail::tell_lead_as(state, &who.address, MessageKind::Question, told),
    };
    let (who, text, options) = (who.clone(), text.to_owned(), options.to_vec());
    let (task, files, owner) = (None, FileSet::default(), None);
    let mut events = vec![Event::QuestionAsked { who, kind, text, options, task, files, owner }];
    events.extend(told);
    mail::reply_to(&mut events, id);
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
    let escalated = answered(state, id);
    if question.task.is_none() && escalated.is_none() {
        state.require_current(&question.who)?;
    }
    check_texts(&[("the answer", answer, TEXT_BYTES_MAX / 2)])?;
    if !question.options.is_empty() && !question.options.iter().any(|option| option == answer) {
        let (answer, options) = (answer.to_owned(), question.options.clone());
        return Err(Refusal::NotAnOption { answer, options });
    }
    let mut events = vec![Event::QuestionAnswered { question: id, answer: answer.to_owned() }];
    let text = format!("answer to question {id}: {answer}");
    // Trouble outlives the life that raised it.
    let told = match escalated {
        Some(_) => mail::mail(state, &question.who.address, MessageKind::Answer, text),
        None => mail::control(state, &question.who, MessageKind::Answer, text),
    };
    events.extend(told);
    mail::reply_to(&mut events, id);
    let resolved = escalated.filter(|(_, raised)| raised.open);
    events.extend(resolved.map(|(escalation, _)| Event::EscalationResolved { escalation }));
    if let Some(task) = question.task {
        events.extend(crate::task::scope::answer_scope(state, task, question, answer));
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
    let mut events = vec![Event::QuestionWithdrawn { question: id, reason: reason.to_owned() }];
    let escalated = answered(state, id).filter(|(_, raised)| raised.open);
    events.extend(escalated.map(|(escalation, _)| Event::EscalationResolved { escalation }));
    Ok(events)
}

pub(crate) fn apply_plan_withdrawn(state: &mut State, id: PlanId) {
    if let Some(plan) = state.plans.get_mut(&id) {
        plan.decision = Decision::Withdrawn;
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
        state.task_mut(task).scope_question.take_if(|waits| *waits == id);
    }
}

fn require_room(what: &'static str, open: usize) -> Result<(), Refusal> {
    if open >= OPEN_MAX {
        return Err(Refusal::OverLimit { what, size: open + 1, limit: OPEN_MAX, unit: "entries" });
    }
    Ok(())
}
