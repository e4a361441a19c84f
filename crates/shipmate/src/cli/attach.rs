//! `shipmate attach`: look over a teammate's shoulder, and talk to it.
//!
//! One connection tells when there is more to read and what becomes of the teammate; what is typed
//! goes out on another. Nothing here can stop the teammate: interrupting ends the looking only.

pub(crate) mod page;

use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shipmate_model::{Event, Record, TeammateRef};
use shipmate_protocol::client::Heard;
use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::view::{TeammateState, TeammateView};
use shipmate_protocol::{Answer, Ask, ClientFailure, Code, Notice, Refused, answers, verbs};

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::output::Output;
use page::Page;

/// Show what a teammate's agent prints, as it prints it, and send it what you type
///
/// Begins with the last lines that there are. Each line of the agent's stands behind a bar; what
/// stands at the margin is shipmate's. A line that you type is sent to the teammate as a message;
/// `/quit` or the end of input ends that. Ctrl-C ends the looking and nothing else. When the
/// teammate stops, it is said how, and attach ends; when it is started again, its next life is
/// shown.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate attach ana
  shipmate attach ana --from-start < /dev/null
  echo \"use the new parser\" | shipmate attach ana
  shipmate attach ana --json | jq -r .text")]
pub(crate) struct AttachArgs {
    /// The teammate
    name: String,

    /// Begin with the first line of its present life instead of the last ones
    #[arg(long)]
    from_start: bool,
}

/// How many lines are shown of what was printed before.
const LINES_BEFORE: usize = 20;

type SharedPage = Arc<Mutex<Page>>;

pub(crate) fn run(args: &AttachArgs, mut session: Session) -> Result<(), Failure> {
    let status = session.ask(verbs::Status)?;
    let ask = verbs::TeammateShow { name: args.name.clone() };
    let mate = session.ask(ask)?;
    if mate.supervision == Supervision::None && mate.epoch > 0 {
        return Err(not_ours(&mate));
    }
    let page = Arc::new(Mutex::new(Page::new(session.screen.clone())));
    let mut looking = Looking {
        team: mate.team.clone(),
        address: format!("{}/{}", mate.team, mate.name),
        who: String::new(),
        from_start: args.from_start,
        after: status.position,
        output: None,
        first_look: Some(Box::new(mate.clone())),
        page: Arc::clone(&page),
        ended: Ok(()),
        stopped: None,
    };
    if mate.state != TeammateState::Stopped {
        let (address, typing) = (looking.address.clone(), session.again()?);
        std::thread::spawn(move || send_lines(typing, &address, &page));
    }
    while looking.listen(&mut session)? == Next::Life {
        session = session.again()?;
    }
    looking.ended
}

fn not_ours(mate: &TeammateView) -> Failure {
    let text = format!("{} was started by hand: nobody here sees its output", mate.name);
    let remedy = "`shipmate log --follow` shows what it does, `shipmate send` talks to it";
    Failure::Client(ClientFailure::Refused(Refused {
        code: Code::NotSupervised,
        message: text,
        remedy: Some(remedy.to_owned()),
    }))
}

/// Whoever writes holds the page, also when the other one has failed.
fn lock(page: &SharedPage) -> MutexGuard<'_, Page> {
    page.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    End,
    /// There is another life, with a file of its own.
    Life,
}

#[derive(Debug)]
struct Looking {
    team: String,
    /// `team/name`
    address: String,
    /// The life that is shown.
    who: String,
    from_start: bool,
    /// The last record that was seen.
    after: u64,
    output: Option<Output>,
    /// As it was found; said once.
    first_look: Option<Box<TeammateView>>,
    page: SharedPage,
    ended: Result<(), Failure>,
    /// How the life ended that is shown.
    stopped: Option<String>,
}

impl Looking {
    /// Shows one life until it is over.
    fn listen(&mut self, session: &mut Session) -> Result<Next, Failure> {
        let asks = [Ask::Attach(verbs::Attach { name: self.address.clone(), once: false })];
        let mut next = Next::End;
        let looking = std::cell::RefCell::new(self);
        session.client.listen(
            || {
                let after = looking.borrow().after;
                asks.iter().cloned().chain([Ask::Follow(verbs::Follow { after })]).collect()
            },
            |heard| {
                let mut this = looking.borrow_mut();
                match this.hear(heard) {
                    Ok(None) => ControlFlow::Continue(()),
                    Ok(Some(found)) => {
                        next = found;
                        ControlFlow::Break(())
                    }
                    Err(failure) => {
                        this.ended = Err(failure);
                        ControlFlow::Break(())
                    }
                }
            },
        )?;
        let this = looking.into_inner();
        if let Some(outcome) = this.stopped.take() {
            // What it printed last on another machine may still be on its way: this answer has waited for it.
            drop(session.ask(verbs::Attach { name: this.address.clone(), once: true }));
            this.show()?;
            this.say(&this.who, "stopped", &outcome)?;
        }
        Ok(next)
    }

