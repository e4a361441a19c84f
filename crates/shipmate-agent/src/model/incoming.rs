//! An answer as its bytes come in: a stream of events or, from servers that do not stream, one
//! piece of JSON. No I/O.
//!
//! What must hold: a reply is whole or there is none, where the bytes are cut does not matter,
//! and nothing grows without end.

use serde_json::{Value, json};

use super::quirks::Quirks;
use super::sse::{Event, Events, NoEvent};
use super::verdict::Told;
use super::{Reply, Request, anthropic, chat};

const REPLY_BYTES_MAX: usize = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Anthropic,
    Chat,
}

impl Protocol {
    /// Where requests go: the base with the protocol's path, as much of it as is missing.
    pub(super) fn url(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            Protocol::Anthropic if base.ends_with("/v1/messages") => base.to_owned(),
            Protocol::Anthropic if base.ends_with("/v1") => format!("{base}/messages"),
            Protocol::Anthropic => format!("{base}/v1/messages"),
            Protocol::Chat if base.ends_with("/chat/completions") => base.to_owned(),
            Protocol::Chat => format!("{base}/chat/completions"),
        }
    }

    pub(super) fn body(self, model: &str, request: &Request<'_>, quirks: &Quirks) -> Value {
        match self {
            Protocol::Anthropic => anthropic::body(model, request, quirks),
            Protocol::Chat => chat::body(model, request, quirks),
        }
    }
}

/// Why what came is no reply.
#[derive(Debug, PartialEq)]
pub(super) enum Spoiled {
    /// The provider said so.
    Told(Told),
    Malformed(String),
    /// It ended too early.
    Cut,
    TooLarge(String),
}

impl From<NoEvent> for Spoiled {
    fn from(no_event: NoEvent) -> Spoiled {
        match no_event {
            NoEvent::TooLarge => Spoiled::TooLarge(no_event.to_string()),
            NoEvent::NoText => Spoiled::Malformed(no_event.to_string()),
        }
    }
}

#[derive(Debug)]
enum Reader {
    Anthropic(anthropic::Reader),
    Chat(chat::Reader),
}

#[derive(Debug)]
pub(super) struct Incoming {
    reader: Reader,
    events: Events,
    /// The answer as far as it has come, if it is not a stream.
    plain: Option<Vec<u8>>,
    bytes: usize,
    begun: bool,
}

impl Incoming {
    pub(super) fn new(protocol: Protocol) -> Incoming {
        let reader = match protocol {
            Protocol::Anthropic => Reader::Anthropic(anthropic::Reader::default()),
            Protocol::Chat => Reader::Chat(chat::Reader::default()),
        };
        Incoming { reader, events: Events::default(), plain: None, bytes: 0, begun: false }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Spoiled> {
        self.bytes += bytes.len();
        if self.bytes > REPLY_BYTES_MAX {
            let reason = format!("one reply is larger than {} MiB", REPLY_BYTES_MAX >> 20);
            return Err(Spoiled::TooLarge(reason));
        }
        if !self.begun
            && let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace())
        {
            self.begun = true;
            self.plain = (*first == b'{' || *first == b'[').then(Vec::new);
        }
        if let Some(plain) = &mut self.plain {
            plain.extend_from_slice(bytes);
            return Ok(());
        }
        for event in self.events.feed(bytes)? {
            self.event(&event)?;
        }
        Ok(())
    }

    /// Nothing more is to come, though the connection may stay open.
    pub(super) fn is_over(&self) -> bool {
        match &self.reader {
            Reader::Anthropic(reader) => reader.is_over(),
            Reader::Chat(reader) => reader.is_over(),
        }
    }

    /// The reply, once the bytes have ended or have broken off.
    pub(super) fn end(mut self) -> Result<Reply, Spoiled> {
        if let Some(plain) = self.plain.take() {
            let answer = serde_json::from_slice(&plain).map_err(|error| match error.is_eof() {
                true => Spoiled::Cut,
                false => Spoiled::Malformed(error.to_string()),
            })?;
            match &mut self.reader {
                Reader::Anthropic(reader) => reader.whole(&answer)?,
                Reader::Chat(reader) => reader.whole(&answer)?,
            }
        } else if !self.is_whole()
            && let Some(last) = self.events.rest()?
        {
            // Half an event at the end is a stream that was cut, not one that is wrong.
            self.event(&last).map_err(|spoiled| match spoiled {
                Spoiled::Malformed(_) => Spoiled::Cut,
                other => other,
            })?;
        }
        if !self.is_whole() {
            return Err(Spoiled::Cut);
        }
        Ok(match self.reader {
            Reader::Anthropic(reader) => reader.reply(),
            Reader::Chat(reader) => reader.reply(),
        })
    }

