//! `shipmate doctor`: everything that can stand in the way, looked at in one go.
//!
//! Each check is a line: ok, warning (it works, and you should know) or problem (something does
//! not work). Checks look and ask; none of them mends, unless it is told to remove what is left
//! over.

mod agents;
mod hosts;
mod machine;
mod state;
mod team;

use shipmate_protocol::Place;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain, plain_lines};
use crate::cli::session::{Globals, Session, place};
use crate::config::{self, FenceConfig};
use crate::coordinator::proposal::{others, wanting};
use team::Cleaning;

/// Check everything that can stand in the way, and say what to do about it
///
/// Looks at the workspace, git, the shell, the configuration, the coordinator and every team's log,
/// at the repository as a team would find it, at who can read what, at what is left over, at the agent
/// programs and at every other machine of the teams. Each hook is really run, with a sample of its
/// event. Ends with exit code 1 if there is a problem.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate doctor
  shipmate doctor --clean
  shipmate doctor --clean --force refs/shipmate/alpha/aside/3-17
  shipmate doctor --json | jq '.[] | select(.verdict != \"ok\")'")]
pub(crate) struct DoctorArgs {
    /// Remove what is left over and nothing is lost with: processes, branches and refs that deleted
    /// teams made and whose commits are all in a branch of yours, and the logs of those teams
    #[arg(long)]
    clean: bool,

    /// Remove this too, though it is not merged; exactly as it is listed. May be repeated. The commit
    /// is told, so that `git branch NAME COMMIT` brings it back
    #[arg(long, value_name = "NAME", requires = "clean")]
    force: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Ok,
    Warning,
    Problem,
}

/// What one check found.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    /// What was looked at.
    pub(crate) what: &'static str,
    pub(crate) fact: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

impl Finding {
    fn ok(what: &'static str, fact: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Ok, what, fact: fact.into(), remedy: None }
    }

    fn warning(what: &'static str, fact: impl Into<String>, remedy: impl Into<String>) -> Finding {
        let remedy = Some(remedy.into());
        Finding { verdict: Verdict::Warning, what, fact: fact.into(), remedy }
    }

    fn problem(what: &'static str, fact: impl Into<String>, remedy: impl Into<String>) -> Finding {
        let remedy = Some(remedy.into());
        Finding { verdict: Verdict::Problem, what, fact: fact.into(), remedy }
    }

    /// A failure's text, whose lines after the first are its remedy.
    fn failed(what: &'static str, text: &str) -> Finding {
        match text.split_once("\n  ") {
            Some((fact, remedy)) => Finding::problem(what, fact, remedy),
            None => Finding { remedy: None, ..Finding::problem(what, text, "") },
        }
    }
}

pub(crate) fn run(args: &DoctorArgs, globals: &Globals) -> Result<(), Failure> {
    let screen = Screen::new(globals.json);
    let place = place(globals.workspace.as_deref())?;
    let mut found = vec![machine::workspace(&place), machine::git(), machine::shell()];
    found.push(configuration(&place));
    let sound = found.iter().all(|finding| finding.verdict != Verdict::Problem);
    let socket = machine::socket(&place);
    let reachable = socket.verdict != Verdict::Problem;
    found.push(socket);
    if sound && reachable {
        // Acts as the person whatever --as says: it looks at everything.
        let globals = Globals { acting: None, for_team: None, ..globals.clone() };
        let mut session = Session::open(&globals)?;
        let (looked_at, roots) = state::coordinator_and_logs(&mut session);
        found.extend(looked_at);
        if let Some(roots) = roots {
            let cleaning = match args.clean {
                true => Cleaning::Remove { force: args.force.clone() },
                false => Cleaning::Look,
            };
            found.extend(team::work(&mut session, &roots, &cleaning));
            found.push(agents::programs(&mut session));
            found.extend(hosts::look(&mut session, &roots));
        }
    }
    found.extend(state::permissions(&place));
    found.push(machine::ignored(&place));
    found.extend(set_up(&place));
    found.push(fence(&place));
    show(&found, &screen)?;
    match found.iter().any(|finding| finding.verdict == Verdict::Problem) {
        true => Err(Failure::Told(Exit::Refused)),
        false => Ok(()),
    }
}

