//! One session and its seat: taken from a token, or by enrolment; looked up again at every call.
//!
//! A visitor (no team to be in) acts with the person's token, but only through the few tools a
//! visitor has; a guest is none, and without a team it can do nothing. An enrolled session keeps a
//! connection open for as long as it lives, and renews it with every new coordinator. When its seat
//! is lost it is enrolled again, once per call.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shipmate_protocol::tools::{Seat, SeatKind};
use shipmate_protocol::verbs::Enrol;
use shipmate_protocol::view::{TeamState, TeamView, TeammateState, TeammateView};
use shipmate_protocol::{Ask, Code, Mode, Refused, answers, verbs};
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::mcp::hub::{Caller, Connected, Hub};
use crate::mcp::link::{Link, refusal};
use crate::mcp::news::{self, Happening};
use crate::mcp::seat_file::{SeatFile, SeatNote};
use crate::mcp::session_board::CALL_MAX;

static LAST: AtomicU64 = AtomicU64::new(0);

/// What a session would like to be, where it can choose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wish {
    pub(crate) team: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) lead: bool,
    /// The process whose hooks are to find the seat.
    pub(crate) client: Option<u32>,
    /// It does not come back: its seat goes with it.
    pub(crate) once: bool,
}

impl Wish {
    /// What SHIPMATE_SEAT and SHIPMATE_SEAT_LEAD say.
    pub(crate) fn of_environment() -> Wish {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let lead = set("SHIPMATE_SEAT_LEAD").is_some_and(|lead| lead != "0" && lead != "false");
        Wish { name: set("SHIPMATE_SEAT"), lead, ..Wish::default() }
    }

    fn stay(&self) -> Ask {
        if self.once { Ask::StayOnce } else { Ask::Stay }
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    id: u64,
    pub(crate) hub: Arc<Hub>,
    pub(crate) caller: Caller,
    wish: Wish,
    seated: tokio::sync::Mutex<Option<Arc<Seated>>>,
    signs: watch::Sender<Signs>,
    /// How often its tools were listed.
    listed: watch::Sender<u64>,
    /// The seat as the last look found it.
    last: Mutex<Option<Seat>>,
}

/// What those who push to the client wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// Grows when other tools are there than before.
    pub(crate) tools: u64,
    /// Grows when another seat is taken, perhaps in another team.
    seats: u64,
    /// Somebody wants to hear what happens in the team.
    pub(crate) looks_out: bool,
}

/// A seat that is taken.
#[derive(Debug)]
pub(crate) struct Seated {
    pub(crate) link: Link,
    pub(crate) team: String,
    pub(crate) name: String,
    epoch: u32,
    stays: Option<AbortHandle>,
    _file: Option<SeatFile>,
}

/// One life of a teammate.
struct Life {
    team: String,
    name: String,
    epoch: u32,
}

/// From where a call is made.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) seat: Seat,
    pub(crate) link: Link,
    /// None for a visitor.
    pub(crate) view: Option<Box<TeammateView>>,
}

impl Connected for Session {
    fn leave(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Session::leave(self))
    }
}

impl Session {
    pub(crate) fn open(hub: &Arc<Hub>, caller: Caller, wish: Wish) -> Arc<Session> {
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        let session = Arc::new(Session {
            id,
            hub: Arc::clone(hub),
            caller,
            wish,
            seated: tokio::sync::Mutex::default(),
            signs: watch::Sender::default(),
            listed: watch::Sender::default(),
            last: Mutex::default(),
        });
        let weak = Arc::downgrade(&session);
        hub.opened(id, weak);
        session
    }

    /// Where this session stands, with a seat taken where there is one for it.
    pub(crate) async fn stand(&self, program: &str, until: Instant) -> Result<Standing, Refused> {
        let mut seated = self.seated.lock().await;
        if let Some(there) = seated.as_ref() {
            match there.look(until).await {
                Ok(view) => return Ok(self.noted(there, view)),
                Err(refused) if !is_lost(&refused) => return Err(refused),
                Err(refused) if there.stays.is_none() => return Err(lost(&refused)),
                Err(_) => *seated = None,
            }
        }
        let taken = match &self.caller {
            Caller::Token(token) => Some(self.take_given(token, until).await?),
            Caller::Guest if self.wish.lead => return Err(no_lead()),
            Caller::Person | Caller::Guest => match self.team(until).await? {
                Some((team, _)) => Some(self.enrol(team, self.wish.lead, program, until).await?),
                None if self.caller == Caller::Guest => return Err(no_team()),
                None => None,
            },
        };
        let Some((there, view)) = taken else { return Ok(self.visit()) };
        let there = Arc::new(there);
        *seated = Some(Arc::clone(&there));
        Ok(self.noted(&there, view))
    }

