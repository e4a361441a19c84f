//! The `[agents]` table: settings of its own, and one table below it for each agent program.
//!
//! Read by hand, because the names of those tables are the user's: whatever key is no setting
//! must be such a table, and a mistake in it is still told with its line.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use toml::Spanned;

use super::Source;

/// An agent program as the files define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramConfig {
    /// Empty for a program of the agent's own name.
    pub(crate) program: String,
    pub(crate) args: Option<Vec<String>>,
    pub(crate) protocol: Option<ProtocolConfig>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProtocolConfig {
    Claude,
    Codex,
    Acp,
    Command,
}

impl ProtocolConfig {
    pub(crate) fn word(self) -> &'static str {
        match self {
            ProtocolConfig::Claude => "claude",
            ProtocolConfig::Codex => "codex",
            ProtocolConfig::Acp => "acp",
            ProtocolConfig::Command => "command",
        }
    }
}

impl ProgramConfig {
    /// As it would be written in one line. Values of variables may be secrets and are not shown.
    pub(crate) fn line(&self) -> String {
        let mut parts = Vec::new();
        let text = |text: &str| toml::Value::String(text.to_owned());
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

/// `[agents]` of one file.
#[derive(Debug, Default)]
pub(super) struct AgentsLayer {
    pub(super) default: Option<Spanned<String>>,
    pub(super) output_bytes: Option<Spanned<u64>>,
    pub(super) stop_grace_seconds: Option<Spanned<f64>>,
    pub(super) patience_seconds: Option<Spanned<u64>>,
    pub(super) programs: Vec<(Spanned<String>, ProgramLayer)>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table with program, args, protocol or env; a setting of [agents] is \
                     default, output-bytes, stop-grace-seconds or patience-seconds")]
pub(super) struct ProgramLayer {
    pub(super) program: Option<Spanned<String>>,
    pub(super) args: Option<Vec<String>>,
    pub(super) protocol: Option<ProtocolConfig>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for AgentsLayer {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AgentsVisitor)
    }
}

struct AgentsVisitor;

impl<'de> Visitor<'de> for AgentsVisitor {
    type Value = AgentsLayer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the table [agents]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentsLayer, A::Error> {
        let mut layer = AgentsLayer::default();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match key.get_ref().as_str() {
                "default" => layer.default = Some(map.next_value()?),
                "output-bytes" => layer.output_bytes = Some(map.next_value()?),
                "stop-grace-seconds" => layer.stop_grace_seconds = Some(map.next_value()?),
                "patience-seconds" => layer.patience_seconds = Some(map.next_value()?),
                _ => layer.programs.push((key, map.next_value()?)),
            }
        }
        Ok(layer)
    }
}
