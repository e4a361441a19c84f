//! The fence around everybody: where agents, gates and hooks may write, and what they may not even
//! read.
//!
//! Whoever works in a tree writes there, in a folder of its own for temporary files and in the
//! team's caches; a program's own settings are in the teammate's own folder too. shipmate's state,
//! with everybody's tokens and trees, is hidden. Gates and hooks run what was handed in, so logins
//! are hidden from them as well. Scope is another matter: it is checked at the tools and on the
//! diff.
//!
//! What cannot be: a fence around who works in the person's own checkout. The state lies in it, and
//! what lies in a place that may be written cannot be hidden.

mod caches;
mod home;
mod secrets;
mod workspaces;

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::{Deserialize, Serialize};
use shipmate_process::{Fence, Level, achieved, covers, environment, in_reach};
use shipmate_protocol::Place;

use crate::agents::{Agents, FenceSetting};
use crate::models;

pub use caches::variables;
pub use secrets::{MARKERS, has_password, is_about_a_secret, looks_secret};
pub use workspaces::{make_known, user_state};

/// What the fence of one teammate is built from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Grounds {
    pub level: FenceSetting,
    /// Named by the configuration.
    pub write: Vec<PathBuf>,
    /// The teammate's, whichever life.
    pub own: PathBuf,
    /// The team's.
    pub caches: PathBuf,
    /// What gates get and may read although it looks like a secret.
    pub gate_env: Vec<String>,
    pub gate_read: Vec<PathBuf>,
    /// Variables that hold providers' keys.
    #[serde(default)]
    pub keys: Vec<String>,
    /// What the configuration sets for agents' programs.
    #[serde(default)]
    pub program_env: Vec<(String, String)>,
    /// Folders of the checkout that trees have links to.
    #[serde(default)]
    pub links: Vec<PathBuf>,
}

/// A fence is required and cannot be.
const IN_THE_CHECKOUT: &str = "a fence is required, and around who works in the checkout itself \
                               there is none; run with own trees (team.trees), or set fence to \
                               \"on\"";
/// Folders of a checkout that tools find from the folders below it.
const FOUND_FROM_BELOW: [&str; 1] = ["node_modules"];
const AROUND_STATE: &str = "a workspace's state is there, with which one can act as you: name \
                            something beside it";
const SOCKETS: &str = "a fence is required, and here it leaves sockets in reach";

impl Grounds {
    /// Makes the folders that the fence opens.
    pub fn of(place: &Place, agents: &Agents, root: &str, who: &str) -> Result<Grounds, String> {
        let team = place.team(root);
        let folder = match () {
            () if root.is_empty() => anew(passing())?,
            () if team.is_dir() => team,
            // What is asked or told after a team is gone makes nothing of it anew.
            () => place.state(),
        };
        let grounds = Grounds {
            level: agents.fence,
            write: agents.fence_write.clone(),
            own: folder.join("own").join(who),
            caches: folder.join("caches"),
            gate_env: agents.gate_env.clone(),
            gate_read: agents.gate_read.clone(),
            keys: models::key_variables(&agents.native.models),
            program_env: {
                let all = agents.programs.values().flat_map(|program| program.env.iter());
                all.map(|(name, value)| (name.clone(), value.clone())).collect()
            },
            links: Vec::new(),
        };
        for folder in [&grounds.temp(), &grounds.caches, &grounds.gate_caches()] {
            made(folder)?;
        }
        if !root.is_empty() {
            caches::seed(&grounds.caches);
            caches::seed(&grounds.gate_caches());
        }
        Ok(grounds)
    }

    /// For trees that have links to these folders of the checkout.
    pub fn linking(mut self, place: &Place, links: &[String]) -> Grounds {
        self.links = links.iter().map(|link| place.workspace.join(link)).collect();
        self
    }

    pub fn temp(&self) -> PathBuf {
        self.own.join("tmp")
    }

