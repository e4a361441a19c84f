//! The terminal itself: taken over, handed back whatever happens, keys and signals.
//!
//! It is handed back when the screen is closed, when any thread panics, when the process is asked
//! to end and while it is suspended.

use std::io::{Result, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Position, Rect};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::message::Message;

pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(super) fn open(tell: Sender<Message>) -> Result<Screen> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // First, so that what it says is read on the terminal that stays.
            leave();
            before(panic);
            drop(tell.send(Message::Panicked));
        }));
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        let mut screen = Screen { terminal };
        screen.again()?;
        Ok(screen)
    }

    /// Takes the terminal over, whatever somebody else has done to it, and draws everything anew.
    pub(super) fn again(&mut self) -> Result<()> {
        // Its raw mode is remembered as set even where a shell has unset it since.
        disable_raw_mode()?;
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        // Clearing alone would ask the terminal where its cursor is, and the thread that reads the
        // keys would get the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        self.terminal.draw(draw).map(|_| ())
    }

    /// Goes to sleep until the shell wakes it. Without a shell nobody would, and it says so.
    pub(super) fn suspend(&mut self) -> Result<Option<&'static str>> {
        if getsid(None).is_ok_and(|session| session == getpgrp()) {
            return Ok(Some("there is no shell to come back from; q quits"));
        }
        leave();
        // Everything of this job, as the terminal would: a program that waits for this one too.
        kill_current_process_group(Signal::STOP)?;
        self.again()?;
        Ok(None)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Whether the terminal is ours. Handed back twice, the cursor would go back to where it was the
/// first time, over what was said since.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Hands the terminal back. Where that fails there is no terminal any more.
fn leave() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    drop(disable_raw_mode());
    drop(execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show));
}

/// Tells what is typed, on a thread of its own.
pub(super) fn keys(tell: Sender<Message>) {
    std::thread::spawn(move || {
        loop {
            let message = match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Message::Key(key),
                Ok(Event::Paste(text)) => Message::Paste(text),
                Ok(Event::Resize(..)) => Message::Resized,
                Ok(_) => continue,
                // The terminal is gone.
                Err(_) => Message::Quit,
            };
            let last = matches!(message, Message::Quit);
            if tell.send(message).is_err() || last {
                return;
            }
        }
    });
}

/// Tells what the system asks for, on a thread of its own.
pub(super) fn signals(tell: Sender<Message>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut end = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut stop = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    let mut go_on = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    drop(guard);
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let message = tokio::select! {
                    _ = end.recv() => Message::Quit,
                    _ = interrupt.recv() => Message::Quit,
                    _ = hangup.recv() => Message::Quit,
                    _ = stop.recv() => Message::Suspend,
                    _ = go_on.recv() => Message::Continued,
                };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}
