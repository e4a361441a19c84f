//! What an agent may do: one table, by mode, kind of tool and place.
//!
//! Every permission request of every vendor's program ends here, so that a mode means the
//! same whatever program is behind a teammate. The table is also printed in
//! `docs/permissions.md`, and a test holds the two together. It decides what an agent is
//! told, not what a process can do: a shell command is let through in normal mode and is
//! held by the check of the diff when its work is handed in; in the others the program runs
//! behind a fence.
//!
//! What must hold: in normal mode ordinary work (reading, writing in scope, building, testing,
//! fetching a page) waits for nobody. Whoever is asked has ten minutes by default; after that the answer
//! is no, the question is withdrawn and the work goes on.
//!
//! Deliberately absent: lists of harmless commands. A shell line cannot be judged by its words.

mod classify;
pub mod patterns;
mod place;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use shipmate_model::definition::Definition;
use shipmate_model::event::Mode;
use shipmate_process::beginning;
use shipmate_programs::definitions;

pub use classify::{TEAM_SERVER, acp, claude, codex};
pub use place::{Bounds, place};

/// How many paths a sentence names before it only counts them.
const NAMED_MAX: usize = 5;
/// How much of a command or of an input a question shows.
const DETAIL_CHARS_MAX: usize = 2_000;

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Looks at a file, or only at the agent's own notes.
    Read,
    Search,
    /// Creates, changes or moves a file.
    Write,
    Delete,
    /// Starts a command, or writes to one that runs.
    Run,
    /// Fetches from the network.
    Network,
    /// One of the team's own tools; which of them there are is decided where they are listed.
    TeamTool,
    /// An agent inside the agent. What it does comes here as well.
    Spawn,
    /// Nobody here knows what it does.
    Other,
}

/// Where it does it. With several paths, the one that is hardest to allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the teammate's tree, in its scope and among its task's files; or in a folder besides
    /// the tree that is its own to write.
    Inside,
    /// In its tree, but not its own to write.
    Beside,
    /// The team's protected paths, and `.git`.
    Protected,
    /// Outside its tree.
    Outside,
    /// Where shipmate keeps its state, and everybody's tokens.
    Sealed,
    /// No path is named.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Allow,
    Deny,
    AskLead,
    AskPerson,
}

/// What an agent asks for, whichever program it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// As the program calls it.
    pub tool: String,
    pub kind: Kind,
    /// As the program wrote them: relative ones begin at the tree.
    pub paths: Vec<PathBuf>,
    /// One line for a person.
    pub title: String,
    /// The command, or the input; may be empty.
    pub detail: String,
}

/// What the table says about a request, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub rule: Rule,
    pub mode: Mode,
    pub place: Place,
}

const MODES: [Mode; 4] = [Mode::Normal, Mode::Plan, Mode::Delegate, Mode::ReadOnly];

const PLACES: [Place; 6] =
    [Place::Inside, Place::Beside, Place::Protected, Place::Outside, Place::Sealed, Place::Unknown];

const OK: Rule = Rule::Allow;
const NO: Rule = Rule::Deny;
const LEAD: Rule = Rule::AskLead;
const ASK: Rule = Rule::AskPerson;

type Row = (Kind, [Rule; PLACES.len()]);

