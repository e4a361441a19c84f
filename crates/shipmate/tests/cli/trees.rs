//! What a first run in a person's repository says and asks: a proposal of what trees need, settings of other
//! programs that count, agents that are defined already.

use crate::terminal::Terminal;
use crate::transcript::{Workspace, exists};

const NPM: &str = r#"{"scripts": {"test": "node --test"}, "devDependencies": {"x": "1"}}"#;
const REVIEWER: &str = "---\nname: reviewer\ndescription: Reads diffs\ntools: Read, Grep\nmodel: \
                        claude-harbour-1\ntinge: red\n---\nRead every line.\n";

/// A repository of one kind: its files, and what init would write; empty: nothing.
type Kind<'a> = (&'a [(&'a str, &'a str)], &'a str);

const KINDS: [Kind<'static>; 6] = [
    (
        &[("package.json", NPM), ("package-lock.json", "{}")],
        "[trees]\nsetup = [\"npm ci\"]\n\n[gate]\ncommands = [\"npm test\"]\n",
    ),
    (
        &[("requirements.txt", "flask\n"), ("tests/test_a.py", "import pytest\n")],
        "[trees]\nsetup = [\"python3 -m venv .venv\", \".venv/bin/pip install -q -r requirements.txt \
         pytest\"]\n\n[gate]\ncommands = [\". .venv/bin/activate && python -m pytest\"]\n",
    ),
    (&[("Cargo.toml", "")], "[gate]\ncommands = [\"cargo test\"]\n"),
    (&[("go.mod", "")], "[gate]\ncommands = [\"go test ./...\"]\n"),
    (
        &[("Makefile", "test: build\n\tsh t.sh\nsetup:\n\ttrue\n")],
        "[trees]\nsetup = [\"make setup\"]\n\n[gate]\ncommands = [\"make test\"]\n",
    ),
    (&[("notes.txt", "")], ""),
];

fn repository(files: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::with_repository();
    for (name, text) in files {
        workspace.write(name, text);
    }
    workspace.git("add .");
    workspace.git("commit --quiet --message files");
    workspace
}

#[test]
fn init_proposes_what_each_kind_of_repository_needs_or_says_that_it_does_not_know() {
    for (files, expected) in KINDS {
        let workspace = repository(files);
        let config = workspace.path.join(".shipmate/config.toml");
        let shown = workspace.succeed("shipmate init --dry-run");
        let indented: String =
            expected.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
        let shown: String = shown.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        assert!(shown.contains(&indented), "{files:?}: {shown}");
        assert!(!exists(&config), "{files:?}");
        let written = workspace.succeed("shipmate init --yes --json");
        let written: serde_json::Value = serde_json::from_str(&written).unwrap();
        if expected.is_empty() {
            assert!(shown.contains("open ") && shown.contains("nothing to write"), "{shown}");
            assert!(written["written"].is_null() && !exists(&config), "{written}");
            continue;
        }
        assert_eq!(std::fs::read_to_string(&config).unwrap(), expected);
        let again = workspace.succeed("shipmate init --yes");
        assert!(again.contains("nothing to write"), "{again}");
    }
}

#[test]
fn the_first_run_at_a_terminal_asks_once_and_one_key_takes_it() {
    let workspace = repository(&[("Makefile", "test:\n\ttest -f one.txt\n")]);
    let plan = "[[tasks]]\nid = \"one\"\nsubject = \"x\"\nfiles = [\"one.txt\"]\n";
    std::fs::write(workspace.beside("one.toml"), plan).unwrap();
    let line = "shipmate run ../one.toml --agent 'touch one.txt' --red-base";
    let mut terminal = Terminal::start(&workspace, line, 100);
    terminal.until("Work like this, and write it into .shipmate/config.toml? [Y/n] ");
    terminal.press("\r");
    let (screen, code) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    let config = std::fs::read_to_string(workspace.path.join(".shipmate/config.toml")).unwrap();
    assert_eq!(config, "[gate]\ncommands = [\"make test\"]\n");
    let recorded = workspace.succeed("shipmate log --after 0 --json");
    assert!(recorded.contains("\"gate\":[\"make test\"]"), "{recorded}");
}

