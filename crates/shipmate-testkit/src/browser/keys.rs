//! Keys as a keyboard sends them.

use serde_json::{Value, json};

/// The events of one stroke, written as `j`, `?`, `Enter`, `Shift+Tab` or `Control+Enter`.
pub(crate) fn stroke(keys: &str) -> [Value; 2] {
    // A plus is a key too, when nothing is before it.
    let (held, key) = match keys.rsplit_once('+') {
        Some((held, key)) if !held.is_empty() && !key.is_empty() => (held, key),
        _ => ("", keys),
    };
    let modifiers: u32 = held.split('+').filter(|name| !name.is_empty()).map(modifier).sum();
    let (code, number, text) = named(key).unwrap_or_else(|| character(key));
    let mut down = json!({
        "type": "keyDown", "key": key, "code": code, "modifiers": modifiers,
        "windowsVirtualKeyCode": number,
    });
    // With Control held a key is a command, not text.
    if !text.is_empty() && modifiers & !SHIFT == 0 {
        down["text"] = text.into();
    }
    let mut up = down.clone();
    up["type"] = "keyUp".into();
    [down, up]
}

const SHIFT: u32 = 8;

fn modifier(name: &str) -> u32 {
    match name {
        "Alt" => 1,
        "Control" => 2,
        "Meta" => 4,
        "Shift" => SHIFT,
        _ => panic!("{name} is no key that is held"),
    }
}

fn named(key: &str) -> Option<(String, u32, String)> {
    let (number, text) = match key {
        "Enter" => (13, "\r"),
        "Tab" => (9, ""),
        "Escape" => (27, ""),
        "Backspace" => (8, ""),
        "Delete" => (46, ""),
        "PageUp" => (33, ""),
        "PageDown" => (34, ""),
        "End" => (35, ""),
        "Home" => (36, ""),
        "ArrowLeft" => (37, ""),
        "ArrowUp" => (38, ""),
        "ArrowRight" => (39, ""),
        "ArrowDown" => (40, ""),
        _ => return None,
    };
    Some((key.to_owned(), number, text.to_owned()))
}

fn character(key: &str) -> (String, u32, String) {
    let mut all = key.chars();
    let (Some(one), None) = (all.next(), all.next()) else { panic!("{key} is no key") };
    let upper = one.to_ascii_uppercase();
    let (code, number) = match one {
        'a'..='z' | 'A'..='Z' => (format!("Key{upper}"), upper as u32),
        '0'..='9' => (format!("Digit{one}"), one as u32),
        ' ' => ("Space".to_owned(), 32),
        '/' | '?' => ("Slash".to_owned(), 191),
        '\n' => return named("Enter").expect("Enter has a name"),
        _ => (String::new(), 0),
    };
    (code, number, key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_as_a_page_names_it() {
        for (keys, key, code, modifiers, text) in [
            ("j", "j", "KeyJ", 0, Some("j")),
            ("Enter", "Enter", "Enter", 0, Some("\r")),
            ("Shift+Tab", "Tab", "Tab", 8, None),
            ("Control+Enter", "Enter", "Enter", 2, None),
            ("?", "?", "Slash", 0, Some("?")),
            ("+", "+", "", 0, Some("+")),
        ] {
            let [down, up] = stroke(keys);
            assert_eq!(down["key"], key);
            assert_eq!(down["code"], code);
            assert_eq!(down["modifiers"], modifiers);
            assert_eq!(down.get("text").and_then(Value::as_str), text);
            assert_eq!(up["type"], "keyUp");
        }
    }
}
