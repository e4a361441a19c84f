//! What codex tells, in terms of a turn: pure, so that every notification can be tried.

use std::path::PathBuf;

use serde_json::Value;
use shipmate_model::account::Window;
use shipmate_process::one_line;
use shipmate_protocol::verbs::{Context, Usage};

use super::super::driver::Finished;

/// Most of a tool's arguments or of a command that is shown on one line.
const SHOWN_CHARS_MAX: usize = 200;

/// What a notification means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Nothing,
    /// For whoever follows the teammate.
    Words(String),
    /// The same warning comes with every turn.
    Warning(String),
    /// The agent's own words; the last of a turn are its result.
    Said(String),
    /// What the provider tells of its account.
    Windows(Vec<Window>),
    TurnStarted(String),
    TurnEnded(String, TurnEnd),
    /// What one call of the model took, and all calls of the thread so far.
    Used {
        turn: String,
        call: Tokens,
        total: u64,
        context: Option<Context>,
    },
    /// Files that an edit is about, by the item that a later request for approval names.
    Edit {
        item: String,
        paths: Vec<PathBuf>,
        words: String,
    },
}

/// What calls of a model took. Those from the cache are not among those that went in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) fresh: u64,
    pub(crate) cached: u64,
    pub(crate) out: u64,
}

impl Tokens {
    pub(crate) fn usage(self) -> Usage {
        let (tokens_in, tokens_cached) = (self.fresh + self.cached, self.cached);
        Usage { tokens_in, tokens_out: self.out, tokens_cached, ..Usage::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    Well,
    BrokenOff,
    Failed(Failure),
}

/// Why the model did not finish a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The fact, in the program's own words, and the remedy.
    pub(crate) reason: String,
    /// The conversation itself is the trouble: the next turn begins a new one.
    pub(crate) begin_anew: bool,
    /// Only a person can mend it: a login, the model's name.
    pub(crate) is_final: bool,
    /// The provider has no room for it now.
    pub(crate) is_limit: bool,
}

pub(crate) fn hear(method: &str, params: &Value) -> Heard {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match method {
        "item/started" => started(&params["item"]),
        "item/completed" => completed(&params["item"]),
        "account/rateLimits/updated" => Heard::Windows(windows(&params["rateLimits"])),
        "turn/started" => Heard::TurnStarted(text(&params["turn"]["id"])),
        "turn/completed" => {
            let turn = &params["turn"];
            let end = match turn["status"].as_str() {
                Some("completed") => TurnEnd::Well,
                Some("interrupted") => TurnEnd::BrokenOff,
                _ => TurnEnd::Failed(failure(&turn["error"])),
            };
            Heard::TurnEnded(text(&turn["id"]), end)
        }
        "thread/tokenUsage/updated" => {
            let (last, total) = (&params["tokenUsage"]["last"], &params["tokenUsage"]["total"]);
            let number = |value: &Value| value.as_u64().unwrap_or_default();
            let cached = number(&last["cachedInputTokens"]);
            let fresh = number(&last["inputTokens"]).saturating_sub(cached);
            let call = Tokens { fresh, cached, out: number(&last["outputTokens"]) };
            let total = number(&total["totalTokens"]);
            let used = number(&last["totalTokens"]);
            let max = params["tokenUsage"]["modelContextWindow"].as_u64();
            let context = (used > 0).then_some(Context { used, max });
            Heard::Used { turn: text(&params["turnId"]), call, total, context }
        }
        "error" if params["willRetry"] == true => {
            Heard::Words(format!("tries again: {}", said(&params["error"])))
        }
        "warning" => Heard::Warning(text(&params["message"])),
        "configWarning" => Heard::Warning(text(&params["summary"])),
        _ => Heard::Nothing,
    }
}

fn started(item: &Value) -> Heard {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    match text("type") {
        "commandExecution" => Heard::Words(format!("$ {}", line(plain(text("command")).as_ref()))),
        "fileChange" => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let mut paths = Vec::new();
            for change in changes {
                let moved = change["kind"]["move_path"].as_str();
                paths.extend(change["path"].as_str().into_iter().chain(moved).map(PathBuf::from));
            }
            let named: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            let words = format!("edits {}", named.join(", "));
            Heard::Edit { item: text("id").to_owned(), paths, words }
        }
        "dynamicToolCall" => Heard::Words(call(text("tool"), &item["arguments"])),
        "mcpToolCall" => {
            let tool = format!("{}.{}", text("server"), text("tool"));
            Heard::Words(call(&tool, &item["arguments"]))
        }
        "webSearch" => Heard::Words(format!("searches the web: {}", line(text("query")))),
        _ => Heard::Nothing,
    }
}

