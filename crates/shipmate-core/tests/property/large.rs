//! Plans of a size that finds quadratic steps and deep recursion.

use shipmate_core::state::Status;
use shipmate_core::{Outcome, State, Writer, available};
use shipmate_model::command::{CreateTeam, NewTask, StartTeammate};
use shipmate_model::event::{
    Dependency, Profile, Supervision, TaskChanges, TaskSpec, Verification,
};
use shipmate_model::limits::TASKS_PER_COMMAND_MAX;
use shipmate_model::{Act, Actor, Address, Command, Event, Name, Refusal, TaskId, TeammateRef};

const CHAIN: TaskId = 100_000;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn ana() -> TeammateRef {
    TeammateRef { address: Address { team: name("alpha"), name: name("ana") }, epoch: 1 }
}

fn person(act: Act) -> Command {
    Command { by: Actor::Person, req: None, act }
}

fn writer() -> Writer {
    let mut writer = Writer::new(State::default());
    let team = CreateTeam {
        team: name("alpha"),
        parent: None,
        description: String::new(),
        verification: Verification::None,
        lead: None,
        setup: Default::default(),
    };
    let profile = Profile { tasks_max: 1, ..Profile::default() };
    let start = StartTeammate {
        who: ana().address,
        token_hash: String::new(),
        supervision: Supervision::Supervised,
        at: None,
    };
    writer.handle(0, &person(Act::CreateTeam(team)));
    writer.handle(0, &person(Act::AddTeammate { who: ana().address, profile }));
    writer.handle(0, &person(Act::StartTeammate(start)));
    writer
}

fn task(blocked_by: Vec<Dependency>, group: Option<Name>) -> NewTask {
    let spec = TaskSpec {
        subject: "x".to_owned(),
        description: String::new(),
        active_form: String::new(),
        alias: None,
        group,
        blocked_by,
        files: Default::default(),
        role: None,
        assignee: None,
        priority: 100,
        duration_ms: None,
        retries_max: 3,
        metadata: Default::default(),
        gate: None,
        no_change: false,
    };
    NewTask { spec, blocked_by_new: Vec::new() }
}

fn create(writer: &mut Writer, tasks: Vec<NewTask>) {
    let outcome = writer.handle(0, &person(Act::CreateTasks { team: name("alpha"), tasks }));
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    writer.confirm();
}

/// Takes the best task and hands it in.
fn work(writer: &mut Writer) -> TaskId {
    let by = Actor::Teammate(ana());
    let act = Act::ClaimNext { lease_ms: None };
    writer.handle(0, &Command { by: by.clone(), req: None, act });
    let claimed = writer.confirm().pop().expect("a task was claimed");
    let Event::TaskClaimed { task, .. } = claimed.event else { panic!("{claimed:?}") };
    let act = Act::SubmitTask {
        task,
        token: claimed.n,
        commit: None,
        result: String::new(),
        handoff: None,
    };
    writer.handle(0, &Command { by, req: None, act });
    writer.confirm();
    task
}

#[test]
fn a_chain_of_a_hundred_thousand_is_created_worked_off_and_never_closed() {
    let mut writer = writer();
    let batch = TASKS_PER_COMMAND_MAX as TaskId;
    for first in (1..=CHAIN).step_by(TASKS_PER_COMMAND_MAX) {
        let before = |id: TaskId| (id > 1).then(|| Dependency::Task(id - 1)).into_iter().collect();
        create(&mut writer, (first..first + batch).map(|id| task(before(id), None)).collect());
    }
    let add_blocked_by = vec![Dependency::Task(CHAIN)];
    let changes = TaskChanges { add_blocked_by, ..TaskChanges::default() };
    let outcome = writer.handle(0, &person(Act::UpdateTask { task: 1, changes }));
    let Outcome::Refused(refusal) = outcome else { panic!("the chain was closed") };
    assert!(matches!(&refusal, Refusal::Cycle { tasks } if tasks.len() == CHAIN as usize + 1));
    assert!(refusal.to_string().len() < 1000, "a refusal is read by a person or a model");
    for id in 1..=CHAIN {
        assert_eq!(available(writer.state(), 2), [id]);
        assert_eq!(work(&mut writer), id);
    }
}

#[test]
fn a_chain_written_backwards_in_one_command_is_the_same_chain() {
    let mut writer = writer();
    let count = TASKS_PER_COMMAND_MAX;
    let next = |at: usize| if at + 1 < count { vec![at + 1] } else { Vec::new() };
    let tasks = (0..count).map(|at| NewTask { blocked_by_new: next(at), ..task(vec![], None) });
    create(&mut writer, tasks.collect());
    for id in (1..=count as TaskId).rev() {
        assert_eq!(work(&mut writer), id);
    }
}

#[test]
fn ten_thousand_tasks_in_layers_of_three_dependencies_are_one_command() {
    let mut writer = writer();
    let (layers, width) = (100, 100);
    let mut tasks = Vec::new();
    for layer in 0..layers {
        for at in 0..width {
            let above = |step: usize| (layer - 1) * width + (at * 7 + step * 13) % width;
            let blocked_by_new = if layer == 0 { vec![] } else { (0..3).map(above).collect() };
            tasks.push(NewTask { blocked_by_new, ..task(vec![], None) });
        }
    }
    create(&mut writer, tasks);
    for _ in 0..layers * width {
        let id = available(writer.state(), 1)[0];
        let done = |on: &Dependency| match on {
            Dependency::Task(id) => {
                matches!(writer.state().task(*id).unwrap().status, Status::Completed { .. })
            }
            Dependency::Group(_) => false,
        };
        assert!(writer.state().task(id).unwrap().spec.blocked_by.iter().all(done));
        work(&mut writer);
    }
}

#[test]
fn a_plan_that_waits_for_a_plan_costs_one_edge_each() {
    let mut writer = writer();
    let half = TASKS_PER_COMMAND_MAX / 2;
    let first = (0..half).map(|_| task(vec![], Some(name("first"))));
    let second =
        (0..half).map(|_| task(vec![Dependency::Group(name("first"))], Some(name("second"))));
    create(&mut writer, first.chain(second).collect());
    for id in 1..=half as TaskId {
        assert_eq!(work(&mut writer), id);
    }
    assert_eq!(available(writer.state(), half + 1).len(), half);
    // Joining a group that many wait for, and one that many are in.
    create(&mut writer, (0..half).map(|_| task(vec![], Some(name("first")))).collect());
    assert_eq!(available(writer.state(), 2 * half).len(), half);
}
