//! `shipmate ask`.

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::QuestionKind;

use crate::cli::failure::Failure;
use crate::cli::session::{Session, text_or_stdin};

/// Ask the lead or the person something, as a teammate
///
/// The answer comes as a message. With options, only one of them is taken as the answer.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana ask \"Which parser do we use?\" --option nom --option winnow
  shipmate --as ana ask --kind permission \"May I run the migration?\" --option yes --option no")]
pub(crate) struct AskArgs {
    /// The question; `-` is standard input
    #[arg(required = true)]
    text: Vec<String>,

    /// An answer to choose from; may be repeated
    #[arg(long = "option", value_name = "TEXT")]
    options: Vec<String>,

    /// question, permission (to do something) or scope (to write somewhere)
    #[arg(long, value_name = "KIND", default_value = "question")]
    #[arg(value_parser = ["question", "permission", "scope"])]
    kind: String,
}

pub(crate) fn run(args: &AskArgs, mut session: Session) -> Result<(), Failure> {
    let kind = match args.kind.as_str() {
        "permission" => QuestionKind::Permission,
        "scope" => QuestionKind::Scope,
        _ => QuestionKind::Question,
    };
    let text = text_or_stdin(&args.text)?;
    let question = session.ask(verbs::Question { kind, text, options: args.options.clone() })?;
    let said = format!("asked question {}; the answer comes as a message", question.id);
    session.tell(&question.into(), &said)
}
