//! Definitions of agents that people have already, behind the vendors' real programs and our own: what each
//! field of each format comes to, and what is said where a program cannot hold it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::json;
use shipmate_protocol::verbs::{TaskNew, TeammateAdd};
use shipmate_protocol::{Ask, verbs};
use shipmate_testkit::mcp;
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, NATIVE, OPENCODE};
use crate::servers::change;
use crate::stage::{Stage, of};

const BODY: &str = "Begin every answer with the words of the harbour master.";

const PROMPT: &str = "Speak of the tide first.";

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

/// One that is reached by HTTP, in both ways, and wants a key.
static FAR: LazyLock<String> = LazyLock::new(mcp::start);

const SCRIPT: &str = r#"
    as ana
    on "write one"
      say I will write the file.
      shell echo one > one.txt
      & tool ToolSearch {"query":"select:mcp__own__tide,mcp__far__depth,mcp__old__wind"}
      tool tide {}
      tool depth {}
      tool wind {}
      write elsewhere.txt no
      write docs/two.txt two
      tool TaskUpdate {"taskId":"1","status":"completed","result":"as far as I could"}
      say All done.
"#;

/// A file, as the program would have it that its format belongs to.
struct File {
    path: &'static str,
    /// With what it says of its model, of how hard that thinks, and of a mode in which it writes nothing.
    text: fn(model: &str, effort: &str, looks: bool, root: &Path) -> String,
}

const OF_CLAUDE: File = File {
    path: ".claude/agents/harbour.md",
    text: |model, effort, looks, root| {
        let (root, far) = (root.display(), FAR.as_str());
        let key = "{Authorization: \"Bearer ${HARBOUR_KEY}\"}";
        let mode = if looks { "plan" } else { "acceptEdits" };
        format!(
            "---\nname: harbour\ndescription: Knows the harbour\ntools: Read, Grep, Glob, Edit, \
             Write(docs/**), Bash, Sextant\ndisallowedTools: Bash\n{model}permissionMode: {mode}\n\
             skills: charts, stars\ntinge: red\ncolor: blue\nbackground: true\nisolation: worktree\n\
             maxTurns: 30\neffort: {effort}\nmemory: project\ninitialPrompt: Look out\nhooks:\n  \
             PermissionRequest:\n    - hooks:\n        - type: command\n          command: echo yes\n  \
             PreToolUse:\n    - matcher: Write\n      hooks:\n        - type: command\n          \
             timeout: 20\n          command: touch docs-hooked.txt; echo '{{\"hookSpecificOutput\":\
             {{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}}}'\n\
             mcpServers:\n  - tidal\n  - own:\n      command: {root}/own-server\n  - far: {{type: http, \
             url: {far}/mcp, headers: {key}}}\n  - old: {{type: sse, url: {far}/sse, headers: {key}}}\n\
             ---\n{BODY}\n"
        )
    },
};

const OF_CODEX: File = File {
    path: ".codex/agents/harbour.toml",
    text: |model, effort, looks, root| {
        let (root, far) = (root.display(), FAR.as_str());
        let mode = if looks { "read-only" } else { "workspace-write" };
        format!(
            "name = \"harbour\"\ndescription = \"Knows the harbour\"\ndeveloper_instructions = \
             \"{BODY}\"\n{model}sandbox_mode = \"{mode}\"\ntinge = \"red\"\nnickname_candidates = [\"Mo\"]\n\
             model_reasoning_effort = \"{effort}\"\nmodel_verbosity = \"low\"\n[mcp_servers.own]\n\
             command = \"{root}/own-server\"\n[mcp_servers.far]\nurl = \"{far}/mcp\"\n\
             bearer_token_env_var = \"HARBOUR_KEY\"\n"
        )
    },
};

const OF_OPENCODE: File = File {
    path: ".opencode/agent/harbour.md",
    text: |model, _, _, _| {
        format!(
            "---\ndescription: Knows the harbour\nprompt: {PROMPT}\nmode: subagent\nhidden: false\n{model}\
             tools:\n  bash: false\npermission:\n  webfetch: deny\n  read: ask\n  edit:\n    \"docs/**\": allow\n\
             temperature: 0.2\ntop_p: 0.9\nsteps: 30\noptions:\n  tide: high\ntinge: red\n---\n{BODY}\n"
        )
    },
};

