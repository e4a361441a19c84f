//! Waits for the end of those who were asked to stop, as the log tells it.
//!
//! Nobody is waited for without a limit: each request ends with an answer or at its deadline, and
//! both are records.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::json;
use shipmate_model::event::{Outcome, ShutdownAnswer};
use shipmate_model::{Event, Record};
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::view::TeammateView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;

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
        match &record.event {
            Event::ShutdownRequested { who, .. } => {
                self.requests.insert(record.n, who.to_string());
                Ok(())
            }
            Event::ShutdownAnswered { shutdown, answer: ShutdownAnswer::Rejected { reason } } => {
                let Some(who) = self.requests.get(shutdown).cloned() else { return Ok(()) };
                self.became.rejected |= self.lives.contains(&who);
                self.ended(&who, None, &format!("rejected: {reason}"))
            }
            Event::TeammateStopped { who, outcome } => {
                self.ended(&who.to_string(), Some(outcome), &outcome.to_string())
            }
            Event::TeammateDisappeared { who, reason, .. } => {
                self.ended(&who.to_string(), None, &format!("disappeared: {reason}"))
            }
            _ => Ok(()),
        }
    }

    /// Without an outcome it did not stop, or not by itself.
    fn ended(&mut self, who: &str, how: Option<&Outcome>, words: &str) -> Result<(), Failure> {
        let Some(at) = self.lives.iter().position(|life| life == who) else { return Ok(()) };
        self.lives.remove(at);
        let clean = how == Some(&Outcome::Clean);
        self.became.clean &= clean;
        self.became.as_asked &= clean || how == Some(&Outcome::Forced);
        if self.screen.json {
            return self.screen.json(&json!({ "who": who, "outcome": words }));
        }
        let paint = if clean { Paint::Good } else { Paint::Bad };
        let outcome = self.screen.paint(paint, &plain(words));
        self.screen.line(&format!("{}: {outcome}", plain(who)))
    }
}
