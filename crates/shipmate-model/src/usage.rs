//! Tokens, money and ceilings.

use serde::{Deserialize, Serialize};

/// Tokens and money; money in millionths of a dollar, so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub tokens_in: u64,
    #[serde(default)]
    pub tokens_out: u64,
    #[serde(default)]
    pub tokens_cached: u64,
    #[serde(default)]
    pub cost_micros: u64,
}

impl Usage {
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    pub fn plus(&self, other: &Usage) -> Usage {
        Usage {
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
            tokens_cached: self.tokens_cached.saturating_add(other.tokens_cached),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }

    pub fn minus(&self, other: &Usage) -> Usage {
        Usage {
            tokens_in: self.tokens_in.saturating_sub(other.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(other.tokens_out),
            tokens_cached: self.tokens_cached.saturating_sub(other.tokens_cached),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
        }
    }
}

/// Ceilings; absent means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_max: Option<u64>,
}

/// What the reason begins with where a teammate pauses itself until the next budget.
pub const SPENT: &str = "its budget is spent";
