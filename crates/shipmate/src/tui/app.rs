//! The state of the screen, and what each message does to it. Nothing here touches the terminal,
//! the network or the clock: what has to be done comes back as effects.

pub(super) mod keys;

use std::cell::RefCell;

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::view::words::short;
use shipmate_protocol::view::{Delta, LogLine, NoteView, TaskView, TeamView};
use shipmate_protocol::watch::TaskPage;
use shipmate_protocol::{Answer, Ask, ClientFailure, answers, verbs};

use super::form::Form;
use super::input::Input;
use super::list::{List, Scroll};
use super::message::{Asked, Effect, Found, Message, Output, Then};
use super::outbox::Outbox;
use super::store::{Filter, Store};
use super::tail::Tail;
use super::theme::Theme;

/// The screens, in the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Teams,
    Board,
    Team,
    Messages,
    Decisions,
    Log,
}

impl Place {
    pub(super) const ALL: [(char, Place, &str); 5] = [
        ('1', Place::Board, "Board"),
        ('3', Place::Team, "Team"),
        ('4', Place::Messages, "Messages"),
        ('5', Place::Decisions, "Decisions"),
        ('6', Place::Log, "Log"),
    ];

    pub(super) fn next(self, step: usize) -> Place {
        let at = Place::ALL.iter().position(|(_, place, _)| *place == self).unwrap_or(0);
        Place::ALL[(at + step) % Place::ALL.len()].1
    }
}

/// What is opened over a screen.
#[derive(Debug)]
pub(super) enum Page {
    Task {
        id: u32,
        view: Option<Box<TaskView>>,
        page: Option<Box<TaskPage>>,
        scroll: Scroll,
    },
    Teammate {
        address: String,
        tail: Tail,
        scroll: Scroll,
    },
    Thread {
        first: u64,
        scroll: Scroll,
    },
    Record {
        n: u64,
        text: Option<String>,
        scroll: Scroll,
    },
    /// The team's scratchpad, as of a record.
    Notes {
        as_of: u64,
        notes: Option<Vec<NoteView>>,
        scroll: Scroll,
    },
}

impl Page {
    pub(super) fn scroll(&self) -> &Scroll {
        match self {
            Page::Task { scroll, .. }
            | Page::Teammate { scroll, .. }
            | Page::Thread { scroll, .. }
            | Page::Record { scroll, .. }
            | Page::Notes { scroll, .. } => scroll,
        }
    }
}

/// How something ended that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Done(String),
    Refused(String),
}

#[derive(Debug)]
pub(crate) struct App {
    pub(super) theme: Theme,
    /// Milliseconds since 1970, as of the last look at the clock.
    pub(crate) now: u64,
    pub(super) deadline_ms: u64,
    pub(super) store: Store,
    /// The root of the tree that is shown, and whether there is something to show.
    pub(super) watched: String,
    pub(super) live: bool,
    /// The trees that can be shown.
    pub(super) trees: Vec<TeamView>,
    pub(super) place: Place,
    pub(super) pages: Vec<Page>,
    pub(super) choice: List<String>,
    pub(super) board: List<u32>,
    pub(super) team: List<String>,
    pub(super) messages: List<u64>,
    pub(super) decisions: List<String>,
    /// What was decided, instead of what waits.
    pub(super) is_past: bool,
    pub(super) decided: List<u64>,
    pub(super) outbox: Outbox,
    /// The decision that the last frame showed; only that one is decided by a key.
    pub(super) seen: RefCell<Option<String>>,
    pub(super) log: List<u64>,
    pub(super) filter: Filter,
    pub(super) search: String,
    pub(super) typing: Option<Input>,
    /// The option that is marked, and in which decision.
    pub(super) marked: Option<(String, usize)>,
    pub(super) detail: Scroll,
    pub(super) form: Option<Form>,
    pub(super) help: Option<Scroll>,
    pub(super) said: Option<Said>,
    /// Why nothing is heard any more.
    pub(super) over: Option<String>,
    /// Acts that are not answered yet.
    pub(super) waiting: usize,
    /// What is shown of a task is older than the log.
    stale: bool,
    /// The older part was asked for and has not come, or there is none.
    pub(super) all_messages: bool,
    pub(super) all_lines: bool,
}

