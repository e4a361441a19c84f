//! What models cost: for the native agent, and for programs that tell their tokens and no cost.
//!
//! List prices as they were published when this was written, in November 2026. A price that is not
//! known is no price: a budget in money is refused there, rather than kept by a guess. Of Claude's
//! kinds the dearest is taken for a model that is not named: that is reached too early, never late.
//! Some models are dearer for very long requests; that is not counted.

use shipmate_protocol::native::Price;
use shipmate_protocol::verbs::Usage;

/// Dollars for a million tokens: in, out, read from the cache, written to it.
const PRICES: [(&str, [f64; 4]); 40] = [
    ("claude-fable-5", [10.0, 50.0, 1.0, 12.5]),
    ("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0]),
    ("claude-opus-5", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-8", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-7", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-6", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-5", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus", [15.0, 75.0, 1.5, 18.75]),
    ("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5]),
    ("claude-sonnet", [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku", [1.0, 5.0, 0.1, 1.25]),
    ("gpt-6-astra", [10.0, 50.0, 1.0, 12.5]),
    ("gpt-6-luna", [0.1, 0.5, 0.01, 0.125]),
    ("gpt-6-sol", [2.0, 10.0, 0.2, 2.5]),
    ("gpt-5.6-luna", [0.2, 1.2, 0.02, 0.25]),
    ("gpt-5.6-terra", [2.0, 12.0, 0.2, 2.5]),
    ("gpt-5.6-sol", [4.0, 20.0, 0.4, 5.0]),
    ("gpt-5.6", [4.0, 20.0, 0.4, 5.0]),
    ("gpt-5.5-pro", [30.0, 180.0, 30.0, 30.0]),
    ("gpt-5.5", [5.0, 30.0, 0.5, 5.0]),
    ("gpt-5.4-pro", [30.0, 180.0, 30.0, 30.0]),
    ("gpt-5.4-mini", [0.75, 4.5, 0.075, 0.75]),
    ("gpt-5.4-nano", [0.2, 1.25, 0.02, 0.2]),
    ("gpt-5.4", [2.5, 15.0, 0.25, 2.5]),
    ("gpt-5.3", [1.75, 14.0, 0.175, 1.75]),
    ("gpt-5.2-pro", [21.0, 168.0, 21.0, 21.0]),
    ("gpt-5.2", [1.75, 14.0, 0.175, 1.75]),
    ("gpt-5.1", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-pro", [15.0, 120.0, 15.0, 15.0]),
    ("gpt-5-mini", [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-nano", [0.05, 0.4, 0.005, 0.05]),
    ("gpt-5", [1.25, 10.0, 0.125, 1.25]),
    ("gemini-3.8-flash", [0.75, 3.75, 0.075, 0.75]),
    ("gemini-3.7-flash", [0.75, 3.75, 0.075, 0.75]),
    ("gemini-3.6-flash", [0.75, 3.75, 0.075, 0.75]),
    ("gemini-3.5-flash", [1.5, 9.0, 0.15, 1.5]),
    ("gemini-3.1-pro", [2.0, 12.0, 0.2, 2.0]),
    ("gemini-2.5-pro", [1.25, 10.0, 0.31, 1.25]),
    ("gemini-2.5-flash-lite", [0.1, 0.4, 0.01, 0.1]),
    ("gemini-2.5-flash", [0.3, 2.5, 0.03, 0.3]),
];

/// The price of a model by its name, with or without its provider's before it.
pub fn known(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or_default();
    // `gpt-5.5` is another model than `gpt-5`; `gpt-5-2026-01-01` is that one.
    let is = |begin: &str| {
        let rest = name.strip_prefix(begin);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':', '[']))
    };
    let micros = |dollars: f64| (dollars * 1e6) as u64;
    let found = PRICES.iter().find(|(begin, _)| is(begin));
    found.map(|(_, [input, output, read, write])| Price {
        input: micros(*input),
        output: micros(*output),
        cache_read: micros(*read),
        cache_write: micros(*write),
    })
}

/// What tokens cost at a price, in millionths, rounded up.
pub fn cost_micros(price: &Price, usage: &Usage) -> u64 {
    let cached = usage.tokens_cached.min(usage.tokens_in);
    let parts = [
        (usage.tokens_in - cached, price.input),
        (cached, price.cache_read),
        (usage.tokens_out, price.output),
    ];
    let total: u128 = parts.iter().map(|&(count, each)| u128::from(count) * u128::from(each)).sum();
    u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_that_of_the_very_model_or_none() {
        let input = |model: &str| known(model).map(|price| price.input);
        assert_eq!(input("openrouter/openai/gpt-5"), Some(1_250_000));
        assert_eq!(input("gpt-5-2025-08-07"), Some(1_250_000));
        assert_eq!(input("gpt-5-mini"), Some(250_000));
        assert_eq!(input("gpt-5.5"), Some(5_000_000), "not that of gpt-5");
        assert_eq!(input("gpt-5.9"), None);
        assert_eq!(input("claude-opus-5-5[1m]"), Some(4_000_000));
        assert_eq!(input("claude-opus-9"), Some(15_000_000), "the dearest of its kind");
        assert_eq!(input("qwen3"), None);
        let (opus, sonnet) = (input("claude-opus-4-5"), input("claude-sonnet-4-5"));
        assert_eq!((opus, sonnet), (Some(5_000_000), Some(3_000_000)));
    }

    #[test]
    fn what_came_from_the_cache_costs_less() {
        let price = known("claude-opus-5-5").unwrap();
        let usage =
            Usage { tokens_in: 1_000, tokens_out: 100, tokens_cached: 500, ..Usage::default() };
        assert_eq!(cost_micros(&price, &usage), 2_000 + 100 + 2_000);
    }
}
