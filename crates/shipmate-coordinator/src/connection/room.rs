//! How much the coordinator keeps for its clients, and for how many of them.
//!
//! Kept is what a client has sent and was not answered for yet, and what it was answered and has
//! not read yet. There is a bound for all connections of one teammate together, one for those of
//! the person, and one for everybody but the person. Past a bound the connection that holds most
//! is cut off, of whoever holds most: a client that asks for little and reads what it gets goes on.
//! One request or answer is never too large by itself, else a large board could neither be made
//! nor shown.
//!
//! Whoever is cut off has lost nothing: it connects again, asks again, and follows on from where
//! it was.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use shipmate_model::Actor;
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Refused};

use super::Connection;

const MIB: usize = 1024 * 1024;

/// Descriptors that are left for logs, git and agents.
const DESCRIPTORS_KEPT: u64 = 256;

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Connections that have not said hello. More than one round of the executor takes in, so
    /// that nobody is cut off who says it at once.
    strangers: usize,
    /// Connections of one teammate. An MCP server may hold one for each of its sessions.
    of_teammate: usize,
    /// Connections of everybody.
    of_all: usize,
    teammate_bytes: usize,
    /// Of all teammates and strangers together.
    others_bytes: usize,
    person_bytes: usize,
}

impl Limits {
    fn here() -> Limits {
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let free = descriptors.unwrap_or(u64::MAX).saturating_sub(DESCRIPTORS_KEPT);
        Limits {
            strangers: 256,
            of_teammate: 640,
            of_all: usize::try_from(free).unwrap_or(usize::MAX).clamp(128, 4096),
            teammate_bytes: 8 * MIB,
            others_bytes: 32 * MIB,
            person_bytes: 24 * MIB,
        }
    }
}

/// Whose connections count together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// It has not said hello.
    Stranger,
    /// It has said who it is, and nobody has looked yet whether that is so.
    Unproven,
    Person,
    Teammate(String),
}

impl Holder {
    pub(super) fn of(actor: &Actor) -> Holder {
        match actor {
            Actor::Teammate(who) => Holder::Teammate(who.address.to_string()),
            _ => Holder::Person,
        }
    }
}

/// What one connection holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) bytes: usize,
    /// It is one answer or one request and nothing else.
    pub(super) is_one: bool,
}

#[derive(Debug, Default)]
struct Holding {
    bytes: usize,
    connections: BTreeMap<u64, Weight>,
}

impl Holding {
    /// What holds most here.
    fn largest(&self) -> Option<(u64, Weight)> {
        let all = self.connections.iter().map(|(id, weight)| (*id, *weight));
        all.max_by_key(|(_, weight)| weight.bytes)
    }

    fn largest_one(&self) -> usize {
        let single = self.connections.values().filter(|weight| weight.is_one);
        single.map(|weight| weight.bytes).max().unwrap_or_default()
    }

    fn set(&mut self, id: u64, weight: Weight) {
        let before = self.connections.insert(id, weight).unwrap_or_default();
        self.bytes = self.bytes - before.bytes + weight.bytes;
    }
}

/// Who holds how much. Connections are numbered in the order in which they came.
#[derive(Debug)]
struct Ledger {
    limits: Limits,
    last: u64,
    holders: BTreeMap<Holder, Holding>,
}

impl Ledger {
    fn new(limits: Limits) -> Ledger {
        Ledger { limits, last: 0, holders: BTreeMap::new() }
    }

    /// Somebody connects. Gives back its number, and whoever has to go for it.
    fn enter(&mut self) -> (u64, Vec<u64>) {
        self.last += 1;
        self.holders.entry(Holder::Stranger).or_default().set(self.last, Weight::default());
        let mut cut = Vec::new();
        let strangers = &self.holders[&Holder::Stranger].connections;
        if strangers.len() > self.limits.strangers {
            cut.extend(strangers.keys().next());
        }
        let all: usize = self.holders.values().map(|holding| holding.connections.len()).sum();
        if cut.is_empty() && all > self.limits.of_all {
            let key = |(who, holding): &(&Holder, &Holding)| {
                (**who != Holder::Person, holding.connections.len())
            };
            let most = self.holders.iter().max_by_key(key);
            cut.extend(most.and_then(|(_, holding)| holding.connections.keys().next_back()));
        }
        (self.last, cut)
    }

