//! `Config`: how the team is set, and the settings that are its lead's to change.

use serde_json::{Value, json};
use shipmate_model::account::percent;

use crate::Code;
use crate::tools::arguments::Arguments;
use crate::tools::outcome::{Reply, refused};
use crate::tools::{Board, Outcome, Tool, schema};
use crate::verbs;
use crate::verbs::{Ask, TeamSet};
use crate::view::TeamView;

pub(crate) fn tool() -> Tool {
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "Config",
        title: "Settings of the team",
        description: "Shows the team's settings. With a value it changes `model`, which whoever joins \
             from then on works with.",
        input_schema: schema(
            json!({
                "setting": text("Its name; without one all are shown"),
                "value": text("What it is to be"),
            }),
            &[],
        ),
        idempotent: true,
        ..Tool::default()
    }
}

pub(crate) async fn run(board: &impl Board, arguments: &mut Arguments) -> Reply {
    let setting = arguments.word(&["setting", "key", "name"])?;
    let value = arguments.text(&["value"])?;
    if let Some(value) = value {
        return set(board, setting.unwrap_or_default(), value).await;
    }
    let view = board.ask(verbs::TeamShow).await?;
    let all = settings(&view);
    let Some(setting) = setting else {
        let lines: Vec<String> = all.iter().map(|(name, value)| line(name, value)).collect();
        let fields = all.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
        return Ok(Outcome::done(lines.join("\n"), Value::Object(fields.collect())));
    };
    match all.iter().find(|(name, _)| *name == setting) {
        Some((name, value)) => Ok(Outcome::done(line(name, value), json!({ (*name): value }))),
        None => {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let message = format!("there is no setting {setting:?}");
            let remedy = format!("there are {}", names.join(", "));
            Err(refused(Code::UnknownSetting, message, &remedy).into())
        }
    }
}

async fn set(board: &impl Board, setting: String, value: String) -> Reply {
    if setting != "model" {
        let message = format!("{setting:?} is no setting of yours");
        return Err(
            refused(Code::NotYours, message, "you may set model; a person sets the rest").into()
        );
    }
    let set = TeamSet { model: Some(value.clone()), ..TeamSet::default() };
    board.ask(Ask::TeamSet(set)).await?;
    let text = format!("{setting} = {value}, for whoever joins from now on.");
    Ok(Outcome::done(text, json!({ setting: value })))
}

fn settings(view: &TeamView) -> Vec<(&'static str, String)> {
    let money = |micros: u64| format!("${:.2}", micros as f64 / 1e6);
    let budget = [
        view.tokens_max.map(|max| format!("{max} tokens")),
        view.cost_micros_max.map(money),
        view.window_max.map(|max| format!("{} of a window", percent(max))),
    ];
    let budget: Vec<String> = budget.into_iter().flatten().collect();
    vec![
        ("team", view.name.clone()),
        ("agent", view.agent.clone()),
        ("model", view.model.clone()),
        ("teammates", view.teammates.to_string()),
        ("playbook", view.playbook.clone().unwrap_or_default()),
        ("gate", if view.gate { "on" } else { "off" }.to_owned()),
        ("budget", budget.join(", ")),
        ("branch", view.branch.clone().unwrap_or_default()),
    ]
}

fn line(name: &str, value: &str) -> String {
    let value = if value.is_empty() { "not set" } else { value };
    format!("{name} = {value}")
}
