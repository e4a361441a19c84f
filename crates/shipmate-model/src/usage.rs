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
    /// How many of the tokens nobody has told, and are an estimate: of a request that broke off, say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_estimated: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// The same, told by nobody.
    pub fn as_estimate(self) -> Usage {
        Usage { tokens_estimated: self.tokens(), ..self }
    }

    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    pub fn plus(&self, other: &Usage) -> Usage {
        Usage {
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
            tokens_cached: self.tokens_cached.saturating_add(other.tokens_cached),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            tokens_estimated: self.tokens_estimated.saturating_add(other.tokens_estimated),
        }
    }

    pub fn minus(&self, other: &Usage) -> Usage {
        Usage {
            tokens_in: self.tokens_in.saturating_sub(other.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(other.tokens_out),
            tokens_cached: self.tokens_cached.saturating_sub(other.tokens_cached),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
            tokens_estimated: self.tokens_estimated.saturating_sub(other.tokens_estimated),
        }
    }
}

/// Tokens of an agent whose price nobody has told. Some programs tell tokens as they come, and what all of
/// them cost when the turn is over: a cost is that of everything which came before it in the same life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unpriced {
    pub tokens: u64,
    /// Those that may still be priced.
    open: u64,
    /// Of these, what somebody has told, and is no estimate.
    #[serde(default)]
    told: u64,
}

impl Unpriced {
    pub fn is_none(&self) -> bool {
        self.tokens == 0
    }

    /// In this life tokens were told, and no cost after them.
    pub fn is_untold(&self) -> bool {
        self.told > 0
    }

    /// The next record of the agent.
    pub fn add(&mut self, record: &Usage) {
        if record.cost_micros > 0 {
            self.tokens -= std::mem::take(&mut self.open);
            self.told = 0;
            return;
        }
        self.told =
            self.told.saturating_add(record.tokens().saturating_sub(record.tokens_estimated));
        self.tokens = self.tokens.saturating_add(record.tokens());
        self.open = self.open.saturating_add(record.tokens()).min(self.tokens);
    }

    /// Another life begins: nobody prices any more what the one before used.
    pub fn settle(&mut self) {
        (self.open, self.told) = (0, 0);
    }
}

/// Ceilings; absent means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_max: Option<u64>,
    /// Thousandths of any window of an account, counted over its resets since the tree of teams began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_max: Option<u32>,
}

/// What the reason begins with where a teammate pauses itself until the next budget.
pub const SPENT: &str = "its budget is spent";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_prices_what_came_before_it_in_the_same_life() {
        let tokens = |tokens_in| Usage { tokens_in, ..Usage::default() };
        let paid = |tokens_in| Usage { tokens_in, cost_micros: 5, ..Usage::default() };
        let mut unpriced = Unpriced::default();
        let mut after = |record: Usage| {
            unpriced.add(&record);
            unpriced.tokens
        };
        assert_eq!([tokens(10), tokens(3), paid(0)].map(&mut after), [10, 13, 0]);
        assert_eq!([tokens(7), tokens(1)].map(&mut after), [7, 8]);
        unpriced.settle();
        unpriced.add(&tokens(2));
        unpriced.add(&paid(4));
        assert_eq!(unpriced.tokens, 8);
        unpriced.add(&tokens(2).as_estimate());
        assert!(!unpriced.is_untold());
        unpriced.add(&tokens(2));
        assert!(unpriced.is_untold());
        unpriced.settle();
        assert!(!unpriced.is_untold());
    }
}
