//! A board by itself: a log in memory, clients on socket pairs, and an attendant that only notes what
//! it is told. No process is started and no file is written but the keys of a workspace.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use shipmate_core::State;
use shipmate_log::{MemoryFault, MemoryLog};
use shipmate_model::{Act, Address, Event, TeammateRef};
use shipmate_programs::Agents;
use shipmate_protocol::verbs::{TaskFilter, TaskNew, TeamCreate, TeammateAdd, Verb};
use shipmate_protocol::view::TaskStatus;
use shipmate_protocol::{Code, Place, refused, verbs};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;

use super::*;
use crate::connection::Room;
use crate::settings::{Current, Durability};

/// What an attendant was told.
#[derive(Debug, Default)]
struct Notes {
    effects: RefCell<Vec<Effect>>,
    records: RefCell<Vec<Record>>,
}

impl Attendant for Notes {
    fn carry_out(self: Rc<Self>, effects: Vec<Effect>) -> bool {
        self.effects.borrow_mut().extend(effects);
        false
    }

    fn saw(self: Rc<Self>, records: &[Record]) {
        self.records.borrow_mut().extend_from_slice(records);
    }

    fn may_tell(&self, _: &Act) -> bool {
        true
    }
}

struct Table {
    board: Rc<Board>,
    log: MemoryLog,
    notes: Rc<Notes>,
    room: Rc<Room>,
    clients: Cell<usize>,
}

/// Somebody at a board, with a connection of their own.
struct Guest {
    connection: Rc<Connection>,
    lines: BufReader<UnixStream>,
    client: Name,
    actor: Actor,
    asked: u64,
}

impl Table {
    fn guest(&self, actor: Actor) -> Guest {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let connection = Connection::new(ours, &self.room).unwrap();
        connection.belongs_to(&actor).unwrap();
        self.clients.set(self.clients.get() + 1);
        let client = format!("client-{}", self.clients.get()).parse().unwrap();
        Guest { connection, lines: BufReader::new(theirs), client, actor, asked: 0 }
    }

    /// A team with a task and two teammates who have begun, as whom somebody comes back.
    async fn team(&self) -> (Guest, Guest, Guest) {
        let mut person = self.guest(Actor::Person);
        let team = TeamCreate { name: "alpha".to_owned(), ..TeamCreate::default() };
        person.ask(self, team).await.unwrap();
        let mut mates = Vec::new();
        for name in ["ana", "bo"] {
            let add = TeammateAdd { name: name.to_owned(), ..TeammateAdd::default() };
            person.ask(self, add).await.unwrap();
            let supervision = verbs::Supervision::None;
            let start = verbs::TeammateStart { name: name.to_owned(), supervision };
            person.ask(self, start).await.unwrap();
            let address: Address = format!("alpha/{name}").parse().unwrap();
            mates.push(self.guest(Actor::Teammate(TeammateRef { address, epoch: 1 })));
        }
        let (bo, ana) = (mates.pop().unwrap(), mates.pop().unwrap());
        (person, ana, bo)
    }

    fn names(&self) -> Vec<&'static str> {
        self.notes.records.borrow().iter().map(|record| record.event.name()).collect()
    }

    /// How often each event is in the log itself.
    fn stored(&self, event: &str) -> usize {
        let page = self.log.read_now(0, 1_000);
        page.iter().filter(|record| record.text.contains(&format!("\"{event}\""))).count()
    }

    fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.board.with_state(look)
    }
}

impl Guest {
    fn send(&mut self, table: &Table, ask: impl Into<Ask>) {
        self.asked += 1;
        self.send_again(table, ask);
    }

    /// The same request once more, as after a lost answer.
    fn send_again(&mut self, table: &Table, ask: impl Into<Ask>) {
        table.board.push(Job {
            connection: Rc::clone(&self.connection),
            id: self.asked,
            client: self.client.clone(),
            actor: self.actor.clone(),
            team: None,
            ask: ask.into(),
        });
    }

