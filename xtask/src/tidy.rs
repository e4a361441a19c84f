//! Rules about the text of the repository that neither rustfmt nor clippy knows.
//!
//! A rule that nothing checks is a wish: projects with a size limit in their guide and no check
//! have hundreds of files over it. So each of these is code, each has a test that proves it can
//! fail, and the repository itself is one more test.
//!
//! What is in here holds for single files; links between pages are in [`links`]. Patterns that
//! must not be in the repository are put together from parts, so that this file keeps its own
//! rules and needs no exemption.

mod code;
mod links;

use crate::tree::Tree;
use crate::violation::{Violation, counted, report};

/// Check names, sizes, headers, leftovers and links
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), String> {
    let tree = Tree::read()?;
    let large = code::large_files(&tree);
    for (path, lines) in &large {
        println!("warning: {path} has {lines} lines; split it before it reaches the limit");
    }
    report("tidy", check(&tree))?;
    println!("tidy: {} kept the rules", counted(tree.texts().count(), "text file"));
    Ok(())
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.texts() {
        text_rules(path, text, &mut found);
        if is_source(path) {
            code::marks(path, text, &mut found);
        }
        if path.ends_with(".rs") && !is_data(path) {
            code::check(path, text, &mut found);
        }
    }
    found.extend(links::check(tree));
    found
}

/// Files whose bytes are the point of a test: a fixture may be as untidy as what it stands for.
fn is_data(path: &str) -> bool {
    let mut folders = path.split('/');
    folders.any(|part| matches!(part, "fixtures" | "golden" | "testdata"))
        || path.ends_with(".snap")
}

fn is_source(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("rs" | "toml" | "sh" | "py" | "js" | "ts" | "css" | "html" | "sql"))
        || path.starts_with(".ci/")
}

fn text_rules(path: &str, text: &str, found: &mut Vec<Violation>) {
    for (index, line) in text.lines().enumerate() {
        if !is_data(path) && line.ends_with([' ', '\t']) {
            found.push(Violation::new(path, index + 1, "the line ends in a space", "remove it"));
        }
        // Patterns of .gitignore begin with a slash and mean the root of the repository.
        if !path.ends_with(".gitignore")
            && let Some(machine) = machine_path(line)
        {
            found.push(Violation::new(
                path,
                index + 1,
                format!("{machine} is a path of one machine"),
                "write it relative, from `~` or as `/path/to/…`",
            ));
        }
    }
    if !is_data(path) && !text.is_empty() && !text.ends_with('\n') {
        let last = text.lines().count();
        found.push(Violation::new(path, last, "the file ends without a newline", "add one"));
    }
}

/// Folders that exist on the machines of those who write the code, not of those who read it.
const MACHINE_FOLDERS: [&str; 4] = ["work", "root", "farm", "home"];

/// An absolute path into one of [`MACHINE_FOLDERS`], if the line has one.
fn machine_path(line: &str) -> Option<&str> {
    for (at, _) in line.match_indices('/') {
        // A slash after a name, a variable or a glob continues a path that begins elsewhere.
        let continues = line[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || "_-.~/*})>$".contains(c));
        if continues {
            continue;
        }
        let path = &line[at..];
        let end =
            path.find(|c: char| !(c.is_alphanumeric() || "_-./".contains(c))).unwrap_or(path.len());
        let mut parts = path[1..end].split('/');
        let (first, second, third) = (parts.next()?, parts.next(), parts.next());
        let inside = match first {
            // `/home/` alone is a route of many a web page; with a name in it, it is somebody's.
            "home" => second.is_some_and(|user| !user.is_empty()) && third.is_some(),
            _ => second.is_some(),
        };
        if MACHINE_FOLDERS.contains(&first) && inside {
            return Some(&path[..end]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The violations of one file as `line: fact`, one per line.
    pub(super) fn facts(path: &str, text: &str) -> String {
        let found = check(&Tree::from([(path, text)]));
        found.iter().map(|v| format!("{}: {}\n", v.line, v.fact)).collect()
    }

    #[test]
    fn this_repository_is_tidy() {
        let found = report("tidy", check(&Tree::read().unwrap()));
        assert!(found.is_ok(), "{}", found.unwrap_err());
    }

    #[test]
    fn a_line_may_not_end_in_a_space() {
        assert_eq!(
            facts("a.md", "a\nb \n\tc\t\n"),
            "2: the line ends in a space\n3: the line ends in a space\n"
        );
    }

    #[test]
    fn a_file_ends_with_a_newline() {
        assert_eq!(facts("a.md", "a\nb"), "2: the file ends without a newline\n");
        assert_eq!(facts("a.md", ""), "");
    }

    #[test]
    fn a_fixture_may_be_untidy() {
        assert_eq!(facts("crates/a/tests/golden/1.jsonl", "a \nb"), "");
        assert_eq!(facts("crates/a/tests/fixtures/a.rs", "fn main() {}"), "");
    }

    #[test]
    fn a_path_of_one_machine_is_refused_anywhere() {
        for folder in ["work", "root", "farm", "home/ana"] {
            let path = format!("/{folder}/project");
            for text in [format!("see {path}\n"), format!("a = \"{path}\"\n"), format!("{path}\n")]
            {
                let expected = format!("1: {path} is a path of one machine\n");
                assert_eq!(facts("a.toml", &text), expected, "of {text}");
                assert_eq!(facts("tests/golden/a.jsonl", &text), expected, "of {text}");
            }
        }
    }

    #[test]
    fn a_path_that_only_looks_like_one_of_a_machine_is_allowed() {
        for text in [
            "docs/work/a\n",
            "$HOME/work/a\n",
            "{}/root/a\n",
            "~/work/a\n",
            "https://example.org/work/a\n",
            "/home/\n",
            "/home/<you>/a\n",
            "/homes/ana/a\n",
            "**/work/**\n",
        ] {
            assert_eq!(facts("a.toml", text), "", "of {text}");
        }
        assert_eq!(facts(".gitignore", &format!("/{}/a\n", "work")), "");
    }
}
