//! The pipe to Claude Code: lines of JSON both ways, read all the time and answered at once.
//!
//! What the program asks is served here: its MCP client, its permission requests. What it says
//! about its turns is kept in [`Turns`], and whoever waits for their end is woken. When its
//! output ends, everything that waits fails.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};
use shipmate_programs::order::LifeFolder;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::AbortHandle;

use super::super::brief;
use super::super::desk::{Desk, May};
use super::super::pipe_mcp;
use super::super::rpc::{each_line, write_lines};
use super::super::spending::{Spending, refusal};
use super::super::transcript::Transcript;
use super::turn::{Then, Turns};
use super::words;
use crate::permission::{self, patterns};

/// Whose words a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The work that the team exists for, or the person's own.
    Users,
    /// A teammate's, or the runtime's.
    Others,
}

/// What the lines of one program go through.
#[derive(Debug)]
pub(super) struct Surroundings {
    pub(super) desk: Desk,
    pub(super) transcript: Transcript,
    pub(super) spending: Spending,
    pub(super) folder: LifeFolder,
    pub(super) cwd: PathBuf,
}

#[derive(Debug, Clone)]
pub(super) struct Pipe(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    around: Surroundings,
    turns: RefCell<Turns>,
    out: RefCell<Option<mpsc::UnboundedSender<String>>>,
    /// Our requests that have no answer yet.
    waiting: RefCell<BTreeMap<String, oneshot::Sender<Result<Value, String>>>>,
    /// What the program asked and is still being found out.
    asked: RefCell<BTreeMap<String, AbortHandle>>,
    counter: Cell<u64>,
    closed: Cell<bool>,
    garbage: Cell<bool>,
    woken: Notify,
}

impl Pipe {
    /// Reads and writes from now on.
    pub(super) fn start(
        stdin: pipe::Sender,
        stdout: pipe::Receiver,
        turns: Turns,
        around: Surroundings,
    ) -> Pipe {
        let (out, lines) = mpsc::unbounded_channel();
        let pipe = Pipe(Rc::new(Inside {
            around,
            turns: RefCell::new(turns),
            out: RefCell::new(Some(out)),
            waiting: RefCell::default(),
            asked: RefCell::default(),
            counter: Cell::new(0),
            closed: Cell::new(false),
            garbage: Cell::new(false),
            woken: Notify::new(),
        }));
        tokio::task::spawn_local(write_lines(stdin, lines));
        tokio::task::spawn_local(pipe.clone().read_lines(stdout));
        pipe
    }

    pub(super) fn turns<R>(&self, look: impl FnOnce(&mut Turns) -> R) -> R {
        look(&mut self.0.turns.borrow_mut())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.get()
    }

    /// Asks the program for something; nothing is waited for by sending alone.
    pub(super) fn control(&self, request: Value) -> oneshot::Receiver<Result<Value, String>> {
        self.0.counter.set(self.0.counter.get() + 1);
        let id = format!("shipmate-{}", self.0.counter.get());
        let (tell, told) = oneshot::channel();
        // Without a program there is nobody to answer: dropping `tell` says so.
        if self.send(&json!({ "type": "control_request", "request_id": id, "request": request })) {
            self.0.waiting.borrow_mut().insert(id, tell);
        }
        told
    }

    /// A text for the model. Files are attached for the last part alone, and commands are run for
    /// a text of one part: there are always two.
    pub(super) fn user(&self, uuid: &str, text: &str, whose: Whose) {
        let part = |text: &str| json!({ "type": "text", "text": text });
        self.send(&json!({
            "type": "user",
            "uuid": uuid,
            "session_id": "",
            "parent_tool_use_id": null,
            // In a running turn it would else say to its model that the user sent this.
            "isSynthetic": whose == Whose::Others,
            "message": { "role": "user", "content": [part(text), part(brief::CLOSING)] },
        }));
    }

    /// Until all lines were in a turn that has ended, or the program's output has.
    pub(super) async fn over(&self) {
        while !self.is_closed() && !self.turns(|turns| turns.is_over()) {
            self.0.woken.notified().await;
        }
    }

    pub(super) async fn ended(&self) {
        while !self.is_closed() {
            self.0.woken.notified().await;
        }
    }

    /// The end of input for the program; what it asked is no longer found out.
    pub(super) fn close(&self) {
        self.0.out.borrow_mut().take();
        for (_, asked) in std::mem::take(&mut *self.0.asked.borrow_mut()) {
            asked.abort();
        }
    }

    fn send(&self, message: &Value) -> bool {
        let line = message.to_string();
        let sent = self.0.out.borrow().as_ref().is_some_and(|out| out.send(line.clone()).is_ok());
        if sent {
            self.0.around.transcript.told(&line);
        }
        sent
    }

    async fn read_lines(self, stdout: pipe::Receiver) {
        each_line(stdout, |text| self.hear(text)).await;
        self.0.closed.set(true);
        self.close();
        self.0.waiting.borrow_mut().clear();
        self.0.woken.notify_one();
    }

