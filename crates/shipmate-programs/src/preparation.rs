//! A tree that builds: what it gets beyond what is committed, before anybody works or judges in it.
//!
//! Copies and links come from the checkout (`shipmate_workspace::Unversioned`), ports from the user's
//! register, and the set-up commands run once in each tree, and again when a lock file has changed there.
//! That a tree is set up is a file in its shadow, written when all commands have succeeded: whatever is killed
//! in between is run again, and so is the set-up of a tree that is made anew.
//! Commands run what was handed in, so they stand behind the fence of gates and
//! get no secret; a teammate's use the caches of agents, so that no agent writes what a gate builds with.

pub mod others;
mod ports;
pub mod proposal;
pub mod secrets;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use shipmate_model::old;
use shipmate_model::setup::Preparation;
use shipmate_process::regular_file::{read_end, read_inside};
use shipmate_process::{
    Activity, Exit, Launcher, Marker, Output, Program, Spec, Tree as Running, blocking,
};
use shipmate_protocol::Place;
use shipmate_workspace::{Failure, Judges, Repository, Tree, Unversioned, UnversionedFailure};

use crate::fence::{self, Grounds};

/// The lock files that are known, in whatever folder of a tree.
pub const LOCK_FILES: [&str; 33] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "package.json",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "test-requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "requirements/dev.txt",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "mix.exs",
    "mix.lock",
    "go.sum",
    "Cargo.lock",
];

/// How long the commands of a tree may take together where nothing is said.
pub const USUAL: Duration = Duration::from_secs(900);
/// What a command has after it was told to end.
const GRACE: Duration = Duration::from_secs(2);

const PORTS_MAX: u32 = 100;
/// What the names of shipmate's own variables begin with.
const OWN_NAMES: &str = "SHIPMATE_";
const LOG_BYTES_MAX: u64 = 4 << 20;
const EVIDENCE_BYTES_MAX: usize = 4 * 1024;
const LOCK_FILE_BYTES_MAX: usize = 64 << 20;

/// One tree that is to be prepared.
#[derive(Debug, Clone)]
pub struct TreeToPrepare {
    pub place: Place,
    pub tree: PathBuf,
    pub preparation: Preparation,
    pub grounds: Grounds,
    pub marker: Marker,
    /// shipmate itself, which builds the fence.
    pub program: PathBuf,
    /// Gates run in it, and no agent.
    pub is_gates: bool,
    /// Others may work in it meanwhile.
    pub is_shared: bool,
}

/// What was done in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// Everything was there.
    Already,
    /// The set-up ran, for so long.
    SetUp { took: Duration },
}

/// Where the output of a tree's set-up is kept.
pub fn log_of(tree: &Path) -> PathBuf {
    tree.with_added_extension("set-up.log")
}

/// Variables for everything that runs in this tree: its ports, and what the team was given.
pub fn variables(
    preparation: &Preparation,
    workspace: &Path,
    tree: &Path,
) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    if preparation.is_none() {
        return Ok(all);
    }
    let own = ports::of(tree, preparation.ports)?;
    for (at, port) in own.iter().enumerate() {
        if at == 0 {
            all.insert("SHIPMATE_PORT".to_owned(), port.to_string());
        }
        all.insert(format!("PORT_{}", at + 1), port.to_string());
    }
    all.insert("SHIPMATE_CHECKOUT".to_owned(), workspace.display().to_string());
    let given = preparation.env.iter();
    let given: Vec<_> = given.map(|(name, value)| (name.clone(), filled(value, &all))).collect();
    all.extend(given);
    Ok(all)
}

/// `${PORT_1}` and the like in a value.
fn filled(value: &str, known: &BTreeMap<String, String>) -> String {
    let mut text = value.to_owned();
    for (name, meant) in known {
        text = text.replace(&format!("${{{name}}}"), meant);
    }
    text
}

