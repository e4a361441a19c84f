//! Files of every program, read in their own words.

use std::ffi::OsString;
use std::os::unix::fs::symlink;

use super::*;
use crate::agents::ProgramSetting;

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
    for (server, variable) in [
        ("url: https://a.b/x\n      headers: { Authorization: Bearer abc-1 }", "AUTHORIZATION"),
        ("url: https://a.b/x?api-key=abc-1", "API_KEY"),
        ("url: https://me:abc-1@a.b/x", "URL"),
        ("command: node\n      args: [--api-key, sk-1]", "API_KEY"),
        ("command: node\n      args: [--api-key=sk-1]", "API_KEY"),
        ("command: node --token sk-1", "TOKEN"),
        ("command: node\n      args: [-H, \"Authorization: Bearer sk-1\"]", "AUTHORIZATION"),
        ("command: docker\n      args: [-e, API_TOKEN=sk-1]", "API_TOKEN"),
        ("command: node\n      args: [\"x://me:abc-1@host\"]", "URL"),
        ("command: node\n      env: { SLACK_WEBHOOK_URL: \"https://a.b/c\" }", "SLACK_WEBHOOK_URL"),
        ("command: sh\n      args: [-c, \"exec npx x --token sk-1\"]", "TOKEN"),
        ("command: node\n      args: [--accessKey, sk-1]", "ACCESSKEY"),
        ("command: node\n      env: { accessKey: sk-1 }", "ACCESSKEY"),
        ("command: node\n      args: [\"https://a.b/x?key=sk-1\"]", "KEY"),
    ] {
        let refused = read::read(Format::Claude, "a", &head(server)).unwrap_err();
        assert!(refused.contains(&format!("${{{variable}}}")), "{server}: {refused}");
    }
    for server in [
        "command: node\n      env: { API_KEY: \"${KEY}\", MAX_MCP_OUTPUT_TOKENS: \"25000\" }",
        "command: node\n      args: [--no-auth, s.js, --auth, basic, --token-file, /k, --keys, \"9\"]",
        "command: node\n      args: [--api-key, \"${KEY}\", \"--header\", \"Authorization: ${KEY}\"]",
        "command: sh\n      args: [-c, \"exec npx x --token \\\"$TOKEN\\\" --key $KEY\"]",
        "command: node\n      env: { AUTH_CALLBACK_PATH: /auth/callback }",
        "url: \"https://me:${KEY}@a.b/x?token=${KEY}&page=3\"",
    ] {
        read::read(Format::Claude, "a", &head(server)).unwrap_or_else(|e| panic!("{server}: {e}"));
    }
}

#[test]
fn what_is_not_read_of_a_server_is_told_and_one_that_is_switched_off_is_none() {
    let text = "name = \"sec\"\nsandbox_mode = \"workspace-write\"\n[mcp_servers.off]\ncommand = \"a\"\n\
                enabled = false\n[mcp_servers.far]\nurl = \"https://a.b\"\ntool_timeout_sec = 5\n\
                bearer_token_env_var = \"FAR\"\nenv_http_headers = { X-Team = \"TEAM\" }\n";
    let found = read(Format::Codex, text);
    let far = &found.definition.servers["far"];
    assert_eq!(found.definition.servers.len(), 1);
    assert_eq!(far.headers["Authorization"], "Bearer ${FAR}");
    assert_eq!(far.headers["X-Team"], "${TEAM}");
    let nothing = "gives nothing here: what it may do is the team's to say";
    let told = [
        format!("sandbox_mode workspace-write {nothing}"),
        "its MCP server far: nobody here knows its fields tool_timeout_sec".to_owned(),
    ];
    assert_eq!(found.notes, told);
    let text = "---\nname: a\nmcpServers:\n  far: { type: sse, url: https://a.b }\n---\nx\n";
    let found = read(Format::Claude, text);
    assert_eq!(found.definition.servers["far"].transport, "sse");
    assert!(unheld(&found, "claude", "claude").is_empty());
    let sse = "its MCP server far speaks sse: codex reaches it by streamable HTTP";
    assert_eq!(unheld(&found, "codex", "codex"), [sse]);
    let open = read(Format::Opencode, "---\npermission:\n  bash: ask\n---\nx\n");
    assert_eq!(open.notes, [format!("permission.bash ask {nothing}")]);
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
    for head in [
        "permission:\n  '*': deny\n  read: allow\n  grep:\n    '*': allow\n  glob: allow\n",
        "tools:\n  '*': false\n  read: true\n  grep: true\n  glob: true\n",
    ] {
        let some = read(Format::Opencode, &format!("---\n{head}---\nBody\n")).definition;
        let has = ["Read", "Grep", "Glob", "Bash", "Write", "Edit", "WebFetch"]
            .map(|tool| some.has(tool));
        assert_eq!(has, [true, true, true, false, false, false, false], "{head}");
    }
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
    let (workspace, agents, around) = (&*workspace, &Agents::default(), &around);
    let all = all(&Search { workspace, agents, around, agent: None });
    assert_eq!(find(&all, "a", "claude").unwrap().definition.body, "project");
    assert_eq!(find(&all, "a", "codex").unwrap().definition.body, "codex");
    let other = find(&all, "a", "gemini").unwrap();
    let note =
        ".codex/agents/a.toml defines it too: .claude/agents/a.md counts; rename one of them";
    assert_eq!((other.definition.body.as_str(), other.notes), ("project", vec![note.to_owned()]));
    assert!(find(&all, "a", "codex").unwrap().notes.is_empty());
    assert!(find(&all, "b", "claude").unwrap_err().fact.contains("b2.md"));
    assert!(find(&all, "c", "claude").unwrap_err().fact.contains("UTF-8"));
    assert!(find(&all, "d", "claude").unwrap_err().fact.contains("longer than"));
    assert!(find(&all, "e", "claude").unwrap_err().remedy.contains("there are a, b"));
    std::fs::remove_dir_all(&top).unwrap();
}

