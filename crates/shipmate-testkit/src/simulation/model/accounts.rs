//! Accounts as the log tells of them, and whether somebody may ask a model with one or take a task.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_core::State;
use shipmate_model::account::{Caps, Window};
use shipmate_model::event::{Event, Record, ReleaseCause, Seat, TaskId};
use shipmate_model::{Act, Actor, Address, Name, Position, TeammateRef};

use super::{LifeFacts, Model, StageFacts};

#[derive(Debug, Clone, Default)]
pub(crate) struct AccountsFacts {
    pub(crate) all: BTreeMap<Name, AccountFacts>,
    pub(crate) of: BTreeMap<Address, Name>,
    /// What somebody gave back for want of room, and has taken nothing since.
    pub(crate) half_done: BTreeMap<Address, TaskId>,
    /// Whose life is the last with its account.
    switching: BTreeSet<Address>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct AccountFacts {
    pub(crate) windows: Vec<Window>,
    pub(crate) parked: Option<Position>,
    /// Every window's use when its span began, and tasks handed in since it did.
    begins: BTreeMap<String, (u32, u32)>,
    /// Windows that a person let it go on in, and the resets they had.
    passed_over: BTreeMap<String, u64>,
}

impl Model {
    pub(super) fn apply_to_accounts(&mut self, record: &Record) {
        match &record.event {
            Event::TeammateAdded { who, .. } => {
                self.accounts.of.remove(who);
                self.accounts.half_done.remove(who);
                self.accounts.switching.remove(who);
            }
            Event::TeammateFellOver { who, back, .. } => {
                assert!(*back || !self.may_begin(who), "{}: {who} had room", record.n);
                match self.mates[who].life == LifeFacts::Running {
                    true => drop(self.accounts.switching.insert(who.clone())),
                    false => drop(self.accounts.of.remove(who)),
                }
            }
            Event::TeammateStopped { who, .. } | Event::TeammateDisappeared { who, .. }
                if self.accounts.switching.remove(&who.address) =>
            {
                self.accounts.of.remove(&who.address);
            }
            Event::TaskAssigned { task, to: Some(to) } => {
                self.accounts.half_done.retain(|who, left| left != task || who.name == *to);
            }
            Event::TaskClaimed { by, .. } => drop(self.accounts.half_done.remove(&by.address)),
            Event::TaskReleased { task, cause: ReleaseCause::GivenBack, .. } => {
                let holder = self.hold(*task).map(|hold| hold.by.address.clone());
                if let Some(who) = holder.filter(|who| !self.may_ask(who)) {
                    self.accounts.half_done.insert(who, *task);
                }
            }
            Event::TeammateAccount { who, account, .. } => {
                self.accounts.of.insert(who.clone(), account.clone());
                self.accounts.all.entry(account.clone()).or_default();
            }
            Event::AccountTold { account, windows } => self.account_mut(account).told(windows),
            Event::AccountParked { account, .. } => {
                self.account_mut(account).parked = Some(record.n);
            }
            Event::AccountResumed { account } => {
                let before = std::mem::take(self.account_mut(account));
                let mut passed_over = before.passed_over;
                if record.by == Actor::Person {
                    let soft = Caps::default().soft;
                    let full = before.windows.iter().filter(|window| window.used >= Some(soft));
                    passed_over.extend(
                        full.filter_map(|window| Some((window.name.clone(), window.resets_at?))),
                    );
                }
                let goes_on = |window: &Window| {
                    record.by != Actor::Person && window.resets_at > Some(record.at)
                };
                let windows = before.windows.into_iter().filter(goes_on).collect::<Vec<_>>();
                let mut begins = before.begins;
                begins.retain(|name, _| windows.iter().any(|window| window.name == *name));
                *self.account_mut(account) =
                    AccountFacts { windows, parked: None, begins, passed_over };
            }
            Event::TaskSubmitted { task, .. } => {
                let holder = self.hold(*task).map(|hold| hold.by.address.clone());
                let account = holder.and_then(|who| self.accounts.of.get(&who).cloned());
                if let Some(account) = account {
                    let begins = self.account_mut(&account).begins.values_mut();
                    begins.for_each(|(_, handed_in)| *handed_in += 1);
                }
            }
            _ => {}
        }
    }

    fn account_mut(&mut self, account: &Name) -> &mut AccountFacts {
        self.accounts.all.get_mut(account).expect("checked before: the account is known")
    }

    fn account_of(&self, who: &Address) -> Option<(&Name, &AccountFacts)> {
        let name = self.accounts.of.get(who)?;
        Some((name, &self.accounts.all[name]))
    }

    /// Its provider lets it ask, as far as is known.
    pub(crate) fn may_ask(&self, who: &Address) -> bool {
        let Some((_, account)) = self.account_of(who) else { return true };
        let caps = Caps::default();
        let is_lead = self.mates[who].seat == Seat::Lead;
        let cap = if is_lead { caps.hard } else { caps.hard - caps.lead };
        account.parked.is_none() && !account.timed().any(|(used, _)| used >= cap)
    }

