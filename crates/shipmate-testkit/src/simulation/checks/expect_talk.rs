//! The same for messages, plans, questions, shutdowns, the breaker and usage.

use shipmate_model::command::{To, Whom};
use shipmate_model::event::{MessageId, MessageKind, QuestionKind, Recipient, Seat, ShutdownId};
use shipmate_model::{Act, Actor, Address, Name, TeammateRef};

use crate::simulation::model::{BreakerFacts, Fate, Model, Phase, ShutdownStage};

pub(super) fn verdict(model: &Model, by: &Actor, act: &Act) -> Option<bool> {
    let runtime = *by == Actor::Runtime;
    let current = match by {
        Actor::Teammate(who) if model.is_current(who) => Some(who),
        _ => None,
    };
    let reader = match by {
        Actor::Person => Some(Recipient::Person),
        _ => current.map(|who| Recipient::Member(who.address.clone())),
    };
    let own = |who: &TeammateRef| matches!(by, Actor::Teammate(me) if me == who);
    Some(match act {
        Act::SendMessage { to, kind, body, .. } => {
            let by_hand = matches!(kind, MessageKind::Message | MessageKind::Handoff(_));
            let reached =
                model.is_present(by) && !body.is_empty() && by_hand && reaches(model, by, to);
            // Where routes or levels lead is weighed by the core alone; what it lets through is
            // held against them.
            if reached && model.has_rules() && *by != Actor::Runtime {
                return None;
            }
            reached
        }
        Act::TakeIn { to, body, .. } => {
            let to = To::Address(to.clone());
            *by == Actor::Outside && !body.is_empty() && reaches(model, by, &to)
        }
        Act::RaiseEscalation { escalation, .. } => {
            runtime && model.escalations.contains_key(escalation)
        }
        Act::ReadInbox { .. } => reader.is_some(),
        Act::InjectMessages { messages, .. } | Act::AcknowledgeMessages { messages } => {
            reader.is_some_and(|at| all_wait(model, &at, messages))
        }
        Act::ExpireMessages { to, messages, .. } => {
            let known = match to {
                Recipient::Person => true,
                Recipient::Member(who) => model.is_member(who),
            };
            runtime && known && all_wait(model, to, messages)
        }
        Act::SubmitPlan { task, body, work } => {
            let known = task.is_none_or(|id| model.task(id).is_some());
            let fits = current.is_some() && known && !body.trim().is_empty();
            let leads = current.is_some_and(|who| model.mates[&who.address].seat == Seat::Lead);
            // Whether the work holds is weighed by the core alone.
            match work {
                Some(_) if fits && leads => return None,
                work => fits && work.is_none(),
            }
        }
        Act::DecidePlan { plan, .. } => {
            let facts = model.plans.get(plan).filter(|facts| facts.open);
            let own =
                |who: &TeammateRef| matches!(by, Actor::Teammate(me) if me.address == who.address);
            let may = facts.is_some_and(|facts| {
                model.manages(by, &facts.who.address.team)
                    && !own(&facts.who)
                    && (facts.work || model.is_current(&facts.who))
            });
            // Its names may have been taken meanwhile.
            if may && facts.is_some_and(|facts| facts.work) {
                return None;
            }
            may
        }
        Act::Ask { text, .. } => current.is_some() && !text.trim().is_empty(),
        Act::Answer { question, answer } => model.answerable(*question).is_some_and(|facts| {
            let same = matches!(by, Actor::Teammate(me) if me.address == facts.who.address);
            model.manages(by, &facts.who.address.team)
                && !same
                && (facts.kind != QuestionKind::Permission || *by == Actor::Person)
                && (facts.options.is_empty() || facts.options.contains(answer))
        }),
        Act::WithdrawQuestion { question, .. } => {
            let facts = model.questions.get(question).filter(|facts| facts.open);
            facts.is_some_and(|facts| {
                own(&facts.who) && facts.task.is_none() && model.is_current(&facts.who)
            })
        }
        act => return end_verdict(model, by, act),
    })
}

