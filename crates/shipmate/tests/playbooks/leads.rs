//! Leads that follow their brief to the letter, in the playbooks where they make the work: whom
//! they bring in works with the run's agent and the role's tools, and whatever they wait for is
//! shown.

use serde_json::Value;

use crate::native::Native;
use crate::stage::{TEAM, of};
use crate::views;

const GATE: (&str, &str) = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");

/// A lead that hands in a plan although it may make everything itself.
const PLANS: &str = include_str!("leads.model");

#[test]
fn a_plan_that_a_lead_hands_in_is_shown_and_approved_where_that_was_promised() {
    let mut native = Native::new(PLANS, &[]);
    native.env.push(GATE);
    let ran = native.run("delegate", &["Add sign-in to the app", "--yes"]);
    ran.ends(0, &["│ One file is enough.", "is approved", "1 of 1 task"]);
    assert_eq!(native.scene.landed("page.txt"), "page\n");
}

#[test]
fn a_plan_that_waits_for_a_person_ends_a_run_that_nobody_watches_with_the_command() {
    // A lead of the board has another tool for the same.
    let submits = PLANS.replace("ExitPlanMode {", "Plan {\"action\":\"submit\",");
    for (playbook, script) in [("delegate", PLANS), ("board", submits.as_str())] {
        let mut native = Native::new(script, &[]);
        native.env.push(GATE);
        let ran = native.run(playbook, &["Add sign-in to the app"]);
        let approve = format!("--team {TEAM} plan approve ");
        ran.ends(9, &["│ One file is enough.", "it waits for you:", &approve]);
    }
}

#[test]
fn a_plan_that_the_lead_leaves_open_is_approved_where_that_was_promised() {
    let script = r#"
as lead
on "Migrate the app"
  tool Task {"name":"worker","mode":"plan","prompt":"Handle it"}
  tool TaskCreate {"subject":"Write one","files":["one.txt"],"assignee":"worker"}
  say They work.
on "asks for approval of plan"
  say I see.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Done."}
  say Done.
as worker
on "Handle it"
  say I wait.
on "Task 1:" "Write one"
  tool ExitPlanMode {"plan":"One file."}
  say I wait.
on "Your plan is approved"
  tool write_file {"path":"one.txt","content":"one\n"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"one is there"}
  say Done.
"#;
    let native = Native::new(script, &[]);
    let ran = native.run("board", &["Migrate the app", "--yes"]);
    ran.ends(0, &["1 of 1 task", "was approved by --yes: the lead left it open"]);
    assert_eq!(native.scene.landed("one.txt"), "one\n");
}

/// Whom they bring in.
const WORKER: &str = r#"
as worker
on "Handle it"
  say I wait.
on "Task 1:" "Write one"
  tool write_file {"path":"one.txt","content":"one\n"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"one is there"}
  say Done.
"#;

/// As the seed has it: the team first, then its tasks, then who does them.
const FLOW: &str = r#"
as lead
on "Migrate the app"
  tool TeamCreate {"name":"alpha"}
  tool TaskCreate {"subject":"Write one","files":["one.txt"]}
  tool Task {"name":"worker","team_name":"alpha","prompt":"Handle it"}
  say The team is at work.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Migration complete."}
  say Migration complete.
"#;

fn added(log: &[Value], who: &str) -> Value {
    let all = of(log, "teammate.added");
    let found = all.into_iter().find(|one| one["who"] == who);
    found.unwrap_or_else(|| panic!("nobody added {who}"))["profile"].clone()
}

#[test]
fn the_flow_begins_with_a_team_that_is_there_and_its_members_have_the_roles_tools() {
    let mut native = Native::new(&(FLOW.to_owned() + WORKER), &[]);
    let left_out = "phase work is left out: no --set dir= says where its work is";
    native.run("board", &["Migrate the app"]).ends(0, &[left_out, "1 of 1 task"]);
    let log = native.scene.log();
    assert_eq!(of(&log, "team.created").len(), 1, "nothing was made");
    let tools = native.offered("worker");
    for absent in ["TaskGet", "TaskOutput", "TaskStop", "Plan", "Task", "TeamCreate", "Skill"] {
        assert!(!tools.iter().any(|tool| tool == absent), "{absent} in {tools:?}");
    }
    for there in ["TaskCreate", "TaskUpdate", "TaskList", "SendMessage", "bash", "write_file"] {
        assert!(tools.iter().any(|tool| tool == there), "{there} in {tools:?}");
    }
}

