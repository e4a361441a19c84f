//! The load generator behind `cargo xtask bench board`: real processes against a real coordinator.
//!
//! A run drives one workload, prints one JSON line with its figures and checks what it did: times
//! are compared by whoever reads them, but a task claimed twice, a completion that the log does not
//! know or a message that came twice is counted here and makes the benchmark fail. The same worker
//! loop drives three boards: shipmate, the form with one JSON file per task, and a reference that
//! does nothing but keep its state in memory. Only differences between those are worth quoting.
//!
//! Test-only: it never ships, and it asks through the protocol like any other client.

#[allow(dead_code, reason = "a team alone is measured by more")]
#[path = "../makespan/account.rs"]
mod account;
mod arguments;
mod drain;
mod files;
mod fleet;
mod flood;
#[allow(dead_code, reason = "a team alone is given more kinds of work")]
#[path = "../makespan/graph.rs"]
mod graph;
mod growth;
mod history;
mod hosts;
mod idle;
mod kills;
mod list;
mod measure;
mod message;
mod opening;
mod page;
mod pipeline;
mod post;
mod reference;
mod scale;
mod worker;
mod workspace;

use std::process::ExitCode;

use arguments::Arguments;

const USAGE: &str = "\
usage: load WORKLOAD [--option VALUE]…

  drain      --shipmate PATH --workspace DIR [--tasks N] [--workers N] [--durability power|process]
             [--layers N --deps N] [--kills K --seed N] [--combined]
  files      --folder DIR [--tasks N] [--workers N] [--layers N --deps N] [--literal | --spread]
  reference  --folder DIR [--tasks N] [--workers N] [--layers N --deps N] [--synced]
  message    --shipmate PATH --workspace DIR [--durability …] [--messages N] [--rounds N]
  message    --folder DIR --reference [--synced] [--messages N] [--rounds N]
  list       --shipmate PATH --workspace DIR [--tasks N]
  growth     --shipmate PATH --workspace DIR [--sizes 100,1000] [--durability …]
  open       --shipmate PATH --workspace DIR [--tasks N] [--records N]
  idle       --shipmate PATH --workspace DIR [--tasks N] [--waiters N] [--seconds N]
  flood      --shipmate PATH --workspace DIR --kind half-lines|braces|unread|followers|silent
  page       --shipmate PATH --workspace DIR [--tasks N] [--teammates N] [--pages N] [--changes N]
  hosts-makespan  --shipmate PATH --workspace DIR [--hosts N] [--slots N] [--tasks N]
             [--sleep-ms N] [--writes] [--sqlite]
  hosts-drain     --shipmate PATH --workspace DIR [--hosts N] [--tasks N] [--workers N] [--sqlite]
  hosts-message   --shipmate PATH --workspace DIR [--messages N] [--rounds N] [--sqlite]
  hosts-packs     --shipmate PATH --workspace DIR [--files N] [--tasks N]
  hosts-losing    --shipmate PATH --workspace DIR --what host|home|server [--lease-s N] [--away-s N]
  hosts-idle      --shipmate PATH --workspace DIR [--hosts N] [--seconds N]
  scale      [--hosts N] [--teammates N] [--tasks N]
  sync       --folder DIR

Each makes the folder it is given, prints one line of JSON and removes the folder.
`serve`, `worker` and `post` are the processes that these start.";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let workload = words.next().unwrap_or_default();
    let done = Arguments::parse(words).and_then(|arguments| run(&workload, arguments));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("load {workload}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(workload: &str, arguments: Arguments) -> Result<(), String> {
    match workload {
        "drain" => drain::shipmate(arguments),
        "files" => drain::files(arguments),
        "reference" => drain::reference(arguments),
        "message" => message::run(arguments),
        "list" => list::run(arguments),
        "growth" => growth::run(arguments),
        "open" => opening::run(arguments),
        "idle" => idle::run(arguments),
        "flood" => flood::run(arguments),
        "page" => page::run(arguments),
        "hosts-makespan" => hosts::makespan::run(arguments),
        "hosts-drain" => hosts::drain::run(arguments),
        "hosts-message" => hosts::message::run(arguments),
        "hosts-packs" => hosts::packs::run(arguments),
        "hosts-losing" => hosts::losing::run(arguments),
        "hosts-idle" => hosts::idle::run(arguments),
        "scale" => scale::run(arguments),
        "sync" => measure::sync(arguments),
        "serve" => reference::serve(arguments),
        "worker" => worker::run(arguments),
        "post" => post::run(arguments),
        _ => Err(USAGE.to_owned()),
    }
}
