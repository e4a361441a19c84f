//! What the screen wants done: requests, the watch over a team, the output of a teammate. Each has
//! a thread, and tells when there is something.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use shipmate_model::{Event, Record};
use shipmate_protocol::client::Heard;
use shipmate_protocol::view::words;
use shipmate_protocol::view::{LogLine, TeamView};
use shipmate_protocol::watch::{Told, Watch};
use shipmate_protocol::{Answer, Ask, Client, ClientFailure, Notice, answers, verbs};

use super::message::{Asked, Effect, Found, Message, Output, Then};
use crate::output::Output as Printed;
use crate::output::whole_characters;

/// A connection of its own to whoever coordinates, about this team.
pub(crate) type Connect = Arc<dyn Fn(Option<String>) -> Client + Send + Sync>;

/// How long whoever leaves waits for what was asked last.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How many older messages or lines come at a time.
const OLDER: u64 = 500;
/// Lines of output from before it was looked at.
const LINES_BEFORE: usize = 500;

pub(super) struct World {
    connect: Connect,
    tell: Sender<Message>,
    /// Absent once no more is asked.
    orders: Option<Sender<Order>>,
    /// Ends when everything that was ordered is asked.
    asked: Receiver<()>,
    watch: Option<Watched>,
    tail: Option<Arc<AtomicBool>>,
}

struct Watched {
    root: String,
    watch: Watch,
    /// Somebody still looks at it.
    is_shown: Arc<AtomicBool>,
}

enum Order {
    Ask(Box<Asked>),
    Teams,
    Lines { root: String, before: u64 },
}

impl World {
    pub(super) fn new(connect: Connect, tell: Sender<Message>) -> World {
        let (orders, ordered) = channel();
        let asking = (Arc::clone(&connect), tell.clone());
        let (asks, asked) = channel();
        std::thread::spawn(move || {
            ask(&asking.0, &asking.1, &ordered);
            drop(asks);
        });
        World { connect, tell, orders: Some(orders), asked, watch: None, tail: None }
    }

    /// Begins what is wanted; what is at hand comes back at once.
    pub(super) fn carry_out(&mut self, effect: Effect) -> Option<Found> {
        match effect {
            Effect::Ask(asked) => self.order(Order::Ask(asked)),
            Effect::ListTeams => self.order(Order::Teams),
            Effect::OlderLines { before } => {
                let root = self.watch.as_ref().map(|watched| watched.root.clone())?;
                self.order(Order::Lines { root, before });
            }
            Effect::Watch(root) => self.watch(root),
            Effect::TaskPage(id) => {
                let page = self.watch.as_ref()?.watch.picture().task(id)?;
                return Some(Found::TaskPage(Box::new(page)));
            }
            Effect::OlderMessages { before } => {
                let picture = self.watch.as_ref()?.watch.picture();
                return Some(Found::Messages(picture.story.messages(before, OLDER as usize)));
            }
            Effect::Tail(address) => self.tail(address),
            Effect::Redraw | Effect::Suspend | Effect::Quit => {}
        }
        None
    }

    fn order(&self, order: Order) {
        // The thread that asks lives for as long as there is somebody to order.
        drop(self.orders.as_ref().map(|orders| orders.send(order)));
    }

    /// Asks what was ordered and no more; whoever cannot be reached is not waited for.
    pub(super) fn finish(&mut self) {
        self.orders = None;
        let _over = self.asked.recv_timeout(LAST_WORDS);
    }

    fn watch(&mut self, root: String) {
        if let Some(before) = self.watch.take() {
            before.is_shown.store(false, Ordering::Relaxed);
        }
        let is_shown = Arc::new(AtomicBool::new(true));
        let (tell, shown, of) = (self.tell.clone(), Arc::clone(&is_shown), root.clone());
        let [follower, asker] = [(); 2].map(|()| (self.connect)(Some(root.clone())));
        let watch = Watch::begin(follower, asker, move |told| {
            if !shown.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let message = match told {
                Told::Delta(delta) => Message::Delta(delta),
                Told::Over(failure) => Message::Over(of.clone(), failure),
            };
            going_on(tell.send(message).is_ok())
        });
        self.watch = Some(Watched { root, watch, is_shown });
    }

    fn tail(&mut self, address: Option<String>) {
        if let Some(before) = self.tail.take() {
            before.store(false, Ordering::Relaxed);
        }
        let (Some(address), Some(watched)) = (address, &self.watch) else { return };
        let is_shown = Arc::new(AtomicBool::new(true));
        self.tail = Some(Arc::clone(&is_shown));
        let after = watched.watch.picture().position();
        let (connect, root) = (Arc::clone(&self.connect), watched.root.clone());
        let tailing =
            Tailing { address, is_shown, tell: self.tell.clone(), after: Cell::new(after) };
        std::thread::spawn(move || tailing.run(|| connect(Some(root.clone()))));
    }
}

