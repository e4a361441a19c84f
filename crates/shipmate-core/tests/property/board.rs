//! A board under random commands, against a model that looks at every task each time.
//!
//! After every command: what is blocked, what each teammate could take and in which
//! order, and whether a refused dependency really closes a circle. The indexes of
//! the core are also compared with ones built afresh from a snapshot.

use shipmate_model::profile::Loss;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use proptest::prelude::*;
use shipmate_core::state::Status;
use shipmate_core::{Outcome, State, Writer, around, available, available_for};
use shipmate_model::command::{CreateTeam, NewTask, StartTeammate};
use shipmate_model::event::{
    Dependency, Profile, Supervision, TaskChanges, TaskSpec, Verification,
};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::{Act, Actor, Address, Command, Name, Refusal, TaskId, TeammateRef};

use crate::config;

const FILES: [&[&str]; 7] =
    [&[], &["src"], &["src/a.rs"], &["src/*.rs", "docs"], &["docs/x"], &["**/a.rs"], &["lib"]];
const MATES: [(&str, Option<&str>); 3] = [("ana", Some("dev")), ("bo", None), ("cy", Some("qa"))];
const GROUPS: [&str; 2] = ["one", "two"];

#[derive(Debug, Clone)]
enum Step {
    Create { after: Vec<u32>, group: Option<usize>, on: Option<usize>, files: usize, who: u8 },
    Depend { task: u32, on: u32, group: bool },
    Undepend { task: u32, on: u32, group: bool },
    Refile { task: u32, files: usize, priority: i32 },
    Next { mate: usize },
    Claim { mate: usize, task: u32 },
    Submit { task: u32 },
    Verdict { task: u32, green: bool },
    Fail { task: u32 },
    Release { task: u32 },
    Delete { task: u32 },
    Retry { task: u32 },
    Assign { task: u32, to: Option<usize> },
    Lose { mate: usize },
    Start { mate: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let task = || 1u32..14;
    let mate = || 0usize..3;
    let group = || proptest::option::weighted(0.4, 0usize..2);
    prop_oneof![
        5 => (proptest::collection::vec(task(), 0..4), group(), group(), 0usize..7, 0u8..6)
            .prop_map(|(after, group, on, files, who)| Step::Create { after, group, on, files, who }),
        4 => (task(), task(), any::<bool>())
            .prop_map(|(task, on, group)| Step::Depend { task, on, group }),
        2 => (task(), task(), any::<bool>())
            .prop_map(|(task, on, group)| Step::Undepend { task, on, group }),
        1 => (task(), 0usize..7, 98i32..102)
            .prop_map(|(task, files, priority)| Step::Refile { task, files, priority }),
        5 => mate().prop_map(|mate| Step::Next { mate }),
        3 => (mate(), task()).prop_map(|(mate, task)| Step::Claim { mate, task }),
        5 => task().prop_map(|task| Step::Submit { task }),
        5 => (task(), any::<bool>()).prop_map(|(task, green)| Step::Verdict { task, green }),
        1 => task().prop_map(|task| Step::Fail { task }),
        1 => task().prop_map(|task| Step::Release { task }),
        1 => task().prop_map(|task| Step::Delete { task }),
        1 => task().prop_map(|task| Step::Retry { task }),
        1 => (task(), proptest::option::of(mate())).prop_map(|(task, to)| Step::Assign { task, to }),
        1 => mate().prop_map(|mate| Step::Lose { mate }),
        1 => mate().prop_map(|mate| Step::Start { mate }),
    ]
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn address(mate: usize) -> Address {
    Address { team: name("alpha"), name: name(MATES[mate].0) }
}

fn life(state: &State, mate: usize) -> TeammateRef {
    TeammateRef { epoch: state.teammates[&address(mate)].epoch, address: address(mate) }
}

fn file_set(index: usize) -> FileSet {
    FileSet::new(FILES[index].iter().map(|text| text.parse::<Pattern>().unwrap()).collect())
}

fn by_person(act: Act) -> Command {
    Command { by: Actor::Person, req: None, act }
}

fn by_runtime(act: Act) -> Command {
    Command { by: Actor::Runtime, req: None, act }
}

fn new_board() -> Writer {
    let mut writer = Writer::new(State::default());
    let team = CreateTeam {
        team: name("alpha"),
        parent: None,
        description: String::new(),
        verification: Verification::Gate,
        lead: None,
        setup: Default::default(),
    };
    writer.handle(0, &by_person(Act::CreateTeam(team)));
    for (mate, (_, role)) in MATES.iter().enumerate() {
        let profile = Profile { role: role.map(name), tasks_max: 2, ..Profile::default() };
        writer.handle(0, &by_person(Act::AddTeammate { who: address(mate), profile }));
        writer.handle(0, &start(mate));
    }
    writer
}

fn start(mate: usize) -> Command {
    by_person(Act::StartTeammate(StartTeammate {
        who: address(mate),
        token_hash: String::new(),
        // One that the breaker never holds back.
        supervision: Supervision::OneShot,
        at: None,
    }))
}

fn command(state: &State, step: &Step) -> Command {
    let token = |task: u32| state.task(task).and_then(|t| t.claim()).map_or(0, |c| c.token);
    let holder = |task: u32| match state.task(task).and_then(|task| task.claim()) {
        Some(claim) => Actor::Teammate(claim.by.clone()),
        None => Actor::Teammate(life(state, 0)),
    };
    let on = |on: u32, group: bool| match group {
        true => Dependency::Group(name(GROUPS[on as usize % 2])),
        false => Dependency::Task(on),
    };
    let (text, none) = (String::from("x"), TaskChanges::default());
    match step.clone() {
        Step::Create { after, group, on, files, who } => {
            let mut blocked_by: Vec<_> = after.into_iter().map(Dependency::Task).collect();
            blocked_by.extend(on.map(|on| Dependency::Group(name(GROUPS[on]))));
            let spec = TaskSpec {
                subject: text,
                description: String::new(),
                active_form: String::new(),
                alias: None,
                group: group.map(|group| name(GROUPS[group])),
                blocked_by,
                files: file_set(files),
                role: (who == 1).then(|| name("dev")),
                assignee: (who == 2).then(|| name("bo")),
                priority: 100,
                duration_ms: Some(1000 * u64::from(who)),
                retries_max: 1,
                metadata: Default::default(),
                gate: None,
                no_change: false,
            };
            let new = NewTask { spec, blocked_by_new: Vec::new() };
            by_person(Act::CreateTasks { team: name("alpha"), tasks: vec![new] })
        }
        Step::Depend { task, on: other, group } => {
            let changes = TaskChanges { add_blocked_by: vec![on(other, group)], ..none };
            by_person(Act::UpdateTask { task, changes })
        }
        Step::Undepend { task, on: other, group } => {
            let changes = TaskChanges { remove_blocked_by: vec![on(other, group)], ..none };
            by_person(Act::UpdateTask { task, changes })
        }
        Step::Refile { task, files, priority } => {
            let (files, priority) = (Some(file_set(files)), Some(priority));
            by_person(Act::UpdateTask { task, changes: TaskChanges { files, priority, ..none } })
        }
        Step::Next { mate } => {
            let by = Actor::Teammate(life(state, mate));
            Command { by, req: None, act: Act::ClaimNext { lease_ms: Some(1) } }
        }
        Step::Claim { mate, task } => {
            let by = Actor::Teammate(life(state, mate));
            Command { by, req: None, act: Act::ClaimTask { task, lease_ms: None } }
        }
        Step::Submit { task } => {
            let act = Act::SubmitTask {
                task,
                token: token(task),
                commit: None,
                result: text,
                handoff: None,
            };
            Command { by: holder(task), req: None, act }
        }
        Step::Verdict { task, green: true } => {
            let (token, commit) = (Some(token(task)), None);
            by_runtime(Act::CompleteTask { task, token, commit, result: text })
        }
        Step::Verdict { task, green: false } => {
            by_runtime(Act::ReturnTask { task, token: token(task), reason: text })
        }
        Step::Fail { task } => {
            let act = Act::FailTask { task, token: token(task), reason: text };
            Command { by: holder(task), req: None, act }
        }
        Step::Release { task } => by_person(Act::ReleaseTask { task, token: None, reason: text }),
        Step::Delete { task } => by_person(Act::DeleteTask { task }),
        Step::Retry { task } => by_person(Act::RetryTask { task }),
        Step::Assign { task, to } => {
            by_person(Act::AssignTask { task, to: to.map(|mate| name(MATES[mate].0)) })
        }
        Step::Lose { mate } => {
            let who = life(state, mate);
            by_runtime(Act::ReportDisappeared { who, reason: text, loss: Loss::Died })
        }
        Step::Start { mate } => start(mate),
    }
}

fn is_completed(state: &State, id: TaskId) -> bool {
    state.task(id).is_some_and(|task| matches!(task.status, Status::Completed { .. }))
}

fn members(state: &State, group: &Name) -> Vec<TaskId> {
    let of = state.tasks().iter().filter(|task| task.spec.group.as_ref() == Some(group));
    of.map(|task| task.id).collect()
}

fn is_met(state: &State, on: &Dependency) -> bool {
    match on {
        Dependency::Task(id) => is_completed(state, *id),
        Dependency::Group(group) => {
            let members = members(state, group);
            let deleted = |id: &TaskId| state.task(*id).unwrap().status == Status::Deleted;
            let left: Vec<_> = members.into_iter().filter(|id| !deleted(id)).collect();
            !left.is_empty() && left.iter().all(|id| is_completed(state, *id))
        }
    }
}

fn is_unblocked(state: &State, id: TaskId) -> bool {
    state.task(id).unwrap().spec.blocked_by.iter().all(|on| is_met(state, on))
}

/// Whether `from` waits, however indirectly, for `target`; `joined` is a member that
/// a group is about to have.
fn reaches(
    state: &State,
    from: &Dependency,
    target: TaskId,
    joined: Option<(&Name, TaskId)>,
    seen: &mut BTreeSet<Dependency>,
) -> bool {
    if *from == Dependency::Task(target) {
        return true;
    }
    if !seen.insert(from.clone()) {
        return false;
    }
    let next: Vec<Dependency> = match from {
        Dependency::Task(id) if is_completed(state, *id) => Vec::new(),
        Dependency::Task(id) => state.task(*id).unwrap().spec.blocked_by.clone(),
        Dependency::Group(group) => {
            let joins = joined.filter(|(name, _)| *name == group).map(|(_, id)| id);
            members(state, group).into_iter().chain(joins).map(Dependency::Task).collect()
        }
    };
    next.iter().any(|on| reaches(state, on, target, joined, seen))
}

/// What the model says about the dependencies of a command: `None` when it has none
/// to judge, else whether they close a circle.
fn closes_a_circle(state: &State, command: &Command) -> Option<bool> {
    let known = |on: &Dependency, new: Option<&Name>| match on {
        Dependency::Task(id) => state.task(*id).is_some(),
        Dependency::Group(group) => state.groups.contains_key(group) || new == Some(group),
    };
    match &command.act {
        Act::CreateTasks { tasks, .. } => {
            let (spec, id) = (&tasks[0].spec, state.tasks().len() as TaskId + 1);
            let joined = spec.group.as_ref().map(|group| (group, id));
            let all_known = spec.blocked_by.iter().all(|on| known(on, spec.group.as_ref()));
            let reach = |on: &Dependency| reaches(state, on, id, joined, &mut BTreeSet::new());
            all_known.then(|| spec.blocked_by.iter().any(reach))
        }
        Act::UpdateTask { task, changes } if !changes.add_blocked_by.is_empty() => {
            let pending = state.task(*task).is_some_and(|task| task.status == Status::Pending);
            let on = &changes.add_blocked_by[0];
            let reach = || reaches(state, on, *task, None, &mut BTreeSet::new());
            (pending && known(on, None)).then(reach)
        }
        _ => None,
    }
}

/// Every task a teammate may take, found by looking at all of them.
fn takeable(state: &State, mate: Option<usize>) -> Vec<TaskId> {
    let held: Vec<&FileSet> = state
        .tasks()
        .iter()
        .filter(|task| task.claim().is_some())
        .map(|task| &task.spec.files)
        .collect();
    let mut found: Vec<_> = state
        .tasks()
        .iter()
        .filter(|task| task.status == Status::Pending && is_unblocked(state, task.id))
        .filter(|task| !held.iter().any(|files| files.overlaps(&task.spec.files)))
        .filter(|task| {
            let Some(mate) = mate else { return true };
            let (own, role) = (name(MATES[mate].0), MATES[mate].1.map(name));
            task.spec.role.as_ref().is_none_or(|needed| role.as_ref() == Some(needed))
                && task.spec.assignee.as_ref().is_none_or(|assignee| *assignee == own)
        })
        .collect();
    found.sort_by_key(|task| (task.spec.priority, Reverse(task.path_ms), task.id));
    found.into_iter().map(|task| task.id).collect()
}

/// Whatever is shown of a task and depends on this one, found by looking at all of them.
fn concerned(state: &State, id: TaskId) -> BTreeSet<TaskId> {
    let task = state.task(id).unwrap();
    let held = || task.spec.files.iter().chain(task.granted.iter());
    let mut found = BTreeSet::from([id]);
    for other in state.tasks().iter() {
        let waits = other.spec.blocked_by.iter().any(|on| match on {
            Dependency::Task(on) => *on == id,
            Dependency::Group(group) => task.spec.group.as_ref() == Some(group),
        });
        let wants = other.status == Status::Pending
            && !task.spec.files.is_empty()
            && held().any(|held| other.spec.files.iter().any(|own| own.overlaps(held)));
        if waits || wants {
            found.insert(other.id);
        }
    }
    let mut next = vec![id];
    let mut before = BTreeSet::new();
    while let Some(task) = next.pop() {
        let on = state.task(task).unwrap().spec.blocked_by.iter().flat_map(|on| match on {
            Dependency::Task(on) => vec![*on],
            Dependency::Group(group) => members(state, group),
        });
        let open = on.filter(|on| !is_completed(state, *on));
        next.extend(open.filter(|on| before.insert(*on)));
    }
    found.append(&mut before);
    found
}

fn check(state: &State) -> Result<(), TestCaseError> {
    for task in state.tasks().iter() {
        if task.status == Status::Pending {
            prop_assert_eq!(task.is_unblocked(), is_unblocked(state, task.id), "task {}", task.id);
        }
    }
    // One of them each time: over many steps it is everybody's turn.
    let turn = (state.position as usize).checked_rem(state.tasks().len());
    if let Some(task) = turn.and_then(|turn| state.tasks().iter().nth(turn)) {
        prop_assert_eq!(around(state, &[task.id]), concerned(state, task.id), "of {}", task.id);
    }
    prop_assert_eq!(available(state, 100), takeable(state, None));
    let mut held: Vec<TaskId> = Vec::new();
    for mate in 0..MATES.len() {
        let teammate = &state.teammates[&address(mate)];
        let returned = teammate.returned.iter().copied();
        let expected: Vec<TaskId> = returned.chain(takeable(state, Some(mate))).collect();
        prop_assert_eq!(available_for(state, &life(state, mate), 100), expected);
        prop_assert!(teammate.holds.len() <= 2);
        held.extend(&teammate.holds);
    }
    let unique: BTreeSet<TaskId> = held.iter().copied().collect();
    prop_assert_eq!(unique.len(), held.len(), "a task has one holder");
    Ok(())
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn the_board_is_what_looking_at_every_task_says(
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let mut writer = new_board();
        for step in steps {
            let command = command(writer.state(), &step);
            let circle = closes_a_circle(writer.state(), &command);
            let started = matches!(command.act, Act::ClaimTask { .. } | Act::ClaimNext { .. });
            let before = started.then(|| writer.state().clone());
            let outcome = writer.handle(0, &command);
            if let Some(circle) = circle {
                let refused = matches!(
                    outcome,
                    Outcome::Refused(Refusal::Cycle { .. } | Refusal::SelfDependency { .. })
                );
                prop_assert_eq!(refused, circle, "{:?}: {:?}", command.act, outcome);
            }
            if let (Some(before), Outcome::Done { .. }) = (before, outcome) {
                for task in writer.state().tasks().iter() {
                    let same = before.task(task.id).unwrap().status == task.status;
                    let again = before.task(task.id).unwrap().claim().is_some();
                    prop_assert!(same || again || is_unblocked(&before, task.id));
                }
            }
            check(writer.state())?;
        }
        let json = serde_json::to_string(writer.state()).unwrap();
        let restored: State = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&restored.restore(), writer.state());
    }
}
