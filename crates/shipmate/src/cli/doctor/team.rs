//! What teams work with and leave behind: the repository, the hooks, and what nobody needs any more.

use shipmate_protocol::view::{HookTry, Leftover, Survey};
use shipmate_protocol::{Answer, Ask};

use super::state::unanswered;
use super::{Finding, Verdict};
use crate::cli::session::Session;

/// How many changed paths are named.
const PATHS_SHOWN: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cleaning {
    Look,
    Remove,
}

/// Asks about each tree of teams; `roots` names them. Without any it asks for the workspace.
pub(super) fn work(session: &mut Session, roots: &[String], cleaning: Cleaning) -> Vec<Finding> {
    session.client.team = roots.first().cloned();
    let mut found = repository(session);
    found.extend(hooks(session));
    let mut left = Vec::new();
    if roots.is_empty() {
        left.extend(left_over(session, cleaning));
    }
    for root in roots {
        session.client.team = Some(root.clone());
        left.extend(left_over(session, cleaning));
    }
    if left.is_empty() {
        left.push(Finding::ok("left over", "nothing"));
    }
    found.extend(left);
    found
}

fn repository(session: &mut Session) -> Vec<Finding> {
    let what = "repository";
    match session.ask(Ask::Survey) {
        Ok(Answer::Survey(survey)) => surveyed(&survey),
        Ok(_) => vec![Finding::failed(what, "the coordinator did not say what it found")],
        Err(failure) => match failure.refused() {
            Some(refused) if matches!(refused.code.as_str(), "NoRepository" | "NoCommits") => {
                let first = refused.message.lines().next().unwrap_or_default();
                let fact = format!("none that a team could work in, only the board works: {first}");
                vec![Finding::ok(what, fact)]
            }
            _ => vec![unanswered(what, &failure)],
        },
    }
}

fn surveyed(survey: &Survey) -> Vec<Finding> {
    let what = "repository";
    let base = survey.base.get(..12).unwrap_or(&survey.base);
    let on = survey.branch.as_deref().unwrap_or("a detached HEAD");
    let mut found = vec![Finding::ok(what, format!("a team begins at {base}, on {on}"))];
    if !survey.dirty.is_empty() {
        let count = survey.dirty.len();
        let mut paths = survey.dirty[..count.min(PATHS_SHOWN)].join(", ");
        if count > PATHS_SHOWN {
            paths.push_str(", …");
        }
        let fact = format!("{count} uncommitted, which teammates do not see: {paths}");
        found.push(Finding::warning(what, fact, "commit or stash them before a team begins"));
    }
    let note = |note: &String| Finding { remedy: None, ..Finding::warning(what, note, "") };
    found.extend(survey.notes.iter().map(note));
    found
}

/// Every hook is really run, with a sample of its event.
fn hooks(session: &mut Session) -> Vec<Finding> {
    match session.ask(Ask::TryHooks) {
        Ok(Answer::HooksTried(tried)) if tried.is_empty() => {
            vec![Finding::ok("hooks", "none are configured")]
        }
        Ok(Answer::HooksTried(tried)) => tried.iter().map(tried_hook).collect(),
        Ok(_) => vec![Finding::failed("hooks", "the coordinator did not say what came of them")],
        Err(failure) => vec![unanswered("hooks", &failure)],
    }
}

fn tried_hook(tried: &HookTry) -> Finding {
    let HookTry { event, hook, result, detail, took_ms } = tried;
    let last = detail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let detail = last.map(|line| format!(": {line}")).unwrap_or_default();
    let told = |verb: &str| format!("{event}: {hook} {verb}{detail} ({took_ms} ms)");
    match result.as_str() {
        "accepts" => Finding::ok("hooks", told("accepts a sample")),
        "rejects" => Finding::ok("hooks", told("rejects a sample")),
        "hangs" => Finding::problem(
            "hooks",
            told("does not end in time"),
            "make it faster, or give it longer: timeout-seconds under [hooks]",
        ),
        "missing" => Finding::problem(
            "hooks",
            told("cannot be run"),
            "see that it is there and executable (chmod +x)",
        ),
        "unknown" => Finding::warning(
            "hooks",
            format!("{hook} is never run{detail}"),
            "name it after an event; docs/hooks.md has them",
        ),
        _ => Finding::problem(
            "hooks",
            told("fails on a sample"),
            "a hook ends with 0 to accept and 2 to reject; anything else keeps its gate closed",
        ),
    }
}

fn left_over(session: &mut Session, cleaning: Cleaning) -> Vec<Finding> {
    let remove = cleaning == Cleaning::Remove;
    match session.ask(Ask::Leftovers { remove }) {
        Ok(Answer::Leftovers(found)) => found.iter().map(|left| remains(left, cleaning)).collect(),
        Ok(_) => vec![Finding::failed("left over", "the coordinator did not say")],
        Err(failure) => vec![unanswered("left over", &failure)],
    }
}

fn remains(left: &Leftover, cleaning: Cleaning) -> Finding {
    let what = "left over";
    let fact = format!("{} {}: {}", left.kind, left.name, left.why);
    match (left.removed, cleaning) {
        (true, _) => Finding::ok(what, format!("removed {fact}")),
        (false, _) if left.kind == "unfinished" => {
            Finding::warning(what, fact, "`shipmate resume` goes on with it")
        }
        (false, Cleaning::Look) if left.kind == "process" => {
            Finding::warning(what, fact, "`shipmate doctor --clean` ends it")
        }
        (false, Cleaning::Look) => Finding::warning(
            what,
            fact,
            "merge it if you want the work; `shipmate doctor --clean` removes it, and what is not \
             merged is lost then",
        ),
        (false, Cleaning::Remove) => Finding {
            remedy: None,
            verdict: Verdict::Problem,
            ..Finding::ok(what, format!("could not be removed: {fact}"))
        },
    }
}