/// What programs of others call the checkout in their set-up commands.
const CHECKOUT_NAMES: [&str; 3] =
    ["CONDUCTOR_ROOT_PATH", "ROOT_WORKTREE_PATH", "SUPERSET_ROOT_PATH"];

/// Prepares a tree. The text says what failed, with the end of what it printed.
pub async fn prepare(
    order: &TreeToPrepare,
    mut tell: impl FnMut(Activity),
) -> Result<Prepared, String> {
    if !order.preparation.does_something() {
        return Ok(Prepared::Already);
    }
    secrets::hide(&order.place.workspace, &order.preparation).await;
    add_unversioned(order).await?;
    if order.preparation.setup.is_empty() {
        return Ok(Prepared::Already);
    }
    let key = key(order).await?;
    let known = in_tree(order, |tree| Ok(tree.set_up_key())).await?;
    if known.as_ref() == Some(&key) {
        return Ok(Prepared::Already);
    }
    in_tree(order, |tree| tree.keep_set_up_key(None)).await?;
    let log = log_of(&order.tree);
    for file in [log.clone(), log.with_added_extension("more")] {
        drop(fs::remove_file(file));
    }
    let began = Instant::now();
    // One that was killed has left what it had made.
    settle(order).await?;
    if order.is_gates {
        // What rejected work has had installed must not make other work pass.
        in_tree(order, |tree| tree.remove_uncommitted()).await?;
    }
    // What is committed stays as it is; of anything else nobody could tell whose it is.
    let is_shared = order.is_shared;
    let is_without_work =
        in_tree(order, move |tree| Ok(!(is_shared && tree.is_worked_in()) && tree.is_clean()?))
            .await?;
    let is_settled = order.is_gates || is_without_work;
    if is_settled {
        in_tree(order, |tree| tree.begin_set_up()).await?;
    }
    let was = in_tree(order, |tree| tree.stands_at()).await?;
    for line in &order.preparation.setup {
        if let Err(reason) = run_one(order, line, began, &log, &mut tell).await {
            settle(order).await.map_err(LookFailure::after_set_up)?;
            return Err(reason);
        }
    }
    let now = in_tree(order, |tree| tree.stands_at()).await.map_err(LookFailure::after_set_up)?;
    if now != was {
        return Err(format!(
            "it moves git's HEAD from {was} to {now}: commands of [trees] may not commit or switch branches"
        ));
    }
    settle(order).await.map_err(LookFailure::after_set_up)?;
    // Lock files that the commands themselves have changed count as they are now.
    let key = self::key(order).await?;
    in_tree(order, move |tree| {
        tree.keep_set_up_key(Some(&key))?;
        if is_shared { tree.keep_worked_in() } else { Ok(()) }
    })
    .await?;
    Ok(Prepared::SetUp { took: began.elapsed() })
}

/// What is wrong with what was asked for, before anything is begun.
pub async fn check(place: &Place, preparation: &Preparation) -> Result<(), String> {
    check_variables(preparation)?;
    let (workspace, preparation) = (place.workspace.clone(), preparation.clone());
    blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        found_for(&repository, &preparation).map(|_| ()).map_err(|e| e.to_string())
    })
    .await
}

/// Ports and variables that no tree can have.
fn check_variables(preparation: &Preparation) -> Result<(), String> {
    if preparation.ports > PORTS_MAX {
        return Err(format!(
            "{} ports for each tree are too many: at most {PORTS_MAX}",
            preparation.ports
        ));
    }
    let known = |n: u32| format!("${{PORT_{n}}}");
    for (name, value) in &preparation.env {
        // Who an agent is, and what it may do, is told by these.
        if name.starts_with(OWN_NAMES) {
            return Err(format!(
                "env.{name} cannot be set: names that begin with {OWN_NAMES} are shipmate's own; choose another"
            ));
        }
        let mut filled =
            value.replace("${SHIPMATE_PORT}", if preparation.ports > 0 { "" } else { "${PORT_" });
        (1..=preparation.ports).for_each(|n| filled = filled.replace(&known(n), ""));
        if filled.contains("${PORT_") {
            let ports = preparation.ports;
            return Err(format!("env.{name} names a port that no tree has: ports is {ports}"));
        }
    }
    Ok(())
}

