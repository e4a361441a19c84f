//! `shipmate run`.

mod account;
mod decide;
mod ending;
mod existing;
mod goal;
mod led;
mod notify;
mod offer;
mod page;
mod phases;
mod playbook;
mod progress;
mod report;
mod spent;
mod tasks;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shipmate_model::account::Caps;
use shipmate_protocol::Ask;
use shipmate_protocol::plan_file::{self, PlanFile, TeammateEntry};
use shipmate_protocol::verbs::{Budget, Setup, TeamCreate, TeammateAdd};

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::team::{micros, thousandths};
use crate::config::{Config, Resolved};
use crate::time::parse_duration_ms;
use goal::Aim;
use shipmate_protocol::verbs;
use watch::Watching;

/// Run a goal or a plan with a team of agents
///
/// With a goal, a lead reads the repository and makes a plan of tasks and teammates, which you
/// approve. With a plan file, its tasks are put on the board at once. Agents are started as there
/// are tasks for them. Each works in a clone of its own; what they hand in is merged onto the branch
/// shipmate/TEAM when the gate passes on it. shipmate touches your branch and files only at `shipmate
/// merge`.
///
/// At a terminal it also serves the page that shows the team in a browser, and prints its link;
/// whoever has the link acts as you, for as long as this command runs. Where the page is open when
/// the run ends, it stays until you press Enter or close it. The terminal's bell rings when a decision
/// begins to wait for you and when the team is done (see `notify` and `page` in `shipmate config
/// --default`).
///
/// Ctrl-C asks whether to leave the team at work or to shut it down; a second Ctrl-C leaves at once.
/// A run that is shut down waits for work that is at the gate. Closing the terminal leaves the team at
/// work: `shipmate tui` and `shipmate log --follow` show it, `shipmate shutdown` ends it.
///
/// Without a terminal nobody answers: a run that can only go on by a person's word (a question, a
/// plan, a permission, a budget, a pause) ends with exit code 9, names what waits and leaves the team
/// paused. Answer, then `shipmate resume`. `--wait` gives it more patience.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = "\
Examples:
  shipmate run \"add a GraphQL endpoint beside the REST one\" --gate 'make test'
  shipmate run --goal \"$(cat goal.md)\" --lead claude --agent codex --yes
  shipmate run plan.toml --agent ./agent.sh
  shipmate run 03-01.plan.jsonl 03-02.plan.jsonl --agent 'claude -p \"$SHIPMATE_SUBJECT\"'
  shipmate run plan.toml --detach && shipmate attach dev-1
  shipmate run --playbook contract-first plans/issue-42.md

The agent's command gets its task in the environment (SHIPMATE_TASK, SHIPMATE_SUBJECT,
SHIPMATE_FILES, SHIPMATE_FEEDBACK, …) and as JSON on standard input; see docs/agents.md. Exit code 0
means that the task is done. A command that must show its plan first is run once with
SHIPMATE_MODE=plan (\"mode\":\"plan\" in the JSON): what it prints is the plan, and it can write nothing.
Exit codes of this command: 0 all done, 8 something is not done, 9 it waits for your answer.")]
pub(crate) struct RunArgs {
    /// A goal in quotes; or plan files (TOML, or JSON lines), or a folder of *.plan.jsonl
    #[arg(value_name = "GOAL|PLAN")]
    what: Vec<PathBuf>,

    /// The goal, whatever it looks like
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,

    /// Work by a playbook (`shipmate playbook list`, or a file); GOAL is then its goal, PLAN its
    /// folder. `none`: by none [default: as configured, else as the repository's files say]
    #[arg(long, value_name = "NAME")]
    playbook: Option<String>,

    /// What a placeholder of the playbook stands for; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// A phase of the playbook to leave out; may be given several times
    #[arg(long, value_name = "PHASE")]
    skip: Vec<String>,

    /// One agent for each task, which ends with it: nobody stays, nobody talks
    #[arg(long)]
    task_mode: bool,

    /// The program behind the lead, for a goal or a playbook [default: as --agent, else as configured]
    #[arg(long, value_name = "AGENT")]
    lead: Option<String>,

    /// Approve the lead's plan when it comes, what a playbook shows before it begins, and plans of
    /// teammates that no lead can decide or that it leaves open
    #[arg(long)]
    yes: bool,

    /// The model of everybody for whom the plan names none
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// An agent program (`claude`, `codex`, …: see `shipmate agents`), or a command line that does one
    /// task
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,

    /// How many developers at most, where the plan names no teammates
    #[arg(long, value_name = "N")]
    teammates: Option<usize>,

    /// A command that must succeed on the merged tree; may be given several times
    #[arg(long, value_name = "COMMAND")]
    gate: Vec<String>,

    /// Begin although the gate fails on the last commit: the work is to make it pass
    #[arg(long)]
    red_base: bool,

    /// own (a clone for each teammate), shared (one for all) or none (no git)
    #[arg(long, value_name = "MODE", value_parser = ["own", "shared", "none"])]
    trees: Option<String>,

    /// Begin at the last commit although there are uncommitted changes
    #[arg(long)]
    dirty: bool,

    /// Leave teammates parked when their account has room again, until `shipmate account resume`
    #[arg(long)]
    no_auto_resume: bool,

    /// End the team after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    timeout: Option<u64>,

    /// What the team may spend at most; refused where nobody can tell what an agent spends
    #[arg(long, value_name = "DOLLARS", value_parser = micros)]
    budget: Option<u64>,

    /// How many tokens the team may use at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,

    /// How much of any window of an account may be used, counted over resets and with all who ask with it
    #[arg(long, value_name = "PERCENT", value_parser = thousandths)]
    window: Option<u32>,

    /// Start the team and come back at once
    #[arg(long)]
    detach: bool,

    /// Without a terminal: how long to wait for your answer before the run ends [default: seconds; a
    /// minute where whoever asked may go on meanwhile, ten where a lead may answer]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    wait: Option<u64>,

    /// Serve no page beside it [default: as configured; without a terminal there is none]
    #[arg(long)]
    no_page: bool,

    /// Where the summaries of plan files go [default: beside the team's log]
    #[arg(long, value_name = "DIR")]
    summaries: Option<PathBuf>,
}

/// A run under way, as far as this command needs to know it.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) team: String,
    pub(crate) plan: PlanFile,
    pub(crate) summaries: PathBuf,
    /// It began with a goal: a lead makes the plan.
    pub(crate) goal: bool,
    /// It works by a playbook, in which somebody may have to show a plan.
    pub(crate) playbook: bool,
    /// A lead's plan is approved when it comes.
    pub(crate) yes: bool,
}

