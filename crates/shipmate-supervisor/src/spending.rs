//! What a vendor's program spends, request by request, and whether there is room for the next one.
//!
//! Such a program asks its model by itself: nobody can hold a request back. So before a turn, and
//! after each request that is seen in it, as much as the next one will take is set aside, as for the
//! native agent. Where that is refused the turn is broken off at its next call of a tool, before
//! the program asks again. What is told as it comes is what the program tells; what it does not
//! tell is estimated, and set right when the turn has ended.
//!
//! One task does it all, in order: whoever looks sees everything that was seen before.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use shipmate_programs::models::prices;
use shipmate_protocol::native::Price;
use shipmate_protocol::verbs::Usage;
use shipmate_protocol::{Code, Refused, answers, verbs};
use tokio::sync::{mpsc, oneshot, watch};

use super::desk::Desk;
use super::driver::{Finished, NoRoom};

#[derive(Debug, Clone)]
pub(crate) struct Spending {
    desk: Desk,
    tell: mpsc::UnboundedSender<Seen>,
    /// Why there is no room for another request in this turn.
    spent: watch::Receiver<Option<NoRoom>>,
    /// The turn is being broken off.
    stops: Rc<watch::Sender<bool>>,
    /// Of the model that is asked, once it is known which.
    price: Rc<RefCell<Option<Price>>>,
}

#[derive(Debug)]
enum Seen {
    /// A turn wants to begin, and its first request will take at least this.
    Begin(Usage, oneshot::Sender<Result<(), NoRoom>>),
    /// A request took this.
    Request(Usage),
    /// A request was made of which the program has told nothing, and another one follows.
    Untold,
    Look(oneshot::Sender<Option<NoRoom>>),
    /// The turn is over; what it took in all, where the program tells.
    Over(Option<Usage>, oneshot::Sender<()>),
    /// The turn broke off, and with it a request of which nobody will tell; what the others took, where the
    /// program tells.
    BrokeOff(Option<Usage>, oneshot::Sender<()>),
}

impl Spending {
    pub(crate) fn new(desk: &Desk) -> Spending {
        let (tell, seen) = mpsc::unbounded_channel();
        let (tell_spent, spent) = watch::channel(None);
        tokio::task::spawn_local(Book::empty(desk, tell_spent).keep(seen));
        let price = prices::known(&desk.order().model);
        Spending {
            desk: desk.clone(),
            tell,
            spent,
            stops: Rc::new(watch::Sender::new(false)),
            price: Rc::new(RefCell::new(price)),
        }
    }

    /// The program has said which model it asks.
    pub(crate) fn asks(&self, model: &str) {
        self.desk.asks(model);
        if let Some(price) = prices::known(model) {
            self.price.replace(Some(price));
        }
    }

    /// With what it costs, where that is known and was not told.
    pub(crate) fn priced(&self, usage: Usage) -> Usage {
        at_price(usage, self.price.borrow().as_ref())
    }

    /// What a request takes at least that holds this text, by its bytes: what stands and the tools
    /// go with it, and what is the program's own.
    pub(crate) fn at_least(&self, text: &str) -> Usage {
        let tools = self.desk.tools_ahead().into_iter().map(|tool| {
            tool.name.len() + tool.description.len() + tool.input_schema.to_string().len()
        });
        let bytes = text.len() + self.desk.standing().len() + tools.sum::<usize>();
        self.priced(Usage { tokens_in: bytes.div_ceil(4) as u64, ..Usage::default() })
    }

    /// Whether a turn may begin that hands over this text; the words say why not.
    pub(crate) async fn begin(&self, text: &str) -> Result<(), NoRoom> {
        self.stops.send_replace(false);
        let (tell, told) = oneshot::channel();
        self.say(Seen::Begin(self.at_least(text), tell));
        told.await.unwrap_or(Ok(()))
    }

    pub(crate) fn saw(&self, request: Usage) {
        self.say(Seen::Request(self.priced(request)));
    }

    /// The same of a request to this model of Claude Code's, which asks several and tells what they cost when
    /// the turn ends: until then one of which no price is known counts as the dearest.
    pub(crate) fn saw_of(&self, model: &str, request: Usage) {
        let price = prices::known(model).unwrap_or_else(prices::dearest_claude);
        self.saw(at_price(request, Some(&price)));
    }

