//! The fences of a native agent: that of everybody around its process, and a narrower one around its
//! shells. A command can reach neither the agent's process nor its conversation.

use std::path::Path;

use shipmate_process::Fence;
use shipmate_programs::order::NativeOrder;
use shipmate_protocol::native::FenceOrder;

use super::super::desk::Desk;

pub(super) struct Fences {
    pub(super) agent: Option<Fence>,
    pub(super) shells: FenceOrder,
}

/// The fences of one start. The text says why a required one cannot be had.
pub(super) fn of(
    desk: &Desk,
    native: &NativeOrder,
    tree: &Path,
    folder: &Path,
) -> Result<Fences, String> {
    let scratch = folder.join("scratch");
    let shells = desk.fence(tree, &[scratch.join("tmp")])?;
    let Some(mut agent) = desk.fence(tree, &[folder.to_owned(), native.pools.clone()])? else {
        let shells = FenceOrder { off: true, ..FenceOrder::default() };
        return Ok(Fences { agent: None, shells });
    };
    // Outputs that were too long to be shown.
    agent.read.push(scratch.clone());
    let inside = shells.unwrap_or_default();
    let mut read = inside.read;
    read.push(scratch);
    let (write, hidden, required) = (inside.write, inside.hidden, inside.required);
    let shells = FenceOrder { off: false, write, hidden, read, required };
    Ok(Fences { agent: Some(agent), shells })
}
