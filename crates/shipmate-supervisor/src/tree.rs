//! The tree a teammate works in, from claim to hand-in.
//!
//! A claim brings the tree up to the team branch. Work that an earlier attempt left is
//! kept where the same task is taken up again, and set aside where another one is. What
//! is handed in is already in the repository, under the ref of its task and token, so the
//! tree may move on to the next task while it is verified.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use shipmate_process::blocking;
use shipmate_programs::order::{Order, TreeOrder};
use shipmate_programs::tenancy::{
    Tenant, forget_tenant, laid_by, open, set_tenant, tenant, tenant_file,
};
use shipmate_protocol::verbs::TaskSetAside;
use shipmate_protocol::view::TaskView;
use shipmate_workspace::{
    BroughtUp, Commit, Keep, Kept, Parent, Paths, Repository, SetAside, Tree, WorkKey,
};

pub(crate) struct WorkTree {
    workspace: PathBuf,
    team: String,
    name: String,
    epoch: u32,
    order: Option<TreeOrder>,
    open: Option<Arc<(Repository, Tree)>>,
    /// Trees that were put aside whole and that nobody was told of yet.
    put_aside: Vec<PutAside>,
    is_anew: bool,
}

/// A tree that could not be used any more, and the work that it was used for.
#[derive(Debug, Clone)]
struct PutAside {
    tree: SetAside,
    left: Option<Tenant>,
    reason: String,
}

/// A tree is made anew, for this reason.
struct Anew {
    aside: Option<PutAside>,
    reason: String,
}

/// A tree that is ready for a task.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    pub(crate) path: PathBuf,
    pub(crate) conflicts: Vec<String>,
    /// It holds what the team has, and nothing of an earlier attempt.
    pub(crate) is_fresh: bool,
    /// What an attempt at another task had left, to be told.
    pub(crate) set_aside: Vec<TaskSetAside>,
}

/// What is handed in from a tree.
#[derive(Debug, Clone)]
pub(crate) enum HandIn {
    Work(String),
    /// Nothing was changed; the tip that says so.
    Nothing(String),
}

/// What is kept under that was found in a tree that all share.
const SHARED: &str = "shared";

/// One at a time looks whether a shared tree has its files yet: bringing it up once more would
/// take away what another one's agent has written there since.
pub(super) fn first(tree: &Path) -> Result<File, String> {
    let path = tree.with_added_extension("first");
    let named = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(named)?;
    flock(&file, FlockOperation::LockExclusive).map_err(|e| named(e.into()))?;
    Ok(file)
}

impl WorkTree {
    pub(crate) fn new(order: &Order) -> WorkTree {
        WorkTree {
            workspace: order.workspace.clone(),
            team: order.team.clone(),
            name: order.name.clone(),
            epoch: order.epoch,
            order: order.tree.clone(),
            open: None,
            put_aside: Vec::new(),
            is_anew: false,
        }
    }

    /// The tree was made anew since this was asked last: a program that has stood in the old one,
    /// or was fenced in with it, must be started again.
    pub(crate) fn was_made_anew(&mut self) -> bool {
        std::mem::take(&mut self.is_anew)
    }

    /// Brings the tree to where this task begins. One in which that is not possible, for what an
    /// earlier agent left in it, is put aside whole and made anew.
    pub(crate) async fn ready_for(&mut self, task: &TaskView, token: u64) -> Result<Ready, String> {
        let mut ready = match self.try_ready(task, token).await {
            Ok(ready) => ready,
            Err(reason) => {
                let aside = self.put_aside(reason).await?;
                let again = self.try_ready(task, token).await;
                self.settle(aside, again).await?
            }
        };
        for PutAside { tree, left, reason } in std::mem::take(&mut self.put_aside) {
            let place = tree.place.strip_prefix(&self.workspace).unwrap_or(&tree.place);
            let why: String = reason.lines().next().unwrap_or_default().chars().take(200).collect();
            let place = format!("the folder {}, because {why}", place.display());
            ready.set_aside.extend(left.map(|left| aside(&left, place, None)));
        }
        Ok(ready)
    }

