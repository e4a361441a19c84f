//! A playbook in one line, and lines about its phases.
//!
//! `team alpha playbook "phase plan optional | phase build fails lead | role dev"`: its parts
//! stand behind one another, between bars, each with the word for what it is. The runtime's
//! part of a phase is `ask-approval`, `begin`, `hold` and `end-phase`; who joins and what is to be done stand
//! between bars as well. `playbook full` has everything that a playbook can have.

use serde_json::{Value, json};
use shipmate_core::state::Standing;
use shipmate_model::command::{Act, Again, BeginPhase, PhaseVerdict};
use shipmate_model::event::{Profile, TaskChanges};
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::Playbook;
use shipmate_model::{Name, Refusal};

use crate::commands::{Read, mode, new_task, not_a_verb, person, profile, runtime, task};
use crate::play::World;
use crate::words::Words;

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn entries(text: &str, verb: &str) -> Vec<Words> {
    let entries = text.split('|').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| Words::read(format!("{verb} {entry}").trim())).collect()
}

pub(crate) fn playbook(words: &Words) -> Option<Box<Playbook>> {
    let text = words.get("playbook")?;
    if text == "full" {
        let full = include_str!("../golden/full.playbook.json");
        return Some(serde_json::from_str(full).expect("a playbook with everything in it"));
    }
    let mut book = json!({
        "name": "small", "roles": {}, "values": {}, "kinds": {},
        "phases": [], "departments": [], "routes": [],
    });
    for part in entries(text, "") {
        let own = part.plain_or(0, "").to_owned();
        match &*part.verb {
            "phase" => push(&mut book["phases"], phase(&part)),
            "role" => book["roles"][own] = role(&part),
            "department" => push(&mut book["departments"], department(&part)),
            "value" => book["values"][own] = part.plain(1).into(),
            "route" => push(&mut book["routes"], route(&part)),
            "kind" => {
                let (file, internal) = (part.get("file"), part.has("internal"));
                book["kinds"][own] = json!({ "fields": {}, "file": file, "internal": internal });
            }
            "levels" => {
                book["escalation"] = json!({
                    "levels": part.plain(0).split(',').collect::<Vec<_>>(),
                    "level_ms": part.duration_ms("within").unwrap_or(300_000),
                    "round_trips_max": part.number("max").unwrap_or(2),
                });
            }
            "same-failure" => book["counted"]["same_failure_max"] = number(&own),
            "contested" => book["counted"]["contested_max"] = number(&own),
            "order" => book["order"] = own.into(),
            "in-turn" => book["shutdown"] = "in_turn".into(),
            "cap" => {
                book["cap"] = json!({
                    "ms": part.duration_ms("for").expect("cap for 900s"),
                    "from": part.get("in"),
                    "shutdown_ms": part.duration_ms("stops").unwrap_or(30_000),
                });
            }
            other => panic!("{other:?} is no part of a playbook"),
        }
    }
    Some(serde_json::from_value(book).expect("the parts make a playbook"))
}

fn push(list: &mut Value, item: Value) {
    list.as_array_mut().expect("a list").push(item);
}

fn number(text: &str) -> Value {
    text.parse::<u32>().expect("a number").into()
}

fn level(words: &Words) -> &'static str {
    if words.has("root") { "root" } else { "team" }
}

fn phase(words: &Words) -> Value {
    json!({
        "name": words.plain(0),
        "level": level(words),
        "optional": words.has("optional"),
        "departments": words.has("departments"),
        "lead_mode": words.get("mode").map(mode),
        "lead_plans": words.has("lead-plans"),
        "deadline_ms": words.duration_ms("deadline"),
        "late": trouble(words.get("late")),
        "failed": trouble(words.get("fails")),
        "dismiss": words.has("dismiss"),
        "alone": words.has("lead-only"),
    })
}

/// `stop`, `go-on`, `lead`, `halt`, or `plan:2` for back to that phase, twice at most, and
/// `plan:2:lead` for what comes then.
fn trouble(text: Option<&str>) -> Value {
    match text {
        None => "stop".into(),
        Some("go-on") => "go_on".into(),
        Some(word) if !word.contains(':') => word.into(),
        Some(back) => {
            let (to, rest) = back.split_once(':').expect("back is `phase:rounds`");
            let (rounds, then) = rest.split_once(':').unwrap_or((rest, "stop"));
            json!({ "back": { "to": to, "rounds": number(rounds), "then": trouble(Some(then)) } })
        }
    }
}

fn role(words: &Words) -> Value {
    json!({
        "level": level(words),
        "lead": words.has("leads"),
        "cap": 1,
        "reports_to": words.get("to"),
    })
}

/// `route dev to senior kinds message,dev_progress across`.
fn route(words: &Words) -> Value {
    let from: Vec<&str> = words.plain(0).split(',').filter(|name| *name != "any").collect();
    let (person, to): (Vec<String>, Vec<String>) =
        words.list("to").into_iter().partition(|to| to == "person");
    json!({
        "from": from,
        "to": to,
        "person": !person.is_empty(),
        "kinds": words.list("kinds"),
        "across": words.has("across"),
    })
}

