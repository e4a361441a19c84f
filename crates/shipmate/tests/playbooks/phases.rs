//! The engine itself: entry, exit, rounds, deadlines, and what a phase in trouble does. The
//! playbooks are a few lines each, in the project's own folder.

use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::{Answer, Ask, answers, verbs};

use crate::features::nothing_began;
use crate::processes;
use crate::scene::Scene;
use crate::stage::TEAM;

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
    let told = "phase later waits: never.txt is not there";
    ran.ends(8, &["phase work is done", told, " merge", "git push . HEAD:shipmate/alpha"]);
    assert_eq!(scene.phases(), ["work done"]);
}

#[test]
fn a_phase_that_waits_looks_at_nothing_until_something_has_changed() {
    let playbook = format!(
        "{HEAD}[[artifacts]]\nformat = \"handoff\"\npath = \"progress.txt\"\non = \"branch\"\n\
         live = true\n{}",
        WORK.replace("roles =", "entry = [\"never.txt\"]\nroles =")
    );
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    let scene = Scene::new(&files, AGENT);
    let calls = scene.stage.root().join("calls");
    scene.stage.replace_git(&format!("echo >> '{}'; exec git \"$@\"", calls.display()));
    scene.run("own", &["plans"]).ends(8, &["phase work waits: never.txt is not there"]);
    let count = || std::fs::read_to_string(&calls).unwrap().len();
    // It may still be at its last look; after that, everybody is answered and git is not asked.
    let status = || {
        let told = scene.stage.shipmate(&["--team", crate::stage::TEAM, "task", "list"]);
        assert!(told.status.success(), "{told:?}");
        count()
    };
    // A git may stand still at that look, and go on later: quiet is six times the same in a row.
    let (mut seen, mut equal) = (status(), 1);
    for _ in 0..200 {
        let before = std::mem::replace(&mut seen, status());
        equal = if before == seen { equal + 1 } else { 1 };
        if equal == 6 {
            return;
        }
    }
    panic!("git is asked again and again");
}

#[test]
fn a_phase_that_is_late_is_left_to_the_lead_who_keeps_what_is_done() {
    let phases = WORK.replace("roles =", "seconds = 1\nlate = \"lead\"\nroles =");
    // The second piece hangs for everybody but the lead.
    let agent = AGENT.replace(
        "cat a.txt > b.txt",
        "test \"$SHIPMATE_TEAMMATE\" = lead || exec tail -f /dev/null\n    cat a.txt > b.txt",
    );
    let playbook = format!("shutdown-seconds = 1\n{HEAD}{phases}");
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    let config = "[agents]\nstop-grace-seconds = 1\n";
    let mut scene = Scene::with(config, &files, &agent);
    let ran = scene.run("own", &["plans"]);
    ran.ends(0, &["lead takes task 2", "phase work is done"]);
    assert!(ran.err.contains("[FALLBACK] phase work is left to the lead"), "{}", ran.err);
    assert_eq!(scene.landed("b.txt"), "a\n");
    let log = scene.log();
    let done = |task: u64| {
        let completed = log.iter().filter_map(|record| record["event"].get("task.completed"));
        completed.filter(|event| event["task"] == task).count()
    };
    assert_eq!((done(1), done(2)), (1, 1), "what was done is not done again");
}

#[test]
fn a_failing_task_stops_the_team_and_what_is_done_stays() {
    let failing = AGENT.replace("cat a.txt > b.txt", "echo cannot >&2; exit 1");
    let playbook = format!("{HEAD}{WORK}\n[[phases]]\nname = \"after\"\n");
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    let mut scene = Scene::new(&files, &failing);
    let ran = scene.run("own", &["plans"]);
    ran.ends(8, &["phase work failed", "task 2 (write b) failed"]);
    assert_eq!(scene.phases(), ["work failed"]);
    assert_eq!(scene.landed("a.txt"), "a\n");
}

