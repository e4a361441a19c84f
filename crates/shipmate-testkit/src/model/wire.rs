//! The wire formats, told apart by the path of a request.
//!
//! Only the end of a path counts: programs put different things before it.

use serde_json::{Value, json};

use super::conversation::{Conversation, Reply};
use super::{anthropic, chat, gemini, responses};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Chat,
    Responses,
    Gemini { model: String, streams: bool },
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Reply(Wire),
    /// How many tokens a request would cost.
    Count,
    Models,
    /// Nothing we know.
    Other,
}

pub(crate) fn asked(method: &str, path: &str) -> Asked {
    let path = path.trim_end_matches('/');
    if method == "GET" {
        return if path.ends_with("/models") { Asked::Models } else { Asked::Other };
    }
    if let Some((before, verb)) = path.rsplit_once(':') {
        let model = before.rsplit('/').next().unwrap_or_default().to_owned();
        return match verb {
            "streamGenerateContent" => Asked::Reply(Wire::Gemini { model, streams: true }),
            "generateContent" => Asked::Reply(Wire::Gemini { model, streams: false }),
            "countTokens" => Asked::Count,
            _ => Asked::Other,
        };
    }
    let ends = |end| path.ends_with(end);
    match () {
        () if ends("/messages/count_tokens") => Asked::Count,
        () if ends("/messages") => Asked::Reply(Wire::Anthropic),
        () if ends("/chat/completions") => Asked::Reply(Wire::Chat),
        () if ends("/responses") => Asked::Reply(Wire::Responses),
        () => Asked::Other,
    }
}

/// Both names of a count: programs read the one they know.
pub(crate) fn count(body_bytes: usize) -> Value {
    let tokens = body_bytes / 4;
    json!({"input_tokens": tokens, "totalTokens": tokens})
}

/// An empty list in every format: programs then go by the model they were given.
pub(crate) fn models() -> Value {
    json!({"object": "list", "data": [], "models": [], "has_more": false})
}

impl Wire {
    pub(crate) fn read(&self, body: &Value) -> Conversation {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Gemini { model, streams } => gemini::read(body, model, *streams),
        }
    }

    pub(crate) fn whole(&self, reply: &Reply) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(reply),
            Self::Chat => chat::whole(reply),
            Self::Responses => responses::whole(reply),
            Self::Gemini { .. } => gemini::whole(reply),
        }
    }

    pub(crate) fn stream(&self, reply: &Reply) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::stream(reply),
            Self::Chat => chat::stream(reply),
            Self::Responses => responses::stream(reply),
            Self::Gemini { .. } => gemini::stream(reply),
        }
    }

    pub(crate) fn error(&self, status: u16, text: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, text),
            Self::Chat | Self::Responses => responses::error(status, text),
            Self::Gemini { .. } => gemini::error(status, text),
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
