//! From the file to the playbook that is recorded: every value checked, every reference resolved.

use std::collections::BTreeMap;

use shipmate_core::Name;
use shipmate_core::event::Mode;
use shipmate_core::files::{FileSet, Pattern};
use shipmate_core::playbook::{
    Artifact, ClaimOrder, CommitRule, Condition, Counted, Department, Each, Escalation, Expect,
    Field, Gate, Kind, Level, Phase, Playbook, Role, RoundRule, Route, Shape, ShutdownOrder,
    Single, Source, SourceFormat, TaskTemplate, Test, Trouble, Upgrade, Weight, Which,
};

use super::file::{self, File};

/// How often a push is tried again where nothing is said.
const PUSH_RETRIES: u32 = 3;

/// A playbook, and what of it is for the team's setup or for choosing it.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) playbook: Playbook,
    pub(crate) title: String,
    pub(crate) about: String,
    pub(crate) protected: Vec<String>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) shutdown_ms: Option<u64>,
    pub(crate) select_files: Vec<String>,
    pub(crate) select_env: Option<String>,
}

/// What is wrong with it, as text.
pub(crate) fn compile(file: &str, text: &str) -> Result<Compiled, String> {
    let read: File = toml::from_str(text).map_err(|e| format!("{file}: {e}"))?;
    Compiler { problems: Vec::new() }.compile(read).map_err(|problems| {
        problems
            .into_iter()
            .map(|problem| format!("{file}: {problem}"))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

struct Compiler {
    problems: Vec<String>,
}

impl Compiler {
    fn compile(mut self, file: File) -> Result<Compiled, Vec<String>> {
        let playbook = Playbook {
            name: self.name("name", &file.name),
            values: file.values.clone(),
            roles: self.named("roles", &file.roles, |this, role| this.role(role)),
            phases: file.phases.iter().map(|phase| self.phase(phase)).collect(),
            departments: file.departments.iter().map(|own| self.department(own)).collect(),
            department: None,
            skip: Vec::new(),
            work: file.work.as_ref().map(|work| self.work(work)),
            routes: file.routes.iter().map(|route| self.route(route)).collect(),
            kinds: self.named("kinds", &file.kinds, |this, kind| this.kind(kind)),
            escalation: file.escalation.as_ref().map(|escalation| Escalation {
                levels: self.names("escalation.levels", &escalation.levels),
                level_ms: escalation.seconds * 1000,
                round_trips_max: escalation.round_trips,
            }),
            gates: self.named("gates", &file.gates, |this, gate| Gate {
                commands: gate.commands.clone(),
                expect: this.word(
                    "expect",
                    gate.expect.as_deref(),
                    Expect::Green,
                    &[("green", Expect::Green), ("red", Expect::Red)],
                ),
            }),
            artifacts: file.artifacts.iter().map(|own| self.artifact(own)).collect(),
            order: self.word(
                "order",
                file.order.as_deref(),
                ClaimOrder::Path,
                &[("path", ClaimOrder::Path), ("number", ClaimOrder::Number)],
            ),
            counted: Counted {
                same_failure_max: file.limits.same_failure,
                contested_max: file.limits.contested,
            },
            shutdown: self.word(
                "shutdown",
                file.shutdown.as_deref(),
                ShutdownOrder::Together,
                &[("together", ShutdownOrder::Together), ("in-turn", ShutdownOrder::InTurn)],
            ),
            commit: CommitRule {
                message: file.commit.message.clone(),
                branch: file.commit.branch.clone(),
                push: file.commit.push.clone(),
                retries: file.commit.retries.unwrap_or(PUSH_RETRIES),
            },
            single: file.single.as_ref().map(|single| Single {
                independent_min: single.independent_min,
                files_min: single.files_min,
                files_each_min: single.files_each_min,
                minutes_min: single.minutes_min,
            }),
        };
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Compiled {
            playbook,
            title: file.title,
            about: file.about,
            protected: file.protected,
            timeout_ms: file.minutes.map(|minutes| minutes * 60_000),
            shutdown_ms: file.shutdown_seconds.map(|seconds| seconds * 1000),
            select_files: file.select.files,
            select_env: file.select.env,
        })
    }

    fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    fn name(&mut self, what: &str, text: &str) -> Name {
        text.parse().unwrap_or_else(|e| {
            self.problem(format!("{what}: {e}"));
            "x".parse().expect("x is a name")
        })
    }

    fn names(&mut self, what: &str, texts: &[String]) -> Vec<Name> {
        texts.iter().map(|text| self.name(what, text)).collect()
    }

    fn named<F, T>(
        &mut self,
        what: &str,
        tables: &BTreeMap<String, F>,
        mut one: impl FnMut(&mut Self, &F) -> T,
    ) -> BTreeMap<Name, T> {
        let mut found = BTreeMap::new();
        for (name, table) in tables {
            let name = self.name(what, name);
            found.insert(name, one(self, table));
        }
        found
    }

    /// One of a few words.
    fn word<T: Copy>(
        &mut self,
        what: &str,
        text: Option<&str>,
        usual: T,
        words: &[(&str, T)],
    ) -> T {
        let Some(text) = text else { return usual };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => *value,
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                self.problem(format!("{what}: {text:?} is none of {}", known.join(", ")));
                usual
            }
        }
    }

    fn files(&mut self, what: &str, texts: &[String]) -> FileSet {
        let mut found: Vec<Pattern> = Vec::new();
        for text in texts {
            match text.parse() {
                Ok(pattern) => found.push(pattern),
                Err(e) => self.problem(format!("{what}: {e}")),
            }
        }
        FileSet::new(found)
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
        Role {
            level: self.level(role.level.as_deref()),
            lead: role.lead,
            agent: role.agent.clone(),
            model: role.model.clone(),
            upgrades: role
                .upgrades
                .iter()
                .map(|up| Upgrade { model: up.model.clone(), when: self.weight(&up.when) })
                .collect(),
            tools: role.tools.clone(),
            mode: self.mode("mode", role.mode.as_deref()).unwrap_or_default(),
            prompt: role.prompt.clone(),
            scope: role.scope.clone(),
            may: role.may.clone(),
            cap: role.cap.unwrap_or(1),
            reports_to: role.reports_to.as_ref().map(|to| self.name("reports-to", to)),
            one_shot: role.one_shot,
            plan_when: role.plan_when.as_ref().map(|when| self.weight(when)),
        }
    }

    fn weight(&mut self, weight: &file::Weight) -> Weight {
        Weight {
            files_min: weight.files_min,
            touches: self.files("touches", &weight.touches),
            words: weight.words.clone(),
            always: weight.always,
        }
    }

    fn department(&mut self, own: &file::Department) -> Department {
        Department {
            name: self.name("departments.name", &own.name),
            team: self.name("departments.team", own.team.as_ref().unwrap_or(&own.name)),
            description: own.description.clone(),
            after: self.names("departments.after", &own.after),
            entry: own.entry.iter().map(|one| self.condition(one)).collect(),
            denies: self.files("departments.denies", &own.denies),
            values: own.values.clone(),
            without: self.names("departments.without", &own.without),
        }
    }

    fn phase(&mut self, phase: &file::Phase) -> Phase {
        let seconds = phase.seconds.or(phase.minutes.map(|minutes| minutes * 60));
        Phase {
            name: self.name("phases.name", &phase.name),
            title: phase.title.clone(),
            level: self.level(phase.level.as_deref()),
            entry: phase.entry.iter().map(|one| self.condition(one)).collect(),
            optional: phase.optional,
            makes: phase.makes.iter().map(|one| self.condition(one)).collect(),
            roles: self.names("phases.roles", &phase.roles),
            departments: phase.departments,
            lead_mode: self.mode("lead-mode", phase.lead_mode.as_deref()),
            tasks: phase.tasks.iter().map(|task| self.task(task)).collect(),
            lead_plans: phase.lead_plans,
            gate: phase.gate.as_ref().map(|gate| self.name("phases.gate", gate)),
            exit: phase.exit.iter().map(|one| self.condition(one)).collect(),
            deadline_ms: seconds.map(|seconds| seconds * 1000),
            late: self.trouble(phase.late.as_ref()),
            failed: self.trouble(phase.failed.as_ref()),
            dismiss: phase.dismiss,
        }
    }

    fn trouble(&mut self, rule: Option<&file::Trouble>) -> Trouble {
        match rule {
            None => Trouble::Stop,
            Some(file::Trouble::Back { back, rounds }) => {
                Trouble::Back { to: self.name("back", back), rounds: *rounds }
            }
            Some(file::Trouble::Word(word)) => match word.as_str() {
                "stop" => Trouble::Stop,
                "go-on" => Trouble::GoOn,
                "lead" => Trouble::Lead,
                other => {
                    self.problem(format!("{other:?} is none of stop, go-on, lead, {{ back = … }}"));
                    Trouble::Stop
                }
            },
        }
    }

    fn task(&mut self, task: &file::Task) -> TaskTemplate {
        let each = [("once", Each::Once), ("item", Each::Item), ("group", Each::Group)];
        let rounds = [("first", RoundRule::First), ("later", RoundRule::Later)];
        let round = task.round.as_deref();
        TaskTemplate {
            id: self.name("tasks.id", &task.id),
            each: self.word("each", task.each.as_deref(), Each::Once, &each),
            having: task.having.clone(),
            round: round.map(|text| self.word("round", Some(text), RoundRule::First, &rounds)),
            subject: task.subject.clone(),
            description: task.description.clone(),
            role: task.role.as_ref().map(|role| self.name("tasks.role", role)),
            lead: task.lead,
            files: task.files.clone(),
            needs: self.names("tasks.needs", &task.needs),
            gate: task.gate.as_ref().map(|gate| self.name("tasks.gate", gate)),
            retries_max: task.retries,
        }
    }

    fn condition(&mut self, condition: &file::Condition) -> Condition {
        let table = match condition {
            file::Condition::Path(path) => {
                return Condition::File { path: path.clone(), test: Test::Exists };
            }
            file::Condition::Table(table) => table,
        };
        match (&table.file, &table.department, &table.phase) {
            (Some(path), None, None) => {
                let path = path.clone();
                let Some(key) = table.key.clone() else {
                    let test = if table.json { Test::Json } else { Test::Exists };
                    return Condition::File { path, test };
                };
                let which = [
                    ("first", Which::First),
                    ("any", Which::Any),
                    ("rest", Which::Rest),
                    ("all", Which::All),
                ];
                let which = self.word("line", table.line.as_deref(), Which::Any, &which);
                let is = match &table.is {
                    None => Vec::new(),
                    Some(file::Texts::One(text)) => vec![text.clone()],
                    Some(file::Texts::Many(texts)) => texts.clone(),
                };
                Condition::File { path, test: Test::Line { which, key, is } }
            }
            (None, Some(name), None) => {
                Condition::Department { name: self.name("department", name) }
            }
            (None, None, Some(name)) => Condition::Phase { name: self.name("phase", name) },
            _ => {
                self.problem("a condition names a file, a department or a phase".to_owned());
                Condition::File { path: String::new(), test: Test::Exists }
            }
        }
    }

    fn work(&mut self, work: &file::Work) -> Source {
        let formats = [
            ("plan-lines", SourceFormat::PlanLines),
            ("features", SourceFormat::Features),
            ("layers", SourceFormat::Layers),
        ];
        let usual = SourceFormat::PlanLines;
        let format = self.word("work.format", Some(&work.format), usual, &formats);
        Source { format, files: work.files.clone() }
    }

    fn route(&mut self, route: &file::Route) -> Route {
        Route {
            from: self.names("routes.from", &route.from),
            to: self.names("routes.to", &route.to),
            kinds: self.names("routes.kinds", &route.kinds),
        }
    }

    fn kind(&mut self, kind: &file::Kind) -> Kind {
        Kind { about: kind.about.clone(), fields: self.fields(&kind.fields) }
    }

    fn fields(&mut self, table: &toml::Table) -> BTreeMap<String, Field> {
        let mut found = BTreeMap::new();
        for (key, value) in table {
            let (key, required) = match key.strip_suffix('?') {
                Some(key) => (key, false),
                None => (key.as_str(), true),
            };
            let shape = self.shape(key, value);
            found.insert(key.to_owned(), Field { shape, required });
        }
        found
    }

    fn shape(&mut self, key: &str, value: &toml::Value) -> Shape {
        match value {
            toml::Value::String(word) => match word.as_str() {
                "text" => Shape::Text,
                "number" => Shape::Number,
                "flag" => Shape::Flag,
                "any" => Shape::Any,
                list if list.starts_with('[') && list.ends_with(']') => {
                    let inner = toml::Value::String(list[1..list.len() - 1].to_owned());
                    Shape::List(Box::new(self.shape(key, &inner)))
                }
                other => {
                    self.problem(format!("{key}: {other:?} is none of text, number, flag, any"));
                    Shape::Any
                }
            },
            toml::Value::Table(table) => Shape::Object(self.fields(table)),
            toml::Value::Array(items) => match items.as_slice() {
                [toml::Value::Table(table)] => {
                    Shape::List(Box::new(Shape::Object(self.fields(table))))
                }
                words => {
                    let texts = words.iter().filter_map(|word| word.as_str().map(str::to_owned));
                    Shape::OneOf(texts.collect())
                }
            },
            _ => {
                self.problem(format!("{key}: a field is described by a word, a list or a table"));
                Shape::Any
            }
        }
    }

    fn artifact(&mut self, own: &file::Artifact) -> Artifact {
        let places = [("view", false), ("branch", true)];
        Artifact {
            format: own.format.clone(),
            path: own.path.clone(),
            on_branch: self.word("artifacts.on", own.on.as_deref(), false, &places),
        }
    }
}
