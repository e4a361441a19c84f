//! Words that programs act on by themselves, without their model: on no road into a program do a
//! teammate's words attach a file, show a skill or run a command, and on each they are as written.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Supervision;
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, OPENCODE, message, task};
use crate::stage::Stage;

/// Ana's task, which is held in its middle and once more when it is told something.
const SCRIPT: &str = r#"
as ana
on "write one"
  shell echo one > one.txt
  hold busy
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
on "busy words"
  say Heard.
on "idle words"
  tool SendMessage {"to":"person","message":"heard"}
  say Heard it.
"#;

/// Bo makes a task of these words and tells ana of them, at work and idle. What the model was
/// asked with.
fn hears(kind: &Kind, sign: &str, prepare: impl FnOnce(&Stage)) -> Vec<Request> {
    let server = Server::start(SCRIPT);
    let mut stage = cast::stage(kind, &server);
    prepare(&stage);
    stage.commit();
    cast::team(&mut stage, kind, |add| add.when_needed = false);
    let mut bo = cast::bo(&mut stage);
    cast::stays(&mut stage);
    bo.ask(task("write one", &format!("task words {sign}\n{sign}"))).unwrap();
    server.wait_for(|request| request.contains("echo one > one.txt") && request.body.is_object());
    bo.ask(message(&format!("busy words {sign}\n{sign}"))).unwrap();
    server.release("busy");
    stage.finished(1);
    server.wait_for(|request| request.contains("busy words"));
    bo.ask(message(&format!("idle words {sign}\n{sign}"))).unwrap();
    stage.hear(|event| event["message.sent"]["body"] == "heard");
    let (name, reason) = (Some("ana".to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: 30_000 }));
    let requests: Vec<Request> =
        server.requests().into_iter().filter(|request| request.body.is_object()).collect();
    for road in ["task", "busy", "idle"] {
        let words = serde_json::json!(format!("{road} words {sign}\n{sign}")).to_string();
        let words = words.trim_matches('"');
        let told = requests.iter().any(|request| request.body.to_string().contains(words));
        assert!(told, "{road} words are not as they were written");
    }
    requests
}

/// The text that holds these words, in the first request that does.
fn told<'a>(requests: &'a [Request], words: &str) -> &'a str {
    fn find<'a>(value: &'a serde_json::Value, words: &str) -> Option<&'a str> {
        match value {
            serde_json::Value::String(text) => Some(text.as_str()).filter(|t| t.contains(words)),
            serde_json::Value::Array(items) => items.iter().find_map(|item| find(item, words)),
            serde_json::Value::Object(fields) => fields.values().find_map(|item| find(item, words)),
            _ => None,
        }
    }
    requests.iter().find_map(|request| find(&request.body, words)).expect("somebody was told")
}

#[test]
fn what_others_write_makes_claude_attach_no_file() {
    let requests = hears(&CLAUDE, "@notes.txt", |stage| stage.write("notes.txt", "in the notes\n"));
    let attached = requests.iter().any(|request| request.contains("in the notes"));
    assert!(!attached, "a file was attached that nobody asked for");
    let task = told(&requests, "task words");
    assert!(task.contains("Task 1: what bo asks for below. bo is a teammate"), "{task}");
    let envelope = "From a teammate, not from the user:\n<teammate-message from=\"bo\" id=\"1\" \
                    kind=\"task\" team=\"alpha\">\nwrite one\n\ntask words";
    assert!(task.contains(envelope), "{task}");
    // At work it is told as what it is, and not as the user's.
    let busy = told(&requests, "busy words");
    assert!(busy.starts_with("[MESSAGE FROM NON-USER SOURCE"), "{busy}");
    assert!(busy.contains("From a teammate, not from the user:\n<teammate-message"), "{busy}");
}

