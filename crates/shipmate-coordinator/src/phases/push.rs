//! The team's branch goes to a remote before its last phase is over, where the playbook says so, and a
//! pull request is opened for it. What fails there is told and fails nothing: the work is there.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use shipmate_core::state::Status;
use shipmate_model::Act;
use shipmate_playbook::fill::fill;
use shipmate_process::blocking;
use shipmate_process::{Exit, Launcher, Marker, Output, Program, Spec, Stdin, run};
use shipmate_workspace::Repository;

use super::stage::Stage;
use crate::phases::Phases;

/// How long opening a pull request may take.
const OPENING: Duration = Duration::from_secs(120);
const OUTPUT_BYTES_MAX: usize = 8 * 1024;
/// How many tasks a pull request lists.
const TASKS_MAX: usize = 100;

/// Whether this is the end of a team whose branch is its own. A department's work is on the branch
/// of the team above it.
fn is_end(stage: &Stage) -> bool {
    let is_last = stage.playbook.course().last().is_some_and(|p| p.name == stage.phase.name);
    is_last && stage.playbook.department.is_none() && stage.setup.trees.is_some()
}

/// What the branch is called where it is pushed.
fn branch(stage: &Stage) -> String {
    let named = fill(&stage.playbook.commit.branch, &stage.values);
    if named.is_empty() { crate::team_branch::branch(&stage.team) } else { named }
}

/// Opens a pull request for what was pushed, or says how; what came of it.
pub(super) async fn pull_request(phases: &Rc<Phases>, stage: &Stage, is_pushed: bool) -> String {
    if !is_end(stage) || !stage.playbook.commit.pull_request {
        return String::new();
    }
    let workspace = phases.settings.place.workspace.clone();
    let remotes = blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        repository.remotes().map_err(|e| e.to_string())
    });
    let head = branch(stage);
    let remote = fill(&stage.playbook.commit.push, &stage.values);
    let remotes = match remotes.await {
        Ok(remotes) => remotes,
        Err(text) => return format!("no pull request was opened: {text}"),
    };
    let Some(first) = remotes.into_iter().next() else {
        return format!(
            "the work is on the branch {head}; there is no remote to open a pull request at"
        );
    };
    let by_hand = format!("gh pr create --head {head}");
    if remote.is_empty() {
        return format!("`git push {first} {head} && {by_hand}` opens a pull request");
    }
    if !is_pushed {
        return String::new();
    }
    let Some(gh) = program("gh") else {
        return format!("gh is not in PATH: `{by_hand}` opens a pull request where it is");
    };
    match open(phases, stage, gh, &head).await {
        Ok(said) => format!("opened a pull request: {said}"),
        Err(why) => {
            let note = format!("no pull request was opened: {why}; `{by_hand}` does it by hand");
            let (team, hook) = (stage.team.clone(), "pull-request".to_owned());
            phases.board.tell(Act::ReportHook { team, hook, note: note.clone() });
            note
        }
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = shipmate_process::environment::var("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs it as the person would: with the person's login, outside any fence.
async fn open(
    phases: &Rc<Phases>,
    stage: &Stage,
    gh: PathBuf,
    head: &str,
) -> Result<String, String> {
    let mut done: Vec<String> = phases.board.with_state(|state| {
        let own = state.tasks().iter().filter(|task| {
            task.team == stage.team && matches!(task.status, Status::Completed { .. })
        });
        own.map(|task| format!("- {}", task.spec.subject)).collect()
    });
    let plural = if done.len() == 1 { "" } else { "s" };
    let title = format!("{}: {} task{plural}", stage.team, done.len());
    let more = done.len().saturating_sub(TASKS_MAX);
    done.truncate(TASKS_MAX);
    if more > 0 {
        done.push(format!("- and {more} more"));
    }
    let place = &phases.settings.place;
    let marker = Marker::new(&place.digest(), "hook", "pull-request").map_err(|e| e.to_string())?;
    let args = ["pr", "create", "--head", head, "--title", &title, "--body", &done.join("\n")];
    let argv = std::iter::once(gh.into_os_string()).chain(args.map(Into::into)).collect();
    let spec = Spec {
        stdin: Stdin::Null,
        output: Output::Capture { bytes_max: OUTPUT_BYTES_MAX },
        launcher: Launcher::through(
            phases.settings.agents.program.clone(),
            vec!["exec-tree".into()],
        ),
        ..Spec::new(Program::Argv(argv), &place.workspace, marker)
    };
    let ran = run(spec, OPENING).await.map_err(|e| e.to_string())?;
    let (out, err) = (ran.stdout.text(), ran.stderr.text());
    match ran.exit {
        Exit::Code(0) if !ran.timed_out => Ok(out.trim().to_owned()),
        _ if ran.timed_out => Err(format!("gh took more than {} s", OPENING.as_secs())),
        exit => Err(format!("gh: {exit}: {}", err.trim())),
    }
}

/// Pushes the team's branch before its last phase is over; what came of it, and whether it is there.
pub(super) async fn push(phases: &Rc<Phases>, stage: &Stage) -> (String, bool) {
    let rule = &stage.playbook.commit;
    let remote = fill(&rule.push, &stage.values);
    if !is_end(stage) || remote.is_empty() {
        return (String::new(), false);
    }
    let team = stage.setup.branch(&stage.team).to_string();
    let branch = branch(stage);
    let retries = rule.retries;
    let named = remote.clone();
    let (workspace, to) = (phases.settings.place.workspace.clone(), branch.clone());
    let pushed = blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let mut pushed = repository.push(&team, &remote, &to);
        for _ in 0..retries {
            if pushed.is_ok() {
                break;
            }
            pushed = repository.push(&team, &remote, &to);
        }
        pushed.map_err(|e| e.to_string())
    });
    match pushed.await {
        Ok(()) => (format!("pushed to {named} as {branch}"), true),
        Err(text) => {
            let hook = "push".to_owned();
            let note = format!(
                "the branch was not pushed to {named} as {branch}, tried {} times: {text}",
                rule.retries + 1
            );
            phases.board.tell(Act::ReportHook {
                team: stage.team.clone(),
                hook,
                note: note.clone(),
            });
            (note, false)
        }
    }
}
