//! The process: socket, boards, idle exit, orderly end.

mod conversation;
mod hosting;
mod leaving;
mod tear_down;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;

use shipmate_model::{Actor, Name};
use shipmate_process::environment;
use shipmate_protocol::answers::Changed;
use shipmate_protocol::problem::nearest;
use shipmate_protocol::refused;
use shipmate_protocol::wire::{Reply, Request};
use shipmate_protocol::{Answer, Ask, Code, Refused, socket, verbs};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::attendance::Attendance;
use crate::board::{self, Attendant, Board, Job, WorkerEnd};
use crate::connection::{Connection, Room};
use crate::crew::{Crew, hooked, hosted};
use crate::errand::{self, Cleaning};
use crate::ground::{self, Ground};
use crate::host::{self, Here};
use crate::lock::{self, Lock};
use crate::open;
use crate::secret::Secrets;
use crate::settings::{Settings, Store};
use crate::verbs::{Itself, Left, Way, answer_to, way};
use crate::{scene, views};

/// How long a git that nobody waits for any more has to take its locks away.
const GIT_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// How long nobody is let in when the system has nothing left to let somebody in with.
const BREATH: std::time::Duration = std::time::Duration::from_millis(100);

/// How a coordinator ended, when it did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Another one serves this workspace.
    Served,
    Idle,
    Asked,
    /// The workspace, its state or its repository was taken away.
    Vanished,
}

struct Coordinator {
    settings: Rc<Settings>,
    secrets: Rc<Secrets>,
    /// This machine as one of several, where it has joined.
    here: Option<Rc<Here>>,
    boards: RefCell<BTreeMap<Name, Rc<Board>>>,
    /// Whoever looks after each of them.
    crews: RefCell<BTreeMap<Name, Rc<Attendance>>>,
    /// One at a time opens boards, so that none is opened twice.
    opening: tokio::sync::Mutex<()>,
    /// Of each teammate one request at a time looks for programs and playbooks.
    looks: RefCell<BTreeMap<String, Rc<tokio::sync::Mutex<()>>>>,
    /// A board was opened.
    opened: Notify,
    /// The other hosts are owed a sign at once.
    is_silent: Cell<bool>,
    minds_server: Cell<bool>,
    connections: Cell<usize>,
    room: Rc<Room>,
    /// Something changed that may make the coordinator idle, or broke it.
    changed: Rc<Notify>,
    stop: RefCell<Vec<Rc<Notify>>>,
    workers: Cell<usize>,
    /// A deleted team's folder was put away.
    put_away: Notify,
    /// Those whose folder could not be put away, and why.
    not_put_away: RefCell<BTreeMap<Name, String>>,
    /// What of a deleted team's teardown has failed, by tree, until that is told.
    not_torn_down: RefCell<BTreeMap<Name, Vec<(String, String)>>>,
    broken: RefCell<Option<String>>,
}

