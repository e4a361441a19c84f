//! The arguments of a call, read field by field.
//!
//! A field is asked for by its name in snake case and found in either case; what was read is
//! taken out, so that what is left is what nobody knows. A field of the wrong type, too long or
//! given twice is `Bad`: it names the field, what was sent and what is expected.

use std::collections::BTreeMap;

use serde_json::Value;

/// Longest text of one field, in bytes; the board's own limit for free text.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest name or reference, in bytes.
const WORD_BYTES_MAX: usize = 300;
/// Most entries of a list of words.
const WORDS_MAX: usize = 1024;
/// Unknown fields that are named.
const REST_SHOWN: usize = 8;
/// How much of a wrong value is shown again.
const SHOWN_CHARS: usize = 80;

/// An argument that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bad {
    pub(crate) field: String,
    pub(crate) sent: String,
    pub(crate) expected: String,
}

impl Bad {
    pub(crate) fn new(field: &str, sent: &Value, expected: &str) -> Bad {
        Bad { field: field.to_owned(), sent: show(sent), expected: expected.to_owned() }
    }

    pub(crate) fn missing(field: &str, expected: &str) -> Bad {
        let (field, sent) = (field.to_owned(), "missing".to_owned());
        Bad { field, sent, expected: expected.to_owned() }
    }

    /// The same about a field inside `outer`.
    pub(crate) fn within(mut self, outer: &str) -> Bad {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

/// A value in a few characters.
fn show(value: &Value) -> String {
    // A long value is cut before it is written out: it may be megabytes.
    let text = match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            return format!("a text of {} bytes", text.len());
        }
        Value::Array(items) if items.len() > SHOWN_CHARS => {
            return format!("a list of {} entries", items.len());
        }
        Value::Object(fields) if fields.len() > SHOWN_CHARS => {
            return format!("an object of {} fields", fields.len());
        }
        value => value.to_string(),
    };
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// By the name in snake case: the name as it was sent, and the value.
    fields: BTreeMap<String, (String, Value)>,
}

impl Arguments {
    pub(crate) fn new(value: Value) -> Result<Arguments, Bad> {
        let object = match value {
            Value::Null => serde_json::Map::new(),
            Value::Object(object) => object,
            other => return Err(Bad::new("arguments", &other, "an object")),
        };
        let mut fields: BTreeMap<String, (String, Value)> = BTreeMap::new();
        for (sent, value) in object {
            let name = snake(&sent);
            match fields.get(&name) {
                Some((first, other)) if *other != value && !value.is_null() && !other.is_null() => {
                    return Err(Bad::new(
                        &sent,
                        &value,
                        &format!("the same as {first}, or neither"),
                    ));
                }
                Some((_, other)) if !other.is_null() => {}
                _ => drop(fields.insert(name, (sent, value))),
            }
        }
        Ok(Arguments { fields })
    }

    /// Takes the first of these fields that is there, `null` included.
    fn take(&mut self, names: &[&str]) -> Result<Option<(String, Value)>, Bad> {
        let mut found: Option<(String, Value)> = None;
        for name in names {
            let Some((sent, value)) = self.fields.remove(*name) else { continue };
            match &found {
                Some((first, other)) if !value.is_null() && !other.is_null() && *other != value => {
                    return Err(Bad::new(
                        &sent,
                        &value,
                        &format!("the same as {first}, or neither"),
                    ));
                }
                Some((_, other)) if !other.is_null() => {}
                _ => found = Some((sent, value)),
            }
        }
        Ok(found)
    }

    /// The value as it was sent; `null` is none.
    pub(crate) fn value(&mut self, names: &[&str]) -> Result<Option<(String, Value)>, Bad> {
        Ok(self.take(names)?.filter(|(_, value)| !value.is_null()))
    }

