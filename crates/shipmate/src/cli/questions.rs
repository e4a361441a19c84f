//! `shipmate questions`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::QuestionView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, plain, plain_lines};
use crate::cli::session::Session;
use crate::time::date_and_time;

/// List the questions that wait for an answer
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate questions
  shipmate questions --all --json")]
pub(crate) struct QuestionsArgs {
    /// Also those that were answered
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &QuestionsArgs, mut session: Session) -> Result<(), Failure> {
    let questions = session.ask(verbs::Questions { all: args.all })?;
    if session.screen.json {
        return session.screen.json(&questions);
    }
    if questions.is_empty() {
        return session.screen.line(if args.all { "no questions" } else { "no open questions" });
    }
    let text: String = questions.iter().map(|q| one(q, &session.screen)).collect();
    session.screen.print(&text)
}

fn one(question: &QuestionView, screen: &Screen) -> String {
    let head = format!(
        "{} {} by {}, {}, {}",
        plain(question.kind.word()),
        question.id,
        plain(&question.who),
        plain(question.state.word()),
        date_and_time(question.asked_at)
    );
    let mut text = screen.quote(&head, &question.text);
    if !question.options.is_empty() {
        text.push_str(&format!("  options: {}\n", plain(&question.options.join(", "))));
    }
    if let Some(answer) = &question.answer {
        text.push_str(&format!("  answer: {}\n", plain_lines(answer).replace('\n', "\n  ")));
    }
    text
}
