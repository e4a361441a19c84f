//! From the file to the playbook that is recorded: every value by itself.
//!
//! What is wrong is told and compiled to something plain, so that all of it is told at once. What
//! refers to something else is looked at in `check`.

#[cfg(test)]
mod keys_tests;
mod kind;

use std::collections::BTreeMap;

use shipmate_model::event::Mode;
use shipmate_model::playbook::{
    Artifact, Cap, ClaimOrder, CommitRule, Condition, Counted, Coverage, Crossing, Department,
    Each, Escalation, Expect, Gate, Kind, Level, Listed, Phase, Playbook, Red, Role, RoundRule,
    Route, ShutdownOrder, Single, Source, SourceFormat, TaskTemplate, Test, Trouble, Upgrade,
    Weight, Which,
};
use shipmate_protocol::problem::{Problem, nearest, quoted};

use super::deliberation::Deliberation;
use super::document::{Document, Node};
use super::table::{self, check_path, did_you_mean, stand_in, text_or_table};
use super::{check, deliberation};

type Table<'a, 't> = table::Table<'a, 't>;

const SECONDS_MAX: u32 = 30 * 86_400;
const MINUTES_MAX: u32 = SECONDS_MAX / 60;
const RETRIES_MAX: u32 = 1_000;
const ROUNDS_MAX: u32 = 100;
const CAP_MAX: u32 = 1_000;
const COUNT_MAX: u32 = 1_000_000;

/// How long the others have when the team's time is over, where nothing is said.
const CAP_SHUTDOWN_SECONDS: u32 = 30;
/// How often a push is tried again where nothing is said.
const PUSH_RETRIES: u32 = 3;

const LEVELS: [(&str, Level); 2] = [("team", Level::Team), ("root", Level::Root)];
pub(crate) const MODES: [(&str, Mode); 4] = [
    ("normal", Mode::Normal),
    ("plan", Mode::Plan),
    ("delegate", Mode::Delegate),
    ("read-only", Mode::ReadOnly),
];

/// A playbook, and what of it is for the team's setup or for choosing it.
#[derive(Debug)]
pub struct Compiled {
    pub playbook: Playbook,
    pub title: String,
    pub about: String,
    pub protected: Vec<String>,
    pub timeout_ms: Option<u64>,
    pub shutdown_ms: Option<u64>,
    pub select_files: Vec<String>,
    pub select_env: Option<String>,
    /// A file of the project, and which values it has where.
    pub config: Option<(String, BTreeMap<String, String>)>,
}

/// A playbook that can be run, or everything that is wrong with it.
pub fn compile(name: &str, text: &str) -> Result<Compiled, Vec<Problem>> {
    compile_in(name, text, None)
}

/// The same for a workspace in which its commands have to be found.
pub fn compile_in(
    name: &str,
    text: &str,
    workspace: Option<&std::path::Path>,
) -> Result<Compiled, Vec<Problem>> {
    let document = Document::open(name, text)?;
    let compiled = table::read(&document.root(), "", playbook);
    check::check(&document.root(), workspace);
    document.close()?;
    Ok(compiled)
}

