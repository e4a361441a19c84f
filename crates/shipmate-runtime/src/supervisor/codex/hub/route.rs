//! Who gets which line, where several teammates talk to one program.
//!
//! Pure: lines and departures in, lines and settlements out. What must hold: a client sees
//! only its own threads; a thread has one client at a time; and the thread of a client that
//! has gone is handed to nobody before its turn has ended and the program has let go of it.
//! Deliberately absent: patience. A program that never lets go is ended by whoever owns it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

pub(crate) type Client = u64;

/// What the program is told that asks for something nobody here can give.
const NOT_HERE: i64 = -32601;
/// What a client is told whose request is not passed on.
const REFUSED: i64 = -32600;

#[derive(Debug, PartialEq)]
pub(crate) enum Act {
    ToProgram(Value),
    ToClient(Client, Value),
    /// Nothing of this client goes on any more.
    Settled(Client),
}

#[derive(Debug, Default)]
pub(crate) struct Router {
    counter: u64,
    clients: BTreeMap<Client, Presence>,
    threads: BTreeMap<String, Thread>,
    /// Requests that the program has not answered yet.
    asked: BTreeMap<u64, Asked>,
    /// Requests of the program, by their id, and who is to answer them.
    put: BTreeMap<String, Client>,
    /// Requests for a thread that its last client has not let go of yet.
    held: Vec<(String, Client, Value)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    Leaving,
}

#[derive(Debug)]
struct Thread {
    owner: Client,
    /// Requests that may begin something and are not answered yet.
    starting: u32,
    turn: Option<String>,
    /// The last turn that ended: its number may be told after its end.
    ended: Option<String>,
    told: Told,
}

/// What the program was told about a thread that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Interrupt,
    LetGo,
}

#[derive(Debug)]
struct Asked {
    /// Absent where the request is the router's own.
    client: Option<(Client, Value)>,
    what: What,
}

#[derive(Debug)]
enum What {
    Opens,
    TakesUp(String),
    Turn(String),
    LetsGo(String),
    Other,
}

impl Router {
    pub(crate) fn join(&mut self, client: Client) {
        self.clients.insert(client, Presence::Here);
    }

    fn is_here(&self, client: Client) -> bool {
        self.clients.get(&client) == Some(&Presence::Here)
    }

    pub(crate) fn client_says(&mut self, client: Client, message: Value) -> Vec<Act> {
        let mut acts = Vec::new();
        self.sort(client, message, &mut acts);
        acts
    }

    fn sort(&mut self, client: Client, message: Value, acts: &mut Vec<Act>) {
        if !self.is_here(client) {
            return;
        }
        match (message["method"].as_str(), message.get("id")) {
            (Some(_), Some(_)) => self.pass_on(client, message, acts),
            (None, Some(id)) if self.put.get(&id.to_string()) == Some(&client) => {
                self.put.remove(&id.to_string());
                acts.push(Act::ToProgram(message));
            }
            // An answer to what was put to somebody else is nobody's; and the only notification
            // that a client owes the program was sent for all of them.
            _ => {}
        }
    }

    fn pass_on(&mut self, client: Client, mut message: Value, acts: &mut Vec<Act>) {
        let thread = thread_of(&message["params"]).map(str::to_owned);
        let owner = thread.as_ref().and_then(|thread| self.threads.get(thread)).map(|t| t.owner);
        let what = match (message["method"].as_str().unwrap_or_default(), thread, owner) {
            ("thread/start", ..) => What::Opens,
            ("thread/resume", Some(thread), Some(owner)) if owner != client => {
                if self.is_here(owner) {
                    let text = format!("the thread {thread} is another teammate's");
                    return acts.push(refusal(client, &message["id"], &text));
                }
                return self.held.push((thread, client, message));
            }
            ("thread/resume", Some(thread), _) => {
                let known = self.threads.entry(thread.clone());
                known.or_insert(Thread::new(client)).starting += 1;
                What::TakesUp(thread)
            }
            (_, Some(thread), owner) if owner != Some(client) => {
                let text = format!("the thread {thread} was not started or resumed here");
                return acts.push(refusal(client, &message["id"], &text));
            }
            ("turn/start", Some(thread), _) => {
                self.threads.get_mut(&thread).expect("it has an owner").starting += 1;
                What::Turn(thread)
            }
            _ => What::Other,
        };
        let id = message["id"].take();
        message["id"] = self.note(Some((client, id)), what);
        acts.push(Act::ToProgram(message));
    }

