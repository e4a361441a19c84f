//! The agents that a person has defined for other programs: `.claude/agents/*.md`, `.codex/agents/*.toml`
//! and `.opencode/agent/*.md` with what lies below, in the repository and where the programs have their
//! settings.
//!
//! A file says the same whatever program is behind the teammate. What a program cannot hold is told when
//! the teammate joins ([`unheld`]), never passed over. Files are read for each who joins and recorded with
//! it: what is changed later counts for who comes later.

mod files;
mod hooks;
mod read;
mod skills;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shipmate_model::definition::{Definition, bare};
use shipmate_model::files::Pattern;
use shipmate_model::profile::Mode;
use shipmate_process::regular_file::{read_inside, read_whole};
use shipmate_protocol::json_text::parse_members;

use crate::agents::Agents;
use crate::around::Around;
use crate::programs::{self, Base, Profile};
pub(crate) use read::yaml;
pub use skills::with_skills;

/// Longest file; more is no instruction that a model reads with each request.
const FILE_BYTES_MAX: usize = 128 * 1024;

/// Whose files they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Claude,
    Codex,
    Opencode,
}

impl Format {
    /// The program that they were written for.
    pub fn program(self) -> &'static str {
        match self {
            Format::Claude => "claude",
            Format::Codex => "codex",
            Format::Opencode => "opencode",
        }
    }
}

/// A definition as a file says it.
#[derive(Debug, Clone)]
pub struct Found {
    pub definition: Definition,
    pub description: String,
    pub format: Format,
    /// As the file says; empty: none.
    pub model: String,
    pub mode: Option<Mode>,
    /// In the repository; else the person's own.
    pub is_projects: bool,
    /// Names of skills that it knows from its first request on.
    pub skills: Vec<String>,
    /// What the file says and nobody here holds.
    pub notes: Vec<String>,
}

/// Definitions, and files among them that are none.
#[derive(Debug, Default)]
pub struct All {
    pub found: Vec<Found>,
    pub broken: Vec<Broken>,
}

/// A file that is no definition, or a folder that is not read.
#[derive(Debug)]
pub struct Broken {
    pub source: String,
    pub reason: String,
    /// As its file is called.
    name: String,
    is_projects: bool,
}

/// Where definitions are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub workspace: &'a Path,
    pub agents: &'a Agents,
    /// The environment that programs are started in.
    pub around: &'a Around,
    /// Of several logins of one program, the folders of the one that this agent has; none: all of them.
    pub agent: Option<&'a str>,
}

impl Search<'_> {
    /// What is this program, with each login of it that counts.
    fn profiles(&self, program: &str) -> Vec<Profile> {
        let is_it = |name: &str| programs::kind(name, self.agents) == program;
        let own = self.agent.map(|agent| if is_it(agent) { agent } else { program });
        let counts = |name: &str| own.map_or_else(|| is_it(name), |own| own == name);
        let profiles = programs::profiles(self.agents);
        profiles.into_iter().filter(|profile| counts(&profile.name)).collect()
    }
}

const OPENCODE_CONFIG: Base = Base::Variable("OPENCODE_CONFIG_DIR");

struct Folders {
    format: Format,
    /// Where in the repository.
    projects: &'static [&'static str],
    /// Where the program has the person's own.
    own: &'static [(Base, &'static str)],
    /// How the files end.
    end: &'static str,
}

const FOLDERS: [Folders; 3] = [
    Folders {
        format: Format::Claude,
        projects: &[".claude/agents"],
        own: &[(programs::CLAUDE, "agents")],
        end: "md",
    },
    Folders {
        format: Format::Codex,
        projects: &[".codex/agents"],
        own: &[(programs::CODEX, "agents")],
        end: "toml",
    },
    Folders {
        format: Format::Opencode,
        projects: &[".opencode/agent", ".opencode/agents"],
        own: &[
            (Base::Config, "opencode/agent"),
            (Base::Config, "opencode/agents"),
            (Base::Home, ".opencode/agent"),
            (Base::Home, ".opencode/agents"),
            (OPENCODE_CONFIG, "agent"),
            (OPENCODE_CONFIG, "agents"),
        ],
        end: "md",
    },
];

