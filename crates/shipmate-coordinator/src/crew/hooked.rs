//! The hooks of a tree of teams: kept as they were when it was created, asked before a
//! step counts, told after others.
//!
//! A copy lies beside the log, and its digest is recorded with the team: hooks that were
//! changed afterwards, or cannot be read, let nothing pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shipmate_model::event::Event;
use shipmate_model::setup::SET_UP_FAILS;
use shipmate_model::{Act, Name, Record, TeammateRef};
use shipmate_process::blocking;
use shipmate_process::regular_file::read_whole;
use shipmate_process::{Launcher, Marker};
use shipmate_programs::fence::{self, Grounds};
use shipmate_programs::tenancy::author;
use shipmate_workspace::{Commit, Repository, Tree};

use super::Crew;
use crate::clones::HOOK_CLONE;
use crate::hooks::{
    Fired, HOOK_BYTES_MAX, HookEvent, Hooks, Payload, Registered, Scene, Verdict, claude, fire,
};
use crate::settings::Settings;

/// What a host says that has other hooks than the team, in the place of their events.
pub(crate) const OTHER_HOOKS: &str = "other";

/// How often in a row the idle hook may send a teammate back to work that gets no new task.
pub(crate) const IDLE_REJECTIONS_MAX: u32 = 3;

/// What [`keep`] calls the lines of the configuration, and those of Claude Code's settings.
const LINES: &str = ".lines.json";
const REGISTERED: &str = ".registered.json";

const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// The hooks of the configuration and of the project, as they are now.
pub(crate) fn live(settings: &Settings) -> Result<Hooks, String> {
    let folder = settings.place.project().join("hooks");
    load(lines(settings)?, registered(settings)?, &folder, settings)
}

/// Those of Claude Code's settings, as they are committed; as they are where there are no commits.
fn registered(settings: &Settings) -> Result<Vec<Registered>, String> {
    if !settings.agents.claude_hooks {
        return Ok(Vec::new());
    }
    let workspace = &settings.place.workspace;
    let text = match Repository::open(workspace) {
        Ok(repository) => {
            // Without a commit there is nothing that a team could begin with.
            let Ok(head) = repository.head() else { return Ok(Vec::new()) };
            repository.read_file(&head.commit, claude::FILE).map_err(|e| e.to_string())?
        }
        Err(_) => match read_whole(&workspace.join(claude::FILE), SETTINGS_BYTES_MAX) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(format!("{}: {e}", claude::FILE)),
        },
    };
    text.map_or(Ok(Vec::new()), |text| claude::registered(&String::from_utf8_lossy(&text)))
}

/// Which hooks of Claude Code's settings do not count, because the file is not committed as it lies in
/// the checkout. One that cannot be read there registers nothing that could count.
pub(crate) fn uncommitted(workspace: &Path) -> Option<String> {
    let text = read_whole(&workspace.join(claude::FILE), SETTINGS_BYTES_MAX).ok()?;
    let here = claude::registered(&String::from_utf8_lossy(&text)).ok()?;
    let repository = Repository::open(workspace).ok()?;
    let head = repository.head().ok()?.commit;
    let committed = repository.read_file(&head, claude::FILE).ok()?.unwrap_or_default();
    let committed = claude::registered(&String::from_utf8_lossy(&committed)).unwrap_or_default();
    let counts = |one: &Registered| {
        committed.iter().any(|own| own.event == one.event && own.line == one.line)
    };
    let mut events: Vec<String> = Vec::new();
    for one in here.iter().filter(|one| !counts(one)) {
        let event = one.event.to_string();
        if !events.contains(&event) {
            events.push(event);
        }
    }
    (!events.is_empty()).then(|| {
        format!(
            "hooks of {} for {} do not count until they are committed",
            claude::FILE,
            events.join(", ")
        )
    })
}

fn lines(settings: &Settings) -> Result<Vec<(HookEvent, String)>, String> {
    let mut found = Vec::new();
    for (event, lines) in &settings.agents.hooks {
        let event: HookEvent = event.parse().map_err(|e| format!("{e}"))?;
        found.extend(lines.iter().map(|line| (event, line.clone())));
    }
    Ok(found)
}

fn load(
    lines: Vec<(HookEvent, String)>,
    registered: Vec<Registered>,
    folder: &Path,
    settings: &Settings,
) -> Result<Hooks, String> {
    Hooks::load(lines, registered, folder, settings.agents.hook_timeout).map_err(|e| e.to_string())
}

