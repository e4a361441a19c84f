//! What of a conversation a model is shown, and how it is kept within the window.
//!
//! Old large results of tools shrink first; when the window is nearly full the conversation is
//! summarised. After a summary the first message says again who the agent is and what its task
//! is, so nothing of that depends on a model's summary. A call and its result are never parted.
//!
//! Nothing is shortened before it must be: providers cache what stays the same.

use shipmate_process::beginning;
use shipmate_protocol::verbs::Context as Fill;

use crate::message::{Arguments, Block, Call, CallResult, Message, Role};

/// Results of these may be had again.
const SHRINKABLE: [&str; 5] = ["bash", "bash_output", "read_file", "glob", "grep"];
/// The newest results stay whole.
const RECENT_RESULTS: usize = 3;
/// Smaller ones are not worth it.
const LARGE_BYTES: usize = 4_000;
const SHRUNK: &str = "[this output was dropped to save room: call the tool again if you need it]";
/// From this part of the room on, in percent, old results shrink.
const SHRINK_AT: u64 = 60;
/// From this part on the conversation is summarised.
const FULL_AT: u64 = 93;
/// The newest messages may keep this part of the room after a summary.
const TAIL_AT: u64 = 25;
/// Of a text and of a result in a digest.
const DIGEST_TEXT_CHARS: usize = 500;
const DIGEST_RESULT_CHARS: usize = 200;

/// How a request for a summary ends.
pub const SUMMARISE: &str = include_str!("context/summarise.md");

#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    messages: Vec<Message>,
    /// The task in hand as it was told, for after a summary.
    about: String,
    /// Said after a summary.
    identity: String,
    /// What the standing instructions and the tools take of the window.
    head_tokens: u64,
    window_tokens: u64,
    output_tokens: u64,
    /// Tokens for a hundred bytes, as the provider counted last.
    tokens_per_100: u64,
    summaries: u32,
}