fn playbook(file: &Table<'_, '_>) -> Compiled {
    let name = file.needed_name("name");
    let (title, about) = (file.text("title"), file.text("about"));
    let orders = [("path", ClaimOrder::Path), ("number", ClaimOrder::Number)];
    let order = file.word("order", &orders);
    let shutdowns = [("together", ShutdownOrder::Together), ("in-turn", ShutdownOrder::InTurn)];
    let shutdown = file.word("shutdown", &shutdowns);
    let (select_files, select_env) =
        file.part("select", |select| (select.paths("files"), variable(select, "env")));
    let (single, values) = (file.table("single", single), file.values("values"));
    let protected = file.paths("protected");
    let timeout_ms = file
        .whole("minutes", 1..=MINUTES_MAX)
        .map(|minutes| milliseconds(minutes.saturating_mul(60)));
    let shutdown_ms = file.whole("shutdown-seconds", 1..=SECONDS_MAX).map(milliseconds);
    let cap = file.table("cap", cap);
    let config =
        file.table("config", |config| (config.needed_path("file"), config.values("values")));
    let mut playbook = Playbook {
        name,
        values,
        department: None,
        skip: Vec::new(),
        order: order.unwrap_or_default(),
        shutdown: shutdown.unwrap_or_default(),
        single,
        cap,
        roles: file.named("roles", role),
        departments: file.each("departments", department),
        crossings: file.named("crossings", crossing),
        phases: file.each("phases", phase),
        work: file.table("work", work),
        routes: file.each("routes", route),
        kinds: file.named("kinds", kind),
        escalation: file.table("escalation", escalation),
        gates: file.named("gates", gate),
        artifacts: file.each("artifacts", artifact),
        counted: file.part("limits", limits),
        commit: file.part("commit", commit),
    };
    if file.node.all("phases.*.deliberation").iter().any(Node::is_there) {
        let (name, gate) = deliberation::gate();
        playbook.gates.entry(name).or_insert(gate);
    }
    Compiled {
        playbook,
        title,
        about,
        protected,
        timeout_ms,
        shutdown_ms,
        select_files,
        select_env,
        config,
    }
}

fn milliseconds(seconds: u32) -> u64 {
    u64::from(seconds) * 1000
}

fn variable(table: &Table<'_, '_>, key: &'static str) -> Option<String> {
    let text = table.maybe(key)?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if text.is_empty() || !text.bytes().all(plain) || text.as_bytes()[0].is_ascii_digit() {
        let fact = format!("{key}: {} is no environment variable", quoted(&text));
        table.add(key, fact, "use letters, digits and '_', beginning with a letter");
    }
    Some(text)
}

fn role(role: &Table<'_, '_>) -> Role {
    Role {
        level: role.word("level", &LEVELS).unwrap_or_default(),
        lead: role.flag("lead"),
        agent: role.text("agent"),
        model: role.text("model"),
        upgrades: role.each("upgrades", |upgrade| Upgrade {
            model: upgrade.needed("model"),
            when: upgrade.part("when", weight),
        }),
        tools: role.texts("tools"),
        mode: role.word("mode", &MODES).unwrap_or_default(),
        prompt: role.text("prompt"),
        scope: role.paths("scope"),
        may: role.paths("may"),
        named: role.text("named"),
        called: {
            let called = role.text("called");
            if !called.is_empty() && !called.contains('{') {
                role.check_name("called", &called);
            }
            called
        },
        cap: role.whole("cap", 1..=CAP_MAX).unwrap_or(1),
        reports_to: role.reference("reports-to"),
        one_shot: role.flag("one-shot"),
        plan_when: role.table("plan-when", weight),
        criteria: role.text("criteria"),
        before_claim: role.reference("before-claim"),
    }
}

fn weight(weight: &Table<'_, '_>) -> Weight {
    Weight {
        files_min: weight.whole("files-min", 1..=COUNT_MAX),
        touches: weight.files("touches"),
        words: weight.texts("words"),
        modules_min: weight.whole("modules-min", 1..=COUNT_MAX),
        having: weight.texts("having"),
        shared: weight.flag("shared"),
        always: weight.flag("always"),
    }
}

fn department(own: &Table<'_, '_>) -> Department {
    let name = own.needed_name("name");
    Department {
        team: own.name("team").unwrap_or_else(|| name.clone()),
        name,
        description: own.text("description"),
        after: own.references("after"),
        entry: conditions(own, "entry"),
        denies: own.files("denies"),
        values: own.values("values"),
        without: own.references("without"),
    }
}

fn crossing(own: &Table<'_, '_>) -> Crossing {
    Crossing {
        of: own.references("of"),
        through: own.flag("through"),
        needs: conditions(own, "needs"),
    }
}

