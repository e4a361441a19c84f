//! `[models.NAME]`: a table for each provider of models, whose names are the user's.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeString;

use super::Source;
use super::value::{Written, Wrong, agent_name, choices, parse, variable};

/// A provider of models as the files define it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderConfig {
    pub(crate) layer: ProviderLayer,
    pub(crate) source: Source,
}

/// `[models.NAME]` of one file.
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

choices! {
    ProtocolConfig { Anthropic = "anthropic", Openai = "openai", Recorded = "recorded" }
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

pub(super) fn provider(
    key: &Spanned<DeString<'_>>,
    written: Written<'_>,
    folder: &Path,
    source: Source,
) -> Result<ProviderConfig, Wrong> {
    let (at, name) = (key.span().start, key.get_ref());
    let mut layer: ProviderLayer = parse(written)?;
    agent_name(name).map_err(|found| (at, found))?;
    if let Some(own) = &layer.key_variable {
        variable(&format!("models.{name}.key-variable"), own).map_err(|found| (at, found))?;
    }
    match &mut layer.base_url {
        // A file is from the one that names it.
        Some(file) if layer.protocol == Some(ProtocolConfig::Recorded) => {
            *file = folder.join(&*file).display().to_string();
        }
        Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
            let fact = format!("models.{name}.base-url is {url:?}, which is no URL");
            return Err((at, (fact, "write https://HOST/PATH".to_owned())));
        }
        _ => {}
    }
    Ok(ProviderConfig { layer, source })
}