    async fn hear(&mut self) -> Reply {
        let mut line = String::new();
        self.lines.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    async fn answer<V: Verb>(&mut self) -> Result<V::Answer, Refused> {
        match self.hear().await {
            Reply::Answer { id, answer } => {
                assert_eq!(id, self.asked, "an answer belongs to its request");
                answer.of()
            }
            Reply::Refused { refused, .. } => Err(refused),
            other => panic!("{other:?} instead of an answer"),
        }
    }

    async fn ask<V: Verb>(&mut self, table: &Table, verb: V) -> Result<V::Answer, Refused> {
        self.send(table, verb);
        self.answer::<V>().await
    }
}

fn task(subject: &str) -> verbs::TaskCreate {
    verbs::TaskCreate { tasks: vec![TaskNew { subject: subject.to_owned(), ..TaskNew::default() }] }
}

/// A board over an empty log, until the test is over.
fn with_board<F: Future<Output = ()>>(test: impl FnOnce(Rc<Table>) -> F) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("shipmate-board-{}-{number}", std::process::id());
    let workspace = std::env::temp_dir().join(name);
    let place = Place { workspace: workspace.clone() };
    std::fs::create_dir_all(place.state()).unwrap();
    let settings = Rc::new(Settings {
        host: None,
        agents: Current::read(&place, |_| Ok(Agents::default())).unwrap(),
        makes_state: true,
        place: place.clone(),
        store: Store::Sqlite(Durability::Process),
        idle_exit: Duration::from_secs(60),
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let secrets = Rc::new(Secrets::load(&place).unwrap());
        let log = MemoryLog::new();
        let writer = Writer::new(State::default());
        let opened = Opened { log: AnyLog::Memory(log.clone()), writer, snapshot: 0 };
        let root: Name = "alpha".parse().unwrap();
        let (board, worker) = new(root, opened, &settings, &secrets, &Rc::new(Notify::new()), None);
        let notes = Rc::new(Notes::default());
        *board.attendant.borrow_mut() = Some(Rc::clone(&notes) as Rc<dyn Attendant>);
        let stop = Rc::new(Notify::new());
        let works = tokio::task::spawn_local(worker.run(Rc::clone(&stop)));
        let (room, clients) = (Room::new(), Cell::new(0));
        test(Rc::new(Table { board, log, notes, room, clients })).await;
        stop.notify_one();
        works.await.unwrap();
    });
    std::fs::remove_dir_all(workspace).or_else(is_gone).unwrap();
}

fn is_gone(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}

#[test]
fn a_task_is_claimed_once_and_shown_as_it_is() {
    with_board(|table| async move {
        let (mut person, mut ana, mut bo) = table.team().await;
        let made = person.ask(&table, task("parse")).await.unwrap();
        assert_eq!(made.tasks, [1]);
        let claim = || verbs::TaskClaim { task: "1".to_owned(), lease_ms: Some(60_000) };
        let claimed = ana.ask(&table, claim()).await.unwrap().expect("it was free");
        assert_eq!((claimed.task.row.id, claimed.task.row.status), (1, TaskStatus::InProgress));
        let refused = bo.ask(&table, claim()).await.unwrap_err();
        assert_eq!(refused.code, Code::AlreadyClaimed);
        let rows =
            person.ask(&table, verbs::Tasks { filter: TaskFilter::default() }).await.unwrap();
        assert_eq!(rows[0].owner.as_deref(), Some("alpha/ana@1"));
    });
}

#[test]
fn the_attendant_is_told_what_is_durable_and_what_is_owed() {
    with_board(|table| async move {
        let (mut person, ..) = table.team().await;
        person.ask(&table, task("parse")).await.unwrap();
        let begun = "team.created teammate.added teammate.started teammate.added teammate.started";
        assert_eq!(table.names().join(" "), format!("{begun} task.created"));
        let add = TeammateAdd {
            name: "cy".to_owned(),
            command: "true".to_owned(),
            when_needed: true,
            ..TeammateAdd::default()
        };
        person.ask(&table, add).await.unwrap();
        // What is owed is looked at in the turn after it was recorded.
        while table.notes.effects.borrow().is_empty() {
            table.board.look();
            table.board.turned().await;
        }
        let effects = table.notes.effects.borrow();
        assert!(matches!(effects[0], Effect::Start(_)), "{effects:?}");
    });
}

#[test]
fn who_waits_for_mail_reads_it_in_the_turn_that_brings_it() {
    with_board(|table| async move {
        let (_, mut ana, mut bo) = table.team().await;
        bo.send(&table, verbs::InboxRead { max: 10, wait: true });
        let (to, body) = ("bo".to_owned(), "hello".to_owned());
        let sent = ana.ask(&table, verbs::Send { to, body, kind: None, reply_to: None }).await;
        let mail = bo.answer::<verbs::InboxRead>().await.unwrap();
        assert_eq!((mail[0].id, mail[0].body.as_str()), (sent.unwrap().message, "hello"));
        let names = table.names();
        assert_eq!(names[names.len() - 2..], ["message.sent", "message.acknowledged"]);
    });
}

#[test]
fn a_request_that_is_asked_again_is_carried_out_once_and_answered_alike() {
    with_board(|table| async move {
        let (mut person, ..) = table.team().await;
        let first = person.ask(&table, task("parse")).await.unwrap();
        person.send_again(&table, task("parse"));
        let again = person.answer::<verbs::TaskCreate>().await.unwrap();
        assert_eq!((first.tasks, again.tasks), (vec![1], vec![1]));
        assert_eq!(table.stored("task.created"), 1);
    });
}

#[test]
fn an_append_whose_answer_was_lost_is_recognised_and_not_made_twice() {
    with_board(|table| async move {
        let (mut person, ..) = table.team().await;
        table.log.inject(MemoryFault::LoseAnswer);
        assert_eq!(person.ask(&table, task("parse")).await.unwrap().tasks, [1]);
        table.log.inject(MemoryFault::LoseRequest);
        assert_eq!(person.ask(&table, task("print")).await.unwrap().tasks, [2]);
        assert_eq!(table.stored("task.created"), 2);
        assert_eq!(table.with_state(|state| state.tasks().len()), 2);
    });
}

