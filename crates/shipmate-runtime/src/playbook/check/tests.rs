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

#[test]
fn a_field_that_no_piece_can_have_is_named_and_one_of_a_feature_s_own_is_not() {
    let one = |format: &str, field: &str| {
        told(&format!(
            "name = \"mine\"\n[work]\nformat = {format:?}\nfiles = [\"x\"]\n[roles.dev]\n\
             plan-when = {{ having = [{field:?}] }}\n[[phases]]\nname = \"a\"\n\
             roles = [\"dev\"]\n[[phases.tasks]]\nid = \"t\"\neach = \"item\"\n\
             having = {field:?}\nrole = \"dev\"\nsubject = \"s\"\n"
        ))
    };
    for (format, field) in [("plan-lines", "tsts"), ("plan-lines", "risk"), ("features", "frist")] {
        let told = one(format, field);
        for line in [6, 13] {
            let fact = format!("mine.toml:{line}: there is no field \"{field}\"");
            assert!(told.contains(&fact), "{fact} is missing in:\n{told}");
        }
    }
    for (format, field) in [("plan-lines", "tests"), ("features", "risk"), ("layers", "excerpt")] {
        assert_eq!(one(format, field), "", "{format} {field}");
    }
}

#[test]
fn braces_that_are_no_placeholder_s_are_left_alone() {
    for text in ["{\"a\": {\"b\": 1}}", "f() { x; }", "{a: {b: 1}}", "awk '{print $1}'", "${a"] {
        let told = told(&format!(
            "name = \"mine\"\n[roles.dev]\n[[phases]]\nname = \"a\"\nroles = [\"dev\"]\n\
             [[phases.tasks]]\nid = \"t\"\nrole = \"dev\"\nsubject = {text:?}\n"
        ));
        assert_eq!(told, "", "{text}");
    }
}