/// What a set-up made is nobody's work, however it ended.
async fn settle(order: &TreeToPrepare) -> Result<(), LookFailure> {
    let changed = in_tree(order, |tree| tree.settle_set_up()).await?;
    if !changed.is_empty() {
        tracing::info!(?changed, "the set-up changed committed files, which were put back");
    }
    Ok(())
}

/// A set-up failed in a tree that is worked in all the same: what it left there is not undone later, with work.
pub async fn forget(tree: &Path) {
    let path = tree.to_owned();
    let forgotten = blocking(move || {
        let tree = Tree::at(&path, "tree", &crate::tenancy::author("shipmate"));
        tree.map_or(Ok(()), |tree| tree.forget_set_up()).map_err(|e| e.to_string())
    });
    if let Err(reason) = forgotten.await {
        tracing::warn!(reason, "a set-up that failed is still noted in its tree");
    }
}

/// A set-up was cut short in this tree: there is nothing of anybody's in it but what that made.
pub fn was_cut_short(tree: &Path) -> bool {
    let tree = Tree::at(tree, "tree", &crate::tenancy::author("shipmate"));
    tree.is_some_and(|tree| tree.is_set_up_under_way())
}

/// Why a tree could not be looked at.
#[derive(Debug)]
enum LookFailure {
    /// It is none any more: after a set-up, that one has done it.
    Broken(String),
    Other(String),
}

impl LookFailure {
    fn after_set_up(self) -> String {
        match self {
            LookFailure::Broken(fact) => format!(
                "it leaves a tree that git cannot use ({fact}): take what changes .git out of [trees]"
            ),
            LookFailure::Other(fact) => fact,
        }
    }
}

impl From<LookFailure> for String {
    fn from(failure: LookFailure) -> String {
        let (LookFailure::Broken(fact) | LookFailure::Other(fact)) = failure;
        fact
    }
}

async fn in_tree<T: Send + 'static>(
    order: &TreeToPrepare,
    look: impl FnOnce(&Tree) -> Result<T, Failure> + Send + 'static,
) -> Result<T, LookFailure> {
    let path = order.tree.clone();
    let looked = blocking(move || {
        let tree = Tree::at(&path, "tree", &crate::tenancy::author("shipmate"));
        let none = || LookFailure::Broken(format!("{} is no tree", path.display()));
        Ok(tree.ok_or_else(none).and_then(|tree| {
            look(&tree).map_err(|e| match e {
                Failure::BrokenTree { .. } => LookFailure::Broken(e.to_string()),
                e => LookFailure::Other(e.to_string()),
            })
        }))
    });
    looked.await.map_err(LookFailure::Other)?
}

async fn add_unversioned(order: &TreeToPrepare) -> Result<(), String> {
    let TreeToPrepare { place, tree, preparation, is_gates, .. } = order.clone();
    blocking(move || {
        let repository = Repository::open(&place.workspace).map_err(|e| e.to_string())?;
        let found = found_for(&repository, &preparation);
        let author = crate::tenancy::author("shipmate");
        let tree = Tree::at(&tree, "tree", &author)
            .ok_or_else(|| format!("{} is no tree", tree.display()))?;
        let judges = if is_gates { Judges::Yes } else { Judges::No };
        tree.add_unversioned(&repository, &found.map_err(|e| e.to_string())?, judges)
            .map_err(|e| e.to_string())
    })
    .await
}

/// A file that trees get copies of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// From the root of the checkout.
    pub path: String,
    pub mode: u32,
    pub bytes: Vec<u8>,
}

