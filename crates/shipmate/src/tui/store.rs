//! What is known of the tree of teams that is shown, kept from deltas.

use std::collections::{BTreeMap, VecDeque};

use shipmate_protocol::view::words::short;
use shipmate_protocol::view::{
    AccountView, Card, DecidedRow, DecisionView, Delta, HostState, HostView, LogLine, MessageRow,
    TeamView, TeammateView,
};

use super::words::{Standing, name_of, seat_of};

/// Lines of the log that are kept; older ones are asked for again.
const LINES_MAX: usize = 20_000;
const DECIDED_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) root: String,
    pub(super) position: u64,
    pub(super) log: String,
    pub(super) queue: Option<String>,
    pub(super) teams: Vec<TeamView>,
    pub(super) teammates: BTreeMap<String, TeammateView>,
    /// The machines that share the team, but for those that were removed.
    pub(super) hosts: Vec<HostView>,
    pub(super) accounts: Vec<AccountView>,
    pub(super) cards: BTreeMap<u32, Card>,
    pub(super) decisions: Vec<DecisionView>,
    /// What was decided, oldest first.
    pub(super) decided: Vec<DecidedRow>,
    pub(super) messages: BTreeMap<u64, MessageRow>,
    pub(super) lines: VecDeque<LogLine>,
}

/// Which tasks the board shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Filter {
    #[default]
    All,
    Open,
    Working,
    Ready,
    Pending,
    Failed,
    Completed,
}

impl Filter {
    pub(super) fn next(self) -> Filter {
        match self {
            Filter::All => Filter::Open,
            Filter::Open => Filter::Working,
            Filter::Working => Filter::Ready,
            Filter::Ready => Filter::Pending,
            Filter::Pending => Filter::Failed,
            Filter::Failed => Filter::Completed,
            Filter::Completed => Filter::All,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Filter::All => "all",
            Filter::Open => "not completed",
            Filter::Working => "in progress",
            Filter::Ready => "ready",
            Filter::Pending => "pending",
            Filter::Failed => "failed",
            Filter::Completed => "completed",
        }
    }

    fn shows(self, standing: Standing) -> bool {
        use Standing::{Asks, Claimed, Completed, Failed, Pending, Ready, Returned, Submitted};
        match self {
            _ if standing == Standing::Deleted => false,
            Filter::All => true,
            Filter::Open => standing != Completed,
            Filter::Working => matches!(standing, Claimed | Returned | Submitted | Asks),
            Filter::Ready => standing == Ready,
            Filter::Pending => standing == Pending,
            Filter::Failed => standing == Failed,
            Filter::Completed => standing == Completed,
        }
    }
}

pub(super) fn address(mate: &TeammateView) -> String {
    format!("{}/{}", mate.team, mate.name)
}

pub(super) fn decision_key(one: &DecisionView) -> String {
    format!("{} {} {}", one.kind, one.team, one.id)
}

impl Store {
    pub(super) fn take(&mut self, delta: Delta) {
        if delta.whole {
            *self = Store::default();
        }
        self.root = delta.root;
        self.position = delta.position;
        self.log = delta.log;
        self.queue = delta.queue;
        for team in delta.teams {
            match self.teams.iter_mut().find(|known| known.name == team.name) {
                Some(known) => *known = team,
                None => self.teams.push(team),
            }
        }
        for gone in &delta.gone {
            self.teammates.remove(gone);
            self.teams.retain(|team| team.name != *gone);
        }
        self.teammates.extend(delta.teammates.into_iter().map(|mate| (address(&mate), mate)));
        if let Some(mut hosts) = delta.hosts {
            hosts.retain(|host| host.state != HostState::Left);
            self.hosts = hosts;
        }
        if let Some(accounts) = delta.accounts {
            self.accounts = accounts;
        }
        self.cards.extend(delta.tasks.into_iter().map(|card| (card.id, card)));
        if let Some(decisions) = delta.decisions {
            self.decisions = decisions;
        }
        self.decided.extend(delta.decided);
        let over = self.decided.len().saturating_sub(DECIDED_MAX);
        self.decided.drain(..over);
        self.take_messages(delta.messages);
        self.lines.extend(delta.lines);
        while self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }

    pub(super) fn take_messages(&mut self, rows: Vec<MessageRow>) {
        self.messages.extend(rows.into_iter().map(|row| (row.id, row)));
    }

    /// Lines from before those that are there.
    pub(super) fn take_older(&mut self, lines: Vec<LogLine>) {
        let first = self.lines.front().map_or(u64::MAX, |line| line.n);
        for line in lines.into_iter().rev().filter(|line| line.n < first) {
            self.lines.push_front(line);
        }
    }

    pub(super) fn root_team(&self) -> Option<&TeamView> {
        self.team(&self.root)
    }

