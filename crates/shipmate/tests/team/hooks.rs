//! The user's hooks, through the whole product.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Setup, TaskNew, TeammateAdd};

use crate::stage::{Stage, task_of};

/// A hook of the project. `$R` is the stage's folder.
fn hook(stage: &Stage, event: &str, line: &str) {
    let root = stage.root();
    stage.write(
        &format!(".shipmate/hooks/{event}"),
        &format!("#!/bin/sh\nR={}\n{line}\n", root.display()),
    );
    let path = stage.place().project().join("hooks").join(event);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_completion_that_a_hook_rejects_goes_on_with_the_hooks_words() {
    let mut stage = Stage::new("");
    hook(
        &stage,
        "TaskCompleted",
        "cat > $R/notes/told; mkdir $R/notes/once 2>/dev/null && echo say please >&2 && exit 2; exit 0",
    );
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&["here $SHIPMATE_FEEDBACK; put f1 $SHIPMATE_ATTEMPT"]);
    let first = stage.arrival();
    let second = stage.arrival();
    assert_eq!(first.name, second.name);
    assert!(second.words.contains("say please"), "{second:?}");
    stage.finished(1);
    let told = std::fs::read_to_string(stage.root().join("notes/told")).unwrap();
    assert!(told.contains("\"task_id\":\"1\"") && told.contains("TaskCompleted"), "{told}");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["task_subject"], "here $SHIPMATE_FEEDBACK; put f1 $SHIPMATE_ATTEMPT");
    assert!(told["task_description"].is_string(), "{told}");
    stage.all_once(&tasks);
}

#[test]
fn what_an_idle_hook_says_is_the_next_turn_of_who_can_be_talked_to() {
    let script = r#"
as a
on "Task 1:"
  tool bash {"command":"echo one > one.txt"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "there is more to find"
  say I have looked.
"#;
    let server = shipmate_testkit::model::Server::start(script);
    let more = "[hooks]\nTeammateIdle = [\"echo there is more to find >&2; exit 2\"]";
    let mut stage = crate::native::stage(&server, "anthropic", more, &["a"]);
    let tasks = stage.tasks(&["write"]);
    server.wait_for(|request| request.body.to_string().contains("there is more to find"));
    let told = stage.event("teammate.idle");
    assert!(told["reason"].as_str().unwrap().contains("rejected"), "{told}");
    stage.finished(1);
    stage.all_once(&tasks);
}

const SETTINGS: &str = r#"{"hooks": {
  "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}],
  "TaskCompleted": [{"hooks": [
    {"type": "command", "command": "bash \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/verify.sh"},
    {"type": "command", "command": "sh checks/second.sh", "timeout": 30}]}]}}"#;

#[test]
fn hooks_of_claude_settings_are_those_of_the_commit_the_team_began_with() {
    let mut stage = Stage::new("");
    stage.write(".claude/settings.json", SETTINGS);
    let verify = "cat > /dev/null\n[ -e good ] || { echo where is good >&2; exit 2; }\n";
    stage.write(".claude/hooks/verify.sh", verify);
    stage.write("checks/second.sh", "[ -e better ] || { echo where is better >&2; exit 2; }\n");
    stage.commit();
    stage.team(Setup::default(), &["a"]);
    // It opens its own gates first, each in its turn.
    let line = "here $SHIPMATE_FEEDBACK; put .claude/settings.json {}; \
                put .gitattributes '*.sh text working-tree-encoding=UTF-7'; \
                put .claude/hooks/verify.sh 'exit 0'; put checks/second.sh 'exit 0'; \
                case \"${SHIPMATE_FEEDBACK:-}\" in *better*) put good x; put better x ;; \
                *good*) put good x ;; esac";
    let tasks = stage.tasks(&[line]);
    let words: Vec<String> = stage.arrivals(3).into_iter().map(|one| one.words).collect();
    assert!(words[1].contains("TaskCompleted hook feedback") && words[1].contains("where is good"));
    assert!(words[2].contains("where is better"), "{words:?}");
    stage.finished(1);
    assert_eq!(stage.file("checks/second.sh").trim(), "exit 0", "the work itself is as it was");
    stage.all_once(&tasks);
}