fn completed(item: &Value) -> Heard {
    match (item["type"].as_str().unwrap_or_default(), item["exitCode"].as_i64()) {
        ("agentMessage", _) => {
            Heard::Said(item["text"].as_str().unwrap_or_default().trim().to_owned())
        }
        ("commandExecution", Some(code @ 1..)) => Heard::Words(format!("  exit code {code}")),
        ("contextCompaction", _) => Heard::Words("its conversation was compacted".to_owned()),
        _ => Heard::Nothing,
    }
}

/// A tool call as one line.
fn call(tool: &str, arguments: &Value) -> String {
    match (arguments["to"].as_str(), arguments["message"].as_str()) {
        (Some(to), Some(message)) => format!("→ {tool} to {to}: {}", line(message)),
        _ => format!("→ {tool} {}", line(&arguments.to_string())),
    }
}

fn line(text: &str) -> String {
    one_line(text, SHOWN_CHARS_MAX)
}

/// A command without the shell that codex puts around it.
fn plain(command: &str) -> String {
    let inner = command.split_once(" -lc ").map_or(command, |(_, inner)| inner).trim();
    match inner.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
        Some(inner) => inner.replace(r"'\''", "'"),
        None => inner.to_owned(),
    }
}

/// The program's own words for an error.
fn said(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("no reason given");
    match error["additionalDetails"].as_str() {
        Some(more) => format!("{message} ({more})"),
        None => message.to_owned(),
    }
}

/// Kinds of errors that pass by themselves when the account has room again.
const LIMITS: [&str; 6] = [
    "usageLimitExceeded",
    "sessionBudgetExceeded",
    "rateLimitExceeded",
    "serverOverloaded",
    "flexUnavailable",
    "policyCapacityUnavailable",
];

/// What the program counts its own requests by. Some models have limits of their own beside it, whose
/// windows have the same lengths.
const OWN_LIMIT: &str = "codex";

/// By the length of each, as people call it.
fn windows(limits: &Value) -> Vec<Window> {
    if limits["limitId"].as_str().is_some_and(|id| id != OWN_LIMIT) {
        return Vec::new();
    }
    let window = |key: &str| {
        let told = &limits[key];
        let used = told["usedPercent"].as_f64().filter(|used| (0.0..=1000.0).contains(used))?;
        let name = match told["windowDurationMins"].as_u64() {
            Some(300) => "5 hours".to_owned(),
            Some(10_080) => "week".to_owned(),
            Some(minutes) if minutes % 1_440 == 0 => format!("{} days", minutes / 1_440),
            Some(minutes) if minutes % 60 == 0 => format!("{} hours", minutes / 60),
            Some(minutes) => format!("{minutes} minutes"),
            None => key.to_owned(),
        };
        let resets_at = told["resetsAt"].as_u64().map(|seconds| seconds.saturating_mul(1000));
        let used = Some((used * 10.0).round() as u32);
        Some(Window { name, used, resets_at, pace: false })
    };
    ["primary", "secondary"].into_iter().filter_map(window).collect()
}