    /// The seat that the first call will find, without taking one.
    pub(crate) async fn prospect(&self, program: &str, until: Instant) -> Result<Seat, Refused> {
        if self.caller == Caller::Guest && self.wish.lead {
            return Err(no_lead());
        }
        if matches!(self.caller, Caller::Token(_)) || self.seated.lock().await.is_some() {
            return Ok(self.stand("", until).await?.seat);
        }
        let (team, tools) = match self.team(until).await? {
            Some(found) => found,
            // What it will have; until there is a team each call says that there is none.
            None if self.caller == Caller::Guest => Default::default(),
            None => return Ok(self.visit().seat),
        };
        let leads = self.wish.lead || self.led_before(&team, program, until).await;
        let kind = if leads { SeatKind::Lead } else { SeatKind::Teammate };
        let tools = if leads { tools } else { Vec::new() };
        let seat = Seat { team, name: String::new(), kind, mode: Mode::Normal, tools };
        self.compare(&seat);
        Ok(seat)
    }

    /// Whether the seat that it will find is the one that it led the team from before.
    async fn led_before(&self, team: &str, program: &str, until: Instant) -> bool {
        if self.caller != Caller::Person || team.is_empty() {
            return false;
        }
        let link = Link::new(self.hub.client(&Caller::Person, Some(team.to_owned())));
        let name = self.wish.name.clone().unwrap_or_else(|| name_of(program));
        let view = link.ask(verbs::TeammateShow { name }, until).await;
        // While another session has it, this one gets a seat beside it.
        let is_free = |state: TeammateState| {
            matches!(
                state,
                TeammateState::Stopped | TeammateState::Disappeared | TeammateState::Failed
            )
        };
        view.is_ok_and(|view| view.lead && is_free(view.state))
    }

    /// Takes the lead's seat of a team that this session has created.
    pub(crate) async fn lead(
        &self,
        team: String,
        program: &str,
        until: Instant,
    ) -> Result<Standing, Refused> {
        let mut seated = self.seated.lock().await;
        let (there, view) = self.enrol(team, true, program, until).await?;
        let there = Arc::new(there);
        *seated = Some(Arc::clone(&there));
        Ok(self.noted(&there, view))
    }

    /// What can be read from here without taking a seat: the board and the log of a team.
    pub(crate) async fn reader(&self, until: Instant) -> Result<Option<(Link, String)>, Refused> {
        if let Some(there) = self.seated.lock().await.as_ref() {
            return Ok(Some((there.link.clone(), there.team.clone())));
        }
        match self.caller {
            Caller::Token(_) => {
                let standing = self.stand("", until).await?;
                return Ok(Some((standing.link, standing.seat.team)));
            }
            // It reads nothing but from its seat.
            Caller::Guest => return Ok(None),
            Caller::Person => {}
        }
        let team = self.team(until).await?;
        let link = |team: &String| Link::new(self.hub.client(&Caller::Person, Some(team.clone())));
        Ok(team.map(|(team, _)| (link(&team), team)))
    }

    /// Its seat, if it has taken one.
    pub(crate) async fn taken(&self) -> Option<Arc<Seated>> {
        self.seated.lock().await.clone()
    }

    /// What happens in its team from here on; none while it has no team.
    pub(crate) async fn news(&self, until: Instant) -> Option<Receiver<Happening>> {
        let (_, team) = self.reader(until).await.ok()??;
        Some(self.hub.news(&team))
    }

    pub(crate) fn signs(&self) -> watch::Receiver<Signs> {
        self.signs.subscribe()
    }

    /// Its tools were listed.
    pub(crate) fn listed(&self) {
        self.listed.send_modify(|times| *times += 1);
    }

    /// Tells when its tools are listed the next time.
    pub(crate) fn listings(&self) -> watch::Receiver<u64> {
        self.listed.subscribe()
    }

