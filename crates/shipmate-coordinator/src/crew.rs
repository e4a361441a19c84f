//! The crew: the supervisors of one tree of teams on this machine.
//!
//! Starting, watching and ending them are effects derived from the state. What is
//! recorded comes first: a life is in the log before its process is started, so a crash
//! in between leaves a life to start, never a process that nobody knows. A process that
//! goes is noticed by its pidfd at once; what it left running is ended before its task is
//! free again.

pub(crate) mod code;
pub(crate) mod copies;
mod elsewhere;
mod heard;
pub(crate) mod hooked;
pub(crate) mod hosted;
mod late;
mod metered;
mod ordering;
mod prepared;
mod shown;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use shipmate_core::state::Life as StateLife;
use shipmate_core::{Effect, NotSpawned, Wanted};
use shipmate_model::command::StartTeammate;
use shipmate_model::event::Supervision;
use shipmate_model::profile::Loss;
use shipmate_model::setup::TreeMode;
use shipmate_model::{Act, Name, TeammateRef};
use shipmate_process::{Marker, Pid, Signal, Watched};
use shipmate_protocol::Notice;
use shipmate_protocol::wire::Reply;

pub(crate) use heard::Comes;
use heard::Staying;

use crate::board::Board;
use crate::connection::Connection;
use crate::file_watch::Watch;
use crate::hooks::Hooks;
use crate::host::Here;
use crate::secret::{Secrets, hash};
use crate::settings::Settings;
use shipmate_programs::order::NOT_BEGUN;
use shipmate_programs::order::{LifeFolder, Order, Pulse, last_line};
use shipmate_programs::preparation::secrets;

/// Beyond the grace that a supervisor gives its agent.
const END_MARGIN: Duration = Duration::from_secs(2);

pub(crate) struct Crew {
    pub(crate) board: Rc<Board>,
    pub(crate) settings: Rc<Settings>,
    secrets: Rc<Secrets>,
    lives: RefCell<BTreeMap<TeammateRef, Rc<Life>>>,
    attached: RefCell<Vec<(TeammateRef, Rc<Connection>)>>,
    /// Those who are shown what is seen of the teammates.
    onlookers: RefCell<Vec<Rc<Connection>>>,
    /// Whose late work is being looked for.
    rescuing: Cell<usize>,
    rescued: tokio::sync::Notify,
    /// One at a time moves the branches of the teams: what a gate ran on stays the tip until its
    /// verdict counts.
    pub(crate) turn: tokio::sync::Mutex<()>,
    hooks: RefCell<Option<Rc<Hooks>>>,
    /// One idle hook at a time: they share a clone.
    pub(crate) idle_hook: tokio::sync::Mutex<()>,
    asked: Cell<u64>,
    /// How often the idle hook sent a life back to work since its last claim.
    pub(crate) sent_back: RefCell<BTreeMap<TeammateRef, (u32, u32)>>,
    /// Lives that were there when this board was opened, for `resume`.
    pub(crate) adopted: RefCell<BTreeSet<TeammateRef>>,
    /// Somebody came, moved or went.
    pub(crate) moved: tokio::sync::Notify,
    /// Sessions that are there, by their connections.
    staying: RefCell<BTreeMap<TeammateRef, Staying>>,
    /// This machine as one of several, where it has joined.
    pub(crate) here: Option<Rc<Here>>,
    /// One at a time brings code here or takes it away.
    pub(crate) code: tokio::sync::Mutex<()>,
    hosts_seen: Cell<u64>,
    hosts_changed: tokio::sync::Notify,
    /// Lives on other machines whose output is copied here.
    copied: RefCell<BTreeMap<TeammateRef, Rc<elsewhere::Copied>>>,
    /// One at a time adds to a copy.
    copying: tokio::sync::Mutex<()>,
    /// What other workspaces learn of accounts is watched for.
    accounts: RefCell<Option<Watch>>,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("lives", &self.lives.borrow().len()).finish_non_exhaustive()
    }
}

/// Why there is no supervisor.
#[derive(Debug)]
enum NotOrdered {
    /// Nobody could be started like that: a person has to mend it.
    Unable(String),
    /// There was no room for it.
    Passing(String),
}

impl From<String> for NotOrdered {
    fn from(reason: String) -> NotOrdered {
        NotOrdered::Unable(reason)
    }
}