fn configuration(place: &Place) -> Finding {
    match config::load(&place.config()) {
        Err(bad) => Finding::problem("config", format!("{}: {}", bad.place, bad.fact), bad.remedy),
        Ok(loaded) if loaded.sources.is_empty() => Finding::ok("config", "all defaults"),
        Ok(loaded) => {
            let names: Vec<&str> = loaded.sources.keys().copied().collect();
            Finding::ok("config", format!("read; set are {}", names.join(", ")))
        }
    }
}

/// What trees get and what work has to pass, as the next team would have it; nothing where nothing is said.
fn set_up(place: &Place) -> Option<Finding> {
    let config = config::load(&place.config()).ok()?.config;
    let mut preparation = config.preparation();
    if config.trees.detect {
        preparation = preparation.or(&others(&place.workspace).0);
    }
    let gate = &config.gate.commands;
    let wanting = wanting(&place.workspace, &preparation, gate);
    if !wanting.is_empty() {
        let remedy = "mend it, or [trees] and [gate] in .shipmate/config.toml";
        return Some(Finding::problem("trees", wanting.join("; "), remedy));
    }
    let named = [("copies", &preparation.copy), ("set-up", &preparation.setup), ("gate", gate)];
    let named = named.iter().filter(|(_, all)| !all.is_empty());
    let named: Vec<String> =
        named.map(|(what, all)| format!("{what}: {}", all.join(", "))).collect();
    (!named.is_empty()).then(|| Finding::ok("trees", named.join("; ")))
}

/// Said plainly, because a person has to know it.
fn fence(place: &Place) -> Finding {
    let level = config::load(&place.config()).map(|loaded| loaded.config.fence);
    if let Ok(FenceConfig::Off) = level {
        let fact =
            "it is off: every agent, gate and hook can read the person's token and act as you";
        return Finding::warning("fence", fact, "set fence = \"on\" in .shipmate/config.toml");
    }
    let Ok(loaded) = config::load(&place.config()) else {
        let fact = "not known, because the settings cannot be read";
        return Finding::warning("fence", fact, "mend what is said about config");
    };
    let named = loaded.config.fence_write.iter().chain(&loaded.config.gate.read);
    if let Some(path) = { named }.find(|path| !config::whole(path).exists()) {
        let fact = format!("fence-write or gate.read names {path}, which is not there");
        return Finding::warning("fence", fact, "make it, and whoever starts then has it");
    }
    let (whole, open) = crate::coordinator::fence_here(place);
    match (whole.as_str(), open.as_slice()) {
        ("full", []) => Finding::ok("fence", "agents, gates and hooks stand behind a whole one"),
        ("full", open) => {
            let open: Vec<String> = open.iter().map(|path| path.display().to_string()).collect();
            let fact = format!(
                "agents, gates and hooks stand behind one that leaves what listens here in reach: {}",
                open.join(", ")
            );
            let remedy = "let shipmate make user namespaces, in which it covers them \
                          (docs/security.md says how); fence = \"required\" starts nobody while \
                          they are in reach";
            Finding::warning("fence", fact, remedy)
        }
        (level, _) => {
            let fact =
                format!("this system has no whole one ({level}): agents can write elsewhere");
            Finding::warning("fence", fact, "use Linux 6.2 or newer with Landlock switched on")
        }
    }
}

fn show(found: &[Finding], screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.json(&found);
    }
    let mut text = String::new();
    for finding in found {
        let (word, paint) = match finding.verdict {
            Verdict::Ok => ("ok", Paint::Good),
            Verdict::Warning => ("warning", Paint::Busy),
            Verdict::Problem => ("problem", Paint::Bad),
        };
        let word = screen.paint(paint, &format!("{word:<8}"));
        text.push_str(&format!("{word} {:<12} {}\n", finding.what, plain(&finding.fact)));
        for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
            text.push_str(&format!("{:21} {}\n", "", plain_lines(line.trim())));
        }
    }
    screen.print(&text)
}
