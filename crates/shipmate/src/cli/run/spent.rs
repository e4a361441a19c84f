//! What a run has used: tokens, money, and how much of each account's windows.

use serde::Serialize;
use shipmate_model::account::percent;
use shipmate_model::usage::{Unpriced, Usage};

use crate::money::{Worth, cost, estimated, tokens};
use crate::time::about;

/// What agents have used, as far as they say so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_micros: u64,
    /// Of the money, what nobody pays: that of accounts with windows, at the prices of a key.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) cost_notional_micros: u64,
    /// Of the tokens, those of accounts with windows, which have no price.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) tokens_subscription: u64,
    /// Of those, the ones of which nobody knows what a key would have paid.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) tokens_subscription_unpriced: u64,
    /// Of the others, those whose price is not known.
    pub(crate) tokens_unpriced: u64,
    /// Of the tokens, those that nobody has told: of requests that broke off, say.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) tokens_estimated: u64,
    #[serde(skip)]
    pub(super) unpriced: Unpriced,
}

/// An account, and what the run took of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AccountTally {
    pub(crate) name: String,
    pub(crate) windows: Vec<WindowTally>,
    /// How long nobody could ask with it.
    pub(crate) parked_ms: u64,
    pub(crate) spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WindowTally {
    pub(crate) name: String,
    /// Thousandths that were used while the run lasted, over all resets.
    pub(crate) used: u32,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Spent {
    /// Takes in the usage of one record.
    pub(crate) fn add(&mut self, usage: &Usage) {
        let tokens = usage.tokens();
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost_micros = self.cost_micros.saturating_add(usage.cost_micros);
        self.tokens_estimated = self.tokens_estimated.saturating_add(usage.tokens_estimated);
        self.unpriced.add(usage);
        self.tokens_unpriced = self.unpriced.tokens;
    }

    /// Another life begins.
    pub(crate) fn settle(&mut self) {
        self.unpriced.settle();
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Spent { tokens: 0, cost_micros: 0, .. } => String::new(),
            spent => {
                let notional = spent.cost_notional_micros;
                let worth =
                    Worth { micros: notional, unpriced: spent.tokens_subscription_unpriced };
                let subscription = (spent.tokens_subscription > 0).then_some(worth);
                let paid = spent.cost_micros.saturating_sub(notional);
                let cost = cost(paid, spent.tokens_unpriced, subscription);
                format!(
                    "{} tokens, {cost}{}",
                    tokens(spent.tokens),
                    estimated(spent.tokens_estimated)
                )
            }
        }
    }
}

impl std::iter::Sum for Spent {
    fn sum<I: Iterator<Item = Spent>>(all: I) -> Spent {
        all.fold(Spent::default(), |sum, one| Spent {
            tokens: sum.tokens.saturating_add(one.tokens),
            cost_micros: sum.cost_micros.saturating_add(one.cost_micros),
            cost_notional_micros: sum.cost_notional_micros + one.cost_notional_micros,
            tokens_subscription: sum.tokens_subscription.saturating_add(one.tokens_subscription),
            tokens_subscription_unpriced: sum
                .tokens_subscription_unpriced
                .saturating_add(one.tokens_subscription_unpriced),
            tokens_unpriced: sum.tokens_unpriced.saturating_add(one.tokens_unpriced),
            tokens_estimated: sum.tokens_estimated.saturating_add(one.tokens_estimated),
            unpriced: Unpriced::default(),
        })
    }
}

impl AccountTally {
    /// `claude-1f2e3d4c: 12 % of 5 hours, 2 % of week; parked for 20m00s`
    pub(crate) fn text(&self) -> String {
        let windows = self.windows.iter();
        let windows = windows.map(|one| format!("{} of {}", percent(one.used), one.name));
        let windows: Vec<String> = windows.collect();
        let windows = match windows.is_empty() {
            true => "nothing is known of its windows".to_owned(),
            false => windows.join(", "),
        };
        let parked = match self.parked_ms {
            0 => String::new(),
            parked => format!("; parked for {}", about(parked)),
        };
        format!("{}: {windows}{parked}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_that_is_not_known_is_not_called_nothing() {
        let mut spent = Spent::default();
        assert_eq!(spent.text(), "");
        spent.add(&Usage { tokens_in: 11_000, tokens_out: 520, ..Usage::default() });
        assert_eq!(spent.text(), "11.5k tokens, price unknown");
        spent.settle();
        spent.add(&Usage { tokens_in: 100, cost_micros: 4_000, ..Usage::default() });
        assert_eq!(spent.text(), "11.6k tokens, $0.004 + unknown");
    }
}
