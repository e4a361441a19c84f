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
mod secrets;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shipmate_process::{Fence, Level, achieved, covers, environment, in_reach};
use shipmate_protocol::Place;

use crate::settings::{FenceSetting, Settings};

pub(crate) use caches::variables;
use secrets::looks_secret;

/// What the fence of one teammate is built from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Grounds {
    pub(crate) level: FenceSetting,
    /// Named by the configuration.
    pub(crate) write: Vec<PathBuf>,
    /// The teammate's, whichever life.
    pub(crate) own: PathBuf,
    /// The team's.
    pub(crate) caches: PathBuf,
    /// What gates get and may read although it looks like a secret.
    pub(crate) gate_env: Vec<String>,
    pub(crate) gate_read: Vec<PathBuf>,
}

/// A fence is required and cannot be.
const IN_THE_CHECKOUT: &str = "a fence is required, and around who works in the checkout itself \
                               there is none; run with own trees (team.trees), or set fence to \
                               \"on\"";
const SOCKETS: &str = "a fence is required, and here it leaves sockets in reach";

impl Grounds {
    /// Makes the folders that the fence opens.
    pub(crate) fn of(settings: &Settings, root: &str, who: &str) -> Result<Grounds, String> {
        let team = settings.place.team(root);
        let folder = match () {
            () if root.is_empty() => passing(),
            () if team.is_dir() => team,
            // What is asked or told after a team is gone makes nothing of it anew.
            () => settings.place.state(),
        };
        let agents = &settings.agents;
        let grounds = Grounds {
            level: agents.fence,
            write: agents.fence_write.clone(),
            own: folder.join("own").join(who),
            caches: folder.join("caches"),
            gate_env: agents.gate_env.clone(),
            gate_read: agents.gate_read.clone(),
        };
        for folder in [&grounds.temp(), &grounds.caches] {
            made(folder)?;
        }
        if !root.is_empty() {
            caches::seed(&grounds.caches);
        }
        Ok(grounds)
    }

    pub(crate) fn temp(&self) -> PathBuf {
        self.own.join("tmp")
    }

    /// Where its program keeps what is its own.
    pub(crate) fn home(&self) -> PathBuf {
        self.own.join("home")
    }
}

/// For what is tried without a team. Whoever tries it removes it.
pub(crate) fn passing() -> PathBuf {
    std::env::temp_dir().join(format!("shipmate-try-{}", std::process::id()))
}

/// Who stands behind a fence, and where.
#[derive(Debug, Default)]
pub(crate) struct Yard {
    /// Where it works.
    pub(crate) tree: PathBuf,
    /// Its tree may be written.
    pub(crate) writes: bool,
    /// More that may be written, in any mode.
    pub(crate) own: Vec<PathBuf>,
    /// Of the state, what may be read.
    pub(crate) read: Vec<PathBuf>,
    /// It runs what others have handed in.
    pub(crate) is_gate: bool,
}

/// The fence of one start; none where it is off, or cannot be. The text says why one that is
/// required cannot be had.
pub(crate) fn around(
    grounds: &Grounds,
    place: &Place,
    yard: Yard,
) -> Result<Option<Fence>, String> {
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
        write.push(grounds.caches.clone());
        write.extend(grounds.write.iter().cloned());
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let state = real(&place.state());
    if write.iter().any(|path| state.starts_with(real(path))) {
        return if required { Err(IN_THE_CHECKOUT.to_owned()) } else { Ok(None) };
    }
    let mut hidden = vec![place.state()];
    let mut read = yard.read;
    if yard.is_gate {
        hidden.extend(secrets::files());
        read.extend(grounds.gate_read.iter().cloned());
    }
    // Its tree while nothing may be written there, and the commits that the runtime made of its
    // work: without them its git does not know its own HEAD.
    read.extend([yard.tree.with_added_extension("shadow").join("objects"), yard.tree]);
    read.push(grounds.own.clone());
    let reach = vec![place.socket()];
    let temp = Some(grounds.temp());
    let fence = Fence { write, hidden, read, freeze: true, temp, reach, required };
    if required && !covers() {
        let open = in_reach(&fence);
        if !open.is_empty() {
            return Err(format!("{SOCKETS}: {}", listed(&open)));
        }
    }
    Ok(Some(fence))
}

/// How a gate or a hook is started.
#[derive(Debug, Default)]
pub(crate) struct Gated {
    pub(crate) fence: Option<Fence>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) env_remove: Vec<OsString>,
}

/// What a gate or a hook is started with in this folder, which it may write unless it is the
/// person's own; of the state it may read these.
pub(crate) fn gated(
    grounds: &Grounds,
    place: &Place,
    cwd: &Path,
    read: Vec<PathBuf>,
) -> Result<Gated, String> {
    let writes = cwd.starts_with(place.state());
    let yard = Yard { tree: cwd.to_owned(), writes, read, is_gate: true, ..Yard::default() };
    let fence = around(grounds, place, yard)?;
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    if fence.is_some() {
        let caches = variables(&grounds.caches).into_iter();
        env.extend(caches.map(|(name, value)| (name.into(), value.into())));
        // A coordinator that began behind the fence could not write its log.
        env.push(("SHIPMATE_FENCED".into(), "1".into()));
    }
    let is_secret = |name: &OsString| {
        let name = name.to_string_lossy();
        looks_secret(&name) && !grounds.gate_env.iter().any(|named| *named == name)
    };
    let mut env_remove: Vec<OsString> = environment::all().into_keys().filter(is_secret).collect();
    env_remove.extend(["SHIPMATE_TOKEN", "SHIPMATE_TEAM"].map(OsString::from));
    Ok(Gated { fence, env, env_remove })
}

/// How much of a fence somebody stands behind, as it is recorded and shown.
pub(crate) fn word(fence: Option<&Fence>, level: FenceSetting) -> String {
    let Some(fence) = fence else {
        return match level {
            FenceSetting::Off => "off".to_owned(),
            _ => "none: it works in the checkout itself".to_owned(),
        };
    };
    let open = if covers() { Vec::new() } else { in_reach(fence) };
    match achieved() {
        Level::None => "none: this kernel has no Landlock".to_owned(),
        level if open.is_empty() => level.to_string(),
        level => format!("{level}, with {} in reach", listed(&open)),
    }
}

/// What a fence here would be, and the sockets that it would leave in reach.
pub fn here(place: &Place) -> (String, Vec<PathBuf>) {
    let fence = Fence { reach: vec![place.socket()], ..Fence::default() };
    (achieved().to_string(), if covers() { Vec::new() } else { in_reach(&fence) })
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

pub(crate) fn made(folder: &Path) -> Result<(), String> {
    let mut builder = fs::DirBuilder::new();
    let builder = builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_gets_no_secret_that_it_was_not_named() {
        let keys = ["MY_API_KEY", "GH_TOKEN", "NAMED_TOKEN", "PLAIN"];
        environment::renew(keys.map(|name| (name.to_owned(), "x".to_owned())).into());
        let top = std::env::temp_dir().join(format!("shipmate-gated-{}", std::process::id()));
        let place = Place { workspace: top.clone() };
        let cwd = place.state().join("tree");
        made(&cwd).unwrap();
        let grounds = Grounds { gate_env: vec!["NAMED_TOKEN".to_owned()], ..Grounds::default() };
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
