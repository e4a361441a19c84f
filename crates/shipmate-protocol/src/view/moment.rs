//! Moments in milliseconds since 1970, as people and files have them.
//!
//! In UTC: the time zone of the machine would need its database, and teams on several machines would
//! read different times for the same record.

use std::time::{SystemTime, UNIX_EPOCH};

use time::UtcDateTime;
use time::format_description::StaticFormatDescription;
use time::macros::format_description;

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

/// `2026-02-17`.
pub fn date(at_ms: u64) -> String {
    utc(at_ms, format_description!("[year]-[month]-[day]"))
}

/// `2026-02-17T10:30:00Z`, as in ISO 8601.
pub fn iso(at_ms: u64) -> String {
    utc(at_ms, format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z"))
}

/// `10:30:00`.
pub fn time_of_day(at_ms: u64) -> String {
    utc(at_ms, format_description!("[hour]:[minute]:[second]"))
}

/// `2026-02-17 10:30:00 UTC`.
pub fn date_and_time(at_ms: u64) -> String {
    shipmate_model::account::moment(at_ms)
}

/// What is past the last year of four digits is shown as its end.
fn utc(at_ms: u64, form: StaticFormatDescription) -> String {
    let seconds = i64::try_from(at_ms / 1000).unwrap_or(i64::MAX);
    let at = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::MAX);
    at.format(&form).expect("a moment has a date and a time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(iso(1_771_324_200_999), "2026-02-17T10:30:00Z");
        assert_eq!(date(4_102_444_799_000), "2099-12-31");
        assert_eq!(time_of_day(1_794_711_787_000), "03:03:07");
        assert_eq!(date_and_time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date_and_time(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date_and_time(1_794_711_787_000), "2026-11-15 03:03:07 UTC");
        assert_eq!(iso(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
