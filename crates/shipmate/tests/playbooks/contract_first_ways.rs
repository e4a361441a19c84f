//! contract-first with shipmate's own agents, from a plan that is not clear, and with commands that
//! only some phases run.

use crate::contract_first::{PLAN, WORKFLOW, done_by, run, with};
use crate::features::nothing_began;
use crate::native::Native;
use crate::stage::of;

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
    let other = "models() { put tests/models/test_user.sh true; case \"${SHIPMATE_FEEDBACK:-}\" in \
                 *bob*) put src/models/user.sh NAME=eve ;; *ann*) put src/models/user.sh NAME=bob ;; \
                 *) put src/models/user.sh NAME=ann ;; esac; }\n\
                 service() { put tests/service/test_greet.sh true; }\n\
                 integrate() { put src/app.sh x=1; put tests/integration/test_flow.sh true; }";
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