impl Begun {
    /// Says how it stands with a team that goes on without this command.
    fn leave(&self, text: &str, hint: Option<String>, session: &Session) -> Result<(), Failure> {
        if session.screen.json {
            let json = serde_json::json!({ "team": self.team, "detached": true });
            return session.screen.json(&json);
        }
        session.screen.line(text)?;
        hint.map_or(Ok(()), |hint| session.screen.line(&hint))
    }

    /// How plans are decided that come while nobody watches. What `--yes` says of the phases is on
    /// record; plans are approved by the command that watches, and it has left.
    fn plans_hint(&self, own: &str) -> Option<String> {
        let plans = format!("`{own} plan list`");
        match (self.goal, self.playbook, self.yes) {
            (_, true, true) => Some(format!(
                "--yes lets the phases begin; a plan that somebody shows waits for you: {plans}, \
                 `{own} plan approve N`"
            )),
            (_, true, false) => Some(format!("when somebody shows a plan: {plans}")),
            (true, ..) => Some(format!("when the lead has a plan: {plans}")),
            (false, false, _) => None,
        }
    }
}

pub(crate) fn run(args: &RunArgs, mut session: Session) -> Result<Exit, Failure> {
    let begun = begin(args, &mut session)?;
    if args.detach {
        let own = session.command_for(Some(&begun.team));
        let text = format!(
            "team {} is at work: `{own} status`, `{own} tui`, `{own} attach NAME`, `{own} shutdown`",
            begun.team
        );
        begun.leave(&text, begun.plans_hint(&own), &session)?;
        return Ok(Exit::Done);
    }
    let page = page::begin(args, &session)?;
    let link = page.as_ref().map(|page| page.link().to_owned());
    let patience = Duration::from_millis(args.wait.unwrap_or_default());
    let screen = session.screen.clone();
    let watched = watch::watch(&begun, session, Watching { link, patience })?;
    let Some(watched) = watched else { return Ok(Exit::Done) };
    if let Some(page) = page {
        page::stay(&page, &watched.report, &screen)?;
    }
    Ok(watched.exit())
}

/// Checks everything, then makes the team, its tasks and its teammates.
pub(crate) fn begin(args: &RunArgs, session: &mut Session) -> Result<Begun, Failure> {
    if let Some(name) = playbook::choose(args, session)? {
        return playbook::begin(args, &name, session);
    }
    if !args.set.is_empty() || !args.skip.is_empty() {
        return Err(Failure::Usage(
            "--set and --skip are for a playbook, and this run works by none\n  name one with \
             --playbook, or leave them out"
                .to_owned(),
        ));
    }
    match args.aim()? {
        Aim::Goal(goal) => goal::begin(args, &goal, session),
        Aim::Plans(_) if args.lead.is_some() || args.yes => Err(Failure::Usage(
            "--lead and --yes are for a goal: a plan file is its own plan\n  leave them out"
                .to_owned(),
        )),
        Aim::Plans(plans) => begin_plans(args, &plans, session),
    }
}

