//! Moments as files have them: ISO 8601 in UTC.

/// `2026-02-17` of milliseconds since 1970.
pub(super) fn date(at_ms: u64) -> String {
    let (year, month, day) = civil(at_ms / 86_400_000);
    format!("{year}-{month:02}-{day:02}")
}

/// `2026-02-17T10:30:00Z`.
pub(super) fn iso(at_ms: u64) -> String {
    let seconds = at_ms / 1000 % 86_400;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", date(at_ms))
}

/// The civil date of a day since 1970. Years begin in March, so that the leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(iso(1_771_324_200_000), "2026-02-17T10:30:00Z");
        assert_eq!(date(4_102_444_799_000), "2099-12-31");
    }
}
