//! As much of HTTP as it takes to say something wrong on purpose.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Nothing takes so long unless it hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

pub(crate) struct Request {
    port: u16,
    head: String,
    has_host: bool,
    body: String,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn new(port: u16, method: &str, path: &str) -> Request {
        let head = format!("{method} {path} HTTP/1.1\r\n");
        Request { port, head, has_host: false, body: String::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Request {
        self.has_host |= name.eq_ignore_ascii_case("host");
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Request {
        body.clone_into(&mut self.body);
        self.header("Content-Length", &body.len().to_string())
    }

    /// The request is on its way, and the response is there to be read.
    pub(crate) fn begin(self) -> BufReader<TcpStream> {
        let host = format!("127.0.0.1:{}", self.port);
        let request = if self.has_host { self } else { self.header("Host", &host) };
        open(request.port, &format!("{}\r\n{}", request.head, request.body))
    }

    pub(crate) fn send(self) -> Response {
        read(self.header("Connection", "close").begin())
    }
}

pub(crate) fn open(port: u16, text: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    // A server that refuses early may close before it has read everything.
    drop(stream.write_all(text.as_bytes()));
    BufReader::new(stream)
}

/// The one response that comes before the connection ends.
pub(crate) fn read(mut stream: BufReader<TcpStream>) -> Response {
    let mut bytes = Vec::new();
    // A connection that is cut off has said what it had to say before.
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Response { status, head: head.to_owned(), body: body.to_owned() }
}

impl Response {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (said, value) = line.split_once(": ")?;
            said.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A stream of events, read one by one.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
    /// What is left of a chunk.
    text: String,
}

pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Events {
    #[track_caller]
    pub(crate) fn open(request: Request) -> Events {
        let mut lines = request.begin();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("text/event-stream"), "{head}");
        Events { lines, text: String::new() }
    }

    /// The next event; comments are passed over. None at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((text, rest)) = self.text.split_once("\n\n") {
                let (text, rest) = (text.to_owned(), rest.to_owned());
                self.text = rest;
                match event(&text) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let chunk = self.chunk()?;
            self.text.push_str(&chunk);
        }
    }

    /// The next of this name for which something can be said.
    #[track_caller]
    pub(crate) fn find<T>(&mut self, name: &str, say: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let event = self.next().expect("the stream goes on");
            if event.name == name
                && let Some(said) = say(&event)
            {
                return said;
            }
        }
    }

    fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.lines.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
        let mut bytes = vec![0; size + 2];
        self.lines.read_exact(&mut bytes).ok()?;
        bytes.truncate(size);
        Some(String::from_utf8(bytes).expect("an event is text"))
    }
}

fn event(text: &str) -> Option<Event> {
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let data = serde_json::from_str(of("data: ")?).unwrap();
    let id = of("id: ").map(|id| id.parse().unwrap());
    Some(Event { name: of("event: ")?.to_owned(), id, data })
}
