//! A drain during which the coordinator dies without warning, again and again.
//!
//! The workers are not told: their client notices, one of them starts the next coordinator, and
//! each asks again for what was not answered. What counts is the check of the log afterwards.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use shipmate_testkit::Random;

use crate::drain::{Plan, add_failures, all, claimants, create, end_team, told};
use crate::fleet::{Fleet, Heard};
use crate::history::{Verdict, verify};
use crate::measure::{millis, now_ns};
use crate::worker::END;
use crate::workspace::{Workspace, send};

/// From one kill to the next, in milliseconds: short enough to hit a coordinator that is still
/// reading its log, long enough to let work be done.
const BETWEEN_MS: (u64, u64) = (1, 120);
/// Nothing takes so long, even on a loaded machine.
const SILENCE_NS: u64 = 300_000_000_000;

pub(crate) fn drain(
    workspace: &mut Workspace,
    plan: &Plan,
    kills: usize,
    seed: u64,
    report: &mut Value,
) -> Result<Verdict, String> {
    let mut random = Random::new(seed);
    let mut done = 0;
    let mut rounds = 0;
    let mut everything = Vec::new();
    let mut failures = Verdict::default();
    let mut stall_ns = 0;
    while done < kills {
        create(workspace, plan)?;
        let mut fleet = Fleet::start(claimants(workspace, plan, rounds, false)?)?;
        fleet.go()?;
        done += kill_while(workspace, &mut fleet, kills - done, &mut random)?;
        let reports = fleet.finish()?;
        let slowest =
            [all(&reports, "claim_ns"), all(&reports, "complete_ns")].concat().into_iter().max();
        stall_ns = stall_ns.max(slowest.unwrap_or(0));
        add_failures(&mut failures, &reports);
        everything.extend(told(rounds, &reports));
        rounds += 1;
    }
    report["kills"] = json!(done);
    report["rounds"] = json!(rounds);
    report["seed"] = json!(seed);
    report["longest_stall_ms"] = json!(millis(stall_ns));
    let records = workspace.log()?;
    report["records"] = json!(records.len());
    let mut verdict = verify(&records, &everything);
    verdict.error_count += failures.error_count;
    verdict.errors.extend(failures.errors);
    Ok(verdict)
}

/// Kills at random moments until the fleet is done or enough are dead; how many it were.
fn kill_while(
    workspace: &mut Workspace,
    fleet: &mut Fleet,
    most: usize,
    random: &mut Random,
) -> Result<usize, String> {
    let mut killed = 0;
    let mut last = None;
    let mut heard_at = now_ns();
    while !fleet.is_done() {
        let pause = random.between(BETWEEN_MS.0, BETWEEN_MS.1);
        match fleet.hear(Duration::from_millis(pause))? {
            Some(Heard::Word(word)) if word == END => end_team(workspace)?,
            Some(_) => heard_at = now_ns(),
            None if now_ns() - heard_at > SILENCE_NS => return Err("the workers hang".to_owned()),
            None if killed < most => {
                // The one that is dying already does not count again.
                let Some(pid) = workspace.coordinator().filter(|pid| Some(*pid) != last) else {
                    continue;
                };
                send(pid, Signal::KILL)?;
                last = Some(pid);
                killed += 1;
            }
            None => {}
        }
    }
    Ok(killed)
}
