//! Files of every program, read in their own words.

use super::*;

fn read(format: Format, text: &str) -> Found {
    read::read(format, "stem", text).unwrap()
}

#[test]
fn a_file_of_claude_code_is_read_also_where_its_head_is_no_strict_yaml() {
    let text = "---\nname: reviewer\ndescription: Use it when: code is ready. Examples: \"x\": y\ntools: Read, \
                Grep, Bash(git *, hg *)\ndisallowedTools: [WebFetch]\nmodel: sonnet\npermissionMode: plan\n\
                color: red\nodd: 1\n---\n\nYou review.\n";
    let found = read(Format::Claude, text);
    let definition = &found.definition;
    assert_eq!((definition.name.as_str(), definition.body.as_str()), ("reviewer", "You review."));
    assert_eq!(definition.tools.as_deref().unwrap(), ["Read", "Grep", "Bash(git *, hg *)"]);
    assert_eq!((found.model.as_str(), found.mode), ("sonnet", Some(Mode::Plan)));
    assert!(found.notes.iter().any(|note| note.contains("odd")), "{:?}", found.notes);
    assert_eq!(model_for(&found, "claude").as_deref(), Some("sonnet"));
    assert_eq!(model_for(&found, "codex"), None);
    assert!(unheld(&found, "codex", "codex").iter().any(|note| note.contains("sonnet")));
}

#[test]
fn a_server_may_be_named_or_written_out_but_no_secret_of_it() {
    let head = |server: &str| {
        format!("---\nname: a\nmcpServers:\n  - github\n  - own:\n      {server}\n---\nx\n")
    };
    let found = read(Format::Claude, &head("command: node\n      args: [s.js]"));
    assert_eq!(found.definition.servers["own"].args, ["s.js"]);
    assert!(found.notes.iter().any(|note| note.contains("github")));
    let text = head("command: node\n      env: { API_KEY: abcdef123456 }");
    let refused = read::read(Format::Claude, "a", &text).unwrap_err();
    assert!(refused.contains("${API_KEY}"), "{refused}");
    read::read(Format::Claude, "a", &head("command: node\n      env: { API_KEY: \"${KEY}\" }"))
        .unwrap();
}

#[test]
fn files_of_codex_and_opencode_say_the_same_in_their_own_words() {
    let text = "name = \"sec\"\ndeveloper_instructions = \"Look.\"\nmodel = \"gpt-6\"\n\
                sandbox_mode = \"read-only\"\n";
    let codex = read(Format::Codex, text);
    assert_eq!((codex.definition.body.as_str(), codex.mode), ("Look.", Some(Mode::ReadOnly)));
    assert_eq!(model_for(&codex, "native").as_deref(), Some("openai/gpt-6"));
    let text = "---\ndescription: d\nmodel: anthropic/claude-x\ntools:\n  write: false\n  bash: false\n\
                permission:\n  webfetch: deny\n---\nBody\n";
    let open = read(Format::Opencode, text);
    assert_eq!(open.definition.name, "stem");
    assert!(
        !open.definition.has("Bash")
            && !open.definition.has("WebFetch")
            && open.definition.has("Read")
    );
    assert_eq!(model_for(&open, "claude").as_deref(), Some("claude-x"));
}

#[test]
fn the_repository_comes_before_the_home_folder_and_two_of_one_name_are_refused() {
    let top = std::env::temp_dir().join(format!("shipmate-definitions-{}", std::process::id()));
    let (workspace, home) = (top.join("repo"), top.join("home"));
    let put = |folder: &Path, name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(&workspace, ".claude/agents/a.md", b"---\nname: a\n---\nproject\n");
    put(&home, ".claude/agents/a.md", b"---\nname: a\n---\nhome\n");
    put(&workspace, ".codex/agents/a.toml", b"name = \"a\"\ndeveloper_instructions = \"codex\"\n");
    put(&workspace, ".claude/agents/b1.md", b"---\nname: b\n---\n1\n");
    put(&workspace, ".claude/agents/b2.md", b"---\nname: b\n---\n2\n");
    put(&workspace, ".claude/agents/c.md", b"\xff\xfe");
    put(&workspace, ".claude/agents/d.md", &vec![b'x'; 1 << 20]);
    let around = Around([("HOME".to_owned(), home.into_os_string())].into());
    let all = all(&workspace, &around);
    assert_eq!(find(&all, "a", "claude").unwrap().definition.body, "project");
    assert_eq!(find(&all, "a", "codex").unwrap().definition.body, "codex");
    assert!(find(&all, "b", "claude").unwrap_err().fact.contains("b2.md"));
    assert!(find(&all, "c", "claude").unwrap_err().fact.contains("UTF-8"));
    assert!(find(&all, "d", "claude").unwrap_err().fact.contains("longer than"));
    assert!(find(&all, "e", "claude").unwrap_err().remedy.contains("there are a, b"));
    std::fs::remove_dir_all(&top).unwrap();
}

#[test]
fn what_opencode_lacks_comes_behind_what_the_person_has_set() {
    let definition = Definition { tools: Some(vec!["Read".to_owned()]), ..Definition::default() };
    let set = r#"{"*": "ask", "bash": {"git *": "allow"}, "harbour_*": "deny"}"#;
    let (_, rules) = variable(&definition, "opencode", Some(set)).unwrap();
    assert!(
        rules.starts_with(r#"{"*":"ask","harbour_*":"deny","edit":"deny","bash":"deny","#),
        "{rules}"
    );
    assert_eq!(variable(&definition, "claude", Some(set)), None);
    assert_eq!(variable(&Definition::default(), "opencode", Some(set)), None);
}

#[test]
fn tools_of_claude_code_are_known_and_what_acp_cannot_keep_back_is_said() {
    let text = "---\nname: a\ndescription: d\ntools: Read, AskUserQuestion, ExitPlanMode, TaskCreate, SendMessage\n\
                ---\nx\n";
    let found = read(Format::Claude, text);
    for (program, says) in [("gemini", true), ("opencode", true), ("claude", false)] {
        let protocol = if program == "claude" { "claude" } else { "acp" };
        let told = unheld(&found, program, protocol).join("; ");
        assert!(!told.contains("nobody knows"), "{told}");
        assert_eq!(told.contains("your own MCP servers"), says, "{program}: {told}");
    }
}
