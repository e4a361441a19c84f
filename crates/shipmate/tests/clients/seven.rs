//! The lead of the playbook *delegate* behind a vendor's program: the playbook's list of tools is all
//! it has, and nothing of its program's own to read, run, fetch or spawn with.

use shipmate_testkit::model::Server;

use crate::cast::{self, CLAUDE};
use crate::stage::{SHIPMATE, hermetic};

const SCRIPT: &str = r#"
as lead
on "Add sign-in"
  tool TeamCreate {"members":[{"name":"dev","prompt":"Wait for your task"}]}
  tool TodoWrite {"todos":[{"content":"Write one","status":"pending"}]}
  say They work.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Sign-in is there."}
  say Done.
"#;

#[test]
fn a_claude_that_may_only_coordinate_has_seven_tools_and_sees_no_repository() {
    let server = Server::start(SCRIPT);
    let mut stage = cast::stage(&CLAUDE, &server);
    stage.commit();
    let mut run = hermetic(&stage.root(), SHIPMATE);
    run.arg("--workspace").arg(stage.place().workspace);
    run.args(["--team", "alpha", "run", "--playbook", "delegate", "--lead", "claude"]);
    run.args(["--agent", "echo one > one.txt", "Add sign-in to the app"]);
    let ran = run.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1").output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    let requests = server.requests();
    let first = requests.iter().find(|one| one.actor.as_deref() == Some("lead")).unwrap();
    let tools = first.body["tools"].as_array().unwrap().iter();
    // Where the program has none of its own, it puts one there that does nothing.
    let own = "DeferredToolPlaceholder";
    let names = tools.map(|tool| tool["name"].as_str().unwrap()).filter(|name| *name != own);
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let seven = [
        "AskUserQuestion",
        "Config",
        "ExitPlanMode",
        "SendMessage",
        "TeamCreate",
        "TeamDelete",
        "TodoWrite",
    ];
    assert_eq!(names, seven.map(|tool| format!("mcp__team__{tool}")));
    assert!(!first.contains("/teams/alpha/trees/"), "it stands beside the trees");
}
