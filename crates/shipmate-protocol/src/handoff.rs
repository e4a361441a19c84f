//! A handoff as somebody writes it: JSON with any of `summary`, `done`, `left`, `commands`, `surprises` and
//! `interfaces`, or plain text, which is its summary.
//!
//! A list may be one text, and a command its line alone: models write both. Anything else is refused with
//! the field that is wrong; nothing is left out in silence. What begins as an object is never taken for plain
//! text: JSON that was cut would reach others as if somebody had written it so.

use serde_json::{Map, Value};
use shipmate_model::Code;
use shipmate_model::handoff::{CommandRun, Handoff};
use shipmate_model::limits::HANDOFF_BYTES_MAX;

use crate::refused::{Refused, refused};

/// Longest JSON of a handoff that is looked at, in bytes: what it says may be written with escapes.
pub const JSON_BYTES_MAX: usize = 8 * HANDOFF_BYTES_MAX;

const SHAPE: &str = "write plain text, or {\"summary\":\"…\",\"done\":[\"…\"],\"left\":[\"…\"],\
    \"commands\":[{\"command\":\"…\",\"exit\":0,\"result\":\"…\"}],\"surprises\":[\"…\"],\
    \"interfaces\":[\"…\"]}; each part may be left out";

/// The handoff in a file, or in an argument.
pub fn parse(json: &[u8]) -> Result<Handoff, Refused> {
    if json.len() > JSON_BYTES_MAX {
        let size = json.len();
        let text = format!("the handoff is {size} bytes and the limit is {HANDOFF_BYTES_MAX}");
        let remedy =
            "say it shorter; what is long goes into a file of the work, named in the handoff";
        return Err(refused(Code::OverLimit, text, remedy));
    }
    let text = std::str::from_utf8(json).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| bad("is no text in UTF-8"))?.trim();
    match serde_json::from_str(text) {
        Ok(value) => read(value),
        Err(_) if text.is_empty() => Err(bad("is empty")),
        Err(error) if text.starts_with('{') => Err(bad(&format!("is no JSON: {error}"))),
        Err(_) => checked(Handoff { summary: text.to_owned(), ..Handoff::default() }),
    }
}

/// The same from JSON that was read already; text is looked at as a file of it would be.
pub fn read(value: Value) -> Result<Handoff, Refused> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::String(text) => return parse(text.as_bytes()),
        other => return Err(bad(&format!("is {} and no object", kind(&other)))),
    };
    let mut handoff = Handoff::default();
    for (name, value) in fields {
        match name.as_str() {
            "summary" => handoff.summary = summary(value)?,
            "done" => handoff.done = texts("done", value)?,
            "left" => handoff.left = texts("left", value)?,
            "surprises" => handoff.surprises = texts("surprises", value)?,
            "interfaces" | "interfaces_changed" => handoff.interfaces = texts("interfaces", value)?,
            "commands" | "commands_run" => handoff.commands = commands(value)?,
            other => {
                let other: String = other.chars().take(40).collect();
                return Err(bad(&format!("has an unknown part {other:?}")));
            }
        }
    }
    checked(handoff)
}

fn checked(handoff: Handoff) -> Result<Handoff, Refused> {
    let refusal = |refusal: shipmate_model::Refusal| {
        refused(refusal.code(), refusal.to_string(), &refusal.remedy().unwrap_or_default())
    };
    handoff.check().map_err(refusal)?;
    Ok(handoff)
}

fn summary(value: Value) -> Result<String, Refused> {
    match value {
        Value::Null => Ok(String::new()),
        value => text("summary", value),
    }
}

fn bad(what: &str) -> Refused {
    refused(Code::BadHandoff, format!("the handoff {what}"), SHAPE)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "plain text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        other => vec![other],
    }
}

fn texts(part: &str, value: Value) -> Result<Vec<String>, Refused> {
    let mut texts = Vec::new();
    for item in items(value) {
        let text = text(part, item)?;
        if !text.is_empty() {
            texts.push(text);
        }
    }
    Ok(texts)
}

fn text(part: &str, value: Value) -> Result<String, Refused> {
    match value {
        Value::String(text) => Ok(text.trim().to_owned()),
        other => Err(bad(&format!("has {} in {part:?} where text belongs", kind(&other)))),
    }
}

fn commands(value: Value) -> Result<Vec<CommandRun>, Refused> {
    let mut runs = Vec::new();
    for item in items(value) {
        runs.push(match item {
            Value::Object(fields) => command(fields)?,
            other => CommandRun { command: text("commands", other)?, ..CommandRun::default() },
        });
    }
    Ok(runs)
}

fn command(fields: Map<String, Value>) -> Result<CommandRun, Refused> {
    let mut run = CommandRun::default();
    for (name, value) in fields {
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("command" | "cmd", value) => run.command = text("commands.command", value)?,
            ("result" | "output", value) => run.result = text("commands.result", value)?,
            ("exit" | "exit_code" | "code", value) => run.exit = Some(exit(&value)?),
            (other, _) => {
                let other: String = other.chars().take(40).collect();
                return Err(bad(&format!("has an unknown field {other:?} in \"commands\"")));
            }
        }
    }
    match run.command.is_empty() {
        true => Err(bad("has an entry in \"commands\" that names no command")),
        false => Ok(run),
    }
}

