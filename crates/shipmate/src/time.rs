//! Durations as people write them, and moments as people read them.

pub(crate) use shipmate_protocol::view::moment::{date_and_time, now_ms, time_of_day};
pub(crate) use shipmate_protocol::view::words::duration;

/// Milliseconds of `500ms`, `90s`, `10m`, `2h` or `1d`; a number alone is seconds.
pub(crate) fn parse_duration_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("write it like 500ms, 90s, 10m, 2h or 1d".to_owned()),
    };
    let number: u64 =
        number.parse().map_err(|_| "write it like 500ms, 90s, 10m, 2h or 1d".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "it is longer than can be counted".to_owned())
}

/// A duration for people, in its two largest units: `12s`, `2m10s`, `1h05m`.
pub(crate) fn about(ms: u64) -> String {
    let seconds = ms / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_with_its_unit() {
        for (text, ms) in
            [("500ms", 500), ("90s", 90_000), ("10m", 600_000), ("2h", 7_200_000), ("5", 5_000)]
        {
            assert_eq!(parse_duration_ms(text), Ok(ms), "{text}");
        }
        for bad in ["", "m", "-5s", "1.5h", "10 weeks", "99999999999999999999s"] {
            assert!(parse_duration_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_duration_is_shown_in_its_largest_unit() {
        for (ms, text) in [(1_500, "1500ms"), (90_000, "90s"), (600_000, "10m"), (0, "0ms")] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn a_measured_time_is_shown_in_two_units() {
        for (ms, text) in [(999, "0s"), (12_500, "12s"), (130_000, "2m10s"), (3_900_000, "1h05m")] {
            assert_eq!(about(ms), text);
        }
    }
}
