//! Every cell of the table, every program's way to ask, and the tricks a path can play.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use shipmate_model::event::Mode;
use shipmate_model::files::FileSet;

use super::*;

/// `a` allow, `-` deny, `L` the lead, `P` a person. Columns: inside, beside, protected, outside,
/// sealed, unknown.
const EXPECTED: &str = "
    Normal   Read     aaaa-a
    Normal   Search   aaaa-a
    Normal   Write    aLLP-a
    Normal   Delete   aLLP-a
    Normal   Run      aaaP-a
    Normal   Network  aaaa-a
    Normal   TeamTool aaaa-a
    Normal   Spawn    aaaP-a
    Normal   Other    LLLP-L
    Plan     Read     aaaa-a
    Plan     Search   aaaa-a
    Plan     Write    ------
    Plan     Delete   ------
    Plan     Run      ------
    Plan     Network  ------
    Plan     TeamTool aaaa-a
    Plan     Spawn    ------
    Plan     Other    ------
    Delegate Read     aaaa-a
    Delegate Search   aaaa-a
    Delegate Write    ------
    Delegate Delete   ------
    Delegate Run      ------
    Delegate Network  aaaa-a
    Delegate TeamTool aaaa-a
    Delegate Spawn    aaa--a
    Delegate Other    ------
    ReadOnly Read     aaaa-a
    ReadOnly Search   aaaa-a
    ReadOnly Write    ------
    ReadOnly Delete   ------
    ReadOnly Run      ------
    ReadOnly Network  aaaa-a
    ReadOnly TeamTool aaaa-a
    ReadOnly Spawn    ------
    ReadOnly Other    ------
";

const KINDS: [Kind; 9] = [
    Kind::Read,
    Kind::Search,
    Kind::Write,
    Kind::Delete,
    Kind::Run,
    Kind::Network,
    Kind::TeamTool,
    Kind::Spawn,
    Kind::Other,
];

fn cells(mode: Mode, approved_plan: bool, kind: Kind) -> String {
    let letter = |place| match rule(mode, approved_plan, kind, place) {
        Rule::Allow => 'a',
        Rule::Deny => '-',
        Rule::AskLead => 'L',
        Rule::AskPerson => 'P',
    };
    PLACES.map(letter).iter().collect()
}

