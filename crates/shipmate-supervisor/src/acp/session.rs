//! What is said to an ACP agent and what its answers mean, without the conversation itself.
//!
//! Agents differ in what they can do; each says so when it is greeted, and nothing else is
//! relied upon. A mode in which an agent asks nobody, or asks a model of its own, is left for
//! one that asks us.

use serde_json::{Value, json};
use shipmate_programs::models::prices;
use shipmate_protocol::verbs::Usage;

use super::door::KEY_VARIABLE;
use crate::desk::{Desk, SERVER};
use crate::rpc::RpcFailure;
use crate::servers;

/// The version of ACP that is spoken.
pub(super) const VERSION: u64 = 1;
/// "Authentication required", as ACP numbers it.
const NOT_LOGGED_IN: i64 = -32000;
/// Modes for a teammate that may only read, the best first. Never `plan`: the agents' own plan
/// modes withhold the team's tools (Gemini CLI) or expect a plan of their own kind, and what may
/// not be written is kept by the fence and by our answers.
const READING_MODES: [&str; 2] = ["read-only", "default"];
/// Modes in which permission is asked of us, where the one at the start may be another.
const WRITING_MODES: [&str; 2] = ["workspace-write", "default"];
/// The same behind a fence, in which codex cannot build the sandbox of its own that it would run
/// its shell in; what it may not write is kept by the fence.
const FENCED_MODES: [&str; 3] = ["agent-full-access", "workspace-write", "default"];

/// What an agent said of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Abilities {
    /// Takes messages into a running turn.
    pub(super) steers: bool,
    /// Takes a session up without repeating it.
    resumes: bool,
    /// Takes a session up and repeats it.
    loads: bool,
    /// Takes standing instructions apart from the first prompt.
    pub(super) instructed: bool,
    logins: Vec<String>,
}

pub(super) fn greeting() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false },
            "terminal": false,
        },
        "clientInfo": {
            "name": "shipmate", "title": "Shipmate", "version": env!("CARGO_PKG_VERSION"),
        },
    })
}

/// The agent's answer to the greeting; the text says why it cannot be driven.
pub(super) fn abilities(hello: &Value) -> Result<Abilities, String> {
    if hello["protocolVersion"].as_u64() != Some(VERSION) {
        return Err(format!(
            "it speaks version {} of ACP and only {VERSION} is understood: install a version of \
             it that speaks that",
            hello["protocolVersion"]
        ));
    }
    let can = &hello["agentCapabilities"];
    let session = |name: &str| !can["sessionCapabilities"][name].is_null();
    let method = |method: &Value| {
        let name = method["name"].as_str().or(method["id"].as_str())?;
        Some(match method["description"].as_str().filter(|words| !words.is_empty()) {
            Some(words) => format!("{name} ({words})"),
            None => name.to_owned(),
        })
    };
    Ok(Abilities {
        steers: hello["_meta"]["steering"]["supported"] == true,
        resumes: session("resume"),
        loads: can["loadSession"] == true,
        instructed: session("systemPrompt"),
        logins: hello["authMethods"].as_array().into_iter().flatten().filter_map(method).collect(),
    })
}

impl Abilities {
    /// How an earlier session is taken up again, where it can be.
    pub(super) fn resumption(&self) -> Option<&'static str> {
        match self {
            Abilities { resumes: true, .. } => Some("session/resume"),
            Abilities { loads: true, .. } => Some("session/load"),
            _ => None,
        }
    }

    /// Why there is no session, and what to do about it.
    pub(super) fn refusal(&self, agent: &str, failure: &RpcFailure) -> String {
        let said = words(failure);
        match failure {
            RpcFailure::Refused { code: NOT_LOGGED_IN, .. } => {
                let ways = match self.logins.as_slice() {
                    [] => String::new(),
                    ways => format!("; it offers: {}", ways.join(", ")),
                };
                format!(
                    "{agent} is not logged in: {said}; log in with {agent} itself, or set the key \
                     it asks for{ways}"
                )
            }
            _ => format!("{agent} did not begin a session: {said}"),
        }
    }
}

