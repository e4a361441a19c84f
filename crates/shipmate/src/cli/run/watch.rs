//! Watching a run until it is over: records in, a table or lines out.
//!
//! One thread follows the log and another waits for signals; this one draws when something
//! happened, and once a second on a terminal, for the clock in the table.

use std::cell::Cell;
use std::io::{BufRead, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shipmate_protocol::client::Heard;
use shipmate_protocol::{Answer, Ask, Notice};

use super::Begun;
use super::account::{Account, PausedBy};
use super::decide::{Decided, decide};
use super::ending::report;
use super::notify::Notifier;
use super::progress::{Event, EventKind, Live, PhaseRow, RunView, is_unicode, write_plain};
use super::report::{Outcome, Report};
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// How often the table is drawn at most, and its clock at least.
const DRAW_EVERY: Duration = Duration::from_millis(100);
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// How long a run must look stuck before it is ended: between two lives it does for a moment.
const STUCK_FOR: Duration = Duration::from_secs(2);
/// How long a lead may take to report on work that is done.
const REPORT_WITHIN: Duration = Duration::from_secs(120);

enum News {
    Record(Box<Value>),
    /// The log is followed, from its beginning or again after the coordinator was away.
    Following,
    Interrupted,
    /// The terminal has another size.
    Resized,
    Ended(Failure),
}

/// A run that was watched to its end.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) account: Account,
    pub(crate) report: Report,
}

impl Watched {
    pub(crate) fn exit(&self) -> Exit {
        match self.report.outcome {
            Outcome::Complete => Exit::Done,
            _ => Exit::Undone,
        }
    }
}

/// Watches a run and reports on it; `None` when the person has left the team at work.
pub(crate) fn watch(
    begun: &Begun,
    mut session: Session,
    link: Option<String>,
) -> Result<Option<Watched>, Failure> {
    let (tell, told) = channel();
    follow(session.again()?, tell.clone());
    interrupts(tell);
    let mut watcher = Watcher::new(begun, &session, link)?;
    let outcome = watcher.until_over(&told, &mut session)?;
    watcher.clear()?;
    let Some(outcome) = outcome else {
        let (team, here) = (&begun.team, session.here());
        if session.screen.json {
            session.screen.json(&serde_json::json!({ "team": team, "detached": true }))?;
        } else {
            session.screen.line(&format!(
                "left at work: `shipmate{here} --team {team} status`, `shipmate{here} --team \
                 {team} shutdown`"
            ))?;
        }
        return Ok(None);
    };
    let (account, notifier) = (watcher.account, watcher.notifier);
    if account.phases.over().is_some() {
        session.ask(Ask::PhasesClose)?;
    }
    let report = report(begun, &mut session, &account, outcome)?;
    match session.screen.json {
        true => session.screen.json(&report)?,
        false => session.screen.print(&report.text(&session.screen))?,
    }
    let told = notifier.tell(&mut std::io::stdout(), &report.in_short());
    told.map_err(|_| Failure::PipeClosed)?;
    Ok(Some(Watched { account, report }))
}

/// Follows the log on a connection of its own.
fn follow(mut session: Session, tell: Sender<News>) {
    std::thread::spawn(move || {
        let after = Cell::new(0);
        let asks = || {
            // The run is over: to ask again would start a coordinator for nobody.
            while tell.send(News::Following).is_err() {
                std::thread::park();
            }
            vec![Ask::Follow { after: after.get() }]
        };
        let followed = session.client.listen(asks, |heard| {
            let Heard::Notice(Notice::Records { records, .. }) = heard else {
                return ControlFlow::Continue(());
            };
            for record in records {
                let record: Value = serde_json::from_str(record.get()).unwrap_or_default();
                after.set(record["n"].as_u64().unwrap_or_default().max(after.get()));
                if tell.send(News::Record(Box::new(record))).is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if let Err(failure) = followed {
            // The watcher has gone when nobody hears it.
            drop(tell.send(News::Ended(failure.into())));
        }
    });
}

/// Tells of Ctrl-C, of a request to end, and of a terminal that was resized.
fn interrupts(tell: Sender<News>) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate), Ok(mut resize)) = (
                signal(SignalKind::interrupt()),
                signal(SignalKind::terminate()),
                signal(SignalKind::window_change()),
            ) else {
                return;
            };
            loop {
                let news = tokio::select! {
                    _ = interrupt.recv() => News::Interrupted,
                    _ = terminate.recv() => News::Interrupted,
                    _ = resize.recv() => News::Resized,
                };
                if tell.send(news).is_err() {
                    return;
                }
            }
        });
    });
}

