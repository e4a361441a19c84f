//! Plays a scenario: one command per line, what must come of it behind `=>`.
//!
//! ```text
//! join  ana
//! create "the parser"
//! claim 1 by ana for 60s   => task.claimed
//! claim 1 by bo            => refused: task 1 is claimed by alpha/ana@1
//! wait  60s                => task.released
//! expect 1 pending
//! ```
//!
//! A line without `=>` must succeed. Behind it stand the wire names of all events,
//! or `unchanged`, or `repeated`, or `refused:` and the words of the refusal, where
//! `#` stands for any number. A scenario begins in an empty team `alpha`, unless
//! its first line founds a team itself. Nothing is random and nobody has a clock:
//! `wait` moves the observer's. What the observer sees without a command has verbs of
//! its own: `connect`, `lost`, `progress`, `asked`, `answered`, `restart`, and `clock` sets the
//! wall clock ahead or back; `staff` begins every life that is wanted and `ended` says that a
//! life's process is no more.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_core::{
    Effect, NotSpawned, Observed, Outcome, State, Writer, apply, ended, outstanding,
};
use shipmate_model::command::StartTeammate;
use shipmate_model::event::{MessageId, Record, Token};
use shipmate_model::{Act, Actor, Address, Command, Event, Refusal, TaskId, TeammateRef};

use crate::commands;
use crate::expect;
use crate::words::{Words, duration_ms};

/// What a scenario has touched, for the tests that ask whether all of it was.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) refusals: BTreeSet<String>,
    pub(crate) events: BTreeSet<String>,
    pub(crate) acts: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) writer: Writer,
    pub(crate) records: Vec<Record>,
    pub(crate) labels: BTreeMap<String, u64>,
    /// The token each life last got for each task.
    pub(crate) tokens: BTreeMap<(TaskId, TeammateRef), Token>,
    pub(crate) observed: Observed,
    pub(crate) now_ms: u64,
    /// How far the wall clock is ahead of the observer's.
    ahead_ms: i64,
    pub(crate) touched: Touched,
}

pub(crate) fn check(scenario: &str) {
    play(scenario);
}

pub(crate) fn play(scenario: &str) -> World {
    let mut world = World {
        writer: Writer::new(State::default()),
        records: Vec::new(),
        labels: BTreeMap::new(),
        tokens: BTreeMap::new(),
        observed: Observed::default(),
        now_ms: 1_000_000,
        ahead_ms: 0,
        touched: Touched::default(),
    };
    // A long line goes on behind a backslash, in a raw text as in an ordinary one.
    let scenario = scenario.replace(" \\\n", " ");
    let lines = scenario.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut lines = lines.filter(|line| !line.starts_with("//")).peekable();
    let founds = |line: &&str| line.starts_with("team ") && !line.contains(" under ");
    if !lines.peek().is_some_and(founds) {
        world.line("team alpha");
    }
    for line in lines {
        world.line(line);
    }
    world.refold();
    world
}

impl World {
    pub(crate) fn state(&self) -> &State {
        self.writer.state()
    }

    pub(crate) fn wall_ms(&self) -> u64 {
        self.now_ms.saturating_add_signed(self.ahead_ms)
    }

    fn line(&mut self, line: &str) {
        let (command, expected) = match line.split_once("=>") {
            Some((command, expected)) => (command.trim(), Some(expected.trim())),
            None => (line, None),
        };
        if let Some(rest) = command.strip_prefix("expect ") {
            return expect::check(self, rest, line);
        }
        if let Some(rest) = command.strip_prefix("repeat ") {
            let (times, rest) = rest.split_once(' ').expect("`repeat` takes a number");
            for time in 0..times.parse::<u32>().expect("`repeat` takes a number") {
                self.line(&rest.replace("TIME", &time.to_string()));
            }
            return;
        }
        let came = self.run(command);
        let ok = match expected {
            None => !came.starts_with("refused"),
            Some(expected) => matches_text(expected, &came),
        };
        assert!(ok, "\n  {line}\n  came: {came}\n");
    }