/// A supervisor's process.
#[derive(Debug)]
struct Life {
    watched: Watched,
    /// Carried by its agent and whatever that started, and by itself.
    markers: Vec<Marker>,
    connection: RefCell<Option<Rc<Connection>>>,
    ending: Cell<bool>,
    /// It was given up while its process was there: what it still did is late work.
    replaced: Cell<bool>,
    /// Why its process has ended, once it has.
    gone: RefCell<Option<(String, Loss)>>,
    /// The stall for which it was last asked for a sign of life.
    asked_at: Cell<u32>,
}

impl Crew {
    pub(crate) fn new(
        board: &Rc<Board>,
        settings: &Rc<Settings>,
        secrets: &Rc<Secrets>,
        here: Option<&Rc<Here>>,
    ) -> Rc<Crew> {
        Rc::new(Crew {
            board: Rc::clone(board),
            settings: Rc::clone(settings),
            secrets: Rc::clone(secrets),
            lives: RefCell::default(),
            attached: RefCell::default(),
            onlookers: RefCell::default(),
            rescuing: Cell::new(0),
            rescued: tokio::sync::Notify::new(),
            turn: tokio::sync::Mutex::default(),
            hooks: RefCell::new(None),
            idle_hook: tokio::sync::Mutex::default(),
            asked: Cell::new(0),
            sent_back: RefCell::default(),
            adopted: RefCell::default(),
            moved: tokio::sync::Notify::new(),
            staying: RefCell::default(),
            here: here.cloned(),
            code: tokio::sync::Mutex::default(),
            hosts_seen: Cell::new(0),
            hosts_changed: tokio::sync::Notify::new(),
            copied: RefCell::default(),
            copying: tokio::sync::Mutex::default(),
            accounts: RefCell::default(),
        })
    }