    /// A connection turns out to be this one's; refused where that has enough of them.
    fn name(&mut self, id: u64, from: &Holder, to: &Holder) -> Result<(), usize> {
        let max = self.limits.of_teammate;
        let there = self.holders.get(to).map_or(0, |holding| holding.connections.len());
        if matches!(to, Holder::Teammate(_)) && there >= max {
            return Err(max);
        }
        let weight = self.leave(id, from);
        self.holders.entry(to.clone()).or_default().set(id, weight);
        Ok(())
    }

    fn leave(&mut self, id: u64, holder: &Holder) -> Weight {
        let Some(holding) = self.holders.get_mut(holder) else { return Weight::default() };
        let weight = holding.connections.remove(&id).unwrap_or_default();
        holding.bytes -= weight.bytes;
        if holding.connections.is_empty() {
            self.holders.remove(holder);
        }
        weight
    }

    /// A connection holds this much from now on. Gives back whoever has to go for it.
    fn weigh(&mut self, id: u64, holder: &Holder, weight: Weight) -> Vec<u64> {
        let Some(holding) = self.holders.get_mut(holder) else { return Vec::new() };
        if !holding.connections.contains_key(&id) {
            return Vec::new();
        }
        holding.set(id, weight);
        let max = match holder {
            Holder::Person => self.limits.person_bytes,
            _ => self.limits.teammate_bytes,
        };
        let mut cut = Vec::new();
        while holding.bytes > max && holding.bytes - holding.largest_one() > max {
            let Some((id, _)) = holding.largest() else { break };
            holding.set(id, Weight::default());
            cut.push(id);
        }
        while let Some(id) = self.too_much_in_all() {
            cut.push(id);
        }
        cut
    }

