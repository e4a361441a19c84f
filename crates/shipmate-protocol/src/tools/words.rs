//! The words that agents and the seeds use, and ours for them.

use serde_json::Value;

use crate::tools::Seat;
use crate::tools::arguments::Bad;

/// What a caller wants a task to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    /// Ours derives it: it holds while something it depends on is open.
    Blocked,
    InProgress,
    Completed,
    Failed,
    Deleted,
}

pub(crate) const STATUS_WORDS: &str = "pending, in_progress, completed, failed or deleted (also \
                                       available, claimed, done, complete, passing, blocked)";

pub(crate) fn status(field: &str, text: &str) -> Result<Status, Bad> {
    let word = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    Ok(match word.as_str() {
        "pending" | "available" | "open" | "todo" | "ready" | "unclaimed" | "released"
        | "not_started" | "queued" => Status::Pending,
        "blocked" | "waiting" => Status::Blocked,
        "in_progress" | "inprogress" | "claimed" | "started" | "active" | "working" | "running"
        | "doing" => Status::InProgress,
        "completed" | "complete" | "done" | "passing" | "passed" | "finished" | "resolved"
        | "submitted" | "closed" => Status::Completed,
        "failed" | "error" => Status::Failed,
        "deleted" | "removed" | "cancelled" | "canceled" => Status::Deleted,
        _ => return Err(Bad::new(field, &Value::from(text), STATUS_WORDS)),
    })
}

/// `3`, `#3` and `task 3` are task 3; anything else is an alias.
pub(crate) fn task(text: &str) -> String {
    let text = text.trim();
    let number = |text: &str| {
        let digits = text.trim().trim_start_matches('#').trim();
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.to_owned())
    };
    let bare = text.get(..4).filter(|word| word.eq_ignore_ascii_case("task")).map(|_| &text[4..]);
    let bare = bare.filter(|rest| rest.starts_with([' ', '#']));
    number(text).or_else(|| bare.and_then(number)).unwrap_or_else(|| text.to_owned())
}

/// `T3` of plan `03-01` is `03-01/T3`; numbers, groups and whole aliases stay as they are.
pub(crate) fn task_of_plan(text: &str, plan: Option<&str>) -> String {
    let own = task(text);
    match plan {
        Some(plan) if !own.contains(['/', ':']) && !own.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{plan}/{own}")
        }
        _ => own,
    }
}

/// The number in `12`, `#12`, `shutdown-12@ana` or `plan 12`.
pub(crate) fn request_id(field: &str, text: &str) -> Result<u64, Bad> {
    let id = text.trim().split('@').next().unwrap_or_default();
    let word = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '#' | ' ' | ':');
    id.trim_start_matches(word)
        .parse()
        .map_err(|_| Bad::new(field, &Value::from(text), "the request id of the message, a number"))
}

/// A teammate as agents write it: `ana`, `@ana`, `ana@team`, `team/ana@2`.
pub(crate) fn teammate(text: &str) -> String {
    let text = text.trim().trim_start_matches('@');
    match text.split_once('@') {
        Some((name, epoch)) if epoch.bytes().all(|b| b.is_ascii_digit()) => name.to_owned(),
        Some((name, team)) if !name.contains('/') => format!("{team}/{name}"),
        _ => text.to_owned(),
    }
}

/// `alpha/ana@2` as the seat would write it.
pub(crate) fn short<'a>(seat: &Seat, who: &'a str) -> &'a str {
    let address = who.split('@').next().unwrap_or(who);
    match address.split_once('/') {
        Some((team, name)) if team == seat.team => name,
        _ => address,
    }
}

/// Whether that is the seat's own name, whatever its life.
pub(crate) fn is_me(seat: &Seat, who: &str) -> bool {
    !seat.name.is_empty() && short(seat, &teammate(who)) == seat.name
}

/// Whether a type of agent is a program that can be behind a teammate.
pub(crate) fn is_program(word: &str) -> bool {
    let known = [
        "claude",
        "codex",
        "gemini",
        "opencode",
        "goose",
        "acp",
        "command",
        "inline",
        "native",
        "claude-acp",
        "codex-acp",
    ];
    known.contains(&word)
}

/// A mode, also in the words of permission modes.
pub(crate) fn mode(field: &str, text: &str) -> Result<String, Bad> {
    let ours = match text.trim() {
        "normal" | "default" | "acceptEdits" | "auto" | "bypassPermissions" | "dontAsk" => "normal",
        "plan" => "plan",
        "delegate" => "delegate",
        "read_only" | "read-only" | "readonly" => "read_only",
        _ => {
            let expected = "normal, plan, delegate or read_only";
            return Err(Bad::new(field, &Value::from(text), expected));
        }
    };
    Ok(ours.to_owned())
}

/// What may be part of a name, from any text: `Review the API` is `review-the-api`.
pub(crate) fn slug(text: &str) -> String {
    const LENGTH: usize = 40;
    let mut slug = String::new();
    for c in text.chars() {
        if slug.len() >= LENGTH {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    match slug {
        "" => "agent".to_owned(),
        // These mean somebody else wherever a name may stand.
        "person" | "runtime" | "all" | "lead" | "lead-of" => format!("{slug}-agent"),
        slug => slug.to_owned(),
    }
}