    /// Carries a line out and says in words what came of it.
    fn run(&mut self, line: &str) -> String {
        let (line, req) = match line.strip_prefix("req ") {
            Some(rest) => {
                let (req, line) = rest.split_once(' ').expect("`req` takes client/counter");
                let (client, counter) = req.split_once('/').expect("`req` takes client/counter");
                let counter = counter.parse().expect("a counter is a number");
                let client = client.parse().expect("a client is a name");
                (line, Some(shipmate_model::RequestId { client, counter }))
            }
            None => (line, None),
        };
        let words = Words::read(line);
        match &*words.verb {
            "join" => {
                let added = self.run(&line.replacen("join", "add", 1));
                assert!(!added.starts_with("refused"), "{line}: {added}");
                return self.run(&line.replacen("join", "start", 1));
            }
            "wait" => return self.wait(duration_ms(words.plain(0))),
            "staff" => return self.staff(),
            "ended" => {
                let who = self.life(words.plain(0));
                let reason = words.text("reason", "exit code 1");
                let Some(act) = ended(self.state(), &who, &reason) else {
                    return "unchanged".to_owned();
                };
                self.observed.present.remove(&who);
                return self.give(&Command { by: Actor::Runtime, req: None, act }, None);
            }
            _ if self.observe(&words) => return "unchanged".to_owned(),
            _ => {}
        }
        let (by, act) = match commands::read(self, &words) {
            Ok(command) => command,
            Err(refusal) => return self.refused(&refusal),
        };
        let label = words.get("as").map(str::to_owned);
        self.give(&Command { by, req, act }, label)
    }

    /// What the observer sees, and no command comes of.
    fn observe(&mut self, words: &Words) -> bool {
        match &*words.verb {
            "connect" => drop(self.observed.present.insert(self.life(words.plain(0)))),
            "lost" => drop(self.observed.present.remove(&self.life(words.plain(0)))),
            "progress" => {
                *self.observed.progress.entry(self.life(words.plain(0))).or_default() += 1
            }
            "asked" => {
                let question = words.plain_or(1, "1").parse().expect("a question has a number");
                self.observed.asked.insert(self.life(words.plain(0)), question);
            }
            "clock" => {
                let by_ms = duration_ms(words.plain(1)) as i64;
                self.ahead_ms += if words.plain(0) == "back" { -by_ms } else { by_ms };
            }
            "here" => self.observed.host = Some(words.plain(0).parse().expect("a host is a name")),
            "host-lease" => self.observed.host_lease_ms = Some(duration_ms(words.plain(0))),
            "sign" => {
                let host = words.plain(0).parse().expect("a host is a name");
                *self.observed.host_signs.entry(host).or_default() += 1;
            }
            "answered" => drop(self.observed.asked.remove(&self.life(words.plain(0)))),
            "not-spawned" => {
                let who = self.life(words.plain(0));
                self.observed.present.remove(&who);
                let reason = words.text("reason", "no space left on device");
                let failed = NotSpawned { tries: 0, reason };
                self.observed.not_spawned.entry(who).or_insert(failed).tries += 1;
            }
            // The lives of another observer's time are found by their locks.
            "restart" => {
                let present = std::mem::take(&mut self.observed.present);
                self.observed = Observed::default();
                self.observed.present = present;
            }
            _ => return false,
        }
        self.observed.look(self.writer.state(), self.now_ms);
        true
    }

    /// Begins every life that is wanted, as the runtime does.
    fn staff(&mut self) -> String {
        let owed = outstanding(self.writer.state(), &self.observed, self.now_ms);
        let mut came = Vec::new();
        for effect in owed.effects {
            let Effect::Start(wanted) = effect else { continue };
            let act = Act::StartTeammate(StartTeammate {
                who: wanted.who.clone(),
                token_hash: "hash".to_owned(),
                supervision: wanted.supervision,
                at: None,
            });
            came.push(self.give(&Command { by: Actor::Runtime, req: None, act }, None));
            self.observed.present.insert(self.life(&wanted.who.to_string()));
        }
        if came.is_empty() { "unchanged".to_owned() } else { came.join(", ") }
    }

    fn give(&mut self, command: &Command, label: Option<String>) -> String {
        self.touched.acts.insert(first_word(&format!("{:?}", command.act)));
        // Comparing whole states is for short scenarios.
        let before = (self.state().position < 500).then(|| self.state().clone());
        self.observed.wall_ms = Some(self.wall_ms());
        let outcome = self.writer.handle(self.wall_ms(), command);
        let new = self.writer.confirm();
        if let Some(before) = before.filter(|_| new.is_empty()) {
            assert_eq!(before, *self.state(), "what writes nothing changes nothing: {command:?}");
        }
        self.observed.look(self.writer.state(), self.now_ms);
        let came = match &outcome {
            Outcome::Refused(refusal) => self.refused(refusal),
            Outcome::Unchanged => "unchanged".to_owned(),
            Outcome::Done { .. } if new.is_empty() => "repeated".to_owned(),
            Outcome::Done { first, last } => {
                assert_eq!((*first, *last), (new[0].n, new[new.len() - 1].n));
                if let Some(label) = label {
                    self.labels.insert(label, *first);
                }
                new.iter().map(|record| wire_name(&record.event)).collect::<Vec<_>>().join(", ")
            }
        };
        for record in new {
            if let Event::TaskClaimed { task, by, .. } = &record.event {
                self.tokens.insert((*task, by.clone()), record.n);
            }
            // Whoever is started by hand is there; the runtime's own wait to be spawned.
            if let Event::TeammateStarted { who, .. } = &record.event
                && record.by != Actor::Runtime
            {
                self.observed.present.insert(who.clone());
            }
            let name = wire_name(&record.event);
            assert_eq!(record.event.name(), name, "an event knows its name in the log");
            self.touched.events.insert(name);
            self.records.push(record);
        }
        came
    }

