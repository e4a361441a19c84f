//! Where a native agent and its shells may write, and what they may not even read.
//!
//! The shells' fence lies inside the agent's: a command can reach neither the agent's process
//! nor its conversation. shipmate's state, with everybody's tokens and trees, is hidden from
//! both. Scope is another matter: it is checked at the tools and on the diff.

use std::path::{Path, PathBuf};

use shipmate_process::Fence;
use shipmate_protocol::Place;
use shipmate_protocol::native::FenceOrder;

use super::super::order::{NativeOrder, Order};
use crate::settings::FenceSetting;

/// Caches that builds share, below the home folder. Nothing there is run by itself.
const CACHES: [&str; 12] = [
    ".cache",
    ".npm",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".gradle/caches",
    ".m2/repository",
    "go/pkg",
    ".local/share/pnpm",
    ".nuget/packages",
];

pub(super) struct Fences {
    pub(super) agent: Option<Fence>,
    pub(super) shells: FenceOrder,
}

/// The fences of one start. The text says why a required one cannot be had.
pub(super) fn of(
    order: &Order,
    native: &NativeOrder,
    read_only: bool,
    tree: &Path,
    folder: &Path,
) -> Result<Fences, String> {
    let required = native.fence == FenceSetting::Required;
    let own = order.tree.as_ref().is_some_and(|tree| !tree.shared);
    if native.fence == FenceSetting::Off || (!own && !required) {
        let shells = FenceOrder { off: true, ..FenceOrder::default() };
        return Ok(Fences { agent: None, shells });
    }
    if !own {
        return Err("a fence is required, and in a tree that others write in too there is none; \
                    run with own trees, or set native.fence to \"wanted\""
            .to_owned());
    }
    let mut write = vec![folder.join("scratch").join("tmp")];
    if !read_only {
        write.push(tree.to_owned());
        write.extend(caches());
        write.extend(native.fence_write.iter().cloned());
        // The temporary folder as a whole, unless what must be kept lies in it.
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let (temp, place) =
            (real(std::env::temp_dir()), Place { workspace: order.workspace.clone() });
        let socket = place.socket().parent().map(ToOwned::to_owned);
        let kept = socket.into_iter().chain([order.workspace.clone()]);
        if !kept.map(real).any(|path| path.starts_with(&temp)) {
            write.push(temp);
        }
    }
    let hidden = vec![Place { workspace: order.workspace.clone() }.state()];
    // Its tree while nothing may be written, outputs that were too long to be shown, and the
    // commits that the runtime made of its work: without them its git does not know its own HEAD.
    let objects = tree.with_added_extension("shadow").join("objects");
    let read = vec![tree.to_owned(), folder.join("scratch"), objects];
    let mut around = write.clone();
    around.extend([folder.to_owned(), native.pools.clone()]);
    let shells = FenceOrder { off: false, write, hidden, read, required };
    let (hidden, read) = (shells.hidden.clone(), shells.read.clone());
    let agent = Fence { write: around, hidden, read, freeze: true, required };
    Ok(Fences { agent: Some(agent), shells })
}

fn caches() -> Vec<PathBuf> {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return Vec::new() };
    CACHES.iter().map(|below| home.join(below)).filter(|path| path.exists()).collect()
}