fn going_on(goes_on: bool) -> ControlFlow<()> {
    if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Asks one after the other, for as long as there is somebody to answer to.
fn ask(connect: &Connect, tell: &Sender<Message>, orders: &Receiver<Order>) {
    let mut client = connect(None);
    for order in orders {
        let message = match order {
            Order::Ask(asked) => {
                let Asked { team, ask, then } = *asked;
                client.team = team;
                Message::Answered(then, client.ask(ask))
            }
            Order::Teams => Message::Teams(trees(&mut client)),
            Order::Lines { root, before } => {
                client.team = Some(root);
                match lines(&mut client, before) {
                    Ok(lines) => Message::Lines(lines),
                    Err(failure) => Message::Answered(Then::Say(String::new()), Err(failure)),
                }
            }
        };
        if tell.send(message).is_err() {
            return;
        }
    }
}

/// The roots of all trees of teams.
pub(super) fn trees(client: &mut Client) -> Result<Vec<TeamView>, ClientFailure> {
    client.team = None;
    let mut teams = client.ask(verbs::Teams)?;
    teams.retain(|team| team.parent.is_none());
    Ok(teams)
}

/// The lines of the log before this one.
fn lines(client: &mut Client, before: u64) -> Result<Vec<LogLine>, ClientFailure> {
    let root = client.team.clone().unwrap_or_default();
    let after = before.saturating_sub(OLDER + 1);
    let max = (before.saturating_sub(1) - after) as usize;
    let records = client.ask(verbs::Log { after, max })?;
    Ok(records.iter().filter_map(|record| words::line(record.get(), &root)).collect())
}

/// Follows what one teammate prints, life after life.
struct Tailing {
    address: String,
    is_shown: Arc<AtomicBool>,
    tell: Sender<Message>,
    /// The last record that was seen.
    after: Cell<u64>,
}

/// What is shown of a life.
#[derive(Default)]
struct Life {
    who: String,
    printed: Option<Printed>,
    /// The beginning of a character whose other bytes were not printed yet.
    partial: Vec<u8>,
}

impl Tailing {
    fn run(self, connect: impl Fn() -> Client) {
        let life = RefCell::new(Life::default());
        loop {
            let next = Cell::new(false);
            let name = self.address.clone();
            let asks = || {
                let after = self.after.get();
                vec![
                    Ask::Attach(verbs::Attach { name: name.clone(), once: false }),
                    Ask::Follow(verbs::Follow { after }),
                ]
            };
            let listened = connect().listen(asks, |heard| {
                let heard = self.hear(heard, &mut life.borrow_mut(), &next);
                going_on(heard && self.is_shown.load(Ordering::Relaxed) && !next.get())
            });
            if let Err(failure) = listened {
                let why = match failure {
                    ClientFailure::Refused(refused) => refused.one_line(),
                    other => other.to_string(),
                };
                self.say(Output::None { address: name, why });
                return;
            }
            if !next.get() {
                return;
            }
        }
    }

    fn say(&self, output: Output) -> bool {
        self.tell.send(Message::Output(output)).is_ok()
    }

    /// Whether to go on; `next` is set when another life has begun, with a file of its own.
    fn hear(&self, heard: Heard, life: &mut Life, next: &Cell<bool>) -> bool {
        if let Heard::Answer(Answer::Attached(answers::Attached { output, who })) = &heard
            && *who != life.who
        {
            let first = life.who.is_empty();
            let path = output.into();
            life.printed = match first {
                true => Printed::from_end(path, LINES_BEFORE).ok(),
                false => Some(Printed::from_start(path)),
            };
            life.who.clone_from(who);
            life.partial.clear();
            self.say(Output::Life { address: self.address.clone(), who: who.clone() });
        }
        if let Heard::Notice(Notice::Records { records, .. }) = &heard {
            for record in records {
                // They come without gaps.
                self.after.set(self.after.get() + 1);
                let Ok(record) = serde_json::from_str::<Record>(record.get()) else { continue };
                next.set(next.get() || self.starts(&record.event, &life.who));
            }
        }
        self.show(life)
    }

    fn starts(&self, event: &Event, now: &str) -> bool {
        let Event::TeammateStarted { who, .. } = event else { return false };
        who.to_string() != now && who.address.to_string() == self.address
    }

    fn show(&self, life: &mut Life) -> bool {
        let Some(Ok(bytes)) = life.printed.as_mut().map(Printed::read) else { return true };
        let mut bytes = [std::mem::take(&mut life.partial).as_slice(), &bytes].concat();
        life.partial = bytes.split_off(whole_characters(&bytes));
        if bytes.is_empty() {
            return true;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.say(Output::Text { address: self.address.clone(), text })
    }
}