fn failure(error: &Value) -> Failure {
    let info = &error["codexErrorInfo"];
    let kind = match info {
        Value::String(kind) => kind.as_str(),
        Value::Object(kinds) => kinds.keys().next().map_or("", String::as_str),
        _ => "",
    };
    let status = info[kind]["httpStatusCode"].as_u64();
    let said = said(error);
    // Some providers say it in their own words only.
    let overflow = kind == "contextWindowExceeded" || said.contains("context_length_exceeded");
    let (fact, remedy) = match (kind, status) {
        _ if overflow => {
            ("the conversation no longer fits the model", "it begins anew with the next turn")
        }
        ("unauthorized", _) | (_, Some(401 | 403)) => {
            ("codex is not logged in, or its key is refused", "run `codex login`, then retry")
        }
        ("usageLimitExceeded" | "sessionBudgetExceeded", _) => {
            ("the account's usage limit is reached", "wait until it is reset, or use another one")
        }
        ("modelNotFound", _) => ("there is no such model", "name another one in the profile"),
        ("sandboxError", _) => {
            ("codex's sandbox does not work here", "see `codex doctor` for what it needs")
        }
        ("rateLimitExceeded" | "serverOverloaded" | "flexUnavailable", _)
        | ("policyCapacityUnavailable", _)
        | (_, Some(429 | 503 | 529)) => ("the model is overloaded", "retry in a while"),
        ("internalServerError" | "httpConnectionFailed", _)
        | ("responseStreamConnectionFailed" | "responseStreamDisconnected", _)
        | ("responseTooManyFailedAttempts", _) => {
            ("the model could not be reached", "retry in a while")
        }
        _ => ("the model failed", "see the transcript"),
    };
    let kinds = ["unauthorized", "modelNotFound", "sandboxError"];
    let is_final = !overflow && (kinds.contains(&kind) || matches!(status, Some(401 | 403)));
    let is_limit = !overflow && !is_final && (LIMITS.contains(&kind) || status == Some(429));
    let reason = if is_limit { said } else { format!("{fact}: {said}; {remedy}") };
    Failure { reason, begin_anew: overflow, is_final, is_limit }
}