fn exit(value: &Value) -> Result<i32, Refused> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64().and_then(|number| i32::try_from(number).ok()),
    };
    number.ok_or_else(|| {
        bad(&format!("has {} in \"exit\" where a whole number belongs", kind(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        parse(json.as_bytes()).expect_err(json).message
    }

    #[test]
    fn a_handoff_is_read_in_the_ways_that_models_write_it() {
        let whole = r#"{"done":["parser"],"left":"errors","commands":["make",
            {"command":"cargo test","exit_code":"1","output":"2 failed"}],"surprises":[],
            "interfaces_changed":["parse() takes &str"]}"#;
        let handoff = parse(whole.as_bytes()).expect("it is one");
        assert_eq!(
            handoff.to_string(),
            "done: parser\nleft: errors\ncommands: `make`; `cargo test` exit 1, 2 failed\n\
             interfaces: parse() takes &str"
        );
        let quoted = Value::String(whole.to_owned());
        assert_eq!(read(quoted).expect("so is its text"), handoff);
    }

    #[test]
    fn plain_text_is_the_summary() {
        for (text, summary) in [
            ("  all done\n\nbut the docs\n", "all done\n\nbut the docs"),
            ("\"all done\"", "all done"),
            (r#""\"all done\"""#, "all done"),
            (r#"A "quoted" word"#, r#"A "quoted" word"#),
            (r#""quoted" words"#, r#""quoted" words"#),
            ("[x] the parser", "[x] the parser"),
            (r#"{"summary":" all done ","left":null}"#, "all done"),
        ] {
            let handoff = Handoff { summary: summary.to_owned(), ..Handoff::default() };
            assert_eq!(parse(text.as_bytes()).expect(text), handoff, "{text}");
        }
        let whole = parse(br#"{"done":["a"],"summary":"b"}"#).expect("it is one");
        assert_eq!(whole.to_string(), "summary: b\ndone: a");
        parse("x".repeat(HANDOFF_BYTES_MAX).as_bytes()).expect("it just fits");
        let over = refusal(&"x".repeat(HANDOFF_BYTES_MAX + 1));
        assert_eq!(over, "the handoff is 16385 bytes and the limit is 16384");
    }

    #[test]
    fn what_is_no_handoff_is_refused_with_the_part_that_is_wrong() {
        for (json, fact) in [
            ("", "the handoff is empty"),
            (" \n", "the handoff is empty"),
            ("\" \"", "the handoff is empty"),
            ("all\0done", "the handoff is no text in UTF-8"),
            ("{done}", "the handoff is no JSON: key must be a string at line 1 column 2"),
            (
                r#"{"done":["a"#,
                "the handoff is no JSON: EOF while parsing a string at line 1 column 11",
            ),
            (r#"{"summary":["a"]}"#, "the handoff has a list in \"summary\" where text belongs"),
            ("[\"done\"]", "the handoff is a list and no object"),
            ("null", "the handoff is null and no object"),
            (r#"{"done":[1]}"#, "the handoff has a number in \"done\" where text belongs"),
            (r#"{"done":{"a":1}}"#, "the handoff has an object in \"done\" where text belongs"),
            (r#"{"todo":"x"}"#, "the handoff has an unknown part \"todo\""),
            (
                r#"{"commands":[{"exit":0}]}"#,
                "the handoff has an entry in \"commands\" that names no command",
            ),
            (
                r#"{"commands":[{"command":"a","time":1}]}"#,
                "the handoff has an unknown field \"time\" in \"commands\"",
            ),
            (
                r#"{"commands":[{"command":"a","exit":1.5}]}"#,
                "the handoff has a number in \"exit\" where a whole number belongs",
            ),
        ] {
            assert_eq!(refusal(json), fact, "{json}");
        }
        let binary = parse(&[0xff, 0xfe, 0x00]).expect_err("it is no text");
        assert_eq!(binary.message, "the handoff is no text in UTF-8");
        assert!(binary.remedy.expect("it says how").contains("\"surprises\""));
    }

    #[test]
    fn what_is_over_a_limit_is_refused_and_never_cut() {
        let long = |bytes: usize| format!(r#"{{"done":["{}"]}}"#, "x".repeat(bytes));
        parse(long(HANDOFF_BYTES_MAX).as_bytes()).expect("it just fits");
        let over = refusal(&long(HANDOFF_BYTES_MAX + 1));
        assert_eq!(over, "the handoff is 16385 bytes and the limit is 16384");
        let huge = refusal(&long(1024 * 1024));
        assert_eq!(huge, "the handoff is 1048589 bytes and the limit is 16384");
        let many = format!(r#"{{"left":[{}]}}"#, vec!["\"x\""; 101].join(","));
        assert_eq!(refusal(&many), "the handoff is 101 entries and the limit is 100");
    }
}
