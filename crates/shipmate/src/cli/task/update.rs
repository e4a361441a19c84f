//! `shipmate task update`.

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskChanges;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::task::parse_meta;
use crate::time::parse_duration_ms;

/// Change a task; what is not named stays as it is
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task update 3 --subject \"Write the lexer\" --priority 10
  shipmate task update 4 --block 3 --unblock 2
  shipmate task update 4 --role \"\" --meta ticket=")]
pub(crate) struct UpdateArgs {
    /// Its id or alias
    task: String,

    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,

    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    #[arg(long, value_name = "TEXT")]
    active_form: Option<String>,

    /// Lower is sooner
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i32>,

    /// How long it will take, like 10m
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    duration: Option<u64>,

    /// Only teammates of this role may take it; empty means any
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// The files it writes, all of them, separated by commas; empty means none
    #[arg(long, value_name = "PATHS")]
    files: Option<String>,

    /// Further tasks to be completed before, separated by commas
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    block: Vec<String>,

    /// Dependencies to take away, separated by commas
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    unblock: Vec<String>,

    /// Your own fields; an empty value removes the key; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_meta)]
    meta: Vec<(String, String)>,
}

pub(crate) fn run(args: UpdateArgs, mut session: Session) -> Result<(), Failure> {
    let files = args.files.as_deref().map(|files| {
        let paths = files.split(',').map(str::trim).filter(|path| !path.is_empty());
        paths.map(str::to_owned).collect()
    });
    let changes = TaskChanges {
        subject: args.subject,
        description: args.description,
        active_form: args.active_form,
        priority: args.priority,
        duration_ms: args.duration,
        role: args.role,
        files,
        add_blocked_by: args.block,
        remove_blocked_by: args.unblock,
        metadata: args.meta.into_iter().collect(),
    };
    let said = format!("updated task {}", args.task);
    session.change(verbs::TaskUpdate { task: args.task, changes }, &said)
}
