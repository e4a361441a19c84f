//! Accounts: what a provider meters, and who may still ask a model with one.
//!
//! A refusal of the provider parks the account: nobody on it is started, takes a task or asks a model until
//! it has room again, and nothing that was under way counts as failed. Where the provider tells how
//! much is used, the caps of the team hold before that. The core has no clock: what is told carries the
//! time it was told at, and an observer says when a window was reset.

use shipmate_model::account::{Caps, SAME_RESET_MS, Window};
use shipmate_model::command::{Act, Whom};
use shipmate_model::event::{AgentChoice, Event, MessageKind, Recipient, TaskId};
use shipmate_model::limits::{
    ACCOUNT_AGAIN_FIRST_MS, ACCOUNT_AGAIN_MAX_MS, ACCOUNT_RESET_MAX_MS, TEXT_BYTES_MAX,
    WINDOW_NAME_BYTES_MAX, WINDOWS_MAX,
};
use shipmate_model::name::{Actor, Address, Name, Position, TeammateRef};
use shipmate_model::profile::StartRule;
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::size::check_texts;
use crate::state::{Account, Fallen, Life, Parked, Span, State, TeamPhase, Teammate, current};

/// How long a wait for a time of the wall clock goes on without a look at it: it may be set anew.
const LOOK_AGAIN_MS: u64 = 10 * 60 * 1000;

/// How far the clocks of hosts may differ that one believes another.
const SKEW_MS: u64 = 5 * 60 * 1000;

/// An outage that lasts so much longer than was said is told of again.
const LONGER_MS: u64 = 60 * 60 * 1000;

/// A wait that is shorter is not worth another agent, which begins with nothing of what was said.
const FALL_OVER_MS: u64 = 5 * 60 * 1000;

/// The caps that hold: those of the team that all others are below.
pub fn caps(state: &State) -> Caps {
    let root = state.root.as_ref().and_then(|root| state.teams.get(root));
    root.map_or_else(Caps::default, |root| root.setup.caps)
}

fn account_of<'a>(state: &'a State, mate: &'a Teammate) -> Option<(&'a Name, &'a Account)> {
    let name = mate.account.as_ref()?;
    Some((name, state.accounts.get(name)?))
}

/// It may ask its model: its account is not parked, and not at the hard cap.
pub(crate) fn require_open(state: &State, who: &Address, mate: &Teammate) -> Result<(), Refusal> {
    let Some((name, account)) = account_of(state, mate) else { return Ok(()) };
    match closed(state, account, mate.is_lead()) {
        Some((until, reason)) => {
            let (who, account, resumes) = (who.clone(), name.clone(), caps(state).resumes);
            Err(Refusal::AccountParked { who, account, until, reason, resumes })
        }
        None => Ok(()),
    }
}

/// Nobody asks anything with it, not even who leads.
pub fn is_closed(state: &State, account: &Account) -> bool {
    closed(state, account, true).is_some()
}

/// Until when nothing is asked with an account, and why.
fn closed(state: &State, account: &Account, leads: bool) -> Option<(u64, String)> {
    if let Some(parked) = &account.parked {
        return Some((parked.until, parked.reason.clone()));
    }
    let caps = caps(state);
    let cap = if leads { caps.hard } else { caps.hard.saturating_sub(caps.lead) };
    let (window, until) = account.at(cap)?;
    Some((until, format!("{}, and the cap is {}", window.describe(), said(cap))))
}

/// Until when a teammate could begin nothing with an account. Above the soft cap what is begun goes on, and who
/// leads answers.
fn full(state: &State, account: &Account, mate: &Teammate) -> Option<u64> {
    let closed = closed(state, account, mate.is_lead()).map(|(until, _)| until);
    let begins = !mate.is_lead() && mate.holds.is_empty();
    let short = account.at(caps(state).soft).filter(|_| begins).map(|(_, until)| until);
    closed.into_iter().chain(short).max()
}

