//! Watching a run until it is over: records in, a table or lines out.
//!
//! One thread follows the log and another waits for Ctrl-C; this one draws when something
//! happened, and once a second on a terminal, for the clock in the table.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shipmate_protocol::Ask;

use super::Begun;
use super::account::{Account, Status};
use super::progress::{Event, Live, RunView, is_unicode, write_plain};
use super::report::{Outcome, Places, Report};
use super::summary::{Summary, SummaryState, TestsSeen};
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// How often the table is drawn at most, and its clock at least.
const DRAW_EVERY: Duration = Duration::from_millis(100);
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// How long a run must look stuck before it is ended: between two lives it does for a moment.
const STUCK_FOR: Duration = Duration::from_secs(2);

enum News {
    Record(Box<Value>),
    Interrupted,
    Ended(Failure),
}

pub(crate) fn watch(begun: &Begun, mut session: Session) -> Result<Exit, Failure> {
    let (tell, told) = channel();
    follow(session.again()?, tell.clone());
    interrupts(tell);
    let mut watcher = Watcher::new(begun, &session);
    let outcome = watcher.until_over(&told, &mut session)?;
    let Some(outcome) = outcome else {
        watcher.clear()?;
        let team = &begun.team;
        session.screen.line(&format!(
            "left at work: `shipmate --team {team} status`, `shipmate --team {team} shutdown`"
        ))?;
        return Ok(Exit::Done);
    };
    watcher.clear()?;
    let report = report(begun, &mut session, &watcher.account, outcome)?;
    match session.screen.json {
        true => session.screen.json(&report)?,
        false => session.screen.print(&report.text(&session.screen))?,
    }
    Ok(match report.outcome {
        Outcome::Complete => Exit::Done,
        _ => Exit::Undone,
    })
}

/// Follows the log on a connection of its own.
fn follow(mut session: Session, tell: Sender<News>) {
    std::thread::spawn(move || {
        let followed = session.client.follow(0, |text| {
            let record = serde_json::from_str(text).map(Box::new);
            match record.map(|record| tell.send(News::Record(record))) {
                Ok(Ok(())) => std::ops::ControlFlow::Continue(()),
                _ => std::ops::ControlFlow::Break(()),
            }
        });
        if let Err(failure) = followed {
            // The watcher has gone when nobody hears it.
            drop(tell.send(News::Ended(failure.into())));
        }
    });
}

/// Tells of Ctrl-C and of a request to end.
fn interrupts(tell: Sender<News>) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if tell.send(News::Interrupted).is_err() {
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
    quiet: bool,
    events: Vec<Event>,
    drawn_at: Option<Instant>,
    stuck_since: Option<Instant>,
    /// A shutdown was asked for: the run is over when nobody runs.
    stopping: Option<Outcome>,
}