#[test]
fn a_gate_of_its_own_wants_new_tests_to_fail_first() {
    let phases = r#"
[gates.red]
commands = ["test -f a.txt"]
expect = "red"
[gates.both]
commands = ["test -f a.txt && test -f b.txt"]
[[phases]]
name = "tests"
roles = ["lead", "dev"]
[[phases.tasks]]
id = "tests"
lead = true
gate = "red"
subject = "mend the tests"
[[phases]]
name = "work"
roles = ["dev"]
gate = "both"
[[phases.tasks]]
id = "task"
each = "item"
role = "dev"
subject = "{subject}"
"#;
    let mut scene = scene(phases);
    let ran = scene.run("own", &["plans"]);
    ran.ends(0, &["phase tests is done", "phase work is done"]);
    assert_eq!(scene.phases(), ["tests done", "work done"]);
}

/// Runs a playbook whose one task has to leave its tests red, with this gate.
fn red(gate: &str) -> crate::scene::Ran {
    let phases = format!(
        "[gates.red]\ncommands = [\"{gate}\"]\nexpect = \"red\"\n\
         [[phases]]\nname = \"tests\"\nroles = [\"lead\"]\n[[phases.tasks]]\nid = \"tests\"\n\
         lead = true\ngate = \"red\"\nsubject = \"mend the tests\"\nretries = 0\n"
    );
    scene(&phases).run("own", &["plans"])
}

#[test]
fn a_runner_that_is_missing_or_killed_is_no_failing_test() {
    red("test -f none").ends(0, &["phase tests is done"]);
    red("none-of-this-name --all").ends(8, &["phase tests failed", "exit status 127"]);
    // A gate that somebody ends has said nothing: it is run again, and then a person is asked.
    red("kill -9 $$").ends(8, &["ended by signal 9: the gate is run again"]);
}

#[test]
fn a_run_sets_what_the_playbook_knows_and_writes_nowhere_else() {
    let playbook =
        format!("{HEAD}[[artifacts]]\nformat = \"tasks-001\"\npath = \"{{dir}}/.tasks\"\n{WORK}",);
    let files = [(".shipmate/playbooks/own.toml", playbook.as_str())];
    for (given, told) in [
        ("targte=90", "own has no value targte\n  there are"),
        ("dir=/tmp/elsewhere", "own would write /tmp/elsewhere/.tasks: "),
        ("dir=../..", "own would write ../../.tasks: "),
    ] {
        let refused = Scene::new(&files, AGENT).run("own", &["--set", given]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains(told), "{refused:?}");
    }
}

