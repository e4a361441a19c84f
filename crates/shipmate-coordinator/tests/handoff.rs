//! What the core sends by itself holds what a playbook asks of agents.

use serde_json::{Value, json};
use shipmate_core::{State, Writer};
use shipmate_model::command::{BeginPhase, CreateTeam, PhaseVerdict};
use shipmate_model::event::{Event, MessageKind, Profile, Seat, Verification};
use shipmate_model::playbook::Playbook;
use shipmate_model::setup::Setup;
use shipmate_model::{Act, Actor, Address, Command, Name, Record};
use shipmate_playbook::handoff::check;

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

#[test]
fn what_the_runtime_escalates_passes_the_kind_that_agents_have_to_pass() {
    let playbook: Playbook = serde_json::from_value(json!({
        "name": "small",
        "roles": { "lead": { "lead": true }, "architect": {} },
        "phases": [{ "name": "build" }],
        "escalation": {
            "levels": ["lead", "architect"], "level_ms": 300_000, "round_trips_max": 2,
        },
        "kinds": { "escalation": { "fields": {
            "from": { "shape": { "one_of": ["dev", "senior", "lead"] }, "required": true },
            "to": { "shape": { "one_of": ["senior", "lead", "architect"] }, "required": true },
            "issue": { "shape": "text", "required": true },
            "evidence": { "shape": { "list": "text" }, "required": true },
            "recommendation": { "shape": "text", "required": true },
            "severity": { "shape": { "one_of": ["blocking", "major"] }, "required": true },
        } } },
    }))
    .expect("a playbook");
    let mut writer = Writer::new(State::default());
    let mut give = |act: Act| -> Vec<Record> {
        writer.handle(0, &Command { by: Actor::Runtime, req: None, act });
        writer.confirm()
    };
    let team = name("alpha");
    let setup = Setup { playbook: Some(Box::new(playbook.clone())), ..Setup::default() };
    give(Act::CreateTeam(CreateTeam {
        team: team.clone(),
        parent: None,
        description: String::new(),
        verification: Verification::None,
        lead: Some(name("lia")),
        setup: Box::new(setup),
    }));
    let role = Some(name("architect"));
    let profile = Profile { role, seat: Seat::Member, tasks_max: 1, ..Profile::default() };
    give(Act::AddTeammate { who: Address { team: team.clone(), name: name("arc") }, profile });
    let (phase, round) = (name("build"), 1);
    give(Act::BeginPhase(BeginPhase {
        team: team.clone(),
        phase: phase.clone(),
        round,
        teammates: Vec::new(),
        tasks: Vec::new(),
        again: Vec::new(),
        notes: Vec::new(),
        alone: None,
        awaits: Vec::new(),
    }));
    let reason = "the gate is \"red\":\n\tpath C:\\x".to_owned();
    let verdict = PhaseVerdict::Failed { reason };
    let records = give(Act::EndPhase { team, phase, round, verdict });
    let body = records.iter().find_map(|record| match &record.event {
        Event::MessageSent { kind: MessageKind::Handoff(_), body, .. } => Some(body.clone()),
        _ => None,
    });
    let body = body.expect("the architect is told");
    let read: Value = serde_json::from_str(&body).expect("it is JSON");
    assert!(check(&playbook, &name("escalation"), &body).is_ok(), "{body}");
    assert_eq!(read["to"], "architect");
    assert_eq!(read["issue"], "phase build failed: the gate is \"red\":\n\tpath C:\\x", "{body}");
}