fn begin_plans(args: &RunArgs, plans: &[PathBuf], session: &mut Session) -> Result<Begun, Failure> {
    let plan = plan_file::read_all(plans).map_err(|e| Failure::Usage(e.to_string()))?;
    let config = session.config()?.config;
    let team = args.team(&plan, &plans[0], session);
    let roster = roster(args, &plan, &config);
    for header in &plan.plans {
        for artifact in header.artifacts.iter() {
            let path = session.place.workspace.join(&artifact.path);
            if !path.exists() {
                return Err(Failure::Usage(format!(
                    "plan {} needs {} of plan {} ({}), which does not exist\n  run that plan first",
                    header.id, artifact.path, artifact.plan, artifact.reason
                )));
            }
        }
    }
    print_notes(&plan, &args.mode(&config, None), session)?;
    let mut setup = setup(args, &plan, &config);
    setup.plans = own_paths(plans, &session.place.workspace);
    let without = plan.tasks.iter().find(|(task, _)| task.files.is_empty());
    if let (Some("shared"), Some((task, place))) = (setup.trees.as_deref(), without) {
        return Err(Failure::Usage(format!(
            "{}:{}: task {} names no files, and in a shared tree only the files it names are its \
             own\n  give it files, or run with --trees own",
            place.file, place.line, task.subject
        )));
    }
    create_team(&team, &plan.title, setup, args.ceilings(), session)?;
    if let Err(failure) = staff(&plan, roster, session) {
        delete_team(session);
        return Err(failure);
    }
    let summaries = args.summaries.clone();
    let summaries = summaries.unwrap_or_else(|| session.place.team(&team).join("summaries"));
    Ok(Begun { team, plan, summaries, goal: false, playbook: false, yes: args.yes })
}

fn print_notes(plan: &PlanFile, mode: &Resolved, session: &Session) -> Result<(), Failure> {
    let notes = plan.notes.iter().chain(&mode.fallback_notice);
    for note in notes.filter(|_| !session.screen.json) {
        session.screen.line(&format!("note: {note}"))?;
    }
    Ok(())
}

/// Makes a team; from then on this session is about it.
fn create_team(
    team: &str,
    description: &str,
    mut setup: Setup,
    budget: Budget,
    session: &mut Session,
) -> Result<(), Failure> {
    // What `shipmate install` has written is nobody's work.
    setup.plans.extend([".mcp.json", ".claude/", ".codex/"].map(str::to_owned));
    setup.plans.push(".claude/settings.local.json".to_owned());
    offer::offer(&mut setup, session)?;
    if setup.trees.is_some() && !session.screen.json {
        if let Some(root) = session.repository_elsewhere() {
            session.screen.line(&format!("in the repository {}", root.display()))?;
        }
        let survey = session.ask(verbs::Survey).map_err(|e| session.advise_repository(e))?;
        for note in &survey.notes {
            session.screen.line(&format!("note: {note}"))?;
        }
        if setup.detect && survey.trees.adds_to(&setup.preparation) {
            let trees = survey.trees.clone().beside(&setup.preparation);
            let copies =
                (!trees.copy.is_empty()).then(|| format!("copies of {}", trees.copy.join(", ")));
            let does: Vec<String> = copies.into_iter().chain(trees.setup.iter().cloned()).collect();
            session.screen.line(&format!("trees get, by {}: {}", trees.from, does.join("; ")))?;
        }
    }
    session.say_if_unfenced()?;
    let create = TeamCreate {
        name: team.to_owned(),
        description: description.to_owned(),
        gate: true,
        setup: Some(setup),
        ..TeamCreate::default()
    };
    existing::make_room(&create, session)?;
    session.client.team = None;
    let made = session.ask(Ask::TeamCreate(create));
    made.map_err(|e| session.advise_repository(e))?;
    session.client.team = Some(team.to_owned());
    if budget != Budget::default()
        && let Err(failure) = session.ask(verbs::TeamBudget { budget })
    {
        delete_team(session);
        return Err(failure);
    }
    Ok(())
}

/// The plans as git names them: an uncommitted plan is in nobody's way.
fn own_paths(plans: &[PathBuf], workspace: &Path) -> Vec<String> {
    let inside = |path: &PathBuf| {
        let path = path.canonicalize().ok()?;
        Some(path.strip_prefix(workspace).ok()?.to_str()?.to_owned())
    };
    plans.iter().filter_map(inside).collect()
}