/// What is to stand behind a teammate in place of what does: its fallback while its account has no room, and
/// its first choice again when that has.
fn other_choice<'a>(state: &'a State, mate: &'a Teammate) -> Option<(&'a AgentChoice, bool)> {
    let is_full = |account: &Name| {
        let account = state.accounts.get(account);
        account.is_some_and(|account| full(state, account, mate).is_some())
    };
    match &mate.fallen {
        // Between two tasks: what it has begun, it ends with what it began it with.
        Some(fallen) => {
            let is_free = mate.holds.is_empty() && mate.returned.is_empty();
            (is_free && !is_full(&fallen.account)).then_some((&fallen.choice, true))
        }
        None => {
            // Who is started by hand would not come again.
            let comes = mate.profile.start == StartRule::WhenNeeded;
            // Where no machine has it, it would wait all the same, and without its conversation.
            let works = |choice: &&AgentChoice| state.has_program(&choice.agent);
            let fallback = mate.profile.fallback.as_deref().filter(|_| comes).filter(works)?;
            mate.account.as_ref().is_some_and(is_full).then_some((fallback, false))
        }
    }
}

pub(crate) fn decide_fall_over(
    state: &State,
    by: &Actor,
    who: &Address,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "have something else stand behind a teammate")?;
    let mate = state.require_member(who)?;
    let Some((choice, back)) = other_choice(state, mate) else { return Ok(Vec::new()) };
    let (choice, name) = (choice.clone(), choice.name());
    let text = match back {
        true => format!("{who} goes on with {name} again, whose account has room"),
        false => format!("{who} goes on with {name}: its account has no room"),
    };
    let mut events = vec![Event::TeammateFellOver { who: who.clone(), choice, back }];
    events.extend(mail::to_one(state, Recipient::Person, MessageKind::Notice, text, None));
    Ok(events)
}

pub(crate) fn apply_fell_over(state: &mut State, who: &Address, choice: &AgentChoice, back: bool) {
    let mate = state.teammate_mut(who);
    let (before, account) = (AgentChoice::of(&mate.profile), mate.account.clone());
    mate.fallen = match (back, account) {
        (false, Some(account)) => Some(Box::new(Fallen { choice: before, account })),
        _ => None,
    };
    choice.apply(&mut mate.profile);
    mate.switches = true;
    // It did not want to leave before: now another takes its place.
    mate.stays = false;
    if !mate.is_running() {
        apply_switched(mate);
    }
}

/// The life that had the other agent is over: the next has its own conversation, and an account that is not
/// known yet.
pub(crate) fn apply_switched(mate: &mut Teammate) {
    if std::mem::take(&mut mate.switches) {
        std::mem::swap(&mut mate.session, &mut mate.other_session);
        mate.account = None;
        mate.model.clear();
    }
}

/// The same, and there is room for one more task beside those that are begun.
pub(crate) fn require_room(state: &State, who: &Address, mate: &Teammate) -> Result<(), Refusal> {
    require_room_beside(state, who, mate, 0)
}

/// The same where so many others on its account are about to begin one.
fn require_room_beside(
    state: &State,
    who: &Address,
    mate: &Teammate,
    others: usize,
) -> Result<(), Refusal> {
    // Its next life takes the next task, with what is behind that.
    if mate.switches && !mate.stays {
        let (who, agent) = (who.clone(), AgentChoice::of(&mate.profile).name().to_owned());
        return Err(Refusal::Switching { who, agent });
    }
    require_open(state, who, mate)?;
    let Some((name, account)) = account_of(state, mate) else { return Ok(()) };
    let (caps, mut counted) = (caps(state), account.counted().peekable());
    // Who is on an account is looked for among all teammates: only where a window tells something.
    if counted.peek().is_none() {
        return Ok(());
    }
    let held = || holders(state, name).map(|(_, mate)| mate.holds.len()).sum::<usize>();
    let beside = if caps.escrow { held() + others } else { 0 };
    let wall = caps.hard.saturating_sub(caps.lead);
    for (window, _) in counted {
        let per_task = account.per_task(&window.name);
        let used = window.used.unwrap_or_default();
        let why = match () {
            () if used >= caps.soft => format!("soft-cap is {}", said(caps.soft)),
            // What others use of the account counts as if tasks of this team had taken it. One may always
            // be begun: its end shows what it took.
            () if beside > 0
                && used.saturating_add(per_task.saturating_mul(beside as u32 + 1)) > wall =>
            {
                format!(
                    "a task takes about {}: beside the {beside} begun there is no room for one more \
                     below {}",
                    said(per_task),
                    said(wall)
                )
            }
            () => continue,
        };
        // Whoever leads takes no new task either: what is left is there for its answers.
        let (who, account) = (who.clone(), name.clone());
        let (window, resumes) = (Box::new(window.clone()), caps.resumes);
        return Err(Refusal::AccountShort { who, account, window, why, resumes });
    }
    Ok(())
}

