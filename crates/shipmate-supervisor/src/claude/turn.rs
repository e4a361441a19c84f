//! What the stream of Claude Code says about turns: which of our lines are in, and what came.
//!
//! A line that is written while a turn runs is taken up at the next tool boundary, or, if none
//! comes, starts another turn by itself. The program tells of each line, by its uuid, when it is
//! queued and when a turn takes it up; so work is over exactly when a turn has ended and every
//! line was in one that has. A program that tells nothing of lines gets one line per turn.
//!
//! Pure: lines in, state out.

use std::collections::BTreeMap;

use serde_json::Value;
use shipmate_model::account::Window;
use shipmate_protocol::verbs::{Context, Usage};

use super::super::driver::{Finished, reset_of};

/// Tries at a model that does not let the program in; more only keep the team waiting.
const LOGIN_TRIES_MAX: u64 = 3;

#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Lines handed over that no ended turn has had; whether a turn has taken each up.
    lines: BTreeMap<String, bool>,
    /// The program says what becomes of lines.
    tells: bool,
    /// How the last turn since [`Turns::begin`] ended.
    last: Option<Value>,
    /// What the agent said last.
    text: String,
    pub(super) session: Option<String>,
    /// Not reported yet.
    used: Usage,
    /// The program's own sum at the last result; unknown in a conversation that was taken up.
    paid: Option<f64>,
    /// Tokens in the last request, and how many fit.
    context: (u64, u64),
    /// The last request of the agent and of each of its subagents, by the name of its reply.
    replies: BTreeMap<String, String>,
    /// Requests so far.
    pub(super) requests: u64,
    /// The agent has asked its model, and nothing was told of that request.
    pub(super) asks: bool,
    /// Why the turn was broken off from here.
    gave_up: Option<Finished>,
    /// When its account has room again, where the program told last that it has none.
    resets_at: Option<u64>,
}

/// What is to be done about a line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    /// The conversation has this name now.
    Session(String),
    /// A turn has ended.
    Ended,
    /// Nothing will come of this turn: it is to be interrupted.
    GiveUp,
    /// What the provider tells of its account.
    Windows(Vec<Window>),
}

impl Turns {
    pub(super) fn new(resumed: bool) -> Turns {
        Turns { paid: (!resumed).then_some(0.0), ..Turns::default() }
    }

    /// A piece of work begins with this line.
    pub(super) fn begin(&mut self, line: String) {
        self.lines.insert(line, false);
        (self.last, self.gave_up) = (None, None);
        self.text.clear();
        self.asks = true;
    }

    /// Another line goes into the running turn. Not possible if it might become a turn of which
    /// nobody would know.
    pub(super) fn add(&mut self, line: String) -> bool {
        let possible = self.tells && !self.is_over();
        if possible {
            self.lines.insert(line, false);
        }
        possible
    }

    pub(super) fn is_over(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn hear(&mut self, line: &Value) -> Then {
        match (line["type"].as_str(), line["subtype"].as_str()) {
            (Some("command_lifecycle"), _) => self.line_is(line),
            (Some("system"), Some("init")) => return self.named(line),
            (Some("system"), Some("api_retry")) => return self.retries(line),
            (Some("rate_limit_event"), _) => {
                let info = &line["rate_limit_info"];
                let windows = windows(info);
                // What it tells while it lets requests through says nothing of a later refusal.
                let told = info["resetsAt"].as_u64().filter(|_| info["status"] == "rejected");
                let told = told.map(|seconds| seconds.saturating_mul(1000));
                self.resets_at = told.or_else(|| reset_of(&windows));
                return Then::Windows(windows);
            }
            (Some("assistant"), _) if line["parent_tool_use_id"].is_null() => {
                self.asks = false;
                self.said(line);
            }
            // Its tools have answered.
            (Some("user"), _) if line["parent_tool_use_id"].is_null() => self.asks = true,
            (Some("result"), _) => {
                self.ended(line);
                return Then::Ended;
            }
            _ => {}
        }
        Then::Nothing
    }

    /// The model that was asked and what that took, where this line is the first of its reply. How
    /// much was said is hardly told by then: the end of the turn tells the rest.
    pub(super) fn request<'a>(&mut self, line: &'a Value) -> Option<(&'a str, Usage)> {
        let message = &line["message"];
        let (reply, usage) = (message["id"].as_str()?, &message["usage"]);
        let by = line["parent_tool_use_id"].as_str().unwrap_or_default();
        if line["type"] != "assistant" || input(usage) == 0 {
            return None;
        }
        let before = self.replies.insert(by.to_owned(), reply.to_owned());
        if before.as_deref() == Some(reply) {
            return None;
        }
        self.requests += 1;
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        let took = Usage {
            tokens_in: input(usage),
            tokens_out: count("output_tokens"),
            tokens_cached: count("cache_read_input_tokens"),
            ..Usage::default()
        };
        Some((message["model"].as_str().unwrap_or_default(), took))
    }