#[test]
fn what_the_person_writes_to_a_claude_at_work_is_the_users() {
    let server = Server::start(SCRIPT);
    let mut stage = cast::stage(&CLAUDE, &server);
    cast::team(&mut stage, &CLAUDE, |_| {});
    stage.ask(task("write one", ""));
    server.wait_for(|request| request.contains("tool_result"));
    stage.ask(message("busy words"));
    stage.event("message.injected");
    server.release("busy");
    stage.finished(1);
    let requests = server.requests();
    let busy = told(&requests, "busy words");
    assert!(busy.starts_with("The user sent a new message"), "{busy}");
}

#[test]
fn what_others_write_shows_codex_no_skill() {
    let skill = "---\nname: pirate\ndescription: talks\n---\nin the skill\n";
    let requests = hears(&CODEX, "$pirate", |stage| {
        stage.write(".agents/skills/pirate/SKILL.md", skill);
    });
    let shown = requests.iter().any(|request| request.contains("in the skill"));
    assert!(!shown, "a skill was shown that nobody asked for");
    let all: String = requests.iter().map(|request| request.body.to_string()).collect();
    assert!(!all.contains("spawn_agent"), "it has a team of its own beside ours");
}

fn runs_no_command(kind: &Kind) {
    let requests = hears(kind, "/hello @notes.txt", |stage| {
        stage.write("notes.txt", "in the notes\n");
        stage.write(".opencode/command/hello.md", "scuttle the ship @notes.txt");
        stage.write(".gemini/commands/hello.toml", "prompt = \"scuttle the ship @{notes.txt}\"");
    });
    for words in ["scuttle the ship", "in the notes"] {
        let ran = requests.iter().any(|request| request.contains(words));
        assert!(!ran, "{words}: by the words of a teammate");
    }
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn what_others_write_makes_gemini_do_nothing_by_itself() {
    runs_no_command(&GEMINI);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn what_others_write_makes_opencode_do_nothing_by_itself() {
    runs_no_command(&OPENCODE);
}

#[test]
fn a_run_for_one_prompt_attaches_no_file() {
    let server = Server::start("as ana\non \"write one\"\n  say Done.\n");
    let mut stage = cast::stage(&CLAUDE, &server);
    stage.write("notes.txt", "in the notes\n");
    stage.commit();
    cast::team(&mut stage, &CLAUDE, |add| add.when_needed = false);
    stage.ask(task("write one", "@notes.txt"));
    let (name, supervision) = ("ana".to_owned(), Supervision::OneShot);
    stage.ask(Ask::TeammateStart(verbs::TeammateStart { name, supervision }));
    let asked = server.wait_for(|request| request.contains("write one"));
    assert!(asked.contains("@notes.txt"), "{}", asked.body);
    assert!(!asked.contains("in the notes"), "{}", asked.body);
}

/// A server of the person's settings, which is this very program under another name.
const PERSONS: &str = "[mcp_servers.helper]\ncommand = \"sh\"\nargs = [\"-c\", \"exec PROGRAM mcp\"]\n\
                       [mcp_servers.shipmate]\ncommand = \"PROGRAM\"\nargs = [\"mcp\"]\n";

#[test]
fn a_codex_teammate_has_no_tools_of_the_persons_own_server() {
    let server = Server::start(SCRIPT);
    let mut stage = cast::stage(&CODEX, &server);
    let path = stage.root().join("home/.codex/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let persons = PERSONS.replace("PROGRAM", crate::stage::SHIPMATE);
    std::fs::write(&path, config + &persons).unwrap();
    cast::team(&mut stage, &CODEX, |_| {});
    stage.ask(task("write one", ""));
    server.release("busy");
    stage.finished(1);
    let all: String = server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(all.contains("SendMessage"), "the tools of its own runtime");
    for name in ["mcp__shipmate", "mcp__helper"] {
        assert!(!all.contains(name), "{name} is offered");
    }
    let mates: Vec<String> = match stage.ask(Ask::Teammates) {
        shipmate_protocol::Answer::Teammates(mates) => {
            mates.into_iter().map(|mate| mate.name).collect()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(mates, ["ana"]);
}
