//! The hooks of a tree of teams: kept as they were when it was created, asked before a
//! step counts, told after others.
//!
//! A copy lies beside the log, and its digest is recorded with the team: hooks that were
//! changed afterwards, or cannot be read, let nothing pass.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shipmate_core::event::Event;
use shipmate_core::{Act, Name, Record, TeammateRef};
use shipmate_process::{Launcher, Marker};

use super::Crew;
use crate::errand::IDLE_REJECTIONS_MAX;
use crate::fence::{self, Grounds};
use crate::hooks::{Fired, HOOK_BYTES_MAX, HookEvent, Hooks, Payload, Scene, Verdict, fire};
use crate::regular_file::read_whole;
use crate::settings::Settings;

/// The hooks of the configuration and of the project, as they are now.
pub(crate) fn live(settings: &Settings) -> Result<Hooks, String> {
    load(lines(settings)?, &settings.place.project().join("hooks"), settings)
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
    folder: &Path,
    settings: &Settings,
) -> Result<Hooks, String> {
    Hooks::load(lines, folder, settings.agents.hook_timeout).map_err(|e| e.to_string())
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
    load(lines, &nowhere, settings).unwrap_or_default()
}

/// Keeps the hooks as they are now for a tree of teams that begins.
pub(crate) fn keep(settings: &Settings, root: &Name) -> Result<(), String> {
    let to = folder(settings, root);
    let named = |e: io::Error| format!("{}: {e}", to.display());
    fs::create_dir_all(&to).map_err(named)?;
    copy(&settings.place.project().join("hooks"), &to).map_err(named)?;
    let lines = serde_json::to_vec(&lines(settings)?).expect("lines are JSON");
    fs::write(to.join(".lines.json"), lines).map_err(named)
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

/// Fires hooks, and says how each of them ended.
pub(crate) async fn fire_all(
    settings: &Settings,
    root: &str,
    hooks: &Hooks,
    payload: &Payload,
    cwd: &Path,
) -> Result<Fired, String> {
    let label = payload.hook_event_name.to_string();
    let marker = Marker::new(&settings.place.digest(), "hook", &label);
    let program = settings.agents.program.clone();
    let kept = settings.place.team(root).join("hooks");
    let grounds = Grounds::of(settings, root, "_hooks")?;
    let gated = fence::gated(&grounds, &settings.place, cwd, vec![kept])?;
    let scene = Scene {
        cwd: cwd.to_owned(),
        project_dir: settings.place.workspace.clone(),
        marker: marker.map_err(|e| e.to_string())?,
        launcher: Launcher::through(program, vec!["exec-tree".into()]),
        env: gated.env,
        env_remove: gated.env_remove,
        fence: gated.fence,
    };
    Ok(fire(hooks, payload, &scene).await)
}

impl Crew {
    /// The hooks of this tree of teams; those of now for one that kept none.
    pub(crate) fn hooks(&self) -> Rc<Hooks> {
        let mut hooks = self.hooks.borrow_mut();
        Rc::clone(hooks.get_or_insert_with(|| {
            Rc::new(self.load_hooks().unwrap_or_else(|text| closed(&text, &self.settings)))
        }))
    }

    fn load_hooks(&self) -> Result<Hooks, String> {
        let kept = folder(&self.settings, &self.board.root);
        let hooks = match fs::read(kept.join(".lines.json")) {
            Ok(text) => {
                let lines = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
                load(lines, &kept, &self.settings)?
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

    /// Asks or tells the hooks of an event. The error is what a rejection says.
    pub(crate) async fn fire(
        &self,
        team: &Name,
        payload: &Payload,
        cwd: &Path,
    ) -> Result<(), String> {
        let fired =
            fire_all(&self.settings, self.board.root.as_str(), &self.hooks(), payload, cwd).await?;
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
    pub(crate) fn saw(self: &Rc<Self>, records: &[Record]) {
        if self.hooks().is_empty() {
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
            if let Err(note) = this.fire(&team, &payload, &cwd).await {
                let hook = payload.hook_event_name.to_string();
                this.board.tell(Act::ReportHook { team, hook, note });
            }
        });
    }

    /// With this request everybody of the team has been asked to stop.
    fn is_last(&self, who: &shipmate_core::TeammateRef) -> bool {
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
