//! Has opencode ask before it uses a tool of a server that the person has set up.
//!
//! opencode runs such tools unasked unless a rule says otherwise. Its rules are ordered, the last that fits
//! counts, and those of `OPENCODE_PERMISSION` come after the person's. So each server gets a rule of its
//! own, and what the person has denied there is said again after it; nothing else changes. Which servers
//! there are is asked of opencode itself, which reads them from a dozen places. Where it does not answer,
//! every tool with a `_` in its name is asked about: more than needed, and no tool of a server's unasked.
//!
//! Not held: an agent in opencode's settings that allows a server's tools in its own `permission`.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use shipmate_process::{Fence, environment};
use shipmate_protocol::json_text::parse_members;
use tokio::io::AsyncReadExt;

use crate::desk::{Desk, SERVER};
use crate::program::{Running, Starter};
use crate::transcript::Transcript;

pub(super) const VARIABLE: &str = "OPENCODE_PERMISSION";
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The rules to start it with.
pub(super) async fn rules(
    desk: &Desk,
    starter: &Starter,
    transcript: &Transcript,
    tree: &Path,
    fence: Option<&Fence>,
) -> String {
    let order = desk.order();
    let set = order.env.get(VARIABLE).cloned();
    let set = set.or_else(|| environment::var(VARIABLE)?.into_string().ok()).unwrap_or_default();
    let own = order.definition.iter().flat_map(|one| one.servers.keys().cloned()).collect();
    let config = resolved(&order.argv, starter, tree, fence).await;
    match config.as_deref().and_then(|config| with_servers(&set, config, own)) {
        Some(rules) => rules,
        None => {
            transcript.say("[opencode does not say which MCP servers it has: more is asked about]");
            text(&set, &[("*_*".to_owned(), "ask"), (format!("{SERVER}_*"), "allow")])
        }
    }
}

/// What opencode has read from all its settings, in this tree.
async fn resolved(
    argv: &[String],
    starter: &Starter,
    tree: &Path,
    fence: Option<&Fence>,
) -> Option<String> {
    let at = argv.iter().rposition(|word| word == "acp")?;
    let mut words = argv[..at].to_vec();
    words.extend(["debug", "config"].map(str::to_owned));
    let Running { tree, stdout, stdin } =
        starter.beside(words, Vec::new(), tree, fence.cloned()).ok()?;
    drop(stdin);
    let mut said = String::new();
    let mut stdout = stdout.take(CONFIG_BYTES_MAX);
    let read = tokio::time::timeout(ANSWERS_WITHIN, stdout.read_to_string(&mut said)).await;
    tree.stop(Duration::from_secs(1)).await;
    matches!(read, Ok(Ok(_))).then_some(said)
}

/// A rule for each server of this configuration and for these; nothing where it cannot be read.
fn with_servers(set: &str, config: &str, mut servers: Vec<String>) -> Option<String> {
    let parsed: Value = serde_json::from_str(config).ok()?;
    servers.extend(
        parsed
            .get("mcp")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone()),
    );
    let persons = actions(config);
    let mut rules = Vec::new();
    for server in servers.iter().filter(|name| *name != SERVER) {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let prefix: String = server.chars().map(plain).chain(['_']).collect();
        rules.push((format!("{prefix}*"), "ask"));
        for (at, (key, action)) in persons.iter().enumerate() {
            let action = if action == "deny" { "deny" } else { "ask" };
            rules.extend(narrowed(key, &prefix, at).map(|key| (key, action)));
        }
    }
    Some(text(set, &rules))
}

/// The person's rules about whole tools, in their order.
fn actions(config: &str) -> Vec<(String, String)> {
    let whole = 0..config.len();
    let Ok(members) = parse_members(config, &whole) else { return Vec::new() };
    let Some((_, at)) = members.into_iter().find(|(name, _)| name == "permission") else {
        return Vec::new();
    };
    let rules = parse_members(config, &at).unwrap_or_default();
    let action = |(key, at): (String, std::ops::Range<usize>)| {
        let value: Value = serde_json::from_str(&config[at]).ok()?;
        let action = value.as_str().or_else(|| value["*"].as_str())?;
        Some((key, action.to_owned()))
    };
    rules.into_iter().filter_map(action).collect()
}

/// A person's rule as far as it is about this server's tools, under a name that the person does not use: one
/// that is there already would keep its place before the server's.
fn narrowed(key: &str, prefix: &str, at: usize) -> Option<String> {
    let stars = "*".repeat(at + 2);
    let literal = key.split(['*', '?']).next().unwrap_or_default();
    match () {
        () if literal.starts_with(prefix) && key.ends_with('*') => {
            Some(format!("{}{stars}", key.trim_end_matches('*')))
        }
        () if literal.starts_with(prefix) && key.len() > prefix.len() => {
            let last = key.chars().next_back()?.len_utf8();
            Some(format!("{}?", &key[..key.len() - last]))
        }
        () if literal.len() < key.len() && prefix.starts_with(literal) => {
            Some(format!("{prefix}{stars}"))
        }
        () => None,
    }
}

/// What is set already, then these. Written by hand: their order counts.
fn text(set: &str, rules: &[(String, &str)]) -> String {
    let members = parse_members(set, &(0..set.len())).unwrap_or_default();
    let set = members.into_iter().map(|(key, at)| format!("{}:{}", Value::from(key), &set[at]));
    let rules = rules.iter().map(|(key, action)| format!("{}:\"{action}\"", Value::from(&**key)));
    format!("{{{}}}", set.chain(rules).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_is_asked_about_and_nothing_else_changes() {
        let config =
            r#"{"mcp": {"my own": {}, "team": {}}, "permission": {"bash": {"rm *": "deny"}}}"#;
        let rules = with_servers(r#"{"edit":"deny"}"#, config, vec!["harbour".to_owned()]).unwrap();
        assert_eq!(rules, r#"{"edit":"deny","harbour_*":"ask","my_own_*":"ask"}"#);
        assert_eq!(with_servers("", "{}", Vec::new()).unwrap(), "{}");
        assert_eq!(with_servers("", "Error: no such command", Vec::new()), None);
    }

    #[test]
    fn what_the_person_denies_stays_denied() {
        let config = r#"{"mcp": {"own": {}}, "permission":
            {"*": "allow", "own_drop": "deny", "own_w*": "deny", "own_*": "allow", "other_x": "deny"}}"#;
        let rules = with_servers("", config, Vec::new()).unwrap();
        assert_eq!(
            rules,
            r#"{"own_*":"ask","own_**":"ask","own_dro?":"deny","own_w****":"deny","own_*****":"ask"}"#
        );
    }
}
