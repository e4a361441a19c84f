//! Changes to JSON as text: a member or an element comes or goes, everything else stays as it was
//! written.

use serde_json::Value;
use shipmate_protocol::json_text::{Span, parse_items, parse_members};

/// Adds a member at the end of a path of keys. It is left alone if it is there already and the
/// same; another one in its place is a refusal.
pub(crate) fn set(text: &str, keys: &[&str], value: &Value) -> Result<String, String> {
    let text = whole(text)?;
    match look(&text, keys)? {
        Some(there) if parse(&text[there.clone()])? == *value => Ok(text),
        Some(_) => Err(format!("{} is there already, with other settings", keys.join("."))),
        None => add(&text, keys, value),
    }
}

/// Removes a member that is as it was added, and the objects around it that are left empty.
pub(crate) fn unset(
    text: &str,
    keys: &[&str],
    is_ours: impl Fn(&Value) -> bool,
) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    match look(text, keys)? {
        Some(there) if is_ours(&parse(&text[there.clone()])?) => cut(text, keys),
        Some(_) => Err(format!("{} was changed since it was added", keys.join("."))),
        None => Ok(text.to_owned()),
    }
}

/// Adds an element to the list at a path of keys, unless it is in it.
pub(crate) fn push(text: &str, keys: &[&str], element: &Value) -> Result<String, String> {
    let text = whole(text)?;
    let Some(list) = look(&text, keys)? else {
        return add(&text, keys, &Value::Array(vec![element.clone()]));
    };
    let items = items(&text, &list)?;
    for item in &items {
        if parse(&text[item.clone()])? == *element {
            return Ok(text);
        }
    }
    let (at, piece) = match items.last() {
        Some(last) => {
            let indent = indent_before(&text, last.start);
            let shown = pretty(element, indent.unwrap_or_default());
            (
                last.end,
                indent.map_or(format!(", {element}"), |indent| format!(",\n{indent}{shown}")),
            )
        }
        None => (list.start + 1, element.to_string()),
    };
    Ok(splice(&text, at..at, &piece))
}

/// Removes one such element from the list, and the list and the objects around it if nothing is
/// left.
pub(crate) fn pull(
    text: &str,
    keys: &[&str],
    is_ours: impl Fn(&Value) -> bool,
) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let Some(list) = look(text, keys)? else { return Ok(text.to_owned()) };
    let items = items(text, &list)?;
    for (n, item) in items.iter().enumerate() {
        if !is_ours(&parse(&text[item.clone()])?) {
            continue;
        }
        if items.len() == 1 {
            return cut(text, keys);
        }
        // With the comma before it, or the one behind it where it is the first.
        let gone = match n {
            0 => item.start..items[1].start,
            n => items[n - 1].end..item.end,
        };
        return Ok(splice(text, gone, ""));
    }
    Ok(text.to_owned())
}

/// An absent file is an empty object.
fn whole(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok("{}\n".to_owned());
    }
    look(text, &[]).map(|_| text.to_owned())
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))
}

/// Where the value at this path is.
fn look(text: &str, keys: &[&str]) -> Result<Option<Span>, String> {
    let start = text.len() - text.trim_start().len();
    let mut there = start..start + text.trim().len();
    parse(&text[there.clone()])?;
    for key in keys {
        match members(text, &there)?.into_iter().rfind(|(own, _)| own == key) {
            Some((_, value)) => there = value,
            None => return Ok(None),
        }
    }
    Ok(Some(there))
}

fn members(text: &str, object: &Span) -> Result<Vec<(String, Span)>, String> {
    parse_members(text, object).map_err(|e| format!("an object is expected: {e}"))
}

fn items(text: &str, list: &Span) -> Result<Vec<Span>, String> {
    parse_items(text, list).map_err(|e| format!("a list is expected: {e}"))
}

fn splice(text: &str, at: Span, piece: &str) -> String {
    format!("{}{piece}{}", &text[..at.start], &text[at.end..])
}

/// The blanks before this place, if it is the first in its line.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[line..at];
    (line > 0 && before.trim().is_empty()).then_some(before)
}

fn pretty(value: &Value, indent: &str) -> String {
    let shown = serde_json::to_string_pretty(value).expect("a value is JSON");
    shown.replace('\n', &format!("\n{indent}"))
}

/// Adds what is missing of a path, with the value at its end.
fn add(text: &str, keys: &[&str], value: &Value) -> Result<String, String> {
    let mut known = 0;
    while look(text, &keys[..known + 1])?.is_some() {
        known += 1;
    }
    let object = look(text, &keys[..known])?.expect("it was found above");
    let members = members(text, &object)?;
    let missing = keys[known + 1..].iter().rev();
    let value = missing.fold(value.clone(), |inner, key| serde_json::json!({ *key: inner }));
    let key = Value::from(keys[known]);
    let Some((_, last)) = members.last() else {
        let outer = indent_before(text, object.start).unwrap_or_default();
        let outer = if known == 0 { "" } else { line_indent(text, object.start).unwrap_or(outer) };
        let indent = format!("{outer}  ");
        let piece = format!("{{\n{indent}{key}: {}\n{outer}}}", pretty(&value, &indent));
        return Ok(splice(text, object, &piece));
    };
    let start = key_start(text, last.start);
    let piece = match indent_before(text, start) {
        Some(indent) => format!(",\n{indent}{key}: {}", pretty(&value, indent)),
        None => format!(", {key}: {value}"),
    };
    Ok(splice(text, last.end..last.end, &piece))
}

