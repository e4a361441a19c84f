//! Watches a tree of teams for a screen: a picture of it that is always up to date, and what
//! changed each time.
//!
//! One connection follows the log and the signs of life, another one looks at what the records
//! touched. However many screens show the picture, the coordinator is asked once. A coordinator
//! that dies is asked again by the clients themselves, from the last record that was seen.

mod picture;

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::answers::Answer;
use crate::client::{Client, ClientFailure, Heard};
use crate::verbs;
use crate::verbs::Ask;
use crate::view::story::Touched;
use crate::view::{Delta, HostView, Look, LookOf, TeammateView};
use crate::wire::Notice;

pub use picture::{Picture, TaskPage};

/// Tasks that one look brings.
const PAGE: usize = 4_000;
/// Signs of life are shown at most this often.
const SIGNS_EVERY: Duration = Duration::from_millis(250);
/// What records touched is looked at at most this often: a team that is busy is looked at once for
/// many of them. The first one after a pause is looked at at once.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a screen hears.
#[derive(Debug)]
pub enum Told {
    /// Something changed. The first one is the whole.
    Delta(Box<Delta>),
    /// The watch is over, and why: the team is gone, or nobody can be reached.
    Over(ClientFailure),
}

/// A tree of teams under watch. It is watched for as long as somebody is told.
#[derive(Debug, Clone)]
pub struct Watch {
    picture: Arc<Mutex<Picture>>,
}

impl Watch {
    /// Begins to watch, on threads of its own. Both clients are about the team; `tell` says
    /// whether it wants to hear more.
    pub fn begin(
        mut follower: Client,
        asker: Client,
        tell: impl FnMut(Told) -> ControlFlow<()> + Send + 'static,
    ) -> Watch {
        let root = asker.team.clone().unwrap_or_default();
        let picture = Arc::new(Mutex::new(Picture::new(&root)));
        let (hear, heard) = channel();
        let over = hear.clone();
        std::thread::spawn(move || {
            if let Err(failure) = follow(&mut follower, &hear) {
                // Nobody listens any more when the watch is over.
                drop(over.send(News::Over(failure)));
            }
        });
        let watching = Watching { asker, picture: Arc::clone(&picture), tell: Box::new(tell) };
        std::thread::spawn(move || watching.run(&heard));
        Watch { picture }
    }

    pub fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum News {
    Records(Vec<Box<serde_json::value::RawValue>>),
    Sign { teammate: Option<Box<TeammateView>>, queue: Option<String>, hosts: Vec<HostView> },
    Over(ClientFailure),
}

fn follow(client: &mut Client, hear: &Sender<News>) -> Result<(), ClientFailure> {
    let after = Cell::new(0);
    let asks = || vec![Ask::Signs, Ask::Follow(verbs::Follow { after: after.get() })];
    client.listen(asks, |heard| {
        let news = match heard {
            Heard::Notice(Notice::Records { records, .. }) => {
                // They come in order and without gaps.
                after.set(after.get() + records.len() as u64);
                News::Records(records)
            }
            Heard::Notice(Notice::Sign { teammate, queue, hosts }) => {
                News::Sign { teammate, queue, hosts }
            }
            _ => return ControlFlow::Continue(()),
        };
        match hear.send(news) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })
}

struct Watching {
    asker: Client,
    picture: Arc<Mutex<Picture>>,
    tell: Box<dyn FnMut(Told) -> ControlFlow<()> + Send>,
}

/// What was heard and not told yet.
#[derive(Default)]
struct Pending {
    /// The record that the first look saw last.
    first: u64,
    touched: Touched,
    records: bool,
    signs: Vec<TeammateView>,
    queue: Option<Option<String>>,
    hosts: Vec<HostView>,
}

impl Pending {
    /// How long there is between two looks, with what waits now; nothing waits for nothing.
    fn every(&self) -> Option<Duration> {
        let has_signs = !self.signs.is_empty() || self.queue.is_some();
        match self.records {
            true => Some(LOOK_EVERY),
            false => has_signs.then_some(SIGNS_EVERY),
        }
    }
}

impl Watching {
    fn run(mut self, heard: &Receiver<News>) {
        if let Err(failure) = self.watch(heard) {
            let _ = (self.tell)(Told::Over(failure));
        }
    }

