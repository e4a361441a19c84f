//! `[agents.NAME]`: a table for each agent program. The names are the user's: whatever key of
//! `[agents]` is no setting must be such a table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shipmate_protocol::view::KNOWN_AGENTS;
use toml::Spanned;
use toml::de::DeString;

use super::Source;
use super::value::{Written, Wrong, agent_name, any_line, choices, parse};

/// An agent program as the files define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramConfig {
    /// The known program that it is, with another login; may be empty.
    pub(crate) like: String,
    /// Empty for a program of the agent's own name.
    pub(crate) program: String,
    pub(crate) args: Option<Vec<String>>,
    pub(crate) protocol: Option<ProtocolConfig>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) source: Source,
}

choices! {
    ProtocolConfig { Claude = "claude", Codex = "codex", Acp = "acp", Command = "command" }
}

impl ProgramConfig {
    /// As it would be written in one line. Values of variables may be secrets and are not shown.
    pub(crate) fn line(&self) -> String {
        let mut parts = Vec::new();
        let text = |text: &str| toml::Value::String(text.to_owned());
        if !self.like.is_empty() {
            parts.push(format!("like = {}", text(&self.like)));
        }
        if !self.program.is_empty() {
            parts.push(format!("program = {}", text(&self.program)));
        }
        if let Some(args) = &self.args {
            let args = toml::Value::Array(args.iter().map(|arg| text(arg)).collect());
            parts.push(format!("args = {args}"));
        }
        if let Some(protocol) = self.protocol {
            parts.push(format!("protocol = {}", text(protocol.word())));
        }
        if !self.env.is_empty() {
            let names: Vec<&str> = self.env.keys().map(String::as_str).collect();
            parts.push(format!("env = {{ {} }}", names.join(", ")));
        }
        format!("{{ {} }}", parts.join(", "))
    }
}

/// `[agents.NAME]` of one file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table with like, program, args, protocol or env; a setting of [agents] is \
                     default, output-bytes, stop-grace-seconds or patience-seconds")]
struct ProgramLayer {
    like: Option<String>,
    program: Option<String>,
    args: Option<Vec<String>>,
    protocol: Option<ProtocolConfig>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

pub(super) fn program(
    key: &Spanned<DeString<'_>>,
    written: Written<'_>,
    folder: &Path,
    source: Source,
) -> Result<ProgramConfig, Wrong> {
    let (at, name) = (key.span().start, key.get_ref());
    let ProgramLayer { like, program, args, protocol, env } = parse(written)?;
    agent_name(name).map_err(|found| (at, found))?;
    let like = like.unwrap_or_default();
    looks_like(name, &like, protocol).map_err(|found| (at, found))?;
    let mut program = program.unwrap_or_default();
    for word in args.iter().flatten().chain([&program]) {
        any_line(&format!("agents.{name}"), word).map_err(|found| (at, found))?;
    }
    let variable = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    if let Some(bad) = env.keys().find(|name| variable(name)) {
        let fact = format!("agents.{name}.env holds {bad:?}, which is no name of a variable");
        return Err((at, (fact, "write NAME = \"value\"".to_owned())));
    }
    // A path is from the file that names it, a bare name from PATH.
    if program.contains('/') {
        // Its components leave out every `.`.
        let path: PathBuf = folder.join(program).components().collect();
        program = path.display().to_string();
    }
    Ok(ProgramConfig { like, program, args, protocol, env, source })
}

/// `like` names a known program, and its table is beside the known ones.
fn looks_like(
    name: &str,
    like: &str,
    protocol: Option<ProtocolConfig>,
) -> Result<(), (String, String)> {
    let known = || KNOWN_AGENTS.into_iter().filter(|known| *known != "native");
    let fact = match () {
        () if like.is_empty() => return Ok(()),
        () if KNOWN_AGENTS.contains(&name) => {
            format!("agents.{name}.like is set, and {name} is a known program itself")
        }
        () if !known().any(|known| known == like) => {
            format!("agents.{name}.like is {like:?}, which is no known program")
        }
        () if protocol.is_some() => {
            format!("agents.{name} has both like and protocol: it is driven as {like} is")
        }
        () => return Ok(()),
    };
    let names: Vec<&str> = known().collect();
    Err((
        fact,
        format!("[agents.NAME] with a name of your own and like = one of: {}", names.join(", ")),
    ))
}