/// The blanks at the beginning of the line that this place is in.
fn line_indent(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line..at];
    let blanks = rest.len() - rest.trim_start().len();
    Some(&rest[..blanks])
}

/// Where the key of the value at this place begins.
fn key_start(text: &str, value: usize) -> usize {
    let before = text[..value].trim_end().strip_suffix(':').unwrap_or_default().trim_end();
    let inside = before.strip_suffix('"').unwrap_or_default();
    let mut end = inside.len();
    // A quote behind an odd number of backslashes is part of the key.
    while let Some(at) = inside[..end].rfind('"') {
        let slashes = inside[..at].len() - inside[..at].trim_end_matches('\\').len();
        if slashes.is_multiple_of(2) {
            return at;
        }
        end = at;
    }
    0
}

/// Removes a member, and the objects around it that it leaves empty.
fn cut(text: &str, keys: &[&str]) -> Result<String, String> {
    let (_, outer) = keys.split_last().expect("a member has a key");
    let object = look(text, outer)?.expect("the member is in it");
    let value = look(text, keys)?.expect("the member is there");
    let all: Vec<Span> = members(text, &object)?.into_iter().map(|(_, span)| span).collect();
    if all.len() == 1 {
        return match outer {
            [] => Ok(splice(text, object, "{}")),
            outer => cut(text, outer),
        };
    }
    let n = all.iter().position(|member| *member == value).expect("it is one of them");
    let gone = match n {
        0 => key_start(text, value.start)..key_start(text, all[1].start),
        n => all[n - 1].end..value.end,
    };
    Ok(splice(text, gone, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SAMPLES: [&str; 7] = [
        "",
        "{}\n",
        "{\n  \"mcpServers\": {\n    \"other\": { \"command\": \"o\" }\n  },\n  \"z\": 1\n}\n",
        "{\"a\":1,\"hooks\":{\"Stop\":[{\"hooks\":[]}]},\"b\":[1,2]}",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"matcher\": \"x\" }\n\t\t]\n\t}\n}",
        "{\n    \"we\\\"ird: {\": \"}]\",\n    \"hooks\": {}\n}\n",
        "{ \"hooks\": { \"Stop\": [] }, \"mcpServers\": {} }\n",
    ];

    #[test]
    fn what_is_added_is_there_and_everything_else_is_as_it_was() {
        let (server, hook) = (json!({ "command": "shipmate" }), json!({ "hooks": [1] }));
        for text in SAMPLES {
            let added = set(text, &["mcpServers", "shipmate"], &server).unwrap();
            let added = push(&added, &["hooks", "Stop"], &hook).unwrap();
            let again = set(&added, &["mcpServers", "shipmate"], &server).unwrap();
            assert_eq!(push(&again, &["hooks", "Stop"], &hook).unwrap(), added, "twice is once");
            let mut value = parse(&added).unwrap();
            assert_eq!(value["mcpServers"]["shipmate"], server, "{added}");
            let list = value["hooks"]["Stop"].as_array_mut().unwrap();
            assert_eq!(list.pop(), Some(hook.clone()), "{added}");
            let removed = pull(&added, &["hooks", "Stop"], |one| *one == hook).unwrap();
            let removed =
                unset(&removed, &["mcpServers", "shipmate"], |one| *one == server).unwrap();
            if !text.contains("{}") && !text.contains("[]") && !text.is_empty() {
                assert_eq!(removed, text);
            }
            assert!(!removed.contains("shipmate"), "{removed}");
            parse(&removed).unwrap();
        }
    }

    #[test]
    fn it_is_taken_back_from_a_file_that_was_edited_meanwhile() {
        let hook = json!({ "hooks": [1] });
        let added = push("{\n  \"a\": 1\n}\n", &["hooks", "Stop"], &hook).unwrap();
        let edited = added.replace("\"a\": 1", "\"a\": 2,\n  \"mine\": [ 1,2 ]");
        let edited = push(&edited, &["hooks", "Stop"], &json!("mine too")).unwrap();
        let back = pull(&edited, &["hooks", "Stop"], |one| *one == hook).unwrap();
        assert!(back.starts_with("{\n  \"a\": 2,\n  \"mine\": [ 1,2 ],\n"), "{back}");
        assert_eq!(parse(&back).unwrap()["hooks"], json!({ "Stop": ["mine too"] }));
    }

    #[test]
    fn what_is_no_json_or_of_another_shape_is_refused() {
        let value = json!(1);
        assert!(set("{", &["a", "b"], &value).unwrap_err().contains("it is no JSON"));
        assert!(set("[]", &["a", "b"], &value).is_err());
        assert!(set("{\"a\": 3}", &["a", "b"], &value).is_err());
        assert!(push("{\"a\": {\"b\": {}}}", &["a", "b"], &value).is_err());
        let other = set("{\"a\": {\"b\": 2}}", &["a", "b"], &value).unwrap_err();
        assert_eq!(other, "a.b is there already, with other settings");
        assert!(unset("{\"a\": {\"b\": 2}}", &["a", "b"], |one| *one == value).is_err());
    }
}