/// Every definition that there is for this workspace.
pub fn all(search: &Search<'_>) -> All {
    let mut all = All::default();
    let home = search.around.0.get("HOME").map(PathBuf::from).unwrap_or_default();
    for Folders { format, projects, own, end } in FOLDERS {
        let mut seen = BTreeSet::new();
        for below in projects {
            let (folder, shown) = (search.workspace.join(below), Path::new(below));
            look(&folder, shown, format, end, true, &mut seen, &mut all);
        }
        // The repository may be the home folder: what is there is the person's own too.
        let mut seen = BTreeSet::new();
        for profile in search.profiles(format.program()) {
            let folders =
                own.iter().filter_map(|(base, path)| profile.path(search.around, *base, path));
            for folder in folders {
                let shown = match folder.strip_prefix(&home) {
                    Ok(below) if !home.as_os_str().is_empty() => Path::new("~").join(below),
                    _ => folder.clone(),
                };
                look(&folder, &shown, format, end, false, &mut seen, &mut all);
            }
        }
    }
    all
}

fn look(
    folder: &Path,
    shown: &Path,
    format: Format,
    end: &str,
    is_projects: bool,
    seen: &mut BTreeSet<(u64, u64)>,
    all: &mut All,
) {
    let files = files::files(folder, end, is_projects, seen);
    let source = |path: &Path| shown.join(path).display().to_string();
    let mut broken = |path: &Path, name: String, reason: String| {
        let source = source(path).trim_end_matches('/').to_owned();
        all.broken.push(Broken { source, reason, name, is_projects });
    };
    for (path, reason) in files.left_out {
        broken(&path, String::new(), reason);
    }
    for path in files.found {
        // A link of the repository's leads nowhere else.
        let read = match is_projects {
            true => read_inside(folder, &path, FILE_BYTES_MAX),
            false => read_whole(&folder.join(&path), FILE_BYTES_MAX),
        };
        let text = read.map_err(|e| e.to_string());
        let text = text.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8: save it as that".to_owned())
        });
        let name = match format {
            // By its path: that is what opencode calls it.
            Format::Opencode => path.with_extension("").display().to_string(),
            _ => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        match text.and_then(|text| read::read(format, &name, &text)) {
            Ok(mut found) => {
                found.definition.source = source(&path);
                found.is_projects = is_projects;
                all.found.push(found);
            }
            Err(reason) => broken(&path, name, reason),
        }
    }
}

/// No definition of a name, or too many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoDefinition {
    pub fact: String,
    pub remedy: String,
}

impl Broken {
    fn none(&self) -> NoDefinition {
        let Broken { source, reason, name, .. } = self;
        let fact = format!("the definition {name} cannot be used: {source}: {reason}");
        NoDefinition { fact, remedy: "mend the file".to_owned() }
    }
}