/// A folder for one test, with files in it.
struct Top(PathBuf);

impl Top {
    fn new(name: &str) -> Top {
        let top = std::env::temp_dir().join(format!("shipmate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&top).unwrap();
        Top(top.canonicalize().unwrap())
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// What is found with these variables, which name folders of it: names, and files.
    fn found(&self, variables: &[(&str, &str)], agents: &Agents, agent: Option<&str>) -> All {
        let value = |folder: &str| OsString::from(self.0.join(folder));
        let pairs = variables.iter().map(|(name, folder)| ((*name).to_owned(), value(folder)));
        let (workspace, around) = (&*self.0.join("repo"), &Around(pairs.collect()));
        all(&Search { workspace, agents, around, agent })
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn names(all: &All) -> Vec<&str> {
    all.found.iter().map(|found| found.definition.name.as_str()).collect()
}

#[test]
fn the_persons_own_are_where_each_program_has_its_settings_and_below() {
    let top = Top::new("own-definitions");
    let claude = |name: &str| format!("---\nname: {name}\n---\nx\n");
    let codex = |name: &str| format!("name = \"{name}\"\ndeveloper_instructions = \"x\"\n");
    let open = "---\ndescription: d\n---\nx\n";
    top.put("home/.claude/agents/a.md", &claude("usual"));
    top.put("home/.claude/agents/team/b.md", &claude("usual-below"));
    top.put("home/.codex/agents/a.toml", &codex("codex-usual"));
    top.put("home/.config/opencode/agent/open-usual.md", open);
    top.put("home/.opencode/agents/dotted.md", open);
    top.put("repo/.claude/agents/x/y/z.md", &claude("projects"));
    top.put("repo/.opencode/agent/x/y.md", open);
    top.put("set/claude/agents/team/deep/b.md", &claude("set"));
    top.put("set/codex/agents/team/a.toml", &codex("codex-set"));
    top.put("set/config/opencode/agents/team/open.md", open);
    top.put("set/config/opencode/agent/file.md", "---\nname: named\n---\nx\n");
    top.put("set/more/agent/more.md", open);

    let agents = Agents::default();
    let usual = top.found(&[("HOME", "home")], &agents, None);
    let of_home =
        ["projects", "usual", "usual-below", "codex-usual", "x/y", "open-usual", "dotted"];
    assert_eq!(names(&usual), of_home);
    let b = &find(&usual, "usual-below", "claude").unwrap().definition;
    assert_eq!(b.source, "~/.claude/agents/team/b.md");
    let set = [
        ("HOME", "home"),
        ("CLAUDE_CONFIG_DIR", "set/claude"),
        ("CODEX_HOME", "set/codex"),
        ("XDG_CONFIG_HOME", "set/config"),
        ("OPENCODE_CONFIG_DIR", "set/more"),
    ];
    let found = top.found(&set, &agents, None);
    let of_set = ["projects", "set", "codex-set", "x/y", "named", "team/open", "dotted", "more"];
    assert_eq!(names(&found), of_set);
    let source = top.0.join("set/claude/agents/team/deep/b.md");
    assert_eq!(
        find(&found, "set", "claude").unwrap().definition.source,
        *source.display().to_string()
    );

    // One folder by two names is one.
    let same = [("HOME", "home"), ("OPENCODE_CONFIG_DIR", "home/.config/opencode")];
    assert_eq!(names(&top.found(&same, &agents, None)), of_home);

    // A second login has its own.
    let folder = top.0.join("set/claude").display().to_string();
    let env = [("CLAUDE_CONFIG_DIR".to_owned(), folder)].into();
    let second = ProgramSetting { like: "claude".to_owned(), env, ..ProgramSetting::default() };
    let agents = Agents { programs: [("second".to_owned(), second)].into(), ..agents };
    let of = |agent| {
        let found = top.found(&[("HOME", "home")], &agents, agent);
        ["usual", "set"].map(|name| names(&found).contains(&name))
    };
    assert_eq!([of(Some("second")), of(Some("claude"))], [[false, true], [true, false]]);
    assert_eq!([of(Some("codex")), of(None)], [[true, false], [true, true]]);
}

#[test]
fn folders_that_lead_in_circles_out_or_on_for_ever_end() {
    let top = Top::new("circles");
    let text = |name: &str| format!("---\nname: {name}\n---\nx\n");
    let mine = "home/.claude/agents";
    top.put(&format!("{mine}/team/b.md"), &text("b"));
    top.put("elsewhere/c.md", &text("c"));
    for folder in [mine, "repo/.claude/agents"] {
        top.put(&format!("{folder}/a/a.md"), &text("a"));
        for (to, from) in [(".", "a/loop"), ("a", "again"), ("../../../elsewhere", "out")] {
            symlink(to, top.0.join(folder).join(from)).unwrap();
        }
    }
    top.put(&format!("{mine}/{}d.md", "deep/".repeat(40)), &text("d"));
    let found = top.found(&[("HOME", "home")], &Agents::default(), None);
    assert_eq!(names(&found), ["a", "a", "c", "b"]);
    let told = |all: &All| -> Vec<String> {
        all.broken.iter().map(|one| format!("{}: {}", one.source, one.reason)).collect()
    };
    let told_of = [
        ".claude/agents/out: it leads out of the folder".to_owned(),
        format!("~/.claude/agents{}: it lies too deep", "/deep".repeat(17)),
    ];
    assert_eq!(told(&found), told_of);

    for n in 0..=1_000 {
        top.put(&format!("{mine}/many/{n}.md"), &text(&format!("m{n}")));
    }
    let found = top.found(&[("HOME", "home")], &Agents::default(), None);
    assert_eq!(found.found.iter().filter(|one| !one.is_projects).count(), 1_000);
    let many = "~/.claude/agents: it has more than 1000 definitions: the rest is left out";
    assert!(told(&found).contains(&many.to_owned()), "{:?}", told(&found));
    for n in 0..20_000 {
        std::fs::File::create(top.0.join(mine).join(format!("many/{n}.txt"))).unwrap();
    }
    let found = top.found(&[("HOME", "home")], &Agents::default(), None);
    let huge = "~/.claude/agents: it has more than 20000 files: the rest is left out";
    assert!(told(&found).contains(&huge.to_owned()), "{:?}", told(&found));
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
    let denied = ["Write", "Edit", "Agent"].map(str::to_owned).to_vec();
    let definition = Definition { denied, ..Definition::default() };
    let (_, rules) = variable(&definition, "opencode", None).unwrap();
    assert_eq!(rules, r#"{"edit":"deny","task":"deny"}"#);
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

#[test]
fn a_tool_that_a_program_has_with_another_is_said_not_to_be_kept_from_it() {
    let of = |line: &str| read(Format::Claude, &format!("---\nname: a\n{line}\n---\nx\n"));
    let write = |program: &str| {
        format!("Write is not kept from it: {program} asks leave for it as for Edit")
    };
    let search = "WebSearch is not kept from it: goose asks leave for it as for WebFetch";
    let neither = "codex has one tool for WebSearch and WebFetch: it has neither";
    for (line, program, protocol, told) in [
        ("disallowedTools: Write, Edit", "codex", "codex", Vec::new()),
        ("disallowedTools: Write", "codex", "codex", vec![write("codex")]),
        ("disallowedTools: Write", "opencode", "acp", vec![write("opencode")]),
        ("disallowedTools: Write", "claude", "claude", Vec::new()),
        ("disallowedTools: Write", "native", "native", Vec::new()),
        ("disallowedTools: WebSearch", "goose", "acp", vec![search.to_owned()]),
        ("disallowedTools: WebSearch", "codex", "codex", vec![neither.to_owned()]),
        ("disallowedTools: WebFetch", "codex", "codex", vec![neither.to_owned()]),
        ("disallowedTools: WebFetch, WebSearch", "codex", "codex", Vec::new()),
        ("disallowedTools: Write, WebSearch, Grep", "gemini", "acp", Vec::new()),
        ("disallowedTools: WebSearch", "opencode", "acp", Vec::new()),
        (
            "tools: Read, Grep, Glob, Write, Edit, Bash, mcp__x, WebFetch",
            "gemini",
            "acp",
            Vec::new(),
        ),
    ] {
        assert_eq!(unheld(&of(line), program, protocol), told, "{line} behind {program}");
    }
}

#[test]
fn of_hooks_only_commands_at_known_events_are_kept_and_the_rest_is_told() {
    let text = "---\nname: a\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - \
                type: command\n          command: ./look\n          timeout: 5\n          extra: 1\n        - \
                type: http\n          url: x\n  PermissionRequest:\n    - hooks:\n        - type: \
                command\n          command: ./yes\n---\nx\n";
    let found = read(Format::Claude, text);
    let kept: serde_json::Value = serde_json::from_str(&found.definition.hooks).unwrap();
    let hook = serde_json::json!({ "type": "command", "command": "./look", "timeout": 5 });
    assert_eq!(kept, serde_json::json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] }));
    let told = "hooks of PermissionRequest, hooks that are no command are not run";
    assert!(found.notes.iter().any(|note| note == told), "{:?}", found.notes);
    let long = format!(
        "---\nname: a\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: {}\n---\nx\n",
        "x".repeat(20_000)
    );
    assert!(read::read(Format::Claude, "a", &long).unwrap_err().contains("16384 bytes"));
    let strange = "---\nname: a\nhooks: yes\n---\nx\n";
    assert!(read::read(Format::Claude, "a", strange).unwrap_err().contains("no events"));
    let empty = read(Format::Claude, "---\nname: a\nhooks:\n  Stop: 3\n---\nx\n");
    assert_eq!(empty.definition.hooks, "");
}

#[test]
fn efforts_and_turns_that_nobody_knows_are_told() {
    let of = |line: &str| read(Format::Claude, &format!("---\nname: a\n{line}\n---\nx\n"));
    for line in [
        "effort: much",
        "effort: 8",
        "effort: [low]",
        "maxTurns: 0",
        "maxTurns: -3",
        "maxTurns: 9999999999",
    ] {
        let found = of(line);
        assert_eq!(
            (found.definition.effort.as_str(), found.definition.turns_max),
            ("", 0),
            "{line}"
        );
        assert_eq!(found.notes.len(), 1, "{line}: {:?}", found.notes);
    }
    let found = of("effort: max\nmaxTurns: 3");
    assert!(unheld(&found, "claude", "claude").is_empty());
    let told = unheld(&found, "codex", "codex");
    assert_eq!(told, ["its maxTurns are not held: what codex is set to counts"]);
    let found = of("effort: minimal");
    assert!(unheld(&found, "claude", "claude")[0].contains("effort"));
    assert!(unheld(&found, "codex", "codex").is_empty());
}

#[test]
fn skills_come_with_the_instructions_and_those_that_do_not_are_told() {
    let top = std::env::temp_dir().join(format!("shipmate-skills-{}", std::process::id()));
    let (workspace, home) = (top.join("repo"), top.join("home"));
    let put = |folder: &Path, name: &str, text: &[u8]| {
        let path = folder.join(".claude/skills").join(name).join("SKILL.md");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(&workspace, "one", b"---\nname: one\n---\nthe project's\n");
    put(&home, "one", b"the person's");
    put(&home, "two", b"from home");
    put(&workspace, "long", &vec![b'x'; 17 * 1024]);
    put(&workspace, "latin", b"\xff\xfe");
    for name in ["big1", "big2", "big3"] {
        put(&workspace, name, &vec![b'y'; 16 * 1024]);
    }
    std::fs::write(top.join("secret"), "TOKEN").unwrap();
    std::fs::create_dir_all(workspace.join(".claude/skills/link")).unwrap();
    symlink(top.join("secret"), workspace.join(".claude/skills/link/SKILL.md")).unwrap();
    let names = "one, two, long, latin, link, ../../secret, .., none, big1, big2, big3";
    let found = read(Format::Claude, &format!("---\nname: a\nskills: {names}\n---\nBody\n"));
    let around = Around([("HOME".to_owned(), home.into_os_string())].into());
    let (workspace, agents, around) = (&*workspace, &Agents::default(), &around);
    let search = Search { workspace, agents, around, agent: None };
    let found = with_skills(found, &search);
    let body = found.definition.body.as_str();
    let begin =
        "Body\n\nYour skill one:\nthe project's\n\nYour skill two:\nfrom home\n\nYour skill big1:";
    assert!(body.starts_with(begin), "{}", &body[..200]);
    assert!(body.ends_with("Read the skill big3 before you begin."));
    assert!(!body.contains("TOKEN"));
    assert!(body.len() < 50 * 1024);
    let told = found.notes.join("\n");
    for name in ["long", "latin", "link", "../../secret", "..", "none", "big3"] {
        assert!(told.contains(&format!("its skill {name} is")), "{name}: {told}");
    }
    std::fs::remove_dir_all(&top).unwrap();
}
