//! Unread messages as files, in two forms: a file of lines for each member (`inboxes`), or a file
//! for each message (`mailboxes`). What a member reads is gone from them.

use serde_json::json;
use shipmate_core::state::Message;
use shipmate_model::event::MessageKind;
use shipmate_model::{Actor, Address, Name};

use super::moment::iso;
use super::{Files, Sight};

/// The unread messages of each member of the team, oldest first.
fn unread<'a>(sight: &'a Sight<'_>) -> impl Iterator<Item = (&'a Name, Vec<(u64, &'a Message)>)> {
    let messages = &sight.state.messages;
    sight.state.members_of(sight.team).map(move |(who, mate)| {
        let own = mate.inbox.iter().filter_map(|id| Some((*id, messages.get(id)?)));
        (&who.name, own.collect())
    })
}

/// Who sent it, by its short name.
fn sender(message: &Message) -> String {
    match &message.from {
        Actor::Teammate(who) => who.address.name.to_string(),
        other => other.to_string(),
    }
}

/// The kinds that both forms know; everything else is a plain message there.
fn control(kind: &MessageKind) -> Option<&'static str> {
    match kind {
        MessageKind::Broadcast => Some("broadcast"),
        MessageKind::ShutdownRequest => Some("shutdown_request"),
        MessageKind::ShutdownResponse => Some("shutdown_response"),
        MessageKind::PlanApprovalResponse => Some("plan_approval_response"),
        _ => None,
    }
}

/// The file into which mail for each member may be dropped, beside what shows its inbox. Whoever
/// lives for one task has none.
pub(super) fn drops(format: &str, sight: &Sight<'_>) -> Vec<(Address, String)> {
    let members = sight.state.members_of(sight.team).filter(|(_, mate)| !mate.profile.one_shot);
    let place = |name: &Name| match format {
        "inboxes" => Some(format!("{}/{name}_inbox.drop.jsonl", sight.path)),
        "mailbox-002" => Some(format!("{}/{name}.drop.jsonl", sight.path)),
        _ => None,
    };
    members.filter_map(|(who, _)| Some((who.clone(), place(&who.name)?))).collect()
}

/// `{path}/{name}_inbox.jsonl`.
pub(super) fn inboxes(sight: &Sight<'_>) -> Result<Files, String> {
    let mut files = Files::new();
    for (name, messages) in unread(sight) {
        let mut text = String::new();
        for (_, message) in messages {
            let line = json!({
                "type": control(&message.kind).unwrap_or("message"),
                "sender": sender(message),
                "content": message.body,
                "timestamp": message.sent_at as f64 / 1000.0,
            });
            text.push_str(&format!("{line}\n"));
        }
        files.push((format!("{}/{name}_inbox.jsonl", sight.path), text));
    }
    Ok(files)
}

/// `{path}/{name}/msg-001.json`.
pub(super) fn mailboxes(sight: &Sight<'_>) -> Result<Files, String> {
    let mut files = Files::new();
    for (name, messages) in unread(sight) {
        for (id, message) in messages {
            let own = format!("msg-{id:03}");
            let text = json!({
                "id": own,
                "from": sender(message),
                "to": name.as_str(),
                "type": control(&message.kind).unwrap_or("direct"),
                "content": message.body,
                "timestamp": iso(message.sent_at),
            });
            files.push((format!("{}/{name}/{own}.json", sight.path), format!("{text:#}\n")));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_word_and_what_the_forms_do_not_know_is_a_plain_message() {
        let handoff = MessageKind::Handoff("dev_progress".parse().unwrap());
        for (kind, word) in [
            (MessageKind::Broadcast, Some("broadcast")),
            (MessageKind::ShutdownRequest, Some("shutdown_request")),
            (MessageKind::ShutdownResponse, Some("shutdown_response")),
            (MessageKind::PlanApprovalResponse, Some("plan_approval_response")),
            (MessageKind::Message, None),
            (MessageKind::Notice, None),
            (MessageKind::WorkDone, None),
            (handoff, None),
        ] {
            assert_eq!(control(&kind), word, "{kind:?}");
        }
    }
}
