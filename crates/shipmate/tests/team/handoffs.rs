//! What one teammate found out, the next knows: handoffs in the requests of real agents' models, and
//! what they save.

use shipmate_protocol::verbs::{Setup, TaskNew};
use shipmate_testkit::model::Server;

use crate::native::native;
use crate::stage::Stage;

/// The format wants a semicolon, and only the gate says so.
const CHECK: &str =
    "[ ! -e two.txt ] || grep -q ';' two.txt || { echo 'two.txt is not in the format'; exit 1; }\n";

/// Ana finds out what the format is; bo needs it, and tries a comma where nobody has told it.
fn script(found: &str) -> String {
    format!(
        r#"
as ana
on "Task 1:"
  tool bash {{"command":"echo format > one.txt"}}
  tool Note {{"text":"two.txt comes next"}}
  tool TaskUpdate {{"taskId":"1","status":"completed","result":"one is there"{found}}}
  say Done.
as bo
on "Task 2:" "separator is a semicolon"
  tool bash {{"command":"echo 'a;b' > two.txt"}}
  tool TaskUpdate {{"taskId":"2","status":"completed","result":"two is there"}}
  say Done.
on "not in the format"
  tool bash {{"command":"cat one.txt check.sh"}}
  tool bash {{"command":"echo 'a;b' > two.txt"}}
  tool TaskUpdate {{"taskId":"2","status":"completed","result":"two is there"}}
  say Done.
on "Task 2:"
  tool bash {{"command":"echo 'a,b' > two.txt"}}
  tool TaskUpdate {{"taskId":"2","status":"completed","result":"two is there"}}
  say Done.
"#
    )
}

fn task(subject: &str, assignee: &str, after: &[&str]) -> TaskNew {
    TaskNew {
        subject: subject.to_owned(),
        assignee: Some(assignee.to_owned()),
        blocked_by: after.iter().map(ToString::to_string).collect(),
        ..TaskNew::default()
    }
}

/// Attempts at the second task, requests to the model and their tokens.
fn two_agents(server: &Server) -> (usize, usize, u64) {
    let config = format!(
        "[agents]\nstop-grace-seconds = 1\n[models]\ndefault = \"test/scripted\"\n[models.test]\n\
         protocol = \"anthropic\"\nbase-url = \"{}\"\nkey-variable = \"\"\n",
        server.url()
    );
    let mut stage = Stage::new(&config);
    stage.write("check.sh", CHECK);
    stage.commit();
    stage.team(Setup { gate: vec!["sh check.sh".to_owned()], ..Setup::default() }, &[]);
    native(&mut stage, "ana", "normal");
    native(&mut stage, "bo", "normal");
    stage.create(vec![task("find the format", "ana", &[])]);
    stage.create(vec![task("use the format", "bo", &["1"])]);
    stage.finished(2);
    assert_eq!(stage.file("two.txt"), "a;b\n");
    stage.catch_up();
    let noted = stage.events("note.added");
    assert_eq!(noted[0]["text"], "two.txt comes next", "{noted:?}");
    let handed_in = stage.events("task.submitted");
    let attempts = handed_in.iter().filter(|event| event["task"] == 2).count();
    let of_bo = server.requests().into_iter().filter(|request| request.contains("You are bo"));
    // As everywhere here: four bytes of a request are a token.
    let sizes: Vec<u64> = of_bo.map(|request| request.body.to_string().len() as u64 / 4).collect();
    stage.nothing_left();
    (attempts, sizes.len(), sizes.iter().sum())
}

