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
    let mut scene = Scene::new(
        r#"
as lead
on "subtract and multiply"
  tool glob {"pattern":"**/*.sh"}
  & tool read_file {"path":"calc.sh"}
  & tool grep {"pattern":"op_add","path":"ops"}
  tool ExitPlanMode {"plan":"calc.sh finds operations by name, so each is a file of its own; the usage text follows when both are there.","tasks":[{"key":"subtract","subject":"Subtract","description":"ops/subtract.sh defines op_subtract A B, as ops/add.sh defines op_add. Test it in tests/subtract.sh.","files":["ops/subtract.sh","tests/subtract.sh"]},{"key":"multiply","subject":"Multiply","description":"The same with op_multiply.","files":["ops/multiply.sh","tests/multiply.sh"]},{"key":"usage","subject":"Say what there is","description":"calc.sh without arguments names add, subtract and multiply.","files":["calc.sh"],"blocked_by":["subtract","multiply"],"estimate_minutes":5}]}
  say The plan is handed in.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"calc.sh subtracts and multiplies, and says so.\nNothing is left."}
  say Reported.
as *
on "Task 1:"
  write tests/subtract.sh test "$(sh calc.sh subtract 5 3)" = 2
  tool write_file {"path":"ops/subtract.sh","content":"op_subtract() { echo $(($1 - $2)); }\n"}
  shell sh tests/run.sh
  tool TaskUpdate {"taskId":"1","status":"completed","result":"op_subtract, tested"}
  say Done.
on "Task 2:"
  write tests/multiply.sh test "$(sh calc.sh multiply 5 3)" = 15
  tool write_file {"path":"ops/multiply.sh","content":"op_multiply() { echo $(($1 * $2)); }\n"}
  shell sh tests/run.sh
  tool TaskUpdate {"taskId":"2","status":"completed","result":"op_multiply, tested"}
  say Done.
on "Task 3:"
  tool read_file {"path":"calc.sh"}
  tool edit_file {"path":"calc.sh","old_string":"usage: calc.sh add A B","new_string":"usage: calc.sh add|subtract|multiply A B"}
  tool TaskUpdate {"taskId":"3","status":"completed","result":"usage names all three"}
  say Done.
"#,
    );
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
            "shipmate merge",
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
    let mut scene = Scene::new(
        r#"
as lead
on "DELETE"
  tool glob {"pattern":"lib/*.sh"}
  & tool read_file {"path":"lib/protocol.sh"}
  tool ExitPlanMode {"plan":"The words of the protocol come first: store and handler both need the new one. Risk: a key that is not there.","tasks":[{"key":"contract","subject":"The word DELETE","description":"lib/protocol.sh: DELETED and MISSING beside the others.","files":["lib/protocol.sh"]},{"key":"store","subject":"The store forgets","description":"lib/store.sh: store_delete KEY, fails when it is not there.","files":["lib/store.sh"],"blocked_by":["contract"],"role":"backend"},{"key":"handler","subject":"The handler answers","description":"lib/handler.sh: DELETE /KEY answers DELETED or MISSING.","files":["lib/handler.sh"],"blocked_by":["contract"],"role":"frontend"},{"key":"tests","subject":"Both ends together","description":"tests/delete.sh.","files":["tests"],"blocked_by":["store","handler"]}],"teammates":[{"name":"bea","role":"backend","scope":["lib","tests"]},{"name":"finn","role":"frontend","scope":["lib","tests"]}]}
  say The plan is handed in.
on "All tasks are completed"
  say DELETE works on both ends.
as *
on "Task 1:"
  tool read_file {"path":"lib/protocol.sh"}
  tool edit_file {"path":"lib/protocol.sh","old_string":"OK='200 ok'","new_string":"OK='200 ok'\nDELETED='204 deleted'\nMISSING='404 missing'"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"DELETED, MISSING"}
  say Done.
on "Task 2:"
  shell grep -q DELETED lib/protocol.sh && echo 'store_delete() { [ -e "$STORE/$1" ] && rm "$STORE/$1"; }' >> lib/store.sh
  tool TaskUpdate {"taskId":"2","status":"completed","result":"store_delete"}
  say Done.
on "Task 3:"
  shell grep -q DELETED lib/protocol.sh && sed -i 's|^  esac|    DELETE) if store_delete "${2#/}"; then echo "$DELETED"; else echo "$MISSING"; fi ;;\n  esac|' lib/handler.sh
  tool TaskUpdate {"taskId":"3","status":"completed","result":"DELETE is handled"}
  say Done.
on "Task 4:"
  write tests/delete.sh . ./lib/serve.sh; serve PUT /a 1; [ "$(serve DELETE /a)" = "204 deleted" ] && [ "$(serve DELETE /a)" = "404 missing" ]
  shell sh tests/run.sh
  tool TaskUpdate {"taskId":"4","status":"completed","result":"both ends are tested"}
  say Done.
"#,
    );
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
    let mut scene = Scene::new(
        r#"
as lead
on "guide"
  tool glob {"pattern":"**"}
  tool ExitPlanMode {"plan":"Two pages and a check.","tasks":[{"key":"guide","subject":"The guide","description":"docs/guide.md, linked from docs/index.md.","files":["docs/guide.md","docs/index.md"]},{"key":"faq","subject":"The questions","description":"docs/faq.md, linked from docs/index.md.","files":["docs/faq.md","docs/index.md"]},{"key":"check","subject":"Check links","description":"scripts/links.sh fails for a link to nothing.","files":["scripts"]}],"teammates":[{"name":"ana"},{"name":"bo"}]}
  tool ExitPlanMode {"plan":"Two pages and a check, then the links to both.","tasks":[{"key":"guide","subject":"The guide","description":"docs/guide.md.","files":["docs/guide.md"]},{"key":"faq","subject":"The questions","description":"docs/faq.md.","files":["docs/faq.md"]},{"key":"check","subject":"Check links","description":"scripts/links.sh fails for a link to nothing.","files":["scripts"]},{"key":"index","subject":"Link both","description":"docs/index.md names both.","files":["docs/index.md"],"blocked_by":["guide","faq","check"]}],"teammates":[{"name":"ana"},{"name":"bo"}]}
  say The plan is handed in.
on "All tasks are completed"
  say Guide, questions and a check of links are there.
as *
on "Task 1:"
  write docs/guide.md # Guide
  tool TaskUpdate {"taskId":"1","status":"completed","result":"guide"}
  say Done.
on "Task 2:"
  write docs/faq.md # Questions
  tool TaskUpdate {"taskId":"2","status":"completed","result":"questions"}
  say Done.
on "Task 3:"
  tool write_file {"path":"scripts/links.sh","content":"cd docs && for f in $(grep -o '([a-z]*\\.md)' index.md | tr -d '()'); do test -e \"$f\" || exit 1; done\n"}
  tool TaskUpdate {"taskId":"3","status":"completed","result":"scripts/links.sh"}
  say Done.
on "Task 4:"
  shell printf '[guide](guide.md) [questions](faq.md)\n' >> docs/index.md && sh scripts/links.sh
  tool TaskUpdate {"taskId":"4","status":"completed","result":"both are linked"}
  say Done.
"#,
    );
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
