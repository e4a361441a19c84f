//! The real agent programs, for tests: where each is, and surroundings that keep it on loopback.
//!
//! `cargo xtask test` and `cargo xtask clients` install them at pinned versions and say where in
//! the environment. The surroundings are complete: start a program with a cleared environment and
//! exactly these variables, and it knows nothing of the person's home, keys or proxies. Whatever
//! would leave the machine is sent to the scripted model as to a proxy, which refuses it and has
//! it on record: see [`strays`].
//!
//! No program is started in here: each driver starts its own in its own way.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::model::{Request, Server};

/// A program that tests may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Claude,
    Codex,
    Gemini,
    Opencode,
    ClaudeAgentAcp,
    CodexAcp,
    Conformance,
    Inspector,
}

impl Program {
    pub const ALL: [Self; 8] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::ClaudeAgentAcp,
        Self::CodexAcp,
        Self::Conformance,
        Self::Inspector,
    ];

    /// The variable that holds its path.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::Claude => "SHIPMATE_TEST_CLAUDE",
            Self::Codex => "SHIPMATE_TEST_CODEX",
            Self::Gemini => "SHIPMATE_TEST_GEMINI",
            Self::Opencode => "SHIPMATE_TEST_OPENCODE",
            Self::ClaudeAgentAcp => "SHIPMATE_TEST_CLAUDE_AGENT_ACP",
            Self::CodexAcp => "SHIPMATE_TEST_CODEX_ACP",
            Self::Conformance => "SHIPMATE_TEST_CONFORMANCE",
            Self::Inspector => "SHIPMATE_TEST_INSPECTOR",
        }
    }

    /// An executable that starts it; scripts for Node bring their own.
    ///
    /// # Panics
    ///
    /// If the environment does not say where it is. A test is never skipped in silence.
    #[must_use]
    pub fn path(self) -> PathBuf {
        let path = std::env::var_os(self.variable()).filter(|path| !path.is_empty());
        path.map(PathBuf::from).unwrap_or_else(|| {
            panic!(
                "{} must name the program: run `cargo xtask test` (Claude Code, Codex) or `cargo \
                 xtask test clients` (all), or set it to what `cargo xtask clients` prints",
                self.variable()
            )
        })
    }
}

/// What a program tried to reach beyond loopback.
#[must_use]
pub fn strays(server: &Server) -> Vec<Request> {
    server.requests().into_iter().filter(|request| request.reply == "stray").collect()
}

/// The whole environment of a program on the scripted model. `home` is made if need be. The ACP
/// adapters of Claude Code and Codex take the surroundings of the program behind them.
#[derive(Debug)]
pub struct Surroundings;

pub type Environment = Vec<(OsString, OsString)>;

impl Surroundings {
    /// The same as lines of a script that is found in the program's place, but for what names the
    /// folders that a teammate's program has of its own.
    #[must_use]
    pub fn exports(environment: impl IntoIterator<Item = (OsString, OsString)>) -> String {
        const OWN: [&str; 5] =
            ["CODEX_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"];
        let text = |text: OsString| text.into_string().expect("it is text");
        let pairs = environment.into_iter().map(|(name, value)| (text(name), text(value)));
        let others = pairs.filter(|(name, _)| !OWN.contains(&name.as_str()));
        others.map(|(name, value)| format!("export {name}='{value}'\n")).collect()
    }

