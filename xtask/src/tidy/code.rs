//! Rules for Rust files: header, names, sizes, leftovers, sleeps and silent tests.
//!
//! Most look at masked text (see [`crate::rust_text`]), so a pattern in a string or a comment is
//! no violation and the tests below can spell out what they refuse.

use crate::ignored;
use crate::rust_text::{Function, functions, leading_name, line_at, mask, words};
use crate::tree::Tree;
use crate::violation::Violation;

const LINES_MAX: usize = 700;
const LINES_COMFORTABLE: usize = 500;
/// An exhaustive match is one thing; cut in parts it needs a wildcard.
const FUNCTION_LINES_MAX: usize = 130;
/// rustfmt breaks at 100; what it cannot break (a string, a comment) gets a little more.
const COLUMNS_MAX: usize = 116;

/// Names that say nothing about what is inside, so that everything ends up there.
const DRAWERS: [&str; 11] = [
    "util", "utils", "helper", "helpers", "common", "types", "manager", "service", "services",
    "misc", "mod",
];

pub(super) fn check(path: &str, text: &str, found: &mut Vec<Violation>) {
    let masked = mask(text);
    header(path, text, found);
    names(path, &masked, found);
    sizes(path, text, &masked, found);
    leftovers(path, &masked, found);
    if !is_bench(path) {
        sleeps(path, &masked, found);
    }
    silent_tests(path, text, found);
}

fn header(path: &str, text: &str, found: &mut Vec<Violation>) {
    let first = text.lines().next().unwrap_or_default();
    let header = first.strip_prefix("//!").map(str::trim);
    let fact = match header {
        None => "the file does not begin with a `//!` header",
        Some("" | "placeholder") => "the `//!` header says nothing",
        Some(_) => return,
    };
    found.push(Violation::new(path, 1, fact, "say what the file is for and what must hold"));
}

fn names(path: &str, masked: &str, found: &mut Vec<Violation>) {
    let remedy = "name it after what is inside";
    if path.ends_with("/mod.rs") {
        found.push(Violation::new(
            path,
            1,
            "the file is named mod.rs",
            "name it after its module, beside the module's folder",
        ));
    }
    for part in path.trim_end_matches(".rs").split('/') {
        if part != "mod" && is_drawer(part) {
            found.push(Violation::new(path, 1, format!("`{part}` names a drawer"), remedy));
        }
    }
    for at in words(masked, "mod") {
        let name = leading_name(&masked[at + 3..]);
        let after = masked[at + 3..].trim_start()[name.len()..].trim_start();
        // `mod util;` is reported with the file it names.
        if after.starts_with('{') && is_drawer(name) {
            let line = line_at(masked, at);
            found.push(Violation::new(path, line, format!("`{name}` names a drawer"), remedy));
        }
    }
}

fn is_drawer(name: &str) -> bool {
    DRAWERS.contains(&name)
        || name.split('_').any(|w| matches!(w, "util" | "utils" | "helper" | "helpers"))
}

fn sizes(path: &str, text: &str, masked: &str, found: &mut Vec<Violation>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        found.push(Violation::new(
            path,
            lines,
            format!("the file has {lines} lines, more than {LINES_MAX}"),
            "split it by meaning",
        ));
    }
    for (index, line) in text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            found.push(Violation::new(
                path,
                index + 1,
                format!("the line has {columns} columns, more than {COLUMNS_MAX}"),
                "break it",
            ));
        }
    }
    for function in functions(masked) {
        if function.length > FUNCTION_LINES_MAX && !is_one_match(masked, &function) {
            let (name, length) = (function.name, function.length);
            found.push(Violation::new(
                path,
                function.line,
                format!("`{name}` has {length} lines, more than {FUNCTION_LINES_MAX}"),
                "give its parts names",
            ));
        }
    }
}

/// Rust files that are allowed but no longer comfortable, with their number of lines.
pub(super) fn large_files(tree: &Tree) -> Vec<(String, usize)> {
    tree.texts()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| (path.to_owned(), text.lines().count()))
        .filter(|(_, lines)| (LINES_COMFORTABLE + 1..=LINES_MAX).contains(lines))
        .collect()
}

/// A function that is one match without a wildcard may be as long as the set it is over: cut into parts, it
/// would need one, and the compiler could not say what is missing.
fn is_one_match(masked: &str, function: &Function<'_>) -> bool {
    let lines: Vec<&str> = masked.lines().skip(function.line - 1).take(function.length).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_match = |line: &&str| line.contains("match ") && line.ends_with('{');
    let Some(begins) = lines.iter().take(6).position(is_match) else { return false };
    let is_end =
        |line: &&&str| indent(line) == indent(lines[begins]) && line.trim().starts_with('}');
    let own = lines.iter().skip(begins + 1).take_while(|line| !is_end(line));
    let arm = indent(lines[begins]) + 4;
    let is_wild = own.clone().any(|line| indent(line) == arm && line.trim().starts_with("_ "));
    !is_wild && begins + 1 + own.count() + 3 >= lines.len()
}

