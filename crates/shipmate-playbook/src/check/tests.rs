//! What is said about playbooks that cannot be used.

use crate::BUILTIN;
use crate::compile::compile;

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

/// A playbook of two who deliberate, with a line of it changed.
fn deliberation(was: &str, is: &str) -> String {
    let text = "name = \"mine\"\n[roles.lead]\nlead = true\n[roles.a]\n[roles.b]\ncalled = \"bo\"\n\
                [gates.g]\ncommands = [\"x\"]\nred = { commands = [\"x\"], files = [\"t/\"], on = \"p\" }\n\
                [[phases]]\nname = \"p\"\nroles = [\"lead\", \"a\", \"b\"]\ndispatch = true\n\
                [phases.deliberation]\nquestion = \"How {goal}?\"\nby = [\"a\", \"b\"]\nfolder = \"d\"\n";
    assert!(text.contains(was), "{was}");
    told(&text.replacen(was, is, 1))
}

#[test]
fn mistakes_in_names_red_tests_and_deliberations_are_told_once_each() {
    assert_eq!(deliberation("", ""), "");
    for (was, is, fact) in [
        ("\"bo\"", "\"a\"", "mine.toml:6: members of b are called \"a\", as those of a\n"),
        ("\"bo\"", "\"{bow}\"", "mine.toml:6: called: nothing is known as {bow}\n"),
        ("\"bo\"", "\"b o\"", "mine.toml:6: called \"b o\" is not a name\n"),
        ("on = \"p\"", "on = \"q\"", "mine.toml:9: there is no phase \"q\"\n"),
        ("[\"t/\"]", "[]", "mine.toml:9: red has no files\n"),
        ("{goal}", "{gaol}", "mine.toml:15: question: nothing is known as {gaol}\n"),
        ("[\"a\", \"b\"]\nf", "[\"a\"]\nf", "mine.toml:16: deliberation is by 1, and takes two"),
        ("[\"a\", \"b\"]\nf", "[\"a\", \"c\"]\nf", "mine.toml:16: there is no role \"c\"\n"),
        ("folder = \"d\"\n", "", "deliberation has no folder\n"),
        ("\"a\", \"b\"]\nd", "\"a\"]\nd", "task proposal-2 is for role b, which has not joined\n"),
    ] {
        let told = deliberation(was, is);
        assert!(told.contains(fact), "{fact} is missing in:\n{told}");
        let same = told.lines().filter(|line| fact.starts_with(line)).count();
        assert!(same <= 1, "told {same} times:\n{told}");
    }
    let told = deliberation("lead = true", "lead = false");
    assert!(told.contains("phase p is given out by the lead, and no role leads"), "{told}");
}