fn folder(settings: &Settings, root: &Name) -> PathBuf {
    settings.place.team(root.as_str()).join("hooks")
}

/// Hooks that cannot be had let nothing pass: a gate that a broken folder opens guards
/// nothing.
fn closed(why: &str, settings: &Settings) -> Hooks {
    let text = format!("the hooks of this team cannot be used: {why}").replace('\'', "");
    let line = format!("printf '%s' '{text}' >&2; exit 2");
    let gates = HookEvent::ALL.into_iter().filter(|event| event.is_gate());
    let lines = gates.map(|event| (event, line.clone())).collect();
    let nowhere = settings.place.state().join("no-hooks");
    load(lines, Vec::new(), &nowhere, settings).unwrap_or_default()
}

/// The commit that hooks of Claude Code's settings look at: as it is, with what they stand on as it
/// was when the team began.
pub(crate) fn as_judged(
    repository: &Repository,
    commit: &Commit,
    base: &str,
    theirs: &[Registered],
) -> Result<Commit, String> {
    if theirs.is_empty() {
        return Ok(commit.clone());
    }
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let base = Commit::parse(base).ok_or("the team's base is no commit")?;
    let files = repository.files_of(&base).map_err(|e| text(&e))?;
    let files = claude::stands_on(&files, theirs);
    let is_kept = |path: &str| claude::is_kept(path, &files);
    let made = repository.with_files_of(commit, &base, is_kept, &author("shipmate"));
    made.map_err(|e| text(&e))
}

/// Keeps the hooks as they are now for a tree of teams that begins.
pub(crate) fn keep(settings: &Settings, root: &Name) -> Result<(), String> {
    let to = folder(settings, root);
    let named = |e: io::Error| format!("{}: {e}", to.display());
    fs::create_dir_all(&to).map_err(named)?;
    copy(&settings.place.project().join("hooks"), &to).map_err(named)?;
    let lines = serde_json::to_vec(&lines(settings)?).expect("lines are JSON");
    fs::write(to.join(LINES), lines).map_err(named)?;
    let theirs = serde_json::to_vec(&registered(settings)?).expect("lines are JSON");
    fs::write(to.join(REGISTERED), theirs).map_err(named)
}

/// What stands in a repository may be a link to what has no end, or to a folder around it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    for entry in entries {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&path, &target)?;
        } else {
            let named = |e: io::Error| io::Error::other(format!("{}: {e}", path.display()));
            fs::write(&target, read_whole(&path, HOOK_BYTES_MAX).map_err(named)?)?;
            fs::set_permissions(&target, fs::metadata(&path)?.permissions())?;
        }
    }
    Ok(())
}

/// Fires hooks in a tree with its variables, and says how each of them ended.
pub(crate) async fn fire_all(
    settings: &Settings,
    root: &str,
    hooks: &Hooks,
    payload: &Payload,
    (cwd, own): (&Path, &BTreeMap<String, String>),
) -> Result<Fired, String> {
    let label = payload.hook_event_name.to_string();
    let marker = Marker::new(&settings.place.digest(), "hook", &label);
    let program = settings.agents.program.clone();
    let kept = settings.place.team(root).join("hooks");
    let grounds = Grounds::of(&settings.place, &settings.agents, root, "_hooks")?;
    let gated = fence::gated(&grounds, &settings.place, cwd, vec![kept])?;
    let mut env = gated.env;
    env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    let scene = Scene {
        cwd: cwd.to_owned(),
        project_dir: settings.place.workspace.clone(),
        marker: marker.map_err(|e| e.to_string())?,
        launcher: Launcher::through(program, vec!["exec-tree".into()]),
        env,
        env_remove: gated.env_remove,
        fence: gated.fence,
    };
    Ok(fire(hooks, payload, &scene).await)
}

/// Why a hook cannot run.
#[derive(Debug)]
pub(crate) enum NoGround {
    /// The set-up of its tree fails, which is nobody's doing who is asked about.
    SetUp(String),
    Failed(String),
}

impl Crew {
    /// The hooks of this tree of teams; those of now for one that kept none.
    pub(crate) fn hooks(&self) -> Rc<Hooks> {
        let mut hooks = self.hooks.borrow_mut();
        Rc::clone(hooks.get_or_insert_with(|| {
            Rc::new(self.load_hooks().unwrap_or_else(|text| closed(&text, &self.settings)))
        }))
    }

