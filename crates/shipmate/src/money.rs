//! Tokens and money as people read them: rounded, and never nothing where a price is not known.

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

/// What was paid where the price of so many tokens is not known.
pub(crate) fn cost(micros: u64, unpriced: u64) -> String {
    match (micros, unpriced) {
        (_, 0) => money(micros),
        (0, _) => "price unknown".to_owned(),
        (_, _) => format!("{} + unknown", money(micros)),
    }
}

/// `48.2k tokens, $0.54`
pub(crate) fn used(all: u64, micros: u64, unpriced: u64) -> String {
    format!("{} tokens, {}", tokens(all), cost(micros, unpriced))
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
        assert_eq!(used(960_960, 540_000, 0), "961k tokens, $0.54");
        assert_eq!([999_499, 999_500].map(tokens), ["999k", "1.0M"]);
        assert_eq!(used(11_520, 0, 11_520), "11.5k tokens, price unknown");
    }
}