    fn watch(&mut self, heard: &Receiver<News>) -> Result<(), ClientFailure> {
        let first = self.look_at_all()?;
        let mut pending = Pending { first, ..Pending::default() };
        // Everything that led to what was looked at.
        while self.picture().story.position < first {
            match heard.recv() {
                Ok(news) => self.hear(news, &mut pending)?,
                Err(_) => return Ok(()),
            }
        }
        // What came while the pages were looked at is looked at again.
        self.catch_up(pending)?;
        self.picture().mark_gates();
        let whole = Box::new(self.picture().whole());
        if (self.tell)(Told::Delta(whole)).is_break() {
            return Ok(());
        }
        let mut shown = Instant::now();
        let mut pending = Pending::default();
        loop {
            let news = match pending.every() {
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(every) => heard.recv_timeout(every.saturating_sub(shown.elapsed())),
            };
            match news {
                Ok(news) => self.hear(news, &mut pending)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Ok(news) = heard.try_recv() {
                self.hear(news, &mut pending)?;
            }
            if pending.every().is_none_or(|every| shown.elapsed() < every) {
                continue;
            }
            let delta = self.catch_up(std::mem::take(&mut pending))?;
            shown = Instant::now();
            if (self.tell)(Told::Delta(delta)).is_break() {
                return Ok(());
            }
        }
    }

    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, news: News, pending: &mut Pending) -> Result<(), ClientFailure> {
        match news {
            News::Records(records) => {
                pending.records = true;
                let mut picture = self.picture();
                for record in records {
                    // What came before the first look was seen by it.
                    match picture.story.position < pending.first {
                        true => picture.story.take(record.get(), &mut Touched::default()),
                        false => picture.story.take(record.get(), &mut pending.touched),
                    }
                }
            }
            News::Sign { teammate, queue, hosts } => {
                pending.queue = Some(queue);
                if !hosts.is_empty() {
                    pending.hosts = hosts;
                }
                if let Some(teammate) = teammate {
                    let is_other = |other: &TeammateView| {
                        (&other.team, &other.name) != (&teammate.team, &teammate.name)
                    };
                    pending.signs.retain(is_other);
                    pending.signs.push(*teammate);
                }
            }
            News::Over(failure) => return Err(failure),
        }
        Ok(())
    }

    /// Brings the picture up to date and says what changed.
    fn catch_up(&mut self, pending: Pending) -> Result<Box<Delta>, ClientFailure> {
        let look = match pending.records {
            true => {
                let tasks = pending.touched.tasks.iter().copied().collect();
                Some(self.look(LookOf::Around { tasks })?)
            }
            false => None,
        };
        let mut picture = self.picture();
        let mut delta = picture.story.delta(&pending.touched);
        // They were heard before it was looked, so the look is newer.
        picture.take_signs(pending.signs, pending.queue, &mut delta);
        if !pending.hosts.is_empty() {
            picture.take_hosts(pending.hosts, &mut delta);
        }
        if let Some(look) = look {
            picture.take_look(*look, &pending.touched.tasks, &mut delta);
        }
        Ok(Box::new(delta))
    }

    fn look(&mut self, of: LookOf) -> Result<Box<Look>, ClientFailure> {
        match self.asker.ask(Ask::Look(verbs::Look { of }))? {
            Answer::Look(look) => Ok(look),
            other => Err(ClientFailure::Nonsense(format!("{other:?} instead of a look"))),
        }
    }

    /// Every task, page by page; the position of the first page.
    fn look_at_all(&mut self) -> Result<u64, ClientFailure> {
        let (mut after, mut first) = (0, None);
        loop {
            let look = self.look(LookOf::Page { after, max: PAGE })?;
            let first = *first.get_or_insert(look.status.position);
            let more = look.more;
            after = look.cards.last().map_or(after, |card| card.id);
            self.picture().take_look(*look, &Default::default(), &mut Delta::default());
            if !more {
                return Ok(first);
            }
        }
    }
}