fn phase(phase: &Table<'_, '_>) -> Phase {
    let own = Deliberation::of(&phase.node);
    Phase {
        name: phase.needed_name("name"),
        title: phase.text("title"),
        level: phase.word("level", &LEVELS).unwrap_or_default(),
        entry: conditions(phase, "entry"),
        optional: phase.flag("optional"),
        unless: conditions(phase, "unless"),
        for_team: phase.flag("for-team"),
        on_call: phase.flag("on-call"),
        approval: phase.flag("approval"),
        redo: phase.table("redo", list),
        reverts: phase.table("reverts", list),
        makes: conditions(phase, "makes"),
        again: phase.flag("again"),
        roles: phase.references("roles"),
        departments: phase.flag("departments"),
        lead_mode: phase.word("lead-mode", &MODES),
        lead_plans: phase.flag("lead-plans"),
        dispatch: phase.flag("dispatch"),
        tasks: {
            phase.table("deliberation", deliberation::check);
            let tasks = phase.each("tasks", task).into_iter();
            tasks.chain(own.iter().flat_map(Deliberation::tasks)).collect()
        },
        gate: phase.reference("gate"),
        exit: {
            let exit = conditions(phase, "exit").into_iter();
            exit.chain(own.iter().flat_map(Deliberation::exit)).collect()
        },
        deadline_ms: time(phase).map(milliseconds),
        late: trouble(phase, "late"),
        failed: trouble(phase, "failed"),
        dismiss: phase.flag("dismiss"),
        alone: phase.flag("alone"),
    }
}

/// A length of time in seconds, however it is written.
fn time(table: &Table<'_, '_>) -> Option<u32> {
    let minutes = table.whole("minutes", 1..=MINUTES_MAX);
    let seconds = table.whole("seconds", 1..=SECONDS_MAX);
    if minutes.is_some() && seconds.is_some() {
        let fact = "minutes and seconds are both there".to_owned();
        table.add("seconds", fact, "keep one of them");
    }
    seconds.or(minutes.map(|minutes| minutes.saturating_mul(60)))
}

fn cap(cap: &Table<'_, '_>) -> Cap {
    let seconds = time(cap);
    if seconds.is_none() {
        cap.add("minutes", "cap has no time".to_owned(), "add minutes = 15");
    }
    let from = cap.reference("from");
    let stop = cap.whole("shutdown-seconds", 1..=SECONDS_MAX).unwrap_or(CAP_SHUTDOWN_SECONDS);
    Cap { ms: milliseconds(seconds.unwrap_or_default()), from, shutdown_ms: milliseconds(stop) }
}

fn trouble(phase: &Table<'_, '_>, key: &'static str) -> Trouble {
    let back = |rule: &Table<'_, '_>| Trouble::Back {
        to: stand_in(&rule.needed("back")),
        rounds: rule.needed_whole("rounds", 1..=ROUNDS_MAX),
        then: Box::new(
            rule.maybe("then")
                .map_or(Trouble::Stop, |word| plain_trouble(&rule.node.to("then"), "then", &word)),
        ),
    };
    let plain = |node: &Node<'_, '_>, word: &str| plain_trouble(node, key, word);
    let rule = phase.ask(key);
    if rule.is_there() { text_or_table(&rule, "", plain, back) } else { Trouble::Stop }
}

fn plain_trouble(node: &Node<'_, '_>, key: &str, word: &str) -> Trouble {
    match word {
        "stop" => Trouble::Stop,
        "go-on" => Trouble::GoOn,
        "lead" => Trouble::Lead,
        "halt" => Trouble::Halt,
        other => {
            let known = match key {
                "then" => "it can be stop, go-on, lead, halt",
                _ => "it can be stop, go-on, lead, halt, or { back = \"PHASE\", rounds = 2 }",
            };
            let near = nearest(other, ["stop", "go-on", "lead", "halt"]);
            let fact = format!("{key} cannot be {}", quoted(other));
            node.add(fact, did_you_mean(near, known));
            Trouble::Stop
        }
    }
}

