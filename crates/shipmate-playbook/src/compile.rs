//! From the file to the playbook that is recorded: every value by itself.
//!
//! What is wrong is told and compiled to something plain, so that all of it is told at once. What
//! refers to something else is looked at in `check`.

mod kind;
mod value;

use std::collections::BTreeMap;

use shipmate_model::event::Mode;
use shipmate_model::playbook::{
    Artifact, Cap, ClaimOrder, CommitRule, Condition, Counted, Coverage, Crossing, Department,
    Each, Escalation, Expect, Gate, Kind, Level, Listed, Phase, Playbook, Red, Role, RoundRule,
    Route, ShutdownOrder, Single, Source, SourceFormat, TaskTemplate, Test, Trouble, Upgrade,
    Weight, Which,
};
use shipmate_protocol::problem::{Problem, nearest, quoted};

use super::file::{self, File, OrText};
use super::lines::{Page, Path};
use super::{check, deliberation, read};
use value::{named, names};

const SECONDS_MAX: u64 = 30 * 86_400;
const MINUTES_MAX: u64 = SECONDS_MAX / 60;
const RETRIES_MAX: u64 = 1_000;
const ROUNDS_MAX: u64 = 100;
const CAP_MAX: u64 = 1_000;
const COUNT_MAX: u64 = 1_000_000;

/// How long the others have when the team's time is over, where nothing is said.
const CAP_SHUTDOWN_SECONDS: u64 = 30;
/// How often a push is tried again where nothing is said.
const PUSH_RETRIES: u32 = 3;

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
    let page = Page::open(name, text)?;
    let mut file: File = read::read(&page);
    deliberation::expand(&mut file, &page);
    let compiled = Compiler { page: &page, at: Path::default() }.compile(&file);
    check::check(&file, &page, workspace);
    page.close()?;
    Ok(compiled)
}

/// Stands where it is in the file: what is wrong is told with the line of its key.
struct Compiler<'a, 't> {
    page: &'a Page<'t>,
    at: Path,
}

impl Compiler<'_, '_> {
    fn compile(&mut self, file: &File) -> Compiled {
        let playbook = Playbook {
            name: self.needed_name("name", &file.name),
            values: file.values.clone(),
            roles: self.named("roles", &file.roles, Self::role),
            phases: self.each("phases", &file.phases, Self::phase),
            departments: self.each("departments", &file.departments, Self::department),
            crossings: self.named("crossings", &file.crossings, Self::crossing),
            department: None,
            skip: Vec::new(),
            work: self.table("work", file.work.as_ref(), Self::work),
            routes: self.each("routes", &file.routes, Self::route),
            kinds: self.named("kinds", &file.kinds, Self::kind),
            escalation: self.table("escalation", file.escalation.as_ref(), Self::escalation),
            gates: self.named("gates", &file.gates, Self::gate),
            artifacts: self.each("artifacts", &file.artifacts, Self::artifact),
            order: self.word(
                "order",
                file.order.as_deref(),
                ClaimOrder::Path,
                &[("path", ClaimOrder::Path), ("number", ClaimOrder::Number)],
            ),
            counted: self.table("limits", Some(&file.limits), Self::limits).unwrap_or_default(),
            shutdown: self.word(
                "shutdown",
                file.shutdown.as_deref(),
                ShutdownOrder::Together,
                &[("together", ShutdownOrder::Together), ("in-turn", ShutdownOrder::InTurn)],
            ),
            commit: self.table("commit", Some(&file.commit), Self::commit).unwrap_or_default(),
            single: self.table("single", file.single.as_ref(), Self::single),
            cap: self.table("cap", file.cap.as_ref(), Self::cap),
        };
        self.paths("protected", &file.protected);
        self.table("select", Some(&file.select), |this, select| {
            this.paths("files", &select.files);
            this.variable("env", select.env.as_deref());
        });
        let minutes = self.whole("minutes", file.minutes, 1..=MINUTES_MAX);
        let shutdown = self.whole("shutdown-seconds", file.shutdown_seconds, 1..=SECONDS_MAX);
        Compiled {
            playbook,
            title: file.title.clone(),
            about: file.about.clone(),
            protected: file.protected.clone(),
            timeout_ms: minutes.map(|minutes| minutes * 60_000),
            shutdown_ms: shutdown.map(|seconds| seconds * 1000),
            select_files: file.select.files.clone(),
            select_env: file.select.env.clone(),
            config: self.table("config", file.config.as_ref(), Self::config),
        }
    }

