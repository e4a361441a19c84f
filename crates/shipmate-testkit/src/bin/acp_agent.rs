//! An ACP agent without a model, for tests: it runs a task's subject as a shell line, says through
//! the team's tools what came of it, and misbehaves in the ways it is asked to.
//!
//! `ACP_AGENT` holds words, separated by spaces:
//! - `dies-at-hello`: says why on standard error and exits before it has answered the greeting;
//! - `waits-at-hello`: answers the greeting only when the door `hello` is opened;
//! - `old`: speaks another version of the protocol;
//! - `auth`: is not logged in;
//! - `forgets`: can take no session up again;
//! - `garbage`: says lines that are no messages, and asks for what nobody offers;
//! - `floods`: tells 100,000 pieces of text before its turn ends;
//! - `asks`: asks for permission before it runs a line;
//! - `asks-outside`: the same for a file outside its tree, and goes on whatever it is told;
//! - `plans`: hands in the plan "chart the harbour" until it is told that one is approved;
//! - `dies-in-turn`: exits in the first turn of all, after the line was run;
//! - `ignores-cancel`, `ignores-end`: goes on when its turn is cancelled, when its input ends.
//!
//! With `ACP_SCRIPT` it runs that script instead, as a command would be run: `SHIPMATE_SUBJECT` is the
//! task's. With `ACP_LEAD` the first turn that hands it no task is a goal, for which it makes the calls
//! of that file, a line each: `TaskCreate {"subject":"one"}`.
//!
//! `S` is the folder of the stage, with `words.sh` and the doors. A session is a file in it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

enum Event {
    Line(String),
    End,
    /// The line of a prompt was run.
    Ran {
        prompt: Value,
        stop: &'static str,
    },
}

struct Agent {
    faults: BTreeSet<String>,
    folder: PathBuf,
    events: Receiver<Event>,
    tell: Sender<Event>,
    session: String,
    server: Value,
    /// The prompt that is not answered yet.
    prompt: Option<Value>,
    led: Cell<bool>,
}

fn main() {
    let (tell, events) = channel();
    let lines = tell.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            drop(lines.send(Event::Line(line)));
        }
        drop(lines.send(Event::End));
    });
    let faults = std::env::var("ACP_AGENT").unwrap_or_default();
    let agent = Agent {
        faults: faults.split_whitespace().map(str::to_owned).collect(),
        folder: std::env::var_os("S").expect("S names the stage's folder").into(),
        events,
        tell,
        session: String::new(),
        server: Value::Null,
        prompt: None,
        led: Cell::new(false),
    };
    agent.live();
}

impl Agent {
    /// A file that it may write, behind its fence too.
    fn kept(&self, name: &str) -> PathBuf {
        self.folder.join("notes").join(name)
    }

    fn is(&self, fault: &str) -> bool {
        self.faults.contains(fault)
    }

    fn live(mut self) {
        while let Ok(event) = self.events.recv() {
            match event {
                Event::Line(line) => {
                    let message: Value =
                        serde_json::from_str(&line).expect("the client sends JSON");
                    self.hear(&message);
                }
                Event::End if self.is("ignores-end") => {}
                Event::End => return,
                Event::Ran { prompt, stop } => {
                    if self.is("dies-in-turn") && !self.kept("died").exists() {
                        fs::write(self.kept("died"), "").expect("the folder is there");
                        eprintln!("out of memory");
                        std::process::exit(7);
                    }
                    // Cancelled in between: answered already.
                    if self.prompt.take_if(|open| *open == prompt).is_some() {
                        self.end_turn(&prompt, stop);
                    }
                }
            }
        }
    }

    fn hear(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str() {
            Some("initialize") => self.greet(id),
            Some("session/new") if self.is("auth") => refuse(id, -32000, "API key is missing"),
            Some("session/new") => {
                self.session = format!("s-{}", std::process::id());
                self.server = params["mcpServers"][0].clone();
                answer(id, &json!({ "sessionId": self.session }));
            }
            Some("session/load") => {
                self.session = params["sessionId"].as_str().expect("a session is named").to_owned();
                self.server = params["mcpServers"][0].clone();
                say(&self.session, "history that was told before");
                answer(id, &json!({}));
            }
            Some("session/prompt") => self.begin_turn(id, params),
            Some("session/cancel") if self.is("ignores-cancel") => {}
            Some("session/cancel") => {
                if let Some(prompt) = self.prompt.take() {
                    answer(&prompt, &json!({ "stopReason": "cancelled" }));
                }
            }
            Some(method) => refuse(id, -32601, &format!("there is no {method}")),
            None => self.answered(message),
        }
    }

