//! Records in, what a person hears of them out.

use serde_json::{Value, json};
use shipmate_protocol::view::AccountView;

use super::*;

/// A record as it is stored.
pub(super) fn record(n: u64, by: &str, event: Value) -> Record {
    let stored = json!({ "n": n, "at": 1, "by": by, "event": event });
    serde_json::from_value(stored).unwrap()
}

pub(super) fn take(account: &mut Account, by: &str, event: Value) -> Option<String> {
    account.take(&record(1, by, event)).map(|told| told.text)
}

#[test]
fn only_a_pause_of_the_runtime_is_a_deviation() {
    let mut account = Account::default();
    let paused = |reason: &str| json!({ "team.paused": { "team": "a", "reason": reason } });
    take(&mut account, "person", paused("lunch"));
    assert!(!account.paused.as_ref().unwrap().is_halt());
    assert!(account.deviations.is_empty());
    take(&mut account, "runtime", paused("the base is red\nFAILED x"));
    assert!(account.paused.as_ref().unwrap().is_halt());
    assert_eq!(account.deviations[0].text, "the team waits: the base is red");
    take(&mut account, "person", json!({ "team.continued": { "team": "a" } }));
    assert!(account.paused.is_none());
}

/// Folds a run of this many tasks in plans of a hundred, each of which waits for the one
/// before, and says how often a task was looked at.
fn fold(tasks: u32) -> u64 {
    let spec = |id: u32| {
        let plan = (id - 1) / 100;
        let mut needs = vec![json!({ "group": format!("p{}", plan.saturating_sub(1)) })];
        needs.truncate(plan.min(1) as usize);
        json!({ "subject": "s", "group": format!("p{plan}"), "blocked_by": needs })
    };
    let created = |id| json!({ "task.created": { "task": id, "team": "a", "spec": spec(id) } });
    let record = |event: Value| record(1, "runtime", event);
    let mut records: Vec<Record> = (1..=tasks).map(|id| record(created(id))).collect();
    for id in 1..=tasks {
        let claimed = json!({ "task.claimed": { "task": id, "by": "a/ana@1" } });
        let submitted = json!({ "task.submitted": { "task": id, "token": 1 } });
        let completed = json!({ "task.completed": { "task": id, "token": 1 } });
        records.extend([claimed, submitted, completed].map(record));
    }
    let mut account = Account::default();
    for record in &records {
        account.take(record);
        assert!(account.tasks.counts().done < tasks as usize || account.is_over());
        assert!(!account.is_stuck() || account.tasks.counts().in_progress == 0);
    }
    assert_eq!(account.done(), tasks as usize);
    account.tasks.looks.get()
}

#[test]
fn a_record_of_a_large_run_costs_no_more_than_one_of_a_small_run() {
    let (small, large) = (fold(1_000), fold(10_000));
    assert!(small > 4_000, "each record looks at its task: {small}");
    // The first plan waits for none, and so a small run has a little less for each of its records.
    assert!(large <= small * 11, "10,000 tasks: {large} looks, 1,000: {small}");
}

fn led() -> Account {
    let mut account = Account::default();
    let profile = json!({ "seat": "lead", "mode": "plan" });
    let added = json!({ "teammate.added": { "who": "a/lead", "profile": profile } });
    take(&mut account, "person", added);
    account
}

pub(super) fn started(who: &str) -> Value {
    let started = json!({ "who": who, "token_hash": "", "supervision": "supervised" });
    json!({ "teammate.started": started })
}