fn said(thousandths: u32) -> String {
    shipmate_model::account::percent(thousandths)
}

fn holders<'a>(
    state: &'a State,
    account: &'a Name,
) -> impl Iterator<Item = (&'a Address, &'a Teammate)> {
    state.teammates.iter().filter(move |(_, mate)| mate.account.as_ref() == Some(account))
}

/// Why its account lets it take no task, in a sentence.
pub fn held_back(state: &State, who: &Address, mate: &Teammate) -> Option<Refusal> {
    require_room(state, who, mate).err()
}

/// Its account has room for a task beside those that so many others are about to begin.
pub(crate) fn has_room_beside(
    state: &State,
    who: &Address,
    mate: &Teammate,
    others: usize,
) -> bool {
    require_room_beside(state, who, mate, others).is_ok()
}

/// It is held back by its account, whatever it would do.
pub(crate) fn is_parked(state: &State, who: &Address, mate: &Teammate) -> bool {
    mate.account.is_some() && require_open(state, who, mate).is_err()
}

/// Its account lets it begin nothing, and it has begun nothing.
pub(crate) fn waits_for_room(state: &State, who: &Address, mate: &Teammate) -> bool {
    let is_short = |(_, account): (_, &Account)| account.at(caps(state).soft).is_some();
    is_parked(state, who, mate)
        || (mate.holds.is_empty() && account_of(state, mate).is_some_and(is_short))
}

/// What is owed to accounts at this time of the wall clock, and when to look again at the latest.
pub(crate) fn owed(state: &State, wall_ms: u64) -> (Vec<Act>, Option<u64>) {
    let (mut due, mut next) = (switches_owed(state, wall_ms), None::<u64>);
    if !caps(state).resumes {
        return (due, next);
    }
    let mut wait = |until: u64| next = Some(next.map_or(until, |next| next.min(until)));
    for (name, account) in &state.accounts {
        if let Some(parked) = &account.parked {
            match is_over(parked.until, parked.at, wall_ms) {
                true => {
                    due.push(Act::ResumeAccount { account: name.clone(), parked: Some(parked.n) })
                }
                false => wait(parked.until),
            }
            continue;
        }
        let over = |window: &&Window| {
            window.resets_at.is_some_and(|reset| is_over(reset, account.told_at, wall_ms))
        };
        let reset: Vec<Window> = account.windows.iter().filter(over).cloned().collect();
        account.windows.iter().filter_map(|window| window.resets_at).for_each(&mut wait);
        if !reset.is_empty() {
            let forget = |window: Window| Window { used: None, ..window };
            let windows = reset.into_iter().map(forget).collect();
            let (account, at) = (Some(name.clone()), wall_ms);
            due.push(Act::ReportWindows { account, windows, at });
        }
    }
    (due, next.map(|next| next.saturating_sub(wall_ms).clamp(1, LOOK_AGAIN_MS)))
}

/// The time has come; or it was told by a clock that was ahead, and means nothing: it is tried again.
fn is_over(until: u64, told_at: u64, wall_ms: u64) -> bool {
    until <= wall_ms
        || told_at > wall_ms.saturating_add(SKEW_MS)
        || until - wall_ms > ACCOUNT_RESET_MAX_MS
}