#[test]
fn a_phase_whose_work_is_there_is_done_and_one_that_may_be_left_out_is() {
    let phases = format!(
        "[[phases]]\nname = \"plan\"\nroles = [\"lead\"]\nmakes = [\"plans/*.plan.jsonl\"]\n\
         [[phases.tasks]]\nid = \"plan\"\nlead = true\nsubject = \"plan it\"\n\
         [[phases]]\nname = \"critique\"\noptional = true\nmakes = [\"critique.jsonl\"]\n\
         [[phases.tasks]]\nid = \"critique\"\nlead = true\nsubject = \"say what is wrong\"\n{}",
        WORK.replace("roles =", "entry = [\"critique.jsonl\"]\nroles =")
    );
    let mut scene = scene(&phases);
    let ran = scene.run("own", &["plans", "--skip", "critique"]);
    ran.ends(0, &["phase plan is done", "phase critique is left out", "phase work is done"]);
    assert_eq!(scene.phases(), ["plan done", "critique skipped", "work done"]);
    let refused =
        Scene::new(&[(".shipmate/playbooks/own.toml", &format!("{HEAD}{phases}"))], AGENT)
            .run("own", &["--skip", "work"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("cannot be left out"), "{refused:?}");
}

#[test]
fn a_new_team_has_nothing_of_an_earlier_one_of_its_name() {
    let gated = format!(
        "[gates.never]\ncommands = [\"test -f b.txt\"]\n{WORK}gate = \"never\"\nretries = 0\n"
    );
    let scene = scene(&gated);
    scene.run("own", &["plans"]).ends(8, &["phase work failed"]);
    let deleted = scene.stage.shipmate(&["team", "delete", crate::stage::TEAM, "--now"]);
    assert!(deleted.status.success(), "{deleted:?}");
    let other = PLAN.lines().next().unwrap().to_owned()
        + "\n{\"id\":\"T1\",\"tp\":\"auto\",\"a\":\"write b\",\"f\":[\"b.txt\"],\"v\":\"\",\"done\":\"\"}\n";
    scene.stage.write("plans/01-01.plan.jsonl", &other);
    scene.stage.write("a.txt", "another a\n");
    scene.stage.git(&["add", "."]);
    scene.stage.git(&["commit", "-qm", "another plan"]);
    scene.run("own", &["plans"]).ends(0, &["phase work is done"]);
    assert_eq!(scene.landed("a.txt"), "another a\n");
}

#[test]
fn a_coordinator_that_dies_in_a_phase_begins_and_ends_none_twice() {
    let agent = AGENT.replace("\"write a\")", "\"write a\") here; pass go;");
    let after = "\n[[phases]]\nname = \"after\"\nentry = [\"b.txt\"]\n";
    let playbook = format!("{HEAD}{WORK}{after}");
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    let mut scene = Scene::new(&files, &agent);
    scene.stage.door("go");
    scene.run("own", &["plans", "--detach"]).ends(0, &["is at work"]);
    scene.stage.follow();
    scene.stage.arrival();
    processes::kill(scene.stage.coordinator());
    scene.stage.open("go", 1);
    scene.stage.hear(|event| event["phase.ended"]["phase"] == "after");
    assert_eq!(scene.phases(), ["work done", "after done"]);
    assert_eq!(scene.stage.events("phase.began").len(), 2);
    assert_eq!(scene.stage.events("task.created").len(), 2);
}

#[test]
fn work_is_committed_and_pushed_as_the_playbook_says() {
    let commit = "[commit]\nmessage = \"feat({id}): {subject}\"\nbranch = \"feature/{title}\"\n\
                  push = \"origin\"\n";
    let scene = scene(&format!("{commit}{WORK}"));
    let remote = scene.stage.root().join("remote.git");
    scene.stage.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    scene.stage.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let ran = scene.run("own", &["plans", "--set", "title=two-files"]);
    ran.ends(0, &["phase work is done: pushed to origin as feature/two-files"]);
    let subjects = ["log", "--first-parent", "--format=%s", "shipmate/alpha"];
    let subjects = scene.stage.git(&subjects);
    assert_eq!(
        subjects.lines().take(2).collect::<Vec<_>>(),
        ["feat(01-01/T2): write b", "feat(01-01/T1): write a"]
    );
    let there = scene.stage.git(&["ls-remote", "origin", "refs/heads/feature/two-files"]);
    let tip = scene.stage.git(&["rev-parse", "shipmate/alpha"]);
    assert!(there.starts_with(tip.trim()), "{there}");
}

#[test]
fn a_branch_that_is_named_after_a_sentence_has_its_words_with_dashes() {
    let commit = "[commit]\nbranch = \"feature/{title}\"\npush = \"origin\"\n";
    let scene = scene(&format!("{commit}{WORK}"));
    let remote = scene.stage.root().join("remote.git");
    scene.stage.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    scene.stage.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let ran = scene.run("own", &["plans", "--set", "title=Write: two files!"]);
    ran.ends(0, &["phase work is done: pushed to origin as feature/write-two-files"]);
}

#[test]
fn a_plan_with_mistakes_is_refused_before_there_is_a_team() {
    let playbook = format!("{HEAD}{WORK}");
    let plan = PLAN.replace("\"td\":[\"T1\"]", "\"td\":[\"T9\"]");
    let files = [("plans/01-01.plan.jsonl", &*plan), (".shipmate/playbooks/own.toml", &playbook)];
    let scene = Scene::new(&files, AGENT);
    let told = nothing_began(&scene, &scene.run("own", &["plans"]));
    assert!(told.contains("plans/01-01.plan.jsonl:3: "), "{told}");
}

#[test]
fn a_push_that_fails_is_told_and_the_work_stays() {
    let commit = "[commit]\npush = \"nowhere\"\nretries = 1\n";
    let mut scene = scene(&format!("{commit}{WORK}"));
    let ran = scene.run("own", &["plans"]);
    ran.ends(0, &["the branch was not pushed to nowhere as shipmate/alpha, tried 2 times"]);
    assert_eq!(scene.landed("b.txt"), "a\n");
    assert_eq!(scene.phases(), ["work done"]);
}

#[test]
fn a_phase_that_fails_with_more_words_than_can_be_recorded_ends() {
    let mut plan = PLAN.lines().next().unwrap().to_owned();
    for id in 1..=60 {
        let piece =
            format!(r#"{{"id":"T{id}","tp":"auto","a":"w","f":["one.txt"],"v":"","done":""}}"#);
        plan.push_str(&format!("\n{piece}"));
    }
    let playbook = format!("{HEAD}overlap = \"refuse\"\n{WORK}");
    let files = [("plans/01-01.plan.jsonl", &*plan), (".shipmate/playbooks/own.toml", &playbook)];
    let mut scene = Scene::new(&files, AGENT);
    let ran = scene.run("own", &["plans"]);
    ran.ends(8, &["phase work failed: work that would meet", "(the rest is left out)"]);
    assert_eq!(scene.phases(), ["work failed"]);
}

#[test]
fn each_phase_is_asked_about_once_whoever_coordinates_when_the_answer_comes() {
    let phases = WORK.replace("roles =", "approval = true\nroles =");
    let after = "\n[[phases]]\nname = \"after\"\napproval = true\n";
    let mut scene = scene(&format!("{phases}{after}"));
    scene.run("own", &["plans", "--detach"]).ends(0, &[]);
    scene.stage.follow();
    for phase in ["work", "after"] {
        let asked = scene.stage.event("team.paused");
        let question = format!("approval: phase {phase} begins when you say");
        assert!(asked["reason"].as_str().unwrap().starts_with(&question), "{asked}");
        processes::kill(scene.stage.coordinator());
        let went_on = scene.stage.shipmate(&["--team", TEAM, "continue"]);
        assert!(went_on.status.success(), "{went_on:?}");
        scene.stage.hear(|event| event["phase.ended"]["phase"] == phase);
    }
    assert_eq!(scene.phases(), ["work done", "after done"]);
    assert_eq!(scene.stage.events("team.paused").len(), 2);
}

#[test]
fn one_word_lets_one_phase_begin() {
    let own = r#"
name = "own"
[[departments]]
name = "back"
team = "alpha-back"
[[departments]]
name = "front"
team = "alpha-front"
[[phases]]
name = "whole"
level = "root"
departments = true
[[phases]]
name = "build"
approval = true
"#;
    let mut scene = Scene::new(&[(".shipmate/playbooks/own.toml", own)], AGENT);
    scene.run("own", &["--detach"]).ends(0, &[]);
    scene.stage.follow();
    for _ in 0..2 {
        scene.stage.event("team.paused");
    }
    let waiting = |scene: &Scene| -> Vec<String> {
        let listed = scene.stage.shipmate(&["--team", TEAM, "decisions", "--json"]);
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        let teams = listed.as_array().unwrap().iter().map(|one| one["team"].as_str().unwrap());
        let mut teams: Vec<String> = teams.map(str::to_owned).collect();
        teams.sort_unstable();
        teams
    };
    // What is below the team that is named is not answered by the way.
    scene.stage.shipmate(&["--team", TEAM, "continue"]);
    assert_eq!(waiting(&scene), ["alpha-back", "alpha-front"]);
    for (team, left) in [("alpha-back", vec!["alpha-front"]), ("alpha-front", vec![])] {
        scene.stage.shipmate(&["--team", team, "continue"]);
        scene.stage.hear(|event| event["phase.began"]["team"] == team);
        assert_eq!(waiting(&scene), left);
    }
    scene.stage.hear(|event| event["phase.ended"]["phase"] == "whole");
}

/// A commit on the team's branch that nobody of the team has made.
fn commit_by_hand(scene: &Scene, file: &str) {
    let hand = scene.stage.root().join("hand");
    let path = hand.to_str().unwrap();
    scene.stage.git(&["worktree", "add", "--quiet", path, &format!("shipmate/{TEAM}")]);
    std::fs::write(hand.join(file), "by hand\n").unwrap();
    scene.stage.git(&["-C", path, "add", file]);
    scene.stage.git(&["-C", path, "commit", "--quiet", "--message", "by hand"]);
}

#[test]
fn a_lead_cannot_word_the_question_by_which_a_phase_begins() {
    let later = "\n[[phases]]\nname = \"later\"\napproval = true\nentry = [\"hand.txt\"]\n";
    let mut scene = scene(&format!("{WORK}{later}"));
    scene.run("own", &["plans", "--detach"]).ends(0, &[]);
    scene.stage.follow();
    scene.stage.hear(|event| event["phase.waits"]["phase"] == "later");
    let (name, supervision) = ("lead".to_owned(), Supervision::None);
    let Answer::Started(answers::Started { token, .. }) =
        scene.stage.ask(Ask::TeammateStart(verbs::TeammateStart { name, supervision }))
    else {
        panic!("a lead that nobody runs is started");
    };
    let words = "approval: phase later begins when you say `shipmate --team alpha continue`";
    let reason = format!("{words}\n  worker: only prints the weather");
    scene.stage.client_of(token).ask(Ask::TeamPause(verbs::TeamPause { reason })).unwrap();
    let status = scene.stage.shipmate(&["--team", TEAM, "status"]);
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains(&format!("{TEAM}, by lead: {words}")), "{status}");
    scene.stage.event("team.paused");
    // The yes is to the lead's words: the runtime still asks its own question.
    commit_by_hand(&scene, "hand.txt");
    let went_on = scene.stage.shipmate(&["--team", TEAM, "continue"]);
    assert!(went_on.status.success() || went_on.status.code() == Some(8), "{went_on:?}");
    let asked = scene.stage.event("team.paused");
    assert_eq!(asked["cause"], serde_json::json!({ "approval": { "phase": "later" } }));
    assert_eq!(scene.phases(), ["work done"]);
    let went_on = scene.stage.shipmate(&["--team", TEAM, "continue"]);
    assert!(went_on.status.success(), "{went_on:?}");
    scene.stage.hear(|event| event["phase.ended"]["phase"] == "later");
    let decided = scene.stage.shipmate(&["--team", TEAM, "decisions", "--all", "--json"]);
    let decided: serde_json::Value = serde_json::from_slice(&decided.stdout).unwrap();
    assert_eq!(decided.as_array().unwrap().len(), 1, "{decided}");
    assert_eq!([&decided[0]["kind"], &decided[0]["by"]], ["approval", "person"]);
}

#[test]
fn what_is_committed_by_hand_on_the_teams_branch_is_seen() {
    let wait = "\n[[phases]]\nname = \"later\"\nentry = [\"hand.txt\"]\n";
    let mut scene = scene(&format!("{WORK}{wait}"));
    scene.run("own", &["plans", "--detach"]).ends(0, &[]);
    scene.stage.follow();
    scene.stage.event("phase.waits");
    commit_by_hand(&scene, "hand.txt");
    scene.stage.hear(|event| event["phase.ended"]["phase"] == "later");
    assert_eq!(scene.phases(), ["work done", "later done"]);
}

#[test]
fn work_is_not_taken_back_where_the_gate_passes_with_it_and_not_without_it() {
    let repair = r#"
[[phases]]
name = "repair"
reverts = { file = "back.json", key = "revert" }
[[phases.tasks]]
id = "decide"
lead = true
subject = "decide"
"#;
    let decide = "\"decide\") put back.json '{\"revert\": [\"01-01/T2\"]}' ;;\n  \"write a\")";
    let agent = AGENT.replace("\"write a\")", decide);
    let playbook = format!("{HEAD}{WORK}{repair}");
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    let mut scene = Scene::new(&files, &agent);
    // Whoever decides to take it back makes the other file needed.
    let gate = "test ! -e back.json || test -e b.txt";
    let ran = scene.run("own", &["plans", "--gate", gate]);
    ran.ends(8, &["phase repair failed", "the gate is red without that work"]);
    assert_eq!(scene.phases(), ["work done", "repair failed"]);
    assert!(scene.stage.events("task.reverted").is_empty());
    assert_eq!(scene.landed("b.txt"), "a\n");
}

#[test]
fn a_coordinator_that_dies_after_work_was_taken_back_gives_none_of_it_to_the_lead() {
    let repair = r#"
[values]
door = ""
[gates.slow]
commands = ["head -c 1 {door}"]
[[phases]]
name = "repair"
reverts = { file = "back.json", key = "revert" }
gate = "slow"
failed = "lead"
[[phases.tasks]]
id = "decide"
lead = true
subject = "decide"
"#;
    let decide = "\"decide\") put back.json '{\"revert\": [\"01-01/T2\"]}' ;;\n  \"write a\")";
    let agent = AGENT.replace("\"write a\")", decide);
    let playbook = format!("{HEAD}{WORK}{repair}");
    let files = [("plans/01-01.plan.jsonl", PLAN), (".shipmate/playbooks/own.toml", &playbook)];
    let mut scene = Scene::new(&files, &agent);
    scene.stage.door("gate");
    let door = format!("door={}", scene.stage.root().join("gate.door").display());
    scene.run("own", &["plans", "--detach", "--set", &door]).ends(0, &[]);
    scene.stage.follow();
    scene.stage.event("task.reverted");
    processes::kill(scene.stage.coordinator());
    // For the gate of the coordinator that died, should it still wait, and for the next.
    scene.stage.open("gate", 2);
    scene.stage.hear(|event| event["phase.ended"]["phase"] == "repair");
    assert_eq!(scene.phases(), ["work done", "repair done"]);
    assert!(scene.stage.events("phase.left_to_lead").is_empty());
    assert_eq!(scene.stage.events("task.reverted").len(), 1);
}

const DELIBERATES: &str = r#"
name = "own"
[roles.lead]
lead = true
[roles.architect]
[roles.security]
[[phases]]
name = "decide"
roles = ["lead", "architect", "security"]
failed = { back = "decide", rounds = 1 }
[phases.deliberation]
question = "How are {goal} kept?"
by = ["architect", "security"]
folder = "design"
[[phases]]
name = "build"
[[phases.tasks]]
id = "build"
lead = true
subject = "build it"
"#;

/// Who proposes says who it is; whoever decides is not sure the first time.
const DELIBERATE: &str = r#"
n=$(echo "$SHIPMATE_SUBJECT" | tr -dc 12 | cut -c1)
case "$SHIPMATE_SUBJECT" in
  "Propose ("*) put design/proposal-$n.md "as the $SHIPMATE_TEAMMATE says" ;;
  "Criticise "*) put design/critique-$n.md "$(cat design/proposal-1.md design/proposal-2.md)" ;;
  "Decide: "*) status=decided
    if [ ! -e "$S/notes/open" ]; then touch "$S/notes/open"; status=open; fi
    cat design/critique-1.md design/critique-2.md
    put design/verdict.json "{\"status\":\"$status\",\"verdict\":\"in files\",\"reasons\":[\"it is enough\"]}" ;;
  "build it") put built.txt "$(cat design/verdict.json)" ;;
