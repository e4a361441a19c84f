//! What gates and hooks have no business with: files that hold logins, and variables that do.
//!
//! Both are looked for by name. What has another name is as open to a gate as it is to the person's
//! own tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

/// Variables that name a file or a folder with logins, and what of it holds them.
const NAMED: [(&str, &str); 16] = [
    ("CLAUDE_CONFIG_DIR", ""),
    ("CODEX_HOME", ""),
    ("GEMINI_CLI_HOME", ""),
    ("CARGO_HOME", "credentials"),
    ("CARGO_HOME", "credentials.toml"),
    ("KUBECONFIG", ""),
    ("AWS_SHARED_CREDENTIALS_FILE", ""),
    ("AWS_CONFIG_FILE", ""),
    ("DOCKER_CONFIG", "config.json"),
    ("GNUPGHOME", ""),
    ("NPM_CONFIG_USERCONFIG", ""),
    ("npm_config_userconfig", ""),
    ("NETRC", ""),
    ("PGPASSFILE", ""),
    ("CLOUDSDK_CONFIG", ""),
    ("GH_CONFIG_DIR", ""),
];

/// Where a variable moves a part of the home folder to.
const MOVED: [(&str, &str); 2] =
    [(".config/", "XDG_CONFIG_HOME"), (".local/share/", "XDG_DATA_HOME")];

/// Parts of a variable's name that say what it holds.
const PARTS: [&str; 11] = [
    "APIKEY",
    "PRIVATEKEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CONNECTION_STRING",
    "WEBHOOK",
    "XAUTH",
];
/// The same, as a whole word.
const WORDS: [&str; 10] =
    ["KEY", "KEYS", "AUTH", "AUTHORIZATION", "PASS", "PAT", "PWD", "DSN", "COOKIE", "SESSION"];
/// What stands before a secret in an address or a list of settings, in small letters.
pub const MARKERS: [&str; 10] = [
    "password=",
    "passwd=",
    "pwd=",
    "token=",
    "secret=",
    "apikey=",
    "api_key=",
    "api-key=",
    "accountkey=",
    "sharedaccesskey=",
];
/// The shell's own.
const HARMLESS: [&str; 2] = ["PWD", "OLDPWD"];

/// Those that are there or may come. Programs have their folders where these variables say.
pub(super) fn files(programs: &[(String, String)]) -> Vec<PathBuf> {
    let values = |name: &str| -> Vec<OsString> {
        let own = programs.iter().filter(|(other, _)| other == name);
        environment::var(name).into_iter().chain(own.map(|(_, value)| value.into())).collect()
    };
    let home = environment::var("HOME").map(PathBuf::from);
    let mut found: Vec<PathBuf> =
        home.into_iter().flat_map(|home| FILES.map(|file| home.join(file))).collect();
    for (part, name) in MOVED {
        for folder in values(name) {
            let files = FILES.iter().filter_map(|file| file.strip_prefix(part));
            found.extend(files.map(|file| Path::new(&folder).join(file)));
        }
    }
    for (name, below) in NAMED {
        for value in values(name) {
            let paths = std::env::split_paths(&value);
            found.extend(paths.map(|path| if below.is_empty() { path } else { path.join(below) }));
        }
    }
    found.retain(|path| path.is_absolute());
    // What people who keep their settings elsewhere have put links to there.
    let links = |folder: &PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        links.filter_map(|link| link.path().canonicalize().ok()).collect::<Vec<_>>()
    };
    let linked: Vec<PathBuf> = found.iter().flat_map(links).filter(|path| path.is_file()).collect();
    found.extend(linked);
    found
}

/// Whether a variable is kept from gates and hooks: by its name, or as an address with a password.
pub fn looks_secret(name: &str, value: &str) -> bool {
    let words = words(name);
    let name = name.to_ascii_uppercase();
    let is_word = words.iter().any(|word| WORDS.contains(&word.as_str()));
    let is_named = is_word || PARTS.iter().any(|part| name.contains(part));
    (is_named && !HARMLESS.contains(&name.as_str())) || has_password(value)
}

/// What names of settings about a secret end with: where it lies, and how it is used.
const ABOUT: [&str; 18] = [
    "DIR", "DOMAIN", "ENABLED", "ENDPOINT", "ENV", "EXPIRY", "FILE", "HOST", "NAME", "PATH",
    "PORT", "PREFIX", "TIMEOUT", "TTL", "TYPE", "URI", "URL", "USER",
];
/// Addresses that are secrets as they are.
const SECRET_ADDRESSES: [&str; 2] = ["WEBHOOK", "DSN"];

