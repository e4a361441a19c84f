//! A client on a pipe: JSON-RPC, a message a line, as the protocol's stdio transport has it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing here takes so long, even on a loaded machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// What came without being asked for.
    pub(crate) notices: Vec<Value>,
}

impl Pipe {
    pub(crate) fn open(command: &mut Command) -> Pipe {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is built");
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                if line.is_ok_and(|line| tell.send(line).is_err()) {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Pipe { child, input, lines, next: 0, notices: Vec::new() }
    }

    /// With the handshake done, in the newest version that has one.
    #[track_caller]
    pub(crate) fn ready(self) -> Pipe {
        self.ready_as("claude-code")
    }

    #[track_caller]
    pub(crate) fn ready_as(mut self, client: &str) -> Pipe {
        let answer = self.initialize("2025-11-25", client);
        assert!(answer["result"].is_object(), "{answer}");
        self
    }

    #[track_caller]
    pub(crate) fn initialize(&mut self, version: &str, client: &str) -> Value {
        let answer = self.ask(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": client, "version": "1" },
            }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer
    }

    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{line}").unwrap();
    }

    /// The next message of the server, which must be a line of JSON-RPC.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(LIMIT).expect("the server says something");
        let message: Value = serde_json::from_str(&line).expect("a line is a message");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Asks, and gives back the whole answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.notices.push(message);
        }
    }

    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Waits for a notification of this method.
    #[track_caller]
    pub(crate) fn notice(&mut self, method: &str) -> Value {
        if let Some(at) = self.notices.iter().position(|notice| notice["method"] == method) {
            return self.notices.remove(at);
        }
        loop {
            let message = self.receive();
            if message["method"] == method {
                return message;
            }
            self.notices.push(message);
        }
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let tools = self.result("tools/list", json!({}))["tools"].clone();
        let names = tools.as_array().unwrap().iter();
        names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Calls a tool that is to succeed; all its text, blocks apart from each other by a line.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(result["isError"], true, "{tool}: {result}");
        text_of(&result)
    }

    /// Calls a tool that is to be refused.
    #[track_caller]
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text_of(&result)
    }

    /// Ends the input and waits for the program.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.input = None;
        self.child.wait().unwrap()
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It may have ended; a test that failed leaves none behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("a result has content").iter();
    blocks.map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}
