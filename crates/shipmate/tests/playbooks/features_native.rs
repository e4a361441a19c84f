//! The features playbook with native agents on a scripted model: models by role and weight, plans
//! with their criteria, decisions that are kept, reviews of large features.

use serde_json::{Value, json};
use shipmate_testkit::model::Server;

use crate::features::{INIT, feature, features_of, harness, one};
use crate::scene::{Ran, Scene};
use crate::stage::TEAM;

fn config(server: &Server) -> String {
    format!(
        "[agents]\nstop-grace-seconds = 1\n[models]\ndefault = \"test/usual\"\n\
         [models.test]\nprotocol = \"anthropic\"\nbase-url = \"{}\"\nkey-variable = \"\"\n",
        server.url()
    )
}

fn scene(server: &Server, features: &[Value], more: &[(&str, &str)]) -> Scene {
    let text = harness(features);
    let mut files = vec![
        (".harness/features.json", text.as_str()),
        (".harness/init.sh", INIT),
        (".gitignore", "lcov.info\n"),
    ];
    files.extend(more);
    Scene::with(&config(server), &files, "")
}

fn run(scene: &Scene, more: &[&str]) -> Ran {
    let mut args = vec!["--team", TEAM, "run", "--playbook", "features", "--agent", "native"];
    args.extend(["--yes", "--set", "opus=test/big", "--set", "sonnet=test/small"]);
    args.extend(more);
    Ran::of(&scene.stage.shipmate(&args))
}

/// The models that this one's requests named.
fn models(server: &Server, name: &str) -> Vec<String> {
    let own = format!("You are {name}");
    let requests = server.requests();
    let own = requests.iter().filter(|request| request.body.to_string().contains(&own));
    let mut models: Vec<String> =
        own.map(|request| request.body["model"].as_str().unwrap().to_owned()).collect();
    models.sort();
    models.dedup();
    models
}

fn said_to(server: &Server, name: &str, part: &str) -> bool {
    let own = format!("You are {name}");
    let texts = server.requests();
    let mut texts = texts.iter().map(|request| request.body.to_string());
    texts.any(|text| text.contains(&own) && text.contains(part))
}

const LEAD: &str = r#"
as lead
on "asks for approval of plan"
  tool Plan {"action":"approve","plan_id":"{{after of plan}}"}
  say Approved.
"#;

/// A turn that hands in a plan.
const PLAN: &str =
    "  tool ExitPlanMode {\"plan\":\"The code, and a test of it.\"}\n  say I wait.\n";

fn write(path: &str, text: &str) -> String {
    format!("  tool write_file {}\n", json!({ "path": path, "content": text }))
}

fn done(task: u32, result: &str) -> String {
    let told = json!({ "taskId": task.to_string(), "status": "completed", "result": result });
    format!("  tool TaskUpdate {told}\n  say Done.\n")
}

/// Writes a feature and a test that reaches it, then says so.
fn built(id: &str, task: u32) -> String {
    let report = format!("SF:src/{id}/a.sh\\nDA:1,1\\nend_of_record\\n");
    let test = format!("sh src/{id}/a.sh\nprintf '{report}' >> lcov.info\n");
    let code = write(&format!("src/{id}/a.sh"), &format!("echo {id}\n"));
    format!("{code}{}{}", write(&format!("tests/{id}.sh"), &test), done(task, id))
}

