//! A plain command as an agent: whether it is certain, before anybody is started, that it cannot run.
//!
//! Only the first command of a line is looked at, and only as far as its words are plain: whatever
//! a shell would still have to expand or decide is left to the shell. A relative path is one in
//! the clone that the agent works in, which has what is committed and nothing else.

use std::path::{Path, PathBuf};

use shipmate_protocol::problem::nearest;
use shipmate_workspace::{Commit, Repository};

use super::{Around, is_executable};

/// Where the agent will stand.
#[derive(Debug, Clone)]
pub enum Stand {
    /// In a clone that begins at this commit of the repository here.
    Clone { workspace: PathBuf, commit: Commit },
    /// In this folder itself.
    Folder(PathBuf),
}

/// Why a command cannot be run, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct CannotRun {
    pub fact: String,
    pub remedy: String,
}

/// What a relative path is where the agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Executable,
    Plain,
    Nothing,
    /// Nobody can say.
    Unknown,
}

/// Words that a shell runs by itself, or that begin something longer.
const OF_THE_SHELL: [&str; 48] = [
    "!", ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "continue",
    "declare", "dirs", "disown", "do", "echo", "eval", "exit", "export", "false", "fg", "for",
    "function", "getopts", "hash", "if", "jobs", "kill", "let", "local", "printf", "pwd", "read",
    "readonly", "return", "select", "set", "shift", "source", "test", "trap", "true", "type",
    "ulimit", "umask", "until", "while",
];
/// Those that run what follows them.
const BEFORE_ANOTHER: [&str; 5] = ["exec", "command", "env", "nohup", "time"];
/// Those that run the file that they are given.
const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "ruby", "perl", "php", "lua"];

/// Why this line cannot be run, if that is certain. `agents`: what may have been meant instead.
pub fn cannot_run(
    line: &str,
    agents: &[&str],
    around: &Around,
    stand: &Stand,
) -> Option<CannotRun> {
    let mut words = plain_words(line).into_iter().peekable();
    let first = loop {
        let word = words.next()?;
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_variable(name));
        if word.starts_with("PATH=") {
            return None;
        }
        if !is_assignment && !BEFORE_ANOTHER.contains(&word) {
            break word;
        }
    };
    if OF_THE_SHELL.contains(&first) || first.starts_with('-') {
        return None;
    }
    if let Some(cannot) = cannot_start(first, agents, around, stand) {
        return Some(cannot);
    }
    let name = Path::new(first).file_name()?.to_str()?;
    let script = words.next().filter(|word| !word.starts_with('-'))?;
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    let is_shell = name.ends_with("sh");
    // A shell looks in PATH for a name without a folder.
    if is_shell && !script.contains('/') && in_path(script, around) {
        return None;
    }
    (find(script, stand) == Found::Nothing).then(|| nothing_there(script, stand))
}

fn cannot_start(word: &str, agents: &[&str], around: &Around, stand: &Stand) -> Option<CannotRun> {
    if !word.contains('/') {
        if in_path(word, around) {
            return None;
        }
        let remedy = match nearest(word, agents.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => "install it, or give its path; `shipmate agents` lists the programs that \
                     shipmate knows"
                .to_owned(),
        };
        return Some(CannotRun { fact: format!("there is no command {word} in PATH"), remedy });
    }
    match find(word, stand) {
        Found::Executable | Found::Unknown => None,
        Found::Nothing => Some(nothing_there(word, stand)),
        Found::Plain => {
            let fact = format!("{word} is not executable");
            let remedy = match (Path::new(word).is_absolute(), stand) {
                (false, Stand::Clone { .. }) => format!("`chmod +x {word}`, and commit it"),
                _ => format!("`chmod +x {word}`"),
            };
            Some(CannotRun { fact, remedy })
        }
    }
}

fn nothing_there(word: &str, stand: &Stand) -> CannotRun {
    match stand {
        Stand::Clone { workspace, commit } if !Path::new(word).is_absolute() => {
            let here = workspace.join(word.trim_start_matches("./"));
            let commit = commit.short();
            let fact = format!("{word} is not in the commit {commit}, which agents begin at");
            let remedy = match here.exists() {
                true => format!("commit it, or give an absolute path: {}", here.display()),
                false => format!("there is no {word} here either; correct the path"),
            };
            CannotRun { fact, remedy }
        }
        _ => CannotRun {
            fact: format!("there is no file {word}"),
            remedy: "correct the path".to_owned(),
        },
    }
}