#[test]
fn a_lead_plans_until_its_plan_is_approved_and_leads_then() {
    let mut account = led();
    let told = take(&mut account, "runtime", started("a/lead@1"));
    assert_eq!(told.unwrap(), "lead reads the repository and makes a plan");
    let submitted = json!({ "who": "a/lead@1", "body": "", "work": { "tasks": [] } });
    take(&mut account, "a/lead@1", json!({ "plan.submitted": submitted }));
    assert_eq!((account.led.open, account.waiting.len()), (Some(1), 1));
    assert_eq!(account.mates["lead"].word, "plans");
    let rejected = json!({ "plan.rejected": { "plan": 1, "feedback": "smaller\nplease" } });
    let told = take(&mut account, "person", rejected);
    assert_eq!(told.unwrap(), "plan 1 is rejected: smaller; lead revises it");
    account.led.open = Some(1);
    take(&mut account, "person", json!({ "plan.approved": { "plan": 1 } }));
    assert_eq!((account.mates["lead"].word, account.led.open), ("leads", None));
}

#[test]
fn a_run_whose_lead_is_gone_before_there_was_a_plan_is_stuck() {
    let mut account = led();
    assert!(!account.is_stuck(), "it has not begun");
    take(&mut account, "runtime", started("a/lead@1"));
    assert!(!account.is_stuck());
    let gone = json!({ "teammate.disappeared": { "who": "a/lead@1", "reason": "no key" } });
    take(&mut account, "runtime", gone);
    assert!(account.is_stuck());
}

#[test]
fn a_run_waits_for_its_lead_that_is_parked_and_goes_on_by_itself() {
    let mut account = led();
    take(&mut account, "runtime", started("a/lead@1"));
    let of = json!({ "teammate.account": { "who": "a/lead", "account": "claude-1" } });
    take(&mut account, "runtime", of);
    let task = json!({ "task.created": { "task": 1, "team": "a", "spec": { "subject": "s" } } });
    take(&mut account, "person", task);
    take(&mut account, "a/ana@1", json!({ "task.claimed": { "task": 1, "by": "a/ana@1" } }));
    take(&mut account, "runtime", json!({ "task.completed": { "task": 1, "token": 1 } }));
    assert!(account.awaits_report());
    let parked = json!({ "account": "claude-1", "until": 9, "reason": "limit" });
    take(&mut account, "a/lead@1", json!({ "account.parked": parked }));
    assert!(!account.awaits_report() && !account.is_stuck());
    take(&mut account, "runtime", json!({ "account.resumed": { "account": "claude-1" } }));
    assert!(account.awaits_report());
}

/// Ana had one task and ended, and the window of her account is used as far as its team may.
fn held_back(resumes: bool) -> (Account, AccountView) {
    let mut account = Account::default();
    let setup = json!({ "caps": { "resumes": resumes } });
    take(&mut account, "person", json!({ "team.created": { "team": "a", "setup": setup } }));
    for id in [1, 2] {
        let spec = json!({ "subject": "s" });
        let task = json!({ "task.created": { "task": id, "team": "a", "spec": spec } });
        take(&mut account, "person", task);
    }
    take(&mut account, "runtime", started("a/ana@1"));
    let of = json!({ "teammate.account": { "who": "a/ana", "account": "claude-1" } });
    take(&mut account, "runtime", of);
    take(&mut account, "a/ana@1", json!({ "task.claimed": { "task": 1, "by": "a/ana@1" } }));
    take(&mut account, "a/ana@1", told(910));
    take(&mut account, "runtime", json!({ "task.completed": { "task": 1, "token": 1 } }));
    let view = AccountView {
        name: "claude-1".to_owned(),
        held: Some("the soft-cap is 90 %".to_owned()),
        held_until: Some(9),
        ..AccountView::default()
    };
    (account, view)
}

fn told(used: u32) -> Value {
    let windows = json!([{ "name": "week", "used": used, "resets_at": 9 }]);
    json!({ "account.told": { "account": "claude-1", "windows": windows } })
}