/// What became of a turn, for the supervisor.
pub(crate) fn finished(end: &TurnEnd, last_words: &str, resets_at: Option<u64>) -> Finished {
    match end {
        TurnEnd::Well => Finished::Done { result: last_words.to_owned() },
        TurnEnd::BrokenOff => Finished::Failed { reason: "its turn was broken off".to_owned() },
        TurnEnd::Failed(Failure { reason, is_final: true, .. }) => {
            Finished::Unable { reason: reason.clone() }
        }
        TurnEnd::Failed(Failure { reason, is_limit: true, .. }) => {
            Finished::limited(reason.clone(), resets_at)
        }
        TurnEnd::Failed(failure) => Finished::Failed { reason: failure.reason.clone() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_of_another_limit_are_not_the_accounts() {
        let told = |id: Value| {
            let primary = json!({ "usedPercent": 80, "windowDurationMins": 300, "resetsAt": 9 });
            let params = json!({ "rateLimits": { "limitId": id, "primary": primary } });
            match hear("account/rateLimits/updated", &params) {
                Heard::Windows(windows) => windows.len(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((told(json!("codex")), told(Value::Null)), (1, 1));
        assert_eq!(told(json!("codex_bengalfox")), 0);
    }

    fn item(method: &str, item: Value) -> Heard {
        hear(method, &json!({ "threadId": "t", "turnId": "u", "item": item }))
    }

    #[test]
    fn a_command_is_shown_without_the_shell_around_it() {
        let ran = |command: &str| {
            item("item/started", json!({ "type": "commandExecution", "command": command }))
        };
        let shown = |text: &str| Heard::Words(text.to_owned());
        assert_eq!(ran("/bin/bash -lc 'cargo test && ls'"), shown("$ cargo test && ls"));
        assert_eq!(ran(r"/bin/bash -lc 'echo '\''a'\'''"), shown("$ echo 'a'"));
        assert_eq!(ran("/bin/zsh -lc ls"), shown("$ ls"));
        assert_eq!(ran("git status"), shown("$ git status"));
    }

    #[test]
    fn a_long_command_is_cut_and_stays_one_line() {
        let command = format!("printf 'a\nb' {}", "x".repeat(500));
        let heard = item("item/started", json!({ "type": "commandExecution", "command": command }));
        let Heard::Words(words) = heard else { panic!("{heard:?}") };
        assert!(words.ends_with('…') && words.chars().count() < 210 && !words.contains('\n'));
    }

    #[test]
    fn an_edit_names_its_files_and_keeps_them_for_the_approval() {
        let changes = json!([
            { "path": "/w/a.rs", "kind": { "type": "add" }, "diff": "" },
            { "path": "/w/b.rs", "kind": { "type": "update", "move_path": "/w/c.rs" }, "diff": "" },
        ]);
        let change = json!({ "type": "fileChange", "id": "i", "changes": changes });
        let paths = ["/w/a.rs", "/w/b.rs", "/w/c.rs"].map(PathBuf::from).to_vec();
        let words = "edits /w/a.rs, /w/b.rs, /w/c.rs".to_owned();
        assert_eq!(item("item/started", change), Heard::Edit { item: "i".into(), paths, words });
    }

    #[test]
    fn a_message_to_somebody_is_shown_as_such() {
        let arguments = json!({ "to": "bo", "message": "the parser\nis done" });
        let call =
            json!({ "type": "dynamicToolCall", "tool": "SendMessage", "arguments": arguments });
        let shown = "→ SendMessage to bo: the parser is done".to_owned();
        assert_eq!(item("item/started", call), Heard::Words(shown));
    }

    #[test]
    fn cached_tokens_are_counted_once() {
        let last = json!({ "inputTokens": 100, "cachedInputTokens": 40, "outputTokens": 7 });
        let usage = json!({ "last": last, "total": { "totalTokens": 107 } });
        let params = json!({ "threadId": "t", "turnId": "u", "tokenUsage": usage });
        let call = Tokens { fresh: 60, cached: 40, out: 7 };
        let heard = hear("thread/tokenUsage/updated", &params);
        assert_eq!(heard, Heard::Used { turn: "u".into(), call, total: 107, context: None });
    }

    /// As codex 0.166.0 sends it: the context holds what the last call took, in and out.
    #[test]
    fn the_context_is_what_the_last_call_took_of_the_models_window() {
        let last = json!({
            "totalTokens": 12_345, "inputTokens": 12_300, "cachedInputTokens": 4_096,
            "outputTokens": 45, "reasoningOutputTokens": 0,
        });
        let total = json!({ "totalTokens": 90_000 });
        let usage = json!({ "total": total, "last": last, "modelContextWindow": 258_400 });
        let params = json!({ "threadId": "t", "turnId": "u", "tokenUsage": usage });
        let heard = hear("thread/tokenUsage/updated", &params);
        let Heard::Used { context, .. } = heard else { panic!("{heard:?}") };
        assert_eq!(context, Some(Context { used: 12_345, max: Some(258_400) }));
        assert_eq!(context.unwrap().percent(), Some(4));
    }

    /// As codex 0.166.0 sent them.
    #[test]
    fn failures_of_a_turn_are_told_apart() {
        let http = |kind: &str, status: u64| json!({ kind: { "httpStatusCode": status } });
        let cases = [
            (http("httpConnectionFailed", 401), "bad key", "not logged in"),
            (json!("unauthorized"), "no", "not logged in"),
            (json!("usageLimitExceeded"), "You’ve hit your usage limit.", "usage limit"),
            (json!("serverOverloaded"), "at capacity", "at capacity"),
            (http("responseTooManyFailedAttempts", 429), "too many", "too many"),
            (json!("internalServerError"), "high demand", "could not be reached"),
            (json!("modelNotFound"), "no such model", "no such model"),
            (json!("contextWindowExceeded"), "too long", "no longer fits"),
            (json!("other"), "{\"code\":\"context_length_exceeded\"}", "no longer fits"),
            (json!("somethingNew"), "odd", "the model failed"),
            (Value::Null, "odd", "the model failed"),
        ];
        for (info, message, fact) in cases {
            let error = json!({ "message": message, "codexErrorInfo": info });
            let turn = json!({ "id": "u", "status": "failed", "error": error });
            let heard = hear("turn/completed", &json!({ "threadId": "t", "turn": turn }));
            let Heard::TurnEnded(_, TurnEnd::Failed(failure)) = heard else { panic!("{heard:?}") };
            assert!(failure.reason.contains(fact), "{fact}: {}", failure.reason);
            assert!(failure.reason.contains(message), "{message}: {}", failure.reason);
            assert_eq!(failure.begin_anew, fact == "no longer fits", "{fact}");
            let limits = ["usage limit", "at capacity", "too many"];
            assert_eq!(failure.is_limit, limits.contains(&fact), "{fact}");
        }
    }

    #[test]
    fn what_has_no_meaning_here_is_passed_over() {
        for method in ["thread/status/changed", "no/such", "item/started", "item/completed"] {
            assert_eq!(hear(method, &Value::Null), Heard::Nothing, "{method}");
        }
    }
}
