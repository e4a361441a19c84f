//! What is said about playbooks that cannot be used.

use crate::playbook::BUILTIN;
use crate::playbook::compile::compile;

fn told(text: &str) -> String {
    let problems = compile("mine.toml", text).map(|_| Vec::new()).unwrap_or_else(|all| all);
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// Without the lists of everything there is, which grow.
fn cut(told: &str) -> String {
    let mut lines = String::new();
    for line in told.lines() {
        let list = ["its keys are ", "the tools are ", "the formats are "];
        let end = list.iter().find_map(|list| Some(line.find(list)? + list.len()));
        lines.push_str(end.map_or(line, |end| line[..end].trim_end()));
        lines.push('\n');
    }
    lines
}

#[test]
fn a_mistake_in_every_kind_of_place_is_told_with_its_line_and_its_remedy() {
    let told = cut(&told(include_str!("mistakes.toml")));
    let expected = include_str!("mistakes.txt");
    assert_eq!(told, expected, "\n{told}");
}

#[test]
fn the_playbooks_that_come_with_shipmate_have_no_problems() {
    for (name, text) in BUILTIN {
        let problems = compile(name, text).map(|_| Vec::new()).unwrap_or_else(|all| all);
        assert_eq!(problems, [], "{name}");
    }
}
