//! contract-first, from a Markdown plan to the integrated layers.

use serde_json::Value;

use crate::scene::Scene;

const PLAN: &str = "\
# Issue 42: greetings

## Files to Modify

| File | Change | Layer | Agent |
|---|---|---|---|
| `src/models/user.sh` | the fields of a user | Models | |
| `tests/models/test_user.sh` | they are set | Models | |
| `src/service/greet.sh` | greets a model User | Service | |
| `tests/service/test_greet.sh` | by name | Service | |
| `src/api/routes.sh` | GET /greet | API | ana |
| `tests/api/test_routes.sh` | it answers | API | ana |
| `src/app.sh` | register the route | Integration | lead |

## API

One route, `GET /greet`.
";

const WORKFLOW: &str = "\
version: 1
commands:
  test:
    focused: \"for t in {path}; do sh $t || exit 1; done\"
    full: 'for t in tests/*/test_*.sh; do sh $t || exit 1; done'
  lint: sh -n src/models/user.sh
  branch_pattern: feature/{issue_num}-{description}
";

/// Does its part of the plan, and nothing else.
const AGENT: &str = r##"
case "$SHIPMATE_SUBJECT" in
  Contracts:*)
    put src/models/user.sh 'NAME='
    put src/service/greet.sh 'greet() { :; }'
    put src/api/routes.sh 'routes() { :; }'
    put tests/integration/test_flow.sh '# pytest.mark.skip' ;;
  "Implement the Models layer")
    put src/models/user.sh 'NAME=ann'
    put tests/models/test_user.sh '. src/models/user.sh; [ "$NAME" = ann ]' ;;
  "Implement the Service layer")
    . src/models/user.sh
    [ "$NAME" = ann ]
    put src/service/greet.sh 'greet() { echo "hello $1"; }'
    put tests/service/test_greet.sh '. src/service/greet.sh; [ "$(greet x)" = "hello x" ]' ;;
  "Implement the API layer")
    put src/api/routes.sh 'routes() { echo "GET /greet"; }'
    put tests/api/test_routes.sh '. src/api/routes.sh; [ "$(routes)" = "GET /greet" ]' ;;
  Integrate:*)
    put src/app.sh '. src/models/user.sh; . src/service/greet.sh; greet "$NAME"'
    put tests/integration/test_flow.sh '[ "$(sh src/app.sh)" = "hello ann" ]' ;;
esac
"##;

fn scene(agent: &str) -> Scene {
    Scene::new(&[("plans/issue-42.md", PLAN), (".claude/workflow.yaml", WORKFLOW)], agent)
}

fn created(log: &[Value]) -> Vec<&Value> {
    log.iter().filter_map(|record| record["event"].get("task.created")).collect()
}

#[test]
fn three_layers_are_filled_in_side_by_side_and_integrated_by_the_lead() {
    let mut scene = scene(AGENT);
    let ran = scene.run("contract-first", &["plans/issue-42.md"]);
    ran.ends(
        0,
        &[
            "phase contracts is done",
            "phase layers begins",
            "phase layers is done",
            "phase converge is done",
            "phase integrate is done",
            "5 of 5 tasks",
        ],
    );
    assert_eq!(
        scene.phases(),
        ["contracts done", "layers done", "converge done", "integrate done"]
    );
    assert!(scene.landed("tests/integration/test_flow.sh").contains("hello ann"));
    let log = scene.log();
    let made = created(&log);
    let who = |task: &Value| {
        let spec = &task["spec"];
        format!("{} -> {}", spec["subject"].as_str().unwrap(), spec["assignee"].as_str().unwrap())
    };
    assert_eq!(
        made.iter().map(|task| who(task)).collect::<Vec<_>>(),
        [
            "Contracts: contract-first -> lead",
            "Implement the Models layer -> models",
            "Implement the Service layer -> service",
            "Implement the API layer -> ana",
            "Integrate: contract-first -> lead",
        ]
    );
}
