//! The words and signs for what is shown: those of states are the table's, which the web page shares.
//! Every state has a word and a sign, so that colour alone carries nothing.

use shipmate_protocol::view::{
    Card, DecisionKind, DecisionView, DeliveryState, MessageRow, TaskStage, TaskStatus,
};

use super::theme::Tone;
pub(super) use crate::money::tokens;
use crate::wordtable::{DELIVERIES, HOSTS, PHASES, Shown, TASKS, TEAMMATES};

/// A state as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) sign: &'static str,
    pub(super) word: String,
    pub(super) tone: Tone,
}

fn state(sign: &'static str, word: &str, tone: Tone) -> State {
    State { sign, word: word.to_owned(), tone }
}

/// As the table has it. What a newer release says is shown as it is.
fn state_in(table: &[Shown], word: &str) -> State {
    match table.iter().find(|row| row.state == word) {
        Some(row) => state(row.sign, row.word, tone(row.like)),
        None => state("○", word, Tone::Plain),
    }
}

/// The tone of a place on the board.
fn tone(of: &str) -> Tone {
    match of {
        "ready" => Tone::Notice,
        "claimed" | "returned" | "submitted" => Tone::Busy,
        "completed" => Tone::Good,
        "failed" => Tone::Bad,
        "deleted" => Tone::Dim,
        _ => Tone::Plain,
    }
}

/// Where a task stands on the board; the order is that of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Returned,
    Claimed,
    Submitted,
    /// Handed in, and waits for a word about the files that it changes.
    Asks,
    Failed,
    Ready,
    Pending,
    Completed,
    Deleted,
}

impl Standing {
    pub(super) const SHOWN: [Standing; 8] = [
        Standing::Claimed,
        Standing::Returned,
        Standing::Submitted,
        Standing::Asks,
        Standing::Ready,
        Standing::Pending,
        Standing::Failed,
        Standing::Completed,
    ];

    pub(super) fn of(card: &Card) -> Standing {
        match (card.status, card.stage) {
            (TaskStatus::InProgress, Some(TaskStage::Submitted)) => Standing::Submitted,
            (TaskStatus::InProgress, Some(TaskStage::Returned)) => Standing::Returned,
            (TaskStatus::InProgress, _) => Standing::Claimed,
            (TaskStatus::Completed, _) => Standing::Completed,
            (TaskStatus::Failed, _) => Standing::Failed,
            (TaskStatus::Deleted, _) => Standing::Deleted,
            _ if card.available => Standing::Ready,
            _ => Standing::Pending,
        }
    }

    pub(super) fn state(self) -> State {
        let place = match self {
            Standing::Pending => "pending",
            Standing::Ready => "ready",
            Standing::Claimed => "claimed",
            Standing::Returned => "returned",
            Standing::Submitted => "submitted",
            // The page shows the decision beside the task.
            Standing::Asks => return state("◇", "asks you", Tone::Notice),
            Standing::Completed => "completed",
            Standing::Failed => "failed",
            Standing::Deleted => "deleted",
        };
        state_in(&TASKS, place)
    }
}

pub(super) fn mate_state(word: &str) -> State {
    state_in(&TEAMMATES, word)
}

pub(super) fn phase_state(word: &str) -> State {
    state_in(&PHASES, word)
}

pub(super) fn host_state(word: &str) -> State {
    state_in(&HOSTS, word)
}

pub(super) fn delivery_state(word: &str) -> State {
    state_in(&DELIVERIES, word)
}

/// How far a message came with all of its recipients: the one who is the furthest behind.
pub(super) fn delivery(row: &MessageRow) -> State {
    const ORDER: [&str; 6] =
        ["bounced", "expired", "queued", "offered", "injected", "acknowledged"];
    let behind = |word: &str| ORDER.iter().position(|known| *known == word).unwrap_or(2);
    let Some(last) = row.to.iter().map(|to| to.state.word()).min_by_key(|word| behind(word)) else {
        return state("○", "to nobody", Tone::Dim);
    };
    let mut state = delivery_state(last);
    let read = row.to.iter().filter(|to| to.state == DeliveryState::Acknowledged).count();
    let waits = !matches!(last, "bounced" | "expired");
    if waits && read < row.to.len() && read > 0 {
        state.word = format!("{read}/{} read", row.to.len());
    }
    state
}

pub(super) fn decision_sign(kind: &str) -> &'static str {
    match kind {
        "plan" => "▤",
        "approval" => "▶",
        "permission" => "!",
        "scope" => "+",
        _ => "?",
    }
}

/// What yes and no are in a decision; absent where they are no answer to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdicts {
    pub(super) yes: Option<String>,
    pub(super) no: Option<String>,
}

