//! One request to a model, on behalf of an agent or of a subagent.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use shipmate_protocol::native::{FromAgent, Price, Window};
use shipmate_protocol::verbs::{Context as Fill, Usage};

use crate::message::Block;
use crate::model::{Model, Reply, Request, Tokens, Watch, cost_micros};
use crate::seat::Seat;
use crate::supervisor::Supervisor;
use crate::turn::Event;

/// One request to the model.
pub(crate) struct Asking {
    pub(crate) supervisor: Supervisor,
    pub(crate) seat: Rc<RefCell<Seat>>,
    pub(crate) messages: Vec<crate::message::Message>,
    pub(crate) output_tokens_max: u64,
    pub(crate) thinking_tokens: u64,
    /// How full the agent's context is; absent for a subagent, whose context is another.
    pub(crate) context: Option<Fill>,
}

impl Asking {
    pub(crate) async fn ask(self, model: &Model) -> Event {
        let seat = self.seat.borrow().clone();
        let tools = seat.all();
        let request = Request {
            tools: &tools,
            system: &seat.standing,
            messages: &self.messages,
            output_tokens_max: self.output_tokens_max,
            thinking_tokens: self.thinking_tokens,
        };
        let reservation = match self.supervisor.reserve(model.ceiling(&request)).await {
            Ok(reservation) => reservation,
            Err(reason) => return Event::Refused(reason),
        };
        let price = model.order.price;
        let mut watch = Watching { supervisor: self.supervisor.clone(), price };
        let asked = model.ask(&request, &mut watch).await;
        let tokens = asked.as_ref().map(|reply| reply.tokens).unwrap_or_default();
        let usage = usage(&model.order.price, &tokens);
        let counted = Some(tokens.context()).filter(|counted| *counted > 0);
        let context = self.context.map(|fill| Fill { used: counted.unwrap_or(fill.used), ..fill });
        let model = asked.as_ref().map(|reply| reply.model.clone()).unwrap_or_default();
        self.supervisor.tell(FromAgent::Used { usage, reservation, context, model });
        match asked {
            Ok(reply) => {
                self.words(&reply);
                Event::Reply(reply)
            }
            Err(failure) => Event::Failed(failure),
        }
    }

    /// What the model says beside its calls is told at once; its last words are the turn's end.
    fn words(&self, reply: &Reply) {
        if !reply.blocks.iter().any(|block| matches!(block, Block::Call(_))) {
            return;
        }
        for block in &reply.blocks {
            if let Block::Text(text) = block {
                self.supervisor.say(text);
            }
        }
    }
}

/// Tells the supervisor what is seen of a request.
struct Watching {
    supervisor: Supervisor,
    price: Price,
}

impl Watch for Watching {
    fn busy(&mut self, bytes: u64) {
        self.supervisor.tell(FromAgent::Busy { bytes });
    }

    fn waits(&mut self, why: &str, left: Duration) {
        let (text, ms) = (format!("[{why}]"), left.as_millis() as u64);
        self.supervisor.tell(FromAgent::Waits { text, ms });
    }

    fn windows(&mut self, windows: Vec<Window>) {
        self.supervisor.tell(FromAgent::Windows { windows });
    }

    fn broke_off(&mut self, tokens: Tokens) {
        let usage = usage(&self.price, &tokens).as_estimate();
        let (reservation, context, model) = (None, None, String::new());
        self.supervisor.tell(FromAgent::Used { usage, reservation, context, model });
    }
}

fn usage(price: &Price, tokens: &Tokens) -> Usage {
    Usage {
        tokens_in: tokens.input + tokens.cache_read + tokens.cache_write,
        tokens_out: tokens.output,
        tokens_cached: tokens.cache_read,
        cost_micros: cost_micros(price, tokens),
        ..Usage::default()
    }
}
