//! Questions and plans that nobody waits for any more.
//!
//! Whoever asked is gone, or what it asked about is over: an answer would reach nobody, and
//! everybody who follows the log has to learn that no answer is needed. The state is withdrawn by
//! the event that ends the life as well, because logs of earlier releases say no more than that.

use shipmate_model::event::{Event, PlanId, QuestionId, TaskId};
use shipmate_model::name::{Name, TeammateRef};

use crate::state::{Decision, Plan, Question, State};

/// The withdrawals that these events bring about.
pub(crate) fn brought_about(state: &State, events: &[Event]) -> Vec<Event> {
    let mut found = Found { state, events, withdrawn: Vec::new() };
    for event in events {
        match event {
            Event::TeammateStopped { who, .. } => found.life_ended(who, "whoever asked stopped"),
            Event::TeammateDisappeared { who, .. } => {
                found.life_ended(who, "whoever asked disappeared");
            }
            Event::TeammateRemoved { who } => {
                let raised = state.escalations.values().filter(|raised| raised.from == *who);
                for question in raised.filter_map(|raised| raised.question) {
                    found.question(question, "whoever asked was removed");
                }
            }
            Event::TeamDeleted { team } => found.team_ended(team),
            Event::TaskClaimed { task, .. } => found.attempt_ended(*task, "somebody else took it"),
            Event::TaskReturned { task, .. } => found.attempt_ended(*task, "it was given back"),
            Event::TaskReleased { task, .. } => found.attempt_ended(*task, "it is free again"),
            Event::TaskFailed { task, .. } => found.attempt_ended(*task, "it failed"),
            Event::TaskDeleted { task } => found.attempt_ended(*task, "it was deleted"),
            Event::TaskCompleted { task, .. } => found.attempt_ended(*task, "it is completed"),
            _ => {}
        }
    }
    found.withdrawn
}

/// Ends with the life that asked: a submission outlives it, and so does trouble that was raised.
pub(crate) fn ends_with_life(state: &State, id: QuestionId, question: &Question) -> bool {
    let is_raised = || state.escalations.values().any(|raised| raised.question == Some(id));
    question.is_open() && question.task.is_none() && !is_raised()
}

/// What a lead planned for its team needs nobody any more but whoever decides it.
pub(crate) fn plan_ends_with_life(plan: &Plan) -> bool {
    plan.decision == Decision::Open && plan.work.is_none()
}

struct Found<'a> {
    state: &'a State,
    events: &'a [Event],
    withdrawn: Vec<Event>,
}

impl Found<'_> {
    fn life_ended(&mut self, who: &TeammateRef, reason: &str) {
        let state = self.state;
        for (id, question) in &state.questions {
            if question.who == *who && ends_with_life(state, *id, question) {
                self.question(*id, reason);
            }
        }
        for (id, plan) in &state.plans {
            if plan.who == *who && plan_ends_with_life(plan) {
                self.plan(*id, reason);
            }
        }
    }

    fn team_ended(&mut self, team: &Name) {
        let (state, reason) = (self.state, "its team was deleted");
        let questions = state.questions.iter().filter(|(_, asked)| asked.who.address.team == *team);
        for (id, _) in questions {
            self.question(*id, reason);
        }
        let plans = state.plans.iter().filter(|(_, plan)| plan.who.address.team == *team);
        for (id, _) in plans.filter(|(_, plan)| plan.decision == Decision::Open) {
            self.plan(*id, reason);
        }
    }

    /// Nothing that was handed in waits for a word about its files any more.
    fn attempt_ended(&mut self, id: TaskId, reason: &str) {
        let Some(task) = self.state.task(id) else { return };
        let Some(question) = task.scope_question else { return };
        self.question(question, &format!("task {id} does not wait for it: {reason}"));
    }

    fn question(&mut self, id: QuestionId, reason: &str) {
        let is_closed = |event: &Event| match event {
            Event::QuestionAnswered { question, .. } => *question == id,
            Event::QuestionWithdrawn { question, .. } => *question == id,
            _ => false,
        };
        let is_open = self.state.questions.get(&id).is_some_and(Question::is_open);
        if is_open && !self.events.iter().chain(&self.withdrawn).any(is_closed) {
            let reason = reason.to_owned();
            self.withdrawn.push(Event::QuestionWithdrawn { question: id, reason });
        }
    }

    fn plan(&mut self, id: PlanId, reason: &str) {
        let is_closed = |event: &Event| match event {
            Event::PlanApproved { plan } | Event::PlanRejected { plan, .. } => *plan == id,
            Event::PlanWithdrawn { plan, .. } => *plan == id,
            _ => false,
        };
        if !self.events.iter().chain(&self.withdrawn).any(is_closed) {
            let reason = reason.to_owned();
            self.withdrawn.push(Event::PlanWithdrawn { plan: id, reason });
        }
    }
}

pub(crate) fn apply_withdrawn(state: &mut State, id: QuestionId) {
    let Some(question) = state.questions.get_mut(&id) else { return };
    question.withdrawn = true;
    if let Some(task) = question.task {
        state.task_mut(task).scope_question.take_if(|waits| *waits == id);
    }
}
