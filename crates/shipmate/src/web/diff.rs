//! What a task changed, as git shows it in the person's own repository.
//!
//! Work that has landed is one merge on the team branch, known by what its message says; what was
//! handed in and has not landed is a commit. Git is run to read only: without the repository's own
//! programs for differences, without any of the caller's settings in the environment, and with an
//! end to its time and to what it may print.

use std::path::Path as FilePath;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use shipmate_protocol::view::{TaskView, TeamView};
use shipmate_protocol::{Answer, Ask};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::web::Deck;
use crate::web::reply::{self, Refusal};

const TEXT_BYTES_MAX: usize = 512 * 1024;
const LIST_BYTES_MAX: usize = 256 * 1024;
const GIT_MAX: Duration = Duration::from_secs(20);

#[derive(Debug, Default, Serialize)]
struct Difference {
    from: String,
    to: String,
    text: String,
    /// There is more of it.
    cut: bool,
    files: Vec<Changed>,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

#[derive(Debug, Serialize)]
struct Changed {
    path: String,
    added: u64,
    removed: u64,
}

pub(super) async fn diff(
    State(deck): State<Arc<Deck>>,
    Path((root, id)): Path<(String, u32)>,
) -> Result<Response, Refusal> {
    let ask = Ask::TaskShow { task: id.to_string() };
    let Answer::Task(task) = deck.desk.ask(Some(root), ask).await? else {
        return Err(Refusal::not_found(&format!("there is no task {id}")));
    };
    let team = task.row.team.clone();
    let Answer::Team(team) = deck.desk.ask(Some(team), Ask::TeamShow).await? else {
        return Err(Refusal::not_found("there is no such team"));
    };
    let difference = tokio::time::timeout(GIT_MAX, find(&deck.desk.place.workspace, &task, &team));
    match difference.await {
        Ok(Ok(difference)) => Ok(reply::json(&difference)),
        Ok(Err(e)) => Err(failed(&format!("git could not be asked: {e}"))),
        Err(_) => Err(failed("git did not come to an end")),
    }
}

fn failed(text: &str) -> Refusal {
    let remedy = "look at it with git itself: `git log --first-parent` of the team branch";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "NoDifference", text, remedy)
}

async fn find(
    workspace: &FilePath,
    task: &TaskView,
    team: &TeamView,
) -> std::io::Result<Difference> {
    let none = |note: &str| Difference { note: note.to_owned(), ..Difference::default() };
    let Some(branch) = &team.branch else {
        return Ok(none("this team works without a repository"));
    };
    let branch = format!("refs/heads/{branch}");
    if let Some((from, to)) = landed(workspace, &branch, task).await? {
        return compare(workspace, from, to, "").await;
    }
    let Some(commit) = task.commit.clone().filter(|commit| is_commit(commit)) else {
        return Ok(none("nothing was handed in yet"));
    };
    let (base, _) = git(workspace, &["merge-base", &branch, &commit], 1024).await?;
    let base = String::from_utf8_lossy(&base).trim().to_owned();
    if !is_commit(&base) {
        return Ok(none("what was handed in is no longer in this repository"));
    }
    let note = match task.row.status.as_str() {
        "completed" => "",
        _ => "handed in and not on the team branch",
    };
    compare(workspace, base, commit, note).await
}

/// The last merge of a task on the first-parent line, with what was there before it. What an agent
/// writes into its own messages proves nothing: its commits are second parents.
async fn landed(
    workspace: &FilePath,
    branch: &str,
    task: &TaskView,
) -> std::io::Result<Option<(String, String)>> {
    let said = format!("Shipmate-Team: {}\nShipmate-Task: {}\n", task.row.team, task.row.id);
    let grep = format!("--grep=Shipmate-Task: {}", task.row.id);
    let format = "--format=%H%x1f%P%x1f%B";
    let args = ["log", "--first-parent", "--merges", "-z", "-F", &grep, format, branch, "--"];
    let (listed, _) = git(workspace, &args, LIST_BYTES_MAX).await?;
    let listed = String::from_utf8_lossy(&listed);
    Ok(listed.split('\0').find_map(|record| {
        let mut fields = record.trim_start().splitn(3, '\x1f');
        let (commit, parents, message) = (fields.next()?, fields.next()?, fields.next()?);
        let (_, trailers) = message.split_once("\n\n")?;
        let (first, _) = parents.split_once(' ')?;
        let is_it = trailers.starts_with(&said) && is_commit(commit) && is_commit(first);
        is_it.then(|| (first.to_owned(), commit.to_owned()))
    }))
}

async fn compare(
    workspace: &FilePath,
    from: String,
    to: String,
    note: &str,
) -> std::io::Result<Difference> {
    let plain = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];
    let prefixes = ["--src-prefix=a/", "--dst-prefix=b/", &from, &to, "--"];
    let (text, cut) = git(workspace, &[&plain[..], &prefixes].concat(), TEXT_BYTES_MAX).await?;
    let counted = ["--numstat", "-z", &from, &to, "--"];
    let (counts, _) = git(workspace, &[&plain[..], &counted].concat(), LIST_BYTES_MAX).await?;
    let counts = String::from_utf8_lossy(&counts);
    let files = counts.split('\0').filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        // A file that is no text has no lines.
        let mut number = || Some(fields.next()?.parse().unwrap_or(0));
        let (added, removed) = (number()?, number()?);
        Some(Changed { path: fields.next()?.to_owned(), added, removed })
    });
    let files = files.collect();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if cut {
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    }
    Ok(Difference { from, to, text, cut, files, note: note.to_owned() })
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What git prints, up to a size, and whether there was more. Nothing where it fails.
async fn git(at: &FilePath, args: &[&str], bytes_max: usize) -> std::io::Result<(Vec<u8>, bool)> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let mut child = command
        .arg("-C")
        .arg(at)
        .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut printed = Vec::new();
    let stdout = child.stdout.take().expect("it was piped");
    stdout.take(bytes_max as u64 + 1).read_to_end(&mut printed).await?;
    let cut = printed.len() > bytes_max;
    printed.truncate(bytes_max);
    if cut {
        // It may wait for somebody to read the rest.
        child.kill().await?;
    } else if !child.wait().await?.success() {
        printed.clear();
    }
    Ok((printed, cut))
}
