//! Deliberation: several propose, each criticises what the others propose, and one decides and
//! says why.
//!
//! A phase that deliberates is a phase with tasks like any other: they are added to its own, and
//! what its verdict has to say to its exit. Rounds, roles, gates and trouble are the phase's own.

use serde_json::json;
use shipmate_model::Name;
use shipmate_model::playbook::{Condition, Gate, TaskTemplate, Test, Which};
use shipmate_protocol::problem::quoted;

use super::document::Node;
use super::table::{Table, stand_in};

/// The gate of what is written; a playbook may have one of its own under this name.
pub(crate) const GATE: &str = "deliberation";
/// What a verdict has to say.
const VERDICT: [(&str, &[&str]); 3] =
    [("status", &["decided"]), ("verdict", &[]), ("reasons", &[])];
/// Fewer than that are no deliberation.
const PROPOSALS_MIN: usize = 2;

pub(crate) fn gate() -> (Name, Gate) {
    let gate = json!({ "commands": ["test -s {files}"] });
    (stand_in(GATE), serde_json::from_value(gate).expect("a gate needs no more than commands"))
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

pub(crate) struct Deliberation {
    question: String,
    by: Vec<String>,
    critics: Vec<String>,
    judge: Option<String>,
    folder: String,
}

impl Deliberation {
    /// Of a phase, where it deliberates. Whatever is missing or of another kind is told by `check`.
    pub(crate) fn of(phase: &Node<'_, '_>) -> Option<Deliberation> {
        let node = phase.to("deliberation");
        node.value?;
        let texts = |key: &str| node.to(key).texts().into_iter().map(str::to_owned).collect();
        let (by, critics): (Vec<String>, Vec<String>) = (texts("by"), texts("critics"));
        let judge = node.to("judge");
        Some(Deliberation {
            question: node.to("question").text().trim().to_owned(),
            critics: if critics.is_empty() { by.clone() } else { critics },
            by,
            judge: judge.is_there().then(|| judge.text().to_owned()),
            folder: node.to("folder").text().to_owned(),
        })
    }

    /// What the verdict has to say.
    pub(crate) fn exit(&self) -> impl Iterator<Item = Condition> {
        VERDICT.iter().map(|(key, is)| {
            let is = is.iter().map(|is| (*is).to_owned()).collect();
            let test = Test::Line { which: Which::Any, key: (*key).to_owned(), is };
            Condition::File { path: format!("{}/verdict.json", self.folder), test }
        })
    }

    pub(crate) fn tasks(&self) -> Vec<TaskTemplate> {
        let Deliberation { question, by, critics, folder, .. } = self;
        let path = |kind: &str, n: usize| format!("{folder}/{kind}-{n}.md");
        let all = |kind: &str, many: usize| -> Vec<String> {
            (1..=many).map(|n| format!("{kind}-{n}")).collect()
        };
        let task = |id: String, role: Option<&String>, needs: Vec<String>, words: [String; 3]| {
            let [subject, description, file] = words;
            let task = json!({
                "id": id,
                "subject": subject,
                "description": format!("{question}\n\n{description}\n\n{{trouble}}"),
                "role": role.map(|role| stand_in(role)),
                "lead": role.is_none(),
                "files": [file],
                "needs": needs,
                "gate": GATE,
            });
            serde_json::from_value::<TaskTemplate>(task).expect("a task needs no more than that")
        };
        let proposals = by.iter().enumerate().map(|(at, role)| {
            let n = at + 1;
            let description = format!(
                "Write {}: what you propose, why, what speaks against it, and what you considered \
                 and left. It is your own: do not look at what others propose.",
                path("proposal", n)
            );
            let subject = format!("Propose ({n} of {}): {question}", by.len());
            let words = [subject, description, path("proposal", n)];
            task(format!("proposal-{n}"), Some(role), Vec::new(), words)
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
            let words = [subject, description, path("critique", n)];
            task(format!("critique-{n}"), Some(role), all("proposal", by.len()), words)
        });
        let description = format!(
            "Read every proposal and every critique in {folder}. Write {folder}/verdict.json: \
             {{\"status\":\"decided\",\"verdict\":\"what is done\",\"reasons\":[\"why\"],\
             \"rejected\":[{{\"proposal\":2,\"reason\":\"why not\"}}]}}. Where it cannot be decided \
             yet, the status is \"open\" and the reasons say what is missing."
        );
        let words = [format!("Decide: {question}"), description, format!("{folder}/verdict.json")];
        let needs = all("critique", critics.len());
        let verdict = task("verdict".to_owned(), self.judge.as_ref(), needs, words);
        proposals.chain(critiques).chain([verdict]).collect()
    }
}
