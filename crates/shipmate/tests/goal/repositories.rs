//! Three repositories on which a lead goes from a goal to merged work: each is made here, has tests
//! of its own that are the gate, and is looked at afterwards as its user would.
//!
//! The model is scripted: what is shown is that the way from goal to merge holds, not that a model
//! finds it.

use std::process::Command;

use crate::scene::{Scene, events};

/// Runs a shell line on the merged tree, checked out anew.
#[track_caller]
fn on_merged(scene: &Scene, line: &str) -> String {
    let root = scene.stage.root();
    let tree = root.join("merged");
    if !tree.exists() {
        scene.stage.git(&["worktree", "add", "--quiet", tree.to_str().unwrap(), "shipmate/alpha"]);
    }
    let output = Command::new("sh").args(["-c", line]).current_dir(&tree).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A calculator in shell: one file for each operation, found by its name.
#[test]
fn a_calculator_gets_two_operations_at_the_same_time() {
    let mut scene = Scene::new(include_str!("scripts/a_calculator_gets_two.model"));
    scene.stage.write(
        "calc.sh",
        "set -e\ncd \"$(dirname \"$0\")\"\n[ $# = 3 ] || { echo 'usage: calc.sh add A B'; exit 2; }\n\
         . \"ops/$1.sh\"\n\"op_$1\" \"$2\" \"$3\"\n",
    );
    scene.stage.write("ops/add.sh", "op_add() { echo $(($1 + $2)); }\n");
    scene.stage.write("tests/add.sh", "test \"$(sh calc.sh add 2 3)\" = 5\n");
    let tests = "set -e\ncd \"$(dirname \"$0\")/..\"\nfor t in tests/*.sh; do\n  \
                 [ \"$t\" = tests/run.sh ] || sh -e \"$t\"\ndone\n";
    scene.stage.write("tests/run.sh", tests);
    scene.stage.commit();
    let goal = "teach the calculator to subtract and multiply";
    scene.run(goal, &["--yes", "--gate", "sh tests/run.sh"]).ends(
        0,
        &[
            "3 tasks, at most 2 at the same time; longest path",
            "→ usage",
            "2 teammates: up to 2 parts are independent",
            "│ calc.sh subtracts and multiplies, and says so.",
            "done: 3 of 3 tasks",
            " merge",
        ],
    );
    assert_eq!(on_merged(&scene, "sh tests/run.sh && sh calc.sh multiply 6 7"), "42\n");
    assert_eq!(
        on_merged(&scene, "sh calc.sh || true"),
        "usage: calc.sh add|subtract|multiply A B\n"
    );
    let log = scene.log();
    let created = events(&log, "task.created");
    assert_eq!(created[2]["spec"]["blocked_by"], serde_json::json!([{"task": 1}, {"task": 2}]));
    assert!(events(&log, "gate.ran").iter().all(|run| run["passed"] == true));
}

/// A library in layers that share a contract: what a request and an answer look like.
#[test]
fn a_library_in_layers_gets_its_contract_first() {
    let mut scene = Scene::new(include_str!("scripts/a_library_in_layers.model"));
    let stage = &mut scene.stage;
    stage.write("lib/protocol.sh", "OK='200 ok'\n");
    stage.write("lib/store.sh", "store_put() { printf %s \"$2\" > \"$STORE/$1\"; }\n");
    stage.write(
        "lib/handler.sh",
        "handle() {\n  case $1 in\n    PUT) store_put \"${2#/}\" \"$3\"; echo \"$OK\" ;;\n  esac\n}\n",
    );
    stage.write(
        "lib/serve.sh",
        "STORE=$(mktemp -d)\n. ./lib/protocol.sh; . ./lib/store.sh; . ./lib/handler.sh\n\
         serve() { handle \"$@\"; }\n",
    );
    stage.write("tests/put.sh", ". ./lib/serve.sh; [ \"$(serve PUT /a 1)\" = '200 ok' ]\n");
    let tests = "set -e\ncd \"$(dirname \"$0\")/..\"\nfor t in tests/*.sh; do\n  \
                 [ \"$t\" = tests/run.sh ] || sh -e \"$t\" > /dev/null\ndone\n";
    stage.write("tests/run.sh", tests);
    stage.commit();
    scene
        .run("support DELETE in the store and the handler", &["--yes", "--gate", "sh tests/run.sh"])
        .ends(
            0,
            &[
                "longest path contract → ",
                "bea          native; role backend; may write lib, tests",
                "done: 4 of 4 tasks",
            ],
        );
    on_merged(&scene, "sh tests/run.sh && test -e tests/delete.sh");
    let log = scene.log();
    let order: Vec<u64> =
        events(&log, "task.completed").iter().map(|one| one["task"].as_u64().unwrap()).collect();
    assert_eq!((order[0], order[3]), (1, 4), "the contract is first and the tests are last");
    // The prompt of a task says what the plan says, and how the work is tested.
    let asked = scene.server.requests();
    let second = asked.iter().map(|one| one.body.to_string()).find(|text| text.contains("Task 2:"));
    let second = second.unwrap();
    for part in [
        "The plan it belongs to: The words of the protocol come first",
        "Test command: sh tests/run.sh",
        "Files it is about: lib/store.sh.",
        "Your role is backend.",
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
}

/// Pages and scripts: the first plan lets two tasks write the same page, and is mended.
#[test]
fn pages_and_scripts_get_a_plan_that_was_sent_back_first() {
    let mut scene = Scene::new(include_str!("scripts/pages_and_scripts_get.model"));
    scene.stage.write("docs/index.md", "# Pages\n");
    scene.stage.commit();
    let gate = "if [ -e scripts/links.sh ]; then sh scripts/links.sh; fi";
    scene.run("write a guide and a page of questions", &["--yes", "--gate", gate]).ends(
        0,
        &[
            "4 tasks, at most 3 at the same time",
            "2 teammates: up to 3 parts",
            "done: 4 of 4 tasks",
        ],
    );
    on_merged(&scene, "sh scripts/links.sh && grep -q guide.md docs/index.md");
    let told: String =
        scene.server.requests().iter().map(|request| request.body.to_string()).collect();
    let problem = "tasks guide and faq may run at the same time and both write docs/index.md";
    assert!(told.contains(problem), "{told}");
    assert_eq!(events(&scene.log(), "plan.submitted").len(), 1);
}
