//! The page in a real Chromium: every screen, everything that can be done on it, by pointer and by
//! keys. A test does what a person does, and then looks twice: at the page, and at the board as
//! `shipmate … --json` has it. No test ends with an error in the browser's console.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/fifos.rs"]
mod fifos;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/processes.rs"]
mod processes;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/stage.rs"]
mod stage;

#[allow(dead_code, reason = "shared with the tests of programs, which need more of it")]
#[path = "clients/cast.rs"]
mod programs;

#[path = "web/accounts.rs"]
mod accounts;
#[path = "web/attacks.rs"]
mod attacks;
#[path = "web/board.rs"]
mod board;
#[path = "web/cast.rs"]
mod cast;
#[path = "web/decisions.rs"]
mod decisions;
#[path = "web/link.rs"]
mod link;
#[path = "web/messages.rs"]
mod messages;
#[path = "web/notes.rs"]
mod notes;
#[path = "web/overview.rs"]
mod overview;
#[path = "web/scene.rs"]
mod scene;
#[path = "web/task.rs"]
mod task;
#[path = "web/team.rs"]
mod team;
#[path = "web/time.rs"]
mod time;
