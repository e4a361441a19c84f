//! The real Claude Code and Codex on the scripted model: proof that the wire formats and the
//! surroundings are what these programs take, and that neither looks beyond loopback.
//!
//! `cargo xtask test` installs both and says where; without that these tests fail and say so. The
//! heavier programs are in `tests/clients.rs`.

#[path = "support/program.rs"]
mod program;

use program::{Child, Folder, lines};
use serde_json::{Value, json};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Program, Surroundings, strays};

const SCRIPT: &str = r#"
as ana
on "task 1"
  think A file is wanted.
  say I will write the file.
  shell mkdir -p src && echo one > src/one.txt && echo made-it
  write src/two.txt two
  & shell echo beside
  say Done: {{last 6}}
on "task 2"
  shell echo again
  say Two is done.
"#;

const HEADLESS: [&str; 5] =
    ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];

/// What the folder of the program holds after task 1.
fn assert_written(folder: &Folder) {
    assert_eq!(folder.read("work/src/one.txt"), "one\n");
    assert_eq!(folder.read("work/src/two.txt"), "two\n");
}

fn replies(server: &Server) -> Vec<String> {
    server.requests().into_iter().map(|request| request.reply).collect()
}

#[test]
fn claude_code_follows_the_script_and_stays_on_loopback() {
    let server = Server::start(SCRIPT);
    let folder = Folder::new();
    let mut claude = Child::start(
        &Program::Claude.path(),
        &[
            &HEADLESS[..],
            &["--input-format", "stream-json", "--append-system-prompt", "You are ana."],
        ]
        .concat(),
        &folder.path("work"),
        Surroundings::claude(&folder.path("home"), &server),
    );
    let user = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});

    claude.send(&user("Please do task 1"));
    let result = claude.until(|line| line["type"] == "result");
    assert_eq!(result["result"], "Done: beside", "{result}");
    assert_eq!(result["usage"]["output_tokens"], 30, "{result}");
    assert_written(&folder);

    claude.send(&user("Now task 2"));
    let result = claude.until(|line| line["type"] == "result");
    assert_eq!(result["result"], "Two is done.", "{result}");
    assert!(claude.end().success());
    assert_eq!(
        replies(&server),
        ["line 3 step 1", "line 3 step 2", "line 3 step 3", "line 10 step 1", "line 10 step 2"]
    );
    let request = &server.requests()[0];
    assert!(request.header("x-claude-code-session-id").is_some(), "{request:?}");
    assert_eq!(request.actor.as_deref(), Some("ana"));
    assert!(strays(&server).is_empty(), "{:?}", strays(&server));
}

