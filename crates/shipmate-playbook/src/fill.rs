//! Placeholders: `{name}` in a playbook's texts, replaced by what it stands for in this run.
//!
//! A name that nobody knows stays as it is: `check` has refused it before, and a text of a piece
//! of work may hold braces of its own. So does `${name}`, which is the shell's.

use std::collections::BTreeMap;

use shipmate_model::playbook::Playbook;

pub type Values = BTreeMap<String, String>;

/// What placeholders stand for in a team, with these beside. A value may name another: the folder
/// of a department, say.
pub fn resolved<const N: usize>(playbook: &Playbook, more: [(&str, String); N]) -> Values {
    let mut values = playbook.values.clone();
    values.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    let known = values.clone();
    for value in values.values_mut() {
        *value = fill(value, &known);
    }
    values
}

/// The text with every known placeholder replaced, once: what is filled in is not looked at again.
pub fn fill(text: &str, values: &Values) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let of_the_shell = filled.ends_with('$');
        let known = rest.find('}').filter(|_| !of_the_shell);
        let known = known.and_then(|end| Some((end, values.get(&rest[1..end])?)));
        match known {
            Some((end, value)) => {
                filled.push_str(value);
                rest = &rest[end + 1..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// The same as a pattern of files: what only a phase or a department knows matches anything in
/// its place.
pub fn pattern(text: &str, values: &Values) -> String {
    let mut filled = fill(text, values);
    while let Some(open) = filled.find('{') {
        match filled[open..].find('}') {
            Some(end) => filled.replace_range(open..=open + end, "*"),
            None => break,
        }
    }
    filled
}

/// A word for the shell, whatever it holds.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A text as a part of a branch's name: as it is where git takes it, else its words with dashes.
pub fn slug(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./{}".contains(c);
    let fits = |part: &str| {
        let edges = part.starts_with(['-', '.']) || part.ends_with('.') || part.ends_with(".lock");
        !part.is_empty() && !part.contains("..") && !edges
    };
    if text.is_empty() || text.chars().all(plain) && text.split('/').all(fits) {
        return text.to_owned();
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// Whether a path is one of tests, as most languages name them; what they share is none.
pub fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let is_folder = |part: &str| matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__");
    let is_shared = matches!(stem, "conftest" | "__init__" | "mod" | "common" | "fixtures");
    (folders.split('/').any(is_folder) && !is_shared)
        || stem.starts_with("test_")
        || ["_test", "_spec", "Test", "Tests"].iter().any(|end| stem.ends_with(end))
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// The names in braces. Braces around anything else, or behind a `$`, are the text's own.
pub fn placeholders(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices('{') {
        let Some(end) = text[at..].find('}') else { break };
        let name = &text[at + 1..at + end];
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
        let of_the_shell = text[..at].ends_with('$');
        if begins && name.bytes().all(plain) && !of_the_shell && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_replaced_once_and_an_unknown_one_stays() {
        let values = [("a", "{b}"), ("b", "2")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let values = Values::from(values);
        assert_eq!(fill("{a}-{b}-{c}-{ -}", &values), "{b}-2-{c}-{ -}");
        assert_eq!(fill("${a} ${b:-3} {b}", &values), "${a} ${b:-3} 2", "the shell's own stay");
        assert_eq!(pattern("x/{b}/{c}-{d}.json", &values), "x/2/*-*.json");
    }

    #[test]
    fn a_word_for_the_shell_is_one_word() {
        assert_eq!(quoted("a'b $c"), r"'a'\''b $c'");
    }

    #[test]
    fn a_sentence_becomes_a_part_of_a_branch_s_name_and_a_name_stays() {
        for (text, name) in [
            ("Add: two files!", "add-two-files"),
            ("ABC-42", "ABC-42"),
            ("plans/01_a-v1.2", "plans/01_a-v1.2"),
            ("fix a/b", "fix-a-b"),
            ("a..b.lock", "a-b-lock"),
            ("{later}", "{later}"),
            ("", ""),
        ] {
            assert_eq!(slug(text), name, "{text:?}");
        }
    }

    #[test]
    fn tests_are_known_by_their_place_or_name() {
        for path in ["tests/a.py", "a/__tests__/b.ts", "test_a.py", "a_test.go", "a.spec.ts"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/a.py", "latest/a.rs", "contest.py", "tests/a/conftest.py"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
