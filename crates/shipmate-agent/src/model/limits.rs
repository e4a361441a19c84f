//! What a provider tells of an account in the headers of its answers: how much of its windows is used, and
//! when there is room again.
//!
//! A subscription has windows of hours and days. A key has limits of pace, as requests a minute: these are told
//! only where they are nearly used up, because they are full again before anybody could act on it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shipmate_protocol::native::Window;

use super::retry;

/// Thousandths of a limit of pace that are worth telling.
const PACE_FROM: u32 = 800;

/// Anthropic's limits of pace are those of a minute.
const MINUTE: Duration = Duration::from_secs(60);

const UNIFIED: [(&str, &str); 2] = [("5h", "5 hours"), ("7d", "week")];

const PACES: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];

/// The windows in these headers, of which more than a name is known.
pub(super) fn windows<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    now: SystemTime,
) -> Vec<Window> {
    let unified = UNIFIED.into_iter().filter_map(|(key, name)| unified(&header, key, name));
    let paces = PACES.into_iter().filter_map(|what| pace(&header, what, now));
    unified.chain(paces.filter(|window| window.used >= Some(PACE_FROM))).collect()
}

/// How long to leave the provider alone after it has refused: by its own word, else until what is used up is
/// reset.
pub(super) fn after<'h>(
    header: impl Fn(&str) -> Option<&'h str> + Copy,
    now: SystemTime,
) -> Option<Duration> {
    let reset = || {
        let unified = "anthropic-ratelimit-unified";
        let is_rejected = header(&format!("{unified}-status")) == Some("rejected");
        let told = header(&format!("{unified}-reset")).filter(|_| is_rejected);
        let told = told.and_then(seconds).map(Duration::from_secs);
        let full = windows(header, now).into_iter().filter(|window| window.used >= Some(1000));
        let full = full.filter_map(|window| window.resets_at).map(Duration::from_millis).max();
        let at = UNIX_EPOCH.checked_add(told.or(full)?)?;
        Some(at.duration_since(now).unwrap_or_default())
    };
    retry::told(header, now).or_else(reset)
}

fn unified<'h>(header: &impl Fn(&str) -> Option<&'h str>, key: &str, name: &str) -> Option<Window> {
    let told = |what: &str| header(&format!("anthropic-ratelimit-unified-{key}-{what}"));
    let used = told("utilization")?.trim().parse::<f64>().ok();
    let used = used.filter(|used| (0.0..=10.0).contains(used))?;
    Some(Window {
        name: name.to_owned(),
        used: Some((used * 1000.0).round() as u32),
        resets_at: told("reset").and_then(seconds).map(|at| at.saturating_mul(1000)),
        pace: false,
    })
}

fn pace<'h>(
    header: &impl Fn(&str) -> Option<&'h str>,
    what: &str,
    now: SystemTime,
) -> Option<Window> {
    let number = |name: String| header(&name)?.trim().parse::<u64>().ok();
    let anthropic = |part: &str| format!("anthropic-ratelimit-{what}-{part}");
    let others = |part: &str| format!("x-ratelimit-{part}-{what}");
    let (limit, left, full_in) = match number(anthropic("limit")) {
        Some(limit) => (limit, number(anthropic("remaining"))?, MINUTE),
        None => {
            let full_in = header(&others("reset")).and_then(span)?;
            (number(others("limit"))?, number(others("remaining"))?, full_in)
        }
    };
    let used = limit.saturating_sub(left).saturating_mul(1000).checked_div(limit)?;
    // In steps: it moves with each answer, and not each of them is news.
    let at = (now + full_in).duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let minutes = at.div_ceil(MINUTE.as_millis()) as u64;
    Some(Window {
        name: what.replace('-', " "),
        used: Some((used / 100 * 100) as u32),
        resets_at: Some(minutes * MINUTE.as_millis() as u64),
        pace: true,
    })
}

fn seconds(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// `6m0s`, `1h2m`, `120ms`, `7.66s`.
fn span(text: &str) -> Option<Duration> {
    const DAY: f64 = 86_400.0;
    let mut left = text.trim();
    let mut sum = 0.0;
    while !left.is_empty() {
        let digits = left.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = left[..digits].parse().ok()?;
        let unit =
            left[digits..].find(|c: char| c.is_ascii_digit()).map_or(left.len(), |at| digits + at);
        sum += number
            * match &left[digits..unit] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => DAY,
                _ => return None,
            };
        left = &left[unit..];
    }
    Duration::try_from_secs_f64(sum)
        .ok()
        .filter(|span| *span <= Duration::from_secs_f64(400.0 * DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = UNIX_EPOCH;

    fn windows_of(headers: &[(&str, &str)]) -> Vec<(String, u32, Option<u64>, bool)> {
        let found = windows(|name| find(headers, name), NOW).into_iter();
        found
            .map(|window| (window.name, window.used.unwrap(), window.resets_at, window.pace))
            .collect()
    }

    fn find<'h>(headers: &[(&str, &'h str)], name: &str) -> Option<&'h str> {
        headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    #[test]
    fn windows_of_a_subscription_and_limits_of_pace_that_are_nearly_used_up_are_told() {
        let unified = [
            ("anthropic-ratelimit-unified-5h-utilization", "0.805"),
            ("anthropic-ratelimit-unified-5h-reset", "3600"),
            ("anthropic-ratelimit-unified-7d-utilization", "nonsense"),
        ];
        let five_hours = ("5 hours".to_owned(), 805, Some(3_600_000), false);
        assert_eq!(windows_of(&unified), [five_hours]);
        let anthropic = [
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "5"),
            ("anthropic-ratelimit-input-tokens-limit", "1000"),
            ("anthropic-ratelimit-input-tokens-remaining", "900"),
            ("anthropic-ratelimit-output-tokens-limit", "0"),
            ("anthropic-ratelimit-output-tokens-remaining", "0"),
        ];
        assert_eq!(windows_of(&anthropic), [("requests".to_owned(), 900, Some(60_000), true)]);
        let openai = [
            ("x-ratelimit-limit-tokens", "1000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0.5s"),
            ("x-ratelimit-limit-requests", "1000"),
            ("x-ratelimit-remaining-requests", "0"),
        ];
        assert_eq!(windows_of(&openai), [("tokens".to_owned(), 1000, Some(420_000), true)]);
        assert_eq!(windows_of(&[]), []);
    }

    #[test]
    fn a_refusal_is_over_when_the_provider_says_or_when_what_is_used_up_is_reset() {
        let after = |headers: &[(&str, &str)]| super::after(|name| find(headers, name), NOW);
        let s = Duration::from_secs;
        let rejected = ("anthropic-ratelimit-unified-status", "rejected");
        let reset = ("anthropic-ratelimit-unified-reset", "7200");
        assert_eq!(after(&[rejected, reset]), Some(s(7200)));
        assert_eq!(after(&[rejected, reset, ("retry-after", "4")]), Some(s(4)));
        assert_eq!(after(&[reset]), None, "it was let through");
        let openai = [
            ("x-ratelimit-limit-requests", "9"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1h2m"),
        ];
        assert_eq!(after(&openai), Some(s(3720)), "to the minute");
    }

    #[test]
    fn spans_are_read_in_every_unit_and_nonsense_is_none() {
        let ms = |text| span(text).map(|span| span.as_millis());
        let spans = ["120ms", "7.66s", "6m0s", "1h2m", "1d"].map(ms);
        assert_eq!(spans, [120, 7_660, 360_000, 3_720_000, 86_400_000].map(Some));
        for bad in ["s", "5", "5x", "1e9s", "-1s", "99999999d"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
