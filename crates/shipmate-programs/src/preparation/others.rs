//! What files of other programs say about trees: those that people have already.
//!
//! One of them counts, the first that is there, and only where the configuration says nothing about trees.
//! A file that cannot be read is told, and counts for nothing.

use std::path::Path;

use serde::Deserialize;
use shipmate_model::setup::Preparation;
use shipmate_process::regular_file::read_inside;

const BYTES_MAX: usize = 1 << 20;

type Read = fn(&str) -> Result<Preparation, String>;

/// Whose files, in the order in which they are looked for.
const FILES: [(&str, Read); 3] = [
    ("conductor.json", conductor),
    (".superset/config.json", superset),
    (".cursor/worktrees.json", cursor),
];

const INCLUDE: &str = ".worktreeinclude";

/// What the files in this checkout say, and what is wrong with them.
pub fn find(workspace: &Path) -> (Preparation, Vec<String>) {
    let mut problems = Vec::new();
    let mut read = |name: &str| match read_inside(workspace, Path::new(name), BYTES_MAX) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(_) => {
                problems.push(format!("{name} is not UTF-8, and is left alone"));
                None
            }
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => {
            problems.push(format!("{name} is left alone: {e}"));
            None
        }
    };
    let include = read(INCLUDE);
    let texts: Vec<_> = FILES.iter().map(|(name, parse)| (name, parse, read(name))).collect();
    let mut found = Preparation::default();
    for (name, parse, text) in texts {
        match text.as_deref().map(parse) {
            None => {}
            Some(Err(reason)) => problems.push(format!("{name} is left alone: {reason}")),
            Some(Ok(said)) if said.is_none() => {}
            Some(Ok(said)) => {
                found = Preparation { from: (*name).to_owned(), ..said };
                break;
            }
        }
    }
    if let Some(text) = include {
        let (copy, left) = patterns(&text);
        if !copy.is_empty() {
            found.copy.extend(copy);
            found.copies_what_fits = true;
            found.from = match found.from.is_empty() {
                true => INCLUDE.to_owned(),
                false => format!("{INCLUDE} and {}", found.from),
            };
        }
        problems.extend(left);
    }
    (found, problems)
}

/// Lines as in a `.gitignore`, for ignored files that are copied.
fn patterns(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut copy, mut problems) = (Vec::new(), Vec::new());
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.filter(|line| !line.starts_with('#')) {
        if line.starts_with('!') {
            // Without it, what it keeps back would be copied.
            let text = format!(
                "{INCLUDE} is left alone: {line:?} takes back what others name; name less instead"
            );
            return (Vec::new(), vec![text]);
        }
        if line.split('/').any(|part| part == "..") {
            problems.push(format!(
                "{INCLUDE}: {line:?} leads out of the repository, and counts for nothing"
            ));
            continue;
        }
        let rooted = line.strip_prefix('/').unwrap_or(line).trim_end_matches('/');
        // A name without a slash is meant in every folder.
        match line.trim_end_matches('/').contains('/') || rooted.starts_with("**") {
            true => copy.push(rooted.to_owned()),
            false => copy.push(format!("**/{rooted}")),
        }
    }
    (copy, problems)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
    /// The name of a script instead of commands is theirs to find.
    Other(serde::de::IgnoredAny),
}

impl Lines {
    fn lines(self) -> Vec<String> {
        let lines = match self {
            Lines::One(line) => vec![line],
            Lines::Many(lines) => lines,
            Lines::Other(_) => Vec::new(),
        };
        lines.into_iter().filter(|line| !line.trim().is_empty()).collect()
    }
}

fn lines(lines: Option<Lines>) -> Vec<String> {
    lines.map(Lines::lines).unwrap_or_default()
}

/// `{"scripts": {"setup": "…", "archive": "…"}}`
fn conductor(text: &str) -> Result<Preparation, String> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        scripts: Scripts,
    }
    #[derive(Deserialize, Default)]
    struct Scripts {
        setup: Option<Lines>,
        archive: Option<Lines>,
    }
    let File { scripts } = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let (setup, teardown) = (lines(scripts.setup), lines(scripts.archive));
    Ok(Preparation { setup, teardown, ..Preparation::default() })
}

/// `{"setup": ["…"], "teardown": ["…"]}`
fn superset(text: &str) -> Result<Preparation, String> {
    #[derive(Deserialize)]
    struct File {
        setup: Option<Lines>,
        teardown: Option<Lines>,
    }
    let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let (setup, teardown) = (lines(file.setup), lines(file.teardown));
    Ok(Preparation { setup, teardown, ..Preparation::default() })
}

/// `{"setup-worktree": ["…"]}`; a line of its own for Unix comes first. A name alone is a script beside
/// the file.
fn cursor(text: &str) -> Result<Preparation, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct File {
        setup_worktree: Option<Lines>,
        setup_worktree_unix: Option<Lines>,
    }
    let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let setup = file.setup_worktree_unix.or(file.setup_worktree);
    let setup = match setup {
        Some(Lines::One(script)) => vec![format!("sh .cursor/{script}")],
        setup => lines(setup),
    };
    Ok(Preparation { setup, ..Preparation::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_programs_are_read_in_their_order() {
        let top = std::env::temp_dir().join(format!("shipmate-others-{}", std::process::id()));
        std::fs::create_dir_all(top.join(".cursor")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(top.join(name), text).unwrap();
        assert_eq!(find(&top), (Preparation::default(), Vec::new()));
        put(".cursor/worktrees.json", r#"{"setup-worktree": ["npm ci", ""]}"#);
        put(".worktreeinclude", "# secrets\n.env\n/config/local.json\n../out\n");
        let (found, problems) = find(&top);
        assert_eq!(found.setup, ["npm ci"]);
        assert_eq!(found.copy, ["**/.env", "config/local.json"]);
        assert_eq!(found.from, ".worktreeinclude and .cursor/worktrees.json");
        assert_eq!(problems.len(), 1, "{problems:?}");
        put("conductor.json", r#"{"scripts": {"setup": "make dev", "archive": "make stop"}}"#);
        let (found, _) = find(&top);
        assert_eq!(
            (found.setup, found.teardown),
            (vec!["make dev".to_owned()], vec!["make stop".to_owned()])
        );
        put(".worktreeinclude", ".env*\n!.env.local\n");
        assert_eq!(find(&top).0.copy, Vec::<String>::new());
        put(".worktreeinclude", ".env\n");
        put("conductor.json", "{");
        let (found, problems) = find(&top);
        assert_eq!(found.setup, ["npm ci"]);
        assert!(problems.iter().any(|text| text.starts_with("conductor.json")), "{problems:?}");
        std::fs::remove_dir_all(&top).unwrap();
    }
}