    fn mode(&mut self, what: &str, text: Option<&str>) -> Option<Mode> {
        let words = [
            ("normal", Mode::Normal),
            ("plan", Mode::Plan),
            ("delegate", Mode::Delegate),
            ("read-only", Mode::ReadOnly),
        ];
        text.map(|text| self.word(what, Some(text), Mode::Normal, &words))
    }

    fn level(&mut self, text: Option<&str>) -> Level {
        self.word("level", text, Level::Team, &[("team", Level::Team), ("root", Level::Root)])
    }

    fn role(&mut self, role: &file::Role) -> Role {
        self.paths("scope", &role.scope);
        self.paths("may", &role.may);
        if !role.called.is_empty() && !role.called.contains('{') {
            self.name("called", &role.called);
        }
        Role {
            level: self.level(role.level.as_deref()),
            lead: role.lead,
            agent: role.agent.clone(),
            model: role.model.clone(),
            upgrades: self.each("upgrades", &role.upgrades, |this, up| {
                this.needed("model", &up.model);
                let when = this.below("when", |this| this.weight(&up.when));
                Upgrade { model: up.model.clone(), when }
            }),
            tools: role.tools.clone(),
            mode: self.mode("mode", role.mode.as_deref()).unwrap_or_default(),
            prompt: role.prompt.clone(),
            scope: role.scope.clone(),
            may: role.may.clone(),
            named: role.named.clone(),
            called: role.called.clone(),
            cap: self.whole("cap", role.cap, 1..=CAP_MAX).unwrap_or(1),
            reports_to: role.reports_to.as_deref().map(named),
            one_shot: role.one_shot,
            plan_when: self.table("plan-when", role.plan_when.as_ref(), Self::weight),
            criteria: role.criteria.clone(),
            before_claim: role.before_claim.as_deref().map(named),
        }
    }

    fn weight(&mut self, weight: &file::Weight) -> Weight {
        Weight {
            files_min: self.whole("files-min", weight.files_min, 1..=COUNT_MAX),
            touches: self.files("touches", &weight.touches),
            words: weight.words.clone(),
            modules_min: self.whole("modules-min", weight.modules_min, 1..=COUNT_MAX),
            having: weight.having.clone(),
            shared: weight.shared,
            always: weight.always,
        }
    }

    fn department(&mut self, own: &file::Department) -> Department {
        Department {
            name: self.needed_name("name", &own.name),
            team: match &own.team {
                Some(team) => self.name("team", team),
                None => named(&own.name),
            },
            description: own.description.clone(),
            after: names(&own.after),
            entry: self.conditions("entry", &own.entry),
            denies: self.files("denies", &own.denies),
            values: own.values.clone(),
            without: names(&own.without),
        }
    }

    fn crossing(&mut self, own: &file::Crossing) -> Crossing {
        let needs = self.conditions("needs", &own.needs);
        Crossing { of: names(&own.of), through: own.through, needs }
    }

    fn phase(&mut self, phase: &file::Phase) -> Phase {
        let seconds = self.time(phase.minutes, phase.seconds);
        Phase {
            name: self.needed_name("name", &phase.name),
            title: phase.title.clone(),
            level: self.level(phase.level.as_deref()),
            entry: self.conditions("entry", &phase.entry),
            optional: phase.optional,
            unless: self.conditions("unless", &phase.unless),
            for_team: phase.for_team,
            on_call: phase.on_call,
            approval: phase.approval,
            redo: self.table("redo", phase.redo.as_ref(), Self::list),
            reverts: self.table("reverts", phase.reverts.as_ref(), Self::list),
            makes: self.conditions("makes", &phase.makes),
            again: phase.again,
            roles: names(&phase.roles),
            departments: phase.departments,
            lead_mode: self.mode("lead-mode", phase.lead_mode.as_deref()),
            tasks: self.each("tasks", &phase.tasks, Self::task),
            lead_plans: phase.lead_plans,
            dispatch: phase.dispatch,
            gate: phase.gate.as_deref().map(named),
            exit: self.conditions("exit", &phase.exit),
            deadline_ms: seconds.map(|seconds| seconds * 1000),
            late: self.trouble("late", phase.late.as_ref()),
            failed: self.trouble("failed", phase.failed.as_ref()),
            dismiss: phase.dismiss,
            alone: phase.alone,
        }
    }