#[test]
fn models_follow_the_weight_of_the_work_and_plans_are_approved_by_their_criteria() {
    let decision = json!({
        "to": "lead", "type": "decision", "content": "Words are echoed, not printed.",
    });
    let approved = "on \"Your plan is approved\"\n";
    let script = [
        LEAD,
        "as feature-1\non \"F001: Build\"\n",
        PLAN,
        approved,
        &built("F001", 1),
        "as feature-2\non \"F002: Encrypt\"\n",
        PLAN,
        approved,
        &built("F002", 2),
        "as feature-3\non \"F003: Build\"\n",
        &format!("  tool SendMessage {decision}\n"),
        &built("F003", 3),
    ];
    let script = script.concat();
    let server = Server::start(&script);
    let features = [
        feature("F001", json!({})),
        feature("F002", json!({ "description": "Encrypt passwords", "priority": 2 })),
        feature("F003", json!({ "priority": 3 })),
    ];
    let mut scene = scene(&server, &features, &[]);
    let ran = run(&scene, &[]);
    ran.ends(0, &["phase build begins", "3 pieces of work: a team is worth it", "3 of 3 tasks"]);
    // The first feature of a code base shows a plan; what is sensitive does, on the strong model.
    assert_eq!(models(&server, "feature-1"), ["small"]);
    assert_eq!(models(&server, "feature-2"), ["big"]);
    assert_eq!(models(&server, "feature-3"), ["small"]);
    assert_eq!(models(&server, "lead"), ["big"]);
    scene.log();
    let spent = scene.stage.events("usage.recorded");
    for who in ["alpha/lead@1", "alpha/feature-1@1"] {
        assert!(spent.iter().any(|one| one["who"] == who), "{who}: {spent:?}");
    }
    let planned: Vec<Value> =
        scene.stage.events("plan.submitted").iter().map(|plan| plan["who"].clone()).collect();
    assert_eq!(planned.len(), 2, "{planned:?}");
    let shown =
        r"The code, and a test of it.\n\nWhat it has to meet: tests for edge cases are part of it";
    assert!(said_to(&server, "lead", shown));
    assert!(said_to(&server, "lead", "You coordinate and write no code"));
    let state = "is in .harness/features.json, claude-progress.txt, .harness/context_summary.md and the \
                 git log";
    assert!(said_to(&server, "lead", state));
    assert!(said_to(&server, "lead", "You are in delegate mode"));
    assert!(said_to(&server, "feature-3", "Write a failing test first, make it pass, then tidy"));
    assert!(said_to(&server, "feature-3", "Files it is about: src/F003/a.sh, src/F003/b.sh"));
    assert_eq!(features_of(&scene)["passing"], 3);
    let summary = scene.landed(".harness/context_summary.md");
    let decided = "- decided (feature-3): Words are echoed, not printed.";
    assert!(summary.contains(decided), "{summary}");
}

#[test]
fn a_large_feature_is_reviewed_into_a_file_and_a_small_one_is_not() {
    let found = [write(".harness/research/F002.md", "dash\n"), done(1, "dash")].concat();
    let finding = [write(".harness/reviews/F001.md", "src/F001/a.sh:1 fine\n"), done(4, "fine")];
    let script = [
        LEAD,
        "as researcher\non \"Find out for F002\"\n",
        &found,
        "as feature-1\non \"F001: Build\"\n",
        PLAN,
        "on \"Your plan is approved\"\n",
        &built("F001", 2),
        "as feature-2\non \"F002: Build\"\n",
        &built("F002", 3),
        "as reviewer\non \"Review F001\" \"The last attempt\"\n",
        &finding.concat(),
        "on \"Review F001\"\n",
        &done(4, "I only say it"),
    ];
    let script = script.concat();
    let server = Server::start(&script);
    let mut scope: Vec<String> =
        (b'a'..=b'i').map(|c| format!("src/F001/{}.sh", c as char)).collect();
    scope.push("tests/F001.sh".to_owned());
    let features = [
        feature("F001", json!({ "scope": scope })),
        feature("F002", json!({ "priority": 2, "research": "which shell" })),
    ];
    let mut scene = scene(&server, &features, &[]);
    let ran = run(&scene, &[]);
    ran.ends(
        0,
        &["phase research begins", "phase build begins", "phase review is done", "4 of 4 tasks"],
    );
    assert_eq!(models(&server, "researcher"), ["small"]);
    assert_eq!(scene.landed(".harness/research/F002.md"), "dash\n");
    assert_eq!(models(&server, "feature-1"), ["big"]);
    assert_eq!(models(&server, "reviewer-1"), ["big"]);
    assert_eq!(scene.landed(".harness/reviews/F001.md"), "src/F001/a.sh:1 fine\n");
    scene.log();
    // What is only said is sent back: the finding has to be in the file.
    let returned = scene.stage.events("task.returned");
    let reason = returned[0]["reason"].as_str().unwrap();
    assert!(reason.contains(".harness/reviews/F001.md is not there"), "{reason}");
    let modes = scene.stage.events("teammate.mode_changed");
    let modes: Vec<&str> = modes.iter().filter_map(|change| change["mode"].as_str()).collect();
    assert_eq!(modes, ["normal", "delegate"], "the lead leaves delegate mode for the review alone");
    assert_eq!(one(&scene, "F001")["status"], "passing");
}
