//! A goal run that failed on its configuration is mended and goes on with the same goal.

use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::{Answer, Ask, verbs};

use crate::ran::Ran;
use crate::scene::{Scene, events};
use crate::stage::{SHIPMATE, TEAM, hermetic};

const ONE_PART: &str = include_str!("scripts/one_part.model");

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Changes a word of the configuration.
fn edit_config(scene: &Scene, was: &str, is: &str) {
    let path = scene.stage.place().config();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(was), "{was} is not in {text}");
    std::fs::write(&path, text.replace(was, is)).unwrap();
}

/// The same, and the next coordinator reads it.
fn set_config(scene: &Scene, was: &str, is: &str) {
    edit_config(scene, was, is);
    scene.stage.shipmate(&["coordinator", "stop"]);
}

/// A command from a terminal with this key.
fn with_key(scene: &Scene, key: &str, args: &[&str]) -> Ran {
    let mut command = hermetic(&scene.stage.root(), SHIPMATE);
    command.env("TEST_KEY", key).arg("--workspace").arg(scene.stage.place().workspace);
    Ran::of(&command.args(["--team", TEAM]).args(args).output().unwrap())
}

/// Its lead was lost once, for something that only a person can mend, and nothing was tried again.
fn was_unable_once(scene: &mut Scene) {
    let log = scene.log();
    let gone = events(&log, "teammate.disappeared");
    assert_eq!(gone.len(), 1, "{log:?}");
    assert_eq!(gone[0]["loss"], "unable");
    assert!(events(&log, "breaker.opened").is_empty());
}

fn resume(scene: &Scene) -> Ran {
    Ran::of(&scene.stage.shipmate(&["--team", TEAM, "resume"]))
}

/// Waits for the lead's plan and lets it begin.
fn approve(scene: &mut Scene) {
    scene.stage.follow();
    let plan = scene.stage.hear(|event| event.get("plan.submitted").is_some());
    scene.stage.ask(Ask::PlanApprove(verbs::PlanApprove { plan: plan["n"].as_u64().unwrap() }));
}

#[test]
fn a_wrong_address_is_told_once_and_after_the_mend_resume_finishes_the_run() {
    let mut scene = Scene::new(ONE_PART);
    let right = scene.server.url().to_owned();
    set_config(&scene, &right, NOWHERE);
    let ran = scene.run("make one part", &["--yes"]);
    assert_eq!(ran.code, 8, "{}{}", ran.out, ran.err);
    was_unable_once(&mut scene);
    // Before the mend it fails again, and says so: now and then only when it is asked once more.
    let mut answers = std::iter::repeat_with(|| resume(&scene)).take(200);
    let failed = answers.find(|ran| ran.code != 0).expect("it fails again");
    failed.ends(8, &["alpha/lead", "failed", "127.0.0.1:9", "resume"]);
    set_config(&scene, NOWHERE, &right);
    resume(&scene).ends(0, &["alpha/lead", "restarted"]);
    approve(&mut scene);
    scene.stage.finished(1);
    assert_eq!(scene.stage.file("a.txt"), "a\n");
}

#[test]
fn a_wrong_key_is_told_once_and_resume_with_the_right_one_finishes_the_run() {
    let mut scene = Scene::new(&format!("key right\n{ONE_PART}"));
    set_config(&scene, "key-variable = \"\"", "key-variable = \"TEST_KEY\"");
    let run = ["run", "make one part", "--agent", "native", "--yes"];
    with_key(&scene, "wrong", &run).ends(8, &["401", "TEST_KEY", "resume"]);
    was_unable_once(&mut scene);
    with_key(&scene, "still wrong", &["resume"]).ends(8, &["alpha/lead", "failed", "401"]);
    // The coordinator that runs hears of it.
    with_key(&scene, "right", &["resume"]).ends(0, &["alpha/lead", "restarted"]);
    approve(&mut scene);
    scene.stage.finished(1);
    assert_eq!(scene.stage.file("a.txt"), "a\n");
}

#[test]
fn a_model_that_is_none_is_told_once_and_after_the_mend_resume_finishes_the_run() {
    let mut scene = Scene::new(&format!("model scripted\n{ONE_PART}"));
    edit_config(&scene, "test/scripted", "test/scriptde");
    scene.run("make one part", &["--yes"]).ends(8, &["404", "scriptde", "resume"]);
    was_unable_once(&mut scene);
    edit_config(&scene, "test/scriptde", "test/scripted");
    resume(&scene).ends(0, &["alpha/lead", "restarted"]);
    approve(&mut scene);
    scene.stage.finished(1);
    assert_eq!(scene.stage.file("a.txt"), "a\n");
}

#[test]
fn a_lead_is_started_under_a_supervisor_by_its_name() {
    let mut scene = Scene::new(ONE_PART);
    let right = scene.server.url().to_owned();
    set_config(&scene, &right, NOWHERE);
    assert_eq!(scene.run("make one part", &["--yes"]).code, 8);
    set_config(&scene, NOWHERE, &right);
    let start = ["--team", TEAM, "teammate", "start", "lead"];
    let started = Ran::of(&scene.stage.shipmate(&start));
    // The run has shut its team down: that is said, with the word that lets it go on.
    if started.code != 0 {
        assert!(started.err.contains("resume"), "{started:?}");
        resume(&scene).ends(0, &["alpha/lead", "restarted"]);
    }
    let lead = scene.stage.teammate("lead");
    assert_eq!(lead.supervision, Supervision::Supervised);
    approve(&mut scene);
    scene.stage.finished(1);
}

#[test]
fn a_goal_that_its_lead_has_read_reaches_its_next_life() {
    let mut scene = Scene::new(
        r#"
as lead
on "one part"
  say It is easy.
on "Your turn ended without a plan"
  say I would rather not.
"#,
    );
    let ran = scene.run("make one part", &[]);
    ran.ends(8, &["there is no plan"]);
    assert_eq!(scene.requests_of("lead"), 3, "it was asked twice more");
    let before = scene.server.requests().len();
    resume(&scene).ends(0, &["alpha/lead"]);
    let log = scene.log();
    let goals = events(&log, "message.sent");
    let goals = goals.iter().filter(|sent| sent["body"] == "make one part").count();
    assert_eq!(goals, 2, "{log:?}");
    scene.stage.follow();
    // Of the first life and of the next.
    for _ in 0..2 {
        scene.stage.hear(|event| {
            event.get("message.sent").is_some_and(|sent| sent["kind"]["handoff"] == "no_plan")
        });
    }
    assert!(scene.server.requests().len() > before, "the lead was asked again");
    let Answer::Teammates(_) = scene.stage.ask(Ask::Teammates) else { panic!() };
}
