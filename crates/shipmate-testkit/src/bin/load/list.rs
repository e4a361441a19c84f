//! W4: a long list, and what is available in it, asked warm and through the whole command line.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use shipmate_protocol::verbs::TaskFilter;
use shipmate_protocol::{Answer, Ask, verbs};

use crate::arguments::Arguments;
use crate::drain::{self, Plan};
use crate::measure::{micros, timed};
use crate::workspace::Workspace;

const WARM: usize = 50;
const COLD: usize = 20;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let plan = Plan::take(&mut arguments)?;
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    drain::create(&mut workspace, &plan)?;
    let mut report = json!({
        "workload": "list", "tasks": plan.count(), "durability": workspace.durability,
    });
    let available =
        |limit: Option<usize>| TaskFilter { available: true, limit, ..TaskFilter::default() };
    let all = TaskFilter::default();
    report["all_us"] = warm(&mut workspace, &all, plan.count())?;
    let first = match plan.is_graph() {
        true => plan.layers()[0].len(),
        false => plan.tasks,
    };
    report["available"] = json!(first);
    report["available_us"] = warm(&mut workspace, &available(None), first)?;
    report["available_page_us"] = warm(&mut workspace, &available(Some(20)), first.min(20))?;
    report["cli_json_us"] = cold(&workspace, &["task", "list", "--json"], plan.count())?;
    report["cli_table_us"] = cold(&workspace, &["task", "list"], plan.count())?;
    report["cli_available_us"] = cold(&workspace, &["task", "list", "--available"], first)?;
    report["errors"] = json!(0);
    println!("{report}");
    Ok(())
}

fn warm(workspace: &mut Workspace, filter: &TaskFilter, rows: usize) -> Result<Value, String> {
    let mut samples = Vec::new();
    for _ in 0..WARM {
        let ask = Ask::Tasks(verbs::Tasks { filter: filter.clone() });
        let (took, answer) = timed(|| workspace.ask(ask));
        match answer? {
            Answer::Tasks(found) if found.len() == rows => samples.push(took),
            Answer::Tasks(found) => {
                return Err(format!("{} tasks are listed, not {rows}", found.len()));
            }
            other => return Err(format!("the list was answered by {other:?}")),
        }
    }
    Ok(micros(&samples))
}

/// The whole process from its start to its end, with all it prints.
fn cold(workspace: &Workspace, words: &[&str], rows: usize) -> Result<Value, String> {
    let mut samples = Vec::new();
    for _ in 0..COLD {
        let mut command = Command::new(&workspace.program);
        command.arg("--workspace").arg(&workspace.place.workspace).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Its output is read as it comes, as by whoever asked for it.
        let (took, output) = timed(|| command.output());
        let output = output.map_err(|e| e.to_string())?;
        // Nothing was begun: every row says so once, in either form.
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.matches("pending").count() < rows {
            return Err(format!("{words:?} ended with {} and too little", output.status));
        }
        samples.push(took);
    }
    Ok(micros(&samples))
}