#[test]
fn definitions_are_listed_and_teammates_made_of_them_say_what_is_not_held() {
    let workspace = repository(&[(".claude/agents/reviewer.md", REVIEWER)]);
    workspace.succeed("shipmate team create alpha --trees own");
    workspace.check(
        r#"
        $ shipmate agents --definitions
        NAME      FROM                        MODEL             TOOLS      WHAT FOR
        reviewer  .claude/agents/reviewer.md  claude-harbour-1  Read Grep  Reads diffs
        reviewer: nobody here knows its fields tinge
        ...

        $ shipmate teammate add rex --from reviewer --command true
        ...

        $ shipmate teammate show rex
        ...

        $ shipmate teammate add max --from reviwer --command true
        refused: there is no definition of an agent reviwer
          there are reviewer: `shipmate agents --definitions`
        => 1
        "#,
    );
    for line in ["shipmate teammate show rex", "shipmate teammate show rex --json"] {
        let shown = workspace.succeed(line);
        for words in ["nobody here knows its fields tinge", "a plain command has no tools"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
}

#[test]
fn definitions_are_found_where_claude_has_its_settings() {
    let mut workspace = Workspace::with_repository();
    let folder = workspace.beside("second");
    std::fs::create_dir_all(folder.join("agents/team")).unwrap();
    std::fs::write(folder.join("agents/team/reviewer.md"), REVIEWER).unwrap();
    workspace.succeed("shipmate team create alpha --trees own");
    let add = "shipmate teammate add rex --from reviewer --command true";
    assert_eq!(workspace.run(add, b"").status.code(), Some(1), "nobody has defined it");
    // Said in a new terminal: the coordinator is there already.
    workspace.set("CLAUDE_CONFIG_DIR", folder.to_str().unwrap());
    let listed = workspace.succeed("shipmate agents --definitions --json");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let source = &listed["definitions"][0]["source"];
    assert_eq!(source, "~/second/agents/team/reviewer.md", "{listed}");
    workspace.succeed(add);
}

#[test]
fn files_that_are_no_definitions_are_named_and_refused_and_the_others_go_on() {
    let workspace = repository(&[(".claude/agents/reviewer.md", REVIEWER)]);
    workspace.succeed("shipmate team create alpha --trees own");
    let folder = workspace.path.join(".claude/agents");
    let head = |rest: &str| format!("---\n{rest}\n---\nx\n").into_bytes();
    let utf16: Vec<u8> =
        "\u{feff}---\nname: wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = format!("name: deep\nhooks: {}{}", "[".repeat(64), "]".repeat(64));
    let bomb = "a: &a [x, x]\nb: [*a, *a]";
    let hooks = format!(
        "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: {}",
        "x".repeat(20_000)
    );
    let bad: [(&str, Vec<u8>, &str); 10] = [
        ("wide", utf16, "it is not UTF-8: save it as that"),
        ("long", vec![b'x'; 1 << 20], "it is longer than 131072 bytes"),
        ("open", b"---\nname: open\n".to_vec(), "has no second ---"),
        ("deep", head(&deep), "its head"),
        ("bomb", head(bomb), "its head"),
        ("again", head("name: again\nname: again"), "its head has name twice"),
        ("five", head("hooks: 5"), "its hooks are no events with commands"),
        ("many", head(&hooks), "its hooks are longer than 16384 bytes"),
        ("tool", head("tools: {a: b}"), "its tools are no list of tools"),
        (
            "secret",
            head("mcpServers:\n  - own:\n      command: x\n      env: { API_KEY: abcdef123456 }"),
            "write ${API_KEY}",
        ),
    ];
    for (name, bytes, _) in &bad {
        std::fs::write(folder.join(format!("{name}.md")), bytes).unwrap();
    }
    std::fs::write(workspace.beside("outside.md"), REVIEWER).unwrap();
    let link = folder.join("link.md");
    std::os::unix::fs::symlink(workspace.beside("outside.md"), link).unwrap();
    std::fs::write(folder.join("twin1.md"), head("name: twin")).unwrap();
    std::fs::write(folder.join("twin2.md"), head("name: twin")).unwrap();
    std::fs::write(folder.join("ring.md"), head("name: ring\ncolour: \"\\e[2J\"\n\"\\e[31m\": 1"))
        .unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.md")).status().unwrap();
    assert!(made.success());

    let listed = workspace.succeed("shipmate agents --definitions");
    assert!(!listed.contains('\x1b'), "{listed:?}");
    let others = [
        ("link", "it leads out of the folder"),
        ("pipe", "is not a regular file"),
        ("twin", "2 files define an agent twin: .claude/agents/twin1.md, .claude/agents/twin2.md"),
    ];
    let bad = bad.iter().map(|(name, _, reason)| (*name, *reason));
    for (name, reason) in bad.chain(others) {
        let line = format!("shipmate teammate add {name} --from {name} --command true");
        let output = workspace.run(&line, b"");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
        assert!(listed.contains(reason) || name == "twin", "{name}: {listed}");
    }
    for name in ["reviewer", "ring"] {
        workspace.succeed(&format!("shipmate teammate add {name} --from {name} --command true"));
    }
    let shown = workspace.succeed("shipmate teammate show ring");
    assert!(shown.contains("nobody here knows its fields") && !shown.contains('\x1b'), "{shown:?}");
}

#[test]
fn a_plan_names_definitions_and_a_run_says_what_it_takes_from_files_of_others() {
    let workspace = repository(&[
        (".claude/agents/reviewer.md", REVIEWER),
        (".gitignore", ".env\n"),
        (".worktreeinclude", ".env\n"),
    ]);
    workspace.write(".env", "MODE=test\n");
    let plan = "[agents.says]\ncommand = \"cat .env > one.txt; printf %s \\\"$SHIPMATE_INSTRUCTIONS\\\" >> \
                one.txt\"\n[[teammates]]\nname = \"rex\"\nfrom = \"reviewer\"\nagent = \
                \"says\"\n[[tasks]]\nid = \"one\"\nsubject = \"x\"\nfiles = [\"one.txt\"]\n";
    std::fs::write(workspace.beside("one.toml"), plan).unwrap();
    let said = workspace.succeed("shipmate run ../one.toml");
    assert!(said.contains(".worktreeinclude"), "{said}");
    assert!(said.contains("a plain command has no tools"), "{said}");
    let made = workspace.git("for-each-ref --format=%(refname:short) refs/heads/shipmate");
    let branch = made.lines().next().unwrap();
    assert_eq!(workspace.git(&format!("show {branch}:one.txt")), "MODE=test\nRead every line.");
}
