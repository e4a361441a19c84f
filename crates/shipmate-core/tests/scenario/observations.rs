//! Lines about what the runtime observes: ends of processes, timers, gates, breakers.

use shipmate_core::state::BreakerPhase;
use shipmate_model::command::{Act, Probe};
use shipmate_model::event::{Event, Outcome, Recipient};
use shipmate_model::profile::Loss;
use shipmate_model::setup::{GateRun, Tried};
use shipmate_model::{Name, Refusal};

use crate::commands::{Read, files, last_shutdown, not_a_verb, runtime, task, token};
use crate::play::World;
use crate::words::Words;

pub(crate) fn read(world: &World, words: &Words) -> Read {
    let life = || world.life(words.plain(0));
    let team = || words.plain(0).parse::<Name>();
    let reason = || words.text("reason", "the process is gone");
    Some((|| match &*words.verb {
        "disappeared" => {
            let losses = [
                ("with-host", Loss::Host),
                ("broken", Loss::Broken),
                ("unable", Loss::Unable),
                ("silent", Loss::Silent),
            ];
            let loss = losses.iter().find(|(word, _)| words.has(word));
            let loss = loss.map_or(Loss::Died, |(_, loss)| *loss);
            runtime(Act::ReportDisappeared { who: life(), reason: reason(), loss })
        }
        "stalled" => {
            let step = words.plain(1).parse().expect("a stall has a step");
            runtime(Act::ReportStalled { who: life(), step })
        }
        "expire-team" => runtime(Act::ExpireTeam { team: team()? }),
        "ask-scope" => {
            let (task, token) = (task(world, words.plain(0)), token(world, words));
            let (files, reason) = (files(words, "files")?, words.text("reason", "it needs them"));
            runtime(Act::AskScope { task, token, files, reason })
        }
        "gate" => {
            let tasks = words.list("about");
            runtime(Act::ReportGate(GateRun {
                team: team()?,
                tasks: tasks.iter().map(|id| task(world, id)).collect(),
                commit: words.text("commit", "1234567"),
                passed: !words.has("red"),
                took_ms: words.duration_ms("for").unwrap_or(1_000),
                output: words.text("result", ""),
                gate: Vec::new(),
                tried: Tried::Gate,
            }))
        }
        "hook" => {
            let (hook, note) = (words.plain(1).to_owned(), words.plain(2).to_owned());
            runtime(Act::ReportHook { team: team()?, hook, note })
        }
        "stopped" => {
            let outcome = match words.plain_or(1, "clean") {
                "clean" => Outcome::Clean,
                "timed_out" => Outcome::TimedOut,
                "forced" => Outcome::Forced,
                "error" => Outcome::Error { reason: reason() },
                "in_progress" => Outcome::InProgress { pending: vec![reason()] },
                other => panic!("{other:?} is no end of a life"),
            };
            runtime(Act::ReportStopped { who: life(), outcome })
        }
        "expire-mail" => {
            let (messages, reason) = (world.inbox(words.plain(0)), "too old".to_owned());
            let to = match words.plain(0) {
                "person" => Recipient::Person,
                _ => Recipient::Member(life().address),
            };
            runtime(Act::ExpireMessages { to, messages, reason })
        }
        "expire-shutdown" => {
            let shutdown = words.get("on").map(|label| world.label(label));
            let shutdown = shutdown.unwrap_or_else(|| last_shutdown(world, words.plain(0)));
            runtime(Act::ExpireShutdown { shutdown })
        }
        "raise" => {
            let raised = world.state().escalations.iter().next_back();
            let (id, asked) = raised.map_or((999, 999), |(id, raised)| (*id, raised.asked));
            let escalation = words.get("on").map_or(id, |label| world.label(label));
            runtime(Act::RaiseEscalation { escalation, asked })
        }
        "forgive" => {
            let strike = world.last(|event| matches!(event, Event::TeammateDisappeared { .. }));
            runtime(Act::ForgiveStrike { team: team()?, strike })
        }
        "probe" => runtime(Act::ProbeBreaker { team: team()?, opened: breaker_at(world, words) }),
        "probed" => {
            let result = if words.plain(1) == "answered" { Probe::Answered } else { Probe::Silent };
            let (team, half_opened) = (team()?, breaker_at(world, words));
            runtime(Act::ReportProbe { team, half_opened, result })
        }
        _ => Err(Refusal::Empty { what: "not a verb of the runtime" }),
    })())
    .filter(|read| !not_a_verb(read))
}

fn breaker_at(world: &World, words: &Words) -> u64 {
    if let Some(label) = words.get("on") {
        return world.label(label);
    }
    let team: Name = words.plain(0).parse().expect("a team");
    match world.state().teams.get(&team).map(|team| &team.breaker.phase) {
        Some(BreakerPhase::Open { at } | BreakerPhase::HalfOpen { at, .. }) => *at,
        _ => 999,
    }
}
