//! Usage and budgets: stop before a ceiling is passed, not after.
//!
//! An agent that knows its next step's cost reserves it first; the reservation
//! counts until the report settles it. One that only reports afterwards gets no
//! new task once its budget is used up.

use shipmate_model::account::{Window, percent};
use shipmate_model::event::{Event, ReservationId, TaskId};
use shipmate_model::limits::OPEN_MAX;
use shipmate_model::name::{Actor, Address, Name, TeammateRef};
use shipmate_model::pause::PauseCause;
use shipmate_model::refusal::Refusal;
use shipmate_model::usage::{Budget, Usage};

use crate::account;
use crate::mail;
use crate::state::{Booked, State, Team, Teammate};

/// There is a ceiling: of the teammate, its team or one above.
pub(crate) fn is_bounded(state: &State, who: &Address, teammate: &Teammate) -> bool {
    let has = |budget: &Budget| *budget != Budget::default();
    let mut at = Some(&who.team);
    let mut found = has(&teammate.budget);
    while let Some(team) = at.and_then(|name| state.teams.get(name)).filter(|_| !found) {
        found = has(&team.budget);
        at = team.parent.as_ref();
    }
    found
}

/// Why there is no room for anything more.
pub fn spent(state: &State, who: &Address, teammate: &Teammate) -> Option<Refusal> {
    require_budget(state, who, teammate, &Usage::default()).err()
}

/// Whose budget it is.
#[derive(Clone, Copy)]
enum Owner<'a> {
    Teammate(&'a Address),
    Team(&'a Name),
}

impl std::fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::Teammate(who) => who.fmt(f),
            Owner::Team(name) => write!(f, "team {name}"),
        }
    }
}

impl Owner<'_> {
    /// With the command that raises what is spent of it and keeps the rest: a new budget takes the place of
    /// the old one.
    fn spent(self, budget: &Budget, is_spent: impl Fn(Part) -> bool, room: String) -> Refusal {
        let option = |part: Part, open: &str, max: Option<String>| {
            max.map(|max| if is_spent(part) { open.to_owned() } else { max })
        };
        let cost = |micros: u64| format!("--cost {}", micros as f64 / 1e6);
        let share = |share: u32| format!("--window {}", percent(share).replace(' ', ""));
        let tokens = |max: u64| format!("--tokens {max}");
        let options = [
            option(Part::Cost, "--cost DOLLARS", budget.cost_micros_max.map(cost)),
            option(Part::Tokens, "--tokens N", budget.tokens_max.map(tokens)),
            option(Part::Window, "--window PERCENT", budget.window_max.map(share)),
        ];
        let options = options.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let raise = match self {
            Owner::Teammate(Address { team, name }) => {
                format!("--team {team} teammate budget {name} {options}")
            }
            Owner::Team(team) => format!("--team {team} team budget {options}"),
        };
        Refusal::BudgetSpent { whose: self.to_string(), room, raise }
    }
}

/// What a budget may be in.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Cost,
    Tokens,
    Window,
}

/// There is room for `more` in the teammate's budget and in those of its team and
/// every team above.
pub(crate) fn require_budget(
    state: &State,
    who: &Address,
    teammate: &Teammate,
    more: &Usage,
) -> Result<(), Refusal> {
    let own = (&teammate.usage, &teammate.reserved);
    refuse_spent(Owner::Teammate(who), teammate.budget, own, more)?;
    refuse_window(state, Owner::Teammate(who), teammate.budget, teammate)?;
    let mut at = Some(&who.team);
    while let Some(name) = at {
        let team = &state.teams[name];
        let used = (&team.usage, &team.reserved);
        refuse_spent(Owner::Team(name), team.budget, used, more)?;
        refuse_window(state, Owner::Team(name), team.budget, teammate)?;
        at = team.parent.as_ref();
    }
    Ok(())
}

/// A share of a window is what everybody took of it who asks with that account: providers tell no more.
fn refuse_window(
    state: &State,
    owner: Owner<'_>,
    budget: Budget,
    teammate: &Teammate,
) -> Result<(), Refusal> {
    let (Some(max), Some(name)) = (budget.window_max, &teammate.account) else { return Ok(()) };
    let Some(account) = state.accounts.get(name) else { return Ok(()) };
    // It is told with the first replies. Where a task was done and nothing told, nothing will be.
    let has_told = account.windows.iter().any(|window| !window.pace);
    if account.moved.is_none() && !has_told && account.handed_in > 0 {
        return Err(Refusal::WindowUntold { whose: owner.to_string(), account: name.clone() });
    }
    let most = account.moved.shares().max_by_key(|(_, used)| *used);
    match most.filter(|(_, used)| *used >= max) {
        Some((window, used)) => {
            let (used, max) = (percent(used), percent(max));
            let room = format!("{used} of {window} of account {name}, of at most {max}");
            Err(owner.spent(&budget, |part| part == Part::Window, room))
        }
        None => Ok(()),
    }
}