    /// Looks at a value and leaves it.
    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).map(|(_, value)| value)
    }

    /// Adds a field unless it is there.
    pub(crate) fn add(&mut self, name: &str, value: Value) {
        self.fields.entry(name.to_owned()).or_insert((name.to_owned(), value));
    }

    pub(crate) fn text(&mut self, names: &[&str]) -> Result<Option<String>, Bad> {
        match self.value(names)? {
            Some((field, value)) => text(&field, value).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn required_text(&mut self, names: &[&str], what: &str) -> Result<String, Bad> {
        self.text(names)?.ok_or_else(|| Bad::missing(names[0], what))
    }

    /// A name or other short word; an empty one is none.
    pub(crate) fn word(&mut self, names: &[&str]) -> Result<Option<String>, Bad> {
        match self.value(names)? {
            Some((field, value)) => {
                let word = word(&field, &value)?;
                Ok(Some(word).filter(|word| !word.is_empty()))
            }
            None => Ok(None),
        }
    }

    pub(crate) fn required_word(&mut self, names: &[&str], what: &str) -> Result<String, Bad> {
        self.word(names)?.ok_or_else(|| Bad::missing(names[0], what))
    }

    /// A list of short words; one word alone is a list of one.
    pub(crate) fn words(&mut self, names: &[&str]) -> Result<Option<Vec<String>>, Bad> {
        match self.value(names)? {
            Some((field, value)) => words(&field, value).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn flag(&mut self, names: &[&str]) -> Result<Option<bool>, Bad> {
        let Some((field, value)) = self.value(names)? else { return Ok(None) };
        match &value {
            Value::Bool(flag) => Ok(Some(*flag)),
            Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            _ => Err(Bad::new(&field, &value, "true or false")),
        }
    }

    /// A whole number, also one written as text or with a fraction of zero.
    pub(crate) fn whole(&mut self, names: &[&str]) -> Result<Option<u64>, Bad> {
        let Some((field, value)) = self.value(names)? else { return Ok(None) };
        match whole(&value) {
            Some(number) => Ok(Some(number)),
            None => Err(Bad::new(&field, &value, "a whole number, not negative")),
        }
    }

    /// What each object of a list says, or without one what these arguments say themselves.
    pub(crate) fn each<T>(
        &mut self,
        name: &str,
        max: usize,
        at_least: &str,
        read: impl Fn(&mut Arguments) -> Result<T, Bad>,
    ) -> Result<Vec<T>, Bad> {
        let Some(items) = self.objects(&[name], max)? else { return Ok(vec![read(self)?]) };
        if items.is_empty() {
            return Err(Bad::missing(name, at_least));
        }
        let mut found = Vec::with_capacity(items.len());
        for (place, mut item) in items {
            found.push(read(&mut item).map_err(|bad| bad.within(&place))?);
            self.leave(&place, item);
        }
        Ok(found)
    }

    /// A list of objects, at most `max`.
    pub(crate) fn objects(
        &mut self,
        names: &[&str],
        max: usize,
    ) -> Result<Option<Vec<(String, Arguments)>>, Bad> {
        let Some((field, value)) = self.value(names)? else { return Ok(None) };
        let expected = format!("a list of at most {max} objects");
        // Some models write the list itself as text.
        let value = match &value {
            Value::String(text) if text.trim_start().starts_with('[') => {
                serde_json::from_str(text).unwrap_or(value)
            }
            _ => value,
        };
        let Value::Array(items) = value else { return Err(Bad::new(&field, &value, &expected)) };
        if items.len() > max {
            return Err(Bad::new(&field, &Value::Array(items), &expected));
        }
        let mut found = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let place = format!("{field}[{index}]");
            if !item.is_object() {
                return Err(Bad::new(&place, &item, "an object"));
            }
            let arguments = Arguments::new(item).map_err(|bad| bad.within(&place))?;
            found.push((place, arguments));
        }
        Ok(Some(found))
    }

    /// Takes fields that mean nothing here without a word about them.
    pub(crate) fn skip(&mut self, names: &[&str]) {
        for name in names {
            self.fields.remove(*name);
        }
    }

    /// Takes over what is left of one of its own entries.
    pub(crate) fn leave(&mut self, place: &str, entry: Arguments) {
        for (name, (sent, value)) in entry.fields {
            self.fields.insert(format!("{place}.{name}"), (format!("{place}.{sent}"), value));
        }
    }

    /// What nobody asked for, by the names as sent; the first few.
    pub(crate) fn rest(&self) -> Vec<&str> {
        let given = self.fields.values().filter(|(_, value)| !value.is_null());
        given.map(|(sent, _)| sent.as_str()).take(REST_SHOWN).collect()
    }
}

pub(crate) fn text(field: &str, value: Value) -> Result<String, Bad> {
    match value {
        Value::String(text) if text.len() <= TEXT_BYTES_MAX => Ok(text),
        Value::String(text) => {
            let expected = format!("at most {TEXT_BYTES_MAX} bytes: put the rest into a file");
            Err(Bad::new(field, &Value::String(text), &expected))
        }
        other => Err(Bad::new(field, &other, "a text")),
    }
}

/// A short word: text on one line, or a number.
pub(crate) fn word(field: &str, value: &Value) -> Result<String, Bad> {
    let text = match value {
        Value::String(text) => text.trim(),
        Value::Number(number) if number.is_u64() => return Ok(number.to_string()),
        other => return Err(Bad::new(field, other, "a text or a whole number")),
    };
    if text.len() > WORD_BYTES_MAX || text.contains(['\n', '\r']) {
        let expected = format!("one line of at most {WORD_BYTES_MAX} bytes");
        return Err(Bad::new(field, value, &expected));
    }
    Ok(text.to_owned())
}

fn words(field: &str, value: Value) -> Result<Vec<String>, Bad> {
    let items = match value {
        Value::Array(items) => items,
        // Some models write the list itself as text.
        Value::String(text) if text.trim_start().starts_with('[') => {
            match serde_json::from_str(&text) {
                Ok(Value::Array(items)) => items,
                _ => return Err(Bad::new(field, &Value::String(text), "a list of texts")),
            }
        }
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        one => vec![one],
    };
    if items.len() > WORDS_MAX {
        let expected = format!("a list of at most {WORDS_MAX} entries");
        return Err(Bad::new(field, &Value::Array(items), &expected));
    }
    let named = items.iter().enumerate();
    named.map(|(index, item)| word(&format!("{field}[{index}]"), item)).collect()
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            let whole = float.fract() == 0.0 && (0.0..9.0e15).contains(&float);
            whole.then_some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// `addBlockedBy` is `add_blocked_by`, `taskID` is `task_id`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for c in name.chars().take(WORD_BYTES_MAX) {
        if c.is_ascii_uppercase() && !before.is_ascii_uppercase() && before != '_' {
            snake.push('_');
        }
        snake.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
        before = c;
    }
    snake
}
