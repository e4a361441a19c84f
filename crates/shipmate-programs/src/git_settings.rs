//! The person's settings of git, as they are when a program begins, for as long as it runs.
//!
//! `git config --global` replaces its file. Where that lies beside a hidden folder the new one
//! cannot be read behind a fence that was built before, and git does nothing without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shipmate_process::environment;

/// Names the file that git reads instead of the person's.
pub(super) const VARIABLE: &str = "GIT_CONFIG_GLOBAL";

/// Keeps them in this folder, with all that they include for this workspace. Nothing where there
/// are none, or the person has said where they are.
pub(super) fn keep(folder: &Path, workspace: &Path) -> Option<PathBuf> {
    // A folder without a name would be wherever this process happens to stand.
    if environment::var(VARIABLE).is_some() || !folder.is_absolute() {
        return None;
    }
    let mut git = Command::new("git");
    git.args(["config", "--global", "--includes", "--null", "--list"]).current_dir(workspace);
    git.env_clear().envs(environment::all()).stdin(Stdio::null());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"] {
        git.env_remove(name);
    }
    let told = git.output().ok().filter(|told| told.status.success())?;
    let path = folder.join("gitconfig");
    fs::write(&path, written(&told.stdout)).ok()?;
    Some(path)
}

/// A file of settings with what git has listed.
fn written(list: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let (key, value) = match entry.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&entry[..at], Some(&entry[at + 1..])),
            None => (entry, None),
        };
        let (Some(first), Some(last)) =
            (key.iter().position(|byte| *byte == b'.'), key.iter().rposition(|byte| *byte == b'.'))
        else {
            continue;
        };
        let (section, name) = (&key[..first], &key[last + 1..]);
        // What they lead to is listed by itself.
        if section.eq_ignore_ascii_case(b"include") || section.eq_ignore_ascii_case(b"includeif") {
            continue;
        }
        text.push(b'[');
        text.extend(section);
        if first < last {
            text.extend(b" \"");
            text.extend(escaped(&key[first + 1..last]));
            text.push(b'"');
        }
        text.extend(b"]\n\t");
        text.extend(name);
        if let Some(value) = value {
            text.extend(b" = \"");
            text.extend(escaped(value));
            text.push(b'"');
        }
        text.push(b'\n');
    }
    text
}

fn escaped(text: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b'"' => b"\\\"".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        b'\n' => b"\\n".to_vec(),
        byte => vec![*byte],
    };
    text.iter().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_lists_is_what_it_lists_from_the_file_made_of_it() {
        let top =
            std::env::temp_dir().join(format!("shipmate-git-settings-{}", std::process::id()));
        fs::create_dir_all(top.join("more")).unwrap();
        let included =
            "[user]\n\tname = \"A \\\\ \\\"B\\\" #; \\n\u{e9}\"\n[alias]\n\tx = !f() { :; }; f\n";
        fs::write(top.join("more/other"), included).unwrap();
        let settings = "[include]\n\tpath = more/other\n[url \"git@a.b:\\\"q\\\"\"]\n\tinsteadOf = https://a.b/\n\
                        [core]\n\tbare\n\teditor = \"  spaced \"\n[a]\n\tlist = 1\n\tlist = 2\n";
        fs::write(top.join(".gitconfig"), settings).unwrap();
        let list = |name: &str, value: &Path| {
            let mut git = Command::new("git");
            git.args(["config", "--global", "--includes", "--null", "--list"]);
            git.env("HOME", &top).env_remove("XDG_CONFIG_HOME").env(name, value);
            git.current_dir("/").output().unwrap().stdout
        };
        let before = list("HOME", &top);
        let copy = top.join("copy");
        fs::write(&copy, written(&before)).unwrap();
        let entries = |list: &[u8]| {
            let entries = list.split(|byte| *byte == 0).map(<[u8]>::to_vec);
            entries.filter(|entry| !entry.starts_with(b"include.")).collect::<Vec<_>>()
        };
        assert!(entries(&before).len() > 6);
        assert_eq!(entries(&list(VARIABLE, &copy)), entries(&before));
        fs::remove_dir_all(&top).unwrap();
    }
}