/// The definition of this name for a teammate behind this program. The repository's come before the
/// person's own, and those of the program before others.
pub fn find(all: &All, name: &str, program: &str) -> Result<Found, NoDefinition> {
    let named: Vec<&Found> =
        all.found.iter().filter(|found| found.definition.name == name).collect();
    let rank = |found: &&&Found| (!found.is_projects, found.format.program() != program);
    let Some(best) = named.iter().min_by_key(rank) else {
        if let Some(broken) = all.broken.iter().find(|broken| broken.name == name) {
            return Err(broken.none());
        }
        let mut names: Vec<&str> =
            all.found.iter().map(|found| found.definition.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let remedy = match names.is_empty() {
            true => "write .claude/agents/NAME.md".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let fact = format!("there is no definition of an agent {name}");
        return Err(NoDefinition {
            fact,
            remedy: format!("{remedy}: `shipmate agents --definitions`"),
        });
    };
    // What the repository says and cannot be read is not replaced by what the person's own files say.
    let broken = all.broken.iter().find(|broken| broken.is_projects && broken.name == name);
    if let (Some(broken), false) = (broken, best.is_projects) {
        return Err(broken.none());
    }
    let same = named
        .iter()
        .filter(|found| found.is_projects == best.is_projects && found.format == best.format);
    let files: Vec<&str> = same.map(|found| found.definition.source.as_str()).collect();
    if files.len() > 1 {
        return Err(NoDefinition {
            fact: format!("{} files define an agent {name}: {}", files.len(), files.join(", ")),
            remedy: "rename one of them".to_owned(),
        });
    }
    let mut best = (**best).clone();
    // Neither is of the program's own format: that one of them counts is said.
    let others =
        named.iter().filter(|found| rank(found) == rank(&&&best) && found.format != best.format);
    let others: Vec<&str> = others.map(|found| found.definition.source.as_str()).collect();
    if !others.is_empty() {
        let (own, others) = (&best.definition.source, others.join(" and "));
        let note = format!("{others} defines it too: {own} counts; rename one of them");
        best.notes.push(note);
    }
    Ok(best)
}

/// The model that a definition names, as this program names it; nothing where it says nothing to it.
pub fn model_for(found: &Found, program: &str) -> Option<String> {
    let model = found.model.as_str();
    if model.is_empty() || model == "inherit" {
        return None;
    }
    let (provider, bare) = match (found.format, model.split_once('/')) {
        (Format::Opencode, Some((provider, bare))) => (provider, bare),
        (Format::Opencode, None) => ("", model),
        (Format::Claude, _) => ("anthropic", model),
        (Format::Codex, _) => ("openai", model),
    };
    let is_alias = found.format == Format::Claude && !model.starts_with("claude-");
    match program {
        "claude" | "claude-agent-acp" if provider == "anthropic" => Some(bare.to_owned()),
        "codex" | "codex-acp" if provider == "openai" => Some(bare.to_owned()),
        "gemini" if provider == "google" => Some(bare.to_owned()),
        "opencode" | "native" if !is_alias && !provider.is_empty() => {
            let provider = match (program, provider) {
                ("native", "google") => "gemini",
                (_, provider) => provider,
            };
            Some(format!("{provider}/{bare}"))
        }
        _ => None,
    }
}

/// A kind of tools that vendors' programs ask leave for, by Claude Code's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tools {
    /// Who has one of these has the kind: most programs have one tool, where Claude Code has several.
    principal: &'static [&'static str],
    /// What only Claude Code has besides.
    others: &'static [&'static str],
}

pub const WRITES: Tools =
    Tools { principal: &["Write", "Edit"], others: &["MultiEdit", "NotebookEdit"] };
pub const RUNS: Tools = Tools { principal: &["Bash"], others: &[] };
pub const FETCHES: Tools = Tools { principal: &["WebFetch"], others: &["WebSearch"] };
pub const SEARCHES: Tools = Tools { principal: &["Grep", "Glob"], others: &["LS"] };
pub const READS: Tools = Tools { principal: &["Read"], others: &[] };
pub const SPAWNS: Tools = Tools { principal: &["Agent"], others: &["Task"] };
const KINDS: [Tools; 6] = [WRITES, RUNS, FETCHES, SEARCHES, READS, SPAWNS];

impl Tools {
    fn names(self) -> impl Iterator<Item = &'static str> {
        self.principal.iter().chain(self.others).copied()
    }

    fn contains(self, tool: &str) -> bool {
        self.names().any(|name| name == tool)
    }

    /// Whether a program with one tool of this kind has it.
    pub fn is_had(self, definition: &Definition) -> bool {
        self.principal.iter().any(|name| definition.has(name))
    }

    /// Tools that such a program has all the same.
    fn unheld(self, definition: &Definition) -> Vec<&'static str> {
        let is_denied = |name: &str| definition.denied.iter().any(|entry| entry == name);
        let is_meant = |name: &str| self.principal.contains(&name) || is_denied(name);
        let not_had = self.names().filter(|name| !definition.has(name) && is_meant(name));
        if self.is_had(definition) { not_had.collect() } else { Vec::new() }
    }
}

/// Of no consequence outside the agent.
const OWN: [&str; 24] = [
    "TodoWrite",
    "TodoRead",
    "Skill",
    "SlashCommand",
    "ToolSearch",
    "BashOutput",
    "KillShell",
    "KillBash",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "EnterWorktree",
    "ExitWorktree",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
];

/// One of the tools that definitions name.
pub fn is_known(tool: &str) -> bool {
    tool == "*"
        || tool.starts_with("mcp__")
        || OWN.contains(&tool)
        || KINDS.iter().any(|kind| kind.contains(tool))
}