#[test]
fn a_log_that_is_read_and_confirms_nothing_is_said_and_not_tried_for_ever() {
    with_board(|table| async move {
        let (mut person, ..) = table.team().await;
        table.log.inject(MemoryFault::LoseRequest);
        table.log.inject(MemoryFault::LoseRequest);
        let refused = person.ask(&table, task("parse")).await.unwrap_err();
        assert_eq!(refused.code, Code::LogUnavailable);
        assert!(refused.message.contains("confirms nothing that is written"), "{refused:?}");
        assert_eq!(person.ask(&table, task("print")).await.unwrap().tasks, [1]);
        assert_eq!(table.stored("task.created"), 1);
    });
}

#[test]
fn what_a_full_log_does_not_take_changes_nothing_and_reading_goes_on() {
    with_board(|table| async move {
        let (mut person, ..) = table.team().await;
        table.log.inject(MemoryFault::Full);
        let refused = person.ask(&table, task("parse")).await.unwrap_err();
        assert_eq!(refused.code, Code::LogFull);
        let all = || verbs::Tasks { filter: TaskFilter::default() };
        assert!(person.ask(&table, all()).await.unwrap().is_empty());
        assert_eq!(person.ask(&table, task("parse")).await.unwrap().tasks, [1]);
    });
}

#[test]
fn a_log_that_breaks_ends_the_board_and_everybody_is_told() {
    with_board(|table| async move {
        let (mut person, mut ana, _) = table.team().await;
        ana.send(&table, verbs::InboxRead { max: 10, wait: true });
        table.log.inject(MemoryFault::Break);
        let refused = person.ask(&table, task("parse")).await.unwrap_err();
        assert_eq!(refused.code, Code::LogBroken);
        assert_eq!(ana.answer::<verbs::InboxRead>().await.unwrap_err().code, Code::LogBroken);
        assert!(table.board.is_closed());
    });
}

#[test]
fn a_board_that_is_given_up_tells_everybody_and_writes_nothing_more() {
    with_board(|table| async move {
        let (mut person, mut ana, _) = table.team().await;
        ana.send(&table, verbs::InboxRead { max: 10, wait: true });
        table.board.turned().await;
        table.board.give_up(refused(Code::OtherRelease, "another release".to_owned(), ""));
        let team = "alpha".parse().unwrap();
        table.board.tell(Act::PauseTeam { team, reason: "later".to_owned() });
        assert_eq!(ana.answer::<verbs::InboxRead>().await.unwrap_err().code, Code::OtherRelease);
        let refused = person.ask(&table, task("parse")).await.unwrap_err();
        assert_eq!(refused.code, Code::OtherRelease);
        assert_eq!(table.stored("team.paused"), 0);
    });
}

#[test]
fn a_teammate_of_an_earlier_life_is_refused_by_name() {
    with_board(|table| async move {
        let (mut person, mut ana, _) = table.team().await;
        person.ask(&table, task("parse")).await.unwrap();
        let who = || "ana".to_owned();
        let (name, reason, deadline_ms) = (Some(who()), "done".to_owned(), 0);
        person.ask(&table, verbs::Shutdown { name, reason, deadline_ms }).await.unwrap();
        let is_asked = |record: &&Record| matches!(record.event, Event::ShutdownRequested { .. });
        let shutdown = table.notes.records.borrow().iter().find(is_asked).unwrap().n;
        let answer = verbs::ShutdownAnswer::Clean;
        ana.ask(&table, verbs::AnswerShutdown { shutdown, answer }).await.unwrap();
        let start = verbs::TeammateStart { name: who(), supervision: verbs::Supervision::None };
        person.ask(&table, start).await.unwrap();
        let claim = verbs::TaskClaim { task: "1".to_owned(), lease_ms: Some(60_000) };
        assert_eq!(ana.ask(&table, claim).await.unwrap_err().code, Code::StaleTeammate);
    });
}

#[test]
fn a_request_id_that_was_another_verbs_is_refused_and_the_board_goes_on() {
    with_board(|table| async move {
        let (mut person, mut ana, _) = table.team().await;
        person.ask(&table, task("parse")).await.unwrap();
        let (to, body) = ("bo".to_owned(), "hello".to_owned());
        ana.ask(&table, verbs::Send { to, body, kind: None, reply_to: None }).await.unwrap();
        ana.send_again(&table, verbs::TaskNext { lease_ms: Some(60_000), wait: false });
        let refused = ana.answer::<verbs::TaskNext>().await.unwrap_err();
        assert_eq!(refused.code, Code::StaleRequest);
        person.send_again(
            &table,
            verbs::TeammateStart { name: "ana".to_owned(), supervision: verbs::Supervision::None },
        );
        let refused = person.answer::<verbs::TeammateStart>().await.unwrap_err();
        assert_eq!(refused.code, Code::StaleRequest);
        assert_eq!(person.ask(&table, task("print")).await.unwrap().tasks, [2]);
    });
}
