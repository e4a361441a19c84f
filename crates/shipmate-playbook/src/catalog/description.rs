//! A playbook in words: a part for each of its tables, an entry for each name, a line for each
//! thing it says.

use shipmate_model::event::Mode;
use shipmate_model::playbook::{
    Condition, Department, Each, Expect, Field, Level, Phase, Playbook, Role, RoundRule, Shape,
    TaskTemplate, Test, Trouble, Weight, Which,
};
use shipmate_protocol::view::{PlaybookEntry, PlaybookPart};

use crate::compile::{Compiled, MODES};

pub(crate) fn parts(compiled: &Compiled) -> Vec<PlaybookPart> {
    let playbook = &compiled.playbook;
    let phases = playbook.phases.iter().map(|one| entry(one.name.as_str(), phase(playbook, one)));
    let roles = playbook.roles.iter().map(|(name, one)| entry(name.as_str(), role(playbook, one)));
    let departments = playbook.departments.iter();
    let departments = departments.map(|one| entry(one.name.as_str(), department(one)));
    let crossings = playbook.crossings.iter().map(|(name, own)| {
        let mut lines = Vec::new();
        said(&mut lines, "of ", &all(&own.of));
        flag(&mut lines, own.through, "they are through with all their phases");
        lines.extend(own.needs.iter().map(|one| format!("needs {}", condition(one))));
        entry(name.as_str(), lines)
    });
    let kinds = playbook.kinds.iter().map(|(name, kind)| {
        let mut lines: Vec<String> = Vec::new();
        said(&mut lines, "", &kind.about);
        lines.extend(kind.fields.iter().map(|(name, one)| field(name, one)));
        entry(name.as_str(), lines)
    });
    let gates =
        playbook.gates.iter().map(|(name, gate)| {
            let mut lines = gate.commands.clone();
            flag(&mut lines, gate.expect == Expect::Red, "has to fail");
            if let Some(red) = &gate.red {
                let (tests, commands) = (red.files.join(", "), red.commands.join("; "));
                let when = red.on.as_ref().map_or("before the work".to_owned(), |phase| {
                    format!("on what phase {phase} left")
                });
                lines.push(format!("tests ({tests}) have to fail {when}: {commands}"));
            }
            lines.extend(gate.otherwise.as_ref().map(|other| {
                format!("gate {other}, where one of {} is not set", all(&gate.needs))
            }));
            entry(name.as_str(), lines)
        });
    let artifacts = playbook.artifacts.iter().map(|one| {
        let place = if one.on_branch { "on the team's branch" } else { "for reading" };
        entry(&one.path, vec![format!("{} {place}", one.format)])
    });
    let values = playbook.values.iter().map(|(name, value)| entry(name, vec![value.clone()]));
    let parts = [
        ("phases", phases.collect::<Vec<_>>()),
        ("departments", departments.collect()),
        ("crossings", crossings.collect()),
        ("roles", roles.collect()),
        ("routes", routes(playbook)),
        ("kinds", kinds.collect()),
        ("gates", gates.collect()),
        ("artifacts", artifacts.collect()),
        ("values", values.collect()),
        ("rules", rules(compiled)),
    ];
    let parts = parts.into_iter().filter(|(_, entries)| !entries.is_empty());
    parts.map(|(part, entries)| PlaybookPart { part: part.to_owned(), entries }).collect()
}

fn entry(name: &str, lines: Vec<String>) -> PlaybookEntry {
    PlaybookEntry { name: name.to_owned(), lines }
}

/// A line, where it holds.
fn flag(lines: &mut Vec<String>, holds: bool, text: &str) {
    if holds {
        lines.push(text.to_owned());
    }
}

/// A line, where there is something to say.
fn said(lines: &mut Vec<String>, before: &str, text: &str) {
    let first = text.trim().lines().next().unwrap_or_default();
    if !first.is_empty() {
        lines.push(format!("{before}{first}"));
    }
}

