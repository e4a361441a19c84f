//! Moments as other formats write them: `2026-02-09T12:03:07Z`.

/// Of milliseconds since 1970.
pub(super) fn date_and_time(ms: u64) -> String {
    let (day, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    format!("{}T{:02}:{:02}:{:02}Z", date(day), second / 3600, second / 60 % 60, second % 60)
}

/// The civil date of a day since 1970, after Howard Hinnant's `civil_from_days`: years begin in
/// March, so that the leap day is the last of its year.
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!("{}-{month:02}-{day:02}", year + era * 400 + u64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    #[test]
    fn moments_are_in_utc_and_leap_days_are_days() {
        assert_eq!(super::date_and_time(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::date_and_time(1_709_234_567_890), "2024-02-29T19:22:47Z");
        assert_eq!(super::date_and_time(1_772_323_199_999), "2026-02-28T23:59:59Z");
    }
}
