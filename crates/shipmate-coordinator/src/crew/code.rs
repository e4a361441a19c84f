//! Code on its way between hosts, as packs in the store that all of them reach.
//!
//! What is handed in on a host is stored before the board hears of it; the home gets it before it is
//! merged. What lands is stored before anybody is told that it landed, and where a branch stands is on
//! record: a host that begins a task gets all that landed before, and where that is much, in one pack that the
//! home makes for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use shipmate_core::State;
use shipmate_core::state::{Host, Status, Team};
use shipmate_log::PackFailure;
use shipmate_model::status::HostState;
use shipmate_model::{Act, Name};
use shipmate_process::blocking;
use shipmate_programs::order::Order;
use shipmate_programs::tenancy;
use shipmate_workspace::{
    AdvanceFailure, Aside, Commit, Repository, Stands, UnpackFailure, WorkKey,
};

use super::Crew;
use crate::host::{Here, Question};

/// The largest pack that is taken.
const PACK_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// How many packs a machine may be behind before the home makes one of them.
const FOLDED_FROM: usize = 2;

/// Why code did not come or go.
#[derive(Debug)]
pub(crate) enum NotThere {
    /// Nobody has stored it, or not all of it is there yet.
    Absent(String),
    /// The server is away.
    Later(String),
    /// Trying again does not help.
    Never(String),
}

impl From<PackFailure> for NotThere {
    fn from(failure: PackFailure) -> NotThere {
        match failure {
            // Of several servers, one that was cut off may have the first part of it only.
            PackFailure::Absent(_) | PackFailure::Damaged { .. } => {
                NotThere::Absent(failure.to_string())
            }
            PackFailure::Unavailable(_) | PackFailure::File(_) => {
                NotThere::Later(failure.to_string())
            }
            PackFailure::TooLarge { .. } => NotThere::Never(failure.to_string()),
        }
    }
}

impl NotThere {
    pub(crate) fn reason(self) -> String {
        let (NotThere::Absent(reason) | NotThere::Later(reason) | NotThere::Never(reason)) = self;
        reason
    }
}

fn later(reason: String) -> NotThere {
    NotThere::Later(reason)
}

/// Where a pack lies while it is made or taken in; gone with this.
struct Passing(PathBuf);

impl Passing {
    fn new(crew: &Crew) -> Result<Passing, NotThere> {
        let folder = crew.settings.place.state().join("packs");
        let made = crew.settings.place.make(&folder);
        made.map_err(|e| later(format!("{}: {e}", folder.display())))?;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|e| later(e.to_string()))?;
        Ok(Passing(folder.join(data_encoding::HEXLOWER.encode(&random))))
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn of_work(key: &WorkKey, commit: &Commit) -> String {
    format!("work/{}/{}-{}-{commit}", key.team, key.task, key.token)
}

fn of_late(key: &WorkKey, commit: &Commit) -> String {
    format!("late/{}/{}-{}-{commit}", key.team, key.task, key.token)
}

fn of_branch(branch: &Name, commit: &Commit) -> String {
    format!("branch/{branch}/{commit}")
}

fn of_base(commit: &Commit) -> String {
    format!("base/{commit}")
}

/// The commits that every host has or can get.
fn known(crew: &Crew) -> Vec<Commit> {
    crew.board.with_state(|state| {
        let trees = state.teams.values().filter_map(|team| team.setup.trees.as_ref());
        let bases = trees.map(|trees| trees.base.as_str());
        let all = bases.chain(state.branches.values().map(String::as_str));
        all.filter_map(Commit::parse).collect()
    })
}

async fn with_repository<T: Send + 'static>(
    crew: &Crew,
    work: impl FnOnce(&Repository) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let workspace = crew.settings.place.workspace.clone();
    blocking(move || work(&Repository::open_empty(&workspace).map_err(|e| e.to_string())?)).await
}

/// Stores what is handed in here, for the home to get.
pub(crate) async fn send(
    crew: &Rc<Crew>,
    here: &Here,
    key: WorkKey,
    commit: Commit,
    life: Option<Order>,
) -> Result<(), NotThere> {
    let (known, name) = (known(crew), of_work(&key, &commit));
    let passing = Passing::new(crew)?;
    let file = passing.0.clone();
    let packed = with_repository(crew, move |repository| {
        let text = |e: shipmate_workspace::Failure| e.to_string();
        if repository.work(&key).map_err(text)?.as_ref() != Some(&commit) {
            tenancy::take_in(repository, life.as_ref(), &commit, &key)?;
        }
        repository.pack_work(&key, &known, &file).map_err(text)
    });
    // Nothing beyond what every host has: there is nothing to send.
    if packed.await.map_err(NotThere::Never)? {
        here.packs().await.map_err(later)?.put(&name, &passing.0).await?;
    }
    Ok(())
}