    async fn try_ready(&mut self, task: &TaskView, token: u64) -> Result<Ready, String> {
        let Some(order) = self.order.clone() else {
            return Ok(Ready { path: self.workspace.clone(), is_fresh: true, ..Ready::default() });
        };
        let (id, team, name) = (task.row.id, self.team.clone(), self.name.clone());
        let epoch = self.epoch;
        let open = self.open(&order).await?;
        blocking(move || {
            let (repository, tree) = &*open;
            tree.clear_the_way();
            let tip = tip(repository, &order)?;
            let path = tree.path().to_owned();
            if order.shared {
                let _first = first(&path)?;
                if tree.head().map_err(text)?.is_none() {
                    keep_nobodys(repository, tree, &team, SHARED)?;
                    tree.bring_up(&tip, Keep::Nothing).map_err(text)?;
                }
                return Ok(Ready { path, ..Ready::default() });
            }
            let before = tenant(&path);
            let owed = owed(&path);
            let now = Tenant { task: id, token, handed_in: false, epoch };
            let mut set_aside = owed;
            if let Some(before) = before.as_ref().filter(|before| before.task == id) {
                // Files on no commit are nothing to go on with: the tree begins anew.
                if tree.head().map_err(text)?.is_none() {
                    let kept = keep_nobodys(repository, tree, &team, &before.label())?;
                    set_aside.extend(kept.map(|kept| aside_as(before, kept)));
                }
                owe(&path, &set_aside)?;
                set_tenant(&path, &now)?;
                let conflicts = take_up(tree, &tip)?;
                // An attempt that was never begun has left nothing.
                let head = tree.head().map_err(text)?;
                let is_fresh = head == Some(tip) && tree.is_clean().map_err(text)?;
                return Ok(Ready { path, conflicts, set_aside, is_fresh });
            }
            match before {
                // Also one that was handed in: its agent may have gone on when it was talked to.
                Some(before) => {
                    let kept = keep_all(repository, tree, &team, &before.label())?;
                    let kept = kept.map(|kept| aside_as(&before, kept));
                    let never_told = || never_handed_in(repository, tree, &team, &before, &tip);
                    set_aside.extend(match kept {
                        Some(kept) => Some(kept),
                        None => never_told()?,
                    });
                    owe(&path, &set_aside)?;
                    if !before.handed_in {
                        set_tenant(&path, &Tenant { handed_in: true, ..before })?;
                    }
                }
                None => drop(keep_nobodys(repository, tree, &team, &name)?),
            }
            // What came back is gone on with, though the tree was used for something else meanwhile:
            // the evidence is about that work.
            let came_back = repository.last_work(&team, id).map_err(text)?;
            let came_back = match came_back {
                Some(work) if !tree.has_landed(&work, &tip).map_err(text)? => Some(work),
                _ => None,
            };
            // The new tenant comes last: what a crash leaves half removed is not its work.
            tree.bring_up(came_back.as_ref().unwrap_or(&tip), Keep::Nothing).map_err(text)?;
            set_tenant(&path, &now)?;
            let is_fresh = came_back.is_none();
            let conflicts = came_back.map(|_| take_up(tree, &tip)).transpose()?;
            let conflicts = conflicts.unwrap_or_default();
            Ok(Ready { path, conflicts, set_aside, is_fresh })
        })
        .await
    }

    /// Commits what there is and brings it into the repository. Nothing changed, nothing
    /// to hand in.
    pub(crate) async fn hand_in(
        &mut self,
        title: &str,
        files: &[String],
        task: u32,
        token: u64,
    ) -> Result<Option<HandIn>, String> {
        let Some(order) = self.order.clone() else { return Ok(None) };
        let open = self.open(&order).await?;
        if order.shared && files.is_empty() {
            let fact =
                "in a shared tree only the files that a task names are its own, and it names";
            return Err(format!("{fact} none: give it files, or work in own trees"));
        }
        let (title, files, team) = (title.to_owned(), files.to_vec(), self.team.clone());
        blocking(move || {
            let (repository, tree) = &*open;
            let tip = tip(repository, &order)?;
            let (paths, parent) = match order.shared {
                true => (Paths::Named(&files), Parent::Commit(&tip)),
                false => (Paths::All, Parent::Head),
            };
            let taken = tree.snapshot(paths, &title, parent).map_err(text)?;
            if !taken.left_out.is_empty() {
                return Err(format!(
                    "{} has a repository of its own inside, which cannot be handed in: remove its \
                     .git folder, or the folder",
                    taken.left_out.join(", ")
                ));
            }
            let commit = match order.shared {
                true => taken.commit,
                false => tree.head().map_err(text)?,
            };
            let commit = match commit {
                Some(commit) if !tree.has_landed(&commit, &tip).map_err(text)? => Some(commit),
                _ => None,
            };
            if let Some(commit) = &commit {
                let key = WorkKey { team, task, token };
                repository.take_in(tree, commit, &key).map_err(text)?;
            }
            Ok(Some(match commit {
                Some(commit) => HandIn::Work(commit.to_string()),
                None => HandIn::Nothing(tip.to_string()),
            }))
        })
        .await
    }

