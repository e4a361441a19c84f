//! What all sessions of one server share: the workspace, its settings, and the followed logs.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError, Weak};

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::verbs::Setup;
use shipmate_protocol::{Client, Place};
use tokio::sync::broadcast::{Receiver, WeakSender};

use crate::config::Config;
use crate::mcp::news::{self, Happening};
use crate::mcp::prompts;

/// On whose behalf a session is: it cannot be changed by what the session says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// The person of the workspace: its sessions are enrolled, or make a team to be in.
    Person,
    /// Somebody who may be enrolled in a team and nothing else.
    Guest,
    /// The teammate with this token.
    Token(String),
}

/// One who is connected, as far as a server has to know it.
pub(crate) trait Connected: std::fmt::Debug + Send + Sync {
    /// Gives its seat back.
    fn leave(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) place: Place,
    launch: Launch,
    pub(crate) config: Config,
    /// It was started by the program of a teammate, which has its tools from elsewhere.
    pub(crate) is_inside: bool,
    /// Who follows logs for everybody.
    follower: Caller,
    followed: Mutex<HashMap<String, WeakSender<Happening>>>,
    open: Mutex<BTreeMap<u64, Weak<dyn Connected>>>,
}

impl Hub {
    pub(crate) fn new(place: Place, launch: Launch, config: Config, follower: Caller) -> Hub {
        let followed = Mutex::default();
        Hub { place, launch, config, is_inside: false, follower, followed, open: Mutex::default() }
    }

    /// A guest acts with the seat that it is given. Until then this server asks for it, as the
    /// person: which teams there are, and for a seat.
    /// Why nothing is offered here, where nothing is.
    pub(crate) fn why_off(&self) -> &'static str {
        if self.is_inside { prompts::INSIDE } else { prompts::OFF }
    }

    pub(crate) fn client(&self, caller: &Caller, team: Option<String>) -> Client {
        let token = match caller {
            Caller::Person | Caller::Guest => TokenSource::Person,
            Caller::Token(token) => TokenSource::Given(token.clone()),
        };
        let mut client = Client::new(self.place.clone(), self.launch.clone(), token);
        client.team = team;
        client
    }

    /// What happens in a team from here on.
    pub(crate) fn news(&self, team: &str) -> Receiver<Happening> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tell) = followed.get(team).and_then(WeakSender::upgrade) {
            return tell.subscribe();
        }
        let (news, tell) = news::follow(self.client(&self.follower, Some(team.to_owned())));
        followed.insert(team.to_owned(), tell);
        news
    }

    /// Without any team on disk nobody has to start a coordinator to find none.
    pub(crate) fn may_have_teams(&self) -> bool {
        let nats = self.config.log == crate::config::LogKind::Nats;
        nats || std::fs::read_dir(self.place.teams()).is_ok_and(|mut teams| teams.next().is_some())
    }

    /// How a team that is created from a session works, unless it is said otherwise.
    pub(crate) fn setup(&self) -> Option<Setup> {
        let is_repository = |at: &Path| at.join(".git").exists();
        is_repository(&self.place.workspace).then(|| Setup { dirty: true, ..self.config.setup() })
    }

    pub(crate) fn opened(&self, id: u64, session: Weak<dyn Connected>) {
        self.open().insert(id, session);
    }

    pub(crate) fn closed(&self, id: u64) {
        self.open().remove(&id);
    }

    pub(crate) fn sessions(&self) -> usize {
        self.open().len()
    }

    /// Ends every session that is still there.
    pub(crate) async fn close_all(&self) {
        let open: Vec<Weak<dyn Connected>> = self.open().values().cloned().collect();
        for session in open.iter().filter_map(Weak::upgrade) {
            session.leave().await;
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Weak<dyn Connected>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