    fn is_whole(&self) -> bool {
        match &self.reader {
            Reader::Anthropic(reader) => reader.is_whole(),
            Reader::Chat(reader) => reader.is_whole(),
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), Spoiled> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if let Reader::Chat(reader) = &mut self.reader
            && data == chat::DONE
        {
            reader.done();
            return Ok(());
        }
        let value: Value = match serde_json::from_str(data) {
            Ok(value) => value,
            Err(_) if event.is_error => json!({"error": data}),
            Err(error) => return Err(Spoiled::Malformed(error.to_string())),
        };
        if event.is_error {
            let told = Told::in_json(&value).unwrap_or_else(|| Told {
                status: 500,
                message: value.to_string(),
                ..Told::default()
            });
            return Err(Spoiled::Told(told));
        }
        match &mut self.reader {
            Reader::Anthropic(reader) => reader.event(&value),
            Reader::Chat(reader) => reader.event(&value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_have_as_much_of_the_path_as_it_likes() {
        let table = [
            (Protocol::Anthropic, "https://a.test", "https://a.test/v1/messages"),
            (Protocol::Anthropic, "https://a.test/", "https://a.test/v1/messages"),
            (Protocol::Anthropic, "https://a.test/v1", "https://a.test/v1/messages"),
            (Protocol::Anthropic, "https://a.test/x/v1/", "https://a.test/x/v1/messages"),
            (Protocol::Anthropic, "https://a.test/v1/messages", "https://a.test/v1/messages"),
            (Protocol::Chat, "http://a.test/v1", "http://a.test/v1/chat/completions"),
            (Protocol::Chat, "http://a.test/v1//", "http://a.test/v1/chat/completions"),
            (Protocol::Chat, "http://a.test/chat/completions", "http://a.test/chat/completions"),
        ];
        for (protocol, base, expected) in table {
            assert_eq!(protocol.url(base), expected, "of {base}");
        }
    }

    fn read(protocol: Protocol, bytes: &[u8]) -> Result<Reply, Spoiled> {
        let mut incoming = Incoming::new(protocol);
        for chunk in bytes.chunks(7) {
            incoming.feed(chunk)?;
        }
        incoming.end()
    }

    #[test]
    fn what_is_no_whole_reply_is_none() {
        let chat = |text: &str| read(Protocol::Chat, text.as_bytes()).unwrap_err();
        let messages = |text: &str| read(Protocol::Anthropic, text.as_bytes()).unwrap_err();
        for read in [chat, messages] {
            assert_eq!(read(""), Spoiled::Cut);
            assert_eq!(read("<html>Welcome</html>\n\n"), Spoiled::Cut);
            assert_eq!(read("{\"id\":\"a"), Spoiled::Cut);
            assert!(matches!(read("{\"id\":}"), Spoiled::Malformed(_)));
            assert!(matches!(read("{\"id\":1}"), Spoiled::Malformed(_)));
            assert!(matches!(read("data: {\"a\"\n\ndata: {}\n\n"), Spoiled::Malformed(_)));
            assert!(matches!(read("event: error\ndata: busy\n\n"), Spoiled::Told(told)
                if told.status == 500 && told.message == "busy"));
            assert!(matches!(read("{\"type\":\"error\",\"error\":{\"message\":\"no\",\
                \"type\":\"overloaded_error\"}}"), Spoiled::Told(told) if told.status == 529));
        }
        assert_eq!(chat("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"), Spoiled::Cut);
        assert_eq!(chat("data: {\"choices\":[{\"delta\":{\"cont"), Spoiled::Cut);
        assert_eq!(chat("data: [DONE]\n\n"), Spoiled::Cut);
    }

    #[test]
    fn a_reply_has_an_end() {
        let event = format!("data: {{\"type\":\"{}\"}}\n\n", "a".repeat(1 << 20));
        let stream = event.repeat(33);
        let mut incoming = Incoming::new(Protocol::Anthropic);
        let fed = stream.as_bytes().chunks(1 << 16).try_for_each(|chunk| incoming.feed(chunk));
        assert_eq!(fed, Err(Spoiled::TooLarge("one reply is larger than 32 MiB".to_owned())));
    }
}
