//! What the server's answer to a publish means.
//!
//! Only what is known for certain is told apart. Everything else is unknown, and an unknown answer
//! is safe to act on: the caller reads the tail, and the condition on the next publish decides.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use std::error::Error as _;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Another message came first; nothing was stored.
    Conflict,
    /// A limit was reached; nothing was stored.
    Full(String),
    /// Over a size limit that was set after the log was opened; nothing was stored.
    TooLarge,
    /// No answer, or one that does not say.
    Unknown(String),
}

pub(super) fn classify(error: &PublishError) -> Answer {
    // The client library knows only the first of the two codes for a conflict; the second, which
    // replicated streams also give, arrives as "other".
    let code = error
        .source()
        .and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>())
        .map(|answer| (answer.error_code(), answer.to_string()));
    match (error.kind(), code) {
        (PublishErrorKind::MaxPayloadExceeded, _) => Answer::TooLarge,
        (_, Some((code, reason))) => match code {
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE
            | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => Answer::Conflict,
            ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM => Answer::TooLarge,
            ErrorCode::STREAM_STORE_FAILED
            | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
            | ErrorCode::INSUFFICIENT_RESOURCES
            | ErrorCode::STORAGE_RESOURCES_EXCEEDED
            | ErrorCode::MEMORY_RESOURCES_EXCEEDED
            | ErrorCode::STREAM_MAX_STREAM_BYTES_EXCEEDED => Answer::Full(reason),
            _ => Answer::Unknown(reason),
        },
        (_, None) => Answer::Unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u64) -> Answer {
        let answer = serde_json::json!({ "code": 400, "err_code": code, "description": "no" });
        let answer: async_nats::jetstream::Error = serde_json::from_value(answer).unwrap();
        classify(&PublishError::with_source(PublishErrorKind::Other, answer))
    }

    #[test]
    fn both_codes_for_a_wrong_last_sequence_are_conflicts() {
        assert_eq!(answered(10071), Answer::Conflict);
        assert_eq!(answered(10164), Answer::Conflict);
    }

    #[test]
    fn limits_mean_that_nothing_was_stored() {
        for code in [10077, 10002, 10023, 10047, 10028] {
            assert!(matches!(answered(code), Answer::Full(_)), "{code}");
        }
        assert_eq!(answered(10054), Answer::TooLarge);
        let oversize = PublishError::new(PublishErrorKind::MaxPayloadExceeded);
        assert_eq!(classify(&oversize), Answer::TooLarge);
    }

    #[test]
    fn whatever_leaves_a_doubt_is_unknown() {
        for kind in [
            PublishErrorKind::TimedOut,
            PublishErrorKind::BrokenPipe,
            PublishErrorKind::StreamNotFound,
            PublishErrorKind::Other,
        ] {
            assert!(matches!(classify(&PublishError::new(kind)), Answer::Unknown(_)));
        }
        assert!(matches!(answered(10999), Answer::Unknown(_)));
    }
}