    fn line_is(&mut self, line: &Value) {
        self.tells = true;
        let Some(uuid) = line["command_uuid"].as_str() else { return };
        let Some(taken_up) = self.lines.get_mut(uuid) else { return };
        match line["state"].as_str() {
            Some("queued") => *taken_up = false,
            Some("started") => *taken_up = true,
            // In a turn: its result comes too, before or after this.
            Some("completed" | "cancelled" | "discarded" | "refused") if !*taken_up => {
                self.lines.remove(uuid);
            }
            _ => {}
        }
    }

    fn named(&mut self, line: &Value) -> Then {
        match line["session_id"].as_str() {
            Some(name) if self.session.as_deref() != Some(name) => {
                self.session = Some(name.to_owned());
                Then::Session(name.to_owned())
            }
            _ => Then::Nothing,
        }
    }

    fn retries(&mut self, line: &Value) -> Then {
        let attempt = line["attempt"].as_u64().unwrap_or_default();
        if line["error"] != "authentication_failed" || attempt < LOGIN_TRIES_MAX {
            return Then::Nothing;
        }
        let status = line["error_status"].as_u64().unwrap_or_default();
        self.gave_up = Some(not_logged_in(&format!("the model refuses the login ({status})")));
        Then::GiveUp
    }

    fn said(&mut self, line: &Value) {
        let message = &line["message"];
        let blocks = message["content"].as_array().into_iter().flatten();
        let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
        if !texts.is_empty() {
            self.text = texts.join("\n");
        }
        let tokens = input(&message["usage"]);
        if tokens > 0 {
            self.context.0 = tokens;
        }
    }

    fn ended(&mut self, result: &Value) {
        match self.tells {
            true => self.lines.retain(|_, taken_up| !*taken_up),
            false => self.lines.clear(),
        }
        self.replies.clear();
        let tokens = tokens(result);
        self.used.tokens_in += tokens.tokens_in;
        self.used.tokens_out += tokens.tokens_out;
        self.used.tokens_cached += tokens.tokens_cached;
        self.used.cost_micros += (self.cost(result) * 1e6).round() as u64;
        let windows = result["modelUsage"].as_object().into_iter().flatten();
        let windows = windows.filter_map(|(_, model)| model["contextWindow"].as_u64());
        self.context.1 = windows.max().unwrap_or(self.context.1);
        self.last = Some(result.clone());
    }

    /// The program counts over the whole conversation, in the processes before it too.
    fn cost(&mut self, result: &Value) -> f64 {
        let total = result["total_cost_usd"].as_f64().unwrap_or_default();
        let before = self.paid.replace(total);
        match result["model_usage_since_last_result"].as_object() {
            Some(models) => {
                models.values().filter_map(|model| model["costUSD"].as_f64()).sum::<f64>()
            }
            None => before.map_or(0.0, |before| (total - before).max(0.0)),
        }
    }

    /// What was used since this was asked last.
    pub(super) fn used(&mut self) -> Option<Usage> {
        let used = std::mem::take(&mut self.used);
        (used.tokens_in + used.tokens_out + used.cost_micros > 0).then_some(used)
    }

    /// How full the conversation is. The window is told when the first turn ends.
    pub(super) fn context(&self) -> Option<Context> {
        let (used, window) = self.context;
        (used > 0).then_some(Context { used, max: Some(window).filter(|window| *window > 0) })
    }

    /// The program said that it does not know the conversation it was to take up.
    pub(super) fn is_unknown_conversation(&self) -> bool {
        let said = |error: &Value| error.as_str().is_some_and(|e| e.contains("No conversation"));
        let errors = self.last.iter().flat_map(|last| last["errors"].as_array()).flatten();
        errors.into_iter().any(said)
    }

