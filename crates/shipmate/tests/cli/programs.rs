//! The agent programs of a machine: which are there, and what is wrong with the others.

use crate::transcript::Workspace;

/// Written by another process: a file that this one holds open for writing while another test
/// forks cannot be executed.
fn script(workspace: &Workspace, name: &str, line: &str) {
    let path = workspace.path.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = std::process::Command::new("sh");
    writer.args(["-c", "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
    assert!(writer.arg(path).arg(line).status().unwrap().success());
}

/// Programs in a folder that stands alone in `PATH` beside the shell's.
fn workspace() -> Workspace {
    let mut workspace = Workspace::new();
    let programs = [
        ("claude", "echo '2.1.325 (Claude Code)'"),
        ("codex", "echo codex-cli 0.1.0"),
        ("gemini", "echo 0.61.0"),
        ("opencode", "echo 'no such module' >&2; exit 1"),
    ];
    for (name, line) in programs {
        script(&workspace, &format!("../bin/{name}"), line);
    }
    workspace.write(
        ".shipmate/config.toml",
        "[agents.mine]\nprogram = \"../own/agent\"\nprotocol = \"command\"\n\
         [agents.gemini]\nenv = { GEMINI_API_KEY = \"x\" }\n",
    );
    script(&workspace, "own/agent", "exit 0");
    let bin = workspace.beside("bin");
    workspace.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOSE_PROVIDER"] {
        workspace.set(name, "");
    }
    workspace.set("CLAUDE_CODE_OAUTH_TOKEN", "x");
    workspace
}

#[test]
fn the_programs_of_this_machine_are_listed_with_their_state() {
    workspace().check(
        r#"
        $ shipmate agents
        AGENT             PROTOCOL  STATE          VERSION  WHY
        native            native    not_logged_in           no model is named, and no provider's key is set
        claude            claude    ready          2.1.325  a login is there, not tried: CLAUDE_CODE_OAUTH_TOKEN
        codex             codex     too_old        0.1.0    0.1.0 is installed, and 0.100.0 is [..]
        gemini            acp       ready          0.61.0   a login is there, not tried: GEMINI_API_KEY
        opencode          acp       broken                  `opencode --version` failed (exit code 1): [..]
        goose             acp       not_installed           goose was not found in PATH
        claude-agent-acp  acp       not_installed           claude-agent-acp was not found in PATH
        codex-acp         acp       not_installed           codex-acp was not found in PATH
        mine              command   ready                   found; nothing more is known about it

        native: set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, or \
            models.default in the configuration
        codex: update it: npm install -g @openai/codex
        opencode: run `[..]/bin/opencode --version` by hand; install it anew ([..])
        goose: install it (see the goose project's releases), or set agents.goose.program
        claude-agent-acp: install it ([..]), or set agents.claude-agent-acp.program
        codex-acp: install it ([..]), or set agents.codex-acp.program

        $ shipmate doctor
        ...
        warning  agents       ready: claude, gemini, mine; not logged in: native; too old: codex; \
          broken: opencode; not installed: goose, claude-agent-acp, codex-acp
                              codex: 0.1.0 is installed, and 0.100.0 [..]
                              opencode: `opencode --version` failed [..]
        ...
        "#,
    );
}

#[test]
fn a_program_that_is_missing_is_no_problem() {
    let mut workspace = Workspace::with_team(&[]);
    workspace.set("PATH", "/usr/bin:/bin");
    workspace.check(
        r#"
        $ shipmate doctor
        ...
        ok       agents       [..]not installed: [..]goose[..]
        ...
        "#,
    );
    let list = workspace.succeed("shipmate agents --json");
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let goose = list.iter().find(|agent| agent["name"] == "goose").unwrap();
    assert_eq!(goose["state"], "not_installed");
}

#[test]
fn what_a_program_may_read_and_write_behind_the_fence_is_one_table() {
    let workspace = Workspace::new();
    workspace.write("../.claude/settings.json", "{}");
    workspace.write("../.claude/.credentials.json", "{}");
    workspace.write(".shipmate/config.toml", "fence-write = [\"~/models\"]\n");
    workspace.check(
        r#"
        $ shipmate agents --fence claude
        claude as a teammate, fence = "on"

        writes      its own tree, unless its mode is plan, delegate or read_only
                    a temporary folder of its own: TMPDIR
                    the team's caches: CARGO_HOME, npm_config_cache, PIP_CACHE_DIR, GOMODCACHE, …
                    ~/models: by fence-write
                    a folder of its own: CLAUDE_CONFIG_DIR, instead of [..]/.claude
        login       .credentials.json of [..]/.claude: used and renewed where it is
        reads       settings.json of [..]/.claude
        copied      .claude.json, anew for each life
        reads       everything else that you can read
        hidden      .shipmate/state: tokens, logs, other teammates' trees

        More may be written by `fence-write` in .shipmate/config.toml; docs/security.md

        $ shipmate agents --fence cluade
        error: there is no agent cluade; did you mean claude?
          `shipmate agents` lists them
        => 2
        "#,
    );
}

#[test]
fn a_fence_that_is_off_is_said_at_every_start() {
    let workspace = Workspace::with_repository();
    workspace.write(".shipmate/config.toml", "fence = \"off\"\n");
    workspace.succeed("shipmate team create alpha --trees own --dirty");
    workspace.check(
        r#"
        $ shipmate teammate add ana --command true
        note: fence = "off": every agent, gate and hook can do whatever you can
        added ana; it starts when there is a task for it

        $ shipmate resume
        note: fence = "off": every agent, gate and hook can do whatever you can
        ...
        "#,
    );
}

/// What the person's shell has open is not for what an agent's program finds.
#[test]
fn a_program_gets_no_file_that_was_open_before() {
    let workspace = Workspace::new();
    let file = workspace.path.join("precious");
    let line = "exec 7>>\"$0\"; exec \"$1\" exec-tree sh -c 'echo x >&7'";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).arg(&file).arg(env!("CARGO_BIN_EXE_shipmate"));
    let ended = shell.output().unwrap();
    assert!(!ended.status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}
