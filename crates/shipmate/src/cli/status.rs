//! `shipmate status`: a whole tree of teams at a glance.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use shipmate_model::pause::APPROVAL;
use shipmate_protocol::verbs;
use shipmate_protocol::view::{HostState, HostView, Status, TeamView, TeammateView};

use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, hanging, plain};
use crate::cli::session::Session;
use crate::cli::{phase, team, teammate};
use crate::money::{budget_of, budget_of_team, used_by_team};

/// Show where everything stands
///
/// Teams with their tasks, teammates with what they do and said last, what the merge queue does,
/// what waits for you, and where the work is. Where there are several teams and none is named, one
/// after the other; with --json, a line for each.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate status
  shipmate status --json | jq .position")]
pub(crate) struct StatusArgs {}

pub(crate) fn run(_: &StatusArgs, mut session: Session) -> Result<(), Failure> {
    let roots = roots(&mut session)?;
    let many = roots.len() > 1 || session.client.team.is_some();
    for (at, root) in roots.into_iter().enumerate() {
        session.client.team = root;
        let status = session.ask(verbs::Status)?;
        if session.screen.json {
            session.screen.json(&status)?;
            continue;
        }
        let gap = if at > 0 { "\n" } else { "" };
        let work = branches(&status, many, &session);
        let own = session.command_for(many.then_some(&status.root));
        let shown = text(&status, &session.screen, &own, &work);
        session.screen.print(&format!("{gap}{shown}"))?;
    }
    Ok(())
}

/// Where the work is, and how much of it the person's branch does not have yet.
fn branches(status: &Status, many: bool, session: &Session) -> String {
    let lines = status.teams.iter().filter_map(|team| {
        let (branch, base) = (team.branch.as_ref()?, team.base.as_ref()?);
        let base = base.get(..12).unwrap_or(base);
        let merge = format!("{} merge", session.command_for(many.then_some(&team.name)));
        let told = match unmerged(branch, &session.place.workspace) {
            Some(0) if team.tasks.completed > 0 => {
                match has_work(branch, &team.name, base, &session.place.workspace) {
                    true => ", all of it is merged".to_owned(),
                    false => ", none of the team's work is on it".to_owned(),
                }
            }
            Some(0) | None => String::new(),
            Some(1) => format!(", 1 commit is not merged  ({merge})"),
            Some(count) => format!(", {count} commits are not merged  ({merge})"),
        };
        Some(format!("{:<15}  {}\n", "branch", plain(&format!("{branch}, from {base}{told}"))))
    });
    lines.collect()
}

/// How many commits of a team's branch the branch that is checked out does not have.
pub(super) fn unmerged(branch: &str, workspace: &Path) -> Option<u64> {
    let range = format!("HEAD..refs/heads/{branch}");
    counted(&["--first-parent", &range], workspace)
}

/// Whether work that landed is there: somebody may have moved the branch by hand.
fn has_work(branch: &str, team: &str, base: &str, workspace: &Path) -> bool {
    let range = format!("{base}..refs/heads/{branch}");
    let landed = format!("--grep=^Shipmate-Team: {team}$");
    counted(&["--max-count=1", &landed, &range], workspace) != Some(0)
}