/// Gets what was handed in on another host.
pub(crate) async fn receive(
    crew: &Rc<Crew>,
    here: &Here,
    key: WorkKey,
    commit: Commit,
) -> Result<(), NotThere> {
    let (own, wanted) = (key.clone(), commit.clone());
    let is_here = with_repository(crew, move |repository| {
        let text = |e: shipmate_workspace::Failure| e.to_string();
        let is_taken_in = repository.work(&own).map_err(text)?.as_ref() == Some(&wanted);
        Ok((is_taken_in, repository.has_commit(&wanted).map_err(text)?))
    });
    let (is_taken_in, is_here) = is_here.await.map_err(later)?;
    if is_taken_in {
        return Ok(());
    }
    let passing = Passing::new(crew)?;
    let packs = here.packs().await.map_err(later)?;
    match packs.get(&of_work(&key, &commit), &passing.0, PACK_BYTES_MAX).await {
        // It had nothing that every host has not.
        Err(PackFailure::Absent(_)) if is_here => return Ok(()),
        got => got?,
    }
    let file = passing.0.clone();
    let taken = with_repository(crew, move |repository| {
        repository.unpack_work(&file, &commit, &key).map_err(|e| e.to_string())
    });
    taken.await.map_err(NotThere::Never)
}

/// Takes what was handed in out of the store: it has landed, and what landed is there.
pub(super) async fn forget(here: &Here, key: &WorkKey, commit: &Commit) -> Result<(), NotThere> {
    Ok(here.packs().await.map_err(later)?.remove(&of_work(key, commit)).await?)
}

/// Stores work that was set aside here, for the home to look at.
pub(super) async fn send_late(
    crew: &Rc<Crew>,
    here: &Here,
    key: WorkKey,
    commit: Commit,
    refname: String,
) -> Result<(), NotThere> {
    let (known, passing) = (known(crew), Passing::new(crew)?);
    let file = passing.0.clone();
    let packed = with_repository(crew, move |repository| {
        repository.pack_aside(&refname, &known, &file).map_err(|e| e.to_string())
    });
    if packed.await.map_err(NotThere::Never)? {
        let packs = here.packs().await.map_err(later)?;
        packs.put(&of_late(&key, &commit), &passing.0).await?;
    }
    Ok(())
}

/// Gets work that was set aside on another host, under the name it has there.
pub(super) async fn receive_late(
    crew: &Rc<Crew>,
    here: &Here,
    key: WorkKey,
    commit: Commit,
    refname: String,
) -> Result<(), NotThere> {
    let (own, wanted) = (key.clone(), commit.clone());
    let found = with_repository(crew, move |repository| {
        repository.aside_of(&own, &refname, &wanted).map_err(|e| e.to_string())
    });
    let Aside::Free { name } = found.await.map_err(later)? else { return Ok(()) };
    let passing = Passing::new(crew)?;
    let packs = here.packs().await.map_err(later)?;
    packs.get(&of_late(&key, &commit), &passing.0, PACK_BYTES_MAX).await?;
    let file = passing.0.clone();
    let taken = with_repository(crew, move |repository| {
        repository.unpack_aside(&file, &commit, &name).map_err(|e| e.to_string())
    });
    taken.await.map_err(NotThere::Never)
}

