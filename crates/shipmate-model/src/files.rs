//! File patterns: what a task or a scope covers, and whether two of them meet.
//!
//! Overlap is by meaning, not by string: `src/a` contains `src/a/b.rs`,
//! `./x//y` is `x/y`, `*` and `?` match within one segment and `**` across them.
//! `[` and `{` are ordinary characters, because folders such as `app/[id]` are
//! real and a pattern language that cannot name them would guard the wrong files.
//! A pattern that matches a folder covers everything below it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits::PATTERN_BYTES_MAX;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    #[error("a file pattern must not be empty; '.' means the whole tree")]
    Empty,
    #[error("the file pattern {0:?}… is longer than {PATTERN_BYTES_MAX} bytes")]
    TooLong(String),
    #[error("{0:?} is absolute; file patterns are relative to the repository")]
    Absolute(String),
    #[error("{0:?} climbs with '..'; file patterns stay inside the repository")]
    Climbs(String),
    #[error("{0:?} contains a control character")]
    Control(String),
}

/// A normalised pattern. Zero segments cover the whole tree.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(Arc<str>);

impl Pattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn segments(&self) -> Vec<&str> {
        if &*self.0 == "." { Vec::new() } else { self.0.split('/').collect() }
    }

    /// The part before the first wildcard: where the pattern stands in the tree.
    ///
    /// Two patterns can only meet if one's prefix is the other's or lies above it,
    /// which is what lets an index find the candidates without looking at all.
    pub fn literal_prefix(&self) -> &str {
        if &*self.0 == "." {
            return "";
        }
        match self.0.find(['*', '?']) {
            None => &self.0,
            Some(at) => self.0[..at].rsplit_once('/').map_or("", |(prefix, _)| prefix),
        }
    }

    /// Is there a path that both cover?
    pub fn overlaps(&self, other: &Pattern) -> bool {
        let (here, there) = (self.literal_prefix(), other.literal_prefix());
        (is_above(here, there) || is_above(there, here))
            && meet(&self.segments(), &other.segments())
    }

    /// Does the pattern cover this one file?
    pub fn covers(&self, path: &Pattern) -> bool {
        reach(&self.segments(), &path.segments(), |part, name| {
            segment_matches(part, name, |_| true)
        })
    }

    /// Does the pattern cover whatever the other covers? Says no when in doubt.
    pub fn contains(&self, other: &Pattern) -> bool {
        // The other's wildcards stand for more than one letter or one folder.
        let within = |part: &str, of: &str| of != "**" && segment_matches(part, of, |c| c != '*');
        reach(&self.segments(), &other.segments(), within)
    }
}

/// The same place in the tree, or a folder that it lies in.
fn is_above(folder: &str, place: &str) -> bool {
    let rest = place.strip_prefix(folder);
    rest.is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// Some path lies below both: walk both patterns; whoever ends first covers the rest.
///
/// A table instead of recursion: with several `**` on both sides the recursion is
/// exponential, and patterns come from outside.
fn meet(a: &[&str], b: &[&str]) -> bool {
    let mut below = vec![true; b.len() + 1];
    for i in (0..a.len()).rev() {
        let mut row = vec![true; b.len() + 1];
        for j in (0..b.len()).rev() {
            row[j] = match (a[i], b[j]) {
                ("**", _) | (_, "**") => below[j] || row[j + 1],
                (x, y) => below[j + 1] && segments_meet(x, y),
            };
        }
        below = row;
    }
    below[0]
}

/// The pattern matches the path or a folder above it.
fn reach(pattern: &[&str], path: &[&str], matches: impl Fn(&str, &str) -> bool) -> bool {
    let mut below = vec![true; path.len() + 1];
    for part in pattern.iter().rev() {
        let mut row = vec![false; path.len() + 1];
        row[path.len()] = *part == "**" && below[path.len()];
        for j in (0..path.len()).rev() {
            row[j] = match *part {
                "**" => below[j] || row[j + 1],
                part => below[j + 1] && matches(part, path[j]),
            };
        }
        below = row;
    }
    below[0]
}

fn is_wild(segment: &str) -> bool {
    segment.contains(['*', '?'])
}

/// Is there a text that both segments match? `?` stands for one character.
fn segments_meet(a: &str, b: &str) -> bool {
    if !is_wild(a) && !is_wild(b) {
        return a == b;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut below = vec![false; b.len() + 1];
    below[b.len()] = true;
    for j in (0..b.len()).rev() {
        below[j] = b[j] == '*' && below[j + 1];
    }
    for i in (0..a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        row[b.len()] = a[i] == '*' && below[b.len()];
        for j in (0..b.len()).rev() {
            row[j] = match (a[i], b[j]) {
                ('*', _) | (_, '*') => below[j] || row[j + 1],
                ('?', _) | (_, '?') => below[j + 1],
                (x, y) => x == y && below[j + 1],
            };
        }
        below = row;
    }
    below[0]
}

/// A path's segment is plain text: its own stars and question marks are letters. `one` says
/// which letters a question mark of the pattern stands for.
fn segment_matches(pattern: &str, text: &str, one: impl Fn(char) -> bool) -> bool {
    if !is_wild(pattern) {
        return pattern == text;
    }
    let text: Vec<char> = text.chars().collect();
    let mut below = vec![false; text.len() + 1];
    below[text.len()] = true;
    for part in pattern.chars().rev() {
        let mut row = vec![false; text.len() + 1];
        row[text.len()] = part == '*' && below[text.len()];
        for j in (0..text.len()).rev() {
            row[j] = match part {
                '*' => below[j] || row[j + 1],
                '?' => one(text[j]) && below[j + 1],
                part => part == text[j] && below[j + 1],
            };
        }
        below = row;
    }
    below[0]
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(BadPattern::TooLong(text.chars().take(48).collect()));
        }
        if text.chars().any(char::is_control) {
            return Err(BadPattern::Control(text.to_owned()));
        }
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.starts_with('/') {
            return Err(BadPattern::Absolute(text.to_owned()));
        }
        let mut kept: Vec<String> = Vec::new();
        for segment in text.split('/').filter(|s| !s.is_empty() && *s != ".") {
            if segment == ".." {
                return Err(BadPattern::Climbs(text.to_owned()));
            }
            // Equal meanings get equal texts: a run of stars is one star, `**/**` is `**`.
            let segment = if segment == "**" { segment.to_owned() } else { one_star(segment) };
            if segment == "**" && kept.last().is_some_and(|last| last == "**") {
                continue;
            }
            kept.push(segment);
        }
        if kept.is_empty() {
            return Ok(Pattern(Arc::from(".")));
        }
        Ok(Pattern(Arc::from(kept.join("/"))))
    }
}

fn one_star(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    for c in segment.chars() {
        if !(c == '*' && out.ends_with('*')) {
            out.push(c);
        }
    }
    out
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A set of patterns in one order, so that equal sets are equal values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileSet(Vec<Pattern>);

impl FileSet {
    pub fn new(mut patterns: Vec<Pattern>) -> Self {
        patterns.sort();
        patterns.dedup();
        FileSet(patterns)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Pattern> {
        self.0.iter()
    }

    pub fn overlaps(&self, other: &FileSet) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| a.overlaps(b)))
    }

    pub fn covers(&self, path: &Pattern) -> bool {
        self.0.iter().any(|pattern| pattern.covers(path))
    }

    /// One of these covers whatever the pattern covers.
    pub fn contains(&self, pattern: &Pattern) -> bool {
        self.0.iter().any(|own| own.contains(pattern))
    }
}
