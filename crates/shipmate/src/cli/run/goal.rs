//! `shipmate run "<goal>"`: a team with a lead that makes the plan.
//!
//! Nothing here plans anything. The team is made, the lead is added and told the goal as a
//! person's message; that it has mail is what starts it.

use std::path::{Path, PathBuf};

use shipmate_protocol::Ask;
use shipmate_protocol::verbs::TeammateAdd;

use super::{Begun, RunArgs, create_team};
use crate::cli::failure::Failure;
use crate::cli::screen::first_line;
use crate::cli::session::Session;
use crate::config::Config;
use shipmate_protocol::plan_file::PlanFile;
use shipmate_protocol::verbs;

/// The lead's name.
pub(super) const LEAD: &str = "lead";
/// Longest name of a team that is made from a goal.
const NAME_BYTES_MAX: usize = 32;

/// What a run is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Aim {
    Plans(Vec<PathBuf>),
    Goal(String),
}

impl RunArgs {
    pub(super) fn aim(&self) -> Result<Aim, Failure> {
        let usage = |text: String| Failure::Usage(text);
        match (&self.goal, self.what.as_slice()) {
            (Some(_), [first, ..]) => Err(usage(format!(
                "--goal and {first:?} exclude each other\n  a run has a goal or plan files"
            ))),
            (Some(goal), []) if goal.trim().is_empty() => {
                Err(usage("the goal is empty\n  say what is to be done".to_owned()))
            }
            (Some(goal), []) => Ok(Aim::Goal(goal.clone())),
            (None, []) => Err(usage(
                "there is nothing to run: no goal, no plan, and no playbook fits this repository\n  \
                 say a goal in quotes, name a plan file, or a playbook with --playbook"
                    .to_owned(),
            )),
            (None, all) if all.iter().all(|path| is_plan(path)) => Ok(Aim::Plans(all.to_vec())),
            (None, [one]) if is_goal(one) => Ok(Aim::Goal(one.to_string_lossy().into_owned())),
            (None, all) => {
                let stranger = all.iter().find(|path| !is_plan(path)).cloned().unwrap_or_default();
                Err(usage(format!(
                    "{stranger:?} is neither a plan nor a goal\n  a plan is a file or folder that \
                     is there, or ends in .toml or .jsonl; a goal is one argument of several \
                     words, in quotes, or --goal TEXT"
                )))
            }
        }
    }
}

fn is_plan(path: &Path) -> bool {
    let named = path.extension().is_some_and(|end| end == "toml" || end == "jsonl");
    named || path.exists()
}

pub(super) fn is_goal(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.trim().contains(char::is_whitespace))
}

/// Makes the team and its lead, and tells it the goal.
pub(super) fn begin(args: &RunArgs, goal: &str, session: &mut Session) -> Result<Begun, Failure> {
    if args.detach && args.yes {
        return Err(Failure::Usage(
            "--yes approves the plan when it comes, and --detach does not wait for it\n  leave out \
             one of them; `shipmate plan approve` decides later"
                .to_owned(),
        ));
    }
    let config = session.config()?.config;
    let lead = lead(args, &config)?;
    let plan = PlanFile { title: title(goal), ..PlanFile::default() };
    let team = session.client.team.clone().unwrap_or_else(|| name(goal));
    let cap = args.teammates.unwrap_or(config.team.cap as usize);
    super::print_notes(&plan, &args.mode(&config, None), session)?;
    let mut setup = super::setup(args, &plan, &config);
    setup.agent = args.agent.clone().unwrap_or_default();
    setup.model = args.model.clone().unwrap_or_default();
    setup.cap = Some(u32::try_from(cap).unwrap_or(u32::MAX));
    create_team(&team, goal, setup, args.ceilings(), session)?;
    if let Err(failure) = brief_lead(lead, goal, session) {
        super::delete_team(session);
        return Err(failure);
    }
    let summaries = session.place.team(&team).join("summaries");
    Ok(Begun { team, plan, summaries, goal: true, playbook: false, yes: args.yes })
}

