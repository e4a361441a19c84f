//! What gates and hooks have no business with: files that hold logins, and variables that do.
//!
//! Both are looked for by name. What has another name is as open to a gate as it is to the person's
//! own tests.

use std::path::PathBuf;

use shipmate_process::environment;

/// Below the home folder.
const FILES: [&str; 34] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".config/op",
    ".config/opencode",
    ".config/goose",
    ".local/share/opencode",
    ".local/share/keyrings",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
];

/// Variables whose value is a folder with logins.
const NAMED: [&str; 3] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"];

/// Parts of a variable's name that say what it holds.
const WORDS: [&str; 12] = [
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "SESSION_KEY",
];

/// Those that are there or may come.
pub(super) fn files() -> Vec<PathBuf> {
    let home = environment::var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let below = home.into_iter().flat_map(|home| FILES.map(|file| home.join(file)));
    let named = NAMED.iter().filter_map(|name| environment::var(name)).map(PathBuf::from);
    below.chain(named.filter(|path| path.is_absolute())).collect()
}

/// Whether a variable of this name is kept from gates and hooks.
pub(super) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word)) && !name.starts_with("GIT_AUTHOR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_secret_is_known_by_its_name() {
        for name in
            ["ANTHROPIC_API_KEY", "MyApiKey", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "DB_PASSWORD"]
        {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "LANG", "GIT_AUTHOR_NAME", "KEYBOARD"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