    /// The program calls a tool, so it has asked its model, and will ask again.
    pub(crate) fn untold(&self) {
        self.say(Seen::Untold);
    }

    /// Why nothing more may be asked of a model in this turn, after all that was seen so far.
    pub(crate) async fn look(&self) -> Option<NoRoom> {
        let (tell, told) = oneshot::channel();
        self.say(Seen::Look(tell));
        told.await.ok().flatten()
    }

    /// The same as far as it is known by now.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.borrow().is_some()
    }

    /// The turn is being broken off; whether this was the first to say so.
    pub(crate) fn stop(&self) -> bool {
        !self.stops.send_replace(true)
    }

    /// What came of a turn that was broken off for want of room; nothing of any other. What the
    /// agent has said of its task by then stands.
    pub(crate) async fn finished(&self) -> Option<Finished> {
        if !*self.stops.borrow() {
            return None;
        }
        let said = self.desk.said();
        if said.verdict.is_some() || said.plan.is_some() {
            return Some(Finished::Done { result: String::new() });
        }
        self.look().await.map(Finished::from)
    }

    /// Until a turn that is being broken off has had its time to end.
    pub(crate) async fn overstays(&self, grace: Duration) {
        let mut stops = self.stops.subscribe();
        // The sender is here.
        drop(stops.wait_for(|stops| *stops).await);
        tokio::time::sleep_until(tokio::time::Instant::now() + grace).await;
    }

    /// The turn is over; with what it took in all, where the program tells.
    pub(crate) async fn over(&self, all: Option<Usage>) {
        let (tell, told) = oneshot::channel();
        self.say(Seen::Over(all.map(|all| self.priced(all)), tell));
        drop(told.await);
    }

    /// The turn broke off in the middle of a request: what that took is an estimate. With what the others
    /// took, where the program tells.
    pub(crate) async fn broke_off(&self, others: Option<Usage>) {
        let (tell, told) = oneshot::channel();
        self.say(Seen::BrokeOff(others.map(|others| self.priced(others)), tell));
        drop(told.await);
    }

    fn say(&self, seen: Seen) {
        // Its task lives as long as this.
        drop(self.tell.send(seen));
    }
}

fn at_price(mut usage: Usage, price: Option<&Price>) -> Usage {
    if let (0, Some(price)) = (usage.cost_micros, price) {
        usage.cost_micros = prices::cost_micros(price, &usage);
    }
    usage
}

/// What a model is told whose program has no room for another request.
pub(crate) fn refusal(no: &NoRoom) -> String {
    let (fact, when) = match no {
        NoRoom::Budget(_) => ("budget", "a person has raised the budget"),
        NoRoom::Account(_) => ("room", "the account has room again"),
    };
    format!(
        "There is no {fact} for another request: {no}. Your turn ends here; the task goes on when \
         {when}."
    )
}

#[derive(Debug)]
struct Book {
    desk: Desk,
    spent: watch::Sender<Option<NoRoom>>,
    /// Of turns that have ended.
    ended: Usage,
    /// Of the present turn, as far as the program has told.
    present: Usage,
    /// Of the present turn, by estimate: requests it has told nothing of, and how many.
    guessed: Usage,
    untold: u64,
    told: Usage,
    /// What a request took last: the next will take about as much.
    usual: Usage,
    /// Set aside for requests of which nothing is known yet, the oldest first.
    aside: VecDeque<u64>,
}

impl Book {
    fn empty(desk: &Desk, spent: watch::Sender<Option<NoRoom>>) -> Book {
        Book {
            desk: desk.clone(),
            spent,
            ended: Usage::default(),
            present: Usage::default(),
            guessed: Usage::default(),
            untold: 0,
            told: Usage::default(),
            usual: Usage::default(),
            aside: VecDeque::new(),
        }
    }

