//! Waits for the end of those who were asked to stop, as the log tells it.
//!
//! Nobody is waited for without a limit: each request ends with an answer or at its deadline, and
//! both are records.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::view::TeammateView;
use shipmate_protocol::view::words::outcome_words;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;
use crate::record::Record;

/// `team/name@epoch`
pub(crate) fn life(mate: &TeammateView) -> String {
    format!("{}/{}@{}", mate.team, mate.name, mate.epoch)
}

/// What became of those who were asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Became {
    /// All stopped, and left nothing.
    pub(crate) clean: bool,
    /// All stopped by themselves, or because they were ended.
    pub(crate) as_asked: bool,
    /// Somebody said why it does not stop.
    pub(crate) rejected: bool,
}

impl Default for Became {
    /// Nobody was asked yet.
    fn default() -> Became {
        Became { clean: true, as_asked: true, rejected: false }
    }
}

/// Asks, and tells what becomes of each.
pub(crate) fn until_stopped(
    session: &mut Session,
    ask: Ask,
    awaited: &[TeammateView],
) -> Result<Became, Failure> {
    let status = session.ask(verbs::Status)?;
    session.ask(ask)?;
    watch(session, status.position, awaited)
}

/// Tells what becomes of each, as recorded after this position.
pub(crate) fn watch(
    session: &mut Session,
    position: u64,
    awaited: &[TeammateView],
) -> Result<Became, Failure> {
    let mut awaiting = Awaiting {
        lives: awaited.iter().map(life).collect(),
        requests: BTreeMap::new(),
        became: Became::default(),
        screen: session.screen.clone(),
    };
    let mut told = Ok(());
    if awaiting.lives.is_empty() {
        return Ok(awaiting.became);
    }
    session.client.follow(position, |record| {
        let Ok(record) = serde_json::from_str::<Record>(record) else {
            return ControlFlow::Continue(());
        };
        told = awaiting.note(&record);
        match told.is_err() || awaiting.lives.is_empty() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    told.map(|()| awaiting.became)
}

#[derive(Debug)]
struct Awaiting {
    /// Who has not ended yet.
    lives: Vec<String>,
    /// Whose each request is.
    requests: BTreeMap<u64, String>,
    became: Became,
    screen: Screen,
}

impl Awaiting {
    fn note(&mut self, record: &Record) -> Result<(), Failure> {
        let Some((event, fields)) = record.event.iter().next() else { return Ok(()) };
        let who = fields.get("who").and_then(Value::as_str).unwrap_or_default();
        match event.as_str() {
            "shutdown.requested" => {
                self.requests.insert(record.n, who.to_owned());
                Ok(())
            }
            "shutdown.answered" => {
                let asked = fields.get("shutdown").and_then(Value::as_u64);
                let Some(who) = asked.and_then(|id| self.requests.get(&id)).cloned() else {
                    return Ok(());
                };
                let reason = fields.pointer("/answer/rejected/reason").and_then(Value::as_str);
                let Some(reason) = reason else { return Ok(()) };
                self.became.rejected |= self.lives.contains(&who);
                self.ended(&who, &format!("rejected: {reason}"))
            }
            "teammate.stopped" => {
                let outcome = fields.get("outcome").map(outcome_words).unwrap_or_default();
                self.ended(who, &outcome)
            }
            "teammate.disappeared" => {
                let reason = fields.get("reason").and_then(Value::as_str).unwrap_or_default();
                self.ended(who, &format!("disappeared: {reason}"))
            }
            _ => Ok(()),
        }
    }

    fn ended(&mut self, who: &str, outcome: &str) -> Result<(), Failure> {
        let Some(at) = self.lives.iter().position(|life| life == who) else { return Ok(()) };
        self.lives.remove(at);
        let clean = outcome == "clean";
        self.became.clean &= clean;
        self.became.as_asked &= clean || outcome == "forced";
        if self.screen.json {
            return self.screen.json(&json!({ "who": who, "outcome": outcome }));
        }
        let paint = if clean { Paint::Good } else { Paint::Bad };
        let outcome = self.screen.paint(paint, &plain(outcome));
        self.screen.line(&format!("{}: {outcome}", plain(who)))
    }
}