    fn hear(&self, text: &str) {
        let transcript = &self.0.around.transcript;
        transcript.heard(text);
        let line: Value = match serde_json::from_str(text) {
            Ok(line @ Value::Object(_)) => line,
            _ if self.0.garbage.replace(true) => return,
            _ => return transcript.say("(claude sent a line that is not understood)"),
        };
        match line["type"].as_str() {
            Some("control_request") => return self.serve(&line),
            Some("control_response") => return self.answered(&line["response"]),
            Some("control_cancel_request") => {
                let id = line["request_id"].as_str().unwrap_or_default();
                if let Some(asked) = self.0.asked.borrow_mut().remove(id) {
                    asked.abort();
                }
                return;
            }
            _ => {}
        }
        words::of(&line, &self.0.around.cwd).iter().for_each(|said| transcript.say(said));
        self.count(&line);
        let (then, context) = self.turns(|turns| (turns.hear(&line), turns.context()));
        transcript.fills(context);
        match then {
            Then::Session(name) => self.0.around.folder.keep_session(&name),
            Then::GiveUp => drop(self.interrupt()),
            Then::Windows(windows) => self.0.around.desk.tells_windows(windows),
            Then::Nothing | Then::Ended => {}
        }
        self.0.woken.notify_one();
    }

    /// Tells what a request took. When its tools have answered, the program would make the next.
    fn count(&self, line: &Value) {
        let spending = &self.0.around.spending;
        if let Some((model, took)) = self.turns(|turns| turns.request(line)) {
            // A subagent's model is not the teammate's.
            if line["parent_tool_use_id"].is_null() {
                spending.asks(model);
            }
            spending.saw_of(model, took);
        }
        let has_results = line["message"]["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
        if line["type"] == "user" && has_results {
            let (pipe, spending) = (self.clone(), spending.clone());
            let before = self.turns(|turns| turns.requests);
            tokio::task::spawn_local(async move {
                let is_spent = spending.look().await.is_some();
                let goes_on = |turns: &mut Turns| !turns.is_over() && turns.requests == before;
                if is_spent && pipe.turns(goes_on) {
                    pipe.break_off();
                }
            });
        }
    }

    /// There is no room for another request in this turn.
    fn break_off(&self) {
        if self.0.around.spending.stop() {
            drop(self.interrupt());
        }
    }

    /// Breaks the turn off, and what waits for the next with it.
    pub(super) fn interrupt(&self) -> oneshot::Receiver<Result<Value, String>> {
        self.control(json!({ "subtype": "interrupt", "cancel_queued": true }))
    }

    fn answered(&self, response: &Value) {
        let id = response["request_id"].as_str().unwrap_or_default();
        let Some(waits) = self.0.waiting.borrow_mut().remove(id) else { return };
        let answer = match response["subtype"].as_str() {
            Some("success") => Ok(response["response"].clone()),
            _ => Err(response["error"].as_str().unwrap_or("no reason given").to_owned()),
        };
        drop(waits.send(answer));
    }

    /// Answers a request of the program, in its own time where that takes some.
    fn serve(&self, line: &Value) {
        let id = line["request_id"].as_str().unwrap_or_default().to_owned();
        let request = &line["request"];
        match request["subtype"].as_str().unwrap_or_default() {
            "mcp_message" => {
                let (desk, message) = (self.0.around.desk.clone(), request["message"].clone());
                let (pipe, calls) = (self.clone(), message["method"] == "tools/call");
                self.find_out(id, async move {
                    // A notification wants no reply, the request that carries it does.
                    let none = || json!({ "jsonrpc": "2.0", "id": null, "result": {} });
                    let reply = pipe_mcp::answer(&desk, message).await.unwrap_or_else(none);
                    // The team's own tools cost nothing, and one says what came of the task.
                    if calls && pipe.0.around.spending.look().await.is_some() {
                        pipe.break_off();
                    }
                    json!({ "mcp_response": reply })
                });
            }
            "can_use_tool" => {
                let (desk, input) = (self.0.around.desk.clone(), request["input"].clone());
                let tool = request["tool_name"].as_str().unwrap_or_default().to_owned();
                let (spending, cwd) = (self.0.around.spending.clone(), self.0.around.cwd.clone());
                self.find_out(id, async move {
                    if let Some(reason) = spending.look().await {
                        spending.stop();
                        let words = refusal(&reason);
                        return json!({ "behavior": "deny", "message": words, "interrupt": true });
                    }
                    let definition = desk.order().definition.as_deref();
                    let outside = |one| patterns::outside(one, &tool, &input, &cwd);
                    if let Some(words) = definition.and_then(outside) {
                        return json!({ "behavior": "deny", "message": words });
                    }
                    match desk.may(permission::claude(&tool, &input)).await {
                        May::Yes => json!({ "behavior": "allow", "updatedInput": input }),
                        May::No(words) => json!({ "behavior": "deny", "message": words }),
                    }
                });
            }
            // The one that was registered: whatever another hook says, the call is asked about.
            "hook_callback" => self.answer(
                &id,
                json!({ "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "ask",
                } }),
            ),
            other => {
                let error = format!("{other:?} is not answered here");
                let response = json!({ "subtype": "error", "request_id": id, "error": error });
                self.send(&json!({ "type": "control_response", "response": response }));
            }
        }
    }

    fn find_out(&self, id: String, answer: impl Future<Output = Value> + 'static) {
        let (pipe, key) = (self.clone(), id.clone());
        let task = tokio::task::spawn_local(async move {
            let answer = answer.await;
            pipe.0.asked.borrow_mut().remove(&id);
            pipe.answer(&id, answer);
        });
        self.0.asked.borrow_mut().insert(key, task.abort_handle());
    }

    fn answer(&self, id: &str, response: Value) {
        let response = json!({ "subtype": "success", "request_id": id, "response": response });
        self.send(&json!({ "type": "control_response", "response": response }));
    }
}
