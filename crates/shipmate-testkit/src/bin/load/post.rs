//! The processes of W2: one that sends and one that receives, for either board.
//!
//! A message carries who sent it, its number and the instant just before the call that sent it.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use serde_json::json;
use shipmate_protocol::client::Launch;
use shipmate_protocol::{Answer, Ask, Client, verbs};

use crate::arguments::Arguments;
use crate::fleet::{say, wait_for_go};
use crate::measure::{now_ns, pass, timed};
use crate::reference::Link;
use crate::workspace;

/// After it has a message a receiver asks for the next; this lets it, so that every message finds
/// its receiver waiting.
const SETTLE: Duration = Duration::from_millis(1);
/// Most messages in one read.
const READ_MAX: usize = 100;

trait Post {
    fn send(&mut self, to: &str, body: &str) -> Result<(), String>;
    /// Waits for at least one.
    fn receive(&mut self) -> Result<Vec<String>, String>;
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let me = arguments.text("me")?;
    let count: usize = arguments.number("count", 1)?;
    let to = arguments.optional("to");
    let pace_us: u64 = arguments.number("pace-us", 0)?;
    let acknowledge = arguments.optional("acknowledge");
    let post: Box<dyn Post> = match arguments.optional("socket") {
        Some(socket) => {
            let mut link = Link::connect(socket.as_ref())?;
            link.ask(("hello", 0, "", &me))?;
            Box::new(ReferencePost { link })
        }
        None => {
            let place = workspace::place(&mut arguments)?;
            let token = workspace::token_from_environment()?;
            let mut client = Client::new(place, Launch::Never, token);
            client.welcome().map_err(|e| e.to_string())?;
            Box::new(ShipmatePost { client })
        }
    };
    arguments.finish()?;
    match to {
        Some(to) => {
            let heard = acknowledge.map(UnixDatagram::bind).transpose();
            let heard = heard.map_err(|e| e.to_string())?;
            wait_for_go()?;
            send(post, &me, &to, count, pace_us, heard.as_ref())
        }
        None => {
            wait_for_go()?;
            receive(post, count, acknowledge.as_deref())
        }
    }
}

/// Sends `count` messages: after the last was received if somebody acknowledges, else at a pace.
fn send(
    mut post: Box<dyn Post>,
    me: &str,
    to: &str,
    count: usize,
    pace_us: u64,
    heard: Option<&UnixDatagram>,
) -> Result<(), String> {
    let mut sent_ns = Vec::with_capacity(count);
    for number in 0..count {
        let body = format!("{me} {number} {}", now_ns());
        let (took, sent) = timed(|| post.send(to, &body));
        sent?;
        sent_ns.push(took);
        if let Some(heard) = heard {
            heard.recv(&mut [0; 8]).map_err(|e| e.to_string())?;
            pass(SETTLE);
        } else if pace_us > 0 {
            pass(Duration::from_micros(pace_us));
        }
    }
    say(&json!({ "sent_ns": sent_ns }).to_string())
}

fn receive(mut post: Box<dyn Post>, count: usize, tell: Option<&str>) -> Result<(), String> {
    let (mut from, mut numbers, mut latency_ns) = (Vec::new(), Vec::new(), Vec::new());
    let teller = UnixDatagram::unbound().map_err(|e| e.to_string())?;
    while numbers.len() < count {
        let bodies = post.receive()?;
        let now = now_ns();
        for body in bodies {
            let words: Vec<&str> = body.split_whitespace().collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            let (Some(which), Some(sent)) = (number(1), number(2)) else {
                return Err(format!("nobody here sent {body:?}"));
            };
            from.push(words[0].to_owned());
            numbers.push(which);
            latency_ns.push(now.saturating_sub(sent));
        }
        if let Some(path) = tell {
            teller.send_to(b"1", path).map_err(|e| e.to_string())?;
        }
    }
    say(&json!({ "from": from, "numbers": numbers, "latency_ns": latency_ns }).to_string())
}

struct ShipmatePost {
    client: Client,
}

impl Post for ShipmatePost {
    fn send(&mut self, to: &str, body: &str) -> Result<(), String> {
        let (to, body) = (to.to_owned(), body.to_owned());
        match self.client.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None })) {
            Ok(Answer::Sent(_)) => Ok(()),
            Ok(other) => Err(format!("the message was answered by {other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }

    fn receive(&mut self) -> Result<Vec<String>, String> {
        match self.client.ask(Ask::InboxRead(verbs::InboxRead { max: READ_MAX, wait: true })) {
            Ok(Answer::Messages(messages)) => {
                Ok(messages.into_iter().map(|message| message.body).collect())
            }
            Ok(other) => Err(format!("the inbox was answered by {other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }
}

struct ReferencePost {
    link: Link,
}

impl Post for ReferencePost {
    fn send(&mut self, to: &str, body: &str) -> Result<(), String> {
        self.link.ask(("send", 0, to, body)).map(drop)
    }

    fn receive(&mut self) -> Result<Vec<String>, String> {
        self.link.ask(("receive", 0, "", "")).map(|(_, texts)| texts)
    }
}
