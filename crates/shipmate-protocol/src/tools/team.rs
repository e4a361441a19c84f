//! `TeamCreate`, `TeamDelete` and `ListAgents`: the team itself and who is in it.

use serde_json::{Value, json};

use crate::Code;
use crate::answers;
use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::{Reply, as_fields, refused};
use crate::tools::task_read::one_line;
use crate::tools::words;
use crate::tools::{Board, Outcome, Seat, SeatKind, Tool, schema, spawn};
use crate::verbs;
use crate::verbs::{Ask, Setup, TeamCreate};
use crate::view::TeammateView;

/// How long a teammate has to stop when nobody says otherwise.
pub(crate) const SHUTDOWN_DEFAULT_MS: u64 = 30_000;
/// Most teammates started by one call.
const MEMBERS_MAX: usize = 100;
/// The longest that a shutdown may be given.
const DEADLINE_MAX_MS: u64 = 24 * 60 * 60 * 1000;

pub(crate) fn create_tool() -> Tool {
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "TeamCreate",
        title: "Create a team",
        description: "Creates a team that works on this repository and makes you its lead; `members` \
             starts its teammates. A further name makes a team below yours. What they do comes to you \
             as messages.",
        input_schema: schema(
            json!({
                "team_name": { "type": "string" },
                "name": text("The same"),
                "description": text("What the team is for"),
                "agent_type": text("Accepted and not used: your seat says what you are"),
                "members": {
                    "type": "array",
                    "description": "Teammates to start, each as for Agent, with a name",
                    "items": { "type": "object", "properties": spawn::member_properties(),
                        "additionalProperties": true },
                },
                "parent": text("The team this one is a department of"),
                "trees": { "type": "string", "enum": ["own", "shared"], "description": "A clone of \
                     the repository for each teammate, or one for all; default: as configured" },
            }),
            &[],
        ),
        ..Tool::default()
    }
}

pub(crate) fn delete_tool() -> Tool {
    Tool {
        name: "TeamDelete",
        title: "End the team",
        description: "Asks every teammate to stop and removes the team when the last has ended. \
             Use it when all is done; merged work stays.",
        input_schema: schema(
            json!({
                "team_name": { "type": "string" },
                "name": { "type": "string", "description": "The same" },
                "reason": { "type": "string" },
                "deadline_seconds": { "type": "integer",
                    "description": "How long they have; default 30" },
                "now": { "type": "boolean", "description": "End them at once" },
            }),
            &[],
        ),
        destructive: true,
        ..Tool::default()
    }
}

pub(crate) fn agents_tool() -> Tool {
    Tool {
        name: "ListAgents",
        title: "List teammates",
        description: "Shows the team: name, program, what each does now and why, its tasks; with \
             `programs` also the agent programs here. In no team yet, it shows the teams there are.",
        input_schema: schema(
            json!({
                "q": { "type": "string", "description": "Only names with this text" },
                "channel": { "type": "string", "description": "Accepted and not used" },
                "programs": { "type": "boolean" },
            }),
            &[],
        ),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "teammates": { "type": "array", "items": { "type": "object" } },
                "teams": { "type": "array", "items": { "type": "object" } },
                "programs": { "type": "array", "items": { "type": "object" } },
            },
        })),
        read_only: true,
        idempotent: true,
        ..Tool::default()
    }
}

/// Members as objects; a name alone is one too.
fn members(arguments: &mut Arguments) -> Result<Vec<(String, spawn::Recruit)>, Bad> {
    let Some((field, value)) = arguments.value(&["members", "teammates"])? else {
        return Ok(Vec::new());
    };
    let value = match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| if item.is_string() { json!({ "name": item }) } else { item })
            .collect(),
        other => other,
    };
    let mut wrapped = Arguments::new(json!({ field.clone(): value }))?;
    let items = wrapped.objects(&["members", "teammates"], MEMBERS_MAX)?.unwrap_or_default();
    let mut recruits = Vec::with_capacity(items.len());
    for (place, mut item) in items {
        let recruit = spawn::read(&mut item).map_err(|bad| bad.within(&place))?;
        if recruit.add.name.is_empty() {
            return Err(Bad::missing("name", "the teammate's name").within(&place));
        }
        item.skip(&["team_name"]);
        arguments.leave(&place, item);
        recruits.push((recruit.add.name.clone(), recruit));
    }
    Ok(recruits)
}

