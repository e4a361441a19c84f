//! What the state keeps of what is over: messages that a playbook keeps after they were read, and the
//! last few of what was closed.

use shipmate_model::event::MessageKind;
use shipmate_model::limits::CLOSED_KEPT;
use shipmate_model::name::Actor;

use crate::state::{Kept, State};

/// Keeps a message of a kind that the playbook keeps. The oldest go first.
pub(crate) fn apply_sent(state: &mut State, by: &Actor, kind: &MessageKind, body: &str) {
    let MessageKind::Handoff(kind) = kind else { return };
    let (team, who) = match by {
        Actor::Teammate(who) => (Some(who.address.team.clone()), Some(who.address.name.clone())),
        _ => (state.root.clone(), None),
    };
    let Some(team) = team.and_then(|team| state.teams.get_mut(&team)) else { return };
    let playbook = team.setup.playbook.as_ref();
    if playbook.and_then(|book| book.kinds.get(kind)).is_some_and(|kind| kind.keep) {
        if team.kept.len() >= CLOSED_KEPT {
            team.kept.remove(0);
        }
        team.kept.push(Kept { who, kind: kind.clone(), body: body.to_owned() });
    }
}

/// Closed entries beyond the last few are only in the log.
pub(crate) fn forget_oldest<T>(
    map: &mut std::collections::BTreeMap<u64, T>,
    closed: impl Fn(&T) -> bool,
) {
    if map.len() <= CLOSED_KEPT {
        return;
    }
    let ids: Vec<u64> = map.iter().filter(|(_, item)| closed(item)).map(|(id, _)| *id).collect();
    for id in ids.iter().take(ids.len().saturating_sub(CLOSED_KEPT)) {
        map.remove(id);
    }
}
