//! `shipmate resume`: go on after everything had ended, and say what became of everybody.

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskFilter;
use shipmate_protocol::view::{Counts, Resumed, Status, TaskRow, TaskStage, TeamView};

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, hanging, plain};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, owned, painted};

/// Go on after a pause, a failure that was mended, or a restart of the machine
///
/// Everybody who has something to do is started, whatever held them back: a pause, a wrong key, URL
/// or program that is right now, a circuit breaker, a request to stop. A lead that has no plan yet
/// gets its goal again. Each teammate is then `resumed` (its process went on), `started`, `restarted`
/// in its old tree with what it had done, `waits` for a task, `failed` for the reason that is told,
/// or `lost`: only a person can start it again. Nothing that was acknowledged is done twice.
///
/// Ends with 8 when nobody is at work because somebody failed, the team had to stop again, or its
/// playbook is over and did not do all: that one is run again, and does not go on.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate resume
  shipmate --team alpha resume
  shipmate resume --json | jq -r '.teammates[] | select(.how == \"failed\") | .why'")]
pub(crate) struct ResumeArgs {}

pub(crate) fn run(_: &ResumeArgs, session: Session) -> Result<(), Failure> {
    go_on(session)
}

/// Has the team go on, and tells what became of everybody.
pub(crate) fn go_on(mut session: Session) -> Result<(), Failure> {
    session.say_if_unfenced()?;
    let teammates = session.ask(verbs::Resume)?;
    let filter = TaskFilter { status: vec!["in_progress".to_owned()], ..TaskFilter::default() };
    let in_flight = session.ask(verbs::Tasks { filter })?;
    let status = session.ask(verbs::Status)?;
    match session.screen.json {
        true => session.screen.json(&serde_json::json!({
            "teammates": teammates, "in_flight": in_flight, "queue": status.queue
        }))?,
        false => {
            let own = session.command_for(session.client.team.as_deref());
            let text = text(&teammates, &in_flight, &session.screen) + &waits(&status, &own);
            session.screen.print(&text)?;
        }
    }
    let is = |words: &[&str]| teammates.iter().any(|mate| words.contains(&mate.how.as_str()));
    let is_stopped = status.teams.iter().any(|team| team.paused.is_some());
    let is_over = status.teams.iter().any(|team| ended(team).is_some());
    let cannot = is(&["failed"]) || is_stopped || is_over || status.nobody_takes;
    match cannot && !is(&["resumed", "started", "restarted"]) {
        true => Err(Failure::Told(Exit::Undone)),
        false => Ok(()),
    }
}

fn text(teammates: &[Resumed], in_flight: &[TaskRow], screen: &Screen) -> String {
    let mut text = match teammates {
        [] => "the team goes on; it has no teammates: `shipmate teammate add`\n".to_owned(),
        _ => table(teammates, screen),
    };
    text.push('\n');
    match in_flight {
        [] => text.push_str("nothing is in flight\n"),
        tasks => text.push_str(&flight(tasks, screen)),
    }
    text
}

/// How a playbook ended that did not do all.
fn ended(team: &TeamView) -> Option<String> {
    let Counts { pending, in_progress, failed, .. } = team.tasks;
    match (team.stopped_in(), pending + in_progress + failed) {
        (Some(phase), _) => {
            Some(format!("its playbook stopped in phase {}: {}", phase.name, phase.why))
        }
        (None, open) if open > 0 && team.is_over() => {
            Some(format!("its playbook is over, and tasks are not done ({open})"))
        }
        _ => None,
    }
}

/// What the team waits for, and what somebody has to say to it.
fn waits(status: &Status, own: &str) -> String {
    let mut text = String::new();
    if let Some(queue) = status.queue.as_deref().filter(|queue| !queue.is_empty()) {
        text.push_str(&format!("\nmerge queue: {}\n", plain(queue)));
    }
    for team in &status.teams {
        if let Some(words) = team.pause_words() {
            text.push_str(&format!("\n{} waits: {}\n", plain(&team.name), hanging(&words, 2)));
        }
        if let Some(ended) = ended(team) {
            let words = format!(
                "{ended}; what is over does not go on: bring its work to your branch (`{own} merge`) \
                 and run the playbook again"
            );
            text.push_str(&format!("\n{}: {}\n", plain(&team.name), hanging(&words, 2)));
        }
    }
    for (count, what, command) in [
        (status.open_plans, "plans", "plan list"),
        (status.open_questions, "questions", "questions"),
    ] {
        if count > 0 {
            text.push_str(&format!("\n{what} that wait for you: {count}  ({own} {command})\n"));
        }
    }
    text
}

fn table(teammates: &[Resumed], screen: &Screen) -> String {
    let columns = [Column::Left("TEAMMATE"), Column::Left("BECAME"), Column::Elastic("WHY")];
    let mut table = Table::new(&columns);
    for mate in teammates {
        let paint = match mate.how.as_str() {
            "resumed" | "started" | "restarted" => Paint::Good,
            "failed" | "lost" => Paint::Bad,
            _ => Paint::Dim,
        };
        table.row([cell(&mate.name), painted(&mate.how, paint), cell(&mate.why)]);
    }
    table.render(screen)
}

fn flight(tasks: &[TaskRow], screen: &Screen) -> String {
    let columns = [
        Column::Right("IN FLIGHT"),
        Column::Left("STAGE"),
        Column::Left("BY"),
        Column::Elastic("SUBJECT"),
    ];
    let mut table = Table::new(&columns);
    for task in tasks {
        table.row([
            owned(task.id.to_string(), Paint::Plain),
            cell(task.stage.map(TaskStage::word).unwrap_or_default()),
            cell(task.owner.as_deref().unwrap_or_default()),
            cell(&task.subject),
        ]);
    }
    table.render(screen)
}