struct Watcher<'a> {
    begun: &'a Begun,
    account: Account,
    live: Option<Live>,
    notifier: Notifier,
    link: Option<String>,
    here: String,
    quiet: bool,
    events: Vec<Event>,
    drawn_at: Option<Instant>,
    stuck_since: Option<Instant>,
    /// Since when only the lead's report is missing.
    done_since: Option<Instant>,
    /// The last plan of the lead's that was shown.
    shown: Option<u64>,
    /// A shutdown was asked for: the run is over when nobody runs.
    stopping: Option<Outcome>,
}

impl<'a> Watcher<'a> {
    fn new(
        begun: &'a Begun,
        session: &Session,
        link: Option<String>,
    ) -> Result<Watcher<'a>, Failure> {
        let rows = size().map_or(24, |(_, rows)| rows);
        let unicode = is_unicode(|name| std::env::var(name).ok());
        let notify = session.config()?.config.notify;
        Ok(Watcher {
            begun,
            account: Account::default(),
            live: Live::new(session.screen.clone(), rows, unicode),
            notifier: Notifier::new(notify, &session.screen),
            link,
            here: session.here(),
            quiet: session.screen.json,
            events: Vec::new(),
            drawn_at: None,
            stuck_since: None,
            done_since: None,
            shown: None,
            stopping: None,
        })
    }

    /// `None` when the person leaves the team at work.
    fn until_over(
        &mut self,
        told: &Receiver<News>,
        session: &mut Session,
    ) -> Result<Option<Outcome>, Failure> {
        loop {
            match self.wait(told) {
                Some(News::Record(record)) => self.events.extend(self.account.take(&record)),
                Some(News::Interrupted) => match self.ask_person()? {
                    Choice::Detach => return Ok(None),
                    Choice::GoOn => {}
                    Choice::Shutdown => self.shut_down(session, Outcome::Stopped)?,
                },
                Some(News::Ended(failure)) => return Err(failure),
                Some(News::Resized) => self.drawn_at = None,
                Some(News::Following) | None => {}
            }
            self.draw(Some(session))?;
            self.call()?;
            if self.account.is_over() {
                // A playbook may go on without what failed, and is not done for that.
                let counts = self.account.tasks.counts();
                let over = self.account.phases.over();
                let left = over.is_some() && counts.done < counts.total;
                let stopped = over == Some(false) || left;
                return Ok(Some(match (stopped, self.account.done()) {
                    (false, _) => Outcome::Complete,
                    (true, 0) => Outcome::Failed,
                    (true, _) => Outcome::Partial,
                }));
            }
            if self.stopping.is_none() {
                self.look_after_lead(session)?;
            }
            if self.stopping.is_none() {
                self.notice_stuck(session)?;
            }
            let runs = self.account.mates.values().any(|mate| mate.running);
            if let Some(outcome) = self.stopping.filter(|_| !runs) {
                return Ok(Some(outcome));
            }
        }
    }

    /// Calls the person for what began to wait, unless it is decided without them.
    fn call(&mut self) -> Result<(), Failure> {
        let yes = self.begun.goal.is_some_and(|goal| goal.yes);
        let own = self.account.led.open.filter(|_| yes);
        let mut out = std::io::stdout().lock();
        for waits in self.account.decisions() {
            if waits.calls && own != Some(waits.id) && self.stopping.is_none() {
                let called = self.notifier.waits(&mut out, waits.id, &waits.what);
                called.map_err(|_| Failure::PipeClosed)?;
            }
        }
        Ok(())
    }

    /// Waits for news, or for the time to draw the clock or to give up on a stuck run.
    fn wait(&self, told: &Receiver<News>) -> Option<News> {
        let left = |limit: Duration, since: Instant| limit.saturating_sub(since.elapsed());
        let draw = match (&self.live, self.events.is_empty()) {
            (Some(_), false) => Some(DRAW_EVERY),
            (Some(_), true) => Some(CLOCK_EVERY),
            (None, _) => None,
        };
        let stuck = self.stuck_since.map(|since| left(STUCK_FOR, since));
        let report = self.done_since.map(|since| left(REPORT_WITHIN, since));
        match stuck.or(draw).into_iter().chain(report).min() {
            Some(wait) => told.recv_timeout(wait).ok(),
            None => told.recv().ok(),
        }
    }

    /// Shows the lead's plan when it comes; ends the run when none will come, or when the work is
    /// done and the lead does not say so.
    fn look_after_lead(&mut self, session: &mut Session) -> Result<(), Failure> {
        let Some(goal) = self.begun.goal else { return Ok(()) };
        if self.account.led.no_plan.is_some() {
            return self.shut_down(session, Outcome::Failed);
        }
        if let Some(plan) = self.account.led.open.filter(|plan| self.shown != Some(*plan)) {
            self.shown = Some(plan);
            self.clear()?;
            if decide(plan, goal.yes, session)? == Decided::Stop {
                return self.shut_down(session, Outcome::Stopped);
            }
        }
        if !self.account.awaits_report() {
            self.done_since = None;
            return Ok(());
        }
        let since = *self.done_since.get_or_insert_with(Instant::now);
        if since.elapsed() < REPORT_WITHIN {
            return Ok(());
        }
        self.done_since = None;
        self.account.deviates(None, "the lead did not report within 2 minutes");
        self.shut_down(session, Outcome::Complete)
    }

    /// Ends a run in which nothing can happen any more, unless somebody is there to decide.
    fn notice_stuck(&mut self, session: &mut Session) -> Result<(), Failure> {
        // Whoever paused it may let it go on; what the runtime found wrong nobody may see.
        let pause = self.account.paused.as_ref();
        let person = pause.is_some_and(|p| self.live.is_some() || p.by == PausedBy::Somebody);
        // At a terminal a budget may still be raised.
        let person = person || (self.live.is_some() && self.account.is_spent());
        if !self.account.is_stuck() || person || !self.account.waiting.is_empty() {
            self.stuck_since = None;
            return Ok(());
        }
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        if since.elapsed() < STUCK_FOR {
            return Ok(());
        }
        self.stuck_since = None;
        // The runtime may have paused for another reason, and a gate may run for long.
        if self.account.tasks.counts().submitted > 0
            && let Answer::Status(status) = session.ask(Ask::Status)?
            && status.queue.is_some()
        {
            return Ok(());
        }
        let outcome = if self.account.done() > 0 { Outcome::Partial } else { Outcome::Failed };
        self.shut_down(session, outcome)
    }

    fn shut_down(&mut self, session: &mut Session, outcome: Outcome) -> Result<(), Failure> {
        self.stopping = Some(outcome);
        let deadline_ms = session.config()?.config.shutdown_deadline_seconds * 1000;
        // Nobody new may begin while the others end.
        let reason = "the run is ended".to_owned();
        if outcome == Outcome::Stopped {
            session.ask(Ask::TeamPause { reason: reason.clone() })?;
        }
        match session.ask(Ask::Shutdown { name: None, reason, deadline_ms }) {
            Err(failure) if failure.refused().is_some_and(|r| r.code == "NobodyRuns") => Ok(()),
            Err(failure) => Err(failure),
            Ok(_) => Ok(()),
        }
    }

    fn ask_person(&mut self) -> Result<Choice, Failure> {
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if self.stopping.is_some() || !terminal {
            return Ok(Choice::Detach);
        }
        self.clear()?;
        eprint!("[d]etach and leave the team at work, [s]hut it down, or [c]ontinue? ");
        drop(std::io::stderr().flush());
        let mut line = String::new();
        drop(std::io::stdin().lock().read_line(&mut line));
        Ok(match line.trim().chars().next() {
            Some('s') => Choice::Shutdown,
            Some('d') | None => Choice::Detach,
            Some(_) => Choice::GoOn,
        })
    }

    /// Draws if it is time to, or without a session: now, from what is known.
    fn draw(&mut self, session: Option<&mut Session>) -> Result<(), Failure> {
        if self.quiet {
            self.events.clear();
            return Ok(());
        }
        let due = self.drawn_at.is_none_or(|at| at.elapsed() >= DRAW_EVERY);
        if self.live.is_some() && !due && session.is_some() {
            return Ok(());
        }
        self.drawn_at = Some(Instant::now());
        let events = std::mem::take(&mut self.events);
        let mut out = std::io::stdout().lock();
        let Some(live) = &mut self.live else {
            // What is done in another way than asked is said where errors are said.
            let (aside, told): (Vec<Event>, Vec<Event>) =
                events.into_iter().partition(|event| event.kind == EventKind::Fallback);
            drop(write_plain(&mut std::io::stderr().lock(), &aside));
            return write_plain(&mut out, &told).map_err(|_| Failure::PipeClosed);
        };
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let (title, team) = (&self.begun.plan.title, &self.begun.team);
        let mut view = self.account.view(title, team, now_ms as u64, events);
        (view.link, view.here) = (self.link.clone(), self.here.clone());
        if let Some((width, rows)) = size() {
            live.resize(width, rows);
        }
        if let Some(session) = session {
            add_words(&mut view, session);
        }
        live.draw(&mut out, &view).map_err(|_| Failure::PipeClosed)
    }

    fn clear(&mut self) -> Result<(), Failure> {
        self.draw(None)?;
        match &mut self.live {
            Some(live) => {
                live.clear(&mut std::io::stdout().lock()).map_err(|_| Failure::PipeClosed)
            }
            None => Ok(()),
        }
    }
}

