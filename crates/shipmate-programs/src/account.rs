//! Which account a program asks its model with: a name by which all workspaces and machines mean the same.
//!
//! It is the program and the first digits of a hash of its login: of an account's own id where the program
//! keeps one, of a key, or, where neither is found, of the folder in which the program keeps its login.
//! No key and no login can be read out of it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use shipmate_model::Name;
use shipmate_protocol::native::ModelOrder;

use crate::around::Around;

/// Digits that tell accounts apart.
const DIGITS: usize = 8;

/// What a program asks its model with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub account: Name,
    /// It is paid for by the month, as far as can be seen here.
    pub subscription: bool,
}

/// The account of a program, by the kind of its agent; nothing for one that asks no model that is known of.
pub fn of_program(kind: &str, around: &Around) -> Option<Login> {
    let (login, subscription) = match kind {
        "" | "command" | "inline" | "native" => return None,
        "claude" => claude(around),
        "codex" => codex(around),
        "gemini" => (gemini(around), false),
        _ => (None, false),
    };
    let login = login.or_else(|| folder(kind, around).map(|folder| folder.display().to_string()));
    Some(Login { account: named(kind, &login.unwrap_or_default()), subscription })
}

/// Where a program keeps its login.
fn folder(kind: &str, around: &Around) -> Option<PathBuf> {
    let variable = match kind {
        "claude" => "CLAUDE_CONFIG_DIR",
        "codex" => "CODEX_HOME",
        _ => return home(around),
    };
    let named = around.0.get(variable).filter(|folder| !folder.is_empty());
    named.map(PathBuf::from).or_else(|| home(around))
}

fn gemini(around: &Around) -> Option<String> {
    let key = key(around, &["GEMINI_API_KEY", "GOOGLE_API_KEY"]);
    key.or_else(|| file(&home(around)?.join(".gemini/google_accounts.json"), &["/active"]))
}

/// The account of our own agent: the provider and the key. A key of the provider behind a vendor's program is
/// the same account under both.
pub fn of_model(model: &ModelOrder, around: &Around) -> Name {
    let key = key(around, &[model.key_variable.as_str()]);
    let vendor = VENDORS.into_iter().find(|(provider, _)| *provider == model.provider);
    match (vendor, key) {
        (Some((_, program)), Some(key)) => named(program, &key),
        (_, key) => {
            let key = key.unwrap_or_default();
            named(&model.provider, &format!("{}\n{key}", model.base_url))
        }
    }
}

/// Providers, and the programs of the same vendor.
const VENDORS: [(&str, &str); 2] = [("anthropic", "claude"), ("openai", "codex")];

fn named(kind: &str, login: &str) -> Name {
    let hash = Sha256::digest(format!("shipmate account\n{kind}\n{login}"));
    let digits = &data_encoding::HEXLOWER.encode(&hash)[..DIGITS];
    let kind: String =
        kind.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let kind = kind.trim_matches('-');
    format!("{kind}-{digits}").trim_matches('-').parse().expect("letters, digits and dashes")
}

/// Clouds that Claude Code asks in place of Anthropic: the variable that says so, and those that say whom it
/// pays there.
const CLOUDS: [(&str, &[&str]); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", &["AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"]),
    ("CLAUDE_CODE_USE_VERTEX", &["ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION"]),
    ("CLAUDE_CODE_USE_FOUNDRY", &["ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL"]),
];

