//! The environment that new processes get: this process's own, and what a person has given since.
//!
//! A coordinator or a supervisor may run for days, while the person sets a key in a new terminal.
//! A process cannot change its own environment while other threads may read it, so what is newer
//! is kept here and laid over it wherever a process is started or a variable is read. It is in
//! memory only. What a person does not set stays as it was: another terminal without the key
//! takes nothing away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{PoisonError, RwLock};

/// Who spawned a launcher: the process id that its parent had at that time.
pub const PARENT_VARIABLE: &str = "SHIPMATE_PARENT";

static NEWER: RwLock<BTreeMap<String, String>> = RwLock::new(BTreeMap::new());

/// Lays these over the environment, from now on.
pub fn renew(variables: BTreeMap<String, String>) {
    NEWER.write().unwrap_or_else(PoisonError::into_inner).extend(variables);
}

/// What was given since this process began.
pub fn newer() -> BTreeMap<String, String> {
    NEWER.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A variable as new processes get it.
pub fn var(name: &str) -> Option<OsString> {
    let newer = NEWER.read().unwrap_or_else(PoisonError::into_inner);
    newer.get(name).map(OsString::from).or_else(|| std::env::var_os(name))
}

/// All of them.
pub fn all() -> BTreeMap<OsString, OsString> {
    let newer = newer().into_iter().map(|(name, value)| (name.into(), value.into()));
    std::env::vars_os().chain(newer).collect()
}
