//! When to ask again: as the provider says, else later and later, at random.

use std::time::{Duration, SystemTime};

/// How long is waited for what. The default is right for people; tests want less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// Requests for one reply.
    pub attempts_max: u32,
    /// The same while nothing has ever answered at the base URL, which may just be wrong.
    pub unreached_attempts_max: u32,
    /// The longest wait after the first failure; it doubles with each.
    pub first_wait: Duration,
    pub wait_max: Duration,
    /// All waits for one reply together. What would take longer is the caller's to decide.
    pub waits_max: Duration,
    /// Models that think may say nothing for minutes.
    pub silence_max: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            attempts_max: 8,
            unreached_attempts_max: 3,
            first_wait: Duration::from_secs(1),
            wait_max: Duration::from_secs(60),
            waits_max: Duration::from_secs(15 * 60),
            silence_max: Duration::from_secs(300),
        }
    }
}

impl Patience {
    /// What to wait after so many failures. The provider's word is a minimum; without one, or
    /// when it has proved too small twice, any part of the longest wait, so that those who failed
    /// together do not come back together.
    pub(super) fn wait(&self, failed: u32, after: Option<Duration>, random: u64) -> Duration {
        let own = part(doubled(self.first_wait, failed, self.wait_max), random);
        match after {
            Some(after) if failed <= 2 => after + part(after / 10, random),
            Some(after) => own.max(after + part(after / 10, random)),
            None => own,
        }
    }
}

pub(super) fn doubled(first: Duration, times: u32, max: Duration) -> Duration {
    let factor = 1_u32.checked_shl(times.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(max)
}

/// From nothing to all of it.
pub(super) fn part(whole: Duration, random: u64) -> Duration {
    whole.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

/// For people: `4 s`, `250 ms`, `12 min`.
pub(super) fn shown(wait: Duration) -> String {
    match wait.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..120_000 => format!("{} s", ms.div_ceil(1_000)),
        ms => format!("{} min", ms.div_ceil(60_000)),
    }
}

/// The provider's word on when to come back, from its headers.
pub(super) fn told<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    now: SystemTime,
) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let valid = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(ms) = header("retry-after-ms").and_then(number) {
        return valid(ms / 1_000.0);
    }
    let after = header("retry-after")?;
    match number(after) {
        Some(seconds) => valid(seconds),
        None => {
            let date = httpdate::parse_http_date(after.trim()).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_to_their_limit_and_are_any_part_of_it() {
        let patience = Patience::default();
        let longest: Vec<u64> = (1..=8)
            .map(|failed| patience.wait(failed, None, u64::MAX).as_secs_f64())
            .map(f64::round)
            .map(|s| s as u64)
            .collect();
        assert_eq!(longest, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(patience.wait(5, None, 0), Duration::ZERO);
        assert_eq!(patience.wait(5, None, 1 << 63), 8 * S);
        assert_eq!(patience.wait(u32::MAX, None, 1 << 63), 30 * S);
    }

    #[test]
    fn the_word_of_the_provider_is_the_least_wait() {
        let patience = Patience::default();
        assert_eq!(patience.wait(1, Some(20 * S), 0), 20 * S);
        assert_eq!(patience.wait(1, Some(20 * S), 1 << 63), 21 * S);
        assert_eq!(patience.wait(2, Some(Duration::ZERO), u64::MAX), Duration::ZERO);
        assert_eq!(patience.wait(3, Some(Duration::ZERO), 1 << 63), 2 * S, "twice too small");
    }

    #[test]
    fn the_word_of_the_provider_has_many_forms() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let table = [
            ("retry-after", "4", Some(4 * S)),
            ("retry-after", "0.5", Some(S / 2)),
            ("retry-after-ms", "1500", Some(S * 3 / 2)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10 * S)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT", Some(Duration::ZERO)),
            ("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT", Some(Duration::ZERO)),
            (
                "retry-after",
                "Tue, 29 Feb 2000 00:00:00 GMT",
                Some(Duration::from_secs(167_670_623)),
            ),
            ("retry-after", "Sunday, 06-Nov-94 08:49:47 GMT", Some(10 * S)),
            ("retry-after", "Sun Nov  6 08:49:47 1994", Some(10 * S)),
            ("retry-after", "-4", None),
            ("retry-after", "NaN", None),
            ("retry-after", "1e300", None),
            ("retry-after", "soon", None),
            ("retry-after", "Sun, 06 anF 1994 08:49:47 GMT", None),
            ("retry-after", "Sun, 06 Nov 1994 25:49:47 GMT", None),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 CET", None),
            ("other", "4", None),
        ];
        for (name, value, expected) in table {
            let header = |asked: &str| (asked == name).then_some(value);
            assert_eq!(told(header, now), expected, "of {name}: {value}");
        }
    }

    #[test]
    fn waits_are_shown_in_a_unit_that_fits() {
        let ms = Duration::from_millis;
        let told = [0, 250, 1_000, 3_100, 119_000, 120_000, 3_600_000].map(|w| shown(ms(w)));
        assert_eq!(told, ["0 ms", "250 ms", "1 s", "4 s", "119 s", "2 min", "60 min"]);
    }
}