    /// From here on the client wants to hear what happens in the team.
    pub(crate) fn look_out(&self) {
        self.signs.send_modify(|signs| signs.looks_out = true);
    }

    /// Gives the seat back.
    pub(crate) async fn leave(&self) {
        self.hub.closed(self.id);
        let Some(there) = self.seated.lock().await.take() else { return };
        if there.stays.is_some() {
            // Where nobody answers, the end of the connection says the same.
            drop(there.link.ask(Ask::Leave, Instant::now() + CALL_MAX).await);
        }
    }

    fn visit(&self) -> Standing {
        let link = Link::new(self.hub.client(&Caller::Person, self.wish.team.clone()));
        let seat = Seat {
            team: String::new(),
            name: String::new(),
            kind: SeatKind::Visitor,
            mode: Mode::Normal,
            tools: Vec::new(),
        };
        self.compare(&seat);
        Standing { seat, link, view: None }
    }

    fn noted(&self, there: &Seated, view: Box<TeammateView>) -> Standing {
        let seat = Seat {
            team: there.team.clone(),
            name: there.name.clone(),
            kind: if view.lead { SeatKind::Lead } else { SeatKind::Teammate },
            mode: view.mode,
            tools: view.tools.clone(),
        };
        self.compare(&seat);
        Standing { seat, link: there.link.clone(), view: Some(view) }
    }

    /// The first look at a seat changes nothing; a later one that differs does.
    fn compare(&self, seat: &Seat) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let other = |last: &Seat| {
            last.kind != seat.kind || last.mode != seat.mode || last.tools != seat.tools
        };
        if last.as_ref().is_some_and(other) {
            self.signs.send_modify(|signs| signs.tools += 1);
        }
        *last = Some(seat.clone());
    }

    /// The team a session without a token belongs to, the one it names or the only one, and the
    /// tools of its lead.
    async fn team(&self, until: Instant) -> Result<Option<(String, Vec<String>)>, Refused> {
        if !self.hub.may_have_teams() {
            return Ok(None);
        }
        let link = Link::new(self.hub.client(&Caller::Person, None));
        let teams = link.ask(verbs::Teams, until).await?;
        let there: Vec<&TeamView> =
            teams.iter().filter(|team| team.phase == TeamState::Active).collect();
        let mut found = match &self.wish.team {
            Some(name) => there.into_iter().filter(|team| team.name == *name).collect::<Vec<_>>(),
            None => there.into_iter().filter(|team| team.parent.is_none()).collect(),
        };
        let only = found.pop().filter(|_| found.is_empty());
        Ok(only.map(|team| (team.name.clone(), team.lead_tools.clone())))
    }

    async fn take_given(
        &self,
        token: &str,
        until: Instant,
    ) -> Result<(Seated, Box<TeammateView>), Refused> {
        let caller = Caller::Token(token.to_owned());
        let link = Link::new(self.hub.client(&caller, self.wish.team.clone()));
        let actor = link.actor(until).await.map_err(|refused| match is_lost(&refused) {
            true => lost(&refused),
            false => refused,
        })?;
        let life = actor.split_once('@').and_then(|(who, epoch)| {
            let (team, name) = who.split_once('/')?;
            Some(Life { team: team.to_owned(), name: name.to_owned(), epoch: epoch.parse().ok()? })
        });
        let Some(life) = life else {
            return Err(refusal(
                Code::BadToken,
                format!("the token of this session belongs to {actor}, which is no teammate"),
                "give it the token of a teammate, or none",
            ));
        };
        link.turn_to(life.team.clone(), until).await?;
        self.seat(link, None, life, token, until).await
    }

    async fn enrol(
        &self,
        team: String,
        lead: bool,
        program: &str,
        until: Instant,
    ) -> Result<(Seated, Box<TeammateView>), Refused> {
        let person = Link::new(self.hub.client(&Caller::Person, Some(team)));
        let name = self.wish.name.clone().unwrap_or_else(|| name_of(program));
        let enrol = Enrol { name, lead, agent: program.to_owned() };
        let answers::Enrolled { seat, token } = person.ask(enrol, until).await?;
        let caller = Caller::Token(token.clone());
        let client = |team: &str| Link::new(self.hub.client(&caller, Some(team.to_owned())));
        let stay = client(&seat.team);
        stay.ask(self.wish.stay(), until).await?;
        let link = client(&seat.team);
        let life = Life { team: seat.team, name: seat.name, epoch: seat.epoch };
        self.seat(link, Some(stay), life, &token, until).await
    }

    async fn seat(
        &self,
        link: Link,
        stay: Option<Link>,
        life: Life,
        token: &str,
        until: Instant,
    ) -> Result<(Seated, Box<TeammateView>), Refused> {
        let Life { team, name, epoch } = life;
        let (news, ask) = (self.hub.news(&team), self.wish.stay());
        let stays = stay.map(|stay| tokio::spawn(keep(stay, ask, news)).abort_handle());
        let who = format!("{team}/{name}");
        let note = SeatNote { team: team.clone(), who, token: token.to_owned() };
        let file = self.wish.client.and_then(|pid| SeatFile::write(&self.hub.place, pid, &note));
        let there = Seated { link, team, name, epoch, stays, _file: file };
        let view = there.look(until).await?;
        self.signs.send_modify(|signs| signs.seats += 1);
        Ok((there, view))
    }
}

