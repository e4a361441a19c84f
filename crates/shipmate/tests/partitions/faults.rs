//! What happens to the machines, the servers and the network, at random from a seed.

use std::fmt;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs;
use shipmate_testkit::Random;
use shipmate_testkit::network::Node;
use shipmate_testkit::processes::kill;

use crate::fleet::{Fleet, HOSTS, Host, Story};

/// Shortest and longest cut: the lease of a host is 3 s, and servers take 4 to 9 s to elect a leader.
const CUT_MS: (u64, u64) = (50, 6_000);
/// From one round to the next.
const PAUSE_MS: (u64, u64) = (0, 1_500);

/// A host or a server, by its place among all nodes.
type At = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A host or a server alone.
    Cut(At),
    /// A host and a server, which reach each other and nobody else.
    Both(At, At),
    /// It hears all others, and none of them hears it.
    Mute(At),
    /// All others hear it, and it hears none of them.
    Deaf(At),
    /// A server is killed, and started again when its time is over.
    Killed(usize),
}

impl Fault {
    fn draw(random: &mut Random) -> Fault {
        let [host, server] = [(); 2].map(|()| random.index(HOSTS.len()));
        let at_server = HOSTS.len() + server;
        let one = *random.pick(&[host, at_server]).expect("one of two");
        match random.weighted([4, 3, 2, 2, 2, 3].into_iter()) {
            0 => Fault::Cut(host),
            1 => Fault::Cut(at_server),
            2 => Fault::Both(host, at_server),
            3 => Fault::Mute(one),
            4 => Fault::Deaf(one),
            _ => Fault::Killed(server),
        }
    }

    fn begin(self, fleet: &mut Fleet) {
        let nodes: Vec<Node> = nodes(fleet);
        let others = |at: At| {
            nodes.iter().enumerate().filter(move |(n, _)| *n != at).map(|(_, other)| other)
        };
        match self {
            Fault::Cut(at) => nodes[at].cut(),
            Fault::Both(host, server) => {
                [host, server].into_iter().for_each(|at| nodes[at].split())
            }
            Fault::Mute(at) => others(at).for_each(|other| nodes[at].mute(other)),
            Fault::Deaf(at) => others(at).for_each(|other| other.mute(&nodes[at])),
            Fault::Killed(server) => fleet.servers[server].kill(),
        }
    }

    fn end(self, fleet: &mut Fleet) {
        match self {
            Fault::Killed(server) => fleet.servers[server].restart(),
            _ => nodes(fleet).iter().for_each(Node::mend),
        }
    }
}

/// Of all hosts, then of all servers.
fn nodes(fleet: &Fleet) -> Vec<Node> {
    let hosts = fleet.hosts.iter().map(|host| host.node.clone());
    hosts.chain(fleet.servers.iter().map(|server| server.node.clone())).collect()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |at: At| match HOSTS.get(at) {
            Some(host) => (*host).to_owned(),
            None => format!("s{}", at - HOSTS.len() + 1),
        };
        match *self {
            Fault::Cut(at) => write!(f, "{} is cut off", name(at)),
            Fault::Both(host, server) => {
                write!(f, "{} and {} are split off", name(host), name(server))
            }
            Fault::Mute(at) => write!(f, "{} is not heard", name(at)),
            Fault::Deaf(at) => write!(f, "{} hears nobody", name(at)),
            Fault::Killed(server) => write!(f, "s{} is killed", server + 1),
        }
    }
}

/// Who was killed.
#[derive(Debug, Default)]
pub(crate) struct Struck {
    pub(crate) coordinators: usize,
    pub(crate) supervisors: usize,
    pub(crate) pauses: usize,
}

/// Cuts and kills in rounds; agents go on little by little meanwhile.
pub(crate) fn rounds(
    fleet: &mut Fleet,
    story: &mut Story,
    rounds: usize,
    tasks: usize,
    random: &mut Random,
) -> Struck {
    let mut struck = Struck::default();
    for round in 1..=rounds {
        let fault = Fault::draw(random);
        let cut = Duration::from_millis(random.between(CUT_MS.0, CUT_MS.1));
        let pause = Duration::from_millis(random.between(PAUSE_MS.0, PAUSE_MS.1));
        println!("round {round}: {fault} for {} ms", cut.as_millis());
        fault.begin(fleet);
        // In between: some are killed while they are cut off, some while all is well.
        let strikes_late = random.chance(500);
        let half = cut / 2;
        listen(fleet, story, half, &mut struck);
        if !strikes_late {
            strike(fleet, random, &mut struck);
        }
        fleet.open(tasks / rounds.max(1));
        listen(fleet, story, cut - half, &mut struck);
        fault.end(fleet);
        if strikes_late {
            strike(fleet, random, &mut struck);
        }
        listen(fleet, story, pause, &mut struck);
    }
    struck
}

/// Hears what happens for a while. A team that has paused because too many were killed goes on.
pub(crate) fn listen(fleet: &Fleet, story: &mut Story, time: Duration, struck: &mut Struck) {
    let end = Instant::now() + time;
    loop {
        match story.news.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(record) => {
                let has_paused = record["event"].get("team.paused").is_some();
                story.log.push(record);
                if has_paused {
                    struck.pauses += 1;
                    resume(fleet);
                }
            }
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => panic!("the log ended\n{}", story.text()),
        }
    }
}

/// Waits until so many tasks are completed; whoever was killed has its task begun again by another.
pub(crate) fn until_completed(fleet: &Fleet, story: &mut Story, tasks: usize) {
    while story.events("task.completed").len() < tasks {
        let event = story.await_event(|event| {
            ["task.completed", "team.paused", "task.failed"]
                .iter()
                .any(|name| event.get(name).is_some())
        });
        assert!(event.get("task.failed").is_none(), "{event}\n{}", story.text());
        if event.get("team.paused").is_some() {
            resume(fleet);
        }
    }
}

/// The person says that it goes on.
pub(crate) fn resume(fleet: &Fleet) {
    fleet.home().spawn(|host| {
        let mut client = host.client("alpha", TokenSource::Person);
        host.insist(&mut client, verbs::Resume)
    });
}

fn strike(fleet: &Fleet, random: &mut Random, struck: &mut Struck) {
    let host = &fleet.hosts[random.index(HOSTS.len())];
    // A machine whose supervisors have nothing to do has none.
    let supervisors = host.processes("supervisor");
    let (found, count) = match random.chance(500) && !supervisors.is_empty() {
        true => (supervisors, &mut struck.supervisors),
        false => (host.processes("coordinator"), &mut struck.coordinators),
    };
    let Some(one) = random.pick(&found) else { return };
    println!("  {} of {} is killed", one.kind, host.name);
    kill(one.pid);
    *count += 1;
    wake(host);
}

/// Any command on a machine starts its coordinator.
fn wake(host: &Host) {
    host.spawn(|host| {
        let mut client = host.client("alpha", TokenSource::Person);
        host.insist(&mut client, verbs::Teams)
    });
}
