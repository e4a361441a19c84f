//! What an agent is told: who it is, the task, and what others said.
//!
//! Words of other members reach a model only inside an envelope that names the sender and
//! that no body can close. Nothing here is enforced by being said: limits are the runtime's.

use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::view::TaskView;

use super::driver::Work;
use super::order::Order;

const TEAMMATE: &str = include_str!("brief/teammate.md");
const LEAD: &str = include_str!("brief/lead.md");

/// The standing instructions of a teammate, for its whole life.
pub(crate) fn standing(order: &Order, mode: &str) -> String {
    let text = if order.lead { LEAD } else { TEAMMATE };
    let role = match order.role.as_str() {
        "" => String::new(),
        role => format!(" Your role is {role}."),
    };
    let scope = match order.scope.as_slice() {
        [] => "anything in the repository".to_owned(),
        scope => scope.join(", "),
    };
    text.replace("{name}", &order.name)
        .replace("{team}", &order.team)
        .replace("{role}", &role)
        .replace("{scope}", &scope)
        .replace("{mode}", mode_words(mode))
        .trim()
        .to_owned()
}

/// Who a teammate is, said again when its conversation was summarised.
pub(crate) fn identity(order: &Order, mode: &str) -> String {
    standing(order, mode)
}

fn mode_words(mode: &str) -> &'static str {
    match mode {
        "plan" => {
            "You are in plan mode: read, then hand in a plan with the ExitPlanMode tool and end \
             your turn. Nothing may be written before the plan is approved."
        }
        "delegate" => {
            "You are in delegate mode: you read, plan the board, talk and spawn; you write \
             nothing and run nothing yourself."
        }
        "read_only" => "You are in read-only mode: you read and report; you write nothing.",
        _ => "",
    }
}

/// The text of one turn.
pub(crate) fn turn(work: &Work) -> String {
    let mut parts = Vec::new();
    match (&work.note, &work.task) {
        (Some(note), _) => parts.push(note.clone()),
        (None, Some(task)) => {
            parts.push(format!("{}\n\n{}", task_words(task, work), how_to_end(task.row.id)));
        }
        (None, None) => {}
    }
    parts.extend(work.messages.iter().map(envelope));
    parts.join("\n\n")
}

/// The same for a conversation that begins with it, and so has not heard of the task.
pub(crate) fn whole_turn(work: &Work) -> String {
    match &work.note {
        Some(note) if work.task.is_some() => {
            let told = turn(&Work { note: None, ..work.clone() });
            format!("{note}\n\n{told}").trim().to_owned()
        }
        _ => turn(work),
    }
}

fn task_words(task: &TaskView, work: &Work) -> String {
    let mut text = format!("Task {}: {}", task.row.id, task.row.subject);
    let mut add = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            text.push_str(&format!("\n\n{name}{value}"));
        }
    };
    add("", &task.description);
    add("Files it is about: ", &task.files.join(", "));
    if let Some(feedback) = &work.feedback {
        add("The last attempt came back, because: ", feedback);
    }
    if !work.conflicts.is_empty() {
        let files = work.conflicts.join(", ");
        add("These files hold conflict markers that are yours to resolve: ", &files);
    }
    text
}

/// The whole of what an agent is told that runs for one prompt and has none of the tools.
pub(crate) fn once(order: &Order, work: &Work) -> String {
    let (name, team) = (&order.name, &order.team);
    let task = work.task.as_ref().map(|task| task_words(task, work)).unwrap_or_default();
    let messages: Vec<String> = work.messages.iter().map(envelope).collect();
    let scope = match order.scope.as_slice() {
        [] => String::new(),
        scope => format!(" You may write: {}.", scope.join(", ")),
    };
    format!(
        "You are {name} in the team {team}. Do the one task below in the current directory, \
         which is yours alone, and end.{scope} Commit and push nothing: your work is collected, \
         checked and merged. Your last message is the result.\n\n{task}\n\n{}\n",
        messages.join("\n\n")
    )
}

fn how_to_end(id: u32) -> String {
    format!(
        "You work in the current directory, which is yours alone. When it is done, call \
         TaskUpdate with taskId \"{id}\", status \"completed\" and a short result; if it \
         cannot be done, status \"failed\" and the reason. Then end your turn."
    )
}

/// A turn that ended without a word about the task.
pub(crate) fn nudge(task: u32) -> String {
    format!(
        "Your turn ended without a word about task {task}. If it is done, call TaskUpdate with \
         taskId \"{task}\" and status \"completed\"; if it cannot be done, status \"failed\" and \
         the reason; if you wait for an answer, say from whom with SendMessage; otherwise go on."
    )
}

/// The program died in the middle of a turn and was started again.
pub(crate) fn interrupted(task: Option<u32>) -> String {
    match task {
        Some(task) => format!(
            "You were interrupted: your program ended and was started again. Look at what is \
             there already and go on with task {task}; what you did before is still in place."
        ),
        None => "You were interrupted: your program ended and was started again.".to_owned(),
    }
}

/// A plan was decided against.
pub(crate) fn rejected(task: u32, feedback: &str) -> String {
    format!(
        "Your plan for task {task} is rejected: {feedback}\nRevise it, hand it in again with the \
         ExitPlanMode tool and end your turn."
    )
}

/// A plan was decided for.
pub(crate) fn approved(task: u32) -> String {
    format!("Your plan is approved: you may write now. Carry it out for task {task}.")
}