fn all<T: ToString>(things: &[T]) -> String {
    things.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn time(ms: u64) -> String {
    match ms / 1000 {
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// As a playbook says it.
fn mode(mode: Mode) -> &'static str {
    MODES.iter().find(|(_, own)| *own == mode).map_or("", |(word, _)| word)
}

fn phase(playbook: &Playbook, phase: &Phase) -> Vec<String> {
    let mut lines = Vec::new();
    said(&mut lines, "", &phase.title);
    if !playbook.departments.is_empty() {
        let whose = if phase.level == Level::Root { "the team above" } else { "each department" };
        lines.push(format!("of {whose}"));
    }
    flag(&mut lines, phase.optional, "may be left out");
    flag(&mut lines, phase.for_team, "left out where one agent works alone");
    for (before, conditions) in [
        ("left out where there is ", &phase.unless),
        ("needs ", &phase.entry),
        ("makes ", &phase.makes),
        ("at its end ", &phase.exit),
    ] {
        lines.extend(conditions.iter().map(|one| format!("{before}{}", condition(one))));
    }
    said(&mut lines, "joined by ", &all(&phase.roles));
    flag(&mut lines, phase.departments, "the departments work");
    flag(
        &mut lines,
        phase.approval,
        "a person says yes before it begins; `run --yes` says it ahead",
    );
    lines.extend(phase.lead_mode.map(|own| format!("the lead is in mode {}", mode(own))));
    flag(&mut lines, phase.lead_plans, "the lead plans and puts the tasks on the board");
    lines.extend(phase.tasks.iter().map(task));
    flag(&mut lines, phase.dispatch, "the lead gives each who joins its first task");
    lines.extend(phase.gate.as_ref().map(|gate| format!("gate {gate}")));
    lines.extend(
        phase.deadline_ms.map(|ms| format!("has {}; then {}", time(ms), trouble(&phase.late))),
    );
    if phase.failed != Trouble::Stop {
        lines.push(format!("where it fails {}", trouble(&phase.failed)));
    }
    flag(&mut lines, phase.alone, "everybody but the lead is asked to stop when it begins");
    flag(&mut lines, phase.dismiss, "everybody but the lead is asked to stop at its end");
    lines
}

fn trouble(rule: &Trouble) -> String {
    match rule {
        Trouble::Stop => "the team stops".to_owned(),
        Trouble::GoOn => "the next phase begins all the same".to_owned(),
        Trouble::Lead => "the lead does what is left".to_owned(),
        Trouble::Halt => "everything stops, and the person is told".to_owned(),
        Trouble::Back { to, rounds, then } => {
            let often = match rounds {
                1 => "once".to_owned(),
                more => format!("{more} times at most"),
            };
            let then = if **then == Trouble::Stop {
                String::new()
            } else {
                format!("; then {}", trouble(then))
            };
            format!("{to} begins again, {often}{then}")
        }
    }
}

fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Department { name } => format!("department {name} to be through"),
        Condition::Phase { name } => format!("phase {name} to be over"),
        Condition::Crossing { name } => format!("{name} to have passed between departments"),
        Condition::File { path, test: Test::LinesMax(max) } => {
            format!("{path} without a block of more than {max} lines")
        }
        Condition::File { path, test: Test::Lacks(words) } => {
            format!("{path} without {}", words.join(", "))
        }
        Condition::File { path, test: Test::Changed } => format!("{path} with a change in it"),
        Condition::File { path, test: Test::Exists } => path.clone(),
        Condition::File { path, test: Test::Json } => format!("{path} in JSON"),
        Condition::File { path, test: Test::Line { which, key, is } } => {
            let lines = match which {
                Which::First => "its first line says",
                Which::Any => "a line says",
                Which::Rest => "every line after the first says",
                Which::All => "every line says",
            };
            let wanted = if is.is_empty() { "something".to_owned() } else { is.join(" or ") };
            format!("{path}, where {lines} {key} is {wanted}")
        }
    }
}

fn task(task: &TaskTemplate) -> String {
    let mut marks = Vec::new();
    match task.each {
        Each::Once => {}
        Each::Item => marks.push("for each piece of work".to_owned()),
        Each::Group => marks.push("for each group of work".to_owned()),
    }
    marks.extend(task.having.as_ref().map(|key| format!("that has {key}")));
    said(&mut marks, "in ", &all(&task.only));
    if !task.with.is_empty() {
        marks.push(format!("where {} take part", all(&task.with)));
    }
    marks.extend(task.when.iter().map(|one| format!("when there is {}", condition(one))));
    marks.extend(task.round.map(|round| match round {
        RoundRule::First => "in the first round".to_owned(),
        RoundRule::Later => "from the second round on".to_owned(),
    }));
    flag(&mut marks, task.lead, "by the lead");
    marks.extend(task.role.as_ref().map(|role| format!("by {role}")));
    said(&mut marks, "after ", &all(&task.needs));
    marks.extend(task.gate.as_ref().map(|gate| format!("gate {gate}")));
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    format!("task {}{marks}: {}", task.id, task.subject.lines().next().unwrap_or_default())
}

fn role(playbook: &Playbook, role: &Role) -> Vec<String> {
    let mut lines = Vec::new();
    if role.lead {
        let whose = match (playbook.departments.is_empty(), role.level) {
            (true, _) => "the team",
            (false, Level::Root) => "the team above the departments",
            (false, Level::Team) => "each department",
        };
        lines.push(format!("leads {whose}"));
    }
    flag(&mut lines, role.one_shot, "a life for each task, and nobody to write to");
    said(&mut lines, "called ", &role.called);
    said(&mut lines, "agent ", &role.agent);
    said(&mut lines, "model ", &role.model);
    let upgrades = role.upgrades.iter();
    lines.extend(upgrades.map(|up| format!("model {} {}", up.model, weight(&up.when))));
    flag(&mut lines, role.mode != Mode::Normal, &format!("mode {}", mode(role.mode)));
    lines.extend(
        role.plan_when.as_ref().map(|when| format!("its plan has to be approved {}", weight(when))),
    );
    flag(&mut lines, role.cap > 1, &format!("{} at most", role.cap));
    lines.extend(role.reports_to.as_ref().map(|to| format!("reports to {to}")));
    said(&mut lines, "tools ", &all(&role.tools));
    said(&mut lines, "writes ", &all(&role.scope));
    said(&mut lines, "may write what is protected: ", &all(&role.may));
    said(&mut lines, "is told: ", &role.prompt);
    lines
}

