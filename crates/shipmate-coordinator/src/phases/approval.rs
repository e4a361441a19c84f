//! A phase that a person lets begin: who would work, on what, and what waits for what, shown
//! before anybody is there.
//!
//! The answer is the end of the pause, which the core keeps: it may come to another coordinator
//! than the one that asked.

use shipmate_model::command::NewTask;
use shipmate_model::event::{Dependency, Mode, Profile};
use shipmate_model::limits::TEXT_BYTES_MAX;
use shipmate_model::pause::APPROVAL;
use shipmate_model::{Act, Name};

use super::stage::{Stage, cut};

/// Lines of tasks that are shown; beyond that they are counted.
const SHOWN_MAX: usize = 60;

/// The question, unless it was answered before.
pub(super) fn asked(stage: &Stage, tasks: &[NewTask], joining: &[(Name, Profile)]) -> Option<Act> {
    let is_answered = stage.values.get("approved").is_some_and(|word| word == "yes")
        || stage.course.approved.as_ref() == Some(&stage.phase.name);
    if !stage.phase.approval || stage.course.round > 1 || is_answered {
        return None;
    }
    let mut text = format!(
        "{APPROVAL}phase {} begins when you say `shipmate --team {} continue`",
        stage.phase.name, stage.team
    );
    for (name, profile) in joining {
        let model = if profile.model.is_empty() { "" } else { profile.model.as_str() };
        let plans = if profile.mode == Mode::Plan { "plans first" } else { "" };
        let about: Vec<&str> = [model, plans].into_iter().filter(|part| !part.is_empty()).collect();
        text.push_str(format!("\n  {name}: {}", about.join(", ")).trim_end_matches([' ', ':']));
    }
    for task in tasks.iter().take(SHOWN_MAX) {
        text.push_str(&format!("\n  {}", line(task, tasks)));
    }
    if tasks.len() > SHOWN_MAX {
        text.push_str(&format!("\n  and {} more", tasks.len() - SHOWN_MAX));
    }
    cut(&mut text, TEXT_BYTES_MAX);
    let (team, phase) = (stage.team.clone(), stage.phase.name.clone());
    Some(Act::AskApproval { team, phase, text })
}

fn line(task: &NewTask, all: &[NewTask]) -> String {
    let spec = &task.spec;
    let files: Vec<String> = spec.files.iter().map(ToString::to_string).collect();
    let mut parts = vec![spec.subject.clone()];
    if !files.is_empty() {
        parts.push(format!("[{}]", files.join(", ")));
    }
    let new = task.blocked_by_new.iter().filter_map(|at| all.get(*at));
    let new = new.filter_map(|other| Some(other.spec.alias.as_ref()?.to_string()));
    let old = spec.blocked_by.iter().map(Dependency::to_string);
    let after: Vec<String> = new.chain(old).collect();
    if !after.is_empty() {
        parts.push(format!("after {}", after.join(", ")));
    }
    parts.extend(spec.assignee.as_ref().map(|name| format!("by {name}")));
    parts.join(" ")
}
