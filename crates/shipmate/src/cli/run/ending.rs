//! The end of a run: its report, and a summary of each plan of the seeds' kind.
//!
//! What a plan changed is asked of git, commit by commit: what its tasks declare is what they were
//! meant to change. Only where git cannot tell is that taken instead.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Begun;
use super::account::Account;
use super::report::{OpenDecision, Outcome, Places, Report, Standing, TeammateTally};
use super::tasks::{Gated, Status, TaskLine};
use crate::cli::failure::Failure;
use crate::cli::screen::first_line;
use crate::cli::session::Session;
use shipmate_protocol::plan_file::{PlanFile, PlanHeader, Summary, SummaryState, TestsSeen};
use shipmate_protocol::verbs;
use shipmate_protocol::view::TeammateView;

/// Lines of what is to be done that are shown.
const TO_DO_MAX: usize = 12;

pub(super) fn report(
    begun: &Begun,
    session: &mut Session,
    account: &Account,
    outcome: Outcome,
) -> Result<Report, Failure> {
    let branch = match session.ask(verbs::TeamShow) {
        Ok(team) => team.branch,
        Err(_) if account.is_gone => account.branch(&begun.team),
        Err(failure) => return Err(failure),
    };
    let has_trees = branch.is_some();
    let base = session.ask(verbs::Survey).ok().and_then(|found| found.branch);
    let waits = account.phases.are_open() && account.phases.all_wait();
    let course = match (account.phases.over(), &branch) {
        _ if account.is_gone => Standing::Gone,
        (Some(_), _) => Standing::Over,
        (None, Some(branch)) if waits => Standing::WaitsOn(branch.clone()),
        _ => Standing::Open,
    };
    let own = own(&begun.team, session)?;
    let deviations = account.deviations.iter().map(|deviation| deviation.text.clone());
    let deviations = deviations.chain(account.phases.waits().cloned());
    let mut report = Report {
        outcome,
        course,
        title: begun.plan.title.clone(),
        team: begun.team.clone(),
        tasks: account.tally(),
        commits: account.commits(),
        waiting: waiting(account, &begun.team, session),
        own,
        printed: account.printed.clone(),
        to_do: to_do(account),
        spent: account.spent(),
        accounts: account.accounts(),
        report: account.led.report.clone(),
        no_plan: account.led.no_plan.clone(),
        deviations: deviations.collect(),
        gates: account.gates,
        phases: account.phases.ended.clone(),
        took_ms: account.now_ms.saturating_sub(account.began_ms),
        critical_path_ms: account.tasks.path(|_| true).1,
        bound_ms: account.bound_ms(),
        teammates: with_models(account.teammates(), &begun.team, session),
        places: Places {
            branch: branch.filter(|_| !account.commits().is_empty()),
            base,
            output: Some(session.place.team(&begun.team).join("lives").display().to_string()),
            summaries: Vec::new(),
        },
    };
    // Without trees nothing is committed, and nobody knows what was changed.
    let repository = has_trees.then_some(session.place.workspace.as_path());
    let folder = &begun.summaries;
    let failed = |e| Failure::Storage(format!("{}: {e}", folder.display()));
    for header in &begun.plan.plans {
        let summary = summary(header, &begun.plan, account, repository);
        let path = summary.write(folder).map_err(failed)?;
        report.places.summaries.push(path.display().to_string());
    }
    Ok(report)
}

/// How a command about this team begins. The team is named where it must be.
/// With the model that each was to ask and the one that it asked, as far as they are still there.
fn with_models(
    mut tallies: Vec<TeammateTally>,
    team: &str,
    session: &mut Session,
) -> Vec<TeammateTally> {
    let Ok(status) = session.ask(verbs::Status) else { return tallies };
    for tally in &mut tallies {
        let is_meant = |mate: &&TeammateView| match mate.team == team {
            true => tally.name == mate.name,
            false => tally.name == format!("{}/{}", mate.team, mate.name),
        };
        if let Some(mate) = status.teammates.iter().find(is_meant) {
            tally.model = mate.model.clone();
            tally.model_used = mate.model_used.clone();
            tally.other_model = mate.other_model;
        }
    }
    tallies
}

fn own(team: &str, session: &mut Session) -> Result<String, Failure> {
    let teams = session.ask(verbs::Teams)?;
    let many = teams.iter().filter(|team| team.parent.is_none()).count() > 1;
    Ok(session.command_for(many.then_some(team)))
}

/// The last lines of why the runtime has stopped the team: its remedies.
fn to_do(account: &Account) -> Vec<String> {
    let rest = account.halt().into_iter().flat_map(|pause| pause.reason.lines().skip(1));
    // What was printed is shown by itself.
    let rest: Vec<String> =
        rest.filter(|line| !account.printed.has(line)).map(str::to_owned).collect();
    rest[rest.len().saturating_sub(TO_DO_MAX)..].to_vec()
}