fn leftovers(path: &str, masked: &str, found: &mut Vec<Violation>) {
    for name in ["todo", "unimplemented", "dbg"] {
        for at in words(masked, name) {
            if masked[at + name.len()..].starts_with('!') {
                found.push(Violation::new(
                    path,
                    line_at(masked, at),
                    format!("`{name}!` is left over"),
                    "finish it or take it out",
                ));
            }
        }
    }
}

/// Marks of unfinished work, in comments as in code and in any language.
pub(super) fn marks(path: &str, text: &str, found: &mut Vec<Violation>) {
    for mark in [concat!("FIX", "ME"), concat!("XX", "X")] {
        for at in words(text, mark) {
            found.push(Violation::new(
                path,
                line_at(text, at),
                format!("{mark} marks unfinished work"),
                "finish it, or state as a fact what does not work",
            ));
        }
    }
}

fn is_bench(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "bench" | "benches" | "bench.rs"))
}

fn sleeps(path: &str, masked: &str, found: &mut Vec<Violation>) {
    for at in words(masked, "sleep") {
        let before = masked[..at].trim_end();
        let called = before.ends_with("thread::") || before.ends_with("time::");
        if called || imports_from_clock(masked, at) {
            found.push(Violation::new(
                path,
                line_at(masked, at),
                "a sleep guesses when something will have happened",
                "wait for the event itself; for a timer use `sleep_until`",
            ));
        }
    }
}

/// Whether `at` stands in a group like `use std::{thread::{self, sleep}, time::Duration}`.
fn imports_from_clock(masked: &str, at: usize) -> bool {
    let statement = masked[..at].rfind(';').map_or(&masked[..at], |end| &masked[end + 1..at]);
    let Some(start) = words(statement, "use").last() else { return false };
    let path = &statement[start..];
    path.contains('{')
        && !path.contains('}')
        && ["thread", "time"].iter().any(|module| words(path, module).next().is_some())
}

