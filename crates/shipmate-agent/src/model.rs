//! A model behind an API: one request, one reply that is streamed in, and what can go wrong.
//!
//! What must hold: a failure is told apart by what the caller should do about it, never by its
//! text alone; a reply is whole or it is a failure; one refusal for too many requests pauses
//! every agent of this user that uses the same key, not only the one that met it.

mod anthropic;
mod calls;
mod chat;
mod incoming;
mod limits;
mod pool;
mod price;
mod quirks;
mod recorded;
mod remote;
#[cfg(test)]
mod rendered;
mod retry;
mod sse;
mod verdict;

use std::path::Path;
use std::time::Duration;

use shipmate_protocol::native::{ModelOrder, Offered, Window};
use shipmate_protocol::verbs::Usage;

use crate::message::{Block, Message};

use incoming::{Protocol, Spoiled};
use recorded::Recording;
use remote::Remote;

pub use price::{cost_micros, estimate_tokens};
pub use retry::Patience;

/// What is sent. The order of its parts is the order in which providers cache them.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    pub tools: &'a [Offered],
    pub system: &'a str,
    pub messages: &'a [Message],
    pub output_tokens_max: u64,
    /// Nothing turns it off.
    pub thinking_tokens: u64,
}

/// What came back, whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub blocks: Vec<Block>,
    pub stop: Stop,
    pub tokens: Tokens,
    /// The model that answered, as far as the provider says.
    pub model: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    #[default]
    Ended,
    /// It wants tools used. Providers disagree about when they say so: count the calls instead.
    Calls,
    /// The answer is longer than it may be.
    Length,
    /// The provider would not let it say that.
    Refused,
}

/// As the provider counts them. `input` is what was neither read from nor written to a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    /// How much of the context the request and its reply have taken.
    pub fn context(&self) -> u64 {
        self.input + self.cache_read + self.cache_write + self.output
    }
}

/// Why there is no reply. The text is for people and names the provider; keys are never in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The key's pool is paused for that long; ask again then.
    #[error("{text}")]
    TooMany { text: String, after: Option<Duration> },
    /// Busy, broken or out of reach for now: ask again later.
    #[error("{text}")]
    Later { text: String, after: Option<Duration> },
    /// The conversation does not fit: shorten it and ask again.
    #[error("{text}")]
    TooLong { text: String },
    /// No key, a wrong one, or no right to the model: a person must act.
    #[error("{text}")]
    Key { text: String },
    /// Nothing that asking again would change: wrong URL, unknown model, a refused request.
    #[error("{text}")]
    Final { text: String },
}

/// What is seen while a reply comes in.
pub trait Watch {
    /// Bytes came.
    fn busy(&mut self, bytes: u64);
    /// A line for people: why nothing happens now.
    fn waits(&mut self, why: &str, left: Duration);
    /// The provider tells how much of its account's windows is used.
    fn windows(&mut self, windows: Vec<Window>);
    /// A reply broke off, and is asked for again: about so much it took.
    fn broke_off(&mut self, tokens: Tokens);
}

/// A model as it was ordered.
#[derive(Debug)]
pub struct Model {
    pub order: ModelOrder,
    reached: Reached,
}

/// How the model is reached.
#[derive(Debug)]
enum Reached {
    Remote(Box<Remote>),
    Recorded(Recording),
}

impl Model {
    /// Takes the key from the environment; `pools` is where all agents of this user agree on
    /// pauses of a key. Nothing is sent.
    pub fn new(order: ModelOrder, pools: &Path) -> Result<Model, Failure> {
        let remote = |protocol| Remote::new(protocol, &order, pools).map(Box::new);
        let reached = match order.protocol.as_str() {
            "anthropic" => Reached::Remote(remote(Protocol::Anthropic)?),
            "openai" => Reached::Remote(remote(Protocol::Chat)?),
            "recorded" => Reached::Recorded(Recording::open(Path::new(&order.base_url))?),
            other => {
                let text = format!(
                    "{} has an unknown protocol: `{other}`. There are anthropic, openai and recorded",
                    order.provider
                );
                return Err(Failure::Final { text });
            }
        };
        Ok(Model { order, reached })
    }

    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Model {
        if let Reached::Remote(remote) = &mut self.reached {
            remote.patience = patience;
        }
        self
    }

    /// One reply. Whatever may pass by itself is asked again in here, with a line to `watch` that
    /// says why nothing happens; a failure is what is left then. Dropping it breaks the request off.
    pub async fn ask(
        &self,
        request: &Request<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Reply, Failure> {
        match &self.reached {
            Reached::Remote(remote) => remote.ask(request, watch).await,
            Reached::Recorded(recording) => Ok(recording.ask(request, watch).await),
        }
    }

    /// What the request may cost at most, as far as its input can be estimated.
    pub fn ceiling(&self, request: &Request<'_>) -> Usage {
        price::ceiling(&self.order.price, request)
    }
}