fn department(words: &Words) -> Value {
    let own = words.plain(0);
    json!({
        "name": own,
        "team": format!("{}-{own}", words.get("under").unwrap_or("alpha")),
        "description": words.text("description", ""),
        "after": words.list("after"),
        "denies": words.list("denies"),
        "without": words.list("without"),
    })
}

pub(crate) fn read(world: &World, words: &Words) -> Read {
    let team = || {
        let root = || world.state().root.clone().expect("a scenario has a team");
        words.get("in").map_or_else(root, name)
    };
    let course = || world.state().teams.get(&team()).and_then(|team| team.course.as_ref());
    let round = || {
        let now = || course().map_or(1, |course| course.round);
        words.number("round").map_or_else(now, |round| round as u32)
    };
    let phase = || name(words.plain(0));
    Some((|| match &*words.verb {
        "begin" => {
            let (mut teammates, mut tasks) = (Vec::<(Name, Profile)>::new(), Vec::new());
            for mate in entries(words.get("mates").unwrap_or_default(), "add") {
                teammates.push((mate.plain(0).parse()?, profile(&mate)?));
            }
            for new in entries(words.get("tasks").unwrap_or_default(), "create") {
                tasks.push(new_task(world, &new)?.1);
            }
            let (team, phase, round) = (team(), phase(), round());
            let alone = words.get("single").map(str::to_owned);
            let again = |id: &String| Again {
                task: task(world, id),
                changes: TaskChanges::default(),
                blocked_by_new: Vec::new(),
            };
            let again = words.list("retry").iter().map(again).collect();
            let (notes, awaits) = (words.list("notes"), words.list("awaits"));
            runtime(Act::BeginPhase(BeginPhase {
                team,
                phase,
                round,
                teammates,
                tasks,
                again,
                notes,
                alone,
                awaits,
            }))
        }
        "ask-approval" => {
            let default = format!("approval: phase {} begins when you say so", phase());
            let (team, phase) = (team(), phase());
            runtime(Act::AskApproval { team, phase, text: words.text("reason", &default) })
        }
        "approve-phase" => {
            let pause = world.state().teams.get(&team()).and_then(|team| team.paused.as_ref());
            let question = words.get("on").map(|label| world.label(label));
            let question = question.or(pause.map(|pause| pause.n)).unwrap_or(999);
            person(Act::ApprovePhase { team: team(), question })
        }
        "hold" => {
            let missing = words.list("missing");
            runtime(Act::HoldPhase { team: team(), phase: phase(), missing, outside: false })
        }
        "end-phase" => {
            let reason = words.text("reason", "so it is");
            let verdict = match words.plain(1) {
                "done" => PhaseVerdict::Done { note: words.text("reason", "") },
                "skip" => PhaseVerdict::Skip { reason },
                "failed" => PhaseVerdict::Failed { reason },
                other => panic!("{other:?} is no end of a phase"),
            };
            let (team, phase, round) = (team(), phase(), round());
            runtime(Act::EndPhase { team, phase, round, verdict })
        }
        "expire-phase" => {
            let began = match course().map(|course| &course.standing) {
                Some(Standing::Running { began, .. }) => *began,
                _ => 999,
            };
            let began = words.get("on").map_or(began, |label| world.label(label));
            runtime(Act::ExpirePhase { team: team(), began })
        }
        _ => Err(Refusal::Empty { what: "not a verb about phases" }),
    })())
    .filter(|read| !not_a_verb(read))
}

/// `plan 1 waits for x`, `plan 1 runs`, `plan 2 is left to the lead`, `over`.
pub(crate) fn standing(world: &World, team: &str) -> String {
    let Some(course) = &world.state().teams[&name(team)].course else { return "none".to_owned() };
    let at = format!("{} {}", course.phase, course.round);
    match &course.standing {
        Standing::Waiting { missing } if missing.is_empty() => format!("{at} waits"),
        Standing::Waiting { missing } => format!("{at} waits for {}", missing.join(", ")),
        Standing::Running { left_to_lead: None, awaits, .. } if !awaits.is_empty() => {
            format!("{at} runs and waits for {}", awaits.join(", "))
        }
        Standing::Running { left_to_lead: None, .. } => format!("{at} runs"),
        Standing::Running { .. } => format!("{at} is left to the lead"),
        Standing::Over if course.is_through() => "through".to_owned(),
        Standing::Over => "stopped".to_owned(),
    }
}

/// What is behind the team, in order.
pub(crate) fn past(world: &World, team: &str) -> String {
    let course = world.state().teams[&name(team)].course.as_ref().expect("a playbook");
    let words = course.past.iter().map(|past| {
        let end = match &past.end {
            PhaseEnd::Done { .. } => "done".to_owned(),
            PhaseEnd::Skipped { reason } => format!("left out ({reason})"),
            PhaseEnd::Failed { reason } => format!("failed ({reason})"),
            PhaseEnd::Passed { reason } => format!("passed ({reason})"),
            PhaseEnd::Back { to, reason } => format!("back to {to} ({reason})"),
        };
        format!("{} {} {end}", past.phase, past.round)
    });
    words.collect::<Vec<_>>().join("; ")
}
