//! `.agent-health.jsonl`: a line for each time that a member came, had nothing to do, was stopped or
//! was gone. `.agent-health.json`: how each member is now. Nobody sends them to anybody: they are
//! for whoever looks for a cause.

use serde_json::{Map, Value, json};
use shipmate_core::state::{Health, HealthWord};
use shipmate_model::Name;

use super::{Files, Sight, moment};

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let department = department(sight);
    let lines = own(sight).map(|one| {
        let line = json!({
            "type": "agent_health_event",
            "agent_id": one.who.name,
            "dept": department,
            "state": word(one.word),
            "timestamp": moment::iso(one.at),
            "prev_state": one.before.map(word),
            "timeout_triggered": one.silent,
        });
        format!("{line}\n")
    });
    Ok(vec![(sight.path.to_owned(), lines.collect())])
}

/// Each member by its name. The moment of one that has a task is when it got that: from then on it
/// is expected to say something.
pub(super) fn map(sight: &Sight<'_>) -> Result<Files, String> {
    let department = department(sight);
    let mut found = Map::new();
    for one in own(sight) {
        let mate = sight.state.teammates.get(&one.who);
        let held = mate.into_iter().flat_map(|mate| &mate.holds);
        let given = held.filter_map(|id| sight.state.task(*id)).map(|task| task.changed_at).max();
        let now: Value = json!({
            "state": word(one.word),
            "timestamp": moment::iso(given.map_or(one.at, |given| given.max(one.at))),
            "prev_state": one.before.map(word),
            "dept": department,
        });
        found.insert(one.who.name.to_string(), now);
    }
    Ok(vec![(sight.path.to_owned(), format!("{:#}\n", Value::Object(found)))])
}

fn department<'a>(sight: &Sight<'a>) -> &'a Name {
    let own = sight.playbook().and_then(|playbook| playbook.department.as_ref());
    own.unwrap_or(sight.team)
}

/// The oldest first.
fn own<'a>(sight: &Sight<'a>) -> impl Iterator<Item = &'a Health> + use<'a> {
    let (state, team) = (sight.state, sight.team);
    state.health.iter().filter(move |one| one.who.team == *team)
}

fn word(word: HealthWord) -> &'static str {
    match word {
        HealthWord::Start => "start",
        HealthWord::Idle => "idle",
        HealthWord::Stop => "stop",
        HealthWord::Disappeared => "disappeared",
    }
}