/// Its account has no room for long, or was refused again right after it had some.
fn waits_long(state: &State, mate: &Teammate, wall_ms: u64) -> bool {
    let Some((_, account)) = account_of(state, mate) else { return false };
    let is_long = |until: u64| until.saturating_sub(wall_ms) > FALL_OVER_MS;
    full(state, account, mate).is_some_and(|until| account.refusals > 1 || is_long(until))
}

/// Who is to go on with something else, and whose life has to end for that.
fn switches_owed(state: &State, wall_ms: u64) -> Vec<Act> {
    if state.accounts.is_empty() {
        return Vec::new();
    }
    let owed = state.choosing().filter_map(|(who, mate)| {
        if state.teams[&who.team].phase != TeamPhase::Active || mate.life == Life::Removed {
            return None;
        }
        // The life that ends is over before anything else is decided about it.
        match mate.switches {
            // What it holds it gives back by itself, or ends: no deadline may cost it an attempt.
            true if mate.shutdown.is_some() || mate.stays || !mate.holds.is_empty() => None,
            true => {
                let whom = Whom::Teammate(current(who, mate));
                let deadline_ms = state.teams[&who.team].setup.shutdown_ms;
                let reason = format!("it goes on with {}", AgentChoice::of(&mate.profile).name());
                Some(Act::RequestShutdown { whom, reason, deadline_ms })
            }
            false => {
                let is_due = |back: bool| back || waits_long(state, mate, wall_ms);
                let choice = other_choice(state, mate).filter(|(_, back)| is_due(*back));
                choice.map(|_| Act::FallOver { who: who.clone() })
            }
        }
    });
    owed.collect()
}

pub(crate) fn decide_set(
    state: &State,
    by: &Actor,
    who: &Address,
    account: &Name,
    subscription: bool,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "say which account an agent has")?;
    let mate = state.require_member(who)?;
    if mate.account.as_ref() == Some(account) {
        return Ok(Vec::new());
    }
    let (who, account) = (who.clone(), account.clone());
    Ok(vec![Event::TeammateAccount { who, account, subscription }])
}

/// The account that somebody speaks of: a teammate of its own, the runtime and a person of any.
fn spoken_of(
    state: &State,
    by: &Actor,
    account: Option<&Name>,
    what: &'static str,
) -> Result<Name, Refusal> {
    let not_theirs = || Refusal::NotTheirs { by: by.clone(), what };
    let found = match by {
        Actor::Teammate(_) => {
            let (_, mate) = state.require_teammate(by, what)?;
            mate.account.clone().filter(|own| account.is_none_or(|named| named == own))
        }
        Actor::Outside => None,
        Actor::Runtime | Actor::Person => account.cloned(),
    };
    let found = found.ok_or_else(not_theirs)?;
    require_known(state, &found)?;
    Ok(found)
}

fn require_known<'a>(state: &'a State, account: &Name) -> Result<&'a Account, Refusal> {
    state.accounts.get(account).ok_or_else(|| Refusal::UnknownAccount {
        account: account.clone(),
        accounts: state.accounts.keys().cloned().collect(),
    })
}

pub(crate) fn decide_windows(
    state: &State,
    by: &Actor,
    account: Option<&Name>,
    told: &[Window],
    at: u64,
) -> Result<Vec<Event>, Refusal> {
    let account = spoken_of(state, by, account, "tell of that account's windows")?;
    for window in told {
        check_texts(&[("the window's name", &window.name, WINDOW_NAME_BYTES_MAX)])?;
    }
    let known = &state.accounts[&account].windows;
    let mut windows = merged(known, told, at);
    if !caps(state).resumes {
        keep_full(state, &state.accounts[&account], &mut windows);
    }
    if windows.len() > WINDOWS_MAX {
        let (size, limit) = (windows.len(), WINDOWS_MAX);
        return Err(Refusal::OverLimit { what: "the account", size, limit, unit: "windows" });
    }
    if windows == *known {
        return Ok(Vec::new());
    }
    let after = Account { windows: windows.clone(), ..state.accounts[&account].clone() };
    let woken = woken(state, &account, &after);
    Ok([Event::AccountTold { account, windows }].into_iter().chain(woken).collect())
}

