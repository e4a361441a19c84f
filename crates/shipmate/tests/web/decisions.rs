//! Decisions: each kind is answered with a key, and whoever asked gets that answer.

use serde_json::Value;
use shipmate_protocol::verbs::{QuestionKind, Setup, TaskNew, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};
use shipmate_testkit::browser::Page;

use crate::scene::{Scene, claim, seat, seated, task};
use crate::stage::{Stage, TEAM};

#[track_caller]
fn asks(seat: &mut Client, kind: QuestionKind, text: &str, options: &[&str]) -> u64 {
    let options = options.iter().map(|one| (*one).to_owned()).collect();
    match seat.ask(Ask::Question(verbs::Question { kind, text: text.to_owned(), options })).unwrap()
    {
        Answer::Opened(answers::Opened { id }) => id,
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

/// Waits until a decision is on the screen, so that a press may decide it.
#[track_caller]
fn look(scene: &Scene, text: &str) {
    scene.page.see(&format!(".decision[data-shown=yes] >> {text}"));
}

/// Sends what was decided, without the time in which it can be taken back.
#[track_caller]
fn send(scene: &Scene, done: &str) {
    scene.page.key("s");
    scene.told(done);
}

/// Stops the clock that sends what was decided: a slow machine must not be faster than the test.
fn stop_the_clock(page: &Page) {
    page.run(
        "(() => {
           const own = window.setTimeout;
           window.held = [];
           window.setTimeout = (run, ms, ...rest) =>
             ms === 5000 ? window.held.push(run) && 0 : own(run, ms, ...rest);
         })()",
    );
}

/// The time is over for all that was decided.
fn let_the_time_pass(page: &Page) {
    page.run("window.held.splice(0).forEach((run) => run())");
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
    look(&scene, "Which parser?");
    page.see(".decision-facts >> wait");
    page.key("2");
    page.key("Enter");
    send(&scene, "Answered: winnow");
    assert_eq!(question(&scene, choice)["answer"], "winnow");

    page.click(".queue-row >> May I run make?");
    page.see(".decision h2 >> Permission");
    look(&scene, "May I run make?");
    page.key("y");
    send(&scene, "Answered: allow");
    assert_eq!(question(&scene, may)["answer"], "allow");

    page.key("j");
    look(&scene, "In which language?");
    page.key("Enter");
    page.type_text("In English, please");
    page.key("Control+Enter");
    send(&scene, "Answered");
    page.see(".empty >> Nothing waits for you.");
    page.see_none("nav .count");
    assert_eq!(question(&scene, free)["answer"], "In English, please");

    // What is denied has a reason if there is one.
    let more = asks(&mut seats[1], QuestionKind::Permission, "May I delete it?", &[]);
    page.see(".queue-row >> May I delete it?");
    page.key("j");
    look(&scene, "May I delete it?");
    page.key("d");
    page.type_text("keep it");
    page.key("Enter");
    send(&scene, "Denied");
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
        match ana
            .ask(Ask::PlanSubmit(verbs::PlanSubmit { task, body: body.to_owned(), work: None }))
            .unwrap()
        {
            Answer::Opened(answers::Opened { id }) => id,
            other => panic!("{other:?}"),
        }
    };
    let first = submit("Split it, then test it.");
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("5", "Decisions");
    page.see(".decision h2 >> Plan from ana");
    look(&scene, "Split it, then test it.");
    page.see(".decision-facts >> 1 Write the parser");
    page.key("d");
    page.see("label >> What should be different?");
    page.key("Control+Enter");
    page.see(".problem >> A rejection needs words");
    page.type_text("keep the interface");
    page.key("Control+Enter");
    send(&scene, "Plan rejected");
    let plan = |id: u64| {
        let all = scene.json("plan list --all");
        all.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
    };
    assert_eq!(plan(first)["feedback"], "keep the interface");

    let second = submit("Test it, then split it.");
    page.see(".queue-row >> Test it, then split it.");
    page.key("j");
    look(&scene, "Test it, then split it.");
    page.key("y");
    send(&scene, "Plan approved");
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
    scene.page.see(".decision[data-shown=yes] h2 >> Scope from ana");
    // It comes later, and what is below it moves.
    scene.page.see(".decision-change li >> docs/b");
    scene
}

#[test]
fn work_out_of_its_scope_waits_for_a_word_and_lands_with_it() {
    let mut scene = out_of_scope();
    scene.page.see(".decision >> docs/b (outside the teammate's scope)");
    scene.page.key("y");
    send(&scene, "Answered: grant");
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
    send(&scene, "Answered: without");
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
    scene.page.see(".decision h2 >> Approval for team alpha asked by shipmate");
    look(&scene, "phase work begins");
    scene.page.key("y");
    send(&scene, "Approved");
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
    scene
        .stage
        .ask(Ask::Answer(verbs::QuestionAnswer { question: id, answer: "winnow".to_owned() }));
    scene.page.see(".empty >> Nothing waits for you.");
    assert_eq!(question(&scene, id)["answer"], "winnow");
}

