//! Routes and handoffs of a playbook, as an agent meets them: through the command line, with the
//! token of its own life.

use crate::scene::Scene;

const PLAYBOOK: &str = r#"
name = "own"
[roles.lead]
lead = true
[roles.senior]
reports-to = "lead"
[roles.dev]
reports-to = "senior"

[kinds.dev_progress]
fields = { task = "text", plan_id = "text", status = ["complete", "partial", "failed"] }
[kinds.senior_spec]
fields = { plan_id = "text", tasks_enriched = "number" }
[kinds.escalation]
fields = { issue = "text", severity = ["blocking", "major", "minor"] }
[kinds.api_contract]
file = "api-contracts.jsonl"
[kinds.agent_health_event]
internal = true

[[routes]]
from = ["dev"]
to = ["senior"]
kinds = ["message", "dev_progress", "escalation"]
[[routes]]
from = ["senior"]
to = ["lead", "dev"]

[escalation]
levels = ["dev", "senior", "lead"]
seconds = 300
round-trips = 2

[[phases]]
name = "work"
roles = ["lead", "senior", "dev"]
[[phases.tasks]]
id = "talk"
role = "dev"
subject = "talk"
"#;

/// Each line tries one message and keeps what came of it.
const AGENT: &str = r#"
try() { as send "$@" 2>&1 | tr '\n' ' ' | sed 's/$/|/' | tr '|' '\n' >> "$S/notes/told"; }
try senior --kind dev_progress '{"task":"T1","plan_id":"01","status":"complete"}'
try senior --kind dev_progress '{"task":"T1","status":"done"}'
try senior --kind dev_progress 'T1 is done'
try senior --kind dev_progres '{}'
try senior hello
try lead hello
try lead --kind senior_spec '{"plan_id":"01","tasks_enriched":1}'
try senior --kind api_contract '{}'
try senior --kind agent_health_event '{}'
try lead --kind escalation '{"issue":"no spec","severity":"blocking"}'
try senior --kind escalation '{"issue":"no spec","severity":"blocking"}'
echo "it is said" > "$SHIPMATE_RESULT"
"#;

#[test]
fn what_an_agent_sends_is_held_against_the_routes_and_kinds_of_its_playbook() {
    let files = [(".shipmate/playbooks/own.toml", PLAYBOOK)];
    let mut scene = Scene::new(&files, AGENT);
    scene.run("own", &["let them talk"]).ends(0, &["phase work is done"]);
    let told = std::fs::read_to_string(scene.stage.root().join("notes/told")).unwrap();
    let told: Vec<&str> = told.lines().map(str::trim).collect();
    let expected = [
        "sent message # to alpha/senior",
        "refused: dev_progress is not as its kind says: plan_id is missing and must be a text; \
         status is \"done\" and must be one of complete, partial, failed",
        "sent message # to alpha/senior",
        "refused: dev_progres is no kind of playbook own: dev_progress, escalation, senior_spec",
        "sent message # to alpha/senior",
        "refused: alpha/dev (dev) may not send message to alpha/lead; it may write to: senior \
         (message, dev_progress, escalation)",
        "refused: alpha/dev (dev) may not send senior_spec to alpha/lead",
        "refused: api_contract is not sent: it goes by file, api-contracts.jsonl",
        "refused: agent_health_event is not sent: the runtime keeps it for itself",
        "refused: an escalation of alpha/dev (dev) goes exactly one level up: to alpha/senior",
        "sent message # to alpha/senior",
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        let (head, tail) = expected.split_once('#').unwrap_or((expected, ""));
        assert!(told.contains(head) && told.contains(tail), "{told:?} is not {expected:?}");
    }
    let log = scene.log();
    let kinds: Vec<String> = log
        .iter()
        .filter_map(|record| record["event"].get("message.sent"))
        .filter_map(|sent| sent["kind"]["handoff"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(kinds, ["dev_progress", "dev_progress", "escalation"]);
    let raised = log.iter().filter(|record| record["event"].get("escalation.raised").is_some());
    assert_eq!(raised.count(), 1);
}
