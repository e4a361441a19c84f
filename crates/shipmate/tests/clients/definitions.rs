//! Definitions of agents that people have already, behind the vendors' real programs and our own: what each
//! field of each format comes to, and what is said where a program cannot hold it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shipmate_protocol::verbs::{TaskNew, TeammateAdd};
use shipmate_protocol::{Ask, verbs};
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, NATIVE, OPENCODE};
use crate::stage::{Stage, of};

const BODY: &str = "Begin every answer with the words of the harbour master.";

/// An MCP server in a few lines of shell.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
      "serverInfo":{"name":"own","version":"1"}}' | tr -d '\n'; echo;;
    *'"tools/list"'*) say '{"tools":[{"name":"tide","description":"The tide of the harbour",
      "inputSchema":{"type":"object","properties":{}}}]}' | tr -d '\n'; echo;;
    *'"tools/call"'*) say '{"content":[{"type":"text","text":"it is high at noon"}]}';;
    *'"id"'*) say '{}';;
  esac
done
"#;

const SCRIPT: &str = r#"
    as ana
    on "write one"
      say I will write the file.
      shell echo one > one.txt
      & tool ToolSearch {"query":"select:mcp__own__tide"}
      tool tide {}
      tool TaskUpdate {"taskId":"1","status":"completed","result":"as far as I could"}
      say All done.
"#;

/// A file, as the program would have it that its format belongs to.
struct File {
    path: &'static str,
    /// With what it says of its model, and of a mode in which it writes nothing.
    text: fn(model: &str, looks: bool, root: &Path) -> String,
    has_server: bool,
    has_skills: bool,
}

const OF_CLAUDE: File = File {
    path: ".claude/agents/harbour.md",
    text: |model, looks, root| {
        let root = root.display();
        let mode = if looks { "permissionMode: plan\n" } else { "" };
        format!(
            "---\nname: harbour\ndescription: Knows the harbour\ntools: Read, Grep, Glob, Edit, \
             Write(docs/**), Bash, Sextant\ndisallowedTools: Bash\n{model}{mode}skills: charts\n\
             tinge: red\nmaxTurns: 3\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          \
             command: touch {root}/notes/hooked\nmcpServers:\n  - own:\n      command: \
             {root}/own-server\n---\n{BODY}\n"
        )
    },
    has_server: true,
    has_skills: true,
};

const OF_CODEX: File = File {
    path: ".codex/agents/harbour.toml",
    text: |model, looks, root| {
        let mode = if looks { "sandbox_mode = \"read-only\"\n" } else { "" };
        format!(
            "name = \"harbour\"\ndescription = \"Knows the harbour\"\ndeveloper_instructions = \
             \"{BODY}\"\n{model}{mode}tinge = \"red\"\n[mcp_servers.own]\ncommand = \
             \"{}/own-server\"\n",
            root.display()
        )
    },
    has_server: true,
    has_skills: false,
};

const OF_OPENCODE: File = File {
    path: ".opencode/agent/harbour.md",
    text: |model, _, _| {
        format!(
            "---\ndescription: Knows the harbour\nmode: subagent\n{model}tools:\n  bash: false\n\
             permission:\n  webfetch: deny\n  edit:\n    \"docs/**\": allow\ntinge: red\n---\n{BODY}\n"
        )
    },
    has_server: false,
    has_skills: false,
};

const STRANGE: &str = "nobody here knows its fields tinge";
const CLAUDES: [&str; 6] = [
    "skills are named to it, not put into its conversation",
    "hooks of a definition are not run; those of .claude/settings.json are",
    "its maxTurns are not held: what the program is set to counts",
    STRANGE,
    "nobody knows the tools Sextant",
    "its tools are there whole, whatever pattern stands behind their names",
];
const PATTERNS: &str = "the patterns of permission.edit are not held";

/// A team of one that is made from this file.
fn stage(kind: &Kind, file: &File, model: &str, looks: bool, server: &Server) -> Stage {
    let mut stage = cast::stage(kind, server);
    let root = stage.root();
    std::fs::write(root.join("own-server"), SERVER).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.join("own-server"), mode).unwrap();
    stage.write(file.path, &(file.text)(model, looks, &root));
    stage.commit();
    cast::team(&mut stage, kind, |add| add.from = "harbour".to_owned());
    let (subject, no_change) = ("write one".to_owned(), true);
    stage.create(vec![TaskNew { subject, no_change, ..TaskNew::default() }]);
    stage
}

