//! What a command costs does not grow with the board or the team.
//!
//! The core counts nothing and has no clock, so this is time on the test's own clock,
//! compared with itself in the same run: the best of several rounds on a large board
//! against the best on a small one, taken in turns, so that a busy machine slows
//! both. A step that looks at every task would show as a ratio of a hundred.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a cost is measured around the core, never in it"
)]

use std::time::Instant;

use shipmate_core::{Effect, Observed, Outcome, State, Writer, around, outstanding};
use shipmate_model::command::{CreateTeam, NewTask, StartTeammate, To};
use shipmate_model::event::{MessageKind, Profile, Supervision, TaskSpec, Verification};
use shipmate_model::files::FileSet;
use shipmate_model::limits::TASKS_PER_COMMAND_MAX;
use shipmate_model::profile::StartRule;
use shipmate_model::{Act, Actor, Address, Command, Event, Name, TaskId, TeammateRef};

const ROUNDS: usize = 12;
/// A hundredfold board: far from one, for a busy machine, and far from a hundred.
const RATIO_MAX: f64 = 12.0;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn life(mate: &str) -> TeammateRef {
    TeammateRef { address: Address { team: name("alpha"), name: name(mate) }, epoch: 1 }
}

fn give(writer: &mut Writer, by: Actor, act: Act) -> Option<Event> {
    let outcome = writer.handle(0, &Command { by, req: None, act });
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    writer.confirm().into_iter().next().map(|record| record.event)
}

fn writer(mates: usize) -> Writer {
    let mut writer = Writer::new(State::default());
    let team = CreateTeam {
        team: name("alpha"),
        parent: None,
        description: String::new(),
        verification: Verification::None,
        lead: None,
        setup: Default::default(),
    };
    give(&mut writer, Actor::Person, Act::CreateTeam(team));
    for mate in 0..mates {
        let who = life(&format!("m{mate}")).address;
        let profile = Profile { tasks_max: 1, ..Profile::default() };
        give(&mut writer, Actor::Person, Act::AddTeammate { who: who.clone(), profile });
        let (token_hash, supervision) = (String::new(), Supervision::Supervised);
        let start = StartTeammate { who, token_hash, supervision, at: None };
        give(&mut writer, Actor::Person, Act::StartTeammate(start));
    }
    writer
}

