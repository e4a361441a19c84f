//! `Plan`, and `ExitPlanMode`, the name agents know for handing one in.

mod work;

use serde_json::{Value, json};

use crate::Code;
use crate::Mode;
use crate::refused::Refused;
use crate::tools::arguments::{Arguments, Bad};
use crate::tools::outcome::{Reply, refused};
use crate::tools::task_read::one_line;
use crate::tools::words;
use crate::tools::{Board, Outcome, Seat, SeatKind, Tool, schema};
use crate::verbs;
use crate::verbs::{Ask, PlannedWork};
use crate::view::{PlanState, PlanView};

/// How a plan is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approve,
    Reject { feedback: String },
}

pub(crate) fn verdict(approve: bool, feedback: Option<String>) -> Result<Verdict, Bad> {
    match (approve, feedback) {
        (true, _) => Ok(Verdict::Approve),
        (false, Some(feedback)) => Ok(Verdict::Reject { feedback }),
        (false, None) => Err(Bad::missing("feedback", "what to change, for whoever planned it")),
    }
}

pub(crate) fn tool() -> Tool {
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "Plan",
        title: "Submit or decide a plan",
        description: "Lists plans, or decides one by plan_id: approve, or reject with feedback. With \
             `plan` it submits yours.",
        input_schema: schema(
            json!({
                "action": { "type": "string", "enum": ["submit", "list", "approve", "reject"] },
                "plan": text("To submit"),
                "task_id": text("The task it is for"),
                "plan_id": { "type": "string" },
                "feedback": text("What to change"),
                "all": { "type": "boolean", "description": "List decided plans too" },
            }),
            &[],
        ),
        ..Tool::default()
    }
}

/// Until its plan is approved a lead makes tasks and teammates by it, and by nothing else.
pub(crate) fn is_planning(seat: &Seat) -> bool {
    seat.kind == SeatKind::Lead && seat.mode == Mode::Plan
}

pub(crate) fn exit_tool(seat: &Seat) -> Tool {
    let mut properties = json!({
        "plan": { "type": "string", "description": "The whole plan" },
        "task_id": { "type": "string", "description": "The task it is for" },
        "allowedPrompts": { "type": "array", "items": { "type": "object" },
            "description": "Accepted and not used: what you may run is decided elsewhere" },
    });
    let mut description = "Submits your plan to the lead, or to the person where nobody leads. Put \
         the whole plan into `plan`. Wait for the verdict before you write anything: it comes as a \
         message, and a rejected plan is revised and submitted again.";
    if is_planning(seat) {
        properties = work::properties();
        properties["plan"] = json!({ "type": "string", "description": "Approach and risks" });
        description = "Hands your plan to the person: the approach, and the tasks and teammates that \
             its approval brings about. A plan that does not hold comes back with every problem: \
             mend them all and call again. Once it is submitted, end your turn.";
    }
    Tool {
        name: "ExitPlanMode",
        title: "Submit your plan",
        description,
        input_schema: schema(properties, &[]),
        ..Tool::default()
    }
}