/// Stores where the branches of the teams stand, or that of one, and says so. At the home only.
pub(crate) async fn publish(
    crew: &Rc<Crew>,
    here: &Here,
    of: Option<&Name>,
) -> Result<(), NotThere> {
    let _in_turn = crew.code.lock().await;
    if !crew.is_home(&crew.board.root) {
        return Ok(());
    }
    let lacked: BTreeSet<String> = crew.board.with_state(|state| {
        let others = others(state, here);
        others.flat_map(|host| host.spec.lacks.iter().cloned()).collect()
    });
    for base in lacked.iter().filter_map(|base| Commit::parse(base)) {
        let (passing, name) = (Passing::new(crew)?, of_base(&base));
        let file = passing.0.clone();
        let packs = here.packs().await.map_err(later)?;
        if !packs.has(&name).await {
            with_repository(crew, move |repository| {
                repository.pack_base(&base, &file).map_err(|e| e.to_string())
            })
            .await
            .map_err(NotThere::Never)?;
            packs.put(&name, &passing.0).await?;
        }
    }
    // Each branch once: teams may share one.
    let branches: BTreeMap<Name, Name> = crew.board.with_state(|state| {
        let with_trees = state
            .teams
            .iter()
            .filter(|(name, team)| team.setup.trees.is_some() && of.is_none_or(|of| *name == of));
        with_trees.map(|(name, team)| (team.setup.branch(name).clone(), name.clone())).collect()
    });
    // One that cannot be told keeps no other from being told.
    let mut told = Ok(());
    for (branch, team) in branches {
        told = told.and(publish_branch(crew, here, &team, branch).await);
    }
    told
}

async fn publish_branch(
    crew: &Rc<Crew>,
    here: &Here,
    team: &Name,
    branch: Name,
) -> Result<(), NotThere> {
    fetch_in_turn(crew, here, team).await?;
    let named = branch.to_string();
    let tip =
        with_repository(crew, move |repository| repository.tip(&named).map_err(|e| e.to_string()));
    let Some(tip) = tip.await.map_err(NotThere::Never)? else { return Ok(()) };
    match put_on_record(crew, here, branch.clone(), (tip.clone(), tip)).await? {
        true => Ok(()),
        false => Err(later(format!("shipmate/{branch} has moved on record meanwhile"))),
    }
}

/// The machines beside this one that get what lands.
fn others<'a>(state: &'a State, here: &Here) -> impl Iterator<Item = &'a Host> {
    let own = here.file.name.clone();
    let others = state.hosts.iter().filter(move |(name, _)| **name != own);
    others.map(|(_, host)| host).filter(|host| host.state != HostState::Left)
}

/// Stores what leads a branch to a commit, and says that it stands there; nothing where it is known. Also where
/// nobody is there to get it: whoever comes gets all that landed before. False where the branch here is at
/// neither commit, or the new one does not build on what is on record: it would take that back.
async fn put_on_record(
    crew: &Rc<Crew>,
    here: &Here,
    branch: Name,
    (from_here, to): (Commit, Commit),
) -> Result<bool, NotThere> {
    let known = crew.board.with_state(|state| {
        let on_record = state.branches.get(&branch);
        if state.hosts.is_empty() || on_record.is_some_and(|at| *at == to.as_str()) {
            return None;
        }
        let lands_there = |(name, team): &(&Name, &Team)| team.setup.branch(name) == &branch;
        let teams = state.teams.iter().filter(lands_there);
        let bases = teams.filter_map(|(_, team)| Some(&team.setup.trees.as_ref()?.base));
        let known = on_record.into_iter().chain(bases).filter_map(|text| Commit::parse(text));
        Some((on_record.cloned(), known.collect::<Vec<_>>()))
    });
    let Some((from, known)) = known else { return Ok(true) };
    let (passing, named, wanted) = (Passing::new(crew)?, branch.to_string(), to.clone());
    let (file, recorded) = (passing.0.clone(), from.as_deref().and_then(Commit::parse));
    let packed = with_repository(crew, move |repository| {
        let text = |e: shipmate_workspace::Failure| e.to_string();
        if let Some(recorded) = recorded
            && !repository.builds_on(&wanted, &recorded).map_err(text)?
        {
            return Ok(None);
        }
        repository.pack_branch(&named, &wanted, &known, &file).map(Some).map_err(text)
    });
    match packed.await.map_err(NotThere::Never)? {
        None => return Ok(false),
        Some(false) => {}
        Some(true) => {
            let packs = here.packs().await.map_err(later)?;
            packs.put(&of_branch(&branch, &to), &passing.0).await?;
        }
    }
    // As late as can be: the server may have been away for long.
    let named = branch.to_string();
    let tip =
        with_repository(crew, move |repository| repository.tip(&named).map_err(|e| e.to_string()));
    let tip = tip.await.map_err(NotThere::Never)?;
    if tip.as_ref() != Some(&from_here) && tip.as_ref() != Some(&to) {
        return Ok(false);
    }
    crew.board.tell(Act::ReportBranch { branch, commit: to.to_string(), from });
    Ok(true)
}