    /// The conversation has outgrown the model: taken up again, it would fail again.
    pub(super) fn is_too_long(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last["terminal_reason"] == "prompt_too_long")
    }

    /// What came of the work.
    pub(super) fn outcome(&mut self) -> Finished {
        if let Some(finished) = self.gave_up.take() {
            return finished;
        }
        let Some(last) = &self.last else {
            let reason = "claude did not take the prompt up: look at its hooks";
            return Finished::Failed { reason: reason.to_owned() };
        };
        if last["is_error"] == true || last["subtype"] != "success" {
            return failure(last, self.resets_at);
        }
        let said = last["result"].as_str().filter(|said| !said.trim().is_empty());
        Finished::Done { result: said.unwrap_or(&self.text).to_owned() }
    }
}

/// By models, that is with what subagents and the program itself have asked; where that is not
/// told, what the agent has.
fn tokens(result: &Value) -> Usage {
    let models = result["model_usage_since_last_result"].as_object();
    let sum = |names: &[&str]| -> u64 {
        let models = models.into_iter().flat_map(|models| models.values());
        let counts = models.flat_map(|model| names.iter().map(|name| &model[*name]));
        counts.filter_map(Value::as_u64).sum()
    };
    let tokens_in = sum(&["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]);
    if tokens_in > 0 {
        let (out, cached) = (sum(&["outputTokens"]), sum(&["cacheReadInputTokens"]));
        return Usage { tokens_in, tokens_out: out, tokens_cached: cached, ..Usage::default() };
    }
    let usage = &result["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    Usage {
        tokens_in: input(usage),
        tokens_out: count("output_tokens"),
        tokens_cached: count("cache_read_input_tokens"),
        ..Usage::default()
    }
}

fn input(usage: &Value) -> u64 {
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    parts.iter().filter_map(|name| usage[*name].as_u64()).sum()
}

/// As the program names them.
fn windows(info: &Value) -> Vec<Window> {
    let named = [
        ("five_hour", "5 hours"),
        ("seven_day", "week"),
        ("seven_day_overage_included", "week, this model"),
    ];
    let window = |(key, name): (&str, &str)| {
        let told = &info["unifiedWindows"][key];
        let used = told["utilization"].as_f64().filter(|used| (0.0..=10.0).contains(used))?;
        let resets_at = told["resetsAt"].as_u64().map(|seconds| seconds.saturating_mul(1000));
        Some(Window {
            name: name.to_owned(),
            used: Some((used * 1000.0).round() as u32),
            resets_at,
            pace: false,
        })
    };
    named.into_iter().filter_map(window).collect()
}

fn failure(result: &Value, resets_at: Option<u64>) -> Finished {
    let errors = result["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words = result["result"]
        .as_str()
        .map_or_else(|| errors.collect::<Vec<_>>().join("; "), |words| words.trim().to_owned());
    let how = result["terminal_reason"].as_str().or(result["subtype"].as_str());
    let how = how.unwrap_or("no reason given");
    let remedy = match result["api_error_status"].as_u64() {
        status if status == Some(402) || is_unpaid(&words) => return unpaid(&words),
        Some(401 | 403) => return not_logged_in(&words),
        _ if words.contains("/login") => return not_logged_in(&words),
        _ if how == "prompt_too_long" => {
            "the conversation has outgrown the model: the next attempt begins a new one; smaller \
             tasks stay within it"
        }
        Some(429) => return Finished::limited(words, resets_at),
        Some(529) => return Finished::limited(format!("the model is overloaded: {words}"), None),
        Some(404) => {
            let remedy = "name another model: `shipmate team set --model MODEL`";
            return Finished::Unable { reason: format!("claude failed: {words}: {remedy}") };
        }
        _ => return Finished::Failed { reason: format!("claude failed ({how}): {words}") },
    };
    Finished::Failed { reason: format!("claude failed: {words}: {remedy}") }
}

/// Said with several statuses: no task is at fault, and none goes through until somebody pays.
fn is_unpaid(words: &str) -> bool {
    words.to_lowercase().contains("credit balance is too low")
}

fn unpaid(words: &str) -> Finished {
    let remedy = "add credit to the account of its key, or log in with another one";
    Finished::Unable {
        reason: format!("claude wants to be paid before it answers: {words}: {remedy}"),
    }
}

fn not_logged_in(words: &str) -> Finished {
    let remedy = "run `claude /login`, or set ANTHROPIC_API_KEY";
    Finished::Unable { reason: format!("claude is not logged in: {words}: {remedy}") }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
