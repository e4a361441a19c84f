//! What a plan needs that is not this run's to make: files that another run leaves behind.
//!
//! A plan whose files are not there yet is not begun, nor one that comes after it; the others are.
//! The files may land on the team's branch, which the engine sees by itself, or appear in the
//! workspace: there the kernel says when something changes, and nobody looks before it has.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shipmate_model::Name;
use shipmate_model::playbook::{Test, Which};
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_playbook::work::{self, Item, Work};
use shipmate_process::blocking;

use super::stage::Stage;
use crate::demands::condition;
use crate::file_watch::Watch;
use crate::phases::Phases;

/// What is watched for each team that waits.
#[derive(Debug, Default)]
pub(crate) struct Watches(RefCell<BTreeMap<Name, (BTreeSet<PathBuf>, Watch)>>);

impl Watches {
    pub(super) fn forget(&self, team: &Name) {
        self.0.borrow_mut().remove(team);
    }
}

/// Plans that cannot be begun yet.
#[derive(Debug, Default)]
pub(super) struct Held {
    plans: BTreeSet<String>,
    /// What they wait for, in words.
    pub(super) why: Vec<String>,
}

impl Held {
    /// Those that wait, and those that come after one that waits.
    fn of(work: &Work, waiting: BTreeSet<String>, why: Vec<String>) -> Held {
        let mut held = Held { plans: waiting, why };
        loop {
            let after = |item: &&Item| item.needs.iter().any(|need| held.holds(work, need));
            let more = work.items.iter().filter(after).filter_map(|item| item.group.clone());
            let more: Vec<String> = more.filter(|plan| !held.plans.contains(plan)).collect();
            if more.is_empty() {
                return held;
            }
            held.plans.extend(more);
        }
    }

    /// Whether what a piece needs, a piece or a whole plan, is held.
    fn holds(&self, work: &Work, need: &str) -> bool {
        let plan = match need.strip_prefix("group:") {
            Some(plan) => Some(plan),
            None => work.items.iter().find(|item| item.id == need).and_then(|i| i.group.as_deref()),
        };
        plan.is_some_and(|plan| self.plans.contains(plan))
    }

    /// The work without that of plans that are held.
    pub(super) fn leave_out(&self, work: &mut Work) {
        let held = |plan: &String| self.plans.contains(plan);
        work.items.retain(|item| !item.group.as_ref().is_some_and(held));
        work.groups.retain(|plan, _| !held(plan));
    }
}

/// The plans of a phase that still wait. The workspace is watched for what they need from now on.
pub(super) async fn held(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: &ProjectFiles,
) -> Result<Held, String> {
    let pieces = shipmate_playbook::work::are_pieces(&stage.phase);
    let Some(source) = stage.playbook.work.clone().filter(|_| pieces) else {
        return Ok(Held::default());
    };
    let (ground, values) = (ground.clone(), stage.values.clone());
    let workspace = phases.settings.place.workspace.clone();
    let open = blocking(move || {
        // What is wrong with the work itself is told when it is read to be done.
        let Ok(work) = work::read(&source, &ground, &values) else { return Ok(Default::default()) };
        let (mut paths, mut plans, mut whys) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for (plan, path, reason) in &work.needs {
            if let Some(why) = unmet(&ground, &workspace, path)? {
                let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                whys.push(format!("plan {plan}: {path} {why}{reason}"));
                paths.insert(workspace.join(path));
                plans.insert(plan.clone());
            }
        }
        Ok((paths, Held::of(&work, plans, whys)))
    });
    let (paths, held): (BTreeSet<PathBuf>, Held) = open.await?;
    if paths.is_empty() {
        phases.memory.watches.forget(&stage.team);
    } else {
        watch(phases, &phases.memory.watches, &stage.team, paths)?;
    }
    Ok(held)
}

/// What a phase waits for may be brought onto the team's branch by hand: from now on that is seen.
pub(super) fn follow_branch(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: &ProjectFiles,
) -> Result<(), String> {
    let ProjectFiles::Branch { repository, .. } = ground else { return Ok(()) };
    let file = repository.branch_file(stage.setup.branch(&stage.team).as_str());
    watch(phases, &phases.memory.branches, &stage.team, BTreeSet::from([file]))
}

/// Why a file that others make is not there: on the branch first, else in the workspace. A summary
/// has to say that its plan is complete.
fn unmet(ground: &ProjectFiles, workspace: &Path, path: &str) -> Result<Option<String>, String> {
    let test = match path.ends_with("summary.jsonl") {
        true => {
            let (which, key) = (Which::First, "s".to_owned());
            Test::Line { which, key, is: vec!["complete".to_owned()] }
        }
        false => Test::Exists,
    };
    let mut why = "is not there".to_owned();
    for ground in [ground, &ProjectFiles::Folder(workspace.to_owned())] {
        match ground.read(path)?.map(|text| condition::fails(&text, &test)) {
            Some(None) => return Ok(None),
            Some(Some(other)) => why = other,
            None => {}
        }
    }
    Ok(Some(why))
}

fn watch(
    phases: &Rc<Phases>,
    watches: &Watches,
    team: &Name,
    paths: BTreeSet<PathBuf>,
) -> Result<(), String> {
    let mut watches = watches.0.borrow_mut();
    if watches.get(team).is_some_and(|(watched, _)| *watched == paths) {
        return Ok(());
    }
    let this = Rc::downgrade(phases);
    let watch = Watch::begin(paths.clone(), move || {
        if let Some(phases) = this.upgrade() {
            phases.memory.nudge();
            phases.board.look();
        }
    });
    let watch = watch.map_err(|e| format!("nothing can be watched: {e}"))?;
    watches.insert(team.clone(), (paths, watch));
    Ok(())
}