#[test]
fn every_cell_is_as_it_was_decided() {
    let mut expected = EXPECTED.trim().lines().map(str::trim);
    for mode in MODES {
        for kind in KINDS {
            let found = format!("{:8} {:8} {}", format!("{mode:?}"), format!("{kind:?}"), {
                cells(mode, false, kind)
            });
            assert_eq!(Some(found.as_str()), expected.next());
        }
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn an_approved_plan_makes_plan_mode_normal_and_changes_no_other() {
    for kind in KINDS {
        assert_eq!(cells(Mode::Plan, true, kind), cells(Mode::Normal, false, kind));
        for mode in [Mode::Normal, Mode::Delegate, Mode::ReadOnly] {
            assert_eq!(cells(mode, true, kind), cells(mode, false, kind));
        }
    }
}

#[test]
fn a_harder_place_never_allows_more() {
    let order = [0, 1, 2, 3, 4].map(|at| PLACES[at]);
    let strictness = |rule| match rule {
        Rule::Allow => 0,
        Rule::AskLead => 1,
        Rule::AskPerson => 2,
        Rule::Deny => 3,
    };
    for mode in MODES {
        for kind in KINDS {
            let rules = order.map(|place| strictness(rule(mode, false, kind, place)));
            assert!(rules.is_sorted(), "{mode:?} {kind:?}: {rules:?}");
        }
    }
}

#[test]
fn the_page_shows_this_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/permissions.md");
    let text = fs::read_to_string(&page).unwrap();
    let (_, rest) = text.split_once("<!-- table: begin -->\n\n").expect("a begin marker");
    let (shown, _) = rest.split_once("<!-- table: end -->").expect("an end marker");
    let wanted = table_text();
    assert_eq!(shown, wanted, "put this between the markers of docs/permissions.md:\n{wanted}");
}

fn classified(request: &Request) -> (Kind, Vec<String>) {
    (request.kind, request.paths.iter().map(|path| path.display().to_string()).collect())
}

/// A case per line: the program's words, our kind, the paths.
fn check(cases: Vec<(Request, Kind, &[&str])>) {
    for (request, kind, paths) in cases {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(classified(&request), (kind, paths), "{request:?}");
    }
}

#[test]
fn the_tools_of_claude_code_are_known() {
    let file = json!({"file_path": "/t/a.rs", "content": "x"});
    check(vec![
        (claude("Read", &file), Kind::Read, &["/t/a.rs"]),
        (claude("Write", &file), Kind::Write, &["/t/a.rs"]),
        (claude("Edit", &file), Kind::Write, &["/t/a.rs"]),
        (claude("MultiEdit", &file), Kind::Write, &["/t/a.rs"]),
        (claude("NotebookEdit", &json!({"notebook_path": "n.ipynb"})), Kind::Write, &["n.ipynb"]),
        (claude("Glob", &json!({"pattern": "**/*.rs"})), Kind::Search, &[]),
        (claude("Grep", &json!({"pattern": "x", "path": "/etc"})), Kind::Search, &["/etc"]),
        (claude("LS", &json!({"path": "/t"})), Kind::Search, &["/t"]),
        (claude("Bash", &json!({"command": "rm -rf /"})), Kind::Run, &[]),
        (claude("KillShell", &json!({"shell_id": "1"})), Kind::Run, &[]),
        (claude("WebFetch", &json!({"url": "http://x", "path": "/t"})), Kind::Network, &[]),
        (claude("WebSearch", &json!({"query": "x"})), Kind::Network, &[]),
        (claude("Agent", &json!({"prompt": "x"})), Kind::Spawn, &[]),
        (claude("Task", &json!({"prompt": "x"})), Kind::Spawn, &[]),
        (claude("TodoWrite", &json!({"todos": []})), Kind::Read, &[]),
        (claude("Skill", &json!({"skill": "x"})), Kind::Read, &[]),
        (claude("mcp__team__TaskList", &json!({})), Kind::TeamTool, &[]),
        (claude("mcp__team__", &json!({})), Kind::Other, &[]),
        (claude("mcp__teams__x", &json!({})), Kind::Other, &[]),
        (claude("mcp__github__create_issue", &json!({})), Kind::Other, &[]),
        (claude("ExitPlanMode", &json!({"plan": "x"})), Kind::Other, &[]),
        (claude("ANewTool", &Value::Null), Kind::Other, &[]),
        (claude("Write", &json!("no object")), Kind::Write, &[]),
    ]);
}

#[test]
fn the_tool_calls_of_acp_are_known() {
    let of = |kind: &str, key: &str, value: Value| acp(&json!({"kind": kind, key: value}));
    let at = |path: &str| json!([{"path": path}, {"path": path}]);
    check(vec![
        (of("read", "locations", at("/t/a")), Kind::Read, &["/t/a"]),
        (of("edit", "rawInput", json!({"filePath": "b"})), Kind::Write, &["b"]),
        (of("edit", "content", json!([{"type": "diff", "path": "/c"}])), Kind::Write, &["/c"]),
        (
            of("move", "rawInput", json!({"source": "a", "destination": "/b"})),
            Kind::Write,
            &["/b", "a"],
        ),
        (of("delete", "locations", at("d")), Kind::Delete, &["d"]),
        (of("search", "rawInput", json!({"path": "src"})), Kind::Search, &["src"]),
        (of("execute", "rawInput", json!({"cwd": "/t"})), Kind::Run, &["/t"]),
        (of("fetch", "rawInput", json!({"url": "http://x"})), Kind::Network, &[]),
        (of("think", "name", json!("TodoWrite")), Kind::Read, &[]),
        (of("think", "title", json!("a subagent")), Kind::Spawn, &[]),
        (of("other", "title", json!("deploy")), Kind::Other, &[]),
        (of("a new kind", "title", json!("x")), Kind::Other, &[]),
        (acp(&json!({})), Kind::Other, &[]),
        (acp(&json!(7)), Kind::Other, &[]),
    ]);
}

#[test]
fn the_teams_tools_are_known_in_acp_and_nothing_passes_for_one() {
    let of = |kind: &str, key: &str, value: &str| acp(&json!({"kind": kind, key: value}));
    check(vec![
        (of("other", "title", "TaskList (team MCP Server)"), Kind::TeamTool, &[]),
        (of("other", "title", "team_TaskList"), Kind::TeamTool, &[]),
        (of("other", "title", "mcp_team_TaskList"), Kind::TeamTool, &[]),
        (of("other", "name", "mcp__team__inbox"), Kind::TeamTool, &[]),
        (of("other", "title", "rm x; y (team MCP Server)"), Kind::Other, &[]),
        (of("other", "title", "team_x; rm y"), Kind::Other, &[]),
        (of("execute", "title", "team_x"), Kind::Run, &[]),
        (of("execute", "name", "mcp__team__x"), Kind::Run, &[]),
        (of("edit", "title", "x (team MCP Server)"), Kind::Write, &[]),
        (of("switch_mode", "title", "team_x"), Kind::Other, &[]),
    ]);
}

#[test]
fn codex_names_the_tool_of_a_server_in_its_words() {
    let of = |words: &str| {
        let meta = json!({ "codex_approval_kind": "mcp_tool_call" });
        codex(
            "mcpServer/elicitation/request",
            &json!({ "serverName": "own", "message": words, "_meta": meta }),
        )
    };
    let asked = of("Allow the own MCP server to run tool \"tide\"?");
    assert_eq!(asked.tool, "mcp__own__tide");
    assert_eq!(of("May it?").tool, "mcp__own__May it?");
}

#[test]
fn the_approvals_of_codex_are_known() {
    let of = |method: &str, params: Value| codex(method, &params);
    let run = |params: Value| of("item/commandExecution/requestApproval", params);
    let more =
        |rights: Value| of("item/permissions/requestApproval", json!({ "permissions": rights }));
    let entry = |access: &str, path: Value| {
        more(json!({"fileSystem": {"entries": [{"access": access, "path": path}]}}))
    };
    let elicit =
        |server: &str| of("mcpServer/elicitation/request", json!({ "serverName": server }));
    let x = json!({"type": "path", "path": "/x"});
    let root = json!({"type": "special", "value": {"kind": "root"}});
    let lists = json!({"fileSystem": {"write": ["/y"], "read": ["/x"]}});
    let patch = json!({"fileChanges": {"/t/a": {"type": "add"}}});
    check(vec![
        (run(json!({"command": "cargo test", "cwd": "/t"})), Kind::Run, &["/t"]),
        (run(json!({"networkApprovalContext": {"host": "x"}})), Kind::Network, &[]),
        (of("execCommandApproval", json!({"command": ["ls"], "cwd": "/t"})), Kind::Run, &["/t"]),
        (of("item/fileChange/requestApproval", json!({"grantRoot": "/x"})), Kind::Write, &["/x"]),
        (of("applyPatchApproval", patch), Kind::Write, &["/t/a"]),
        (entry("write", x.clone()), Kind::Write, &["/x"]),
        (entry("read", x), Kind::Read, &["/x"]),
        (entry("write", root), Kind::Other, &[]),
        (more(lists), Kind::Write, &["/y", "/x"]),
        (more(json!({"network": {"enabled": true}})), Kind::Network, &[]),
        (more(json!({})), Kind::Other, &[]),
        (elicit("team"), Kind::TeamTool, &[]),
        (elicit("other"), Kind::Other, &[]),
        (of("item/tool/requestUserInput", json!({})), Kind::Other, &[]),
    ]);
}

#[test]
fn a_request_shows_its_command_and_a_short_title() {
    let found = claude("Bash", &json!({"command": "cargo test\nrm x", "timeout": 5}));
    assert_eq!(found.title, "Bash: cargo test");
    assert_eq!(found.detail, "cargo test\nrm x");
    let long = claude("Bash", &json!({"command": "é".repeat(5_000)}));
    assert!(long.title.chars().count() <= 200);
}

fn said(mode: Mode, tool: &str, input: Value) -> String {
    let bounds = Bounds {
        tree: "/nowhere/t".into(),
        scope: FileSet::new(vec!["src".parse().unwrap()]),
        sealed: vec!["/nowhere/state".into()],
        ..Bounds::default()
    };
    let request = claude(tool, &input);
    words(&judge(mode, false, &request, &bounds), &request)
}

#[test]
fn what_is_said_names_the_fact_and_a_way_on() {
    let at = |path: &str| json!({ "file_path": path });
    assert_eq!(said(Mode::Normal, "Write", at("src/a.rs")), "");
    assert_eq!(
        said(Mode::Normal, "Write", at("docs/a.md")),
        "Permission for writing docs/a.md, which is outside its scope or its task's files?\n\
         {\"file_path\":\"docs/a.md\"}"
    );
    assert_eq!(
        said(Mode::Plan, "Bash", json!({"command": "ls"})),
        "running a command is not allowed yet: you are to plan first. Read and search as you need, \
         then submit your plan with the team's plan tool; after its approval you may write and run."
    );
    let denied = said(Mode::Delegate, "Write", at("src/a.rs"));
    assert!(denied.starts_with("writing src/a.rs is not allowed: you lead by delegation"));
    let way = "Create a task for it, or message the teammate whose work it is.";
    assert!(denied.ends_with(way), "{denied}");
    assert!(said(Mode::ReadOnly, "Bash", json!({})).contains("you only read"));
    assert!(said(Mode::Normal, "Read", at("/nowhere/state/x")).contains("keeps its state"));
    assert!(said(Mode::Normal, "Strange", json!({})).contains("the tool Strange, which shipmate"));
}

#[test]
fn silence_and_refusals_leave_a_way_on() {
    let request = claude("Write", &json!({"file_path": "a"}));
    let silence = unanswered(&request, std::time::Duration::from_secs(600));
    assert!(silence.starts_with("writing a was not allowed: nobody answered for 10 minutes"));
    assert!(silence.contains("withdrawn. Go on without it"));
    assert!(is_granted(" Grant\n") && is_granted("yes") && is_granted("allow"));
    assert!(!is_granted("yes, but not now") && !is_granted("refuse") && !is_granted(""));
    let no = refused(&request, "lead", " not yours ");
    assert_eq!(no, "writing a was refused by lead: not yours. Find another way, or ask lead.");
}

/// What a definition denies, whatever a program calls its one tool for it.
#[test]
fn a_definition_keeps_a_kind_of_tool_back_that_another_program_has_one_tool_for() {
    let edits = acp(&json!({"kind": "edit", "title": "Writing a.txt"}));
    let patches = codex("item/fileChange/requestApproval", &json!({"grantRoot": "/x"}));
    let fetches = acp(&json!({"kind": "fetch", "title": "Fetching a page"}));
    let connects = codex(
        "item/commandExecution/requestApproval",
        &json!({"networkApprovalContext": {"host": "x"}}),
    );
    let spawns = acp(&json!({"kind": "think", "title": "a subagent"}));
    let searches = acp(&json!({"kind": "search", "title": "x in src"}));
    for (denied, kept, left) in [
        (&["Write", "Edit"][..], &[&edits, &patches][..], &[&fetches, &spawns][..]),
        (&["WebFetch"], &[&fetches, &connects], &[&edits]),
        (&["Agent"], &[&spawns], &[&edits]),
        (&["Task"], &[&spawns], &[&edits]),
        (&["Grep", "Glob"], &[&searches], &[&edits]),
        (&["Write"], &[], &[&edits, &patches]),
        (&["MultiEdit", "WebSearch"], &[], &[&edits, &fetches]),
    ] {
        let denied = denied.iter().map(|name| (*name).to_owned()).collect();
        let definition = Definition { denied, ..Definition::default() };
        let is_kept = |request: &&Request| kept_by(&definition, request).is_some();
        assert!(kept.iter().all(is_kept), "{definition:?}");
        assert!(!left.iter().any(is_kept), "{definition:?}");
    }
}
