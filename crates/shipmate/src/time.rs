//! Durations as people write them, and moments as people read them.
//!
//! Moments are shown in UTC: the time zone of the machine would need its database, and teams
//! on several machines would read different times for the same record.

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

/// `12:03:07` of a moment in milliseconds since 1970.
pub(crate) fn time_of_day(at_ms: u64) -> String {
    let seconds = at_ms / 1000 % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `2026-11-15 12:03:07 UTC`.
pub(crate) fn date_and_time(at_ms: u64) -> String {
    let (year, month, day) = date(at_ms / 86_400_000);
    format!("{year}-{month:02}-{day:02} {} UTC", time_of_day(at_ms))
}

/// The civil date of a day since 1970, after Howard Hinnant's `civil_from_days`: years begin in
/// March, so that the leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
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

    #[test]
    fn a_moment_is_shown_in_utc() {
        assert_eq!(date_and_time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date_and_time(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date_and_time(1_794_711_787_000), "2026-11-15 03:03:07 UTC");
    }
}