/// A tool with patterns that a program which asks about each call is held to: commands, and files of the tree.
pub fn has_held_pattern(entry: &str) -> bool {
    let Some((tool, inner)) = entry.trim().strip_suffix(')').and_then(|rest| rest.split_once('('))
    else {
        return false;
    };
    let mut patterns = inner.split(',').map(str::trim);
    let is_file = |text: &str| !text.starts_with('~') && text.parse::<Pattern>().is_ok();
    match tool.trim() {
        "Bash" => !inner.trim().is_empty(),
        tool if READS.contains(tool) || WRITES.contains(tool) => patterns.all(is_file),
        _ => false,
    }
}

/// opencode's permissions, and the tools that each is about.
const PERMISSIONS: [(&str, Tools); 8] = [
    ("edit", WRITES),
    ("bash", RUNS),
    ("webfetch", FETCHES),
    ("websearch", Tools { principal: &["WebSearch"], others: &[] }),
    ("read", READS),
    ("grep", Tools { principal: &["Grep"], others: &[] }),
    ("glob", Tools { principal: &["Glob"], others: &[] }),
    ("task", SPAWNS),
];

/// The variable of opencode's rules. The last that fits counts, so their order is kept.
pub const OPENCODE_PERMISSION: &str = "OPENCODE_PERMISSION";

/// What a program is told by a variable of what it does not have, behind what a person has set there.
pub fn variable(
    definition: &Definition,
    program: &str,
    set: Option<&str>,
) -> Option<(String, String)> {
    let denied = PERMISSIONS.iter().filter(|(_, tools)| !tools.is_had(definition));
    let denied = denied.map(|(name, _)| *name);
    let denied: Vec<&str> = denied.collect();
    if program != "opencode" || denied.is_empty() {
        return None;
    }
    let set = set.unwrap_or_default();
    let members = parse_members(set, &(0..set.len())).unwrap_or_default();
    let kept = members.into_iter().filter(|(key, _)| !denied.contains(&key.as_str()));
    let kept = kept.map(|(key, at)| format!("{}:{}", serde_json::Value::from(key), &set[at]));
    let rules = denied.iter().map(|name| format!("\"{name}\":\"deny\""));
    let rules = kept.chain(rules).collect::<Vec<_>>().join(",");
    Some((OPENCODE_PERMISSION.to_owned(), format!("{{{rules}}}")))
}

/// How hard a model may think, as each program says it.
const EFFORTS_OF_CLAUDE: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
const EFFORTS_OF_CODEX: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// How hard its model is to think, where the program behind it knows the word.
pub fn effort<'a>(definition: &'a Definition, protocol: &str) -> Option<&'a str> {
    let known: &[&str] = match protocol {
        "claude" => &EFFORTS_OF_CLAUDE,
        "codex" => &EFFORTS_OF_CODEX,
        _ => &[],
    };
    Some(definition.effort.as_str()).filter(|effort| known.contains(effort))
}