    /// A length of time in seconds, however it is written.
    fn time(&mut self, minutes: Option<u64>, seconds: Option<u64>) -> Option<u64> {
        let minutes = self.whole("minutes", minutes, 1..=MINUTES_MAX);
        let seconds = self.whole("seconds", seconds, 1..=SECONDS_MAX);
        if minutes.is_some() && seconds.is_some() {
            let fact = "minutes and seconds are both there".to_owned();
            self.problem("seconds", fact, "keep one of them");
        }
        seconds.or(minutes.map(|minutes| minutes * 60))
    }

    fn cap(&mut self, cap: &file::Cap) -> Cap {
        let seconds = self.time(cap.minutes, cap.seconds);
        if seconds.is_none() {
            self.problem("minutes", "cap has no time".to_owned(), "add minutes = 15");
        }
        let stop = self.whole("shutdown-seconds", cap.shutdown_seconds, 1..=SECONDS_MAX);
        Cap {
            ms: seconds.unwrap_or_default() * 1000,
            from: cap.from.as_deref().map(named),
            shutdown_ms: stop.unwrap_or(CAP_SHUTDOWN_SECONDS) * 1000,
        }
    }

    fn config(&mut self, config: &file::Config) -> (String, BTreeMap<String, String>) {
        if self.needed("file", &config.file) {
            self.path("file", None, &config.file);
        }
        (config.file.clone(), config.values.clone())
    }

    fn trouble(&mut self, key: &str, rule: Option<&OrText<file::Back>>) -> Trouble {
        match rule {
            None => Trouble::Stop,
            Some(OrText::Long(rule)) => self.below(key, |this| {
                this.needed("back", &rule.back);
                let rounds = this.needed_whole("rounds", rule.rounds, 1..=ROUNDS_MAX);
                let then = rule.then.as_deref().map(|word| this.plain_trouble("then", word));
                let then = Box::new(then.unwrap_or_default());
                Trouble::Back { to: named(&rule.back), rounds, then }
            }),
            Some(OrText::Text(word)) => self.plain_trouble(key, word),
        }
    }

    fn plain_trouble(&mut self, key: &str, word: &str) -> Trouble {
        let words = ["stop", "go-on", "lead", "halt"];
        match word {
            "stop" => Trouble::Stop,
            "go-on" => Trouble::GoOn,
            "lead" => Trouble::Lead,
            "halt" => Trouble::Halt,
            other => {
                let known = match key {
                    "then" => "stop, go-on, lead, halt",
                    _ => "stop, go-on, lead, halt, or { back = \"PHASE\", rounds = 2 }",
                };
                let remedy = match nearest(other, words) {
                    Some(near) => format!("did you mean {near:?}? it can be {known}"),
                    None => format!("it can be {known}"),
                };
                self.problem(key, format!("{key} cannot be {}", quoted(other)), remedy);
                Trouble::Stop
            }
        }
    }

    fn task(&mut self, task: &file::Task) -> TaskTemplate {
        let each = [("once", Each::Once), ("item", Each::Item), ("group", Each::Group)];
        let rounds = [("first", RoundRule::First), ("later", RoundRule::Later)];
        let round = task.round.as_deref();
        self.needed("subject", &task.subject);
        self.paths("files", task.files.as_deref().unwrap_or_default());
        TaskTemplate {
            id: self.needed_name("id", &task.id),
            each: self.word("each", task.each.as_deref(), Each::Once, &each),
            having: task.having.clone(),
            only: names(&task.only),
            with: names(&task.with),
            when: self.conditions("when", &task.when),
            weight: self.table("weight", task.weight.as_ref(), Self::weight),
            round: round.map(|text| self.word("round", Some(text), RoundRule::First, &rounds)),
            subject: task.subject.clone(),
            description: task.description.clone(),
            role: task.role.as_deref().map(named),
            lead: task.lead,
            files: task.files.clone(),
            needs: names(&task.needs),
            gate: task.gate.as_deref().map(named),
            retries_max: self.whole("retries", task.retries, 0..=RETRIES_MAX),
            no_change: task.no_change,
        }
    }

