//! Deliberation: several propose, each criticises what the others propose, and one decides and
//! says why.
//!
//! A phase that deliberates is a phase with tasks like any other. They are written into the tree of
//! the file before it is compiled and checked, so everything else knows only tasks: rounds, roles,
//! gates and trouble are the phase's own.

use serde::Serialize;
use shipmate_protocol::problem::quoted;

use super::document::{Document, Node, Step};
use super::table::Table;

/// The gate of what is written; a playbook may have one of its own under this name.
const GATE: &str = "deliberation";
/// What a verdict has to say.
const VERDICT: [(&str, Option<&str>); 3] =
    [("status", Some("decided")), ("verdict", None), ("reasons", None)];
/// Fewer than that are no deliberation.
const PROPOSALS_MIN: usize = 2;

pub(crate) fn expand(document: &mut Document<'_>) {
    let root = document.root();
    let roles: Vec<String> =
        root.to("roles").entries().into_iter().map(|(name, _)| name.to_owned()).collect();
    let phases = root.to("phases").list().into_iter().map(|phase| phase.to("deliberation"));
    let phases = phases.enumerate().filter(|(_, own)| own.is_there());
    let phases: Vec<_> = phases.map(|(at, own)| (at, Deliberation::of(&own))).collect();
    for (at, own) in &phases {
        // A role that is not there is told where it is named.
        let tasks = own.tasks().into_iter();
        let tasks = tasks.filter(|task| task.role.as_ref().is_none_or(|role| roles.contains(role)));
        let file = &format!("{}/verdict.json", own.folder);
        let exit = VERDICT.map(|(key, is)| Condition { file, key, is });
        // What is wrong with the texts is told where they stand.
        for task in document.append(*at, "tasks", tasks) {
            for key in ["subject", "description", "files", "gate"] {
                document.hush(task.iter().cloned().chain([Step::from(key)]).collect());
            }
        }
        for condition in document.append(*at, "exit", exit) {
            document.hush(condition);
        }
    }
    if !phases.is_empty() {
        document.add_gate(GATE, &["test -s {files}"]);
    }
}

/// What is wrong with what a phase deliberates.
pub(crate) fn check(own: &Table<'_, '_>) {
    let (question, by) = (own.text("question"), own.texts("by"));
    let (_, _, folder) = (own.texts("critics"), own.maybe("judge"), own.text("folder"));
    for (key, text) in [("question", question), ("folder", folder)] {
        if text.trim().is_empty() {
            let fact = format!("deliberation has no {key}");
            own.add(key, fact, format!("add {key} = \"…\""));
        }
    }
    if by.len() < PROPOSALS_MIN {
        let fact = format!("deliberation is by {}, and takes two or more", by.len());
        let example = by.first().map_or("architect", String::as_str);
        let remedy = format!("add by = [{0}, {0}], a role for each proposal", quoted(example));
        own.add("by", fact, remedy);
    }
}

struct Deliberation {
    question: String,
    by: Vec<String>,
    critics: Vec<String>,
    judge: Option<String>,
    folder: String,
}

/// As it would be written in the file.
#[derive(Serialize)]
struct Task {
    id: String,
    subject: String,
    description: String,
    role: Option<String>,
    lead: bool,
    files: [String; 1],
    needs: Vec<String>,
    gate: &'static str,
}

#[derive(Serialize)]
struct Condition<'a> {
    file: &'a str,
    key: &'a str,
    is: Option<&'a str>,
}

impl Deliberation {
    /// Whatever is missing or of another kind is told by `check`.
    fn of(node: &Node<'_, '_>) -> Deliberation {
        let texts = |key: &str| node.to(key).texts().into_iter().map(str::to_owned).collect();
        let (by, critics): (Vec<String>, Vec<String>) = (texts("by"), texts("critics"));
        let judge = node.to("judge");
        Deliberation {
            question: node.to("question").text().trim().to_owned(),
            critics: if critics.is_empty() { by.clone() } else { critics },
            by,
            judge: judge.is_there().then(|| judge.text().to_owned()),
            folder: node.to("folder").text().to_owned(),
        }
    }

    fn tasks(&self) -> Vec<Task> {
        let Deliberation { question, by, critics, folder, .. } = self;
        let path = |kind: &str, n: usize| format!("{folder}/{kind}-{n}.md");
        let all = |kind: &str, many: usize| -> Vec<String> {
            (1..=many).map(|n| format!("{kind}-{n}")).collect()
        };
        let task = |id: String, subject: String, description: String, file: String| Task {
            id,
            subject,
            description: format!("{question}\n\n{description}\n\n{{trouble}}"),
            role: None,
            lead: false,
            files: [file],
            needs: Vec::new(),
            gate: GATE,
        };
        let proposals = by.iter().enumerate().map(|(at, role)| {
            let n = at + 1;
            let description = format!(
                "Write {}: what you propose, why, what speaks against it, and what you considered \
                 and left. It is your own: do not look at what others propose.",
                path("proposal", n)
            );
            let subject = format!("Propose ({n} of {}): {question}", by.len());
            let made = task(format!("proposal-{n}"), subject, description, path("proposal", n));
            Task { role: Some(role.clone()), ..made }
        });
        let critiques = critics.iter().enumerate().map(|(at, role)| {
            let n = at + 1;
            let description = format!(
                "Read every proposal in {folder} (proposal-1.md to proposal-{}.md). Write {}: for \
                 each that is not yours, what is wrong with it, what it overlooks, and what you \
                 would take over from it.",
                by.len(),
                path("critique", n)
            );
            let subject = format!("Criticise the proposals ({n} of {}): {question}", critics.len());
            let made = task(format!("critique-{n}"), subject, description, path("critique", n));
            Task { role: Some(role.clone()), needs: all("proposal", by.len()), ..made }
        });
        let description = format!(
            "Read every proposal and every critique in {folder}. Write {folder}/verdict.json: \
             {{\"status\":\"decided\",\"verdict\":\"what is done\",\"reasons\":[\"why\"],\
             \"rejected\":[{{\"proposal\":2,\"reason\":\"why not\"}}]}}. Where it cannot be decided \
             yet, the status is \"open\" and the reasons say what is missing."
        );
        let verdict = format!("{folder}/verdict.json");
        let verdict = Task {
            role: self.judge.clone(),
            lead: self.judge.is_none(),
            needs: all("critique", critics.len()),
            ..task("verdict".to_owned(), format!("Decide: {question}"), description, verdict)
        };
        proposals.chain(critiques).chain([verdict]).collect()
    }
}