impl<'a> Watcher<'a> {
    fn new(begun: &'a Begun, session: &Session) -> Watcher<'a> {
        let rows = rustix::termios::tcgetwinsize(std::io::stdout());
        let rows = rows.map_or(24, |size| size.ws_row as usize);
        let unicode = is_unicode(|name| std::env::var(name).ok());
        Watcher {
            begun,
            account: Account::default(),
            live: Live::new(session.screen.clone(), rows, unicode),
            quiet: session.screen.json,
            events: Vec::new(),
            drawn_at: None,
            stuck_since: None,
            stopping: None,
        }
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
                Some(News::Interrupted) => match self.ask_person(session)? {
                    Choice::Detach => return Ok(None),
                    Choice::GoOn => {}
                    Choice::Shutdown => self.shut_down(session, Outcome::Stopped)?,
                },
                Some(News::Ended(failure)) => return Err(failure),
                None => {}
            }
            self.draw(Some(session))?;
            if self.account.is_over() {
                return Ok(Some(Outcome::Complete));
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

    /// Waits for news, or for the time to draw the clock or to give up on a stuck run.
    fn wait(&self, told: &Receiver<News>) -> Option<News> {
        let wait = match (&self.live, self.events.is_empty(), self.stuck_since) {
            (_, _, Some(since)) => STUCK_FOR.saturating_sub(since.elapsed()),
            (Some(_), false, None) => DRAW_EVERY,
            (Some(_), true, None) => CLOCK_EVERY,
            (None, _, None) => return told.recv().ok(),
        };
        told.recv_timeout(wait).ok()
    }

    /// Ends a run in which nothing can happen any more, unless somebody is there to decide.
    fn notice_stuck(&mut self, session: &mut Session) -> Result<(), Failure> {
        let person = self.live.is_some() && self.account.paused.is_some();
        if !self.account.is_stuck() || person || !self.account.waiting.is_empty() {
            self.stuck_since = None;
            return Ok(());
        }
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        if since.elapsed() < STUCK_FOR {
            return Ok(());
        }
        self.stuck_since = None;
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

    fn ask_person(&mut self, session: &Session) -> Result<Choice, Failure> {
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if self.stopping.is_some() || !terminal {
            return Ok(Choice::Detach);
        }
        self.clear()?;
        eprint!("[d]etach and leave the team at work, [s]hut it down, or [c]ontinue? ");
        drop(std::io::stderr().flush());
        let mut line = String::new();
        drop(std::io::stdin().lock().read_line(&mut line));
        let _ = session;
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
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let events = std::mem::take(&mut self.events);
        let (title, team) = (&self.begun.plan.title, &self.begun.team);
        let mut view = self.account.view(title, team, now_ms as u64, events);
        if let (Some(_), Some(session)) = (&self.live, session) {
            add_words(&mut view, session);
        }
        let mut out = std::io::stdout().lock();
        let drawn = match &mut self.live {
            Some(live) => live.draw(&mut out, &view),
            None => write_plain(&mut out, &view),
        };
        drawn.map_err(|_| Failure::PipeClosed)
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

/// What only the coordinator knows: the agents' last words and what the queue does.
fn add_words(view: &mut RunView, session: &mut Session) {
    let Ok(shipmate_protocol::Answer::Status(status)) = session.ask(Ask::Status) else { return };
    view.gate.clone_from(&status.queue);
    for row in &mut view.teammates {
        let mate = status.teammates.iter().find(|mate| mate.name == row.name);
        row.last_words = mate.map(|mate| mate.last_words.clone()).unwrap_or_default();
    }
}

enum Choice {
    Detach,
    GoOn,
    Shutdown,
}

fn report(
    begun: &Begun,
    session: &mut Session,
    account: &Account,
    outcome: Outcome,
) -> Result<Report, Failure> {
    let team = match session.ask(Ask::TeamShow)? {
        shipmate_protocol::Answer::Team(team) => *team,
        _ => return Err(crate::cli::failure::unexpected("a team")),
    };
    let base = match session.ask(Ask::Survey) {
        Ok(shipmate_protocol::Answer::Survey(found)) => found.branch,
        _ => None,
    };
    let mut report = Report {
        outcome,
        title: begun.plan.title.clone(),
        team: begun.team.clone(),
        tasks: account.tally(),
        commits: account.commits(),
        deviations: account.deviations.clone(),
        gates: account.gates,
        took_ms: account.now_ms.saturating_sub(account.began_ms),
        critical_path_ms: account.path(|_| true).1,
        bound_ms: account.bound_ms(),
        teammates: account.teammates(),
        places: Places {
            branch: team.branch.filter(|_| !account.commits().is_empty()),
            base,
            output: Some(session.place.team(&begun.team).join("lives").display().to_string()),
            summaries: Vec::new(),
        },
    };
    for summary in summaries(begun, account) {
        let written = summary.write(&begun.summaries);
        let path =
            written.map_err(|e| Failure::Storage(format!("{}: {e}", begun.summaries.display())))?;
        report.places.summaries.push(path.display().to_string());
    }
    Ok(report)
}

/// One summary for each plan file of the seeds' kind.
fn summaries(begun: &Begun, account: &Account) -> Vec<Summary> {
    let each = begun.plan.plans.iter().map(|header| {
        let own = || {
            account.tasks.values().filter(|task| task.group.as_deref() == Some(header.id.as_str()))
        };
        let done = own().filter(|task| task.status == Status::Completed).count();
        let total = own().filter(|task| task.status != Status::Deleted).count();
        let files = begun
            .plan
            .tasks
            .iter()
            .filter(|(task, _)| task.group.as_deref() == Some(header.id.as_str()));
        let mut files: Vec<String> =
            files.flat_map(|(task, _)| task.files.iter().cloned()).collect();
        if !header.files_modified.is_empty() {
            files.clone_from(&header.files_modified);
        }
        files.sort();
        files.dedup();
        Summary {
            p: header.p.clone(),
            n: header.n.clone(),
            title: header.title.clone(),
            state: SummaryState::of(done, total),
            at_ms: account.now_ms,
            tasks_completed: done,
            tasks_total: total,
            commits: own().filter_map(|task| task.commit.clone()).collect(),
            files_modified: files,
            deviations: account.deviations.clone(),
            built: own()
                .filter(|task| task.status == Status::Completed)
                .map(|task| task.subject.clone())
                .collect(),
            tests: match (account.gates.runs, account.red_then_green) {
                (0, _) => TestsSeen::NoTests,
                (_, true) => TestsSeen::RedGreen,
                (_, false) => TestsSeen::GreenOnly,
            },
        }
    });
    each.collect()
}
