//! Accounts: who asks with which, what providers tell and refuse, and when work goes on.

use shipmate_core::state::Teammate;
use shipmate_model::account::Window;
use shipmate_model::{Act, Address, Name};

use super::Chooser;
use crate::simulation::vocabulary::{self, ACCOUNTS};

const WINDOWS: [&str; 2] = ["5 hours", "week"];
const USED: [u32; 8] = [0, 100, 500, 800, 899, 900, 955, 990];

fn name(c: &mut Chooser<'_>) -> Name {
    vocabulary::pick_name(c.random, &ACCOUNTS)
}

/// A teammate speaks of its own without a name, mostly.
fn spoken_of(c: &mut Chooser<'_>) -> Option<Name> {
    let is_own = c.client.is_some() && c.random.chance(900);
    if is_own { None } else { Some(name(c)) }
}

fn now(c: &Chooser<'_>) -> u64 {
    1_000_000 + c.state.position * 1_000
}

/// In the past, soon, or so far off that nobody believes it.
fn time(c: &mut Chooser<'_>) -> Option<u64> {
    let now = now(c);
    match c.random.below(6) {
        0 => None,
        1 => Some(now - 1),
        2 => Some(u64::MAX),
        more => Some(now + more * 60_000),
    }
}

pub(super) fn set(c: &mut Chooser<'_>) -> Option<Act> {
    Some(Act::SetAccount { who: c.mate(), account: name(c), subscription: false })
}

pub(super) fn windows(c: &mut Chooser<'_>) -> Option<Act> {
    let mut windows = Vec::new();
    for name in WINDOWS.iter().take(1 + c.random.index(2)) {
        let used = c.random.chance(900).then(|| USED[c.random.index(USED.len())]);
        windows.push(Window { name: (*name).to_owned(), used, resets_at: time(c), pace: false });
    }
    Some(Act::ReportWindows { account: spoken_of(c), windows, at: now(c) })
}

pub(super) fn park(c: &mut Chooser<'_>) -> Option<Act> {
    let (until, reason, at) = (time(c), c.text("limit"), now(c));
    Some(Act::ParkAccount { account: spoken_of(c), until, reason, at })
}

pub(super) fn resume(c: &mut Chooser<'_>) -> Option<Act> {
    let account = name(c);
    let found = c.state.accounts.get(&account).and_then(|found| found.parked.as_ref());
    let parked = found.map(|parked| parked.n).filter(|_| c.random.chance(700));
    Some(Act::ResumeAccount { account, parked })
}

/// Mostly somebody who has something to fall over to, or to go back to.
pub(super) fn fall_over(c: &mut Chooser<'_>) -> Option<Act> {
    let may = |(who, mate): (&Address, &Teammate)| {
        let held =
            mate.account.as_ref().and_then(|name| c.state.accounts.get(name)?.parked.as_ref());
        (mate.fallen.is_some() || mate.profile.fallback.is_some() && held.is_some())
            .then(|| who.clone())
    };
    let some: Vec<Address> = c.state.teammates.iter().filter_map(may).collect();
    let who = match some.is_empty() || c.random.chance(200) {
        true => c.mate(),
        false => some[c.random.index(some.len())].clone(),
    };
    Some(Act::FallOver { who })
}