fn refuse_spent(
    owner: Owner<'_>,
    budget: Budget,
    (spent, reserved): (&Usage, &Usage),
    more: &Usage,
) -> Result<(), Refusal> {
    let used = spent.plus(reserved);
    let after = used.plus(more);
    // A budget that is exactly used up has no room for a next step either.
    let passes = |max: Option<u64>, used: u64, after: u64| {
        max.is_some_and(|max| after > max || (*more == Usage::default() && used >= max))
    };
    let is_spent = |part| match part {
        Part::Cost => passes(budget.cost_micros_max, used.cost_micros, after.cost_micros),
        Part::Tokens => passes(budget.tokens_max, used.tokens(), after.tokens()),
        Part::Window => false,
    };
    if is_spent(Part::Cost) || is_spent(Part::Tokens) {
        let room = room(&budget, spent, reserved, more);
        return Err(owner.spent(&budget, is_spent, room));
    }
    Ok(())
}

/// What was spent of a budget, and why that leaves no room.
fn room(budget: &Budget, spent: &Usage, reserved: &Usage, next: &Usage) -> String {
    let tokens = |n: u64| if n == 1 { "1 token".to_owned() } else { format!("{n} tokens") };
    let of_tokens = budget.tokens_max.map(|max| {
        let spent = format!("{} of {} spent", spent.tokens(), tokens(max));
        said(spent, reserved.tokens(), next.tokens(), tokens)
    });
    let of_money = budget.cost_micros_max.map(|max| {
        let spent = format!("{} of {} spent", dollars(spent.cost_micros), dollars(max));
        said(spent, reserved.cost_micros, next.cost_micros, dollars)
    });
    let parts: Vec<String> = of_tokens.into_iter().chain(of_money).collect();
    parts.join("; ")
}

fn said(mut text: String, reserved: u64, next: u64, unit: impl Fn(u64) -> String) -> String {
    if reserved > 0 {
        text.push_str(&format!(", {} set aside for requests under way", unit(reserved)));
    }
    if next > 0 {
        text.push_str(&format!(", the next request may cost up to {}", unit(next)));
    }
    text
}

/// An amount as people write it, rounded to what they can see a difference by.
fn dollars(micros: u64) -> String {
    let places = match micros {
        micros if micros >= 1_000_000 || micros % 10_000 == 0 => 2,
        micros if micros >= 1_000 => 3,
        _ => 6,
    };
    let unit = 10_u64.pow(6 - places);
    let rounded = micros.saturating_add(unit / 2) / unit;
    let whole = 10_u64.pow(places);
    let width = places as usize;
    format!("${}.{:0width$}", rounded / whole, rounded % whole)
}

pub(crate) fn decide_reserve(
    state: &State,
    by: &Actor,
    usage: &Usage,
) -> Result<Vec<Event>, Refusal> {
    let (who, teammate) = state.require_teammate(by, "reserve usage")?;
    if state.reservations.len() >= OPEN_MAX {
        let (size, limit) = (state.reservations.len() + 1, OPEN_MAX);
        return Err(Refusal::OverLimit { what: "the tree", size, limit, unit: "reservations" });
    }
    account::require_open(state, &who.address, teammate)?;
    require_budget(state, &who.address, teammate, usage)?;
    Ok(vec![Event::UsageReserved { who: who.clone(), usage: *usage }])
}

/// What was used, whatever the budget says: it has been spent.
pub(crate) fn decide_report(
    state: &State,
    by: &Actor,
    usage: &Usage,
    task: Option<TaskId>,
    reservation: Option<ReservationId>,
) -> Result<Vec<Event>, Refusal> {
    let (who, _) = state.require_teammate(by, "report usage")?;
    if let Some(task) = task {
        state.require_task(task)?;
    }
    // A reservation of an earlier life is gone; the usage still counts.
    let own = |(address, _): &(Address, Usage)| *address == who.address;
    let reservation = reservation.filter(|id| state.reservations.get(id).is_some_and(own));
    Ok(vec![Event::UsageRecorded { who: who.clone(), usage: *usage, task, reservation }])
}

/// Of the models whose price is known a token that comes out costs 4 to 8 times what one costs that goes in.
const OUT_COSTS: u128 = 5;

/// What a life that is over had set aside is for requests that nobody will tell of any more, and that the
/// provider has been sent: what went in is booked by estimate, with its part of the price. Of what came out
/// nothing is known, so the part of that is left out: a token costs about [`OUT_COSTS`] times as much there.
pub(crate) fn settle_open(state: &State, who: &TeammateRef, teammate: &Teammate) -> Vec<Event> {
    let own = state.reservations.iter().filter(|(_, (address, _))| *address == who.address);
    let task = teammate.holds.first().copied().filter(|_| teammate.holds.len() == 1);
    let sent = own.filter(|(_, (_, usage))| usage.tokens_in > 0);
    let recorded = sent.map(|(id, (_, usage))| {
        let (tokens_in, tokens_out) = (u128::from(usage.tokens_in), u128::from(usage.tokens_out));
        let cost = u128::from(usage.cost_micros) * tokens_in;
        let cost_micros = (cost / (tokens_in + OUT_COSTS * tokens_out)) as u64;
        let sent = Usage { tokens_in: usage.tokens_in, cost_micros, ..Usage::default() };
        let (usage, reservation) = (sent.as_estimate(), Some(*id));
        Event::UsageRecorded { who: who.clone(), usage, task, reservation }
    });
    recorded.collect()
}

