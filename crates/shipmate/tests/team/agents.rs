//! Agents that are no good: missing, loud, deaf, leaving daemons, helping themselves.

use std::os::unix::fs::PermissionsExt;

use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{Setup, TaskNew, TeamSet, TeammateAdd};

use crate::processes;
use crate::stage::{Stage, TEAM, of};

#[test]
fn a_command_that_does_not_exist_ends_the_run_and_says_why() {
    let stage = Stage::new("");
    let plan = stage.root().join("plan.toml");
    let text = "[[tasks]]\nid = \"one\"\nsubject = \"x\"\nretries = 1\n";
    std::fs::write(&plan, text).unwrap();
    let (plan, agent) = (plan.display().to_string(), "true && ./no-such-agent");
    let run = stage.shipmate(&["run", &plan, "--agent", agent, "--teammates", "2"]);
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(8), "{said}");
    assert!(said.contains("no-such-agent"), "{said}");
}

#[test]
fn whom_a_lead_that_is_a_plain_command_brings_in_works_with_the_agent_of_the_team() {
    let mut stage = Stage::new("");
    let agent = "true # the team's".to_owned();
    stage.team(Setup { agent: agent.clone(), ..Setup::default() }, &[]);
    stage.add("boss", |add| TeammateAdd { lead: true, ..add });
    stage.create(vec![TaskNew {
        subject: "as teammate add bo --no-start".to_owned(),
        assignee: Some("boss".to_owned()),
        no_change: true,
        ..TaskNew::default()
    }]);
    stage.finished(1);
    let added = of(&stage.log, "teammate.added");
    let bo = added.iter().find(|one| one["who"] == format!("{TEAM}/bo")).unwrap();
    assert_eq!(bo["profile"]["command"], agent, "{added:?}");
}

#[test]
fn a_git_that_is_slow_to_find_a_command_keeps_nobody_else_waiting() {
    let mut stage = Stage::new("");
    stage.door("git");
    let root = stage.root();
    let root = root.display();
    stage.replace_git(&format!(
        "case \"$*\" in *ls-tree*work.sh*) echo '0 git 0 '$$ > {root}/here; read -r _ < \
         {root}/git.door;; esac; exec git \"$@\""
    ));
    stage.team(Setup::default(), &["a"]);
    let command = || "./work.sh".to_owned();
    let add = TeammateAdd {
        name: "b".to_owned(),
        command: command(),
        when_needed: true,
        ..TeammateAdd::default()
    };
    let set = TeamSet { command: command(), ..TeamSet::default() };
    for ask in [Ask::TeammateAdd(add), Ask::TeamSet(set)] {
        let mut client = stage.client();
        let asking = std::thread::spawn(move || client.ask(ask));
        assert_eq!(stage.arrival().name, "git");
        stage.ask(Ask::Status);
        stage.open("git", 1);
        let failure = asking.join().unwrap().unwrap_err();
        assert!(failure.to_string().contains("work.sh is not in the commit"), "{failure}");
    }
}

#[test]
fn a_command_that_must_plan_is_not_run_where_nothing_keeps_it_from_writing() {
    let mut stage = Stage::new("fence = \"off\"\n");
    stage.team(Setup::default(), &[]);
    stage.add("a", |add| TeammateAdd { mode: Some("plan".to_owned()), ..add });
    stage.tasks(&["touch $S/notes/ran; put f1 x"]);
    stage.hear(|event| event.to_string().contains("a command is kept to that by a fence alone"));
    assert!(!stage.root().join("notes/ran").exists(), "it was not run");
}

#[test]
fn a_supervisor_is_this_program_and_what_it_has_to_know_is_its_owners_alone() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x"]);
    stage.arrival();
    let found = stage.processes("supervisor");
    assert_eq!(found.len(), 1, "{found:?}");
    let words: Vec<&str> = found[0].words.split_whitespace().collect();
    assert_eq!(words.len(), 3, "{words:?}");
    assert!(words[0].ends_with("/shipmate") && words[1] == "supervise", "{words:?}");
    assert!(words[2].ends_with("alpha.a@1"), "{words:?}");
    let order = stage.life("a", 1).join("order.json");
    let mode = std::fs::metadata(order).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    stage.open("go", 1);
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn a_daemon_ends_with_the_task_it_was_started_in() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["daemon; here; pass go; put f1 x"]);
    let (_, daemon) = stage.with_daemon();
    stage.open("go", 1);
    stage.event("task.submitted");
    assert!(!processes::is_alive(daemon.pid));
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn fifty_megabytes_of_output_are_cut_and_the_end_is_kept() {
    let mut stage = Stage::new("[agents]\noutput-bytes = 1000000\n");
    stage.team(Setup::default(), &["a"]);
    let tasks =
        stage.tasks(&["head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end; put f1 x"]);
    stage.finished(1);
    let life = stage.life("a", 1);
    let files = std::fs::read_dir(life).unwrap().flatten();
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 5_000_000, "{bytes} bytes were kept");
    assert_eq!(stage.task(1).result.unwrap(), "the end");
    stage.all_once(&tasks);
}