/// What a session is opened with, new or not.
pub(super) fn opening(
    desk: &Desk,
    tree: &str,
    (door, key): (&str, &str),
    abilities: &Abilities,
) -> Value {
    let order = desk.order();
    let marker = shipmate_process::MARKER_VARIABLE;
    let mut opening = json!({
        "cwd": tree,
        "mcpServers": [{
            "name": SERVER,
            "command": order.program,
            "args": ["desk-mcp", door],
            // Agents keep their environment from the servers they start.
            "env": [
                { "name": marker, "value": order.marker },
                { "name": KEY_VARIABLE, "value": key },
            ],
        }],
    });
    let definition = order.definition.as_deref();
    if let Some(all) = opening["mcpServers"].as_array_mut() {
        let own = definition.iter().flat_map(|one| &one.servers);
        all.extend(own.map(|(name, server)| servers::as_acp(name, server)));
    }
    if abilities.instructed {
        let content = json!([{ "type": "text", "text": desk.standing() }]);
        opening["systemPrompt"] = json!({ "mode": "append", "content": content });
    }
    opening
}

/// What the teammate's mode gives leave to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    Read,
    Write,
    /// What may not be written cannot be.
    WriteFenced,
}

/// The mode of the agent's to set, if the one it is in does not fit ours.
pub(super) fn mode_to_set(leave: Leave, modes: &Value) -> Option<String> {
    let offered = modes["availableModes"].as_array()?;
    let fits: &[&str] = match leave {
        Leave::Read => &READING_MODES,
        Leave::Write => &WRITING_MODES,
        Leave::WriteFenced => &FENCED_MODES,
    };
    let offers = |id: &&&str| offered.iter().any(|mode| mode["id"] == ***id);
    let mode = fits.iter().find(offers)?;
    (modes["currentModeId"] != **mode).then(|| (*mode).to_owned())
}

/// The setting of the agent's that chooses this model, if it offers it.
pub(super) fn model_to_set(model: &str, session: &Value) -> Option<(String, Value)> {
    let settings = session["configOptions"].as_array().into_iter().flatten();
    let by_setting =
        settings.filter(|setting| setting["category"] == "model").find_map(|setting| {
            let mut values = flat(&setting["options"]);
            let params = json!({ "configId": setting["id"], "value": model });
            values.any(|value| value["value"] == model).then_some(params)
        });
    let method = "session/set_config_option".to_owned();
    by_setting.map(|params| (method, params)).or_else(|| {
        let mut models = session["models"]["availableModels"].as_array()?.iter();
        let params = json!({ "modelId": model });
        let offered = models.any(|offered| offered["modelId"] == model);
        offered.then(|| ("session/set_model".to_owned(), params))
    })
}

/// Options of a setting, which may lie in groups.
fn flat(options: &Value) -> impl Iterator<Item = &Value> {
    options.as_array().into_iter().flatten().flat_map(|option| match &option["options"] {
        Value::Array(group) => group.iter().collect(),
        _ => vec![option],
    })
}

/// The option of a permission request that says this, by its kind: their order differs.
pub(super) fn option<'a>(options: &'a Value, kinds: &[&str]) -> Option<&'a str> {
    let options = options.as_array()?;
    let of_kind = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
    kinds.iter().find_map(of_kind)?["optionId"].as_str()
}

/// Why a turn did not end well, if it did not.
pub(super) fn stopped(agent: &str, answer: &Value) -> Option<String> {
    Some(match answer["stopReason"].as_str().unwrap_or_default() {
        "end_turn" => return None,
        "max_tokens" => format!(
            "{agent} reached its model's limit of tokens (max_tokens): make the task smaller, or \
             choose a model with a longer context"
        ),
        "max_turn_requests" => format!(
            "{agent} reached its limit of model requests in a turn (max_turn_requests): raise \
             the limit in its settings, or make the task smaller"
        ),
        "refusal" => format!("the model of {agent} refused to go on (refusal): word it otherwise"),
        "cancelled" => format!("{agent} broke the turn off (cancelled)"),
        other => format!("{agent} ended the turn for a reason that is not known: {other:?}"),
    })
}