    fn note(&mut self, client: Option<(Client, Value)>, what: What) -> Value {
        self.counter += 1;
        self.asked.insert(self.counter, Asked { client, what });
        self.counter.into()
    }

    fn ask(&mut self, method: &str, params: Value, what: What, acts: &mut Vec<Act>) {
        let id = self.note(None, what);
        acts.push(Act::ToProgram(json!({ "id": id, "method": method, "params": params })));
    }

    pub(crate) fn program_says(&mut self, message: Value) -> Vec<Act> {
        let mut acts = Vec::new();
        match (message["method"].as_str(), message.get("id").filter(|id| !id.is_null())) {
            (Some(_), Some(_)) => self.put_to_owner(message, &mut acts),
            (Some(_), None) => self.tell_owner(message, &mut acts),
            (None, Some(_)) => self.answer(message, &mut acts),
            (None, None) => self.tell_all(&message, &mut acts),
        }
        acts
    }

    fn owner_here(&self, params: &Value) -> Option<Client> {
        let thread = self.threads.get(thread_of(params)?)?;
        Some(thread.owner).filter(|owner| self.is_here(*owner))
    }

    fn put_to_owner(&mut self, message: Value, acts: &mut Vec<Act>) {
        match self.owner_here(&message["params"]) {
            Some(owner) => {
                self.put.insert(message["id"].to_string(), owner);
                acts.push(Act::ToClient(owner, message));
            }
            None => acts.push(cannot(message["id"].clone())),
        }
    }

    fn tell_owner(&mut self, message: Value, acts: &mut Vec<Act>) {
        let params = &message["params"];
        let Some(thread) = thread_of(params).map(str::to_owned) else {
            return self.tell_all(&message, acts);
        };
        self.watch(&thread, message["method"].as_str().unwrap_or_default(), params);
        if let Some(owner) = self.owner_here(params) {
            acts.push(Act::ToClient(owner, message));
        }
        self.settle(&thread, acts);
    }

    fn tell_all(&self, message: &Value, acts: &mut Vec<Act>) {
        let here = self.clients.keys().filter(|client| self.is_here(**client));
        acts.extend(here.map(|client| Act::ToClient(*client, message.clone())));
    }

    /// Follows which turn runs in a thread.
    fn watch(&mut self, thread: &str, method: &str, params: &Value) {
        let turn = params["turn"]["id"].as_str().map(str::to_owned);
        if method == "thread/started" {
            // A thread that a thread began by itself has its client.
            let parent = params["thread"]["parentThreadId"].as_str();
            if let Some(parent) = parent.and_then(|parent| self.threads.get(parent)) {
                let owner = parent.owner;
                self.threads.entry(thread.to_owned()).or_insert(Thread::new(owner));
            }
        }
        let Some(known) = self.threads.get_mut(thread) else { return };
        match method {
            "turn/started" if known.ended != turn => known.turn = turn,
            "turn/completed" => {
                if known.turn == turn {
                    known.turn = None;
                }
                known.ended = turn;
            }
            _ => {}
        }
    }

    fn answer(&mut self, mut message: Value, acts: &mut Vec<Act>) {
        let asked = message["id"].as_u64().and_then(|id| self.asked.remove(&id));
        let Some(Asked { client, what }) = asked else { return };
        let went_well = message.get("error").is_none();
        let touched = match what {
            What::Opens => {
                let opened = message["result"]["thread"]["id"].as_str().map(str::to_owned);
                if let (Some(thread), Some((client, _))) = (&opened, &client) {
                    self.threads.insert(thread.clone(), Thread::new(*client));
                }
                opened
            }
            What::TakesUp(thread) => {
                self.begun(&thread, &Value::Null);
                if !went_well {
                    self.remove(&thread, acts);
                }
                Some(thread)
            }
            What::Turn(thread) => {
                self.begun(&thread, &message["result"]["turn"]["id"]);
                Some(thread)
            }
            What::LetsGo(thread) => {
                self.remove(&thread, acts);
                None
            }
            What::Other => None,
        };
        if let Some((client, id)) = client {
            if self.is_here(client) {
                message["id"] = id;
                acts.push(Act::ToClient(client, message));
            }
            self.settle_client(client, acts);
        }
        if let Some(thread) = touched {
            self.settle(&thread, acts);
        }
    }

