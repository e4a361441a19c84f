//! Playbooks end to end: a small real repository with the files of that way of working, scripted
//! agents, real processes, git and gates. What a test asserts is what is in the log, on the team's
//! branch and on the screen.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/fifos.rs"]
mod fifos;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/processes.rs"]
mod processes;
#[allow(dead_code, reason = "shared with the tests of goals, which need more of it")]
#[path = "team/ran.rs"]
mod ran;
#[allow(dead_code, reason = "shared with the tests of teams, which need more of it")]
#[path = "team/stage.rs"]
mod stage;

#[path = "playbooks/board.rs"]
mod board;
#[path = "playbooks/contract_first.rs"]
mod contract_first;
#[path = "playbooks/contract_first_ways.rs"]
mod contract_first_ways;
#[path = "playbooks/delegate.rs"]
mod delegate;
#[path = "playbooks/departments.rs"]
mod departments;
#[path = "playbooks/departments_ways.rs"]
mod departments_ways;
#[path = "playbooks/features.rs"]
mod features;
#[path = "playbooks/features_gate.rs"]
mod features_gate;
#[path = "playbooks/features_hooks.rs"]
mod features_hooks;
#[path = "playbooks/features_native.rs"]
mod features_native;
#[path = "playbooks/features_repair.rs"]
mod features_repair;
#[path = "playbooks/leads.rs"]
mod leads;
#[allow(dead_code, reason = "each playbook needs another part of it")]
#[path = "playbooks/native.rs"]
mod native;
#[path = "playbooks/over_acp.rs"]
mod over_acp;
#[path = "playbooks/phases.rs"]
mod phases;
#[path = "playbooks/plan_steps.rs"]
mod plan_steps;
#[allow(dead_code, reason = "each playbook needs another part of it")]
#[path = "playbooks/scene.rs"]
mod scene;
#[allow(dead_code, reason = "each playbook needs another part of it")]
#[path = "playbooks/seed_files.rs"]
mod seed_files;
#[path = "playbooks/talk.rs"]
mod talk;
#[path = "playbooks/views.rs"]
mod views;
