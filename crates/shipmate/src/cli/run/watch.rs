//! Watching a run until it is over: records in, a table or lines out.
//!
//! One thread follows the log and another waits for signals; this one draws when something
//! happened, and once a second on a terminal, for the clock in the table.

mod news;
mod quiet;
mod rest;

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shipmate_protocol::Ask;
use shipmate_protocol::view::TeammateState;

use super::Begun;
use super::account::Account;
use super::decide::{Decided, approve_teammate_plan, decide};
use super::ending::report;
use super::notify::Notifier;
use super::progress::{Event, EventKind, Live, RunView, is_unicode, write_plain};
use super::report::{Outcome, Report};
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::time::now_ms;
use news::{AGAIN_AFTER, follow};
pub(super) use news::{News, interrupts, read_line};
use quiet::Quiet;
use rest::{REPORT_WITHIN, STUCK_FOR, Stuck};
use shipmate_protocol::verbs;

/// How often the table is drawn at most, and its clock at least.
const DRAW_EVERY: Duration = Duration::from_millis(100);
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// A log that was there for so long is away anew.
const AWAY_ANEW: Duration = Duration::from_secs(10);
/// How often the end of a run asks again for a log that is away.
const AWAY_LOOKS_MAX: u32 = 60;
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
            Outcome::Waits => Exit::Waits,
            _ => Exit::Undone,
        }
    }
}

/// How a run is watched.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    /// The page that shows it, where one is served.
    pub(crate) link: Option<String>,
    /// How long a run waits for a person's word where no terminal is.
    pub(crate) patience: Duration,
}

/// Watches a run and reports on it; `None` when the person has left before it was over.
pub(crate) fn watch(
    begun: &Begun,
    mut session: Session,
    how: Watching,
) -> Result<Option<Watched>, Failure> {
    let (tell, news) = channel();
    follow(session.again()?, tell.clone());
    interrupts(tell.clone());
    let mut watcher = Watcher::new(begun, &session, how, tell)?;
    let outcome = watcher.until_over(&news, &mut session)?;
    watcher.clear()?;
    if watcher.asking {
        eprintln!();
    }
    let Some(outcome) = outcome else {
        leave(begun, &session, watcher.account.stopping.is_some())?;
        return Ok(None);
    };
    let Watcher { account, notifier, .. } = watcher;
    if account.phases.over().is_some() && !account.is_gone {
        patiently(|| session.ask(Ask::PhasesClose))?;
    }
    let report = patiently(|| report(begun, &mut session, &account, outcome))?;
    match session.screen.json {
        true => session.screen.json(&report)?,
        false => session.screen.print(&report.text(&session.screen))?,
    }
    let notified = notifier.notify(&mut std::io::stdout(), &report.in_short());
    notified.map_err(|_| Failure::PipeClosed)?;
    Ok(Some(Watched { account, report }))
}

fn reason_of(failure: &Failure) -> String {
    failure.refused().map(|refused| refused.message.clone()).unwrap_or_default()
}

/// Asks again while the log cannot be reached, though not for ever.
fn patiently<T>(mut ask: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 0..AWAY_LOOKS_MAX {
        match ask() {
            Err(failure) if failure.is_away() => std::thread::park_timeout(AGAIN_AFTER),
            answer => return answer,
        }
    }
    ask()
}

/// Says how it stands with a team whose run is not watched any more.
fn leave(begun: &Begun, session: &Session, is_stopping: bool) -> Result<(), Failure> {
    let own = session.command_for(Some(&begun.team));
    let text = match is_stopping {
        true => format!(
            "the team is still stopping: `{own} status`; go on later with `{own} resume`, take what \
             is done with `{own} merge`"
        ),
        false => format!(
            "left at work: `{own} status`, `{own} tui`, `{own} log --follow`, `{own} shutdown`"
        ),
    };
    let hint = begun.plans_hint(&own).filter(|_| begun.yes && !is_stopping);
    begun.leave(&text, hint, session)
}

