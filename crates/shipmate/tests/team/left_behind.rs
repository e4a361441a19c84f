//! What one agent leaves in its clone is not the trouble of the next task: a tree that cannot be
//! used any more is put aside whole, its owner is told where, and another is made in its place.

use shipmate_protocol::verbs::{Setup, TaskNew};

use crate::stage::{Stage, task_of};

/// What an agent may leave, most of it by accident. Each line also writes `mine`.
const LEFT: [(&str, &str); 17] = [
    (
        "a commit that git refuses to fetch",
        "git config -f .gitmodules submodule.x.path x; \
         git config -f .gitmodules submodule.x.url -u; git add -A; git commit -qm odd",
    ),
    (
        "a path longer than any call takes",
        "n=$(printf %0200d 0); for i in $(seq 25); do mkdir $n && cd -P $n || break; done; : > end",
    ),
    (
        "text in an encoding that it does not have",
        "echo '* working-tree-encoding=UTF-16' > .gitattributes",
    ),
    ("a pipe that git reads its rules from", "mkfifo .gitignore"),
    ("a pipe further down", "mkdir -p d; mkfifo d/.gitattributes; echo x > d/f"),
    ("a pipe in place of a file of the team", "rm README; mkfifo README"),
    (
        "a pipe among the objects",
        "mkfifo .git/objects/info/commit-graph .git/objects/pack/pack-1.idx",
    ),
    (
        "a pipe that names other objects",
        "rm -f .git/objects/info/alternates; mkfifo .git/objects/info/alternates",
    ),
    ("no .git at all", "rm -rf .git"),
    ("a link in its place", "d=$PWD; cd ..; mv $d $d.away; ln -s $d.away $d"),
    ("a file in its place", "d=$PWD; cd ..; rm -rf $d; echo x > $d"),
    ("nothing in its place", "d=$PWD; cd ..; rm -rf $d"),
    (
        "locks of a git that died",
        ": > .git/index.lock; : > .git/HEAD.lock; : > .git/packed-refs.lock",
    ),
    ("an index that is none", "echo nonsense > .git/index"),
    (
        "a repository inside",
        "git init -q in && cd in && echo x > x && git add x && git -c user.name=x -c user.email=x@x commit -qm x",
    ),
    (
        "a name that git keeps for itself",
        "mkdir .GIT 2>/dev/null && echo x > .GIT/config; echo y > '.git '",
    ),
    ("a branch without a commit", "git checkout -q --orphan none && git rm -rqf . && echo x > x"),
];

#[test]
fn what_an_agent_leaves_in_its_clone_costs_the_next_task_nothing() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let mut lines = Vec::new();
    for (at, (_, leave)) in LEFT.iter().enumerate() {
        // In the background, where a folder that is gone takes nobody with it.
        lines.push(format!("echo {at} > mine{at}; ({leave}) >/dev/null 2>&1; exit 3"));
        lines.push(format!("put fine{at} {at}"));
    }
    let task = |subject: String| TaskNew { subject, retries_max: Some(0), ..TaskNew::default() };
    let tasks = stage.create(lines.into_iter().map(task).collect());
    stage.finished(tasks.len());
    stage.catch_up();
    let failed: Vec<u32> = stage.events("task.failed").iter().map(task_of).collect();
    for (at, (what, _)) in LEFT.iter().enumerate() {
        assert!(!failed.contains(&tasks[2 * at + 1]), "{what}\n{}", stage.story());
        assert_eq!(stage.file(&format!("fine{at}")), format!("{at}\n"), "{what}");
    }
    assert_eq!(stage.events("teammate.disappeared"), Vec::<serde_json::Value>::new());
    let innocent: Vec<u32> = tasks.iter().skip(1).step_by(2).copied().collect();
    stage.all_once(&innocent);
}

