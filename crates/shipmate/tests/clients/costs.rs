//! What a run cost, in the words that a person sees and as programs read it: of a subscription, which is
//! never $0, of a model whose price nobody knows, and of a request that broke off.

use std::process::{Output, Stdio};

use serde_json::Value;
use shipmate_testkit::model::{Meter, Server};

use crate::cast::{self, CLAUDE_SUBSCRIBED, CODEX};
use crate::processes;
use crate::stage::{SHIPMATE, Stage, hermetic};

const PLAN: &str = r#"title = "What it costs"
team = "alpha"
gate = ["true"]

[[teammates]]
name = "ana"
agent = "claude"

[[teammates]]
name = "bo"
agent = "codex"

[[tasks]]
id = "a"
subject = "Write a"
assignee = "ana"

[[tasks]]
id = "b"
subject = "Write b"
assignee = "bo"
"#;

const SCRIPT: &str = r#"
as ana
on "Write a"
  usage 4000 10
  shell echo a > a.txt
  usage 4000 10
  say Done.
as bo
on "Write b"
  usage 4000 10
  shell echo b > b.txt
  hold bo
  usage 4000 10
  say Done.
"#;

/// Claude Code on a subscription, and Codex on a model without a known price, which is killed while its
/// model answers.
fn ran(words: &[&str]) -> (Stage, Output) {
    let (claude, codex) = (Server::start(SCRIPT), Server::start(SCRIPT));
    claude.meter(Meter::new(20, Some(crate::limits::soon(3600))));
    let mut stage = cast::stage(&CLAUDE_SUBSCRIBED, &claude);
    cast::install(&stage, &CODEX, &codex);
    let plan = stage.root().join("plan.toml");
    std::fs::write(&plan, PLAN).unwrap();
    let run = hermetic(&stage.root(), SHIPMATE)
        .arg("--workspace")
        .arg(stage.place().workspace)
        .args(words)
        .args(["--team", "alpha", "run"])
        .arg(&plan)
        .args(["--wait", "10m"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    codex.wait_for(|request| {
        request.actor.as_deref() == Some("bo") && request.contains("echo b > b.txt")
    });
    stage.follow();
    processes::kill(crate::codex::program(&mut stage, "bo").pid);
    codex.wait_for(|request| request.contains("You were interrupted"));
    codex.release("bo");
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (stage, output)
}

#[test]
fn a_run_says_what_a_subscription_an_unknown_model_and_a_broken_off_request_cost() {
    let (stage, output) = ran(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).expect(&text);
    assert!(line("used ").contains("price unknown + subscription (worth $0.02)"), "{text}");
    let ana = line("           ana ");
    assert!(ana.contains("k tokens, subscription (worth $0.02), claude-"), "{text}");
    let bo = line("           bo ");
    assert!(bo.contains("price unknown, ") && bo.contains(" of them estimated"), "{text}");
    assert!(line("account    claude-").contains(" % of 5 hours"), "{text}");
    assert!(line("account    codex-").contains("nothing is known of its windows"), "{text}");

    let usage = String::from_utf8(stage.shipmate(&["usage"]).stdout).unwrap();
    let line = |start: &str| usage.lines().find(|line| line.starts_with(start)).expect(&usage);
    assert!(line("ana ").contains("subscription (worth $0.02)"), "{usage}");
    assert!(line("bo ").contains("price unknown") && line("bo ").contains("estimated"), "{usage}");
    assert!(line("claude-").contains(" % until "), "{usage}");
}

#[test]
fn programs_read_what_a_subscription_an_unknown_model_and_a_broken_off_request_cost() {
    let (stage, output) = ran(&["--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let report: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let spent = |name: &str| {
        let mates = report["teammates"].as_array().unwrap();
        let number = |key: &str| {
            let mate = mates.iter().find(|mate| mate["name"] == name).unwrap();
            mate["spent"][key].as_u64().unwrap_or_default()
        };
        ["tokens", "cost_micros", "cost_notional_micros", "tokens_unpriced", "tokens_estimated"]
            .map(number)
    };
    let [tokens, cost, notional, unpriced, estimated] = spent("ana");
    // The program makes requests of its own beside those of the script.
    assert!(tokens >= 8_020, "{report:#}");
    assert_eq!([unpriced, estimated], [0, 0], "{report:#}");
    assert!(cost > 0 && notional == cost, "{report:#}");
    let tokens_of_ana = tokens;
    let [tokens, cost, notional, unpriced, estimated] = spent("bo");
    assert_eq!([cost, notional, unpriced], [0, 0, tokens], "{report:#}");
    assert!(estimated > 0 && tokens - estimated >= 8_020, "{report:#}");
    let accounts = report["accounts"].as_array().unwrap();
    let claude = &accounts[0];
    assert!(claude["name"].as_str().unwrap().starts_with("claude-"), "{report:#}");
    assert_eq!(claude["windows"][0]["name"], "5 hours");
    assert!(claude["windows"][0]["used"].as_u64() > Some(0), "{report:#}");
    assert_eq!(claude["parked_ms"], 0);

    // What the page is sent.
    let usage = stage.shipmate(&["usage", "--json"]).stdout;
    let usage: Value = serde_json::from_slice(&usage).unwrap();
    let mates = usage["teammates"].as_array().unwrap();
    let mate = |name: &str| mates.iter().find(|mate| mate["name"] == name).unwrap();
    assert_eq!(mate("ana")["subscription"], true, "{usage:#}");
    assert_eq!(mate("bo")["tokens_unpriced"], mate("bo")["tokens_used"], "{usage:#}");
    assert_eq!(mate("bo")["tokens_estimated"], estimated, "{usage:#}");
    assert_eq!(usage["accounts"][0]["tokens_used"], tokens_of_ana, "{usage:#}");
}