    /// The events that there are hooks for; where they are not those of the team, that alone.
    pub(crate) fn hook_events(&self) -> BTreeSet<String> {
        match self.load_hooks() {
            Ok(hooks) => hooks.events().collect(),
            Err(_) => BTreeSet::from([OTHER_HOOKS.to_owned()]),
        }
    }

    /// They are read anew when they are next asked for.
    pub(crate) fn forget_hooks(&self) {
        self.hooks.replace(None);
    }

    fn load_hooks(&self) -> Result<Hooks, String> {
        let kept = folder(&self.settings, &self.board.root);
        let hooks = match fs::read(kept.join(LINES)) {
            Ok(text) => {
                let lines = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
                let theirs = match fs::read(kept.join(REGISTERED)) {
                    Ok(text) => serde_json::from_slice(&text).map_err(|e| e.to_string())?,
                    // A team that is older than they are.
                    Err(_) => Vec::new(),
                };
                load(lines, theirs, &kept, &self.settings)?
            }
            Err(_) => live(&self.settings)?,
        };
        let recorded = self.board.with_state(|state| {
            let root = state.root.as_ref().and_then(|root| state.teams.get(root));
            root.map(|root| root.setup.hooks_digest.clone()).unwrap_or_default()
        });
        match recorded.is_empty() || recorded == hooks.digest() {
            true => Ok(hooks),
            false => Err(format!("they are not those that were recorded ({recorded})")),
        }
    }

    pub(crate) fn has_hooks(&self, event: HookEvent) -> bool {
        self.hooks().of(event).next().is_some()
    }

    /// What every hook of an event is told.
    pub(crate) fn payload(&self, event: HookEvent, team: &Name, cwd: &Path) -> Payload {
        let log = self.settings.place.team(self.board.root.as_str()).join("log.db");
        Payload {
            transcript_path: log.display().to_string(),
            team_name: Some(team.to_string()),
            ..Payload::new(event, self.board.root.as_str(), &cwd.display().to_string())
        }
    }

    /// Asks or tells the hooks of an event, in a tree with its variables. The error is what a rejection says.
    pub(crate) async fn fire(
        &self,
        team: &Name,
        payload: &Payload,
        ground: (&Path, &BTreeMap<String, String>),
    ) -> Result<(), String> {
        let root = self.board.root.as_str();
        let fired = fire_all(&self.settings, root, &self.hooks(), payload, ground).await?;
        match fired.verdict {
            Verdict::Accepted { notes } => {
                for note in notes {
                    let (team, hook) = (team.clone(), payload.hook_event_name.to_string());
                    self.board.tell(Act::ReportHook { team, hook, note });
                }
                Ok(())
            }
            Verdict::Rejected { reason } => Err(reason),
        }
    }

    /// Where the idle hook of a team runs: in a clone of its own, on what has come to the team's
    /// branch, since what is left to do is known there and not in the person's tree. Without trees
    /// it runs in the workspace. With the variables of that tree.
    pub(crate) async fn idle_ground(
        self: &Rc<Self>,
        team: &Name,
    ) -> Result<(PathBuf, BTreeMap<String, String>), NoGround> {
        let workspace = self.settings.place.workspace.clone();
        let setup = self.board.with_state(|state| {
            let setup = state.teams.get(team).map(|team| (*team.setup).clone());
            setup.filter(|setup| setup.trees.is_some())
        });
        let Some(setup) = setup else { return Ok((workspace, BTreeMap::new())) };
        let branch = setup.branch(team).to_string();
        let base = setup.trees.as_ref().map(|trees| trees.base.clone()).unwrap_or_default();
        let theirs = self.hooks().registered(HookEvent::TeammateIdle);
        let path = self.settings.place.team(self.board.root.as_str()).join("trees");
        let path = path.join(format!("{team}.{HOOK_CLONE}"));
        let made = blocking(move || {
            let text = |e: &dyn std::fmt::Display| e.to_string();
            let repository = Repository::open(&workspace).map_err(|e| text(&e))?;
            let tip = repository.tip(&branch).map_err(|e| text(&e))?;
            let tip = tip.or_else(|| Commit::parse(&base)).ok_or("the team's base is no commit")?;
            let tip = as_judged(&repository, &tip, &base, &theirs)?;
            let tree = Tree::prepare(&repository, &path, "hook", &author("shipmate"));
            let tree = tree.map_err(|e| text(&e))?;
            tree.check_out_afresh(&repository, &tip).map_err(|e| text(&e))?;
            Ok(tree.path().to_owned())
        });
        let path = made.await.map_err(NoGround::Failed)?;
        if !self.has_hooks(HookEvent::TeammateIdle) {
            return Ok((path, BTreeMap::new()));
        }
        let prepared = self.prepare(team, &setup, &path, |_| {}).await;
        let failed = |reason| NoGround::SetUp(format!("{SET_UP_FAILS}: {reason}"));
        Ok((path, prepared.map_err(failed)?))
    }