    fn greet(&self, id: &Value) {
        if self.is("dies-at-hello") {
            eprintln!("this program needs a licence");
            std::process::exit(3);
        }
        if self.is("waits-at-hello") {
            let door = fs::File::open(self.folder.join("hello.door")).expect("there is a door");
            let mut line = String::new();
            BufReader::new(door).read_line(&mut line).expect("somebody opens the door");
        }
        if self.is("garbage") {
            print("Loading…\n{\"half\": \n[1, 2]\n\"words\"\n{}\n{\"id\":99,\"result\":{}}");
        }
        answer(
            id,
            &json!({
                "protocolVersion": if self.is("old") { 0 } else { 1 },
                "agentCapabilities": { "loadSession": !self.is("forgets") },
                "authMethods": [{ "id": "key", "name": "API key", "description": "set FAKE_KEY" }],
            }),
        );
    }

    fn begin_turn(&mut self, id: &Value, params: &Value) {
        let text = params["prompt"][0]["text"].as_str().unwrap_or_default();
        // While it plans it may write nothing.
        if self.is("plans") && !text.contains("plan is approved: ") {
            self.prompt = Some(id.clone());
            return self.plan();
        }
        let kept = self.kept(&self.session);
        // A turn that names no task goes on with the one of the session.
        let task = match text.lines().find_map(|line| line.strip_prefix("Task ")) {
            Some(task) => {
                let files = text.lines().find_map(|line| line.strip_prefix("Files it is about: "));
                // `a.txt, b.txt. They are yours …`
                let files = files.unwrap_or_default().split(". ").next().unwrap_or_default();
                let files = files.replace(", ", " ");
                fs::write(self.kept(&format!("{}.files", self.session)), files)
                    .expect("the folder is there");
                // What a teammate made stands in the envelope of a teammate's words.
                let mut lines =
                    text.lines().skip_while(|line| !line.starts_with("<teammate-message"));
                let own = task.contains(" asks for below.").then(|| lines.nth(1)).flatten();
                let task = match (own, task.split_once(": ")) {
                    (Some(subject), Some((id, _))) => format!("{id}: {subject}"),
                    _ => task.to_owned(),
                };
                fs::write(&kept, &task).expect("the folder is there");
                task
            }
            None => fs::read_to_string(&kept).unwrap_or_default(),
        };
        // A teammate's words are no goal.
        if text.contains("<teammate-message ") && !text.contains("from=\"person\"") {
            self.led.set(true);
        }
        self.prompt = Some(id.clone());
        say(&self.session, "I will ");
        say(&self.session, "run it.");
        if self.is("garbage") {
            print("\u{1b}[31mnot a message\u{1b}[0m");
            request("fs/read_text_file", "f", &json!({ "path": "/etc/passwd" }));
            update(&self.session, &json!({ "sessionUpdate": "of_next_year", "x": [1] }));
            print("{\"jsonrpc\":\"2.0\",\"method\":\"_next/year\"}");
            return self.faults_then(task);
        }
        if self.is("asks") || self.is("asks-outside") {
            let call = match self.is("asks-outside") {
                true => json!({
                    "toolCallId": "c", "title": "Edit hosts", "kind": "edit",
                    "locations": [{ "path": "/etc/hosts" }],
                }),
                false => json!({ "toolCallId": "c", "title": "make deploy", "kind": "execute" }),
            };
            // The order is one that would allow for good by position.
            let options = json!([
                { "optionId": "a", "name": "Always", "kind": "allow_always" },
                { "optionId": "n", "name": "No", "kind": "reject_once" },
                { "optionId": "y", "name": "Yes", "kind": "allow_once" },
            ]);
            let params = json!({ "sessionId": self.session, "toolCall": call, "options": options });
            request("session/request_permission", "p", &params);
            return self.faults_then(task);
        }
        self.run(task);
    }

    /// Hands a plan in beside the conversation, and ends its turn.
    fn plan(&self) {
        let (server, tell) = (self.server.clone(), self.tell.clone());
        let prompt = self.prompt.clone().unwrap_or_default();
        std::thread::spawn(move || {
            call(&server, "ExitPlanMode", &json!({ "plan": "chart the harbour" }));
            drop(tell.send(Event::Ran { prompt, stop: "end_turn" }));
        });
    }

    /// Keeps the task until what was asked is answered.
    fn faults_then(&self, task: String) {
        fs::write(self.kept("asked"), task).expect("the folder is there");
    }

    /// The client has answered what it was asked.
    fn answered(&self, message: &Value) {
        let outcome = message["result"]["outcome"].clone();
        let fits = match message["id"].as_str() {
            Some("f") => message["error"]["code"] == -32601,
            // Refused, it does what it can without.
            Some("p") => outcome["optionId"] == "y" || self.is("asks-outside"),
            _ => false,
        };
        let told = format!("told {} {}", outcome["outcome"], outcome["optionId"]);
        say(&self.session, &told);
        let prompt = self.prompt.clone().unwrap_or_default();
        match (fits, outcome["outcome"] == "cancelled") {
            (true, _) => self.run(fs::read_to_string(self.kept("asked")).unwrap_or_default()),
            (false, true) => {}
            (false, false) => drop(self.tell.send(Event::Ran { prompt, stop: "refusal" })),
        }
    }

