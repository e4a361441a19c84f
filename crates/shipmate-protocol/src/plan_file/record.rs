//! One record of a plan, whichever format it was written in: named fields with their lines, read
//! one by one with the same rules and the same words for what is wrong.
//!
//! A key that is not known is refused: a misspelt `needs` would be a task that waits for nothing.
//! `null` is the same as a key that is not there. The limits are those of the board, so that a
//! plan that was accepted here is not refused there after half of it was created.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::Format;
use crate::problem::{Place, Problems, nearest, quoted};

/// A key with its meaning first and then other words that people write for it.
pub(super) type Keys = &'static [(&'static str, &'static [&'static str])];

const NAME_BYTES_MAX: usize = 64;
const SUBJECT_BYTES_MAX: usize = 512;
const TEXT_BYTES_MAX: usize = 64 * 1024;
const PATTERN_BYTES_MAX: usize = 1024;
const PATTERNS_MAX: usize = 256;
const PATTERNS_BYTES_MAX: usize = 16 * 1024;
const METADATA_MAX: usize = 64;
/// Words that mean someone else than a member wherever a name may stand.
const RESERVED: [&str; 4] = ["person", "runtime", "all", "lead-of"];

#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) struct Record<'p> {
    format: Format,
    /// As it is called in a message: "a task".
    what: &'static str,
    pub(super) place: Place,
    fields: Vec<Field>,
    keys: Keys,
    /// Known keys that an unknown one was probably meant to be: they are not missing as well.
    misspelt: Vec<&'static str>,
    problems: &'p mut Problems,
}

