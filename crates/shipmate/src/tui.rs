//! The terminal screen of a team: board, team, messages, decisions, log.
//!
//! [`App`] is the state and decides what each message does to it; drawing shows it. Both know
//! nothing of the world. This file and what it starts are the world: the keys, the watch over the
//! team, requests and output each have a thread and tell one channel, so the screen never waits for
//! anything but that. What is shown is drawn when it has changed, and once a second for ages.

mod app;
mod draw;
mod form;
#[cfg(test)]
mod frames;
mod input;
mod list;
mod message;
mod outbox;
mod store;
mod tail;
mod terminal;
mod text;
mod theme;
mod words;
mod world;

use std::io::Result;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use shipmate_protocol::view::TeamView;

use crate::time::now_ms;
use app::App;
use message::{Effect, Message};
use terminal::Screen;
pub(crate) use theme::Theme;
pub(crate) use world::Connect;
use world::World;

/// No two frames lie closer together.
const FRAME: Duration = Duration::from_millis(33);
/// Ages are shown in seconds.
const TICK: Duration = Duration::from_secs(1);

/// What the screen begins with.
pub(crate) struct Start {
    pub(crate) connect: Connect,
    pub(crate) trees: Vec<TeamView>,
    pub(crate) theme: Theme,
    /// How long teammates have to answer a request to shut down.
    pub(crate) deadline_ms: u64,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Quit,
    /// A thread failed and said why.
    Panicked,
}

/// Shows the team until the person has seen enough.
pub(crate) fn run(start: Start) -> Result<End> {
    let (tell, heard) = channel();
    terminal::signals(tell.clone())?;
    let screen = Screen::open(tell.clone())?;
    terminal::keys(tell.clone());
    let mut app = App::new(start.theme, now_ms(), start.deadline_ms);
    let world = World::new(start.connect, tell);
    let begin = app.begin(start.trees);
    Running { app, screen, world }.run(&heard, begin)
}

struct Running {
    app: App,
    screen: Screen,
    world: World,
}

impl Running {
    fn run(&mut self, heard: &Receiver<Message>, begin: Vec<Effect>) -> Result<End> {
        if let Some(end) = self.carry_out(begin)? {
            return Ok(end);
        }
        let mut drawn: Option<Instant> = None;
        let mut changed = true;
        loop {
            let since = drawn.map_or(TICK, |drawn| drawn.elapsed());
            if changed && since >= FRAME {
                self.app.now = now_ms();
                let wanted = self.app.wants();
                self.carry_out(wanted)?;
                self.screen.draw(|frame| draw::draw(frame, &self.app))?;
                (drawn, changed) = (Some(Instant::now()), false);
            }
            let since = drawn.map_or(TICK, |drawn| drawn.elapsed());
            let wait = if changed { FRAME } else { TICK }.saturating_sub(since);
            match heard.recv_timeout(wait) {
                Ok(message) => {
                    if let Some(end) = self.hear(message)? {
                        return Ok(end);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(End::Quit),
            }
            changed = true;
        }
    }

    fn hear(&mut self, message: Message) -> Result<Option<End>> {
        if matches!(message, Message::Panicked) {
            return Ok(Some(End::Panicked));
        }
        if matches!(message, Message::Continued) {
            self.screen.again()?;
        }
        let effects = self.app.update(message);
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> Result<Option<End>> {
        for effect in effects {
            match effect {
                Effect::Quit => {
                    // What was decided is sent before the screen is left.
                    if self.app.waiting > 0 {
                        self.world.finish();
                    }
                    return Ok(Some(End::Quit));
                }
                Effect::Suspend => {
                    let said = self.screen.suspend()?;
                    self.app.suspended(said);
                }
                Effect::Redraw => self.screen.again()?,
                effect => {
                    if let Some(found) = self.world.carry_out(effect) {
                        self.app.found(found);
                    }
                }
            }
        }
        Ok(None)
    }
}