/// Columns and rows of the terminal, where there is one.
fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    let known = size.ws_col > 0 && size.ws_row > 0;
    known.then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// What only the coordinator knows: how the phases stand, the agents' last words and what the queue
/// does.
fn add_words(view: &mut RunView, session: &mut Session) {
    let Ok(Answer::Status(status)) = session.ask(Ask::Status) else { return };
    view.gate.clone_from(&status.queue);
    let mut teams: Vec<_> = status.teams.iter().collect();
    teams.sort_by_key(|team| team.name != view.team);
    for team in teams {
        let department = (team.name != view.team).then(|| team.name.clone());
        view.phases.extend(team.phases.iter().map(|phase| PhaseRow {
            team: department.clone(),
            name: phase.name.clone(),
            state: phase.state.clone(),
            round: phase.round,
            why: phase.why.clone(),
        }));
    }
    for row in &mut view.teammates {
        let (team, name) = row.name.split_once('/').unwrap_or((&view.team, &row.name));
        let mate = status.teammates.iter().find(|mate| mate.name == name && mate.team == team);
        let Some(mate) = mate else { continue };
        let said = match mate.state.as_str() {
            // What it holds is shown already.
            "active" => &mate.last_words,
            "idle" if !mate.last_words.is_empty() => &mate.last_words,
            _ => &mate.why,
        };
        said.clone_into(&mut row.last_words);
    }
}

enum Choice {
    Detach,
    GoOn,
    Shutdown,
}
