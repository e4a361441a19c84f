//! The features playbook, from a `.harness/` folder to the files it leaves.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use serde_json::{Value, json};

use crate::scene::{Ran, Scene};
use crate::stage::{TEAM, of};

/// As harnesses have it: without pipefail, every runner behind a pipe. Coverage is what the
/// tests say they reached.
pub(crate) const INIT: &str = r#"#!/bin/bash
set -e
rm -f lcov.info
for t in tests/*.sh; do
  [ -e "$t" ] || continue
  sh "$t" 2>&1 | tail -20
done
: >> lcov.info
"#;

/// A feature with its ten fields; `more` replaces or adds.
pub(crate) fn feature(id: &str, more: Value) -> Value {
    let mut feature = json!({
        "id": id, "description": format!("Build {id}"), "priority": 1, "status": "pending",
        "scope": [format!("src/{id}/a.sh"), format!("src/{id}/b.sh"), format!("tests/{id}.sh")],
        "depends_on": [], "assigned_to": null, "test_file": null, "coverage": null, "notes": null,
    });
    feature.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    feature
}

pub(crate) fn harness(features: &[Value]) -> String {
    let file = json!({
        "project": "p", "created": "2026-01-01", "total_features": features.len(), "passing": 0,
        "features": features,
    });
    format!("{file:#}\n")
}

/// What a feature's teammate does: code, and a test of it that reaches all of it.
pub(crate) const AGENT: &str = r#"
id=${SHIPMATE_SUBJECT%%:*}
mkdir -p "src/$id" tests
echo "echo $id" > "src/$id/a.sh"
cat > "tests/$id.sh" <<END
sh src/$id/a.sh | grep -q $id
printf 'SF:src/$id/a.sh\nDA:1,1\nend_of_record\n' >> lcov.info
END
"#;

pub(crate) fn scene_with(features: &[Value], more: &[(&str, &str)], agent: &str) -> Scene {
    let text = harness(features);
    let mut files = vec![
        (".harness/features.json", text.as_str()),
        (".harness/init.sh", INIT),
        (".gitignore", "lcov.info\n"),
    ];
    files.extend(more);
    Scene::new(&files, agent)
}

/// A run of the playbook that a person has agreed to.
pub(crate) fn run(scene: &Scene, more: &[&str]) -> Ran {
    let mut args = vec!["--yes"];
    args.extend(more);
    scene.run("features", &args)
}

/// The run was refused before there was a team; what it was told.
pub(crate) fn nothing_began(scene: &Scene, ran: &Ran) -> String {
    let told = format!("{}{}", ran.out, ran.err);
    assert_eq!(ran.code, 2, "{told}");
    assert!(told.contains("nothing was started"), "{told}");
    assert!(!scene.stage.place().team(TEAM).exists(), "a team stays behind");
    told
}

pub(crate) fn features_of(scene: &Scene) -> Value {
    serde_json::from_str(&scene.landed(".harness/features.json")).unwrap()
}

/// One feature as the branch has it.
pub(crate) fn one(scene: &Scene, id: &str) -> Value {
    let file = features_of(scene);
    file["features"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
}

/// The file as soon as it says so. It is committed beside the records: what is waited for is the
/// branch's ref, which changes in one step.
pub(crate) fn wait_for(scene: &Scene, holds: impl Fn(&Value) -> bool) -> Value {
    let folder = scene.stage.place().workspace.join(".git/refs/heads/shipmate");
    let news = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&news, &folder, inotify::WatchFlags::MOVED_TO).unwrap();
    loop {
        let file = features_of(scene);
        if holds(&file) {
            return file;
        }
        let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
        let heard = poll(&mut [PollFd::new(&news, PollFlags::IN)], Some(&limit)).unwrap();
        assert_eq!(heard, 1, "the branch stands still at:\n{file:#}");
        rustix::io::read(&news, &mut [0; 4096]).unwrap();
    }
}

#[test]
fn features_become_passing_and_the_files_of_the_harness_follow() {
    let before = "# Decisions\n\nOld words, kept.";
    let odd = json!({ "depends_on": ["F001"], "priority": 2, "extra": {"b": 1, "a": 2} });
    let two = [feature("F001", json!({})), feature("F002", odd), feature("F003", json!({}))];
    let mut scene = scene_with(
        &two,
        &[(".harness/context_summary.md", before), ("claude-progress.txt", "Day one.\n")],
        AGENT,
    );
    scene.plans = true;
    let ran = run(&scene, &[]);
    ran.ends(
        0,
        &["phase ready is done", "phase repair is left out", "phase build begins", "3 of 3 tasks"],
    );
    assert_eq!(
        scene.phases(),
        [
            "ready done",
            "repair skipped",
            "research skipped",
            "build done",
            "review skipped",
            "synthesis done"
        ]
    );
    let file = features_of(&scene);
    assert_eq!((&file["passing"], &file["total_features"]), (&json!(3), &json!(3)));
    for (n, id) in ["F001", "F002", "F003"].into_iter().enumerate() {
        let found = &file["features"][n];
        assert_eq!(found["id"], id);
        assert_eq!(found["status"], "passing", "{found}");
        assert_eq!(found["assigned_to"], Value::Null);
        assert_eq!(found["test_file"], format!("tests/{id}.sh"));
        assert_eq!(found["coverage"], 100);
        assert_eq!(found.get("correction_cycles"), None);
    }
    // What is not understood stays as it was written, and so does the end of the file.
    let text = scene.landed(".harness/features.json");
    assert!(text.contains("\"extra\": {\n        \"a\": 2,\n        \"b\": 1\n      }"), "{text}");
    assert!(text.ends_with("}\n") && !text.ends_with("\n\n"), "{text:?}");
    let summary = scene.landed(".harness/context_summary.md");
    assert!(summary.starts_with(&format!("{before}\n\n## Session {TEAM} (20")), "{summary}");
    assert!(summary.contains("- F001: passing, by feature-1, commit "), "{summary}");
    let progress = scene.landed("claude-progress.txt");
    assert!(progress.starts_with("Day one.\n\nSession "), "{progress}");
    for id in ["F001", "F002", "F003"] {
        assert!(progress.contains(&format!("{id}: passing, by feature-")), "{progress}");
    }
    assert!(progress.contains("Next: nothing of this session is left."), "{progress}");
    // The lead's commits hold the lead's files alone.
    let own = scene.stage.git(&[
        "log",
        "--author=lead",
        "--no-merges",
        "--format=",
        "--name-only",
        &format!("shipmate/{TEAM}"),
    ]);
    let own: std::collections::BTreeSet<&str> = own.lines().filter(|l| !l.is_empty()).collect();
    let kept = [".harness/context_summary.md", ".harness/features.json", "claude-progress.txt"];
    assert_eq!(own.into_iter().collect::<Vec<_>>(), kept);
    // F002 is made to wait for F001, and nobody takes it before that is done.
    let log = scene.log();
    let made = |id: &str| {
        let mut made = of(&log, "task.created").into_iter();
        made.find(|one| one["spec"]["subject"].as_str().unwrap().starts_with(id)).unwrap()
    };
    let (first, second) = (made("F001"), made("F002"));
    assert_eq!(second["spec"]["blocked_by"], json!([{ "task": first["task"] }]));
    let at = |event: &str, task: &Value| {
        log.iter().position(|record| record["event"][event]["task"] == task["task"]).unwrap()
    };
    assert!(at("task.completed", &first) < at("task.claimed", &second));
}

#[test]
fn a_person_sees_who_would_do_what_and_nobody_starts_before_they_agree() {
    let features = [
        feature("F001", json!({})),
        feature("F002", json!({ "depends_on": ["F001"] })),
        feature("F003", json!({ "description": "Reset the password" })),
    ];
    let mut scene = scene_with(&features, &[], AGENT);
    scene.plans = true;
    let hint = "when somebody shows a plan: `shipmate --workspace";
    scene.run("features", &["--detach"]).ends(0, &[hint, " --team alpha plan list`"]);
    scene.stage.follow();
    let paused = scene.stage.event("team.paused");
    let shown = paused["reason"].as_str().unwrap();
    for part in [
        "approval: phase build begins when you say `shipmate --team alpha continue`",
        "feature-1: sonnet, plans first",
        "feature-2: opus, plans first",
        "F001: Build F001 [src/F001/a.sh, src/F001/b.sh, tests/F001.sh]",
        "F002: Build F002 [src/F002/a.sh, src/F002/b.sh, tests/F002.sh] after F001",
        "F003: Reset the password [src/F003/a.sh, src/F003/b.sh, tests/F003.sh] by feature-2",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
    assert!(scene.stage.events("teammate.started").is_empty());
    assert!(scene.stage.events("task.created").is_empty());
    let went_on = scene.stage.shipmate(&["--team", TEAM, "continue"]);
    assert!(went_on.status.success(), "{went_on:?}");
    // What is risky, and the first of all: each shows its plan to the person, for want of a lead.
    for _ in 0..3 {
        let plan = scene.stage.hear(|event| event.get("plan.submitted").is_some())["n"].to_string();
        let said = scene.stage.shipmate(&["--team", TEAM, "plan", "approve", &plan]);
        assert!(said.status.success(), "{said:?}");
    }
    scene.stage.finished(3);
    let log = scene.log();
    let at = |name: &str| log.iter().position(|one| one["event"].get(name).is_some()).unwrap();
    assert!(at("team.continued") < at("teammate.started"), "nobody starts before");
    assert!(at("team.continued") < at("task.created"), "nor is there a task");
}

#[test]
fn a_file_with_mistakes_starts_nobody_and_names_them_all() {
    let features = [
        feature("F001", json!({ "status": "done" })),
        feature("F002", json!({ "scope": ["../elsewhere"] })),
        feature("F003", json!({ "scope": "src" })),
    ];
    let scene = scene_with(&features, &[], AGENT);
    let told = nothing_began(&scene, &run(&scene, &[]));
    for part in [
        ".harness/features.json:4: F001: status is \"done\"",
        "F002: scope:",
        "F003: scope is \"src\"",
        "--set malformed=leave-out",
    ] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
    let scene = Scene::new(
        &[(".harness/features.json", "{\n \"features\": [\n}\n"), (".harness/init.sh", INIT)],
        AGENT,
    );
    let told = nothing_began(&scene, &run(&scene, &[]));
    assert!(told.contains(".harness/features.json:3: not JSON: expected value"), "{told}");
}

#[test]
fn the_right_half_of_a_file_runs_where_it_is_asked_for() {
    let features = [feature("F001", json!({ "status": "done" })), feature("F002", json!({}))];
    let scene = scene_with(&features, &[], AGENT);
    let ran = run(&scene, &["--set", "malformed=leave-out"]);
    ran.ends(0, &["phase build begins", "left out: ", "F001: status is \"done\"", "1 of 1 task"]);
    assert_eq!(one(&scene, "F002")["status"], "passing");
    // What is wrong stays for whoever has to mend it.
    assert_eq!(one(&scene, "F001")["status"], "done");
}

#[test]
fn features_that_share_files_are_named_before_anybody_starts() {
    let own = |id: &str, path: &str| feature(id, json!({ "scope": [path, "x/1", "x/2"] }));
    let a = own("F001", "./src//auth/");
    let mut b = own("F002", "src/auth/token.sh");
    b["scope"] = json!(["src/auth/token.sh", "y/1", "y/2"]);
    let mut scene = scene_with(&[a.clone(), b.clone()], &[], AGENT);
    let ran = run(&scene, &[]);
    assert_ne!(ran.code, 0, "{}", ran.out);
    let told = format!("{}{}", ran.out, ran.err);
    for part in [
        "F001 and F002 both own src/auth/token.sh",
        "give both to one teammate",
        "let F002 depend on F001",
    ] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
    scene.log();
    assert!(scene.stage.events("teammate.started").is_empty());
}

#[test]
fn what_a_dead_run_had_begun_is_taken_up_by_the_same_name() {
    let begun = json!({ "status": "in-progress", "assigned_to": "ana" });
    let blocked = json!({ "status": "blocked", "depends_on": ["F003"] });
    let features = [
        feature("F001", begun),
        feature("F002", blocked),
        feature(
            "F003",
            json!({ "status": "passing", "test_file": "tests/F003.sh", "coverage": 99 }),
        ),
    ];
    let mut scene = scene_with(&features, &[], AGENT);
    let ran = run(&scene, &["--set", "single=no"]);
    ran.ends(
        0,
        &[
            "F001 was in progress by ana in a run that is over: taken up again",
            "F002 is called blocked, and waits for nothing: it can be taken",
            "2 of 2 tasks",
        ],
    );
    scene.log();
    let claimed = scene.stage.events("task.claimed");
    assert_eq!(claimed[0]["by"], "alpha/ana@1", "{claimed:?}");
    assert_eq!(one(&scene, "F001")["status"], "passing");
    assert_eq!(one(&scene, "F003")["coverage"], 99);
    assert_eq!(features_of(&scene)["passing"], 3);
}

#[test]
fn assigned_to_and_status_follow_the_claim_and_the_release() {
    let agent = format!("here\npass go\n{AGENT}");
    let mut scene =
        scene_with(&[feature("F001", json!({})), feature("F002", json!({}))], &[], &agent);
    scene.stage.door("go");
    let hint = "--yes lets the phases begin; a plan that somebody shows waits for you:";
    scene.run("features", &["--detach", "--yes", "--set", "single=no"]).ends(0, &[hint]);
    scene.stage.follow();
    scene.stage.arrivals(2);
    // The file is written beside the work: by a commit, which is heard of by no record.
    let mut seen = wait_for(&scene, |file| {
        file["features"].as_array().unwrap().iter().all(|one| one["status"] == "in-progress")
    });
    let mut names: Vec<String> = seen["features"]
        .as_array_mut()
        .unwrap()
        .iter()
        .map(|one| one["assigned_to"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["feature-1", "feature-2"]);
    scene.stage.catch_up();
    let claims = scene.stage.events("task.claimed");
    assert_eq!(claims.len(), 2, "{claims:?}");
    for claim in &claims {
        let at = claim["task"].as_u64().unwrap() as usize - 1;
        let name = seen["features"][at]["assigned_to"].as_str().unwrap();
        assert!(claim["by"].as_str().unwrap().starts_with(&format!("alpha/{name}@")), "{claims:?}");
    }
    scene.stage.open("go", 2);
    scene.stage.finished(2);
    let ended = scene.stage.event("phase.ended");
    assert_eq!(ended["phase"], "build");
    for id in ["F001", "F002"] {
        assert_eq!(one(&scene, id)["assigned_to"], Value::Null);
        assert_eq!(one(&scene, id)["status"], "passing");
    }
}

#[test]
fn a_teammate_writes_none_of_the_leads_files() {
    let agent = format!(
        "{AGENT}\nfor own in claude-progress.txt .harness/context_summary.md; do echo mine > $own; done\n\
         echo >> .harness/features.json\n"
    );
    let mut wide = feature("F001", json!({}));
    wide["scope"] = json!(["."]);
    let mut scene = scene_with(&[wide], &[], &agent);
    scene.run("features", &["--detach", "--yes", "--set", "single=no"]).ends(0, &[]);
    scene.stage.follow();
    let asked = scene.stage.event("question.asked");
    let text = asked["text"].as_str().unwrap();
    for own in ["claude-progress.txt", ".harness/context_summary.md", ".harness/features.json"] {
        assert!(text.contains(&format!("{own} (protected)")), "{text}");
    }
    // Refused, it goes back; nothing of it is on the branch.
    let log = scene.log();
    let is_asked = |one: &&Value| one["event"].get("question.asked").is_some();
    let question = log.iter().rfind(is_asked).unwrap()["n"].to_string();
    let told = scene.stage.shipmate(&["--team", "alpha", "answer", &question, "refuse"]);
    assert!(told.status.success(), "{told:?}");
    let back = scene.stage.event("task.returned");
    assert!(back["reason"].as_str().unwrap().contains("leave those files as they are"), "{back}");
    let progress = scene.landed("claude-progress.txt");
    assert!(!progress.contains("mine"), "{progress}");
    assert_eq!(one(&scene, "F001")["status"], "in-progress");
}

#[test]
fn little_work_is_for_one_agent_with_the_numbers_and_a_team_only_where_it_is_asked_for() {
    let small = |id: &str| {
        feature(id, json!({ "scope": [format!("src/{id}/a.sh"), format!("tests/{id}.sh")] }))
    };
    let pair = [small("F001"), small("F002")];
    let mut scene = scene_with(&pair, &[], AGENT);
    let ran = run(&scene, &[]);
    ran.ends(0, &["2 of 2 tasks"]);
    let told = format!("{}{}", ran.out, ran.err);
    let why = "one agent is enough: 2 pieces of work, the larger with 2 files (a team from 3); about \
               24 minutes of work (a team from 30)";
    assert!(told.contains(why), "{told}");
    scene.log();
    let by: std::collections::BTreeSet<String> =
        scene.stage.events("task.claimed").iter().map(|c| c["by"].to_string()).collect();
    assert_eq!(by.len(), 1, "{by:?}");
    // The same has to hold for it: test file and coverage.
    assert_eq!(one(&scene, "F001")["coverage"], 100);
    let scene = scene_with(&pair, &[], AGENT);
    let ran = run(&scene, &["--set", "single=no"]);
    ran.ends(0, &["a team although one agent would do: 2 pieces of work", "2 of 2 tasks"]);
}

#[test]
fn what_landed_arrives_in_the_persons_tree_and_each_feature_has_a_branch() {
    let features =
        [feature("F001", json!({})), feature("F002", json!({})), feature("F003", json!({}))];
    let scene = scene_with(&features, &[], AGENT);
    run(&scene, &[]).ends(0, &["3 of 3 tasks"]);
    let made = scene.stage.shipmate(&["--team", TEAM, "merge", "--branches"]);
    let told = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(made.status.success(), "{made:?}");
    assert!(told.contains(&format!("shipmate/{TEAM}.F001")), "{told}");
    assert!(told.contains(&format!("gh pr create --head shipmate/{TEAM}.F001")), "{told}");
    let files = scene.stage.git(&["diff", "--name-only", "HEAD", &format!("shipmate/{TEAM}.F001")]);
    assert_eq!(files.lines().collect::<Vec<_>>(), ["src/F001/a.sh", "tests/F001.sh"]);
    let merged = scene.stage.shipmate(&["--team", TEAM, "merge"]);
    assert!(merged.status.success(), "{merged:?}");
    let text =
        std::fs::read_to_string(scene.stage.place().workspace.join(".harness/features.json"));
    let file: Value = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(file["passing"], 3);
}

#[test]
fn the_next_session_takes_the_place_of_one_that_is_over_and_merged() {
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], AGENT);
    let agent = scene.agent();
    let args = ["run", "--playbook", "features", "--agent", &agent, "--yes", "--set", "plans=no"];
    let session = |scene: &Scene| Ran::of(&scene.stage.shipmate(&args));
    session(&scene).ends(0, &["1 of 1 task", "team features"]);
    let again = session(&scene);
    assert_eq!(again.code, 1, "{}", again.out);
    for part in ["the team features is over, and", "not in your branch", "--team features merge`"] {
        assert!(again.err.contains(part), "{part}: {}", again.err);
    }
    let merged = scene.stage.shipmate(&["merge"]);
    assert!(merged.status.success(), "{merged:?}");
    let path = scene.stage.place().workspace.join(".harness/features.json");
    let mut file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["features"].as_array_mut().unwrap().push(feature("F004", json!({})));
    file["total_features"] = json!(2);
    scene.stage.write(".harness/features.json", &format!("{file:#}\n"));
    scene.stage.commit();
    // A run that is refused leaves the team of the run before as it was.
    let refused = ["run", "--playbook", "features", "--agent", "no-such-agent-here", "--yes"];
    let refused = Ran::of(&scene.stage.shipmate(&refused));
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(!refused.out.contains("takes its place"), "{}", refused.out);
    let log = scene.stage.shipmate(&["--team", "features", "task", "list", "--json"]);
    assert!(log.status.success(), "{log:?}");
    let place = "the team features of an earlier run is over and merged; this run takes its place";
    session(&scene).ends(0, &[place, "1 of 1 task", "team features"]);
    let made = scene.stage.git(&["show", "shipmate/features:.harness/features.json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["passing"], 2, "{made:#}");
    // Of two sessions on one day each has its section.
    let kept = scene.stage.git(&["show", "shipmate/features:claude-progress.txt"]);
    assert_eq!(kept.matches("Session features (").count(), 2, "{kept}");
    assert!(kept.contains("F001: passing") && kept.contains("F004: passing"), "{kept}");
}

/// Nobody did a task, and yet something is on the branch: it can be had, and the next run begins.
#[test]
fn what_a_session_that_failed_has_written_can_be_merged() {
    let scene = scene_with(&[feature("F001", json!({}))], &[], "exit 1\n");
    let agent = scene.agent();
    let args = ["run", "--playbook", "features", "--agent", &agent, "--yes", "--set", "plans=no"];
    let session = |scene: &Scene| Ran::of(&scene.stage.shipmate(&args));
    assert_eq!(session(&scene).code, 8);
    // It does not go on, and that is said.
    let resumed = Ran::of(&scene.stage.shipmate(&["--team", "features", "resume"]));
    assert_eq!(resumed.code, 8, "{}", resumed.out);
    assert!(
        resumed.out.contains("features: its playbook is over, and tasks are not done (1)"),
        "{}",
        resumed.out
    );
    let again = session(&scene);
    assert!(again.err.contains("the team features is over, and"), "{}", again.err);
    let merged = scene.stage.shipmate(&["merge"]);
    assert!(merged.status.success(), "{merged:?}");
    let again = session(&scene);
    assert_eq!(again.code, 8, "{}", again.err);
    assert!(again.out.contains("this run takes its place"), "{}", again.out);
}

/// Stands in for the program that talks to the service where pull requests are.
fn with_gh(scene: &Scene, line: &str) {
    let folder = scene.stage.root().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let said = scene.stage.root().join("gh.said");
    let text = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n{line}\n", said.display());
    std::fs::write(folder.join("gh"), text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.join("gh"), mode).unwrap();
}

#[test]
fn at_the_end_the_branch_is_pushed_and_a_pull_request_opened_or_it_is_said_how() {
    let one = [feature("F001", json!({}))];
    let branch = format!("shipmate/{TEAM}");
    let with_remote = || {
        let scene = scene_with(&one, &[], AGENT);
        let remote = scene.stage.root().join("remote.git");
        let path = remote.to_str().unwrap();
        scene.stage.git(&["init", "--quiet", "--bare", path]);
        scene.stage.git(&["remote", "add", "origin", path]);
        (scene, remote)
    };
    let (scene, remote) = with_remote();
    with_gh(&scene, "echo https://example.com/pull/7");
    let ran = run(&scene, &["--set", "single=no", "--set", "push=origin"]);
    ran.ends(0, &["pushed to origin as", "opened a pull request: https://example.com/pull/7"]);
    let tip = scene.stage.git(&["rev-parse", &branch]);
    let there = scene.stage.git(&["--git-dir", remote.to_str().unwrap(), "rev-parse", &branch]);
    assert_eq!(there, tip);
    let said = std::fs::read_to_string(scene.stage.root().join("gh.said")).unwrap();
    let words = format!("pr\ncreate\n--head\n{branch}\n--title\n{TEAM}: 1 task\n--body\n- F001");
    assert!(said.starts_with(&words), "{said}");
    // What cannot be opened is told, and costs no work.
    let (scene, _) = with_remote();
    with_gh(&scene, "echo not logged in >&2; exit 4");
    let ran = run(&scene, &["--set", "single=no", "--set", "push=origin"]);
    let told = format!(
        "no pull request was opened: gh: exit code 4: not logged in; \
                        `gh pr create --head {branch}` does it by hand"
    );
    ran.ends(0, &[&told, "1 of 1 task"]);
    // Nobody pushes what they were not told to.
    let (scene, _) = with_remote();
    with_gh(&scene, "");
    let line = format!("`git push origin {branch} && gh pr create --head {branch}` opens a pull");
    run(&scene, &["--set", "single=no"]).ends(0, &[&line]);
    assert!(!scene.stage.root().join("gh.said").exists());
}

#[test]
fn a_repository_with_a_harness_chooses_the_playbook_by_itself_and_says_so() {
    let scene = scene_with(&[feature("F001", json!({}))], &[], AGENT);
    let agent = scene.agent();
    let args = ["--team", TEAM, "run", "--agent", agent.as_str(), "--yes", "--set", "single=no"];
    let ran = Ran::of(&scene.stage.shipmate(&args));
    ran.ends(0, &["phase ready begins", "1 of 1 task"]);
    let told = format!("{}{}", ran.out, ran.err);
    assert!(told.contains("playbook features: .harness/ is here"), "{told}");
}

#[test]
fn who_works_alone_stands_in_the_file_as_well() {
    let agent = format!("here\npass go\n{AGENT}");
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], &agent);
    scene.stage.door("go");
    scene.run("features", &["--detach", "--yes"]).ends(0, &[]);
    scene.stage.follow();
    scene.stage.arrival();
    let file = wait_for(&scene, |file| file["features"][0]["status"] == "in-progress");
    assert_eq!(file["features"][0]["assigned_to"], "lead", "{file:#}");
    scene.stage.open("go", 1);
    scene.stage.finished(1);
}

#[test]
fn what_others_write_into_the_file_meanwhile_is_kept() {
    let agent = format!("here\npass go\n{AGENT}");
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], &agent);
    scene.stage.door("go");
    scene.run("features", &["--detach", "--yes", "--set", "single=no"]).ends(0, &[]);
    scene.stage.follow();
    scene.stage.arrival();
    wait_for(&scene, |file| file["features"][0]["status"] == "in-progress");
    // Somebody commits to the branch while the feature is worked on.
    let text = scene.landed(".harness/features.json");
    let text = text.replace("\"project\": \"p\"", "\"project\": \"renamed\"");
    let path = scene.stage.root().join("theirs.json");
    std::fs::write(&path, text).unwrap();
    let branch = format!("refs/heads/shipmate/{TEAM}");
    let blob = scene.stage.git(&["hash-object", "-w", path.to_str().unwrap()]);
    let index = scene.stage.root().join("theirs.index");
    let line = format!(
        "export GIT_INDEX_FILE={}; git read-tree {branch} && git update-index --cacheinfo \
         100644,{},.harness/features.json && git update-ref {branch} $(git -c user.name=x -c \
         user.email=x@x commit-tree -p {branch} -m theirs $(git write-tree))",
        index.display(),
        blob.trim()
    );
    let alias = format!("alias.theirs=!{line}");
    scene.stage.git(&["-c", &alias, "theirs"]);
    scene.stage.open("go", 1);
    scene.stage.finished(1);
    let file = wait_for(&scene, |file| file["features"][0]["status"] == "passing");
    assert_eq!(file["project"], "renamed");
}
