//! Whose work lies in a tree: a small file beside it names the task and the claim.
//!
//! A supervisor writes it; whoever looks for work that was not handed in reads it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shipmate_workspace::{Author, Commit, Repository, Tree, WorkKey};

use crate::order::{Order, TreeOrder};

/// Which task a tree's files belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    pub task: u32,
    pub token: u64,
    pub handed_in: bool,
    /// Of the life that works on it, or did.
    #[serde(default)]
    pub epoch: u32,
}

impl Tenant {
    /// What its work is kept under.
    pub fn label(&self) -> String {
        format!("{}-{}", self.task, self.token)
    }
}

pub fn tenant_file(tree: &Path) -> PathBuf {
    tree.with_added_extension("task")
}

pub fn tenant(tree: &Path) -> Option<Tenant> {
    serde_json::from_slice(&fs::read(tenant_file(tree)).ok()?).ok()
}

/// What the work in a tree is kept under when it is set aside: its task and token.
pub fn tree_label(tree: &Path) -> Option<String> {
    tenant(tree).map(|tenant| tenant.label())
}

pub fn set_tenant(tree: &Path, tenant: &Tenant) -> Result<(), String> {
    let file = tenant_file(tree);
    let fresh = file.with_added_extension("new");
    let text = serde_json::to_vec(tenant).expect("a tenant is JSON");
    let written = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &file));
    written.map_err(|e| format!("{}: {e}", file.display()))
}

/// Where it lies while another tree is tried in the place of its own.
pub fn laid_by(tree: &Path) -> PathBuf {
    tenant_file(tree).with_added_extension("old")
}

/// A tree that is made anew holds nobody's files.
pub fn forget_tenant(tree: &Path) -> Result<(), String> {
    let file = tenant_file(tree);
    match fs::remove_file(&file) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {e}", file.display()))
        }
        _ => Ok(()),
    }
}

pub fn open(workspace: &Path, order: &TreeOrder, name: &str) -> Result<(Repository, Tree), String> {
    let repository = Repository::open(workspace).map_err(text)?;
    let branch = if order.shared { "team" } else { name };
    let tree = Tree::prepare(&repository, &order.path, branch, &author(name)).map_err(text)?;
    Ok((repository, tree))
}

/// Work is signed with the teammate's name; the address can reach nobody.
pub fn author(name: &str) -> Author {
    Author { name: name.to_owned(), email: format!("{name}@shipmate.invalid") }
}

/// Brings in a commit that an agent names by itself, from the tree of its life.
pub fn take_in(
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
pub fn tree_of(trees: &Path, task: u32, token: Option<u64>) -> Option<Tree> {
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
pub fn tree_at(path: &Path, branch: &str) -> Option<Tree> {
    Tree::at(path, branch, &author(branch))
}

/// A tree with work of a task that was not handed in.
#[derive(Debug)]
pub struct Unfinished {
    pub tree: PathBuf,
    pub task: u32,
    pub token: u64,
    /// Why it cannot be told whether there is any.
    pub trouble: Option<String>,
}

/// The trees that hold work which was not handed in.
pub fn unfinished(workspace: &Path, trees: &Path) -> Result<Vec<Unfinished>, String> {
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

/// Work that a life left which was replaced, under the ref that has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateWork {
    pub task: u32,
    pub token: u64,
    pub work: String,
    pub commit: String,
}

/// Which task the tree of a life holds work of that this life, or one before it, did not hand in.
pub fn left_by(order: &Order) -> Option<Tenant> {
    let tree = order.tree.as_ref().filter(|tree| !tree.shared && tree.path.exists())?;
    tenant(&tree.path).filter(|left| !left.handed_in && left.epoch <= order.epoch)
}

/// Rescues what a life left that was replaced. `handed_in` are the commits that the team was handed for
/// its task: a commit that was brought in and is none of them never got there.
pub fn keep_late(order: &Order, handed_in: &[Commit]) -> Result<Option<LateWork>, String> {
    let (Some(left), Some(tree)) = (left_by(order), &order.tree) else { return Ok(None) };
    let (repository, open) = open(&order.workspace, tree, &order.name)?;
    // What is left out stays in the tree, and whoever uses that next puts it aside.
    let rescued = repository.keep_late(&open, &order.team, &left.label(), handed_in);
    let kept = rescued.map_err(text)?.kept;
    Ok(kept.map(|kept| {
        let (work, commit) = (kept.refname, kept.commit.to_string());
        LateWork { task: left.task, token: left.token, work, commit }
    }))
}

fn text(failure: impl std::fmt::Display) -> String {
    failure.to_string()
}
