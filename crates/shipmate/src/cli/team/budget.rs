//! `shipmate team budget`.

use clap::Args;
use shipmate_model::account::percent;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Budget;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::money::money;

/// Set how much a team may spend
///
/// Native teammates set aside what a request may cost before they send it, so they stop before the
/// budget is passed. A turn of another vendor's program does not begin without room for a request,
/// and is broken off at its next call of a tool when there is none for another. A new budget takes
/// the place of the old one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --team alpha team budget --cost 5
  shipmate team budget --tokens 2000000
  shipmate team budget --window 20%
  shipmate team budget --none")]
pub(crate) struct BudgetArgs {
    #[command(flatten)]
    limits: Limits,
}

/// A ceiling in money, in tokens, in a share of the account's windows, or in several of them.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct Limits {
    /// At most so many dollars, as far as prices are known
    #[arg(long, value_name = "DOLLARS", value_parser = micros)]
    cost: Option<u64>,

    /// At most so many tokens, in and out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,

    /// At most so much of any window of an account, counted over resets and with all who ask with it
    #[arg(long, value_name = "PERCENT", value_parser = thousandths)]
    window: Option<u32>,

    /// No limit
    #[arg(long, conflicts_with_all = ["cost", "tokens", "window"])]
    none: bool,
}

impl Limits {
    pub(crate) fn budget(&self) -> Budget {
        Budget { tokens_max: self.tokens, cost_micros_max: self.cost, window_max: self.window }
    }

    /// For people.
    pub(crate) fn words(&self) -> String {
        let cost = self.cost.map(money);
        let tokens = self.tokens.map(|tokens| format!("{tokens} tokens"));
        let window = self.window.map(|share| format!("{} of a window", percent(share)));
        let parts: Vec<String> = cost.into_iter().chain(tokens).chain(window).collect();
        match parts.is_empty() {
            true => "as much as it needs".to_owned(),
            false => format!("at most {}", parts.join(" and ")),
        }
    }
}

/// `20%` or `20`, in thousandths. A window may be used more than once: it is reset.
pub(crate) fn thousandths(text: &str) -> Result<u32, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.1..=100_000.0).contains(&percent) => Ok((percent * 10.0).round() as u32),
        _ => Err("write per cent, at least 0.1, such as 20%".to_owned()),
    }
}

/// Dollars as they are written, in millionths.
pub(crate) fn micros(text: &str) -> Result<u64, String> {
    let number = text.trim().trim_start_matches('$').parse::<f64>();
    match number {
        Ok(dollars) if (1e-6..=1e9).contains(&dollars) => Ok((dollars * 1e6).round() as u64),
        _ => Err("write dollars, more than none, such as 5 or 0.50".to_owned()),
    }
}

pub(crate) fn run(args: &BudgetArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("the team may spend {}", args.limits.words());
    session.change(verbs::TeamBudget { budget: args.limits.budget() }, &said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_window_is_read_in_per_cent() {
        for (text, share) in [("20%", 200), ("20 %", 200), ("12.5", 125), ("150%", 1_500)] {
            assert_eq!(thousandths(text), Ok(share), "{text}");
        }
        for bad in ["", "0", "-1%", "half", "%"] {
            assert!(thousandths(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn dollars_are_read_to_the_cent_and_nonsense_is_not() {
        assert_eq!(micros("5"), Ok(5_000_000));
        assert_eq!(micros("$0.50"), Ok(500_000));
        for bad in ["", "0", "-1", "five", "nan", "1e99"] {
            assert!(micros(bad).is_err(), "{bad}");
        }
    }
}
