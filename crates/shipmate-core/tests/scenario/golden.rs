//! The golden logs: one of each release that said something new, which every later one
//! must read.
//!
//! `golden/v1.jsonl` was written once, by playing the first of the `STORIES`, and never
//! changes: it stands for the logs that lie on people's disks. `golden/v1.summary.txt`
//! says what it folds to. When an event or a field is added, these tests ask for a new
//! file beside the old ones.

use std::collections::BTreeSet;

use serde_json::Value;
use shipmate_core::{State, apply};
use shipmate_model::event::{Profile, Record, Usage};
use shipmate_model::profile::StartRule;
use shipmate_model::setup::Setup;
use shipmate_model::usage::Budget;

use crate::every::{WIRE, all_scenarios};
use crate::play::play;
use crate::stories::STORIES;

/// Each log, and what it folds to.
const LOGS: &[(&str, &str)] = &[
    (include_str!("../golden/v1.jsonl"), include_str!("../golden/v1.summary.txt")),
    (include_str!("../golden/v2.jsonl"), include_str!("../golden/v2.summary.txt")),
    (include_str!("../golden/v3.jsonl"), include_str!("../golden/v3.summary.txt")),
    (include_str!("../golden/v4.jsonl"), include_str!("../golden/v4.summary.txt")),
    (include_str!("../golden/v5.jsonl"), include_str!("../golden/v5.summary.txt")),
    (include_str!("../golden/v6.jsonl"), include_str!("../golden/v6.summary.txt")),
    (include_str!("../golden/v7.jsonl"), include_str!("../golden/v7.summary.txt")),
    (include_str!("../golden/v8.jsonl"), include_str!("../golden/v8.summary.txt")),
    (include_str!("../golden/v9.jsonl"), include_str!("../golden/v9.summary.txt")),
    (include_str!("../golden/v10.jsonl"), include_str!("../golden/v10.summary.txt")),
    (include_str!("../golden/v11.jsonl"), include_str!("../golden/v11.summary.txt")),
    (include_str!("../golden/v12.jsonl"), include_str!("../golden/v12.summary.txt")),
    (include_str!("../golden/v13.jsonl"), include_str!("../golden/v13.summary.txt")),
    (include_str!("../golden/v14.jsonl"), include_str!("../golden/v14.summary.txt")),
    (include_str!("../golden/v15.jsonl"), include_str!("../golden/v15.summary.txt")),
    (include_str!("../golden/v16.jsonl"), include_str!("../golden/v16.summary.txt")),
    (include_str!("../golden/v17.jsonl"), include_str!("../golden/v17.summary.txt")),
    (include_str!("../golden/v18.jsonl"), include_str!("../golden/v18.summary.txt")),
];

const HOW_TO_ADD: &str = "a log of this release has something that no golden log has. Write a \
    story with it (`STORIES` show how), let `write_a_golden_log` write it under the \
    next number beside the others, add it to LOGS, and leave the others as they are.";

fn records(log: &str) -> Vec<Record> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    log.lines().map(read).collect()
}

fn fold(records: &[Record]) -> State {
    let mut state = State::default();
    records.iter().for_each(|record| apply(&mut state, record));
    state
}

