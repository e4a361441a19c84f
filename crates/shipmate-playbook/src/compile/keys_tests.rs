//! Every key that a playbook may have, as `check` itself says it.
//!
//! Each table that there can be is written with a key that no table has, and what is said about it
//! names the keys that it has. It is there to hold the manual to the truth.

use std::collections::BTreeSet;

use crate::compile::compile;
use crate::formats::FORMATS;

/// A key that is near to none.
const STRANGE: &str = "qqqqqqqqqqqqqqqqqqqq";

/// The keys of the table that is written between these, where there is one.
fn keys(before: &str, after: &str) -> Vec<String> {
    let told = told(&format!("{before}{STRANGE} = 1{after}\n"));
    let rest = told.split_once(&format!("has no key \"{STRANGE}\"\n  its keys are "));
    let line = rest.and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
    line.split(", ").filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

fn look(at: &str, before: &str, after: &str, seen: &mut BTreeSet<String>) {
    let own = keys(before, after);
    // The same wherever there are some.
    let shared = ["back", "lines-max", "touches"];
    let shared = own.iter().any(|key| shared.contains(&key.as_str()));
    let at = if shared { "" } else { at };
    for key in own {
        let name = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        if !seen.insert(name.clone()) {
            continue;
        }
        let map = format!("{before}{key} = {{ NAME = ");
        if told(&format!("{map}1 }}{after}\n")).contains("NAME is ") {
            seen.remove(&name);
            seen.insert(format!("{name}.NAME"));
            if !keys(&format!("{map}{{ "), &format!(" }} }}{after}")).is_empty() {
                look(
                    &format!("{name}.NAME"),
                    &format!("{map}{{ "),
                    &format!(" }} }}{after}"),
                    seen,
                );
            }
            continue;
        }
        for (open, close) in [("{ ", " }"), ("[{ ", " }]")] {
            let (before, after) = (format!("{before}{key} = {open}"), format!("{close}{after}"));
            if !keys(&before, &after).is_empty() {
                look(&name, &before, &after, seen);
            }
        }
    }
}

const MANUAL: &str = include_str!("../../../../docs/playbooks.md");

#[test]
fn the_manual_explains_every_key_and_no_other() {
    let mut known = BTreeSet::new();
    look("", "", "", &mut known);
    let rows = MANUAL.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | `"));
    let mut explained = BTreeSet::new();
    for (key, rest) in rows {
        let example = rest.split_once('`').unwrap().0;
        let last = key.rsplit('.').find(|part| *part != "NAME").unwrap();
        assert!(example.contains(last), "the example of {key} does not have it: {example}");
        assert!(explained.insert(key.to_owned()), "{key} is explained twice");
    }
    let missing: Vec<_> = known.difference(&explained).collect();
    let unknown: Vec<_> = explained.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
}

#[test]
fn the_manual_names_every_format_that_is_written() {
    for name in FORMATS {
        assert!(MANUAL.contains(&format!("| `{name}` | ")), "the manual does not explain {name}");
    }
}

/// What stands in the manual behind this line, up to the end of its block.
fn block(begins: &str) -> &'static str {
    let (_, rest) = MANUAL.split_once(begins).unwrap();
    rest.split_once("```").unwrap().0
}

fn told(text: &str) -> String {
    let problems = compile("pairs.toml", text).err().unwrap_or_default();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn the_playbook_of_the_manual_can_be_used() {
    assert_eq!(told(block("```toml\n")), "");
}

#[test]
fn mistakes_in_the_playbook_of_the_manual_are_told_as_it_says() {
    let text = block("```toml\n")
        .replacen("reports-to = \"lead\"", "reports-to = \"led\"", 1)
        .replacen("roles = [", "role = [", 1);
    let said = block("$ shipmate playbook check pairs.toml\n");
    assert_eq!(format!("{}pairs.toml: 2 problems\n", told(&text)), said);
}