/// What became of a word that a branch is about to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Announced {
    /// It may move.
    Said,
    /// The branch is not where the new commit was made from, here or on record: it has to be made anew.
    Moved,
    /// Another machine moves the branch from now on.
    NotHome,
}

/// Has a branch that is about to move from one commit to the next stand there on record. Before the branch here
/// moves: whoever works on this machine begins with what it has, and a home that is cut off in between would
/// spread what the next home lands once more.
pub(crate) async fn announce(
    crew: &Rc<Crew>,
    here: &Here,
    (team, branch): (&Name, &Name),
    (from, to): (&Commit, &Commit),
) -> Result<Announced, NotThere> {
    {
        let _in_turn = crew.code.lock().await;
        if !crew.is_home(&crew.board.root) {
            return Ok(Announced::NotHome);
        }
        // An earlier word may have come late to the log, and another machine may have been the home meanwhile.
        fetch_in_turn(crew, here, team).await?;
        // What is on record would be elsewhere at once, and could not be had here.
        let (named, tip) = (branch.to_string(), from.clone());
        let checked_out = with_repository(crew, move |repository| {
            Ok(match repository.can_advance(&named, &tip) {
                Err(failed @ AdvanceFailure::CheckedOut { .. }) => Some(failed.to_string()),
                _ => None,
            })
        });
        if let Some(reason) = checked_out.await.map_err(later)? {
            return Err(NotThere::Never(reason));
        }
        if !put_on_record(crew, here, branch.clone(), (from.clone(), to.clone())).await? {
            return Ok(Announced::Moved);
        }
    }
    crew.board.settled().await;
    let is_there = crew.board.with_state(|state| {
        let is_there = state.branches.get(branch).is_some_and(|at| *at == to.as_str());
        is_there || state.hosts.is_empty()
    });
    match is_there {
        true => Ok(Announced::Said),
        false => Err(later(format!("it is not on record yet that shipmate/{branch} moves"))),
    }
}

/// Brings the branch of a team here to where it stands on record. The home, which moves it, may be
/// beyond that, and is behind it only when it has just become the home.
pub(crate) async fn fetch(crew: &Rc<Crew>, here: &Here, team: &Name) -> Result<(), NotThere> {
    let _in_turn = crew.code.lock().await;
    fetch_in_turn(crew, here, team).await
}

async fn fetch_in_turn(crew: &Rc<Crew>, here: &Here, team: &Name) -> Result<(), NotThere> {
    let found = crew.board.with_state(|state| {
        let setup = &state.teams.get(team)?.setup;
        let trees = setup.trees.as_ref()?;
        let branch = setup.branch(team).clone();
        let on_record = state.branches.get(&branch);
        Some((branch.clone(), trees.base.clone(), on_record.cloned()))
    });
    let Some((branch, base, on_record)) = found else { return Ok(()) };
    let no_commit = |text: &str| NotThere::Never(format!("{text} is no commit"));
    let base = Commit::parse(&base).ok_or_else(|| no_commit(&base))?;
    let is_home = crew.is_home(team);
    let wanted = match on_record {
        // The home begins the branch itself.
        None if is_home => return Ok(()),
        None => base.clone(),
        Some(text) => Commit::parse(&text).ok_or_else(|| no_commit(&text))?,
    };
    bring_base(crew, here, base.clone()).await?;
    if is_home {
        let (named, recorded) = (branch.to_string(), wanted.clone());
        let stands = with_repository(crew, move |repository| {
            repository.stands(&named, &recorded).map_err(|e| e.to_string())
        });
        match stands.await.map_err(later)? {
            Stands::AtOrBeyond => return Ok(()),
            Stands::Behind => {}
            Stands::Apart => {
                return Err(NotThere::Never(format!(
                    "the branch shipmate/{branch} on this machine has work that the team's has not; \
                     rename it (git branch -m shipmate/{branch} OTHER-NAME)"
                )));
            }
        }
    }
    let (repository, named) = (open(crew).await?, branch.to_string());
    let (own, looked_for) = (Arc::clone(&repository), wanted.clone());
    let found = blocking(move || {
        let text = |e: shipmate_workspace::Failure| e.to_string();
        Ok((own.has_commit(&looked_for).map_err(text)?, own.tip(&named).map_err(text)?))
    });
    let (is_here, tip) = found.await.map_err(later)?;
    if is_here {
        return match tip.as_ref() == Some(&wanted) {
            true => Ok(()),
            false => point(crew, &branch, wanted, tip).await,
        };
    }
    let have: Vec<Commit> = tip.iter().cloned().chain([base]).collect();
    let packs = missing_packs(crew, here, &repository, &branch, wanted, &have).await?;
    let named = branch.to_string();
    let taken = blocking(move || {
        let packs: Vec<_> =
            packs.iter().map(|(commit, passing)| (commit.clone(), &passing.0)).collect();
        match repository.unpack_branch(&packs, &named, tip.as_ref()) {
            Err(UnpackFailure::Incomplete { missing }) => Ok(Some(missing.join(", "))),
            unpacked => unpacked.map(|()| None).map_err(|e| e.to_string()),
        }
    });
    match taken.await.map_err(NotThere::Never)? {
        Some(missing) => Err(later(format!("the commits {missing} are not here yet"))),
        None => Ok(()),
    }
}