fn body(arguments: &mut Arguments) -> Result<Option<String>, Bad> {
    let text = arguments.text(&["plan", "body", "content", "plan_content"])?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

fn task(arguments: &mut Arguments) -> Result<Option<String>, Bad> {
    Ok(arguments.word(&["task_id", "task"])?.map(|task| words::task(&task)))
}

const BODY: &str = "the plan's text (not the path of a file)";

pub(crate) async fn exit(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    arguments.skip(&["allowed_prompts"]);
    let body = body(arguments)?.ok_or_else(|| Bad::missing("plan", BODY))?;
    submit(board, seat, task(arguments)?, body, work::read(arguments)?).await
}

pub(crate) async fn run(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let action = arguments.word(&["action"])?;
    let id = arguments.word(&["plan_id", "request_id", "id"])?;
    let id = id.map(|id| words::request_id("plan_id", &id)).transpose()?;
    let feedback = arguments.text(&["feedback", "reason"])?;
    let feedback = feedback.filter(|text| !text.trim().is_empty());
    let approve = arguments.flag(&["approve", "approved"])?;
    let (task, body) = (task(arguments)?, body(arguments)?);
    let work = work::read(arguments)?;
    let all = arguments.flag(&["all"])?.unwrap_or(false);
    let action = match (action.as_deref(), approve) {
        (Some(action), _) => action.to_owned(),
        (None, Some(true)) => "approve".to_owned(),
        (None, Some(false)) => "reject".to_owned(),
        (None, None) if body.is_some() => "submit".to_owned(),
        (None, None) => "list".to_owned(),
    };
    match action.as_str() {
        "submit" => {
            let body = body.ok_or_else(|| Bad::missing("plan", BODY))?;
            submit(board, seat, task, body, work).await
        }
        "list" => list(board, seat, all).await,
        "approve" | "reject" => {
            let verdict = verdict(action == "approve", feedback)?;
            // Some write the number where its text would be.
            let by_body = body.and_then(|body| words::request_id("plan", &body).ok());
            let plan = id.or(by_body);
            let plan = plan.ok_or_else(|| Bad::missing("plan_id", "the number of the plan"))?;
            decide(board, plan, verdict).await
        }
        other => {
            let expected = "submit, list, approve or reject";
            Err(Bad::new("action", &Value::from(other), expected).into())
        }
    }
}

pub(crate) async fn submit(
    board: &impl Board,
    seat: &Seat,
    task: Option<String>,
    body: String,
    work: Option<PlannedWork>,
) -> Reply {
    // Of a lead that plans, a plan without work is one that lacks it.
    let work = work.or_else(|| is_planning(seat).then(PlannedWork::default)).map(Box::new);
    let planned = work.is_some();
    let id = board.ask(verbs::PlanSubmit { task, body, work }).await?.id;
    let text = match planned {
        true => format!(
            "Plan {id} is submitted. End your turn now: the person decides, and if the plan is \
             approved, teammates begin by themselves."
        ),
        false => format!(
            "Plan {id} is submitted. Write nothing before it is approved; the verdict comes as a \
             message."
        ),
    };
    Ok(Outcome::done(text, json!({ "plan_id": id.to_string(), "state": "open" })))
}

pub(crate) async fn decide(board: &impl Board, plan: u64, verdict: Verdict) -> Reply {
    let approve = verdict == Verdict::Approve;
    board
        .ask(match verdict {
            Verdict::Approve => Ask::PlanApprove(verbs::PlanApprove { plan }),
            Verdict::Reject { feedback } => {
                Ask::PlanReject(verbs::PlanReject { plan, feedback, unworkable: false })
            }
        })
        .await?;
    Ok(decided(plan, approve))
}

pub(crate) fn decided(plan: u64, approve: bool) -> Outcome {
    let state = if approve { "approved" } else { "rejected" };
    let text = format!("Plan {plan} is {state}; whoever submitted it is told.");
    Outcome::done(text, json!({ "plan_id": plan.to_string(), "state": state }))
}

async fn plans(board: &impl Board, all: bool) -> Result<Vec<PlanView>, Refused> {
    board.ask(verbs::Plans { all }).await
}

async fn list(board: &impl Board, seat: &Seat, all: bool) -> Reply {
    let plans = plans(board, all).await?;
    let mut lines = vec![format!("Plans ({}):", plans.len())];
    for plan in &plans {
        let who = words::short(seat, &plan.who);
        let task = plan.task.map(|task| format!(" for task #{task}")).unwrap_or_default();
        lines.push(format!("plan {} of {who}{task} [{}]", plan.id, plan.state));
        lines.extend(plan.body.lines().map(|line| format!("│ {}", one_line(line))));
        lines.extend(plan.work.iter().flat_map(|work| &work.tasks).map(|task| {
            let (key, files) = (&task.key, task.files.join(", "));
            format!("│ task {}: {} ({})", one_line(key), one_line(&task.subject), one_line(&files))
        }));
        lines.extend(plan.feedback.as_ref().map(|text| format!("feedback: {}", one_line(text))));
    }
    Ok(Outcome::done(lines.join("\n"), json!({ "plans": plans })))
}

/// The open plans of a teammate.
pub(crate) async fn open_plans(
    board: &impl Board,
    seat: &Seat,
    who: &str,
) -> Result<Vec<u64>, Refused> {
    let plans = plans(board, false).await?;
    let of = |plan: &&PlanView| words::short(seat, &plan.who) == words::short(seat, who);
    let open = plans.iter().filter(|plan| plan.state == PlanState::Open).filter(of);
    Ok(open.map(|plan| plan.id).collect())
}

/// The one open plan of a teammate.
pub(crate) async fn open_of(board: &impl Board, seat: &Seat, who: &str) -> Result<u64, Outcome> {
    let found = open_plans(board, seat, who).await?;
    match found[..] {
        [one] => Ok(one),
        [] => {
            let message = format!("{who} has no open plan");
            Err(refused(Code::UnknownPlan, message, "Plan with action list names them").into())
        }
        _ => Err(Bad::missing("request_id", &format!("one of its plans: {found:?}")).into()),
    }
}