fn task(files: &[String]) -> NewTask {
    let spec = TaskSpec {
        subject: "x".to_owned(),
        description: String::new(),
        active_form: String::new(),
        alias: None,
        group: None,
        blocked_by: Vec::new(),
        files: FileSet::new(files.iter().map(|file| file.parse().unwrap()).collect()),
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

/// A board of `count` tasks with the files that `files` gives the n-th of them.
fn board(count: usize, files: impl Fn(usize) -> Vec<String>) -> Writer {
    let mut writer = writer(2);
    let tasks: Vec<NewTask> = (0..count).map(|at| task(&files(at))).collect();
    for tasks in tasks.chunks(TASKS_PER_COMMAND_MAX) {
        let act = Act::CreateTasks { team: name("alpha"), tasks: tasks.to_vec() };
        give(&mut writer, Actor::Person, act);
    }
    writer
}

fn claim(writer: &mut Writer, by: &TeammateRef) -> (TaskId, u64) {
    let by = Actor::Teammate(by.clone());
    match give(writer, by, Act::ClaimNext { lease_ms: None }) {
        Some(Event::TaskClaimed { task, .. }) => (task, writer.state().position),
        other => panic!("{other:?}"),
    }
}

/// Claims the best task and hands it in, `times` times; microseconds each.
fn work(writer: &mut Writer, times: usize) -> f64 {
    let by = life("m0");
    let start = Instant::now();
    for _ in 0..times {
        let (task, token) = claim(writer, &by);
        let act =
            Act::SubmitTask { task, token, commit: None, result: String::new(), handoff: None };
        give(writer, Actor::Teammate(by.clone()), act);
    }
    start.elapsed().as_secs_f64() * 1e6 / times as f64
}

fn send(writer: &mut Writer, times: usize) -> f64 {
    let (by, to) = (life("m0"), life("m1"));
    let start = Instant::now();
    for _ in 0..times {
        let (kind, body) = (MessageKind::Message, "x".to_owned());
        let to = To::Name(to.address.name.clone());
        let act = Act::SendMessage { to, kind, body, reply_to: None };
        give(writer, Actor::Teammate(by.clone()), act);
    }
    give(writer, Actor::Teammate(to), Act::ReadInbox { max: times });
    start.elapsed().as_secs_f64() * 1e6 / times as f64
}

/// The least of several rounds on each, in turns, must be alike.
fn assert_alike(small: &mut Writer, large: &mut Writer, cost: impl Fn(&mut Writer) -> f64) {
    let (mut of_small, mut of_large) = (f64::MAX, f64::MAX);
    for round in 0..2 * ROUNDS {
        of_small = of_small.min(cost(small));
        of_large = of_large.min(cost(large));
        if round + 1 >= ROUNDS && of_large / of_small < RATIO_MAX {
            return;
        }
    }
    panic!("{of_large:.1} µs against {of_small:.1} µs");
}

#[test]
fn claiming_and_completing_cost_the_same_on_a_hundred_times_the_board() {
    let (mut small, mut large) = (board(1_000, |_| Vec::new()), board(100_000, |_| Vec::new()));
    assert_alike(&mut small, &mut large, |writer| work(writer, 20));
}

#[test]
fn tasks_that_share_one_file_cost_the_same_on_a_large_board() {
    let shared = |_: usize| vec!["src/main.rs".to_owned()];
    let (mut small, mut large) = (board(1_000, shared), board(50_000, shared));
    assert_alike(&mut small, &mut large, |writer| work(writer, 20));
}

#[test]
fn files_of_their_own_cost_the_same_on_a_large_board() {
    let own = |at: usize| vec![format!("src/d{}/f{at}.rs", at % 100)];
    let (mut small, mut large) = (board(1_000, own), board(20_000, own));
    assert_alike(&mut small, &mut large, |writer| work(writer, 20));
}

/// One task holds a folder with many tasks' files in it; the others' work goes on.
#[test]
fn a_held_folder_does_not_slow_the_work_beside_it() {
    let files = |at: usize| match at {
        0 => vec!["src".to_owned()],
        at if at % 4 == 0 => vec![format!("docs/f{at}.md")],
        at => vec![format!("src/f{at}.rs")],
    };
    let mut boards = [board(1_000, files), board(20_000, files)];
    for writer in &mut boards {
        assert_eq!(claim(writer, &life("m1")).0, 1);
    }
    let [mut small, mut large] = boards;
    assert_alike(&mut small, &mut large, |writer| work(writer, 10));
}

#[test]
fn sending_costs_the_same_in_a_hundred_times_the_team() {
    let (mut small, mut large) = (writer(10), writer(1_000));
    assert_alike(&mut small, &mut large, |writer| send(writer, 50));
}

/// Who is wanted and who is let go is asked after every command.
#[test]
fn looking_at_what_is_owed_costs_the_same_on_a_large_board() {
    let own = |at: usize| vec![format!("src/d{}/f{at}.rs", at % 100)];
    let [mut small, mut large] = [board(1_000, own), board(20_000, own)];
    for writer in [&mut small, &mut large] {
        let who = Address { team: name("alpha"), name: name("needed") };
        let start = StartRule::WhenNeeded;
        let profile = Profile { tasks_max: 1, start, ..Profile::default() };
        give(writer, Actor::Person, Act::AddTeammate { who, profile });
    }
    assert_alike(&mut small, &mut large, |writer| {
        let mut observed = Observed::default();
        let start = Instant::now();
        for now_ms in 0..50 {
            observed.look(writer.state(), now_ms);
            let owed = outstanding(writer.state(), &observed, now_ms);
            assert!(owed.effects.iter().any(|effect| matches!(effect, Effect::Start(_))));
        }
        start.elapsed().as_secs_f64() * 1e6 / 50.0
    });
}

/// A screen asks after every record.
#[test]
fn whom_a_task_concerns_is_found_as_fast_on_a_large_board() {
    let own = |at: usize| vec![format!("src/d{}/f{at}.rs", at % 100), format!("docs/d{at}/*.md")];
    let (mut small, mut large) = (board(500, own), board(20_000, own));
    assert_alike(&mut small, &mut large, |writer| {
        let start = Instant::now();
        for task in 1..=50 {
            assert!(around(writer.state(), &[task]).contains(&task));
        }
        start.elapsed().as_secs_f64() * 1e6 / 50.0
    });
}