fn weight(weight: &Weight) -> String {
    let mut when = Vec::new();
    when.extend(weight.files_min.map(|files| format!("for {files} files or more")));
    let touches: Vec<&str> = weight.touches.iter().map(|pattern| pattern.as_str()).collect();
    if !touches.is_empty() {
        when.push(format!("where it touches {}", touches.join(", ")));
    }
    if !weight.words.is_empty() {
        when.push(format!("where it says {}", weight.words.join(", ")));
    }
    if weight.always { "always".to_owned() } else { when.join(", or ") }
}

fn department(own: &Department) -> Vec<String> {
    let mut lines = vec![format!("team {}", own.team)];
    said(&mut lines, "", &own.description);
    said(&mut lines, "after ", &all(&own.after));
    lines.extend(own.entry.iter().map(|one| format!("needs {}", condition(one))));
    let denies: Vec<&str> = own.denies.iter().map(|pattern| pattern.as_str()).collect();
    said(&mut lines, "leaves alone ", &denies.join(", "));
    said(&mut lines, "without ", &all(&own.without));
    lines.extend(own.values.iter().map(|(key, value)| format!("{key} is {value}")));
    lines
}

fn routes(playbook: &Playbook) -> Vec<PlaybookEntry> {
    let who = |names: Vec<String>| match names.is_empty() {
        true => "everybody".to_owned(),
        false => names.join(", "),
    };
    let routes = playbook.routes.iter().map(|route| {
        let from = route.from.iter().map(ToString::to_string).collect();
        let to = route.to.iter().map(ToString::to_string);
        let to = to.chain(route.person.then(|| "person".to_owned())).collect();
        let across = if route.across { ", also of other teams" } else { "" };
        let kinds = if route.kinds.is_empty() { "anything".to_owned() } else { all(&route.kinds) };
        entry(&format!("{} to {}{across}", who(from), who(to)), vec![kinds])
    });
    routes.collect()
}

fn field(name: &str, field: &Field) -> String {
    let optional = if field.required { "" } else { ", may be left out" };
    format!("{name}: {}{optional}", shape(&field.shape))
}

fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::OneOf(texts) => texts.join(" | "),
        Shape::List(item) => format!("list of {}", self::shape(item)),
        Shape::Object(fields) => {
            let fields = fields.iter().map(|(name, one)| field(name, one));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        }
        Shape::Any => "anything".to_owned(),
    }
}

fn rules(compiled: &Compiled) -> Vec<PlaybookEntry> {
    let playbook = &compiled.playbook;
    let mut found = Vec::new();
    if let Some(escalation) = &playbook.escalation {
        let line = format!(
            "{}, then the person; {} and {} round trips each",
            all(&escalation.levels),
            time(escalation.level_ms),
            escalation.round_trips_max
        );
        found.push(entry("escalation", vec![line]));
    }
    let counted = &playbook.counted;
    let same = counted.same_failure_max.map(|max| format!("the same failure {max} times"));
    let contested = counted.contested_max.map(|max| format!("a file asked for {max} times"));
    let counted: Vec<String> = same.into_iter().chain(contested).collect();
    if !counted.is_empty() {
        found.push(entry("limits", counted));
    }
    if !playbook.commit.branch.is_empty() {
        let line = format!("{} follows the team's", playbook.commit.branch);
        found.push(entry("branch", vec![line]));
    }
    if playbook.commit.pull_request {
        let line = "opened at the end, where there is a remote to push to".to_owned();
        found.push(entry("pull request", vec![line]));
    }
    found.extend(compiled.timeout_ms.map(|ms| entry("time", vec![time(ms)])));
    if let Some(cap) = &playbook.cap {
        let from =
            cap.from.as_ref().map_or("its first phase".to_owned(), |from| format!("phase {from}"));
        let line = format!("{} from {from} on; then the lead does what is left", time(cap.ms));
        found.push(entry("team", vec![line]));
    }
    if !compiled.protected.is_empty() {
        found.push(entry("protected", vec![compiled.protected.join(", ")]));
    }
    if let Some(single) = &playbook.single {
        let less = [
            (single.independent_min, "independent pieces"),
            (single.files_min, "files"),
            (single.files_each_min, "files in the larger of two pieces"),
            (single.minutes_min, "minutes"),
        ];
        let less =
            less.iter().filter_map(|(min, what)| Some(format!("less than {} {what}", (*min)?)));
        found.push(entry("one agent is enough for", less.collect()));
    }
    found
}