#[test]
fn hooks_of_claude_settings_that_are_not_committed_are_told() {
    let mut stage = Stage::new("");
    stage.write(".claude/settings.json", SETTINGS);
    let plan = stage.root().join("plan.toml");
    std::fs::write(&plan, "[[tasks]]\nid = \"one\"\nsubject = \"One\"\n").unwrap();
    let plan = plan.to_str().unwrap();
    let told =
        "hooks of .claude/settings.json for TaskCompleted do not count until they are committed";
    let out = |stage: &Stage, args: &[&str]| {
        let output = stage.shipmate(args);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let run = ["--team", "beta", "run", plan, "--agent", "true", "--detach"];
    let begun = out(&stage, &run);
    assert!(begun.contains(&format!("note: {told}")), "{begun}");
    let found = out(&stage, &["doctor"]);
    assert!(found.contains(told), "{found}");
    stage.write(".claude/hooks/verify.sh", "");
    stage.write("checks/second.sh", "");
    stage.commit();
    let found = out(&stage, &["doctor"]);
    assert!(!found.contains("do not count"), "{found}");
}

#[test]
fn a_hook_of_claude_settings_that_is_no_command_is_refused_and_can_be_switched_off() {
    let settings =
        r#"{"hooks": {"TaskCompleted": [{"hooks": [{"type": "prompt", "prompt": "?"}]}]}}"#;
    let mut stage = Stage::new("");
    stage.write(".claude/settings.json", settings);
    stage.commit();
    let begin = ["--team", "beta", "team", "create", "beta"];
    let out = stage.shipmate(&begin);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && told.contains("has a hook that is no command"), "{told}");
    assert!(told.contains("claude-settings = false"), "{told}");
    let config = stage.place().config();
    let mut text = std::fs::read_to_string(&config).unwrap_or_default();
    text.push_str("\n[hooks]\nclaude-settings = false\n");
    std::fs::write(&config, text).unwrap();
    let out = stage.shipmate(&begin);
    assert!(out.status.success(), "{out:?}");
}

#[test]
fn a_task_that_a_hook_rejects_is_never_there() {
    let mut stage = Stage::new("");
    hook(&stage, "TaskCreated", "grep -q forbidden && echo not that >&2 && exit 2; exit 0");
    stage.team(Setup::default(), &["a"]);
    let new = |subject: &str| TaskNew { subject: subject.to_owned(), ..TaskNew::default() };
    let both = vec![new("put f1 x"), new("true forbidden")];
    let refused = stage.refusal(Ask::TaskCreate(verbs::TaskCreate { tasks: both }));
    assert_eq!(refused.code.as_str(), "HookRejected");
    assert!(refused.message.contains("not that"), "{refused:?}");
    let tasks = stage.tasks(&["put f1 x"]);
    stage.finished(1);
    let made: Vec<u32> = stage.events("task.created").iter().map(task_of).collect();
    assert_eq!(made, [1]);
    stage.all_once(&tasks);
}

#[test]
fn an_idle_hook_that_always_says_no_is_asked_three_times_and_then_overruled() {
    let mut stage = Stage::new("");
    let name = "sed -n 's/.*\"teammate_name\":\"\\([a-z]*\\)\".*/\\1/p'";
    let line = format!(
        "{name} >> $R/notes/asked; echo '0 hook 0 0 ' > $R/here; echo find work >&2; exit 2"
    );
    hook(&stage, "TeammateIdle", &line);
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x", "put f2 x"]);
    let found = stage.arrivals(4);
    let busy = found.iter().find(|one| one.task == 1).unwrap().name.clone();
    let idle = if busy == "a" { "b" } else { "a" };
    let told = stage.event("teammate.idle");
    assert!(told["reason"].as_str().unwrap().contains("rejected"), "{told}");
    stage.open("go", 1);
    stage.finished(2);
    let asked = std::fs::read_to_string(stage.root().join("notes/asked")).unwrap();
    assert_eq!(asked.lines().filter(|name| *name == idle).count(), 3);
    stage.all_once(&tasks);
}