pub(crate) async fn create(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let name = arguments.word(&["team_name", "name"])?;
    let members = members(arguments)?;
    let parent = arguments.word(&["parent"])?;
    let description = arguments.text(&["description"])?.unwrap_or_default();
    let trees = arguments.word(&["trees"])?;
    arguments.skip(&["agent_type"]);
    let leads = seat.kind != SeatKind::Visitor;
    let own = leads && name.as_ref().is_none_or(|name| *name == seat.team);
    let (team, said) = match name {
        _ if own && !members.is_empty() => {
            (seat.team.clone(), format!("You lead team {}.", seat.team))
        }
        // The first line of a flow that begins with it: the team is there already.
        Some(name) if own && parent.is_none() => {
            let said = format!("Team {name} is there, and you lead it: nothing was made.");
            (name, said)
        }
        Some(name) if !own => {
            // A lead's further teams are below its own, where it leads them as well.
            let parent = parent.or_else(|| leads.then(|| seat.team.clone()));
            let below = parent.as_ref().map(|parent| {
                format!(
                    " It is below {parent}, and you lead it too: say team_name \"{name}\" with Task \
                     and TaskCreate, and write to NAME there as \"{name}/NAME\"."
                )
            });
            let gate = trees.is_some();
            let setup = trees.map(|trees| Setup { trees: Some(trees), ..Setup::default() });
            let create = TeamCreate {
                name: name.clone(),
                parent,
                description,
                gate,
                lead: None,
                setup,
                check: false,
            };
            board.ask(Ask::TeamCreate(create)).await?;
            let said = format!("Team {name} is created.{}", below.unwrap_or_default());
            (name, said)
        }
        None if !leads => return Err(Bad::missing("team_name", "the team's name").into()),
        _ => {
            let message = format!("you lead team {} already", seat.team);
            let remedy = format!(
                "start teammates with Agent, or with TeamCreate and team_name {0} and members; for \
                 a department below it, name parent {0}",
                seat.team
            );
            return Err(refused(Code::TeamExists, message, &remedy).into());
        }
    };
    Ok(staff(board, &team, said, members).await)
}

/// Starts the members one by one; each says for itself how it went.
async fn staff(
    board: &impl Board,
    team: &str,
    said: String,
    members: Vec<(String, spawn::Recruit)>,
) -> Outcome {
    let (mut lines, mut started, mut is_error) = (vec![said], Vec::new(), false);
    for (name, mut recruit) in members {
        recruit.add.name = format!("{team}/{name}");
        let mut fields = json!({ "name": name, "agent_id": format!("{name}@{team}") });
        match spawn::teammate(board, &recruit).await {
            Ok(()) => lines.push(format!("{name} is running.")),
            Err(refused) => {
                lines.push(format!("Not started: {name}: {refused}"));
                let entry = fields.as_object_mut().expect("it was made as an object");
                entry.extend(as_fields(&refused));
                is_error = true;
            }
        }
        started.push(fields);
    }
    let structured = json!({ "team_name": team, "members": started });
    Outcome { text: lines.join("\n"), structured, is_error }
}

/// A deadline in seconds or milliseconds.
pub(crate) fn deadline(arguments: &mut Arguments) -> Result<u64, Bad> {
    let seconds = arguments.whole(&["deadline_seconds"])?.map(|s| s.saturating_mul(1000));
    let ms = arguments.whole(&["deadline_ms", "timeout_ms"])?;
    Ok(seconds.or(ms).unwrap_or(SHUTDOWN_DEFAULT_MS).min(DEADLINE_MAX_MS))
}