/// The files of the checkout that trees get copies of. The text says why not.
pub async fn copies(
    workspace: &Path,
    preparation: &Preparation,
    bytes_max: usize,
) -> Result<Vec<Copied>, String> {
    let (workspace, preparation) = (workspace.to_owned(), preparation.clone());
    blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let found = found_for(&repository, &preparation).map_err(|e| e.to_string())?;
        let (mut all, mut left) = (Vec::new(), bytes_max);
        for path in found.copies {
            let read = repository.read_unversioned(&path, left as u64 + 1);
            let (bytes, mode) = read.ok_or_else(|| format!("{path} cannot be read"))?;
            left = left.checked_sub(bytes.len()).ok_or_else(|| {
                let mib = bytes_max >> 20;
                format!("they are more than {mib} MiB: put them on that machine yourself")
            })?;
            all.push(Copied { path, mode, bytes });
        }
        Ok(all)
    })
    .await
}

/// What another program's list names and no tree can have, each with the reason.
pub fn left_out(workspace: &Path, preparation: &Preparation) -> Vec<String> {
    let found =
        Repository::open(workspace).ok().map(|repository| found_for(&repository, preparation));
    // What fails altogether is told where the team is made.
    let left_out = found.and_then(Result::ok).unwrap_or_default().left_out;
    left_out.into_iter().map(|reason| format!("{}: {reason}", preparation.from)).collect()
}

/// What stands in the way of a tree that is set up so, and of a gate in it, as far as it can be seen.
pub fn wanting(workspace: &Path, preparation: &Preparation, gate: &[String]) -> Vec<String> {
    let looks = !preparation.copy.is_empty() || !preparation.link.is_empty();
    let found = looks.then(|| {
        let repository = Repository::open(workspace).map_err(|e| e.to_string())?;
        found_for(&repository, preparation).map_err(|e| e.to_string())
    });
    let lines = preparation.setup.iter().chain(gate);
    let absent = proposal::not_installed(lines);
    let absent = absent.into_iter().map(|tool| format!("{tool} is not in your PATH: install it"));
    found.and_then(Result::err).into_iter().chain(absent).collect()
}

/// What the checkout has of it. A list of another program's is taken as far as it fits.
pub(crate) fn found_for(
    repository: &Repository,
    preparation: &Preparation,
) -> Result<Unversioned, UnversionedFailure> {
    match preparation.copies_what_fits || old::copied_what_fits(&preparation.from) {
        true => {
            let loose = repository.unversioned_loosely(&preparation.copy)?;
            let links = repository.unversioned(&[], &preparation.link)?.links;
            Ok(Unversioned { links, ..loose })
        }
        false => repository.unversioned(&preparation.copy, &preparation.link),
    }
}

/// Of all that the set-up of a tree depends on.
async fn key(order: &TreeToPrepare) -> Result<String, String> {
    let (tree, preparation) = (order.tree.clone(), order.preparation.clone());
    let below = match preparation.lock_files.is_empty() {
        true => in_tree(order, |tree| tree.committed_below(&LOCK_FILES)).await?,
        false => Vec::new(),
    };
    blocking(move || {
        let mut digest = Sha256::new();
        let mut add = |text: &[u8]| {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        };
        preparation.setup.iter().for_each(|line| add(line.as_bytes()));
        let env = preparation.env.iter().flat_map(|(name, value)| [name, value]);
        env.for_each(|text| add(text.as_bytes()));
        let named = preparation.lock_files.iter().map(String::as_str);
        let known = LOCK_FILES.into_iter().filter(|_| preparation.lock_files.is_empty());
        for name in named.chain(known).chain(below.iter().map(String::as_str)) {
            add(name.as_bytes());
            // What is not there, or no file, is the same each time.
            add(&read_inside(&tree, Path::new(name), LOCK_FILE_BYTES_MAX).unwrap_or_default());
        }
        Ok(HEXLOWER.encode(&digest.finalize()))
    })
    .await
}

