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
use serde::{Deserialize, Serialize};
use shipmate_protocol::view::TaskView;

use super::order::{Order, TreeOrder};
use shipmate_workspace::{
    Author, BroughtUp, Commit, Keep, Parent, Paths, Repository, SetAside, Tree, WorkKey,
};

pub(crate) struct WorkTree {
    workspace: PathBuf,
    team: String,
    name: String,
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
    /// What an attempt at another task had left: that task, its token and where it is now.
    pub(crate) set_aside: Vec<(u32, u64, String)>,
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

/// Which task a tree's files belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tenant {
    task: u32,
    token: u64,
    handed_in: bool,
}

impl Tenant {
    /// What its work is kept under.
    fn label(&self) -> String {
        format!("{}-{}", self.task, self.token)
    }
}

fn tenant_file(tree: &Path) -> PathBuf {
    tree.with_added_extension("task")
}

fn tenant(tree: &Path) -> Option<Tenant> {
    serde_json::from_slice(&fs::read(tenant_file(tree)).ok()?).ok()
}

/// What the work in a tree is kept under when it is set aside: its task and token.
pub(crate) fn tree_label(tree: &Path) -> Option<String> {
    tenant(tree).map(|tenant| tenant.label())
}

fn set_tenant(tree: &Path, tenant: &Tenant) -> Result<(), String> {
    let file = tenant_file(tree);
    let fresh = file.with_added_extension("new");
    let text = serde_json::to_vec(tenant).expect("a tenant is JSON");
    let written = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &file));
    written.map_err(|e| format!("{}: {e}", file.display()))
}

/// Where it lies while another tree is tried in the place of its own.
fn laid_by(tree: &Path) -> PathBuf {
    tenant_file(tree).with_added_extension("old")
}

/// A tree that is made anew holds nobody's files.
fn forget_tenant(tree: &Path) -> Result<(), String> {
    let file = tenant_file(tree);
    match fs::remove_file(&file) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {e}", file.display()))
        }
        _ => Ok(()),
    }
}

