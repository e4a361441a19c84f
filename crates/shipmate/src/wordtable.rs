//! The words and signs of every state, in one table that the terminal and the page share.
//!
//! `cargo xtask docs` writes the page's copy from it. Nothing but constants is here, because that
//! command compiles this file as its own.

/// A state as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The state's word in JSON; of a task, its place on the board.
    pub(crate) state: &'static str,
    /// The place of a task whose colour it has.
    pub(crate) like: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) word: &'static str,
}

const fn shown(
    state: &'static str,
    like: &'static str,
    sign: &'static str,
    word: &'static str,
) -> Shown {
    Shown { state, like, sign, word }
}

/// The states a task is shown in, in the order of its life.
pub(crate) const TASKS: [Shown; 8] = [
    shown("pending", "pending", "○", "pending"),
    shown("ready", "ready", "◌", "ready"),
    shown("claimed", "claimed", "◐", "in progress"),
    shown("returned", "returned", "↩", "returned"),
    shown("submitted", "submitted", "◑", "in the gate"),
    shown("completed", "completed", "●", "completed"),
    shown("failed", "failed", "✕", "failed"),
    shown("deleted", "deleted", "⌫", "deleted"),
];

pub(crate) const TEAMMATES: [Shown; 10] = [
    shown("added", "pending", "○", "not started"),
    shown("active", "claimed", "◐", "working"),
    shown("idle", "ready", "◌", "idle"),
    shown("paused", "returned", "‖", "paused"),
    shown("parked", "returned", "‖", "parked"),
    shown("stopping", "submitted", "◑", "stopping"),
    shown("stopped", "deleted", "■", "stopped"),
    shown("disappeared", "failed", "✕", "disappeared"),
    shown("failed", "failed", "✕", "failed"),
    shown("removed", "pending", "○", "removed"),
];

pub(crate) const PHASES: [Shown; 8] = [
    shown("ahead", "pending", "○", "ahead"),
    shown("waits", "ready", "◌", "waits"),
    shown("runs", "claimed", "◐", "runs"),
    shown("done", "completed", "●", "done"),
    shown("skipped", "deleted", "⌫", "left out"),
    shown("failed", "failed", "✕", "failed"),
    shown("passed", "returned", "✕", "failed, went on"),
    shown("back", "returned", "↩", "went back"),
];

pub(crate) const HOSTS: [Shown; 4] = [
    shown("joined", "completed", "●", "joined"),
    shown("draining", "submitted", "◑", "draining"),
    shown("left", "deleted", "■", "left"),
    shown("lost", "failed", "✕", "lost"),
];

pub(crate) const DELIVERIES: [Shown; 6] = [
    shown("queued", "pending", "○", "queued"),
    shown("offered", "ready", "◌", "offered"),
    shown("injected", "claimed", "◐", "injected"),
    shown("acknowledged", "completed", "●", "read"),
    shown("expired", "deleted", "⌫", "expired"),
    shown("bounced", "failed", "✕", "bounced"),
];
