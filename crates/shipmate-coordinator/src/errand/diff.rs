//! What a task has changed: landed, handed in, or still in its teammate's tree.
//!
//! Git runs beside the board and changes nothing. Where there is nothing to show, a note says why.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use shipmate_core::state::{Stage, State, Status, Task};
use shipmate_model::setup::TreeMode;
use shipmate_process::{blocking, hidden};
use shipmate_programs::tenancy::{tree_at, tree_of};
use shipmate_protocol::view::{DiffFile, TaskDiff};
use shipmate_protocol::{Code, Refused};
use shipmate_workspace::{Commit, Difference, Paths, Repository, Tree, WorkKey};

use super::failed;
use crate::attendance::Attendance;
use crate::board::Job;
use crate::scene;

/// What has to be known of a task to find its work.
struct Sought {
    key: WorkKey,
    /// The team whose branch its work lands on, and where that began.
    branch: String,
    base: Commit,
    standing: Standing,
    workspace: PathBuf,
    trees: PathBuf,
    /// All of its team in one tree: its part of that are the files it names.
    shared: Option<Vec<String>>,
}

enum Standing {
    /// Refs of work that was set aside, last one last.
    Nobody {
        set_aside: Vec<String>,
    },
    Works {
        who: String,
    },
    HandedIn {
        commit: Option<Commit>,
        tree: Option<PathBuf>,
        name: String,
    },
    Completed {
        commit: Option<Commit>,
    },
}

pub(super) async fn find(
    crew: &Rc<Attendance>,
    job: &Job,
    task: &str,
) -> Result<TaskDiff, Refused> {
    let team = job.about(&crew.board.root);
    let sought = crew.board.with_state(|state| {
        let id = scene::task_id(state, &job.actor, &team, task)?;
        Ok(seek(crew, state, state.task(id).expect("a resolved task exists")))
    })?;
    match sought {
        Ok(sought) => {
            let found = blocking(move || look(&sought)).await;
            let diff = found.map_err(|text| failed(Code::NoDiff, text))?;
            // From here it goes to screens and other machines; the tree itself keeps what it has.
            Ok(TaskDiff { text: hidden::shown(&diff.text).into_owned(), ..diff })
        }
        Err(note) => Ok(TaskDiff { note, ..TaskDiff::default() }),
    }
}

/// Where the work of a task is, or why there is none.
fn seek(crew: &Attendance, state: &State, task: &Task) -> Result<Sought, String> {
    let setup = &state.teams[&task.team].setup;
    let Some(trees) = &setup.trees else {
        return Err(format!("team {} works without a repository", task.team));
    };
    let works_here = task.claim().is_some_and(|claim| crew.lives_here(&claim.by));
    if !works_here && !crew.is_home(&task.team) {
        return Err(format!("team {} works on another machine: look there", task.team));
    }
    let base = Commit::parse(&trees.base).ok_or("the team's base is no commit")?;
    let token = task.claim().map_or(0, |claim| claim.token);
    let standing = match &task.status {
        Status::Deleted => return Err("it was deleted".to_owned()),
        Status::Completed { commit, .. } => {
            Standing::Completed { commit: commit.as_deref().and_then(Commit::parse) }
        }
        Status::InProgress(claim) => match &claim.stage {
            Stage::Submitted { commit, .. } => {
                let order = crew.order_of(&claim.by);
                Standing::HandedIn {
                    commit: commit.as_deref().and_then(Commit::parse),
                    tree: order.and_then(|order| order.tree).map(|tree| tree.path),
                    name: claim.by.address.name.to_string(),
                }
            }
            Stage::Claimed | Stage::Returned { .. } => {
                Standing::Works { who: claim.by.to_string() }
            }
        },
        Status::Pending | Status::Failed { .. } => {
            let set_aside = task.set_aside.iter().map(|kept| kept.work.clone());
            Standing::Nobody { set_aside: set_aside.collect() }
        }
    };
    let files = || task.spec.files.iter().map(ToString::to_string).collect();
    Ok(Sought {
        key: WorkKey { team: task.team.to_string(), task: task.id, token },
        branch: setup.branch(&task.team).to_string(),
        base,
        standing,
        workspace: crew.settings.place.workspace.clone(),
        trees: crew.settings.place.team(crew.board.root.as_str()).join("trees"),
        shared: (trees.mode == TreeMode::Shared).then(files),
    })
}