/// The packs that lead from what is here to a commit that is not, the oldest first. Who is far behind gets
/// one for all of it from the home, where that answers.
async fn missing_packs(
    crew: &Crew,
    here: &Here,
    repository: &Arc<Repository>,
    branch: &Name,
    wanted: Commit,
    have: &[Commit],
) -> Result<Vec<(Commit, Passing)>, NotThere> {
    let store = here.packs().await.map_err(later)?;
    // The newest first, until one is found that builds on what is here.
    let mut missing = vec![wanted.clone()];
    let mut packs: Vec<(Commit, Passing)> = Vec::new();
    let mut is_asked = false;
    while let Some(next) = missing.pop() {
        if packs.iter().any(|(commit, _)| *commit == next) {
            continue;
        }
        if packs.len() >= FOLDED_FROM && !std::mem::replace(&mut is_asked, true) {
            match folded(crew, here, branch, &wanted, have).await {
                Ok(pack) => return Ok(vec![(wanted, pack)]),
                Err(reason) => tracing::info!(reason, "packs are taken in one by one"),
            }
        }
        let passing = Passing::new(crew)?;
        match store.get(&of_branch(branch, &next), &passing.0, PACK_BYTES_MAX).await {
            // A pack names every commit that it touches: one that was never a tip comes with another.
            Err(PackFailure::Absent(_)) if !packs.is_empty() => continue,
            got => got?,
        }
        let (repository, file) = (Arc::clone(repository), passing.0.clone());
        let needs = blocking(move || repository.missing_for(&file).map_err(|e| e.to_string()));
        missing.extend(needs.await.map_err(NotThere::Never)?);
        packs.push((next, passing));
    }
    packs.reverse();
    Ok(packs)
}

/// Has the home make one pack of all that is missing here, and gets it.
async fn folded(
    crew: &Crew,
    here: &Here,
    branch: &Name,
    wanted: &Commit,
    have: &[Commit],
) -> Result<Passing, String> {
    let home = crew.board.with_state(|state| {
        let home = state.home.as_ref().filter(|home| **home != here.file.name)?;
        Some(state.hosts.get(home)?.spec.place.clone())
    });
    let home = home.ok_or("this machine is the home")?;
    let question = Question::Fold {
        root: crew.board.root.clone(),
        branch: branch.clone(),
        wanted: wanted.to_string(),
        have: have.iter().map(ToString::to_string).collect(),
    };
    let name = here.ask(&home, &question).await.map_err(|unheard| unheard.to_string())?;
    let name = String::from_utf8(name).unwrap_or_default();
    if name.is_empty() {
        return Err("the home cannot fold them".to_owned());
    }
    let passing = Passing::new(crew).map_err(NotThere::reason)?;
    let packs = here.packs().await?;
    packs.get(&name, &passing.0, PACK_BYTES_MAX).await.map_err(|e| e.to_string())?;
    // It was made for this machine alone.
    drop(packs.remove(&name).await);
    tracing::info!(%branch, %wanted, "all that was missing came in one pack");
    Ok(passing)
}