async fn run_one(
    order: &TreeToPrepare,
    line: &str,
    began: Instant,
    log: &Path,
    tell: &mut impl FnMut(Activity),
) -> Result<(), String> {
    let failed = |how: String| format!("`{line}` {how}");
    let usual = match order.preparation.timeout_ms {
        0 => USUAL,
        ms => Duration::from_millis(ms),
    };
    let limit = usual.saturating_sub(began.elapsed());
    let running = Running::spawn(spec(order, line, log).map_err(failed)?);
    let running = running.map_err(|e| failed(e.to_string()))?;
    let mut activity = running.activity();
    let over = tokio::time::sleep_until(tokio::time::Instant::now() + limit);
    tokio::pin!(over);
    let timed_out = loop {
        tokio::select! {
            _ = running.exited() => break false,
            () = &mut over => break true,
            Ok(()) = activity.changed() => tell(activity.borrow_and_update().clone()),
        }
    };
    let ended = running.stop(if timed_out { GRACE } else { Duration::ZERO }).await;
    let how = match (timed_out, ended.exit) {
        (false, Exit::Code(0)) => return Ok(()),
        (true, _) => format!(
            "did not end within {} s (trees.timeout-seconds); it has no terminal to ask on",
            usual.as_secs()
        ),
        (false, Exit::Code(code)) => format!("failed with exit status {code}"),
        (false, Exit::Signal(signal)) => format!("was ended by signal {signal}"),
    };
    let more = log.with_added_extension("more");
    let shown = if more.exists() { &more } else { log };
    let end = read_end(shown, EVIDENCE_BYTES_MAX as u64).unwrap_or_default();
    Err(failed(format!("{how}\n{}", String::from_utf8_lossy(&end).trim())))
}

fn spec(order: &TreeToPrepare, line: &str, log: &Path) -> Result<Spec, String> {
    let gated = fence::set_up(&order.grounds, &order.place, &order.tree, order.is_gates)?;
    let workspace = &order.place.workspace;
    let mut env = gated.env;
    let own = variables(&order.preparation, workspace, &order.tree)?;
    env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
    let checkout = || OsString::from(workspace);
    env.extend(CHECKOUT_NAMES.map(|name| (OsString::from(name), checkout())));
    // Most that would ask somebody do not where they are told so.
    env.push(("CI".into(), "1".into()));
    Ok(Spec {
        env,
        env_remove: gated.env_remove,
        fence: gated.fence,
        output: Output::Files { path: log.to_owned(), bytes_max: LOG_BYTES_MAX },
        launcher: Launcher::through(order.program.clone(), vec!["exec-tree".into()]),
        ..Spec::new(Program::Shell(line.to_owned()), &order.tree, order.marker.clone())
    })
}

/// Runs what is to be run before a tree is deleted; what fails is told and stops nothing.
pub async fn tear_down(order: &TreeToPrepare) -> Vec<String> {
    let began = Instant::now();
    let mut failed = Vec::new();
    for line in &order.preparation.teardown {
        // What is told of one is what that one has printed.
        drop(fs::remove_file(log_of(&order.tree)));
        let ran = run_one(order, line, began, &log_of(&order.tree), &mut |_| {}).await;
        failed.extend(ran.err());
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_shipmates_own_cannot_be_set() {
        let of = |name: &str| Preparation {
            env: [(name.to_owned(), "x".to_owned())].into(),
            ..Preparation::default()
        };
        for name in ["SHIPMATE_TOKEN", "SHIPMATE_PORT"] {
            let reason = check_variables(&of(name)).unwrap_err();
            assert!(reason.starts_with(&format!("env.{name} cannot be set")), "{reason}");
        }
        assert_eq!(check_variables(&of("MY_SHIPMATE_TOKEN")), Ok(()));
    }

    #[test]
    fn a_variable_may_name_a_port_of_its_tree() {
        let known = BTreeMap::from([("PORT_1".to_owned(), "20001".to_owned())]);
        assert_eq!(
            filled("db://localhost:${PORT_1}/x$PORT_1", &known),
            "db://localhost:20001/x$PORT_1"
        );
    }
}
