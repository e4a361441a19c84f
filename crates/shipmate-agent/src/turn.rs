//! The turn machine: what an agent does next, without doing it.
//!
//! Active while the model calls tools, idle otherwise. Messages are put in at the boundary
//! between tools and the next request, or they make one more request when the model has ended;
//! they never break anything off. `Cancel` acts at once and leaves a conversation that can go on.
//!
//! No clock, no file and no network: whoever runs it does what a [`Step`] says and tells what
//! came of it.

use shipmate_protocol::native::Ended;

use crate::context::{Context, not_run};
use crate::message::{Block, Call, CallResult, Message, Role};
use crate::model::{Failure, Reply, Stop};
use crate::rounds::{Circle, Rounds};

/// Answers in a row that were cut for their length.
const CUT_MAX: u32 = 3;

const CANCELLED: &str = "cancelled: whether it was carried out is not known; look at what is there";

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A turn is given; `whole` tells of the task to somebody who has not heard of it.
    Turn {
        text: String,
        whole: String,
    },
    Message(String),
    Reply(Reply),
    Failed(Failure),
    /// The budget has no room for the next request.
    Refused(String),
    /// What all calls of the last reply gave.
    Results(Vec<CallResult>),
    Cancel,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Nothing,
    Ask,
    Summarise,
    Use(Vec<Call>),
    Ended(Ended),
}

/// What is to be written down.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    Message(Message),
    About(String),
    Summary { text: String, tail: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    Asking,
    Summarising,
    Using,
}

#[derive(Debug)]
pub struct Machine {
    pub context: Context,
    doing: Doing,
    waiting: Vec<String>,
    requests: u32,
    requests_max: u32,
    cut: u32,
    rounds: Rounds,
    /// It did not fit although it was just summarised.
    pressed: bool,
    kept: Vec<Kept>,
}

impl Machine {
    pub fn new(context: Context, requests_max: u32) -> Machine {
        Machine {
            context,
            doing: Doing::Nothing,
            waiting: Vec::new(),
            requests: 0,
            requests_max,
            cut: 0,
            rounds: Rounds::default(),
            pressed: false,
            kept: Vec::new(),
        }
    }

    pub fn is_active(&self) -> bool {
        self.doing != Doing::Nothing
    }