/// What a program cannot hold of a definition, in sentences.
pub fn unheld(found: &Found, program: &str, protocol: &str) -> Vec<String> {
    let definition = &found.definition;
    let mut told = found.notes.clone();
    let has = |tools: Tools| tools.is_had(definition);
    let entries = definition.tools.iter().flatten().chain(&definition.denied);
    let unknown: Vec<&str> =
        entries.clone().map(|entry| bare(entry)).filter(|tool| !is_known(tool)).collect();
    if !unknown.is_empty() {
        told.push(format!("nobody knows the tools {}", unknown.join(", ")));
    }
    // Claude Code has rules for what is denied.
    let is_held = |entry: &&String| {
        let denies = definition.denied.contains(entry);
        protocol == "claude" && (denies || has_held_pattern(entry))
    };
    let whole = entries.clone().filter(|entry| entry.contains('(') && !is_held(entry));
    let mut whole: Vec<&str> = whole.map(|entry| bare(entry)).collect();
    whole.dedup();
    if !whole.is_empty() {
        let tools = whole.join(", ");
        told.push(format!("the patterns behind {tools} are not held: the tools are there whole"));
    }
    told.extend(settings_unheld(found, program, protocol));
    told.extend(parts_unheld(definition, program, protocol));
    let sse = definition.servers.iter().filter(|(_, server)| server.transport == "sse");
    if protocol == "codex" {
        told.extend(sse.map(|(name, _)| {
            format!("its MCP server {name} speaks sse: {program} reaches it by streamable HTTP")
        }));
    }
    match protocol {
        "claude" | "native" => {}
        _ if ["gemini", "opencode"].contains(&program) => {
            told.extend(servers_unheld(definition, program));
        }
        "codex" => {
            if definition.has("WebSearch") != definition.has("WebFetch") {
                told.push(
                    "codex has one tool for WebSearch and WebFetch: it has neither".to_owned(),
                );
            }
            if !has(RUNS) {
                told.push(
                    "codex runs commands that only look, such as ls, without asking".to_owned(),
                );
            }
            if !has(READS) || !has(SEARCHES) {
                told.push(
                    "codex reads and searches by commands: that is not kept from it".to_owned(),
                );
            }
        }
        "command" | "inline" => {
            let limits = definition.tools.is_some() || !definition.denied.is_empty();
            if limits || !definition.servers.is_empty() {
                told.push(
                    "a plain command has no tools that could be kept from it or given to it"
                        .to_owned(),
                );
            }
        }
        _ => {
            if !has(READS) || !has(SEARCHES) {
                told.push(format!(
                    "{program} reads and searches without asking: that is not kept from it"
                ));
            }
            told.extend(servers_unheld(definition, program));
        }
    }
    if !found.model.is_empty() && found.model != "inherit" && model_for(found, program).is_none() {
        let of = found.format.program();
        told.push(format!("the model {} is one of {of}'s: {program} uses its own", found.model));
    }
    told
}

/// Where a definition has one tool of a kind and not another, a program that asks for the kind has both.
fn parts_unheld(definition: &Definition, program: &str, protocol: &str) -> Vec<String> {
    let kinds: &[Tools] = match protocol {
        "claude" | "native" | "command" | "inline" => &[],
        _ if program == "gemini" => &[],
        "codex" => &[WRITES],
        _ if program == "opencode" => &[WRITES],
        _ => &[WRITES, FETCHES],
    };
    let unheld = kinds.iter().map(|kind| (kind, kind.unheld(definition)));
    let told = unheld.filter(|(_, tools)| !tools.is_empty()).map(|(kind, tools)| {
        let had = kind.principal.iter().filter(|name| definition.has(name));
        let had: Vec<&str> = had.copied().collect();
        let (tools, had) = (tools.join(", "), had.join(", "));
        format!("{tools} is not kept from it: {program} asks leave for it as for {had}")
    });
    told.collect()
}

/// How a model is asked, and what runs beside it: each program can be told some of it.
fn settings_unheld(found: &Found, program: &str, protocol: &str) -> Vec<String> {
    let definition = &found.definition;
    let is_claudes = found.format == Format::Claude;
    let name = |claudes, others| if is_claudes { claudes } else { others };
    let mut fields = Vec::new();
    if !definition.effort.is_empty() && effort(definition, protocol).is_none() {
        fields.push(name("effort", "model_reasoning_effort"));
    }
    if definition.turns_max > 0 && !["claude", "native"].contains(&protocol) {
        fields.push(name("maxTurns", "steps"));
    }
    if !definition.verbosity.is_empty() && protocol != "codex" {
        fields.push("model_verbosity");
    }
    let mut told = Vec::new();
    if !fields.is_empty() {
        let fields = fields.join(", ");
        told.push(format!("its {fields} are not held: what {program} is set to counts"));
    }
    if !definition.hooks.is_empty() && protocol != "claude" {
        told.push("its hooks are not run: they are passed on to Claude Code only".to_owned());
    }
    told
}

/// Over ACP nobody can tell a server's tool from a program's own.
fn servers_unheld(definition: &Definition, program: &str) -> Option<String> {
    let tools = definition.tools.as_ref()?;
    let is_named = tools.iter().any(|tool| bare(tool) == "*" || tool.starts_with("mcp__"));
    (!is_named).then(|| {
        format!("the tools of your own MCP servers in {program} are not kept from it: each is asked about once")
    })
}

#[cfg(test)]
mod tests;
