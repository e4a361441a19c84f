//! The engine itself: entry, exit, rounds, deadlines, and what a phase in trouble does. The
//! playbooks are a few lines each, in the project's own folder.

use crate::scene::Scene;

const PLAN: &str = r#"{"p":"01","n":"01","t":"Two files","w":1,"d":[],"obj":"both","mh":{}}
{"id":"T1","tp":"auto","a":"write a","f":["a.txt"],"v":"","done":""}
{"id":"T2","tp":"auto","a":"write b","f":["b.txt"],"td":["T1"],"v":"","done":""}
"#;

const HEAD: &str = r#"
name = "own"
[roles.lead]
lead = true
[roles.dev]
cap = 3
[work]
format = "plan-lines"
files = ["{dir}/*.plan.jsonl"]
"#;

const AGENT: &str = r#"
case "$SHIPMATE_SUBJECT" in
  "write a") echo a > a.txt ;;
  "write b") cat a.txt > b.txt ;;
  "review "*) echo "{\"r\":\"$(cat verdict 2>/dev/null || echo no)\"}" > review.jsonl ;;
  "mend "*) echo approve > verdict ;;
esac
"#;

fn scene(phases: &str) -> Scene {
    let playbook = format!("{HEAD}{phases}");
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    Scene::new(&files, AGENT)
}

const WORK: &str = r#"
[[phases]]
name = "work"
roles = ["lead", "dev"]
[[phases.tasks]]
id = "task"
each = "item"
role = "dev"
subject = "{subject}"
"#;

#[test]
fn pieces_of_work_become_tasks_that_wait_for_each_other() {
    let mut scene = scene(WORK);
    let ran = scene.run("own", &["plans"]);
    ran.ends(0, &["phase work begins", "write a", "write b", "phase work is done", "2 of 2 tasks"]);
    assert_eq!(scene.landed("b.txt"), "a\n");
    assert_eq!(scene.phases(), ["work done"]);
}

#[test]
fn a_review_that_asks_for_changes_goes_back_and_is_counted() {
    let review = r#"
[[phases.tasks]]
id = "mend"
round = "later"
role = "dev"
subject = "mend it"
[[phases]]
name = "review"
exit = [{ file = "review.jsonl", key = "r", is = "approve" }]
failed = { back = "work", rounds = 2 }
[[phases.tasks]]
id = "review"
lead = true
subject = "review {round}"
"#;
    let mut scene = scene(&format!("{WORK}{review}"));
    let ran = scene.run("own", &["plans"]);
    ran.ends(0, &["phase review goes back", "phase work begins, round 2", "phase review is done"]);
    assert_eq!(scene.phases(), ["work done", "review back", "work done", "review done"]);
}

#[test]
fn a_phase_whose_entry_is_missing_says_what_it_waits_for_and_the_run_ends() {
    let wait = "\n[[phases]]\nname = \"later\"\nentry = [\"never.txt\"]\n";
    let mut scene = scene(&format!("{WORK}{wait}"));
    let ran = scene.run("own", &["plans"]);
    ran.ends(8, &["phase work is done", "phase later waits: never.txt is not there"]);
    assert_eq!(scene.phases(), ["work done"]);
}