/// Runs the coordinator until it is idle or asked to end.
///
/// `ready` is called once the socket listens, or at once if somebody else's does.
pub fn run(settings: Settings, ready: impl FnOnce()) -> Result<Ended, String> {
    ground::prepare(&settings.place, settings.makes_state)?;
    socket::require_own_folder().map_err(|e| e.to_string())?;
    let socket = settings.place.socket();
    let named = |path: &Path, e: io::Error| format!("{}: {e}", path.display());
    let mut held = match lock::acquire(&settings.place, &socket)
        .map_err(|e| named(&settings.place.lock(), e))?
    {
        Lock::Ours(held) => held,
        Lock::Served => {
            ready();
            return Ok(Ended::Served);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let local = tokio::task::LocalSet::new();
    let bound = Cell::new(None);
    let ended = local.block_on(&runtime, async {
        let secrets = Secrets::load(&settings.place).map_err(|e| e.to_string())?;
        let mut settings = settings;
        host::ready(&mut settings, &secrets).await?;
        let here = Here::begin(&settings, &secrets).await?;
        host::settle(&settings, &secrets).await?;
        let listener = bind(&socket).map_err(|e| named(&socket, e))?;
        bound.set(identity(&socket));
        held.started();
        ready();
        let coordinator = Rc::new(Coordinator {
            settings: Rc::new(settings),
            secrets: Rc::new(secrets),
            here,
            boards: RefCell::default(),
            crews: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
            looks: RefCell::default(),
            opened: Notify::new(),
            is_silent: Cell::new(true),
            minds_server: Cell::new(false),
            connections: Cell::new(0),
            room: Room::new(),
            changed: Rc::new(Notify::new()),
            stop: RefCell::default(),
            workers: Cell::new(0),
            put_away: Notify::new(),
            not_put_away: RefCell::default(),
            not_torn_down: RefCell::default(),
            broken: RefCell::new(None),
        });
        let place = &coordinator.settings.place;
        shipmate_process::leave_no_core();
        shipmate_programs::fence::make_known(place);
        shipmate_workspace::hide_from_every_git(&place.state());
        // Before anything is begun: what a coordinator that was killed has left at work would
        // be in the way of it.
        end_orphans(place.digest()).await;
        host::end_forsaken().await;
        errand::settle_at_start(&coordinator.settings).await;
        coordinator.begin_hosting();
        let ended = coordinator.serve(listener).await;
        let crews = coordinator.crews();
        coordinator.end_boards().await;
        if let Ok(Ended::Vanished) = ended {
            // Nobody is left who could end them later, and nobody starts the server again.
            coordinator.minds_server.set(true);
            for crew in crews {
                crew.all_gone().await;
            }
            let digest = coordinator.settings.place.digest();
            end_orphans(digest.clone()).await;
            host::end_of(&digest).await;
        }
        ended
    });
    // Whoever connects from here on finds nobody, and starts the next one, which
    // waits for our lock: that is freed when this process ends. Only our own socket is
    // removed: if the folder was replaced, the one that lies there is a successor's.
    let ours = bound.get();
    if ours.is_some() && ours == identity(&socket) {
        fs::remove_file(&socket).map_err(|e| named(&socket, e))?;
    }
    ended
}

/// Which file this is, whatever it is called.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Binds under another name and renames: nobody ever finds a socket of a wrong mode.
fn bind(socket: &Path) -> io::Result<UnixListener> {
    let fresh = socket.with_extension("new");
    for stale in [&fresh, &socket.to_owned()] {
        match fs::remove_file(stale) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    let listener = socket::bind(&fresh)?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
    fs::rename(&fresh, socket)?;
    Ok(listener)
}

impl Coordinator {
    async fn serve(self: &Rc<Self>, listener: UnixListener) -> Result<Ended, String> {
        let asked = |kind| signal(kind).map_err(|e| e.to_string());
        let mut terminate = asked(SignalKind::terminate())?;
        let mut interrupt = asked(SignalKind::interrupt())?;
        let mut hangup = asked(SignalKind::hangup())?;
        let mut idle_since = tokio::time::Instant::now();
        let mut accepts_from = None;
        let ground = Ground::of(&self.settings.place);
        let mut vanished = std::pin::pin!(ground.vanished());
        loop {
            let idle = self.is_idle();
            let idle_end = async {
                match idle {
                    true => tokio::time::sleep_until(idle_since + self.settings.idle_exit).await,
                    false => std::future::pending().await,
                }
            };
            let next = async {
                if let Some(at) = accepts_from {
                    tokio::time::sleep_until(at).await;
                }
                listener.accept().await
            };
            tokio::select! {
                accepted = next => {
                    idle_since = tokio::time::Instant::now();
                    accepts_from = accepted.is_err().then(|| idle_since + BREATH);
                    if let Ok((stream, _)) = accepted {
                        self.accept(stream);
                    }
                }
                () = self.changed.notified() => {
                    if let Some(broken) = self.broken.borrow().clone() {
                        return Err(broken);
                    }
                    idle_since = tokio::time::Instant::now();
                }
                () = &mut vanished => return Ok(Ended::Vanished),
                () = idle_end => return Ok(Ended::Idle),
                _ = terminate.recv() => return Ok(Ended::Asked),
                _ = interrupt.recv() => return Ok(Ended::Asked),
                _ = hangup.recv() => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        let at_rest = |board: &Rc<Board>| board.is_at_rest();
        self.here.is_none()
            && self.connections.get() == 0
            && self.boards.borrow().values().all(at_rest)
    }

    fn crew(&self, root: &Name) -> Option<Rc<Attendance>> {
        self.crews.borrow().get(root).cloned()
    }

    fn crews(&self) -> Vec<Rc<Attendance>> {
        self.crews.borrow().values().cloned().collect()
    }

    /// Lets every board finish its turn and save a snapshot.
    async fn end_boards(&self) {
        for stop in self.stop.borrow().iter() {
            stop.notify_one();
        }
        while self.workers.get() > 0 {
            self.changed.notified().await;
        }
    }

    fn accept(self: &Rc<Self>, stream: UnixStream) {
        // The socket's mode keeps others out already; this holds if the folder's does not.
        if !stream.peer_cred().is_ok_and(|peer| socket::is_ours(peer.uid())) {
            return;
        }
        self.connections.set(self.connections.get() + 1);
        let this = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Ok(connection) = Connection::new(stream, &this.room) {
                if let Err(refused) = this.converse(&connection).await {
                    connection.send(&Reply::Refused { id: 0, refused });
                }
                connection.finish().await;
            }
            this.connections.set(this.connections.get() - 1);
            this.changed.notify_one();
        });
    }

    async fn dispatch(
        self: &Rc<Self>,
        connection: &Rc<Connection>,
        client: &Name,
        actor: &Actor,
        root: Option<&Name>,
        request: Request,
    ) {
        let Request { id, team, mut ask } = request;
        if let Way::Itself(verb) = way(&ask) {
            return connection.send(&Reply::to(id, self.about_itself(actor, verb)));
        }
        match &mut ask {
            // A team that somebody in a team makes works as the one above it: nothing is read or
            // changed for what else the request says.
            Ask::TeamCreate(create) if create.check && *actor != Actor::Person => {
                let text = format!("{actor} may not ask whether a team could begin");
                let refused = refused(Code::NotAllowed, text, "it is for a person");
                return connection.send(&Reply::Refused { id, refused });
            }
            Ask::TeamCreate(create) if *actor != Actor::Person => create.setup = None,
            Ask::TeamCreate(create) if create.check => {
                let checked = errand::begin(&self.settings, create).await;
                return connection
                    .send(&Reply::to(id, checked.map(|()| Answer::Done { first: 0, last: 0 })));
            }
            Ask::TeamCreate(create) if !self.is_recorded(&create.name).await => {
                if let Err(refused) = errand::begin(&self.settings, create).await {
                    return connection.send(&Reply::Refused { id, refused });
                }
            }
            _ => {}
        }
        if matches!(way(&ask), Way::Left(_) | Way::Workspace(_)) {
            let (this, to, actor) = (Rc::clone(self), Rc::clone(connection), actor.clone());
            connection.took_request();
            tokio::task::spawn_local(async move {
                let answer = this.without_board(&actor, team.as_deref(), &ask).await;
                to.send(&Reply::to(id, answer));
                to.settled_request();
            });
            return;
        }
        let found = self.find_board(root, team.as_deref(), &ask).await;
        match found {
            Ok(Found::All) => {
                let answer = self.teams().await;
                connection.send(&Reply::to(id, answer));
            }
            Ok(Found::One(board, team)) => {
                let begins = board.with_state(|state| state.position == 0);
                if begins && let Err(text) = hooked::keep(&self.settings, &board.root) {
                    let refused =
                        refused(Code::BadHooks, text, "a team is not begun without its hooks");
                    connection.send(&Reply::Refused { id, refused });
                    board.end_if_empty();
                    return;
                }
                let connection = Rc::clone(connection);
                let (client, actor) = (client.clone(), actor.clone());
                let job = Job { connection, id, client, actor, team, ask };
                // A board that is closed says so itself.
                let job = match self.crew(&board.root) {
                    Some(crew) => errand::take(&crew, job),
                    None => Some(job),
                };
                if let Some(job) = job {
                    board.push(job);
                }
            }
            Err(refused) => connection.send(&Reply::Refused { id, refused }),
        }
    }

    /// What is asked about the coordinator and not about a team.
    fn about_itself(&self, actor: &Actor, verb: Itself<'_>) -> Result<Answer, Refused> {
        if *actor != Actor::Person {
            return Err(errand::for_a_person(actor));
        }
        let Itself::Renew(verbs::Renew { environment }) = verb else {
            return answer_to::<verbs::Settings>(Ok(self.settings.agents.shown.clone()));
        };
        environment::renew(environment.clone());
        for crew in self.crews() {
            crew.spread_environment();
        }
        let read = self.settings.agents.renew(&self.settings.place);
        let read =
            read.map(|()| Changed::Unchanged).map_err(|text| refused(Code::BadConfig, text, ""));
        answer_to::<verbs::Renew>(read)
    }

    /// What is asked about the workspace, or about what teams have left in it.
    async fn without_board(
        self: &Rc<Self>,
        actor: &Actor,
        team: Option<&str>,
        ask: &Ask,
    ) -> Result<Answer, Refused> {
        match way(ask) {
            Way::Left(_) if *actor != Actor::Person => Err(errand::for_a_person(actor)),
            Way::Left(left) => answer_to::<verbs::Leftovers>(self.left(team, left).await),
            Way::Workspace(verb) => {
                let turns = self.looks.borrow_mut().entry(actor.to_string()).or_default().clone();
                let _in_turn = match actor {
                    Actor::Person => None,
                    _ => Some(turns.lock().await),
                };
                errand::of_workspace(&self.settings, actor, verb).await
            }
            Way::Decide(_)
            | Way::Look(_)
            | Way::Log(_)
            | Way::Sign(_)
            | Way::Errand(_)
            | Way::Fetch
            | Way::Itself(_) => unreachable!("a board answers these"),
        }
    }

    async fn find_board(
        self: &Rc<Self>,
        own_root: Option<&Name>,
        team: Option<&str>,
        ask: &Ask,
    ) -> Result<Found, Refused> {
        let team = team.map(scene::name).transpose()?;
        if let Ask::TeamCreate(create) = ask
            && create.parent.is_some()
            && self.roots()?.iter().any(|root| root.as_str() == create.name)
        {
            // By its name alone nobody could tell them apart.
            let text = format!("there is a team {} in this workspace already", create.name);
            return Err(refused(Code::TeamExists, text, "use another name"));
        }
        if let Some(root) = own_root {
            // A token is good for its own tree, whatever the request names.
            let board = self.board(root).await?.ok_or_else(|| no_team(root.as_str()))?;
            return Ok(Found::One(board, team));
        }
        match (ask, &team) {
            (Ask::Teams, _) => return Ok(Found::All),
            (Ask::TeamCreate(create), _) if create.parent.is_none() => {
                let root = scene::name(&create.name)?;
                // An earlier team of this name may be on its way out.
                while self.boards.borrow().get(&root).is_some_and(|board| board.is_closed()) {
                    self.put_away.notified().await;
                }
                return Ok(Found::One(self.create(&root).await?, None));
            }
            (Ask::TeamCreate(create), None) => {
                let parent = create.parent.as_deref().unwrap_or_default();
                let parent = scene::name(parent)?;
                return Ok(Found::One(self.board_of(&parent).await?, None));
            }
            (_, Some(team)) => {
                return Ok(Found::One(self.board_of(team).await?, Some(team.clone())));
            }
            (_, None) => {}
        }
        let mut roots = self.roots()?;
        // One that was looked for in vain is about to go.
        let boards = self.boards.borrow().clone();
        roots.retain(|root| boards.get(root).is_none_or(|board| board.has_begun()));
        match (roots.pop(), roots.is_empty()) {
            (None, _) => Err(nobody()),
            (Some(only), true) => {
                let board = self.board(&only).await?.ok_or_else(|| no_team(only.as_str()))?;
                Ok(Found::One(board, None))
            }
            (Some(last), false) => {
                roots.push(last);
                let names: Vec<String> = roots.iter().map(ToString::to_string).collect();
                let text = format!("there are several teams here: {}", names.join(", "));
                Err(refused(Code::AmbiguousTeam, text, "say which with --team"))
            }
        }
    }

    /// A team of this name is in a log: its folder alone may be what a coordinator left that was
    /// killed before it had recorded it.
    async fn is_recorded(self: &Rc<Self>, team: &str) -> bool {
        let Ok(name) = scene::name(team) else { return false };
        let board = match self.board_of(&name).await {
            Ok(board) => board,
            // What cannot be read may well be there.
            Err(refused) => return refused.code != no_team(team).code,
        };
        let is_recorded = board.with_state(|state| state.teams.contains_key(&name));
        if !is_recorded {
            board.end_if_empty();
        }
        is_recorded
    }

    /// The board of a root team or of any team below one.
    async fn board_of(self: &Rc<Self>, team: &Name) -> Result<Rc<Board>, Refused> {
        if let Some(board) = self.board(team).await? {
            return Ok(board);
        }
        let mut known = Vec::new();
        for root in self.roots()? {
            let Some(board) = self.board(&root).await? else { continue };
            if board.with_state(|state| state.teams.contains_key(team)) {
                return Ok(board);
            }
            known.extend(board.with_state(|state| state.teams.keys().cloned().collect::<Vec<_>>()));
        }
        let mut refused = no_team(team.as_str());
        if let Some(near) = nearest(team.as_str(), known.iter().map(Name::as_str)) {
            refused.message.push_str(&format!("; did you mean {near}?"));
        }
        Err(refused)
    }

    async fn teams(self: &Rc<Self>) -> Result<Answer, Refused> {
        let mut all = Vec::new();
        for root in self.roots()? {
            if let Some(board) = self.board(&root).await? {
                all.extend(board.with_state(views::teams));
            }
        }
        Ok(Answer::Teams(all))
    }

    /// The root teams of this workspace, by their folders.
    fn roots(&self) -> Result<Vec<Name>, Refused> {
        let folder = self.settings.place.teams();
        let entries = fs::read_dir(&folder).map_err(|e| {
            refused(
                Code::StateUnreadable,
                format!("{}: {e}", folder.display()),
                "check its permissions",
            )
        })?;
        // A machine that is a host no more has folders of teams whose logs are elsewhere.
        let is_shared = matches!(self.settings.store, Store::Nats(_));
        let is_own = |entry: &fs::DirEntry| is_shared || entry.path().join("log.db").exists();
        let own = entries.filter_map(Result::ok).filter(is_own);
        let names: BTreeSet<Name> =
            own.filter_map(|it| it.file_name().to_str()?.parse().ok()).collect();
        Ok(names.into_iter().collect())
    }

    async fn board(self: &Rc<Self>, root: &Name) -> Result<Option<Rc<Board>>, Refused> {
        if let Some(board) = self.boards.borrow().get(root) {
            return Ok(Some(Rc::clone(board)));
        }
        let folder = open::folder(&self.settings, root.as_str());
        let local = match self.settings.store {
            Store::Sqlite(_) => folder.join("log.db").exists(),
            Store::Nats(_) => folder.exists(),
        };
        if !local && matches!(self.settings.store, Store::Sqlite(_)) {
            return Ok(None);
        }
        let board = self.create(root).await?;
        let known = board.with_state(|state| state.root.is_some());
        Ok((local || known).then_some(board))
    }

    /// Opens a board, making its log where there is none.
    async fn create(self: &Rc<Self>, root: &Name) -> Result<Rc<Board>, Refused> {
        // A frozen server lets everybody in and answers nobody.
        if let Some(here) = &self.here
            && !here.is_reached().await
        {
            return Err(board::away(Some(&here.line)));
        }
        let _one_at_a_time = self.opening.lock().await;
        if let Some(board) = self.boards.borrow().get(root) {
            return Ok(Rc::clone(board));
        }
        let opened = open::open(&self.settings, root.as_str()).await?;
        let line = self.here.as_ref().map(|here| here.line.clone());
        let (board, worker) =
            board::new(root.clone(), opened, &self.settings, &self.secrets, &self.changed, line);
        let stop = Rc::new(Notify::new());
        self.stop.borrow_mut().push(Rc::clone(&stop));
        self.boards.borrow_mut().insert(root.clone(), Rc::clone(&board));
        self.workers.set(self.workers.get() + 1);
        let crew = Crew::new(&board, &self.settings, &self.secrets, self.here.as_ref());
        board.signs.borrow_mut().listen(self.host_lease_ms());
        let all = Attendance::new(crew);
        *board.attendant.borrow_mut() = Some(Rc::clone(&all) as Rc<dyn Attendant>);
        self.crews.borrow_mut().insert(root.clone(), Rc::clone(&all));
        let (queue, crew) = (Rc::clone(&all.queue), Rc::clone(all.crew()));
        let queue = tokio::task::spawn_local(crate::merge::run(queue, Rc::clone(&crew)));
        let hosted = self.here.as_ref().map(|here| hosted::run(Rc::clone(&crew), Rc::clone(here)));
        let hosted = hosted.map(tokio::task::spawn_local);
        let (this, root) = (Rc::clone(self), root.clone());
        tokio::task::spawn_local(async move {
            let end = worker.run(stop).await;
            queue.abort();
            hosted.iter().for_each(tokio::task::JoinHandle::abort);
            let board = this.boards.borrow().get(&root).cloned();
            if let Some(board) = board {
                if end == WorkerEnd::Over {
                    this.put_away(&board).await;
                }
                // The two hold each other.
                board.attendant.borrow_mut().take();
            }
            this.crews.borrow_mut().remove(&root);
            if let Some(here) = &this.here {
                here.of_teams.borrow_mut().remove(&root);
            }
            this.boards.borrow_mut().remove(&root);
            this.put_away.notify_waiters();
            match end {
                WorkerEnd::Stopped | WorkerEnd::Over => {}
                WorkerEnd::Empty => this.discard(&root),
                WorkerEnd::Broken(reason) => *this.broken.borrow_mut() = Some(reason),
            }
            this.workers.set(this.workers.get() - 1);
            this.changed.notify_one();
        });
        crew.take_stock().await;
        crew.expect_sessions();
        self.opened.notify_one();
        Ok(board)
    }
}

/// Ends gates, hooks and gits of a coordinator that was killed under them. A git is asked first:
/// then it takes its locks away.
async fn end_orphans(digest: String) {
    for (_, marker) in shipmate_process::marked(&digest) {
        let grace = match marker.kind() {
            "gate" | "hook" => std::time::Duration::ZERO,
            shipmate_workspace::MARKED_AS => GIT_GRACE,
            _ => continue,
        };
        shipmate_process::sweep(&marker, grace).await;
    }
    shipmate_workspace::mark_every_git(&digest);
}

enum Found {
    All,
    One(Rc<Board>, Option<Name>),
}

/// The same answers as a coordinator without a team gives, where there was never one: nothing
/// is made and nothing started. None for what begins something.
pub fn answer_without_state(
    settings: &Settings,
    team: Option<&str>,
    ask: &Ask,
) -> Option<Result<Answer, Refused>> {
    match (ask, way(ask)) {
        (Ask::TeamCreate(_) | Ask::Enrol(_), _) => None,
        // Another machine may have made the team, and its log is all there is of it here.
        _ if matches!(settings.store, Store::Nats(_)) => None,
        (Ask::Teams, _) => Some(answer_to::<verbs::Teams>(Ok(Vec::new()))),
        // Whoever begins something next has its own.
        (Ask::Renew(_), _) => Some(answer_to::<verbs::Renew>(Ok(Changed::Unchanged))),
        (_, Way::Workspace(verb)) => {
            Some(alone(errand::of_workspace(settings, &Actor::Person, verb)))
        }
        (_, Way::Left(Left::Over(verbs::Leftovers { remove, force }))) => {
            let cleaning = Cleaning { remove: *remove, force };
            let left = alone(errand::leftovers(settings, &[], &[], cleaning));
            Some(answer_to::<verbs::Leftovers>(left))
        }
        _ => Some(Err(team.map_or_else(nobody, no_team))),
    }
}

/// Without a coordinator: on this thread, until it is there.
fn alone<T>(answer: impl Future<Output = Result<T, Refused>>) -> Result<T, Refused> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| refused(Code::NoRuntime, e.to_string(), ""))?;
    tokio::task::LocalSet::new().block_on(&runtime, answer)
}

fn nobody() -> Refused {
    let remedy = "`shipmate run \"GOAL\"` begins one, `shipmate team create NAME` an empty one";
    refused(Code::NoTeam, "there is no team in this workspace".to_owned(), remedy)
}

fn no_team(team: &str) -> Refused {
    refused(
        Code::UnknownTeam,
        format!("there is no team {team}"),
        "`shipmate team list` names the teams",
    )
}
