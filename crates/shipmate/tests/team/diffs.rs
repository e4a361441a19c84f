//! What a task has changed, at every stage of its way, and from trees that mean no good.

use shipmate_protocol::verbs::{Setup, Supervision, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::view::TaskDiff;
use shipmate_protocol::{Answer, Ask, ClientFailure, answers, verbs};

use crate::stage::{Stage, TEAM};

fn diff(stage: &mut Stage, task: u32) -> TaskDiff {
    match stage.ask(Ask::TaskDiff(verbs::TaskDiff { task: task.to_string() })) {
        Answer::Diff(diff) => *diff,
        other => panic!("{other:?}"),
    }
}

fn files(diff: &TaskDiff) -> Vec<(&str, u32, u32)> {
    diff.files.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect()
}

#[test]
fn a_task_shows_what_it_changes_from_its_first_line_to_its_merge() {
    let mut stage = Stage::new("");
    stage.write("old", "one\ntwo\n");
    stage.commit();
    for door in ["go", "gate"] {
        stage.door(door);
    }
    let gate = format!("echo gate > {0}/here; read -r _ < {0}/gate.door", stage.root().display());
    stage.team(Setup { gate: vec![gate], red_base: true, ..Setup::default() }, &["a"]);
    let line = "git rm --quiet old; git commit --quiet --message gone; put new x; put .gitignore '*.o'; \
                put a.o x; here; pass go; put new xx; put new2 y";
    let tasks = stage.tasks(&[line, "true"]);
    stage.arrival();

    let tree = stage.tree("a");
    let index = std::fs::read(tree.join(".git/index")).unwrap();
    let now = diff(&mut stage, tasks[0]);
    assert_eq!((now.from.as_str(), now.to.as_str()), (stage.base.as_str(), "working tree"));
    assert_eq!(files(&now), [(".gitignore", 1, 0), ("new", 1, 0), ("old", 0, 2)]);
    assert!(now.text.contains("\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"), "{}", now.text);
    assert!(!now.cut && now.note.is_empty(), "{now:?}");
    assert_eq!(std::fs::read(tree.join(".git/index")).unwrap(), index);
    let left = std::fs::read_dir(tree.with_added_extension("shadow")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with("looked-at")).count(), 0);
    let waits = diff(&mut stage, tasks[1]);
    assert_eq!((waits.note.as_str(), waits.text.as_str()), ("nobody has begun it", ""));

    stage.open("go", 1);
    stage.event("task.submitted");
    let handed_in = diff(&mut stage, tasks[0]);
    let commit = stage.task(tasks[0]).commit.unwrap();
    assert_eq!((&handed_in.from, &handed_in.to), (&stage.base, &commit));
    let all = [(".gitignore", 1, 0), ("new", 1, 0), ("new2", 1, 0), ("old", 0, 2)];
    assert_eq!(files(&handed_in), all);

    stage.open("gate", 9);
    stage.finished(2);
    let landed = diff(&mut stage, tasks[0]);
    assert_eq!(landed.to, stage.task(tasks[0]).commit.unwrap());
    assert_ne!(landed.to, commit);
    assert_eq!((files(&landed), &landed.text), (all.to_vec(), &handed_in.text));
    let nothing = diff(&mut stage, tasks[1]);
    assert_eq!(nothing.note, "it was completed without a change to the repository");

    let shown = stage.shipmate(&["task", "diff", "1"]);
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), landed.text);
    let shown = stage.shipmate(&["task", "diff", "1", "--json"]);
    assert_eq!(serde_json::from_slice::<TaskDiff>(&shown.stdout).unwrap(), landed);
    let shown = stage.shipmate(&["task", "diff", "2"]);
    // It may say before that it waits for a coordinator that stands still.
    let told = String::from_utf8(shown.stderr).unwrap();
    let told: Vec<&str> = told.lines().filter(|line| !line.ends_with("; waiting for it")).collect();
    assert_eq!(told, [nothing.note.as_str()]);
    stage.nothing_left();
}

#[test]
fn what_an_attempt_has_left_is_shown_while_nobody_works_on_it() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let subject = "put half x; exit 9".to_owned();
    stage.create(vec![TaskNew { subject, retries_max: Some(0), ..TaskNew::default() }]);
    stage.finished(1);
    let left = diff(&mut stage, 1);
    assert_eq!(files(&left), [("half", 1, 0)]);
    assert!(left.note.starts_with("nobody works on it now"), "{}", left.note);
}

