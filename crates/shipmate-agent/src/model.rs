//! A model behind an API: one request, one reply that is streamed in, and what can go wrong.
//!
//! What must hold: a failure is told apart by what the caller should do about it, never by its
//! text alone; a reply is whole or it is a failure; one refusal for too many requests pauses
//! every agent of this user that uses the same key, not only the one that met it.

use std::time::Duration;

use shipmate_protocol::native::{ModelOrder, Offered};

use crate::message::{Block, Message};

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
    fn waits(&mut self, why: &str);
}

/// A model as it was ordered.
#[derive(Debug)]
pub struct Model {
    pub order: ModelOrder,
}
