//! `.agent-health.jsonl`: a line for each time that a member came, had nothing to do, was stopped or
//! was gone. Nobody sends it to anybody: it is for whoever looks for a cause.

use serde_json::json;
use shipmate_core::deviation::HealthWord;

use super::{Files, Sight, moment};

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let department = sight.playbook().and_then(|playbook| playbook.department.as_ref());
    let department = department.unwrap_or(sight.team);
    let own = sight.state.health.iter().filter(|one| one.who.team == *sight.team);
    let lines = own.map(|one| {
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

fn word(word: HealthWord) -> &'static str {
    match word {
        HealthWord::Start => "start",
        HealthWord::Idle => "idle",
        HealthWord::Stop => "stop",
        HealthWord::Disappeared => "disappeared",
    }
}