/// What the log came to, in words; not the layout of the state, which may change.
fn summary(state: &State) -> String {
    let mut lines = vec![format!("records {}", state.position)];
    let used = |usage: &Usage| format!("{usage:?}").replace(", tokens_estimated: 0", "");
    let budget = |budget: &Budget| format!("{budget:?}").replace(", window_max: None", "");
    for (name, team) in &state.teams {
        lines.push(format!("team {name} {:?} {:?}", team.phase, team.verification));
        lines.push(format!("  parent {:?} lead {:?}", team.parent, team.lead));
        lines.push(format!("  budget {} used {}", budget(&team.budget), used(&team.usage)));
        lines.push(format!("  breaker {:?} counts {:?}", team.breaker, team.counts));
        if !team.plan.is_empty() {
            lines.push(format!("  plan {:?}", team.plan));
        }
        let course = team.course.as_ref().map(|course| format!("  course {course:?}"));
        let course = course.map(|text| text.replace(", approved: None", ""));
        lines.extend(course.map(|text| text.replace(", awaits: []", "")));
        if *team.setup != Setup::default() {
            let setup = format!("{:?}", team.setup).replace(", one_shot: false", "");
            let setup = setup.replace(", playbook: None", "").replace(", branch: None", "");
            let setup = setup.replace(AS_IT_SAYS, "").replace(NOT_PREPARED, "");
            let setup = setup.replace(", agent: \"\", model: \"\", cap: None", "");
            let setup = setup.replace(", no_change: false", "").replace(", red_base: false", "");
            let setup = setup.replace(", called: \"\"", "").replace(", dispatch: false", "");
            let setup = setup.replace(", red: None", "").replace(USUAL_CAPS, "");
            let setup = setup.replace(", pull_request: false", "");
            let paused = team.paused.as_ref().map(|pause| &pause.reason);
            lines.push(format!("  paused {paused:?} setup {setup}"));
        }
    }
    for (who, mate) in &state.teammates {
        lines.push(format!("teammate {who}@{} {:?} {:?}", mate.epoch, mate.life, mate.supervision));
        lines.push(format!("  {}", profile(&mate.profile)));
        if !mate.session.is_empty() {
            lines.push(format!("  session {} stalls {}", mate.session, mate.stalls));
        }
        let paused = mate.paused.as_ref().map(|pause| &pause.reason);
        lines.push(format!("  idle {:?} paused {paused:?} host {:?}", mate.idle, mate.host));
        lines.push(format!("  holds {:?} {:?} {:?}", mate.holds, mate.submitted, mate.returned));
        lines.push(format!("  inbox {:?} plan {:?}", mate.inbox, mate.approved_plan));
        lines.push(format!("  budget {} used {}", budget(&mate.budget), used(&mate.usage)));
        if let Some(fallen) = &mate.fallen {
            lines.push(format!("  in place of {:?} on {}", fallen.choice, fallen.account));
        }
        if !mate.model.is_empty() {
            lines.push(format!("  asks {}", mate.model));
        }
    }
    for task in state.tasks().iter() {
        let (id, team) = (task.id, &task.team);
        lines.push(format!("task {id} of {team} by {} {:?}", task.created_by, task.status));
        lines.push(
            format!("  {:?}", task.spec)
                .replace(", gate: None", "")
                .replace(", no_change: false", ""),
        );
        lines.push(format!("  unblocked {} path {}", task.is_unblocked(), task.path_ms));
        lines.push(format!("  retries {} after {:?}", task.retries, task.last_failure));
        let kept: Vec<_> =
            task.set_aside.iter().map(|kept| (&kept.who, kept.to_string())).collect();
        lines.push(format!("  set aside {kept:?}"));
        if let Some(handed) = &task.handoff {
            let line = format!("  handed over by {} {:?}", handed.by, handed.handoff);
            lines.push(line.replace("summary: \"\", ", ""));
        }
        if !task.granted.is_empty() {
            lines.push(format!("  granted {:?}", task.granted));
        }
        if !task.left_out.is_empty() || task.unchanged {
            lines.push(format!("  left out {:?} unchanged {}", task.left_out, task.unchanged));
        }
    }
    for (name, host) in &state.hosts {
        let home = state.home.as_ref() == Some(name);
        let spec = serde_json::to_string(&host.spec).unwrap();
        lines.push(format!("host {name} {:?} home {home} {spec}", host.state));
    }
    for (name, account) in &state.accounts {
        lines.push(format!("account {name} {:?} parked {:?}", account.windows, account.parked));
    }
    for (name, commit) in &state.branches {
        lines.push(format!("branch {name} {commit}"));
    }
    for (name, group) in &state.groups {
        lines.push(format!("group {name} {:?} done {}", group.members, group.is_done()));
    }
    for (id, message) in &state.messages {
        lines.push(format!("message {id} {:?} from {}", message.kind, message.from));
        lines.push(format!("  {:?} epoch {:?}", message.waiting, message.epoch));
    }
    lines.push(format!("person {:?}", state.person_inbox));
    for note in state.root.iter().flat_map(|root| state.notes_of(root)) {
        lines.push(format!("note {} by {} on {:?} {:?}", note.id, note.by, note.task, note.text));
    }
    for (id, plan) in &state.plans {
        let line = format!("plan {id} of {} {:?} {:?}", plan.who, plan.task, plan.decision);
        // What is usual goes without saying, as before there was a field for it.
        lines.push(line.replace(", unworkable: false", ""));
        let work = plan.work.as_ref().map(|work| format!("  {work:?}"));
        let work = work.map(|text| text.replace(", gate: None", ""));
        let work = work.map(|text| text.replace(", no_change: false", ""));
        let work = work.map(|text| text.replace(", one_shot: false", ""));
        let anywhere = ", place: Place { host: None, labels: {} }";
        let work =
            work.map(|text| text.replace(", definition: None", "").replace(", fallback: None", ""));
        lines.extend(work.map(|text| text.replace(anywhere, "")));
    }
    for (id, question) in &state.questions {
        lines.push(format!("question {id} of {} {:?}", question.who, question.answer));
    }
    for (id, shutdown) in &state.shutdowns {
        lines.push(format!("shutdown {id} of {} {:?}", shutdown.who, shutdown.end));
    }
    lines.join("\n") + "\n"
}