/// Allows whatever is asked until the task has ended.
fn allowed(stage: &mut Stage) {
    loop {
        let one = stage.hear(|event| {
            ["question.asked", "task.completed", "task.failed"]
                .iter()
                .any(|name| event.get(name).is_some())
        });
        if one["event"].get("question.asked").is_none() {
            return;
        }
        let (question, answer) = (one["n"].as_u64().unwrap(), "allow".to_owned());
        stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
    }
}

/// Behind this program the file comes to what it says, but for what is said of it.
fn is_held(kind: &Kind, file: &File, model: &str, said: &[&str]) -> Request {
    let server = Server::start(SCRIPT);
    let mut stage = stage(kind, file, model, false, &server);
    let at = format!("{} behind {}", file.path, kind.agent);
    allowed(&mut stage);
    // opencode has a title made first.
    let is_tasks =
        |request: &Request| request.contains("write one") && !request.contains("title generator");
    let request = server.wait_for(is_tasks);
    assert!(request.contains(BODY), "{at}: {}", request.body);
    let skills = request.contains("Your skills, to read before you begin: charts");
    assert_eq!(skills, file.has_skills, "{at}: {}", request.body);
    let requests = server.requests();
    let answered = requests.iter().any(|request| request.contains("it is high at noon"));
    assert_eq!(answered, file.has_server, "{at}: its server's tool\n{}", stage.story());
    let denies = file.path != OF_CODEX.path;
    assert_eq!(stage.has_file("one.txt"), !denies, "{at}: its shell\n{}", stage.story());
    assert!(!stage.root().join("notes/hooked").exists(), "{at}: a hook ran");
    assert_eq!(stage.teammate("ana").unheld, said, "{at}");
    request
}

/// In a mode that only looks it writes nothing.
fn only_looks(kind: &Kind) {
    let script = "as ana\non \"write one\"\n  write one.txt one\n  tool ExitPlanMode {\"plan\":\"chart \
                  it\"}\n  tool TaskUpdate {\"taskId\":\"1\",\"status\":\"completed\",\"result\":\"I \
                  looked\"}\n  say I looked.\n";
    for (file, mode) in [(OF_CLAUDE, "plan"), (OF_CODEX, "read_only")] {
        let server = Server::start(script);
        let mut stage = stage(kind, &file, "", true, &server);
        stage.hear(|event| {
            ["plan.submitted", "task.completed"].iter().any(|name| event.get(name).is_some())
        });
        assert_eq!(stage.teammate("ana").mode.word(), mode, "{} {}", kind.agent, file.path);
        assert!(!stage.tree("ana").join("one.txt").exists(), "{} {}", kind.agent, file.path);
    }
}

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

#[test]
fn claude_is_what_definitions_say() {
    let model = "model: claude-harbour-1\n";
    let request = is_held(&CLAUDE, &OF_CLAUDE, model, &CLAUDES);
    assert_eq!(request.body["model"], "claude-harbour-1");
    let tools = request.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"Edit") && !tools.contains(&"Bash"), "{tools:?}");
    let foreign = "the model gpt-harbour-1 is one of codex's: claude uses its own";
    is_held(&CLAUDE, &OF_CODEX, "model = \"gpt-harbour-1\"\n", &[STRANGE, foreign]);
    let request =
        is_held(&CLAUDE, &OF_OPENCODE, "model: anthropic/claude-harbour-2\n", &[PATTERNS, STRANGE]);
    assert_eq!(request.body["model"], "claude-harbour-2");
}

#[test]
fn codex_is_what_definitions_say() {
    const LOOKS: &str = "codex runs commands that only look, such as ls, without asking";
    let foreign = "the model claude-harbour-1 is one of claude's: codex uses its own";
    let model = "model: claude-harbour-1\n";
    is_held(&CODEX, &OF_CLAUDE, model, &with(&CLAUDES, &[LOOKS, foreign]));
    let request = is_held(&CODEX, &OF_CODEX, "model = \"gpt-harbour-1\"\n", &[STRANGE]);
    assert_eq!(request.body["model"], "gpt-harbour-1");
    let model = "model: openai/gpt-harbour-2\n";
    let request = is_held(&CODEX, &OF_OPENCODE, model, &[PATTERNS, STRANGE, LOOKS]);
    assert_eq!(request.body["model"], "gpt-harbour-2");
}