    /// What was added since the last time, in order.
    pub fn take_kept(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.kept)
    }

    pub fn on(&mut self, event: Event) -> Step {
        match (self.doing, event) {
            (_, Event::Message(text)) => {
                self.waiting.push(text);
                Step::Nothing
            }
            (Doing::Nothing, Event::Turn { text, whole }) => self.begin(text, whole),
            (Doing::Nothing, _) => Step::Nothing,
            (_, Event::Turn { text, .. }) => self.on(Event::Message(text)),
            (_, Event::Cancel) => self.cancel(),
            (_, Event::Refused(reason)) => self.end(Ended::Stopped { reason }),
            (Doing::Asking, Event::Reply(reply)) => self.replied(reply),
            (Doing::Asking, Event::Failed(failure)) => self.failed(failure),
            (Doing::Summarising, Event::Reply(reply)) => match reply.stop {
                Stop::Refused => self.summarised(String::new()),
                _ => self.summarised(Message::assistant(reply.blocks).text()),
            },
            // Whatever is in the way, a digest of our own needs no model.
            (Doing::Summarising, Event::Failed(_)) => self.summarised(String::new()),
            (Doing::Using, Event::Results(results)) => self.used(results),
            (_, Event::Reply(_) | Event::Failed(_) | Event::Results(_)) => Step::Nothing,
        }
    }

    fn used(&mut self, results: Vec<CallResult>) -> Step {
        let called = self.context.messages().last();
        let circle = self.rounds.note(called.into_iter().flat_map(Message::calls), &results);
        let results = results.into_iter().map(Block::Result).collect();
        self.keep(Message { role: Role::User, blocks: results });
        match circle {
            Circle::None => {}
            Circle::Told { times } => self.waiting.push(format!(
                "You have made the same calls {times} times and they gave the same each time: once \
                 more will not help. Try another way, or end your turn and say what stands in it."
            )),
            Circle::Over { times } => {
                let reason = format!(
                    "it repeats itself: the same calls with the same arguments {times} times in a \
                     row"
                );
                return self.end(Ended::Failed { reason });
            }
        }
        self.next()
    }

    fn begin(&mut self, text: String, whole: String) -> Step {
        (self.requests, self.cut) = (0, 0);
        self.rounds.clear();
        if !whole.trim().is_empty() {
            self.context.set_about(whole.clone());
            self.kept.push(Kept::About(whole));
        }
        // An empty turn would be a message that providers refuse.
        let text = if text.trim().is_empty() { "Go on.".to_owned() } else { text };
        self.keep(Message::user(text));
        self.next()
    }

    fn keep(&mut self, message: Message) {
        self.kept.push(Kept::Message(message.clone()));
        self.context.push(message);
    }

    /// The boundary: what waits is put in, then the model is asked.
    fn next(&mut self) -> Step {
        for text in std::mem::take(&mut self.waiting) {
            self.keep(Message::user(text));
        }
        self.context.shrink();
        if self.context.is_full() && self.context.messages().len() > 1 && !self.pressed {
            self.pressed = true;
            self.doing = Doing::Summarising;
            return Step::Summarise;
        }
        if self.requests >= self.requests_max {
            let reason = format!(
                "it asked its model {} times in one turn and did not come to an end; give it a \
                 smaller task, or raise requests-max (maxTurns in its definition)",
                self.requests
            );
            return self.end(Ended::Failed { reason });
        }
        self.requests += 1;
        self.doing = Doing::Asking;
        Step::Ask
    }

    fn replied(&mut self, reply: Reply) -> Step {
        self.pressed = false;
        let has_calls = reply.blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let message = Message::assistant(reply.blocks);
        let (calls, text): (Vec<Call>, _) = (message.calls().cloned().collect(), message.text());
        // Thinking alone is no message that could be sent back.
        if has_calls || !text.trim().is_empty() {
            self.keep(message);
        }
        self.context.counted(reply.tokens.context());
        if has_calls {
            self.cut = 0;
            self.doing = Doing::Using;
            return Step::Use(calls);
        }
        match reply.stop {
            Stop::Length if self.cut < CUT_MAX => {
                self.cut += 1;
                self.waiting.insert(0, "Your answer was cut: it was too long. Go on.".to_owned());
                self.next()
            }
            Stop::Length => {
                let reason = "its answers were cut for their length, again and again; raise \
                              output-tokens of its model"
                    .to_owned();
                self.end(Ended::Failed { reason })
            }
            Stop::Refused => {
                let said = if text.is_empty() { String::new() } else { format!(": {text}") };
                let reason = format!("the model's provider refused to go on{said}");
                self.end(Ended::Failed { reason })
            }
            _ if !self.waiting.is_empty() => self.next(),
            _ => self.end(Ended::Done { text }),
        }
    }

    fn failed(&mut self, failure: Failure) -> Step {
        match failure {
            Failure::TooLong { .. } if !self.pressed && self.context.messages().len() > 1 => {
                self.pressed = true;
                // The same conversation would not fit for a summary either.
                self.doing = Doing::Summarising;
                self.summarised(String::new())
            }
            Failure::TooLong { text } => {
                let reason = format!("the conversation does not fit the model: {text}");
                self.end(Ended::Failed { reason })
            }
            Failure::Final { text } | Failure::Key { text } => {
                self.end(Ended::Unable { reason: text })
            }
            Failure::TooMany { text, after } => {
                let after_ms = after.map(|after| after.as_millis() as u64);
                self.end(Ended::Limited { reason: text, after_ms })
            }
            Failure::Later { text, .. } => self.end(Ended::Unable { reason: text }),
        }
    }

    fn summarised(&mut self, text: String) -> Step {
        let text = if text.trim().is_empty() { self.context.digest() } else { text };
        let tail = self.context.summarised(&text);
        self.kept.push(Kept::Summary { text, tail });
        self.next()
    }

    fn cancel(&mut self) -> Step {
        if self.doing == Doing::Using
            && let Some(last) = self.context.messages().last()
        {
            let results = last.calls().map(|call| not_run(call, CANCELLED)).collect();
            self.keep(Message { role: Role::User, blocks: results });
        }
        self.end(Ended::Cancelled)
    }

    fn end(&mut self, how: Ended) -> Step {
        // Whoever sent them is told that they were heard.
        for text in std::mem::take(&mut self.waiting) {
            self.keep(Message::user(text));
        }
        self.doing = Doing::Nothing;
        self.pressed = false;
        Step::Ended(how)
    }
}
