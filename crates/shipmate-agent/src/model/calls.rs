//! Tool calls as models write them, and as they are sent back.
//!
//! What must hold: whatever a model wrote, a call has an id that no other call of the
//! conversation has, and what is sent back is accepted by the provider: a name of the allowed
//! letters, arguments that are a JSON object.

use serde_json::{Value, json};

use super::Stop;
use crate::message::{Arguments, Block, Call};

/// Nine letters and digits: the strictest provider allows nothing else.
const ID_LENGTH: usize = 9;
/// Of arguments that could not be read, this much goes back to the model.
const BROKEN_CHARS_MAX: usize = 2_000;

/// What providers give repeats from turn to turn (`call_0`), or is empty.
pub(super) fn fresh_id() -> String {
    id_of(getrandom::u64().expect("the kernel has random numbers"))
}

pub(super) fn id_of(mut number: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut id = String::with_capacity(ID_LENGTH);
    for _ in 0..ID_LENGTH {
        id.push(char::from(DIGITS[(number % 36) as usize]));
        number /= 36;
    }
    id
}

/// A call whose arguments came as text.
pub(super) fn call(tool: String, text: &str) -> Call {
    Call { id: fresh_id(), tool, arguments: arguments(text) }
}

fn arguments(text: &str) -> Arguments {
    if text.trim().is_empty() {
        return Arguments::Json(json!({}));
    }
    let reason = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => return Arguments::Json(Value::Object(object)),
        Ok(_) => "this is no JSON object".to_owned(),
        Err(error) => error.to_string(),
    };
    Arguments::Broken { text: text.to_owned(), reason }
}

/// A reply that was cut for its length may have lost all arguments of its last call, which would
/// then look like a call without any.
pub(super) fn mark_cut(blocks: &mut [Block], stop: Stop) {
    if stop != Stop::Length {
        return;
    }
    let Some(Block::Call(last)) = blocks.last_mut() else { return };
    let reason = "the answer was cut here: it was longer than it may be".to_owned();
    match &mut last.arguments {
        Arguments::Json(Value::Object(object)) if object.is_empty() => {
            last.arguments = Arguments::Broken { text: String::new(), reason };
        }
        Arguments::Json(_) => {}
        Arguments::Broken { reason: told, .. } => *told = reason,
    }
}

/// The arguments as the provider takes them back.
pub(super) fn sent_arguments(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Json(value) => value.clone(),
        Arguments::Broken { text, .. } => {
            json!({"unreadable": text.chars().take(BROKEN_CHARS_MAX).collect::<String>()})
        }
    }
}

/// A model may call tools that do not exist, by names that no provider takes back.
pub(super) fn sent_name(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let sent = name.chars().map(|c| if allowed(c) { c } else { '_' }).take(64);
    let sent: String = sent.collect();
    if sent.is_empty() { "unknown".to_owned() } else { sent }
}

/// Providers refuse results without any text.
pub(super) fn sent_result(text: &str) -> &str {
    if text.trim().is_empty() { "(no output)" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_a_json_object_or_broken() {
        let table = [
            ("", "{}"),
            (" \n", "{}"),
            (r#"{"path":"a"}"#, r#"{"path":"a"}"#),
            ("[1]", "broken: this is no JSON object"),
            ("null", "broken: this is no JSON object"),
            (r#"{"path":"a"#, "broken: EOF while parsing a string at line 1 column 10"),
            ("path=a", "broken: expected value at line 1 column 1"),
            (r#"{"a":1}{"b":2}"#, "broken: trailing characters at line 1 column 8"),
        ];
        for (text, expected) in table {
            let read = match arguments(text) {
                Arguments::Json(value) => value.to_string(),
                Arguments::Broken { text: kept, reason } => {
                    assert_eq!(kept, text);
                    format!("broken: {reason}")
                }
            };
            assert_eq!(read, expected, "of {text:?}");
        }
    }

    #[test]
    fn arguments_that_nest_without_end_are_broken() {
        let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert!(matches!(arguments(&deep), Arguments::Broken { .. }));
    }

    #[test]
    fn a_call_that_was_cut_is_broken_even_without_a_byte_of_arguments() {
        for (text, broken) in [("", true), ("{\"a", true), ("{\"a\":1}", false)] {
            let mut blocks = [Block::Call(call("bash".to_owned(), text))];
            mark_cut(&mut blocks, Stop::Length);
            let [Block::Call(call)] = blocks else { panic!("a call stays a call") };
            assert_eq!(matches!(call.arguments, Arguments::Broken { .. }), broken, "of {text:?}");
        }
        let mut whole = [Block::Call(call("bash".to_owned(), ""))];
        mark_cut(&mut whole, Stop::Calls);
        assert!(matches!(&whole[0], Block::Call(c) if c.arguments == Arguments::Json(json!({}))));
    }

    #[test]
    fn what_goes_back_is_what_providers_take() {
        assert_eq!(sent_name("read_file"), "read_file");
        assert_eq!(sent_name("functions.read file"), "functions_read_file");
        assert_eq!(sent_name(""), "unknown");
        assert_eq!(sent_name(&"a".repeat(100)).len(), 64);
        let broken = Arguments::Broken { text: "é".repeat(3_000), reason: String::new() };
        assert_eq!(sent_arguments(&broken), json!({"unreadable": "é".repeat(2_000)}));
        assert_eq!(sent_result(" \n"), "(no output)");
    }

    #[test]
    fn ids_are_nine_letters_and_differ() {
        let (one, other) = (fresh_id(), fresh_id());
        assert_ne!(one, other);
        assert!(one.len() == 9 && one.chars().all(|c| c.is_ascii_alphanumeric()), "{one}");
        assert_eq!(id_of(0), "000000000");
    }
}
