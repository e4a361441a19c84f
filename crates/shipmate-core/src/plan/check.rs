//! Whether a lead's plan holds: all that is wrong with it at once, each with its remedy.
//!
//! A model mends what it is told of. Telling one problem at a time would cost a request to it
//! for each, so nothing here stops at the first.

use std::collections::BTreeMap;

use shipmate_model::event::{Profile, Seat, TaskSpec};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::limits::{
    PLANNED_FILES_MAX, PLANNED_TASKS_MAX, PLANNED_TEAMMATES_MAX, PRIORITY_DEFAULT, RETRIES_DEFAULT,
    SUBJECT_BYTES_MAX, TEXT_BYTES_MAX,
};
use shipmate_model::name::{Address, Alias, Name};
use shipmate_model::planned::precedence::Precedence;
use shipmate_model::planned::{
    Draft, DraftTask, DraftTeammate, PlannedTask, PlannedTeammate, PlannedWork,
};
use shipmate_model::profile::StartRule;

use crate::size::check_files;
use crate::state::State;
use crate::task::claim::in_scope;

/// The work as it is recorded, or everything that speaks against it.
pub(crate) fn check(state: &State, team: &Name, draft: &Draft) -> Result<PlannedWork, Vec<String>> {
    let mut found = Problems(draft.problems.clone());
    let sizes = [
        (draft.tasks.len(), PLANNED_TASKS_MAX, "tasks: join those that belong together"),
        (draft.teammates.len(), PLANNED_TEAMMATES_MAX, "teammates: fewer do more each"),
        (
            draft.tasks.iter().map(|task| task.files.len()).sum(),
            PLANNED_FILES_MAX,
            "files: name \
          folders instead",
        ),
    ];
    for (size, limit, what) in sizes {
        if size > limit {
            found.add(format!("the plan has {size}, and at most {limit} {what}"));
        }
    }
    // What is too large is not looked at any closer: that costs the square of its size.
    if !found.0.is_empty() && sizes.iter().any(|(size, limit, _)| size > limit) {
        return Err(found.0);
    }
    let teammates: Vec<PlannedTeammate> = draft
        .teammates
        .iter()
        .enumerate()
        .filter_map(|(at, mate)| teammate(state, team, draft, at, mate, &mut found))
        .collect();
    let tasks: Vec<PlannedTask> = draft
        .tasks
        .iter()
        .enumerate()
        .map(|(at, one)| task(state, draft, at, one, &mut found))
        .collect();
    let order = draft.precedence();
    graph(draft, &order, &tasks, &mut found);
    hands(state, team, &tasks, &teammates, &mut found);
    worth(draft, &order, &mut found);
    let single = draft.single.as_ref().map(|reason| reason.trim().to_owned());
    let single = single.filter(|reason| !reason.is_empty());
    match found.0.is_empty() {
        true => Ok(PlannedWork { tasks, teammates, single }),
        false => Err(found.0),
    }
}

struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, text: String) {
        self.0.push(text);
    }

    /// The value, or its problem as said about something.
    fn keep<T, E: std::fmt::Display>(&mut self, about: &str, value: Result<T, E>) -> Option<T> {
        value.map_err(|e| self.add(format!("{about}: {e}"))).ok()
    }
}

/// How a task is named to whoever wrote it.
fn named(task: &DraftTask, at: usize) -> String {
    match task.key.trim() {
        "" => format!("task {} of the list", at + 1),
        key => format!("task {key}"),
    }
}

fn patterns(about: &str, texts: &[String], found: &mut Problems) -> FileSet {
    let parsed = texts.iter().filter_map(|text| found.keep(about, text.parse::<Pattern>()));
    let files = FileSet::new(parsed.collect());
    found.keep(about, check_files("the list of files", &files));
    files
}

