//! The programs that are known by name: how each is found, started, probed and explained.
//!
//! What is written here was seen with the releases that the tests use; older ones are taken from
//! [`Known::oldest`] on. A login is only looked for, never tried: a program may keep it where
//! nobody else can see it, so "not logged in" is a warning and stops nothing.

use super::Protocol;
use super::base::Base;
use super::gemini::without_trust;
use super::homes::Home;
use super::version::Version;

#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    pub(super) programs: &'static [&'static str],
    pub(super) args: &'static [&'static str],
    pub(super) version_args: &'static [&'static str],
    /// What is older lacks what its driver uses.
    pub(super) oldest: Version,
    /// Any of these variables means that it can reach a model.
    pub(super) login_variables: &'static [&'static str],
    /// Any of these files does: with a text if the file holds it, without one if a login is in it.
    pub(super) login_files: &'static [(Base, &'static str, &'static str)],
    /// The same in the repository.
    pub(super) login_in_repository: &'static [(&'static str, &'static str)],
    /// Folders that it keeps its own in.
    pub(super) homes: &'static [Home],
    pub(super) install: &'static str,
    pub(super) log_in: &'static str,
    /// What it is asked with whether it is logged in; empty where it cannot be asked without a request.
    pub(super) status_args: &'static [&'static str],
}

pub(crate) const CLAUDE: Base =
    Base::Named { variable: "CLAUDE_CONFIG_DIR", below_home: ".claude" };
pub(crate) const CODEX: Base = Base::Named { variable: "CODEX_HOME", below_home: ".codex" };

const CLAUDE_VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];
const CLAUDE_FILES: &[(Base, &str, &str)] = &[
    (CLAUDE, ".credentials.json", ""),
    (CLAUDE, "settings.json", "apiKeyHelper"),
    (CLAUDE, "settings.json", "ANTHROPIC_"),
];
const CLAUDE_HOMES: &[Home] = &[Home {
    variable: "CLAUDE_CONFIG_DIR",
    of: CLAUDE,
    inside: "",
    read: &[
        "settings.json",
        "settings.local.json",
        "remote-settings.json",
        "CLAUDE.md",
        "agents",
        "commands",
        "hooks",
        "keybindings.json",
        "output-styles",
        "plugins",
        "rules",
        "skills",
    ],
    logins: &[".credentials.json"],
    copied: &[(Base::Home, ".claude.json")],
    changed: &[],
}];
const CODEX_VARIABLES: &[&str] = &["OPENAI_API_KEY", "CODEX_API_KEY"];
const CODEX_FILES: &[(Base, &str, &str)] =
    &[(CODEX, "auth.json", ""), (CODEX, "config.toml", "model_provider")];
const CODEX_HOMES: &[Home] = &[Home {
    variable: "CODEX_HOME",
    of: CODEX,
    inside: "",
    read: &[
        "config.toml",
        "managed_config.toml",
        "requirements.toml",
        "AGENTS.md",
        "AGENTS.override.md",
        "agents",
        "hooks",
        "hooks.json",
        "plugins",
        "prompts",
        "rules",
        "skills",
    ],
    logins: &["auth.json"],
    copied: &[],
    changed: &[],
}];
/// Data and state of a program that goes by the XDG variables. Its settings stay where they are:
/// behind the fence they are only read.
const fn xdg(logins: &'static [&'static str], data: &'static str) -> [Home; 2] {
    [
        Home {
            variable: "XDG_DATA_HOME",
            of: Base::Data,
            inside: data,
            read: &[],
            logins,
            copied: &[],
            changed: &[],
        },
        Home {
            variable: "XDG_STATE_HOME",
            of: Base::State,
            inside: data,
            read: &[],
            logins: &[],
            copied: &[],
            changed: &[],
        },
    ]
}
const OPENCODE_HOMES: &[Home] = &xdg(&["auth.json", "mcp-auth.json"], "opencode");
const GOOSE_HOMES: &[Home] = &xdg(&[], "goose");
const GEMINI_HOMES: &[Home] = &[Home {
    variable: "GEMINI_CLI_HOME",
    of: GEMINI,
    inside: ".gemini",
    read: &[
        "settings.json",
        "GEMINI.md",
        "agents",
        "commands",
        "extensions",
        "hooks",
        "keybindings.json",
        "policies",
        "skills",
        ".env",
        "google_accounts.json",
        "installation_id",
        "trustedFolders.json",
    ],
    logins: &["oauth_creds.json", "gemini-credentials.json", "mcp-oauth-tokens.json"],
    copied: &[],
    changed: &[("settings.json", without_trust)],
}];

