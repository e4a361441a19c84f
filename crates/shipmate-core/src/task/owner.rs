//! Whose a file is that somebody else wants to change.
//!
//! Only where the playbook counts such requests: whoever works on the file now, else whoever has
//! it in its scope, else whoever is to work on it. Two who keep wanting each other's files had
//! better be one.

use shipmate_model::event::Event;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::name::{Address, Name};

use crate::mail;
use crate::state::{State, Status, Task};

/// Somebody's claim on a file.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) owner: Address,
    file: String,
    how: String,
}

impl std::fmt::Display for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is owned by {} ({})", self.file, self.owner, self.how)
    }
}

pub(crate) fn of(state: &State, task: &Task, who: &Address, files: &FileSet) -> Option<Owned> {
    contested_max(state, who)?;
    files.iter().find_map(|file| of_one(state, task, who, file))
}

fn contested_max(state: &State, who: &Address) -> Option<u32> {
    state.teams[&who.team].setup.playbook.as_ref()?.counted.contested_max
}

fn of_one(state: &State, own: &Task, who: &Address, file: &Pattern) -> Option<Owned> {
    let one = FileSet::new(vec![file.clone()]);
    let file = file.as_str().to_owned();
    let others = || {
        let team = state.tasks().iter().filter(|task| task.team == who.team && task.id != own.id);
        team.filter(|task| task.spec.files.overlaps(&one))
    };
    let held = others().find_map(|task| {
        let by = &task.claim()?.by.address;
        let how = format!("task {}, in progress", task.id);
        (by != who).then(|| Owned { owner: by.clone(), file: file.clone(), how })
    });
    let scoped = || {
        let mut members = state.members_of(&who.team).filter(|(other, _)| *other != who);
        let (owner, _) = members.find(|(_, mate)| mate.profile.scope.overlaps(&one))?;
        let (owner, how) = (owner.clone(), "its scope".to_owned());
        Some(Owned { owner, file: file.clone(), how })
    };
    let planned = || {
        others().filter(|task| task.status == Status::Pending).find_map(|task| {
            let name = task.spec.assignee.clone()?;
            let owner = Address { team: who.team.clone(), name };
            let how = format!("task {}", task.id);
            (owner != *who).then(|| Owned { owner, file: file.clone(), how })
        })
    };
    held.or_else(scoped).or_else(planned)
}

/// The lead is told to make them one when this has happened often enough.
pub(crate) fn propose(state: &State, who: &Address, claims: &Owned) -> Option<Event> {
    let most = contested_max(state, who)?;
    let (less, more) = pair(&who.name, &claims.owner.name);
    let known = state.teams[&who.team].contested.get(less).and_then(|with| with.get(more));
    let count = known.copied().unwrap_or_default() + 1;
    (count >= most).then_some(())?;
    let (owner, file) = (&claims.owner, &claims.file);
    let text = format!(
        "{who} and {owner} have wanted each other's files {count} times (now {file}): merge their \
         scopes into one teammate, or give the shared files to one of them"
    );
    mail::tell_lead(state, &who.team, text)
}

/// Two names in their order.
pub(crate) fn pair<'a>(one: &'a Name, other: &'a Name) -> (&'a Name, &'a Name) {
    if one < other { (one, other) } else { (other, one) }
}