impl<'p> Record<'p> {
    pub(super) fn new(
        format: Format,
        what: &'static str,
        place: Place,
        fields: Vec<Field>,
        keys: Keys,
        problems: &'p mut Problems,
    ) -> Record<'p> {
        let mut record = Record {
            format,
            what,
            place,
            fields: Vec::new(),
            keys,
            misspelt: Vec::new(),
            problems,
        };
        for field in fields {
            if !keys.iter().any(|(key, _)| *key == field.key) {
                record.unknown_key(&field);
            } else if record.fields.iter().any(|earlier| earlier.key == field.key) {
                let fact = format!("{} is there twice", record.shown(&field.key));
                record.wrong(field.line, fact, "keep one of them");
            } else {
                record.fields.push(field);
            }
        }
        record
    }

    fn unknown_key(&mut self, field: &Field) {
        let fact = format!("{} has no key {}", self.what, quoted(&field.key));
        let named = self.keys.iter().flat_map(|(key, words)| words.iter().chain([key]));
        let near = self.problems.worth_a_guess().then(|| nearest(&field.key, named.copied()));
        let meant = near.flatten().and_then(|word| {
            self.keys.iter().find(|(key, words)| *key == word || words.contains(&word))
        });
        let remedy = match meant {
            Some((key, _)) => {
                self.misspelt.push(key);
                format!("did you mean {}?", self.shown(key))
            }
            None => {
                let keys: Vec<&str> = self.keys.iter().map(|(key, _)| *key).collect();
                format!("its keys are {}", keys.join(", "))
            }
        };
        self.wrong(field.line, fact, &remedy);
    }

    /// The key as it is written, with its meaning where it is an abbreviation.
    fn shown(&self, key: &str) -> String {
        let meaning = self.keys.iter().find(|(known, _)| *known == key);
        match (self.format, meaning.and_then(|(_, words)| words.first())) {
            (Format::Lines, Some(meaning)) => format!("{key:?} ({meaning})"),
            (Format::Lines, None) => format!("{key:?}"),
            (Format::Toml, _) => key.to_owned(),
        }
    }

    /// How the key is written with a value.
    pub(super) fn written(&self, key: &str, value: &str) -> String {
        match self.format {
            Format::Lines => format!("{key:?}:{value}"),
            Format::Toml => format!("{key} = {value}"),
        }
    }

    pub(super) fn wrong(&mut self, line: usize, fact: String, remedy: &str) {
        let place = Place { file: self.place.file.clone(), line };
        self.problems.add(&place, fact, remedy);
    }

    /// A problem of one key, at its line.
    pub(super) fn problem(&mut self, key: &str, fact: String, remedy: &str) {
        let line = self.line(key);
        self.wrong(line, fact, remedy);
    }

    fn line(&self, key: &str) -> usize {
        self.field(key).map_or(self.place.line, |field| field.line)
    }

    fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key && !field.value.is_null())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.field(key).is_some()
    }

    /// The value of a key as it is, with its line; the key is not there afterwards.
    pub(super) fn take(&mut self, key: &str) -> Option<Field> {
        let at = self.fields.iter().position(|field| field.key == key && !field.value.is_null())?;
        Some(self.fields.swap_remove(at))
    }

    fn wrong_type(&mut self, key: &str, wanted: &str, example: &str) {
        let is = self.field(key).map_or("missing", |field| kind(&field.value));
        let fact = format!("{} is {is}, and must be {wanted}", self.shown(key));
        let remedy = format!("write {}", self.written(key, example));
        self.problem(key, fact, &remedy);
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.field(key).map(|field| &field.value)? {
            Value::String(text) => Some(text.clone()),
            other => {
                let example = match other {
                    Value::Number(number) => format!("\"{number}\""),
                    _ => "\"…\"".to_owned(),
                };
                self.wrong_type(key, "text", &example);
                None
            }
        }
    }

    /// A text that has to be there and to say something.
    pub(super) fn needed(&mut self, key: &str) -> Option<String> {
        if self.missing(key, "\"…\"") {
            return None;
        }
        let text = self.text(key)?;
        if text.trim().is_empty() {
            let fact = format!("{} is empty", self.shown(key));
            self.problem(key, fact, "fill it in");
            return None;
        }
        Some(text)
    }

    /// Tells that a key is not there, with what to write.
    pub(super) fn missing(&mut self, key: &str, example: &str) -> bool {
        let missing = self.field(key).is_none();
        if missing && !self.misspelt.contains(&key) {
            let fact = format!("{} has no {}", self.what, self.shown(key));
            let remedy = format!("add {}", self.written(key, example));
            self.problem(key, fact, &remedy);
        }
        missing
    }

    /// A text of one line, as the subject of a task is.
    pub(super) fn line_of_text(&mut self, key: &str) -> Option<String> {
        let text = self.text(key).filter(|text| !text.trim().is_empty())?;
        if text.len() > SUBJECT_BYTES_MAX {
            let fact = format!(
                "{} has {} bytes, and the limit is {SUBJECT_BYTES_MAX}",
                self.shown(key),
                text.len()
            );
            self.problem(key, fact, "say it in a line, and the rest in the description");
        }
        Some(text)
    }

    /// A name as teams, teammates, roles and groups have.
    pub(super) fn name(&mut self, key: &str) -> Option<String> {
        let name = self.text(key).filter(|name| !name.is_empty())?;
        if let Some((fact, remedy)) = bad_name(&name) {
            self.problem(key, format!("{} {fact}", self.shown(key)), remedy);
        }
        Some(name)
    }

    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(field) = self.field(key) else { return Vec::new() };
        let Value::Array(items) = &field.value else {
            if let Value::String(text) = &field.value {
                let example = format!("[{}]", quoted(text));
                let fact = format!("{} is text, and must be a list", self.shown(key));
                let word = self.keys.iter().find(|(known, _)| *known == key);
                let word = match self.format {
                    Format::Lines => word.and_then(|(_, words)| words.first()).unwrap_or(&key),
                    Format::Toml => key,
                };
                let remedy = format!("{word} is a list: write {}", self.written(key, &example));
                self.problem(key, fact, &remedy);
            } else {
                self.wrong_type(key, "a list of texts", "[\"…\"]");
            }
            return Vec::new();
        };
        let texts: Vec<String> =
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if let Some(at) = items.iter().position(|item| !item.is_string()) {
            let fact = format!(
                "{} has {} at place {}, and must be a list of texts",
                self.shown(key),
                kind(&items[at]),
                at + 1
            );
            let remedy = format!("write {}", self.written(key, "[\"…\", \"…\"]"));
            self.problem(key, fact, &remedy);
        }
        texts
    }

    /// A list of texts in which a repeated one counts once.
    pub(super) fn distinct(&mut self, key: &str) -> Vec<String> {
        let texts = self.texts(key);
        let mut seen = std::collections::HashSet::new();
        texts.iter().filter(|text| seen.insert(text.as_str())).cloned().collect()
    }

    /// A list of files and globs, relative to the repository.
    pub(super) fn files(&mut self, key: &str) -> Vec<String> {
        let files = self.texts(key);
        for file in &files {
            if let Some((fact, remedy)) = bad_path(file) {
                self.problem(key, format!("{}: {fact}", self.shown(key)), &remedy);
            }
        }
        let bytes: usize = files.iter().map(String::len).sum();
        if files.len() > PATTERNS_MAX || bytes > PATTERNS_BYTES_MAX {
            let fact = format!(
                "{} has {} entries of {bytes} bytes, and the limit is {PATTERNS_MAX} entries of \
                 {PATTERNS_BYTES_MAX} bytes",
                self.shown(key),
                files.len()
            );
            self.problem(key, fact, "name folders or globs such as \"src/**\"");
        }
        files
    }

    pub(super) fn whole(&mut self, key: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let field = self.field(key)?;
        match field.value.as_i64() {
            Some(number) if range.contains(&number) => Some(number),
            None if !field.value.is_number() => {
                self.wrong_type(key, "a whole number", "1");
                None
            }
            _ => {
                let range = format!("{} to {}", range.start(), range.end());
                let fact = format!("{} is {}, its range is {range}", self.shown(key), field.value);
                self.problem(key, fact, &format!("write a whole number from {range}"));
                None
            }
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        match self.field(key)?.value.as_bool() {
            Some(flag) => Some(flag),
            None => {
                self.wrong_type(key, "true or false", "true");
                None
            }
        }
    }

    /// What the board would refuse only when the plan is half created.
    pub(super) fn check_size(&mut self, description: &str, metadata: &BTreeMap<String, String>) {
        let line = self.place.line;
        let meta: usize = metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
        for (what, bytes) in [("description", description.len()), ("metadata", meta)] {
            if bytes > TEXT_BYTES_MAX {
                let fact = format!("the {what} has {bytes} bytes, the limit is {TEXT_BYTES_MAX}");
                self.wrong(line, fact, "put long texts into a file and name the file");
            }
        }
        if metadata.len() > METADATA_MAX {
            let entries = metadata.len();
            let fact = format!("the metadata has {entries} entries, the limit is {METADATA_MAX}");
            self.wrong(line, fact, "put them into a file and name the file");
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// Why a text is not a name.
pub fn bad_name(text: &str) -> Option<(String, &'static str)> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if !begins || text.len() > NAME_BYTES_MAX || !text.bytes().all(plain) {
        let remedy =
            "use letters, digits, '_' and '-', beginning with a letter or digit, at most 64";
        return Some((format!("{} is not a name", quoted(text)), remedy));
    }
    if RESERVED.contains(&text) {
        return Some((format!("{} is a reserved word", quoted(text)), "choose another name"));
    }
    None
}

/// Why a text is not a file or glob of the repository.
pub fn bad_path(path: &str) -> Option<(String, String)> {
    let shown = quoted(path);
    let told = |fact: String, remedy: &str| Some((fact, remedy.to_owned()));
    if path.trim().is_empty() {
        return told("a path is empty".to_owned(), "take it out; \".\" is the whole repository");
    }
    if path.contains('\\') {
        let fact = format!("{shown} has a backslash");
        return told(fact, &format!("write {}", quoted(&path.replace('\\', "/"))));
    }
    if path.starts_with('/') {
        return told(format!("{shown} is absolute"), "write it relative to the repository");
    }
    if path.starts_with('~') {
        return told(format!("{shown} is in a home folder"), "write it relative to the repository");
    }
    if path.split('/').any(|part| part == "..") {
        return told(format!("{shown} climbs with '..'"), "name a file inside the repository");
    }
    if path.chars().any(char::is_control) {
        return told(format!("{shown} has a control character"), "take it out");
    }
    if path.len() > PATTERN_BYTES_MAX {
        let fact = format!("{shown} is longer than {PATTERN_BYTES_MAX} bytes");
        return told(fact, "name its folder instead");
    }
    None
}