    pub(super) fn team(&self, name: &str) -> Option<&TeamView> {
        self.teams.iter().find(|team| team.name == name)
    }

    /// The machine that somebody runs on, where there is another one.
    pub(super) fn host_of<'a>(&self, mate: &'a TeammateView) -> Option<&'a str> {
        mate.host.as_deref().filter(|_| self.hosts.len() > 1)
    }

    /// Whoever has the task, in as few words as are clear.
    pub(super) fn who<'a>(&self, who: &'a str) -> &'a str {
        match self.teams.len() {
            0 | 1 => name_of(who),
            _ => short(seat_of(who), &self.root),
        }
    }

    /// Where a task stands. What waits for a person's word is not at the gate.
    pub(super) fn standing(&self, card: &Card) -> Standing {
        let asks = |decision: &DecisionView| decision.task == Some(card.id);
        match Standing::of(card) {
            Standing::Submitted if self.decisions.iter().any(asks) => Standing::Asks,
            standing => standing,
        }
    }

    /// The board from top to bottom.
    pub(super) fn board(&self, filter: Filter, search: &str) -> Vec<u32> {
        let search = search.to_lowercase();
        let shown = self.cards.values().filter_map(|card| {
            let standing = self.standing(card);
            let fits = filter.shows(standing) && found_in_card(card, &search);
            fits.then_some((standing, card))
        });
        let mut rows: Vec<(Standing, i32, u32)> =
            shown.map(|(standing, card)| (standing, order(standing, card), card.id)).collect();
        rows.sort_unstable();
        rows.into_iter().map(|(_, _, id)| id).collect()
    }

    pub(super) fn team_rows(&self, search: &str) -> Vec<String> {
        let search = search.to_lowercase();
        let fits = |mate: &&TeammateView| {
            let role = mate.role.as_deref().unwrap_or_default();
            let words = [&mate.name, &mate.team, &mate.why, &mate.agent, &mate.model];
            let words = words.map(String::as_str).into_iter().chain([mate.state.word(), role]);
            found(words, &search)
        };
        let mut mates: Vec<&TeammateView> = self.teammates.values().filter(fits).collect();
        mates.sort_by_key(|mate| (mate.team != self.root, &mate.team, !mate.lead, &mate.name));
        mates.into_iter().map(address).collect()
    }

    pub(super) fn message_rows(&self, search: &str) -> Vec<u64> {
        let search = search.to_lowercase();
        let fits = |row: &&MessageRow| {
            let to = row.to.iter().map(|to| to.to.as_str());
            found([row.from.as_str(), &row.kind, &row.body].into_iter().chain(to), &search)
        };
        self.messages.values().filter(fits).map(|row| row.id).collect()
    }

    pub(super) fn decision_rows(&self) -> Vec<String> {
        self.decisions.iter().map(decision_key).collect()
    }

    /// The records of what was decided, latest first.
    pub(super) fn decided_rows(&self) -> Vec<u64> {
        self.decided.iter().rev().map(|row| row.n).collect()
    }

    pub(super) fn log_rows(&self, search: &str) -> Vec<u64> {
        let search = search.to_lowercase();
        let fits = |line: &&LogLine| found([line.by.as_str(), &line.event, &line.text], &search);
        self.lines.iter().filter(fits).map(|line| line.n).collect()
    }

    pub(super) fn line(&self, n: u64) -> Option<&LogLine> {
        let at = self.lines.binary_search_by_key(&n, |line| line.n).ok()?;
        self.lines.get(at)
    }

    /// The names that a message or a task may go to.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> =
            self.teammates.keys().map(|address| short(address, &self.root)).collect();
        match names.len() {
            0 => "nobody is in the team yet".to_owned(),
            n if n > 12 => format!("{}, …", names[..12].join(", ")),
            _ => names.join(", "),
        }
    }
}

/// Within a standing: what can be taken by its priority, and the rest by its id.
fn order(standing: Standing, card: &Card) -> i32 {
    match standing {
        Standing::Ready | Standing::Pending => card.priority,
        _ => 0,
    }
}

fn found<'a>(words: impl IntoIterator<Item = &'a str>, search: &str) -> bool {
    search.is_empty() || words.into_iter().any(|word| word.to_lowercase().contains(search))
}

fn found_in_card(card: &Card, search: &str) -> bool {
    if search.is_empty() {
        return true;
    }
    let id = card.id.to_string();
    if search.strip_prefix('#').unwrap_or(search) == id {
        return true;
    }
    let some = [&card.owner, &card.alias, &card.group, &card.role, &card.assignee];
    let some = some.into_iter().flatten().map(String::as_str);
    let files = card.files.iter().map(String::as_str);
    found([card.subject.as_str(), &card.team].into_iter().chain(some).chain(files), search)
}
