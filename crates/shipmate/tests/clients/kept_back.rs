//! What definitions keep back, behind the vendors' real programs and our own: tools that are not offered, or
//! refused when the program asks, by each way that a file has to say so.

use serde_json::Value;
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, NATIVE, OPENCODE};
use crate::definitions::{allowed, made_from};
use crate::stage::Stage;

const CLAUDES: &str = ".claude/agents/harbour.md";
const OPENCODES: &str = ".opencode/agent/harbour.md";
const PATCH: &str =
    r#"tool apply_patch {"input":"*** Begin Patch\n*** Add File: one.txt\n+one\n*** End Patch"}"#;

/// A program's tools, as it offers them to its model; nothing of those that it names otherwise.
struct Tools {
    kind: &'static Kind,
    writes: &'static [&'static str],
    fetches: &'static [&'static str],
    spawns: &'static [&'static str],
    runs: &'static [&'static str],
    searches: &'static [&'static str],
    reads: &'static [&'static str],
}

/// Its requests do not list what its model knows. It has no agents, and reads and searches by commands. Where a
/// provider searches the web for it, its scripts call that.
const OF_CODEX: Tools = Tools {
    kind: &CODEX,
    writes: &[],
    fetches: &["web__run"],
    spawns: &[],
    runs: &[],
    searches: &[],
    reads: &[],
};

/// How a definition keeps tools back, what of them is there all the same, and what is said of that.
struct Way {
    path: &'static str,
    line: &'static str,
    runs: bool,
    reads: bool,
    said: fn(&str) -> Vec<String>,
}

const WAYS: [Way; 4] = [
    Way { path: CLAUDES, line: "color: red", runs: true, reads: true, said: |_| Vec::new() },
    Way {
        path: CLAUDES,
        line: "disallowedTools: Write, Edit, NotebookEdit, WebFetch, WebSearch, Agent, Bash(touch *)",
        runs: true,
        reads: true,
        said: |agent| match agent {
            "claude" => Vec::new(),
            _ => {
                vec!["the patterns behind Bash are not held: the tools are there whole".to_owned()]
            }
        },
    },
    Way {
        path: CLAUDES,
        line: "tools: Read",
        runs: false,
        reads: true,
        said: |agent| match agent {
            "codex" => looks(),
            "gemini" | "opencode" => vec![format!(
                "the tools of your own MCP servers in {agent} are not kept from it: each is asked about once"
            )],
            _ => Vec::new(),
        },
    },
    Way {
        path: OPENCODES,
        line: "permission: deny",
        runs: false,
        reads: false,
        said: |agent| if agent == "codex" { looks() } else { Vec::new() },
    },
];

fn looks() -> Vec<String> {
    let looks = "codex runs commands that only look, such as ls, without asking";
    let reads = "codex reads and searches by commands: that is not kept from it";
    vec![looks.to_owned(), reads.to_owned()]
}

/// Names of tools, however the provider nests them; of one that the provider has itself, its kind.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| names(one, found)),
        Value::Object(fields) => {
            let inner = ["tools", "functionDeclarations", "function"];
            let name = value["name"].as_str().or(value["type"].as_str()).unwrap_or_default();
            match inner.iter().find_map(|key| fields.get(*key)) {
                Some(inner) => names(inner, found),
                None => found.push(name.to_owned()),
            }
        }
        _ => {}
    }
}

/// The tools of its task's first request; where the model writes scripts, the words that tell what they may call.
fn offered(server: &Server) -> Vec<String> {
    let is_tasks =
        |request: &Request| request.contains("write one") && !request.contains("title generator");
    let body = server.wait_for(is_tasks).body;
    let mut found = Vec::new();
    names(&body["tools"], &mut found);
    let scripts = body["input"][0]["tools"].to_string();
    let words = scripts.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    found.extend(words.map(str::to_owned));
    found
}

