//! What shipmate keeps: the coordinator, the logs, and who can read its files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use shipmate_protocol::{ClientFailure, Code, Place, answers, verbs};

use super::{Finding, Verdict};
use crate::cli::coordinator;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Whether it runs, then a start if need be, and every log read from end to end. Also names the
/// trees of teams, if it answered.
pub(super) fn coordinator_and_logs(session: &mut Session) -> (Vec<Finding>, Option<Vec<String>>) {
    match teams(session) {
        Ok((coordinator, roots)) => {
            let logs = roots.iter().filter_map(|root| log(session, root));
            (std::iter::once(coordinator).chain(logs).collect(), Some(roots))
        }
        Err(finding) => (vec![finding], None),
    }
}

fn teams(session: &mut Session) -> Result<(Finding, Vec<String>), Finding> {
    let was_running = match coordinator::running(session) {
        Ok(Some(welcome)) => {
            format!("running: process {}, release {}", welcome.pid, welcome.version)
        }
        Ok(None) => "was not running, and starts when it is needed".to_owned(),
        Err(failure) => return Err(Finding::failed("coordinator", &failure.to_string())),
    };
    let teams = match session.ask(verbs::Teams) {
        Ok(teams) => teams,
        Err(failure) => return Err(unanswered("coordinator", &failure)),
    };
    // A tree of teams is one log.
    let roots = teams.into_iter().filter(|team| team.parent.is_none()).map(|team| team.name);
    Ok((Finding::ok("coordinator", was_running), roots.collect()))
}

/// Nothing of a team that is being deleted: it may be gone by now.
fn log(session: &mut Session, root: &str) -> Option<Finding> {
    session.client.team = Some(root.to_owned());
    Some(match session.ask(verbs::Verify) {
        Ok(answers::Verified { records }) => {
            Finding::ok("log", format!("{root}: {records} records, all sound"))
        }
        Err(failure) => {
            let code = failure.refused().map(|refused| refused.code);
            if matches!(code, Some(Code::UnknownTeam | Code::TeamGone)) {
                return None;
            }
            unanswered("log", &failure)
        }
    })
}

pub(super) fn unanswered(what: &'static str, failure: &Failure) -> Finding {
    match failure {
        Failure::Client(ClientFailure::Refused(refused)) => Finding {
            verdict: Verdict::Problem,
            what,
            fact: refused.message.clone(),
            remedy: refused.remedy.clone(),
        },
        Failure::Client(failure) => Finding::failed(what, &failure.to_string()),
        other => Finding::failed(what, &format!("{other:?}")),
    }
}

/// Folders are for their owner only, and so is every file that holds a secret.
pub(super) fn permissions(place: &Place) -> Vec<Finding> {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    let mut look = |path: &Path| {
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        looked_at += 1;
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let fact = format!("{} is open to others (mode {mode:o})", path.display());
            let remedy = format!("chmod go-rwx {}", path.display());
            wrong.push(Finding::problem("permissions", fact, remedy));
        }
        let (owner, own) = (meta.uid(), rustix::process::getuid().as_raw());
        if owner != own {
            let fact = format!("{} belongs to user {owner}, not to you", path.display());
            let remedy = format!("chown {own} {}", path.display());
            wrong.push(Finding::problem("permissions", fact, remedy));
        }
    };
    for path in secrets(place) {
        look(&path);
    }
    look(&place.socket());
    if wrong.is_empty() {
        let fact = match looked_at {
            0 => "nothing is kept yet".to_owned(),
            n => format!("{n} folders and files are yours alone"),
        };
        wrong.push(Finding::ok("permissions", fact));
    }
    wrong
}

fn secrets(place: &Place) -> Vec<PathBuf> {
    let state = place.state();
    let mut paths = vec![state.clone(), place.teams(), place.person_token()];
    paths.push(place.enrol_token());
    paths.push(state.join("secret.key"));
    let tokens = state.join("tokens");
    let files = fs::read_dir(&tokens).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.extend(files);
    paths.push(tokens);
    paths
}
