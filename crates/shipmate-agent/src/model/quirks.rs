//! What one server does not take, learned from its own refusal and remembered while the model is
//! used: servers that imitate a protocol differ, and no list of them stays right.

use super::verdict::Told;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Quirks {
    /// `max_completion_tokens` instead of `max_tokens`: only the inventor's own models want it.
    pub(super) completion_tokens: bool,
    /// That was learned: a server that refuses both is not asked for ever.
    pub(super) limit_learned: bool,
    pub(super) no_stream_options: bool,
    /// Reasoning goes back with the calls it led to.
    pub(super) reasoning_back: bool,
    /// Thinking without a budget: newer models set it themselves.
    pub(super) adaptive_thinking: bool,
}

impl Quirks {
    pub(super) fn of(host: &str) -> Quirks {
        let inventor = host.ends_with("openai.com") || host.ends_with("openai.azure.com");
        Quirks { completion_tokens: inventor, ..Quirks::default() }
    }

    /// Whether the refusal is about one of these, so that asking again at once helps.
    pub(super) fn learn(&mut self, told: &Told) -> bool {
        if !matches!(told.status, 400 | 422) {
            return false;
        }
        let said = told.message.to_lowercase();
        let unknown = UNKNOWN.iter().any(|word| said.contains(word));
        let limit = if self.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        let before = *self;
        if said.contains("stream_options") {
            self.no_stream_options = true;
        } else if said.contains(limit) && unknown && !self.limit_learned {
            self.completion_tokens = !self.completion_tokens;
            self.limit_learned = true;
        } else if said.contains("reasoning_content") && !unknown {
            self.reasoning_back = true;
        } else if said.contains("thinking") && said.contains("adaptive") {
            self.adaptive_thinking = true;
        }
        *self != before
    }
}

/// How servers say that they do not know a parameter, as opposed to not liking its value.
const UNKNOWN: [&str; 8] = [
    "unsupported",
    "not supported",
    "unknown",
    "unrecognized",
    "unexpected",
    "not permitted",
    "not allowed",
    "additional propert",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_parameter_is_left_out_or_swapped_once() {
        let told = |message: &str| Told { status: 400, message: message.into(), ..Told::default() };
        let base = Quirks::default();
        let learned = |message: &str| {
            let mut quirks = base;
            let again = quirks.learn(&told(message));
            assert!(!quirks.learn(&told(message)), "{message} is learned once");
            again.then_some(quirks)
        };
        let stream = learned("Unknown parameter: stream_options").unwrap();
        assert!(stream.no_stream_options);
        let swapped = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                       'max_completion_tokens' instead.";
        assert!(learned(swapped).unwrap().completion_tokens);
        let missing = "Missing `reasoning_content` field in the assistant message at index 1";
        assert!(learned(missing).unwrap().reasoning_back);
        let adaptive = "\"thinking.type.enabled\" is not supported for this model. Use \
                        \"thinking.type.adaptive\"";
        assert!(learned(adaptive).unwrap().adaptive_thinking);
        for other in ["max_tokens is too large: 9", "tools.0: bad", ""] {
            assert_eq!(learned(other), None, "of {other:?}");
        }
    }

    #[test]
    fn the_inventor_gets_the_new_name_and_a_server_that_refuses_it_the_old_one() {
        let mut quirks = Quirks::of("api.openai.com");
        assert!(quirks.completion_tokens);
        let message = "extra_forbidden: max_completion_tokens: Extra inputs are not permitted";
        let told = Told { status: 422, message: message.to_owned(), ..Told::default() };
        assert!(quirks.learn(&told));
        assert!(!quirks.completion_tokens);
        assert!(!Quirks::of("127.0.0.1").completion_tokens);
    }

    #[test]
    fn only_a_refused_request_teaches() {
        let told = Told { status: 500, message: "stream_options".to_owned(), ..Told::default() };
        assert!(!Quirks::default().learn(&told));
    }
}
