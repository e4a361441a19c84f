//! G12 at the limits themselves, which no simulated run is long enough to reach.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use shipmate_core::{Outcome, State, Writer};
use shipmate_model::command::{Act, Command, CreateTeam, NewTask, StartTeammate, To};
use shipmate_model::event::{MessageKind, Profile, RequestId, Supervision, TaskSpec, Verification};
use shipmate_model::limits::{CLIENTS_KEPT, CLOSED_KEPT, INBOX_MAX};
use shipmate_model::profile::Loss;
use shipmate_model::{Actor, Name, Refusal, TeammateRef};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

struct Play {
    writer: Writer,
}

impl Play {
    fn new() -> Play {
        let mut play = Play { writer: Writer::new(State::default()) };
        let (team, lead) = (name("alpha"), Some(name("lead")));
        let verification = Verification::None;
        let description = String::new();
        let setup = Default::default();
        let create = CreateTeam { team, parent: None, description, verification, lead, setup };
        play.person(Act::CreateTeam(create));
        let who = "alpha/bo".parse().unwrap();
        play.person(Act::AddTeammate {
            who,
            profile: Profile { tasks_max: 8, ..Default::default() },
        });
        play.start("alpha/lead");
        play.start("alpha/bo");
        play
    }

    fn start(&mut self, who: &str) {
        let (who, supervision) = (who.parse().unwrap(), Supervision::Supervised);
        let token_hash = "hash".to_owned();
        self.person(Act::StartTeammate(StartTeammate { who, token_hash, supervision, at: None }));
    }

    fn give(&mut self, by: Actor, req: Option<RequestId>, act: Act) -> Outcome {
        let outcome = self.writer.handle(0, &Command { by, req, act });
        self.writer.confirm();
        outcome
    }

    fn person(&mut self, act: Act) {
        let outcome = self.give(Actor::Person, None, act);
        assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    }

    fn write_to_lead(&mut self) -> Outcome {
        let to = To::Address("alpha/lead".parse().unwrap());
        let (kind, body, reply_to) = (MessageKind::Message, "words".to_owned(), None);
        self.give(Actor::Person, None, Act::SendMessage { to, kind, body, reply_to })
    }

    fn inbox_of_lead(&self) -> usize {
        self.writer.state().teammates[&"alpha/lead".parse().unwrap()].inbox.len()
    }
}

fn failing_task() -> NewTask {
    let spec = TaskSpec {
        subject: "task".to_owned(),
        description: String::new(),
        active_form: String::new(),
        alias: None,
        group: None,
        blocked_by: Vec::new(),
        files: Default::default(),
        role: None,
        assignee: None,
        priority: 0,
        duration_ms: None,
        retries_max: 0,
        metadata: Default::default(),
        gate: None,
        no_change: false,
    };
    NewTask { spec, blocked_by_new: Vec::new() }
}

#[test]
fn an_inbox_never_outgrows_its_limit_however_much_one_command_tells() {
    let mut play = Play::new();
    let tasks: Vec<NewTask> = (0..8).map(|_| failing_task()).collect();
    play.person(Act::CreateTasks { team: name("alpha"), tasks });
    let bo: TeammateRef = "alpha/bo@1".parse().unwrap();
    for _ in 0..8 {
        let claim = Act::ClaimNext { lease_ms: None };
        let outcome = play.give(Actor::Teammate(bo.clone()), None, claim);
        assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    }
    while play.inbox_of_lead() < INBOX_MAX - 1 {
        assert!(matches!(play.write_to_lead(), Outcome::Done { .. }));
    }
    // Eight failures and a disappearance to be told, and room for one.
    let (reason, loss) = ("killed".to_owned(), Loss::Died);
    let gone = Act::ReportDisappeared { who: bo, reason, loss };
    let outcome = play.give(Actor::Runtime, None, gone);
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    assert_eq!(play.inbox_of_lead(), INBOX_MAX);
    assert!(matches!(play.write_to_lead(), Outcome::Refused(Refusal::InboxFull { .. })));
}

#[test]
fn clients_that_come_and_go_are_forgotten_oldest_first() {
    let mut play = Play::new();
    for n in 0..CLIENTS_KEPT + 50 {
        let req = Some(RequestId { client: name(&format!("c{n}")), counter: 1 });
        let reason = format!("pause {n}");
        let pause = Act::PauseTeammate { who: "alpha/bo".parse().unwrap(), reason, spent: false };
        assert!(matches!(play.give(Actor::Person, req, pause), Outcome::Done { .. }));
    }
    let state = serde_json::to_value(play.writer.state()).unwrap();
    let kept = state["clients"]["last"].as_object().unwrap();
    assert_eq!(kept.len(), CLIENTS_KEPT);
    assert!(!kept.contains_key("c49") && kept.contains_key("c50"));
}

#[test]
fn questions_that_were_answered_are_only_in_the_log() {
    let mut play = Play::new();
    let bo = Actor::Teammate("alpha/bo@1".parse().unwrap());
    for _ in 0..3 * CLOSED_KEPT {
        let (kind, options) = (shipmate_model::event::QuestionKind::Question, Vec::new());
        let ask = Act::Ask { kind, text: "may I".to_owned(), options };
        let Outcome::Done { first, .. } = play.give(bo.clone(), None, ask) else {
            panic!("the question was refused")
        };
        play.person(Act::Answer { question: first, answer: "yes".to_owned() });
        play.give(bo.clone(), None, Act::ReadInbox { max: 100 });
        assert!(play.writer.state().questions.len() <= CLOSED_KEPT + 1);
    }
}