/// What waits for a person when the run ends.
fn waiting(account: &Account, team: &str, session: &Session) -> Vec<OpenDecision> {
    if account.stopping.is_some() {
        return Vec::new();
    }
    let asked = account.decisions().into_iter().map(|waits| {
        let own = session.command_for(Some(waits.team.as_deref().unwrap_or(team)));
        let command = format!("{own} {}", waits.command);
        OpenDecision { what: first_line(&waits.what).to_owned(), command }
    });
    asked.collect()
}

fn summary(
    header: &PlanHeader,
    plan: &PlanFile,
    account: &Account,
    repository: Option<&Path>,
) -> Summary {
    let of_plan =
        |task: &TaskLine| task.group.as_ref().is_some_and(|name| name.as_str() == header.id);
    let own = || account.tasks.iter().map(|(_, task)| task).filter(|task| of_plan(task));
    let completed = || own().filter(|task| task.status() == Status::Completed);
    let (done, total) =
        (completed().count(), own().filter(|task| task.status() != Status::Deleted).count());
    let commits: Vec<String> = own().filter_map(|task| task.commit.clone()).collect();
    let landed = repository.and_then(|workspace| changed(workspace, &commits));
    let deviations = account.deviations.iter().filter(|deviation| {
        let task = deviation.task.and_then(|id| account.tasks.get(id));
        deviation.task.is_none() || task.is_some_and(of_plan)
    });
    Summary {
        p: header.p.clone(),
        n: header.n.clone(),
        title: header.title.clone(),
        state: SummaryState::of(done, total),
        at_ms: account.now_ms,
        tasks_completed: done,
        tasks_total: total,
        commits,
        files_modified: landed.unwrap_or_else(|| declared(header, plan)).into_iter().collect(),
        deviations: deviations.map(|deviation| deviation.text.clone()).collect(),
        built: completed().map(|task| task.subject.clone()).collect(),
        tests: tests_seen(own()),
    }
}

/// A plan whose gates were red and never green has shown nothing by tests.
fn tests_seen<'a>(tasks: impl Iterator<Item = &'a TaskLine>) -> TestsSeen {
    let gated: Vec<Gated> = tasks.map(|task| task.gated).collect();
    match gated.contains(&Gated::RedGreen) {
        true => TestsSeen::RedGreen,
        false if gated.contains(&Gated::Green) => TestsSeen::GreenOnly,
        false => TestsSeen::NoTests,
    }
}

/// What the plan says that it changes.
fn declared(header: &PlanHeader, plan: &PlanFile) -> BTreeSet<String> {
    if !header.files_modified.is_empty() {
        return header.files_modified.iter().cloned().collect();
    }
    let own = |group: &Option<String>| group.as_deref() == Some(header.id.as_str());
    let tasks = plan.tasks.iter().filter(|(task, _)| own(&task.group));
    tasks.flat_map(|(task, _)| task.files.iter().cloned()).collect()
}

/// The paths in which each of these commits differs from its first parent, which for a merge is
/// what it brought; nothing if git does not know them all.
fn changed(workspace: &Path, commits: &[String]) -> Option<BTreeSet<String>> {
    if commits.is_empty() {
        return Some(BTreeSet::new());
    }
    // One process for all of them: a plan may have thousands.
    let mut missing: HashSet<&str> = commits.iter().map(String::as_str).collect();
    let lines: String = missing.iter().map(|commit| format!("{commit}\n")).collect();
    let mut git = Command::new("git")
        .args(["diff-tree", "--stdin", "-r", "--root", "--always", "--diff-merges=first-parent"])
        .args(["--name-only", "--no-renames", "-z"])
        .current_dir(workspace)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = git.stdin.take()?;
    // On a thread, because git prints while it reads; if it stops reading, its answer tells.
    let writer = std::thread::spawn(move || drop(stdin.write_all(lines.as_bytes())));
    let output = git.wait_with_output();
    drop(writer.join());
    let output = output.ok().filter(|output| output.status.success())?;
    let mut paths = BTreeSet::new();
    for word in output.stdout.split(|byte| *byte == 0).filter(|word| !word.is_empty()) {
        let word = String::from_utf8_lossy(word);
        if !missing.remove(word.as_ref()) {
            paths.insert(word.into_owned());
        }
    }
    missing.is_empty().then_some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_does_not_know_is_not_guessed() {
        let nowhere = std::env::temp_dir();
        assert_eq!(changed(&nowhere, &[]), Some(BTreeSet::new()));
        assert_eq!(changed(&nowhere, &["0123456789".repeat(4)]), None);
    }
}