fn task(
    state: &State,
    draft: &Draft,
    at: usize,
    task: &DraftTask,
    found: &mut Problems,
) -> PlannedTask {
    let about = named(task, at);
    if task.key.trim().is_empty() {
        found.add(format!("{about}: it has no key; give it a short one, such as `api`"));
    } else if draft.tasks[..at].iter().any(|other| other.key == task.key) {
        found.add(format!("{about}: another task has that key; give each its own"));
    }
    // A number is the board's to give.
    let is_number = task.key.bytes().all(|byte| byte.is_ascii_digit());
    let alias = match is_number {
        true => None,
        false => found.keep(&about, task.key.parse::<Alias>()),
    };
    if let Some(other) = alias.as_ref().and_then(|alias| state.by_alias(alias)) {
        found.add(format!("{about}: task {other} on the board has that name; use another key"));
    }
    let texts = [
        ("its subject", &task.subject, SUBJECT_BYTES_MAX),
        ("its description", &task.description, TEXT_BYTES_MAX),
    ];
    for (what, text, limit) in texts {
        if text.len() > limit {
            found.add(format!("{about}: {what} is {} bytes and the limit is {limit}", text.len()));
        }
    }
    if task.subject.trim().is_empty() {
        found.add(format!("{about}: it has no subject; say in one line what is to be done"));
    }
    let files = patterns(&about, &task.files, found);
    if task.files.is_empty() {
        found.add(format!("{about}: it has no files; name the files or folders it writes"));
    }
    let name = |what: &str, text: &Option<String>, found: &mut Problems| {
        let text = text.as_ref()?;
        found.keep(&format!("{about}: {what}"), text.parse::<Name>())
    };
    let spec = TaskSpec {
        subject: task.subject.clone(),
        description: task.description.clone(),
        active_form: String::new(),
        alias,
        group: None,
        blocked_by: Vec::new(),
        files,
        role: name("its role", &task.role, found),
        assignee: name("its assignee", &task.assignee, found),
        priority: task.priority.unwrap_or(PRIORITY_DEFAULT),
        duration_ms: task.duration_ms,
        retries_max: RETRIES_DEFAULT,
        metadata: BTreeMap::new(),
        gate: None,
        no_change: task.no_change,
    };
    let place = |key: &String| draft.tasks.iter().position(|other| other.key == *key);
    let mut after: Vec<usize> = task.blocked_by.iter().filter_map(place).collect();
    after.sort_unstable();
    after.dedup();
    PlannedTask { key: task.key.clone(), spec, after }
}

fn teammate(
    state: &State,
    team: &Name,
    draft: &Draft,
    at: usize,
    mate: &DraftTeammate,
    found: &mut Problems,
) -> Option<PlannedTeammate> {
    let about = format!("teammate {}", mate.name);
    let scope = patterns(&about, &mate.scope, found);
    let role = mate.role.as_ref();
    let role = role.and_then(|role| found.keep(&format!("{about}: its role"), role.parse()));
    let name =
        found.keep(&format!("teammate {} of the list", at + 1), mate.name.parse::<Name>())?;
    if draft.teammates[..at].iter().any(|other| other.name == mate.name) {
        found.add(format!("{about}: another one has that name; give each its own"));
    }
    let address = Address { team: team.clone(), name: name.clone() };
    if state.member(&address).is_some() {
        found.add(format!("{about}: a member has that name already; choose another"));
    }
    let profile = Profile {
        seat: Seat::Member,
        role,
        agent: mate.agent.clone(),
        model: mate.model.clone(),
        scope,
        mode: mate.mode,
        tasks_max: 1,
        command: mate.command.clone(),
        start: StartRule::WhenNeeded,
        hears: mate.hears,
        one_shot: false,
        place: mate.place.clone(),
        definition: mate.definition.clone(),
        fallback: mate.fallback.clone(),
    };
    Some(PlannedTeammate { name, profile })
}