const PROGRAMS: [&Kind; 5] = [&CLAUDE, &CODEX, &GEMINI, &OPENCODE, &NATIVE];

/// What was seen of one program that was told one file.
struct Seen<'a> {
    kind: &'a Kind,
    file: &'a File,
    /// The first request of its task.
    request: &'a Request,
    stage: &'a Stage,
    /// Tools of the file's own servers were called: of a process, and by HTTP, also in the older way.
    has_tide: bool,
    has_depth: bool,
    has_wind: bool,
    /// The model that the file names, and the one that is to be asked for; nothing: the program's own.
    names: &'a str,
    asks: &'a str,
}

impl Seen<'_> {
    fn is_of(&self, file: &File) -> bool {
        self.file.path == file.path
    }

    fn is_behind(&self, kind: &Kind) -> bool {
        self.kind.agent == kind.agent
    }
}

/// A row of the table in the manual: which fields, what is so behind each program, and how that is seen. Each
/// gives the sentences that have to be said of it.
struct Row {
    fields: &'static str,
    cells: [&'static str; 5],
    seen: fn(&Seen<'_>, cell: &str) -> Vec<String>,
}

const ROWS: &[Row] = &[
    Row {
        fields: "body, `developer_instructions`, `prompt`",
        cells: ["yes"; 5],
        seen: |seen, _| {
            assert!(seen.request.contains(BODY), "{}", seen.request.body);
            assert_eq!(seen.request.contains(PROMPT), seen.is_of(&OF_OPENCODE));
            Vec::new()
        },
    },
    Row {
        fields: "`model`",
        cells: [
            "yes",
            "Codex's and OpenAI's",
            "Google's, of those it offers; else its output says so",
            "with its provider",
            "with its provider",
        ],
        seen: |seen, _| {
            let asked = seen.request.body["model"].as_str().unwrap_or(&seen.request.path);
            if !seen.names.is_empty() && seen.asks.is_empty() {
                assert!(!asked.contains("harbour"), "{asked}");
                let of = if seen.is_of(&OF_CLAUDE) { "claude" } else { "codex" };
                let (model, agent) = (seen.names, seen.kind.agent);
                return vec![format!("the model {model} is one of {of}'s: {agent} uses its own")];
            }
            assert!(asked.contains(seen.asks), "{asked}");
            Vec::new()
        },
    },
    Row {
        fields: "`tools`, `disallowedTools`, opencode's `tools` and `permission: deny`",
        cells: [
            "not offered",
            "refused when it asks; commands that only look are not asked for",
            "not offered; your own MCP servers' tools are (said)",
            "denied, behind what your own `OPENCODE_PERMISSION` says; your own MCP servers' tools are not \
             (said)",
            "not offered",
        ],
        seen: |seen, cell| {
            let denies = !seen.is_of(&OF_CODEX);
            assert_eq!(seen.stage.has_file("one.txt"), !denies, "its shell");
            if cell == "not offered" && denies {
                let tools = seen.request.body["tools"].as_array().unwrap().iter();
                let tools: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
                assert!(!tools.contains(&"Bash") && !tools.contains(&"bash"), "{tools:?}");
            }
            let agent = seen.kind.agent;
            match () {
                () if seen.is_behind(&CODEX) && denies => {
                    vec![
                        "codex runs commands that only look, such as ls, without asking".to_owned(),
                    ]
                }
                () if cell.contains("(said)") && seen.is_of(&OF_CLAUDE) => vec![format!(
                    "the tools of your own MCP servers in {agent} are not kept from it: each is asked \
                     about once"
                )],
                () => Vec::new(),
            }
        },
    },
    // Tried in `kept_back`.
    Row {
        fields: "`disallowedTools: Write, Edit, WebFetch, WebSearch, Agent`",
        cells: [
            "not offered",
            "changes of files refused when it asks; web search, which opens pages too, not offered; it starts \
             no agents",
            "not offered",
            "not offered",
            "not offered",
        ],
        seen: |_, _| Vec::new(),
    },
    Row {
        fields: "`mcpServers`, `mcp_servers` written out: a command, or a `url` with `headers`",
        cells: ["yes", "yes, but `sse`: said", "yes", "yes", "yes"],
        seen: |seen, cell| {
            assert_eq!(seen.has_tide, !seen.is_of(&OF_OPENCODE), "its server's tool");
            assert_eq!(seen.has_depth, !seen.is_of(&OF_OPENCODE), "its server by HTTP");
            let speaks_sse = seen.is_of(&OF_CLAUDE);
            assert_eq!(seen.has_wind, speaks_sse && cell == "yes", "its server in the older way");
            let named = "the MCP server tidal is used where the program has it set up";
            let old = "its MCP server old speaks sse: codex reaches it by streamable HTTP";
            match (speaks_sse, cell) {
                (true, "yes") => vec![named.to_owned()],
                (true, _) => vec![named.to_owned(), old.to_owned()],
                (false, _) => Vec::new(),
            }
        },
    },
    // Tried by those that only look.
    Row {
        fields: "`permissionMode: plan`, `sandbox_mode = \"read-only\"`",
        cells: ["yes"; 5],
        seen: |_, _| Vec::new(),
    },
    Row {
        fields: "`skills`",
        cells: ["their text, up to 16 KiB each"; 5],
        seen: |seen, _| {
            let is_claudes = seen.is_of(&OF_CLAUDE);
            let text = "Your skill charts:\\nSoundings are in fathoms.";
            assert_eq!(seen.request.body.to_string().contains(text), is_claudes, "its skill");
            let absent = "its skill stars is not there: write .claude/skills/stars/SKILL.md";
            is_claudes.then(|| absent.to_owned()).into_iter().collect()
        },
    },
    Row {
        fields: "`hooks`: commands",
        cells: ["yes, but none that gives leave", "said", "said", "said", "said"],
        seen: |seen, cell| {
            let runs = seen.is_of(&OF_CLAUDE) && cell != "said";
            assert_eq!(seen.stage.has_file("docs-hooked.txt"), runs, "its hook");
            let not_run =
                "its hooks are not run: they are passed on to Claude Code only".to_owned();
            match (seen.is_of(&OF_CLAUDE), runs) {
                (false, _) => Vec::new(),
                (true, true) => vec!["hooks of PermissionRequest are not run".to_owned()],
                (true, false) => vec!["hooks of PermissionRequest are not run".to_owned(), not_run],
            }
        },
    },
    Row {
        fields: "patterns, in `disallowedTools` too: `Bash(git *)`, `Write(docs/**)`",
        cells: ["yes", "said", "said", "said", "said"],
        seen: |seen, cell| {
            let said =
                || "the patterns behind Write are not held: the tools are there whole".to_owned();
            match () {
                () if seen.is_of(&OF_OPENCODE) => {
                    vec!["the patterns of permission.edit are not held".to_owned()]
                }
                () if seen.is_of(&OF_CODEX) => Vec::new(),
                () if cell == "said" => vec![said()],
                () => {
                    assert!(seen.stage.has_file("docs/two.txt"), "what its pattern covers");
                    assert!(!seen.stage.has_file("elsewhere.txt"), "and what it does not");
                    Vec::new()
                }
            }
        },
    },
    Row {
        fields: "`effort`, `model_reasoning_effort`",
        cells: ["yes, but `none` and `minimal`: said", "yes", "said", "said", "said"],
        seen: |seen, _| {
            if !seen.is_of(&OF_OPENCODE) {
                thinks(seen.kind, seen.request, effort(seen.kind, seen.file, false));
            }
            Vec::new()
        },
    },
    // Held by those that end after their turns.
    Row {
        fields: "`maxTurns`, `steps`, `maxSteps`",
        cells: ["yes", "said", "said", "said", "yes"],
        seen: |seen, _| {
            // One sentence for the three rows around it.
            let is_told = |fields: &[(&str, &[&Kind])]| {
                let told =
                    fields.iter().filter(|(_, by)| !by.iter().any(|kind| seen.is_behind(kind)));
                let told: Vec<&str> = told.map(|(field, _)| *field).collect();
                let (fields, agent) = (told.join(", "), seen.kind.agent);
                let told = (!told.is_empty())
                    .then(|| format!("its {fields} are not held: what {agent} is set to counts"));
                told.into_iter().collect()
            };
            let thinks: &[&Kind] = match seen.is_of(&OF_CLAUDE) {
                true => &[&CLAUDE, &CODEX],
                false => &[&CODEX],
            };
            let turns: &[&Kind] = &[&CLAUDE, &NATIVE];
            match () {
                () if seen.is_of(&OF_CLAUDE) => is_told(&[("effort", thinks), ("maxTurns", turns)]),
                () if seen.is_of(&OF_OPENCODE) => is_told(&[("steps", turns)]),
                () => {
                    is_told(&[("model_reasoning_effort", thinks), ("model_verbosity", &[&CODEX])])
                }
            }
        },
    },
    Row {
        fields: "`model_verbosity`",
        cells: ["said", "yes", "said", "said", "said"],
        seen: |seen, _| {
            if seen.is_behind(&CODEX) && seen.is_of(&OF_CODEX) {
                assert_eq!(seen.request.body["text"]["verbosity"], "low");
            }
            Vec::new()
        },
    },
    Row {
        fields: "`memory`, `initialPrompt`, `temperature`, `top_p`, `options`",
        cells: ["said"; 5],
        seen: |seen, _| {
            let said =
                |fields| format!("its {fields} are not held: what the program is set to counts");
            match () {
                () if seen.is_of(&OF_CLAUDE) => vec![said("initialPrompt, memory")],
                () if seen.is_of(&OF_OPENCODE) => vec![said("options, temperature, top_p")],
                () => Vec::new(),
            }
        },
    },
    Row {
        fields: "`name`, `isolation`, `background`",
        cells: ["yes: each teammate has a tree of its own", "yes", "yes", "yes", "yes"],
        seen: |seen, _| {
            assert!(seen.stage.tree("ana").is_dir());
            Vec::new()
        },
    },
    Row {
        fields: "`description`, `color`, `hidden`, `nickname_candidates`, opencode's `mode`",
        cells: ["for lists and screens", "", "", "", ""],
        seen: |_, _| Vec::new(),
    },
    Row {
        fields: "other modes, other fields, tools that do not exist",
        cells: ["said"; 5],
        seen: |seen, _| {
            let strange = "nobody here knows its fields tinge".to_owned();
            let mode = match () {
                () if seen.is_of(&OF_CLAUDE) => "permissionMode acceptEdits",
                () if seen.is_of(&OF_CODEX) => "sandbox_mode workspace-write",
                () => "permission.read ask",
            };
            let mode = format!("{mode} gives nothing here: what it may do is the team's to say");
            let unknown = "nobody knows the tools Sextant".to_owned();
            let unknown = seen.is_of(&OF_CLAUDE).then_some(unknown);
            [strange, mode].into_iter().chain(unknown).collect()
        },
    },
];

/// How hard the file has its model think: also in words that the program does not know.
fn effort(kind: &Kind, file: &File, looks: bool) -> &'static str {
    match (kind.agent, file.path == OF_CLAUDE.path) {
        ("claude", _) if looks => "none",
        ("claude", false) => "minimal",
        ("codex", true) => "max",
        _ => "high",
    }
}

/// The request asks for it, or for what the person has set where the program does not know it.
fn thinks(kind: &Kind, request: &Request, effort: &str) {
    let body = &request.body;
    match (kind.agent, effort) {
        ("claude", "none" | "minimal") => assert_eq!(body["output_config"]["effort"], "low"),
        ("claude", _) => assert_eq!(body["output_config"]["effort"], effort),
        ("codex", _) => assert_eq!(body["reasoning"]["effort"], effort),
        _ => {}
    }
}

/// A team of one that is made from this file.
fn stage(kind: &Kind, file: &File, model: &str, looks: bool, server: &Server) -> Stage {
    let stage = cast::stage(kind, server);
    if kind.agent == "claude" {
        let own = json!({ "env": { "CLAUDE_CODE_EFFORT_LEVEL": "low" } });
        change(&stage.root().join("home/.claude/settings.json"), &own);
    }
    let text = (file.text)(model, effort(kind, file, looks), looks, &stage.root());
    made_from(stage, kind, file.path, &text)
}

pub(crate) fn made_from(mut stage: Stage, kind: &Kind, path: &str, text: &str) -> Stage {
    let root = stage.root();
    std::fs::write(root.join("own-server"), SERVER).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.join("own-server"), mode).unwrap();
    stage.write(path, text);
    let skill = "---\nname: charts\ndescription: Charts\n---\nSoundings are in fathoms.\n";
    stage.write(".claude/skills/charts/SKILL.md", skill);
    stage.commit();
    cast::team(&mut stage, kind, |add| add.from = "harbour".to_owned());
    let environment = [("HARBOUR_KEY".to_owned(), mcp::KEY.to_owned())].into();
    stage.ask(verbs::Renew { environment }.into());
    let (subject, no_change) = ("write one".to_owned(), true);
    stage.create(vec![TaskNew { subject, no_change, ..TaskNew::default() }]);
    stage
}

