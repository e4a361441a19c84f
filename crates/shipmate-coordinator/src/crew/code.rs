//! Code on its way between hosts, as packs in the store that all of them reach.
//!
//! What is handed in on a host is stored before the board hears of it; the home gets it before it is
//! merged. What lands is stored before anybody is told that it landed, and where a branch stands is on
//! record: a host that begins a task gets all that landed before, one pack after the other.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use shipmate_log::PackFailure;
use shipmate_model::status::HostState;
use shipmate_model::{Act, Name};
use shipmate_process::blocking;
use shipmate_programs::order::Order;
use shipmate_programs::tenancy;
use shipmate_workspace::{Aside, Commit, Repository, Stands, UnpackFailure, WorkKey};

use super::Crew;
use crate::host::Here;

/// The largest pack that is taken.
const PACK_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;

/// Why code did not come or go.
#[derive(Debug)]
pub(crate) enum NotThere {
    /// Nobody has stored it.
    Absent(String),
    /// The server is away.
    Later(String),
    /// Trying again does not help.
    Never(String),
}

impl From<PackFailure> for NotThere {
    fn from(failure: PackFailure) -> NotThere {
        match failure {
            PackFailure::Absent(_) => NotThere::Absent(failure.to_string()),
            PackFailure::Unavailable(_) | PackFailure::File(_) => {
                NotThere::Later(failure.to_string())
            }
            PackFailure::Damaged { .. } | PackFailure::TooLarge { .. } => {
                NotThere::Never(failure.to_string())
            }
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
        fs::create_dir_all(&folder).map_err(|e| later(format!("{}: {e}", folder.display())))?;
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

/// Stores where the branches of the teams stand, and says so. At the home only.
pub(crate) async fn publish(crew: &Rc<Crew>, here: &Here) -> Result<(), NotThere> {
    let _in_turn = crew.code.lock().await;
    if !crew.is_home(&crew.board.root) {
        return Ok(());
    }
    let teams: Vec<Name> = crew.board.with_state(|state| state.teams.keys().cloned().collect());
    for team in teams {
        fetch_in_turn(crew, here, &team).await?;
    }
    let (branches, lacked) = crew.board.with_state(|state| {
        let others = state
            .hosts
            .iter()
            .filter(|(name, host)| **name != here.file.name && host.state != HostState::Left);
        let others: Vec<_> = others.map(|(_, host)| host.spec.lacks.clone()).collect();
        let teams = state.teams.iter().filter(|_| !others.is_empty());
        let with_trees = teams.filter_map(|(name, team)| {
            let trees = team.setup.trees.as_ref()?;
            let branch = team.setup.branch(name).clone();
            Some((branch.clone(), trees.base.clone(), state.branches.get(&branch).cloned()))
        });
        let branches: Vec<_> = with_trees.collect();
        (branches, others.into_iter().flatten().collect::<std::collections::BTreeSet<_>>())
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
    for (branch, base, on_record) in branches {
        let (named, file) = (branch.to_string(), Passing::new(crew)?);
        let path = file.0.clone();
        let known: Vec<Commit> =
            on_record.iter().chain([&base]).filter_map(|text| Commit::parse(text)).collect();
        let packed = with_repository(crew, move |repository| {
            let text = |e: shipmate_workspace::Failure| e.to_string();
            let Some(tip) = repository.tip(&named).map_err(text)? else { return Ok(None) };
            if known.first() == Some(&tip) && on_record.is_some() {
                return Ok(None);
            }
            let packed = repository.pack_branch(&named, &known, &path).map_err(text)?;
            Ok(Some((tip, packed)))
        });
        let Some((tip, packed)) = packed.await.map_err(NotThere::Never)? else { continue };
        if packed {
            let packs = here.packs().await.map_err(later)?;
            packs.put(&of_branch(&branch, &tip), &file.0).await?;
        }
        crew.board.tell(Act::ReportBranch { branch, commit: tip.to_string() });
    }
    Ok(())
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
    // The newest first, until one is found that builds on what is here.
    let mut missing = vec![wanted];
    let mut packs: Vec<(Commit, Passing)> = Vec::new();
    while let Some(next) = missing.pop() {
        let (looked_for, named) = (next.clone(), branch.to_string());
        let is_here = with_repository(crew, move |repository| {
            let is_here = repository.has_commit(&looked_for).map_err(|e| e.to_string())?;
            let tip = repository.tip(&named).map_err(|e| e.to_string())?;
            Ok((is_here, tip))
        });
        let (is_here, tip) = is_here.await.map_err(later)?;
        if is_here {
            if packs.is_empty() && tip.as_ref() != Some(&next) {
                point(crew, &branch, next, tip).await?;
            }
            continue;
        }
        let passing = Passing::new(crew)?;
        let name = of_branch(&branch, &next);
        let got = here.packs().await.map_err(later)?.get(&name, &passing.0, PACK_BYTES_MAX).await;
        match got {
            // A pack names every commit that it touches: one that was never a tip comes with another.
            Err(PackFailure::Absent(_)) if !packs.is_empty() => continue,
            got => got?,
        }
        let file = passing.0.clone();
        let needs = with_repository(crew, move |repository| {
            repository.missing_for(&file).map_err(|e| e.to_string())
        });
        missing.extend(needs.await.map_err(NotThere::Never)?);
        packs.push((next, passing));
    }
    while let Some((commit, passing)) = packs.pop() {
        let named = branch.to_string();
        let taken = with_repository(crew, move |repository| {
            let old = repository.tip(&named).map_err(|e| e.to_string())?;
            match repository.unpack_branch(&passing.0, &commit, &named, old.as_ref()) {
                Err(UnpackFailure::Incomplete { missing }) => Ok(Some(missing.join(", "))),
                unpacked => unpacked.map(|()| None).map_err(|e| e.to_string()),
            }
        });
        if let Some(missing) = taken.await.map_err(NotThere::Never)? {
            return Err(later(format!("the commits {missing} are not here yet")));
        }
    }
    Ok(())
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

/// The commits that the teams of a board begin at and that are not here.
pub(crate) async fn lacks(crew: &Crew) -> Vec<Commit> {
    let bases: Vec<Commit> = crew.board.with_state(|state| {
        let trees = state.teams.values().filter_map(|team| team.setup.trees.as_ref());
        trees.filter_map(|trees| Commit::parse(&trees.base)).collect()
    });
    let all = bases.clone();
    let lacked = with_repository(crew, move |repository| {
        Ok(bases.into_iter().filter(|base| !repository.has_commit(base).unwrap_or(false)).collect())
    });
    // Without a repository there is nothing here.
    lacked.await.unwrap_or(all)
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