    /// For `claude`, in any of its modes.
    #[must_use]
    pub fn claude(home: &Path, server: &Server) -> Environment {
        write(
            &home.join(".claude.json"),
            &json!({
                "hasCompletedOnboarding": true,
                "customApiKeyResponses": {"approved": ["fake"], "rejected": []},
            }),
        );
        let settings = json!({"skipDangerousModePermissionPrompt": true});
        write(&home.join(".claude/settings.json"), &settings);
        let mut environment = basis(home, server);
        environment.extend(own([
            ("ANTHROPIC_BASE_URL", &*server.url()),
            ("ANTHROPIC_API_KEY", "fake"),
            // Without it Claude Code refuses to bypass permissions as root.
            ("IS_SANDBOX", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
        ]));
        environment
    }

    /// The same with the login of a subscription: what its provider tells of its limits is heard.
    #[must_use]
    pub fn claude_subscribed(home: &Path, server: &Server) -> Environment {
        let mut environment = Self::claude(home, server);
        environment.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
        environment.extend(own([("CLAUDE_CODE_OAUTH_TOKEN", "fake")]));
        environment
    }

    /// For `codex exec` and `codex app-server`. The model is one that codex knows, so its tools
    /// come as they do for a person: inside JavaScript.
    #[must_use]
    pub fn codex(home: &Path, server: &Server) -> Environment {
        let folder = home.join(".codex");
        let config = format!(
            "model = \"gpt-6.1-sol\"\n\
             model_provider = \"scripted\"\n\
             check_for_update_on_startup = false\n\
             [analytics]\n\
             enabled = false\n\
             [feedback]\n\
             enabled = false\n\
             [features]\n\
             plugins = false\n\
             apps = false\n\
             [model_providers.scripted]\n\
             name = \"scripted\"\n\
             base_url = \"{}/v1\"\n\
             wire_api = \"responses\"\n\
             env_key = \"SCRIPTED_API_KEY\"\n",
            server.url()
        );
        write_text(&folder.join("config.toml"), &config);
        let mut environment = basis(home, server);
        environment.push(("CODEX_HOME".into(), folder.into()));
        environment.extend(own([("SCRIPTED_API_KEY", "fake")]));
        environment
    }

    /// For `gemini -p` and `gemini --acp`. A model is named, because the automatic choice is one
    /// more call of a model.
    #[must_use]
    pub fn gemini(home: &Path, server: &Server) -> Environment {
        write(
            &home.join(".gemini/settings.json"),
            &json!({
                "security": {
                    "auth": {"selectedType": "gemini-api-key"},
                    "folderTrust": {"enabled": false},
                },
                "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                "privacy": {"usageStatisticsEnabled": false},
                "telemetry": {"enabled": false},
                "ide": {"enabled": false},
                "model": {"name": "gemini-2.5-pro"},
            }),
        );
        let mut environment = basis(home, server);
        environment.extend(own([
            ("GEMINI_API_KEY", "fake"),
            ("GOOGLE_GEMINI_BASE_URL", &*server.url()),
            // One process instead of two, of which the second is hard to end.
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ]));
        environment
    }

    /// For `opencode run` and `opencode acp`, over Chat Completions.
    #[must_use]
    pub fn opencode(home: &Path, server: &Server) -> Environment {
        write(
            &home.join(".config/opencode/opencode.json"),
            &json!({
                "provider": {"scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "scripted",
                    "options": {"baseURL": format!("{}/v1", server.url()), "apiKey": "fake"},
                    "models": {"script": {"name": "script"}, "harbour-1": {"name": "harbour-1"}},
                }},
                "model": "scripted/script",
                "autoupdate": false,
                "share": "disabled",
            }),
        );
        // It would fetch the library for plugins unless its folder looks as if it had.
        make(&home.join(".config/opencode/node_modules"));
        write(
            &home.join(".config/opencode/package-lock.json"),
            &json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}),
        );
        // It writes this one at its very first start, which is the person's.
        std::fs::write(home.join(".config/opencode/.gitignore"), "node_modules\n")
            .expect("its folder can be written");
        let mut environment = basis(home, server);
        environment.extend(own([
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ]));
        environment
    }
}

/// What every program gets: a home of its own and no way out.
fn basis(home: &Path, server: &Server) -> Environment {
    let url = &*server.url();
    let mut environment = own([
        ("HTTP_PROXY", url),
        ("HTTPS_PROXY", url),
        ("http_proxy", url),
        ("https_proxy", url),
        ("NO_PROXY", "127.0.0.1,localhost,::1"),
        ("no_proxy", "127.0.0.1,localhost,::1"),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        ("SHELL", "/bin/bash"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ]);
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    environment.push(("PATH".into(), path));
    environment.push(("HOME".into(), home.into()));
    for (name, folder) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("TMPDIR", "tmp"),
    ] {
        let folder = home.join(folder);
        make(&folder);
        environment.push((name.into(), folder.into()));
    }
    environment
}

fn own<const N: usize>(variables: [(&str, &str); N]) -> Environment {
    variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn write(path: &Path, value: &Value) {
    write_text(path, &format!("{value:#}\n"));
}

fn write_text(path: &Path, text: &str) {
    make(path.parent().expect("a file is in a folder"));
    fs::write(path, text).unwrap_or_else(|e| panic!("{} cannot be written: {e}", path.display()));
}

fn make(folder: &Path) {
    fs::create_dir_all(folder)
        .unwrap_or_else(|e| panic!("{} cannot be made: {e}", folder.display()));
}
