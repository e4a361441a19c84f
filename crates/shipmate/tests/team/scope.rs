//! Work that touches what is not its own waits for a person's word.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Setup, TaskNew, TeammateAdd};

use crate::stage::Stage;

fn answer(stage: &mut Stage, question: u64, word: &str) {
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer: word.to_owned() }));
}

/// The question that is asked, and its number.
fn question(stage: &mut Stage) -> (u64, String) {
    let record = stage.hear(|event| event.get("question.asked").is_some());
    let text = record["event"]["question.asked"]["text"].as_str().unwrap().to_owned();
    (record["n"].as_u64().unwrap(), text)
}

fn scoped(stage: &mut Stage, setup: Setup) {
    stage.team(setup, &[]);
    let scope = vec!["src/".to_owned()];
    stage.add("a", |add| TeammateAdd { scope, ..add });
}

#[test]
fn what_is_granted_lands_as_it_is() {
    let mut stage = Stage::new("");
    scoped(&mut stage, Setup::default());
    let tasks = stage.tasks(&["here; put src/a x; put docs/b x"]);
    stage.arrival();
    let (id, text) = question(&mut stage);
    assert!(text.contains("docs/b (outside the teammate's scope)"), "{text}");
    assert!(!text.contains("src/a ("), "{text}");
    answer(&mut stage, id, "grant");
    stage.finished(1);
    assert_eq!(stage.events("task.claimed").len(), 1);
    assert!(stage.has_file("docs/b"));
    stage.all_once(&tasks);
}

#[test]
fn what_is_refused_goes_back_and_lands_without_it() {
    let mut stage = Stage::new("");
    scoped(&mut stage, Setup::default());
    let line = "here $SHIPMATE_FEEDBACK; put src/a x; if [ -e docs ]; then rm -r docs; else put docs/b x; fi";
    let tasks = stage.tasks(&[line]);
    stage.arrival();
    let (id, _) = question(&mut stage);
    answer(&mut stage, id, "refuse");
    let again = stage.arrival();
    assert!(again.words.contains("refused") && again.words.contains("docs/b"), "{again:?}");
    stage.finished(1);
    assert!(!stage.has_file("docs/b"));
    stage.all_once(&tasks);
}

#[test]
fn protected_paths_and_other_tasks_files_are_asked_for_too() {
    let mut stage = Stage::new("");
    stage.write("ci/run", "x\n");
    stage.commit();
    let protected = vec!["ci/".to_owned()];
    stage.team(Setup { protected, ..Setup::default() }, &["a"]);
    let subject = "rm ci/run; put mine x; put other x".to_owned();
    let files = vec!["mine".to_owned(), "ci/**".to_owned()];
    let tasks = stage.create(vec![TaskNew { subject, files, ..TaskNew::default() }]);
    let (id, text) = question(&mut stage);
    assert!(text.contains("ci/run (protected)"), "{text}");
    assert!(text.contains("other (not among the task's files)"), "{text}");
    answer(&mut stage, id, "grant");
    stage.finished(1);
    assert!(!stage.has_file("ci/run"));
    stage.all_once(&tasks);
}

#[test]
fn a_question_outlives_the_coordinator_and_its_teammate() {
    let mut stage = Stage::new("");
    scoped(&mut stage, Setup::default());
    let tasks = stage.tasks(&["here; put docs/b x"]);
    stage.arrival();
    let (id, _) = question(&mut stage);
    crate::processes::kill(stage.supervisor("a"));
    crate::processes::kill(stage.coordinator());
    answer(&mut stage, id, "grant");
    stage.finished(1);
    assert_eq!(stage.events("task.claimed").len(), 1);
    stage.all_once(&tasks);
}

#[test]
fn work_lands_without_the_files_that_are_not_its_own() {
    let mut stage = Stage::new("");
    stage.write("docs/kept", "as it was\n");
    stage.commit();
    scoped(&mut stage, Setup::default());
    let line = "put src/a x; put docs/b x; put docs/kept changed; git add -A; \
                git -c user.name=A -c user.email=a@a commit -qm mine; put src/c x";
    let tasks = stage.tasks(&[line]);
    let (id, _) = question(&mut stage);
    answer(&mut stage, id, "without");
    stage.finished(1);
    assert!(stage.has_file("src/a") && stage.has_file("src/c") && !stage.has_file("docs/b"));
    assert_eq!(stage.file("docs/kept"), "as it was\n");
    assert_eq!(stage.events("task.claimed").len(), 1, "nobody had to do it again");
    let history = stage.git(&["log", "--format=", "--name-only", "shipmate/alpha", "--", "docs/b"]);
    assert_eq!(history, "", "what was left out is not in the history");
    stage.all_once(&tasks);
}

#[test]
fn an_agent_that_hands_in_the_same_again_after_a_refusal_lands_without_it() {
    let mut stage = Stage::new("");
    scoped(&mut stage, Setup::default());
    let tasks = stage.tasks(&["here; put src/a x; put docs/b x"]);
    stage.arrival();
    let (id, _) = question(&mut stage);
    answer(&mut stage, id, "refuse");
    stage.arrival();
    stage.finished(1);
    assert!(stage.has_file("src/a") && !stage.has_file("docs/b"));
    assert_eq!(stage.events("question.asked").len(), 1, "it is not asked again");
    stage.all_once(&tasks);
}
