//! What a run comes to at its end: tasks, commits, teammates, and how fast it could have been.

use std::collections::BTreeSet;

use shipmate_model::Name;
use shipmate_model::account::Moved;
use shipmate_model::event::Dependency;

use super::super::report::{Commit, NotDone, TaskTally, TeammateTally};
use super::super::spent::{AccountTally, Spent, WindowTally};
use super::super::tasks::{Status, TaskLine};
use super::{Account, MateLine, first_line};

impl Account {
    /// What no team of this size could have beaten, from how long tasks really took.
    pub(crate) fn bound_ms(&self) -> u64 {
        let work: u64 = self.tasks.iter().filter_map(|(_, task)| task.took_ms).sum();
        let hands = self.mates.values().filter(|mate| mate.lives > 0).count().max(1) as u64;
        self.tasks.path(|_| true).1.max(work / hands)
    }

    pub(crate) fn tally(&self) -> TaskTally {
        let open = self.tasks.iter().filter_map(|(id, task)| {
            let (status, why) = match task.status() {
                Status::Completed | Status::Deleted => return None,
                Status::Failed => ("failed", first_line(&task.why).to_owned()),
                Status::Claimed => ("in_progress", format!("with {}", task.owner)),
                Status::Submitted => ("in_progress", self.handed_in(id, task)),
                Status::Pending if task.is_unblocked() => ("pending", free(task)),
                Status::Pending => ("pending", self.blocked_by(task)),
            };
            let (subject, status) = (task.subject.clone(), status.to_owned());
            Some(NotDone { id, subject, status, why })
        });
        let counts = self.tasks.counts();
        TaskTally { total: counts.total, completed: counts.done, not_done: open.collect() }
    }

    /// What keeps work that was handed in from landing.
    fn handed_in(&self, id: u32, task: &TaskLine) -> String {
        let asks = self.waiting.values().find(|waits| waits.task == Some(id));
        let why = match (asks, self.halt()) {
            (Some(waits), _) => format!("waits for the answer to question {}", waits.id),
            (None, Some(pause)) => first_line(&pause.reason).to_owned(),
            (None, None) => "waits for the gate".to_owned(),
        };
        format!("handed in by {}; {why}", task.owner)
    }

    fn blocked_by(&self, task: &TaskLine) -> String {
        let open = task.needs.iter().filter(|need| self.tasks.is_open(need));
        let on = open.map(|need| match need {
            Dependency::Task(id) => id.to_string(),
            Dependency::Group(_) => need.to_string(),
        });
        let on: Vec<String> = on.collect();
        format!("waits for {}", on.join(", "))
    }

    pub(crate) fn commits(&self) -> Vec<Commit> {
        let landed = self
            .tasks
            .iter()
            .filter_map(|(id, task)| Some(Commit { task: id, hash: task.commit.clone()? }));
        landed.collect()
    }

    pub(crate) fn teammates(&self) -> Vec<TeammateTally> {
        let tallies = self.mates.iter().filter(|(_, mate)| mate.lives > 0).map(|(name, mate)| {
            TeammateTally {
                name: name.clone(),
                tasks_done: mate.done,
                busy_ms: mate.busy_ms,
                restarts: mate.lives.saturating_sub(1),
                spent: self.spent_by(mate, |_| true),
                ..TeammateTally::default()
            }
        });
        tallies.collect()
    }

    /// What agents have used.
    pub(crate) fn spent(&self) -> Spent {
        self.mates.values().map(|mate| self.spent_by(mate, |_| true)).sum()
    }

    /// What somebody used with these accounts. Whose account has windows pays by them: what its program says
    /// in dollars is what a key would have paid.
    fn spent_by(&self, mate: &MateLine, is_meant: impl Fn(Option<&Name>) -> bool) -> Spent {
        let meant = mate.used.iter().filter(|(account, _)| is_meant(account.as_ref()));
        let spent = meant.map(|(account, spent)| {
            let has_windows = account
                .as_ref()
                .is_some_and(|name| self.subscriptions.contains(name) || self.has_moved(name));
            match has_windows {
                true => Spent {
                    cost_notional_micros: spent.cost_micros,
                    tokens_subscription: spent.tokens,
                    tokens_subscription_unpriced: spent.tokens_unpriced,
                    tokens_unpriced: 0,
                    ..*spent
                },
                false => *spent,
            }
        });
        spent.sum()
    }

    fn has_moved(&self, account: &Name) -> bool {
        self.moved.get(account).is_some_and(|moved| !moved.is_none())
    }

    /// What the run took of each account.
    pub(crate) fn accounts(&self) -> Vec<AccountTally> {
        let used = self.mates.values().flat_map(|mate| mate.used.keys().flatten());
        let names: BTreeSet<&Name> =
            used.chain(self.moved.keys()).chain(self.parked_ms.keys()).collect();
        let tally = |name: &Name| {
            let windows = self.moved.get(name).into_iter().flat_map(Moved::shares);
            let windows = windows.map(|(name, used)| WindowTally { name: name.to_owned(), used });
            let since = self.parked_at.get(name).map(|at| self.now_ms.saturating_sub(*at));
            let before = self.parked_ms.get(name).copied().unwrap_or_default();
            let own = |account: Option<&Name>| account == Some(name);
            AccountTally {
                name: name.to_string(),
                windows: windows.collect(),
                parked_ms: before + since.unwrap_or_default(),
                spent: self.mates.values().map(|mate| self.spent_by(mate, own)).sum(),
            }
        };
        names.into_iter().map(tally).collect()
    }
}

/// Why nobody works on a task that could be taken.
fn free(task: &TaskLine) -> String {
    match (task.owner.as_str(), first_line(&task.why)) {
        ("", _) => "nobody took it".to_owned(),
        (owner, "") => format!("{owner} had taken it"),
        (owner, why) => format!("{owner} had taken it: {why}"),
    }
}
