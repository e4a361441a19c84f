//! Messages, plans and questions.

use shipmate_core::State;
use shipmate_model::command::{To, Verdict};
use shipmate_model::event::MessageKind;
use shipmate_model::{Act, Actor};
use shipmate_playbook::handoff;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{
    InboxPeek, InboxRead, InboxTake, MessageAcknowledge, MessageInject, PlanApprove, PlanReject,
    PlanSubmit, Plans, Question, QuestionAnswer, QuestionWithdraw, Questions, Send,
};
use shipmate_protocol::view::{InboxMessage, PlanView, QuestionView};

use super::{Beside, Decides, Looks, task, work};
use crate::hooks::{HookEvent, Payload};
use crate::scene::{Scene, name};
use crate::views;

impl Decides for Send {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::SendMessage {
            to: recipient(scene, &self.to)?,
            kind: kind(scene, self.kind.as_deref(), &self.body)?,
            body: self.body.clone(),
            reply_to: self.reply_to,
        })
    }
}

/// A handoff is held against its kind where the team's playbook has kinds.
fn kind(scene: &Scene<'_>, kind: Option<&str>, body: &str) -> Result<MessageKind, Refused> {
    let kind = match kind {
        None | Some("message" | "broadcast") => return Ok(MessageKind::Message),
        Some(kind) => name(kind)?,
    };
    let team = scene.state.teams.get(scene.team);
    if let Some(playbook) = team.and_then(|team| team.setup.playbook.as_deref()) {
        handoff::check(playbook, &kind, body)?;
    }
    Ok(MessageKind::Handoff(kind))
}

fn recipient(scene: &Scene<'_>, text: &str) -> Result<To, Refused> {
    match text.split_once('/') {
        _ if text == "person" => Ok(To::Person),
        _ if text == "all" => Ok(To::All { team: Some(scene.team.clone()) }),
        Some((team, "all")) => Ok(To::All { team: Some(name(team)?) }),
        Some(_) => Ok(To::Address(scene.address(text)?)),
        // A person's bare name is looked up in the team the request is about.
        None if *scene.actor == Actor::Person => {
            let near = scene.address(text)?;
            let known = scene.state.teammates.contains_key(&near);
            Ok(if known { To::Address(near) } else { To::Name(name(text)?) })
        }
        None => Ok(To::Name(name(text)?)),
    }
}

impl Decides for InboxRead {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ReadInbox { max: self.max.clamp(1, 1000) })
    }

    fn waits(&self) -> bool {
        self.wait
    }

    fn hands_out_mail(&self) -> bool {
        true
    }
}

impl Decides for InboxTake {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::TakeInbox { max: self.max.clamp(1, 1000) })
    }

    fn waits(&self) -> bool {
        self.wait
    }

    fn hands_out_mail(&self) -> bool {
        true
    }
}

impl Looks for InboxPeek {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<InboxMessage>, Refused> {
        Ok(peek(scene.state, scene.actor, usize::MAX))
    }
}

/// The oldest unread messages.
pub(crate) fn peek(state: &State, actor: &Actor, max: usize) -> Vec<InboxMessage> {
    let inbox = match actor {
        Actor::Teammate(who) => state.teammates.get(&who.address).map(|mate| &mate.inbox),
        _ => Some(&state.person_inbox),
    };
    let ids = inbox.into_iter().flatten().take(max);
    ids.map(|id| views::message(*id, &state.messages[id])).collect()
}

/// The oldest messages that a supervisor was not handed.
pub(crate) fn untaken(state: &State, actor: &Actor, max: usize) -> Vec<InboxMessage> {
    let Actor::Teammate(who) = actor else { return Vec::new() };
    let ids = shipmate_core::untaken(state, &who.address, max);
    ids.iter().map(|id| views::message(*id, &state.messages[id])).collect()
}

impl Decides for MessageInject {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::InjectMessages { messages: self.messages.clone(), turn: self.turn })
    }
}

impl Decides for MessageAcknowledge {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::AcknowledgeMessages { messages: self.messages.clone() })
    }
}

impl Decides for PlanSubmit {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::SubmitPlan {
            task: scene.optional_task(self.task.as_ref())?,
            body: self.body.clone(),
            work: self.work.as_ref().map(|work| Box::new(work::draft(work))),
        })
    }

    fn hook(&self) -> Option<HookEvent> {
        Some(HookEvent::PlanSubmitted)
    }

    fn payloads(&self, _: &State, of: Payload) -> Vec<Payload> {
        vec![Payload { task_id: self.task.clone(), plan: Some(self.body.clone()), ..of }]
    }
}

impl Looks for Plans {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<PlanView>, Refused> {
        Ok(views::plans(scene.state, self.all))
    }
}

impl Decides for PlanApprove {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::DecidePlan { plan: self.plan, verdict: Verdict::Approve })
    }

    /// The tasks of a lead's plan are made by its approval.
    fn hook(&self) -> Option<HookEvent> {
        Some(HookEvent::TaskCreated)
    }

    fn payloads(&self, state: &State, of: Payload) -> Vec<Payload> {
        let work = state.plans.get(&self.plan).and_then(|plan| plan.work.as_deref());
        let tasks = work.map(|work| work.tasks.as_slice()).unwrap_or_default();
        let words = tasks.iter().map(|task| (&task.spec.subject, &task.spec.description));
        task::of_new_tasks(state, &of, words)
    }
}

impl Decides for PlanReject {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        // Only a person's own run tries what nobody has read.
        let unworkable = self.unworkable && *scene.actor == Actor::Person;
        let feedback = self.feedback.clone();
        let verdict = Verdict::Reject { feedback, unworkable };
        Ok(Act::DecidePlan { plan: self.plan, verdict })
    }
}

impl Decides for Question {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        let (text, options) = (self.text.clone(), self.options.clone());
        Ok(Act::Ask { kind: self.kind, text, options })
    }
}

impl Looks for Questions {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<QuestionView>, Refused> {
        Ok(views::questions(scene.state, self.all))
    }
}

impl Decides for QuestionAnswer {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::Answer { question: self.question, answer: self.answer.clone() })
    }
}

impl Decides for QuestionWithdraw {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::WithdrawQuestion { question: self.question, reason: self.reason.clone() })
    }
}
