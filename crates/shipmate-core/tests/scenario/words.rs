//! The words of a scenario's line: a verb, what it is about, and keywords with values.
//!
//! `claim 1 by ana for 60s` has the verb `claim`, the word `1` and two keywords. A
//! text with spaces stands in double quotes; `long:600` is a text of 600 letters
//! and `many:17` a list of 17 long ones.

use std::collections::BTreeMap;

/// Words that take the next word as their value.
const KEYWORDS: &[&str] = &[
    "about",
    "account",
    "active",
    "after",
    "agent",
    "alias",
    "answers",
    "as",
    "assignee",
    "at",
    "awaits",
    "base",
    "boot",
    "by",
    "caps",
    "command",
    "commit",
    "cost",
    "deadline",
    "denies",
    "description",
    "duration",
    "end",
    "estimated",
    "out",
    "fails",
    "fallback",
    "file",
    "files",
    "for",
    "gate-time",
    "copies",
    "from",
    "gates",
    "prepares",
    "group",
    "holds",
    "handoff",
    "hooks",
    "host",
    "in",
    "kind",
    "kinds",
    "labels",
    "lacks",
    "late",
    "lead",
    "mates",
    "max",
    "messages",
    "meta",
    "missing",
    "mode",
    "model",
    "notes",
    "on",
    "options",
    "own-gate",
    "place",
    "playbook",
    "priority",
    "programs",
    "protects",
    "reason",
    "release",
    "renewal",
    "reply",
    "reservation",
    "resets",
    "result",
    "retries",
    "retry",
    "role",
    "roles",
    "round",
    "scope",
    "seat",
    "single",
    "slots",
    "stall",
    "stops",
    "subject",
    "tasks",
    "timeout",
    "to",
    "token",
    "tokens",
    "trees",
    "turn",
    "under",
    "until",
    "window",
    "within",
    "without",
];

#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    pub(crate) verb: String,
    plain: Vec<String>,
    keyed: BTreeMap<String, String>,
}

impl Words {
    pub(crate) fn read(line: &str) -> Words {
        let mut tokens = split(line).into_iter();
        let mut words = Words { verb: tokens.next().unwrap_or_default().0, ..Words::default() };
        while let Some((token, quoted)) = tokens.next() {
            if KEYWORDS.contains(&&*token) && !quoted {
                let value = tokens.next().unwrap_or_else(|| panic!("`{token}` without a value"));
                words.keyed.insert(token, value.0);
            } else {
                words.plain.push(token);
            }
        }
        words
    }

    pub(crate) fn plain(&self, index: usize) -> &str {
        let found = self.plain.get(index);
        found.unwrap_or_else(|| panic!("`{}` needs {} words", self.verb, index + 1))
    }

    pub(crate) fn plain_or<'a>(&'a self, index: usize, or: &'a str) -> &'a str {
        self.plain.get(index).map_or(or, String::as_str)
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.plain.iter().any(|plain| plain == word)
    }

    pub(crate) fn get(&self, keyword: &str) -> Option<&str> {
        self.keyed.get(keyword).map(String::as_str)
    }

    pub(crate) fn text(&self, keyword: &str, or: &str) -> String {
        self.get(keyword).unwrap_or(or).to_owned()
    }

    pub(crate) fn number(&self, keyword: &str) -> Option<u64> {
        self.get(keyword).map(|value| value.parse().expect("a number"))
    }

    pub(crate) fn duration_ms(&self, keyword: &str) -> Option<u64> {
        self.get(keyword).map(duration_ms)
    }

    pub(crate) fn list(&self, keyword: &str) -> Vec<String> {
        let list = self.get(keyword).unwrap_or_default();
        list.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }
}

pub(crate) fn duration_ms(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().expect("a duration begins with a number");
    match &text[end..] {
        "ms" => number,
        "s" => number * 1000,
        "m" => number * 60_000,
        unit => panic!("{unit:?} is no unit of time"),
    }
}

/// The tokens of a line, and whether each stood in quotes.
fn split(line: &str) -> Vec<(String, bool)> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if let Some(text) = rest.strip_prefix('"') {
            let end = text.find('"').expect("a quote that opens also closes");
            tokens.push((text[..end].to_owned(), true));
            rest = text[end + 1..].trim_start();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            tokens.push((long(&rest[..end]), false));
            rest = rest[end..].trim_start();
        }
    }
    tokens
}

fn long(token: &str) -> String {
    if let Some(count) = token.strip_prefix("many:") {
        let count: usize = count.parse().expect("a number follows `many:`");
        let one = |at: usize| format!("{}{at}", "x".repeat(1000));
        return (0..count).map(one).collect::<Vec<_>>().join(",");
    }
    match token.strip_prefix("long:") {
        Some(size) => "x".repeat(size.parse().expect("a size follows `long:`")),
        None => token.to_owned(),
    }
}