#[test]
fn work_that_cannot_be_rescued_lies_in_the_folder_that_was_put_aside() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let leave = "put precious 'an hour of work'; git config -f .gitmodules submodule.x.path x; git \
                 config -f .gitmodules submodule.x.url -u; git add -A; git commit -qm odd; exit 3";
    let task = |subject: &str| TaskNew {
        subject: subject.to_owned(),
        retries_max: Some(0),
        ..TaskNew::default()
    };
    stage.create(vec![task(leave), task("put f2 x")]);
    let aside = stage.event("task.work_set_aside");
    assert_eq!(aside["task"], 1, "{aside}");
    let told = aside["work"].as_str().unwrap().to_owned();
    let folder = told.strip_prefix("the folder ").unwrap().split(',').next().unwrap();
    let folder = stage.place().workspace.join(folder);
    assert_eq!(std::fs::read_to_string(folder.join("precious")).unwrap(), "an hour of work\n");
    stage.finished(2);
    // Also what was committed there is whole: the clone finds the objects that it borrows.
    let root = folder.to_str().unwrap();
    let shown = stage.git(&["-C", root, "show", "HEAD:precious"]);
    assert_eq!(shown, "an hour of work\n");
    assert!(stage.has_file("f2"));
}

#[test]
fn a_repository_that_is_all_that_an_agent_left_is_put_aside_too() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let leave = "git init -q vendor/x; cd vendor/x; put precious 'an hour of work'; git add -A; git -c \
                 user.name=x -c user.email=x@x commit -qm x; exit 3";
    let task = |subject: &str| TaskNew {
        subject: subject.to_owned(),
        retries_max: Some(0),
        ..TaskNew::default()
    };
    stage.create(vec![task(leave), task("put f2 x")]);
    let aside = stage.event("task.work_set_aside");
    assert_eq!(aside["task"], 1, "{aside}");
    let told = aside["work"].as_str().unwrap().to_owned();
    let folder = told.strip_prefix("the folder ").unwrap().split(',').next().unwrap();
    let inside = stage.place().workspace.join(folder).join("vendor/x");
    let shown = stage.git(&["-C", inside.to_str().unwrap(), "show", "HEAD:precious"]);
    assert_eq!(shown, "an hour of work\n");
    stage.finished(2);
    assert!(stage.has_file("f2"));
}

#[test]
fn files_on_a_branch_without_a_commit_are_kept_when_their_task_is_taken_up_again() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let line = "if [ -e \"$S/notes/second\" ]; then put f1 x; else : > \"$S/notes/second\"; \
                git checkout -q --orphan none; git rm -rqf .; put precious 'an hour of work'; exit 3; fi";
    stage.tasks(&[line]);
    let aside = stage.event("task.work_set_aside");
    let work = aside["work"].as_str().unwrap();
    assert_eq!(stage.git(&["show", &format!("{work}:precious")]), "an hour of work\n");
    stage.finished(1);
    assert!(stage.has_file("f1") && stage.has_file("README"));
}

#[test]
fn a_result_that_is_a_pipe_or_has_no_end_holds_nobody() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let clear = "rm -f $SHIPMATE_RESULT $SHIPMATE_SESSION_FILE";
    let endless = format!(
        "put f1 x; {clear}; ln -s /dev/zero $SHIPMATE_RESULT; ln -s /dev/zero $SHIPMATE_SESSION_FILE"
    );
    let pipes = format!("put f2 x; {clear}; mkfifo $SHIPMATE_RESULT $SHIPMATE_SESSION_FILE");
    let tasks = stage.tasks(&[&endless, &pipes, "put f3 x; echo done so > $SHIPMATE_RESULT"]);
    stage.finished(3);
    let results = stage.events("task.submitted");
    assert_eq!(results[2]["result"], "done so", "{results:?}");
    stage.all_once(&tasks);
}

#[test]
fn what_a_gate_leaves_where_work_is_merged_does_not_stop_the_queue() {
    let mut stage = Stage::new("");
    let leave = "mkdir -p d; rm -f d/.gitignore .gitattributes; mkfifo d/.gitignore .gitattributes; \
                 n=$(printf %0200d 0); for i in $(seq 25); do mkdir $n && cd -P $n || break; done; true";
    stage.team(Setup { gate: vec![leave.to_owned()], ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f1 x", "put f2 x", "put f3 x"]);
    stage.finished(3);
    assert_eq!(stage.events("team.paused"), Vec::<serde_json::Value>::new());
    stage.all_once(&tasks);
}
