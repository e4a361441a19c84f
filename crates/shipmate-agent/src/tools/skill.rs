//! Skills: folders with a `SKILL.md`, whose head names and describes it and whose body is given
//! to a model that asks for it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use shipmate_process::beginning;

use super::grounds::Grounds;

const FOLDERS: [&str; 2] = [".shipmate/skills", ".claude/skills"];
const FILE_BYTES_MAX: u64 = 64 * 1024;
const SKILLS_MAX: usize = 50;
const DESCRIPTION_CHARS_MAX: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) body: String,
    pub(super) file: PathBuf,
}

/// Those of the tree, by name; the first of a name counts.
pub(super) fn all(grounds: &Grounds) -> Vec<Skill> {
    let mut found: Vec<Skill> = Vec::new();
    for folder in FOLDERS.map(|folder| grounds.tree().join(folder)) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path().join("SKILL.md")).collect();
        files.sort();
        for skill in files.iter().filter_map(|file| one(grounds, file)) {
            if found.len() < SKILLS_MAX && found.iter().all(|other| other.name != skill.name) {
                found.push(skill);
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn one(grounds: &Grounds, file: &Path) -> Option<Skill> {
    let opened = grounds.open_to_read(file).ok()?;
    let mut text = Vec::new();
    opened.file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
    let folder = file.parent()?.file_name()?.to_string_lossy().into_owned();
    let (name, description, body) = parsed(&text);
    let name = name.filter(|name| !name.is_empty()).unwrap_or(folder);
    Some(Skill { name, description, body: body.to_owned(), file: file.to_owned() })
}

/// Name, description and body. A description may go on over indented lines.
fn parsed(text: &str) -> (Option<String>, String, &str) {
    let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---"));
    let Some((head, body)) = head else { return (None, String::new(), text.trim()) };
    let body = body.split_once('\n').map_or("", |(_, body)| body);
    let (mut name, mut description, mut goes_on) = (None, String::new(), false);
    for line in head.lines() {
        if goes_on && line.starts_with([' ', '\t']) {
            description = format!("{description} {}", line.trim()).trim_start().to_owned();
            continue;
        }
        goes_on = false;
        if let Some(value) = line.strip_prefix("name:") {
            name = Some(plain(value));
        } else if let Some(value) = line.strip_prefix("description:") {
            description = plain(value);
            goes_on = true;
        }
    }
    (name, description, body.trim())
}

fn plain(value: &str) -> String {
    let value = value.trim();
    if matches!(value, ">" | "|" | ">-" | "|-") {
        return String::new();
    }
    let unquoted = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote).and_then(|value| value.strip_suffix(*quote)));
    unquoted.unwrap_or(value).to_owned()
}

/// One line for the tool's description.
pub(super) fn line(skill: &Skill) -> String {
    format!("{}: {}", skill.name, beginning(&skill.description, DESCRIPTION_CHARS_MAX))
}

pub(super) fn given(skills: &[Skill], name: &str) -> Result<String, String> {
    let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        return Err(match names.as_slice() {
            [] => "there are no skills in this tree".to_owned(),
            names => format!("there is no skill {name:?}; there are {}", names.join(", ")),
        });
    };
    let folder = skill.file.parent().unwrap_or(Path::new("."));
    Ok(format!("[skill {name}, in {}]\n{}", folder.display(), skill.body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skills_head_is_read_as_people_write_it() {
        let table = [
            ("---\nname: a\ndescription: b\n---\nbody\n", "a", "b", "body"),
            ("---\nname: \"a\"\ndescription: 'b c'\n---\n\nbody", "a", "b c", "body"),
            ("---\ndescription: >\n  one\n  two\nname: a\n---\nx", "a", "one two", "x"),
            ("---\nname: a\nother:\n  - description: no\n---\nx", "a", "", "x"),
            ("no head", "", "", "no head"),
            ("---\nno end", "", "", "---\nno end"),
            ("---\nname: a\n---", "a", "", ""),
        ];
        for (text, name, description, body) in table {
            let (found, words, rest) = parsed(text);
            assert_eq!(
                (found.unwrap_or_default(), words.as_str(), rest),
                (name.to_owned(), description, body),
                "{text}"
            );
        }
    }
}
