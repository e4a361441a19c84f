//! What a provider's refusal means for the one who asked: wait, shorten, tell a person, give up.
//!
//! Providers agree on statuses only roughly, and servers that imitate them less: where a status
//! says little, the kind and the words of the message decide. Text of a provider is cut, put on
//! one line, and never shows the key, even if the provider repeats it.

use std::time::Duration;

use serde_json::Value;

use super::Failure;

const MESSAGE_CHARS_MAX: usize = 500;

/// Whom a failure is about, for its text.
#[derive(Debug, Clone, Default)]
pub(super) struct Whom {
    pub(super) provider: String,
    pub(super) model: String,
    /// Without user, password and query.
    pub(super) url: String,
    /// Empty where no key is needed.
    pub(super) key_variable: String,
}

/// What the provider said instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Told {
    pub(super) status: u16,
    /// Its type and code, in the provider's words.
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) after: Option<Duration>,
}

impl Told {
    /// The body of an answer that is no success.
    pub(super) fn in_body(status: u16, body: &[u8]) -> Told {
        let told = match serde_json::from_slice(body) {
            Ok(value) => Told::in_json(&value),
            Err(_) => None,
        };
        let plain =
            || Told { message: String::from_utf8_lossy(body).into_owned(), ..Told::default() };
        Told { status, ..told.unwrap_or_else(plain) }
    }

    /// An error in the midst of a stream, or in an answer that began as a success.
    pub(super) fn in_json(value: &Value) -> Option<Told> {
        let value = if value.is_array() { &value[0] } else { value };
        let error = ["error", "detail", "message"].iter().find_map(|name| value.get(name))?;
        if error.is_null() {
            return None;
        }
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let kinds = ["type", "code", "status"].map(|name| text(&error[name]));
        let kind = kinds.iter().filter(|kind| !kind.is_empty()).cloned().collect::<Vec<_>>();
        let message = match &error["message"] {
            Value::Null => text(error),
            message => text(message),
        };
        let coded = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let status = coded.filter(|code| (400..600).contains(code));
        let kind = kind.join(" ");
        Some(Told { status: status.unwrap_or(status_of(&kind)), kind, message, after: None })
    }

    /// On one line, short, and without the key.
    pub(super) fn shown(mut self, key: &str) -> Told {
        self.message = shown(&self.message, key);
        self.kind = shown(&self.kind, key);
        self
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let said = format!("{} {}", self.kind, self.message).to_lowercase();
        words.iter().any(|word| said.contains(word))
    }
}

/// Text of others, for a line that people read.
pub(super) fn shown(text: &str, key: &str) -> String {
    let text = if key.is_empty() { text.to_owned() } else { text.replace(key, "[key]") };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= MESSAGE_CHARS_MAX {
        return text;
    }
    text.chars().take(MESSAGE_CHARS_MAX).chain(['…']).collect()
}

/// In the midst of a stream there is no status, only a name for it.
fn status_of(kind: &str) -> u16 {
    let table = [
        ("overloaded", 529),
        ("rate_limit", 429),
        ("insufficient_quota", 429),
        ("authentication", 401),
        ("permission", 403),
        ("billing", 402),
        ("not_found", 404),
        ("request_too_large", 413),
        ("context", 400),
        ("invalid_request", 400),
    ];
    table.iter().find(|(name, _)| kind.contains(name)).map_or(500, |(_, status)| *status)
}

/// How providers say that a conversation does not fit.
const TOO_LONG: [&str; 13] = [
    "prompt is too long",
    "input is too long",
    "context_length_exceeded",
    "maximum context length",
    "too many tokens",
    "context window",
    "context limit",
    "context size",
    "exceed_context_size_error",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
    "request_too_large",
    "reduce your message size",
];

/// Refusals of a bad status that only money ends.
const UNPAID: [&str; 3] = ["insufficient_quota", "credit balance is too low", "billing_hard_limit"];

pub(super) fn judge(told: &Told, whom: &Whom) -> Failure {
    let Whom { provider, model, url, .. } = whom;
    let Told { status, message, after, .. } = told;
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    match status {
        402 | 429 | 400 | 403 if *status == 402 || told.mentions(&UNPAID) => Failure::Key {
            text: format!(
                "{provider} wants to be paid before it answers ({status}){said}. Waiting does not \
                 help: add credit at the provider, or set another key"
            ),
        },
        401 | 403 => Failure::Key { text: key_text(whom, *status, &said) },
        429 => Failure::TooMany {
            text: format!("{provider} has had too many requests with this key (429){said}"),
            after: *after,
        },
        400 | 413 | 422 | 500 if *status == 413 || told.mentions(&TOO_LONG) => Failure::TooLong {
            text: format!(
                "the conversation is too long for {model} of {provider} ({status}){said}"
            ),
        },
        404 | 405 => {
            let versionless = !url.contains("/v1");
            let hint = if versionless { " (many servers want it to end in /v1)" } else { "" };
            Failure::Final {
                text: format!(
                    "{provider} knows nothing at {url} or no model {model} ({status}){said}. Is \
                     the base URL right{hint}? Is the model's name right?"
                ),
            }
        }
        408 | 409 | 425 | 500.. => Failure::Later {
            text: match status {
                529 | 503 => format!("{provider} is overloaded ({status}){said}"),
                _ => format!("{provider} failed ({status}){said}"),
            },
            after: *after,
        },
        300..=399 => Failure::Final {
            text: format!(
                "{url} of {provider} has moved ({status}){said}. The key is not sent on to another \
                 place: set the base URL to it if it can be trusted"
            ),
        },
        _ => Failure::Final {
            text: format!(
                "{provider} refuses the request to {model} ({status}){said}. Asking again would \
                 not change that: look at the model's settings"
            ),
        },
    }
}