#[test]
fn the_own_agent_is_what_definitions_say() {
    let model = "model: claude-harbour-1\n";
    let request = is_held(&NATIVE, &OF_CLAUDE, model, &CLAUDES);
    assert_eq!(request.body["model"], "claude-harbour-1");
    is_held(&NATIVE, &OF_CODEX, "", &[STRANGE]);
    let model = "model: test/harbour-1\n";
    let request = is_held(&NATIVE, &OF_OPENCODE, model, &[PATTERNS, STRANGE]);
    assert_eq!(request.body["model"], "harbour-1");
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_is_what_definitions_say() {
    let foreign = "the model claude-harbour-1 is one of claude's: gemini uses its own";
    let own = "the tools of your own MCP servers in gemini are not kept from it: each is asked about once";
    is_held(&GEMINI, &OF_CLAUDE, "model: claude-harbour-1\n", &with(&CLAUDES, &[own, foreign]));
    let foreign = "the model gpt-harbour-1 is one of codex's: gemini uses its own";
    is_held(&GEMINI, &OF_CODEX, "model = \"gpt-harbour-1\"\n", &[STRANGE, foreign]);
    let model = "model: google/gemini-3.8-flash\n";
    let request = is_held(&GEMINI, &OF_OPENCODE, model, &[PATTERNS, STRANGE]);
    assert!(request.path.contains("gemini-3.8-flash"), "{}", request.path);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_is_what_definitions_say() {
    let own = "the tools of your own MCP servers in opencode are not kept from it: each is asked about once";
    is_held(&OPENCODE, &OF_CLAUDE, "", &with(&CLAUDES, &[own]));
    is_held(&OPENCODE, &OF_CODEX, "", &[STRANGE]);
    let model = "model: scripted/harbour-1\n";
    let request = is_held(&OPENCODE, &OF_OPENCODE, model, &[PATTERNS, STRANGE]);
    assert_eq!(request.body["model"], "harbour-1");
}

#[test]
fn claude_only_looks_where_a_definition_says_so() {
    only_looks(&CLAUDE);
}

#[test]
fn codex_only_looks_where_a_definition_says_so() {
    only_looks(&CODEX);
}

#[test]
fn the_own_agent_only_looks_where_a_definition_says_so() {
    only_looks(&NATIVE);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_only_looks_where_a_definition_says_so() {
    only_looks(&GEMINI);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_only_looks_where_a_definition_says_so() {
    only_looks(&OPENCODE);
}

#[test]
fn a_lead_that_names_a_definition_gets_that_agent_and_one_that_nobody_defined_is_refused() {
    let server = Server::start(
        r#"
        as ana
        on "bring somebody"
          tool Task {"name":"rex","subagent_type":"harbour","prompt":"count the ships"}
          tool Task {"name":"max","subagent_type":"lighthouse","prompt":"count the lamps"}
          tool TaskUpdate {"taskId":"1","status":"completed","result":"{{last 300}}"}
          say Done.
        as rex
        on "count the ships"
          say I count.
        "#,
    );
    let mut stage = cast::stage(&NATIVE, &server);
    let root = stage.root();
    std::fs::write(root.join("own-server"), SERVER).unwrap();
    std::fs::set_permissions(root.join("own-server"), PermissionsExt::from_mode(0o755)).unwrap();
    stage.write(OF_CLAUDE.path, &(OF_CLAUDE.text)("", false, &root));
    stage.commit();
    cast::team(&mut stage, &NATIVE, |add| *add = TeammateAdd { lead: true, ..add.clone() });
    let subject = "bring somebody".to_owned();
    let assignee = Some("ana".to_owned());
    stage.create(vec![TaskNew { subject, assignee, no_change: true, ..TaskNew::default() }]);
    stage.finished(1);
    let refused = stage.task(1).result.unwrap();
    assert!(refused.contains("there is no definition of an agent lighthouse"), "{refused}");
    assert!(refused.contains("there are harbour"), "{refused}");
    let added = of(&stage.log, "teammate.added");
    assert!(!added.iter().any(|one| one["who"].as_str().unwrap().ends_with("/max")), "{added:?}");
    let request = server
        .wait_for(|request| request.contains("count the ships") && request.contains("You are rex"));
    assert!(request.contains(BODY), "{}", request.body);
    let tools = request.body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"mcp__own__tide") && !tools.contains(&"bash"), "{tools:?}");
}