impl Context {
    pub fn new(identity: String, window_tokens: u64, output_tokens_max: u64) -> Context {
        Context {
            messages: Vec::new(),
            about: String::new(),
            identity,
            head_tokens: 0,
            window_tokens: window_tokens.max(1),
            // A small window must not be all answer.
            output_tokens: output_tokens_max.min(window_tokens / 4).max(1),
            tokens_per_100: 25,
            summaries: 0,
        }
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub fn summaries(&self) -> u32 {
        self.summaries
    }

    /// How long an answer may be.
    pub fn output_tokens(&self) -> u64 {
        self.output_tokens
    }

    /// How long the standing instructions and the tools are.
    pub fn set_head(&mut self, bytes: usize) {
        self.head_tokens = bytes as u64 / 4;
    }

    pub fn set_identity(&mut self, identity: String) {
        self.identity = identity;
    }

    pub fn set_about(&mut self, about: String) {
        self.about = about;
    }

    pub fn push(&mut self, message: Message) {
        match self.messages.last_mut() {
            Some(last) if last.role == message.role => last.blocks.extend(message.blocks),
            _ => self.messages.push(message),
        }
    }

    /// The provider counted what was sent, and the answer to it.
    pub fn counted(&mut self, tokens: u64) {
        let bytes = self.bytes() as u64 + self.head_tokens * 4;
        if tokens > 0 && bytes > 0 {
            self.tokens_per_100 = (tokens * 100 / bytes).clamp(10, 100);
        }
    }

    fn bytes(&self) -> usize {
        self.messages.iter().map(bytes).sum()
    }

    /// What a request would take of the window, about.
    pub fn tokens(&self) -> u64 {
        self.head_tokens + self.bytes() as u64 * self.tokens_per_100 / 100
    }

    fn room(&self) -> u64 {
        self.window_tokens - self.output_tokens
    }

    pub fn fill(&self) -> Fill {
        Fill { used: self.tokens(), max: Some(self.window_tokens) }
    }

    /// Makes old large results small, where it is time for that and brings enough.
    pub fn shrink(&mut self) {
        if self.tokens() * 100 < self.room() * SHRINK_AT {
            return;
        }
        let gain: usize = self.old_results().map(|result| result.text.len() - SHRUNK.len()).sum();
        // Shortening a little in each turn would have the whole conversation read anew each time.
        let worth = gain as u64 * self.tokens_per_100 / 100 * 10 >= self.room();
        if worth || self.is_full() {
            self.old_results().for_each(|result| SHRUNK.clone_into(&mut result.text));
        }
    }

    fn old_results(&mut self) -> impl Iterator<Item = &mut CallResult> {
        let shrinkable = |result: &CallResult| SHRINKABLE.contains(&result.tool.as_str());
        let results = self.messages.iter_mut().rev().flat_map(|message| &mut message.blocks);
        let results = results.filter_map(|block| match block {
            Block::Result(result) => Some(result),
            _ => None,
        });
        let old = results.filter(move |result| shrinkable(result)).skip(RECENT_RESULTS);
        old.filter(|result| result.text.len() >= LARGE_BYTES)
    }

    pub fn is_full(&self) -> bool {
        self.tokens() * 100 >= self.room() * FULL_AT
    }

    /// The conversation with the request for its summary.
    pub fn to_summarise(&self) -> Vec<Message> {
        let mut asked = Context { messages: self.messages.clone(), ..self.clone() };
        asked.push(Message::user(SUMMARISE));
        asked.messages
    }

    /// What was said and done, in short and without a model: for when none gives a summary.
    pub fn digest(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for block in self.messages.iter().flat_map(|message| &message.blocks) {
            lines.push(match block {
                Block::Text(text) => format!("- {}", start(text, DIGEST_TEXT_CHARS)),
                Block::Call(call) => format!("- called {} {}", call.tool, start(&shown(call), 200)),
                Block::Result(result) => {
                    format!("  got: {}", start(&result.text, DIGEST_RESULT_CHARS))
                }
                Block::Thinking { .. } | Block::Sealed(_) => continue,
            });
        }
        // The end says most.
        let most = (self.room() * 4 * TAIL_AT / 100) as usize;
        let (mut from, mut length) = (lines.len(), 0);
        while from > 0 && length + lines[from - 1].len() < most {
            from -= 1;
            length += lines[from].len() + 1;
        }
        lines[from..].join("\n")
    }

    /// Begins again with a summary, the identity, the task, and the newest messages; how many of
    /// those there are.
    pub fn summarised(&mut self, summary: &str) -> usize {
        let tail = self.tail();
        self.begin_again(summary, tail);
        tail
    }

    /// The same with so many messages, as it was done before.
    pub fn begin_again(&mut self, summary: &str, tail: usize) {
        let from = self.messages.len().saturating_sub(tail);
        let tail = self.messages.split_off(from);
        self.messages = vec![Message::user(self.first(summary))];
        tail.into_iter().for_each(|message| self.push(message));
        self.summaries += 1;
    }

    fn first(&self, summary: &str) -> String {
        let task = match self.about.trim() {
            "" => String::new(),
            about => format!("\n\nWhat you were last handed:\n{about}"),
        };
        format!(
            "[Your conversation was summarised to save room.]\n\n{}{task}\n\nSummary of what came \
             before:\n{}",
            self.identity,
            summary.trim()
        )
    }

    /// How many of the newest messages stay. The first of them is the model's own, so that no
    /// result is left without its call and no two messages of the user follow each other.
    fn tail(&self) -> usize {
        let most = self.room() * TAIL_AT / 100;
        let (mut kept, mut tokens) = (0, 0);
        for (count, message) in self.messages.iter().rev().enumerate() {
            tokens += bytes(message) as u64 * self.tokens_per_100 / 100;
            if tokens > most {
                break;
            }
            if message.role == Role::Assistant {
                kept = count + 1;
            }
        }
        kept
    }

    /// Answers calls that were never answered: the program ended in between.
    pub fn mend(&mut self) -> Option<Message> {
        let last = self.messages.last().filter(|last| last.role == Role::Assistant)?;
        let results: Vec<Block> = last.calls().map(|call| not_run(call, INTERRUPTED)).collect();
        if results.is_empty() {
            return None;
        }
        let mended = Message { role: Role::User, blocks: results };
        self.push(mended.clone());
        Some(mended)
    }
}

const INTERRUPTED: &str = "interrupted: your program ended while this ran; look at what is there";

/// The result of a call that did not end.
pub fn not_run(call: &Call, why: &str) -> Block {
    Block::Result(CallResult {
        id: call.id.clone(),
        tool: call.tool.clone(),
        text: why.to_owned(),
        is_error: true,
    })
}

fn shown(call: &Call) -> String {
    match &call.arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Broken { text, .. } => text.clone(),
    }
}

fn start(text: &str, chars: usize) -> String {
    beginning(&text.trim().replace('\n', " "), chars)
}

fn bytes(message: &Message) -> usize {
    let each = message.blocks.iter().map(|block| match block {
        Block::Text(text) | Block::Sealed(text) => text.len(),
        Block::Thinking { text, signature } => text.len() + signature.len(),
        Block::Call(call) => call.tool.len() + shown(call).len(),
        Block::Result(result) => result.text.len(),
    });
    // What a block is wrapped in.
    each.map(|bytes| bytes + 40).sum()
}