#[test]
fn a_run_at_the_soft_cap_waits_for_the_reset_whether_or_not_somebody_runs() {
    let stopped = json!({ "teammate.stopped": { "who": "a/ana@1", "outcome": "clean" } });
    for ends in [true, false] {
        let (mut account, view) = held_back(true);
        if ends {
            take(&mut account, "runtime", stopped.clone());
        }
        assert_eq!((account.is_stuck(), account.is_idle()), (ends, !ends));
        let said = account.see_accounts(std::slice::from_ref(&view));
        assert!(said[0].text.contains("nothing has failed"), "{said:?}");
        assert!(!account.is_stuck() && account.decisions().is_empty());
        // It is asked about again after each news, and said once.
        take(&mut account, "a/ana@1", told(920));
        assert!(account.is_idle() && !account.is_stuck());
        assert_eq!(account.see_accounts(std::slice::from_ref(&view)).len(), 0);
        let reset = json!({ "account.told": { "account": "claude-1", "windows": [] } });
        let text = take(&mut account, "runtime", reset).unwrap();
        assert!(text.contains("has room again"), "{text}");
        assert_eq!(account.is_stuck(), ends);
    }
}

#[test]
fn a_run_in_which_nothing_is_left_to_do_ends_though_somebody_is_parked() {
    let (mut account, _) = held_back(true);
    let spec = json!({ "subject": "s", "blocked_by": [{ "task": 2 }] });
    let task = json!({ "task.created": { "task": 3, "team": "a", "spec": spec } });
    take(&mut account, "person", task);
    let parked = json!({ "account": "claude-1", "until": 9, "reason": "limit" });
    take(&mut account, "a/ana@1", json!({ "account.parked": parked }));
    take(&mut account, "runtime", started("a/bo@1"));
    take(&mut account, "a/bo@1", json!({ "task.claimed": { "task": 2, "by": "a/bo@1" } }));
    assert!(!account.is_stuck());
    let failed = json!({ "task.failed": { "task": 2, "token": 1, "reason": "no" } });
    take(&mut account, "a/bo@1", failed);
    assert!(account.is_stuck());
}

#[test]
fn a_run_at_the_soft_cap_that_does_not_resume_by_itself_waits_for_a_person() {
    let (mut account, view) = held_back(false);
    assert!(!account.waits_for_person());
    account.see_accounts(&[view]);
    assert!(account.waits_for_person() && account.waits_for_account());
    assert_eq!(account.decisions()[0].command, "account resume claude-1");
}

#[test]
fn a_refusal_stands_until_it_is_lifted_and_a_persons_word_holds_against_what_is_told() {
    let (mut account, view) = held_back(true);
    let parked = json!({ "account": "claude-1", "until": 9, "reason": "limit" });
    take(&mut account, "a/ana@1", json!({ "account.parked": parked }));
    assert_eq!(take(&mut account, "a/ana@1", told(100)), None);
    // Not parked by its windows, so that nothing is held beside the refusal.
    let held = AccountView { held: None, held_until: None, ..view };
    account.see_accounts(std::slice::from_ref(&held));
    assert_eq!(account.mates["ana"].word, "parked");
    let text =
        take(&mut account, "person", json!({ "account.resumed": { "account": "claude-1" } }));
    assert!(text.unwrap().contains("has room again"));
    assert_eq!(take(&mut account, "a/ana@1", told(960)), None);
    account.see_accounts(&[held]);
    assert_eq!(account.mates["ana"].word, "idle");
}

#[test]
fn a_lead_that_may_take_no_task_still_reports() {
    let (mut account, view) = held_back(true);
    let profile = json!({ "seat": "lead", "mode": "plan" });
    let added = json!({ "teammate.added": { "who": "a/ana", "profile": profile } });
    take(&mut account, "person", added);
    take(&mut account, "a/ana@1", json!({ "task.claimed": { "task": 2, "by": "a/ana@1" } }));
    take(&mut account, "runtime", json!({ "task.completed": { "task": 2, "token": 1 } }));
    account.see_accounts(std::slice::from_ref(&view));
    assert!(account.awaits_report());
    account.see_accounts(&[AccountView { closed: true, ..view }]);
    assert!(!account.awaits_report());
}

#[test]
fn a_run_waits_for_the_gate_that_is_tried_before_anybody_is_started() {
    is_waited_for(&json!({ "trees": { "base": "b", "mode": "own" }, "gate": ["make test"] }));
}