/// What is told anew stands in place of what was; what is not known any more is left out.
fn merged(known: &[Window], told: &[Window], at: u64) -> Vec<Window> {
    let mut windows: Vec<Window> = known.to_vec();
    for window in told {
        let mut window = window.clone();
        let is_past = window.resets_at.is_some_and(|reset| reset <= at);
        window.resets_at = window.resets_at.and_then(|reset| believed(reset, at));
        let before = windows.iter().find(|before| before.name == window.name);
        // Several programs tell of one span, and not in the order of their requests.
        if let Some(before) = before.filter(|before| is_same_span(before, &window) && !window.pace)
        {
            window.used = window.used.map(|used| used.max(before.used.unwrap_or(0)));
            window.resets_at = before.resets_at;
        }
        windows.retain(|other| other.name != window.name);
        if window.used.is_some() && !is_past {
            windows.push(window);
        }
    }
    windows.sort_by(|one, other| one.name.cmp(&other.name));
    windows
}

/// Only a person's word lets anybody go on: a window that was full stays so, whatever is told of its next span.
fn keep_full(state: &State, account: &Account, windows: &mut Vec<Window>) {
    let soft = caps(state).soft;
    for (full, _) in account.counted().filter(|(window, _)| window.used >= Some(soft)) {
        let is_it = |window: &&Window| window.name == full.name;
        if !windows.iter().find(is_it).is_some_and(|window| is_same_span(window, full)) {
            windows.retain(|window| window.name != full.name);
            windows.push(full.clone());
        }
    }
    windows.sort_by(|one, other| one.name.cmp(&other.name));
}

fn is_same_span(one: &Window, other: &Window) -> bool {
    match (one.resets_at, other.resets_at) {
        (Some(one), Some(other)) => one.abs_diff(other) <= SAME_RESET_MS,
        (one, other) => one == other,
    }
}

/// A time at which an account may have room again.
fn believed(reset: u64, at: u64) -> Option<u64> {
    (reset > at && reset - at <= ACCOUNT_RESET_MAX_MS).then_some(reset)
}

/// The provider refuses. Told again while it is parked, only another time is news.
pub(crate) fn decide_park(
    state: &State,
    by: &Actor,
    account: Option<&Name>,
    until: Option<u64>,
    reason: &str,
    at: u64,
) -> Result<Vec<Event>, Refusal> {
    let account = spoken_of(state, by, account, "say that an account is refused")?;
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    let found = &state.accounts[&account];
    let told = until.and_then(|until| believed(until, at));
    if found.parked.as_ref().is_some_and(|parked| {
        // Whoever was refused before, or at the same time, tells the same thing.
        told.is_none_or(|told| parked.told && told <= parked.until)
    }) {
        return Ok(Vec::new());
    }
    let was_parked = found.parked.is_some();
    let again = at.saturating_add(again_ms(found.refusals));
    // Refused right after the time it was told, a time that is a moment ahead is not believed again.
    let is_believed =
        |told: u64| found.refusals == 0 || was_parked || told - at >= ACCOUNT_AGAIN_FIRST_MS;
    let until = match told {
        Some(told) if is_believed(told) => told,
        told => again.max(told.unwrap_or_default()),
    };
    let (reason, told) = (reason.to_owned(), told.is_some());
    let mut events = vec![Event::AccountParked {
        account: account.clone(),
        until,
        told,
        reason: reason.clone(),
    }];
    if is_news(found, told, until) {
        let text = format!(
            "account {account} has no room until {}: {reason}; its teammates are parked, nothing \
             has failed{}",
            shipmate_model::account::moment(until),
            match caps(state).resumes {
                true => ", and they go on by themselves",
                false => "; `shipmate account resume` lets them go on",
            }
        );
        events.extend(mail::to_one(state, Recipient::Person, MessageKind::Notice, text, None));
    }
    Ok(events)
}