/// Trees that get nothing beyond what is committed, as before they could.
const USUAL_CAPS: &str =
    ", caps: Caps { soft: 900, hard: 980, lead: 30, escrow: true, resumes: true }";
const NOT_PREPARED: &str = ", preparation: Preparation { copy: [], link: [], setup: [], lock_files: [], \
                            ports: 0, env: {}, teardown: [], timeout_ms: 0, from: \"\" }";
const AS_IT_SAYS: &str = ", copies_what_fits: false";

/// The first release's words, and what came later only where it says something.
fn profile(profile: &Profile) -> String {
    let Profile { seat, role, agent, model, scope, mode, tasks_max, command, start, .. } = profile;
    let Profile { hears, one_shot, place, definition, fallback, .. } = profile;
    let role = role.as_ref();
    let first = format!(
        "Profile {{ seat: {seat:?}, role: {role:?}, agent: {agent:?}, model: {model:?}, \
         scope: {scope:?}, mode: {mode:?}, tasks_max: {tasks_max:?} }}"
    );
    let hears = if *hears { " hears" } else { "" };
    let one_shot = if *one_shot { " one-shot" } else { "" };
    let one_shot = match place.is_anywhere() {
        true => one_shot.to_owned(),
        false => format!("{one_shot} place {place:?}"),
    };
    let one_shot = match definition {
        None => one_shot,
        Some(definition) => {
            let text = format!("{one_shot} from {definition:?}");
            text.replace(r#", effort: "", verbosity: "", turns_max: 0, hooks: """#, "")
        }
    };
    let one_shot = match fallback {
        None => one_shot,
        Some(fallback) => format!("{one_shot} fallback {fallback:?}"),
    };
    if command.is_empty() && *start == StartRule::ByHand {
        return format!("{first}{hears}{one_shot}");
    }
    format!("{first} command {command:?} start {start:?}{hears}{one_shot}")
}

/// Every place in a record where something can stand, such as
/// `task.created.spec.files`, and every word an enum has there.
fn places(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        // The keys of metadata are the user's, and those of these parts of a playbook.
        Value::Object(map) if !at.ends_with("metadata") => {
            let named = [
                ".roles",
                ".values",
                ".kinds",
                ".gates",
                ".fields",
                ".object",
                ".finds",
                ".crossings",
            ];
            let named = named.iter().any(|part| at.ends_with(part));
            for (key, value) in map {
                let key = if named { "*" } else { key };
                places(value, &format!("{at}.{key}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| places(item, at, found)),
        _ => {
            found.insert(at.to_owned());
        }
    }
    let word =
        value.as_str().filter(|text| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    let enums = [
        "kind",
        "cause",
        "mode",
        "seat",
        "supervision",
        "verification",
        "outcome",
        "answer",
        "start",
    ];
    if let Some(word) = word.filter(|_| enums.iter().any(|name| at.ends_with(&format!(".{name}"))))
    {
        found.insert(format!("{at} = {word}"));
    }
}

fn places_of(records: &[Record]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for record in records {
        places(&serde_json::to_value(record).unwrap(), "", &mut found);
    }
    found
}

#[test]
fn every_golden_log_folds_to_what_it_always_did() {
    for (log, was) in LOGS {
        let is = summary(&fold(&records(log)));
        for (line, (is, was)) in is.lines().zip(was.lines()).enumerate() {
            assert_eq!(is, was, "line {} of a summary", line + 1);
        }
        assert_eq!(is, *was);
    }
}

#[test]
fn what_a_golden_log_says_is_still_said_the_same_way() {
    for line in LOGS.iter().flat_map(|(log, _)| log.lines()) {
        let was: Value = serde_json::from_str(line).unwrap();
        let record: Record = serde_json::from_str(line).unwrap();
        assert_contains(&serde_json::to_value(record).unwrap(), &was, line);
    }
}

/// `is` may say more than `was`, and nothing else.
fn assert_contains(is: &Value, was: &Value, line: &str) {
    match (is, was) {
        (Value::Object(is), Value::Object(was)) => {
            for (key, was) in was {
                assert_contains(is.get(key).unwrap_or(&Value::Null), was, line);
            }
        }
        _ => assert_eq!(is, was, "{line}"),
    }
}

#[test]
fn every_event_is_in_a_golden_log() {
    let names = LOGS.iter().flat_map(|(log, _)| log.lines()).map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["event"].as_object().unwrap().keys().next().unwrap().clone()
    });
    let names: BTreeSet<String> = names.collect();
    let missing: Vec<&str> =
        WIRE.iter().map(|(_, wire)| *wire).filter(|wire| !names.contains(*wire)).collect();
    assert!(missing.is_empty(), "{missing:?}: {HOW_TO_ADD}");
}

#[test]
fn every_field_that_a_scenario_writes_is_in_a_golden_log() {
    let golden: BTreeSet<String> =
        LOGS.iter().flat_map(|(log, _)| places_of(&records(log))).collect();
    // What agents and people write is not ours to list.
    let free =
        |place: &str| [".answer = ", ".kind.handoff"].iter().any(|part| place.contains(part));
    let mut missing: BTreeSet<String> = BTreeSet::new();
    for (name, text) in all_scenarios().filter(|(_, text)| !text.contains("repeat 10000")) {
        let written = places_of(&play(text).records);
        let new = written.difference(&golden).filter(|place| !free(place));
        missing.extend(new.map(|place| format!("{place} ({name})")));
    }
    assert!(missing.is_empty(), "{missing:#?}: {HOW_TO_ADD}");
}

#[test]
fn a_snapshot_of_a_golden_log_restores() {
    for (log, _) in LOGS {
        let state = fold(&records(log));
        let snapshot = serde_json::to_string(&state).unwrap();
        let restored: State = serde_json::from_str(&snapshot).unwrap();
        assert_eq!(restored.restore(), state);
    }
}

#[test]
#[ignore = "writes a file: only for a new golden log"]
#[expect(clippy::disallowed_methods, reason = "it writes the file that the others read")]
fn write_a_golden_log() {
    let world = play(STORIES[STORIES.len() - 1]);
    let lines = world.records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    std::fs::write(format!("{folder}/new.jsonl"), lines.collect::<String>()).unwrap();
    std::fs::write(format!("{folder}/new.summary.txt"), summary(world.state())).unwrap();
}
