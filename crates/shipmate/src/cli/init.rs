//! `shipmate init`: what this repository needs so that work in a clone of it can be built and tried.
//!
//! Nothing is written that the configuration says already, and nothing without the person's word.

use std::fs;
use std::io::{ErrorKind, IsTerminal};
use std::path::Path;

use serde_json::json;

use crate::cli::failure::Failure;
use crate::cli::playbook::write;
use crate::cli::screen::Screen;
use crate::cli::session::{Globals, place};
use crate::config::{self, Loaded, Source};
use crate::coordinator::proposal::{Proposal, others, propose};

/// Propose how trees are set up and what work has to pass, from this repository's own files
///
/// Looks at lock files, ignored settings such as .env and test commands, shows what follows from them,
/// and writes it into .shipmate/config.toml when you agree. What that says already stays.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate init              look, show, ask
  shipmate init --dry-run    look and show
  shipmate init --yes        write it without asking")]
pub(crate) struct InitArgs {
    /// Write it without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,

    /// Only show it
    #[arg(long)]
    dry_run: bool,
}

/// What init would write, and what it says about it.
pub(crate) struct Plan {
    pub(crate) proposal: Proposal,
    /// The lines for the configuration; empty where there is nothing to write.
    pub(crate) text: String,
    notes: Vec<String>,
}

/// Looks at the repository, and leaves out what is said already.
pub(crate) fn plan(workspace: &Path, loaded: &Loaded) -> Result<Plan, Failure> {
    let mut proposal = propose(workspace).map_err(Failure::Usage)?;
    let mut notes = Vec::new();
    let is_said = |name: &str| loaded.source(name) != Source::Default;
    let said: Vec<&str> = ["trees.copy", "trees.link", "trees.setup"]
        .into_iter()
        .filter(|name| is_said(name))
        .collect();
    let (mut found, _) = others(workspace);
    if !loaded.config.trees.detect {
        found = Default::default();
    }
    if !said.is_empty() {
        notes.push(format!("the configuration says {} already: it stays", said.join(", ")));
    }
    if found.adds_to(&loaded.config.preparation()) {
        notes.push(format!("what trees get by {} counts as it is", found.from));
    }
    if is_said("trees.copy") || !found.copy.is_empty() {
        proposal.copy = Vec::new();
    }
    if is_said("trees.setup") || !found.setup.is_empty() {
        proposal.setup = Vec::new();
    }
    if is_said("gate.commands") {
        notes.push("the configuration says gate.commands already: it stays".to_owned());
        proposal.gate = Vec::new();
    }
    let text = text_of(&proposal);
    Ok(Plan { proposal, text, notes })
}

impl Plan {
    /// Only what trees get; what work has to pass is said elsewhere.
    pub(crate) fn keep_trees(&mut self) {
        self.proposal.gate = Vec::new();
        self.text = text_of(&self.proposal);
    }

    /// The other way round.
    pub(crate) fn keep_gate(&mut self) {
        (self.proposal.copy, self.proposal.setup) = (Vec::new(), Vec::new());
        self.text = text_of(&self.proposal);
    }
}

fn text_of(proposal: &Proposal) -> String {
    let list = |name: &str, lines: &[String]| match lines.is_empty() {
        true => String::new(),
        false => {
            let lines = lines.iter().map(|line| toml::Value::String(line.clone()).to_string());
            format!("{name} = [{}]\n", lines.collect::<Vec<_>>().join(", "))
        }
    };
    let lock_files = if proposal.setup.is_empty() { &[][..] } else { &proposal.lock_files };
    let trees = list("copy", &proposal.copy)
        + &list("setup", &proposal.setup)
        + &list("lock-files", lock_files);
    let gate = list("commands", &proposal.gate);
    let mut text = String::new();
    for (table, lines) in [("trees", trees), ("gate", gate)] {
        if !lines.is_empty() {
            let blank = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}[{table}]\n{lines}"));
        }
    }
    text
}

/// The file with these tables in it; everything else as it is.
fn merged(before: &str, text: &str) -> String {
    let mut after = before.to_owned();
    for table in text.split("\n\n") {
        let (header, lines) = table.split_once('\n').unwrap_or((table, ""));
        let lines = lines.trim_end();
        let mut at = 0;
        let mut end = None;
        for line in after.split_inclusive('\n') {
            at += line.len();
            let bare: String =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if bare == header {
                end = Some(at);
                break;
            }
        }
        let gap = match () {
            () if after.is_empty() || after.ends_with("\n\n") => "",
            () if after.ends_with('\n') => "\n",
            () => "\n\n",
        };
        match end {
            Some(end) if after[..end].ends_with('\n') => {
                after.insert_str(end, &format!("{lines}\n"))
            }
            Some(end) => after.insert_str(end, &format!("\n{lines}\n")),
            None => after.push_str(&format!("{gap}{header}\n{lines}\n")),
        }
    }
    after
}