    /// The team has what was handed in: the tree may be used for something else.
    pub(crate) fn settled(&self, task: u32, token: u64) {
        if let Some(order) = self.order.as_ref().filter(|order| !order.shared) {
            // Not written, the next claim looks at the repository instead.
            let tenant = Tenant { task, token, handed_in: true, epoch: self.epoch };
            drop(set_tenant(&order.path, &tenant));
        }
    }

    /// The ref that has what was handed in under a claim.
    pub(crate) fn brought_in_as(&self, task: u32, token: u64) -> String {
        WorkKey { team: self.team.clone(), task, token }.refname()
    }

    /// The team knows what an earlier attempt had left.
    pub(crate) fn told_aside(&self) {
        if let Some(order) = &self.order {
            drop(fs::remove_file(owed_file(&order.path)));
        }
    }

    /// Where an agent stands that has no task now. Who never had one, a lead say, finds what the
    /// team has; a tree that holds a task's work is left as it is.
    pub(crate) async fn home(&mut self) -> Result<PathBuf, String> {
        match self.try_home().await {
            Ok(home) => Ok(home),
            Err(reason) => {
                let aside = self.put_aside(reason).await?;
                let again = self.try_home().await;
                self.settle(aside, again).await
            }
        }
    }

    async fn try_home(&mut self) -> Result<PathBuf, String> {
        let Some(order) = self.order.clone() else { return Ok(self.workspace.clone()) };
        let (team, name) = (self.team.clone(), self.name.clone());
        let open = self.open(&order).await?;
        blocking(move || {
            let (repository, tree) = &*open;
            let _first = order.shared.then(|| first(tree.path())).transpose()?;
            let is_nobodys = match order.shared {
                true => tree.head().map_err(text)?.is_none(),
                false => tenant(tree.path()).is_none(),
            };
            if is_nobodys {
                let tip = tip(repository, &order)?;
                let label = if order.shared { SHARED } else { &name };
                keep_nobodys(repository, tree, &team, label)?;
                tree.bring_up(&tip, Keep::Nothing).map_err(text)?;
            }
            Ok(tree.path().to_owned())
        })
        .await
    }