fn look(sought: &Sought) -> Result<TaskDiff, String> {
    let repository = Repository::open(&sought.workspace).map_err(text)?;
    let tip = repository.tip(&sought.branch).map_err(text)?.unwrap_or(sought.base.clone());
    let look = Look { sought, repository: &repository, tip: &tip };
    match &sought.standing {
        Standing::Completed { commit } => look.landed(commit.as_ref()),
        Standing::HandedIn { commit: None, .. } => Ok(note("it was handed in without a commit")),
        Standing::HandedIn { commit: Some(commit), tree, name } => {
            look.handed_in(commit, tree.as_deref(), name)
        }
        Standing::Works { who } => match &sought.shared {
            Some(files) => look.in_shared_tree(files),
            None => look.in_tree(who),
        },
        Standing::Nobody { set_aside } => look.left(set_aside),
    }
}

struct Look<'a> {
    sought: &'a Sought,
    repository: &'a Repository,
    tip: &'a Commit,
}

impl Look<'_> {
    /// What its merges brought to the team branch.
    fn landed(&self, commit: Option<&Commit>) -> Result<TaskDiff, String> {
        let (branch, base) = (&self.sought.branch, &self.sought.base);
        let merges = self.repository.brought(branch, base, self.sought.key.task).map_err(text)?;
        let mut merges: Vec<Commit> = merges.into_iter().map(|(_, merge)| merge).collect();
        // The branch may be gone, or a person has named the commit.
        if merges.is_empty()
            && let Some(commit) = commit
        {
            match self.repository.find(commit).map_err(text)? {
                Some(commit) => merges.push(commit),
                None => {
                    let gone = format!("its commit {} is not in the repository", commit.short());
                    return Ok(note(&gone));
                }
            }
        }
        self.joined(&merges, "it was completed without a change to the repository")
    }

    fn joined(&self, commits: &[Commit], nothing: &str) -> Result<TaskDiff, String> {
        let (Some(first), Some(last)) = (commits.first(), commits.last()) else {
            return Ok(note(nothing));
        };
        let mut all = Difference::default();
        for commit in commits {
            let before = self.repository.before(commit).map_err(text)?;
            all.append(self.repository.difference(before.as_ref(), commit).map_err(text)?);
        }
        let from = self.repository.before(first).map_err(text)?;
        Ok(view(from.as_ref(), last.as_str(), all))
    }

    /// Its commit against the base it was built on.
    fn handed_in(
        &self,
        commit: &Commit,
        tree: Option<&Path>,
        name: &str,
    ) -> Result<TaskDiff, String> {
        let nothing = "it was handed in without a change";
        let taken_in = self.repository.work(&self.sought.key).map_err(text)?;
        if let Some(work) = taken_in.filter(|work| work == commit) {
            let from = self.repository.fork(self.tip, &work).map_err(text)?;
            if from.as_ref() == Some(&work) {
                // It landed a moment ago.
                let (branch, base) = (&self.sought.branch, &self.sought.base);
                let key = &self.sought.key;
                let merges = self.repository.brought(branch, base, key.task).map_err(text)?;
                let own = merges.into_iter().filter(|(token, _)| *token == key.token);
                let own: Vec<Commit> = own.map(|(_, merge)| merge).collect();
                return self.joined(&own, nothing);
            }
            return self.since_fork(&work, "");
        }
        // Named by the agent itself, and the queue has not come to it yet.
        let tree = tree.and_then(|path| tree_at(path, name));
        let seen = tree.map(|tree| tree.difference_of(self.tip, commit)).transpose();
        match seen.map_err(text)?.flatten() {
            Some((from, _)) if from == *commit => Ok(note(nothing)),
            Some((from, difference)) => Ok(view(Some(&from), commit.as_str(), difference)),
            None => Ok(note(&format!("its commit {} is not to be found", commit.short()))),
        }
    }

    /// What its tree has now against the tip it began from.
    fn in_tree(&self, who: &str) -> Result<TaskDiff, String> {
        let key = &self.sought.key;
        if let Some(tree) = tree_of(&self.sought.trees, key.task, Some(key.token)) {
            return self.as_it_is(&tree, Paths::All);
        }
        // It came back, and its tree is used for something else meanwhile.
        if let Some(work) = self.repository.work(key).map_err(text)? {
            return self.since_fork(&work, "shown is what was handed in and came back");
        }
        Ok(note(&format!("{who} has it and no tree for it here: it is seen when it is handed in")))
    }

    fn in_shared_tree(&self, files: &[String]) -> Result<TaskDiff, String> {
        let path = self.sought.trees.join(format!("{}.shared", self.sought.key.team));
        let Some(tree) = tree_at(&path, "team") else {
            return Ok(note("its team's tree is not there yet"));
        };
        let about = "all of the team work in one tree: shown are the files that the task names";
        let mut diff = match files {
            [] => note("and it names none"),
            files => self.as_it_is(&tree, Paths::Named(files))?,
        };
        diff.note = match diff.note.as_str() {
            "" => about.to_owned(),
            more => format!("{about}; {more}"),
        };
        Ok(diff)
    }

    fn as_it_is(&self, tree: &Tree, paths: Paths<'_>) -> Result<TaskDiff, String> {
        let from = match paths {
            Paths::All => tree.began_at(self.tip).map_err(text)?,
            Paths::Named(_) => Some(self.tip.clone()),
        };
        let Some(from) = from else { return Ok(note("its tree has no files yet")) };
        let (difference, left_out) = tree.difference(&from, paths).map_err(text)?;
        let mut diff = view(Some(&from), "working tree", difference);
        let nothing = diff.files.is_empty().then(|| "nothing is changed yet".to_owned());
        let left_out = (!left_out.is_empty()).then(|| {
            format!("not shown, for it is a repository of its own: {}", left_out.join(", "))
        });
        diff.note = nothing.into_iter().chain(left_out).collect::<Vec<_>>().join("; ");
        Ok(diff)
    }

    /// What the last attempt left, where nobody works on it.
    fn left(&self, set_aside: &[String]) -> Result<TaskDiff, String> {
        let key = &self.sought.key;
        let about = "nobody works on it now: shown is what the last attempt has left";
        if let Some(tree) = tree_of(&self.sought.trees, key.task, None) {
            let mut diff = self.as_it_is(&tree, Paths::All)?;
            if !diff.files.is_empty() {
                about.clone_into(&mut diff.note);
                return Ok(diff);
            }
        }
        let aside = set_aside.iter().rev().find_map(|name| self.repository.kept(name).ok()?);
        let handed_in = || self.repository.last_work(&key.team, key.task);
        let work = match aside {
            Some(work) => Some(work),
            None => handed_in().map_err(text)?,
        };
        let Some(work) = work else { return Ok(note("nobody has begun it")) };
        self.since_fork(&work, about)
    }

    /// A commit against where it left the team branch.
    fn since_fork(&self, work: &Commit, note: &str) -> Result<TaskDiff, String> {
        let from = self.repository.fork(self.tip, work).map_err(text)?;
        let difference = self.repository.difference(from.as_ref(), work).map_err(text)?;
        Ok(TaskDiff { note: note.to_owned(), ..view(from.as_ref(), work.as_str(), difference) })
    }
}

fn note(text: &str) -> TaskDiff {
    TaskDiff { note: text.to_owned(), ..TaskDiff::default() }
}

fn view(from: Option<&Commit>, to: &str, difference: Difference) -> TaskDiff {
    let files = difference.files.into_iter().map(|file| DiffFile {
        path: file.path,
        added: file.added,
        removed: file.removed,
        binary: file.is_binary,
    });
    TaskDiff {
        from: from.map(ToString::to_string).unwrap_or_default(),
        to: to.to_owned(),
        text: difference.text,
        cut: difference.is_cut,
        files: files.collect(),
        note: String::new(),
    }
}

fn text(failure: impl std::fmt::Display) -> String {
    failure.to_string()
}