fn task(task: &Table<'_, '_>) -> TaskTemplate {
    let each = [("once", Each::Once), ("item", Each::Item), ("group", Each::Group)];
    let rounds = [("first", RoundRule::First), ("later", RoundRule::Later)];
    TaskTemplate {
        id: task.needed_name("id"),
        each: task.word("each", &each).unwrap_or_default(),
        having: task.maybe("having"),
        only: task.references("only"),
        with: task.references("with"),
        when: conditions(task, "when"),
        weight: task.table("weight", weight),
        round: task.word("round", &rounds),
        subject: task.needed("subject"),
        description: task.text("description"),
        role: task.reference("role"),
        lead: task.flag("lead"),
        files: {
            let files = task.paths("files");
            task.node.to("files").is_there().then_some(files)
        },
        needs: task.references("needs"),
        gate: task.reference("gate"),
        retries_max: task.whole("retries", 0..=RETRIES_MAX),
        no_change: task.flag("no-change"),
    }
}

fn conditions(table: &Table<'_, '_>, key: &'static str) -> Vec<Condition> {
    let exists = |node: &Node<'_, '_>, path: &str| {
        check_path(node, key, path);
        Condition::File { path: path.to_owned(), test: Test::Exists }
    };
    let list = table::list(&table.ask(key));
    list.iter().map(|one| text_or_table(one, "condition", exists, condition)).collect()
}

fn condition(table: &Table<'_, '_>) -> Condition {
    let path = table.maybe("file");
    let json = table.flag("json");
    let line = table.maybe("line");
    let key = table.maybe("key");
    let is = table.text_or_texts("is");
    let lines_max = table.number("lines-max");
    let lacks = table.text_or_texts("lacks");
    let changed = table.flag("changed");
    let [department, phase, crossing] =
        ["department", "phase", "crossing"].map(|key| table.reference(key));
    let path = match (path, department, phase, crossing) {
        (Some(path), None, None, None) => path,
        (None, Some(name), None, None) => return Condition::Department { name },
        (None, None, Some(name), None) => return Condition::Phase { name },
        (None, None, None, Some(name)) => return Condition::Crossing { name },
        (path, department, phase, crossing) => {
            let there = [path.is_some(), department.is_some(), phase.is_some(), crossing.is_some()];
            let there = there.iter().filter(|there| **there).count();
            let fact = format!("a condition is about one thing, and this names {there}");
            table.node.add(fact, "keep one of file, department, phase and crossing");
            return Condition::File { path: String::new(), test: Test::Exists };
        }
    };
    check_path(&table.node.to("file"), "file", &path);
    let test = match (lines_max, lacks, key) {
        (Some(max), ..) => {
            table.check_range("lines-max", max, 1..=COUNT_MAX);
            Test::LinesMax(max)
        }
        (_, Some(lacks), _) => Test::Lacks(lacks),
        _ if changed => Test::Changed,
        (.., Some(key)) => {
            table.check_said("key");
            let which = [
                ("first", Which::First),
                ("any", Which::Any),
                ("rest", Which::Rest),
                ("all", Which::All),
            ];
            let which = line.and_then(|line| table.choose("line", &line, &which));
            Test::Line { which: which.unwrap_or_default(), key, is: is.unwrap_or_default() }
        }
        _ => {
            for (other, there) in [("line", line.is_some()), ("is", is.is_some())] {
                if there {
                    let fact = format!("{other} says nothing without key");
                    table.add(other, fact, "add key = \"…\", the field that is looked at");
                }
            }
            if json { Test::Json } else { Test::Exists }
        }
    };
    Condition::File { path, test }
}

fn work(work: &Table<'_, '_>) -> Source {
    let formats = [
        ("plan-lines", SourceFormat::PlanLines),
        ("features", SourceFormat::Features),
        ("layers", SourceFormat::Layers),
    ];
    let format = Some(work.needed("format")).filter(|format| !format.trim().is_empty());
    let format = format.and_then(|format| work.choose("format", &format, &formats));
    Source {
        format: format.unwrap_or(SourceFormat::PlanLines),
        files: listed_paths(work, "files"),
        malformed: work.text("malformed"),
        overlap: work.text("overlap"),
    }
}