/// One outage is told of once, however often it is tried again until a model answers, and again where its
/// provider says that it lasts longer.
fn is_news(account: &Account, told: bool, until: u64) -> bool {
    let is_first = account.parked.is_none() && account.refusals == 0;
    is_first || (told && until > account.announced.saturating_add(LONGER_MS))
}

fn again_ms(refusals: u32) -> u64 {
    let doubled = ACCOUNT_AGAIN_FIRST_MS.checked_shl(refusals.min(16)).unwrap_or(u64::MAX);
    doubled.min(ACCOUNT_AGAIN_MAX_MS)
}

pub(crate) fn decide_resume(
    state: &State,
    by: &Actor,
    account: &Name,
    parked: Option<Position>,
) -> Result<Vec<Event>, Refusal> {
    if matches!(by, Actor::Teammate(_) | Actor::Outside) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "let an account go on" });
    }
    let found = require_known(state, account)?;
    match (&found.parked, parked) {
        (Some(is), Some(n)) if is.n != n => {
            Err(Refusal::AccountElsewhere { account: account.clone() })
        }
        (None, Some(_)) => Err(Refusal::AccountElsewhere { account: account.clone() }),
        (None, None) if !found.windows.iter().any(|window| window.resets_at.is_some()) => {
            Ok(Vec::new())
        }
        _ => Ok(resumed(state, account)),
    }
}

fn resumed(state: &State, account: &Name) -> Vec<Event> {
    let woken = woken(state, account, &Account::default());
    [Event::AccountResumed { account: account.clone() }].into_iter().chain(woken).collect()
}

/// Whoever is there, may ask again and has words that it could not answer is woken by one more.
fn woken(state: &State, name: &Name, after: &Account) -> Vec<Event> {
    let before = &state.accounts[name];
    let waiting = holders(state, name).filter(|(_, mate)| {
        let is_closed = |account: &Account| closed(state, account, mate.is_lead()).is_some();
        let has_words = mate.is_running() && mate.profile.hears && !mate.inbox.is_empty();
        has_words && is_closed(before) && !is_closed(after)
    });
    let text = || "your account has room again: go on where you stopped".to_owned();
    waiting.filter_map(|(who, _)| mail::notice(state, who, text())).collect()
}

pub(crate) fn apply_set(state: &mut State, who: &Address, account: &Name, subscription: bool) {
    state.teammate_mut(who).account = Some(account.clone());
    state.accounts.entry(account.clone()).or_default().login |= subscription;
}

pub(crate) fn apply_told(state: &mut State, at: u64, account: &Name, windows: &[Window]) {
    let found = state.accounts.entry(account.clone()).or_default();
    found.told_at = at;
    for window in windows {
        if window.resets_at.is_some() && !found.is_waived(window) {
            found.waived.remove(&window.name);
        }
        let before = found.windows.iter().find(|before| before.name == window.name);
        if before.is_none_or(|before| before.resets_at != window.resets_at) {
            // A span that began while somebody worked is used from nothing.
            let from = if before.is_some() { 0 } else { window.used.unwrap_or_default() };
            found.spans.insert(window.name.clone(), Span { from, settled: 0 });
        }
    }
    found.windows = windows.to_vec();
}

pub(crate) fn apply_parked(state: &mut State, account: &Name, parked: Parked) {
    let found = state.accounts.entry(account.clone()).or_default();
    if is_news(found, parked.told, parked.until) {
        found.announced = parked.until;
    }
    if found.parked.is_none() {
        found.refusals += 1;
    }
    found.parked = Some(parked);
}