    fn begun(&mut self, thread: &str, turn: &Value) {
        let Some(known) = self.threads.get_mut(thread) else { return };
        known.starting -= 1;
        let turn = turn.as_str().map(str::to_owned);
        if turn.is_some() && turn != known.ended {
            known.turn = turn;
        }
    }

    /// A client has gone, and with it everything it had going.
    pub(crate) fn left(&mut self, client: Client) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.is_here(client) {
            return acts;
        }
        self.clients.insert(client, Presence::Leaving);
        self.held.retain(|(_, waits, _)| *waits != client);
        let put = std::mem::take(&mut self.put);
        let (theirs, others) = put.into_iter().partition(|(_, whose)| *whose == client);
        self.put = others;
        let ids: BTreeMap<String, Client> = theirs;
        let ids = ids.into_keys().filter_map(|id| serde_json::from_str(&id).ok());
        acts.extend(ids.map(cannot));
        for thread in self.threads_of(client) {
            self.settle(&thread, &mut acts);
        }
        self.settle_client(client, &mut acts);
        acts
    }

    fn threads_of(&self, client: Client) -> BTreeSet<String> {
        let owned = self.threads.iter().filter(|(_, thread)| thread.owner == client);
        owned.map(|(id, _)| id.clone()).collect()
    }

    /// Takes the next step in ending what goes on in a thread whose client has gone.
    fn settle(&mut self, thread: &str, acts: &mut Vec<Act>) {
        let Some(known) = self.threads.get_mut(thread) else { return };
        if self.clients.get(&known.owner) == Some(&Presence::Here) || known.starting > 0 {
            return;
        }
        match (&known.turn, known.told) {
            (Some(turn), Told::Nothing) => {
                known.told = Told::Interrupt;
                // It is answered only if the turn still runs; the turn's end is what counts.
                let params = json!({ "threadId": thread, "turnId": turn });
                self.ask("turn/interrupt", params, What::Other, acts);
            }
            (None, Told::Nothing | Told::Interrupt) => {
                known.told = Told::LetGo;
                let params = json!({ "threadId": thread });
                self.ask("thread/backgroundTerminals/clean", params.clone(), What::Other, acts);
                let lets_go = What::LetsGo(thread.to_owned());
                self.ask("thread/unsubscribe", params, lets_go, acts);
            }
            _ => {}
        }
    }

    /// A thread is nobody's any more: whoever waited for it may have it.
    fn remove(&mut self, thread: &str, acts: &mut Vec<Act>) {
        let Some(known) = self.threads.remove(thread) else { return };
        let held = std::mem::take(&mut self.held);
        let (waits, others) = held.into_iter().partition(|(wanted, ..)| wanted == thread);
        self.held = others;
        let waits: Vec<(String, Client, Value)> = waits;
        for (_, client, message) in waits {
            self.sort(client, message, acts);
        }
        self.settle_client(known.owner, acts);
    }

    fn settle_client(&mut self, client: Client, acts: &mut Vec<Act>) {
        let opens = |asked: &Asked| {
            matches!(asked.what, What::Opens)
                && asked.client.as_ref().is_some_and(|(whose, _)| *whose == client)
        };
        let leaving = self.clients.get(&client) == Some(&Presence::Leaving);
        if leaving && self.threads_of(client).is_empty() && !self.asked.values().any(opens) {
            self.clients.remove(&client);
            acts.push(Act::Settled(client));
        }
    }
}

impl Thread {
    fn new(owner: Client) -> Thread {
        Thread { owner, starting: 0, turn: None, ended: None, told: Told::Nothing }
    }
}

/// The thread that parameters are about.
fn thread_of(params: &Value) -> Option<&str> {
    params["threadId"].as_str().or_else(|| params["thread"]["id"].as_str())
}

fn refusal(client: Client, id: &Value, text: &str) -> Act {
    let error = json!({ "code": REFUSED, "message": text });
    Act::ToClient(client, json!({ "id": id, "error": error }))
}

fn cannot(id: Value) -> Act {
    let error = json!({ "code": NOT_HERE, "message": "there is nobody here who answers that" });
    Act::ToProgram(json!({ "id": id, "error": error }))
}
