//! W2: how long a message takes, to one and to fifty, and whether any is lost on the way.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::drain::{all, remove};
use crate::fleet::{Fleet, myself, numbers};
use crate::measure::micros;
use crate::reference::Server;
use crate::workspace::{TOKEN, Workspace};

/// Everybody in the team, in the words of both boards.
const ALL: &str = "all";
const RECEIVERS: usize = 50;
const SENDERS: usize = 4;
/// Long enough for the last of fifty to be waiting again.
const ROUND_US: u64 = 20_000;

/// Whose mail it is.
enum Office {
    Shipmate(Box<Workspace>),
    Reference(Server, PathBuf),
}

impl Office {
    fn open(arguments: &mut Arguments) -> Result<(Office, Value), String> {
        if !arguments.switch("reference") {
            let workspace = Workspace::fresh(arguments)?;
            let report = json!({
                "workload": "message", "board": "shipmate", "durability": workspace.durability,
            });
            return Ok((Office::Shipmate(Box::new(workspace)), report));
        }
        let folder = arguments.path("folder")?;
        let synced = arguments.switch("synced");
        let durability = if synced { "power" } else { "none" };
        let server = Server::start(&folder, synced)?;
        let report = json!({
            "workload": "message", "board": "reference", "durability": durability,
        });
        Ok((Office::Reference(server, folder), report))
    }

    /// A process that acts as a new member of this name.
    fn member(&mut self, name: &str) -> Result<Command, String> {
        let mut command = myself("post")?;
        match self {
            Office::Shipmate(workspace) => {
                command.arg("--workspace").arg(&workspace.place.workspace);
                command.env(TOKEN, workspace.teammate(name, 1)?);
            }
            Office::Reference(server, _) => {
                command.arg("--socket").arg(&server.socket);
            }
        }
        command.args(["--me", name]);
        Ok(command)
    }

    fn folder(&self) -> PathBuf {
        match self {
            Office::Shipmate(workspace) => workspace.place.workspace.clone(),
            Office::Reference(_, folder) => folder.clone(),
        }
    }

    fn close(self) -> Result<(), String> {
        match self {
            Office::Shipmate(workspace) => drop(workspace),
            Office::Reference(server, folder) => {
                drop(server);
                remove(&folder)?;
            }
        }
        Ok(())
    }
}

/// How often something was wrong with the mail. All of it must be zero.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mail {
    lost: usize,
    doubled: usize,
    out_of_order: usize,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let messages: usize = arguments.number("messages", 1000)?;
    let rounds: usize = arguments.number("rounds", 200)?;
    let (mut office, mut report) = Office::open(&mut arguments)?;
    arguments.finish()?;
    let mut mail = Mail::default();
    one_to_one(&mut office, messages, &mut report, &mut mail)?;
    crowd(&mut office, messages, &mut report, &mut mail)?;
    to_all(&mut office, rounds, &mut report, &mut mail)?;
    report["lost"] = json!(mail.lost);
    report["doubled"] = json!(mail.doubled);
    report["out_of_order"] = json!(mail.out_of_order);
    office.close()?;
    println!("{report}");
    Ok(())
}

/// Each after the one before was received.
fn one_to_one(
    office: &mut Office,
    messages: usize,
    report: &mut Value,
    mail: &mut Mail,
) -> Result<(), String> {
    let heard = office.folder().join("heard.sock");
    let count = messages.to_string();
    let mut sender = office.member("sender")?;
    sender.args(["--to", "receiver", "--count", &count, "--acknowledge"]).arg(&heard);
    let mut receiver = office.member("receiver")?;
    receiver.args(["--count", &count, "--acknowledge"]).arg(&heard);
    let reports = together(vec![receiver, sender])?;
    mail.check(&reports[0], 1, messages);
    report["latency_us"] = micros(&numbers(&reports[0], "latency_ns"));
    report["send_us"] = micros(&numbers(&reports[1], "sent_ns"));
    Ok(())
}

