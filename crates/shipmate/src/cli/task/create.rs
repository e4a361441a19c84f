//! `shipmate task create`: one task of the command line, or many from a file.

use std::path::{Path, PathBuf};

use shipmate_protocol::verbs::TaskNew;
use shipmate_protocol::{answers, verbs};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::session::{Session, read_stdin};
use crate::cli::task::parse_meta;
use crate::time::parse_duration_ms;

/// Create a task, or many from a file
///
/// A file has one JSON object a line with the fields of the options below (subject, description,
/// active_form, blocked_by, files, role, assignee, priority, alias, group, duration_ms,
/// retries_max, metadata, no_change). All its tasks are created or none is; `blocked_by` may name aliases of
/// tasks in the same file.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate task create \"Write the parser\" --files src/parser.rs --alias parser
  shipmate task create \"Test the parser\" --blocked-by parser --role tester
  shipmate task create \"Release\" --blocked-by 1,2,group:docs --priority 10
  shipmate task create --from plan.jsonl
  echo '{\"subject\":\"Write\",\"alias\":\"w\"}' | shipmate task create --from -")]
pub(crate) struct CreateArgs {
    /// What is to be done, in one line
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    subject: Option<String>,

    /// Read tasks from a file, one JSON object a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    #[command(flatten)]
    spec: SpecArgs,
}

#[derive(clap::Args, Debug)]
#[group(conflicts_with = "from", multiple = true)]
struct SpecArgs {
    /// Everything the teammate has to know
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,

    /// What is shown while it is worked on ("Writing the parser")
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    active_form: String,

    /// Tasks to be completed before: ids, aliases, group:NAME, separated by commas
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    blocked_by: Vec<String>,

    /// Files it writes: paths and globs, separated by commas; no two tasks in progress overlap
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    files: Vec<String>,

    /// Only teammates of this role may take it
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// Only this teammate may take it
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,

    /// Lower is sooner [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i32>,

    /// Another handle, usable wherever an id is: 03-01/T3
    #[arg(long, value_name = "ALIAS")]
    alias: Option<String>,

    /// The group it belongs to; others may depend on group:NAME
    #[arg(long, value_name = "NAME")]
    group: Option<String>,

    /// How long it will take, like 10m: the longest path is taken first
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    duration: Option<u64>,

    /// How often it may come back before it counts as failed [default: 3]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,

    /// It may be done without any change, like research or a review
    #[arg(long)]
    no_change: bool,

    /// Your own fields; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_meta)]
    meta: Vec<(String, String)>,
}

pub(crate) fn run(args: CreateArgs, mut session: Session) -> Result<(), Failure> {
    let tasks = match (args.from, args.subject) {
        (Some(from), _) => from_file(&from)?,
        (None, subject) => vec![one(subject.unwrap_or_default(), args.spec)],
    };
    let subject = plain_subject(&tasks);
    let answers::Created { tasks } = session.ask(verbs::TaskCreate { tasks })?;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "tasks": tasks }));
    }
    match (tasks.as_slice(), subject) {
        ([id], Some(subject)) => session.screen.line(&format!("created task {id}: {subject}")),
        ([first, .., last], _) => {
            session.screen.line(&format!("created {} tasks, {first} to {last}", tasks.len()))
        }
        _ => Err(unexpected("created tasks")),
    }
}

fn plain_subject(tasks: &[TaskNew]) -> Option<String> {
    let [only] = tasks else { return None };
    Some(crate::cli::screen::plain(&only.subject).into_owned())
}

fn one(subject: String, spec: SpecArgs) -> TaskNew {
    TaskNew {
        subject,
        description: spec.description,
        active_form: spec.active_form,
        alias: spec.alias,
        group: spec.group,
        blocked_by: spec.blocked_by,
        files: spec.files,
        role: spec.role,
        assignee: spec.assignee,
        priority: spec.priority,
        duration_ms: spec.duration,
        retries_max: spec.retries,
        no_change: spec.no_change,
        team: None,
        metadata: spec.meta.into_iter().collect(),
    }
}

fn from_file(path: &Path) -> Result<Vec<TaskNew>, Failure> {
    let (name, text) = if path == Path::new("-") {
        ("standard input".to_owned(), read_stdin()?)
    } else {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| {
            Failure::Usage(format!("{name} cannot be read: {e}\n  name an existing text file"))
        })?;
        (name, text)
    };
    parse(&name, &text)
}

fn parse(name: &str, text: &str) -> Result<Vec<TaskNew>, Failure> {
    let mut tasks = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{name}:{}", index + 1);
        unknown_field(line).map_or(Ok(()), |field| {
            Err(Failure::Usage(format!(
                "{place}: a task has no field {field:?}\n  the fields are {}; nothing was created",
                FIELDS.join(", ")
            )))
        })?;
        tasks.push(serde_json::from_str(line).map_err(|e| {
            // Each line is a document of its own, so serde's "line 1" would mislead.
            let reason = e.to_string();
            let reason = reason.rsplit_once(" at line").map_or(reason.as_str(), |(fact, _)| fact);
            Failure::Usage(format!(
                "{place}:{}: {reason}\n  write one JSON object a line; nothing was created",
                e.column()
            ))
        })?);
    }
    if tasks.is_empty() {
        return Err(Failure::Usage(format!(
            "{name} holds no task\n  write one JSON object a line: {{\"subject\":\"…\"}}"
        )));
    }
    Ok(tasks)
}

const FIELDS: [&str; 14] = [
    "subject",
    "description",
    "active_form",
    "alias",
    "group",
    "blocked_by",
    "files",
    "role",
    "assignee",
    "priority",
    "duration_ms",
    "retries_max",
    "metadata",
    "no_change",
];

/// A misspelt `blocked-by` would otherwise be a task that nothing holds back.
fn unknown_field(line: &str) -> Option<String> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    fields.keys().find(|field| !FIELDS.contains(&field.as_str())).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match parse("plan.jsonl", text) {
            Err(Failure::Usage(told)) => told.lines().next().unwrap_or_default().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_mistake_in_a_plan_is_named_with_its_line() {
        let good = "{\"subject\":\"a\"}\n\n";
        assert_eq!(told(&format!("{good}{{\"subject\"}}")), { "plan.jsonl:3:11: expected `:`" });
        assert_eq!(told(&format!("{good}{{}}")), "plan.jsonl:3:2: missing field `subject`");
        assert_eq!(
            told(&format!("{good}{{\"subject\":\"a\",\"blocked-by\":[]}}")),
            "plan.jsonl:3: a task has no field \"blocked-by\""
        );
        assert_eq!(told("\n"), "plan.jsonl holds no task");
    }

    #[test]
    fn the_fields_of_a_plan_are_those_of_a_task() {
        let full = TaskNew {
            description: "d".into(),
            active_form: "f".into(),
            alias: Some("a".into()),
            group: Some("g".into()),
            blocked_by: vec!["1".into()],
            files: vec!["f".into()],
            role: Some("r".into()),
            assignee: Some("n".into()),
            priority: Some(1),
            duration_ms: Some(1),
            retries_max: Some(1),
            no_change: true,
            team: None,
            metadata: [("k".to_owned(), "v".to_owned())].into(),
            subject: "s".into(),
        };
        let value = serde_json::to_value(full).unwrap();
        let mut fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = FIELDS.to_vec();
        fields.sort_unstable();
        known.sort_unstable();
        assert_eq!(fields, known);
    }
}