#[test]
fn a_run_waits_for_a_set_up_that_is_tried_without_a_gate() {
    let trees = json!({ "base": "b", "mode": "own", "preparation": { "setup": ["npm ci"] } });
    is_waited_for(&json!({ "trees": trees }));
}

fn is_waited_for(setup: &serde_json::Value) {
    let mut account = Account::default();
    take(&mut account, "person", json!({ "team.created": { "team": "a", "setup": setup } }));
    let spec = json!({ "subject": "one" });
    let task = json!({ "task.created": { "task": 1, "team": "a", "spec": spec } });
    take(&mut account, "person", task);
    assert!(!account.is_stuck(), "it is being tried");
    let ran = json!({ "gate.ran": { "team": "a", "commit": "b", "passed": true, "took_ms": 1 } });
    take(&mut account, "runtime", ran);
    assert!(account.is_stuck(), "nobody is there to take it");
}

#[test]
fn a_phase_whose_lead_is_gone_before_it_made_a_task_is_stuck() {
    let mut account = Account::default();
    let phases = json!([{ "name": "plan", "lead_plans": true }, { "name": "work" }]);
    let setup = json!({ "playbook": { "name": "p", "roles": {}, "phases": phases } });
    take(&mut account, "person", json!({ "team.created": { "team": "a", "setup": setup } }));
    let began = json!({ "phase.began": { "team": "a", "phase": "plan", "round": 1 } });
    take(&mut account, "runtime", began);
    let profile = json!({ "seat": "lead", "mode": "delegate" });
    let added = json!({ "teammate.added": { "who": "a/lead", "profile": profile } });
    take(&mut account, "runtime", added);
    assert!(!account.is_stuck(), "it has not begun");
    take(&mut account, "runtime", started("a/lead@1"));
    assert!(!account.is_stuck());
    let gone = json!({ "teammate.disappeared": { "who": "a/lead@1", "reason": "no key" } });
    take(&mut account, "runtime", gone);
    assert!(account.is_stuck());
    let done = json!({ "team": "a", "phase": "plan", "round": 1, "end": { "done": {} } });
    take(&mut account, "runtime", json!({ "phase.ended": done }));
    assert!(!account.is_stuck(), "the next phase may need no lead");
}

fn said(kind: Value, body: &str) -> Value {
    json!({ "message.sent": { "to": ["person"], "kind": kind, "body": body } })
}

#[test]
fn what_a_lead_says_is_shown_and_after_the_work_it_is_the_report() {
    let mut account = led();
    take(&mut account, "runtime", started("a/lead@1"));
    let told = take(&mut account, "a/lead@1", said(json!("message"), "which port?"));
    assert_eq!(told.unwrap(), "lead says: which port?");
    let told = take(&mut account, "a/ana@1", said(json!("message"), "hello\nand more"));
    assert_eq!(told.unwrap(), "ana says: hello (shipmate inbox)");
    let other = json!({ "to": [{ "member": "a/lead" }], "kind": "message", "body": "hello" });
    assert_eq!(take(&mut account, "a/ana@1", json!({ "message.sent": other })), None);
    let task = json!({ "task.created": { "task": 1, "team": "a", "spec": { "subject": "s" } } });
    take(&mut account, "person", task);
    assert!(!account.awaits_report());
    take(&mut account, "a/ana@1", json!({ "task.claimed": { "task": 1, "by": "a/ana@1" } }));
    take(&mut account, "runtime", json!({ "task.completed": { "task": 1, "token": 1 } }));
    assert!(account.awaits_report());
    let to = json!([{ "member": "a/lead" }]);
    let done = json!({ "message.sent": { "to": to, "kind": "work_done", "body": "" } });
    take(&mut account, "runtime", done);
    assert_eq!(take(&mut account, "a/lead@1", said(json!("message"), "all there")), None);
    assert_eq!(account.led.report.as_deref(), Some("all there"));
    let none = said(json!({ "handoff": "no_plan" }), "three times");
    take(&mut account, "a/lead@1", none);
    assert_eq!(account.led.no_plan.as_deref(), Some("three times"));
}