struct Watcher<'a> {
    begun: &'a Begun,
    account: Account,
    live: Option<Live>,
    notifier: Notifier,
    how: Watching,
    here: String,
    quiet: bool,
    events: Vec<Event>,
    drawn_at: Option<Instant>,
    stuck: Option<Stuck>,
    /// Since when somebody could take a task and nobody does.
    idle_since: Option<Instant>,
    /// Since when only the lead's report is missing.
    done_since: Option<Instant>,
    /// The last plan of the lead's that was shown.
    shown: Option<u64>,
    /// What was last said about what a team that is being ended waits for.
    stopping_text: String,
    /// Since when only a person's word is missing, and nobody is there to give it.
    waits_since: Option<Instant>,
    /// The last words of everybody when that was looked at.
    last_words: Vec<String>,
    /// The person was asked what Ctrl-C should mean.
    asking: bool,
    /// A line of the terminal is being read.
    reading: bool,
    /// What happened while the person was asked something.
    backlog: VecDeque<News>,
    tell: Sender<News>,
    /// Nobody sees what is typed over the table.
    quiet_keys: Option<Quiet>,
    /// When the log was last found to be out of reach.
    away: Option<Instant>,
    /// How the person wants it to end, until that could be told.
    wants: Option<Outcome>,
}