/// The columns are [`PLACES`]. Plan is plan mode before the approval; after it, normal holds.
///
/// Fetching is allowed where commands are: what `curl` may do needs no question elsewhere. It
/// is allowed to those who only read, too, because looking things up is what they are for.
#[rustfmt::skip]
const TABLE: [(Mode, [Row; 9]); 4] = [
    (Mode::Normal, [
        //                inside beside prot. outside sealed unknown
        (Kind::Read,     [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Search,   [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Write,    [OK,    LEAD,  LEAD,  ASK,   NO,    OK]),
        (Kind::Delete,   [OK,    LEAD,  LEAD,  ASK,   NO,    OK]),
        (Kind::Run,      [OK,    OK,    OK,    ASK,   NO,    OK]),
        (Kind::Network,  [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::TeamTool, [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Spawn,    [OK,    OK,    OK,    ASK,   NO,    OK]),
        (Kind::Other,    [LEAD,  LEAD,  LEAD,  ASK,   NO,    LEAD]),
    ]),
    (Mode::Plan, [
        (Kind::Read,     [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Search,   [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Write,    [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Delete,   [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Run,      [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Network,  [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::TeamTool, [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Spawn,    [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Other,    [NO,    NO,    NO,    NO,    NO,    NO]),
    ]),
    (Mode::Delegate, [
        (Kind::Read,     [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Search,   [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Write,    [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Delete,   [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Run,      [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Network,  [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::TeamTool, [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Spawn,    [OK,    OK,    OK,    NO,    NO,    OK]),
        (Kind::Other,    [NO,    NO,    NO,    NO,    NO,    NO]),
    ]),
    (Mode::ReadOnly, [
        (Kind::Read,     [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Search,   [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Write,    [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Delete,   [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Run,      [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Network,  [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::TeamTool, [OK,    OK,    OK,    OK,    NO,    OK]),
        (Kind::Spawn,    [NO,    NO,    NO,    NO,    NO,    NO]),
        (Kind::Other,    [NO,    NO,    NO,    NO,    NO,    NO]),
    ]),
];

/// What the table says. An approved plan turns plan mode into normal mode.
pub fn rule(mode: Mode, approved_plan: bool, kind: Kind, place: Place) -> Rule {
    let mode = effective(mode, approved_plan);
    let (_, rows) = TABLE.iter().find(|(row, _)| *row == mode).expect("every mode has its rows");
    let (_, cells) = rows.iter().find(|(row, _)| *row == kind).expect("every kind has its row");
    let at = PLACES.iter().position(|column| *column == place).expect("every place has a column");
    cells[at]
}

/// The rule for a request, with what led to it.
pub fn judge(mode: Mode, approved_plan: bool, request: &Request, bounds: &Bounds) -> Verdict {
    let place = place(&request.paths, bounds);
    let rule = rule(mode, approved_plan, request.kind, place);
    Verdict { rule, mode: effective(mode, approved_plan), place }
}

fn effective(mode: Mode, approved_plan: bool) -> Mode {
    if mode == Mode::Plan && approved_plan { Mode::Normal } else { mode }
}

/// For a denial, what the model is told: the fact and what it can do instead. For a question,
/// what the lead or the person is asked. Nothing for what is allowed.
pub fn words(verdict: &Verdict, request: &Request) -> String {
    match verdict.rule {
        Rule::Allow => String::new(),
        Rule::Deny => denial(verdict, request),
        Rule::AskLead | Rule::AskPerson => question(verdict, request),
    }
}

/// What the model is told when nobody answered for this long.
pub fn unanswered(request: &Request, patience: Duration) -> String {
    let seconds = patience.as_secs();
    let time = match seconds % 60 {
        0 => format!("{} minutes", seconds / 60),
        _ => format!("{seconds} seconds"),
    };
    format!(
        "{} was not allowed: nobody answered for {time}, and the question is \
         withdrawn. Go on without it; if the task cannot be done without it, say so in a message \
         to the lead or fail the task with that reason.",
        what(request)
    )
}

/// Whether an answer to a question gives the permission. Whatever else it says is a refusal,
/// and the reason for it.
pub fn is_granted(answer: &str) -> bool {
    let word = answer.trim().to_ascii_lowercase();
    matches!(word.as_str(), "grant" | "allow" | "approve" | "yes")
}

/// What the model is told when whoever was asked said no.
pub fn refused(request: &Request, by: &str, reason: &str) -> String {
    let reason = reason.trim();
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{} was refused by {by}{why}. Find another way, or ask {by}.", what(request))
}

/// What the model of somebody is told whose role names all its tools.
pub fn not_of_role(request: &Request, tools: &[String]) -> String {
    format!(
        "{} is not among your tools: {}. Have a teammate do it.",
        what(request),
        tools.join(", ")
    )
}

/// What the model is told whose definition keeps this tool from it; nothing where it has it. Another
/// program's tool is one of Claude Code's by what it does.
pub fn kept_by(definition: &Definition, request: &Request) -> Option<String> {
    let tool = request.tool.as_str();
    let kind = match request.kind {
        Kind::TeamTool => return None,
        Kind::Read => Some(definitions::READS),
        Kind::Search => Some(definitions::SEARCHES),
        Kind::Write | Kind::Delete => Some(definitions::WRITES),
        Kind::Run => Some(definitions::RUNS),
        Kind::Network => Some(definitions::FETCHES),
        Kind::Spawn => Some(definitions::SPAWNS),
        Kind::Other => None,
    };
    let has = match () {
        () if tool.starts_with("mcp__") => has_server_tool(definition, tool),
        () if definitions::is_known(tool) => definition.has(tool),
        () => kind?.is_had(definition),
    };
    let name = &definition.name;
    (!has).then(|| {
        format!(
            "{} is not among the tools that the definition {name} gives you. Do without it, or message \
             the lead.",
            what(request)
        )
    })
}

/// A server's tools are there where the server or the tool is named, or the server is its own.
pub fn has_server_tool(definition: &Definition, tool: &str) -> bool {
    let own = definition.servers.keys().any(|name| tool.starts_with(&format!("mcp__{name}__")));
    let is = |entry: &String| {
        let entry = entry.trim_end_matches("__*");
        entry == "*" || tool == entry || tool.starts_with(&format!("{entry}__"))
    };
    let listed = definition.tools.as_ref().is_none_or(|tools| tools.iter().any(is));
    (own || listed) && !definition.denied.iter().any(is)
}

fn denial(verdict: &Verdict, request: &Request) -> String {
    let what = what(request);
    if verdict.place == Place::Sealed {
        return format!(
            "{what} is not allowed: that is where shipmate keeps its state. Ask for what you need \
             with the team's tools."
        );
    }
    match verdict.mode {
        Mode::Normal => format!("{what} is not allowed here. Ask the lead in a message."),
        Mode::Plan => format!(
            "{what} is not allowed yet: you are to plan first. Read and search as you need, then \
             submit your plan with the team's plan tool; after its approval you may write and run."
        ),
        Mode::Delegate => format!(
            "{what} is not allowed: you lead by delegation, and neither write nor run anything \
             yourself. Create a task for it, or message the teammate whose work it is."
        ),
        Mode::ReadOnly => format!(
            "{what} is not allowed: you only read. Report what should be done as your task's \
             result, or message the lead."
        ),
    }
}

fn question(verdict: &Verdict, request: &Request) -> String {
    let why = match verdict.place {
        Place::Beside => "which is outside its scope or its task's files",
        Place::Protected => "which is protected",
        Place::Outside => "which is outside its own tree",
        Place::Inside | Place::Sealed | Place::Unknown => "which shipmate does not know",
    };
    let mut text = format!("Permission for {}, {why}?", what(request));
    if !request.detail.is_empty() {
        let _ = write!(text, "\n{}", beginning(&request.detail, DETAIL_CHARS_MAX));
    }
    text
}

fn what(request: &Request) -> String {
    let verb = match request.kind {
        Kind::Read => "reading",
        Kind::Search => "searching",
        Kind::Write => "writing",
        Kind::Delete => "deleting",
        Kind::Run => "running a command",
        Kind::Network => "fetching from the network",
        Kind::TeamTool => "using the team's tool",
        Kind::Spawn => "starting an agent of its own",
        Kind::Other => "using the tool",
    };
    let mut text = match request.kind {
        Kind::TeamTool | Kind::Other => format!("{verb} {}", request.tool),
        Kind::Run if !request.paths.is_empty() => format!("{verb} in"),
        _ => verb.to_owned(),
    };
    for (at, path) in request.paths.iter().take(NAMED_MAX).enumerate() {
        let _ = write!(text, "{} {}", if at == 0 { "" } else { "," }, path.display());
    }
    if request.paths.len() > NAMED_MAX {
        let _ = write!(text, " and {} more", request.paths.len() - NAMED_MAX);
    }
    text
}

/// The table as `docs/permissions.md` shows it.
pub fn table_text() -> String {
    let mut text = String::new();
    for mode in MODES {
        let name = match mode {
            Mode::Normal => "normal",
            Mode::Plan => "plan, before the approval",
            Mode::Delegate => "delegate",
            Mode::ReadOnly => "read only",
        };
        let _ = write!(
            text,
            "### {name}\n\n\
             | | in scope | elsewhere in its tree | protected | outside its tree | shipmate's \
             state | no path |\n|---|---|---|---|---|---|---|\n"
        );
        let (_, rows) = TABLE.iter().find(|(row, _)| *row == mode).expect("every mode is there");
        for (kind, _) in rows {
            let cells = PLACES.map(|place| match rule(mode, false, *kind, place) {
                Rule::Allow => "allow",
                Rule::Deny => "deny",
                Rule::AskLead => "ask the lead",
                Rule::AskPerson => "ask a person",
            });
            let _ = writeln!(text, "| {} | {} |", kind_text(*kind), cells.join(" | "));
        }
        text.push('\n');
    }
    text
}

fn kind_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Search => "search",
        Kind::Write => "write",
        Kind::Delete => "delete",
        Kind::Run => "run a command",
        Kind::Network => "fetch from the network",
        Kind::TeamTool => "the team's tools",
        Kind::Spawn => "an agent inside the agent",
        Kind::Other => "any other tool",
    }
}
