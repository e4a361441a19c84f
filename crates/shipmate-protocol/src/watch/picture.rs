//! The picture of a tree of teams that screens show, and the differences between two of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::view::moment::now_ms;
use crate::view::story::Story;
use crate::view::{
    AccountView, Card, CostRow, DecisionView, Delta, GateRow, HostView, LogLine, Look, MessageRow,
    Span, TaskStatus, TeamView, TeammateView,
};

/// What a whole brings of the log; the rest is asked for.
const MESSAGES: usize = 300;
const LINES: usize = 300;
const DECIDED: usize = 200;
/// Signs of life that lie closer together look the same.
const SIGN_MS: u64 = 1_000;

#[derive(Debug, Default)]
pub struct Picture {
    pub story: Story,
    root: String,
    log: String,
    position: u64,
    queue: Option<String>,
    teams: Vec<TeamView>,
    teammates: BTreeMap<String, TeammateView>,
    hosts: Vec<HostView>,
    accounts: Vec<AccountView>,
    cards: BTreeMap<u32, Card>,
    decisions: Vec<DecisionView>,
}

/// What the log has of one task.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TaskPage {
    pub card: Card,
    pub steps: Vec<LogLine>,
    pub gates: Vec<GateRow>,
    pub messages: Vec<MessageRow>,
    pub spans: Vec<Span>,
    pub costs: Vec<CostRow>,
}