/// Why a turn has no answer.
pub(super) fn failed(agent: &str, failure: &RpcFailure) -> String {
    let said = words(failure);
    match failure {
        RpcFailure::Refused { code: NOT_LOGGED_IN, .. } => {
            format!("{agent} is not logged in any more: {said}; log in with {agent} itself")
        }
        _ => format!("{agent} could not finish its turn: {said}"),
    }
}

/// The provider has no room for it. The protocol has no word for that: the status of the provider's answer
/// or the words that providers use tell.
pub(super) fn is_limit(failure: &RpcFailure) -> bool {
    let RpcFailure::Refused { code, .. } = failure else { return false };
    let said = words(failure).to_lowercase();
    let known = ["quota", "rate limit", "rate_limit", "resource_exhausted", "usage limit"];
    *code == 429 || known.iter().any(|word| said.contains(word))
}

/// The program's own words; some put the fact into the data.
pub(super) fn words(failure: &RpcFailure) -> String {
    let RpcFailure::Refused { code, message, data } = failure else { return failure.to_string() };
    let found = ["details", "message", "error", "errorMessage"];
    let data = match data {
        Value::String(text) => Some(text.as_str()),
        data => found.iter().find_map(|name| data[*name].as_str()),
    };
    match data.filter(|data| !message.contains(*data)) {
        Some(data) => format!("{message}: {data} ({code})"),
        None => format!("{message} ({code})"),
    }
}

/// What a turn has cost. Where it says nothing, nothing is known, unless it names the models whose
/// prices are.
pub(super) fn usage(answer: &Value, cost_micros: u64) -> Usage {
    let count = |places: [&str; 2]| {
        places.into_iter().find_map(|place| answer.pointer(place)?.as_u64()).unwrap_or_default()
    };
    let cost_micros = if cost_micros > 0 { cost_micros } else { cost_of_models(answer) };
    Usage {
        tokens_in: count(["/usage/inputTokens", "/_meta/quota/token_count/input_tokens"]),
        tokens_out: count(["/usage/outputTokens", "/_meta/quota/token_count/output_tokens"]),
        tokens_cached: count(["/usage/cachedReadTokens", "/_meta/quota/token_count/cached_tokens"]),
        cost_micros,
        ..Usage::default()
    }
}

/// Gemini CLI tells what it asked of which model, and no cost.
fn cost_of_models(answer: &Value) -> u64 {
    let models = answer["_meta"]["quota"]["model_usage"].as_array().into_iter().flatten();
    let costs = models.filter_map(|used| {
        let price = prices::known(used["model"].as_str()?)?;
        let count = |name: &str| used["token_count"][name].as_u64().unwrap_or_default();
        let usage = Usage {
            tokens_in: count("input_tokens"),
            tokens_out: count("output_tokens"),
            tokens_cached: count("cached_tokens"),
            ..Usage::default()
        };
        Some(prices::cost_micros(&price, &usage))
    });
    costs.sum()
}

/// The whole turn of a program that tells the tokens of its last request only, as opencode 1.18
/// does: each before it took about as many. The cost it tells is the turn's.
pub(super) fn of_turn(usage: Usage, program: &str, requests: u64) -> Usage {
    match program.to_ascii_lowercase().contains("opencode") {
        true => Usage {
            tokens_in: usage.tokens_in.saturating_mul(requests),
            tokens_out: usage.tokens_out.saturating_mul(requests),
            tokens_cached: usage.tokens_cached.saturating_mul(requests),
            ..usage
        },
        false => usage,
    }
}

#[cfg(test)]
mod tests;
