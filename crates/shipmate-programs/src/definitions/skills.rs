//! The skills that a definition names, put behind its instructions: no program is told to load one, and each
//! reads its instructions.

use std::path::Path;

use shipmate_process::regular_file::{read_inside, read_whole};

use super::read::parts;
use super::{Format, Found, Search};
use crate::programs;

/// Longest text of one, and of all: a model reads them with each request.
const SKILL_BYTES_MAX: usize = 16 * 1024;
const ALL_BYTES_MAX: usize = 48 * 1024;

/// With the text of its skills. Those of the repository come before those that Claude Code has of the
/// person. What is not there, or does not fit, is told of.
pub fn with_skills(mut found: Found, search: &Search<'_>) -> Found {
    let profile = search.profiles(Format::Claude.program()).into_iter().next();
    let own = profile.and_then(|profile| profile.path(search.around, programs::CLAUDE, "skills"));
    let mut room = ALL_BYTES_MAX;
    for name in std::mem::take(&mut found.skills) {
        let text = match text_of(&name, search.workspace, own.as_deref()) {
            Ok(text) => text,
            Err(reason) => {
                found.notes.push(format!("its skill {name} is not there: {reason}"));
                continue;
            }
        };
        if text.len() > room {
            let kib = ALL_BYTES_MAX / 1024;
            found.notes.push(format!(
                "its skill {name} is named to it only: all of them are longer than {kib} KiB"
            ));
            found.definition.body.push_str(&format!("\n\nRead the skill {name} before you begin."));
            continue;
        }
        room -= text.len();
        found.definition.body.push_str(&format!("\n\nYour skill {name}:\n{text}"));
    }
    found
}

fn text_of(name: &str, workspace: &Path, own: Option<&Path>) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if !name.chars().all(plain) || name.starts_with('.') {
        return Err("no folder of .claude/skills has such a name".to_owned());
    }
    let file = Path::new(".claude/skills").join(name).join("SKILL.md");
    let read = match (read_inside(workspace, &file, SKILL_BYTES_MAX), own) {
        (Err(e), Some(own)) if e.kind() == std::io::ErrorKind::NotFound => {
            read_whole(&own.join(name).join("SKILL.md"), SKILL_BYTES_MAX)
        }
        (read, _) => read,
    };
    let bytes = read.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("write {}", file.display()),
        _ => format!("{}: {e}", file.display()),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", file.display()))?;
    // A head that nobody can read is part of the text.
    let (_, body) = parts(&text).unwrap_or(("", &text));
    Ok(body.trim().to_owned())
}