    /// The idle hook has had its say: a teammate without new work is idle in the end.
    pub(crate) fn sent_back_often(&self, who: &TeammateRef) -> bool {
        let claims = self.claims(who);
        let sent_back = self.sent_back.borrow();
        sent_back.get(who).is_some_and(|(at, n)| *at == claims && *n >= IDLE_REJECTIONS_MAX)
    }

    pub(crate) fn send_back(&self, who: &TeammateRef) {
        let claims = self.claims(who);
        let mut sent_back = self.sent_back.borrow_mut();
        let (at, n) = sent_back.entry(who.clone()).or_default();
        *n = if *at == claims { *n + 1 } else { 1 };
        *at = claims;
    }

    fn claims(&self, who: &TeammateRef) -> u32 {
        self.board
            .with_state(|state| state.teammates.get(&who.address).map_or(0, |mate| mate.claims))
    }

    /// Tells the hooks what has happened.
    pub(crate) fn report_records(self: &Rc<Self>, records: &[Record]) {
        // Where several machines share a log, those of the home are told.
        let knows = self.board.with_state(|state| state.teams.contains_key(&self.board.root));
        if knows && !self.is_home(&self.board.root) || self.hooks().is_empty() {
            return;
        }
        let mut ended: BTreeMap<&Name, String> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::TeammateStarted { who, .. } => {
                    self.report(HookEvent::TeammateStarted, &who.address.team, Some(who), None);
                }
                Event::TeammateDisappeared { who, reason, .. } => {
                    let (event, reason) = (HookEvent::TeammateDisappeared, reason.clone());
                    self.report(event, &who.address.team, Some(who), Some(reason));
                }
                Event::TeamDeletionRequested { team } => {
                    ended.insert(team, "it is being deleted".to_owned());
                }
                Event::ShutdownRequested { who, reason, .. } if self.is_last(who) => {
                    ended.entry(&who.address.team).or_insert_with(|| reason.clone());
                }
                _ => {}
            }
        }
        for (team, reason) in ended {
            self.report(HookEvent::TeamShutdown, team, None, Some(reason));
        }
    }

    /// Tells the hooks of an event that cannot be rejected any more.
    fn report(
        self: &Rc<Self>,
        event: HookEvent,
        team: &Name,
        who: Option<&TeammateRef>,
        reason: Option<String>,
    ) {
        if !self.has_hooks(event) {
            return;
        }
        let cwd = self.settings.place.workspace.clone();
        let payload = Payload {
            teammate_name: who.map(|who| who.address.name.to_string()),
            agent_id: who.map(|who| who.to_string()),
            agent_type: who.map(|who| who.address.name.to_string()),
            reason,
            ..self.payload(event, team, &cwd)
        };
        let (this, team) = (Rc::clone(self), team.clone());
        self.beside(async move {
            if let Err(note) = this.fire(&team, &payload, (&cwd, &BTreeMap::new())).await {
                let hook = payload.hook_event_name.to_string();
                this.board.tell(Act::ReportHook { team, hook, note });
            }
        });
    }

    /// With this request everybody of the team has been asked to stop.
    fn is_last(&self, who: &shipmate_model::TeammateRef) -> bool {
        self.board.with_state(|state| {
            let mut running =
                state.members_of(&who.address.team).filter(|(_, mate)| mate.is_running());
            running.all(|(_, mate)| mate.shutdown.is_some())
        })
    }

    /// Runs something that the coordinator must not end under.
    pub(crate) fn beside(self: &Rc<Self>, errand: impl Future<Output = ()> + 'static) {
        let board = Rc::clone(&self.board);
        board.busy.set(board.busy.get() + 1);
        tokio::task::spawn_local(async move {
            errand.await;
            board.rested();
        });
    }
}
