//! Hooks that a project has registered with Claude Code, in `.claude/settings.json`.
//!
//! They are read from the commit that a team begins with, and so is everything below `.claude/` and
//! every file that one of their lines names, whenever they run on a team's work: what is handed in
//! cannot change what judges it. What their scripts call besides is the project's, as the work has it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HookEvent;

pub(crate) const FILE: &str = ".claude/settings.json";
const FOLDER: &str = ".claude/";
const ATTRIBUTES: &str = ".gitattributes";
const SECONDS_MAX: f64 = 3600.0;

/// A line that is run for an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registered {
    pub event: HookEvent,
    pub line: String,
    /// Its own time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Registered {
    pub(super) fn timeout(&self, usual: Duration) -> Duration {
        self.timeout_ms.map_or(usual, Duration::from_millis)
    }
}

/// The lines for events that a team has; events of a session are the program's own. A gate that
/// cannot be run as it is written is refused: left out, it would be open.
pub(crate) fn registered(text: &str) -> Result<Vec<Registered>, String> {
    let named = |why: String| format!("{FILE} (as it is committed): {why}");
    let settings: Value = serde_json::from_str(text).map_err(|e| named(e.to_string()))?;
    if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for event in HookEvent::ALL {
        let Some(matchers) = settings.pointer(&format!("/hooks/{event}")) else { continue };
        let bad = |what: &str| {
            named(format!(
                "hooks.{event} {what}; write it as {{\"hooks\": [{{\"type\": \"command\", \
                 \"command\": \"…\"}}]}}, or set `claude-settings = false` under [hooks]"
            ))
        };
        for matcher in matchers.as_array().ok_or_else(|| bad("is no list"))? {
            let hooks = matcher.get("hooks").and_then(Value::as_array);
            for hook in hooks.ok_or_else(|| bad("has an entry without hooks"))? {
                let line = hook.get("command").and_then(Value::as_str).unwrap_or_default().trim();
                if hook.get("type").and_then(Value::as_str) != Some("command") || line.is_empty() {
                    return Err(bad("has a hook that is no command"));
                }
                let seconds = match hook.get("timeout") {
                    None => None,
                    Some(given) => {
                        let seconds = given.as_f64().filter(|s| *s > 0.0 && *s <= SECONDS_MAX);
                        Some(seconds.ok_or_else(|| bad("has a timeout that is not 1 to 3600"))?)
                    }
                };
                let timeout_ms = seconds.map(|seconds| (seconds * 1000.0) as u64);
                found.push(Registered { event, line: line.to_owned(), timeout_ms });
            }
        }
    }
    Ok(found)
}

/// The files of a commit that these lines stand on.
pub(crate) fn stands_on(all: &[String], lines: &[Registered]) -> BTreeSet<String> {
    let is_named = |path: &&String| lines.iter().any(|one| names(&one.line, path));
    all.iter().filter(|path| path.starts_with(FOLDER) || is_named(path)).cloned().collect()
}

/// Whether a line names a file, by its path or by a name with an ending alone (`cd ci && ./check.sh`).
/// One too many is only as it was; one too few would be a gate that work opens for itself.
fn names(line: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    holds(line, path) || (name.contains('.') && holds(line, name))
}

/// Whether a text holds a word, with nothing of a name around it.
fn holds(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].trim_end_matches("./").chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether a path is one that no work changes while these hooks look at it.
pub(crate) fn is_kept(path: &str, files: &BTreeSet<String>) -> bool {
    // Attributes say how a file is written into a tree: those of the work could rewrite a script.
    let is_attributes = path == ATTRIBUTES || path.ends_with(&format!("/{ATTRIBUTES}"));
    path.starts_with(FOLDER) || is_attributes || files.contains(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Vec<String>, String> {
        let found = registered(text)?;
        Ok(found.iter().map(|one| format!("{}: {}", one.event, one.line)).collect())
    }

    #[test]
    fn hooks_of_a_team_are_taken_and_those_of_a_session_left() {
        let text = r#"{"model": "x", "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "?"}]}],
            "TaskCompleted": [
              {"hooks": [{"type": "command", "command": "bash .claude/hooks/a.sh", "timeout": 2.5}]},
              {"matcher": "*", "hooks": [{"type": "command", "command": "b"}]}],
            "TeammateIdle": []}}"#;
        let all = ["TaskCompleted: bash .claude/hooks/a.sh", "TaskCompleted: b"];
        assert_eq!(lines(text).unwrap(), all);
        let found = registered(text).unwrap();
        let usual = Duration::from_secs(60);
        assert_eq!(found[0].timeout(usual), Duration::from_millis(2500));
        assert_eq!(found[1].timeout(usual), usual);
        assert_eq!(lines("{}").unwrap(), [""; 0]);
        let off = text.replacen('{', "{\"disableAllHooks\": true,", 1);
        assert_eq!(lines(&off).unwrap(), [""; 0]);
    }

    #[test]
    fn a_gate_that_cannot_be_run_as_written_is_refused() {
        for (hooks, fact) in [
            ("7", "hooks.TaskCompleted is no list"),
            ("[{}]", "has an entry without hooks"),
            (
                r#"[{"hooks": [{"type": "prompt", "prompt": "?"}]}]"#,
                "has a hook that is no command",
            ),
            (r#"[{"hooks": [{"type": "command", "command": " "}]}]"#, "that is no command"),
            (
                r#"[{"hooks": [{"type": "command", "command": "a", "timeout": 0}]}]"#,
                "has a timeout that is not 1 to 3600",
            ),
        ] {
            let told =
                lines(&format!("{{\"hooks\": {{\"TaskCompleted\": {hooks}}}}}")).unwrap_err();
            assert!(told.contains(fact) && told.contains("claude-settings = false"), "{told}");
        }
        assert!(lines("{\"hooks\": ").unwrap_err().contains(FILE));
    }

    #[test]
    fn what_the_lines_stand_on_is_everything_of_claude_and_what_they_name() {
        let all = [
            ".claude/hooks/a.sh",
            ".claude/settings.json",
            "ci/b.sh",
            "ci/c.sh",
            "d",
            "my ci/f.sh",
            "sub/g.sh",
            "ci/bb.sh",
            "e",
        ];
        let all: Vec<String> = all.map(str::to_owned).to_vec();
        let line = |line: &str| Registered {
            event: HookEvent::TaskCompleted,
            line: line.to_owned(),
            timeout_ms: None,
        };
        let lines = [
            line(
                "bash \"$CLAUDE_PROJECT_DIR\"/ci/b.sh; X=$CLAUDE_PROJECT_DIR/d ${HERE:-.}/ci/c.sh",
            ),
            line("sh \"$CLAUDE_PROJECT_DIR/my ci/f.sh\" && cd sub && ./g.sh"),
        ];
        let found: Vec<String> = stands_on(&all, &lines).into_iter().collect();
        assert_eq!(found, all[..7]);
        let kept = |path: &str| is_kept(path, &stands_on(&all, &lines));
        assert!(kept(".gitattributes") && kept("ci/.gitattributes") && !kept("e"));
    }
}
