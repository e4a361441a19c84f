//! What programs bring of their own, behind the vendors' real ones: memory files that are there twice,
//! folders that they count as theirs, arguments that they are used to; and what their shells find.

use std::collections::BTreeMap;

use shipmate_model::setup::Preparation;
use shipmate_protocol::verbs::{Setup, TaskNew};
use shipmate_protocol::{Ask, verbs};
use shipmate_testkit::model::Server;

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

/// Every request carries it all again.
#[test]
fn the_own_agents_first_request_is_small() {
    let server = Server::start("as ana\non \"write one\"\n  say Looked.\n");
    let mut stage = cast::stage(&NATIVE, &server);
    cast::team(&mut stage, &NATIVE, |_| {});
    write_one(&mut stage);
    let request = server.wait_for(|request| request.contains("write one"));
    let tokens = request.body.to_string().len() / 4;
    assert!(tokens <= 2_200, "{tokens} tokens: {}", request.body);
    stage.finished(1);
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
