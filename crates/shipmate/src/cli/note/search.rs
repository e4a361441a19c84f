//! `shipmate note search`.

use super::list;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Find the notes that have all of these words
///
/// Upper and lower case are the same, and so is the order. The author's name counts too.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate note search tests utc
  shipmate note search ana --task 3 --json")]
pub(crate) struct SearchArgs {
    /// The words
    #[arg(required = true)]
    words: Vec<String>,

    #[command(flatten)]
    page: list::Page,
}

pub(crate) fn run(args: SearchArgs, session: Session) -> Result<(), Failure> {
    list::run(args.page, Some(args.words.join(" ")), session)
}