fn key_text(whom: &Whom, status: u16, said: &str) -> String {
    let Whom { provider, model, key_variable, .. } = whom;
    if key_variable.is_empty() {
        return format!(
            "{provider} wants a key ({status}){said}. Name the variable that holds it in the \
             settings of {provider}"
        );
    }
    format!(
        "{provider} does not accept the key in {key_variable} for {model} ({status}){said}. Set \
         {key_variable} to a key that is valid and may use the model, then start again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whom() -> Whom {
        Whom {
            provider: "acme".to_owned(),
            model: "big-1".to_owned(),
            url: "http://acme.test/v1/messages".to_owned(),
            key_variable: "ACME_KEY".to_owned(),
        }
    }

    fn kind(failure: &Failure) -> &'static str {
        match failure {
            Failure::TooMany { .. } => "too many",
            Failure::Later { .. } => "later",
            Failure::TooLong { .. } => "too long",
            Failure::Key { .. } => "key",
            Failure::Final { .. } => "final",
        }
    }

    #[test]
    fn a_refusal_is_told_apart_by_status_kind_and_words() {
        let table: [(u16, &str, &str); 34] = [
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"x"}}"#,
                "key",
            ),
            (403, "Forbidden", "key"),
            (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#, "key"),
            (404, r#"{"detail":"Not Found"}"#, "final"),
            (405, "", "final"),
            (408, "", "later"),
            (409, "", "later"),
            (
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#,
                "too many",
            ),
            (429, r#"{"error":{"code":"insufficient_quota","message":"x"}}"#, "key"),
            (429, "Too many tokens, please wait before trying again.", "too many"),
            (500, "", "later"),
            (502, "<html>Bad Gateway</html>", "later"),
            (503, "", "later"),
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, "later"),
            (413, r#"{"error":{"type":"request_too_large","message":"x"}}"#, "too long"),
            (413, "", "too long"),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 5 > 4"}}"#,
                "too long",
            ),
            (400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#, "too long"),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096"}"#,
                "too long",
            ),
            (
                400,
                r#"{"error":{"type":"exceed_context_size_error","code":400,"message":"x"}}"#,
                "too long",
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The count exceeds the maximum number of tokens"}}]"#,
                "too long",
            ),
            (
                400,
                r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 9 > 8"}}"#,
                "too long",
            ),
            (400, "the request has too many tokens", "too long"),
            (422, r#"{"detail":[{"msg":"larger than the context window"}]}"#, "too long"),
            (500, r#"{"error":"the request exceeds the available context size"}"#, "too long"),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"tools.0: bad"}}"#,
                "final",
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                "key",
            ),
            (400, "", "final"),
            (422, r#"{"detail":"no"}"#, "final"),
            (307, "http://elsewhere.test/", "final"),
            (418, "", "final"),
            (501, "", "later"),
            (425, "", "later"),
            (404, r#"{"error":{"type":"not_found_error","message":"model: big-1"}}"#, "final"),
        ];
        for (status, body, expected) in table {
            let failure = judge(&Told::in_body(status, body.as_bytes()), &whom());
            assert_eq!(kind(&failure), expected, "of {status} {body}");
            assert!(failure.to_string().contains("acme"), "{failure} names its provider");
        }
    }

    #[test]
    fn an_error_in_the_midst_of_a_stream_has_the_status_its_name_stands_for() {
        let table = [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, 529),
            (r#"{"error":{"type":"rate_limit_error","message":"x"}}"#, 429),
            (r#"{"error":{"code":502,"message":"x"}}"#, 502),
            (r#"{"error":{"code":"server_error","message":"x"}}"#, 500),
            (r#"{"error":"out of memory"}"#, 500),
            (r#"{"error":{"type":"invalid_request_error","message":"x"}}"#, 400),
        ];
        for (json, status) in table {
            let told = Told::in_json(&serde_json::from_str(json).unwrap()).unwrap();
            assert_eq!(told.status, status, "of {json}");
        }
        assert_eq!(Told::in_json(&serde_json::json!({"choices": [], "error": null})), None);
        assert_eq!(Told::in_json(&serde_json::json!({"choices": []})), None);
    }

    #[test]
    fn texts_name_the_fact_and_the_remedy() {
        let table = [
            (
                401,
                r#"{"error":{"message":"invalid x-api-key"}}"#,
                "acme does not accept the key in ACME_KEY for big-1 (401): invalid x-api-key. Set \
                 ACME_KEY to a key that is valid and may use the model, then start again",
            ),
            (
                404,
                r#"{"error":{"message":"model: big-1"}}"#,
                "acme knows nothing at http://acme.test/v1/messages or no model big-1 (404): model: \
                 big-1. Is the base URL right? Is the model's name right?",
            ),
            (529, r#"{"error":{"message":"Overloaded"}}"#, "acme is overloaded (529): Overloaded"),
            (500, "", "acme failed (500)"),
            (429, "slow\n down", "acme has had too many requests with this key (429): slow down"),
        ];
        for (status, body, expected) in table {
            let failure = judge(&Told::in_body(status, body.as_bytes()).shown(""), &whom());
            assert_eq!(failure.to_string(), expected);
        }
    }

    #[test]
    fn text_of_a_provider_is_short_and_never_has_the_key() {
        let body = format!("no such key: secret-key-1 {}", "long ".repeat(300));
        let told = Told::in_body(401, body.as_bytes()).shown("secret-key-1");
        assert!(told.message.starts_with("no such key: [key] long long"), "{}", told.message);
        assert_eq!(told.message.chars().count(), 501);
    }
}