/// What waits for what, and who would be in whose way.
fn graph(draft: &Draft, order: &Precedence, tasks: &[PlannedTask], found: &mut Problems) {
    if tasks.is_empty() {
        found.add(
            "it has no task; name at least one in `tasks`, with key, subject, description and \
             files"
                .to_owned(),
        );
    }
    let keys: Vec<&str> = draft.tasks.iter().map(|task| task.key.as_str()).collect();
    for (at, task) in draft.tasks.iter().enumerate() {
        for on in task.blocked_by.iter().filter(|on| !keys.contains(&on.as_str())) {
            let (about, keys) = (named(task, at), keys.join(", "));
            found.add(format!("{about}: it waits for {on}, which is no task of the plan ({keys})"));
        }
    }
    if let Some(circle) = order.circle() {
        let path: Vec<&str> = circle.iter().map(|at| keys[*at]).collect();
        found.add(format!(
            "tasks {} wait for each other; leave out one of these dependencies",
            path.join(" → ")
        ));
    }
    for (a, one) in tasks.iter().enumerate() {
        for (b, other) in tasks.iter().enumerate().skip(a + 1) {
            let meets = |own: &&Pattern| other.spec.files.iter().any(|file| file.overlaps(own));
            let shared = one.spec.files.iter().find(meets);
            let Some(shared) = shared.filter(|_| order.may_meet(a, b)) else { continue };
            found.add(format!(
                "tasks {} and {} may run at the same time and both write {shared}; let one wait \
                 for the other, or give each its own files",
                one.key, other.key
            ));
        }
    }
}

/// Whether somebody is there for each task.
fn hands(
    state: &State,
    team: &Name,
    tasks: &[PlannedTask],
    teammates: &[PlannedTeammate],
    found: &mut Problems,
) {
    let there = state.members_of(team).filter(|(_, mate)| !mate.is_lead());
    let mut all: Vec<(&Name, &Profile)> =
        there.map(|(who, mate)| (&who.name, &mate.profile)).collect();
    all.extend(teammates.iter().map(|mate| (&mate.name, &mate.profile)));
    let protected = state.teams.get(team).map(|team| &team.setup.protected);
    for PlannedTask { key, spec, .. } in tasks {
        for file in spec.files.iter().filter(|file| protected.is_some_and(|p| p.contains(file))) {
            found.add(format!(
                "task {key}: {file} is protected; leave it out, the person can grant it when the \
                 work is there"
            ));
        }
        // Whoever is missing altogether is said once, not for each task.
        if all.is_empty() {
            continue;
        }
        let mut may: Vec<(&Name, &Profile)> = all.clone();
        if let Some(name) = &spec.assignee {
            may.retain(|(own, _)| *own == name);
            if may.is_empty() {
                found.add(format!("task {key}: it is meant for {name}, who is no teammate"));
                continue;
            }
        }
        if let Some(role) = &spec.role {
            may.retain(|(_, profile)| profile.role.as_ref() == Some(role));
            if may.is_empty() {
                found.add(format!(
                    "task {key}: no teammate has the role {role}; add one, or leave the role out"
                ));
                continue;
            }
        }
        if !may.iter().any(|(_, profile)| in_scope(&profile.scope, &spec.files)) {
            let files: Vec<&str> = spec.files.iter().map(Pattern::as_str).collect();
            found.add(format!(
                "task {key}: nobody who may take it may write {}; widen a scope, or leave scopes \
                 out",
                files.join(", ")
            ));
        }
    }
}

/// Whether a team is worth it.
fn worth(draft: &Draft, order: &Precedence, found: &mut Problems) {
    let count = draft.teammates.len();
    let single = draft.single.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    if single && count > 1 {
        found.add(format!(
            "`single` says that one teammate is enough, and {count} are named; name one, or leave \
             `single` out"
        ));
    } else if count > 1 && !draft.tasks.is_empty() && order.width() < 2 {
        let why = match draft.tasks.len() {
            1 => "there is one task",
            _ => "each task waits for the one before",
        };
        found.add(format!(
            "a team of {count} brings nothing: {why}; say in `single` why one teammate is enough \
             and name one, or split the work into parts with their own files"
        ));
    }
}