#[test]
fn an_agent_that_ends_by_a_signal_has_failed_and_says_which() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let subject = "echo last words; kill -SEGV $$".to_owned();
    stage.create(vec![TaskNew { subject, retries_max: Some(1), ..TaskNew::default() }]);
    stage.finished(1);
    let failed = stage.events("task.failed");
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(reason.contains("signal 11") && reason.contains("last words"), "{reason}");
    assert_eq!(stage.events("task.claimed").len(), 2);
    stage.all_once(&[]);
}

#[test]
fn an_agent_may_hand_in_by_itself() {
    let mut stage = Stage::new("");
    stage.team(
        Setup { gate: vec!["test -e f1".to_owned()], red_base: true, ..Setup::default() },
        &["a"],
    );
    let line = "put f1 x; git add f1; git commit -qm own; as task submit $SHIPMATE_TASK --token \
                $SHIPMATE_TASK_TOKEN --commit $(git rev-parse HEAD) --result mine; here $?";
    let tasks = stage.tasks(&[line]);
    assert_eq!(stage.arrival().words, "0");
    stage.finished(1);
    assert_eq!(stage.events("task.returned"), Vec::<serde_json::Value>::new());
    assert_eq!(stage.task(1).result.unwrap(), "mine");
    stage.all_once(&tasks);
}

#[test]
fn an_agent_that_needs_the_coordinator_may_start_it() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let line = "here; pass go; as coordinator stop; as status > /dev/null; put f$SHIPMATE_TASK x";
    let tasks = stage.tasks(&[line, line]);
    stage.arrivals(2);
    stage.open("go", 2);
    stage.finished(2);
    assert_eq!(stage.events("task.claimed").len(), 2);
    stage.all_once(&tasks);
}

#[test]
fn a_push_from_a_tree_reaches_nobody() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let line = format!(
        "git commit -q --allow-empty -m evil; git push -q --force origin HEAD:main \
         HEAD:shipmate/{TEAM} 2> err; here $?; rm err; put f1 x"
    );
    let tasks = stage.tasks(&[&line]);
    assert_ne!(stage.arrival().words, "0");
    stage.finished(1);
    assert_eq!(stage.git(&["rev-parse", "main"]).trim(), stage.base);
    stage.all_once(&tasks);
}

/// Without its fence an agent of the same user reaches the user's repository: what it
/// does there must not break the team, nor be taken for the team's work.
#[test]
fn a_team_branch_that_somebody_moved_is_built_upon_and_not_torn() {
    let mut stage = Stage::new("fence = \"off\"\n");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let evil = format!(
        "here; pass go; cd $SHIPMATE_WORKSPACE; c=$(git commit-tree -p shipmate/{TEAM} -m evil \
         'shipmate/{TEAM}^{{tree}}'); git update-ref refs/heads/shipmate/{TEAM} $c; cd $SHIPMATE_TREE; put \
         f2 x"
    );
    stage.tasks(&["put f1 x", &evil, "here; put f3 x"]);
    stage.event("task.completed");
    stage.arrivals(2);
    stage.open("go", 1);
    stage.finished(3);
    let mut landed = stage.landed();
    landed.sort_unstable();
    assert_eq!(landed, [1, 2, 3]);
    for name in ["f1", "f2", "f3"] {
        assert!(stage.has_file(name), "{name}");
    }
    stage.nothing_left();
}

#[test]
fn a_team_branch_that_somebody_deleted_stops_the_team_and_says_so() {
    let mut stage = Stage::new("fence = \"off\"\n");
    stage.team(Setup::default(), &["a"]);
    let evil = format!(
        "cd $SHIPMATE_WORKSPACE; git update-ref -d refs/heads/shipmate/{TEAM}; cd - ; put f2 x"
    );
    stage.tasks(&["put f1 x", &evil]);
    let paused = stage.event("team.paused");
    assert!(paused["reason"].as_str().unwrap().contains("shipmate/alpha"), "{paused}");
}
