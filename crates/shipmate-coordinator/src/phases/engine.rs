//! The engine: carries out what a playbook owes at the edges of its phases.
//!
//! It looks at files and reports; every step is decided by the core. Looking is cheap to repeat
//! and safe to interrupt: after a crash the same effect is owed again, and what was begun in one
//! append is there or not. A phase that waits is looked at again when something has landed, ended
//! or been decided, never by the clock.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use shipmate_core::Decided;
use shipmate_core::phase::{self};
use shipmate_core::state::Standing;
use shipmate_core::state::Status;
use shipmate_model::command::{BeginPhase, PhaseVerdict};
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::{Condition, Expect, Red};
use shipmate_model::setup::Setup;
use shipmate_model::{Act, Actor, Command, Name, Refusal};
use shipmate_playbook::fill::fill;
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_playbook::work;
use shipmate_process::blocking;
use shipmate_programs::tenancy::author;
use shipmate_workspace::{Commit, Repository, Tree};

use super::external_files::Held;
use super::final_files::family;
use super::stage::Stage;
use super::{approval, artifact, branch, external_files, push, revert, single_agent, staff, tasks};
use crate::clones::PHASE_CLONE;
use crate::demands::condition::{self, Scene};
use crate::demands::{gates, red};
use crate::merge::gate;
use crate::phases::Phases;

/// What the engine remembers between two looks; nothing of it has to survive.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    busy: RefCell<BTreeSet<Name>>,
    /// Held from an act until the files that follow from it are written.
    pub(super) writing: tokio::sync::Mutex<()>,
    /// What a waiting phase was last looked at with.
    looked: RefCell<BTreeMap<Name, Look>>,
    nudges: Cell<u64>,
    /// The record with which offers of first tasks were last looked at.
    pub(super) offers_seen: Cell<u64>,
    pub(super) watches: external_files::Watches,
    pub(super) branches: external_files::Watches,
    /// What is written at the very end has been.
    pub(super) ended: Cell<bool>,
}

impl Memory {
    /// A file has changed that a phase may wait for.
    pub(crate) fn nudge(&self) {
        self.nudges.set(self.nudges.get() + 1);
    }

    /// How often a file was seen to change.
    pub(super) fn nudges(&self) -> u64 {
        self.nudges.get()
    }
}

/// When this changes, a phase that waits may have what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    phase: Name,
    round: u32,
    landed: usize,
    ended: usize,
    /// Files that the runtime wrote, or that were seen to change.
    nudges: u64,
}

/// Looks whether the next phase of a team can begin, unless nothing has changed.
pub(crate) fn enter(phases: &Rc<Phases>, team: Name) {
    run(phases, team, Way::In);
}

