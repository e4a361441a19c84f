//! Accounts: what a provider meters, a subscription's login or a key, and what is known of its windows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::Actor;

/// A span of time in which an account may use so much.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// As it is shown: `5 hours`, `week`.
    pub name: String,
    /// Thousandths that are used; more than 1,000 where a provider lets one pass the limit. Nothing
    /// means that it is not known any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u32>,
    /// Wall clock in milliseconds; nothing where nobody has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<u64>,
    /// A limit of pace, as requests a minute. It is shown and holds nobody back: there is room again before
    /// anybody could be told to wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pace: bool,
}

/// A reset is told as so many seconds from now by some, and counted from there by clocks that differ: two that
/// lie closer together are one.
pub const SAME_RESET_MS: u64 = 5 * 60 * 1000;

/// How far the windows of an account have moved since somebody began to look, over all resets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved(BTreeMap<String, Course>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Course {
    used: u32,
    resets_at: Option<u64>,
    moved: u32,
    /// Told by the runtime alone, which has it from before: what is used by now, the first teammate tells.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_early: bool,
}

impl Moved {
    /// What was told next. What the first teammate says was used before.
    pub fn told(&mut self, windows: &[Window], by: &Actor) {
        let is_early = *by == Actor::Runtime;
        for Window { name, used, resets_at, .. } in windows.iter().filter(|window| !window.pace) {
            let (Some(used), resets_at) = (*used, *resets_at) else { continue };
            let first = Course { used, resets_at, moved: 0, is_early };
            let course = self.0.entry(name.clone()).or_insert(first);
            if course.is_early {
                // All windows are told where one of them is new.
                let is_new = (course.used, course.resets_at) != (used, resets_at);
                *course = if is_new { first } else { *course };
                continue;
            }
            // Several programs tell of one span, and not in the order of their requests.
            let before = match (course.resets_at, resets_at) {
                (Some(known), Some(reset)) if reset > known + SAME_RESET_MS => 0,
                // Of a span that is over, or of another meter.
                (Some(known), Some(reset)) if reset + SAME_RESET_MS < known => continue,
                _ => course.used,
            };
            course.moved = course.moved.saturating_add(used.saturating_sub(before));
            (course.used, course.resets_at) = (used.max(before), resets_at.or(course.resets_at));
        }
    }

    /// Each window by its name, with the thousandths of it that were used.
    pub fn shares(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, course)| (name.as_str(), course.moved))
    }

    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

impl Window {
    /// `5 hours 80.5 %`.
    pub fn describe(&self) -> String {
        match self.used {
            Some(used) => format!("{} {}", self.name, percent(used)),
            None => self.name.clone(),
        }
    }
}

/// Thousandths as people read them.
pub fn percent(thousandths: u32) -> String {
    match thousandths % 10 {
        0 => format!("{} %", thousandths / 10),
        tenth => format!("{}.{tenth} %", thousandths / 10),
    }
}

/// `2026-02-17 10:30:00 UTC`.
pub fn moment(at_ms: u64) -> String {
    // The last second with a year of four digits.
    let seconds = (at_ms / 1_000).min(253_402_300_799);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that a leap day is the last of one; an era has 400 of them.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month < 3);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// How much of an account's windows a team may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// From here on no new task is taken; thousandths, as all of these.
    pub soft: u32,
    /// From here on nothing is asked of a model.
    pub hard: u32,
    /// As much below the hard cap all but leads stop.
    pub lead: u32,
    /// A task is taken only where there is room for it beside those that are begun, by what tasks took so
    /// far.
    pub escrow: bool,
    /// Work goes on by itself when the account has room again.
    pub resumes: bool,
}

impl Default for Caps {
    fn default() -> Caps {
        Caps { soft: 900, hard: 980, lead: 30, escrow: true, resumes: true }
    }
}

impl Caps {
    pub fn is_default(&self) -> bool {
        *self == Caps::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (at, shown) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_340_000, "2000-02-28 23:59:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (951_868_800_000, "2000-03-01 00:00:00 UTC"),
            (1_794_711_787_000, "2026-11-15 03:03:07 UTC"),
            (4_102_444_799_000, "2099-12-31 23:59:59 UTC"),
            (u64::MAX, "9999-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(moment(at), shown);
        }
    }

    #[test]
    fn what_was_used_of_a_window_is_counted_over_its_resets() {
        let mut moved = Moved::default();
        let (first, next) = (Some(0), Some(900_000));
        for (used, resets_at) in [
            (200, first),
            (250, Some(1)),
            (240, None),
            (300, first),
            (50, next),
            // Of the span before, and late.
            (310, first),
            (70, next),
        ] {
            let window = Window { name: "week".into(), used: Some(used), resets_at, pace: false };
            moved.told(&[window], &Actor::Outside);
        }
        assert_eq!(moved.shares().collect::<Vec<_>>(), [("week", 100 + 70)]);
    }

    #[test]
    fn what_was_used_before_the_first_teammate_tells_is_not_counted() {
        let mut moved = Moved::default();
        let window = |name: &str, used| {
            let (name, used, resets_at) = (name.to_owned(), Some(used), Some(900_000));
            Window { name, used, resets_at, pace: false }
        };
        let teammate = Actor::Teammate("alpha/ana@1".parse().unwrap());
        for (by, week, hours) in [
            (&Actor::Runtime, 100, 50),
            (&Actor::Runtime, 120, 50),
            // Of the week nothing new.
            (&teammate, 120, 60),
            (&teammate, 350, 70),
            (&Actor::Runtime, 360, 70),
        ] {
            moved.told(&[window("week", week), window("5 hours", hours)], by);
        }
        assert_eq!(moved.shares().collect::<Vec<_>>(), [("5 hours", 10), ("week", 10)]);
    }

    #[test]
    fn thousandths_are_shown_in_per_cent() {
        assert_eq!(
            [0, 5, 800, 805, 1_200].map(percent),
            ["0 %", "0.5 %", "80 %", "80.5 %", "120 %"]
        );
    }
}
