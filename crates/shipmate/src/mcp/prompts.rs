//! Briefs that a person or a client can ask for: how a lead and a teammate work here.

use rmcp::ErrorData;
use rmcp::model::{
    CompletionInfo, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role,
};
use shipmate_protocol::view::TeammateView;

const LEAD: &str = include_str!("prompts/lead-brief.md");
const TEAMMATE: &str = include_str!("prompts/teammate-brief.md");

pub(crate) const INSTRUCTIONS: &str = include_str!("prompts/instructions.md");
pub(crate) const OFF: &str = include_str!("prompts/off.md");
pub(crate) const INSIDE: &str = include_str!("prompts/inside.md");

pub(crate) fn list() -> Vec<Prompt> {
    let argument = |name: &str, what: &str| {
        PromptArgument::new(name).with_description(what).with_required(false)
    };
    vec![
        Prompt::new(
            "lead-brief",
            Some("How to lead a team here"),
            Some(vec![argument("goal", "What the team is to achieve")]),
        )
        .with_title("Brief for the lead"),
        Prompt::new(
            "teammate-brief",
            Some("How to work in a team here"),
            Some(vec![
                argument("role", "What this teammate does"),
                argument("scope", "The files and folders it may change"),
            ]),
        )
        .with_title("Brief for a teammate"),
    ]
}

/// The brief with what is known of the seat filled in; arguments stand above it.
pub(crate) fn get(
    name: &str,
    arguments: &JsonObject,
    team: Option<&str>,
    seat: Option<&TeammateView>,
) -> Result<GetPromptResult, ErrorData> {
    let text = match name {
        "lead-brief" => LEAD,
        "teammate-brief" => TEAMMATE,
        other => {
            let text = format!("there is no prompt {other}: ask for lead-brief or teammate-brief");
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    let given = |name: &str| {
        let given = arguments.get(name).and_then(|value| value.as_str()).map(str::trim);
        given.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let role = given("role").or_else(|| seat.and_then(|seat| seat.role.clone()));
    let scope = seat.map(|seat| seat.scope.join(", ")).filter(|scope| !scope.is_empty());
    let scope = given("scope").or(scope);
    let filled = [
        ("{name}", seat.map(|seat| format!("{}, ", seat.name)).unwrap_or_default()),
        ("{team}", team.map_or("a team that you create".to_owned(), |team| format!("team {team}"))),
        ("{goal}", given("goal").unwrap_or_else(|| "what the user has asked for.".to_owned())),
        ("{role}", role.map(|role| format!(", in the role {role}")).unwrap_or_default()),
        ("{scope}", scope.unwrap_or_else(|| "the files of the tasks you hold.".to_owned())),
    ];
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, fill(text, &filled))]))
}

/// Fills in each place once: what is filled in is never looked at again.
fn fill(mut text: &str, filled: &[(&str, String)]) -> String {
    let mut whole = String::new();
    while let Some((at, (place, value))) = filled
        .iter()
        .filter_map(|each| text.find(each.0).map(|at| (at, each)))
        .min_by_key(|(at, _)| *at)
    {
        whole.push_str(&text[..at]);
        whole.push_str(value);
        text = &text[at + place.len()..];
    }
    whole + text
}

/// What an argument may be completed to.
pub(crate) fn complete(argument: &str, begun: &str, teammates: &[TeammateView]) -> CompletionInfo {
    let mut values: Vec<String> = match argument {
        "role" => teammates.iter().filter_map(|teammate| teammate.role.clone()).collect(),
        "scope" => teammates.iter().flat_map(|teammate| teammate.scope.clone()).collect(),
        _ => Vec::new(),
    };
    values.retain(|value| value.starts_with(begun));
    values.sort();
    values.dedup();
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::new(values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_names_the_seat_and_fills_nothing_in_twice() {
        let seat = TeammateView {
            name: "bo".to_owned(),
            role: Some("{team}".to_owned()),
            scope: vec!["src".to_owned(), "docs".to_owned()],
            ..TeammateView::default()
        };
        let brief = get("teammate-brief", &JsonObject::new(), Some("alpha"), Some(&seat)).unwrap();
        let text = serde_json::to_value(&brief.messages[0]).unwrap()["content"]["text"].to_string();
        let begin = "You are bo, a teammate in team alpha, in the role {team}. You may change: src";
        assert!(text.contains(begin), "{text}");
    }

    #[test]
    fn every_place_in_a_brief_is_known() {
        for name in ["lead-brief", "teammate-brief"] {
            let brief = get(name, &JsonObject::new(), None, None).unwrap();
            let text = serde_json::to_string(&brief.messages[0].content).unwrap();
            let text: serde_json::Value = serde_json::from_str(&text).unwrap();
            let text = text["text"].as_str().unwrap();
            assert!(!text.contains('{'), "{text}");
        }
        assert!(get("other", &JsonObject::new(), None, None).is_err());
    }
}
