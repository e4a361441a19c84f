//! Deliberation: several propose, each criticises what the others propose, and one decides and
//! says why.
//!
//! A phase that deliberates is a phase with tasks like any other. They are written into the file as
//! it was read, before it is compiled and checked, so everything else knows only tasks: rounds,
//! roles, gates and trouble are the phase's own.

use shipmate_protocol::problem::quoted;

use super::file::{Condition, Deliberation, File, Gate, OrText, Task};
use super::lines::{Page, Path, way};

/// The gate of what is written; a playbook may have one of its own under this name.
const GATE: &str = "deliberation";
/// What a verdict has to say.
const VERDICT: [(&str, Option<&str>); 3] =
    [("status", Some("decided")), ("verdict", None), ("reasons", None)];
/// Fewer than that are no deliberation.
const PROPOSALS_MIN: usize = 2;

pub(crate) fn expand(file: &mut File, page: &Page<'_>) {
    let roles: Vec<String> = file.roles.keys().cloned().collect();
    let mut deliberates = false;
    for (at, phase) in file.phases.iter_mut().enumerate() {
        let Some(own) = &phase.deliberation else { continue };
        check(own, &way!["phases", at, "deliberation"], page);
        deliberates = true;
        let mut tasks = tasks(own);
        // A role that is not there is told where it is named.
        tasks.retain(|task| task.role.as_ref().is_none_or(|role| roles.contains(role)));
        // What is wrong with the texts is told where they stand.
        for n in phase.tasks.len()..phase.tasks.len() + tasks.len() {
            for key in ["subject", "description", "files"] {
                page.hush(&way!["phases", at, "tasks", n, key]);
            }
        }
        for n in phase.exit.len()..phase.exit.len() + VERDICT.len() {
            page.hush(&way!["phases", at, "exit", n]);
        }
        let verdict = format!("{}/verdict.json", own.folder);
        phase.exit.extend(VERDICT.iter().map(|(key, is)| {
            let is = is.map(|is| OrText::Text(is.to_owned()));
            let (file, key) = (Some(verdict.clone()), Some((*key).to_owned()));
            OrText::Long(Condition { file, key, is, ..Condition::default() })
        }));
        phase.tasks.extend(tasks);
    }
    if deliberates {
        let commands = vec!["test -s {files}".to_owned()];
        let gate = Gate { commands, ..Gate::default() };
        file.gates.entry(GATE.to_owned()).or_insert(gate);
    }
}

fn check(own: &Deliberation, here: &Path, page: &Page<'_>) {
    for (key, text) in [("question", &own.question), ("folder", &own.folder)] {
        if text.trim().is_empty() {
            let fact = format!("deliberation has no {key}");
            page.add(&here.to(key), fact, format!("add {key} = \"…\""));
        }
    }
    if own.by.len() < PROPOSALS_MIN {
        let fact = format!("deliberation is by {}, and takes two or more", own.by.len());
        let example = own.by.first().map_or("architect", String::as_str);
        let remedy = format!("add by = [{0}, {0}], a role for each proposal", quoted(example));
        page.add(&here.to("by"), fact, remedy);
    }
}

fn tasks(own: &Deliberation) -> Vec<Task> {
    let folder = &own.folder;
    let question = own.question.trim();
    let critics = if own.critics.is_empty() { &own.by } else { &own.critics };
    let path = |kind: &str, n: usize| format!("{folder}/{kind}-{n}.md");
    let all = |kind: &str, many: usize| -> Vec<String> {
        (1..=many).map(|n| format!("{kind}-{n}")).collect()
    };
    let task = |id: String, subject: String, description: String, file: String| Task {
        id,
        subject,
        description: format!("{question}\n\n{description}\n\n{{trouble}}"),
        files: Some(vec![file]),
        gate: Some(GATE.to_owned()),
        ..Task::default()
    };
    let proposals = own.by.iter().enumerate().map(|(at, role)| {
        let n = at + 1;
        let description = format!(
            "Write {}: what you propose, why, what speaks against it, and what you considered and \
             left. It is your own: do not look at what others propose.",
            path("proposal", n)
        );
        let subject = format!("Propose ({n} of {}): {question}", own.by.len());
        let made = task(format!("proposal-{n}"), subject, description, path("proposal", n));
        Task { role: Some(role.clone()), ..made }
    });
    let critiques = critics.iter().enumerate().map(|(at, role)| {
        let n = at + 1;
        let description = format!(
            "Read every proposal in {folder} (proposal-1.md to proposal-{}.md). Write {}: for each \
             that is not yours, what is wrong with it, what it overlooks, and what you would take \
             over from it.",
            own.by.len(),
            path("critique", n)
        );
        let subject = format!("Criticise the proposals ({n} of {}): {question}", critics.len());
        let made = task(format!("critique-{n}"), subject, description, path("critique", n));
        Task { role: Some(role.clone()), needs: all("proposal", own.by.len()), ..made }
    });
    let description = format!(
        "Read every proposal and every critique in {folder}. Write {folder}/verdict.json: \
         {{\"status\":\"decided\",\"verdict\":\"what is done\",\"reasons\":[\"why\"],\
         \"rejected\":[{{\"proposal\":2,\"reason\":\"why not\"}}]}}. Where it cannot be decided yet, \
         the status is \"open\" and the reasons say what is missing."
    );
    let verdict = format!("{folder}/verdict.json");
    let verdict = Task {
        role: own.judge.clone(),
        lead: own.judge.is_none(),
        needs: all("critique", critics.len()),
        ..task("verdict".to_owned(), format!("Decide: {question}"), description, verdict)
    };
    proposals.chain(critiques).chain([verdict]).collect()
}
