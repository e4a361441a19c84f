//! `shipmate run --playbook NAME`: a team that works by a playbook.
//!
//! Nothing here knows what is in one. The coordinator reads and checks it; from then on the
//! phases run by themselves, whether somebody watches or not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shipmate_protocol::plan_file::{self, PlanFile};
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::PlaybookOrder;

use super::{Begun, RunArgs, create_team};
use crate::cli::failure::Failure;
use crate::cli::playbook::{Choice, choice, given};
use crate::cli::screen::plain;
use crate::cli::session::Session;
use crate::config::TeamMode;

/// The playbook that this run works by, if any. What the repository or the settings have chosen
/// is said in one line.
pub(super) fn choose(args: &RunArgs, session: &mut Session) -> Result<Option<String>, Failure> {
    match args.playbook.as_deref() {
        Some("none") => return Ok(None),
        Some(name) => return Ok(Some(name.to_owned())),
        None => {}
    }
    // A plan file is its own way of working; a folder of plans may be a playbook's.
    let is_plan = |what: &PathBuf| {
        let extension = what.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("toml" | "jsonl")) && !what.is_dir()
    };
    if args.what.iter().any(is_plan) {
        return Ok(None);
    }
    match choice(session)? {
        Choice::None => Ok(None),
        Choice::One { name, why } => {
            if !session.screen.json {
                let line = format!("playbook {name}: {why} (--playbook none works without)");
                session.screen.line(&line)?;
            }
            Ok(Some(name))
        }
        Choice::Several(found) => {
            let found: Vec<String> =
                found.iter().map(|(name, file)| format!("{file} is for {name}")).collect();
            Err(Failure::Usage(format!(
                "several playbooks fit this repository: {}\n  name one with --playbook, or none \
                 with --playbook none; `shipmate playbook use NAME` settles it",
                found.join(", ")
            )))
        }
    }
}

/// Makes the team; its first phase begins by itself.
pub(super) fn begin(args: &RunArgs, name: &str, session: &mut Session) -> Result<Begun, Failure> {
    if args.summaries.is_some() {
        let text =
            "--summaries is for plan files, and this run works by a playbook\n  leave it out";
        return Err(Failure::Usage(text.to_owned()));
    }
    let config = session.config()?.config;
    let playbook = given(name)?;
    let view = session.ask(playbook.clone())?;
    let shown = &view.row.name;
    let mut values = values(args)?;
    let mut plan = PlanFile { title: shown.clone(), ..PlanFile::default() };
    let mut first = shown.clone();
    for what in &args.what {
        // From where one stands, else from the top of the repository.
        let there = [what.clone(), session.place.workspace.join(what)];
        let there = there.into_iter().find(|path| path.exists());
        match there {
            Some(path) => {
                let path = inside(&path, &session.place.workspace)?;
                first = plan_file::team_name(what);
                values.entry("dir".to_owned()).or_insert(path);
            }
            None if super::goal::is_goal(what) => {
                let goal = what.to_string_lossy().into_owned();
                values.entry("goal".to_owned()).or_insert(goal);
            }
            None => {
                return Err(Failure::Usage(format!(
                    "{what:?} is neither there nor a goal\n  name a folder of the repository, or \
                     say the goal in several words, in quotes"
                )));
            }
        }
    }
    if args.yes {
        values.insert("approved".to_owned(), "yes".to_owned());
    }
    if let Some(goal) = &args.goal {
        values.insert("goal".to_owned(), goal.clone());
    }
    if let Some(goal) = values.get("goal") {
        plan.title = super::goal::title(goal);
        first = super::goal::name(goal);
    }
    let title = plan.title.clone();
    values.entry("title".to_owned()).or_insert(title.clone());
    values.entry("goal".to_owned()).or_insert(title);
    let team = session.client.team.clone().unwrap_or(first);
    let mode = args.mode(&config, view.row.env.as_deref());
    super::print_notes(&plan, &mode, session)?;
    let mut setup = super::setup(args, &plan, &config);
    setup.one_shot = mode.mode == TeamMode::Task;
    setup.agent = args.agent.clone().unwrap_or_default();
    setup.model = args.model.clone().unwrap_or_default();
    setup.cap = args.teammates.and_then(|cap| u32::try_from(cap).ok());
    setup.playbook = Some(PlaybookOrder {
        name: playbook.name,
        text: playbook.text,
        values,
        skip: args.skip.clone(),
        lead: args.lead.clone().unwrap_or_default(),
        compiled: None,
    });
    print_leftovers(session)?;
    create_team(&team, &plan.title, setup, args.ceilings(), session)?;
    let summaries = session.place.team(&team).join("summaries");
    Ok(Begun { team, plan, summaries, goal: false, playbook: true, yes: args.yes })
}

/// What earlier teams left is told before a new one begins, a line for each of them; nothing of it
/// is removed here, and nothing of it is a reason not to begin.
fn print_leftovers(session: &mut Session) -> Result<(), Failure> {
    session.client.team = None;
    if session.screen.json {
        return Ok(());
    }
    let mut left: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let ask = verbs::Leftovers { remove: false, force: Vec::new() };
    if let Ok(found) = session.ask(ask) {
        for one in found {
            let what = match one.kind.as_str() {
                "unfinished" => "unfinished",
                "process" => "process",
                _ if one.precious => "ref",
                // Nothing is lost with it, and nobody has to know.
                _ => continue,
            };
            *left.entry((one.team, what)).or_default() += 1;
        }
    }
    for ((team, what), count) in left {
        let text = match what {
            "unfinished" => format!(
                "work on tasks that was not handed in ({count}); `shipmate --team {team} resume` goes \
                 on with it"
            ),
            "process" => format!("processes ({count}); `shipmate doctor --clean` ends them"),
            _ => format!(
                "work that is in no branch of yours ({count}), and the team is gone; `shipmate \
                 doctor` names it"
            ),
        };
        session.screen.line(&format!("note: left over of {}: {text}", plain(&team)))?;
    }
    Ok(())
}

/// `--set KEY=VALUE`.
fn values(args: &RunArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut values = BTreeMap::new();
    for text in &args.set {
        let Some((key, value)) = text.split_once('=') else {
            let text = format!("{text:?} is no KEY=VALUE\n  write --set dir=phases/01");
            return Err(Failure::Usage(text));
        };
        values.insert(key.trim().to_owned(), value.to_owned());
    }
    Ok(values)
}

/// A path as the repository has it.
fn inside(path: &Path, workspace: &Path) -> Result<String, Failure> {
    let outside = || {
        Failure::Usage(format!(
            "{} is not in {}\n  a playbook works on files of the repository",
            path.display(),
            workspace.display()
        ))
    };
    let full = path.canonicalize().map_err(|_| outside())?;
    let inside = full.strip_prefix(workspace).ok().and_then(Path::to_str).ok_or_else(outside)?;
    Ok(if inside.is_empty() { ".".to_owned() } else { inside.to_owned() })
}
