//! Server-sent events, cut out of bytes as they come.
//!
//! What must hold: where the bytes are cut does not matter, and no event grows without end.
//! Lines that are no field are passed over, as the standard has it: servers put comments and
//! fields of their own between events.

/// An event of a model is a few words; whatever is larger than this is no event of a model.
pub(super) const EVENT_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The `data` of the event that is coming in; none before its first line.
    data: Option<String>,
    is_error: bool,
    after_carriage_return: bool,
    begun: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: String,
    /// The server named the event an error; some do so only here.
    pub(super) is_error: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoEvent {
    #[error("one event is larger than {} MiB", EVENT_BYTES_MAX >> 20)]
    TooLarge,
    #[error("an event is not UTF-8")]
    NoText,
}

impl Events {
    /// All events that end in these bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, NoEvent> {
        let mut ended = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > EVENT_BYTES_MAX {
                return Err(NoEvent::TooLarge);
            }
            let Some(end) = end else { break };
            self.after_carriage_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            ended.extend(self.end_line()?);
        }
        Ok(ended)
    }

    /// What is left when no more bytes come: servers forget the empty line after the last event.
    pub(super) fn rest(&mut self) -> Result<Option<Event>, NoEvent> {
        let last = self.end_line()?;
        Ok(last.or(self.end_event()))
    }

    fn end_line(&mut self) -> Result<Option<Event>, NoEvent> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                let value = std::str::from_utf8(value).map_err(|_| NoEvent::NoText)?;
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    None => self.data = Some(value.to_owned()),
                }
            }
            b"event" => self.is_error = value == b"error",
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<Event> {
        let is_error = std::mem::take(&mut self.is_error);
        self.data.take().map(|data| Event { data, is_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], chunk_bytes: usize) -> Result<Vec<String>, NoEvent> {
        let mut events = Events::default();
        let mut read = Vec::new();
        for chunk in text.chunks(chunk_bytes) {
            read.extend(events.feed(chunk)?);
        }
        read.extend(events.rest()?);
        let mark = |event: Event| if event.is_error { "!" } else { "" }.to_owned() + &event.data;
        Ok(read.into_iter().map(mark).collect())
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let table: [(&str, &[&str]); 9] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata:b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\ndata: é\n\n", &["a\né"]),
            (": ping\n\nevent: x\nid: 1\nretry: soon\ndata: a\nwhat\n\n", &["a"]),
            ("event: error\ndata: a\n\ndata: b\n\n", &["!a", "b"]),
            ("data: a\n\ndata: [DONE]", &["a", "[DONE]"]),
            ("event: ping\n\n\n\n", &[]),
        ];
        for (text, expected) in table {
            for chunk_bytes in [1, 2, 3, 5, 37, 1000] {
                let read = read(text.as_bytes(), chunk_bytes).unwrap();
                assert_eq!(read, expected, "{text:?} in chunks of {chunk_bytes}");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_no_event() {
        assert_eq!(read(b"data: \xff\n\n", 4), Err(NoEvent::NoText));
    }

    #[test]
    fn an_event_has_an_end() {
        let long = |bytes: usize| [b"data: ".as_slice(), &vec![b'a'; bytes], b"\n\n"].concat();
        assert!(read(&long(EVENT_BYTES_MAX - 100), 1 << 16).is_ok());
        assert_eq!(read(&long(EVENT_BYTES_MAX), 1 << 16), Err(NoEvent::TooLarge));
        let lines = b"data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(EVENT_BYTES_MAX / 32);
        assert_eq!(read(&lines, 1 << 16), Err(NoEvent::TooLarge));
    }
}
