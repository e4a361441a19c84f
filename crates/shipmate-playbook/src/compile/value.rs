//! Values of any table: names, words, numbers, texts, paths, each told with its key where it is
//! wrong.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use shipmate_model::Name;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_protocol::plan_file::{bad_name, bad_path};
use shipmate_protocol::problem::{listed, nearest, quoted};

use super::Compiler;
use crate::lines::Step;

impl Compiler<'_, '_> {
    pub(crate) fn problem(&mut self, key: &str, fact: String, remedy: impl Into<String>) {
        self.page.add(&self.at.to(key), fact, remedy);
    }

    /// Whatever is looked at meanwhile stands below this step.
    pub(crate) fn below<T>(
        &mut self,
        step: impl Into<Step>,
        look: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.at.0.push(step.into());
        let found = look(self);
        self.at.0.pop();
        found
    }

    pub(crate) fn table<F, T>(
        &mut self,
        key: &str,
        table: Option<&F>,
        one: impl FnOnce(&mut Self, &F) -> T,
    ) -> Option<T> {
        table.map(|table| self.below(key, |this| one(this, table)))
    }

    pub(crate) fn each<F, T>(
        &mut self,
        key: &str,
        tables: &[F],
        mut one: impl FnMut(&mut Self, &F) -> T,
    ) -> Vec<T> {
        self.below(key, |this| {
            let tables = tables.iter().enumerate();
            tables.map(|(at, table)| this.below(at, |this| one(this, table))).collect()
        })
    }

    pub(crate) fn named<F, T>(
        &mut self,
        key: &str,
        tables: &BTreeMap<String, F>,
        mut one: impl FnMut(&mut Self, &F) -> T,
    ) -> BTreeMap<Name, T> {
        self.below(key, |this| {
            let mut found = BTreeMap::new();
            for (name, table) in tables {
                if let Some((fact, remedy)) = bad_name(name) {
                    this.problem(name, format!("{} {fact}", key.trim_end_matches('s')), remedy);
                }
                let value = this.below(name.as_str(), |this| one(this, table));
                found.insert(named(name), value);
            }
            found
        })
    }

    /// A name that the file gives.
    pub(crate) fn name(&mut self, key: &str, text: &str) -> Name {
        if let Some((fact, remedy)) = bad_name(text) {
            self.problem(key, format!("{key} {fact}"), remedy);
        }
        named(text)
    }

    pub(crate) fn needed_name(&mut self, key: &str, text: &str) -> Name {
        if self.needed(key, text) { self.name(key, text) } else { named(text) }
    }

    /// A text that has to be there and to say something.
    pub(crate) fn needed(&mut self, key: &str, text: &str) -> bool {
        if !text.trim().is_empty() {
            return true;
        }
        match self.page.has(&self.at.to(key)) {
            true => self.problem(key, format!("{key} is empty"), "fill it in"),
            false => {
                let fact = format!("{} has no {key}", self.called());
                self.problem(key, fact, format!("add {key} = \"…\""));
            }
        }
        false
    }

    /// The table that is looked at, in words.
    pub(crate) fn called(&self) -> String {
        match self.at.0.as_slice() {
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

    /// One of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &str,
        text: Option<&str>,
        usual: T,
        words: &[(&str, T)],
    ) -> T {
        let Some(text) = text else { return usual };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => *value,
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let remedy = match nearest(text, known.iter().copied()) {
                    Some(near) => format!("did you mean {near:?}? the words are {}", listed(known)),
                    None => format!("the words are {}", listed(known)),
                };
                self.problem(key, format!("{key} cannot be {}", quoted(text)), remedy);
                usual
            }
        }
    }

    pub(crate) fn whole<N: Copy + Into<u64>>(
        &mut self,
        key: &str,
        number: Option<N>,
        range: RangeInclusive<u64>,
    ) -> Option<N> {
        let value: u64 = number?.into();
        if !range.contains(&value) {
            let range = format!("{} to {}", range.start(), range.end());
            let written = self.page.number(&self.at.to(key)).map(str::to_owned);
            let written = written.unwrap_or_else(|| value.to_string());
            let fact = format!("{key} is {written}, its range is {range}");
            self.problem(key, fact, format!("write a whole number from {range}"));
        }
        number
    }

    /// A number that has to be there.
    pub(crate) fn needed_whole<N: Copy + Into<u64> + Default>(
        &mut self,
        key: &str,
        number: Option<N>,
        range: RangeInclusive<u64>,
    ) -> N {
        if number.is_none() {
            let fact = format!("{} has no {key}", self.called());
            self.problem(key, fact, format!("add {key} = {}", range.start()));
        }
        self.whole(key, number, range).unwrap_or_default()
    }

    /// Files and globs of the repository; placeholders are filled in later.
    pub(crate) fn paths(&mut self, key: &str, texts: &[String]) {
        for (at, text) in texts.iter().enumerate() {
            self.path(key, Some(at), text);
        }
    }

    pub(crate) fn path(&mut self, key: &str, at: Option<usize>, text: &str) {
        let Some((fact, remedy)) = bad_path(text).or_else(|| bad_glob(text)) else { return };
        let path = at.map_or(self.at.to(key), |at| self.at.to(key).to(at));
        self.page.add(&path, format!("{key}: {fact}"), remedy);
    }

    pub(crate) fn files(&mut self, key: &str, texts: &[String]) -> FileSet {
        self.paths(key, texts);
        FileSet::new(texts.iter().filter_map(|text| text.parse().ok()).collect::<Vec<Pattern>>())
    }

    pub(crate) fn variable(&mut self, key: &str, text: Option<&str>) {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let Some(text) = text else { return };
        if text.is_empty() || !text.bytes().all(plain) || text.as_bytes()[0].is_ascii_digit() {
            let fact = format!("{key}: {} is no environment variable", quoted(text));
            self.problem(key, fact, "use letters, digits and '_', beginning with a letter");
        }
    }

    /// A list of texts that has to be there, each of which says something.
    pub(crate) fn listed(&mut self, key: &str, texts: &[String]) {
        if texts.is_empty() {
            let fact = format!("{} has no {key}", self.called());
            self.problem(key, fact, format!("add {key} = [\"…\"]"));
        }
        for (at, text) in texts.iter().enumerate() {
            if text.trim().is_empty() {
                let path = self.at.to(key).to(at);
                self.page.add(&path, format!("{path} is empty"), "take it out");
            }
        }
    }
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
pub(crate) fn named(text: &str) -> Name {
    text.parse().unwrap_or_else(|_| "x".parse().expect("x is a name"))
}

pub(crate) fn names(texts: &[String]) -> Vec<Name> {
    texts.iter().map(|text| named(text)).collect()
}
