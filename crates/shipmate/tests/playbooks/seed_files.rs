//! The files of those who worked this way before, where they lie: views in the repository, mail that
//! other programs drop beside them, and settings written for another program.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::processes;
use crate::scene::Scene;
use crate::stage::{TEAM, of};
use crate::views::{json_of, until};

const PLAN: &str = r#"{"p":"01","n":"01","t":"Files","w":1,"d":[],"obj":"all","mh":{}}
{"id":"T1","tp":"auto","a":"write a","f":["a.txt"],"v":"","done":""}
"#;

fn append(path: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn views_lie_in_the_repository_where_git_does_not_see_them_and_take_mail_from_outside() {
    let agent = "here; pass go; put \"${SHIPMATE_SUBJECT#write }.txt\" done";
    let config = "[views]\nat = \"repository\"\n";
    // What is the person's stays as it is, wherever a view would be.
    let name = format!(".teams/{TEAM}/lead_inbox.jsonl");
    let files = [("plans/01-01.plan.jsonl", PLAN), (name.as_str(), "mine")];
    let mut scene = Scene::with(config, &files, agent);
    scene.stage.door("go");
    let workspace = scene.stage.place().workspace;
    let own = workspace.join(&name);
    let before = scene.stage.git(&["status", "--porcelain"]);
    scene.run("board", &["--detach", "plans"]).ends(0, &[]);
    let stage = &mut scene.stage;
    stage.follow();
    let busy = stage.arrival();
    let task = workspace.join(".tasks/task_1.json");
    let shown = until(&workspace, || json_of(&task).filter(|task| task["status"] == "in_progress"));
    assert_eq!(shown["subject"], "write a");
    assert_eq!(stage.git(&["status", "--porcelain"]), before, "git sees none of it");
    let inbox = workspace.join(format!(".teams/{TEAM}/{}_inbox.jsonl", busy.name));
    let dropped = workspace.join(format!(".teams/{TEAM}/{}_inbox.drop.jsonl", busy.name));
    let lines = |count: usize| {
        until(&workspace, || {
            let text = std::fs::read_to_string(&inbox).ok()?;
            let found: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let words = |line: Value| json!([line["type"], line["sender"], line["content"]]);
            (found.len() == count).then(|| found.into_iter().map(words).collect::<Vec<_>>())
        })
    };
    until(&workspace, || dropped.exists().then_some(()));
    append(
        &dropped,
        "{\"type\":\"message\",\"sender\":\"lead\",\"content\":\"one\",\"timestamp\":1.5}\n\
         no message\n{\"type\":\"shutdown_request\",\"content\":\"x\"}\n{\"content\":\"tw",
    );
    assert_eq!(lines(1), [json!(["message", "outside", "one"])]);
    stage.hear(|event| {
        event["hook.noted"]["note"].as_str().is_some_and(|note| note.contains("no message"))
    });
    // Half a line is no line yet; a coordinator that is killed has read what it has read.
    processes::kill(stage.coordinator());
    stage.follow();
    append(&dropped, "o\"}\n");
    assert_eq!(lines(2), ["one", "two"].map(|word| json!(["message", "outside", word])));
    // A file that begins anew is read from its beginning.
    std::fs::write(&dropped, "{\"content\":\"three\"}\n").unwrap();
    assert_eq!(lines(3)[2], json!(["message", "outside", "three"]));
    // Eight write at once, each with a line of its own.
    std::thread::scope(|scope| {
        for n in 0..8 {
            let dropped = &dropped;
            scope.spawn(move || append(dropped, &format!("{{\"content\":\"w{n}\"}}\n")));
        }
    });
    let mut words: Vec<String> = lines(11)[3..].iter().map(|line| line[2].to_string()).collect();
    words.sort();
    assert_eq!(words, (0..8).map(|n| format!("\"w{n}\"")).collect::<Vec<_>>(), "each once");
    stage.open("go", 2);
    stage.hear(|event| event["phase.ended"]["phase"] == "work");
    until(&workspace, || json_of(&task).filter(|task| task["status"] == "completed"));
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
    let log = scene.log();
    let sent = of(&log, "message.sent").into_iter().filter(|one| one["line_end"].is_number());
    assert_eq!(sent.count(), 11, "each line once");
    let noted = of(&log, "hook.noted");
    let about: Vec<&str> = noted.iter().filter_map(|one| one["note"].as_str()).collect();
    let left = format!("{name} is left as it is: it is yours");
    assert!(about.contains(&left.as_str()), "{about:?}");
    let exclude = workspace.join(".git/info/exclude");
    assert!(std::fs::read_to_string(&exclude).unwrap().contains("/.tasks/task_[0-9]*.json"));
    let gone = scene.stage.shipmate(&["--team", TEAM, "team", "delete", TEAM]);
    assert!(gone.status.success(), "{gone:?}");
    until(&workspace, || (!task.exists()).then_some(()));
    until(&workspace, || {
        let text = std::fs::read_to_string(&exclude).ok()?;
        (!text.contains("shipmate: views")).then_some(())
    });
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
}