/// Whether this is about a secret and none itself: `AUTH_CALLBACK_PATH`, `TOKEN_URL`. What it says may be one
/// all the same: see [`has_password`].
pub fn is_about_a_secret(name: &str) -> bool {
    let words = words(name);
    let last = words.iter().rfind(|word| !word.is_empty());
    let is_secret = words.iter().any(|word| SECRET_ADDRESSES.contains(&word.as_str()));
    last.is_some_and(|last| ABOUT.contains(&last.as_str())) && !is_secret
}

/// The words of a name in capital letters: `accountKey` has two of them, as `ACCOUNT_KEY` has.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let is = |at: Option<usize>, is: fn(&char) -> bool| {
            at.and_then(|at| letters.get(at)).is_some_and(is)
        };
        let is_small = |at| is(at, char::is_ascii_lowercase);
        let is_large = |at| is(at, char::is_ascii_uppercase);
        let before = at.checked_sub(1);
        let begins = letter.is_ascii_uppercase()
            && (is_small(before) || (is_large(before) && is_small(Some(at + 1))));
        if begins || !letter.is_ascii_alphabetic() {
            words.push(String::new());
        }
        if letter.is_ascii_alphabetic() {
            words.last_mut().expect("there is one").push(letter.to_ascii_uppercase());
        }
    }
    words
}

/// `postgres://user:password@host/`, `https://token@host/` or `jdbc:…?password=…`, also in a list.
pub fn has_password(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let mut before = "";
    MARKERS.iter().any(|name| value.contains(name))
        || value.split("://").any(|part| {
            let is_web = before.ends_with("http") || before.ends_with("https");
            let is_first = std::mem::replace(&mut before, part).is_empty();
            let host = part.split(['/', '?', '#', ' ', ',', ';', '|']).next().unwrap_or_default();
            let user = host.rsplit_once('@').map(|(user, _)| user).filter(|_| !is_first);
            let password = user.and_then(|user| user.split_once(':')).map(|(_, after)| after);
            password.is_some_and(|password| !password.is_empty())
                || (is_web && user.is_some_and(|user| !user.is_empty()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_secret_is_known_by_its_name_or_its_form() {
        for name in [
            "ANTHROPIC_API_KEY",
            "MyApiKey",
            "OPENAI_KEY",
            "FOO_KEY",
            "GITHUB_TOKEN",
            "GITHUB_PAT",
            "SSH_AUTH_SOCK",
            "DB_PASSWORD",
            "DB_PWD",
            "SENTRY_DSN",
            "AZURE_STORAGE_CONNECTION_STRING",
            "BW_SESSION",
            "SSH_PRIVATEKEY",
            "accountKey",
            "AWSKey",
            "encryptionKey",
            "Proxy-Authorization",
        ] {
            assert!(looks_secret(name, "x"), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "LANG",
            "GIT_AUTHOR_NAME",
            "KEYBOARD",
            "monkeyPatch",
            "PWD",
            "OLDPWD",
        ] {
            assert!(!looks_secret(name, "x"), "{name}");
        }
        for (value, secret) in [
            ("postgres://me:pass@host:5432/db", true),
            ("redis://:pass@host", true),
            ("postgres://me@host/db", false),
            ("http://127.0.0.1:8080/a:b@c", false),
            ("https://a.b/simple,https://me:pass@c.d/simple", true),
            ("https://abcdef@host/", true),
            ("jdbc:postgresql://host/db?user=me&password=x", true),
            ("ssh://git@host/a", false),
            ("DefaultEndpointsProtocol=https;AccountName=me;AccountKey=x==", true),
        ] {
            assert_eq!(looks_secret("DATABASE_URL", value), secret, "{value}");
        }
    }

    #[test]
    fn settings_about_a_secret_are_told_from_secrets() {
        for name in
            ["AUTH_CALLBACK_PATH", "SESSION_COOKIE_DOMAIN", "authUrl", "--token-file", "TOKEN_URL"]
        {
            assert!(is_about_a_secret(name), "{name}");
        }
        for name in
            ["AUTH_TOKEN", "SLACK_WEBHOOK_URL", "SENTRY_DSN_URL", "accessKey", "PROFILE_KEY", ""]
        {
            assert!(!is_about_a_secret(name), "{name}");
        }
    }

    #[test]
    fn a_programs_folder_is_where_its_variable_says() {
        let programs = [("CLAUDE_CONFIG_DIR".to_owned(), "/srv/claude".to_owned())];
        let variables = [
            ("XDG_CONFIG_HOME".to_owned(), "/cfg".to_owned()),
            ("KUBECONFIG".to_owned(), "/k/one:/k/two".to_owned()),
            ("CARGO_HOME".to_owned(), "/cargo".to_owned()),
        ];
        environment::renew(variables.into());
        let files = files(&programs);
        for path in
            ["/srv/claude", "/cfg/gh", "/k/one", "/k/two", "/cargo/credentials.toml"].map(Path::new)
        {
            assert!(files.iter().any(|file| file == path), "{path:?}");
        }
    }
}
