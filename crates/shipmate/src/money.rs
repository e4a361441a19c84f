//! Tokens and money as people read them: rounded, and never nothing where a price is not known.

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

/// What was paid where the price of so many tokens is not known, and so much of it is paid by nobody: a
/// subscription pays by its windows, and what its program says in dollars is what a key would have paid.
pub(crate) fn cost(micros: u64, notional: u64, unpriced: u64) -> String {
    let known = match notional {
        0 => money(micros),
        notional if notional >= micros => format!("{} notional", money(micros)),
        notional => format!("{}, {} of it notional", money(micros), money(notional)),
    };
    match (micros, unpriced) {
        (_, 0) => known,
        (0, _) => "price unknown".to_owned(),
        (_, _) => format!("{known} + unknown"),
    }
}

/// The money of a teammate.
pub(crate) fn cost_of(mate: &TeammateView) -> String {
    let notional = if mate.cost_is_notional { mate.cost_micros } else { 0 };
    cost(mate.cost_micros, notional, mate.tokens_unpriced)
}

/// The money of a team.
pub(crate) fn cost_of_team(team: &TeamView) -> String {
    cost(team.cost_micros, team.cost_notional_micros, team.tokens_unpriced)
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
        assert_eq!(cost(540_000, 0, 0), "$0.54");
        assert_eq!(cost(540_000, 40_000, 0), "$0.54, $0.04 of it notional");
        assert_eq!(cost(540_000, 540_000, 7), "$0.54 notional + unknown");
        assert_eq!(cost(0, 0, 7), "price unknown");
        assert_eq!([999_499, 999_500].map(tokens), ["999k", "1.0M"]);
        assert_eq!([0, 1_200].map(estimated), ["", ", 1.2k of them estimated"]);
    }
}