impl App {
    pub(crate) fn new(theme: Theme, now: u64, deadline_ms: u64) -> App {
        App {
            theme,
            now,
            deadline_ms,
            store: Store::default(),
            watched: String::new(),
            live: false,
            trees: Vec::new(),
            place: Place::Board,
            pages: Vec::new(),
            choice: List::new(),
            board: List::new(),
            team: List::new(),
            messages: List::following(),
            decisions: List::by_hand(),
            is_past: false,
            decided: List::new(),
            outbox: Outbox::default(),
            seen: RefCell::default(),
            log: List::following(),
            filter: Filter::default(),
            search: String::new(),
            typing: None,
            marked: None,
            detail: Scroll::default(),
            form: None,
            help: None,
            said: None,
            over: None,
            waiting: 0,
            stale: false,
            all_messages: false,
            all_lines: false,
        }
    }

    /// Chooses among these trees; one alone is shown at once.
    pub(crate) fn begin(&mut self, trees: Vec<TeamView>) -> Vec<Effect> {
        self.trees = trees;
        self.choice.set(self.trees.iter().map(|tree| tree.name.clone()).collect());
        match self.trees.as_slice() {
            [only] => self.watch(only.name.clone()),
            _ => {
                self.place = Place::Teams;
                Vec::new()
            }
        }
    }

    /// Shows this tree from now on.
    pub(super) fn watch(&mut self, root: String) -> Vec<Effect> {
        self.place = Place::Board;
        self.live = false;
        self.over = None;
        self.watched.clone_from(&root);
        vec![Effect::Watch(root)]
    }

