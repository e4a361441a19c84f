//! `shipmate run --playbook NAME`: a team that works by a playbook.
//!
//! Nothing here knows what is in one. The coordinator reads and checks it; from then on the
//! phases run by themselves, whether somebody watches or not.

use std::collections::BTreeMap;
use std::path::Path;

use shipmate_protocol::ask::PlaybookOrder;
use shipmate_protocol::plan_file::{self, PlanFile};

use super::{Begun, RunArgs, found};
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Makes the team; its first phase begins by itself.
pub(super) fn begin(args: &RunArgs, name: &str, session: &mut Session) -> Result<Begun, Failure> {
    let config = session.config()?.config;
    let mut values = values(args)?;
    let mut plan = PlanFile { title: name.to_owned(), ..PlanFile::default() };
    let mut first = name.to_owned();
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
    super::notes(&plan, &config, session)?;
    let mut setup = super::setup(args, &plan, &config);
    setup.agent = args.agent.clone().unwrap_or_default();
    setup.model = args.model.clone().unwrap_or_default();
    setup.cap = args.teammates.and_then(|cap| u32::try_from(cap).ok());
    setup.playbook = Some(PlaybookOrder {
        name: name.to_owned(),
        values,
        skip: args.skip.clone(),
        compiled: None,
    });
    found(&team, &plan.title, setup, args.budget, session)?;
    let summaries = session.place.team(&team).join("summaries");
    Ok(Begun { team, plan, summaries, goal: None })
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
