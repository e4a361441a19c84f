//! Using the tools that a model called for.
//!
//! In the order in which they were called; those that only read run side by side. Leave is
//! asked for each of the agent's own tools; the team's are called where the supervisor is. A
//! call that cannot be used is answered like any other, with words that help.

mod subagent;

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;
use shipmate_process::beginning;
use shipmate_protocol::native::{Does, Offered};

use crate::message::{Arguments, Call, CallResult};
use crate::model::Model;
use crate::seat::Seat;
use crate::supervisor::Supervisor;
use crate::tools::Toolbox;

#[derive(Debug, Clone)]
pub(crate) struct Using {
    pub(crate) supervisor: Supervisor,
    pub(crate) toolbox: Rc<Toolbox>,
    pub(crate) seat: Rc<RefCell<Seat>>,
    pub(crate) model: Option<Rc<Model>>,
}

impl Using {
    pub(crate) async fn all(&self, calls: Vec<Call>) -> Vec<CallResult> {
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls.as_slice();
        while !rest.is_empty() {
            let beside = rest.iter().take_while(|call| Toolbox::is_reading(&call.tool)).count();
            let (now, later) = rest.split_at(beside.max(1));
            let done = futures_util::future::join_all(now.iter().map(|call| self.one(call)));
            results.extend(done.await);
            rest = later;
        }
        results
    }

    async fn one(&self, call: &Call) -> CallResult {
        let (text, is_error) = match &call.arguments {
            Arguments::Broken { reason, .. } => {
                let words = format!(
                    "The arguments of {} are not a JSON object: {reason}. Call it again with \
                     arguments as its schema says.",
                    call.tool
                );
                (words, true)
            }
            Arguments::Json(arguments) => self.with(&call.tool, arguments).await,
        };
        if is_error {
            self.supervisor.say(&format!("✗ {}", short(&text)));
        }
        // Providers refuse an empty result.
        let text = if text.is_empty() { "(no output)".to_owned() } else { text };
        CallResult { id: call.id.clone(), tool: call.tool.clone(), text, is_error }
    }

    async fn with(&self, tool: &str, arguments: &Value) -> (String, bool) {
        let (own, team) = {
            let seat = self.seat.borrow();
            // The same tool under the name that some models know.
            let known = if tool == "Agent" { "Task" } else { tool };
            let named = |offered: &Offered| offered.name == known;
            (seat.own.iter().any(named), seat.team.iter().any(named))
        };
        if own {
            return self.own(tool, arguments).await;
        }
        if !team {
            return (self.unknown(tool), true);
        }
        self.supervisor.say(&format!("→ {tool} {}", short(&arguments.to_string())));
        if let Some(kind) = subagent::wanted(tool, arguments) {
            return self.subagent(kind, tool, arguments).await;
        }
        let (text, is_error) = self.supervisor.call(tool, arguments.clone()).await;
        (self.toolbox.capped(text), is_error)
    }

    async fn own(&self, tool: &str, arguments: &Value) -> (String, bool) {
        let leave = match self.toolbox.leave(tool, arguments) {
            Ok(leave) => leave,
            Err(words) => return (words, true),
        };
        let about = if leave.detail.is_empty() { arguments["path"].as_str() } else { None };
        self.supervisor.say(&format!("→ {tool} {}", short(about.unwrap_or(&leave.detail))));
        if let Err(words) = self.supervisor.may(tool, leave.does, leave.paths, leave.detail).await {
            return (words, true);
        }
        let outcome = self.toolbox.run(tool, arguments).await;
        (outcome.text, outcome.is_error)
    }

    async fn subagent(
        &self,
        kind: subagent::Kind,
        tool: &str,
        arguments: &Value,
    ) -> (String, bool) {
        let Some(model) = &self.model else { return ("there is no model".to_owned(), true) };
        let detail = arguments["prompt"].as_str().unwrap_or_default().to_owned();
        // It can do nothing but read, and each use of a tool is asked for again.
        if let Err(words) = self.supervisor.may(tool, Does::Read, Vec::new(), detail).await {
            return (words, true);
        }
        match Box::pin(subagent::run(self, model, kind, arguments)).await {
            Ok(text) => (self.toolbox.capped(text), false),
            Err(words) => (words, true),
        }
    }

    fn unknown(&self, tool: &str) -> String {
        let names: Vec<String> = self.seat.borrow().all().into_iter().map(|t| t.name).collect();
        let shown: String = tool.chars().take(64).collect();
        format!("There is no tool {shown} for you. Your tools are {}.", names.join(", "))
    }
}

/// The beginning of the first line.
fn short(text: &str) -> String {
    beginning(text.trim().lines().next().unwrap_or_default(), 120)
}