    /// It may, and could take a task if it leads nobody and holds none.
    fn may_begin(&self, who: &Address) -> bool {
        let soft = Caps::default().soft;
        let life = TeammateRef { address: who.clone(), epoch: self.mates[who].epoch };
        let begins = self.mates[who].seat != Seat::Lead && self.in_hand(&life) == 0;
        let is_short = || {
            let account = self.account_of(who);
            account.is_some_and(|(_, account)| account.timed().any(|(used, _)| used >= soft))
        };
        self.may_ask(who) && !(begins && is_short())
    }

    /// What others on its account left half done, and could take up now.
    pub(crate) fn half_done_by_others(&self, state: &State, me: &TeammateRef) -> Vec<TaskId> {
        let Some(own) = self.accounts.of.get(&me.address) else { return Vec::new() };
        let goes_on = |who: &Address, task: TaskId| {
            let life = TeammateRef { address: who.clone(), epoch: self.mates[who].epoch };
            let is_idle = self.mates[who].life == LifeFacts::Running && self.in_hand(&life) == 0;
            let may_take = |task| self.may_take(&life, task) && self.has_account_room(state, &life);
            is_idle && self.has_free_hands(&life) && self.task(task).is_some_and(may_take)
        };
        let same = |who: &Address| *who != me.address && self.accounts.of.get(who) == Some(own);
        let others = self.accounts.half_done.iter();
        let others = others.filter(|(who, task)| same(who) && goes_on(who, **task));
        others.map(|(_, task)| *task).collect()
    }

    /// There is room for a task beside those that are begun with its account.
    pub(crate) fn has_account_room(&self, state: &State, who: &TeammateRef) -> bool {
        // Its next life takes the next one, unless it would rather stay.
        let stays = || state.teammates[&who.address].stays;
        if self.accounts.switching.contains(&who.address) && !stays() {
            return false;
        }
        let Some((name, account)) = self.account_of(&who.address) else { return true };
        let on = |address: &Address| self.accounts.of.get(address) == Some(name);
        let claimed = self.held().filter(|(_, hold)| hold.stage == StageFacts::Claimed);
        let begun = claimed.filter(|(_, hold)| on(&hold.by.address)).count() as u32;
        let caps = Caps::default();
        account.timed().all(|(used, window)| {
            let all_end = used + account.of_a_task(window) * (begun + 1) <= caps.hard - caps.lead;
            used < caps.soft && (begun == 0 || all_end)
        })
    }

    /// Whether an act about accounts is carried out; nothing of any other act.
    pub(crate) fn account_verdict(&self, by: &Actor, act: &Act) -> Option<bool> {
        let spoken_of = |account: &Option<Name>| match by {
            Actor::Teammate(me) => {
                let own = self.is_current(me).then(|| self.accounts.of.get(&me.address)).flatten();
                own.filter(|own| account.as_ref().is_none_or(|named| named == *own)).cloned()
            }
            Actor::Outside => None,
            Actor::Runtime | Actor::Person => {
                account.clone().filter(|name| self.accounts.all.contains_key(name))
            }
        };
        Some(match act {
            Act::SetAccount { who, .. } | Act::FallOver { who } => {
                *by == Actor::Runtime && self.is_member(who)
            }
            Act::ReportWindows { account, .. } | Act::ParkAccount { account, .. } => {
                spoken_of(account).is_some()
            }
            Act::ResumeAccount { account, parked } => {
                let found = self.accounts.all.get(account);
                matches!(by, Actor::Runtime | Actor::Person)
                    && found.is_some_and(|found| parked.is_none() || found.parked == *parked)
            }
            _ => return None,
        })
    }
}

impl AccountFacts {
    fn told(&mut self, windows: &[Window]) {
        for window in windows {
            if window.resets_at.is_some() && !self.is_passed_over(window) {
                self.passed_over.remove(&window.name);
            }
            let before = self.windows.iter().find(|before| before.name == window.name);
            let goes_on = before.is_some_and(|before| before.resets_at == window.resets_at);
            if !goes_on {
                let begins = before.map_or(window.used.unwrap_or(0), |_| 0);
                self.begins.insert(window.name.clone(), (begins, 0));
            }
        }
        self.windows = windows.to_vec();
    }

    /// Windows whose reset is known: only those hold anybody back.
    fn timed(&self) -> impl Iterator<Item = (u32, &Window)> {
        let timed = self.windows.iter().filter(|window| window.resets_at.is_some());
        let timed = timed.filter(|window| !self.is_passed_over(window));
        timed.map(|window| (window.used.unwrap_or(0), window))
    }

    /// Its reset is not later than that which a person passed over, give or take five minutes.
    fn is_passed_over(&self, window: &Window) -> bool {
        let passed = self.passed_over.get(&window.name).map(|reset| reset + 5 * 60_000);
        window.resets_at.is_some() && window.resets_at <= passed
    }

    fn of_a_task(&self, window: &Window) -> u32 {
        let (begins, handed_in) = self.begins[&window.name];
        let used = window.used.unwrap_or(0).saturating_sub(begins);
        if handed_in == 0 { 0 } else { used.div_ceil(handed_in) }
    }
}