    /// Apart from the agents', who could else write what a gate builds with.
    pub fn gate_caches(&self) -> PathBuf {
        self.caches.with_file_name("gate-caches")
    }

    /// Where its program keeps what is its own.
    pub fn home(&self) -> PathBuf {
        self.own.join("home")
    }
}

/// For what is tried without a team. Whoever tries it removes it.
pub fn passing() -> PathBuf {
    std::env::temp_dir().join(format!("shipmate-try-{}", std::process::id()))
}

/// Who stands behind a fence, and where.
#[derive(Debug, Default)]
pub struct Yard {
    /// Where it works.
    pub tree: PathBuf,
    /// Its tree may be written.
    pub writes: bool,
    /// More that may be written, in any mode.
    pub own: Vec<PathBuf>,
    /// Of the state, what may be read.
    pub read: Vec<PathBuf>,
    /// It runs what others have handed in.
    pub is_gate: bool,
    /// A gate's fence, in a tree that an agent works in.
    pub is_set_up: bool,
    /// It is to see nothing of the repository.
    pub is_closed: bool,
}

/// The fence of one start; none where it is off, or cannot be. The text says why one that is
/// required cannot be had.
pub fn around(grounds: &Grounds, place: &Place, yard: Yard) -> Result<Option<Fence>, String> {
    if grounds.level == FenceSetting::Off {
        return Ok(None);
    }
    let required = grounds.level == FenceSetting::Required;
    let mut write = vec![grounds.temp()];
    write.extend(yard.own);
    if yard.writes {
        write.push(yard.tree.clone());
    }
    if yard.writes || yard.is_gate {
        let is_gates = yard.is_gate && !yard.is_set_up;
        write.push(if is_gates { grounds.gate_caches() } else { grounds.caches.clone() });
        write.extend(grounds.write.iter().cloned());
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let state = real(&place.state());
    // Of a workspace around this one it reads what it works with.
    let others = workspaces::states().into_iter().filter(|path| !state.starts_with(real(path)));
    let mut hidden = vec![place.state()];
    hidden.extend(others);
    // Who holds its lock keeps every coordinator of this user waiting.
    let register = user_state()
        .into_iter()
        .flat_map(|own| ["ports.lock", "ports.json"].map(|name| own.join(name)));
    hidden.extend(register.filter(|path| path.exists()));
    let around_state = |path: &PathBuf| {
        let path = real(path);
        let mut states = hidden.iter().map(|state| real(state));
        states.any(|state| state.starts_with(&path) || path.starts_with(&state))
    };
    let named = grounds.write.iter().map(|path| ("fence-write", path));
    let named = named.chain(grounds.gate_read.iter().map(|path| ("gate.read", path)));
    if let Some((name, path)) = { named }.find(|(_, path)| around_state(path)) {
        return Err(format!("{name} names {}, and {AROUND_STATE}", path.display()));
    }
    if write.iter().any(|path| state.starts_with(real(path))) {
        return if required { Err(IN_THE_CHECKOUT.to_owned()) } else { Ok(None) };
    }
    let mut read = yard.read;
    read.extend(grounds.links.iter().cloned());
    if yard.is_closed {
        hidden.push(place.workspace.clone());
    } else if yard.tree.starts_with(place.state()) {
        // Trees lie below the checkout, and Node looks for packages in every folder above: what is installed
        // there and nowhere said would pass in a tree, and fail in everybody else's clone.
        hidden.extend(
            FOUND_FROM_BELOW
                .map(|name| place.workspace.join(name))
                .into_iter()
                .filter(|path| path.is_dir()),
        );
    }
    if yard.is_gate {
        hidden.extend(secrets::files(&grounds.program_env));
        read.extend(grounds.gate_read.iter().cloned());
    }
    // Its tree while nothing may be written there, and the commits that the runtime made of its
    // work: without them its git does not know its own HEAD.
    read.extend([yard.tree.with_added_extension("shadow").join("objects"), yard.tree]);
    read.push(grounds.own.clone());
    let reach = vec![place.socket()];
    let temp = Some(grounds.temp());
    let fence = Fence { write, hidden, read, freeze: covers(), temp, reach, required };
    match reached(&fence).filter(|_| required) {
        Some(open) => Err(format!("{SOCKETS}: {open}")),
        None => Ok(Some(fence)),
    }
}

/// How a gate or a hook is started.
#[derive(Debug, Default)]
pub struct Gated {
    pub fence: Option<Fence>,
    pub env: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
}

/// What a gate or a hook is started with in this folder, which it may write unless it is the
/// person's own; of the state it may read these.
pub fn gated(
    grounds: &Grounds,
    place: &Place,
    cwd: &Path,
    read: Vec<PathBuf>,
) -> Result<Gated, String> {
    let writes = cwd.starts_with(place.state());
    let yard = Yard { tree: cwd.to_owned(), writes, read, is_gate: true, ..Yard::default() };
    held(grounds, place, yard, None)
}

/// What the team's gate is started with, on grounds of its own ([`Grounds::judging`]): the same, and a home
/// folder to throw away.
pub fn judged(grounds: &Grounds, place: &Place, tree: &Path) -> Result<Gated, String> {
    let home = Some(grounds.home()).filter(|home| home.is_dir());
    let writes = tree.starts_with(place.state());
    let yard = Yard { tree: tree.to_owned(), writes, is_gate: true, ..Yard::default() };
    held(grounds, place, yard, home)
}

/// What the set-up of a tree is started with: a gate's fence, and the caches of who works there.
pub fn set_up(
    grounds: &Grounds,
    place: &Place,
    tree: &Path,
    is_gates: bool,
) -> Result<Gated, String> {
    let (tree, is_set_up) = (tree.to_owned(), !is_gates);
    let yard = Yard { tree, writes: true, is_gate: true, is_set_up, ..Yard::default() };
    held(grounds, place, yard, None)
}

fn held(
    grounds: &Grounds,
    place: &Place,
    mut yard: Yard,
    home: Option<PathBuf>,
) -> Result<Gated, String> {
    let caches = if yard.is_set_up { grounds.caches.clone() } else { grounds.gate_caches() };
    yard.own.extend(home.clone());
    let fence = around(grounds, place, yard)?;
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    if fence.is_some() {
        let caches = variables(&caches).into_iter();
        env.extend(caches.map(|(name, value)| (name.into(), value.into())));
        env.extend(home.map(|home| ("HOME".into(), home.into())));
        // A coordinator that began behind the fence could not write its log.
        env.push(("SHIPMATE_FENCED".into(), "1".into()));
    }
    let is_secret = |(name, value): &(OsString, OsString)| {
        let name = name.to_string_lossy();
        let is_key = grounds.keys.iter().any(|key| *key == name);
        (is_key || looks_secret(&name, &value.to_string_lossy()))
            && !grounds.gate_env.iter().any(|named| *named == name)
    };
    let secret = environment::all().into_iter().filter(is_secret).map(|(name, _)| name);
    let mut env_remove: Vec<OsString> = secret.collect();
    env_remove.extend(["SHIPMATE_TOKEN", "SHIPMATE_TEAM"].map(OsString::from));
    Ok(Gated { fence, env, env_remove })
}

/// How much of a fence somebody stands behind. Its text is recorded and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fenced {
    Off,
    InTheCheckout,
    NoLandlock,
    /// As much as this kernel builds, and what it leaves in reach.
    Behind(Level, String),
}