    /// Time passes for the observer, and what is due is asked of the core.
    fn wait(&mut self, ms: u64) -> String {
        self.now_ms += ms;
        self.observed.wall_ms = Some(self.wall_ms());
        let mut came = Vec::new();
        for act in outstanding(self.writer.state(), &self.observed, self.now_ms).due {
            came.push(self.give(&Command { by: Actor::Runtime, req: None, act }, None));
        }
        if came.is_empty() { "unchanged".to_owned() } else { came.join(", ") }
    }

    fn refused(&mut self, refusal: &Refusal) -> String {
        self.touched.refusals.insert(refusal.code().to_string());
        format!("refused: {refusal}").replace('\n', " ")
    }

    /// The log alone gives the same state, and so does a snapshot of it.
    fn refold(&self) {
        let mut folded = State::default();
        for record in &self.records {
            let text = serde_json::to_string(record).expect("a record is JSON");
            let read: Record = serde_json::from_str(&text).expect("a record reads back");
            assert_eq!(*record, read, "a record reads back as it was written");
            apply(&mut folded, &read);
        }
        assert_eq!(folded, *self.state(), "the state is the fold of the log");
        let snapshot = serde_json::to_string(&folded).expect("a state is JSON");
        let restored: State = serde_json::from_str(&snapshot).expect("a snapshot reads back");
        assert_eq!(restored.restore(), folded, "a snapshot restores to the state it was taken of");
    }

    /// `ana` is in the first team; `beta/bo` says its team.
    pub(crate) fn address(&self, text: &str) -> Result<Address, Refusal> {
        if text.contains('/') {
            return Ok(text.parse()?);
        }
        let team = self.state().root.clone().expect("a scenario has a team");
        Ok(Address { team, name: text.parse()? })
    }

    /// `ana` in her present life, `ana@1` in that one.
    pub(crate) fn life(&self, text: &str) -> TeammateRef {
        let (name, epoch) = match text.split_once('@') {
            Some((name, epoch)) => (name, Some(epoch.parse().expect("an epoch is a number"))),
            None => (text, None),
        };
        let address = self.address(name).expect("a name");
        let present = self.state().teammates.get(&address).map_or(1, |mate| mate.epoch);
        TeammateRef { epoch: epoch.unwrap_or(present), address }
    }

    pub(crate) fn label(&self, text: &str) -> u64 {
        let found = self.labels.get(text).copied().or_else(|| text.parse().ok());
        found.unwrap_or_else(|| panic!("nothing was called {text:?}"))
    }

    /// The newest record that `is` accepts.
    pub(crate) fn last(&self, is: impl Fn(&Event) -> bool) -> u64 {
        let found = self.records.iter().rev().find(|record| is(&record.event));
        found.map_or(999, |record| record.n)
    }

    pub(crate) fn inbox(&self, whose: &str) -> Vec<MessageId> {
        if whose == "person" {
            return self.state().person_inbox.iter().copied().collect();
        }
        let address = self.address(whose).expect("a name");
        self.state().teammates[&address].inbox.iter().copied().collect()
    }
}

pub(crate) fn wire_name(event: &Event) -> String {
    let json = serde_json::to_value(event).expect("an event is JSON");
    let object = json.as_object().expect("an event is an object");
    object.keys().next().expect("an event has a name").clone()
}

pub(crate) fn first_word(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// Equal, where `#` in what is expected stands for any number.
pub(crate) fn matches_text(expected: &str, came: &str) -> bool {
    match expected.split_once('#') {
        _ if expected == came => true,
        None => false,
        Some((head, tail)) => came.strip_prefix(head).is_some_and(|rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && matches_text(tail, &rest[digits..])
        }),
    }
}
