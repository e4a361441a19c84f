//! A playbook in one line, and lines about its phases.
//!
//! `team alpha playbook "phase plan optional | phase build fails lead | role dev"`: its parts
//! stand behind one another, between bars, each with the word for what it is. The runtime's
//! part of a phase is `begin`, `hold` and `end-phase`; who joins and what is to be done stand
//! between bars as well. `playbook full` has everything that a playbook can have.

use std::collections::BTreeMap;

use shipmate_core::command::{Act, BeginPhase, PhaseVerdict};
use shipmate_core::event::Profile;
use shipmate_core::phase::{PhaseEnd, Standing};
use shipmate_core::playbook::{Cap, Department, Level, Phase, Playbook, Role, Trouble};
use shipmate_core::{Name, Refusal};

use crate::commands::{Read, files, mode, new_task, not_a_verb, profile, runtime};
use crate::play::World;
use crate::words::Words;

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn names(words: &Words, keyword: &str) -> Vec<Name> {
    words.list(keyword).iter().map(|text| name(text)).collect()
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
    let mut book: Playbook = serde_json::from_value(serde_json::json!({
        "name": "small", "roles": {}, "phases": [],
    }))
    .expect("the least playbook");
    for part in entries(text, "") {
        let own = || name(part.plain(0));
        match &*part.verb {
            "phase" => book.phases.push(phase(&part)),
            "role" => drop(book.roles.insert(own(), role(&part))),
            "department" => book.departments.push(department(&part)),
            "cap" => {
                let ms = part.duration_ms("for").expect("cap for 900s");
                let shutdown_ms = part.duration_ms("stops").unwrap_or(30_000);
                book.cap = Some(Cap { ms, from: part.get("in").map(name), shutdown_ms });
            }
            "value" => drop(book.values.insert(own().to_string(), part.plain(1).to_owned())),
            other => panic!("{other:?} is no part of a playbook"),
        }
    }
    Some(Box::new(book))
}

fn phase(words: &Words) -> Phase {
    let level = if words.has("root") { Level::Root } else { Level::Team };
    Phase {
        name: name(words.plain(0)),
        title: String::new(),
        level,
        entry: Vec::new(),
        optional: words.has("optional"),
        unless: Vec::new(),
        for_team: false,
        makes: Vec::new(),
        again: false,
        alone: false,
        roles: names(words, "roles"),
        departments: words.has("departments"),
        lead_mode: words.get("mode").map(mode),
        tasks: Vec::new(),
        lead_plans: words.has("lead-plans"),
        gate: None,
        exit: Vec::new(),
        deadline_ms: words.duration_ms("deadline"),
        late: trouble(words.get("late")),
        failed: trouble(words.get("fails")),
        dismiss: words.has("dismiss"),
    }
}

/// `stop`, `go-on`, `lead`, or `plan:2` for back to that phase, twice at most.
fn trouble(text: Option<&str>) -> Trouble {
    match text {
        None | Some("stop") => Trouble::Stop,
        Some("go-on") => Trouble::GoOn,
        Some("lead") => Trouble::Lead,
        Some(back) => {
            let (to, rounds) = back.split_once(':').expect("back is `phase:rounds`");
            let rounds = rounds.parse().expect("a number of rounds");
            Trouble::Back { to: name(to), rounds, then: Box::new(Trouble::Stop) }
        }
    }
}

fn role(words: &Words) -> Role {
    let level = if words.has("root") { Level::Root } else { Level::Team };
    Role { level, lead: words.has("leads"), cap: 1, ..Role::default() }
}

fn department(words: &Words) -> Department {
    let own = name(words.plain(0));
    let team = format!("{}-{own}", words.get("under").unwrap_or("alpha"));
    Department {
        team: name(&team),
        name: own,
        description: words.text("description", ""),
        after: names(words, "after"),
        entry: Vec::new(),
        denies: files(words, "denies").expect("patterns"),
        values: BTreeMap::new(),
        without: names(words, "without"),
    }
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
            for task in entries(words.get("tasks").unwrap_or_default(), "create") {
                tasks.push(new_task(world, &task)?.1);
            }
            let (team, phase, round) = (team(), phase(), round());
            let alone = words.get("single").map(str::to_owned);
            let (again, notes) = (Vec::new(), Vec::new());
            let begin = BeginPhase { team, phase, round, teammates, tasks, again, notes, alone };
            runtime(Act::BeginPhase(begin))
        }
        "hold" => {
            let missing = words.list("missing");
            runtime(Act::HoldPhase { team: team(), phase: phase(), missing })
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