#[test]
fn claude_code_that_is_killed_in_mid_turn_goes_on_where_its_history_ends() {
    let server = Server::start(
        // It writes its history a moment later than it acts: killed before that it has none.
        r#"on "task 1"
             shell echo first >> steps; until grep -q "task 1" ~/.claude/projects/*/*.jsonl; do :; done
             hold here
             shell echo second >> steps
             say All done."#,
    );
    let folder = Folder::new();
    let session = "0b5d7c1e-7d2f-4f0e-9d0a-5a3c1f6b7e21";
    let start = |which: &[&str]| {
        Child::start(
            &Program::Claude.path(),
            &[&HEADLESS[..], which].concat(),
            &folder.path("work"),
            Surroundings::claude(&folder.path("home"), &server),
        )
        .without_input()
    };
    let claude = start(&["--session-id", session, "task 1"]);
    server.wait_for(|request| request.reply == "line 1 step 2");
    claude.kill();

    server.release("here");
    let mut claude = start(&["--resume", session, "go on"]);
    let result = claude.until(|line| line["type"] == "result");
    assert_eq!(result["result"], "All done.", "{result}");
    assert!(claude.end().success());
    // Claude Code writes its history a moment later than it acts, so a step whose result the
    // resumed session does not know of is taken again: at least once, never left out.
    let resumed = &server.requests()[2];
    let knew = resumed.body.to_string().contains("tool_result");
    assert_eq!(resumed.reply, if knew { "line 1 step 2" } else { "line 1 step 1" });
    let steps = if knew { "first\nsecond\n" } else { "first\nfirst\nsecond\n" };
    assert_eq!(folder.read("work/steps"), steps);
}

#[test]
fn an_error_and_a_broken_stream_are_tried_again_by_claude_code() {
    let server = Server::start(
        r#"on "task 1"
             error 529 retry-after 0
             shell echo made-it
             cut
             say Done in the end."#,
    );
    let folder = Folder::new();
    let mut claude = Child::start(
        &Program::Claude.path(),
        &[&HEADLESS[..], &["task 1"]].concat(),
        &folder.path("work"),
        Surroundings::claude(&folder.path("home"), &server),
    )
    .without_input();
    let result = claude.until(|line| line["type"] == "result");
    assert_eq!(result["result"], "Done in the end.", "{result}");
    let steps = replies(&server);
    assert_eq!(steps, ["line 1 step 1", "line 1 step 1", "line 1 step 2", "line 1 step 2"]);
}

#[test]
fn codex_exec_follows_the_script_and_stays_on_loopback() {
    let server = Server::start(SCRIPT);
    let folder = Folder::new();
    let codex = Child::start(
        &Program::Codex.path(),
        &[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "You are ana. Please do task 1",
        ],
        &folder.path("work"),
        Surroundings::codex(&folder.path("home"), &server),
    );
    let (status, told) = codex.rest();
    assert!(status.success(), "{told:#?}");
    let said: Vec<&Value> =
        lines(&told, "item.completed").map(|line| &line["item"]["text"]).collect();
    assert_eq!(said.last(), Some(&&json!("Done: beside")), "{told:#?}");
    assert_written(&folder);
    assert_eq!(replies(&server), ["line 3 step 1", "line 3 step 2", "line 3 step 3"]);
    assert!(strays(&server).is_empty(), "{:?}", strays(&server));
}

#[test]
fn codex_app_server_follows_the_script_in_two_turns_and_calls_the_tools_of_its_host() {
    let server = Server::start(
        r#"on "task 1"
             shell echo one > one.txt
             tool team_send {"to":"bo"}
             say Sent: {{last 9}}"#,
    );
    let folder = Folder::new();
    let mut codex = Child::start(
        &Program::Codex.path(),
        &["app-server"],
        &folder.path("work"),
        Surroundings::codex(&folder.path("home"), &server),
    );
    let client = json!({"name": "test", "title": "test", "version": "0"});
    codex.send(&json!({"id": 1, "method": "initialize", "params":
        {"clientInfo": client, "capabilities": {"experimentalApi": true}}}));
    codex.until(|line| line["id"] == 1);
    codex.send(&json!({"method": "initialized"}));
    codex.send(&json!({"id": 2, "method": "thread/start", "params": {
        "cwd": folder.path("work"), "approvalPolicy": "never", "sandbox": "danger-full-access",
        "dynamicTools": [{"type": "function", "name": "team_send", "description": "Sends.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}],
    }}));
    let started = codex.until(|line| line["id"] == 2);
    let thread = &started["result"]["thread"]["id"];
    codex.send(&json!({"id": 3, "method": "turn/start", "params":
        {"threadId": thread, "input": [{"type": "text", "text": "task 1"}]}}));

    let call = codex.until(|line| line["method"] == "item/tool/call");
    assert_eq!(call["params"]["arguments"], json!({"to": "bo"}), "{call}");
    codex.send(&json!({"id": call["id"], "result":
        {"contentItems": [{"type": "inputText", "text": "bo has it"}], "success": true}}));
    let said = codex.until(|line| {
        line["method"] == "item/completed" && line["params"]["item"]["type"] == "agentMessage"
    });
    assert_eq!(said["params"]["item"]["text"], "Sent: bo has it", "{said}");
    codex.until(|line| line["method"] == "turn/completed");
    assert_eq!(folder.read("work/one.txt"), "one\n");
    assert!(strays(&server).is_empty(), "{:?}", strays(&server));
    codex.end();
}
