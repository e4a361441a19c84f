//! What programs bring of their own, behind the vendors' real ones: memory files that are there twice,
//! folders that they count as theirs, arguments that they are used to; and what their shells find.

use std::collections::BTreeMap;

use serde_json::Value;
use shipmate_model::setup::Preparation;
use shipmate_protocol::Mode;
use shipmate_protocol::tools::{self, Seat, SeatKind};
use shipmate_protocol::verbs::{Setup, TaskNew};
use shipmate_protocol::{Ask, verbs};
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, NATIVE, OPENCODE};
use crate::stage::Stage;

fn write_one(stage: &mut Stage) {
    stage.create(vec![TaskNew {
        subject: "write one".to_owned(),
        no_change: true,
        ..TaskNew::default()
    }]);
}

#[test]
fn claude_is_told_a_memory_file_once_and_as_it_is_in_the_tree() {
    let server = Server::start("as ana\non \"write one\"\n  say Looked.\n");
    let mut stage = cast::stage(&CLAUDE, &server);
    stage.write("CLAUDE.md", "Committed words of the harbour.\n");
    stage.write(".gitignore", "CLAUDE.local.md\n");
    stage.commit();
    stage.write("CLAUDE.md", "Committed words of the harbour.\nWords that nobody has committed.\n");
    stage.write("CLAUDE.local.md", "Words of this checkout alone.\n");
    let setup = Setup { dirty: true, ..Setup::default() };
    cast::team_with(&mut stage, CLAUDE.agent, setup, |_| {});
    write_one(&mut stage);
    let request = server.wait_for(|request| request.contains("write one"));
    let body = request.body.to_string();
    assert_eq!(body.matches("Committed words of the harbour.").count(), 1, "{body}");
    for words in ["Words that nobody has committed.", "Words of this checkout alone."] {
        assert!(!body.contains(words), "{words} in {body}");
    }
    stage.finished(1);
}

/// Claude Code counts the temporary folder as its own; the workspace of this test lies in it.
#[test]
fn claude_does_not_write_into_a_checkout_below_the_temporary_folder() {
    let server = Server::start("as nobody\n");
    let mut stage = cast::stage(&CLAUDE, &server);
    let checkout = stage.place().workspace;
    assert!(checkout.starts_with(std::env::temp_dir().canonicalize().unwrap()));
    server.replace_script(&format!(
        "as ana\non \"write one\"\n  write {}/pwned x\n  say I am through.\n",
        checkout.display()
    ));
    cast::team(&mut stage, &CLAUDE, |_| {});
    write_one(&mut stage);
    let asked = stage.hear(|event| {
        ["question.asked", "task.completed"].iter().any(|name| event.get(name).is_some())
    });
    let text = asked["event"]["question.asked"]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("pwned"), "{}", stage.story());
    let (question, answer) = (asked["n"].as_u64().unwrap(), "that is mine".to_owned());
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    stage.finished(1);
    assert!(!checkout.join("pwned").exists());
}

#[test]
fn the_own_agents_shell_takes_the_words_that_claude_code_gives_its_own() {
    let server = Server::start(
        r#"
        as ana
        on "write one"
          tool bash {"command":"echo one > one.txt","description":"Writes one","timeout":60000}
          say Done.
        "#,
    );
    let mut stage = cast::stage(&NATIVE, &server);
    cast::team(&mut stage, &NATIVE, |_| {});
    write_one(&mut stage);
    stage.finished(1);
    assert_eq!(stage.file("one.txt"), "one\n");
}

/// As a message while it works, or with the task when it takes that up again.
#[test]
fn claude_is_told_once_what_a_red_gate_printed() {
    let server = Server::start(
        r#"
        as ana
        on "the harbour is shut"
          shell echo two > two.txt
          tool TaskUpdate {"taskId":"1","status":"completed","result":"open"}
          say It is open.
        on "write one"
          shell echo one > one.txt
          tool TaskUpdate {"taskId":"1","status":"completed","result":"one"}
          say Done.
        "#,
    );
    let mut stage = cast::stage(&CLAUDE, &server);
    let gate =
        "test ! -f one.txt || test -f two.txt || { printf 'the harbour is %s\\n' shut; false; }";
    let setup = Setup { gate: vec![gate.to_owned()], ..Setup::default() };
    cast::team_with(&mut stage, CLAUDE.agent, setup, |_| {});
    write_one(&mut stage);
    stage.finished(1);
    assert_eq!(stage.file("two.txt"), "two\n");
    let requests = server.requests();
    let last = requests.iter().rfind(|request| request.contains("echo two")).unwrap();
    let told = last.body.to_string();
    assert_eq!(told.matches("the harbour is shut").count(), 1, "{told}");
}

