//! A table of a playbook, read key by key, whatever is wrong with it.
//!
//! A person who mends a file wants all mistakes at once. So nothing here fails: what does not fit is
//! told with its line and read as if it were empty. The keys that a table may have are those that
//! it is asked for, so that nothing has to be kept in step with them: whoever reads a table asks for
//! all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use shipmate_model::Name;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_protocol::plan_file::{bad_name, bad_path};
use shipmate_protocol::problem::{listed, nearest, quoted};
use toml::de::DeValue;

use super::document::{Node, Step};

pub(crate) struct Table<'a, 't> {
    pub(crate) node: Node<'a, 't>,
    asked: RefCell<Vec<&'static str>>,
}

/// `what`: each of the list that the table is in.
pub(crate) fn read<'a, 't, T>(
    node: &Node<'a, 't>,
    what: &str,
    one: impl FnOnce(&Table<'a, 't>) -> T,
) -> T {
    if !matches!(node.value, None | Some(DeValue::Table(_))) {
        node.wrong("a table", "{ … }");
    }
    read_inside(node, what, one)
}

fn read_inside<'a, 't, T>(
    node: &Node<'a, 't>,
    what: &str,
    one: impl FnOnce(&Table<'a, 't>) -> T,
) -> T {
    let table = Table { node: node.clone(), asked: RefCell::default() };
    let made = one(&table);
    table.tell_unknown(what);
    made
}

impl<'a, 't> Table<'a, 't> {
    /// What stands under a key, which the table may have.
    pub(crate) fn ask(&self, key: &'static str) -> Node<'a, 't> {
        self.asked.borrow_mut().push(key);
        self.node.to(key)
    }

    fn tell_unknown(&self, what: &str) {
        let known = self.asked.borrow();
        let called = match self.node.path.0.last() {
            None => "a playbook".to_owned(),
            Some(Step::Key(_)) => self.called(),
            Some(Step::At(_)) if what.starts_with(['a', 'e', 'i', 'o', 'u']) => {
                format!("an {what}")
            }
            Some(Step::At(_)) => format!("a {what}"),
        };
        for (key, _) in self.node.entries_as_written() {
            if known.contains(&key) {
                continue;
            }
            let remedy = match nearest(key, known.iter().copied()) {
                Some(meant) => {
                    self.node.document.hush(self.node.to(meant).path.0);
                    format!("did you mean {meant}?")
                }
                None => format!("its keys are {}", known.join(", ")),
            };
            self.node.unknown(key, format!("{called} has no key {}", quoted(key)), remedy);
        }
    }

    /// The table in words.
    pub(crate) fn called(&self) -> String {
        match self.node.path.0.as_slice() {
            [] => "the playbook".to_owned(),
            [.., Step::Key(list), Step::At(at)] => {
                format!("{} {}", list.trim_end_matches('s'), at + 1)
            }
            [Step::Key(list), Step::Key(name)] => {
                format!("{} {name}", list.trim_end_matches('s'))
            }
            [.., Step::Key(key)] => key.clone(),
            [.., Step::At(at)] => format!("place {}", at + 1),
        }
    }

    pub(crate) fn add(&self, key: &str, fact: String, remedy: impl Into<String>) {
        self.node.to(key).add(fact, remedy);
    }

    /// A table that may be missing.
    pub(crate) fn table<T>(
        &self,
        key: &'static str,
        one: impl FnOnce(&Table<'a, 't>) -> T,
    ) -> Option<T> {
        let node = self.ask(key);
        node.is_there().then(|| read(&node, "", one))
    }

    /// A table that is looked at even where it is missing.
    pub(crate) fn part<T>(&self, key: &'static str, one: impl FnOnce(&Table<'a, 't>) -> T) -> T {
        read(&self.ask(key), "", one)
    }

    pub(crate) fn each<T>(
        &self,
        key: &'static str,
        mut one: impl FnMut(&Table<'a, 't>) -> T,
    ) -> Vec<T> {
        let tables = list(&self.ask(key));
        tables.iter().map(|table| read(table, key.trim_end_matches('s'), &mut one)).collect()
    }

    pub(crate) fn named<T>(
        &self,
        key: &'static str,
        mut one: impl FnMut(&Table<'a, 't>) -> T,
    ) -> BTreeMap<Name, T> {
        let tables = entries(&self.ask(key)).into_iter().map(|(name, table)| {
            if let Some((fact, remedy)) = bad_name(name) {
                table.add(format!("{} {fact}", key.trim_end_matches('s')), remedy);
            }
            (stand_in(name), read(&table, "", &mut one))
        });
        tables.collect()
    }

    pub(crate) fn maybe(&self, key: &'static str) -> Option<String> {
        let node = self.ask(key);
        node.is_there().then(|| text(&node))
    }

