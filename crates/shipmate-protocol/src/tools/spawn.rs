//! `Agent`, and `Task`, its old name: a new teammate, or one agent for one task.
//!
//! What a teammate is told goes to its inbox, never to its command line: a restart loses
//! nothing. Where a later step is refused the earlier ones are undone.

use serde_json::{Value, json};
use shipmate_model::Name;
use shipmate_model::host::Place;

use crate::Code;
use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::Reply;
use crate::tools::task_create::create;
use crate::tools::words;
use crate::tools::{Board, Outcome, Seat, Tool, schema};
use crate::verbs;
use crate::verbs::{Ask, Supervision, TaskNew, TeammateAdd};

/// Names tried for an agent that was given none.
const NAMES_TRIED: usize = 50;
/// Longest subject that the board takes, in bytes.
const SUBJECT_BYTES_MAX: usize = 512;

pub(crate) fn tool(name: &'static str) -> Tool {
    Tool {
        name,
        title: "Start an agent",
        description: "With a name: adds a teammate that stays, takes tasks and answers mail. Without: \
             starts one agent for one task made from the prompt; TaskGet tells its result.",
        input_schema: schema(member_properties(), &["prompt"]),
        ..Tool::default()
    }
}

pub(crate) fn member_properties() -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    json!({
        "name": text("Letters, digits, '_' and '-'"),
        "prompt": text("What it is to do; it knows nothing of your conversation"),
        "description": text("A few words: what it is for"),
        "agent": text("claude, codex, gemini, opencode, …; default: as configured"),
        "subagent_type": text("A definition, as in .claude/agents"),
        "model": { "type": "string" },
        "role": { "type": "string" },
        "scope": { "type": "array", "items": { "type": "string" },
            "description": "Patterns it may write; default: all" },
        "mode": text("normal, plan (you approve first), delegate, read_only"),
        "host": text("The machine it runs on; default: any that has room"),
        "labels": { "type": "array", "items": { "type": "string" },
            "description": "It runs only on machines with these labels, such as gpu" },
        "team_name": text("The team it joins; default: yours"),
        "run_in_background": { "type": "boolean", "description": "It always runs beside you" },
    })
}

/// Somebody to be started.
#[derive(Debug)]
pub(crate) struct Recruit {
    pub(crate) add: TeammateAdd,
    prompt: Option<String>,
    description: String,
}

pub(crate) fn read(arguments: &mut Arguments) -> Result<Recruit, Bad> {
    let kind = arguments.word(&["subagent_type", "agent_type", "type"])?;
    let (program, role, from) = match kind {
        Some(kind) if words::is_program(&kind) => (Some(kind), None, None),
        // What every agent is says nothing about a role.
        Some(kind) if kind == "general-purpose" => (None, None, None),
        kind => (None, kind.as_ref().map(|kind| words::slug(kind)), kind),
    };
    let named_from = arguments.word(&["from"])?;
    let or_role = named_from.is_none() && from.is_some();
    let mode = arguments.word(&["mode"])?.map(|mode| words::mode("mode", &mode)).transpose()?;
    let holds = arguments.whole(&["tasks_max"])?.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    arguments.skip(&["run_in_background"]);
    let named = |field: &str, text: String| {
        text.parse::<Name>().map_err(|e| Bad::new(field, &Value::from(text), &e.to_string()))
    };
    let host = arguments.word(&["host"])?.map(|host| named("host", host)).transpose()?;
    let labels = arguments.words(&["labels", "label"])?.unwrap_or_default();
    let labels: Result<_, Bad> = labels.into_iter().map(|label| named("labels", label)).collect();
    let filled = |text: &String| !text.trim().is_empty();
    Ok(Recruit {
        add: TeammateAdd {
            name: arguments.word(&["name"])?.unwrap_or_default(),
            lead: false,
            role: arguments.word(&["role"])?.or(role),
            agent: arguments.word(&["agent", "program"])?.or(program).unwrap_or_default(),
            model: arguments.word(&["model"])?.unwrap_or_default(),
            scope: arguments.words(&["scope", "files"])?.unwrap_or_default(),
            mode,
            tasks_max: holds,
            command: arguments.text(&["command"])?.unwrap_or_default(),
            when_needed: true,
            hears: false,
            place: Place { host, labels: labels? },
            from: named_from.or(from).unwrap_or_default(),
            or_role,
            ..TeammateAdd::default()
        },
        prompt: arguments.text(&["prompt", "instructions"])?.filter(filled),
        description: arguments.text(&["description"])?.unwrap_or_default(),
    })
}

