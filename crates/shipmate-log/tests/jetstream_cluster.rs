//! A JetStream log on three servers: conflicts come with another code there, and leaders die.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/nats.rs"]
mod nats;
#[path = "support/temp.rs"]
mod temp;

use nats::Server;
use shipmate_log::conformance::run;
use shipmate_log::{AppendFailure, JetStreamLog, JetStreamOptions, Log, OpenFailure, ReadFailure};
use std::time::Duration;

/// Opens the log, waiting for the cluster to elect whom it needs.
async fn open(url: &str) -> JetStreamLog {
    let options = JetStreamOptions::new(url, "TEAM", "team.log");
    let options = JetStreamOptions { replicas: 3, ..options };
    open_with(options).await
}

async fn open_with(options: JetStreamOptions) -> JetStreamLog {
    loop {
        match JetStreamLog::open(options.clone()).await {
            Ok(log) => return log,
            Err(OpenFailure::Unavailable(_)) => {}
            Err(failure) => panic!("{failure}"),
        }
    }
}

/// For tests in which nobody dies: a server may stand still for a while. What is asked during an
/// election is lost, so that is over first.
async fn open_patiently(url: &str) -> JetStreamLog {
    drop(open(url).await);
    let options = JetStreamOptions::new(url, "TEAM", "team.log");
    let answer_within = Duration::from_secs(120);
    open_with(JetStreamOptions { replicas: 3, answer_within, ..options }).await
}

/// Appends `count` texts one by one and gives back where each went, and how often it lost a race.
async fn race(mut log: JetStreamLog, name: &str, count: usize) -> (Vec<(u64, String)>, usize) {
    let mut won = Vec::new();
    let mut lost = 0;
    let mut end = 0;
    for number in 0..count {
        let text = format!(r#"{{"from":"{name}","number":{number}}}"#);
        loop {
            match log.append(end, std::slice::from_ref(&text)).await {
                Ok(position) => {
                    end = position;
                    won.push((position, text));
                    break;
                }
                Err(AppendFailure::Conflict { end: moved }) => {
                    lost += 1;
                    end = moved;
                }
                Err(failure) => panic!("on a healthy cluster: {failure}"),
            }
        }
    }
    (won, lost)
}

#[test]
fn what_was_confirmed_survives_the_death_of_the_leader() {
    run(async {
        let mut servers = Server::start_cluster();
        let urls: Vec<String> = servers.iter().map(Server::url).collect();
        let mut log = open(&urls.join(", ")).await;
        let texts: Vec<String> = (0..40).map(|number| format!("[{number}]")).collect();
        let mut end = 0;
        let mut killed = false;
        while end < texts.len() {
            if end == 20 && !killed {
                killed = true;
                let context = async_nats::connect(urls.as_slice()).await.unwrap();
                let context = async_nats::jetstream::new(context);
                let stream = context.get_stream("TEAM").await.unwrap();
                let cluster = stream.cached_info().cluster.clone().unwrap();
                let leader = cluster.leader.unwrap();
                servers.iter_mut().find(|server| server.name() == leader).unwrap().kill();
            }
            let outcome = log.append(end as u64, &texts[end..=end]).await;
            end = match outcome {
                Ok(grown) | Err(AppendFailure::Conflict { end: grown }) => grown as usize,
                Err(AppendFailure::Unconfirmed(_)) => end,
                Err(failure) => panic!("{failure}"),
            };
        }
        // A long read needs the leader of the whole cluster, which may have been the same one.
        let read = loop {
            match log.read(0, 100).await {
                Ok(read) => break read,
                Err(ReadFailure::Unavailable(_)) => {}
                Err(failure) => panic!("{failure}"),
            }
        };
        assert!(read.iter().map(|record| &record.text).eq(&texts), "{read:?}");
    });
}

#[test]
fn racing_appenders_on_a_cluster_meet_only_conflicts_and_the_log_stays_dense() {
    run(async {
        let servers = Server::start_cluster();
        let mut log = open_patiently(&servers[0].url()).await;
        let racers = [
            open_patiently(&servers[0].url()).await,
            open_patiently(&servers[1].url()).await,
            open_patiently(&servers[2].url()).await,
            open_patiently(&servers[0].url()).await,
        ];
        let [a, b, c, d] = racers;
        let (a, b, c, d) =
            tokio::join!(race(a, "a", 60), race(b, "b", 60), race(c, "c", 60), race(d, "d", 60),);
        let lost = a.1 + b.1 + c.1 + d.1;
        assert!(lost > 0, "four racers get in each other's way");
        let mut won = [a.0, b.0, c.0, d.0].concat();
        won.sort();
        assert_eq!(won.len(), 240);
        let mut position = 0;
        while position < 240 {
            for record in log.read(position, 50).await.unwrap() {
                position += 1;
                assert_eq!((record.position, record.text), won[position as usize - 1]);
            }
        }
        assert_eq!(log.end().await, Ok(240));
    });
}