/// Claude Code takes a cloud before a key, and a key before the login of a subscription: a login may be left
/// from before. Its settings stand before what is around.
fn claude(around: &Around) -> (Option<String>, bool) {
    let own = around.0.get("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
    let own = own.map(PathBuf::from).or_else(|| Some(home(around)?.join(".claude")));
    let settings = own.and_then(|folder| json(&folder.join("settings.json"))).unwrap_or_default();
    let named = |name: &str| {
        let set = settings["env"][name].as_str().map(str::trim).filter(|value| !value.is_empty());
        set.map(str::to_owned).or_else(|| key(around, &[name]))
    };
    let is_on = |name: &str| {
        let on = |value: String| matches!(&*value.to_lowercase(), "1" | "true" | "yes" | "on");
        named(name).is_some_and(on)
    };
    if let Some((cloud, whose)) = CLOUDS.iter().find(|(cloud, _)| is_on(cloud)) {
        let whose = whose.iter().map(|name| named(name).unwrap_or_default());
        return (
            Some(std::iter::once((*cloud).to_owned()).chain(whose).collect::<Vec<_>>().join("\n")),
            false,
        );
    }
    let helper = || settings["apiKeyHelper"].as_str().map(str::to_owned);
    let key = named("ANTHROPIC_AUTH_TOKEN").or_else(|| named("ANTHROPIC_API_KEY"));
    if let Some(key) = key.or_else(|| helper().filter(|line| !line.is_empty())) {
        return (Some(key), false);
    }
    let token = named("CLAUDE_CODE_OAUTH_TOKEN");
    if token.is_some() {
        return (token, true);
    }
    let path = folder("claude", around).map(|folder| folder.join(".claude.json"));
    let Some(path) = path else { return (None, false) };
    let login = file(&path, &["/oauthAccount/accountUuid", "/oauthAccount/emailAddress"]);
    // Who logs in to pay by the token is given a key there.
    let subscription = login.is_some() && file(&path, &["/primaryApiKey"]).is_none();
    (login, subscription)
}

fn codex(around: &Around) -> (Option<String>, bool) {
    let own = around.0.get("CODEX_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = own.or_else(|| Some(home(around)?.join(".codex")));
    let auth = folder.map(|folder| folder.join("auth.json"));
    let login = auth.as_ref().and_then(|auth| file(auth, &["/tokens/account_id"]));
    let subscription = login.is_some();
    let own_key = || auth.as_ref().and_then(|auth| file(auth, &["/OPENAI_API_KEY"]));
    let keys = || key(around, &["CODEX_API_KEY", "OPENAI_API_KEY"]);
    (login.or_else(own_key).or_else(keys), subscription)
}

fn home(around: &Around) -> Option<PathBuf> {
    around.0.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn key(around: &Around, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| around.0.get(*name)?.to_str());
    found.map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned)
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The first of these places in a file of JSON that holds a text.
fn file(path: &Path, places: &[&str]) -> Option<String> {
    let value = json(path)?;
    let text = |place: &&str| value.pointer(place)?.as_str().filter(|text| !text.is_empty());
    places.iter().find_map(text).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn around(pairs: &[(&str, &str)]) -> Around {
        Around(pairs.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect())
    }

    #[test]
    fn the_same_login_is_the_same_account_and_another_is_another() {
        let of = |key: &str| {
            let found = of_program("claude", &around(&[("ANTHROPIC_API_KEY", key)])).unwrap();
            assert!(!found.subscription);
            found.account
        };
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("two"));
        assert!(of("one").as_str().starts_with("claude-"), "{}", of("one"));
        assert!(!of("sk-secret").as_str().contains("secret"));
        let codex = of_program("codex", &around(&[("OPENAI_API_KEY", "one")])).unwrap();
        assert_ne!(codex.account, of("one"));
    }

    #[test]
    fn a_key_is_the_same_account_under_its_vendors_program_and_under_our_own_agent() {
        let here = around(&[("ANTHROPIC_API_KEY", "one"), ("OPENAI_API_KEY", "two")]);
        let model = |provider: &str, variable: &str| {
            let (provider, key_variable) = (provider.to_owned(), variable.to_owned());
            of_model(&ModelOrder { provider, key_variable, ..ModelOrder::default() }, &here)
        };
        let of = |program: &str| of_program(program, &here).unwrap().account;
        assert_eq!(model("anthropic", "ANTHROPIC_API_KEY"), of("claude"));
        assert_eq!(model("openai", "OPENAI_API_KEY"), of("codex"));
        assert_ne!(model("openrouter", "OPENAI_API_KEY"), of("codex"));
    }

    #[test]
    fn a_login_is_known_by_its_own_id_and_not_by_a_token_that_changes() {
        let home = std::env::temp_dir().join(format!("shipmate-account-{}", std::process::id()));
        let here = around(&[("HOME", home.to_str().unwrap())]);
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let nobody = of_program("claude", &here).unwrap();
        write(".claude.json", r#"{"oauthAccount":{"accountUuid":"u-1"}}"#);
        let one = of_program("claude", &here).unwrap();
        assert_ne!(one, nobody);
        assert!(one.subscription && !nobody.subscription);
        write(".claude.json", r#"{"oauthAccount":{"accountUuid":"u-1"},"more":true}"#);
        assert_eq!(of_program("claude", &here).unwrap(), one);
        write(".codex/auth.json", r#"{"tokens":{"account_id":"a-1","access_token":"t-1"}}"#);
        let one = of_program("codex", &here).unwrap();
        assert!(one.subscription);
        write(".codex/auth.json", r#"{"tokens":{"account_id":"a-1","access_token":"t-2"}}"#);
        assert_eq!(of_program("codex", &here).unwrap(), one);
        write(".codex/auth.json", "no JSON");
        assert_ne!(of_program("codex", &here).unwrap(), one);
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn a_login_that_is_left_is_not_what_a_cloud_or_a_helper_is_asked_with() {
        let home = std::env::temp_dir().join(format!("shipmate-cloud-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".claude")).unwrap();
        let left = r#"{"oauthAccount":{"accountUuid":"u-1"}}"#;
        std::fs::write(home.join(".claude.json"), left).unwrap();
        let of = |more: &[(&str, &str)]| {
            let pairs = [&[("HOME", home.to_str().unwrap())], more].concat();
            of_program("claude", &around(&pairs)).unwrap()
        };
        let login = of(&[]);
        assert!(login.subscription);
        assert_eq!(of(&[("CLAUDE_CODE_USE_BEDROCK", "0")]), login);
        let region = |region| [("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_REGION", region)];
        let east = of(&region("us-east-1"));
        assert!(!east.subscription && east.account != login.account);
        assert_ne!(east, of(&region("eu-west-1")));
        let project = ("ANTHROPIC_VERTEX_PROJECT_ID", "p-1");
        let vertex = of(&[("CLAUDE_CODE_USE_VERTEX", "true"), project]);
        assert!(!vertex.subscription && vertex != east);
        let settings =
            |text: &str| std::fs::write(home.join(".claude/settings.json"), text).unwrap();
        settings(r#"{"env":{"CLAUDE_CODE_USE_BEDROCK":"1","AWS_REGION":"us-east-1"}}"#);
        assert_eq!(of(&[]), east);
        settings(r#"{"apiKeyHelper":"vault read key"}"#);
        let helper = of(&[]);
        assert!(!helper.subscription && helper.account != login.account);
        // A variable stands before it.
        assert_ne!(of(&[("ANTHROPIC_API_KEY", "one")]), helper);
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn a_folder_of_ones_own_for_the_login_is_an_account_of_its_own() {
        for (kind, variable) in [("claude", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")] {
            let of = |folder: &str| {
                let here = around(&[("HOME", "/nowhere"), (variable, folder)]);
                of_program(kind, &here).unwrap().account
            };
            assert_ne!(of("/nowhere/one"), of("/nowhere/two"), "{kind}");
            assert_eq!(of(""), of_program(kind, &around(&[("HOME", "/nowhere")])).unwrap().account);
        }
    }

    #[test]
    fn a_plain_command_has_no_account_that_is_known_of() {
        assert_eq!(of_program("command", &around(&[])), None);
        assert!(of_program("acp", &around(&[])).is_some());
    }
}