impl Fenced {
    pub fn by(fence: Option<&Fence>, level: FenceSetting) -> Fenced {
        match (fence, achieved()) {
            (None, _) if level == FenceSetting::Off => Fenced::Off,
            (None, _) => Fenced::InTheCheckout,
            (Some(_), Level::None) => Fenced::NoLandlock,
            (Some(fence), level) => Fenced::Behind(level, reached(fence).unwrap_or_default()),
        }
    }

    /// It keeps its program from writing elsewhere.
    pub fn holds(&self) -> bool {
        matches!(self, Fenced::Behind(..))
    }
}

impl fmt::Display for Fenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fenced::Off => f.write_str("off"),
            Fenced::InTheCheckout => f.write_str("none: it works in the checkout itself"),
            Fenced::NoLandlock => f.write_str("none: this kernel has no Landlock"),
            Fenced::Behind(level, open) if open.is_empty() => write!(f, "{level}"),
            Fenced::Behind(level, open) => write!(f, "{level}, with {open} in reach"),
        }
    }
}

/// The sockets that a fence leaves in reach, as text.
fn reached(fence: &Fence) -> Option<String> {
    if covers() {
        return None;
    }
    match in_reach(fence) {
        Ok(open) => (!open.is_empty()).then(|| listed(&open)),
        Err(_) => Some("sockets that the system does not list".to_owned()),
    }
}