pub(crate) async fn delete(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let named = arguments.word(&["team_name", "name"])?;
    let below = named.filter(|name| *name != seat.team);
    let reason = arguments.text(&["reason"])?.filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| "the team is done".to_owned());
    let deadline_ms = deadline(arguments)?;
    let now = arguments.flag(&["now", "force"])?.unwrap_or(false);
    let team = below.clone().unwrap_or_else(|| seat.team.clone());
    board.ask(verbs::TeamDelete { team: below, reason, deadline_ms, now }).await?;
    let teams = board.ask(verbs::Teams).await.unwrap_or_default();
    let found = teams.into_iter().find(|view| view.name == team);
    // What cannot be shown any more is gone.
    let phase = found.map_or_else(|| "deleted".to_owned(), |view| view.phase.to_string());
    let text = match phase.as_str() {
        "deleted" => format!("Team {team} is deleted."),
        _ => format!(
            "Team {team} is ending: whoever runs was asked to stop and has {} s. It is gone when \
             the last of them is; you are told.",
            if now { 0 } else { deadline_ms / 1000 }
        ),
    };
    Ok(Outcome::done(text, json!({ "success": true, "team_name": team, "phase": phase })))
}

pub(crate) async fn agents(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let part = arguments.word(&["q", "query", "search"])?.unwrap_or_default().to_lowercase();
    let programs = arguments.flag(&["programs"])?.unwrap_or(false);
    arguments.skip(&["channel"]);
    let (mut text, mut structured) = match seat.kind {
        SeatKind::Visitor => teams(board).await?,
        _ => {
            let mut found = board.ask(verbs::Teammates).await?;
            found.retain(|view| view.name.to_lowercase().contains(&part));
            let lines: Vec<String> =
                found.iter().map(|view| format!("\n  {}", line(view))).collect();
            let text = format!("Teammates ({}):{}", found.len(), lines.concat());
            (text, json!({ "teammates": found }))
        }
    };
    if programs {
        let found = board.ask(verbs::Agents).await?;
        text.push_str("\nPrograms:");
        for view in &found {
            let (name, state) = (&view.name, view.state.replace('_', " "));
            text.push_str(&format!("\n  {name}  ·  {state}  ·  {}", one_line(&view.why)));
        }
        structured["programs"] = json!(found);
    }
    Ok(Outcome::done(text, structured))
}

async fn teams(board: &impl Board) -> Result<(String, Value), Refused> {
    let found = board.ask(verbs::Teams).await?;
    let mut text = format!("You are in no team. Teams ({}):", found.len());
    for team in &found {
        let (name, phase, running) = (&team.name, &team.phase, team.running);
        text.push_str(&format!("\n  {name}  ·  {phase}  ·  {running} running"));
        if !team.description.is_empty() {
            text.push_str(&format!("  ·  {}", one_line(&team.description)));
        }
    }
    text.push_str("\nTeamCreate makes one.");
    Ok((text, json!({ "teams": found })))
}

/// One teammate in one line.
pub(crate) fn line(view: &TeammateView) -> String {
    let mut parts =
        vec![if view.lead { format!("{} (lead)", view.name) } else { view.name.clone() }];
    let program = [view.agent.as_str(), view.model.as_str()].join(" ");
    parts.extend(Some(program.trim().to_owned()).filter(|program| !program.is_empty()));
    parts.extend(view.role.as_ref().map(|role| format!("role {role}")));
    parts.push(match view.why.as_str() {
        "" => view.state.to_string(),
        why => format!("{}: {}", view.state, one_line(why)),
    });
    let ids = |ids: &[u32]| ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ");
    for (word, tasks) in
        [("holds", &view.holds), ("handed in", &view.submitted), ("to redo", &view.returned)]
    {
        if !tasks.is_empty() {
            parts.push(format!("{word} {}", ids(tasks)));
        }
    }
    if view.unread > 0 {
        parts.push(format!("{} unread", view.unread));
    }
    parts.join("  ·  ")
}

/// Asks a teammate, or the whole team, to stop.
pub(crate) async fn shut_down(
    board: &impl Board,
    name: Option<String>,
    reason: String,
    deadline_ms: u64,
) -> Reply {
    let whom = name.clone().unwrap_or_else(|| "all".to_owned());
    let Some(answers::Opened { id }) =
        board.ask(verbs::Shutdown { name, reason, deadline_ms }).await?
    else {
        let text = format!("{whom} was asked to shut down already.");
        return Ok(Outcome::done(text, json!({ "success": true, "target": whom })));
    };
    let text = format!(
        "Shutdown request sent to {whom}. Request ID: {id}\nIt has {} s; its answer comes as a message.",
        deadline_ms / 1000
    );
    let target = words::teammate(&whom);
    let fields = json!({ "success": true, "request_id": id.to_string(), "target": target });
    Ok(Outcome::done(text, fields))
}