/// Changes what the person has set in codex.
fn set_in_codex(stage: &Stage, from: &str, to: &str) {
    let path = stage.root().join("home/.codex/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, config.replace(from, to)).unwrap();
}

fn keeps_back(tools: &Tools) {
    let kind = tools.kind;
    for way in &WAYS {
        let write = if kind.agent == "codex" { PATCH } else { "write one.txt one" };
        let server = Server::start(&format!(
            "as ana\non \"write one\"\n  {write}\n  shell echo two > two.txt\n  shell touch \
             three.txt\n  tool TaskUpdate \
             {{\"taskId\":\"1\",\"status\":\"completed\",\"result\":\"tried\"}}\n  say Done.\n"
        ));
        let stage = cast::stage(kind, &server);
        if kind.agent == "codex" {
            set_in_codex(&stage, "env_key", "supports_standalone_web_search = true\nenv_key");
        }
        let text = format!("---\nname: harbour\n{}\n---\nYou know the harbour.\n", way.line);
        let mut stage = made_from(stage, kind, way.path, &text);
        allowed(&mut stage);
        let (agent, line) = (kind.agent, way.line);
        assert_eq!(stage.teammate("ana").unheld, (way.said)(agent), "{agent}, {line}");
        let offered = offered(&server);
        let whole = line.starts_with("color");
        for (names, is_there) in [
            (tools.writes, whole),
            (tools.fetches, whole),
            (tools.spawns, whole),
            (tools.runs, way.runs),
            (tools.searches, way.runs),
            (tools.reads, way.reads),
        ] {
            for name in names {
                let is = offered.iter().any(|one| one == name);
                assert_eq!(is, is_there, "{name} behind {agent}, {line}: {offered:?}");
            }
        }
        // Without a tool for files the script writes by the shell.
        let writes = whole || (way.runs && agent != "codex");
        assert_eq!(stage.has_file("one.txt"), writes, "{agent}, {line}");
        assert_eq!(stage.has_file("two.txt"), way.runs, "{agent}, {line}");
        // Who cannot hold the pattern has said so.
        let touches = way.runs && (agent != "claude" || !line.contains("touch"));
        assert_eq!(stage.has_file("three.txt"), touches, "{agent}, {line}");
    }
}

#[test]
fn claude_has_no_tool_that_its_definition_keeps_back() {
    keeps_back(&Tools {
        kind: &CLAUDE,
        writes: &["Write", "Edit"],
        // It tells of them when it searches for tools.
        fetches: &["ToolSearch"],
        spawns: &["Agent"],
        runs: &["Bash"],
        searches: &[],
        reads: &["Read"],
    });
}

#[test]
fn codex_does_nothing_that_its_definition_keeps_back() {
    keeps_back(&OF_CODEX);
    // Of a model that it does not know it lists the tools, and a provider that searches by itself is told so.
    for (line, searches) in [("color: red", true), ("disallowedTools: WebFetch", false)] {
        let server = Server::start("as ana\non \"write one\"\n  say I looked.\n");
        let stage = cast::stage(&CODEX, &server);
        set_in_codex(&stage, "gpt-6.1-sol", "mock-1");
        let text = format!("---\nname: harbour\n{line}\n---\nYou know the harbour.\n");
        let mut stage = made_from(stage, &CODEX, CLAUDES, &text);
        allowed(&mut stage);
        let neither = "codex has one tool for WebSearch and WebFetch: it has neither".to_owned();
        let said: Vec<String> = (!searches).then_some(neither).into_iter().collect();
        assert_eq!(stage.teammate("ana").unheld, said, "{line}");
        let offered = offered(&server);
        assert_eq!(offered.iter().any(|one| one == "web_search"), searches, "{line}: {offered:?}");
    }
}

#[test]
fn the_own_agent_has_no_tool_that_its_definition_keeps_back() {
    keeps_back(&Tools {
        kind: &NATIVE,
        writes: &["write_file", "edit_file"],
        fetches: &[],
        spawns: &[],
        runs: &["bash", "bash_output"],
        searches: &["glob", "grep"],
        reads: &["read_file"],
    });
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_has_no_tool_that_its_definition_keeps_back() {
    keeps_back(&Tools {
        kind: &GEMINI,
        writes: &["write_file", "replace"],
        fetches: &["web_fetch", "google_web_search"],
        spawns: &["invoke_agent"],
        runs: &["run_shell_command", "list_background_processes", "read_background_output"],
        searches: &["glob", "grep_search", "list_directory"],
        reads: &["read_file"],
    });
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_has_no_tool_that_its_definition_keeps_back() {
    keeps_back(&Tools {
        kind: &OPENCODE,
        writes: &["write", "edit"],
        fetches: &["webfetch"],
        spawns: &["task"],
        runs: &["bash"],
        searches: &["glob", "grep"],
        reads: &["read"],
    });
}
