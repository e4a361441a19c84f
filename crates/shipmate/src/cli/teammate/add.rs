//! `shipmate teammate add`.

use shipmate_model::host::Place;
use shipmate_protocol::verbs::TeammateAdd;
use shipmate_protocol::{Ask, verbs};

use crate::cli::failure::Failure;
use crate::cli::host::name_of;
use crate::cli::screen::plain;
use crate::cli::session::Session;
use crate::cli::teammate::start::{self, Shown};

/// Add a teammate and begin its first life
///
/// A life (ana@1, ana@2, …) is what a token stands for: whoever holds the token acts as that life.
/// The token is kept in .shipmate/state/tokens, readable by you only, and `--as ana` finds it.
///
/// With --agent shipmate drives that program (`shipmate agents` lists them) for as long as the teammate
/// lives: it is started for its first task or message. What is no program's name is a command.
///
/// With --command shipmate runs it: whenever there is a task for it, the command is started with the
/// task in its environment and on its standard input, and its exit code says whether it is done.
/// Nobody holds its token but its supervisor; `shipmate attach` shows what it prints.
///
/// In a team on several machines (`shipmate host`) it runs wherever there is room. With --host or --label
/// it runs only there, and waits while that machine is full or away.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate teammate add ana
  shipmate teammate add tess --role tester --scope tests --mode read_only
  shipmate teammate add rex --agent codex --host box --label gpu
  shipmate teammate add rex --agent codex --role reviewer --mode read_only
  shipmate teammate add rex --from reviewer
  shipmate teammate add lou --lead --no-start
  shipmate teammate add dev --command './agent.sh \"$SHIPMATE_SUBJECT\"'")]
pub(crate) struct AddArgs {
    /// Letters, digits, '_' and '-', beginning with a letter or digit, at most 64
    name: String,

    /// It leads the team: it may plan the board, add teammates and approve plans
    #[arg(long)]
    lead: bool,

    /// Tasks of this role are for it
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// The program behind it, such as claude or codex, or a command as with --command
    #[arg(long, value_name = "AGENT", conflicts_with = "command")]
    agent: Option<String>,

    #[arg(long, value_name = "MODEL", default_value = "")]
    model: String,

    /// A definition that it is made from; `shipmate agents --definitions` lists them
    #[arg(long, value_name = "NAME")]
    from: Option<String>,

    /// What takes its place while its account has no room: a program, or PROGRAM:MODEL
    #[arg(long, value_name = "AGENT", conflicts_with_all = ["no_start", "print_token"])]
    fallback: Option<String>,

    /// A command line that does one task; the runtime starts it when there is one
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["no_start", "print_token"])]
    command: Option<String>,

    /// What it may write: paths and globs, separated by commas; nothing means anywhere
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    scope: Vec<String>,

    /// normal, plan (writes only after its plan is approved), delegate or read_only
    #[arg(long, value_name = "MODE", value_parser = ["normal", "plan", "delegate", "read_only"])]
    mode: Option<String>,

    /// How many tasks it may hold at once
    #[arg(long, value_name = "N")]
    tasks_max: Option<u32>,

    /// The machine it runs on; `shipmate host list` names them
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// It runs on machines that have this label; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,

    /// Only add it; `shipmate teammate start` begins its life later
    #[arg(long, conflicts_with = "print_token")]
    no_start: bool,

    /// Print the token instead of keeping it in a file
    #[arg(long)]
    print_token: bool,
}

/// What its program does not hold of the definition that it is made from.
fn say_unheld(name: &str, session: &mut Session) -> Result<(), Failure> {
    if session.screen.json {
        return Ok(());
    }
    let mate = session.ask(verbs::TeammateShow { name: name.to_owned() })?;
    for text in &mate.unheld {
        session.screen.line(&format!("note: {}: {}", plain(&mate.from), plain(text)))?;
    }
    Ok(())
}

pub(crate) fn run(args: AddArgs, mut session: Session) -> Result<(), Failure> {
    let name = args.name.clone();
    let config = session.config()?.config;
    let (agent, command) = match (args.agent, args.command) {
        (Some(agent), _) => config.agent_of(&agent),
        (None, command) => (String::new(), command.unwrap_or_default()),
    };
    // The runtime starts what it knows how to start, unless somebody wants to do it by hand.
    let by_hand = args.no_start || args.print_token;
    let runs_command = !command.is_empty();
    if runs_command && by_hand {
        return Err(Failure::Usage(format!(
            "{command:?} is a command, and shipmate runs it when there is a task\n  leave out \
             --no-start and --print-token, or name a program (`shipmate agents` lists them)"
        )));
    }
    let started = runs_command || ((!agent.is_empty() || args.from.is_some()) && !by_hand);
    let place = place_of(args.host.as_deref(), &args.labels)?;
    if !started && !place.is_anywhere() {
        return Err(Failure::Usage(format!(
            "{name} runs where you start it, so --host and --label say nothing\n  name a program that \
             shipmate starts with --agent or --command, or leave them out"
        )));
    }
    let ask = Ask::TeammateAdd(TeammateAdd {
        name: args.name,
        lead: args.lead,
        role: args.role,
        agent,
        model: args.model,
        scope: args.scope,
        mode: args.mode,
        tasks_max: args.tasks_max,
        command,
        when_needed: started,
        hears: false,
        place,
        from: args.from.unwrap_or_default(),
        fallback: args.fallback.unwrap_or_default(),
        ..TeammateAdd::default()
    });
    if started {
        session.say_if_unfenced()?;
        let what = if runs_command { "a task" } else { "a task or a message" };
        session.change(ask, &format!("added {name}; it starts when there is {what} for it"))?;
        return say_unheld(&name, &mut session);
    }
    if args.no_start {
        return session.change(ask, &format!("added {name}; it has no life yet"));
    }
    session.ask(ask)?;
    let started = start::begin(&mut session, &name, Shown::of(args.print_token), "added");
    if started.is_err() && !session.screen.json {
        // Half of it was done, and the refusal that follows is about the other half.
        session.screen.line(&format!("added {name}; it has no life yet"))?;
    }
    started
}

pub(super) fn place_of(host: Option<&str>, labels: &[String]) -> Result<Place, Failure> {
    let labels: Result<_, Failure> = labels.iter().map(|label| name_of(label)).collect();
    Ok(Place { host: host.map(name_of).transpose()?, labels: labels? })
}