#[test]
fn a_diff_is_cut_at_a_line_end_and_names_binary_files() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let line = "seq 1 200000 > long; printf 'a\\0b' > bytes; git init --quiet inner; here; pass go; \
                rm -r inner";
    stage.tasks(&[line]);
    stage.arrival();
    let cut = diff(&mut stage, 1);
    assert!(cut.cut && cut.text.len() <= 512 * 1024 && cut.text.len() > 500 * 1024);
    assert!(cut.text.ends_with('\n') && cut.text.lines().last().unwrap().starts_with('+'));
    assert_eq!(files(&cut), [("bytes", 0, 0), ("long", 200_000, 0)]);
    assert_eq!(cut.files.iter().map(|file| file.binary).collect::<Vec<_>>(), [true, false]);
    assert!(cut.note.ends_with("a repository of its own: inner"), "{}", cut.note);
    stage.open("go", 1);
    stage.finished(1);
}

#[test]
fn a_hostile_tree_runs_nothing_and_hides_nothing() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let trap = stage.root().join("sprung");
    let line = format!(
        "printf '#!/bin/sh\\necho sprung > {0}\\ncat \"$1\"\\n' > trap; chmod +x trap; T=$PWD/trap; \
         for key in diff.external diff.evil.command diff.evil.textconv core.fsmonitor core.pager \
         filter.evil.clean; do git config $key $T; done; \
         printf '* diff=evil filter=evil\\nsecret -diff\\n' > .gitattributes; put secret words; \
         mkdir -p .git/hooks; cp trap .git/hooks/post-index-change; here; pass go",
        trap.display()
    );
    stage.tasks(&[&line]);
    stage.arrival();
    drop(std::fs::remove_file(&trap));
    let seen = diff(&mut stage, 1);
    assert!(!trap.exists());
    assert!(seen.text.contains("\n+words\n"), "{}", seen.text);
    assert_eq!(files(&seen), [(".gitattributes", 2, 0), ("secret", 1, 0), ("trap", 3, 0)]);
    stage.open("go", 1);
}

#[test]
fn only_a_person_sees_the_work_of_others() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    stage.ask(Ask::TeammateAdd(TeammateAdd { name: "ana".to_owned(), ..TeammateAdd::default() }));
    let start = Ask::TeammateStart(verbs::TeammateStart {
        name: "ana".to_owned(),
        supervision: Supervision::None,
    });
    let Answer::Started(answers::Started { token, .. }) = stage.ask(start) else { panic!() };
    stage.tasks(&["true"]);
    let mut ana = stage.client_of(token);
    let asked = ana.ask(Ask::TaskDiff(verbs::TaskDiff { task: "1".to_owned() }));
    let Err(ClientFailure::Refused(refused)) = asked else { panic!("{asked:?}") };
    assert_eq!(refused.code.as_str(), "NotAllowed");

    ana.ask(Ask::TaskClaim(verbs::TaskClaim { task: "1".to_owned(), lease_ms: None })).unwrap();
    let claimed = diff(&mut stage, 1);
    assert!(claimed.note.contains("seen when it is handed in"), "{}", claimed.note);
    assert_eq!(
        stage.refusal(Ask::TaskDiff(verbs::TaskDiff { task: "7".to_owned() })).code.as_str(),
        "UnknownTask"
    );
}

#[test]
fn a_team_without_a_repository_says_so() {
    let mut stage = Stage::new("");
    let name = TEAM.to_owned();
    stage.ask(Ask::TeamCreate(TeamCreate { name, ..TeamCreate::default() }));
    stage.tasks(&["true"]);
    assert_eq!(diff(&mut stage, 1).note, "team alpha works without a repository");
}

#[test]
fn in_a_shared_tree_a_task_shows_its_own_files() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup { trees: Some("shared".to_owned()), ..Setup::default() }, &["a"]);
    let task = TaskNew {
        subject: "put mine x; put theirs y; here; pass go".to_owned(),
        files: vec!["mine".to_owned()],
        ..TaskNew::default()
    };
    stage.create(vec![task]);
    stage.arrival();
    let shown = diff(&mut stage, 1);
    assert_eq!(files(&shown), [("mine", 1, 0)]);
    assert!(shown.note.contains("one tree"), "{}", shown.note);
    stage.open("go", 1);
    stage.finished(1);
}
