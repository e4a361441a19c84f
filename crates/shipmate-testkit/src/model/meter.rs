//! An account that is metered: so many replies in a window, then refusals until the window is reset.
//!
//! Each reply tells how much of the window is used, in the headers of the vendor whose format was
//! asked for, unless the account is one that tells nothing. The reset is told as a time, and comes
//! when a test says so: the model's clock is the test's.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::wire::Wire;

/// A window of five hours that holds so many replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    pub replies: u32,
    /// When it is told to be reset, in seconds since 1970; nothing where no time is told.
    pub resets_at: Option<u64>,
    /// Replies tell how much is used.
    pub tells: bool,
    /// They tell how much of it, and not only whether there is room and until when.
    pub shares: bool,
    pub(crate) used: u32,
}

impl Meter {
    #[must_use]
    pub fn new(replies: u32, resets_at: Option<u64>) -> Meter {
        Meter { replies, resets_at, tells: true, shares: true, used: 0 }
    }

    /// Whether there is room for one more, and counts it.
    pub(crate) fn takes(&mut self) -> bool {
        let takes = self.used < self.replies;
        self.used += u32::from(takes);
        takes
    }

    /// Of a reply that it took, or of one that it did not.
    pub(crate) fn tell(&self, wire: &Wire, takes: bool, headers: &mut HeaderMap) {
        if !self.tells {
            return;
        }
        let used = f64::from(self.used) / f64::from(self.replies.max(1));
        let status = if takes { "allowed" } else { "rejected" };
        let mut add = |name: &'static str, value: String| {
            let value = HeaderValue::from_str(&value).expect("it is plain text");
            headers.insert(HeaderName::from_static(name), value);
        };
        match wire {
            Wire::Anthropic => {
                add("anthropic-ratelimit-unified-status", status.to_owned());
                add("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned());
                add("anthropic-ratelimit-unified-5h-status", status.to_owned());
                if self.shares {
                    add("anthropic-ratelimit-unified-5h-utilization", format!("{used:.2}"));
                }
                if let Some(at) = self.resets_at {
                    add("anthropic-ratelimit-unified-reset", at.to_string());
                    add("anthropic-ratelimit-unified-5h-reset", at.to_string());
                }
            }
            Wire::Responses => {
                add("x-codex-primary-used-percent", format!("{:.1}", used * 100.0));
                add("x-codex-primary-window-minutes", "300".to_owned());
                if let Some(at) = self.resets_at {
                    add("x-codex-primary-reset-at", at.to_string());
                }
            }
            _ => {
                let left = u64::from(self.replies - self.used.min(self.replies));
                add("x-ratelimit-limit-requests", self.replies.to_string());
                add("x-ratelimit-remaining-requests", left.to_string());
            }
        }
    }

    /// What the vendor of Codex says of a login's windows to whoever asks for that alone.
    pub(crate) fn account(&self) -> Value {
        let percent = u64::from(self.used) * 100 / u64::from(self.replies.max(1));
        let is_full = self.used >= self.replies;
        let window = json!({
            "used_percent": percent, "limit_window_seconds": 18_000, "reset_after_seconds": 60,
            "reset_at": self.resets_at.unwrap_or_default(),
        });
        json!({
            "plan_type": "plus",
            "rate_limit": {
                "allowed": !is_full, "limit_reached": is_full, "primary_window": window,
                "secondary_window": null,
            },
        })
    }

    /// What a vendor says to a request that there is no room for.
    pub(crate) fn refusal(&self, wire: &Wire) -> Value {
        match wire {
            Wire::Responses => {
                let text = "The usage limit has been reached";
                let mut error = json!({
                    "type": "usage_limit_reached", "message": text, "plan_type": "plus",
                });
                if let Some(at) = self.resets_at {
                    error["resets_at"] = at.into();
                }
                json!({ "error": error })
            }
            wire => wire.error(429, "This request would exceed your account's rate limit."),
        }
    }
}