    /// Says what comes after, if this was the end of it.
    fn hear(&mut self, heard: Heard) -> Result<Option<Next>, Failure> {
        match heard {
            Heard::Answer(Answer::Attached(answers::Attached { output, who })) => {
                self.open(output.into(), who)?;
                Ok(None)
            }
            Heard::Answer(_) => {
                self.show()?;
                self.say_how_it_was_found()
            }
            Heard::Notice(Notice::Records { records, .. }) => {
                self.show()?;
                for record in records {
                    // They come without gaps.
                    self.after += 1;
                    let Ok(record) = serde_json::from_str::<Record>(record.get()) else { continue };
                    if let Some(next) = self.note(&record.event)? {
                        return Ok(Some(next));
                    }
                }
                Ok(None)
            }
            Heard::Notice(_) => {
                self.show()?;
                Ok(None)
            }
        }
    }

    fn open(&mut self, path: PathBuf, who: String) -> Result<(), Failure> {
        if who == self.who {
            return Ok(());
        }
        self.show()?;
        let from_end = self.who.is_empty() && !self.from_start;
        self.who = who;
        self.output = Some(match from_end {
            true => Output::from_end(path, LINES_BEFORE).map_err(unreadable)?,
            false => Output::from_start(path),
        });
        Ok(())
    }

    fn show(&mut self) -> Result<(), Failure> {
        let Some(output) = &mut self.output else { return Ok(()) };
        let bytes = output.read().map_err(unreadable)?;
        lock(&self.page).output(&self.who, &bytes)
    }

    fn say(&self, who: &str, event: &str, detail: &str) -> Result<(), Failure> {
        lock(&self.page).say(who, event, detail)
    }

    fn say_how_it_was_found(&mut self) -> Result<Option<Next>, Failure> {
        let Some(mate) = self.first_look.take() else { return Ok(None) };
        match mate.state {
            TeammateState::Stopped => {
                self.say(&self.who, "has stopped", &mate.why)?;
                Ok(Some(Next::End))
            }
            TeammateState::Disappeared => {
                self.say(&self.who, "has disappeared", &mate.why)?;
                Ok(None)
            }
            TeammateState::Failed => {
                self.say(&self.who, "has failed", &mate.why)?;
                Ok(None)
            }
            TeammateState::Added => {
                let detail = "it starts when there is a task for it";
                self.say(&self.address, "has not started yet", detail)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// What a record means for the life that is shown.
    fn note(&mut self, event: &Event) -> Result<Option<Next>, Failure> {
        let is_own = |who: &TeammateRef| who.address.to_string() == self.address;
        match event {
            Event::TeamDeleted { team } if team.as_str() == self.team => {
                self.say(&self.team, "was deleted", "")?;
                return Ok(Some(Next::End));
            }
            Event::TeammateStarted { who, .. } if is_own(who) && who.epoch > epoch(&self.who) => {
                self.say(&who.to_string(), "starts", "")?;
                return Ok(Some(Next::Life));
            }
            Event::TeammateStopped { who, outcome } if who.to_string() == self.who => {
                self.stopped = Some(outcome.to_string());
                return Ok(Some(Next::End));
            }
            Event::TeammateDisappeared { who, reason, .. } if who.to_string() == self.who => {
                self.say(&self.who, "disappeared", reason)?;
            }
            Event::TeammateRemoved { who } if who.to_string() == self.address => {
                self.say(&self.address, "was removed", "")?;
                return Ok(Some(Next::End));
            }
            _ => {}
        }
        Ok(None)
    }
}

fn epoch(who: &str) -> u32 {
    who.split_once('@').and_then(|(_, epoch)| epoch.parse().ok()).unwrap_or(0)
}

fn unreadable(e: std::io::Error) -> Failure {
    Failure::Storage(format!("the output cannot be read: {e}\n  only its owner can attach"))
}

/// Sends what is typed, line by line, until `/quit` or the end of input.
fn send_lines(mut session: Session, to: &str, page: &SharedPage) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.trim() == "/quit" {
            return;
        }
        if line.trim().is_empty() {
            continue;
        }
        let ask = verbs::Send { to: to.to_owned(), body: line, kind: None, reply_to: None };
        let (event, detail) = match session.ask(ask) {
            Ok(answers::Sent { message, .. }) => {
                ("gets your message with its next task", message.to_string())
            }
            Err(failure) => {
                let words = failure.for_people().unwrap_or_default();
                ("did not get your message", words.trim_end().replace("\n  ", "; "))
            }
        };
        // Whoever looks has gone if this cannot be shown, and ends by itself.
        if lock(page).say(to, event, &detail).is_err() {
            return;
        }
    }
}