fn silent_tests(path: &str, text: &str, found: &mut Vec<Violation>) {
    for ignored in ignored::scan(text) {
        if ignored.reason.is_none() {
            found.push(Violation::new(
                path,
                ignored.line,
                format!("`{}` is ignored without a reason", ignored.test),
                "write `#[ignore = \"the reason\"]`",
            ));
        }
    }
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            continue;
        };
        if let Some(fence) = doc.trim_start().strip_prefix("```")
            && words(fence, "ignore").next().is_some()
        {
            found.push(Violation::new(
                path,
                index + 1,
                "an example is ignored without a reason",
                "use `no_run`, `compile_fail` or `text`",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::facts;
    use super::large_files;
    use crate::tree::Tree;

    /// The facts found in a file that has a header and then `code`.
    fn of(code: &str) -> String {
        facts("crates/a/src/claim.rs", &format!("//! Claims.\n{code}\n"))
    }

    #[test]
    fn a_file_begins_with_a_header_that_says_something() {
        let facts = |text| facts("crates/a/src/lib.rs", text);
        assert_eq!(facts("fn a() {}\n"), "1: the file does not begin with a `//!` header\n");
        assert_eq!(facts("\n//! Late.\n"), "1: the file does not begin with a `//!` header\n");
        assert_eq!(facts("//! placeholder\n"), "1: the `//!` header says nothing\n");
        assert_eq!(facts("//!\n"), "1: the `//!` header says nothing\n");
        assert_eq!(facts("//! The rules of claims.\n"), "");
    }

    #[test]
    fn no_file_is_named_mod_rs() {
        assert_eq!(facts("src/task/mod.rs", "//! Tasks.\n"), "1: the file is named mod.rs\n");
    }

    #[test]
    fn no_module_is_a_drawer() {
        for name in ["util", "utils", "helpers", "common", "types", "manager", "services", "misc"] {
            let expected = format!("1: `{name}` names a drawer\n");
            assert_eq!(facts(&format!("src/{name}.rs"), "//! Things.\n"), expected);
            assert_eq!(facts(&format!("src/{name}/task.rs"), "//! Things.\n"), expected);
            assert_eq!(of(&format!("mod {name} {{}}")), format!("2: `{name}` names a drawer\n"));
        }
        assert_eq!(facts("src/cli_util.rs", "//! Things.\n"), "1: `cli_util` names a drawer\n");
        assert_eq!(facts("src/utility.rs", "//! The utility of a plan.\n"), "");
    }

    #[test]
    fn a_file_has_at_most_700_lines_and_is_comfortable_to_500() {
        let lines = |n: usize| format!("//! Long.\n{}", "// a\n".repeat(n - 1));
        assert_eq!(facts("a.rs", &lines(700)), "");
        assert_eq!(facts("a.rs", &lines(701)), "701: the file has 701 lines, more than 700\n");
        let (a, b, c) = (lines(500), lines(501), lines(701));
        let tree = Tree::from([("a.rs", a.as_str()), ("b.rs", b.as_str()), ("c.rs", c.as_str())]);
        assert_eq!(large_files(&tree), [("b.rs".to_owned(), 501)]);
    }

    #[test]
    fn a_line_has_at_most_116_columns() {
        assert_eq!(of(&format!("// {}", "é".repeat(113))), "");
        assert_eq!(
            of(&format!("// {}", "é".repeat(114))),
            "2: the line has 117 columns, more than 116\n"
        );
    }

    #[test]
    fn a_function_has_at_most_130_lines() {
        let function = |n: usize| format!("fn long() {{\n{}}}", "    a();\n".repeat(n - 2));
        assert_eq!(of(&function(130)), "");
        assert_eq!(of(&function(131)), "2: `long` has 131 lines, more than 130\n");
        // One match over a closed set is as long as the set; what comes before and after it is not.
        let arms = "        A => a(),\n".repeat(200);
        assert_eq!(of(&format!("fn long() {{\n    match a {{\n{arms}    }}\n}}")), "");
        let wild = format!("fn long() {{\n    match a {{\n{arms}        _ => b(),\n    }}\n}}");
        assert_eq!(of(&wild), "2: `long` has 205 lines, more than 130\n");
        let more = "    a();\n".repeat(20);
        let both = format!("fn long() {{\n    match a {{\n{arms}    }}\n{more}}}");
        assert_eq!(of(&both), "2: `long` has 224 lines, more than 130\n");
    }

    #[test]
    fn leftovers_are_refused_in_code_and_allowed_in_text() {
        for name in ["todo", "unimplemented", "dbg"] {
            let expected = format!("2: `{name}!` is left over\n");
            assert_eq!(of(&format!("fn a() {{ {name}!(); }}")), expected);
            assert_eq!(of(&format!("fn a() {{ log(\"{name}!\"); }} // {name}!")), "");
        }
    }

    #[test]
    fn marks_of_unfinished_work_are_refused_in_any_source() {
        for mark in [concat!("FIX", "ME"), concat!("XX", "X")] {
            let expected = format!("2: {mark} marks unfinished work\n");
            assert_eq!(of(&format!("// {mark}: later")), expected);
            assert_eq!(facts(".ci/run", &format!("a\n# {mark}\n")), expected);
            assert_eq!(of(&format!("// {mark}{mark}")), "");
        }
    }

    #[test]
    fn a_sleep_is_refused_and_a_timer_is_not() {
        let expected = "2: a sleep guesses when something will have happened\n";
        for code in [
            "fn a() { std::thread::sleep(d); }",
            "fn a() { thread::sleep(d); }",
            "async fn a() { tokio::time::sleep(d).await; }",
            "use tokio::time::sleep;",
            "use tokio::time::{Duration, sleep};",
            "use std::{thread::{self, sleep}, time::Duration};",
        ] {
            assert_eq!(of(code), expected, "of {code}");
        }
        for code in [
            "async fn a() { tokio::time::sleep_until(at).await; }",
            "use tokio::time::{sleep_until, Instant};",
            "// thread::sleep(d)",
            "use tokio::time::{Instant}; fn sleep() { b.sleep() }",
        ] {
            assert_eq!(of(code), "", "of {code}");
        }
        let bench = "//! Measures.\nfn a() { std::thread::sleep(d); }\n";
        assert_eq!(facts("crates/a/benches/append.rs", bench), "");
        assert_eq!(facts("xtask/src/bench.rs", bench), "");
    }

    #[test]
    fn a_test_is_not_ignored_in_silence() {
        assert_eq!(of("#[test]\n#[ignore]\nfn a() {}"), "3: `a` is ignored without a reason\n");
        assert_eq!(of("#[test]\n#[ignore = \"slow\"]\nfn a() {}"), "");
        assert_eq!(
            of("/// ```ignore\n/// a();\n/// ```\nfn a() {}"),
            "2: an example is ignored without a reason\n"
        );
        assert_eq!(of("/// ```no_run\n/// a();\n/// ```\nfn a() {}"), "");
    }
}