    fn conditions(&mut self, key: &str, conditions: &[OrText<file::Condition>]) -> Vec<Condition> {
        let conditions = conditions.iter().enumerate();
        conditions
            .map(|(at, one)| match one {
                OrText::Text(path) => {
                    self.path(key, Some(at), path);
                    Condition::File { path: path.clone(), test: Test::Exists }
                }
                OrText::Long(table) => {
                    self.below(key, |this| this.below(at, |this| this.condition(table)))
                }
            })
            .collect()
    }

    fn condition(&mut self, table: &file::Condition) -> Condition {
        let about = [&table.file, &table.department, &table.phase, &table.crossing];
        match about {
            [Some(path), None, None, None] => {
                self.path("file", None, path);
                Condition::File { path: path.clone(), test: self.test(table) }
            }
            [None, Some(name), None, None] => Condition::Department { name: named(name) },
            [None, None, Some(name), None] => Condition::Phase { name: named(name) },
            [None, None, None, Some(name)] => Condition::Crossing { name: named(name) },
            _ => {
                let there = about.iter().filter(|key| key.is_some()).count();
                let fact = format!("a condition is about one thing, and this names {there}");
                let at = self.at.clone();
                self.page.add(&at, fact, "keep one of file, department, phase and crossing");
                Condition::File { path: String::new(), test: Test::Exists }
            }
        }
    }

    fn test(&mut self, table: &file::Condition) -> Test {
        if let Some(max) = self.whole("lines-max", table.lines_max, 1..=COUNT_MAX) {
            return Test::LinesMax(max);
        }
        if let Some(lacks) = &table.lacks {
            return Test::Lacks(texts(lacks));
        }
        if table.changed {
            return Test::Changed;
        }
        let Some(key) = table.key.clone() else {
            for (other, there) in [("line", table.line.is_some()), ("is", table.is.is_some())] {
                if there {
                    let fact = format!("{other} says nothing without key");
                    self.problem(other, fact, "add key = \"…\", the field that is looked at");
                }
            }
            return if table.json { Test::Json } else { Test::Exists };
        };
        self.needed("key", &key);
        let which = [
            ("first", Which::First),
            ("any", Which::Any),
            ("rest", Which::Rest),
            ("all", Which::All),
        ];
        let which = self.word("line", table.line.as_deref(), Which::Any, &which);
        let is = table.is.as_ref().map(texts).unwrap_or_default();
        Test::Line { which, key, is }
    }

    fn work(&mut self, work: &file::Work) -> Source {
        let formats = [
            ("plan-lines", SourceFormat::PlanLines),
            ("features", SourceFormat::Features),
            ("layers", SourceFormat::Layers),
        ];
        let usual = SourceFormat::PlanLines;
        let format = match self.needed("format", &work.format) {
            true => self.word("format", Some(&work.format), usual, &formats),
            false => usual,
        };
        self.listed("files", &work.files);
        self.paths("files", &work.files);
        Source {
            format,
            files: work.files.clone(),
            malformed: work.malformed.clone(),
            overlap: work.overlap.clone(),
        }
    }

    fn list(&mut self, list: &file::Listed) -> Listed {
        if self.needed("file", &list.file) {
            self.path("file", None, &list.file);
        }
        self.needed("key", &list.key);
        Listed { file: list.file.clone(), key: list.key.clone() }
    }

    fn coverage(&mut self, coverage: &file::Coverage) -> Coverage {
        self.listed("files", &coverage.files);
        Coverage { files: coverage.files.clone(), target: coverage.target.clone() }
    }

    fn route(&mut self, route: &file::Route) -> Route {
        let (person, to): (Vec<String>, Vec<String>) =
            route.to.iter().cloned().partition(|to| to == "person");
        Route {
            from: names(&route.from),
            to: names(&to),
            person: !person.is_empty(),
            kinds: names(&route.kinds),
            across: route.across,
        }
    }

