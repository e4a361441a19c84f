//! What teams work with and leave behind: the repository, the hooks, and what nobody needs any more.

use shipmate_protocol::view::{HookTry, Leftover, Survey};
use shipmate_protocol::{Code, verbs};

use super::state::unanswered;
use super::{Finding, Verdict};
use crate::cli::screen::counted;
use crate::cli::session::Session;

/// How many changed paths are named.
const PATHS_SHOWN: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cleaning {
    Look,
    Remove {
        /// What goes though something is lost with it.
        force: Vec<String>,
    },
}

/// Asks about the workspace; `roots` names its trees of teams.
pub(super) fn work(session: &mut Session, roots: &[String], cleaning: &Cleaning) -> Vec<Finding> {
    session.client.team = roots.first().cloned();
    let mut found = repository(session);
    found.extend(hooks(session));
    session.client.team = None;
    let left = left_over(session, cleaning);
    if left.is_empty() {
        found.push(Finding::ok("left over", "nothing"));
    }
    found.extend(left);
    found
}

fn repository(session: &mut Session) -> Vec<Finding> {
    let what = "repository";
    match session.ask(verbs::Survey) {
        Ok(survey) => surveyed(&survey),
        Err(failure) => match failure.refused() {
            Some(refused)
                if matches!(
                    refused.code,
                    Code::NoRepository | Code::NoCommits | Code::RepositoryUnusable
                ) =>
            {
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
    match session.ask(verbs::TryHooks) {
        Ok(tried) if tried.is_empty() => {
            vec![Finding::ok("hooks", "none are configured")]
        }
        Ok(tried) => tried.iter().map(tried_hook).collect(),
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

fn left_over(session: &mut Session, cleaning: &Cleaning) -> Vec<Finding> {
    let (remove, force) = match cleaning {
        Cleaning::Look => (false, Vec::new()),
        Cleaning::Remove { force } => (true, force.clone()),
    };
    match session.ask(verbs::Leftovers { remove, force }) {
        Ok(found) => {
            let (quiet, told): (Vec<Leftover>, Vec<Leftover>) =
                found.into_iter().partition(|left| is_quiet(left, cleaning));
            let mut findings: Vec<Finding> =
                told.iter().map(|left| remains(left, cleaning)).collect();
            findings.extend(merged(&quiet));
            findings
        }
        Err(failure) => vec![unanswered("left over", &failure)],
    }
}

/// What nothing is lost with is counted, not listed.
fn is_quiet(left: &Leftover, cleaning: &Cleaning) -> bool {
    let is_loud = left.precious || matches!(left.kind.as_str(), "process" | "unfinished");
    !is_loud && (left.removed || *cleaning == Cleaning::Look)
}

fn merged(quiet: &[Leftover]) -> Option<Finding> {
    let removed = quiet.iter().any(|left| left.removed);
    let count = |record: bool| {
        let fits = |left: &&Leftover| (left.kind == "record") == record && left.removed == removed;
        quiet.iter().filter(fits).count()
    };
    let parts = [(count(false), "merged ref"), (count(true), "log")].into_iter();
    let parts = parts.filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what));
    let parts: Vec<String> = parts.collect();
    let what = format!("{} of deleted teams", parts.join(" and "));
    match (parts.is_empty(), removed) {
        (true, _) => None,
        (false, true) => Some(Finding::ok("left over", format!("removed {what}"))),
        (false, false) => {
            let fact = format!("{what}: nothing is lost with them");
            let remedy = Some("`shipmate doctor --clean` removes them".to_owned());
            Some(Finding { remedy, ..Finding::ok("left over", fact) })
        }
    }
}

fn remains(left: &Leftover, cleaning: &Cleaning) -> Finding {
    let what = "left over";
    let fact = format!("{} {}: {}", left.kind, left.name, left.why);
    let name = &left.name;
    match (left.removed, cleaning) {
        (true, _) => Finding::ok(what, format!("removed {fact}")),
        (false, _) if left.kind == "unfinished" => {
            Finding::warning(what, fact, "`shipmate resume` goes on with it")
        }
        (false, Cleaning::Remove { force }) if !left.precious || force.contains(name) => Finding {
            remedy: None,
            verdict: Verdict::Problem,
            ..Finding::ok(what, format!("could not be removed: {fact}"))
        },
        (false, _) if left.kind == "process" => {
            Finding::warning(what, fact, "`shipmate doctor --clean` ends it")
        }
        (false, _) if left.kind == "tree" => Finding::warning(
            what,
            fact,
            format!(
                "take what you want out of it; `shipmate doctor --clean` tries the rescue again, \
                 `shipmate doctor --clean --force {name}` removes it as it is"
            ),
        ),
        (false, _) if left.kind == "record" => Finding::warning(
            what,
            fact,
            format!(
                "mend that and look again; `shipmate doctor --clean --force {name}` removes it as it is"
            ),
        ),
        (false, _) => Finding::warning(
            what,
            fact,
            format!(
                "look at it: `git log -p HEAD..{name}`; have it: `git merge {name}`\nbe rid of it: \
                 `shipmate doctor --clean --force {name}`"
            ),
        ),
    }
}