/// Looks at the end of a phase.
pub(crate) fn leave(phases: &Rc<Phases>, team: Name) {
    run(phases, team, Way::Out);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

fn run(phases: &Rc<Phases>, team: Name, way: Way) {
    // Looking starts git: nothing has changed that it could see.
    if way == Way::In && phases.memory.looked.borrow().get(&team) == look(phases, &team).as_ref() {
        return;
    }
    if !phases.is_home(&team) || !phases.memory.busy.borrow_mut().insert(team.clone()) {
        return;
    }
    let this = Rc::clone(phases);
    phases.beside(async move {
        // What is decided and what is written about it are one step to everybody else.
        drop(this.memory.writing.lock().await);
        if let Some(stage) = Stage::of(&this, &team) {
            let looked = match way {
                Way::In => look_in(&this, &stage).await,
                Way::Out => look_out(&this, &stage).await,
            };
            let act = looked.unwrap_or_else(|reason| {
                Some(Act::PauseTeam {
                    team: team.clone(),
                    reason: format!("phase {}: {reason}", stage.phase.name),
                })
            });
            if let Some(act) = act {
                carry_out(&this, &stage, act).await;
            }
        }
        this.memory.busy.borrow_mut().remove(&team);
        this.board.look();
    });
}

/// Has a step decided, then writes what is due. A step that the core does not take would be owed
/// for ever: the team waits for a person instead.
async fn carry_out(phases: &Rc<Phases>, stage: &Stage, act: Act) {
    if !matches!(act, Act::HoldPhase { .. }) {
        // Should it come to nothing, it is looked at again when the team goes on.
        phases.memory.looked.borrow_mut().remove(&stage.team);
    }
    let writing = phases.memory.writing.lock().await;
    let command = Command { by: Actor::Runtime, req: None, act };
    let decided = phases.board.with_state(|state| shipmate_core::decide(state, &command));
    let failed = match decided {
        // Meanwhile the phase came to its end by other means: there is nothing left to do here.
        Err(Refusal::OtherPhase { .. }) => None,
        Err(refusal) => Some(refusal.to_string()),
        // It waits for the same as before.
        Ok(Decided::Events(events)) if events.is_empty() => return,
        Ok(_) => {
            phases.board.tell(command.act);
            phases.board.settled().await;
            let written =
                artifact::commit(phases, &family(phases, &stage.team), artifact::Due::All)
                    .await
                    .err();
            written.map(|text| format!("what the playbook writes cannot be written: {text}"))
        }
    };
    drop(writing);
    let paused = phases
        .board
        .with_state(|state| state.teams.get(&stage.team).is_none_or(|team| team.paused.is_some()));
    if let Some(reason) = failed.filter(|_| !paused) {
        let reason = format!("phase {}: {reason}", stage.phase.name);
        phases.board.tell(Act::PauseTeam { team: stage.team.clone(), reason });
    }
}

async fn look_in(phases: &Rc<Phases>, stage: &Stage) -> Result<Option<Act>, String> {
    match stage.course.standing {
        Standing::Waiting { .. } => {}
        Standing::Running { .. } => return look_again(phases, stage).await,
        Standing::Over => return Ok(None),
    }
    if stage.playbook.skip.contains(&stage.phase.name) {
        let reason = "it was left out of this run".to_owned();
        return Ok(Some(stage.end(PhaseVerdict::Skip { reason })));
    }
    let was_called = stage.course.past.last().is_some_and(
        |past| matches!(&past.end, PhaseEnd::Back { to, .. } if *to == stage.phase.name),
    );
    if stage.phase.on_call && !was_called {
        let reason = "nothing has gone back to it".to_owned();
        return Ok(Some(stage.end(PhaseVerdict::Skip { reason })));
    }
    // Taken before looking: what changes meanwhile is looked at again.
    if let Some(look) = look(phases, &stage.team) {
        phases.memory.looked.borrow_mut().insert(stage.team.clone(), look);
    }
    let ground = stage.ground(phases).await?;
    let missing = missing(phases, stage, &ground, &entry(stage)).await?;
    if !missing.is_empty() {
        external_files::follow_branch(phases, stage, &ground)?;
        return Ok(Some(stage.hold(missing, false)));
    }
    phases.memory.branches.forget(&stage.team);
    let makes = stage.phase.makes.clone();
    if !makes.is_empty()
        && !stage.phase.again
        && stage.course.round == 1
        && self::missing(phases, stage, &ground, &makes).await?.is_empty()
    {
        let note = "what it makes is there already".to_owned();
        return Ok(Some(stage.end(PhaseVerdict::Done { note })));
    }
    if !stage.phase.unless.is_empty()
        && self::missing(phases, stage, &ground, &stage.phase.unless).await?.is_empty()
    {
        let reason = "it is not needed: what it is for is there".to_owned();
        return Ok(Some(stage.end(PhaseVerdict::Skip { reason })));
    }
    let alone = match single_agent::reason(stage, &ground).await {
        Ok(alone) => alone,
        Err(reason) => return Ok(Some(stage.end(PhaseVerdict::Failed { reason }))),
    };
    let is_alone = alone.as_ref().or(stage.course.alone.as_ref());
    if let Some(reason) = is_alone.filter(|_| stage.phase.for_team) {
        let reason = format!("one agent does it all: {reason}");
        return Ok(Some(stage.end(PhaseVerdict::Skip { reason })));
    }
    let held = external_files::held(phases, stage, &ground).await?;
    if !held.why.is_empty() && shipmate_playbook::work::needs_all_pieces(&stage.phase) {
        return Ok(Some(stage.hold(held.why, true)));
    }
    begin(phases, stage, ground, alone, held).await.map(Some)
}

/// Whether more of a phase that runs can be begun: work that waits for what others bring.
async fn look_again(phases: &Rc<Phases>, stage: &Stage) -> Result<Option<Act>, String> {
    let Some(look) = look(phases, &stage.team) else { return Ok(None) };
    phases.memory.looked.borrow_mut().insert(stage.team.clone(), look);
    let ground = stage.ground(phases).await?;
    let held = external_files::held(phases, stage, &ground).await?;
    match begin(phases, stage, ground, None, held).await? {
        // It is not over for the others; a person has to see it.
        Act::EndPhase { verdict: PhaseVerdict::Failed { reason }, .. } => Err(reason),
        act => Ok(Some(act)),
    }
}

/// What a phase that waits could see now. Nothing for one that does not wait.
fn look(phases: &Phases, team: &Name) -> Option<Look> {
    phases.board.with_state(|state| {
        let course = state.teams.get(team)?.course.as_ref()?;
        let waits = course.awaits().is_some();
        let courses = || state.teams.values().filter_map(|team| team.course.as_ref());
        waits.then(|| Look {
            phase: course.phase.clone(),
            round: course.round,
            landed: state.teams.values().map(|team| team.counts.completed).sum(),
            ended: courses().map(|course| course.past.len()).sum(),
            nudges: phases.memory.nudges.get(),
        })
    })
}

/// What must be there before the phase begins: its own conditions, and before a department's
/// first phase the department's.
fn entry(stage: &Stage) -> Vec<Condition> {
    let mut entry = stage.phase.entry.clone();
    let is_first =
        stage.playbook.course().next().is_some_and(|first| first.name == stage.phase.name);
    if let Some(own) = stage.playbook.own_department().filter(|_| is_first) {
        entry.extend(own.after.iter().map(|name| Condition::Department { name: name.clone() }));
        entry.extend(own.entry.iter().cloned());
    }
    entry
}

/// What of these conditions does not hold, in words. A file that only a phase makes which was left
/// out is not waited for.
async fn missing(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: &ProjectFiles,
    conditions: &[Condition],
) -> Result<Vec<String>, String> {
    let above = phases.board.with_state(|state| {
        let parent = state.teams.get(&stage.team)?.parent.as_ref()?;
        state.teams.get(parent)?.course.clone()
    });
    let without = stage.playbook.own_department().map(|own| own.without.clone());
    let without = without.unwrap_or_default();
    let skipped = |name: &Name| {
        let courses = [Some(&stage.course), above.as_ref()];
        let mut ends = courses.into_iter().flatten().filter_map(|course| course.end_of(name));
        without.contains(name) || ends.any(|end| matches!(end, PhaseEnd::Skipped { .. }))
    };
    let left_out: Vec<Condition> = stage
        .playbook
        .phases
        .iter()
        .filter(|phase| skipped(&phase.name))
        .flat_map(|phase| phase.makes.iter().cloned())
        .collect();
    let excused = |condition: &Condition| {
        left_out.iter().any(|made| {
            matches!((made, condition),
            (Condition::File { path: a, .. }, Condition::File { path: b, .. }) if a == b)
        })
    };
    let mut asked = condition::asked(&stage.playbook, conditions);
    asked.retain(|(_, one)| !excused(one));
    let mut found = phases.board.with_state(|state| {
        let Some(team) = state.teams.get(&stage.team) else { return Vec::new() };
        let open = asked.iter().filter_map(|(of, one)| {
            let why = condition::in_team(state, &stage.playbook, team, one)?;
            Some(condition::named(of.as_ref(), why))
        });
        open.collect::<Vec<String>>()
    });
    let (ground, values) = (ground.clone(), stage.values.clone());
    let base = stage.setup.trees.as_ref().and_then(|trees| Commit::parse(&trees.base));
    let files = blocking(move || {
        let scene = Scene { ground: &ground, values: &values, base: base.as_ref() };
        let mut missing = Vec::new();
        for (of, one) in &asked {
            missing.extend(scene.missing(one)?.map(|why| condition::named(of.as_ref(), why)));
        }
        Ok(missing)
    });
    found.extend(files.await?);
    Ok(found)
}

/// The phase with those of its tasks that are for this department, with these others, now.
async fn narrowed(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: &ProjectFiles,
) -> Result<Stage, String> {
    let mut stage = stage.clone();
    let own = stage.playbook.department.clone();
    let playbook = stage.playbook.clone();
    stage.phase.tasks.retain(|task| {
        let only = task.only.is_empty() || own.as_ref().is_some_and(|own| task.only.contains(own));
        only && playbook.has_departments(&task.with)
    });
    let mut kept = Vec::new();
    for task in std::mem::take(&mut stage.phase.tasks) {
        if missing(phases, &stage, ground, &task.when).await?.is_empty() {
            kept.push(task);
        }
    }
    stage.phase.tasks = kept;
    Ok(stage)
}

async fn begin(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: ProjectFiles,
    alone: Option<String>,
    held: Held,
) -> Result<Act, String> {
    let mut stage = narrowed(phases, stage, &ground).await?;
    stage.course.alone = stage.course.alone.take().or(alone.clone());
    let stage = &stage;
    let now = ground.clone();
    let source =
        stage.playbook.work.clone().filter(|_| shipmate_playbook::work::needs_work(&stage.phase));
    let work = match source {
        None => Ok(work::Work::default()),
        Some(source) => {
            let values = stage.values.clone();
            blocking(move || work::read(&source, &ground, &values)).await
        }
    };
    let mut work = match work {
        Ok(work) => work,
        Err(reason) => return Ok(stage.end(PhaseVerdict::Failed { reason })),
    };
    held.leave_out(&mut work);
    if let Some(reason) = work.absent {
        return Ok(stage.end(match stage.phase.optional {
            true => PhaseVerdict::Skip { reason },
            false => PhaseVerdict::Failed { reason },
        }));
    }
    let source = stage.playbook.work.as_ref();
    if source.is_some_and(|source| fill(&source.overlap, &stage.values) == "refuse") {
        let clashes = work.clashes();
        if !clashes.is_empty() {
            let reason = format!("work that would meet:\n  {}", clashes.join("\n  "));
            return Ok(stage.end(PhaseVerdict::Failed { reason }));
        }
    }
    let notes = single_agent::note(stage, &work).into_iter().chain(branch::unnamed(phases, stage));
    let mut notes: Vec<String> = notes.collect();
    let phase = &stage.phase;
    let again = match &phase.redo {
        Some(listed) => revert::listed(stage, &now, listed).map(Some),
        None => Ok(None),
    };
    let made = again.and_then(|again| {
        phases.board.with_state(|state| tasks::make(state, stage, &work, again.as_deref()))
    });
    let tasks::Begins { tasks: mut made, again } = match made {
        Ok(made) => made,
        Err(reason) => return Ok(stage.end(PhaseVerdict::Failed { reason })),
    };
    let nothing = made.is_empty() && again.is_empty();
    if nothing && !held.why.is_empty() {
        return Ok(stage.hold(held.why, true));
    }
    let runs = matches!(stage.course.standing, Standing::Running { .. });
    let idle = nothing && !runs && !phase.departments && !phase.lead_plans;
    if idle && tasks::are_due(stage) {
        let reason = "there is nothing to do in it".to_owned();
        return Ok(stage.end(match phase.optional {
            true => PhaseVerdict::Skip { reason },
            false => PhaseVerdict::Failed { reason },
        }));
    }
    let is_alone = stage.course.alone.is_some();
    let joining = staff::join(phases, stage, &mut made, &work, is_alone, &mut notes).await;
    let teammates = match joining {
        Ok(teammates) => teammates,
        Err(reason) => return Ok(stage.end(PhaseVerdict::Failed { reason })),
    };
    if let Some(act) = approval::asked(stage, &made, &teammates).filter(|_| !runs) {
        return Ok(act);
    }
    Ok(Act::BeginPhase(BeginPhase {
        team: stage.team.clone(),
        phase: phase.name.clone(),
        round: stage.course.round,
        teammates,
        tasks: made,
        again,
        notes: work.notes.into_iter().chain(notes).collect(),
        alone,
        awaits: held.why,
    }))
}

async fn look_out(phases: &Rc<Phases>, stage: &Stage) -> Result<Option<Act>, String> {
    // What is promised may be what the runtime itself writes.
    let writing = phases.memory.writing.lock().await;
    artifact::commit(phases, &family(phases, &stage.team), artifact::Due::All).await?;
    drop(writing);
    if !matches!(stage.course.standing, Standing::Running { .. }) {
        return Ok(None);
    }
    let failed = phases.board.with_state(|state| {
        let failed = phase::failed(state, &stage.team).into_iter().filter_map(|task| {
            let Status::Failed { reason } = &task.status else { return None };
            Some(format!("task {} ({}) failed: {reason}", task.id, task.spec.subject))
        });
        failed.chain(phase::no_plan(state, &stage.team)).collect::<Vec<String>>()
    });
    if !failed.is_empty() {
        let reason = failed.join("\n");
        return Ok(Some(stage.end(PhaseVerdict::Failed { reason })));
    }
    let ground = stage.ground(phases).await?;
    let mut promised = stage.phase.exit.clone();
    promised.extend(stage.phase.makes.iter().cloned());
    if stage.phase.departments {
        let all = stage.playbook.departments.iter();
        promised.extend(all.map(|own| Condition::Department { name: own.name.clone() }));
    }
    let missing = missing(phases, stage, &ground, &promised).await?;
    if !missing.is_empty() {
        let reason = missing.join("; ");
        return Ok(Some(stage.end(PhaseVerdict::Failed { reason })));
    }
    let ground = match &stage.phase.reverts {
        None => ground,
        Some(listed) => match revert::carry_out(phases, stage, &ground, listed).await? {
            Ok(()) => stage.ground(phases).await?,
            Err(reason) => return Ok(Some(stage.end(PhaseVerdict::Failed { reason }))),
        },
    };
    if let Some(reason) = gate_fails(phases, stage, &ground).await? {
        return Ok(Some(stage.end(PhaseVerdict::Failed { reason })));
    }
    let (pushed, is_pushed) = push::push(phases, stage).await;
    let notes = [unset(stage), pushed, push::pull_request(phases, stage, is_pushed).await];
    let note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ");
    Ok(Some(stage.end(PhaseVerdict::Done { note })))
}

/// Which steps of the phase's gates were left out, because nothing is configured for them.
fn unset(stage: &Stage) -> String {
    let own = stage.phase.tasks.iter().filter_map(|template| template.gate.as_ref());
    let (mut lines, mut red) = (BTreeSet::new(), BTreeSet::new());
    for name in own.chain(&stage.phase.gate) {
        // What depends on the task is not known here, and not what is meant.
        let found = gates::gate(&stage.playbook, name, &stage.values);
        lines.extend(found.into_iter().flat_map(|(_, unset)| unset));
        red.extend(gates::red_unset(&stage.playbook, name, &stage.values));
    }
    let listed = |lines: BTreeSet<String>| lines.into_iter().collect::<Vec<_>>().join(", ");
    let mut notes = Vec::new();
    if !lines.is_empty() {
        let lines = listed(lines);
        notes.push(format!("its gate is without {lines}, for which nothing is configured"));
    }
    if !red.is_empty() {
        let red = listed(red);
        notes.push(format!("no new test is seen to fail first: nothing is configured for {red}"));
    }
    notes.join("; ")
}

/// The phase's gate on the team's branch; what it printed where it fails.
async fn gate_fails(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: &ProjectFiles,
) -> Result<Option<String>, String> {
    let gate = stage.phase.gate.as_ref();
    let gate = gate.and_then(|name| gates::gate(&stage.playbook, name, &stage.values));
    let Some((gate, _)) = gate.filter(|(gate, _)| !gate.commands.is_empty()) else {
        return Ok(None);
    };
    let cwd = match ground {
        ProjectFiles::Folder(root) => root.clone(),
        ProjectFiles::Branch { repository, tip } => {
            check_out(phases, stage, repository, tip).await?
        }
    };
    let setup = Setup { gate: gate.commands.clone(), ..stage.setup.clone() };
    let result = gate::run(phases, &stage.team, &setup, gate.expect, &cwd).await;
    if result.killed || result.unprepared {
        return Err(result.evidence);
    }
    if !result.passed {
        return Ok(Some(format!("the gate of the phase fails: {}", result.evidence)));
    }
    match (&gate.red, ground) {
        (Some(red), ProjectFiles::Branch { repository, tip }) => {
            green_too_soon(phases, stage, red, (repository, tip)).await
        }
        _ => Ok(None),
    }
}

/// Why the tests that the team has written show nothing: they pass without its work.
async fn green_too_soon(
    phases: &Rc<Phases>,
    stage: &Stage,
    red: &Red,
    (repository, tip): (&Arc<Repository>, &Commit),
) -> Result<Option<String>, String> {
    let base = || Commit::parse(&stage.setup.trees.as_ref()?.base);
    let before = match &red.on {
        Some(phase) => phases.board.with_state(|state| red::left_by(state, &stage.team, phase)),
        None => base(),
    };
    let Some(before) = before else { return Ok(None) };
    let (own, asked, tip) = (Arc::clone(repository), red.clone(), tip.clone());
    let bare = blocking(move || red::bare(&own, &asked, (&before, &tip))).await?;
    let Some(bare) = bare else { return Ok(None) };
    let cwd = check_out(phases, stage, repository, &bare.commit).await?;
    let setup = Setup { gate: red.commands.clone(), ..stage.setup.clone() };
    let result = gate::run(phases, &stage.team, &setup, Expect::Green, &cwd).await;
    if result.killed || result.unprepared {
        return Err(result.evidence);
    }
    Ok(result.passed.then(|| bare.passes(red, &bare.names())))
}

/// A clone of the runtime's own, for the gates of phases.
async fn check_out(
    phases: &Rc<Phases>,
    stage: &Stage,
    repository: &Arc<Repository>,
    commit: &Commit,
) -> Result<PathBuf, String> {
    let folder = phases.settings.place.team(phases.board.root.as_str());
    let path = folder.join("trees").join(format!("{}.{PHASE_CLONE}", stage.team));
    let (repository, commit) = (Arc::clone(repository), commit.clone());
    blocking(move || {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let author = author("shipmate");
        let tree = Tree::prepare(&repository, &path, "phase", &author).map_err(|e| text(&e))?;
        tree.check_out_afresh(&repository, &commit).map_err(|e| text(&e))?;
        Ok(tree.path().to_owned())
    })
    .await
}
