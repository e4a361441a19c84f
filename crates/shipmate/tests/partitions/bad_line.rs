//! A machine whose way to the servers is bad: late, silent with open connections, or reset in mid-word.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use shipmate_testkit::proxy::{Proxy, Weather};

use crate::audit;
use crate::fleet::{Fleet, Story};

/// As far away as another continent.
const LATE: Duration = Duration::from_millis(150);

#[test]
fn a_machine_behind_a_bad_line_is_late_or_lost_and_its_work_lands_once() {
    let proxies: Mutex<Vec<Proxy>> = Mutex::default();
    let mut fleet = Fleet::reached_by(|host, servers| {
        let ways = servers.iter().map(|server| match host.name {
            "west" => {
                let to = server.url().strip_prefix("nats://").unwrap().parse::<SocketAddr>();
                let proxy = Proxy::start(&host.node, to.unwrap()).unwrap();
                let way = format!("nats://{}", proxy.address());
                proxies.lock().unwrap().push(proxy);
                way
            }
            _ => server.url(),
        });
        ways.collect()
    });
    let proxies = proxies.into_inner().unwrap();
    let weather = |weather| proxies.iter().for_each(|proxy| proxy.set(weather));
    let mut story = fleet.follow(fleet.home(), "alpha");
    let create = |fleet: &Fleet, names: std::ops::Range<usize>| {
        for n in names {
            let name = format!("task-{n}");
            fleet.hosts[n % 2].ok(&[
                "--team",
                "alpha",
                "task",
                "create",
                &name,
                "--retries",
                "100",
            ]);
        }
    };

    // Late, it does its share.
    weather(Weather::Slow(LATE));
    create(&fleet, 0..9);
    story.await_event(|event| event["teammate.started"]["host"] == "west");
    fleet.open(9);
    completed(&mut story, 9);

    // Silent in the middle of its work, it is lost, and others do that.
    create(&fleet, 9..18);
    story.await_event(|event| claimed_on(event, &fleet));
    weather(Weather::Stalled);
    story.await_event(|event| event["host.lost"]["host"] == "west");
    fleet.open(100);
    completed(&mut story, 18);

    // Back, it learns that, and does its share again, however often its connections are reset.
    weather(Weather::Fair);
    story.await_event(|event| event["host.joined"]["host"] == "west");
    create(&fleet, 18..27);
    for _ in 0..9 {
        story.await_event(|event| event.get("task.completed").is_some());
        proxies.iter().for_each(Proxy::reset);
    }
    let log = audit::same_everywhere(&fleet, "alpha");
    audit::one_holder_at_a_time(&log);
    for n in 0..27 {
        let landed = fleet.home().git(&["show", &format!("shipmate/alpha:out/task-{n}")]);
        assert_eq!(landed, format!("task-{n}\n"));
    }
    audit::nothing_left(&fleet);
}

fn completed(story: &mut Story, count: usize) {
    while story.events("task.completed").len() < count {
        story.await_event(|event| event.get("task.completed").is_some());
    }
}

/// Some task is in the hands of somebody on the far machine.
fn claimed_on(event: &serde_json::Value, fleet: &Fleet) -> bool {
    let Some(who) = event["task.claimed"]["by"].as_str() else { return false };
    let name = who.rsplit('/').next().unwrap().split('@').next().unwrap().to_owned();
    let lives = fleet.hosts[2].processes("supervisor");
    lives.iter().any(|life| life.label.contains(&format!("{name}@")))
}