    /// Runs the line of a task beside the conversation.
    fn run(&self, task: String) {
        let Some((id, line)) = task.split_once(": ") else {
            self.lead();
            let prompt = self.prompt.clone().unwrap_or_default();
            return drop(self.tell.send(Event::Ran { prompt, stop: "end_turn" }));
        };
        update(
            &self.session,
            &json!({
                "sessionUpdate": "tool_call", "toolCallId": "t", "title": line, "kind": "execute",
                "status": "in_progress", "rawInput": { "command": line },
            }),
        );
        let script = match std::env::var("ACP_SCRIPT") {
            Ok(path) => format!("sh \"{path}\""),
            Err(_) => format!(". \"$S/words.sh\"; {line}"),
        };
        let mut shell = Command::new("sh");
        let env = self.server["env"].as_array().into_iter().flatten();
        let team =
            env.filter(|pair| pair["name"] == "SHIPMATE_TEAM").find_map(|p| p["value"].as_str());
        let files =
            fs::read_to_string(self.kept(&format!("{}.files", self.session))).unwrap_or_default();
        shell.envs([("SHIPMATE_SUBJECT", line), ("SHIPMATE_TEAM", team.unwrap_or_default())]);
        shell.env("SHIPMATE_MODE", "normal");
        shell.env("SHIPMATE_FILES", files);
        shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null());
        shell.envs([("SHIPMATE_TASK", id), ("SHIPMATE_TEAMMATE", "a"), ("SHIPMATE_EPOCH", "1")]);
        let (id, server) = (id.to_owned(), self.server.clone());
        let (tell, prompt) = (self.tell.clone(), self.prompt.clone().unwrap_or_default());
        std::thread::spawn(move || {
            let done = shell.status().is_ok_and(|status| status.success());
            let status = if done { "completed" } else { "failed" };
            let arguments = json!({ "taskId": id, "status": status, "result": "done by hand" });
            call(&server, "TaskUpdate", &arguments);
            drop(tell.send(Event::Ran { prompt, stop: "end_turn" }));
        });
    }

    /// Makes the calls of a lead, once.
    fn lead(&self) {
        let calls = std::env::var("ACP_LEAD").ok().and_then(|path| fs::read_to_string(path).ok());
        // Whoever delegates may write nothing, so it is not kept in a file.
        let (Some(calls), false) = (calls, self.led.replace(true)) else { return };
        for line in calls.lines() {
            let (tool, arguments) = line.split_once(' ').expect("a tool and its arguments");
            // What its own shell finds, by a tool that shipmate is not asked about.
            if tool == "sh" {
                let ran =
                    Command::new("sh").args(["-c", arguments]).output().expect("there is a shell");
                let found = String::from_utf8_lossy(&ran.stdout).into_owned();
                let told = json!({ "to": "person", "message": format!("found: {found}.") });
                call(&self.server, "SendMessage", &told);
                continue;
            }
            let arguments = serde_json::from_str(arguments).expect("arguments are JSON");
            call(&self.server, tool, &arguments);
        }
    }

    fn end_turn(&self, prompt: &Value, stop: &str) {
        if self.is("floods") {
            for number in 0..100_000 {
                say(&self.session, &format!("{number} "));
            }
            say(&self.session, "the end");
        }
        let usage = json!({ "inputTokens": 100, "outputTokens": 10, "cachedReadTokens": 5 });
        answer(prompt, &json!({ "stopReason": stop, "usage": usage }));
    }
}

/// Calls a tool of the MCP server that the client named, as agents do: by a process.
fn call(server: &Value, tool: &str, arguments: &Value) {
    let words = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut command = Command::new(server["command"].as_str().expect("it is a program"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    for pair in server["env"].as_array().into_iter().flatten() {
        let text = |key: &str| pair[key].as_str().unwrap_or_default().to_owned();
        command.env(text("name"), text("value"));
    }
    let mut child = command.spawn().expect("the server can be started");
    let mut input = child.stdin.take().expect("it is piped");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    for (id, method, params) in [
        (1, "initialize", hello),
        (2, "tools/call", json!({ "name": tool, "arguments": arguments })),
    ] {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{message}").expect("the server reads");
        let mut reply = String::new();
        output.read_line(&mut reply).expect("the server answers");
        assert!(reply.contains(&format!("\"id\":{id}")), "{reply}");
    }
    drop(input);
    child.wait().expect("it is a child");
}

fn say(session: &str, text: &str) {
    let content = json!({ "type": "text", "text": text });
    update(session, &json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
}

fn update(session: &str, update: &Value) {
    let params = json!({ "sessionId": session, "update": update });
    print(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string());
}

fn request(method: &str, id: &str, params: &Value) {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    print(&message.to_string());
}

fn answer(id: &Value, result: &Value) {
    print(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
}

fn refuse(id: &Value, code: i64, message: &str) {
    let error = json!({ "code": code, "message": message });
    print(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    // A client that has gone reads nothing.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