pub(crate) async fn run(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let team = arguments.word(&["team_name"])?.filter(|team| *team != seat.team);
    let mut recruit = read(arguments)?;
    if recruit.prompt.is_none() {
        return Err(Bad::missing("prompt", "what the agent is to do").into());
    }
    if recruit.add.name.is_empty() {
        if let Some(team) = team {
            let expected = format!("{}, your own, for an agent without a name", seat.team);
            return Err(Bad::new("team_name", &Value::from(team), &expected).into());
        }
        return one_shot(board, seat, recruit).await;
    }
    let name = recruit.add.name.clone();
    let in_team = team.clone().unwrap_or_else(|| seat.team.clone());
    if let Some(team) = team {
        recruit.add.name = format!("{team}/{name}");
    }
    teammate(board, &recruit).await?;
    let id = format!("{name}@{in_team}");
    let text = format!(
        "Spawned successfully.\nagent_id: {id}\nname: {name}\nteam_name: {in_team}\nThe agent is \
         now running and receives instructions through its inbox; what it writes comes to yours."
    );
    Ok(Outcome::done(text, json!({ "agent_id": id, "name": name, "team_name": in_team })))
}

/// Adds a teammate, starts it and tells it what to do.
pub(crate) async fn teammate(board: &impl Board, recruit: &Recruit) -> Result<(), Refused> {
    let name = recruit.add.name.clone();
    board.ask(Ask::TeammateAdd(recruit.add.clone())).await?;
    start(board, &name, Supervision::Supervised).await?;
    let Some(body) = recruit.prompt.clone() else { return Ok(()) };
    let ask = Ask::Send(verbs::Send { to: name.clone(), body, kind: None, reply_to: None });
    match board.ask(ask).await {
        Ok(_) => Ok(()),
        Err(refused) => Err(Refused {
            message: format!("{name} runs, but its prompt was not sent: {}", refused.message),
            ..refused
        }),
    }
}

/// Starts somebody who was just added, or takes the addition back.
async fn start(board: &impl Board, name: &str, supervision: Supervision) -> Result<(), Refused> {
    let ask = Ask::TeammateStart(verbs::TeammateStart { name: name.to_owned(), supervision });
    match board.ask(ask).await {
        Ok(_) => Ok(()),
        // The runtime may have found a task for it first.
        Err(refused) if refused.code == Code::StillRunning => Ok(()),
        Err(refused) => {
            let removed = board.ask(verbs::TeammateRemove { name: name.to_owned() }).await;
            let left = match removed {
                Ok(_) => format!("{name} was not added"),
                Err(_) => format!("{name} was added but does not run"),
            };
            Err(Refused { message: format!("{left}: {}", refused.message), ..refused })
        }
    }
}

/// One agent for one task. The task is assigned from its first moment, so that nobody else
/// takes it.
async fn one_shot(board: &impl Board, seat: &Seat, recruit: Recruit) -> Reply {
    let prompt = recruit.prompt.unwrap_or_default();
    let subject = match recruit.description.trim() {
        "" => prompt.trim().lines().next().unwrap_or_default(),
        description => description.lines().next().unwrap_or_default(),
    };
    let subject = &subject[..subject.floor_char_boundary(SUBJECT_BYTES_MAX)];
    let mut add = TeammateAdd { when_needed: false, ..recruit.add };
    let base = words::slug(subject);
    for attempt in 1.. {
        add.name = if attempt == 1 { base.clone() } else { format!("{base}-{attempt}") };
        match board.ask(Ask::TeammateAdd(add.clone())).await {
            Ok(_) => break,
            Err(refused) if refused.code == Code::TeammateExists && attempt < NAMES_TRIED => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    let name = add.name;
    let task = TaskNew {
        subject: subject.to_owned(),
        description: prompt,
        assignee: Some(name.clone()),
        // What it was asked may want an answer and nothing else.
        no_change: true,
        ..TaskNew::default()
    };
    let ids = match create(board, vec![task]).await {
        Ok(ids) => ids,
        Err(refused) => {
            // Without its task it is of no use; that it could not be removed changes nothing.
            let _ = board.ask(verbs::TeammateRemove { name }).await;
            return Err(refused.into());
        }
    };
    let Some(id) = ids.first() else {
        let _ = board.ask(verbs::TeammateRemove { name }).await;
        return Err(crate::tools::outcome::refused(Code::NoTask, "no task was created", "").into());
    };
    if let Err(refused) = start(board, &name, Supervision::OneShot).await {
        let _ = board.ask(verbs::TaskDelete { task: id.to_string() }).await;
        return Err(refused.into());
    }
    let text = format!(
        "Started {name} for task #{id}.\ntask_id: {id}\nIt ends with that task. TaskOutput with \
         task_id {id} tells its state and result; TaskStop stops it."
    );
    let agent = format!("{name}@{}", seat.team);
    Ok(Outcome::done(text, json!({ "task_id": id.to_string(), "name": name, "agent_id": agent })))
}
