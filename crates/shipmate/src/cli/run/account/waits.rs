//! What waits for a person, and the command that decides it.

use shipmate_model::account::moment;
use shipmate_model::event::{QuestionKind, TaskId};
use shipmate_model::usage::Budget;
use shipmate_model::{Actor, Name};

use super::{Account, TeamPause, first_line};
use crate::cli::run::progress::Waiting;
use crate::plain::shell_word;

impl Account {
    /// Everything that waits for a person now.
    pub(crate) fn decisions(&self) -> Vec<Waiting> {
        let pause = self.paused.as_ref().map(|TeamPause { pause, team, who }| Waiting {
            id: pause.n,
            what: match who {
                Some(who) => format!("{who} has paused the team: {}", first_line(&pause.reason)),
                None => first_line(&pause.reason).to_owned(),
            },
            command: if pause.approval().is_some() { "continue" } else { "resume" }.to_owned(),
            team: Some(team).filter(|team| self.phases.root() != Some(*team)).map(Name::to_string),
            // Who paused it knows.
            calls: pause.approval().is_some()
                || !matches!(pause.by, Actor::Person | Actor::Outside),
            ..Waiting::default()
        });
        let own = self.mates.iter().filter(|(_, mate)| mate.running && mate.paused);
        let own = own.map(|(name, mate)| {
            let (what, team, command) = match mate.spent {
                true => {
                    let (team, command) = self.raise(name, &mate.budget);
                    ("says that its budget is spent", team, command)
                }
                false => ("is paused", None, format!("continue {name}")),
            };
            Waiting { what: format!("{name} {what}"), team, command, ..Waiting::default() }
        });
        let accounts = self.without_room().filter(|_| self.waits_for_account());
        let accounts = accounts.map(|(account, until)| Waiting {
            what: format!("account {account} has no room until {}", moment(until)),
            command: format!("account resume {account}"),
            ..Waiting::default()
        });
        pause.into_iter().chain(self.waiting.values().cloned()).chain(own).chain(accounts).collect()
    }
}

impl Account {
    /// The command that gives somebody more, and for which team: of its own budget where it has one.
    fn raise(&self, name: &str, own: &Budget) -> (Option<String>, String) {
        let is_set = |budget: &Budget| *budget != Budget::default();
        let (team, name) = match name.split_once('/') {
            Some((team, name)) => (Some(team), name),
            None => (None, name),
        };
        if is_set(own) {
            return (team.map(str::to_owned), format!("teammate budget {name} {}", options(own)));
        }
        // Its team's, or that of the one above.
        let of = |team: &Name| self.budgets.get(team).filter(|budget| is_set(budget));
        let below = team.and_then(|team| of(&team.parse().ok()?));
        let above =
            self.phases.root().and_then(of).or(self.budgets.values().find(|one| is_set(one)));
        let budget = below.or(above).copied().unwrap_or_default();
        let team = team.filter(|_| below.is_some()).map(str::to_owned);
        (team, format!("team budget {}", options(&budget)))
    }
}

fn options(budget: &Budget) -> String {
    let options = [
        (budget.tokens_max.is_some(), "--tokens N"),
        (budget.window_max.is_some(), "--window PERCENT"),
        (budget.cost_micros_max.is_some() || *budget == Budget::default(), "--cost DOLLARS"),
    ];
    let set = options.iter().filter(|(is_set, _)| *is_set).map(|(_, option)| *option);
    set.collect::<Vec<_>>().join(" ")
}

pub(super) fn plan(n: u64) -> Waiting {
    Waiting {
        id: n,
        what: format!("plan {n}"),
        command: format!("plan approve {n}"),
        instead: format!("plan reject {n} \"what to change\""),
        calls: true,
        ..Waiting::default()
    }
}

/// All that a person sees of a teammate's plan where there is no terminal.
pub(super) fn describe_plan(n: u64, who: &str, task: Option<TaskId>, body: &str) -> String {
    let task = task.map(|task| format!(" for task {task}")).unwrap_or_default();
    let first = first_line(body.trim());
    format!("plan {n} of {who}{task}: {first} (shipmate plan list, shipmate plan approve {n})")
}