    /// Starts and ends the processes that are owed.
    pub(crate) fn carry_out(self: &Rc<Self>, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(wanted) if self.is_home(&wanted.who.team) => self.start(wanted),
                Effect::Spawn { who } if self.may_spawn(&who) => self.spawn(who),
                Effect::EndProcess { who } if self.life(&who).is_some() => self.end(&who),
                // Recorded and never started: there is nothing to wait for.
                Effect::EndProcess { who } if self.lives_here(&who) => {
                    let reason = "it was ended before it was started";
                    if let Some(act) = self.ended(&who, reason, Loss::Died) {
                        self.board.tell(act);
                    }
                }
                Effect::Start(_) | Effect::Spawn { .. } | Effect::EndProcess { .. } => {}
                // Those are not about lives.
                Effect::Verify { .. }
                | Effect::TryGate { .. }
                | Effect::EnterPhase { .. }
                | Effect::LeavePhase { .. } => {}
            }
        }
    }

    pub(crate) fn attend_to_all(self: &Rc<Self>) {
        let lives: Vec<TeammateRef> = self.lives.borrow().keys().cloned().collect();
        for who in lives {
            self.attend_to(&who);
        }
    }

    /// Nobody is left here, and nobody's late work is looked for.
    pub(crate) fn is_alone(&self) -> bool {
        self.lives.borrow().is_empty() && self.rescuing.get() == 0
    }

    /// There is anybody here to look after, or somebody may be started.
    pub(crate) fn has_somebody(&self) -> bool {
        !self.lives.borrow().is_empty() || self.board.with_state(has_starters)
    }

    /// Ends a life that is no longer current; asks one that stalls for a sign.
    fn attend_to(self: &Rc<Self>, who: &TeammateRef) {
        let Some(life) = self.life(who) else { return };
        let stalls = self.board.with_state(|state| {
            let mate = state.teammates.get(&who.address)?;
            (mate.is_running() && mate.epoch == who.epoch).then_some(mate.stalls)
        });
        if let Some((reason, loss)) = &*life.gone.borrow() {
            // Told until the log has it: an append may have failed.
            return match self.ended(who, reason, *loss) {
                Some(act) => self.board.tell(act),
                None => self.forget(who, &life),
            };
        }
        let Some(stalls) = stalls else {
            life.replaced.set(true);
            self.folder(who).owe_rescue();
            return self.end(who);
        };
        if life.asked_at.replace(stalls) == stalls || stalls == 0 {
            return;
        }
        self.asked.set(self.asked.get() + 1);
        let asked = self.asked.get();
        self.board.signs.borrow_mut().asked.insert(who.clone(), asked);
        if let Some(connection) = &*life.connection.borrow() {
            connection.send(&Reply::Notice(Notice::Alive { asked }));
        }
        self.board.look();
    }

    /// What the end of a life's process means for the team.
    fn ended(&self, who: &TeammateRef, reason: &str, loss: Loss) -> Option<Act> {
        let act = self.board.with_state(|state| shipmate_core::ended(state, who, reason))?;
        Some(match act {
            Act::ReportDisappeared { who, reason, .. } => {
                Act::ReportDisappeared { who, reason, loss }
            }
            act => act,
        })
    }

    fn life(&self, who: &TeammateRef) -> Option<Rc<Life>> {
        self.lives.borrow().get(who).map(Rc::clone)
    }

    /// Its supervisor has said that it is there, or its host has.
    pub(crate) fn is_there(&self, who: &TeammateRef) -> bool {
        match self.life(who) {
            Some(life) => life.connection.borrow().is_some(),
            None => !self.lives_here(who) && self.board.signs.borrow().lives.contains_key(who),
        }
    }

    /// Its agent has shown that it is at work.
    pub(crate) fn has_moved(&self, who: &TeammateRef) -> bool {
        self.board.signs.borrow().lives.get(who).is_some_and(|sign| sign.count > 0)
    }

    /// Its model has answered: it is known how full its context is.
    pub(crate) fn has_answered(&self, who: &TeammateRef) -> bool {
        self.board.signs.borrow().lives.get(who).is_some_and(|sign| sign.context.is_some())
    }

    /// A life to start: not where its team waits, and not one that is to end.
    fn may_spawn(&self, who: &TeammateRef) -> bool {
        let wanted = self.board.with_state(|state| {
            let asked = state.teammates[&who.address].shutdown;
            let ends = asked.and_then(|id| state.shutdowns.get(&id)).is_some_and(|asked| {
                matches!(asked.end, shipmate_core::state::ShutdownEnd::Ending { .. })
            });
            state.teams[&who.address.team].paused.is_none() && !ends
        });
        wanted && self.lives_here(who)
    }

    fn start(self: &Rc<Self>, wanted: Wanted) {
        let Wanted { who, supervision } = wanted;
        // What is known of its account is known where it will ask with it.
        let host = self.board.with_state(|state| shipmate_core::next_host(state, &who));
        let is_this = |host: Name| self.here.as_ref().is_some_and(|here| here.file.name == host);
        if host.is_none_or(is_this) {
            self.look_at_account(&who);
        }
        let token_hash = self.board.with_state(|state| {
            let epoch = state.teammates[&who].epoch + 1;
            let next = TeammateRef { address: who.clone(), epoch };
            hash(&self.secrets.token(state, &next))
        });
        let start = StartTeammate { who, token_hash, supervision, at: None };
        self.board.tell(Act::StartTeammate(start));
    }

    fn folder(&self, who: &TeammateRef) -> LifeFolder {
        let life = format!("{}.{}@{}", who.address.team, who.address.name, who.epoch);
        LifeFolder(self.settings.place.life(self.board.root.as_str(), &life))
    }

    /// What a team's trees have copies of is not written down here. An agent has nothing of it yet.
    pub(crate) async fn hide_secrets(&self, team: Name) {
        let preparation = self.board.with_state(|state| {
            let trees = state.teams.get(&team)?.setup.trees.as_ref()?;
            Some(trees.preparation.clone()).filter(|preparation| !preparation.copy.is_empty())
        });
        if let Some(preparation) = preparation {
            secrets::hide(&self.settings.place.workspace, &preparation).await;
        }
    }

    fn spawn(self: &Rc<Self>, who: TeammateRef) {
        let (this, team) = (Rc::clone(self), who.address.team.clone());
        self.beside(async move { this.hide_secrets(team).await });
        self.look_at_account(&who.address);
        self.board.signs.borrow_mut().present.insert(who.clone());
        let folder = self.folder(&who);
        match self.try_spawn(&who, &folder) {
            Ok((child, life)) => {
                tracing::info!(%who, pid = child.id(), "a supervisor was started");
                self.lives.borrow_mut().insert(who.clone(), Rc::clone(&life));
                let this = Rc::clone(self);
                tokio::task::spawn_local(async move {
                    let mut child = child;
                    let code = child.wait().await.ok().and_then(|status| status.code());
                    match code == Some(i32::from(NOT_BEGUN)) {
                        true => {
                            let words = last_line(&this.folder(&who).words());
                            this.lives.borrow_mut().remove(&who);
                            this.not_spawned(&who, words.unwrap_or_default());
                        }
                        // How it ended is told by what it left.
                        false => this.gone(who, &life).await,
                    }
                });
            }
            Err(NotOrdered::Unable(reason)) => {
                tracing::warn!(%who, ?reason, "a life cannot begin");
                self.board.tell(Act::ReportDisappeared { who, reason, loss: Loss::Unable });
            }
            Err(NotOrdered::Passing(reason)) => self.not_spawned(&who, reason),
        }
    }

    /// There was no room for a supervisor: nothing is lost, and it is tried again.
    fn not_spawned(&self, who: &TeammateRef, reason: String) {
        tracing::warn!(%who, ?reason, "a supervisor was not started, and is tried again");
        self.folder(who).take_back();
        let mut signs = self.board.signs.borrow_mut();
        signs.present.remove(who);
        signs.lives.remove(who);
        let failed = NotSpawned { tries: 0, reason: String::new() };
        let failed = signs.not_spawned.entry(who.clone()).or_insert(failed);
        (failed.tries, failed.reason) = (failed.tries + 1, reason);
        drop(signs);
        self.board.look();
    }

    fn try_spawn(
        &self,
        who: &TeammateRef,
        folder: &LifeFolder,
    ) -> Result<(tokio::process::Child, Rc<Life>), NotOrdered> {
        let label = format!("{}.{}@{}", who.address.team, who.address.name, who.epoch);
        let home = self.settings.place.team(self.board.root.as_str());
        // Whoever took it away does not want it back.
        if !home.is_dir() {
            return Err(NotOrdered::Unable(format!("{} is gone", home.display())));
        }
        let digest = self.settings.place.digest();
        let unable = |reason: String| NotOrdered::Unable(reason);
        let marker = |kind| Marker::new(&digest, kind, &label).map_err(|e| unable(e.to_string()));
        let markers = [marker("agent")?, marker("supervisor")?];
        let order = self.order(who, &markers)?;
        let passing = |path: &Path, e: std::io::Error| {
            NotOrdered::Passing(format!("{}: {e}", path.display()))
        };
        folder.write(&order).map_err(|e| passing(&folder.0, e))?;
        let words = folder.words();
        let words = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&words)
            .map_err(|e| passing(&words, e))?;
        let program = &self.settings.agents.program;
        let child = tokio::process::Command::new(program)
            .arg("supervise")
            .arg(&folder.0)
            .current_dir(&self.settings.place.workspace)
            .envs(shipmate_process::environment::newer())
            .env(shipmate_process::MARKER_VARIABLE, &order.own_marker)
            .env_remove("SHIPMATE_TOKEN")
            .env_remove("SHIPMATE_TEAM")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(words)
            .process_group(0)
            .spawn()
            .map_err(|e| passing(program, e))?;
        let watched = child.id().and_then(pid).and_then(Watched::open);
        let watched = watched.ok_or_else(|| NotOrdered::Passing("it ended at once".to_owned()))?;
        let pid = watched.pid().as_raw_nonzero().get().unsigned_abs();
        let mut signs = self.board.signs.borrow_mut();
        signs.lives.entry(who.clone()).or_default().pid = Some(pid);
        Ok((child, Rc::new(Life::new(watched, order.markers()))))
    }

    /// The session that the last life's agent named and its supervisor had no time to tell. One that had
    /// something else behind it, program or model, had a conversation that is not this one.
    fn last_session(&self, who: &TeammateRef, [agent, model]: [&str; 2]) -> Option<String> {
        let epoch = who.epoch.checked_sub(1)?;
        let before = TeammateRef { address: who.address.clone(), epoch };
        let folder = self.folder(&before);
        let order = folder.read();
        if order.as_ref().is_ok_and(|order| [&order.agent, &order.model] != [agent, model]) {
            return None;
        }
        // A conversation is known only where it was held.
        let elsewhere = self.here.is_some() && epoch > 0 && order.is_err();
        let session = folder.read_session().filter(|session| !session.is_empty());
        session.or_else(|| elsewhere.then(String::new))
    }

    /// What a life was started with.
    pub(crate) fn order_of(&self, who: &TeammateRef) -> Option<Order> {
        self.folder(who).read().ok()
    }

    /// A new life gets the old tree only where no earlier one can still write in it.
    fn tree_path(&self, who: &TeammateRef, mode: TreeMode) -> PathBuf {
        let trees = self.settings.place.team(self.board.root.as_str()).join("trees");
        if mode == TreeMode::Shared {
            return trees.join(format!("{}.shared", who.address.team));
        }
        let name = format!("{}.{}", who.address.team, who.address.name);
        let earlier = (1..who.epoch).rev().find_map(|epoch| {
            let life = TeammateRef { address: who.address.clone(), epoch };
            let path = self.order_of(&life)?.tree?.path;
            let alive = matches!(self.folder(&life).pulse(), Ok(Pulse::Alive { .. }));
            Some((alive || self.lives.borrow().contains_key(&life), path))
        });
        match earlier {
            None => trees.join(name),
            Some((false, path)) => path,
            Some((true, _)) => trees.join(format!("{name}.{}", who.epoch)),
        }
    }

    /// Asks a life's process to end, and ends it when it does not.
    fn end(self: &Rc<Self>, who: &TeammateRef) {
        let Some(life) = self.life(who).filter(|life| !life.ending.replace(true)) else { return };
        drop(life.watched.signal(Signal::TERM));
        let limit = self.settings.agents.stop_grace + END_MARGIN;
        tokio::task::spawn_local(async move {
            if tokio::time::timeout(limit, life.watched.gone()).await.is_err() {
                tracing::warn!(pid = ?life.watched.pid(), "a supervisor is killed: it did not end");
                drop(life.watched.signal(Signal::KILL));
            }
        });
    }

    /// A supervisor's process has ended: so does everything it left.
    async fn gone(self: Rc<Self>, who: TeammateRef, life: &Life) {
        life.watched.gone().await;
        for marker in &life.markers {
            shipmate_process::sweep(marker, Duration::ZERO).await;
        }
        self.tidy(&who);
        let folder = self.folder(&who);
        let gone = match (folder.unable(), last_line(&folder.words())) {
            (Some(reason), _) => (reason, Loss::Unable),
            (None, Some(words)) => (words, Loss::Broken),
            (None, None) => ("its supervisor's process ended".to_owned(), Loss::Died),
        };
        tracing::info!(%who, reason = ?gone.0, loss = ?gone.1, "a supervisor has ended");
        *life.gone.borrow_mut() = Some(gone);
        self.moved.notify_waiters();
        self.board.look();
    }

    /// Nobody works in this life's tree any more: what a killed git left there goes.
    fn tidy(&self, who: &TeammateRef) {
        let tree = self.order_of(who).and_then(|order| order.tree);
        if let Some(tree) = tree.filter(|tree| !tree.shared) {
            shipmate_workspace::clear_locks(&tree.path);
        }
    }

    /// A life is over, in the log too.
    fn forget(self: &Rc<Self>, who: &TeammateRef, life: &Life) {
        self.lives.borrow_mut().remove(who);
        self.sent_back.borrow_mut().remove(who);
        {
            let mut signs = self.board.signs.borrow_mut();
            signs.present.remove(who);
            signs.asked.remove(who);
            signs.lives.remove(who);
        }
        let stopped = self.board.with_state(|state| {
            let mate = state.teammates.get(&who.address);
            mate.is_some_and(|mate| matches!(mate.life, StateLife::Stopped { .. }))
        });
        if life.replaced.get() || stopped || self.is_given_up() {
            self.folder(who).owe_rescue();
            self.rescue_beside(who.clone());
        } else {
            // A later coordinator need not look at it.
            drop(self.folder(who).pulse());
        }
    }

    /// Ends every process of this crew, and waits until none is there and nobody looks for what one
    /// has left.
    pub(crate) async fn all_gone(self: &Rc<Self>) {
        let lives: Vec<(TeammateRef, Rc<Life>)> =
            self.lives.borrow().iter().map(|(who, life)| (who.clone(), Rc::clone(life))).collect();
        for (who, life) in lives {
            self.end(&who);
            life.watched.gone().await;
            for marker in &life.markers {
                shipmate_process::sweep(marker, Duration::ZERO).await;
            }
        }
        while self.rescuing.get() > 0 {
            self.rescued.notified().await;
        }
    }

    /// Waits until what every life left behind is in the log.
    pub(crate) async fn all_rescued(&self) {
        while self.rescuing.get() > 0 {
            self.rescued.notified().await;
        }
        self.board.settled().await;
    }

    /// Looks at the lives that the log knows: who is there, and who went meanwhile. Where
    /// nobody is left, everything on this machine was ended at once: the team waits for
    /// somebody to say that it should go on.
    pub(crate) async fn take_stock(self: &Rc<Self>) {
        let running: Vec<TeammateRef> = self.board.with_state(|state| {
            let supervised = state
                .teammates
                .iter()
                .filter(|(_, mate)| mate.is_running() && mate.supervision != Supervision::None);
            let lives = supervised
                .map(|(address, mate)| TeammateRef { address: address.clone(), epoch: mate.epoch });
            lives.collect()
        });
        let mut over = Vec::new();
        let mut alive = false;
        self.end_earlier(&running);
        // Beside it: nobody may be started before all of these are known.
        let teams: BTreeSet<Name> = running.iter().map(|who| who.address.team.clone()).collect();
        for team in teams {
            let this = Rc::clone(self);
            self.beside(async move { this.hide_secrets(team).await });
        }
        for who in running.into_iter().filter(|who| self.lives_here(who)) {
            match self.folder(&who).pulse() {
                Ok(Pulse::NotBegun) => {}
                Ok(Pulse::Alive { pid }) if self.adopt(&who, pid) => {
                    alive = true;
                    self.adopted.borrow_mut().insert(who);
                }
                _ => over.push(who),
            }
        }
        // Before anything else happens: nobody may start them while they are looked at.
        self.board.signs.borrow_mut().present.extend(over.iter().cloned());
        // Who was asked to end and did is no sign of anything.
        let unasked = |who: &TeammateRef| {
            matches!(self.ended(who, "", Loss::Host), Some(Act::ReportDisappeared { .. }))
        };
        let everything = !alive && over.iter().any(unasked);
        let loss = if everything { Loss::Host } else { Loss::Died };
        // Once, before any of them is looked at further: somebody may have it go on meanwhile.
        let teams: BTreeSet<Name> = over.iter().map(|who| who.address.team.clone()).collect();
        // Where other hosts go on, only those of this one are gone.
        for team in teams.into_iter().filter(|team| everything && self.is_home(team)) {
            let reason = "everything had ended".to_owned();
            self.board.tell(Act::PauseTeam { team, reason });
        }
        for who in over {
            self.bury(&who, loss).await;
        }
        self.board.settled().await;
    }

    /// Watches a supervisor that an earlier coordinator started.
    fn adopt(self: &Rc<Self>, who: &TeammateRef, raw: i32) -> bool {
        let markers = self.order_of(who).map(|order| order.markers()).unwrap_or_default();
        // By its own marker: a number that was read may be another's by now.
        let own = Pid::from_raw(raw).zip(markers.last());
        let Some(watched) = own.and_then(|(pid, own)| Watched::carrying(pid, own)) else {
            return false;
        };
        let life = Rc::new(Life::new(watched, markers));
        {
            let mut signs = self.board.signs.borrow_mut();
            signs.present.insert(who.clone());
            signs.lives.entry(who.clone()).or_default().pid = Some(raw.unsigned_abs());
        }
        self.lives.borrow_mut().insert(who.clone(), Rc::clone(&life));
        let (this, who) = (Rc::clone(self), who.clone());
        tokio::task::spawn_local(async move { this.gone(who, &life).await });
        true
    }

    /// A life that ended while nobody watched.
    async fn bury(&self, who: &TeammateRef, loss: Loss) {
        for marker in self.order_of(who).map(|order| order.markers()).unwrap_or_default() {
            shipmate_process::sweep(&marker, Duration::ZERO).await;
        }
        self.tidy(who);
        let (reason, loss) = match self.folder(who).unable() {
            Some(reason) => (reason, Loss::Unable),
            None => ("its supervisor had ended when the coordinator came back".to_owned(), loss),
        };
        if let Some(act) = self.ended(who, &reason, loss) {
            self.board.tell(act);
        }
    }

    /// A life that is there carries this marker.
    pub(crate) fn owns(&self, marker: &Marker) -> bool {
        let covered = |life: &Rc<Life>| life.markers.iter().any(|own| own.covers(marker));
        self.lives.borrow().values().any(covered)
            || self.board.busy.get() > 0 && matches!(marker.kind(), "gate" | "hook")
    }
}

impl Life {
    fn new(watched: Watched, markers: Vec<Marker>) -> Life {
        Life {
            watched,
            markers,
            connection: RefCell::new(None),
            ending: Cell::new(false),
            replaced: Cell::new(false),
            gone: RefCell::new(None),
            asked_at: Cell::new(0),
        }
    }
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

/// Somebody may have to be started here.
fn has_starters(state: &shipmate_core::State) -> bool {
    let rule = shipmate_model::profile::StartRule::WhenNeeded;
    state.teammates.values().any(|mate| mate.profile.start == rule)
}
