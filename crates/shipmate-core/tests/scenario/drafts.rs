//! A lead's plan in one line: `plan "the approach" tasks "…" mates "…" single "why"`.
//!
//! Tasks and teammates stand behind one another, between bars: `a files src/a | b after a files
//! src/b`. A task without a subject is called after its key.

use shipmate_model::event::Mode;
use shipmate_model::{Draft, DraftTask, DraftTeammate};

use crate::commands::mode;
use crate::words::Words;

pub(crate) fn draft(words: &Words) -> Option<Box<Draft>> {
    let given = ["tasks", "mates", "single", "lacks"].iter().any(|word| words.get(word).is_some());
    given.then(|| {
        Box::new(Draft {
            tasks: entries(words, "tasks").iter().map(task).collect(),
            teammates: entries(words, "mates").iter().map(teammate).collect(),
            single: words.get("single").map(str::to_owned),
            problems: words.list("lacks"),
        })
    })
}

fn entries(words: &Words, keyword: &str) -> Vec<Words> {
    let text = words.get(keyword).unwrap_or_default();
    if let Some(count) = text.strip_prefix("count:") {
        let count: usize = count.parse().expect("a number follows `count:`");
        return (0..count).map(|at| Words::read(&format!("entry e{at} files f{at}"))).collect();
    }
    let entries = text.split('|').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| Words::read(&format!("entry {entry}"))).collect()
}

fn task(words: &Words) -> DraftTask {
    let key = words.plain_or(0, "").to_owned();
    DraftTask {
        subject: words.text("subject", &format!("do {key}")),
        description: words.text("description", ""),
        files: words.list("files"),
        blocked_by: words.list("after"),
        role: words.get("role").map(str::to_owned),
        assignee: words.get("assignee").map(str::to_owned),
        priority: words.number("priority").map(|priority| priority as i32),
        duration_ms: words.duration_ms("duration"),
        no_change: words.has("no-change"),
        key,
    }
}

fn teammate(words: &Words) -> DraftTeammate {
    DraftTeammate {
        name: words.plain_or(0, "").to_owned(),
        role: words.get("role").map(str::to_owned),
        agent: words.text("agent", ""),
        model: words.text("model", ""),
        command: words.text("command", ""),
        scope: words.list("scope"),
        mode: words.get("mode").map_or(Mode::Normal, mode),
        hears: words.has("hears"),
        place: Default::default(),
        definition: None,
        fallback: None,
    }
}