/// Several send as fast as they can while one reads.
fn crowd(
    office: &mut Office,
    messages: usize,
    report: &mut Value,
    mail: &mut Mail,
) -> Result<(), String> {
    let mut receiver = office.member("reader")?;
    receiver.args(["--count", &(SENDERS * messages).to_string()]);
    let mut commands = vec![receiver];
    for index in 0..SENDERS {
        let mut sender = office.member(&format!("crowd-{index}"))?;
        sender.args(["--to", "reader", "--count", &messages.to_string()]);
        commands.push(sender);
    }
    let reports = together(commands)?;
    mail.check(&reports[0], SENDERS, messages);
    report["crowd_send_us"] = micros(&all(&reports[1..], "sent_ns"));
    report["crowd_messages"] = json!(SENDERS * messages);
    Ok(())
}

/// One to fifty; the last one to have it counts.
fn to_all(
    office: &mut Office,
    rounds: usize,
    report: &mut Value,
    mail: &mut Mail,
) -> Result<(), String> {
    // Members of the earlier parts get it too and let it lie.
    let mut commands = Vec::new();
    for index in 0..RECEIVERS {
        let mut receiver = office.member(&format!("receiver-{index}"))?;
        receiver.args(["--count", &rounds.to_string()]);
        commands.push(receiver);
    }
    let mut sender = office.member("speaker")?;
    sender.args(["--to", ALL, "--count", &rounds.to_string()]);
    sender.args(["--pace-us", &ROUND_US.to_string()]);
    commands.push(sender);
    let reports = together(commands)?;
    let receivers = &reports[..RECEIVERS];
    for receiver in receivers {
        mail.check(receiver, 1, rounds);
    }
    let latencies: Vec<Vec<u64>> = receivers.iter().map(|r| numbers(r, "latency_ns")).collect();
    let last = |round: usize| latencies.iter().filter_map(|l| l.get(round)).copied().max();
    // The first finds receivers that have just begun.
    let slowest: Vec<u64> = (1..rounds).filter_map(last).collect();
    report["broadcast_last_us"] = micros(&slowest);
    report["broadcast_send_us"] = micros(&numbers(&reports[RECEIVERS], "sent_ns"));
    report["receivers"] = json!(RECEIVERS);
    Ok(())
}

fn together(commands: Vec<Command>) -> Result<Vec<Value>, String> {
    let mut fleet = Fleet::start(commands)?;
    fleet.go()?;
    fleet.finish()
}

impl Mail {
    /// Every sender's messages arrived once each and in its order.
    fn check(&mut self, receiver: &Value, senders: usize, each: usize) {
        let from = receiver["from"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut by_sender: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (from, number) in from.iter().zip(numbers(receiver, "numbers")) {
            by_sender.entry(from.as_str().unwrap_or_default()).or_default().push(number);
        }
        let mut distinct = 0;
        for heard in by_sender.values() {
            let mut once = heard.clone();
            self.out_of_order += once.windows(2).filter(|pair| pair[0] > pair[1]).count();
            once.sort_unstable();
            once.dedup();
            self.doubled += heard.len() - once.len();
            distinct += once.len();
        }
        self.lost += (senders * each).saturating_sub(distinct);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(heard: &[(&str, u64)], senders: usize, each: usize) -> Mail {
        let from: Vec<&str> = heard.iter().map(|(from, _)| *from).collect();
        let numbers: Vec<u64> = heard.iter().map(|(_, number)| *number).collect();
        let mut mail = Mail::default();
        mail.check(&json!({ "from": from, "numbers": numbers }), senders, each);
        mail
    }

    #[test]
    fn mail_that_came_once_and_in_order_is_right() {
        let heard = [("a", 0), ("b", 0), ("b", 1), ("a", 1)];
        assert_eq!(check(&heard, 2, 2), Mail::default());
    }

    #[test]
    fn lost_doubled_and_overtaken_messages_are_seen() {
        assert_eq!(check(&[("a", 0)], 2, 2).lost, 3);
        assert_eq!(check(&[("a", 0), ("a", 0), ("a", 1)], 1, 2).doubled, 1);
        assert_eq!(check(&[("a", 1), ("a", 0)], 1, 2).out_of_order, 1);
    }
}
