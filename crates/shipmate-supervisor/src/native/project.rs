//! What a repository tells every agent that works in it: AGENTS.md, or CLAUDE.md, and the skills that it has.
//!
//! Other programs read these by themselves. They are read from the tree when an agent starts there: they are
//! what is committed, and a teammate's own changes to them are its work, not its instructions.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use shipmate_process::regular_file::read_inside;

/// The first that is there counts: most repositories that have both say the same in them.
const FILES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];
const FILE_BYTES_MAX: usize = 64 * 1024;
const SHOWN_BYTES_MAX: usize = 32 * 1024;
const SKILLS: &str = ".claude/skills";
const SKILLS_MAX: usize = 50;
const DESCRIPTION_BYTES_MAX: usize = 300;

/// The words for the head of every request; none where the repository says nothing.
pub(super) fn instructions(tree: &Path) -> String {
    let read = |name: &str| {
        let bytes = read_inside(tree, Path::new(name), FILE_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut text = String::new();
    if let Some((name, words)) = FILES.iter().find_map(|name| Some((name, read(name)?))) {
        // A file that only names another is that one.
        let words = match words.strip_prefix('@').filter(|rest| !rest.contains(char::is_whitespace))
        {
            Some(other) => read(other).unwrap_or(words),
            None => words,
        };
        let shown = &words[..words.floor_char_boundary(SHOWN_BYTES_MAX)];
        let rest =
            if shown.len() < words.len() { "\n(cut: read the file for the rest)" } else { "" };
        let _ = write!(text, "What this repository asks of you ({name}):\n{shown}{rest}");
    }
    let skills = skills(tree);
    if !skills.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let _ = write!(
            text,
            "{gap}Skills of this repository; read the file before you use one:\n{skills}"
        );
    }
    text
}

fn skills(tree: &Path) -> String {
    let entries = fs::read_dir(tree.join(SKILLS)).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let mut lines = Vec::new();
    for name in names.into_iter().take(SKILLS_MAX) {
        let path = format!("{SKILLS}/{name}/SKILL.md");
        let Ok(bytes) = read_inside(tree, Path::new(&path), FILE_BYTES_MAX) else { continue };
        let head = String::from_utf8_lossy(&bytes);
        let about = head.lines().find_map(|line| line.strip_prefix("description:")).unwrap_or("");
        let about = about.trim().trim_matches(['"', '\'']);
        let about = &about[..about.floor_char_boundary(DESCRIPTION_BYTES_MAX)];
        lines.push(format!("- {path}: {about}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_speaks_by_its_files() {
        let tree = std::env::temp_dir().join(format!("shipmate-project-{}", std::process::id()));
        fs::create_dir_all(tree.join(".claude/skills/deploy")).unwrap();
        assert_eq!(instructions(&tree), "");
        fs::write(tree.join("CLAUDE.md"), "@AGENTS.md\n").unwrap();
        assert!(instructions(&tree).ends_with("@AGENTS.md"));
        fs::write(tree.join("AGENTS.md"), "Use tabs.\n").unwrap();
        fs::write(
            tree.join(".claude/skills/deploy/SKILL.md"),
            "---\ndescription: How to ship\n---\n",
        )
        .unwrap();
        let text = instructions(&tree);
        assert!(text.contains("(AGENTS.md):\nUse tabs."), "{text}");
        assert!(text.contains("- .claude/skills/deploy/SKILL.md: How to ship"), "{text}");
        // A link out of the tree is not followed.
        fs::remove_file(tree.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", tree.join("AGENTS.md")).unwrap();
        assert!(!instructions(&tree).contains("AGENTS.md)"));
        fs::remove_dir_all(&tree).unwrap();
    }
}