    /// Takes from those who are not the person what holds most, where they hold too much.
    fn too_much_in_all(&mut self) -> Option<u64> {
        let max = self.limits.others_bytes;
        let others = || self.holders.iter().filter(|(who, _)| **who != Holder::Person);
        let bytes: usize = others().map(|(_, holding)| holding.bytes).sum();
        if bytes <= max {
            return None;
        }
        let answer = others().map(|(_, holding)| holding.largest_one()).max();
        if bytes - answer.unwrap_or_default() <= max {
            return None;
        }
        let others = self.holders.iter_mut().filter(|(who, _)| **who != Holder::Person);
        let (_, most) = others.max_by_key(|(_, holding)| holding.bytes)?;
        let (id, _) = most.largest()?;
        most.set(id, Weight::default());
        Some(id)
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Room {
    ledger: RefCell<Ledger>,
    connections: RefCell<BTreeMap<u64, Weak<Connection>>>,
    /// What is read goes through here, so that whoever sends nothing holds nothing.
    pub(super) scratch: RefCell<Vec<u8>>,
}

impl Room {
    pub(crate) fn new() -> Rc<Room> {
        Rc::new(Room {
            ledger: RefCell::new(Ledger::new(Limits::here())),
            connections: RefCell::default(),
            scratch: RefCell::new(vec![0; 64 * 1024]),
        })
    }

    /// Makes room for a connection, and says by which number it is known.
    pub(super) fn enter(&self) -> u64 {
        let (id, cut) = self.ledger.borrow_mut().enter();
        for connection in cut.into_iter().filter_map(|id| self.connection(id)) {
            // Without a word: a client that was only slow tries again.
            connection.close();
        }
        id
    }

    pub(super) fn seat(&self, connection: &Rc<Connection>, id: u64) {
        self.connections.borrow_mut().insert(id, Rc::downgrade(connection));
    }

    pub(super) fn name(&self, id: u64, from: &Holder, to: &Holder) -> Result<(), Refused> {
        self.ledger.borrow_mut().name(id, from, to).map_err(|max| {
            let text = format!("there are {max} connections of this teammate, and no more can be");
            refused(Code::TooManyConnections, text, "close one of them first")
        })
    }

    pub(super) fn leave(&self, id: u64, holder: &Holder) {
        self.ledger.borrow_mut().leave(id, holder);
        self.connections.borrow_mut().remove(&id);
    }

    pub(super) fn weigh(&self, id: u64, holder: &Holder, weight: Weight) {
        let cut = self.ledger.borrow_mut().weigh(id, holder, weight);
        for connection in cut.into_iter().filter_map(|id| self.connection(id)) {
            let text = "too much is kept for this client: requests that are not whole, or answers \
                        that it does not read";
            let remedy = "read what you are answered, and send less at once; then connect again";
            connection.cut(&refused(Code::TooMuchKept, text.to_owned(), remedy));
        }
    }

    fn connection(&self, id: u64) -> Option<Rc<Connection>> {
        self.connections.borrow().get(&id).and_then(Weak::upgrade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        strangers: 3,
        of_teammate: 4,
        of_all: 8,
        teammate_bytes: 100,
        others_bytes: 250,
        person_bytes: 300,
    };

    /// One step a line: `in`, `ID is NAME`, `ID holds N`, `ID answered N` (one answer and nothing
    /// else), `ID out`; what comes after the arrow is who has to go.
    fn check(script: &str) {
        let mut ledger = Ledger::new(SMALL);
        let mut known: BTreeMap<u64, Holder> = BTreeMap::new();
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (step, expected) = line.split_once(" => ").unwrap_or((line, ""));
            let words: Vec<&str> = step.split_whitespace().collect();
            let id = words[0].parse().unwrap_or_default();
            let weight = |is_one| Weight { bytes: words[2].parse().unwrap(), is_one };
            let cut = match words[1..].first().copied() {
                None => {
                    let (id, cut) = ledger.enter();
                    known.insert(id, Holder::Stranger);
                    cut
                }
                Some("is") => {
                    let to = match words[2] {
                        "person" => Holder::Person,
                        name => Holder::Teammate(name.to_owned()),
                    };
                    if ledger.name(id, &known[&id], &to).is_err() {
                        assert_eq!(expected, "refused", "{line}");
                        continue;
                    }
                    known.insert(id, to);
                    Vec::new()
                }
                Some("holds") => ledger.weigh(id, &known[&id], weight(false)),
                Some("answered") => ledger.weigh(id, &known[&id], weight(true)),
                _ => {
                    ledger.leave(id, &known[&id]);
                    Vec::new()
                }
            };
            for id in &cut {
                ledger.leave(*id, &known[id]);
            }
            let cut: Vec<String> = cut.iter().map(ToString::to_string).collect();
            assert_eq!(cut.join(" "), expected, "{line}");
        }
        for holding in ledger.holders.values() {
            let sum: usize = holding.connections.values().map(|weight| weight.bytes).sum();
            assert_eq!(holding.bytes, sum);
        }
    }

    #[test]
    fn a_teammate_that_holds_too_much_loses_the_connection_that_holds_most() {
        check(
            "
            in
            1 is ana
            in
            2 is ana
            in
            3 is bo
            1 holds 40
            2 holds 50
            3 holds 60
            1 holds 60 => 1
            2 holds 90
            3 holds 101 => 3
            ",
        );
    }

    #[test]
    fn all_teammates_together_hold_no_more_than_their_share_and_the_person_has_its_own() {
        check(
            "
            in
            1 is person
            1 holds 299
            in
            2 is ana
            2 holds 90
            in
            3 is bo
            3 holds 95
            in
            4 is cy
            4 holds 60
            in
            5 is di
            5 holds 10 => 3
            5 holds 90
            1 holds 301 => 1
            ",
        );
    }

    #[test]
    fn one_answer_is_never_too_large_by_itself() {
        check(
            "
            in
            1 is ana
            1 answered 5000
            in
            2 is ana
            2 holds 90
            2 holds 101 => 1 2
            in
            3 is bo
            3 answered 5000
            in
            4 is cy
            4 answered 4000 => 3
            ",
        );
    }

    #[test]
    fn who_does_not_say_who_it_is_goes_first_and_who_has_most_connections_goes_next() {
        check(
            "
            in
            in
            in
            in => 1
            2 is ana
            3 is ana
            4 is ana
            in
            5 is ana
            in
            6 is ana => refused
            6 is bo
            in
            7 is bo
            in
            8 is person
            in
            9 out
            in
            in => 5
            ",
        );
    }
}
