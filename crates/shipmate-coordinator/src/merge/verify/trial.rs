//! The set-up and the gate on what a team has, without anybody's work: before the first agent is started, and where
//! work is red that may not be to blame.

use std::path::Path;
use std::rc::Rc;

use shipmate_model::setup::{Preparation, Setup};
use shipmate_model::{Act, Name};
use shipmate_process::blocking;
use shipmate_programs::FenceSetting;
use shipmate_workspace::{Commit, Repository};

use super::{Bench, Verified};
use crate::crew::Crew;
use crate::merge::gate::GateResult;

/// How many ignored files and folders a reason names.
const IGNORED_MAX: usize = 8;

impl Bench {
    /// Sets up a tree and runs the gate where the team stands. A red one pauses the team, which has
    /// cost nothing yet.
    pub(crate) async fn try_gate(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
    ) -> Verified {
        let what = if setup.gate.is_empty() { "set-up" } else { "gate" };
        crew.queue_does(Some(&format!("trying the {what} before anybody is started")));
        self.forget_green(setup);
        let tried = async {
            let open = self.open(crew, team, setup).await?;
            let tip = self.tip(crew, &open, setup.branch(team)).await?;
            self.is_red_without(crew, team, setup, &open, &tip, None).await
        };
        match tried.await {
            Ok(false) => Verified::All,
            Ok(true) => Verified::Stuck,
            Err(reason) => {
                let reason = format!("the {what} cannot be tried: {reason}");
                crew.board.tell(Act::PauseTeam { team: team.clone(), reason });
                Verified::Stuck
            }
        }
    }
}

/// Why a team whose gate is red without anybody's work cannot go on, and what to do.
pub(super) async fn red_without(
    crew: &Rc<Crew>,
    team: &Name,
    tip: &Commit,
    result: &GateResult,
) -> String {
    let short = tip.short();
    let log = result.log.strip_prefix(&crew.settings.place.workspace).unwrap_or(&result.log);
    if result.unprepared {
        let (fact, printed) = result.evidence.split_once('\n').unwrap_or((&result.evidence, ""));
        let setup =
            crew.board.with_state(|state| state.teams.get(team).map(|team| team.setup.clone()));
        let from = setup.and_then(|setup| Some(setup.trees.as_ref()?.preparation.from.clone()));
        let file = match from.as_deref() {
            None | Some("") => "[trees] in .shipmate/config.toml",
            Some(from) => from,
        };
        return format!(
            "{fact} (at {short}, where the team stands, without anybody's work)\n{}\nall it printed is in \
             {}\nmend what it says, then `shipmate --team {team} resume`:\n  install the program that is \
             missing, or put the file into the checkout\n  or commit what is missing, and bring it to the \
             team: `shipmate --team {team} team update`\n  or mend {file}, then `shipmate team delete \
             {team}`, and run again: a team keeps what it began with",
            printed.trim_end(),
            log.display()
        );
    }
    let mut text = format!(
        "the gate fails at {short} already, where the team stands: {}",
        result.evidence.trim_end()
    );
    text.push_str(&format!("\nall it printed is in {}", log.display()));
    let preparation = crew.board.with_state(|state| {
        let trees = state.teams.get(team)?.setup.trees.as_ref()?;
        Some(trees.preparation.clone())
    });
    let preparation = preparation.unwrap_or_default();
    let sets_up = !preparation.setup.is_empty();
    let workspace = crew.settings.place.workspace.clone();
    let absent = match blocking(move || not_in_clones(&workspace, &preparation)).await {
        Ok(absent) => absent,
        Err(reason) => {
            text.push_str(&format!(
                "\nthe gate runs in a clone, which has what is committed; what else is here cannot be \
                 listed: {reason}"
            ));
            Vec::new()
        }
    };
    if !absent.is_empty() {
        text.push_str(&format!(
            "\nthe gate runs in a clone, which has what is committed; here are also: {} \
             (`shipmate init` proposes how clones get them)",
            absent.join(", ")
        ));
    }
    if crew.settings.agents.fence != FenceSetting::Off {
        text.push_str(
            "\nbehind its fence the gate writes below its tree and $TMPDIR only, and into the home folder what \
             has a new name there, which is thrown away",
        );
    }
    let trees = match sets_up {
        true => "mend [trees] in .shipmate/config.toml",
        false => "let trees be set up: `shipmate init`",
    };
    text.push_str(&format!(
        "\nmend the base or the gate, then `shipmate --team {team} resume`:\n  commit what is \
         missing, and bring it to the team: `shipmate --team {team} team update`\n  or {trees}, \
         then `shipmate team delete {team}`, and run again\n  or change the \
         gate: `shipmate --team {team} team set --gate '…'`\n  or, where the work is to make it \
         pass: `shipmate team delete {team}`, then run again with --red-base"
    ));
    text
}

/// What a person has in the checkout and no clone has.
fn not_in_clones(workspace: &Path, preparation: &Preparation) -> Result<Vec<String>, String> {
    let repository = Repository::open(workspace).map_err(|e| e.to_string())?;
    let mut found = repository.ignored(IGNORED_MAX + 1).map_err(|e| e.to_string())?;
    let added = repository.unversioned(&preparation.copy, &preparation.link).unwrap_or_default();
    let is_added = |path: &String| {
        let path = path.trim_end_matches('/');
        added.copies.iter().chain(&added.links).any(|one| Path::new(one).starts_with(path))
    };
    found.retain(|path| !is_added(path));
    if found.len() > IGNORED_MAX {
        found.truncate(IGNORED_MAX);
        found.push("… (ignored)".to_owned());
    }
    if repository.condition().map_err(|e| e.to_string())?.submodules {
        found.push("the files of submodules".to_owned());
    }
    Ok(found)
}