/// What shipmate adds to the first request for a task, in tokens at four bytes each; every request carries it
/// all again. The rows of docs/benchmarks.md.
fn adds_little(kind: &Kind, model: &str, whole_max: usize) {
    let server = Server::start("as ana\non \"write one\"\n  say Looked.\n");
    let mut stage = cast::stage(kind, &server);
    cast::team(&mut stage, kind, |add| model.clone_into(&mut add.model));
    write_one(&mut stage);
    let is_tasks =
        |request: &Request| request.contains("write one") && !request.contains("title generator");
    let request = server.wait_for(is_tasks);
    let seat = Seat {
        team: String::new(),
        name: String::new(),
        kind: SeatKind::Teammate,
        mode: Mode::Normal,
        tools: Vec::new(),
    };
    let names: Vec<&str> = tools::list(&seat).into_iter().map(|tool| tool.name).collect();
    let (mut team, mut standing, mut task) = (0, 0, 0);
    let is_ours = |name: &str| match kind.agent {
        "native" | "codex" => names.contains(&name),
        _ => name.contains("team") && names.iter().any(|own| name.ends_with(own)),
    };
    tools_in(&request.body["tools"], "", &mut |name, bytes| {
        team += if is_ours(name) { bytes } else { 0 };
    });
    // Codex has a model that it knows write programs, and tells it of tools in the words of one.
    texts_in(&request.body["input"], &mut |text| {
        for section in text.split("\n### `").skip(1) {
            let name = section.split('`').next().unwrap_or_default();
            team += if names.contains(&name) { section.len() } else { 0 };
        }
    });
    texts_in(&request.body, &mut |text| {
        let behind = text.find("## Your Assignment").unwrap_or(text.len());
        let before = text[..behind].find("You are ana, a teammate");
        standing += before.map_or(0, |at| behind - at);
        task += text.len() - behind;
    });
    let all = [team, standing, task, request.body.to_string().len()].map(|bytes| bytes / 4);
    let [team, standing, task, whole] = all;
    println!("| {} {model} | {team} | {standing} | {task} | {whole} |", kind.agent);
    assert!((1..=1_600).contains(&team), "{team} tokens of tools: {}", request.body);
    assert!((1..=400).contains(&standing), "{standing} tokens of standing words");
    assert!((1..=400).contains(&task), "{task} tokens of the task");
    assert!(whole <= whole_max, "{whole} tokens: {}", request.body);
    stage.finished(1);
}

/// Each tool of a request by its name, with that of the group that it is in, however the provider nests them.
fn tools_in(value: &Value, group: &str, found: &mut impl FnMut(&str, usize)) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| tools_in(one, group, found)),
        Value::Object(fields) => {
            let name = value["name"].as_str().map(|name| format!("{group}{name}"));
            let inner = ["tools", "functionDeclarations", "function"];
            match inner.iter().find_map(|key| fields.get(*key)) {
                Some(inner) => tools_in(inner, &name.unwrap_or_default(), found),
                None => found(&name.unwrap_or_default(), value.to_string().len()),
            }
        }
        _ => {}
    }
}

fn texts_in(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(all) => all.iter().for_each(|one| texts_in(one, found)),
        Value::Object(fields) => fields.values().for_each(|one| texts_in(one, found)),
        _ => {}
    }
}

#[test]
fn claudes_first_request_has_little_of_ours() {
    adds_little(&CLAUDE, "", 13_000);
}

#[test]
fn codexs_first_request_has_little_of_ours() {
    adds_little(&CODEX, "", 14_000);
    // One that it does not know.
    adds_little(&CODEX, "mock-1", 10_000);
}

#[test]
fn the_own_agents_first_request_is_small() {
    adds_little(&NATIVE, "", 2_200);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn geminis_first_request_has_little_of_ours() {
    adds_little(&GEMINI, "", 17_000);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencodes_first_request_has_little_of_ours() {
    adds_little(&OPENCODE, "", 13_000);
}

/// The ports of its tree and the variables of `[trees]`, in the shell that its model uses.
fn finds_its_ports(kind: &Kind) {
    let server = Server::start(
        r#"
        as ana
        on "write one"
          shell echo "$PORT_1 $SHIPMATE_PORT $BASE_URL" > one.txt
          tool TaskUpdate {"taskId":"1","status":"completed","result":"there"}
          say Done.
        "#,
    );
    let mut stage = cast::stage(kind, &server);
    let url = "http://localhost:${PORT_1}".to_owned();
    let env = BTreeMap::from([("BASE_URL".to_owned(), url)]);
    let preparation = Preparation { ports: 1, env, ..Preparation::default() };
    cast::team_with(&mut stage, kind.agent, Setup { preparation, ..Setup::default() }, |_| {});
    write_one(&mut stage);
    stage.finished(1);
    let line = stage.file("one.txt");
    let port = line.split(' ').next().unwrap();
    assert!(port.parse::<u16>().is_ok_and(|port| (20_000..30_000).contains(&port)), "{line}");
    assert_eq!(line, format!("{port} {port} http://localhost:{port}\n"));
}

#[test]
fn claudes_shell_has_the_ports_of_its_tree() {
    finds_its_ports(&CLAUDE);
}

#[test]
fn codexs_shell_has_the_ports_of_its_tree() {
    finds_its_ports(&CODEX);
}

#[test]
fn the_own_agents_shell_has_the_ports_of_its_tree() {
    finds_its_ports(&NATIVE);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn geminis_shell_has_the_ports_of_its_tree() {
    finds_its_ports(&GEMINI);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencodes_shell_has_the_ports_of_its_tree() {
    finds_its_ports(&OPENCODE);
}