/// One at a time looks whether a shared tree has its files yet: bringing it up once more would
/// take away what another one's agent has written there since.
fn first(tree: &Path) -> Result<File, String> {
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
            ready.set_aside.extend(left.map(|left| (left.task, left.token, place)));
        }
        Ok(ready)
    }

    async fn try_ready(&mut self, task: &TaskView, token: u64) -> Result<Ready, String> {
        let Some(order) = self.order.clone() else {
            return Ok(Ready { path: self.workspace.clone(), is_fresh: true, ..Ready::default() });
        };
        let (id, team, name) = (task.row.id, self.team.clone(), self.name.clone());
        let open = self.open(&order).await?;
        off_the_thread(move || {
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
            let now = Tenant { task: id, token, handed_in: false };
            let mut set_aside = Vec::new();
            if let Some(before) = before.as_ref().filter(|before| before.task == id) {
                // Files on no commit are nothing to go on with: the tree begins anew.
                if tree.head().map_err(text)?.is_none() {
                    let kept = keep_nobodys(repository, tree, &team, &before.label())?;
                    set_aside.extend(kept.map(|kept| (before.task, before.token, kept)));
                }
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
                    set_aside.extend(kept.map(|kept| (before.task, before.token, kept)));
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
        off_the_thread(move || {
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
            drop(set_tenant(&order.path, &Tenant { task, token, handed_in: true }));
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
        off_the_thread(move || {
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
        let (opened, broken) = off_the_thread(move || {
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
        let aside = off_the_thread(move || {
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
            let back = off_the_thread(move || {
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

fn open(workspace: &Path, order: &TreeOrder, name: &str) -> Result<(Repository, Tree), String> {
    let repository = Repository::open(workspace).map_err(text)?;
    let branch = if order.shared { "team" } else { name };
    let tree = Tree::prepare(&repository, &order.path, branch, &author(name)).map_err(text)?;
    Ok((repository, tree))
}

/// Work is signed with the teammate's name; the address can reach nobody.
pub(crate) fn author(name: &str) -> Author {
    Author { name: name.to_owned(), email: format!("{name}@shipmate.invalid") }
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
) -> Result<Option<String>, String> {
    let rescued = repository.keep_aside(tree, team, label).map_err(text)?;
    match rescued.left_out.as_slice() {
        [] => Ok(rescued.kept.map(|kept| kept.refname)),
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
) -> Result<Option<String>, String> {
    let entries = fs::read_dir(tree.path()).map_err(text)?.filter_map(Result::ok);
    let is_empty = { entries }.all(|entry| entry.file_name() == ".git");
    match is_empty && tree.head().map_err(text)?.is_none() {
        true => Ok(None),
        false => keep_all(repository, tree, team, label),
    }
}

/// Brings in a commit that an agent names by itself, from the tree of its life.
pub(crate) fn take_in(
    repository: &Repository,
    life: Option<&Order>,
    commit: &Commit,
    key: &WorkKey,
) -> Result<(), String> {
    let tree = life.and_then(|life| Some((life.tree.as_ref()?, &life.name)));
    let Some((order, name)) = tree else {
        return Err(format!("the commit {} is in no tree of this team", commit.short()));
    };
    let branch = if order.shared { "team" } else { name };
    let tree = Tree::prepare(repository, &order.path, branch, &author(name)).map_err(text)?;
    repository.take_in(&tree, commit, key).map(|_| ()).map_err(text)
}

/// The tree that a task's work lies in, to look at; under this claim, or the last one there was.
pub(crate) fn tree_of(trees: &Path, task: u32, token: Option<u64>) -> Option<Tree> {
    let entries = fs::read_dir(trees).into_iter().flatten().filter_map(Result::ok);
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "task"));
    let own = files.filter_map(|path| {
        let path = path.with_extension("");
        let tenant = tenant(&path).filter(|tenant| !tenant.handed_in && tenant.task == task)?;
        token.is_none_or(|token| tenant.token == token).then_some((tenant.token, path))
    });
    let (_, path) = own.max()?;
    let name = path.file_name()?.to_str()?.split('.').nth(1)?.to_owned();
    tree_at(&path, &name)
}

/// A tree that is there, to look at.
pub(crate) fn tree_at(path: &Path, branch: &str) -> Option<Tree> {
    Tree::at(path, branch, &author(branch))
}

/// A tree with work of a task that was not handed in.
pub(crate) struct Unfinished {
    pub(crate) tree: PathBuf,
    pub(crate) task: u32,
    pub(crate) token: u64,
    /// Why it cannot be told whether there is any.
    pub(crate) trouble: Option<String>,
}

/// The trees that hold work which was not handed in.
pub(crate) fn unfinished(workspace: &Path, trees: &Path) -> Result<Vec<Unfinished>, String> {
    let entries = match fs::read_dir(trees) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| format!("{}: {e}", trees.display()))?,
    };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let left = files.filter(|path| path.extension().is_some_and(|end| end == "task"));
    let left: Vec<(PathBuf, Tenant)> = left
        .filter_map(|path| {
            let tree = path.with_extension("");
            let tenant = tenant(&tree).filter(|tenant| !tenant.handed_in)?;
            Some((tree, tenant))
        })
        .collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let repository = Repository::open(workspace).map_err(text)?;
    let found = left.into_iter().filter_map(|(tree, Tenant { task, token, .. })| {
        let trouble = match is_unfinished(&repository, &tree) {
            Ok(true) => None,
            Ok(false) => return None,
            Err(reason) => Some(reason),
        };
        Some(Unfinished { tree, task, token, trouble })
    });
    Ok(found.collect())
}

fn is_unfinished(repository: &Repository, path: &Path) -> Result<bool, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut parts = name.split('.');
    let (Some(team), Some(name)) = (parts.next(), parts.next()) else { return Ok(false) };
    let tree = Tree::prepare(repository, path, name, &author(name)).map_err(text)?;
    let (Some(tip), Some(head)) = (repository.tip(team).map_err(text)?, tree.head().map_err(text)?)
    else {
        return Ok(false);
    };
    Ok(!tree.is_clean().map_err(text)? || !tree.has_landed(&head, &tip).map_err(text)?)
}

/// Rescues what a life left that was replaced: its task, token and where the work is now.
pub(crate) fn keep_late(order: &Order) -> Option<(u32, u64, String)> {
    let tree = order.tree.as_ref().filter(|tree| !tree.shared && tree.path.exists())?;
    let left = tenant(&tree.path).filter(|left| !left.handed_in)?;
    let (repository, open) = open(&order.workspace, tree, &order.name).ok()?;
    let label = left.label();
    // What is left out stays in the tree, and whoever uses that next puts it aside.
    let kept = repository.keep_aside(&open, &order.team, &label).ok()?.kept?;
    Some((left.task, left.token, kept.refname))
}

fn text(failure: impl std::fmt::Display) -> String {
    failure.to_string()
}

/// Git blocks, and an agent's output and signals must not wait for it.
pub(crate) async fn off_the_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(format!("a thread failed: {e}")))
}
