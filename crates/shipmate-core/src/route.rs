//! Who may write to whom, and what: the routes of a team's playbook.
//!
//! A team without routes is open to everybody in its tree. The person and the runtime write to
//! everybody; whoever was written to may answer once, in plain words. Between teams only a route
//! that says so leads, in a tree where any team has routes.

use shipmate_model::event::{MessageKind, Recipient};
use shipmate_model::name::{Actor, Address, Name};
use shipmate_model::playbook::{Playbook, Role, Route};
use shipmate_model::refusal::{Refusal, list};

use crate::state::State;

/// The word that stands for plain text in a route.
const PLAIN: &str = "message";

pub(crate) fn require(
    state: &State,
    by: &Actor,
    kind: &MessageKind,
    to: &[Recipient],
) -> Result<(), Refusal> {
    let Actor::Teammate(who) = by else { return Ok(()) };
    let from = &who.address;
    if let (Some(book), MessageKind::Handoff(kind)) = (book(state, &from.team), kind)
        && let Some(known) = book.kinds.get(kind)
        && (known.internal || known.file.is_some())
    {
        let (kind, file) = (kind.clone(), known.file.clone());
        return Err(Refusal::NotByMessage { kind, file });
    }
    let Some(closed) = to.iter().find(|to| !is_open(state, from, kind, to)) else {
        return Ok(());
    };
    let book = routed(state, from, closed).expect("what is closed has routes");
    let role = role_of(state, from);
    let across = matches!(closed, Recipient::Member(to) if to.team != from.team);
    let files = book
        .kinds
        .iter()
        .filter(|_| across)
        .filter_map(|(kind, known)| known.file.as_ref().map(|file| format!("{file} ({kind})")));
    let mut open: Vec<String> = book.routes.iter().filter_map(|own| told(own, role)).collect();
    if to.len() > 1 {
        let reached = to.iter().filter(|to| is_open(state, from, kind, to));
        open.insert(0, format!("with this {}", listed(reached.map(ToString::to_string))));
    }
    let files: Vec<String> = files.collect();
    let mut open = list(&open);
    if !files.is_empty() {
        open.push_str(&format!("; between teams it goes by file: {}", list(&files)));
    }
    Err(Refusal::NoRoute {
        from: Box::new(from.clone()),
        role: role.cloned(),
        to: closed.to_string(),
        kind: word(kind).to_owned(),
        open,
    })
}

/// The playbook with the routes of this team, where it has any.
fn book<'a>(state: &'a State, team: &Name) -> Option<&'a Playbook> {
    let book = state.teams.get(team)?.setup.playbook.as_deref()?;
    (!book.routes.is_empty()).then_some(book)
}

/// The routes that decide about a message: the sender's, or those of the team it goes into.
fn routed<'a>(state: &'a State, from: &Address, to: &Recipient) -> Option<&'a Playbook> {
    let other = match to {
        Recipient::Member(to) if to.team != from.team => Some(&to.team),
        _ => None,
    };
    book(state, &from.team).or_else(|| book(state, other?))
}

fn is_open(state: &State, from: &Address, kind: &MessageKind, to: &Recipient) -> bool {
    let Some(book) = routed(state, from, to) else { return true };
    let (mate, role, kind) = (&state.teammates[from], role_of(state, from), word(kind));
    if kind == PLAIN && mate.may_answer.contains(to) {
        return true;
    }
    let leads = |route: &&Route| {
        let sender = route.from.is_empty() || role.is_some_and(|role| route.from.contains(role));
        sender && (route.kinds.is_empty() || route.kinds.iter().any(|own| own.as_str() == kind))
    };
    let mut routes = book.routes.iter().filter(leads);
    match to {
        Recipient::Person => {
            let reports = state.root.as_ref() == Some(&from.team) && mate.is_lead();
            let top = book.escalation.as_ref().and_then(|rule| rule.levels.last());
            reports
                || top.is_some_and(|top| role == Some(top))
                || routes.any(|route| route.person || route.to.is_empty())
        }
        Recipient::Member(to) => {
            let (across, role) = (to.team != from.team, role_of(state, to));
            let reaches = |route: &Route| {
                let all = route.to.is_empty() && !route.person;
                all || role.is_some_and(|role| route.to.contains(role))
            };
            routes.any(|route| (route.across || !across) && reaches(route))
        }
    }
}

fn word(kind: &MessageKind) -> &str {
    match kind {
        MessageKind::Handoff(kind) => kind.as_str(),
        _ => PLAIN,
    }
}

/// The role of a member. Whoever leads without one has the role that leads.
pub(crate) fn role_of<'a>(state: &'a State, who: &Address) -> Option<&'a Name> {
    let mate = state.teammates.get(who)?;
    let leads = || {
        let book = state.teams.get(&who.team)?.setup.playbook.as_deref()?;
        book.lead().filter(|_| mate.is_lead()).map(|(name, _)| name)
    };
    mate.profile.role.as_ref().or_else(leads)
}

impl State {
    /// A member's role, as the playbook of its team says it, or of the nearest above that has one.
    /// Who was brought in with none that the playbook knows is what all its members are, where they
    /// are all the same.
    pub fn role(&self, who: &Address) -> Option<(&Name, &Role)> {
        let book = self.lineage(&who.team).find_map(|team| team.setup.playbook.as_deref())?;
        let own = role_of(self, who).and_then(|name| book.roles.get_key_value(name));
        let leads = self.teammates.get(who).is_none_or(|mate| mate.is_lead());
        own.or_else(|| book.member().filter(|_| !leads))
    }
}

/// Where this route leads somebody of this role, in words.
fn told(route: &Route, role: Option<&Name>) -> Option<String> {
    let own = route.from.is_empty() || role.is_some_and(|role| route.from.contains(role));
    own.then(|| {
        let person = route.person.then(|| "person".to_owned());
        let to: Vec<String> = route.to.iter().map(Name::to_string).chain(person).collect();
        let kinds = listed(route.kinds.iter().map(Name::to_string));
        let kinds = if route.kinds.is_empty() { "any kind".to_owned() } else { kinds };
        let to = if to.is_empty() { "everybody".to_owned() } else { listed(to.into_iter()) };
        format!("{to} ({kinds})")
    })
}

fn listed(items: impl Iterator<Item = String>) -> String {
    shipmate_model::refusal::list(&items.collect::<Vec<_>>())
}

/// Whoever gets a word of somebody's own may answer it, once.
pub(crate) fn apply_sent(state: &mut State, by: &Actor, kind: &MessageKind, to: &[Recipient]) {
    let sender = match by {
        Actor::Teammate(who) => Recipient::Member(who.address.clone()),
        Actor::Person => Recipient::Person,
        Actor::Runtime | Actor::Outside => return,
    };
    if !matches!(kind, MessageKind::Message | MessageKind::Handoff(_)) {
        return;
    }
    for recipient in to {
        if let Recipient::Member(own) = &sender {
            state.teammate_mut(own).may_answer.remove(recipient);
        }
        let Recipient::Member(who) = recipient else { continue };
        let asked = match &sender {
            Recipient::Member(own) => routed(state, who, &Recipient::Member(own.clone())).is_some(),
            Recipient::Person => book(state, &who.team).is_some(),
        };
        if asked {
            state.teammate_mut(who).may_answer.insert(sender.clone());
        }
    }
}