fn brief_lead(lead: TeammateAdd, goal: &str, session: &mut Session) -> Result<(), Failure> {
    let to = lead.name.clone();
    session.ask(Ask::TeammateAdd(lead))?;
    session.ask(verbs::Send { to, body: goal.to_owned(), kind: None, reply_to: None })?;
    Ok(())
}

/// The lead, on an agent that can be talked to. Where none is named the coordinator looks for one.
fn lead(args: &RunArgs, config: &Config) -> Result<TeammateAdd, Failure> {
    let program = |text: &str| Some(config.agent_of(text).0).filter(|name| !name.is_empty());
    let agent = match &args.lead {
        Some(named) => program(named).ok_or_else(|| {
            Failure::Usage(format!(
                "{named:?} cannot lead: it is a plain command, and a lead must hear and answer\n  \
                 name a program, such as --lead native (`shipmate agents` lists them)"
            ))
        })?,
        None => {
            let usual = [args.agent.as_deref(), Some(config.agents.default.as_str())];
            usual.into_iter().flatten().find_map(program).unwrap_or_default()
        }
    };
    if agent.is_empty() && (args.agent.is_some() || !config.agents.default.is_empty()) {
        return Err(Failure::Usage(
            "no agent can lead: the one that is named is a plain command, and a lead must hear and \
             answer\n  name a program for it, such as --lead native (`shipmate agents` lists them)"
                .to_owned(),
        ));
    }
    Ok(TeammateAdd {
        name: LEAD.to_owned(),
        lead: true,
        agent,
        model: args.model.clone().unwrap_or_default(),
        mode: Some("plan".to_owned()),
        when_needed: true,
        ..TeammateAdd::default()
    })
}

/// The goal on one line.
pub(super) fn title(goal: &str) -> String {
    first_line(goal.trim()).trim().to_owned()
}

/// `Add a GraphQL API beside REST` is `add-a-graphql-api-beside-rest`, whole words as far as they
/// fit.
pub(super) fn name(goal: &str) -> String {
    let words = goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.map(str::to_ascii_lowercase) {
        let longer = if name.is_empty() { word } else { format!("{name}-{word}") };
        if longer.len() > NAME_BYTES_MAX {
            break;
        }
        name = longer;
    }
    // Too long from its first word on, or a word that means somebody else.
    if name.is_empty() || ["person", "runtime", "all"].contains(&name.as_str()) {
        return "goal".to_owned();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(what: &[&str], goal: Option<&str>) -> RunArgs {
        let what = what.iter().map(PathBuf::from).collect();
        RunArgs { what, goal: goal.map(str::to_owned), ..RunArgs::default() }
    }

    fn usage(args: &RunArgs) -> String {
        match args.aim() {
            Err(Failure::Usage(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_goal_is_told_from_a_plan_by_its_form() {
        let goal = |text: &str| Aim::Goal(text.to_owned());
        let plans = |paths: &[&str]| Aim::Plans(paths.iter().map(PathBuf::from).collect());
        assert_eq!(args(&["add a parser"], None).aim().unwrap(), goal("add a parser"));
        assert_eq!(args(&[], Some("parse")).aim().unwrap(), goal("parse"));
        assert_eq!(args(&["a.toml"], None).aim().unwrap(), plans(&["a.toml"]));
        assert_eq!(
            args(&["my a.jsonl", "src"], None).aim().unwrap(),
            plans(&["my a.jsonl", "src"])
        );
        assert!(usage(&args(&["parse"], None)).contains("neither a plan nor a goal"));
        assert!(usage(&args(&["add", "a", "parser"], None)).contains("in quotes"));
        assert!(usage(&args(&["a.toml", "add a parser"], None)).contains("add a parser"));
        assert!(usage(&args(&["a.toml"], Some("parse"))).contains("exclude each other"));
        assert!(usage(&args(&[], Some(" "))).contains("the goal is empty"));
    }

    #[test]
    fn a_team_is_called_after_its_goal() {
        for (goal, is) in [
            ("Add a GraphQL API beside REST, with tests", "add-a-graphql-api-beside-rest"),
            ("  fix   it!", "fix-it"),
            ("日本語", "goal"),
            ("all", "goal"),
            ("x".repeat(80).as_str(), "goal"),
        ] {
            assert_eq!(name(goal), is);
        }
    }
}