pub(crate) fn decide_team_budget(
    state: &State,
    by: &Actor,
    team: &Name,
    budget: Budget,
) -> Result<Vec<Event>, Refusal> {
    state.require_team(team)?;
    require_person(by, "set a budget")?;
    let mut events = vec![Event::TeamBudgetSet { team: team.clone(), budget }];
    events.extend(state.teammates.iter().flat_map(|(who, mate)| goes_on(state, who, mate)));
    Ok(events)
}

/// Who stopped for want of a budget tries again when one is set, and stops again if it must.
fn goes_on(state: &State, who: &Address, mate: &Teammate) -> Vec<Event> {
    if !mate.paused.as_ref().is_some_and(|pause| pause.cause == PauseCause::Budget) {
        return Vec::new();
    }
    let mut events = vec![Event::TeammateContinued { who: who.clone() }];
    let text = "a budget was set anew: go on where you stopped".to_owned();
    events.extend(mail::notice(state, who, text));
    events
}

/// The same where somebody wants work to go on and there is a budget by now.
pub(crate) fn tries_again(state: &State, who: &Address, mate: &Teammate) -> Vec<Event> {
    match require_budget(state, who, mate, &Usage::default()) {
        Ok(()) => goes_on(state, who, mate),
        Err(_) => Vec::new(),
    }
}

pub(crate) fn decide_teammate_budget(
    state: &State,
    by: &Actor,
    who: &Address,
    budget: Budget,
) -> Result<Vec<Event>, Refusal> {
    state.require_member(who)?;
    // A lead spends too: it may limit others, never itself.
    if matches!(by, Actor::Teammate(me) if me.address == *who) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "set its own budget" });
    }
    state.require_manager(by, &who.team, "set budgets")?;
    let mut events = vec![Event::TeammateBudgetSet { who: who.clone(), budget }];
    events.extend(goes_on(state, who, &state.teammates[who]));
    Ok(events)
}

fn require_person(by: &Actor, what: &'static str) -> Result<(), Refusal> {
    match by {
        Actor::Teammate(_) => Err(Refusal::NotTheirs { by: by.clone(), what }),
        _ => Ok(()),
    }
}

pub(crate) fn apply_reserved(
    state: &mut State,
    id: ReservationId,
    who: &TeammateRef,
    usage: &Usage,
) {
    state.reservations.insert(id, (who.address.clone(), *usage));
    reserve(state, &who.address, |reserved| reserved.plus(usage));
}

pub(crate) fn apply_recorded(
    state: &mut State,
    who: &TeammateRef,
    usage: &Usage,
    reservation: Option<ReservationId>,
) {
    if let Some((_, reserved)) = reservation.and_then(|id| state.reservations.remove(&id)) {
        reserve(state, &who.address, |all| all.minus(&reserved));
    }
    // An estimate is of a request that broke off.
    if usage.tokens() > usage.tokens_estimated {
        account::apply_answered(state, &who.address);
    }
    let teammate = state.teammate_mut(&who.address);
    teammate.usage = teammate.usage.plus(usage);
    // What falls over later does not take along what it has used.
    let account = teammate.account.clone();
    book(&mut teammate.booked, account.as_ref(), usage);
    if let Some(account) = account {
        let account = state.accounts.entry(account).or_default();
        account.usage = account.usage.plus(usage);
    }
    for_team_and_above(state, &who.address.team, |team| team.usage = team.usage.plus(usage));
}

fn book(booked: &mut Vec<Booked>, account: Option<&Name>, usage: &Usage) {
    let own = booked.iter().position(|one| one.account.as_ref() == account);
    let at = own.unwrap_or_else(|| {
        booked.push(Booked { account: account.cloned(), ..Booked::default() });
        booked.len() - 1
    });
    booked[at].usage = booked[at].usage.plus(usage);
    booked[at].unpriced.add(usage);
}

/// What was used of an account's windows, by whoever asks with it.
pub(crate) fn apply_moved(state: &mut State, by: &Actor, account: &Name, windows: &[Window]) {
    state.accounts.entry(account.clone()).or_default().moved.told(windows, by);
}

/// Changes what is reserved for a teammate and in all its teams.
pub(crate) fn reserve(state: &mut State, who: &Address, change: impl Fn(&Usage) -> Usage) {
    let teammate = state.teammate_mut(who);
    teammate.reserved = change(&teammate.reserved);
    for_team_and_above(state, &who.team, |team| team.reserved = change(&team.reserved));
}

fn for_team_and_above(state: &mut State, team: &Name, change: impl Fn(&mut Team)) {
    let mut at = Some(team.clone());
    while let Some(name) = at {
        let team = state.team_mut(&name);
        change(team);
        at = team.parent.clone();
    }
}