    pub(crate) fn text(&self, key: &'static str) -> String {
        self.maybe(key).unwrap_or_default()
    }

    pub(crate) fn texts(&self, key: &'static str) -> Vec<String> {
        list(&self.ask(key)).iter().map(text).collect()
    }

    /// A list of texts, or one of them by itself.
    pub(crate) fn text_or_texts(&self, key: &'static str) -> Option<Vec<String>> {
        let node = self.ask(key);
        match node.value? {
            DeValue::String(text) => Some(vec![text.to_string()]),
            DeValue::Array(_) => Some(node.list().iter().map(text).collect()),
            _ => {
                node.wrong("text or a list", "[…]");
                Some(Vec::new())
            }
        }
    }

    pub(crate) fn values(&self, key: &'static str) -> BTreeMap<String, String> {
        let values = entries(&self.ask(key));
        values.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect()
    }

    pub(crate) fn lists(&self, key: &'static str) -> BTreeMap<String, Vec<String>> {
        let lists = entries(&self.ask(key)).into_iter().map(|(name, items)| {
            (name.to_owned(), list(&items).iter().map(text).collect::<Vec<_>>())
        });
        lists.collect()
    }

    /// A table with keys of its own.
    pub(crate) fn open(&self, key: &'static str) -> Node<'a, 't> {
        let node = self.ask(key);
        entries(&node);
        node
    }

    pub(crate) fn flag(&self, key: &'static str) -> bool {
        let node = self.ask(key);
        if !matches!(node.value, None | Some(DeValue::Boolean(_))) {
            node.wrong("true or false", "true");
        }
        node.is_true()
    }

    /// A name that the file gives.
    pub(crate) fn name(&self, key: &'static str) -> Option<Name> {
        let text = self.maybe(key)?;
        self.check_name(key, &text);
        Some(stand_in(&text))
    }

    pub(crate) fn needed_name(&self, key: &'static str) -> Name {
        let text = self.needed(key);
        if !text.trim().is_empty() {
            self.check_name(key, &text);
        }
        stand_in(&text)
    }

    pub(crate) fn check_name(&self, key: &str, text: &str) {
        if let Some((fact, remedy)) = bad_name(text) {
            self.add(key, format!("{key} {fact}"), remedy);
        }
    }

    /// The name of something else; whether that is there is looked at in `check`.
    pub(crate) fn reference(&self, key: &'static str) -> Option<Name> {
        self.maybe(key).as_deref().map(stand_in)
    }

    pub(crate) fn references(&self, key: &'static str) -> Vec<Name> {
        self.texts(key).iter().map(|text| stand_in(text)).collect()
    }

    /// A text that has to be there and to say something.
    pub(crate) fn needed(&self, key: &'static str) -> String {
        let text = self.text(key);
        self.check_said(key);
        text
    }

    pub(crate) fn check_said(&self, key: &str) {
        let node = self.node.to(key);
        match node.is_there() {
            true if !node.text().trim().is_empty() => {}
            true => node.add(format!("{key} is empty"), "fill it in"),
            false => self.missing(key, "\"…\""),
        }
    }

    fn missing(&self, key: &str, example: &str) {
        let fact = format!("{} has no {key}", self.called());
        self.add(key, fact, format!("add {key} = {example}"));
    }

    /// A list of texts that has to be there, each of which says something.
    pub(crate) fn check_listed(&self, key: &str) {
        let texts = self.node.to(key).list();
        if texts.is_empty() {
            self.missing(key, "[\"…\"]");
        }
        for text in texts.iter().filter(|text| text.text().trim().is_empty()) {
            text.add(format!("{} is empty", text.path), "take it out");
        }
    }

    pub(crate) fn listed(&self, key: &'static str) -> Vec<String> {
        let texts = self.texts(key);
        self.check_listed(key);
        texts
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.maybe(key).and_then(|text| self.choose(key, &text, words))
    }

