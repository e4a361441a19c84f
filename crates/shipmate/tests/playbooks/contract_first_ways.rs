//! contract-first with shipmate's own agents, from a plan that is not clear, and with commands that
//! only some phases run.

use crate::contract_first::{PLAN, WORKFLOW, done_by, run, with};
use crate::features::nothing_began;
use crate::native::Native;
use crate::scene::Scene;
use crate::stage::of;
use crate::views::until;

#[test]
fn a_plan_that_is_not_clear_is_for_one_and_says_what_is_unclear() {
    let plan = PLAN.replace("| GET /greet | API | ana |", "| GET /greet | | ana |");
    let mut scene = with("", &[("plans/issue-42.md", &plan)]);
    let ran = run(&scene);
    let why =
        "it is not clear which work is whose: plans/issue-42.md:11: src/api/routes.sh has no layer";
    let left_out = format!("phase contracts is left out: one agent does it all: {why}");
    ran.ends(0, &[&left_out, "phase layers begins", "phase integrate is done", "5 of 5 tasks"]);
    let log = scene.log();
    assert_eq!(of(&log, "teammate.added").len(), 1, "there is no team");
    // Which piece a file belongs to is not clear, so nobody is asked whether it may be written.
    assert!(scene.landed("src/api/routes.sh").contains("GET /greet"));
    assert!(of(&log, "question.asked").is_empty(), "{}", ran.out);
}

#[test]
fn a_plan_with_mistakes_is_refused_with_file_and_line_before_there_is_a_team() {
    for (was, is, told) in [
        (
            "| Layer |",
            "| Lyer |",
            "plans/issue-42.md:5: the table has a column \"lyer\": did you mean \"layer\"?",
        ),
        ("`src/app.sh`", "../b.txt", "plans/issue-42.md:13: \"../b.txt\" climbs with '..'"),
        ("## Files to Modify", "## Files", "plans/issue-42.md: there is no section"),
    ] {
        let plan = PLAN.replace(was, is);
        let scene = with("", &[("plans/issue-42.md", &plan)]);
        let ran = run(&scene);
        let said = nothing_began(&scene, &ran);
        assert!(said.contains(told), "{told:?} is missing in:\n{said}");
    }
}

#[test]
fn the_integration_tests_of_the_project_are_part_of_integration() {
    // Green in every gate before the last phase, and red there until the lead has finished it.
    let check = "test -e src/joined.sh || (echo the layers do not meet; exit 1)";
    let joined = WORKFLOW.replace("    full:", &format!("    integration: '{check}'\n    full:"));
    assert_ne!(joined, WORKFLOW);
    let other = "finish() { put src/joined.sh x=1; }";
    let mut scene = with(other, &[(".claude/workflow.yaml", &joined)]);
    let ran = run(&scene);
    ran.ends(
        0,
        &[
            "phase converge is done",
            "phase integrate goes back: the gate of the phase fails",
            "phase integrate begins, round 2",
            "phase integrate is done",
        ],
    );
    assert!(!ran.out.contains("{test_integration}"), "{}", ran.out);
    let log = scene.log();
    let finished = done_by(&log).into_iter().find(|(subject, _)| subject.starts_with("Finish"));
    assert_eq!(finished.unwrap().1, "lead");
}