    async fn keep(mut self, mut seen: mpsc::UnboundedReceiver<Seen>) {
        while let Some(seen) = seen.recv().await {
            match seen {
                Seen::Begin(least, tell) => {
                    // Of a turn that never began.
                    self.end(None).await;
                    self.spent.send_replace(None);
                    self.usual = larger(&self.usual, &least);
                    self.set_aside().await;
                    let spent = self.spent.borrow().clone();
                    drop(tell.send(spent.map_or(Ok(()), Err)));
                }
                Seen::Request(took) => {
                    self.present = plus(&self.present, &took);
                    (self.guessed, self.untold) = (Usage::default(), 0);
                    self.usual = took;
                    self.report().await;
                    if self.aside.is_empty() {
                        self.set_aside().await;
                    }
                }
                Seen::Untold => {
                    self.guessed = plus(&self.guessed, &self.usual.as_estimate());
                    self.untold += 1;
                    self.set_aside().await;
                }
                Seen::Look(tell) => drop(tell.send(self.spent.borrow().clone())),
                Seen::BrokeOff(others, tell) => {
                    let broken = match self.aside.is_empty() {
                        true => Usage::default(),
                        false => self.usual.as_estimate(),
                    };
                    self.guessed = plus(&self.guessed, &broken);
                    self.end(others.map(|others| plus(&others, &broken))).await;
                    tell.send(()).ok();
                }
                Seen::Over(all, tell) => {
                    self.end(all).await;
                    tell.send(()).ok();
                }
            }
        }
    }

    /// Sets aside what the next request will take. Refused, there is room for none.
    async fn set_aside(&mut self) {
        let usage = self.usual;
        match self.desk.carry(verbs::UsageReserve { usage }).await {
            Ok(Some(answers::Opened { id })) => self.aside.push_back(id),
            Ok(None) => {}
            // Other refusals say nothing about room.
            Err(refused) => {
                if let Some(no) = no_room(&refused) {
                    self.spent.send_replace(Some(no));
                }
            }
        }
    }

    /// Tells what is known and was not told; the oldest that was set aside was for it.
    async fn report(&mut self) {
        let all = plus(&self.ended, &self.present);
        let more = minus(&all, &self.told);
        self.told = plus(&self.told, &more);
        let aside = self.aside.pop_front();
        if aside.is_some() || !is_nothing(&more) {
            self.desk.used_of(more, aside).await;
        }
    }

    async fn end(&mut self, all: Option<Usage>) {
        let present = plus(&self.present, &std::mem::take(&mut self.guessed));
        let untold = std::mem::take(&mut self.untold);
        let all = all.filter(|all| !is_nothing(all));
        // Of one that tells only in the end, a request is a part of that.
        if let (Some(all), true) = (&all, is_nothing(&self.present)) {
            self.usual = both(all, &Usage::default(), |all, _| all.div_ceil(untold + 1));
        }
        self.present = Usage::default();
        self.ended = plus(&self.ended, &all.unwrap_or(present));
        self.report().await;
        for aside in std::mem::take(&mut self.aside) {
            self.desk.used_of(Usage::default(), Some(aside)).await;
        }
    }
}

/// What a refusal says about room for another request.
pub(crate) fn no_room(refused: &Refused) -> Option<NoRoom> {
    match refused.code {
        Code::BudgetSpent => Some(NoRoom::Budget(refused.one_line())),
        Code::AccountParked => Some(NoRoom::Account(refused.message.clone())),
        _ => None,
    }
}

fn is_nothing(usage: &Usage) -> bool {
    usage.tokens_in + usage.tokens_out + usage.tokens_cached + usage.cost_micros == 0
}

fn both(one: &Usage, other: &Usage, of: impl Fn(u64, u64) -> u64) -> Usage {
    Usage {
        tokens_in: of(one.tokens_in, other.tokens_in),
        tokens_out: of(one.tokens_out, other.tokens_out),
        tokens_cached: of(one.tokens_cached, other.tokens_cached),
        cost_micros: of(one.cost_micros, other.cost_micros),
        tokens_estimated: of(one.tokens_estimated, other.tokens_estimated),
    }
}

pub(crate) fn plus(one: &Usage, other: &Usage) -> Usage {
    both(one, other, u64::saturating_add)
}

fn minus(one: &Usage, other: &Usage) -> Usage {
    both(one, other, u64::saturating_sub)
}

fn larger(one: &Usage, other: &Usage) -> Usage {
    both(one, other, u64::max)
}
