//! `shipmate plan list`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::PlanView;

use super::work;
use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, plain, plain_lines};
use crate::cli::session::Session;
use crate::time::date_and_time;

/// List the plans that wait for a decision
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate plan list
  shipmate plan list --all --json")]
pub(crate) struct ListArgs {
    /// Also those that were decided
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &ListArgs, mut session: Session) -> Result<(), Failure> {
    let plans = session.ask(verbs::Plans { all: args.all })?;
    if session.screen.json {
        return session.screen.json(&plans);
    }
    if plans.is_empty() {
        return session.screen.line(if args.all { "no plans" } else { "no open plans" });
    }
    let text: String = plans.iter().map(|plan| one(plan, &session.screen)).collect();
    session.screen.print(&text)
}

fn one(plan: &PlanView, screen: &Screen) -> String {
    let task = plan.task.map(|task| format!(" for task {task}")).unwrap_or_default();
    let head = format!(
        "plan {} by {}{task}, {}, {}",
        plan.id,
        plain(&plan.who),
        plain(plan.state.word()),
        date_and_time(plan.submitted_at)
    );
    let mut text = screen.quote(&head, &plan.body);
    for line in plan.work.iter().flat_map(|planned| work::lines(planned)) {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(feedback) = &plan.feedback {
        text.push_str(&format!("  feedback: {}\n", plain_lines(feedback).replace('\n', "\n  ")));
    }
    text
}
