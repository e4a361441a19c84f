//! Replies as text, and bytes as replies: what the tests of both protocols are written in.

use super::incoming::{Incoming, Protocol, Spoiled};
use super::{Reply, Request};
use crate::message::{Arguments, Block, Message};

pub(super) const REQUEST: Request<'static> =
    Request { tools: &[], system: "", messages: &[], output_tokens_max: 8_000, thinking_tokens: 0 };

/// The reply to a stream of these events, whichever way its bytes are cut. An event begins on a
/// line of its own; a line that begins with a quote belongs to the one above.
pub(super) fn streamed(protocol: Protocol, events: &str) -> String {
    let mut stream = String::new();
    for line in events.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let begins = if line.starts_with('"') { "" } else { "\n\ndata: " };
        stream += &format!("{begins}{line}");
    }
    stream += "\n\n";
    let whole = rendered(read(protocol, &stream, usize::MAX));
    for chunk_bytes in [1, 37] {
        assert_eq!(rendered(read(protocol, &stream, chunk_bytes)), whole, "in {chunk_bytes}s");
    }
    whole
}

/// The reply to an answer that was not streamed.
pub(super) fn plain(protocol: Protocol, json: &str) -> String {
    rendered(read(protocol, json, 37))
}

fn read(protocol: Protocol, text: &str, chunk_bytes: usize) -> Result<Reply, Spoiled> {
    let mut incoming = Incoming::new(protocol);
    for chunk in text.as_bytes().chunks(chunk_bytes) {
        incoming.feed(chunk)?;
    }
    incoming.end()
}

/// One line a block, then why it stopped and what it counted. Ids are left out: they are random.
fn rendered(reply: Result<Reply, Spoiled>) -> String {
    let reply = match reply {
        Ok(reply) => reply,
        Err(spoiled) => return format!("{spoiled:?}"),
    };
    let mut lines: Vec<String> = reply.blocks.iter().map(block).collect();
    let tokens = reply.tokens;
    let (input, output) = (tokens.input, tokens.output);
    let (read, write) = (tokens.cache_read, tokens.cache_write);
    let by = if reply.model.is_empty() { String::new() } else { format!(", by {}", reply.model) };
    lines.push(format!(
        "{:?}: {input} in, {output} out, {read} read, {write} written{by}",
        reply.stop
    ));
    lines.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("says {text}"),
        Block::Thinking { text, signature } => format!("thinks {text} [{signature}]"),
        Block::Sealed(data) => format!("sealed {data}"),
        Block::Call(call) => {
            assert_eq!(call.id.len(), 9, "an id of our own");
            match &call.arguments {
                Arguments::Json(value) => format!("calls {} {value}", call.tool),
                Arguments::Broken { text, reason } => {
                    format!("calls {} broken {text:?}: {reason}", call.tool)
                }
            }
        }
        Block::Result(result) => format!("result {}", result.text),
    }
}

pub(super) fn says(text: &str) -> Message {
    Message::assistant(vec![Block::Text(text.to_owned())])
}