pub(super) const KNOWN: [Known; 7] = [
    Known {
        name: "claude",
        protocol: Protocol::Claude,
        programs: &["claude"],
        args: &[],
        version_args: &["--version"],
        oldest: Version([2, 0, 0]),
        login_variables: CLAUDE_VARIABLES,
        login_files: CLAUDE_FILES,
        login_in_repository: &[],
        homes: CLAUDE_HOMES,
        install: "npm install -g @anthropic-ai/claude-code",
        log_in: "run `claude` and log in, or set ANTHROPIC_API_KEY",
        status_args: &["auth", "status"],
    },
    Known {
        name: "codex",
        protocol: Protocol::Codex,
        programs: &["codex"],
        args: &[],
        version_args: &["--version"],
        oldest: Version([0, 100, 0]),
        // As a teammate it uses none.
        login_variables: &[],
        login_files: CODEX_FILES,
        login_in_repository: &[],
        homes: CODEX_HOMES,
        install: "npm install -g @openai/codex",
        log_in: "run `codex login`, or `printenv OPENAI_API_KEY | codex login --with-api-key`: the variable \
                 alone is not used by it as a teammate",
        status_args: &["login", "status"],
    },
    Known {
        name: "gemini",
        protocol: Protocol::Acp,
        programs: &["gemini"],
        args: &["--acp"],
        version_args: &["--version"],
        oldest: Version([0, 35, 0]),
        login_variables: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_GENAI_USE_GCA",
        ],
        login_files: &[
            (GEMINI, ".gemini/oauth_creds.json", ""),
            (GEMINI, ".gemini/gemini-credentials.json", ""),
            (GEMINI, ".gemini/.env", "API_KEY"),
        ],
        login_in_repository: &[],
        homes: GEMINI_HOMES,
        install: "npm install -g @google/gemini-cli",
        log_in: "run `gemini` and log in, or set GEMINI_API_KEY",
        status_args: &[],
    },
    Known {
        name: "opencode",
        protocol: Protocol::Acp,
        programs: &["opencode"],
        args: &["acp"],
        version_args: &["--version"],
        oldest: Version([1, 0, 0]),
        login_variables: &[
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "OPENCODE_API_KEY",
        ],
        login_files: &[
            (Base::Data, "opencode/auth.json", ""),
            (Base::Config, "opencode/opencode.json", "provider"),
            (Base::Config, "opencode/opencode.jsonc", "provider"),
        ],
        login_in_repository: &[("opencode.json", "provider"), ("opencode.jsonc", "provider")],
        homes: OPENCODE_HOMES,
        install: "npm install -g opencode-ai",
        log_in: "run `opencode auth login`, or name a provider in its opencode.json",
        status_args: &[],
    },
    Known {
        name: "goose",
        protocol: Protocol::Acp,
        programs: &["goose"],
        args: &["acp"],
        version_args: &["--version"],
        oldest: Version([1, 8, 0]),
        login_variables: &["GOOSE_PROVIDER"],
        login_files: &[(Base::Config, "goose/config.yaml", "GOOSE_PROVIDER")],
        login_in_repository: &[],
        homes: GOOSE_HOMES,
        install: "see the goose project's releases",
        log_in: "run `goose configure`",
        status_args: &[],
    },
    Known {
        name: "claude-agent-acp",
        protocol: Protocol::Acp,
        programs: &["claude-agent-acp"],
        args: &[],
        version_args: &["--version"],
        oldest: Version([0, 20, 0]),
        login_variables: CLAUDE_VARIABLES,
        login_files: CLAUDE_FILES,
        login_in_repository: &[],
        homes: CLAUDE_HOMES,
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        log_in: "run `claude` and log in, or set ANTHROPIC_API_KEY",
        status_args: &[],
    },
    Known {
        name: "codex-acp",
        protocol: Protocol::Acp,
        programs: &["codex-acp"],
        args: &[],
        version_args: &["--version"],
        oldest: Version([0, 0, 0]),
        login_variables: CODEX_VARIABLES,
        login_files: CODEX_FILES,
        login_in_repository: &[],
        homes: CODEX_HOMES,
        install: "npm install -g @agentclientprotocol/codex-acp",
        log_in: "run `codex login`, or set OPENAI_API_KEY",
        status_args: &[],
    },
];

const GEMINI: Base = Base::Named { variable: "GEMINI_CLI_HOME", below_home: "" };
