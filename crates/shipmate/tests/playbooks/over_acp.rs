//! Each way of working with programs that speak ACP behind everybody: what shell commands and native
//! agents do there, they do over a protocol, with the team's tools.

use serde_json::{Value, json};

use crate::contract_first;
use crate::departments;
use crate::features::{self, feature};
use crate::scene::Scene;
use crate::stage::of;
use crate::views::{json_of, until};

/// Everybody's lives had a session: they were talked to.
fn all_talked(scene: &mut Scene) {
    let log = scene.log();
    let lives: Vec<Value> = of(&log, "task.claimed").iter().map(|one| one["by"].clone()).collect();
    let talked: Vec<Value> =
        of(&log, "teammate.session").iter().map(|one| one["who"].clone()).collect();
    assert!(!lives.is_empty());
    assert!(lives.iter().all(|life| talked.contains(life)), "{lives:?} {talked:?}");
}

#[test]
fn contract_first_goes_from_its_contracts_to_integration() {
    let mut scene = contract_first::with("", &[]);
    let ran = scene.run_acp("contract-first", "", &["plans/issue-42.md"]);
    ran.ends(0, &["phase contracts is done", "phase integrate is done", "5 of 5 tasks"]);
    assert!(scene.landed("src/app.sh").contains("greet \"$NAME\""));
    all_talked(&mut scene);
}

#[test]
fn features_are_built_and_their_files_kept() {
    let three = ["F001", "F002", "F003"].map(|id| feature(id, json!({})));
    let mut scene = features::scene_with(&three, &[], features::AGENT);
    scene.run_acp("features", "", &["--yes"]).ends(0, &["3 of 3 tasks"]);
    let file: Value = serde_json::from_str(&scene.landed(".harness/features.json")).unwrap();
    assert_eq!(file["passing"], 3);
    assert!(scene.landed("claude-progress.txt").contains("F003"));
    all_talked(&mut scene);
}

#[test]
fn a_department_goes_through_its_ten_steps() {
    let mut scene = departments::backend();
    let ran = scene.run_acp("departments", "", &departments::ONE);
    ran.ends(0, &["phase owner_signoff is done"]);
    let summary = scene.landed(&format!("{}/01-01.summary.jsonl", departments::DIR));
    assert_eq!(departments::json_of(summary.lines().next().unwrap())["s"], "complete");
    all_talked(&mut scene);
}

const LEADS: &str = r#"TeamCreate {"name":"alpha"}
TaskCreate {"subject":"Write one","files":["one.txt"]}
TaskCreate {"subject":"Write two","files":["two.txt"],"blockedBy":["1"]}
Task {"name":"worker","prompt":"Handle it"}
sh printf %s "$(cat secret.txt "$S/repo/secret.txt")"
"#;

const SEVEN: &str = concat!(
    r#"TodoWrite {"todos":[{"content":"Write one","status":"pending"},"#,
    r#"{"content":"Write two","status":"pending"}]}"#,
    "\n",
    r#"TeamCreate {"members":[{"name":"worker","prompt":"Handle it"}]}"#,
    "\n",
    r#"sh printf %s "$(cat secret.txt "$S/repo/secret.txt")""#,
);

#[test]
fn a_lead_of_the_board_and_one_with_seven_tools_have_their_goal_done() {
    // Who has seven tools finds nothing of the repository, also by those that its program brings.
    for (playbook, lead, file, done, found) in [
        ("board", LEADS, ".tasks/task_2.json", "completed", "found: blue\nblue."),
        ("delegate", SEVEN, "tasks/alpha/task-002.json", "done", "found: ."),
    ] {
        let agent = "name=${SHIPMATE_SUBJECT#Write }; echo \"$name\" > \"$name.txt\"";
        let config = "[views]\nat = \"repository\"\n";
        let mut scene = Scene::with(config, &[("secret.txt", "blue\n")], agent);
        let ran = scene.run_acp(playbook, lead, &["Migrate the app"]);
        ran.ends(0, &["2 of 2 tasks"]);
        let log = scene.log();
        let sent = of(&log, "message.sent");
        let told: Vec<&str> = sent.iter().filter_map(|one| one["body"].as_str()).collect();
        assert!(told.contains(&found), "{playbook}: {told:?}");
        assert_eq!(scene.landed("one.txt"), "one\n");
        assert_eq!(scene.landed("two.txt"), "two\n");
        // Where somebody who worked this way before looks for it.
        let repository = scene.stage.place().workspace;
        let path = repository.join(file);
        until(&repository, || json_of(&path).filter(|task| task["status"] == done));
        all_talked(&mut scene);
    }
}