/// A person's word holds for the windows that were used up so far, until their resets: they are told anew with
/// the next reply. What the clock alone has ended says nothing of those that are not reset yet.
pub(crate) fn apply_resumed(state: &mut State, at: u64, account: &Name, by_person: bool) {
    let soft = caps(state).soft;
    let found = state.accounts.entry(account.clone()).or_default();
    found.parked = None;
    if by_person {
        let full =
            found.windows.iter().filter(|window| window.used.is_some_and(|used| used >= soft));
        let full = full.filter_map(|window| Some((window.name.clone(), window.resets_at?)));
        found.waived.extend(full.collect::<Vec<_>>());
    }
    let lasts = |window: &Window| !by_person && window.resets_at.is_some_and(|reset| reset > at);
    found.windows.retain(lasts);
    let windows = &found.windows;
    found.spans.retain(|name, _| windows.iter().any(|window| window.name == *name));
}

/// A model has answered somebody: the account has room.
pub(crate) fn apply_answered(state: &mut State, who: &Address) {
    let Some(name) = state.teammates[who].account.clone() else { return };
    if let Some(found) = state.accounts.get_mut(&name).filter(|found| found.parked.is_none()) {
        found.refusals = 0;
    }
}

/// What others on the same account left half done and may go on with.
pub(crate) fn half_done_by_others(
    state: &State,
    me: &TeammateRef,
    mate: &Teammate,
) -> Vec<(TeammateRef, TaskId)> {
    let Some(account) = &mate.account else { return Vec::new() };
    let others = holders(state, account)
        .filter(|(who, other)| **who != me.address && other.is_running() && other.holds.is_empty());
    others.filter_map(|(who, other)| Some((current(who, other), other.parked_task?))).collect()
}

/// Somebody gives a task back for want of room: it goes on with that one.
pub(crate) fn apply_given_back(state: &mut State, id: TaskId) {
    let holder = state.task(id).and_then(|task| task.claim()).map(|claim| claim.by.address.clone());
    let Some(who) = holder.filter(|who| is_parked(state, who, &state.teammates[who])) else {
        return;
    };
    state.teammate_mut(&who).parked_task = Some(id);
}

/// Somebody has done a task: what was used till now tells what one takes.
pub(crate) fn apply_settled(state: &mut State, who: &Address) {
    let Some(name) = state.teammates[who].account.clone() else { return };
    if let Some(found) = state.accounts.get_mut(&name) {
        found.handed_in += 1;
        // Not every program tells what it used.
        if found.parked.is_none() {
            found.refusals = 0;
        }
        found.spans.values_mut().for_each(|span| span.settled += 1);
    }
}

impl Account {
    /// It has windows instead of a price: by its login, or by what its provider tells.
    pub fn is_subscription(&self) -> bool {
        self.login || !self.moved.is_none()
    }

    /// A window at this cap, and when it is reset.
    fn at(&self, cap: u32) -> Option<(&Window, u64)> {
        let full = |(window, _): &(&Window, u64)| window.used.is_some_and(|used| used >= cap);
        self.counted().filter(full).max_by_key(|(_, at)| *at)
    }

    /// The windows that may hold somebody back, and their resets.
    fn counted(&self) -> impl Iterator<Item = (&Window, u64)> {
        let timed = self.windows.iter().filter_map(|window| Some((window, window.resets_at?)));
        timed.filter(|(window, _)| !window.pace && !self.is_waived(window))
    }

    /// A person has let it go on in this span of the window.
    fn is_waived(&self, window: &Window) -> bool {
        let until = self.waived.get(&window.name);
        until.zip(window.resets_at).is_some_and(|(until, reset)| reset <= until + SAME_RESET_MS)
    }

    /// What a task takes of a window, by those that were done in it.
    pub fn per_task(&self, window: &str) -> u32 {
        let used = self.windows.iter().find(|found| found.name == window).and_then(|w| w.used);
        let Span { from, settled } = self.spans.get(window).copied().unwrap_or_default();
        match settled {
            0 => 0,
            settled => used.unwrap_or_default().saturating_sub(from).div_ceil(settled),
        }
    }
}
