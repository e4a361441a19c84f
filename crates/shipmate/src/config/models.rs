//! The `[models]` table: the default model, and one table below it for each provider.
//!
//! Read by hand like `[agents]`: the names of the tables are the user's.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use toml::Spanned;

use super::Source;

/// A provider of models as the files define it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderConfig {
    pub(crate) layer: ProviderLayer,
    pub(crate) source: Source,
}

/// `[models]` of one file.
#[derive(Debug, Default)]
pub(super) struct ModelsLayer {
    pub(super) default: Option<Spanned<String>>,
    pub(super) providers: Vec<(Spanned<String>, ProviderLayer)>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table with protocol, base-url, key-variable, model, context-tokens, \
                     output-tokens, thinking-tokens or price; a setting of [models] is default")]
pub(crate) struct ProviderLayer {
    pub(crate) protocol: Option<ProtocolConfig>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_variable: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) thinking_tokens: Option<u64>,
    pub(crate) price: Option<PriceConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProtocolConfig {
    Anthropic,
    Openai,
    Recorded,
}

impl ProtocolConfig {
    pub(crate) fn word(self) -> &'static str {
        match self {
            ProtocolConfig::Anthropic => "anthropic",
            ProtocolConfig::Openai => "openai",
            ProtocolConfig::Recorded => "recorded",
        }
    }
}

/// In the currency, for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct PriceConfig {
    pub(crate) input: f64,
    pub(crate) output: f64,
    #[serde(default)]
    pub(crate) cache_read: f64,
    #[serde(default)]
    pub(crate) cache_write: f64,
}

impl ProviderConfig {
    /// As it would be written in one line.
    pub(crate) fn line(&self) -> String {
        let layer = &self.layer;
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let protocol = layer.protocol.map(ProtocolConfig::word);
        let texts = [
            ("protocol", protocol),
            ("base-url", layer.base_url.as_deref()),
            ("key-variable", layer.key_variable.as_deref()),
            ("model", layer.model.as_deref()),
        ];
        let numbers = [
            ("context-tokens", layer.context_tokens),
            ("output-tokens", layer.output_tokens),
            ("thinking-tokens", layer.thinking_tokens),
        ];
        let mut parts: Vec<String> = Vec::new();
        parts.extend(
            texts
                .iter()
                .filter_map(|(key, value)| Some((key, (*value)?)))
                .map(|(key, value)| format!("{key} = {}", text(value))),
        );
        let numbers = numbers.iter().filter_map(|(key, value)| Some((key, (*value)?)));
        parts.extend(numbers.map(|(key, value)| format!("{key} = {value}")));
        if let Some(price) = layer.price {
            let PriceConfig { input, output, cache_read, cache_write } = price;
            parts.push(format!(
                "price = {{ input = {input}, output = {output}, cache-read = {cache_read}, \
                 cache-write = {cache_write} }}"
            ));
        }
        format!("{{ {} }}", parts.join(", "))
    }
}

impl<'de> Deserialize<'de> for ModelsLayer {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ModelsVisitor)
    }
}

struct ModelsVisitor;

impl<'de> Visitor<'de> for ModelsVisitor {
    type Value = ModelsLayer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the table [models]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ModelsLayer, A::Error> {
        let mut layer = ModelsLayer::default();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match key.get_ref().as_str() {
                "default" => layer.default = Some(map.next_value()?),
                _ => layer.providers.push((key, map.next_value()?)),
            }
        }
        Ok(layer)
    }
}
