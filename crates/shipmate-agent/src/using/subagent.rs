//! A one-shot subagent: a question about the repository, answered in a context of its own.
//!
//! It reads and searches, nothing else, and its last words are the result of the call. An
//! agent that is to change something is a teammate: it has a tree, gates and a record.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;

use super::Using;
use crate::asking::Asking;
use crate::context::Context;
use crate::model::Model;
use crate::seat::Seat;
use crate::turn::{Event, Machine, Step};

const EXPLORE: &str = include_str!("subagent/explore.md");
const PLAN: &str = include_str!("subagent/plan.md");
const TOOLS: [&str; 3] = ["read_file", "glob", "grep"];
const REQUESTS_MAX: u32 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Explore,
    Plan,
}

/// The kind of subagent that a call asks for, if it asks for one.
pub(crate) fn wanted(tool: &str, arguments: &Value) -> Option<Kind> {
    if !matches!(tool, "Task" | "Agent")
        || arguments["name"].as_str().is_some_and(|n| !n.is_empty())
    {
        return None;
    }
    let kind =
        ["subagent_type", "agent_type", "type"].iter().find_map(|key| arguments[key].as_str());
    match kind?.to_ascii_lowercase().as_str() {
        "explore" => Some(Kind::Explore),
        "plan" => Some(Kind::Plan),
        _ => None,
    }
}

/// Runs it to its end; what it found, or why it could not.
pub(crate) async fn run(
    using: &Using,
    model: &Rc<Model>,
    kind: Kind,
    arguments: &Value,
) -> Result<String, String> {
    let prompt = arguments["prompt"].as_str().unwrap_or_default().trim().to_owned();
    if prompt.is_empty() {
        return Err("A subagent needs a `prompt`: what it is to find out.".to_owned());
    }
    let standing = match kind {
        Kind::Explore => EXPLORE,
        Kind::Plan => PLAN,
    };
    let names = TOOLS.map(str::to_owned);
    let own = using.toolbox.offered(&names);
    let seat = Seat { standing: standing.trim().to_owned(), team: Vec::new(), own };
    let seat = Rc::new(RefCell::new(seat));
    let order = &model.order;
    let context = Context::new(String::new(), order.context_tokens, order.output_tokens_max);
    let mut machine = Machine::new(context, REQUESTS_MAX);
    let using = Using { seat: Rc::clone(&seat), ..using.clone() };
    let mut event = Event::Turn { text: prompt.clone(), whole: prompt };
    loop {
        event = match machine.on(event) {
            Step::Use(calls) => Event::Results(using.all(calls).await),
            step @ (Step::Ask | Step::Summarise) => {
                let context = &machine.context;
                let asking = Asking {
                    supervisor: using.supervisor.clone(),
                    seat: Rc::clone(&seat),
                    messages: match step {
                        Step::Summarise => context.to_summarise(),
                        _ => context.messages().to_vec(),
                    },
                    output_tokens_max: context.output_tokens(),
                    thinking_tokens: 0,
                    context: None,
                };
                asking.ask(model).await
            }
            Step::Ended(ended) => return result(ended),
            Step::Nothing => return Err("the subagent stopped".to_owned()),
        };
        machine.take_kept();
    }
}

fn result(ended: shipmate_protocol::native::Ended) -> Result<String, String> {
    use shipmate_protocol::native::Ended;
    match ended {
        Ended::Done { text } if text.trim().is_empty() => Err("it found nothing to say".to_owned()),
        Ended::Done { text } => Ok(text),
        Ended::Failed { reason }
        | Ended::Unable { reason }
        | Ended::Stopped { reason }
        | Ended::Limited { reason, .. } => Err(format!("the subagent could not finish: {reason}")),
        Ended::Cancelled => Err("cancelled".to_owned()),
    }
}
