//! What a member is by its role: what it is told, which tools it has, what it may write.

use shipmate_core::State;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::playbook::{Playbook, Route};
use shipmate_model::{Address, Name};
use shipmate_playbook::{fill, handoff};

#[derive(Debug, Default)]
pub(crate) struct RoleBrief {
    pub(crate) prompt: String,
    /// Empty: all that there are for it.
    pub(crate) tools: Vec<String>,
    /// Protected paths that it may write all the same.
    pub(crate) may: Vec<String>,
}

/// Nothing of a member whose team has no playbook, or that has no role in it.
pub(crate) fn of(state: &State, who: &Address) -> RoleBrief {
    let own = state.teams.get(&who.team).and_then(|team| team.setup.playbook.as_deref());
    let playbook = state.lineage(&who.team).find_map(|team| team.setup.playbook.as_deref());
    let (Some(playbook), Some((name, role))) = (playbook, state.role(who)) else {
        return RoleBrief::default();
    };
    let values = fill::resolved(playbook, [("name", who.name.to_string())]);
    let mut parts = vec![fill::fill(role.prompt.trim(), &values)];
    // Routes are those of its own team.
    if !role.one_shot && own.is_some() {
        parts.extend(talk(playbook, name));
    }
    parts.retain(|part| !part.is_empty());
    RoleBrief {
        prompt: parts.join("\n\n"),
        tools: role.tools.clone(),
        may: role.may.iter().map(|path| fill::pattern(path, &values)).collect(),
    }
}

impl RoleBrief {
    /// What it may write of what is protected; what is no pattern frees nothing.
    pub(crate) fn free(&self) -> FileSet {
        let patterns = self.may.iter().filter_map(|path| path.parse::<Pattern>().ok());
        FileSet::new(patterns.collect())
    }
}

/// Whom it may write to, and what its handoffs look like.
fn talk(playbook: &Playbook, role: &Name) -> Option<String> {
    let own = |route: &&Route| route.from.is_empty() || route.from.contains(role);
    let routes: Vec<&Route> = playbook.routes.iter().filter(own).collect();
    if routes.is_empty() {
        return None;
    }
    let mut lines = vec!["You may write to (SendMessage):".to_owned()];
    for route in &routes {
        let person = route.person.then_some("person");
        let to: Vec<&str> = route.to.iter().map(Name::as_str).chain(person).collect();
        let to = if to.is_empty() { "everybody".to_owned() } else { to.join(", ") };
        let kinds: Vec<&str> = route.kinds.iter().map(Name::as_str).collect();
        let kinds = if kinds.is_empty() { "any kind".to_owned() } else { kinds.join(", ") };
        let across = if route.across { ", in another team" } else { "" };
        lines.push(format!("- {to}{across}: {kinds}"));
    }
    lines.push("Anybody who writes to you may be answered once.".to_owned());
    let kinds = playbook.kinds.iter();
    let sent = kinds.filter(|(name, _)| routes.iter().any(|route| route.kinds.contains(name)));
    let examples: Vec<String> =
        sent.map(|(name, kind)| format!("- {}", handoff::example(name, kind))).collect();
    if !examples.is_empty() {
        lines.push("A kind other than message is an object as the message:".to_owned());
        lines.extend(examples);
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_role_is_told_whom_it_may_write_to_and_what_its_handoffs_look_like() {
        let playbook: Playbook = serde_json::from_value(json!({
            "name": "small", "roles": {}, "phases": [],
            "routes": [
                { "from": ["dev"], "to": ["senior"], "kinds": ["message", "dev_progress"] },
                { "from": ["lead"], "to": ["owner"], "kinds": [], "across": true },
                { "from": ["dev"], "to": [], "person": true, "kinds": ["message"] },
            ],
            "kinds": {
                "dev_progress": { "fields": { "task": { "shape": "text", "required": true } } },
                "other": { "fields": {} },
            },
        }))
        .expect("a playbook");
        let name = |text: &str| text.parse::<Name>().expect("a name");
        assert_eq!(
            talk(&playbook, &name("dev")).expect("it has routes"),
            "You may write to (SendMessage):\n- senior: message, dev_progress\n- person: message\n\
             Anybody who writes to you may be answered once.\n\
             A kind other than message is an object as the message:\n\
             - {\"task\":\"…\",\"type\":\"dev_progress\"}"
        );
        let lead = talk(&playbook, &name("lead")).expect("it has routes");
        assert!(lead.contains("- owner, in another team: any kind"), "{lead}");
        assert_eq!(talk(&playbook, &name("qa")), None);
    }
}
