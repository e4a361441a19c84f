//! Has Gemini CLI ask before it uses a tool of a server that the person has set up, and not offer what a
//! definition keeps back.
//!
//! A server with `trust`, one in `mcp.allowed`, a tool in `tools.allowed` and the person's policies would be
//! used unasked, and `mcp.allowed` would leave the team's own server out. So it is started with a policy that
//! asks about every tool of a server, and with the team's among the allowed; its settings are the person's
//! without that trust, which counts more than any policy. What the person denies stays denied. System settings
//! would say all of it at once, but it takes those from folders of root's only.
//!
//! Not held: trust in the settings of the repository, and a machine with policies of its own in
//! `/etc/gemini-cli/policies`, beside which it takes no other.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shipmate_model::definition::Definition;
use shipmate_process::{environment, regular_file};

use crate::fence;
use crate::order::Order;

/// Of a thousand; what is denied comes before what is asked about.
const ASK: i64 = 500;
const DENY: i64 = 900;

/// Its tools, and those of Claude Code's of which a definition has one where it has this.
const TOOLS: [(&str, &[&str]); 13] = [
    ("write_file", &["Write"]),
    ("replace", &["Edit"]),
    ("run_shell_command", &["Bash"]),
    ("list_background_processes", &["Bash"]),
    ("read_background_output", &["Bash"]),
    ("web_fetch", &["WebFetch"]),
    ("google_web_search", &["WebSearch"]),
    ("read_file", &["Read"]),
    ("read_many_files", &["Read"]),
    ("list_directory", &["Glob", "LS"]),
    ("glob", &["Glob"]),
    ("grep_search", &["Grep"]),
    ("invoke_agent", &["Agent"]),
];

/// What it is started with besides its own words; `team` is the name of the team's server. The policy lies
/// where the agent can read and not write it.
pub fn arguments(order: &Order, tree: &Path, team: &str) -> Result<Vec<String>, String> {
    let var = |name: &str| match order.env.get(name) {
        Some(value) => Some(PathBuf::from(value)),
        None => environment::var(name).map(PathBuf::from),
    };
    let home = var("GEMINI_CLI_HOME").or_else(|| var("HOME")).unwrap_or_default().join(".gemini");
    let project = tree.join(".gemini");
    let folders = [home, project];
    let scopes = folders.each_ref().map(|folder| read(&folder.join("settings.json")));
    let denied = folders.iter().flat_map(|folder| policies(&folder.join("policies")));
    let denied = denied.flat_map(|text| denials(&text));
    let kept_back = order.definition.as_deref().and_then(kept_back);
    let policy = policy(&scopes, denied.chain(kept_back).collect());
    let folder = order.grounds.own.join("gemini");
    fence::made(&folder)?;
    let path = folder.join("ask.toml");
    fs::write(&path, policy).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut words = vec!["--admin-policy".to_owned(), path.display().to_string()];
    let own = order.definition.iter().flat_map(|one| one.servers.keys().map(String::as_str));
    for name in allowed(&scopes, &own.chain([team]).collect::<Vec<_>>()) {
        words.extend(["--allowed-mcp-server-names".to_owned(), name]);
    }
    Ok(words)
}

/// The servers that may be used, where the person names them; the project's settings count more.
fn allowed(scopes: &[Value; 2], ours: &[&str]) -> Vec<String> {
    let allowed = scopes.iter().rev().find_map(|scope| scope["mcp"]["allowed"].as_array());
    let Some(allowed) = allowed else { return Vec::new() };
    let names = allowed.iter().filter_map(Value::as_str).chain(ours.iter().copied());
    names.map(str::to_owned).collect()
}

/// The person's settings without the trust in servers; nothing where there is none.
pub(super) fn without_trust(text: &str) -> Option<String> {
    let mut settings: Value = serde_json::from_str(&plain(text)).ok()?;
    let servers = settings.get_mut("mcpServers")?.as_object_mut()?.values_mut();
    let trusted: Vec<&mut Value> = servers.filter(|server| server["trust"] == true).collect();
    if trusted.is_empty() {
        return None;
    }
    trusted.into_iter().for_each(|server| server["trust"] = json!(false));
    Some(settings.to_string())
}

fn policy(scopes: &[Value; 2], denied: Vec<toml::Table>) -> String {
    let mut rules = vec![toml::toml! { toolName = "*" mcpName = "*" decision = "ask_user" }];
    rules[0].insert("priority".to_owned(), ASK.into());
    let excluded = scopes.iter().flat_map(|scope| scope["tools"]["exclude"].as_array());
    for tool in excluded.flatten().filter_map(Value::as_str).filter(|tool| is_servers(tool)) {
        let mut rule = toml::toml! { decision = "deny" };
        rule.insert("toolName".to_owned(), tool.into());
        rule.insert("priority".to_owned(), DENY.into());
        rules.push(rule);
    }
    rules.extend(denied);
    let mut file = toml::Table::new();
    file.insert("rule".to_owned(), rules.into());
    file.to_string()
}

