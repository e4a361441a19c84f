//! The environment that programs are looked for and started in.

use std::collections::BTreeMap;
use std::ffi::OsString;

use shipmate_process::environment;

/// The environment that programs are looked for and started in.
#[derive(Debug, Clone)]
pub struct Around(pub BTreeMap<String, OsString>);

impl Around {
    /// The one that processes are started in here.
    pub fn here() -> Around {
        let named = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        Around(environment::all().into_iter().filter_map(named).collect())
    }
}