#[test]
fn who_needs_what_another_found_succeeds_at_once_with_its_handoff() {
    let without = Server::start(&script(""));
    let (attempts, requests, tokens) = two_agents(&without);
    assert_eq!(attempts, 2, "nobody has told it");
    let found = r#","handoff":{"surprises":["the separator is a semicolon"],"left":["two.txt"]}"#;
    let with = Server::start(&script(found));
    let (fewer, asked, cost) = two_agents(&with);
    assert_eq!(fewer, 1, "it knows");
    let brief = with.wait_for(|request| request.contains("Task 2:"));
    let text = brief.body.to_string();
    for words in [
        "Handed over by the tasks that this one waited for:",
        "<teammate-message from=\\\"ana\\\" id=\\\"1\\\" kind=\\\"handoff\\\" team=\\\"alpha\\\">",
        "Task 1 (find the format):\\nleft: two.txt\\nsurprises: the separator is a semicolon",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    println!(
        "without a handoff: {attempts} attempts, {requests} requests, {tokens} tokens; with it: {fewer} \
         attempt, {asked} requests, {cost} tokens"
    );
    assert!(asked < requests && cost < tokens);
}

/// A command leaves its handoff in a file beside its work, and the next finds it on its input.
#[test]
fn a_command_hands_over_by_a_file_and_the_next_reads_it() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    stage.team(Setup::default(), &["ana"]);
    let handoff = r#"{"done":["one"],"commands":[{"command":"make","exit":0,"result":"green"}]}"#;
    let first = format!("echo 1 > one.txt; echo '{handoff}' > \"$SHIPMATE_HANDOFF\"");
    stage.create(vec![task(&first, "ana", &[])]);
    stage.create(vec![task("cat > two.txt", "ana", &["1"])]);
    stage.finished(2);
    let told: serde_json::Value = serde_json::from_str(&stage.file("two.txt")).unwrap();
    let before = &told["task"]["handoffs"][0];
    assert_eq!(before["task"], 1, "{told}");
    assert_eq!(before["by"], "alpha/ana@1");
    assert_eq!(before["text"], "done: one\ncommands: `make` exit 0, green");
    assert_eq!(stage.task(2).handoff, None, "what an earlier task left is not this one's");
    let files = stage.git(&["ls-tree", "-r", "--name-only", "shipmate/alpha"]);
    assert!(!files.contains("handoff"), "it is no part of the work: {files}");
    let shown = stage.shipmate(&["task", "show", "1"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("handoff      done: one"), "{shown}");
    stage.nothing_left();
}

/// What a command says in plain text goes to the next as well, as its words and as far as a brief has room.
#[test]
fn a_command_may_hand_over_plain_text() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    stage.team(Setup::default(), &["ana"]);
    let first = "echo 1 > one.txt; { echo 'the format is ini'; head -c 8000 /dev/zero | tr '\\0' x; } > \
                 \"$SHIPMATE_HANDOFF\"";
    stage.create(vec![task(first, "ana", &[])]);
    stage.create(vec![task("cat > two.txt", "ana", &["1"])]);
    stage.finished(2);
    let told: serde_json::Value = serde_json::from_str(&stage.file("two.txt")).unwrap();
    let before = &told["task"]["handoffs"][0];
    let text = before["text"].as_str().unwrap();
    assert!(text.starts_with("summary: the format is ini\nxxx"), "{told}");
    assert!(text.len() <= 2048 && before["cut"] == true, "{} bytes", text.len());
    let shown = stage.shipmate(&["task", "show", "1", "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["handoff"]["summary"].as_str().unwrap().len(), 18 + 8000);
    stage.nothing_left();
}

#[test]
fn a_file_that_is_no_handoff_costs_no_work_and_its_fault_is_told() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    stage.team(Setup::default(), &["ana"]);
    let lines = [
        ("echo '[\"all\"]' > $H", "the handoff is a list and no object"),
        ("printf '\\377\\376' > $H", "the handoff is no text in UTF-8"),
        ("head -c 1000000 /dev/zero > $H", "the handoff is longer than 16384 bytes, the limit"),
        ("echo '{\"done\":[1]}' > $H", "the handoff has a number in \"done\" where text belongs"),
        ("ln -s /etc/passwd $H", "the handoff cannot be read:"),
        ("mkfifo $H", "the handoff cannot be read:"),
        ("mkdir -p $H/x", "the handoff cannot be read:"),
        ("echo '{\"done\":[' > $H", "the handoff is no JSON:"),
        (
            "head -c 20000 /dev/zero | tr '\\0' x > $H",
            "the handoff is 20000 bytes and the limit is",
        ),
        ("true > $H", ""),
    ];
    let each = lines.iter().enumerate().map(|(at, (line, _))| {
        task(&format!("H=$SHIPMATE_HANDOFF; echo {at} > {at}.txt; {line}"), "ana", &[])
    });
    stage.create(each.collect());
    stage.finished(lines.len());
    for (at, (line, fault)) in lines.iter().enumerate() {
        let id = at as u32 + 1;
        assert_eq!(stage.file(&format!("{at}.txt")), format!("{at}\n"), "{line}");
        let handed = stage.task(id).handoff.map(|handoff| handoff.fault).unwrap_or_default();
        assert!(
            handed.starts_with(fault) && handed.is_empty() == fault.is_empty(),
            "{line}: {handed}"
        );
    }
    // Who comes next is told nothing that could not be read.
    stage.create(vec![task("cat > next.txt", "ana", &["1"])]);
    stage.finished(lines.len() + 1);
    assert!(!stage.file("next.txt").contains("handoffs"), "{}", stage.file("next.txt"));
    stage.nothing_left();
}
