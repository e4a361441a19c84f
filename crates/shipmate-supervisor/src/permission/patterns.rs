//! Patterns behind a tool's name in a definition: `Bash(git *)`, `Write(docs/**)`.
//!
//! They narrow what the table allows and never widen it. A command fits where each of its parts does;
//! one whose parts cannot be told (a substitution, a redirection, a separator in quotes) does not fit. What
//! `git` does then is not judged: the fence is what holds a process.
//!
//! Deliberately absent: patterns of other tools. Whoever made the teammate is told of those.

use std::path::Path;

use serde_json::Value;
use shipmate_model::definition::{Definition, bare};
use shipmate_model::files::Pattern;
use shipmate_programs::definitions::has_held_pattern;

/// What divides a command into others, longest first.
const SEPARATORS: [&str; 6] = ["&&", "||", ";", "|", "&", "\n"];
const UNCLEAR: [&str; 7] = ["`", "$(", "<(", ">(", ">", "<", "${"];

/// A tool and the patterns behind its name.
pub fn of(entry: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let inner = entry.trim().strip_suffix(')')?;
    let (tool, inner) = inner.split_once('(')?;
    Some((tool.trim(), inner.split(',').map(str::trim).filter(|one| !one.is_empty())))
}

/// Whether calls have to be looked at because of a pattern.
pub fn has_any(definition: &Definition) -> bool {
    definition.tools.iter().flatten().any(|entry| has_held_pattern(entry))
}

/// What a model is told whose call fits none of the patterns that its tool stands with; nothing where it may.
pub fn outside(definition: &Definition, tool: &str, input: &Value, tree: &Path) -> Option<String> {
    let entries = definition.tools.as_ref()?.iter().filter(|entry| bare(entry) == tool);
    let entries: Vec<&String> = entries.collect();
    if entries.is_empty() || !entries.iter().all(|entry| has_held_pattern(entry)) {
        return None;
    }
    let patterns = entries.iter().filter_map(|entry| of(entry)).flat_map(|(_, patterns)| patterns);
    let patterns: Vec<&str> = patterns.collect();
    let fits = match tool {
        "Bash" => command_fits(input["command"].as_str().unwrap_or_default(), &patterns),
        _ => file_fits(input, &patterns, tree),
    };
    let (name, list) = (&definition.name, patterns.join(", "));
    (!fits).then(|| {
        format!(
            "The definition {name} gives you {tool} for {list} alone. Do without it, or message the lead."
        )
    })
}

fn command_fits(command: &str, patterns: &[&str]) -> bool {
    let command = command.trim().replace(" 2>&1", "");
    if UNCLEAR.iter().any(|mark| command.contains(mark)) {
        return false;
    }
    let mut parts = vec![command.as_str()];
    for separator in SEPARATORS {
        parts = parts.into_iter().flat_map(|part| part.split(separator)).collect();
    }
    let fits = |part: &str| patterns.iter().any(|pattern| line_fits(part.trim(), pattern));
    parts.into_iter().all(fits)
}

/// `git *` and `git:*` are that command with any arguments or none; other stars are any text.
fn line_fits(line: &str, pattern: &str) -> bool {
    let first = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    if let Some(first) = first.filter(|first| !first.contains('*')) {
        let rest = line.strip_prefix(first);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    }
    let mut pieces = pattern.split('*');
    let Some(mut rest) = line.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

fn file_fits(input: &Value, patterns: &[&str], tree: &Path) -> bool {
    let named = ["file_path", "notebook_path", "path"].iter().find_map(|key| input[*key].as_str());
    let Some(named) = named else { return false };
    let path = Path::new(named);
    let path = path.strip_prefix(tree).unwrap_or(path).to_string_lossy();
    let Ok(path) = path.parse::<Pattern>() else { return false };
    patterns.iter().any(|text| text.parse::<Pattern>().is_ok_and(|one| one.covers(&path)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn may(tools: &[&str], tool: &str, input: &Value) -> bool {
        let tools = Some(tools.iter().map(|one| (*one).to_owned()).collect());
        let definition = Definition { name: "one".to_owned(), tools, ..Definition::default() };
        outside(&definition, tool, input, Path::new("/tree")).is_none()
    }

    #[test]
    fn a_command_fits_where_each_of_its_parts_does() {
        let tools = ["Bash(git *, npm run test:*)", "Bash(cargo * --locked)", "Bash(ls)"];
        let fits = ["git", "git log", "git diff && git log | git x", "npm run test", "ls"];
        let fits =
            fits.iter().chain(&["npm run test -- one", "cargo test --locked", "git log 2>&1"]);
        for command in fits {
            assert!(may(&tools, "Bash", &json!({ "command": command })), "{command}");
        }
        let not =
            ["gitx", "git log; rm x", "git log\nrm x", "git $(rm x)", "git `rm x`", "git log > x"];
        let more = [
            "",
            "npm run tests",
            "ls -l",
            "X=1 git log",
            "cargo test",
            "git log & rm x",
            "rm || git",
        ];
        for command in not.iter().chain(&more) {
            assert!(!may(&tools, "Bash", &json!({ "command": command })), "{command}");
        }
        assert!(!may(&tools, "Bash", &json!({})));
        assert!(may(&["Bash(git *)", "Bash"], "Bash", &json!({ "command": "rm" })));
    }

    #[test]
    fn a_file_fits_where_a_pattern_covers_it_in_the_tree() {
        let tools = ["Write(docs/**, *.md)", "Read", "WebFetch(domain:example.com)"];
        for path in ["/tree/docs/a/b", "docs/a", "/tree/a.md", "/tree/./docs/a"] {
            assert!(may(&tools, "Write", &json!({ "file_path": path })), "{path}");
        }
        for path in ["/tree/src/a", "/docs/a", "/tree/docs/../src/a", "/trees/docs/a", "", "a/b.md"]
        {
            assert!(!may(&tools, "Write", &json!({ "file_path": path })), "{path}");
        }
        assert!(may(&tools, "Read", &json!({ "file_path": "/etc/hosts" })));
        assert!(may(&tools, "WebFetch", &json!({ "url": "https://example.org" })));
    }
}
