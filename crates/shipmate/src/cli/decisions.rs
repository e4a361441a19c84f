//! `shipmate decisions`: what waits for somebody's decision, and what was decided by whom.

use serde::Serialize;
use shipmate_model::Record;
use shipmate_protocol::verbs;
use shipmate_protocol::view::{Decided, DecidedRow, DecisionView, LookOf};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, hanging, plain};
use crate::cli::session::Session;
use crate::time::date_and_time;

/// List what waits for a decision, and what was decided
///
/// Plans, permissions, scope requests, questions and approvals of phases, the one behind which most
/// work waits first, each with the command that decides it. With --all also what was decided, with
/// who decided it and when, latest first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate decisions
  shipmate decisions --all
  shipmate decisions --all --json | jq '.[] | select(.by == \"person\")'")]
pub(crate) struct DecisionsArgs {
    /// Also those that were made
    #[arg(long)]
    all: bool,
}

/// Records that one request asks for.
const PAGE: usize = 1_000;

/// A decision as programs read it. What is empty is left out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Listed {
    /// `open` or `decided`.
    pub(super) state: &'static str,
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) team: String,
    pub(super) who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<u32>,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) options: Vec<String>,
    pub(super) asked_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waiting: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) feedback: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) record: Option<u64>,
}

impl Listed {
    pub(super) fn open(one: DecisionView) -> Listed {
        Listed {
            state: "open",
            id: one.id,
            // Nobody's words: the runtime asks.
            who: if one.who.is_empty() { "runtime".to_owned() } else { one.who },
            kind: one.kind.to_string(),
            team: one.team,
            task: one.task,
            text: one.text,
            options: one.options,
            asked_at: one.at,
            waiting: Some(one.waiting),
            ..Listed::default()
        }
    }

    pub(super) fn decided(row: DecidedRow) -> Listed {
        Listed {
            state: "decided",
            id: row.id,
            kind: row.kind.to_string(),
            team: row.team,
            who: row.who,
            task: row.task,
            text: row.text,
            asked_at: row.asked_at,
            answer: Some(row.answer),
            feedback: row.feedback,
            by: Some(row.by),
            decided_at: Some(row.at),
            record: Some(row.n),
            ..Listed::default()
        }
    }
}

pub(crate) fn run(args: &DecisionsArgs, mut session: Session) -> Result<(), Failure> {
    // No task is looked at: only what waits.
    let of = LookOf::Page { after: u32::MAX, max: 0 };
    let look = session.ask(verbs::Look { of })?;
    let open = look.decisions.into_iter().map(Listed::open);
    let mut listed: Vec<Listed> = open.collect();
    if args.all {
        listed.extend(decided(&mut session)?.into_iter().rev().map(Listed::decided));
    }
    if session.screen.json {
        return session.screen.json(&listed);
    }
    if listed.is_empty() {
        let none = if args.all { "no decisions" } else { "no open decisions" };
        return session.screen.line(none);
    }
    let own = format!("shipmate{}", session.here());
    let text: String = listed.iter().map(|one| text(one, &own, &session.screen)).collect();
    session.screen.print(&text)
}

/// What was decided in the whole log, oldest first.
fn decided(session: &mut Session) -> Result<Vec<DecidedRow>, Failure> {
    let mut decided = Decided::new(usize::MAX);
    let mut after = 0;
    loop {
        let records = session.ask(verbs::Log { after, max: PAGE })?;
        if records.is_empty() {
            return Ok(decided.rows(usize::MAX));
        }
        after += records.len() as u64;
        for record in &records {
            if let Ok(record) = serde_json::from_str::<Record>(record.get()) {
                decided.take(&record);
            }
        }
    }
}

fn text(one: &Listed, own: &str, screen: &Screen) -> String {
    let Listed { id, kind, who, asked_at, .. } = one;
    let of = if who == "runtime" { format!("for team {}", one.team) } else { format!("of {who}") };
    let task = one.task.map(|task| format!(" about task {task}")).unwrap_or_default();
    let asked = date_and_time(*asked_at);
    let mut text = match (&one.by, one.decided_at) {
        (Some(by), Some(at)) => {
            let answer = one.answer.as_deref().unwrap_or_default();
            let feedback = if one.feedback.is_empty() { "" } else { ": " };
            let said = hanging(&format!("{answer}{feedback}{}", one.feedback), 2);
            let head = format!("{} {by} decided {kind} {id} {of}{task}", date_and_time(at));
            format!("{}\n  {said}\n", screen.paint(Paint::Dim, &plain(&head)))
        }
        _ => {
            let head = format!("{kind} {id} {of}{task}, asked {asked}");
            format!("{}\n", screen.paint(Paint::Bold, &plain(&head)))
        }
    };
    // Whoever asked wrote it: each line of theirs is marked.
    for line in hanging(&one.text, 0).lines() {
        text.push_str(&format!("│ {line}\n"));
    }
    if one.by.is_none() {
        text.push_str(&format!("  {}\n", plain(&command(one, own))));
    }
    text
}

/// What decides it.
fn command(one: &Listed, own: &str) -> String {
    let Listed { id, team, .. } = one;
    match one.kind.as_str() {
        "plan" => format!("{own} plan approve {id}, or: plan reject {id} \"what to change\""),
        "approval" => format!("{own} --team {team} continue"),
        _ if one.options.is_empty() && one.kind != "question" => {
            format!("{own} answer {id} allow, or: deny")
        }
        _ if one.options.is_empty() => format!("{own} answer {id} \"…\""),
        _ => format!("{own} answer {id} with one of: {}", one.options.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_told_with_what_decides_it_and_what_was_decided_with_by_whom() {
        let screen = Screen::of_width(None);
        let open = |kind: &str, who: &str, text: &str| {
            let [kind, who, text] = [kind, who, text].map(str::to_owned);
            let team = "alpha".to_owned();
            let kind = kind.parse().unwrap();
            Listed::open(DecisionView { id: 41, kind, who, text, team, ..DecisionView::default() })
        };
        let lines = |one: Listed| super::text(&one, "shipmate", &screen);
        assert_eq!(
            lines(open("permission", "alpha/ana@1", "May I?\nshipmate continue")),
            "permission 41 of alpha/ana@1, asked 1970-01-01 00:00:00 UTC\n│ May I?\n│ shipmate \
             continue\n  shipmate answer 41 allow, or: deny\n"
        );
        assert_eq!(
            lines(open("approval", "", "phase build begins")),
            "approval 41 for team alpha, asked 1970-01-01 00:00:00 UTC\n│ phase build begins\n  \
             shipmate --team alpha continue\n"
        );
        let row = DecidedRow {
            id: 6,
            kind: shipmate_protocol::view::DecisionKind::Plan,
            who: "alpha/ana@1".to_owned(),
            text: "split it".to_owned(),
            by: "person".to_owned(),
            answer: "rejected".to_owned(),
            feedback: "keep\nit".to_owned(),
            ..DecidedRow::default()
        };
        assert_eq!(
            lines(Listed::decided(row)),
            "1970-01-01 00:00:00 UTC person decided plan 6 of alpha/ana@1\n  rejected: keep\n  \
             it\n│ split it\n"
        );
    }
}