/// Every value of one is in the other.
fn holds(whole: &toml::Table, part: &toml::Table) -> bool {
    part.iter().all(|(key, value)| match (whole.get(key), value) {
        (Some(toml::Value::Table(whole)), toml::Value::Table(part)) => holds(whole, part),
        (there, value) => there == Some(value),
    })
}

/// Writes it. What is wrong with the file already is told with its line, and nothing is written.
pub(crate) fn carry_out(config: &Path, text: &str) -> Result<(), Failure> {
    let before = match fs::read_to_string(config) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => {
            let file = config.display();
            return Err(Failure::Storage(format!(
                "{file} cannot be read: {e}\n  check its permissions"
            )));
        }
    };
    let after = merged(before.as_deref().unwrap_or_default(), text);
    let read = |text: &str| text.parse::<toml::Table>().ok();
    if !read(&after).zip(read(text)).is_some_and(|(whole, part)| holds(&whole, &part)) {
        let file = config.display();
        return Err(Failure::Usage(format!(
            "{file} has these tables in a form that is not changed here\n  add the lines above by hand"
        )));
    }
    write(config, before.as_deref(), &after)
}

/// What was found, as a person reads it.
pub(crate) fn shown(plan: &Plan) -> String {
    let mut text = String::new();
    for line in &plan.proposal.lines() {
        text.push_str(&format!("found  {line}\n"));
    }
    for line in &plan.notes {
        text.push_str(&format!("note   {line}\n"));
    }
    for line in &plan.proposal.open {
        text.push_str(&format!("open   {line}\n"));
    }
    if !plan.text.is_empty() {
        text.push('\n');
        plan.text.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
        text.push('\n');
    }
    text
}

pub(crate) fn run(args: &InitArgs, globals: &Globals) -> Result<(), Failure> {
    let screen = Screen::new(globals.json);
    let place = place(globals.workspace.as_deref())?;
    let loaded = config::load(&place.config())?;
    let plan = plan(&place.workspace, &loaded)?;
    let is_nothing = plan.text.is_empty();
    if screen.json {
        let writes = args.yes && !is_nothing;
        if writes {
            carry_out(&place.config(), &plan.text)?;
        }
        let Plan { proposal, notes, .. } = plan;
        return screen.json(&json!({
            "copy": proposal.copy,
            "setup": proposal.setup,
            "gate": proposal.gate,
            "found": proposal.lines(),
            "open": proposal.open,
            "notes": notes,
            "written": writes.then(|| place.config().display().to_string()),
        }));
    }
    screen.print(&shown(&plan))?;
    if is_nothing {
        return screen.line("nothing to write");
    }
    if args.dry_run {
        return Ok(());
    }
    let file = ".shipmate/config.toml";
    if !args.yes && !agreed(&screen, &format!("Write this into {file}? [Y/n] "))? {
        return screen.line("nothing was written");
    }
    carry_out(&place.config(), &plan.text)?;
    screen.line(&format!("wrote {file}; `shipmate run` uses it from now on"))?;
    screen
        .line(&format!("commit {file} for those you work with; the rest of .shipmate git ignores"))
}

/// One key for yes: Enter is one too.
pub(crate) fn agreed(screen: &Screen, question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "nobody is there to agree\n  look at the proposal above, then say --yes".to_owned(),
        ));
    }
    screen.print(question)?;
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map_err(|e| Failure::Usage(format!("standard input cannot be read: {e}")))?;
    // The end of input is no word of a person.
    Ok(!line.is_empty() && matches!(line.trim(), "" | "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_where_they_belong_and_the_rest_stays() {
        let text = "[trees]\nsetup = [\"npm ci\"]\n\n[gate]\ncommands = [\"npm test\"]\n";
        assert_eq!(merged("", text), text);
        let whole = merged("fence = \"on\"\n\n[gate]\nbatch = 4\n", text);
        let odd = "# a\r\n[ gate ] # mine\r\nbatch = 4\r\n";
        let table: toml::Table = merged(odd, text).parse().unwrap();
        assert_eq!(table["gate"]["commands"][0].as_str(), Some("npm test"));
        let expected = "fence = \"on\"\n\n[gate]\ncommands = [\"npm test\"]\nbatch = 4\n\n[trees]\nsetup = \
                        [\"npm ci\"]\n";
        assert_eq!(whole, expected);
        let after = merged(crate::config::DEFAULT_FILE, text);
        let table: toml::Table = after.parse().unwrap();
        assert_eq!(table["gate"]["commands"][0].as_str(), Some("npm test"));
        assert_eq!(table["trees"]["setup"][0].as_str(), Some("npm ci"));
    }
}