    fn kind(&mut self, kind: &file::Kind) -> Kind {
        let fields = self.below("fields", |this| this.fields(&kind.fields));
        Kind {
            about: kind.about.clone(),
            fields,
            keep: kind.keep,
            file: kind.file.clone(),
            internal: kind.internal,
        }
    }

    fn escalation(&mut self, escalation: &file::Escalation) -> Escalation {
        self.listed("levels", &escalation.levels);
        let seconds = self.needed_whole("seconds", escalation.seconds, 1..=SECONDS_MAX);
        Escalation {
            levels: names(&escalation.levels),
            level_ms: seconds * 1000,
            round_trips_max: self.needed_whole(
                "round-trips",
                escalation.round_trips,
                1..=ROUNDS_MAX,
            ),
        }
    }

    fn gate(&mut self, gate: &file::Gate) -> Gate {
        if gate.exit.is_empty() {
            self.listed("commands", &gate.commands);
        }
        for patterns in gate.finds.values() {
            self.paths("finds", patterns);
        }
        let words = [("green", Expect::Green), ("red", Expect::Red)];
        Gate {
            commands: gate.commands.clone(),
            expect: self.word("expect", gate.expect.as_deref(), Expect::Green, &words),
            needs: gate.needs.clone(),
            otherwise: gate.otherwise.as_deref().map(named),
            exit: self.conditions("exit", &gate.exit),
            finds: gate.finds.clone(),
            coverage: self.table("coverage", gate.coverage.as_ref(), Self::coverage),
            red: self.table("red", gate.red.as_ref(), Self::red),
        }
    }

    fn red(&mut self, red: &file::Red) -> Red {
        self.listed("commands", &red.commands);
        self.listed("files", &red.files);
        self.paths("files", &red.files);
        let on = red.on.as_deref().map(named);
        Red { commands: red.commands.clone(), files: red.files.clone(), on }
    }

    fn commit(&mut self, commit: &file::Commit) -> CommitRule {
        let retries = self.whole("retries", commit.retries, 0..=RETRIES_MAX);
        CommitRule {
            message: commit.message.clone(),
            branch: commit.branch.clone(),
            push: commit.push.clone(),
            pull_request: commit.pull_request,
            retries: retries.unwrap_or(PUSH_RETRIES),
        }
    }

    fn limits(&mut self, limits: &file::Limits) -> Counted {
        Counted {
            same_failure_max: self.whole("same-failure", limits.same_failure, 1..=COUNT_MAX),
            contested_max: self.whole("contested", limits.contested, 1..=COUNT_MAX),
        }
    }

    fn single(&mut self, single: &file::Single) -> Single {
        Single {
            independent_min: self.whole("independent-min", single.independent_min, 1..=COUNT_MAX),
            files_min: self.whole("files-min", single.files_min, 1..=COUNT_MAX),
            files_each_min: self.whole("files-each-min", single.files_each_min, 1..=COUNT_MAX),
            minutes_min: self.whole("minutes-min", single.minutes_min, 1..=COUNT_MAX),
            minutes_per_file: self.whole(
                "minutes-per-file",
                single.minutes_per_file,
                1..=COUNT_MAX,
            ),
            overhead_minutes: self.whole(
                "overhead-minutes",
                single.overhead_minutes,
                1..=COUNT_MAX,
            ),
        }
    }

    fn artifact(&mut self, own: &file::Artifact) -> Artifact {
        let places = [("view", false), ("branch", true)];
        self.needed("format", &own.format);
        if self.needed("path", &own.path) {
            self.path("path", None, &own.path);
        }
        Artifact {
            format: own.format.clone(),
            path: own.path.clone(),
            live: own.live,
            on_branch: self.word("on", own.on.as_deref(), false, &places),
            level: own.level.as_deref().map(|text| self.level(Some(text))),
        }
    }
}

fn texts(texts: &OrText<Vec<String>>) -> Vec<String> {
    match texts {
        OrText::Text(text) => vec![text.clone()],
        OrText::Long(texts) => texts.clone(),
    }
}