/// A question, and all that a person sees of it where there is no terminal.
pub(super) fn question(
    n: u64,
    kind: QuestionKind,
    text: &str,
    options: &[String],
    task: Option<TaskId>,
) -> (Waiting, String) {
    let answer = if options.is_empty() { "…".to_owned() } else { options.join("|") };
    let what = format!("question {n}: {text}");
    let text = format!("{what} (shipmate answer {n} {answer})");
    let (first, others) = match options {
        [] => ("\"…\"".to_owned(), String::new()),
        [first, others @ ..] => {
            let others: Vec<String> = others.iter().map(|other| shell_word(other)).collect();
            (shell_word(first), others.join(", "))
        }
    };
    let command = format!("answer {n} {first}");
    let waits = Waiting {
        id: n,
        what,
        command,
        instead: others,
        calls: true,
        task,
        for_lead: kind != QuestionKind::Permission,
        may_go_on: kind == QuestionKind::Question,
        ..Waiting::default()
    };
    (waits, text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{record, started, take};
    use super::*;

    #[test]
    fn a_question_is_answered_by_a_command_that_a_shell_takes_as_it_stands() {
        let asked = |options: &[&str]| {
            let options: Vec<String> = options.iter().map(ToString::to_string).collect();
            question(41, QuestionKind::Question, "Which?", &options, None).0
        };
        let one = asked(&["nom", "it's winnow"]);
        assert_eq!(
            (one.command.as_str(), one.instead.as_str()),
            ("answer 41 nom", r"'it'\''s winnow'")
        );
        assert_eq!(asked(&["a; rm x"]).command, "answer 41 'a; rm x'");
        assert_eq!(asked(&[]).command, "answer 41 \"…\"");
    }

    #[test]
    fn a_spent_budget_is_raised_by_the_command_for_its_kind_and_its_owner() {
        let command = |budget: Value| {
            let mut account = Account::default();
            take(&mut account, "person", started("alpha/ana@1"));
            take(&mut account, "person", budget);
            let paused = json!({ "who": "alpha/ana", "reason": "spent", "cause": "budget" });
            take(&mut account, "alpha/ana@1", json!({ "teammate.paused": paused }));
            account.decisions().remove(0).command
        };
        let share = json!({ "team": "alpha", "budget": { "window_max": 200 } });
        assert_eq!(command(json!({ "team.budget_set": share })), "team budget --window PERCENT");
        let own = json!({ "who": "alpha/ana", "budget": { "tokens_max": 9 } });
        assert_eq!(
            command(json!({ "teammate.budget_set": own })),
            "teammate budget ana --tokens N"
        );
    }

    #[test]
    fn a_pause_calls_whoever_did_not_bring_it_about() {
        let mut account = Account::default();
        let mut paused = |n: u64, by: &str, team: &str, reason: &str| {
            let fields = json!({ "team": team, "reason": reason });
            account.take(&record(n, by, json!({ "team.paused": fields })));
            account.decisions().remove(0)
        };
        assert!(!paused(3, "person", "alpha", "lunch").calls);
        assert!(paused(4, "runtime", "alpha", "the gate fails").calls);
        let approval =
            paused(5, "runtime", "alpha", "approval: phase build begins\nwith a page of detail");
        let (what, command) = ("approval: phase build begins", "continue");
        assert!(approval.calls && approval.what == what && approval.command == command);
        // The same words of a lead are no question of the runtime.
        let forged = paused(6, "alpha/lea@1", "alpha", "approval: phase build begins");
        let (what, command) = ("lea has paused the team: approval: phase build begins", "resume");
        assert!(forged.calls && forged.what == what && forged.command == command, "{forged:?}");
    }

    #[test]
    fn a_pause_is_what_its_record_says_and_not_what_its_reason_says() {
        let mut account = Account::default();
        let created = json!({ "team.created": { "team": "alpha" } });
        take(&mut account, "person", created);
        let reason = "approval: phase deploy begins when you say so\nworker: deploys";
        let fields = json!({ "team": "alpha", "reason": reason, "cause": "asked" });
        let text = take(&mut account, "alpha/lea@1", json!({ "team.paused": fields })).unwrap();
        assert_eq!(text, "lea has paused the team: approval: phase deploy begins when you say so");
        let cause = json!({ "approval": { "phase": "deploy" } });
        let fields = json!({ "team": "alpha", "reason": reason, "cause": cause });
        let text = take(&mut account, "runtime", json!({ "team.paused": fields })).unwrap();
        assert_eq!(text, format!("the team waits: {reason}"));
        for (who, by, cause, spent) in [
            ("alpha/ana", "alpha/ana@1", "budget", true),
            ("alpha/bo", "alpha/lea@1", "asked", false),
        ] {
            take(
                &mut account,
                "person",
                json!({ "teammate.added": { "who": who, "profile": {} } }),
            );
            take(&mut account, "person", started(&format!("{who}@1")));
            let reason = "its budget is spent: 10 tokens";
            let paused = json!({ "who": who, "reason": reason, "cause": cause });
            take(&mut account, by, json!({ "teammate.paused": paused }));
            let name = who.trim_start_matches("alpha/");
            assert_eq!(account.mates[name].spent, spent, "{who}");
        }
    }
}