fn end_verdict(model: &Model, by: &Actor, act: &Act) -> Option<bool> {
    let runtime = *by == Actor::Runtime;
    let team = |name: &Name| model.teams.get(name).filter(|team| team.phase != Phase::Deleted);
    let open = |id: &ShutdownId| {
        let facts = model.shutdowns.get(id).filter(|facts| facts.end == ShutdownStage::Open);
        facts.filter(|facts| model.is_current(&facts.who))
    };
    Some(match act {
        Act::RequestShutdown { whom: Whom::Teammate(who), .. } => {
            model.manages(by, &who.address.team)
                && model.is_current(who)
                && model.mates[&who.address].shutdown.is_none()
        }
        Act::RequestShutdown { whom: Whom::Team(name), .. } => {
            let own = |who: &Address| matches!(by, Actor::Teammate(me) if me.address == *who);
            let runs = |team: &Name| model.running(team).iter().any(|who| !own(&who.address));
            // A team below without a playbook may work for this one, where their branch is the same,
            // which the model does not know.
            let is_below = |team: &Name| team != name && with_course(model, team) == Some(name);
            let allowed = team(name).is_some() && model.manages(by, name);
            if allowed && !runs(name) && model.teams.keys().any(|team| is_below(team) && runs(team))
            {
                return None;
            }
            allowed && runs(name)
        }
        Act::AnswerShutdown { shutdown, .. } => {
            open(shutdown).is_some_and(|facts| *by == Actor::Teammate(facts.who.clone()))
        }
        Act::ExpireShutdown { shutdown } => runtime && open(shutdown).is_some(),
        Act::ForgiveStrike { team: name, strike } => {
            runtime && team(name).is_some_and(|team| team.strikes.contains(strike))
        }
        Act::ProbeBreaker { team: name, opened } => {
            runtime && team(name).is_some_and(|t| t.breaker == BreakerFacts::Open(*opened))
        }
        Act::ReportProbe { team: name, half_opened, .. } => {
            let since = team(name).and_then(|team| match &team.breaker {
                BreakerFacts::HalfOpen(at, _) => Some(*at),
                _ => None,
            });
            runtime && since == Some(*half_opened)
        }
        Act::ReserveUsage { usage } => {
            matches!(by, Actor::Teammate(me)
                if model.is_current(me)
                    && model.may_ask(&me.address)
                    && model.has_budget(me, usage))
        }
        Act::ReportUsage { task, .. } => {
            let known = task.is_none_or(|id| model.task(id).is_some());
            matches!(by, Actor::Teammate(me) if model.is_current(me)) && known
        }
        _ => return None,
    })
}

fn all_wait(model: &Model, at: &Recipient, messages: &[MessageId]) -> bool {
    let waits = |id: &MessageId| model.letters.get(&(*id, at.clone())) == Some(&Fate::Waiting);
    !messages.is_empty() && messages.iter().all(waits)
}

fn reads(model: &Model, who: &Address) -> bool {
    model.can_receive(who) && !model.mates[who].one_shot
}

fn reaches(model: &Model, by: &Actor, to: &To) -> bool {
    let own_team = match by {
        Actor::Teammate(who) => Some(who.address.team.clone()),
        _ => model.teams.iter().find(|(_, t)| t.parent.is_none()).map(|(name, _)| name.clone()),
    };
    match to {
        To::Person => true,
        To::Address(who) => reads(model, who),
        To::Name(name) => {
            let at = |team: &Name, name: &Name| Address { team: team.clone(), name: name.clone() };
            let near = own_team.as_ref().map(|team| at(team, name));
            if let Some(near) = near.filter(|near| model.is_member(near)) {
                return reads(model, &near);
            }
            let lead_of = |team: &Name| model.teams[team].lead.clone();
            let lead = own_team.as_ref().and_then(|team| Some((team, lead_of(team)?)));
            if let Some((team, lead)) = lead.filter(|_| name.as_str() == "lead") {
                return reads(model, &at(team, &lead));
            }
            let named = model.mates.keys().filter(|who| who.name == *name);
            let named: Vec<&Address> = named.filter(|who| model.is_member(who)).collect();
            matches!(named[..], [only] if reads(model, only))
        }
        To::All { team } => {
            let Some(team) = team.clone().or(own_team) else { return false };
            let known = model.teams.get(&team).is_some_and(|t| t.phase != Phase::Deleted);
            let own = |who: &Address| matches!(by, Actor::Teammate(me) if me.address == *who);
            known && model.reachable(&team).iter().any(|who| !own(who) && reads(model, who))
        }
    }
}

/// The nearest team with a playbook, from this one upwards.
fn with_course<'a>(model: &'a Model, team: &'a Name) -> Option<&'a Name> {
    let mut at = Some(team);
    while let Some(name) = at {
        let found = model.teams.get(name)?;
        if found.course.is_some() {
            return Some(name);
        }
        at = found.parent.as_ref();
    }
    None
}