esac
"#;

#[test]
fn several_propose_and_criticise_and_the_lead_decides_with_reasons() {
    let files = [(".shipmate/playbooks/own.toml", DELIBERATES)];
    let mut scene = Scene::new(&files, DELIBERATE);
    let open = "phase decide goes back: design/verdict.json is not far enough: no line of it says \
                status is decided";
    let ran = scene.run("own", &["the notes"]);
    ran.ends(0, &[open, "phase decide begins, round 2", "phase decide is done", "11 of 11 tasks"]);
    assert_eq!(scene.phases(), ["decide back", "decide done", "build done"]);
    let both = "as the architect says\nas the security says\n";
    for critique in ["design/critique-1.md", "design/critique-2.md"] {
        assert_eq!(scene.landed(critique), both, "each critic has read every proposal");
    }
    assert!(scene.landed("built.txt").contains("it is enough"));
    // Who did what: the proposals first, then the critique, then the lead.
    let log = scene.log();
    let claimed = crate::contract_first::done_by(&log);
    let who: Vec<&str> = claimed[..5].iter().map(|(_, who)| who.as_str()).collect();
    let mut two = [[who[0], who[1]], [who[2], who[3]]];
    two.iter_mut().for_each(|pair| pair.sort());
    assert_eq!((two, who[4]), ([["architect", "security"]; 2], "lead"));
}