    pub(crate) fn choose<T: Copy>(&self, key: &str, text: &str, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let near = nearest(text, known.iter().copied());
            let remedy = did_you_mean(near, &format!("the words are {}", listed(known)));
            self.add(key, format!("{key} cannot be {}", quoted(text)), remedy);
        }
        found.map(|(_, value)| *value)
    }

    pub(crate) fn whole(&self, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        let number = self.number(key)?;
        self.check_range(key, number, range);
        Some(number)
    }

    pub(crate) fn number(&self, key: &'static str) -> Option<u32> {
        let node = self.ask(key);
        let value = node.value?;
        if !value.is_integer() {
            node.wrong("a whole number", &nearly_whole(value).unwrap_or(1).to_string());
        }
        Some(node.number().unwrap_or_default())
    }

    pub(crate) fn check_range(&self, key: &str, number: u32, range: RangeInclusive<u32>) {
        if range.contains(&number) {
            return;
        }
        let node = self.node.to(key);
        let range = format!("{} to {}", range.start(), range.end());
        let written = node.value.and_then(DeValue::as_integer).map_or("", |number| number.as_str());
        let fact = format!("{key} is {written}, its range is {range}");
        node.add(fact, format!("write a whole number from {range}"));
    }

    /// A number that has to be there.
    pub(crate) fn needed_whole(&self, key: &'static str, range: RangeInclusive<u32>) -> u32 {
        if !self.node.to(key).is_there() {
            self.missing(key, &range.start().to_string());
        }
        self.whole(key, range).unwrap_or_default()
    }

    /// Files and globs of the repository; placeholders are filled in later.
    pub(crate) fn paths(&self, key: &'static str) -> Vec<String> {
        let paths = self.texts(key);
        for path in self.node.to(key).list() {
            check_path(&path, key, path.text());
        }
        paths
    }

    pub(crate) fn files(&self, key: &'static str) -> FileSet {
        let paths = self.paths(key);
        FileSet::new(paths.iter().filter_map(|text| text.parse().ok()).collect::<Vec<Pattern>>())
    }

    /// A path that has to be there.
    pub(crate) fn needed_path(&self, key: &'static str) -> String {
        let path = self.needed(key);
        if !path.trim().is_empty() {
            check_path(&self.node.to(key), key, &path);
        }
        path
    }
}

/// Tells what is wrong with a path of the repository.
pub(crate) fn check_path(node: &Node<'_, '_>, key: &str, text: &str) {
    if let Some((fact, remedy)) = bad_path(text).or_else(|| bad_glob(text)) {
        node.add(format!("{key}: {fact}"), remedy);
    }
}

pub(crate) fn did_you_mean(near: Option<&str>, otherwise: &str) -> String {
    match near {
        Some(near) => format!("did you mean {near:?}? {otherwise}"),
        None => otherwise.to_owned(),
    }
}

fn text(node: &Node<'_, '_>) -> String {
    match node.value {
        None | Some(DeValue::String(_)) => {}
        Some(DeValue::Integer(number)) => node.wrong("text", &format!("\"{}\"", number.as_str())),
        Some(_) => node.wrong("text", "\"…\""),
    }
    node.text().to_owned()
}

/// A text, or a table in its place.
pub(crate) fn text_or_table<'a, 't, T>(
    node: &Node<'a, 't>,
    what: &str,
    text: impl Fn(&Node<'a, 't>, &str) -> T,
    table: impl Fn(&Table<'a, 't>) -> T,
) -> T {
    match node.value {
        Some(DeValue::String(own)) => return text(node, own),
        Some(DeValue::Table(_)) => {}
        _ => node.wrong("text or a table", "{ … }"),
    }
    read_inside(node, what, table)
}

pub(crate) fn list<'a, 't>(node: &Node<'a, 't>) -> Vec<Node<'a, 't>> {
    match node.value {
        None | Some(DeValue::Array(_)) => {}
        Some(DeValue::String(text)) => node.wrong("a list", &format!("[{}]", quoted(text))),
        Some(_) => node.wrong("a list", "[…]"),
    }
    node.list()
}

fn entries<'a, 't>(node: &Node<'a, 't>) -> Vec<(&'a str, Node<'a, 't>)> {
    if !matches!(node.value, None | Some(DeValue::Table(_))) {
        node.wrong("a table", "{ … }");
    }
    node.entries()
}

/// The whole number that somebody meant who wrote a text or a part of one.
fn nearly_whole(value: &DeValue<'_>) -> Option<u32> {
    let text = match value {
        DeValue::String(text) => text.trim(),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    text.split('.').next()?.parse().ok().filter(|number| *number > 0)
}

/// Why a path cannot be what its writer meant. A bracket or a brace is a letter like any other,
/// as in `app/[id]`, but nobody names a file with half of a pair.
fn bad_glob(text: &str) -> Option<(String, String)> {
    if text.contains("***") {
        let remedy = "write * for a part of a name, ** for any folders";
        return Some((format!("{} has three stars in a row", quoted(text)), remedy.to_owned()));
    }
    for (open, close) in [('[', ']'), ('{', '}')] {
        let from = text.rfind(open).filter(|from| !text[*from..].contains(close));
        // A placeholder that is not closed is told as one.
        let begins = |rest: &str| rest[1..].starts_with(|c: char| c.is_ascii_alphabetic());
        if from.is_some_and(|from| open == '[' || !begins(&text[from..])) {
            let fact = format!("{} has a {open} that is not closed", quoted(text));
            return Some((fact, format!("close it with {close}, or take it out")));
        }
    }
    None
}

/// The name, or one that stands in for what was told elsewhere.
pub(crate) fn stand_in(text: &str) -> Name {
    text.parse().unwrap_or_else(|_| "x".parse().expect("x is a name"))
}