#[test]
fn one_press_decides_one_decision() {
    let (stage, mut seats) = seated(&["ana", "bo", "cy"]);
    let permission =
        |seat: &mut Client, text: &str| asks(seat, QuestionKind::Permission, text, &[]);
    let make = permission(&mut seats[0], "May I run make?");
    let push = permission(&mut seats[1], "May I push?");
    let drop = permission(&mut seats[2], "May I drop the table?");
    let scene = Scene::on(stage);
    let page = &scene.page;
    stop_the_clock(page);
    scene.turn("5", "Decisions");
    look(&scene, "May I run make?");
    // A key that was held down while it came up.
    page.run(
        "document.body.dispatchEvent(
           new KeyboardEvent('keydown', {key: 'y', repeat: true, bubbles: true}))",
    );
    page.key("y");
    page.key("y");
    page.see(".decision >> Choose a decision.");
    page.see(".held >> Answered: allow (permission from ana)");
    page.click(".queue-row >> May I push?");
    look(&scene, "May I push?");
    page.double_click(".decision button >> Allow");
    page.see(".decision >> Choose a decision.");
    page.key("y");
    assert!(page.axe().iter().all(|found| !found.is_serious()), "{:#?}", page.axe());
    page.key("s");
    page.see_none(".held-line");
    page.wait_for("all('.queue-row').length === 1");
    page.key("h");
    page.wait_for("all('.decided li').length === 2");
    page.see(".decided li >> you");
    page.see(".decided li >> permission from bo");
    assert_eq!(question(&scene, make)["answer"], "allow");
    assert_eq!(question(&scene, push)["answer"], "allow");
    assert_eq!(question(&scene, drop)["answer"], Value::Null);

    // What goes by itself leaves nothing under the key, either.
    page.key("j");
    look(&scene, "May I drop the table?");
    let more = permission(&mut seats[0], "May I delete it?");
    page.see(".queue-row >> May I delete it?");
    seats[2]
        .ask(Ask::QuestionWithdraw(verbs::QuestionWithdraw {
            question: drop,
            reason: "no".to_owned(),
        }))
        .unwrap();
    page.see(".decision >> Choose a decision.");
    page.key("y");
    page.key("j");
    look(&scene, "May I delete it?");
    assert_eq!(question(&scene, more)["answer"], Value::Null);
}

#[test]
fn a_decision_can_be_taken_back_until_it_is_sent() {
    let (stage, mut seats) = seated(&["ana"]);
    let first = asks(&mut seats[0], QuestionKind::Permission, "May I run make?", &[]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    stop_the_clock(page);
    scene.turn("5", "Decisions");
    look(&scene, "May I run make?");
    page.key("d");
    page.type_text("not now");
    page.key("Enter");
    page.see(".held >> Denied (permission from ana)");
    page.click(".held button >> Undo");
    scene.told("Taken back");
    page.see_none(".held-line");
    // Its words are there again.
    page.wait_for("one('#decision-field').value === 'not now'");
    page.key("Escape");
    look(&scene, "May I run make?");
    page.key("y");
    page.see(".held >> sent in");
    assert_eq!(question(&scene, first)["answer"], Value::Null);
    // Nobody presses anything more.
    let_the_time_pass(page);
    scene.told("Answered: allow");
    assert_eq!(question(&scene, first)["answer"], "allow");

    // Whoever leaves the page has decided.
    let second = asks(&mut seats[0], QuestionKind::Permission, "May I push?", &[]);
    page.see(".queue-row >> May I push?");
    page.key("j");
    look(&scene, "May I push?");
    page.key("y");
    page.see(".held >> sent in");
    page.reload();
    page.see(".empty >> Nothing waits for you.");
    assert_eq!(question(&scene, second)["answer"], "allow");
}

#[test]
fn a_lead_that_words_the_question_of_the_runtime_is_told_as_the_lead() {
    let (mut stage, _) = seated(&["ana"]);
    let mut lou = seat(&mut stage, "lou", |add| TeammateAdd { lead: true, ..add });
    let reason = "approval: phase deploy begins when you say so".to_owned();
    lou.ask(Ask::TeamPause(verbs::TeamPause { reason })).unwrap();
    let scene = Scene::on(stage);
    scene.page.see(".strip >> alpha is paused by lou: approval: phase deploy begins");
    scene.turn("3", "Team");
    scene.page.see("section.screen >> paused by lou");
    scene.turn("5", "Decisions");
    scene.page.see(".empty >> Nothing waits for you.");
}
