//! What a fence costs at a start: the same small program through the launcher, with a fence and
//! without, in turns.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::arguments::Arguments;
use crate::measure::{micros, timed};
use crate::workspace;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let shipmate = arguments.path("shipmate")?;
    let place = workspace::place(&mut arguments)?;
    let starts: usize = arguments.number("starts", 200)?;
    arguments.finish()?;
    let (tree, temp) = (place.state().join("tree"), place.state().join("tmp"));
    for folder in [&tree, &temp] {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    // Its tree and its temporary files below the state, which is hidden: a teammate's.
    let mut fence = OsString::from("wanted\n=");
    for (mark, path) in [("+", &tree), ("+", &temp), ("-", &place.state()), ("/", &temp)] {
        fence.push(format!("\n{mark}"));
        fence.push(path);
    }
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..starts {
        without.push(start(&shipmate, &tree, None)?);
        with.push(start(&shipmate, &tree, Some(&fence))?);
    }
    fs::remove_dir_all(&place.workspace).map_err(|e| e.to_string())?;
    let report =
        json!({ "workload": "fence", "without_us": micros(&without), "with_us": micros(&with) });
    println!("{report}");
    Ok(())
}

fn start(shipmate: &Path, cwd: &Path, fence: Option<&OsString>) -> Result<u64, String> {
    let mut command = Command::new(shipmate);
    command.args(["exec-tree", "true"]).current_dir(cwd).env_remove("SHIPMATE_PARENT");
    command.envs(fence.map(|fence| ("SHIPMATE_LAUNCH_FENCE", fence)));
    match timed(|| command.status()) {
        (took, Ok(status)) if status.success() => Ok(took),
        (_, Ok(status)) => Err(format!("the program ended with {status}")),
        (_, Err(error)) => Err(error.to_string()),
    }
}
