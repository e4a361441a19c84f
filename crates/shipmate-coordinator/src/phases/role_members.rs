//! Posts of a role: how many members it has in a phase, on which model, and which of them has to
//! show a plan.
//!
//! Work that weighs more than usual goes to a member of its own kind, by name. The rest is
//! anybody's: whoever is idle takes the next.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::Name;
use shipmate_model::command::NewTask;
use shipmate_model::event::{Mode, Profile};
use shipmate_model::playbook::Role;
use shipmate_playbook::complexity;
use shipmate_playbook::work::Work;

use super::dispatch;

/// What makes a member other than its role.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// As the playbook has it, with placeholders; empty: the role's.
    pub(super) model: String,
    pub(super) plans: bool,
}

impl Kind {
    /// Whether somebody who is there already is of this kind.
    fn is(&self, profile: &Profile, model: impl Fn(&str) -> String) -> bool {
        let plans = profile.mode == Mode::Plan;
        plans == self.plans && (self.model.is_empty() || profile.model == model(&self.model))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Post {
    pub(super) name: Name,
    pub(super) kind: Kind,
}

/// What a role is staffed from.
pub(super) struct Need<'a> {
    pub(super) name: &'a Name,
    pub(super) role: &'a Role,
    /// What its members are called.
    pub(super) called: String,
    /// Each is given its first task by name.
    pub(super) dispatch: bool,
    /// How many at most.
    pub(super) cap: usize,
    /// Who must show a plan has to; a person may have said otherwise.
    pub(super) plans: bool,
    pub(super) work: &'a Work,
    /// Members of the team that are there already.
    pub(super) there: BTreeMap<Name, Profile>,
    /// What a model's name in the playbook stands for.
    pub(super) model: &'a dyn Fn(&str) -> String,
}

/// The posts of a role. Tasks that only one kind of member may do are given to one by name.
pub(super) fn posts(need: &Need<'_>, tasks: &mut [NewTask]) -> Result<Vec<Post>, String> {
    let own = |task: &NewTask| task.spec.role.as_ref() == Some(need.name);
    let mut posts: Vec<Post> = Vec::new();
    let mut open: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
    for (at, task) in tasks.iter().enumerate().filter(|(_, task)| own(task)) {
        let kind = kind(need, task);
        match &task.spec.assignee {
            None => open.entry(kind).or_default().push(at),
            Some(name) => match posts.iter_mut().find(|post| post.name == *name) {
                // The stronger of two: it has to do both.
                Some(post) => post.kind = post.kind.clone().max(kind),
                None => posts.push(Post { name: name.clone(), kind }),
            },
        }
    }
    if !need.role.named.is_empty() {
        // Each after its own piece of work: there is nobody else of the role.
        if posts.len() > need.cap {
            return Err(format!(
                "there is work for {} of role {}, and there may be {}: put some of it together, or \
                 raise the role's cap",
                posts.len(),
                need.name,
                need.cap
            ));
        }
        return Ok(posts);
    }
    let plain = open.remove(&Kind::default()).unwrap_or_default();
    for (kind, tasks_of) in open {
        let room = need.cap.saturating_sub(posts.len()).max(1).min(tasks_of.len());
        let names = names(need, &posts, &kind, room)?;
        for (turn, at) in tasks_of.into_iter().enumerate() {
            tasks[at].spec.assignee = Some(names[turn % names.len()].clone());
        }
        posts.extend(names.into_iter().map(|name| Post { name, kind: kind.clone() }));
    }
    let left = need.cap.saturating_sub(posts.len());
    // Somebody of the role is there even where no task asks for one.
    let wanted = plain.len().max(usize::from(posts.is_empty())).min(left);
    let wanted = if posts.is_empty() { wanted.max(1) } else { wanted };
    let members = names(need, &posts, &Kind::default(), wanted)?;
    if need.dispatch {
        dispatch::give(tasks, &plain, &members);
    }
    posts.extend(members.into_iter().map(|name| Post { name, kind: Kind::default() }));
    Ok(posts)
}

fn kind(need: &Need<'_>, task: &NewTask) -> Kind {
    let Some(item) = need.work.item_of(&task.spec) else { return Kind::default() };
    let fits = |weight| complexity::fits(weight, item, need.work);
    let upgrade = need.role.upgrades.iter().find(|upgrade| fits(&upgrade.when));
    Kind {
        model: upgrade.map(|upgrade| upgrade.model.clone()).unwrap_or_default(),
        plans: need.plans && need.role.plan_when.as_ref().is_some_and(fits),
    }
}

/// Names for so many members: those that are there and of this kind first.
fn names(need: &Need<'_>, taken: &[Post], kind: &Kind, many: usize) -> Result<Vec<Name>, String> {
    let taken: BTreeSet<&Name> = taken.iter().map(|post| &post.name).collect();
    let mut found = Vec::new();
    for n in 1.. {
        if found.len() == many {
            break;
        }
        let own = match need.role.cap {
            1 if n == 1 => need.called.clone(),
            _ => format!("{}-{n}", need.called),
        };
        let own: Name = own.parse().map_err(|e| format!("{e}"))?;
        let fits = need.there.get(&own).is_none_or(|there| kind.is(there, need.model));
        if fits && !taken.contains(&own) {
            found.push(own);
        }
    }
    Ok(found)
}