#[test]
fn whom_a_lead_brings_in_works_with_the_agent_of_the_run() {
    for (playbook, brings) in [
        ("board", r#"tool Task {"name":"worker","prompt":"Handle it"}"#),
        ("delegate", r#"tool TeamCreate {"members":[{"name":"worker","prompt":"Handle it"}]}"#),
    ] {
        let makes = match playbook {
            "board" => r#"tool TaskCreate {"subject":"Write one","files":["one.txt"]}"#,
            _ => r#"tool TodoWrite {"todos":[{"content":"Write one","status":"pending"}]}"#,
        };
        let script = format!(
            "as lead\non \"Migrate the app\"\n  {makes}\n  {brings}\n  say They work.\n\
             on \"All tasks are completed\"\n  tool SendMessage \
             {{\"to\":\"person\",\"message\":\"Done.\"}}\n  say Done.\n"
        );
        let mut native = Native::new(&script, &[]);
        native.env.push(GATE);
        let command = "echo one > one.txt";
        let args = ["--lead", "native", "--agent", command, "Migrate the app"];
        native.begin_as(playbook, &args).ended().ends(0, &["1 of 1 task"]);
        let log = native.scene.log();
        assert_eq!(added(&log, "alpha/worker")["command"], command, "{playbook}");
        assert_eq!(native.scene.landed("one.txt"), "one\n");
    }
}

/// The last line of the seeds' flow; and somebody may do the same at any time.
#[test]
fn a_run_whose_team_is_deleted_ends_with_what_was_done() {
    let ends = FLOW.replace(
        "  say Migration complete.\n",
        "  tool TeamDelete {\"name\":\"alpha\",\"deadline_seconds\":5}\n  say Migration complete.\n",
    );
    let native = Native::new(&(ends + WORKER), &[]);
    let ran = native.run("board", &["Migrate the app"]);
    ran.ends(0, &["the team was deleted", "│ Migration complete.", "1 of 1 task"]);
    assert!(ran.out.contains("git merge shipmate/alpha"), "{}", ran.out);
    assert_eq!(native.scene.landed("one.txt"), "one\n");

    let waits = FLOW.replace("on \"All tasks", "on \"Not that");
    let worker = "as worker\non \"Handle it\"\n  say I wait.\non \"Task 1:\"\n  say I think.\n";
    let native = Native::new(&(waits + worker), &[]);
    let mut run = native.begin("board", &["Migrate the app"]);
    run.says("takes task 1");
    let said = native.scene.stage.shipmate(&["team", "delete", TEAM, "--now"]);
    assert!(said.status.success(), "{said:?}");
    run.ended().ends(8, &["the team was deleted", "stopped: 0 of 1"]);
}

/// What it writes itself goes the way of everybody's work.
#[test]
fn a_lead_of_the_board_does_a_task_of_its_own_and_leaves_the_others() {
    let script = r#"
as lead
on "Migrate the app"
  tool TaskCreate {"subject":"Write one","files":["one.txt"]}
  tool TaskCreate {"subject":"Write the notes","files":["notes.txt"],"assignee":"lead"}
  tool Task {"name":"worker","prompt":"Handle it"}
  say They work.
on "Task 2:" "Write the notes"
  tool bash {"command":"echo noted > notes.txt"}
  tool TaskUpdate {"taskId":"2","status":"completed","result":"noted"}
  say Done.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Done."}
  say Done.
"#;
    let mut native = Native::new(&(script.to_owned() + WORKER), &[]);
    native.run("board", &["Migrate the app"]).ends(0, &["2 of 2 tasks"]);
    assert_eq!(native.scene.landed("notes.txt"), "noted\n");
    assert_eq!(native.scene.landed("one.txt"), "one\n");
    let log = native.scene.log();
    let taken: Vec<(u64, String)> = of(&log, "task.claimed")
        .iter()
        .map(|one| (one["task"].as_u64().unwrap(), one["by"].as_str().unwrap().to_owned()))
        .collect();
    assert!(taken.contains(&(1, "alpha/worker@1".to_owned())), "{taken:?}");
    assert!(
        taken.iter().all(|(task, by)| *task == 1 || by.starts_with("alpha/lead@")),
        "{taken:?}"
    );
    let own = native.offered("lead");
    for tool in ["bash", "read_file", "write_file", "edit_file", "glob", "grep"] {
        assert!(own.iter().any(|name| name == tool), "{tool} in {own:?}");
    }
    let heard = native.server.requests();
    let first = heard.iter().find(|one| one.body.to_string().contains("Migrate the app")).unwrap();
    assert!(first.body.to_string().contains("handed in as a task of your own"));
}

/// A further name is a further team, with tasks of its own.
#[test]
fn a_lead_leads_a_second_team_below_its_own() {
    let script = r#"
as lead
on "Migrate the app"
  tool TeamCreate {"name":"beta","members":[{"name":"worker","prompt":"Handle it"}]}
  tool TaskCreate {"team_name":"beta","subject":"Write one","files":["one.txt"]}
  say They work.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Done."}
  say Done.
"#;
    let mut native = Native::new(&(script.to_owned() + WORKER), &[]);
    native
        .run("board", &["Migrate the app"])
        .ends(0, &["│ Done.", "1 of 1 task", "merged     1 commit"]);
    // What it does is part of the run: of its end, of its report and of its branch.
    assert_eq!(native.scene.landed("one.txt"), "one\n");
    let log = native.scene.log();
    let created = of(&log, "team.created");
    assert_eq!((&created[1]["team"], &created[1]["parent"]), (&"beta".into(), &"alpha".into()));
    assert_eq!(of(&log, "task.created")[0]["team"], "beta");
    let said = native.scene.stage.shipmate(&["--team", "beta", "merge"]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("the work of team beta is on shipmate/alpha"), "{said}");
    // Everybody sees the same board, and each team has its inboxes.
    let stage = &native.scene.stage;
    for file in
        [".tasks/task_1.json", ".teams/beta/worker_inbox.jsonl", ".teams/alpha/lead_inbox.jsonl"]
    {
        let path = views::views(stage).join(file);
        views::until(&stage.place().team(TEAM), || path.is_file().then_some(()));
    }
    // Its members have the tools of the role, as those of the first.
    let offered = native.offered("worker");
    let has = |tool: &str| offered.iter().any(|own| own == tool);
    assert!(has("TaskUpdate") && !has("TaskGet"), "{offered:?}");
}

#[test]
fn the_settings_of_a_team_are_shown_to_its_lead_which_sets_their_model() {
    let script = r#"
as lead
on "Migrate the app"
  tool Config {}
  tool Config {"setting":"gate","value":"true"}
  tool Config {"setting":"model","value":"test/other"}
  tool TaskCreate {"subject":"Write one","files":["one.txt"]}
  tool Task {"name":"worker","prompt":"Handle it","model":"test/scripted"}
  say They work.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Done."}
  say Done.
"#;
    let mut native = Native::new(&(script.to_owned() + WORKER), &[]);
    native.run("board", &["Migrate the app"]).ends(0, &["1 of 1 task"]);
    let asked: String = native.server.requests().iter().map(|one| one.body.to_string()).collect();
    for part in ["team = alpha", "agent = native", "playbook = board", "is no setting of yours"] {
        assert!(asked.contains(part), "{part:?} is missing");
    }
    let log = native.scene.log();
    assert_eq!(of(&log, "team.changed")[0]["changes"]["model"], "test/other");
}
