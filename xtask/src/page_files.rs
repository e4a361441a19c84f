//! The page's files that are written from Rust: the types of the wire and the table of words.
//!
//! Both are in the repository, because the page is served and checked as it lies there. They need no
//! build, so every check of the page looks whether they are up to date.

use std::fs;

use crate::tree::{self, Tree};
use crate::violation::counted;
use crate::{wire_types, word_table};

const FOLDER: &str = "crates/shipmate/src/web/page";

/// Path to text.
type Files = Vec<(String, String)>;

fn generate(tree: &Tree) -> Result<Files, String> {
    Ok(vec![
        (format!("{FOLDER}/wire.d.ts"), wire_types::declarations(tree)?),
        (format!("{FOLDER}/wordtable.js"), word_table::module(tree)?),
    ])
}

pub(crate) fn write() -> Result<(), String> {
    let tree = Tree::read()?;
    let wanted = generate(&tree)?;
    let changed = stale(&tree, &wanted);
    for (path, text) in wanted.iter().filter(|(path, _)| changed.contains(&path.as_str())) {
        fs::write(tree::root().join(path), text)
            .map_err(|e| format!("{path} could not be changed: {e}"))?;
        println!("{path}: changed");
    }
    let all = counted(wanted.len(), "file");
    println!("docs: {} of {all} of the page changed", changed.len());
    Ok(())
}

pub(crate) fn check() -> Result<(), String> {
    check_in(&Tree::read()?)
}

pub(crate) fn check_in(tree: &Tree) -> Result<(), String> {
    let wanted = generate(tree)?;
    let changed = stale(tree, &wanted);
    if changed.is_empty() {
        println!("docs: {} of the page up to date", counted(wanted.len(), "file"));
        return Ok(());
    }
    let lines = changed.iter().map(|path| {
        format!("\n{path}:1: differs from the Rust it is generated from; run `cargo xtask docs`")
    });
    let many = counted(changed.len(), "file");
    Err(format!("{many} of the page not up to date:{}", lines.collect::<String>()))
}

/// The paths of those that are not there, or are there with another text.
fn stale<'a>(tree: &Tree, wanted: &'a [(String, String)]) -> Vec<&'a str> {
    let differs = |(path, text): &&(String, String)| tree.text(path) != Some(text.as_str());
    wanted.iter().filter(differs).map(|(path, _)| path.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_files_of_the_page_are_up_to_date() {
        let found = check();
        assert!(found.is_ok(), "{}", found.unwrap_err());
    }

    #[test]
    fn a_file_that_is_missing_or_differs_is_stale() {
        let wanted = ["a.js", "b.d.ts"].map(|path| (path.to_owned(), "new\n".to_owned())).to_vec();
        assert_eq!(stale(&Tree::from([]), &wanted), ["a.js", "b.d.ts"]);
        assert_eq!(
            stale(&Tree::from([("a.js", "new\n"), ("b.d.ts", "old\n")]), &wanted),
            ["b.d.ts"]
        );
        assert_eq!(stale(&Tree::from([("a.js", "new\n"), ("b.d.ts", "new\n")]), &wanted), [""; 0]);
    }

    #[test]
    fn a_change_of_a_struct_that_the_server_sends_is_noticed() {
        let card = "crates/shipmate-protocol/src/view/look.rs";
        let tree = Tree::read().unwrap();
        let files = tree.texts().map(|(path, text)| match path == card {
            true => (path.to_owned(), text.replace("pub subject: String", "pub title: String")),
            false => (path.to_owned(), text.to_owned()),
        });
        let told = check_in(&files.collect()).unwrap_err();
        assert!(told.contains("wire.d.ts:1: differs from the Rust"), "{told}");
    }
}
