//! Ports of each tree, its own for as long as it is there.
//!
//! One register for all workspaces of a user, under a lock: two trees never have the same port. A port
//! that somebody else listens on when it is given out is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::fence::user_state;

/// Below those that the system gives to programs that ask for any.
const FIRST: u16 = 20_000;
const LAST: u16 = 29_999;

/// Which tree has which ports.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Register {
    /// By their paths as text: one that is none has another's, and shares its ports at the worst.
    trees: BTreeMap<String, Vec<u16>>,
}

/// The ports of a tree: those that it had, and more where it needs more.
pub(super) fn of(tree: &Path, count: u32) -> Result<Vec<u16>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let folder = user_state().ok_or("there is no home folder to keep the list of ports in")?;
    let named = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(named)?;
    let lock =
        File::options().create(true).truncate(false).write(true).open(folder.join("ports.lock"));
    let lock = lock.map_err(named)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| named(e.into()))?;
    let file = folder.join("ports.json");
    let mut register = read(&file)?;
    let own = register.given(tree, count as usize)?;
    let fresh = folder.join("ports.json.new");
    let text = serde_json::to_vec(&register).expect("a list of ports is JSON");
    fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &file)).map_err(named)?;
    Ok(own)
}

/// One that cannot be read is not begun anew: trees that have their ports would have them no more.
fn read(file: &Path) -> Result<Register, String> {
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Register::default()),
        Err(e) => return Err(format!("the list of ports {}: {e}", file.display())),
    };
    serde_json::from_slice(&text).map_err(|e| {
        format!(
            "the list of ports {} cannot be read ({e}); delete it once no team runs: trees are then given others",
            file.display()
        )
    })
}

impl Register {
    fn given(&mut self, tree: &Path, count: usize) -> Result<Vec<u16>, String> {
        // The folder of its team tells whether it is there: `trees` in it and the tree may be about to be made.
        let tree_text = tree.to_string_lossy().into_owned();
        let is_there = |path: &String| Path::new(path).ancestors().nth(2).is_some_and(Path::is_dir);
        self.trees.retain(|path, _| *path == tree_text || is_there(path));
        let taken: BTreeSet<u16> = self.trees.values().flatten().copied().collect();
        let own = self.trees.entry(tree_text).or_default();
        let mut free = (FIRST..=LAST).filter(|port| !taken.contains(port) && is_free(*port));
        while own.len() < count {
            let next = free.next().ok_or_else(|| {
                format!("no port between {FIRST} and {LAST} is free for {}", tree.display())
            })?;
            own.push(next);
        }
        Ok(own[..count].to_vec())
    }
}

fn is_free(port: u16) -> bool {
    let listens = |bound: std::io::Result<TcpListener>| match bound {
        Ok(_) => false,
        Err(e) => e.kind() == std::io::ErrorKind::AddrInUse,
    };
    !listens(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        && !listens(TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_list_is_refused_by_its_name_and_none_is_empty() {
        let file = std::env::temp_dir().join(format!("shipmate-ports-{}.json", std::process::id()));
        assert!(read(&file).unwrap().trees.is_empty());
        fs::write(&file, "{\"trees\": {").unwrap();
        let reason = read(&file).unwrap_err();
        assert!(
            reason.contains(&*file.to_string_lossy()) && reason.contains("delete it"),
            "{reason}"
        );
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn trees_have_different_ports_keep_them_and_pass_over_one_in_use() {
        let top = std::env::temp_dir().join(format!("shipmate-ports-{}", std::process::id()));
        fs::create_dir_all(&top).unwrap();
        // Who starts is told its ports before any tree of its team is made.
        let trees = top.join("trees");
        let mut register = Register::default();
        let first = register.given(&trees.join("a"), 2).unwrap();
        let busy = (FIRST..LAST).find(|port| !first.contains(port) && is_free(*port)).unwrap();
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, busy)).unwrap();
        let second = register.given(&trees.join("b"), 2).unwrap();
        assert!(second.iter().all(|port| !first.contains(port) && *port != busy), "{second:?}");
        drop(held);
        let third = register.given(&trees.join("c"), 2).unwrap();
        assert!(third.iter().all(|port| !first.contains(port) && !second.contains(port)));
        assert_eq!(register.given(&trees.join("a"), 2).unwrap(), first);
        assert_eq!(register.given(&trees.join("b"), 3).unwrap()[..2], second);
        // A team that is gone gives its ports back.
        fs::remove_dir_all(&top).unwrap();
        register.given(Path::new("/other/trees/c"), 1).unwrap();
        assert_eq!(register.trees.len(), 1);
    }
}
