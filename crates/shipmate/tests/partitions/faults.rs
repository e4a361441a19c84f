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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A host alone.
    Host(usize),
    /// A server alone.
    Server(usize),
    /// A host and a server, which reach each other and nobody else.
    Both(usize, usize),
}

impl Fault {
    fn draw(random: &mut Random) -> Fault {
        let [host, server] = [(); 2].map(|()| random.index(HOSTS.len()));
        match random.weighted([4, 3, 2].into_iter()) {
            0 => Fault::Host(host),
            1 => Fault::Server(server),
            _ => Fault::Both(host, server),
        }
    }

    fn nodes(self, fleet: &Fleet) -> Vec<&Node> {
        match self {
            Fault::Host(host) => vec![&fleet.hosts[host].node],
            Fault::Server(server) => vec![&fleet.servers[server].node],
            Fault::Both(host, server) => {
                vec![&fleet.hosts[host].node, &fleet.servers[server].node]
            }
        }
    }

    fn begin(self, fleet: &Fleet) {
        match self {
            Fault::Both(..) => self.nodes(fleet).into_iter().for_each(Node::split),
            _ => self.nodes(fleet).into_iter().for_each(Node::cut),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::Host(host) => write!(f, "{} is cut off", HOSTS[host]),
            Fault::Server(server) => write!(f, "s{} is cut off", server + 1),
            Fault::Both(host, server) => {
                write!(f, "{} and s{} are split off", HOSTS[host], server + 1)
            }
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
        fault.nodes(fleet).into_iter().for_each(Node::mend);
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
