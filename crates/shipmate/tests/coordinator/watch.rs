//! A screen that is told only what changed shows the same as one that looks at everything.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs::{QuestionKind, TaskChanges, TaskFilter, TaskNew};
use shipmate_protocol::view::{Card, Delta, Look, LookOf, TeamView, TeammateView};
use shipmate_protocol::watch::{Told, Watch};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};
use shipmate_testkit::Random;

use super::{Workspace, create, start};

/// What a page keeps of the deltas it was told.
#[derive(Default)]
struct Shown {
    position: u64,
    cards: BTreeMap<u32, Card>,
    teams: BTreeMap<String, TeamView>,
    teammates: BTreeMap<String, TeammateView>,
    decisions: usize,
    lines: u64,
}

impl Shown {
    fn take(&mut self, delta: Delta) {
        assert_eq!(delta.whole, self.position == 0, "the first is the whole, and no other");
        self.position = delta.position;
        self.cards.extend(delta.tasks.into_iter().map(|card| (card.id, card)));
        self.teams.extend(delta.teams.into_iter().map(|team| (team.name.clone(), team)));
        let named = delta.teammates.into_iter().map(|mate| (mate.name.clone(), mate));
        self.teammates.extend(named);
        self.teammates.retain(|_, mate| !delta.gone.contains(&format!("alpha/{}", mate.name)));
        self.decisions = delta.decisions.map_or(self.decisions, |all| all.len());
        for line in delta.lines {
            assert_eq!(line.n, self.lines + 1, "every record once, in order");
            self.lines = line.n;
        }
    }

    fn until(&mut self, position: u64, told: &Receiver<Told>) {
        while self.position < position || self.lines < position {
            match told.recv_timeout(Duration::from_secs(300)).unwrap() {
                Told::Delta(delta) => self.take(*delta),
                Told::Over(failure) => panic!("{failure}"),
            }
        }
    }
}

fn watched(workspace: &Workspace) -> Receiver<Told> {
    let client = || {
        let mut client = workspace.person();
        client.team = Some("alpha".to_owned());
        client
    };
    let (tell, told) = channel();
    let tell = move |news| match tell.send(news) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    Watch::begin(client(), client(), tell);
    told
}

fn look(person: &mut Client) -> Look {
    match person
        .ask(Ask::Look(verbs::Look { of: LookOf::Page { after: 0, max: usize::MAX } }))
        .unwrap()
    {
        Answer::Look(look) => *look,
        other => panic!("{other:?}"),
    }
}

/// Whatever somebody may do to a board; what is refused has changed nothing.
fn act(random: &mut Random, person: &mut Client, mates: &mut [Client]) {
    let tasks = 40;
    let task = (1 + random.below(tasks)).to_string();
    let file = format!("src/{}", ["a.rs", "b.rs", "*.rs", "deep/**"][random.below(4) as usize]);
    let at = random.below(mates.len() as u64) as usize;
    let mate = &mut mates[at];
    let (client, ask) = match random.below(12) {
        0 => {
            let blocked_by = match random.below(3) {
                0 => vec![task],
                1 => vec!["group:late".to_owned()],
                _ => Vec::new(),
            };
            let group = (random.below(4) == 0).then(|| "late".to_owned());
            let new = TaskNew {
                subject: "more".to_owned(),
                blocked_by,
                group,
                files: vec![file],
                ..TaskNew::default()
            };
            (person, Ask::TaskCreate(verbs::TaskCreate { tasks: vec![new] }))
        }
        1 => {
            let changes = TaskChanges { files: Some(vec![file]), ..TaskChanges::default() };
            (person, Ask::TaskUpdate(verbs::TaskUpdate { task, changes }))
        }
        2 => {
            let on = (1 + random.below(tasks)).to_string();
            let changes = TaskChanges { add_blocked_by: vec![on], ..TaskChanges::default() };
            (person, Ask::TaskUpdate(verbs::TaskUpdate { task, changes }))
        }
        3 => (person, Ask::TaskDelete(verbs::TaskDelete { task })),
        4 => (person, Ask::TaskRetry(verbs::TaskRetry { task })),
        5 => (
            person,
            Ask::TaskRelease(verbs::TaskRelease { task, token: None, reason: "again".to_owned() }),
        ),
        6 => (person, Ask::TaskAssign(verbs::TaskAssign { task, to: Some("bo".to_owned()) })),
        7 => {
            let ask = Ask::Question(verbs::Question {
                kind: QuestionKind::Question,
                text: "which?".to_owned(),
                options: Vec::new(),
            });
            (mate, ask)
        }
        _ => (mate, Ask::TaskNext(verbs::TaskNext { lease_ms: Some(600_000), wait: false })),
    };
    let answer = client.ask(ask);
    if let Ok(Answer::Claimed(answers::Claimed { task, token })) = answer {
        let task = task.row.id.to_string();
        let ask = match random.below(3) {
            0 => Ask::TaskFail(verbs::TaskFail { task, token, reason: "no".to_owned() }),
            1 => return,
            _ => Ask::TaskComplete(verbs::TaskComplete {
                task,
                token: Some(token),
                commit: None,
                result: String::new(),
            }),
        };
        let _ = mates[at].ask(ask);
    }
}