/// Stores one pack of all that another machine is behind; what it is called there.
pub(crate) async fn fold(
    crew: &Rc<Crew>,
    here: &Here,
    branch: &Name,
    wanted: &str,
    have: &[String],
) -> Result<String, NotThere> {
    let no_commit = || NotThere::Never("a commit is named that is none".to_owned());
    let wanted = Commit::parse(wanted).ok_or_else(no_commit)?;
    let known: Option<Vec<Commit>> = have.iter().map(|text| Commit::parse(text)).collect();
    let known = known.ok_or_else(no_commit)?;
    let from = known.first().ok_or_else(no_commit)?;
    let name = format!("folded/{branch}/{from}-{wanted}");
    let _in_turn = crew.code.lock().await;
    let packs = here.packs().await.map_err(later)?;
    if packs.has(&name).await {
        return Ok(name);
    }
    let (passing, named) = (Passing::new(crew)?, branch.to_string());
    let file = passing.0.clone();
    let packed = with_repository(crew, move |repository| {
        let text = |e: shipmate_workspace::Failure| e.to_string();
        match repository.stands(&named, &wanted).map_err(text)? {
            Stands::AtOrBeyond => {
                repository.pack_branch(&named, &wanted, &known, &file).map_err(text)
            }
            Stands::Behind | Stands::Apart => Ok(false),
        }
    });
    if !packed.await.map_err(NotThere::Never)? {
        return Err(NotThere::Absent(format!("nothing to fold of {branch}")));
    }
    packs.put(&name, &passing.0).await?;
    Ok(name)
}

async fn open(crew: &Crew) -> Result<Arc<Repository>, NotThere> {
    let workspace = crew.settings.place.workspace.clone();
    let opened =
        blocking(move || Repository::open_empty(&workspace).map_err(|e| e.to_string())).await;
    opened.map(Arc::new).map_err(later)
}

async fn point(
    crew: &Crew,
    branch: &Name,
    to: Commit,
    from: Option<Commit>,
) -> Result<(), NotThere> {
    let named = branch.to_string();
    let pointed = with_repository(crew, move |repository| {
        repository.point_branch(&named, &to, from.as_ref()).map_err(|e| e.to_string())
    });
    pointed.await.map_err(NotThere::Never)
}

/// The commits that the teams of a board begin at and that are not here; also those of teams where the home has
/// landed something and has not told yet where their branch stands.
pub(crate) async fn lacks(crew: &Crew) -> Vec<Commit> {
    let is_home = crew.is_home(&crew.board.root);
    let bases: Vec<(Commit, bool)> = crew.board.with_state(|state| {
        let with_base = state.teams.iter().filter_map(|(name, team)| {
            let base = Commit::parse(&team.setup.trees.as_ref()?.base)?;
            let branch = team.setup.branch(name);
            let is_untold = !is_home
                && !state.branches.contains_key(branch)
                && team.counts.completed > 0
                && last_landed(state, branch).is_some();
            Some((base, is_untold))
        });
        with_base.collect()
    });
    let all = bases.iter().map(|(base, _)| base.clone()).collect();
    let lacked = with_repository(crew, move |repository| {
        let is_lacked = |(base, is_untold): &(Commit, bool)| {
            *is_untold || !repository.has_commit(base).unwrap_or(false)
        };
        Ok(bases.into_iter().filter(is_lacked).map(|(base, _)| base).collect())
    });
    // Without a repository there is nothing here.
    lacked.await.unwrap_or(all)
}

/// The last work that came to the branch of this name. Looks at the whole board: for a branch that is not
/// where it should be.
pub(crate) fn last_landed(state: &State, branch: &Name) -> Option<String> {
    let lands = |team: &Name| state.teams[team].setup.branch(team) == branch;
    let landed = state.tasks().iter().filter(|task| lands(&task.team));
    let landed = landed.filter_map(|task| match &task.status {
        Status::Completed { commit: Some(commit), .. } => Some((task.changed_at, commit)),
        _ => None,
    });
    landed.max().map(|(_, commit)| commit.clone())
}

pub(crate) async fn bring_base(crew: &Crew, here: &Here, base: Commit) -> Result<(), NotThere> {
    let wanted = base.clone();
    let is_here = with_repository(crew, move |repository| {
        repository.has_commit(&wanted).map_err(|e| e.to_string())
    });
    if is_here.await.map_err(later)? {
        return Ok(());
    }
    let passing = Passing::new(crew)?;
    let packs = here.packs().await.map_err(later)?;
    packs.get(&of_base(&base), &passing.0, PACK_BYTES_MAX).await?;
    let file = passing.0.clone();
    let taken = with_repository(crew, move |repository| {
        repository.unpack_base(&file, &base).map_err(|e| e.to_string())
    });
    taken.await.map_err(NotThere::Never)
}
