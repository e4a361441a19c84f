//! Whether the vendors' real programs are ready, as `shipmate agents` says: only for what works.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use shipmate_testkit::programs::Program;

use crate::stage::SHIPMATE;
use crate::temp::TempDir;

const CLAUDE: &str = ".claude/.credentials.json";
const CODEX: &str = ".codex/auth.json";

/// What is said of the program where the home folder holds these files; its state, and why.
fn said(program: Program, files: &[(&str, &str)], variables: &[(&str, &str)]) -> (String, String) {
    let folder = TempDir::new();
    let root = folder.join("").canonicalize().unwrap();
    let name = if program == Program::Claude { "claude" } else { "codex" };
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (path, text) in files {
        write(&root.join("home").join(path), text);
    }
    write(&root.join("repo/README"), "");
    write(&root.join("bin/.empty"), "");
    std::os::unix::fs::symlink(program.path(), root.join("bin").join(name)).unwrap();
    let git = ["init", "--quiet"];
    let made = Command::new("git").args(git).current_dir(root.join("repo")).status().unwrap();
    assert!(made.success());
    let mut command = Command::new(SHIPMATE);
    command.args(["agents", "--json"]).current_dir(root.join("repo")).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin", root.join("bin").display()));
    // Nothing of it leaves this machine.
    command.envs([("HTTPS_PROXY", "http://127.0.0.1:9"), ("DISABLE_TELEMETRY", "1")]);
    command.env("HOME", root.join("home")).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let list: Vec<Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let view = list.into_iter().find(|view| view["name"] == name).unwrap();
    let text = |field: &str| view[field].as_str().unwrap().to_owned();
    (text("state"), text("why"))
}

#[track_caller]
fn is(ready: bool, program: Program, files: &[(&str, &str)], variables: &[(&str, &str)]) {
    let (state, why) = said(program, files, variables);
    let expected = if ready { "ready" } else { "not_logged_in" };
    assert_eq!(state, expected, "{files:?} {variables:?}: {why}");
}

/// Credentials of a subscription.
fn subscription(refresh: &str, ends: &str) -> String {
    format!(
        r#"{{"claudeAiOauth":{{"accessToken":"sk-ant-oat01-x","refreshToken":"{refresh}",
        "expiresAt":{ends},"scopes":["user:inference"]}}}}"#
    )
}

#[test]
fn claude_is_ready_only_with_a_login_that_is_one() {
    let (claude, never) = (Program::Claude, "9999999999999");
    is(false, claude, &[], &[]);
    is(false, claude, &[(CLAUDE, "{}")], &[]);
    is(false, claude, &[(CLAUDE, &subscription("", "1000"))], &[]);
    is(true, claude, &[(CLAUDE, &subscription("sk-ant-ort01-x", never))], &[]);
    is(true, claude, &[(CLAUDE, "{}")], &[("ANTHROPIC_API_KEY", "x")]);
}

#[test]
fn codex_is_ready_only_with_a_login_that_is_one() {
    let codex = Program::Codex;
    let provider = "model_provider = \"mine\"\n[model_providers.mine]\nname = \"mine\"\n\
                    base_url = \"http://127.0.0.1:9/v1\"\nenv_key = \"MINE\"\n";
    let config = [(".codex/config.toml", provider)];
    is(false, codex, &[], &[]);
    is(false, codex, &[(CODEX, "{}")], &[]);
    is(false, codex, &[(CODEX, r#"{"OPENAI_API_KEY":null}"#)], &[]);
    // Its app-server sends none of these.
    is(false, codex, &[], &[("OPENAI_API_KEY", "x"), ("CODEX_API_KEY", "x")]);
    is(false, codex, &[(CODEX, "{}")], &[("OPENAI_API_KEY", "x")]);
    is(true, codex, &[(CODEX, r#"{"OPENAI_API_KEY":"x"}"#)], &[]);
    is(false, codex, &config, &[]);
    is(true, codex, &config, &[("MINE", "x")]);
}