impl Picture {
    pub fn new(root: &str) -> Picture {
        Picture { story: Story::new(root), root: root.to_owned(), ..Picture::default() }
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn teams(&self) -> &[TeamView] {
        &self.teams
    }

    pub fn teammates(&self) -> impl Iterator<Item = &TeammateView> {
        self.teammates.values()
    }

    pub fn cards(&self) -> impl Iterator<Item = &Card> {
        self.cards.values()
    }

    pub fn card(&self, id: u32) -> Option<&Card> {
        self.cards.get(&id)
    }

    pub fn decisions(&self) -> &[DecisionView] {
        &self.decisions
    }

    pub fn queue(&self) -> Option<&str> {
        self.queue.as_deref()
    }

    /// Everything, for a screen that knows nothing yet.
    pub fn whole(&self) -> Delta {
        let mut whole = Delta {
            whole: true,
            teams: self.teams.clone(),
            teammates: self.teammates.values().cloned().collect(),
            hosts: Some(self.hosts.clone()).filter(|hosts| !hosts.is_empty()),
            accounts: Some(self.accounts.clone()).filter(|accounts| !accounts.is_empty()),
            tasks: self.cards.values().cloned().collect(),
            decisions: Some(self.decisions.clone()),
            decided: self.story.decided(DECIDED),
            messages: self.story.messages(u64::MAX, MESSAGES),
            lines: self.story.lines(LINES),
            ..Delta::default()
        };
        self.head(&mut whole);
        whole
    }

    /// How things stand now, beside what changed.
    fn head(&self, delta: &mut Delta) {
        delta.position = self.position;
        delta.root.clone_from(&self.root);
        delta.log.clone_from(&self.log);
        delta.queue.clone_from(&self.queue);
        delta.now = now_ms();
    }

    /// A look at another moment, as a whole of its own.
    pub fn then(look: Look, root: &str) -> Delta {
        let mut picture = Picture::new(root);
        picture.take_look(look, &BTreeSet::new(), &mut Delta::default());
        picture.whole()
    }

    /// Takes in a look and adds to the delta what it changed. Tasks in `asked` that the look does
    /// not have are gone.
    pub(super) fn take_look(&mut self, look: Look, asked: &BTreeSet<u32>, delta: &mut Delta) {
        let status = look.status;
        self.log = status.log;
        self.queue = status.queue;
        self.position = status.position;
        if self.root.is_empty() {
            self.root = status.root;
        }
        for team in &status.teams {
            if !self.teams.contains(team) {
                delta.teams.push(team.clone());
            }
        }
        let stays = |name: &String| status.teams.iter().any(|team| team.name == *name);
        let gone = self.teams.iter().map(|team| &team.name).filter(|name| !stays(name));
        delta.gone.extend(gone.cloned());
        self.teams = status.teams;
        let mut here = BTreeSet::new();
        for teammate in status.teammates {
            here.insert(address(&teammate));
            self.take_teammate(teammate, delta);
        }
        let gone = self.teammates.extract_if(.., |who, _| !here.contains(who));
        delta.gone.extend(gone.map(|(who, _)| who));
        self.take_hosts(status.hosts, delta);
        if self.accounts != status.accounts {
            self.accounts = status.accounts;
            delta.accounts = Some(self.accounts.clone());
        }
        for mut card in look.cards {
            card.gate = self.story.gate_mark(card.id);
            if self.cards.get(&card.id) != Some(&card) {
                delta.tasks.push(card.clone());
                self.cards.insert(card.id, card);
            }
        }
        // A gate may have run without anything else about its task having changed.
        for id in asked {
            let mark = self.story.gate_mark(*id);
            let Some(card) = self.cards.get_mut(id).filter(|card| card.gate != mark) else {
                continue;
            };
            card.gate = mark;
            delta.tasks.push(card.clone());
        }
        if self.decisions != look.decisions {
            self.decisions = look.decisions;
            delta.decisions = Some(self.decisions.clone());
        }
        self.head(delta);
    }

    fn take_teammate(&mut self, mut teammate: TeammateView, delta: &mut Delta) {
        // Screens count from the moment itself.
        teammate.silent_ms = None;
        let key = address(&teammate);
        let known = self.teammates.get(&key);
        teammate.sign_at = same_sign(known.and_then(|known| known.sign_at), teammate.sign_at);
        if known != Some(&teammate) {
            delta.teammates.retain(|other| address(other) != key);
            delta.teammates.push(teammate.clone());
            self.teammates.insert(key, teammate);
        }
    }

    pub(super) fn take_hosts(&mut self, mut hosts: Vec<HostView>, delta: &mut Delta) {
        for host in &mut hosts {
            host.silent_ms = None;
            let known = self.hosts.iter().find(|known| known.name == host.name);
            host.sign_at = same_sign(known.and_then(|known| known.sign_at), host.sign_at);
        }
        if self.hosts != hosts {
            self.hosts = hosts;
            delta.hosts = Some(self.hosts.clone());
        }
    }

    pub(super) fn take_signs(
        &mut self,
        signs: Vec<TeammateView>,
        queue: Option<Option<String>>,
        delta: &mut Delta,
    ) {
        for sign in signs {
            // What a record has changed since is newer.
            let known = self.teammates.get(&address(&sign));
            if known.is_some_and(|known| known.epoch == sign.epoch) {
                self.take_teammate(sign, delta);
            }
        }
        if let Some(queue) = queue {
            self.queue = queue;
        }
        self.head(delta);
    }

    /// Gives every card what the gates said of it, once the log was read.
    pub(super) fn mark_gates(&mut self) {
        for card in self.cards.values_mut() {
            card.gate = self.story.gate_mark(card.id);
        }
    }

    pub fn task(&self, id: u32) -> Option<TaskPage> {
        Some(TaskPage {
            card: self.cards.get(&id)?.clone(),
            steps: self.story.steps_of(id),
            gates: self.story.gates_of(id),
            messages: self.story.messages_about(id),
            spans: self.story.spans_of(id),
            costs: self.story.costs_of(id),
        })
    }

    /// The chain of tasks with the longest way to the end, first one first.
    pub fn critical_path(&self) -> Vec<u32> {
        let mut behind: BTreeMap<&str, Vec<&Card>> = BTreeMap::new();
        let mut groups: BTreeMap<&str, Vec<&Card>> = BTreeMap::new();
        let shown = || self.cards.values().filter(|card| card.status != TaskStatus::Deleted);
        for card in shown() {
            for on in &card.blocked_by {
                match on.strip_prefix("group:") {
                    Some(group) => groups.entry(group).or_default().push(card),
                    None => behind.entry(on).or_default().push(card),
                }
            }
        }
        let longest = |cards: &mut dyn Iterator<Item = &Card>| {
            cards.max_by_key(|card| (card.path_ms, std::cmp::Reverse(card.id))).map(|card| card.id)
        };
        let mut path = Vec::new();
        let mut next = longest(&mut shown());
        while let Some(card) = next.and_then(|id| self.cards.get(&id)) {
            // Paths are kept by the core and have no circle; a picture in between two looks may.
            if path.contains(&card.id) {
                break;
            }
            path.push(card.id);
            let id = card.id.to_string();
            let direct = behind.get(id.as_str()).into_iter().flatten();
            let grouped = card.group.as_deref().and_then(|group| groups.get(group));
            next = longest(&mut direct.chain(grouped.into_iter().flatten()).copied());
        }
        path
    }
}

fn same_sign(old: Option<u64>, new: Option<u64>) -> Option<u64> {
    match (old, new) {
        (Some(old), Some(new)) if new.abs_diff(old) < SIGN_MS => Some(old),
        _ => new,
    }
}

fn address(teammate: &TeammateView) -> String {
    format!("{}/{}", teammate.team, teammate.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_as_a_whole_where_one_of_them_changed() {
        let host =
            |sign_at, taken| HostView { sign_at: Some(sign_at), taken, ..HostView::default() };
        let mut picture = Picture::new("alpha");
        assert_eq!(picture.whole().hosts, None);
        let mut told = |view: HostView| {
            let mut delta = Delta::default();
            picture.take_hosts(vec![HostView { silent_ms: Some(7), ..view }], &mut delta);
            delta.hosts
        };
        assert_eq!(told(host(10_000, 0)), Some(vec![host(10_000, 0)]));
        assert_eq!(told(host(10_400, 0)), None);
        assert_eq!(told(host(10_400, 1)), Some(vec![host(10_000, 1)]));
        assert_eq!(told(host(20_000, 1)), Some(vec![host(20_000, 1)]));
        assert_eq!(picture.whole().hosts, Some(vec![host(20_000, 1)]));
    }
}
