//! What holds for the files of the web page: their types, their tests, and that text never becomes
//! markup.
//!
//! The page is plain modules that a browser reads as they are, so nothing builds them and nothing
//! would notice a misspelt name. The types are in comments, and a type checker reads those. What
//! teammates write is shown as text by never using the ways in which text becomes markup or code;
//! the page's own policy refuses some of them, this refuses all of them before anybody runs it. What
//! needs no browser is tested without one, by Node's own runner and nothing from elsewhere.

use std::process::Command;

use crate::browser;
use crate::cargo::run as run_command;
use crate::clients;
use crate::page_files;
use crate::tree::{self, Tree};
use crate::violation::{Violation, counted, report};

/// Check the types and the safety of the web page's files and run their tests
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

const FOLDER: &str = "crates/shipmate/src/web/page/";
/// Beside what the program carries, not in it: everything in [`FOLDER`] is served.
const TESTS: &str = "crates/shipmate/tests/page/";

/// What turns text into markup or code.
const NEVER: [&str; 8] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "createContextualFragment",
    "setHTMLUnsafe",
    "eval(",
    "new Function",
];

pub(crate) fn run(_: &Args) -> Result<(), String> {
    rules()?;
    unit_tests()
}

/// The types and the safety of the files.
pub(crate) fn rules() -> Result<(), String> {
    let tree = Tree::read()?;
    report("page", check(&tree))?;
    page_files::check_in(&tree)?;
    let scripts: Vec<&str> = files(&tree).map(|(path, _)| path).filter(|p| is_script(p)).collect();
    if scripts.is_empty() {
        println!("page: {FOLDER} holds no script");
        return Ok(());
    }
    let mut tsc = Command::new(browser::tsc()?);
    tsc.current_dir(tree::root())
        .args(["--allowJs", "--checkJs", "--strict", "--noEmit", "--pretty", "false"])
        .args(["--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"])
        .args(["--lib", "es2023,dom,dom.iterable", "--types", ""])
        .args(&scripts);
    run_command(&mut tsc)?;
    println!("page: {} kept the rules", counted(files(&tree).count(), "file"));
    Ok(())
}

/// The tests of what needs no browser.
pub(crate) fn unit_tests() -> Result<(), String> {
    let tree = Tree::read()?;
    let files = test_files(&tree);
    if files.is_empty() {
        return Err(format!("{TESTS} holds no test"));
    }
    let mut node = Command::new(clients::node()?);
    // Files are named one by one: what a folder means here differs between versions of Node.
    node.current_dir(tree::root()).args(["--test", "--test-reporter=spec"]).args(&files);
    run_command(&mut node).map_err(|_| {
        format!("a test of the page failed; for one file: `node --test {TESTS}NAME.test.js`")
    })?;
    println!("page: the tests of {} passed", counted(files.len(), "file"));
    Ok(())
}

fn test_files(tree: &Tree) -> Vec<&str> {
    let paths = tree.texts().map(|(path, _)| path);
    paths.filter(|path| path.starts_with(TESTS) && path.ends_with(".test.js")).collect()
}

fn is_script(path: &str) -> bool {
    path.ends_with(".js") || path.ends_with(".d.ts")
}

fn files(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts().filter(|(path, _)| path.starts_with(FOLDER))
}

fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in files(tree) {
        for (index, line) in text.lines().enumerate() {
            for (fact, remedy) in wrong(path, line) {
                found.push(Violation::new(path, index + 1, fact, remedy));
            }
        }
    }
    found
}

fn wrong(path: &str, line: &str) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let markup = "build nodes and set their text: what a teammate wrote is never markup";
    for word in NEVER.iter().filter(|word| line.contains(**word)) {
        found.push((format!("the page uses {}", word.trim_end_matches('(')), markup));
    }
    if links_elsewhere(path, line) {
        found.push(("the page names another host".to_owned(), "embed what it needs"));
    }
    if path.ends_with(".html") {
        let lower = line.to_ascii_lowercase();
        let policy = "put it into a file of its own: the page's policy refuses it inline";
        if lower.contains("style=") || lower.contains("<style") {
            found.push(("a style is inline".to_owned(), policy));
        }
        if lower.contains("<script") && !lower.contains("src=") {
            found.push(("a script is inline".to_owned(), policy));
        }
        let handler = lower.split_ascii_whitespace().any(|word| {
            let name = word.split('=').next().unwrap_or_default();
            name.len() > 2 && word.len() > name.len() && name.starts_with("on")
        });
        if handler {
            found.push(("a script is inline, as a handler".to_owned(), policy));
        }
    }
    found
}

/// A namespace is a name, not a link.
fn links_elsewhere(path: &str, line: &str) -> bool {
    let namespace = "www.w3.org/";
    let in_comment = path.ends_with(".js") && line.trim_start().starts_with("//");
    ["http://", "https://", "\"//", "url(//"].iter().any(|start| {
        line.match_indices(start).any(|(at, _)| !line[at + start.len()..].starts_with(namespace))
    }) && !in_comment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(file: &str, text: &str) -> Vec<String> {
        let path = format!("{FOLDER}{file}");
        check(&Tree::from([(path.as_str(), text)])).into_iter().map(|v| v.fact).collect()
    }

    #[test]
    fn this_page_keeps_the_rules() {
        let found = report("page", check(&Tree::read().unwrap()));
        assert!(found.is_ok(), "{}", found.unwrap_err());
    }

    #[test]
    fn every_file_with_a_test_is_run() {
        let tree = Tree::read().unwrap();
        let run = test_files(&tree);
        assert!(run.contains(&format!("{TESTS}graph_layout.test.js").as_str()), "{run:?}");
        for (path, text) in tree.texts().filter(|(path, _)| path.starts_with(TESTS)) {
            assert_eq!(text.contains("from \"node:test\""), run.contains(&path), "{path}");
        }
    }

    #[test]
    fn text_never_becomes_markup_or_code() {
        for (line, word) in [
            ("node.innerHTML = text;", "innerHTML"),
            ("node['outerHTML'] = text;", "outerHTML"),
            ("node.insertAdjacentHTML('beforeend', text);", "insertAdjacentHTML"),
            ("document.write(text);", "document.write"),
            ("range.createContextualFragment(text);", "createContextualFragment"),
            ("eval(text);", "eval"),
            ("new Function(text)();", "new Function"),
        ] {
            assert_eq!(facts("screens/a.js", line), [format!("the page uses {word}")]);
        }
        assert_eq!(facts("a.js", "node.textContent = text; // medieval\n"), [""; 0]);
    }

    #[test]
    fn a_page_has_no_inline_script_or_style() {
        for (line, fact) in [
            ("<p style=\"color: red\">", "a style is inline"),
            ("<style>", "a style is inline"),
            ("<script>", "a script is inline"),
            ("<button onclick=\"go()\">", "a script is inline, as a handler"),
        ] {
            assert_eq!(facts("index.html", line), [fact]);
        }
        let good = "<script type=\"module\" src=\"/page/app.js\"></script>";
        assert_eq!(facts("index.html", good), [""; 0]);
        assert_eq!(facts("index.html", "<p>carry on = go on</p>"), [""; 0]);
    }

    #[test]
    fn a_page_needs_nobody_else() {
        let told = ["the page names another host"];
        assert_eq!(facts("a.css", "@import url(https://example.org/a.css);"), told);
        assert_eq!(facts("index.html", "<link href=\"//example.org/a\">"), told);
        assert_eq!(facts("a.js", "const svg = 'http://www.w3.org/2000/svg';"), [""; 0]);
    }
}