fn counted(args: &[&str], workspace: &Path) -> Option<u64> {
    let mut git = Command::new("git");
    git.args(["rev-list", "--count"]).args(args).arg("--").current_dir(workspace);
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The team that is meant; where none is named and there are several, each of them.
fn roots(session: &mut Session) -> Result<Vec<Option<String>>, Failure> {
    let named = session.client.team.clone();
    if named.is_some() || session.client.welcome()?.actor != "person" {
        return Ok(vec![named]);
    }
    let teams = session.ask(verbs::Teams)?;
    let roots = teams.into_iter().filter(|team| team.parent.is_none()).map(|team| Some(team.name));
    let roots: Vec<Option<String>> = roots.collect();
    Ok(if roots.is_empty() { vec![None] } else { roots })
}

/// Most ids of tasks in a line.
const LISTED_MAX: usize = 10;
/// The coordinator names no more than these.
const COUNTED_MAX: usize = 20;

/// `own` is how a command about this team begins, `work` says where the work is.
pub(crate) fn text(status: &Status, screen: &Screen, own: &str, work: &str) -> String {
    let mut text = team::table(&status.teams, screen);
    if !status.teammates.is_empty() {
        text.push('\n');
        text.push_str(&teammate::table(&status.teammates, screen));
    }
    text.push('\n');
    let mut fact = |name: &str, value: &str| text.push_str(&format!("{name:<15}  {value}\n"));
    if !status.hosts.is_empty() {
        fact("hosts", &hanging(&plain(&hosts(&status.hosts)), 17));
    }
    for account in &status.accounts {
        let (name, windows) = (&account.name, account.windows_shown());
        let line = match &account.parked {
            Some(parked) => format!("{name} is parked {}", parked.shown()),
            None => match &account.held {
                Some(held) => format!("{name}: no new task is taken: {held}"),
                None => format!("{name}: {windows}"),
            },
        };
        fact("account", &hanging(&plain(&line), 17));
    }
    fact("available tasks", &available(status));
    for (what, count, command) in [
        ("open plans", status.open_plans, "plan list"),
        ("open questions", status.open_questions, "questions"),
        ("unread by you", status.unread_by_person, "inbox"),
    ] {
        let hint = if count > 0 { format!("  ({own} {command})") } else { String::new() };
        fact(what, &format!("{count}{hint}"));
    }
    if let Some(queue) = &status.queue {
        fact("merge queue", &plain(queue));
    }
    text.push_str(work);
    let mut fact = |name: &str, value: &str| text.push_str(&format!("{name:<15}  {value}\n"));
    for team in &status.teams {
        if let Some(line) = phase::now(team) {
            fact("phase", &hanging(&line, 17));
        }
        if let Some(reason) = team.paused.as_ref().filter(|_| team.state() == "paused") {
            let (what, line) = paused(team, reason, own);
            fact(what, &hanging(&line, 17));
        }
    }
    // What departments used is counted with their team.
    let root = status.teams.iter().find(|team| team.parent.is_none());
    if let Some(used) = root.and_then(used_by_team) {
        fact("used", &hanging(&used, 17));
    }
    for team in &status.teams {
        if let Some(budget) = budget_of_team(team) {
            fact("budget", &hanging(&plain(&format!("{}: {budget}", team.name)), 17));
        }
    }
    for mate in &status.teammates {
        if let Some(budget) = budget_of(mate) {
            let who = format!("{}/{}", mate.team, mate.name);
            fact("budget", &hanging(&plain(&format!("{who}: {budget}")), 17));
        }
    }
    for mate in status.teammates.iter().filter(|mate| mate.other_model) {
        fact("model", &hanging(&plain(&format!("{} asks {}", mate.name, mate.model_shown())), 17));
    }
    for (fence, names) in less_than_whole(&status.teammates) {
        fact("fence", &hanging(&plain(&format!("{fence}: {}", names.join(", "))), 17));
    }
    let records = if status.position == 1 { "record" } else { "records" };
    fact("log", &format!("{} {records} in {}", status.position, status.log));
    text
}

/// Every machine with its slots, and its state where it is not just there.
fn hosts(hosts: &[HostView]) -> String {
    let one = |host: &HostView| {
        let mut marks = vec![format!("{} of {}", host.taken, host.slots)];
        marks.extend(host.home.then(|| "home".to_owned()));
        let is_whole = host.state == HostState::Joined && host.lacks.is_empty();
        marks.extend((!is_whole).then(|| crate::cli::host::state(host)));
        format!("{} ({})", host.name, marks.join(", "))
    };
    hosts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Who stands behind less than a whole fence, by what it is.
fn less_than_whole(mates: &[TeammateView]) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for mate in mates.iter().filter(|mate| !matches!(mate.fence.as_str(), "" | "full")) {
        found.entry(&mate.fence).or_default().push(&mate.name);
    }
    found
}

/// A team that waits: what it is, and who asks. What a lead wrote is told as its words.
fn paused(team: &TeamView, reason: &str, own: &str) -> (&'static str, String) {
    let name = &team.name;
    match team.paused_by() {
        Some(who) => ("paused", format!("{name}, by {who}: {reason}  ({own} resume)")),
        // The question says the command by itself.
        None if team.awaits_approval() => {
            ("approval", format!("{name}: {}", reason.strip_prefix(APPROVAL).unwrap_or(reason)))
        }
        None => ("paused", format!("{name}: {reason}  ({own} resume)")),
    }
}

/// How many tasks could be taken now, and which are the best of them.
fn available(status: &Status) -> String {
    let ids = &status.available;
    if ids.is_empty() {
        return "0".to_owned();
    }
    let shown: Vec<String> = ids.iter().take(LISTED_MAX).map(|id| format!("#{id}")).collect();
    let more = if ids.len() > shown.len() { ", …" } else { "" };
    let at_least = if ids.len() >= COUNTED_MAX { " or more" } else { "" };
    let nobody = match status.nobody_takes && !status.teammates.is_empty() {
        true => ", and nobody who is there can take them",
        false => "",
    };
    format!("{}{at_least} ({}{more}){nobody}", ids.len(), shown.join(", "))
}