#[test]
fn a_screen_that_hears_of_changes_shows_what_one_shows_that_looks_at_all() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana", "bo", "cy"]);
    let mut mates: Vec<Client> =
        tokens.into_iter().map(|token| workspace.client(TokenSource::Given(token))).collect();
    create(&mut person, 20);
    let told = watched(&workspace);
    let mut shown = Shown::default();
    let mut random = Random::new(7);
    for _ in 0..60 {
        for _ in 0..5 {
            act(&mut random, &mut person, &mut mates);
        }
        let now = look(&mut person);
        shown.until(now.status.position, &told);
        for card in &now.cards {
            assert_eq!(shown.cards.get(&card.id), Some(card), "at record {}", shown.position);
        }
        assert_eq!(shown.cards.len(), now.cards.len());
        for team in &now.status.teams {
            assert_eq!(shown.teams.get(&team.name), Some(team));
        }
        for mut mate in now.status.teammates {
            mate.silent_ms = None;
            assert_eq!(shown.teammates.get(&mate.name), Some(&mate));
        }
        assert_eq!(shown.decisions, now.decisions.len());
    }
}

#[test]
fn a_watch_goes_on_when_the_coordinator_was_killed() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&["ana"]);
    let told = watched(&workspace);
    let mut shown = Shown::default();
    create(&mut person, 3);
    shown.until(look(&mut person).status.position, &told);
    for _ in 0..3 {
        workspace.kill();
        create(&mut person, 1);
        shown.until(look(&mut person).status.position, &told);
    }
    let Answer::Tasks(rows) =
        person.ask(Ask::Tasks(verbs::Tasks { filter: TaskFilter::default() })).unwrap()
    else {
        panic!("tasks were asked for");
    };
    assert_eq!(shown.cards.len(), rows.len());
}

#[test]
fn decisions_stand_in_the_order_of_the_work_behind_them() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana", "bo"]);
    let new = |subject: &str, assignee: &str, blocked_by: &[&str]| TaskNew {
        subject: subject.to_owned(),
        assignee: (!assignee.is_empty()).then(|| assignee.to_owned()),
        blocked_by: blocked_by.iter().map(ToString::to_string).collect(),
        ..TaskNew::default()
    };
    for new in
        [new("a", "ana", &[]), new("b", "bo", &[]), new("c", "", &["2"]), new("d", "", &["3"])]
    {
        person.ask(Ask::TaskCreate(verbs::TaskCreate { tasks: vec![new] })).unwrap();
    }
    for token in tokens {
        let mut mate = workspace.client(TokenSource::Given(token));
        mate.ask(Ask::TaskNext(verbs::TaskNext { lease_ms: Some(600_000), wait: false })).unwrap();
        let text = "which?".to_owned();
        mate.ask(Ask::Question(verbs::Question {
            kind: QuestionKind::Question,
            text,
            options: Vec::new(),
        }))
        .unwrap();
    }
    let decisions = look(&mut person).decisions;
    let order: Vec<(&str, usize)> =
        decisions.iter().map(|one| (one.who.as_str(), one.waiting)).collect();
    assert_eq!(order, [("alpha/bo@1", 3), ("alpha/ana@1", 1)], "two tasks wait for bo's");
}

#[test]
fn a_moment_of_the_past_is_shown_as_it_was() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&["ana"]);
    create(&mut person, 2);
    let before = look(&mut person).status.position;
    person.ask(Ask::TaskDelete(verbs::TaskDelete { task: "1".to_owned() })).unwrap();
    start_again(&mut person);
    let Answer::Look(then) = person.ask(Ask::LookAt(verbs::LookAt { position: before })).unwrap()
    else {
        panic!("a look was asked for");
    };
    let statuses: Vec<&str> = then.cards.iter().map(|card| card.status.word()).collect();
    assert_eq!((then.status.position, statuses), (before, vec!["pending", "pending"]));
    assert_eq!(then.status.teammates.len(), 1, "bo came later");
}

fn start_again(person: &mut Client) {
    let add = shipmate_protocol::verbs::TeammateAdd { name: "bo".to_owned(), ..Default::default() };
    person.ask(Ask::TeammateAdd(add)).unwrap();
    start(person, "bo");
}
