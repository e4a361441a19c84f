//! A connection that sends many requests in one write and reads their answers after.
//!
//! The protocol allows it and the ordinary client does not do it, because only the last request of
//! a client can be asked again after a crash. Here it builds large logs quickly, and shows what a
//! worker would gain that completes and claims in one step.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use shipmate_protocol::client::TokenSource;
use shipmate_protocol::socket;
use shipmate_protocol::{
    Answer, Ask, ClientFailure, Hello, PROTOCOL, Place, Refused, Reply, Request, verbs,
};

use crate::arguments::Arguments;
use crate::worker::{Board, Taken, complete, taken};
use crate::workspace;

#[derive(Debug)]
pub(crate) struct Pipeline {
    reader: BufReader<UnixStream>,
    counter: u64,
    line: Vec<u8>,
}

impl Pipeline {
    pub(crate) fn connect(place: &Place, token: &str) -> Result<Pipeline, String> {
        let stream = socket::connect(&place.socket()).map_err(|e| e.to_string())?;
        stream.set_nonblocking(false).map_err(|e| e.to_string())?;
        let reader = BufReader::with_capacity(256 * 1024, stream);
        let mut pipeline = Pipeline { reader, counter: 0, line: Vec::new() };
        let hello = Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            client: format!("load-{}-{}", std::process::id(), crate::measure::now_ns()),
            token: token.to_owned(),
        };
        let mut line = serde_json::to_vec(&hello).expect("a hello is JSON");
        line.push(b'\n');
        pipeline.reader.get_mut().write_all(&line).map_err(|e| e.to_string())?;
        match pipeline.read()? {
            Reply::Welcome(_) => Ok(pipeline),
            other => Err(format!("the hello was answered by {other:?}")),
        }
    }

    /// The answers, in the order of the questions.
    pub(crate) fn ask_all(
        &mut self,
        asks: impl IntoIterator<Item = Ask>,
    ) -> Result<Vec<Result<Answer, Refused>>, String> {
        let first = self.counter + 1;
        let mut lines = Vec::new();
        for ask in asks {
            self.counter += 1;
            let request = Request { id: self.counter, team: None, ask };
            serde_json::to_writer(&mut lines, &request).expect("a request is JSON");
            lines.push(b'\n');
        }
        self.reader.get_mut().write_all(&lines).map_err(|e| e.to_string())?;
        let count = (self.counter + 1 - first) as usize;
        let mut answers: Vec<Option<Result<Answer, Refused>>> = (0..count).map(|_| None).collect();
        for _ in 0..count {
            let (id, answer) = match self.read()? {
                Reply::Answer { id, answer } => (id, Ok(answer)),
                Reply::Refused { id, refused } => (id, Err(refused)),
                other => return Err(format!("a request was answered by {other:?}")),
            };
            let place = id.checked_sub(first).and_then(|at| answers.get_mut(at as usize));
            *place.ok_or_else(|| format!("an answer to {id}, which was not asked"))? = Some(answer);
        }
        answers.into_iter().map(|answer| answer.ok_or("a question has no answer".into())).collect()
    }

    fn read(&mut self) -> Result<Reply, String> {
        self.line.clear();
        let read = self.reader.read_until(b'\n', &mut self.line).map_err(|e| e.to_string())?;
        if read == 0 {
            return Err("the coordinator is gone".to_owned());
        }
        serde_json::from_slice(&self.line).map_err(|e| e.to_string())
    }
}

/// Completes one task and takes the next in one write.
#[derive(Debug)]
pub(crate) struct CombinedBoard {
    pipeline: Pipeline,
    wait: bool,
}

impl CombinedBoard {
    pub(crate) fn connect(arguments: &mut Arguments) -> Result<CombinedBoard, String> {
        let wait = arguments.switch("wait");
        let place = workspace::place(arguments)?;
        // It starts no coordinator.
        let _unused = arguments.optional("shipmate");
        let TokenSource::Given(token) = workspace::token_from_environment()? else {
            unreachable!("the environment gives a token")
        };
        Ok(CombinedBoard { pipeline: Pipeline::connect(&place, &token)?, wait })
    }

    fn next_ask(&self) -> Ask {
        Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: self.wait })
    }
}

impl Board for CombinedBoard {
    fn next(&mut self) -> Result<Option<Taken>, String> {
        let mut answers = self.pipeline.ask_all([self.next_ask()])?;
        taken(answers.remove(0).map_err(ClientFailure::Refused))
    }

    fn complete(&mut self, taken: Taken) -> Result<(), String> {
        let mut answers = self.pipeline.ask_all([complete(taken)])?;
        answers.remove(0).map(drop).map_err(|refused| refused.to_string())
    }

    fn complete_and_next(&mut self, done: Taken) -> Result<Option<Taken>, String> {
        // Whoever completes the last must say so before it waits for what will not come.
        if done.is_end {
            self.complete(done)?;
            return Ok(None);
        }
        let mut answers = self.pipeline.ask_all([complete(done), self.next_ask()])?;
        let next = answers.remove(1);
        answers.remove(0).map_err(|refused| refused.to_string())?;
        taken(next.map_err(ClientFailure::Refused))
    }
}
