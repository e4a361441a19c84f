//! Tokens and money as people read them: rounded, and never nothing where a price is not known.

use shipmate_model::account::percent;
use shipmate_protocol::view::{TeamView, TeammateView};

/// `$0.54`; small amounts with as many digits as say something: `$0.004`.
pub(crate) fn money(micros: u64) -> String {
    match micros {
        1..50 => "<$0.0001".to_owned(),
        50..10_000 => {
            let text = format!("{:.4}", micros as f64 / 1e6);
            format!("${}", text.trim_end_matches('0'))
        }
        _ => format!("${:.2}", micros as f64 / 1e6),
    }
}

/// `940`, `12.3k`, `4.1M`.
pub(crate) fn tokens(n: u64) -> String {
    match n {
        n if n < 1_000 => n.to_string(),
        n if n < 99_950 => format!("{:.1}k", n as f64 / 1e3),
        n if n < 999_500 => format!("{:.0}k", n as f64 / 1e3),
        n if n < 99_950_000 => format!("{:.1}M", n as f64 / 1e6),
        n => format!("{:.0}M", n as f64 / 1e6),
    }
}

/// What a key would have paid for what a subscription was asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Worth {
    pub(crate) micros: u64,
    /// Tokens of which nobody knows that.
    pub(crate) unpriced: u64,
}

/// What was paid, where the price of so many tokens is not known. A subscription has windows instead of a
/// price: what its program says in dollars is what a key would have paid, and nobody has paid it.
pub(crate) fn cost(paid: u64, unpriced: u64, subscription: Option<Worth>) -> String {
    let unknown = if paid == 0 { "price unknown" } else { "unknown" };
    let parts = [
        (paid > 0).then(|| money(paid)),
        (unpriced > 0).then(|| unknown.to_owned()),
        subscription.map(|worth| match worth {
            Worth { micros: 0, .. } => "subscription".to_owned(),
            Worth { micros, unpriced: 0 } => format!("subscription (worth {})", money(micros)),
            Worth { micros, .. } => format!("subscription (worth at least {})", money(micros)),
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { money(0) } else { parts.join(" + ") }
}

/// The money of a teammate.
pub(crate) fn cost_of(mate: &TeammateView) -> String {
    let notional = mate.cost_notional_micros;
    let is_one = mate.tokens_subscription > 0
        || mate.subscription && mate.tokens_used == 0 && mate.cost_micros == 0;
    let paid = mate.cost_micros.saturating_sub(notional);
    let worth = Worth { micros: notional, unpriced: mate.tokens_subscription_unpriced };
    cost(paid, mate.tokens_unpriced, is_one.then_some(worth))
}

/// The money of a team.
pub(crate) fn cost_of_team(team: &TeamView) -> String {
    let notional = team.cost_notional_micros;
    let worth = Worth { micros: notional, unpriced: team.tokens_subscription_unpriced };
    let subscription = (team.tokens_subscription > 0).then_some(worth);
    cost(team.cost_micros.saturating_sub(notional), team.tokens_unpriced, subscription)
}

/// What a team has used; nothing where it has used nothing.
pub(crate) fn used_by_team(team: &TeamView) -> Option<String> {
    let guessed = estimated(team.tokens_estimated);
    let used = || format!("{} tokens{guessed}, {}", tokens(team.tokens_used), cost_of_team(team));
    (team.tokens_used > 0 || team.cost_micros > 0).then(used)
}

/// What is used of each of its budgets: `12.3k of 2.0M tokens, $0.54 of $5.00, 12 % of a window of at most
/// 20 %`; nothing where it has none.
pub(crate) fn budget_of_team(team: &TeamView) -> Option<String> {
    budget(
        (team.tokens_used, team.tokens_max),
        (team.cost_micros, team.cost_micros_max),
        (team.window_used, team.window_max),
    )
}

/// The same of a teammate's own.
pub(crate) fn budget_of(mate: &TeammateView) -> Option<String> {
    budget(
        (mate.tokens_used, mate.tokens_max),
        (mate.cost_micros, mate.cost_micros_max),
        (mate.window_used, mate.window_max),
    )
}

fn budget(
    (tokens_used, tokens_max): (u64, Option<u64>),
    (micros, micros_max): (u64, Option<u64>),
    (window_used, window_max): (Option<u32>, Option<u32>),
) -> Option<String> {
    let window = window_max.map(|max| {
        let used = percent(window_used.unwrap_or_default());
        format!("{used} of a window of at most {}", percent(max))
    });
    let parts = [
        tokens_max.map(|max| format!("{} of {} tokens", tokens(tokens_used), tokens(max))),
        micros_max.map(|max| format!("{} of {}", money(micros), money(max))),
        window,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `, 1.2k of them estimated`, where some are.
pub(crate) fn estimated(of_them: u64) -> String {
    match of_them {
        0 => String::new(),
        of_them => format!(", {} of them estimated", tokens(of_them)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_and_small_ones_stay_visible() {
        for (micros, shown) in [
            (0, "$0.00"),
            (10, "<$0.0001"),
            (4_000, "$0.004"),
            (1_250, "$0.0013"),
            (17_600, "$0.02"),
            (536_000, "$0.54"),
            (999_999, "$1.00"),
            (1_250_000, "$1.25"),
        ] {
            assert_eq!(money(micros), shown);
        }
        assert_eq!([cost(0, 0, None), cost(540_000, 0, None)], ["$0.00", "$0.54"]);
        assert_eq!(
            [cost(0, 7, None), cost(540_000, 7, None)],
            ["price unknown", "$0.54 + unknown"]
        );
        let worth = |micros, unpriced| Some(Worth { micros, unpriced });
        assert_eq!(cost(0, 0, worth(0, 0)), "subscription");
        assert_eq!(cost(0, 0, worth(0, 7)), "subscription");
        assert_eq!(cost(0, 0, worth(40_000, 7)), "subscription (worth at least $0.04)");
        let mixed = cost(540_000, 7, worth(40_000, 0));
        assert_eq!(mixed, "$0.54 + unknown + subscription (worth $0.04)");
        assert_eq!([999_499, 999_500].map(tokens), ["999k", "1.0M"]);
        assert_eq!([0, 1_200].map(estimated), ["", ", 1.2k of them estimated"]);
    }
}