/// Allows whatever is asked until the task has ended.
pub(crate) fn allowed(stage: &mut Stage) {
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

/// Behind this program the file comes to what the table says.
fn is_held(kind: &Kind, file: &File, names: &str, asks: &str) {
    let line = match (names, file.path == OF_CODEX.path) {
        ("", _) => String::new(),
        (model, true) => format!("model = \"{model}\"\n"),
        (model, false) => format!("model: {model}\n"),
    };
    let server = Server::start(SCRIPT);
    let mut stage = stage(kind, file, &line, false, &server);
    allowed(&mut stage);
    // opencode has a title made first.
    let is_tasks =
        |request: &Request| request.contains("write one") && !request.contains("title generator");
    let request = server.wait_for(is_tasks);
    let is_told = |text: &str| server.requests().iter().any(|one| one.contains(text));
    let (has_tide, has_depth) = (is_told("it is high at noon"), is_told(mcp::DEPTH));
    let has_wind = is_told(mcp::WIND);
    let mut said = stage.teammate("ana").unheld;
    let column = PROGRAMS.iter().position(|one| one.agent == kind.agent).unwrap();
    println!("{} behind {}:\n{}", file.path, kind.agent, stage.story());
    let (request, stage) = (&request, &stage);
    let seen = Seen { kind, file, request, stage, has_tide, has_depth, has_wind, names, asks };
    let mut expected = Vec::new();
    for row in ROWS {
        println!("row {}", row.fields);
        expected.extend((row.seen)(&seen, row.cells[column]));
    }
    said.sort();
    expected.sort();
    assert_eq!(said, expected, "{} behind {}", file.path, kind.agent);
}

#[test]
fn the_manual_has_the_table_that_is_tried() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let head = "| in the file | claude | codex | gemini | opencode | native |\n|---|---|---|---|---|---|\n";
    let lines = ROWS.iter().map(|row| format!("| {} | {} |\n", row.fields, row.cells.join(" | ")));
    let table = format!("{head}{}\n", lines.collect::<String>());
    assert!(manual.contains(&table), "docs/agents.md should have:\n{table}");
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
        let request = server.wait_for(|request| request.contains("write one"));
        thinks(kind, &request, effort(kind, &file, true));
    }
}

