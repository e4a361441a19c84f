//! Values that the project keeps in a file of its own, such as `.claude/workflow.yaml`.
//!
//! The file is the person's and is read in the person's checkout, once, when the team is made: no
//! agent can write it there. What is not in it stays unset, and the step it is for is left out; no
//! command is ever guessed.

mod yaml;

use std::collections::BTreeMap;
use std::path::Path;

use shipmate_process::regular_file::read_whole;

use super::fill::Values;
use yaml::Node;

const FILE_BYTES_MAX: usize = 1024 * 1024;

/// The values of a file by the places that a playbook names; none where there is no such file.
pub fn read(
    workspace: &Path,
    file: &str,
    places: &BTreeMap<String, String>,
) -> Result<Values, String> {
    let text = match read_whole(&workspace.join(file), FILE_BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8"))?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Values::new()),
        Err(e) => return Err(format!("{file}: {e}")),
    };
    values(file, &text, places)
}

fn values(file: &str, text: &str, places: &BTreeMap<String, String>) -> Result<Values, String> {
    let tree = yaml::parse(text).map_err(|(line, why)| format!("{file}:{line}: {why}"))?;
    let mut values = Values::new();
    for (value, place) in places {
        let found = place.split('.').try_fold(&tree, |node, key| node.get(key));
        match found {
            None | Some(Node::Nothing) => {}
            Some(Node::Text(text)) => {
                values.insert(value.clone(), text.clone());
            }
            Some(_) => return Err(format!("{file}: {place} is no single text")),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKFLOW: &str = include_str!("config/workflow.yaml");

    fn places() -> BTreeMap<String, String> {
        let places = [
            ("test_focused", "commands.test.focused"),
            ("test_full", "commands.test.full"),
            ("typecheck", "commands.typecheck"),
            ("lint", "commands.lint"),
            ("branch", "commands.branch_pattern"),
        ];
        BTreeMap::from(places.map(|(value, place)| (value.to_owned(), place.to_owned())))
    }

    #[test]
    fn what_the_file_has_is_taken_and_what_it_has_not_stays_unset() {
        let values = values("workflow.yaml", WORKFLOW, &places()).unwrap();
        let shown: Vec<String> =
            values.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            shown,
            [
                "branch=feature/{issue_num}-{description}",
                "lint=ruff check .",
                "test_focused=pytest {path}",
                "test_full=pytest -q # all",
            ]
        );
    }

    #[test]
    fn a_place_that_holds_more_than_a_text_is_named() {
        let why = values("w.yaml", "commands:\n  lint:\n    - a\n", &places()).unwrap_err();
        assert_eq!(why, "w.yaml: commands.lint is no single text");
    }
}