#[test]
fn another_exit_code_sends_the_task_back_and_is_on_record() {
    let mut stage = Stage::new("");
    hook(&stage, "TaskCompleted", "mkdir $R/notes/once 2>/dev/null && exit 7; exit 0");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["put f1 x"]);
    let returned = stage.event("task.returned");
    assert!(returned["reason"].as_str().unwrap().contains("exit code 7"), "{returned}");
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn an_idle_hook_that_says_yes_lets_a_reviewer_idle() {
    let mut stage = Stage::new("");
    let name = "sed -n 's/.*\"teammate_name\":\"\\([a-z]*\\)\".*/\\1/p'";
    let line = format!("{name} >> $R/notes/asked; echo '0 hook 0 0 ' > $R/here; exit 0");
    hook(&stage, "TeammateIdle", &line);
    stage.door("go");
    stage.team(Setup::default(), &[]);
    for name in ["a", "b"] {
        stage.add(name, |add| TeammateAdd { role: Some("reviewer".to_owned()), ..add });
    }
    let tasks = stage.tasks(&["pass go; put f1 x", "put f2 x"]);
    assert_eq!(stage.arrival().name, "hook");
    stage.open("go", 1);
    stage.finished(2);
    let asked = std::fs::read_to_string(stage.root().join("notes/asked")).unwrap();
    let names: BTreeSet<&str> = asked.lines().collect();
    assert_eq!(asked.lines().count(), names.len(), "who was let idle is not asked again: {asked}");
    stage.all_once(&tasks);
}

#[test]
fn nobody_asks_whether_a_one_shot_agent_may_idle() {
    let mut stage = Stage::new("");
    hook(&stage, "TeammateIdle", "echo asked >> $R/notes/asked; exit 2");
    stage.door("go");
    stage.team(Setup { one_shot: true, ..Setup::default() }, &["a", "b"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x", "put f2 x"]);
    stage.arrival();
    stage.hear(|event| event["task.completed"]["task"] == 2);
    stage.open("go", 1);
    stage.finished(2);
    assert!(!stage.root().join("notes/asked").exists());
    stage.all_once(&tasks);
}

#[test]
fn a_hook_that_hangs_is_ended_and_counts_as_no() {
    // The next one has the same limit. Where it is too short for that one as well, the task fails,
    // and it is tried once more with a longer one.
    assert!(hanging_hook(1) || hanging_hook(30), "the next hook says no as well");
}

/// Whether the hook that runs after one that hung was content.
fn hanging_hook(limit_seconds: u32) -> bool {
    let mut stage = Stage::new(&format!("[hooks]\ntimeout-seconds = {limit_seconds}\n"));
    let line = "mkdir $R/notes/once 2>/dev/null || exit 0; (setsid sleep 604 &); sleep 605";
    hook(&stage, "TaskCompleted", line);
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["put f1 x"]);
    let returned = stage.event("task.returned");
    assert!(returned["reason"].as_str().unwrap().contains("did not end"), "{returned}");
    stage.finished(1);
    assert_eq!(stage.processes("hook"), []);
    if stage.events("task.completed").is_empty() {
        return false;
    }
    stage.all_once(&tasks);
    true
}

#[test]
fn nobody_can_edit_the_hooks_that_it_has_to_pass() {
    let mut stage = Stage::new("");
    hook(&stage, "TaskCompleted", "echo own >> $R/notes/ran");
    stage.commit();
    stage.team(Setup::default(), &["a"]);
    let evil = "for d in . $SHIPMATE_WORKSPACE; do printf '#!/bin/sh\\necho evil >> %s/notes/ran' $S > \
                $d/.shipmate/hooks/TaskCompleted; done; put f1 x";
    let tasks = stage.tasks(&[evil, "put f2 x"]);
    stage.finished(2);
    crate::processes::kill(stage.coordinator());
    let more = stage.tasks(&["put f3 x"]);
    stage.finished(3);
    let ran = std::fs::read_to_string(stage.root().join("notes/ran")).unwrap();
    assert_eq!(ran, "own\nown\nown\n");
    stage.all_once(&[tasks, more].concat());
}

#[test]
fn a_coordinator_that_dies_in_a_hook_asks_it_again() {
    let mut stage = Stage::new("");
    stage.door("hook");
    let line = "mkdir $R/notes/once 2>/dev/null || exit 0; sleep 606 & echo \"0 hook 0 $$\" > $R/here; wait";
    hook(&stage, "TaskCompleted", line);
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["put f1 x"]);
    stage.arrival();
    crate::processes::kill(stage.coordinator());
    stage.finished(1);
    assert_eq!(stage.processes("hook"), []);
    stage.all_once(&tasks);
}
