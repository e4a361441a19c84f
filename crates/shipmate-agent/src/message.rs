//! A conversation with a model, in our own words: no provider's format is stored anywhere.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// One side's turn. Results of tools are the user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    Text(String),
    /// Goes back to the model that thought it, unchanged, for as long as its turn lasts.
    Thinking {
        text: String,
        /// The provider's seal; empty where there is none.
        signature: String,
    },
    /// Thinking that only the provider can read.
    Sealed(String),
    Call(Call),
    Result(CallResult),
}

/// A tool that the model wants used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in its conversation, whatever the provider gave.
    pub id: String,
    pub tool: String,
    pub arguments: Arguments,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    Json(Value),
    /// What the model wrote is no JSON object: it is told so.
    Broken {
        text: String,
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub id: String,
    /// The tool's name: whether an old result may be shortened depends on it.
    pub tool: String,
    pub text: String,
    pub is_error: bool,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Message {
        Message { role: Role::User, blocks: vec![Block::Text(text.into())] }
    }

    pub fn assistant(blocks: Vec<Block>) -> Message {
        Message { role: Role::Assistant, blocks }
    }

    /// All text that is not thinking.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        })
    }
}