/// The rule about what a definition does not give.
fn kept_back(definition: &Definition) -> Option<toml::Table> {
    let is_had = |names: &[&str]| names.iter().any(|name| definition.has(name));
    let tools = TOOLS.iter().filter(|(_, names)| !is_had(names)).map(|(tool, _)| *tool);
    let tools: Vec<toml::Value> = tools.map(toml::Value::from).collect();
    let mut rule = toml::toml! { decision = "deny" };
    rule.insert("priority".to_owned(), DENY.into());
    let is_empty = tools.is_empty();
    rule.insert("toolName".to_owned(), tools.into());
    (!is_empty).then_some(rule)
}

/// The rules of a policy that deny tools of servers.
fn denials(text: &str) -> Vec<toml::Table> {
    let file: toml::Table = text.parse().unwrap_or_default();
    let rules = file.get("rule").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let rules = rules.into_iter().filter_map(|rule| rule.try_into::<toml::Table>().ok());
    let is_denial = |rule: &toml::Table| {
        let text = |name: &str| rule.get(name).and_then(toml::Value::as_str);
        let tools = match rule.get("toolName") {
            Some(toml::Value::Array(all)) => all.iter().filter_map(toml::Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        let names_one = rule.contains_key("mcpName") || tools.into_iter().any(is_servers);
        text("decision") == Some("deny") && names_one
    };
    let denials = rules.filter(is_denial).map(|mut rule| {
        rule.insert("priority".to_owned(), DENY.into());
        rule
    });
    denials.collect()
}

fn is_servers(tool: &str) -> bool {
    tool.starts_with("mcp_")
}

fn policies(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let files =
        files.map(|file| file.path()).filter(|path| path.extension() == Some("toml".as_ref()));
    files.filter_map(|path| text(&path)).collect()
}

/// Without a file, or with one that nobody can read, there are no settings.
fn read(path: &Path) -> Value {
    let text = text(path).unwrap_or_default();
    serde_json::from_str(&plain(&text)).unwrap_or_default()
}

fn text(path: &Path) -> Option<String> {
    const BYTES_MAX: usize = 4 * 1024 * 1024;
    let bytes = regular_file::read_whole(path, BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok()
}

/// JSON without the comments that these files may hold.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(c) = rest.chars().next() {
        let taken = match (in_string, c) {
            (true, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (false, '/') if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            (false, '/') if rest.starts_with("/*") => {
                rest = rest[2..].split_once("*/").map_or("", |(_, after)| after);
                continue;
            }
            (_, '"') => {
                in_string = !in_string;
                1
            }
            _ => c.len_utf8(),
        };
        plain.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_taken_out_of_the_settings_and_nothing_else() {
        let text = r#"{ // mine
            "theme": "x", "mcpServers": { "own": { "command": "x", "trust": true }, "b": { "command": "y" } } }"#;
        let own: Value = serde_json::from_str(&without_trust(text).unwrap()).unwrap();
        let servers = json!({ "own": { "command": "x", "trust": false }, "b": { "command": "y" } });
        assert_eq!(own, json!({ "theme": "x", "mcpServers": servers }));
        assert_eq!(without_trust(r#"{"mcpServers": {"b": {"command": "y"}}}"#), None);
    }

    #[test]
    fn the_team_is_allowed_where_the_person_names_servers() {
        let persons = json!({ "mcp": { "allowed": ["own"] } });
        assert_eq!(allowed(&[persons, json!({})], &["team"]), ["own", "team"]);
        assert!(allowed(&[json!({}), json!({})], &["team"]).is_empty());
    }

    #[test]
    fn what_the_person_denies_comes_before_what_is_asked_about() {
        let persons = json!({ "tools": { "exclude": ["mcp_own_drop", "run_shell_command"] } });
        let text = "[[rule]]\nmcpName = \"own\"\ntoolName = \"wipe\"\ndecision = \"deny\"\npriority = 1\n\
                    [[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 1\n";
        let policy = policy(&[persons, json!({})], denials(text));
        let policy: toml::Table = policy.parse().unwrap();
        let rules = policy["rule"].as_array().unwrap();
        let said = |rule: &toml::Value, key: &str| rule.get(key).map(ToString::to_string);
        assert_eq!(rules.len(), 3, "{policy}");
        assert_eq!(said(&rules[0], "decision").unwrap(), "\"ask_user\"");
        assert_eq!(said(&rules[1], "toolName").unwrap(), "\"mcp_own_drop\"");
        assert_eq!(said(&rules[2], "toolName").unwrap(), "\"wipe\"");
        assert_eq!(said(&rules[2], "priority").unwrap(), "900");
    }

    #[test]
    fn comments_are_left_out_and_texts_are_not() {
        let text = "{ // one\n \"a\": \"http://x \\\" /*\", /* two */ \"b\": 1 }";
        let value: Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(value, json!({ "a": "http://x \" /*", "b": 1 }));
    }
}
