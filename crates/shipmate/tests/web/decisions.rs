//! Decisions: each kind is answered with a key, and whoever asked gets that answer.

use serde_json::Value;
use shipmate_protocol::ask::{QuestionKind, Setup, TaskNew, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client};

use crate::scene::{Scene, claim, seat, seated, task};
use crate::stage::{Stage, TEAM};

#[track_caller]
fn asks(seat: &mut Client, kind: QuestionKind, text: &str, options: &[&str]) -> u64 {
    let options = options.iter().map(|one| (*one).to_owned()).collect();
    match seat.ask(Ask::Question { kind, text: text.to_owned(), options }).unwrap() {
        Answer::Opened { id } => id,
        other => panic!("{other:?}"),
    }
}

/// The question as `shipmate questions` has it.
#[track_caller]
fn question(scene: &Scene, id: u64) -> Value {
    let all = scene.json("questions --all");
    let found = all.as_array().unwrap().iter().find(|one| one["id"] == id);
    found.unwrap_or_else(|| panic!("{all}")).clone()
}

#[test]
fn questions_and_permissions_are_answered_with_a_key_most_waiting_work_first() {
    let (mut stage, mut seats) = seated(&["ana", "bo"]);
    let behind = |on: &str| TaskNew { blocked_by: vec![on.to_owned()], ..task("Later") };
    stage.create_in_turn(vec![
        task("Write the parser"),
        task("Write the manual"),
        behind("1"),
        behind("1"),
    ]);
    claim(&mut seats[1], 2);
    claim(&mut seats[0], 1);
    let free = asks(&mut seats[1], QuestionKind::Question, "In which language?", &[]);
    let choice = asks(&mut seats[0], QuestionKind::Question, "Which parser?", &["nom", "winnow"]);
    let may = asks(&mut seats[1], QuestionKind::Permission, "May I run make?", &[]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    page.see("nav a >> 3 wait for you");
    scene.turn("5", "Decisions");
    // Two tasks wait for the one that asks which parser.
    page.wait_for("all('.queue-row')[0].innerText.includes('Which parser?')");
    page.see(".decision >> Which parser?");
    page.see(".decision-facts >> wait");
    page.key("2");
    page.key("Enter");
    scene.told("Answered: winnow");
    assert_eq!(question(&scene, choice)["answer"], "winnow");

    page.click(".queue-row >> May I run make?");
    page.see(".decision h2 >> Permission");
    page.key("y");
    scene.told("Answered: allow");
    assert_eq!(question(&scene, may)["answer"], "allow");

    page.see(".decision >> In which language?");
    page.key("Enter");
    page.type_text("In English, please");
    page.key("Control+Enter");
    page.see(".empty >> Nothing waits for you.");
    assert_eq!(question(&scene, free)["answer"], "In English, please");
    page.see_none("nav .count");

    // What is denied has a reason if there is one.
    let more = asks(&mut seats[1], QuestionKind::Permission, "May I delete it?", &[]);
    page.see(".decision >> May I delete it?");
    page.key("d");
    page.type_text("keep it");
    page.key("Enter");
    scene.told("Denied");
    assert_eq!(question(&scene, more)["answer"], "deny: keep it");
}

#[test]
fn a_plan_is_approved_or_rejected_with_words() {
    let (mut stage, _) = seated(&[]);
    stage.create(vec![task("Write the parser")]);
    let mut ana =
        seat(&mut stage, "ana", |add| TeammateAdd { mode: Some("plan".to_owned()), ..add });
    claim(&mut ana, 1);
    let mut submit = |body: &str| {
        let task = Some("1".to_owned());
        match ana.ask(Ask::PlanSubmit { task, body: body.to_owned(), work: None }).unwrap() {
            Answer::Opened { id } => id,
            other => panic!("{other:?}"),
        }
    };
    let first = submit("Split it, then test it.");
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("5", "Decisions");
    page.see(".decision h2 >> Plan from ana");
    page.see(".decision >> Split it, then test it.");
    page.see(".decision-facts >> 1 Write the parser");
    page.key("d");
    page.see("label >> What should be different?");
    page.key("Control+Enter");
    page.see(".problem >> A rejection needs words");
    page.type_text("keep the interface");
    page.key("Control+Enter");
    scene.told("Plan rejected");
    let plan = |id: u64| {
        let all = scene.json("plan list --all");
        all.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
    };
    assert_eq!(plan(first)["feedback"], "keep the interface");

    let second = submit("Test it, then split it.");
    page.see(".decision >> Test it, then split it.");
    page.key("y");
    scene.told("Plan approved");
    page.see(".empty >> Nothing waits for you.");
    assert_eq!(plan(second)["state"], "approved");
}

/// Work that waits for a word about a file that is not its own.
fn out_of_scope() -> Scene {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    stage.add("ana", |add| TeammateAdd { scope: vec!["src/".to_owned()], ..add });
    stage.tasks(&["here; put src/a x; put docs/b x"]);
    stage.arrival();
    stage.event("question.asked");
    let scene = Scene::on(stage);
    scene.turn("5", "Decisions");
    scene.page.see(".decision h2 >> Scope from ana");
    scene
}

#[test]
fn work_out_of_its_scope_waits_for_a_word_and_lands_with_it() {
    let mut scene = out_of_scope();
    scene.page.see(".decision >> docs/b (outside the teammate's scope)");
    scene.page.key("y");
    scene.page.see(".empty >> Nothing waits for you.");
    scene.stage.finished(1);
    assert!(scene.stage.has_file("docs/b"));
    assert_eq!(scene.task(1)["status"], "completed");
}

#[test]
fn work_lands_without_the_files_that_are_not_its_own() {
    let mut scene = out_of_scope();
    scene.page.see(".decision >> Without: the work is merged, but for these files.");
    scene.page.click(".decision button >> Without");
    scene.page.see(".empty >> Nothing waits for you.");
    scene.stage.finished(1);
    assert!(scene.stage.has_file("src/a"));
    assert!(!scene.stage.has_file("docs/b"));
}

const PLAYBOOK: &str = r#"
name = "own"
[roles.dev]
[work]
format = "plan-lines"
files = ["plans/*.plan.jsonl"]
[[phases]]
name = "work"
approval = true
roles = ["dev"]
[[phases.tasks]]
id = "task"
each = "item"
role = "dev"
subject = "{subject}"
"#;

const PLAN: &str = r#"{"p":"01","n":"01","t":"A file","w":1,"d":[],"obj":"it","mh":{}}
{"id":"T1","tp":"auto","a":"write a","f":["a.txt"],"v":"","done":""}
"#;

#[test]
fn a_phase_that_waits_for_approval_begins_with_a_key() {
    let mut stage = Stage::new("");
    stage.write(".shipmate/playbooks/own.toml", PLAYBOOK);
    stage.write("plans/01-01.plan.jsonl", PLAN);
    stage.commit();
    let agent = "cat > /dev/null; echo a > a.txt";
    let run = ["run", "--playbook", "own", "plans", "--agent", agent, "--detach"];
    let ran = stage.shipmate(&[&["--team", TEAM][..], &run].concat());
    assert!(ran.status.success(), "{ran:?}");
    stage.follow();
    stage.event("team.paused");
    let mut scene = Scene::on(stage);
    scene.turn("5", "Decisions");
    scene.page.see(".decision h2 >> Approval for team alpha");
    scene.page.key("y");
    scene.told("Approved");
    scene.stage.hear(|event| event["phase.ended"]["phase"] == "work");
    assert_eq!(scene.task(1)["status"], "completed");
    scene.page.see(".empty >> Nothing waits for you.");
}

#[test]
fn what_is_answered_elsewhere_leaves_the_queue() {
    let (stage, mut seats) = seated(&["ana"]);
    let id = asks(&mut seats[0], QuestionKind::Question, "Which parser?", &[]);
    let mut scene = Scene::on(stage);
    scene.turn("5", "Decisions");
    scene.page.click(".decision textarea");
    scene.page.type_text("nom");
    scene.stage.ask(Ask::Answer { question: id, answer: "winnow".to_owned() });
    scene.page.see(".empty >> Nothing waits for you.");
    assert_eq!(question(&scene, id)["answer"], "winnow");
}
