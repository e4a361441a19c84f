//! Work on several machines: where it is done, and how it comes home.

use crate::machines::Machines;

#[test]
fn a_team_works_on_two_machines_and_everything_lands_at_home() {
    let mut at = Machines::new(1);
    at.join("box", 2);
    at.add(&["ana", "bo", "cy"]);
    at.door("go");
    for name in ["one", "two", "three"] {
        at.task(&format!("here $PWD; pass go; put {name} {name}"));
    }
    let arrivals: Vec<_> = (0..3).map(|_| at.arrival()).collect();
    let on_box = arrivals
        .iter()
        .filter(|one| one.words.starts_with(&*at.workspace("box").to_string_lossy()));
    assert_eq!(on_box.count(), 2, "{arrivals:?}");
    let hosts = at.ok("home", &["host", "list", "--json"]);
    let hosts: serde_json::Value = serde_json::from_str(&hosts).unwrap();
    assert_eq!(hosts[0]["name"], "box");
    assert_eq!(hosts[0]["teammates"].as_array().unwrap().len(), 2);
    assert_eq!(hosts[1]["home"], true);
    at.open("go", 3);
    at.completed(3);
    for name in ["one", "two", "three"] {
        assert_eq!(at.landed("home", name), format!("{name}\n"));
    }
    // What landed is on the other machine when somebody there begins the next task.
    at.ok("home", &["host", "drain", "home"]);
    at.task("here; test -e one -a -e two -a -e three && put all all");
    while at.arrival().words.starts_with('/') {}
    at.completed(4);
    assert_eq!(at.landed("home", "all"), "all\n");
    assert_eq!(at.events("task.failed"), Vec::<serde_json::Value>::new());
    assert_eq!(at.events("task.returned"), Vec::<serde_json::Value>::new());
}
