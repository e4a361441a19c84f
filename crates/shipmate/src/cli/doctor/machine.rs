//! What the machine has to give: a writable folder, git, a shell, a short socket path.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};
use shipmate_protocol::Place;

use super::Finding;

/// The first release whose `merge-tree` can merge without a work tree.
const GIT_MIN: (u32, u32) = (2, 38);

pub(super) fn workspace(place: &Place) -> Finding {
    let shown = place.workspace.display();
    let project = place.project();
    if project.exists() && !project.is_dir() {
        return Finding::problem(
            "workspace",
            format!("{} is not a folder", project.display()),
            "move that file away, or name another workspace with --workspace",
        );
    }
    let checked: &Path = if project.is_dir() { &project } else { &place.workspace };
    match access(checked, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Finding::ok("workspace", format!("{shown} is writable")),
        Err(e) => Finding::problem(
            "workspace",
            format!("{} cannot be written: {e}", checked.display()),
            "change its permissions, or name another workspace with --workspace",
        ),
    }
}

pub(super) fn git() -> Finding {
    let wanted = format!("{}.{}", GIT_MIN.0, GIT_MIN.1);
    let Ok(output) = Command::new("git").arg("--version").stdin(Stdio::null()).output() else {
        return Finding::problem(
            "git",
            "git could not be started",
            format!("install git {wanted} or later"),
        );
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.trim();
    match version(text) {
        Some(found) if found >= GIT_MIN => Finding::ok("git", text),
        Some(_) => Finding::problem(
            "git",
            format!("{text} is too old"),
            format!("install git {wanted} or later"),
        ),
        None => Finding::warning(
            "git",
            format!("{text:?} names no version"),
            format!("see that it is {wanted} or later"),
        ),
    }
}

/// Gates and hooks are lines for a shell that has to notice a failure inside a pipe.
pub(super) fn shell() -> Finding {
    let asked = Command::new("bash")
        .args(["--noprofile", "--norc", "-o", "pipefail", "-c", "false | true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match asked.ok().and_then(|status| status.code()) {
        Some(1) => Finding::ok("shell", "bash, which notices a failure inside a pipe"),
        _ => Finding::warning(
            "shell",
            "there is no bash with pipefail: gates and hooks are run by sh, where \
             `cargo test | tail` succeeds although the tests fail",
            "install bash, or write gates and hooks without pipes",
        ),
    }
}

/// The first two numbers of `git version 2.47.3`.
fn version(text: &str) -> Option<(u32, u32)> {
    let number =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = number?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

pub(super) fn socket(place: &Place) -> Finding {
    Finding::ok("socket", place.socket().display().to_string())
}

/// The state is no part of the project: it holds tokens.
pub(super) fn ignored(place: &Place) -> Finding {
    let asked = Command::new("git")
        .arg("-C")
        .arg(&place.workspace)
        .args(["check-ignore", "--quiet", ".shipmate/state/person.token"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match asked.ok().and_then(|status| status.code()) {
        Some(0) => Finding::ok("gitignore", ".shipmate/state is ignored by git"),
        Some(1) if !place.has_state() => {
            Finding::ok("gitignore", "nothing is kept yet; .shipmate/state will ignore itself")
        }
        Some(1) => Finding::problem(
            "gitignore",
            "git would commit .shipmate/state, which holds tokens",
            "write `*` into .shipmate/state/.gitignore",
        ),
        _ => Finding::ok("gitignore", "the workspace is no git repository"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_git_says() {
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git"), None);
        assert!(version("git version 2.9.1") < Some(GIT_MIN));
    }
}
