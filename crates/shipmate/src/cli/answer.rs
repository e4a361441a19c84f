//! `shipmate answer`.

use shipmate_protocol::verbs;

use crate::cli::failure::Failure;
use crate::cli::session::{Session, text_or_stdin};

/// Answer a question of a teammate
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate questions
  shipmate answer 41 winnow")]
pub(crate) struct AnswerArgs {
    /// The id that `questions` shows
    question: u64,

    /// The answer; `-` is standard input
    #[arg(required = true)]
    text: Vec<String>,
}

pub(crate) fn run(args: &AnswerArgs, mut session: Session) -> Result<(), Failure> {
    let answer = text_or_stdin(&args.text)?;
    let said = format!("answered question {}", args.question);
    session.change(verbs::QuestionAnswer { question: args.question, answer }, &said)
}