/// Adds the teammates, then puts the tasks on the board, which may be meant for one of them.
fn staff(plan: &PlanFile, roster: Vec<TeammateAdd>, session: &mut Session) -> Result<(), Failure> {
    for teammate in roster {
        session.ask(Ask::TeammateAdd(teammate))?;
    }
    for batch in plan.batches() {
        let tasks = batch.iter().map(|(task, _)| task.clone()).collect();
        session.ask(verbs::TaskCreate { tasks })?;
    }
    Ok(())
}

/// Half a team is worse than none: the next run would meet it. What refused it is told; that this
/// failed too would only hide it.
fn delete_team(session: &mut Session) {
    let reason = "the run was refused".to_owned();
    drop(session.ask(verbs::TeamDelete { team: None, reason, deadline_ms: 0, now: true }));
    drop(session.ask(Ask::TeamEnd));
}

impl RunArgs {
    fn ceilings(&self) -> Budget {
        Budget { cost_micros_max: self.budget, tokens_max: self.tokens, window_max: self.window }
    }

    /// One plan, done by one agent and model, with everything else as usual.
    pub(crate) fn of(plan: PathBuf, agent: String, model: Option<String>) -> RunArgs {
        RunArgs { what: vec![plan], agent: Some(agent), model, ..RunArgs::default() }
    }

    /// Team mode or task mode; a playbook may ask for a variable.
    fn mode(&self, config: &Config, env: Option<&str>) -> Resolved {
        match self.task_mode {
            true => Resolved::asked_for_tasks(),
            false => config.mode_for(env, |name| std::env::var(name).ok()),
        }
    }

    fn team(&self, plan: &PlanFile, first: &Path, session: &Session) -> String {
        let named = session.client.team.as_ref().or(plan.team.as_ref());
        named.cloned().unwrap_or_else(|| plan_file::team_name(first))
    }
}

fn setup(args: &RunArgs, plan: &PlanFile, config: &Config) -> Setup {
    let usual = config.setup();
    let trees = args.trees.clone().or(usual.trees).filter(|trees| trees != "none");
    let gates = [&args.gate, &plan.gate, &usual.gate];
    let gate = gates.into_iter().find(|gate| !gate.is_empty()).cloned().unwrap_or_default();
    let timeout_ms = args.timeout.or(usual.timeout_ms);
    let one_shot = usual.one_shot || args.task_mode;
    let (dirty, red_base) = (args.dirty, args.red_base);
    let preparation = plan.trees.clone().or(&usual.preparation);
    let resumes = usual.caps.resumes && !args.no_auto_resume;
    let caps = Caps { resumes, ..usual.caps };
    Setup { trees, preparation, gate, timeout_ms, caps, one_shot, dirty, red_base, ..usual }
}

/// The teammates, each with the command that does its tasks.
fn roster(args: &RunArgs, plan: &PlanFile, config: &Config) -> Vec<TeammateAdd> {
    let commands: BTreeMap<&str, &str> =
        plan.agents.iter().map(|(name, agent)| (name.as_str(), agent.command.as_str())).collect();
    let fallback = args
        .agent
        .as_deref()
        .or(commands.get("default").copied())
        .or(Some(config.agents.default.as_str()).filter(|command| !command.is_empty()));
    // Where nothing is named the coordinator finds one, or says what to do.
    let fallback = fallback.unwrap_or_default();
    let cap = args.teammates.unwrap_or(config.team.cap as usize).clamp(1, plan.tasks.len().max(1));
    let developer = |n| TeammateEntry { name: format!("dev-{n}"), ..TeammateEntry::default() };
    let teammates = match plan.teammates.is_empty() {
        true => (1..=cap).map(developer).collect(),
        false => plan.teammates.clone(),
    };
    let each = teammates.into_iter().map(|entry| {
        // A name that is no agent of the plan's is a program.
        let own = entry.agent.as_deref().map(|name| commands.get(name).copied().unwrap_or(name));
        // What is said on the command line is meant for this run, and for all.
        let command = args.agent.as_deref().or(own).unwrap_or(fallback);
        let (agent, command) = config.agent_of(command);
        TeammateAdd {
            name: entry.name,
            lead: entry.lead,
            role: entry.role,
            scope: entry.scope,
            model: Some(entry.model)
                .filter(|own| !own.is_empty())
                .or(args.model.clone())
                .unwrap_or_default(),
            mode: entry.mode,
            agent,
            command,
            when_needed: true,
            place: entry.runs,
            from: entry.from,
            fallback: entry.fallback,
            ..TeammateAdd::default()
        }
    });
    each.collect()
}