    async fn open(&mut self, order: &TreeOrder) -> Result<Arc<(Repository, Tree)>, String> {
        if let Some(open) = &self.open {
            return Ok(Arc::clone(open));
        }
        let (workspace, order, name) = (self.workspace.clone(), order.clone(), self.name.clone());
        let (opened, broken) = blocking(move || {
            let repository = Repository::open(&workspace).map_err(text)?;
            let left = tenant(&order.path);
            let broken = Tree::set_aside_if_broken(&repository, &order.path).map_err(text)?;
            if fs::symlink_metadata(&order.path).is_err() {
                forget_tenant(&order.path)?;
            }
            let opened = open(&workspace, &order, &name)?;
            let reason = "it was no usable clone any more".to_owned();
            Ok((opened, broken.map(|tree| PutAside { tree, left, reason })))
        })
        .await?;
        self.put_aside.extend(broken);
        let opened = Arc::new(opened);
        self.open = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Puts the tree aside with all that is in it, for this reason; which stands where that cannot
    /// help, because others work in it.
    async fn put_aside(&mut self, reason: String) -> Result<Anew, String> {
        let Some(order) = self.order.clone().filter(|order| !order.shared) else {
            return Err(reason);
        };
        self.open = None;
        let workspace = self.workspace.clone();
        let why = reason.clone();
        let aside = blocking(move || {
            let repository = Repository::open(&workspace).map_err(text)?;
            let left = tenant(&order.path);
            let tree = Tree::set_aside(&repository, &order.path).map_err(text)?;
            // Renamed, and not written again when the tree comes back: the disk may be full.
            if fs::rename(tenant_file(&order.path), laid_by(&order.path)).is_err() {
                drop(fs::remove_file(laid_by(&order.path)));
            }
            Ok(tree.map(|tree| PutAside { tree, left, reason: why }))
        });
        Ok(Anew { aside: aside.await?, reason })
    }

    /// Keeps the new tree, or takes the old one back where a new one was no better: then the
    /// trouble is not in the tree.
    async fn settle<T>(&mut self, anew: Anew, again: Result<T, String>) -> Result<T, String> {
        let (Err(_), Some(order)) = (&again, self.order.clone()) else {
            if let Some(order) = &self.order {
                drop(fs::remove_file(laid_by(&order.path)));
            }
            self.put_aside.extend(anew.aside);
            self.is_anew = true;
            return again;
        };
        self.open = None;
        if let Some(PutAside { tree, .. }) = anew.aside {
            let workspace = self.workspace.clone();
            let back = blocking(move || {
                let repository = Repository::open(&workspace).map_err(text)?;
                tree.put_back(&repository, &order.path).map_err(text)?;
                fs::rename(laid_by(&order.path), tenant_file(&order.path)).map_err(text)
            });
            // Not there, it is found where it was put aside.
            drop(back.await);
        }
        Err(anew.reason)
    }
}

/// Goes on with the work in a tree; the files that clash with the team's. Work that stands on
/// the tip already is not touched, to the last byte, unless whoever did it was killed while
/// git was at it: then a lock is left that only bringing it up takes away.
fn take_up(tree: &Tree, tip: &Commit) -> Result<Vec<String>, String> {
    let cut_short = fs::symlink_metadata(tree.path().join(".git/index.lock")).is_ok();
    if let Some(head) = tree.head().map_err(text)?
        && !cut_short
        && tree.has_landed(tip, &head).map_err(text)?
    {
        return tree.unfinished_conflicts().map_err(text);
    }
    match tree.bring_up(tip, Keep::Work).map_err(text)? {
        BroughtUp::Conflicts(files) => Ok(files),
        BroughtUp::AlreadyThere | BroughtUp::At(_) => Ok(Vec::new()),
    }
}

fn tip(repository: &Repository, order: &TreeOrder) -> Result<Commit, String> {
    match repository.tip(&order.branch).map_err(text)? {
        Some(tip) => Ok(tip),
        None => Commit::parse(&order.base)
            .ok_or_else(|| format!("the team's base {} is no commit", order.base)),
    }
}

/// Keeps all that is in a tree before it is brought up; under which name, if there was anything.
/// What cannot be kept is the reason to put the tree aside whole.
fn keep_all(
    repository: &Repository,
    tree: &Tree,
    team: &str,
    label: &str,
) -> Result<Option<Kept>, String> {
    let rescued = repository.keep_aside(tree, team, label).map_err(text)?;
    match rescued.left_out.as_slice() {
        [] => Ok(rescued.kept),
        nested => Err(format!("{} has a repository of its own inside", nested.join(", "))),
    }
}

/// The same for what is no task's, such as what an agent wrote that was only talked to. A tree that
/// was just made has nothing.
fn keep_nobodys(
    repository: &Repository,
    tree: &Tree,
    team: &str,
    label: &str,
) -> Result<Option<Kept>, String> {
    let entries = fs::read_dir(tree.path()).map_err(text)?.filter_map(Result::ok);
    let is_empty = { entries }.all(|entry| entry.file_name() == ".git");
    match is_empty && tree.head().map_err(text)?.is_none() {
        true => Ok(None),
        false => keep_all(repository, tree, team, label),
    }
}

/// What an attempt had brought in and was not handed in before it ended, as far as is known here: what the
/// team was handed all the same is not told.
fn never_handed_in(
    repository: &Repository,
    tree: &Tree,
    team: &str,
    before: &Tenant,
    tip: &Commit,
) -> Result<Option<TaskSetAside>, String> {
    let key = WorkKey { team: team.to_owned(), task: before.task, token: before.token };
    let work = repository.work(&key).map_err(text)?.filter(|_| !before.handed_in);
    let Some(commit) = work else { return Ok(None) };
    match tree.has_landed(&commit, tip).map_err(text)? {
        true => Ok(None),
        false => Ok(Some(aside(before, key.refname(), Some(commit)))),
    }
}

fn aside_as(before: &Tenant, kept: Kept) -> TaskSetAside {
    aside(before, kept.refname, Some(kept.commit))
}

fn aside(before: &Tenant, work: String, commit: Option<Commit>) -> TaskSetAside {
    let (task, commit) = (before.task.to_string(), commit.map(|commit| commit.to_string()));
    TaskSetAside { task, token: before.token, work, commit }
}

/// What the team has to be told of work that lay in this tree. The tree forgets it when the next task
/// begins: it lies in a file until it is told.
fn owed_file(tree: &Path) -> PathBuf {
    tree.with_added_extension("aside")
}

fn owed(tree: &Path) -> Vec<TaskSetAside> {
    let read = fs::read(owed_file(tree)).ok();
    read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn owe(tree: &Path, all: &[TaskSetAside]) -> Result<(), String> {
    if all.is_empty() {
        return Ok(());
    }
    let (file, text) = (owed_file(tree), serde_json::to_vec(all).expect("a request is JSON"));
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
}

fn text(failure: impl std::fmt::Display) -> String {
    failure.to_string()
}
