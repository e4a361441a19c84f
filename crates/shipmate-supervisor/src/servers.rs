//! MCP servers of a teammate's definition, in the forms that programs take them in.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shipmate_model::definition::Server;
use shipmate_process::environment;

/// A server with the values of variables: the words and variables of a process, or where it is reached, and
/// what it was not given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// Variables that it names and that are not its to have.
    pub(crate) withheld: BTreeSet<String>,
}

/// `${NAME}` and `${NAME:-default}` in a value, from the environment that agents are started in.
fn filled(text: &str) -> String {
    filled_without(text, |_| false)
}

/// The same, as if those that are withheld were not set.
fn filled_without(text: &str, mut is_withheld: impl FnMut(&str) -> bool) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        let (name, usual) = name.split_once(":-").unwrap_or((name, ""));
        filled.push_str(before);
        match environment::var(name).filter(|_| !is_withheld(name)) {
            Some(value) => filled.push_str(&value.to_string_lossy()),
            None => filled.push_str(usual),
        }
        rest = behind;
    }
    filled + rest
}

fn args(server: &Server) -> Vec<String> {
    server.args.iter().map(|arg| filled(arg)).collect()
}

fn map(pairs: &BTreeMap<String, String>) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), Value::from(filled(value)))).collect()
}

fn list(pairs: &BTreeMap<String, String>) -> Vec<Value> {
    let pair = |(name, value): (&String, &String)| json!({ "name": name, "value": filled(value) });
    pairs.iter().map(pair).collect()
}

/// As it is started or reached, without the values of these variables.
pub(crate) fn fill(server: &Server, withheld: &[String]) -> Filled {
    let mut process = Filled::default();
    let mut fill = |text: &str| {
        filled_without(text, |name| {
            let is_withheld = withheld.iter().any(|one| one == name);
            if is_withheld {
                process.withheld.insert(name.to_owned());
            }
            is_withheld
        })
    };
    let argv =
        std::iter::once(&server.command).chain(&server.args).map(|word| fill(word)).collect();
    let env = server.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
    let headers = server.headers.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
    let url = fill(&server.url);
    process = Filled { argv, env, url, headers, ..process };
    process
}

fn transport(server: &Server) -> &str {
    if server.transport.is_empty() { "http" } else { &server.transport }
}

/// As `--mcp-config` has it.
pub(crate) fn as_claude(server: &Server) -> Value {
    let (command, url) = (filled(&server.command), filled(&server.url));
    match url.is_empty() {
        true => json!({
            "type": "stdio", "command": command, "args": args(server), "env": map(&server.env),
        }),
        false => {
            json!({ "type": transport(server), "url": url, "headers": map(&server.headers) })
        }
    }
}

/// As codex has it below `mcp_servers`.
pub(crate) fn as_codex(server: &Server) -> Value {
    let (command, url) = (filled(&server.command), filled(&server.url));
    match url.is_empty() {
        true => json!({ "command": command, "args": args(server), "env": map(&server.env) }),
        false => json!({ "url": url, "http_headers": map(&server.headers) }),
    }
}

/// As ACP has it in `mcpServers`.
pub(crate) fn as_acp(name: &str, server: &Server) -> Value {
    let (command, url) = (filled(&server.command), filled(&server.url));
    match url.is_empty() {
        true => json!({
            "name": name, "command": command, "args": args(server), "env": list(&server.env),
        }),
        false => {
            let (kind, headers) = (transport(server), list(&server.headers));
            json!({ "type": kind, "name": name, "url": url, "headers": headers })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_from_the_environment() {
        environment::renew([("MY_KEY".to_owned(), "k".to_owned())].into());
        assert_eq!(filled("a ${MY_KEY} ${OTHER:-b} ${NONE}."), "a k b .");
        assert_eq!(filled("${unclosed"), "${unclosed");
    }

    #[test]
    fn a_server_that_speaks_sse_is_told_so() {
        let of = |transport: &str| Server {
            url: "http://a.b".to_owned(),
            transport: transport.to_owned(),
            ..Server::default()
        };
        for (server, kind) in [(of("sse"), "sse"), (of(""), "http")] {
            assert_eq!(as_claude(&server)["type"], kind);
            assert_eq!(as_acp("a", &server)["type"], kind);
        }
    }

    #[test]
    fn a_withheld_variable_is_as_if_it_were_not_set_and_is_named() {
        environment::renew([("A_KEY".to_owned(), "k".to_owned())].into());
        let server = Server {
            command: "sh".to_owned(),
            args: vec!["${A_KEY}".to_owned(), "${A_KEY:-none}".to_owned()],
            ..Server::default()
        };
        let process = fill(&server, &["A_KEY".to_owned()]);
        assert_eq!(process.argv, ["sh", "", "none"]);
        assert_eq!(process.withheld, BTreeSet::from(["A_KEY".to_owned()]));
        assert_eq!(fill(&server, &[]).argv, ["sh", "k", "k"]);
    }
}