impl<'a> Watcher<'a> {
    fn new(
        begun: &'a Begun,
        session: &Session,
        how: Watching,
        tell: Sender<News>,
    ) -> Result<Watcher<'a>, Failure> {
        let rows = size().map_or(24, |(_, rows)| rows);
        let unicode = is_unicode(|name| std::env::var(name).ok());
        let notify = session.config()?.config.notify;
        Ok(Watcher {
            begun,
            account: Account::default(),
            live: Live::new(session.screen.clone(), rows, unicode),
            notifier: Notifier::new(notify, &session.screen),
            how,
            here: session.here(),
            quiet: session.screen.json,
            events: Vec::new(),
            drawn_at: None,
            stuck: None,
            idle_since: None,
            done_since: None,
            shown: None,
            stopping_text: String::new(),
            waits_since: None,
            last_words: Vec::new(),
            asking: false,
            reading: false,
            backlog: VecDeque::new(),
            tell,
            quiet_keys: None,
            away: None,
            wants: None,
        })
    }

    /// `None` when the person leaves before it is over.
    fn until_over(
        &mut self,
        news: &Receiver<News>,
        session: &mut Session,
    ) -> Result<Option<Outcome>, Failure> {
        loop {
            match self.wait(news) {
                Some(News::Record(record)) => self.events.extend(self.account.take(&record)),
                Some(News::Unreadable) => self.account.skip(),
                Some(News::Interrupted) => {
                    if self.interrupted()? == Choice::Leave {
                        return Ok(None);
                    }
                }
                Some(News::Typed(line)) => {
                    self.reading = false;
                    match self.answered(line)? {
                        Choice::Leave => return Ok(None),
                        Choice::GoOn => {}
                        Choice::Shutdown => match self.shut_down(session, Outcome::Stopped) {
                            Err(failure) if failure.is_away() => {
                                self.wants = Some(Outcome::Stopped);
                                self.is_away(&reason_of(&failure));
                            }
                            asked => asked?,
                        },
                    }
                }
                Some(News::Ended(failure)) => return Err(failure),
                Some(News::Away(reason)) => self.is_away(&reason),
                Some(News::Resized) => self.drawn_at = None,
                Some(News::Following | News::PageLeft) | None => {}
            }
            self.announce_stopping();
            if !self.asking {
                self.draw(Some(session))?;
            }
            self.call()?;
            if let Some(outcome) = self.account.outcome() {
                return Ok(Some(outcome));
            }
            match self.look_after(news, session) {
                Ok(None) => {}
                Ok(outcome) => return Ok(outcome),
                Err(failure) if failure.is_away() => self.is_away(&reason_of(&failure)),
                Err(failure) => return Err(failure),
            }
            // A view of a terminal is drawn anew by itself.
            if self.live.is_none() && !self.asking {
                self.draw(Some(session))?;
            }
            if let Some(outcome) = self.account.stopping.filter(|_| self.account.has_stopped()) {
                return Ok(Some(outcome));
            }
        }
    }

    /// What has to be done for a run that goes on; how it ends, if it does.
    fn look_after(
        &mut self,
        news: &Receiver<News>,
        session: &mut Session,
    ) -> Result<Option<Outcome>, Failure> {
        if let Some(outcome) = self.wants {
            self.shut_down(session, outcome)?;
            self.wants = None;
        }
        if self.account.stopping.is_none() && !self.asking {
            self.look_after_lead(news, session)?;
        }
        if self.account.stopping.is_none() && !self.asking {
            self.notice_idle(session)?;
            if self.notice_waiting(session)? {
                return Ok(Some(Outcome::Waits));
            }
            self.notice_stuck(session)?;
        }
        Ok(None)
    }

    /// Nothing is known of the team for now: it goes on, and so does this.
    fn is_away(&mut self, reason: &str) {
        // Said once for each time it is away.
        if self.away.is_none_or(|at| at.elapsed() > AWAY_ANEW) {
            let text = format!("{reason}: the agents go on, and this waits");
            let at_ms = self.account.now_ms;
            self.events.push(Event { at_ms, kind: EventKind::Step, text, tally: None });
        }
        self.away = Some(Instant::now());
    }

    /// What a team that is being ended waits for, wherever no table shows it.
    fn announce_stopping(&mut self) {
        if self.account.stopping.is_none() || self.live.is_some() {
            return;
        }
        let left = self.account.left_to_stop();
        if left.is_empty() || left == self.stopping_text {
            return;
        }
        self.stopping_text.clone_from(&left);
        let (at_ms, text) = (self.account.now_ms, format!("stopping: {left}"));
        self.events.push(Event { at_ms, kind: EventKind::Step, text, tally: None });
    }

    /// Calls the person for what began to wait, unless it is decided without them.
    fn call(&mut self) -> Result<(), Failure> {
        let yes = self.begun.yes;
        let own = self.account.led.open.filter(|_| yes);
        let mut out = std::io::stdout().lock();
        for waits in self.account.decisions() {
            if waits.calls && own != Some(waits.id) && self.account.stopping.is_none() {
                let called = self.notifier.waits(&mut out, waits.id, &waits.what);
                called.map_err(|_| Failure::PipeClosed)?;
            }
        }
        Ok(())
    }

    /// Waits for news, or for the time to draw the clock or to give up on a stuck run.
    fn wait(&mut self, news: &Receiver<News>) -> Option<News> {
        if let Some(news) = self.backlog.pop_front() {
            return Some(news);
        }
        let left = |limit: Duration, since: Instant| limit.saturating_sub(since.elapsed());
        let draw = match (&self.live, self.events.is_empty()) {
            (Some(_), false) => Some(DRAW_EVERY),
            (Some(_), true) => Some(CLOCK_EVERY),
            (None, _) => None,
        };
        let stuck = self.until_stuck_look();
        let waits = self.waits_since.map(|since| left(self.waits_for(), since));
        let idle = self.idle_since.filter(|_| self.account.nobody_takes.is_none());
        let idle = idle.map(|since| left(STUCK_FOR, since));
        let report = self.done_since.map(|since| left(REPORT_WITHIN, since));
        // Of a log that is out of reach nothing is asked at once.
        let away = self.away.map_or(Duration::ZERO, |at| left(AGAIN_AFTER, at));
        match stuck.or(draw).into_iter().chain(report).chain(waits).chain(idle).min() {
            Some(wait) => news.recv_timeout(wait.max(away)).ok(),
            None => news.recv().ok(),
        }
    }

    /// Shows the lead's plan when it comes; ends the run when none will come, or when the work is
    /// done and the lead does not say so.
    fn look_after_lead(
        &mut self,
        news: &Receiver<News>,
        session: &mut Session,
    ) -> Result<(), Failure> {
        if self.begun.goal && self.account.led.no_plan.is_some() {
            return self.shut_down(session, Outcome::Failed);
        }
        if let Some(plan) = self.account.led.open.filter(|plan| self.shown != Some(*plan)) {
            self.clear()?;
            let decided =
                decide(plan, self.begun.yes, session, &mut |text| self.prompt(text, news))?;
            self.shown = Some(plan);
            if decided == Decided::Stop {
                self.wants = Some(Outcome::Stopped);
                return self.shut_down(session, Outcome::Stopped).map(|()| self.wants = None);
            }
        }
        if self.begun.yes {
            for plan in self.account.led.undecided() {
                approve_teammate_plan(plan, session)?;
                self.account.led.others.remove(&plan);
            }
        }
        if !self.begun.goal || !self.account.awaits_report() {
            self.done_since = None;
            return Ok(());
        }
        let since = *self.done_since.get_or_insert_with(Instant::now);
        if since.elapsed() < REPORT_WITHIN {
            return Ok(());
        }
        self.done_since = None;
        let status = session.ask(verbs::Status)?;
        self.events.extend(self.account.see_accounts(&status.accounts));
        if !self.account.awaits_report() {
            return Ok(());
        }
        self.account.add_deviation(None, "the lead did not report within 2 minutes");
        self.shut_down(session, Outcome::Complete)
    }

    /// Ctrl-C: the first asks what is meant, the second leaves.
    fn interrupted(&mut self) -> Result<Choice, Failure> {
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if self.account.stopping.is_some() || self.asking || !terminal {
            return Ok(Choice::Leave);
        }
        self.clear()?;
        self.ask("[d]etach and leave the team at work, [s]hut it down, or [c]ontinue? ");
        Ok(Choice::GoOn)
    }

    fn ask(&mut self, text: &str) {
        self.asking = true;
        self.begin_line(text);
    }

    /// Shows what is asked and reads a line, which comes as news.
    fn begin_line(&mut self, text: &str) {
        self.quiet_keys = None;
        eprint!("{text}");
        // A terminal that takes no text will give none either.
        drop(std::io::stderr().flush());
        if !std::mem::replace(&mut self.reading, true) {
            read_line(self.tell.clone());
        }
    }

    /// What the person wants after Ctrl-C.
    fn answered(&mut self, line: Option<String>) -> Result<Choice, Failure> {
        if !std::mem::replace(&mut self.asking, false) {
            return Ok(Choice::GoOn);
        }
        let Some(line) = line else { return Ok(Choice::Leave) };
        Ok(match line.to_lowercase().as_str() {
            "s" | "shut" | "shutdown" | "shut down" => Choice::Shutdown,
            "d" | "detach" => Choice::Leave,
            "c" | "continue" => Choice::GoOn,
            _ => {
                self.ask("type d, s or c, then Enter: [d]etach, [s]hut down, [c]ontinue? ");
                Choice::GoOn
            }
        })
    }

    /// A line of the person's; nothing when there are no more, or at Ctrl-C, which is then heard.
    /// What happens meanwhile is taken in afterwards.
    fn prompt(&mut self, text: &str, news: &Receiver<News>) -> Option<String> {
        self.begin_line(text);
        loop {
            match news.recv().ok()? {
                News::Typed(line) => {
                    self.reading = false;
                    return line;
                }
                News::Interrupted => {
                    eprintln!();
                    self.backlog.push_back(News::Interrupted);
                    return None;
                }
                news => self.backlog.push_back(news),
            }
        }
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
            let (aside, lines): (Vec<Event>, Vec<Event>) =
                events.into_iter().partition(|event| event.kind == EventKind::Fallback);
            drop(write_plain(&mut std::io::stderr().lock(), &aside));
            return write_plain(&mut out, &lines).map_err(|_| Failure::PipeClosed);
        };
        let (title, team) = (&self.begun.plan.title, &self.begun.team);
        let mut view = self.account.view(title, team, now_ms(), events);
        (view.link, view.here) = (self.how.link.clone(), self.here.clone());
        if let Some((width, rows)) = size() {
            live.resize(width, rows);
        }
        if let Some(session) = session {
            add_status(&mut view, session);
            self.quiet_keys.get_or_insert_with(Quiet::begin);
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
fn add_status(view: &mut RunView, session: &mut Session) {
    let Ok(status) = session.ask(verbs::Status) else { return };
    view.gate.clone_from(&status.queue);
    let mut teams: Vec<_> = status.teams.iter().collect();
    teams.sort_by_key(|team| team.name != view.team);
    for team in teams.into_iter().filter(|team| !team.phases.is_empty()) {
        let department = (team.name != view.team).then(|| team.name.clone());
        view.phases.push((department, team.phases.clone()));
    }
    for row in &mut view.teammates {
        let (team, name) = row.name.split_once('/').unwrap_or((&view.team, &row.name));
        let mate = status.teammates.iter().find(|mate| mate.name == name && mate.team == team);
        let Some(mate) = mate else { continue };
        let said = match mate.state {
            // What it holds is shown already.
            TeammateState::Active => &mate.last_words,
            TeammateState::Idle if !mate.last_words.is_empty() => &mate.last_words,
            _ => &mate.why,
        };
        said.clone_into(&mut row.last_words);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Leave,
    GoOn,
    Shutdown,
}