#[test]
fn what_a_lead_of_a_playbook_says_last_is_the_report_and_what_it_said_before_is_a_line() {
    let mut account = Account::default();
    let playbook = json!({ "name": "p", "roles": {}, "phases": [{ "name": "work" }] });
    let setup = json!({ "playbook": playbook });
    take(&mut account, "person", json!({ "team.created": { "team": "a", "setup": setup } }));
    let below = json!({ "team": "b", "parent": "a", "setup": {} });
    take(&mut account, "person", json!({ "team.created": below }));
    for who in ["a/owner", "b/lead"] {
        let profile = json!({ "seat": "lead", "mode": "normal" });
        let added = json!({ "teammate.added": { "who": who, "profile": profile } });
        take(&mut account, "runtime", added);
    }
    let mut says = |who: &str, body: &str| take(&mut account, who, said(json!("message"), body));
    assert_eq!(says("a/owner@1", "it begins").unwrap(), "owner says: it begins");
    assert_eq!(says("b/lead@1", "half done").unwrap(), "b/lead says: half done (shipmate inbox)");
    let to = json!([{ "member": "b/lead" }]);
    let done = json!({ "message.sent": { "to": to, "kind": "work_done", "body": "" } });
    take(&mut account, "runtime", done);
    let mut says = |who: &str, body: &str| take(&mut account, who, said(json!("message"), body));
    assert!(says("a/owner@1", "b is done").is_some(), "the work of another team is done");
    let end = json!({ "done": { "note": "" } });
    let ended = json!({ "team": "a", "phase": "work", "round": 1, "end": end });
    take(&mut account, "runtime", json!({ "phase.ended": ended }));
    let mut says = |who: &str, body: &str| take(&mut account, who, said(json!("message"), body));
    assert_eq!(says("a/owner@1", "all there"), None);
    assert_eq!(says("a/owner@1", "and pushed").unwrap(), "owner says: all there");
    assert_eq!(account.led.report.as_deref(), Some("and pushed"));
}

#[test]
fn health_shutdown_and_fallback_are_told_in_the_words_that_programs_look_for() {
    let mut account = Account::default();
    let mut told =
        |n: u64, event: Value| account.take(&record(n, "runtime", event)).map(|event| event.text);
    told(1, json!({ "team.created": { "team": "a", "setup": { "answer_ms": 60_000 } } }));
    let below = json!({ "team": "yolo-backend", "parent": "a", "setup": { "answer_ms": 60_000 } });
    told(2, json!({ "team.created": below }));
    for (n, who) in [(3, "a/ana"), (4, "yolo-backend/dev-1")] {
        told(n, json!({ "teammate.added": { "who": who, "profile": {} } }));
    }
    let gone = |who: &str, reason: &str| json!({ "teammate.disappeared": { "who": who, "reason": reason } });
    assert_eq!(
        told(5, gone("yolo-backend/dev-1@1", "its supervisor did not answer in time")).unwrap(),
        "[HEALTH] Agent yolo-backend/dev-1 disappeared after 60s timeout."
    );
    assert_eq!(
        told(6, gone("a/ana@1", "its process ended\nwith words")).unwrap(),
        "[HEALTH] Agent ana disappeared: its process ended"
    );
    assert_eq!(
        told(7, json!({ "breaker.opened": { "team": "yolo-backend" } })).unwrap(),
        "teammates disappeared one after the other: switching from teammate to task for yolo-backend"
    );
    let asked = json!({ "who": "yolo-backend/dev-1@2", "reason": "x", "deadline_ms": 30_000 });
    told(8, json!({ "shutdown.requested": asked }));
    assert_eq!(
        told(9, json!({ "shutdown.timed_out": { "shutdown": 8 } })).unwrap(),
        "[SHUTDOWN] Timeout: yolo-backend/dev-1 did not respond within 30s."
    );
    assert_eq!(account.deviations.len(), 4);
}