    pub(crate) fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) => return self.key(key),
            Message::Paste(text) => self.paste(&text),
            Message::Resized | Message::Continued => {}
            Message::Delta(delta) => self.take(*delta),
            Message::Over(root, failure) if root == self.watched => {
                self.over = Some(one_line(&failure));
                // It may answer again, or another one in its place.
                if matches!(failure, ClientFailure::Silent(_)) {
                    return vec![Effect::Watch(root)];
                }
            }
            Message::Over(..) => {}
            Message::Answered(then, answer) => return self.answered(then, answer),
            Message::Teams(teams) => match teams {
                Ok(teams) => {
                    self.trees = teams;
                    self.choice.set(self.trees.iter().map(|tree| tree.name.clone()).collect());
                }
                Err(failure) => self.said = Some(Said::Refused(one_line(&failure))),
            },
            Message::Lines(lines) => {
                self.all_lines = lines.is_empty();
                self.store.take_older(lines);
                self.list_log();
            }
            Message::Output(output) => self.output(output),
            Message::Suspend => return vec![Effect::Suspend],
            Message::Quit | Message::Panicked => return self.quit(),
        }
        Vec::new()
    }

    /// Back from a suspension, or why there was none.
    pub(crate) fn suspended(&mut self, said: Option<&str>) {
        self.said = said.map(|said| Said::Refused(said.to_owned())).or(self.said.take());
    }

    /// What the picture had at hand.
    pub(crate) fn found(&mut self, found: Found) {
        match found {
            Found::TaskPage(found) => {
                for open in &mut self.pages {
                    if let Page::Task { id, page, .. } = open
                        && *id == found.card.id
                    {
                        *page = Some(found.clone());
                    }
                }
            }
            Found::Messages(rows) => {
                self.all_messages = rows.is_empty();
                self.store.take_messages(rows);
                self.list_messages();
            }
        }
    }

    /// What is needed before the next frame, at most once for each.
    pub(crate) fn wants(&mut self) -> Vec<Effect> {
        let due = self.outbox.due(self.now);
        let mut wanted = self.send(due);
        wanted.extend(self.wants_of_page());
        wanted
    }

    fn wants_of_page(&mut self) -> Vec<Effect> {
        if !std::mem::take(&mut self.stale) {
            return Vec::new();
        }
        match self.pages.last() {
            Some(Page::Task { id, view, .. }) => {
                let changed = self.store.cards.get(id).map(|card| card.changed_at);
                let known = view.as_ref().map(|view| view.changed_at);
                let mut effects = vec![Effect::TaskPage(*id)];
                if known.is_some() && known != changed {
                    effects.push(self.show_task(*id));
                }
                effects
            }
            Some(Page::Notes { as_of, .. }) => {
                let is_new = |line: &LogLine| line.n > *as_of && line.event.starts_with("note.");
                match self.store.lines.iter().rev().any(is_new) {
                    true => self.list_notes(),
                    false => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn take(&mut self, delta: Delta) {
        // Of the tree that was shown before.
        if delta.root != self.watched {
            return;
        }
        self.stale = true;
        if delta.whole {
            self.live = true;
            self.over = None;
            (self.all_messages, self.all_lines) = (false, false);
            self.store.take(delta);
            return self.list_all();
        }
        let (tasks, messages) = (!delta.tasks.is_empty(), !delta.messages.is_empty());
        let lines = !delta.lines.is_empty();
        self.store.take(delta);
        if tasks {
            self.list_board();
        }
        if messages {
            self.list_messages();
        }
        if lines {
            self.list_log();
        }
        self.list_people();
    }

    pub(super) fn list_all(&mut self) {
        self.list_board();
        self.list_people();
        self.list_messages();
        self.list_log();
    }

    fn list_board(&mut self) {
        self.board.set(self.store.board(self.filter, self.search_in(Place::Board)));
    }

    fn list_people(&mut self) {
        self.team.set(self.store.team_rows(self.search_in(Place::Team)));
        let rows = self.store.decision_rows();
        let is_open = |key: &str| rows.iter().any(|row| row == key);
        for what in self.outbox.look(self.store.position, is_open) {
            let said = format!("not sent: {what}; it waits no more");
            self.said = Some(Said::Refused(said));
        }
        let shown = rows.into_iter().filter(|key| !self.outbox.hides(key));
        self.decisions.set(shown.collect());
        self.decided.set(self.store.decided_rows());
    }

    fn list_messages(&mut self) {
        self.messages.set(self.store.message_rows(self.search_in(Place::Messages)));
    }

    fn list_log(&mut self) {
        self.log.set(self.store.log_rows(self.search_in(Place::Log)));
    }

    fn search_in(&self, place: Place) -> &str {
        if self.place == place { &self.search } else { "" }
    }

    fn answered(&mut self, then: Then, answer: Result<Answer, ClientFailure>) -> Vec<Effect> {
        if then.is_act() {
            self.waiting = self.waiting.saturating_sub(1);
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                self.said = Some(Said::Refused(one_line(&failure)));
                // Nothing that was not accepted looks as if it was.
                if let Then::Decided { key, .. } = &then {
                    self.outbox.refused(key);
                    self.list_people();
                }
                return Vec::new();
            }
        };
        let then = match (then, &answer) {
            (Then::Decided { key, said }, answer) => {
                let last = match answer {
                    Answer::Done { last, .. } => *last,
                    _ => self.store.position,
                };
                self.outbox.accepted(&key, last);
                self.list_people();
                Then::Say(said)
            }
            (then, _) => then,
        };
        match (then, answer) {
            (Then::Say(_), Answer::Unchanged) => {
                let said = "nothing to change: it is so already".to_owned();
                self.said = Some(Said::Done(said));
            }
            (Then::Say(_), Answer::Created(answers::Created { tasks })) => {
                let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
                self.said = Some(Said::Done(format!("created task {}", ids.join(", "))));
                if let Some(id) = tasks.first() {
                    self.board.select(id);
                }
            }
            (Then::Say(_), Answer::Sent(answers::Sent { message, to })) => {
                let to: Vec<&str> = to.iter().map(|to| short(to, &self.store.root)).collect();
                let said = format!("message {message} is on its way to {}", to.join(", "));
                self.said = Some(Said::Done(said));
            }
            (Then::Say(said), _) => self.said = Some(Said::Done(said)),
            (Then::Show(shown), Answer::Task(task)) => {
                for open in &mut self.pages {
                    if let Page::Task { id, view, .. } = open
                        && *id == shown
                    {
                        *view = Some(task.clone());
                    }
                }
            }
            (Then::Notes(asked), Answer::Notes(found)) => {
                for open in &mut self.pages {
                    if let Page::Notes { as_of, notes, .. } = open {
                        (*as_of, *notes) = (asked, Some(found.clone()));
                    }
                }
            }
            (Then::Edit, Answer::Task(task)) => self.form = Some(Form::edit(task)),
            (Then::Record(number), Answer::Log(records)) => {
                let found = records.first().map(|record| pretty(record.get()));
                for open in &mut self.pages {
                    if let Page::Record { n, text, .. } = open
                        && *n == number
                    {
                        text.clone_from(&found);
                    }
                }
            }
            _ => {
                let said = "the coordinator answered with something else".to_owned();
                self.said = Some(Said::Refused(said));
            }
        }
        Vec::new()
    }

    fn output(&mut self, output: Output) {
        for open in &mut self.pages {
            if let Page::Teammate { address, tail, .. } = open {
                tail.take(address, &output);
            }
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(form) = &mut self.form {
            form.paste(text);
        } else if let Some(typing) = &mut self.typing {
            typing.insert(&text.replace(['\n', '\r'], " "));
            self.searched();
        }
    }

    pub(super) fn searched(&mut self) {
        self.search = self.typing.as_ref().map(Input::text).unwrap_or_default().trim().to_owned();
        self.list_all();
    }

    pub(super) fn ask(&mut self, asked: Asked) -> Vec<Effect> {
        self.waiting += usize::from(asked.then.is_act());
        vec![Effect::Ask(Box::new(asked))]
    }

    /// Decides what is looked at, unless it is taken back within a few seconds. The next one is
    /// decided once somebody has chosen it.
    pub(super) fn decide(&mut self, key: String, what: String, asked: Asked, form: Option<Form>) {
        self.said = None;
        self.marked = None;
        self.outbox.hold(self.now, key, what, asked, form);
        self.list_people();
    }

    /// Takes the last decision back that is not sent yet.
    pub(super) fn take_back(&mut self) {
        let Some(held) = self.outbox.take_back() else {
            let said = "everything is sent already".to_owned();
            self.said = Some(Said::Refused(said));
            return;
        };
        self.list_people();
        self.decisions.select(&held.key);
        self.form = held.form;
        self.said = Some(Said::Done(format!("taken back: {}", held.what)));
    }

    pub(super) fn send_now(&mut self) -> Vec<Effect> {
        let held = self.outbox.empty();
        self.send(held)
    }

    fn send(&mut self, asked: Vec<Asked>) -> Vec<Effect> {
        asked.into_iter().flat_map(|asked| self.ask(asked)).collect()
    }

    /// Leaves; what was decided is sent.
    pub(super) fn quit(&mut self) -> Vec<Effect> {
        let mut effects = self.send_now();
        effects.push(Effect::Quit);
        effects
    }

    pub(super) fn show_task(&self, id: u32) -> Effect {
        let team = self.store.cards.get(&id).map(|card| card.team.clone());
        let ask = Ask::TaskShow(verbs::TaskShow { task: id.to_string() });
        Effect::Ask(Box::new(Asked { team, ask, then: Then::Show(id) }))
    }

    pub(super) fn open_task(&mut self, id: u32) -> Vec<Effect> {
        let (view, page, scroll) = (None, None, Scroll::default());
        self.pages.push(Page::Task { id, view, page, scroll });
        vec![Effect::TaskPage(id), self.show_task(id)]
    }

    pub(super) fn open_teammate(&mut self, address: String) -> Vec<Effect> {
        let (mut tail, scroll) = (Tail::default(), Scroll::following());
        let mate = self.store.teammates.get(&address);
        let by_hand =
            mate.is_some_and(|mate| mate.supervision == Supervision::None && mate.epoch > 0);
        if by_hand {
            tail.why = Some("It was started by hand: nobody here sees its output.".to_owned());
        }
        self.pages.push(Page::Teammate { address: address.clone(), tail, scroll });
        vec![Effect::Tail(Some(address).filter(|_| !by_hand))]
    }

    pub(super) fn open_record(&mut self, n: u64) -> Vec<Effect> {
        self.pages.push(Page::Record { n, text: None, scroll: Scroll::default() });
        let ask = Ask::Log(verbs::Log { after: n.saturating_sub(1), max: 1 });
        self.ask(Asked { team: Some(self.store.root.clone()), ask, then: Then::Record(n) })
    }

    pub(super) fn open_notes(&mut self) -> Vec<Effect> {
        if matches!(self.pages.last(), Some(Page::Notes { .. })) {
            return Vec::new();
        }
        let (as_of, notes, scroll) = (self.store.position, None, Scroll::default());
        self.pages.push(Page::Notes { as_of, notes, scroll });
        self.list_notes()
    }

    fn list_notes(&mut self) -> Vec<Effect> {
        // Asked once for what is known now: a later note asks again.
        let now = self.store.position;
        if let Some(Page::Notes { as_of, .. }) = self.pages.last_mut() {
            *as_of = now;
        }
        let ask = Ask::Notes(verbs::Notes::default());
        self.ask(Asked { team: Some(self.store.root.clone()), ask, then: Then::Notes(now) })
    }

    /// Leaves whatever was opened last.
    pub(super) fn back(&mut self) -> Vec<Effect> {
        match self.pages.pop() {
            Some(Page::Teammate { .. }) => return vec![Effect::Tail(None)],
            Some(_) => {}
            None if self.said.take().is_some() => {}
            None if !self.search.is_empty() || self.filter != Filter::All => {
                self.search.clear();
                self.filter = Filter::All;
                self.list_all();
            }
            None if self.place != Place::Board && self.place != Place::Teams => {
                self.go(Place::Board);
            }
            None if self.trees.len() > 1 && self.place != Place::Teams => {
                self.go(Place::Teams);
                return vec![Effect::ListTeams];
            }
            None => {}
        }
        Vec::new()
    }

    pub(super) fn go(&mut self, place: Place) {
        self.pages.clear();
        self.search.clear();
        self.place = place;
        self.is_past = false;
        // Whoever comes here looks at the first of them.
        self.decisions.choose();
        self.detail = Scroll::default();
        self.list_all();
    }

    /// Keys go to whatever lies on top.
    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        keys::key(self, key)
    }

    /// A key of the search line.
    pub(super) fn typed(&mut self, key: KeyEvent) {
        let Some(typing) = &mut self.typing else { return };
        match key.code {
            KeyCode::Enter => self.typing = None,
            KeyCode::Esc => {
                self.typing = None;
                self.search.clear();
                self.list_all();
            }
            _ => {
                typing.key(key);
                self.searched();
            }
        }
    }
}

/// The fact and the remedy beside it.
fn one_line(failure: &ClientFailure) -> String {
    match failure {
        ClientFailure::Refused(refused) => refused.one_line(),
        other => other.to_string().replace("\n  ", "; ").replace('\n', " "),
    }
}

fn pretty(record: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(record);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| record.to_owned())
}
