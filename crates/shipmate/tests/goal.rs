//! `shipmate run "<goal>"`: from a goal over a lead's plan to merged work.
//!
//! Lead and teammates are native agents on a scripted model; processes, git and gates are real.
//! What each test asserts is what is in the log, on the team branch and on the screen.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[path = "goal/broken.rs"]
mod broken;
#[path = "goal/deciding.rs"]
mod deciding;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/fifos.rs"]
mod fifos;
#[path = "goal/following.rs"]
mod following;
#[path = "goal/planning.rs"]
mod planning;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/processes.rs"]
mod processes;
#[allow(dead_code, reason = "shared with the tests of playbooks, which need more of it")]
#[path = "team/ran.rs"]
mod ran;
#[path = "goal/repairs.rs"]
mod repairs;
#[path = "goal/repositories.rs"]
mod repositories;
#[path = "goal/scene.rs"]
mod scene;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/stage.rs"]
mod stage;