#[test]
fn lint_and_type_check_are_in_the_gate_of_every_layer() {
    let checked = "lint: '! grep -q ann src/models/user.sh'\n  \
                   typecheck: '! grep -q bob src/models/user.sh'";
    let workflow = WORKFLOW.replace("lint: sh -n src/models/user.sh", checked);
    assert_ne!(workflow, WORKFLOW);
    // Its own test is green each time; what comes back says which of the two was not.
    let other = "models() { put tests/models/test_user.sh '. src/models/user.sh; [ -n \"$NAME\" ]'; \
                 case \"${SHIPMATE_FEEDBACK:-}\" in \
                 *bob*) put src/models/user.sh NAME=eve ;; *ann*) put src/models/user.sh NAME=bob ;; \
                 *) put src/models/user.sh NAME=ann ;; esac; }\n\
                 service() { put src/service/greet.sh x=1; \
                 put tests/service/test_greet.sh 'grep -q x=1 src/service/greet.sh'; }\n\
                 integrate() { put src/app.sh x=1; \
                 put tests/integration/test_flow.sh '[ -e src/app.sh ]'; }";
    let mut scene = with(other, &[(".claude/workflow.yaml", &workflow)]);
    let ran = run(&scene);
    ran.ends(0, &["5 of 5 tasks"]);
    let back: Vec<String> = of(&scene.log(), "task.returned")
        .into_iter()
        .map(|back| back["reason"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(back.len(), 2, "{back:?}");
    assert!(back[0].contains("`! grep -q ann src/models/user.sh` failed"), "{back:?}");
    assert!(back[1].contains("`! grep -q bob src/models/user.sh` failed"), "{back:?}");
    assert_eq!(scene.landed("src/models/user.sh"), "NAME=eve\n");
}

#[test]
fn contracts_that_change_nothing_are_not_done() {
    let other = "contracts() { echo 'there is nothing to say' > \"$SHIPMATE_RESULT\"; }\n\
                 again() { put src/models/user.sh NAME=; put src/service/greet.sh 'greet() { :; }'; \
                 put src/api/routes.sh 'routes() { :; }'; }";
    let mut scene = with(other, &[]);
    let ran = run(&scene);
    let why = "phase contracts goes back: nothing was changed";
    ran.ends(
        0,
        &[why, "phase contracts begins, round 2", "phase contracts is done", "6 of 6 tasks"],
    );
    let ends =
        ["contracts back", "contracts done", "layers done", "converge done", "integrate done"];
    assert_eq!(scene.phases(), ends);
}

#[test]
fn a_test_that_passes_on_the_skeleton_goes_back_and_one_that_is_seen_to_fail_counts() {
    let other = "api() { put src/api/routes.sh 'routes() { echo \"GET /greet\"; }'; \
                 if [ -z \"${SHIPMATE_FEEDBACK:-}\" ]; then put tests/api/test_routes.sh true; else \
                 put tests/api/test_routes.sh '. src/api/routes.sh; [ \"$(routes)\" = \"GET /greet\" ]'; \
                 fi; }";
    let mut scene = with(other, &[]);
    run(&scene).ends(0, &["5 of 5 tasks"]);
    let log = scene.log();
    let back = of(&log, "task.returned");
    assert_eq!(back.len(), 1, "{back:?}");
    let why = "tests/api/test_routes.sh passes without the work it is for, on the branch as it was \
               before (for t in 'tests/api/test_routes.sh'; do";
    assert_eq!(
        (&back[0]["task"], back[0]["reason"].as_str().unwrap().find(why)),
        (&4.into(), Some(0))
    );
    // Each layer's test was seen to fail, and that is on record with its task.
    let seen = of(&log, "task.updated");
    let mut seen: Vec<&str> =
        seen.iter().filter_map(|one| one["changes"]["metadata"]["red"].as_str()).collect();
    seen.sort();
    let all =
        ["tests/api/test_routes.sh", "tests/models/test_user.sh", "tests/service/test_greet.sh"];
    assert_eq!(seen, all);
}

#[test]
fn a_test_that_asserts_nothing_is_not_hidden_by_a_real_one_beside_it() {
    let row = "| `tests/api/test_routes.sh` | it answers | API | ana |\n";
    let more = "| `tests/api/test_more.sh` | it says more | API | ana |\n";
    let plan = PLAN.replace(row, &format!("{row}{more}"));
    let other = "api() { put src/api/routes.sh 'routes() { echo \"GET /greet\"; }'; \
                 put tests/api/test_routes.sh '. src/api/routes.sh; [ \"$(routes)\" = \"GET /greet\" ]'; \
                 if [ -z \"${SHIPMATE_FEEDBACK:-}\" ]; then put tests/api/test_more.sh true; else \
                 put tests/api/test_more.sh '. src/api/routes.sh; [ -n \"$(routes)\" ]'; fi; }";
    let mut scene = with(other, &[("plans/issue-42.md", &plan)]);
    run(&scene).ends(0, &["5 of 5 tasks"]);
    let back = of(&scene.log(), "task.returned");
    assert_eq!(back.len(), 1, "{back:?}");
    let why = "tests/api/test_more.sh passes without the work it is for";
    assert!(back[0]["reason"].as_str().unwrap().starts_with(why), "{back:?}");
}

#[test]
fn a_skeleton_that_is_filled_in_with_nothing_goes_back() {
    let other = "integrate() { put src/app.sh '. src/models/user.sh; . src/service/greet.sh; \
                 greet \"$NAME\"'; put tests/integration/test_flow.sh true; }\n\
                 finish() { put tests/integration/test_flow.sh '[ \"$(sh src/app.sh)\" = \"hello ann\" ]'; }";
    let scene = with(other, &[]);
    let why = "phase integrate goes back: tests/integration/test_flow.sh passes without the work it is \
               for, on the branch as phase contracts left it";
    run(&scene).ends(0, &[why, "phase integrate begins, round 2", "phase integrate is done"]);
    assert!(scene.landed("tests/integration/test_flow.sh").contains("hello ann"));
}

const NAMED: [&str; 5] =
    ["plans/issue-42.md", "--set", "issue_num=42", "--set", "description=greetings"];

#[test]
fn a_branch_with_other_work_under_the_name_of_the_pattern_is_left_alone() {
    let mut scene = with("", &[]);
    let stage = &mut scene.stage;
    stage.git(&["checkout", "-q", "-b", "feature/42-greetings"]);
    stage.write("mine.txt", "mine\n");
    stage.commit();
    let mine = stage.git(&["rev-parse", "HEAD"]);
    stage.git(&["checkout", "-q", "-"]);
    let told = "the branch feature/42-greetings is left as it is: it holds work that the team's branch \
                does not";
    scene.run("contract-first", &NAMED).ends(0, &[told, "5 of 5 tasks"]);
    assert_eq!(scene.stage.git(&["rev-parse", "feature/42-greetings"]), mine);
}

#[test]
fn the_branch_of_the_pattern_has_the_contracts_while_the_layers_are_filled_in() {
    let mut scene = with("if [ \"$SHIPMATE_TEAMMATE\" = models ]; then here; pass go; fi", &[]);
    scene.stage.door("go");
    let mut running = scene.begin("contract-first", &NAMED);
    running.says("phase contracts is done");
    scene.stage.arrival();
    let heads = scene.stage.place().workspace.join(".git/refs/heads");
    let with_shells = until(&heads, || {
        let commit = std::fs::read_to_string(heads.join("feature/42-greetings")).ok()?;
        let files = scene.stage.git(&["ls-tree", "-r", "--name-only", commit.trim()]);
        files.contains("src/service/greet.sh").then_some(commit)
    });
    let shell = format!("{}:src/service/greet.sh", with_shells.trim());
    assert_eq!(scene.stage.git(&["show", &shell]), "greet() { :; }\n");
    scene.stage.open("go", 1);
    running.ended().ends(0, &["5 of 5 tasks"]);
}

#[test]
fn native_agents_fill_in_the_layers_and_a_red_layer_comes_back() {
    let files = [("plans/issue-42.md", PLAN), (".claude/workflow.yaml", WORKFLOW)];
    let mut native = Native::new(include_str!("contract_first.model"), &files);
    let ran = native.run("contract-first", &["plans/issue-42.md"]);
    ran.ends(0, &["phase contracts is done", "phase layers is done", "phase integrate is done"]);
    let scene = &mut native.scene;
    assert!(scene.landed("tests/integration/test_flow.sh").contains("hello ann"));
    let log = scene.log();
    let back = of(&log, "task.returned");
    assert_eq!(back.len(), 1, "{}", ran.out);
    assert_eq!(back[0]["task"], 4);
    assert!(!scene.stage.has_file("src/__init__.py"), "what is shared is the lead's");
    // Who wants to write it all the same asks, and the lead says no.
    let asked = of(&log, "question.asked");
    assert_eq!(asked.len(), 1, "{}", ran.out);
    assert_eq!(asked[0]["who"], "alpha/models@1");
    let answered = of(&log, "question.answered");
    assert_eq!(answered[0]["answer"], "shared exports are mine");
    // What a layer is told has each section once.
    let requests = native.server.requests();
    let told = requests.iter().map(|one| one.body.to_string());
    let told = told.into_iter().find(|text| text.contains("Task 2: Implement")).unwrap();
    for head in ["Your Assignment", "File Ownership (CRITICAL)", "Git Workflow", "Completion"] {
        assert_eq!(told.matches(&format!("## {head}")).count(), 1, "{head}: {told}");
    }
    // The lead is woken by its tasks and the question, and asks nothing in between. What comes
    // while it is in a turn spares it a request.
    let calls = of(&log, "usage.reserved");
    let calls = calls.iter().filter(|call| call["who"] == "alpha/lead@1").count();
    assert!((8..=9).contains(&calls), "{calls}");
    let mut done = done_by(&log);
    done.sort();
    let who: Vec<&str> = done.iter().map(|(_, who)| who.as_str()).collect();
    assert_eq!(who, ["lead", "ana", "models", "service", "lead"]);
}

/// With no command set the gate of a layer looks at nothing, so green says nothing either.
#[test]
fn a_layer_that_changed_nothing_is_not_done_where_no_test_could_say_so() {
    let plan = "# C\n## Files to Modify\n\n| File | Change | Layer |\n|---|---|---|\n\
                | src/x.py | a | One |\n| src/y.py | a | Two |\n| src/x.py | a | Three |\n";
    let scene = Scene::new(&[("plans/c.md", plan)], "exit 0\n");
    let ran = scene.run("contract-first", &["plans/c.md"]);
    assert_eq!(ran.code, 8, "{}", ran.out);
    assert!(ran.out.contains("nothing was changed, twice"), "{}", ran.out);
}