/// Paths of which there has to be one.
fn listed_paths(table: &Table<'_, '_>, key: &'static str) -> Vec<String> {
    table.check_listed(key);
    table.paths(key)
}

fn list(list: &Table<'_, '_>) -> Listed {
    Listed { file: list.needed_path("file"), key: list.needed("key") }
}

fn route(route: &Table<'_, '_>) -> Route {
    let from = route.references("from");
    let (person, to): (Vec<String>, Vec<String>) =
        route.texts("to").into_iter().partition(|to| to == "person");
    Route {
        from,
        to: to.iter().map(|to| stand_in(to)).collect(),
        person: !person.is_empty(),
        kinds: route.references("kinds"),
        across: route.flag("across"),
    }
}

fn kind(kind: &Table<'_, '_>) -> Kind {
    Kind {
        about: kind.text("about"),
        fields: kind::fields(&kind.open("fields")),
        file: kind.maybe("file"),
        internal: kind.flag("internal"),
        keep: kind.flag("keep"),
    }
}

fn escalation(escalation: &Table<'_, '_>) -> Escalation {
    escalation.check_listed("levels");
    Escalation {
        levels: escalation.references("levels"),
        level_ms: milliseconds(escalation.needed_whole("seconds", 1..=SECONDS_MAX)),
        round_trips_max: escalation.needed_whole("round-trips", 1..=ROUNDS_MAX),
    }
}

fn gate(gate: &Table<'_, '_>) -> Gate {
    if gate.node.to("exit").list().is_empty() {
        gate.check_listed("commands");
    }
    Gate {
        commands: gate.texts("commands"),
        expect: gate
            .word("expect", &[("green", Expect::Green), ("red", Expect::Red)])
            .unwrap_or_default(),
        needs: gate.texts("needs"),
        otherwise: gate.reference("otherwise"),
        exit: conditions(gate, "exit"),
        finds: {
            let finds = gate.lists("finds");
            for (at, path) in finds.values().flat_map(|paths| paths.iter().enumerate()) {
                check_path(&gate.node.to("finds").to(at), "finds", path);
            }
            finds
        },
        coverage: gate.table("coverage", |own| Coverage {
            files: own.listed("files"),
            target: own.text("target"),
        }),
        red: gate.table("red", |red| Red {
            commands: red.listed("commands"),
            files: listed_paths(red, "files"),
            on: red.reference("on"),
        }),
    }
}

fn commit(commit: &Table<'_, '_>) -> CommitRule {
    CommitRule {
        message: commit.text("message"),
        branch: commit.text("branch"),
        push: commit.text("push"),
        pull_request: commit.flag("pull-request"),
        retries: commit.whole("retries", 0..=RETRIES_MAX).unwrap_or(PUSH_RETRIES),
    }
}

fn limits(limits: &Table<'_, '_>) -> Counted {
    Counted {
        same_failure_max: limits.whole("same-failure", 1..=COUNT_MAX),
        contested_max: limits.whole("contested", 1..=COUNT_MAX),
    }
}

fn single(single: &Table<'_, '_>) -> Single {
    Single {
        independent_min: single.whole("independent-min", 1..=COUNT_MAX),
        files_min: single.whole("files-min", 1..=COUNT_MAX),
        files_each_min: single.whole("files-each-min", 1..=COUNT_MAX),
        minutes_min: single.whole("minutes-min", 1..=COUNT_MAX),
        minutes_per_file: single.whole("minutes-per-file", 1..=COUNT_MAX),
        overhead_minutes: single.whole("overhead-minutes", 1..=COUNT_MAX),
    }
}

fn artifact(own: &Table<'_, '_>) -> Artifact {
    Artifact {
        format: own.needed("format"),
        path: own.needed_path("path"),
        on_branch: own.word("on", &[("view", false), ("branch", true)]).unwrap_or_default(),
        level: own.word("level", &LEVELS),
        live: own.flag("live"),
    }
}