/// What a fence here would be, and the sockets that it would leave in reach.
pub fn here(place: &Place) -> (String, Vec<PathBuf>) {
    let fence = Fence { reach: vec![place.socket()], ..Fence::default() };
    let open = if covers() { Vec::new() } else { in_reach(&fence).unwrap_or_default() };
    (achieved().to_string(), open)
}

fn listed(paths: &[PathBuf]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown = paths.iter().take(SHOWN_MAX).map(|path| path.display().to_string());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if paths.len() > SHOWN_MAX {
        text.push_str(&format!(" and {} more", paths.len() - SHOWN_MAX));
    }
    text
}

/// A folder of nobody else's, who may know its name.
fn anew(folder: PathBuf) -> Result<PathBuf, String> {
    drop(fs::remove_dir_all(&folder));
    let created = fs::DirBuilder::new().mode(0o700).create(&folder);
    created.map(|()| folder.clone()).map_err(|e| format!("{}: {e}", folder.display()))
}

pub fn made(folder: &Path) -> Result<(), String> {
    let mut builder = fs::DirBuilder::new();
    let builder = builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_gets_no_secret_that_it_was_not_named() {
        let keys = ["MY_API_KEY", "GH_TOKEN", "ACME", "NAMED_TOKEN", "PLAIN"];
        environment::renew(keys.map(|name| (name.to_owned(), "x".to_owned())).into());
        let top = std::env::temp_dir().join(format!("shipmate-gated-{}", std::process::id()));
        let place = Place { workspace: top.clone() };
        let cwd = place.state().join("tree");
        made(&cwd).unwrap();
        let (gate_env, keys_known) = (vec!["NAMED_TOKEN".to_owned()], vec!["ACME".to_owned()]);
        let grounds = Grounds { gate_env, keys: keys_known, ..Grounds::default() };
        let gated = gated(&grounds, &place, &cwd, Vec::new()).unwrap();
        let kept = |name: &&str| !gated.env_remove.contains(&OsString::from(*name));
        assert_eq!(
            keys.iter().filter(|name| kept(name)).collect::<Vec<_>>(),
            [&"NAMED_TOKEN", &"PLAIN"]
        );
        assert!(!kept(&"SHIPMATE_TOKEN"));
        fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn around_who_works_in_the_checkout_itself_there_is_no_fence_and_required_says_so() {
        let top = std::env::temp_dir().join(format!("shipmate-yard-{}", std::process::id()));
        let place = Place { workspace: top.clone() };
        made(&place.state()).unwrap();
        let yard = || Yard { tree: top.clone(), writes: true, ..Yard::default() };
        let at = |level| Grounds { level, own: place.state().join("own"), ..Grounds::default() };
        assert_eq!(around(&at(FenceSetting::On), &place, yard()), Ok(None));
        let refused = around(&at(FenceSetting::Required), &place, yard()).unwrap_err();
        assert!(refused.contains("team.trees"), "{refused}");
        fs::remove_dir_all(&top).unwrap();
    }
}