#[test]
fn claude_is_what_definitions_say() {
    is_held(&CLAUDE, &OF_CLAUDE, "claude-opus-5", "claude-opus-5");
    is_held(&CLAUDE, &OF_CODEX, "gpt-harbour-1", "");
    is_held(&CLAUDE, &OF_OPENCODE, "anthropic/claude-harbour-2", "claude-harbour-2");
}

#[test]
fn codex_is_what_definitions_say() {
    is_held(&CODEX, &OF_CLAUDE, "claude-harbour-1", "");
    is_held(&CODEX, &OF_CODEX, "gpt-6.1-sol", "gpt-6.1-sol");
    is_held(&CODEX, &OF_OPENCODE, "openai/gpt-harbour-2", "gpt-harbour-2");
}

#[test]
fn the_own_agent_is_what_definitions_say() {
    is_held(&NATIVE, &OF_CLAUDE, "claude-harbour-1", "claude-harbour-1");
    is_held(&NATIVE, &OF_CODEX, "", "");
    is_held(&NATIVE, &OF_OPENCODE, "test/harbour-1", "harbour-1");
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_is_what_definitions_say() {
    is_held(&GEMINI, &OF_CLAUDE, "claude-harbour-1", "");
    is_held(&GEMINI, &OF_CODEX, "gpt-harbour-1", "");
    is_held(&GEMINI, &OF_OPENCODE, "google/gemini-3.8-flash", "gemini-3.8-flash");
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_is_what_definitions_say() {
    is_held(&OPENCODE, &OF_CLAUDE, "", "");
    is_held(&OPENCODE, &OF_CODEX, "", "");
    is_held(&OPENCODE, &OF_OPENCODE, "scripted/harbour-1", "harbour-1");
}

/// Its task ends when it has asked its model twice, whatever it would go on with.
fn ends_after_its_turns(kind: &Kind) {
    for (file, field) in
        [(OF_CLAUDE, "maxTurns"), (OF_OPENCODE, "steps"), (OF_OPENCODE, "maxSteps")]
    {
        ends_after_two(kind, &file, field);
    }
}

fn ends_after_two(kind: &Kind, file: &File, field: &str) {
    let steps = "  shell true\n".repeat(6);
    let server = Server::start(&format!("as ana\non \"write one\"\n{steps}  say Done.\n"));
    let stage = cast::stage(kind, &server);
    let text = format!("---\nname: harbour\n{field}: 2\n---\n{BODY}\n");
    let mut stage = made_from(stage, kind, file.path, &text);
    assert_eq!(stage.teammate("ana").unheld, Vec::<String>::new());
    let failed = stage.event("task.failed");
    assert!(failed.to_string().contains("2"), "{failed}");
    let of_task = |request: &&Request| request.contains("write one");
    let asked = server.requests().iter().filter(of_task).count();
    let failures = stage.events("task.failed").len() + stage.events("task.released").len();
    assert_eq!(asked, 2 * failures, "{}", stage.story());
}

#[test]
fn claude_ends_after_its_definitions_turns() {
    ends_after_its_turns(&CLAUDE);
}

#[test]
fn the_own_agent_ends_after_its_definitions_turns() {
    ends_after_its_turns(&NATIVE);
}

#[test]
fn claude_runs_the_commands_of_its_definitions_patterns_alone_whatever_a_hook_allows() {
    let server = Server::start(
        r#"
        as ana
        on "write one"
          shell git config --file made.txt a.b c
          shell ls > listed.txt
          shell touch touched.txt
          shell git config --file cut.txt a.b c
          tool TaskUpdate {"taskId":"1","status":"completed","result":"{{last 300}}"}
          say Done.
        "#,
    );
    let stage = cast::stage(&CLAUDE, &server);
    let text = format!(
        "---\nname: harbour\ntools: Read, Bash(git *, ls *)\ndisallowedTools: Bash(git config --file cut.txt *)\n\
         hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: echo \
         '{{\"hookSpecificOutput\":{{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\
         \"allow\"}}}}'\n---\n{BODY}\n"
    );
    let mut stage = made_from(stage, &CLAUDE, OF_CLAUDE.path, &text);
    stage.hear(|event| event.get("task.completed").is_some());
    assert_eq!(stage.teammate("ana").unheld, Vec::<String>::new());
    let tree = stage.tree("ana");
    assert!(tree.join("made.txt").is_file(), "{}", stage.story());
    for absent in ["listed.txt", "touched.txt", "cut.txt"] {
        assert!(!tree.join(absent).exists(), "{absent}");
    }
    let refused = "gives you Bash for git *, ls * alone";
    assert!(server.requests().iter().any(|one| one.contains(refused)));
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
    stage.write(OF_CLAUDE.path, &(OF_CLAUDE.text)("", "high", false, &root));
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