fn find(word: &str, stand: &Stand) -> Found {
    let path = Path::new(word);
    let on_disk = |path: &Path| match path.metadata() {
        Ok(_) if is_executable(path) => Found::Executable,
        Ok(about) if about.is_file() => Found::Plain,
        Ok(_) => Found::Unknown,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Found::Nothing,
        Err(_) => Found::Unknown,
    };
    if path.is_absolute() {
        return on_disk(path);
    }
    match stand {
        Stand::Folder(folder) => on_disk(&folder.join(path)),
        Stand::Clone { .. } if path.components().any(|part| part.as_os_str() == "..") => {
            Found::Unknown
        }
        Stand::Clone { workspace, commit } => {
            let relative: PathBuf =
                path.components().filter(|part| part.as_os_str() != ".").collect();
            let Some(name) = relative.to_str() else { return Found::Unknown };
            let Ok(repository) = Repository::open(workspace) else { return Found::Unknown };
            let Ok(mode) = repository.mode_of(commit, name) else { return Found::Unknown };
            match mode.as_deref() {
                Some("100755") => Found::Executable,
                Some("100644") => Found::Plain,
                None => Found::Nothing,
                // A link, a folder or a submodule: whatever it leads to.
                Some(_) => Found::Unknown,
            }
        }
    }
}

fn in_path(word: &str, around: &Around) -> bool {
    let path = around.0.get("PATH").cloned().unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(word)))
}

/// The words of the first command, up to the first that a shell would make something else of.
fn plain_words(line: &str) -> Vec<&str> {
    let ends = [';', '&', '|', '<', '>', '(', ')', '\n', '#'];
    let first = line.split(ends).next().unwrap_or_default();
    // What goes on without a space belongs to the last word: `2>x`, `a(`.
    let is_cut = first.len() < line.len() && !first.ends_with(char::is_whitespace);
    let is_odd = |word: &&str| word.contains(['$', '`', '\'', '"', '\\', '*', '?', '[', '~', '{']);
    let words: Vec<&str> = first.split_whitespace().take_while(|word| !is_odd(word)).collect();
    match line[first.len()..].chars().next() {
        Some('<' | '>' | '(' | '#') if is_cut => words[..words.len().saturating_sub(1)].to_vec(),
        _ => words,
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_wrong_is_refused() {
        let folder = std::env::temp_dir().join(format!("shipmate-line-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::write(folder.join("plain.sh"), "").unwrap();
        for name in ["bin/sh", "bin/python3", "bin/there", "run.sh"] {
            let mut writer = std::process::Command::new("sh");
            let writer = writer.args(["-c", "printf '#!/bin/sh\n' > \"$0\" && chmod 755 \"$0\""]);
            assert!(writer.arg(folder.join(name)).status().unwrap().success());
        }
        let path = folder.join("bin").into_os_string();
        let around = Around([("PATH".to_owned(), path)].into());
        let stand = Stand::Folder(folder.clone());
        let agents = ["claude", "codex", "native"];
        let wrong = |line: &str| cannot_run(line, &agents, &around, &stand);
        for fine in [
            "there",
            "there --flag ./nowhere.sh",
            "A=1 B=2 there",
            "exec there",
            "env A=1 there",
            "./run.sh && ./nowhere.sh",
            "sh plain.sh",
            "python3 -m agent",
            "sh -c './nowhere.sh'",
            "if test -e x; then nowhere; fi",
            "cd sub && ./agent.sh",
            "$AGENT run",
            "\"$HOME/agent\"",
            "~/agent",
            "PATH=/elsewhere nowhere",
            "{ there; }",
            "(nowhere)",
            "echo nowhere > x",
            "true",
            ". ./words.sh; go",
            "",
        ] {
            assert_eq!(wrong(fine), None, "{fine}");
        }
        for (line, fact, remedy) in [
            ("clade", "no command clade in PATH", "did you mean claude?"),
            ("clade -p", "no command clade", "did you mean claude?"),
            ("A=1 exec nowhere x", "no command nowhere", "shipmate agents"),
            ("./nowhere.sh", "no file ./nowhere.sh", "correct the path"),
            ("./plain.sh", "not executable", "chmod +x ./plain.sh"),
            ("/nowhere/agent", "no file /nowhere/agent", "correct the path"),
            ("sh ./nowhere.sh", "no file ./nowhere.sh", "correct the path"),
            ("python3 tools/agent.py | tee log", "no file tools/agent.py", "correct"),
        ] {
            let found = wrong(line).unwrap_or_else(|| panic!("{line} is taken"));
            assert!(found.fact.contains(fact), "{line}: {found:?}");
            assert!(found.remedy.contains(remedy), "{line}: {found:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