pub(super) fn verdicts(one: &DecisionView) -> Verdicts {
    let some = |word: &str| Some(word.to_owned());
    match one.kind {
        DecisionKind::Plan => return Verdicts { yes: some("approve"), no: some("reject") },
        DecisionKind::Approval => return Verdicts { yes: some("approve"), no: None },
        _ => {}
    }
    let said = |words: [&str; 4]| {
        let is = |option: &&String| words.contains(&option.trim().to_lowercase().as_str());
        one.options.iter().find(is).cloned()
    };
    let yes = said(["grant", "allow", "approve", "yes"]);
    let no = said(["refuse", "deny", "reject", "no"]);
    if yes.is_some() && no.is_some() {
        return Verdicts { yes, no };
    }
    match one.kind != DecisionKind::Question && one.options.is_empty() {
        true => Verdicts { yes: some("allow"), no: some("deny") },
        false => Verdicts::default(),
    }
}

/// The options that are chosen by their number: those that are neither yes nor no.
pub(super) fn options(one: &DecisionView) -> Vec<&String> {
    let said = verdicts(one);
    let is_other =
        |option: &&String| said.yes.as_ref() != Some(option) && said.no.as_ref() != Some(option);
    one.options.iter().filter(is_other).collect()
}

/// `7 tasks wait, 42 min of work`
pub(super) fn waits(one: &DecisionView) -> String {
    if one.waiting == 0 {
        return "no task waits for it".to_owned();
    }
    let verb = if one.waiting == 1 { "waits" } else { "wait" };
    let work = match one.waiting_ms {
        0 => String::new(),
        ms => format!(", {} of work", lasted(ms)),
    };
    format!("{} {verb}{work}", count(one.waiting, "task"))
}

/// The name alone; `person` stays.
pub(super) fn name_of(who: &str) -> &str {
    let seat = seat_of(who);
    seat.rsplit_once('/').map_or(seat, |(_, name)| name)
}

/// `team/name`, without the epoch.
pub(super) fn seat_of(who: &str) -> &str {
    who.split_once('@').map_or(who, |(seat, _)| seat)
}

/// How long ago, short: `now`, `12s`, `4m`, `3h`, `2d`.
pub(super) fn age(ms: u64) -> String {
    match ms / 1000 {
        0 => "now".to_owned(),
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m", s / 60),
        s if s < 86_400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

/// `now` or `4m ago`.
pub(super) fn ago(ms: u64) -> String {
    match age(ms) {
        now if now == "now" => now,
        age => format!("{age} ago"),
    }
}

/// How long: `850 ms`, `12 s`, `4 min 05 s`, `3 h 20 min`.
pub(super) fn lasted(ms: u64) -> String {
    if ms < 1000 {
        return format!("{ms} ms");
    }
    let s = ms.saturating_add(500) / 1000;
    match s {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{} min {:02} s", s / 60, s % 60),
        s => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

pub(super) fn count(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_money_and_tokens_are_short() {
        assert_eq!([0, 12_000, 240_000, 7_200_000].map(age), ["now", "12s", "4m", "2h"]);
        assert_eq!(
            [850, 12_000, 245_000, 12_000_000].map(lasted),
            ["850 ms", "12 s", "4 min 05 s", "3 h 20 min"]
        );
        assert!(lasted(u64::MAX).ends_with(" min"), "a teammate may say how long its task takes");
        assert_eq!([940, 12_340, 4_100_000].map(tokens), ["940", "12.3k", "4.1M"]);
        assert_eq!([name_of("alpha/ana@2"), name_of("person")], ["ana", "person"]);
    }

    #[test]
    fn a_state_is_shown_as_the_table_has_it_and_an_unknown_one_as_it_is() {
        let all = [
            Standing::Returned,
            Standing::Claimed,
            Standing::Submitted,
            Standing::Failed,
            Standing::Ready,
            Standing::Pending,
            Standing::Completed,
            Standing::Deleted,
        ];
        for standing in all {
            let shown = standing.state();
            assert!(TASKS.iter().any(|row| row.word == shown.word), "{standing:?}: {shown:?}");
        }
        assert_eq!(mate_state("active"), state("◐", "working", Tone::Busy));
        assert_eq!(mate_state("stopped"), state("■", "stopped", Tone::Dim));
        assert_eq!(phase_state("passed"), state("✕", "failed, went on", Tone::Busy));
        assert_eq!(delivery_state("acknowledged"), state("●", "read", Tone::Good));
        assert_eq!(delivery_state("resting"), state("○", "resting", Tone::Plain));
    }

    #[test]
    fn yes_and_no_are_answers_only_where_they_can_be() {
        let decision = |kind: &str, options: &[&str]| DecisionView {
            kind: kind.parse().unwrap(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            ..DecisionView::default()
        };
        let said = |kind: &str, options: &[&str]| {
            let found = verdicts(&decision(kind, options));
            (found.yes.unwrap_or_default(), found.no.unwrap_or_default())
        };
        let words = |yes: &str, no: &str| (yes.to_owned(), no.to_owned());
        assert_eq!(said("plan", &[]), words("approve", "reject"));
        assert_eq!(said("approval", &[]), words("approve", ""));
        assert_eq!(said("permission", &[]), words("allow", "deny"));
        assert_eq!(said("question", &["Yes", "no"]), words("Yes", "no"));
        assert_eq!(said("question", &["tabs", "spaces"]), words("", ""));
        assert_eq!(said("question", &[]), words("", ""));
    }
}
