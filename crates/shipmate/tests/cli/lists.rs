//! Lists for programs and long ones: JSON, pipes, ten thousand tasks.

use std::process::Stdio;

use crate::transcript::{Workspace, errors};

#[test]
fn every_list_is_an_array_for_programs() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate task create one");
    workspace.succeed("shipmate --as ana send person hello");
    workspace.succeed("shipmate --as ana ask what");
    for (command, length) in [
        ("team list", 1),
        ("teammate list", 1),
        ("task list", 1),
        ("task graph", 1),
        ("inbox --peek", 2),
        ("plan list", 0),
        ("questions", 1),
        ("decisions", 1),
        ("doctor", 14),
        ("config path", 2),
    ] {
        let text = workspace.succeed(&format!("shipmate {command} --json"));
        assert_eq!(text.lines().count(), 1, "{command} printed {text}");
        let list: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(list.len(), length, "{command} printed {text}");
    }
    for command in ["status", "team show", "teammate show ana", "task show 1", "config"] {
        let text = workspace.succeed(&format!("shipmate {command} --json"));
        let one: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(one.is_object(), "{command} printed {text}");
    }
}

#[test]
fn a_refusal_is_one_line_of_json_on_standard_error() {
    let workspace = Workspace::with_team(&[]);
    let output = workspace.run("shipmate task show 7 --json", b"");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(
        errors(&output.stderr),
        "{\"refused\":{\"code\":\"UnknownTask\",\"message\":\"there is no task 7\",\"remedy\":\
         \"`shipmate task list` names the tasks\"}}\n"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let workspace = Workspace::with_team(&[]);
    let plan: String = (0..5_000).map(|n| format!("{{\"subject\":\"task {n}\"}}\n")).collect();
    workspace.write("plan.jsonl", &plan);
    workspace.succeed("shipmate task create --from plan.jsonl");
    let mut list = workspace.command("shipmate task list");
    let mut list = list.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(list.stdout.take());
    let output = list.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(errors(&output.stderr), "");
}

#[test]
fn a_board_of_ten_thousand_is_listed_whole() {
    let workspace = Workspace::with_team(&[]);
    let mut plan = String::from("{\"subject\":\"first\"}\n");
    for n in 1..10_000 {
        plan.push_str(&format!("{{\"subject\":\"task {n}\",\"blocked_by\":[\"group:base\"]}}\n"));
    }
    plan = plan.replacen("\"first\"", "\"first\",\"group\":\"base\"", 1);
    workspace.write("plan.jsonl", &plan);
    assert_eq!(
        workspace.succeed("shipmate task create --from plan.jsonl"),
        "created 10000 tasks, 1 to 10000\n"
    );
    let list = workspace.succeed("shipmate task list");
    assert_eq!(list.lines().count(), 10_001);
    let last = list.lines().last().unwrap();
    assert!(last.starts_with("10000  pending"), "{last}");
    assert!(last.contains("blocked by group base"), "{last}");
    let graph = workspace.succeed("shipmate task graph");
    assert!(graph.contains("level 2, 9999 tasks"));
}

#[test]
fn help_teaches_by_example() {
    let workspace = Workspace::new();
    let top = workspace.succeed("shipmate --help");
    for line in ["In five minutes:", "shipmate demo", "Exit codes: 0 done"] {
        assert!(top.contains(line), "{line} is not in\n{top}");
    }
    assert!(!top.contains("demo-worker") && !top.contains("\n  reference"), "{top}");
    let claim = workspace.succeed("shipmate task claim --help");
    assert!(claim.contains("shipmate --as ana task claim 3"), "{claim}");
    workspace.check(
        r#"
        $ shipmate task claim
        error: the following required arguments were not provided:
          <TASK>
        ...
        => 2

        $ shipmate task claim 1 --lease soon
        error: invalid value 'soon' for '--lease <TIME>': write it like 500ms, 90s, 10m, 2h or 1d
        ...
        => 2
        "#,
    );
}