impl Seated {
    async fn look(&self, until: Instant) -> Result<Box<TeammateView>, Refused> {
        let view = self.link.ask(verbs::TeammateShow { name: self.name.clone() }, until).await?;
        // The connection of an ended life may still look, but nothing of it counts.
        if view.epoch != self.epoch {
            let text =
                format!("{}@{} was succeeded by epoch {}", self.name, self.epoch, view.epoch);
            return Err(refusal(Code::StaleTeammate, &text, ""));
        }
        if matches!(
            view.state,
            TeammateState::Stopped | TeammateState::Disappeared | TeammateState::Failed
        ) {
            let text = format!("{}@{} has {}", self.name, self.epoch, view.state);
            return Err(refusal(Code::NotRunning, &text, ""));
        }
        Ok(Box::new(view))
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        if let Some(stays) = &self.stays {
            stays.abort();
        }
    }
}

/// Holds the connection that says that the session lives, and makes it again when there is a new
/// coordinator.
async fn keep(stay: Link, ask: Ask, mut news: Receiver<Happening>) {
    while let Some(happening) = news::next(&mut news).await {
        if matches!(happening, Happening::Connected | Happening::Missed)
            && stay.ask(ask.clone(), Instant::now() + CALL_MAX).await.is_err_and(|r| is_lost(&r))
        {
            return;
        }
    }
    // The log can no longer be followed; the connection still says that the session lives.
    std::future::pending::<()>().await;
}

/// The seat is no longer this session's.
fn is_lost(refused: &Refused) -> bool {
    matches!(
        refused.code,
        Code::BadToken
            | Code::StaleTeammate
            | Code::NotRunning
            | Code::UnknownTeammate
            | Code::UnknownTeam
            | Code::TeamGone
    )
}

fn no_team() -> Refused {
    refusal(
        Code::NoTeam,
        "there is no team to be in, or there are several and none is named",
        "the person makes one with `shipmate team create NAME`; the header shipmate-team names one",
    )
}

/// This token lies in the settings of programs, where every teammate can read it.
fn no_lead() -> Refused {
    refusal(
        Code::NotAllowed,
        "the token of `shipmate serve` enrols members, and no lead",
        "leave out the header shipmate-seat-lead; `SHIPMATE_SEAT_LEAD=1 shipmate mcp` seats a lead",
    )
}

fn lost(refused: &Refused) -> Refused {
    refusal(
        refused.code,
        format!("this session's token no longer counts: {}", refused.message),
        "end this session; its place was taken by a newer life, or its team is gone",
    )
}

/// A name for a session of this program: `claude` for `claude-code`.
fn name_of(program: &str) -> String {
    let letters = program.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let name: String = letters.chars().take_while(char::is_ascii_alphabetic).take(32).collect();
    match name.to_ascii_lowercase().as_str() {
        "" | "person" | "runtime" | "all" => "guest".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_after_its_program() {
        for (program, name) in [
            ("claude-code", "claude"),
            ("codex-mcp-client", "codex"),
            ("Visual Studio Code", "visual"),
            ("  @scope/tool", "scope"),
            ("person", "guest"),
            ("4711", "guest"),
            ("", "guest"),
        ] {
            assert_eq!(name_of(program), name, "{program:?}");
        }
    }
}
