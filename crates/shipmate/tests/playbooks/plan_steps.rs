//! A plain command that must show its plan: it is run once to say how it would do its task, behind a
//! fence in which it can write nothing, and again when that is approved.

use serde_json::{Value, json};

use crate::features::{AGENT, INIT, feature, harness, scene_with};
use crate::scene::Scene;
use crate::stage::TEAM;

/// What it says while it plans, and that it tried to do more.
const PLANS: &str = r#"
if [ "$SHIPMATE_MODE" = plan ]; then
  if { echo try > stolen.txt; } 2>/dev/null; then echo "it could write"; fi
  case "$INPUT" in *'"mode":"plan"'*) ;; *) echo "not told that it plans" ;; esac
  case "$INPUT" in *'"note":"'*) ;; *) echo "not told what to do" ;; esac
  echo "1. Write ${SHIPMATE_SUBJECT%%:*}"
  echo "2. Mind: $SHIPMATE_FEEDBACK"
  exit 0
fi
"#;
/// What it was approved with stands in a file of its task.
const KEEPS: &str = "printf '%s\\n' \"$SHIPMATE_PLAN\" | sed 's/^/# /' >> \"tests/$id.sh\"\n";

fn risky(more: Value) -> Value {
    feature("F001", more)
}

#[test]
fn a_command_shows_its_plan_can_write_nothing_before_and_goes_on_with_the_approved_one() {
    for more in [
        json!({ "require_plan_approval": true }),
        json!({ "description": "Reset the password" }),
        json!({ "first": true }),
    ] {
        let agent = format!("{PLANS}{AGENT}{KEEPS}");
        let mut scene = scene_with(&[risky(more.clone())], &[], &agent);
        let mut run = scene.begin("features", &["--set", "approved=yes", "--set", "single=no"]);
        run.says("phase build begins");
        scene.stage.follow();
        let first = scene.stage.hear(|event| event.get("plan.submitted").is_some());
        let body =
            |plan: &Value| plan["event"]["plan.submitted"]["body"].as_str().unwrap().to_owned();
        assert_eq!(body(&first), "1. Write F001\n2. Mind:", "{more}");
        let id = first["n"].to_string();
        let said = ["--team", TEAM, "plan", "reject", &id, "say how it is tested"];
        let said = scene.stage.shipmate(&said);
        assert!(said.status.success(), "{said:?}");
        let second = scene.stage.hear(|event| event.get("plan.submitted").is_some());
        assert_eq!(body(&second), "1. Write F001\n2. Mind: say how it is tested");
        let id = second["n"].to_string();
        let said = scene.stage.shipmate(&["--team", TEAM, "plan", "approve", &id]);
        assert!(said.status.success(), "{said:?}");
        let told = format!("plan {id} of feature-1 for task 1: 1. Write F001 (shipmate plan list");
        run.ended().ends(0, &[&told, "1 of 1 task"]);
        let kept = "# 1. Write F001\n# 2. Mind: say how it is tested\n";
        assert!(scene.landed("tests/F001.sh").ends_with(kept), "the approved plan was handed on");
        let all = scene.stage.git(&["ls-tree", "-r", "--name-only", &format!("shipmate/{TEAM}")]);
        assert!(!all.contains("stolen.txt"), "{all}");
    }
}

/// Said before it came, where no lead can decide it. What is risky is not done by one alone.
#[test]
fn with_a_yes_beforehand_the_plan_is_still_made_and_shown() {
    let mut scene = scene_with(&[risky(json!({ "require_plan_approval": true }))], &[], AGENT);
    scene.plans = true;
    let ran = scene.run("features", &["--yes"]);
    ran.ends(
        0,
        &["of feature-1 for task 1: do F001: Build F001 (shipmate plan list", "1 of 1 task"],
    );
    let log = scene.log();
    let at = |name: &str| log.iter().position(|one| one["event"].get(name).is_some()).unwrap();
    assert!(at("plan.submitted") < at("plan.approved"));
    assert!(at("plan.approved") < at("task.submitted"));
}

/// What was approved is one feature: the next one of the same teammate is planned too.
#[test]
fn each_risky_feature_has_a_plan_of_its_own() {
    let agent = format!("{PLANS}{AGENT}");
    let more = || json!({ "require_plan_approval": true });
    let features = [feature("F001", more()), feature("F002", more())];
    let mut scene = scene_with(&features, &[], &agent);
    let ran = scene.run("features", &["--yes", "--teammates", "1", "--set", "single=no"]);
    ran.ends(0, &["2 of 2 tasks"]);
    let log = scene.log();
    let tasks = |event: &str| -> Vec<u64> {
        let found = log.iter().filter_map(|record| record["event"].get(event));
        found.map(|event| event["task"].as_u64().unwrap()).collect()
    };
    assert_eq!(tasks("plan.submitted"), tasks("task.claimed"), "no task without its plan");
    let all = scene.stage.git(&["ls-tree", "-r", "--name-only", &format!("shipmate/{TEAM}")]);
    assert!(!all.contains("stolen.txt"), "{all}");
}

#[test]
fn without_a_fence_a_command_that_must_plan_is_not_begun() {
    let text = harness(&[risky(json!({ "require_plan_approval": true }))]);
    let files = [(".harness/features.json", text.as_str()), (".harness/init.sh", INIT)];
    let mut scene = Scene::with("fence = \"off\"\n", &files, AGENT);
    scene.plans = true;
    let ran = scene.run("features", &["--yes"]);
    let told = "feature-1 must show its plan before it writes, and a command is kept to that by a \
                fence alone, and the fence is off";
    assert_ne!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains(told), "{}", ran.out);
    let log = scene.log();
    assert!(log.iter().all(|record| record["event"].get("task.claimed").is_none()), "nobody began");
}
