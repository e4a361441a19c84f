//! A team is deleted at work: nothing that its agents did is lost, and only what nothing is lost
//! with goes by itself.

use shipmate_protocol::verbs::{Setup, TeamCreate};
use shipmate_protocol::view::Leftover;
use shipmate_protocol::{Answer, Ask, verbs};

use crate::processes;
use crate::stage::{Stage, TEAM};

const CONFIG: &str = "[agents]\nstop-grace-seconds = 0.3\n";

fn delete(stage: &mut Stage, now: bool) -> Vec<Leftover> {
    let reason = "over".to_owned();
    stage.ask(Ask::TeamDelete(verbs::TeamDelete { team: None, reason, deadline_ms: 100, now }));
    left(stage)
}

fn left(stage: &mut Stage) -> Vec<Leftover> {
    match stage.ask(Ask::TeamEnd) {
        Answer::Leftovers(left) => left,
        other => panic!("{other:?}"),
    }
}

fn found(stage: &mut Stage, remove: bool, force: &[&str]) -> Vec<Leftover> {
    let force = force.iter().map(|name| (*name).to_owned()).collect();
    match stage.ask(Ask::Leftovers(verbs::Leftovers { remove, force })) {
        Answer::Leftovers(left) => left,
        other => panic!("{other:?}"),
    }
}

fn names(left: &[Leftover]) -> Vec<&str> {
    left.iter().map(|one| one.name.as_str()).collect()
}

/// Is this file, with this line, in one of the refs that were named?
#[track_caller]
fn is_in(stage: &Stage, left: &[Leftover], file: &str) {
    let holds = |one: &&Leftover| {
        one.name.starts_with("refs/") && {
            let listed = stage.git(&["ls-tree", "-r", "--name-only", &one.name]);
            listed.lines().any(|line| line == file)
        }
    };
    assert!(left.iter().any(|one| holds(&one)), "{file} is in none of {left:#?}");
}

fn refs(stage: &Stage) -> Vec<String> {
    let text = stage.git(&["for-each-ref", "--format=%(refname)", "refs/shipmate", "refs/heads"]);
    text.lines().map(str::to_owned).collect()
}

/// What agents have in hand in every way there is: files, commits, another branch, stashes.
const IN_HAND: [&str; 4] = [
    "put files.txt x; here; pass never",
    "put commits.txt x; git add -A; git commit -qm own; here; pass never",
    "git checkout -qb side; put side.txt x; git add -A; git commit -qm side; git checkout -q -; \
     here; pass never",
    "put one.txt x; git add -A; git stash -q; put two.txt x; git add -A; git stash -q; here; \
     pass never",
];

fn everything_in_hand_is_kept(now: bool) {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    stage.team(Setup::default(), &["a", "b", "c", "d"]);
    stage.tasks(&IN_HAND);
    stage.arrivals(4);
    let left = delete(&mut stage, now);
    for file in ["files.txt", "commits.txt", "side.txt", "one.txt", "two.txt"] {
        is_in(&stage, &left, file);
    }
    assert!(!stage.place().team(TEAM).exists());
    let trees = stage.place().state().join("deleted").join(format!("{TEAM}-1/trees"));
    assert!(!trees.exists(), "a tree stays: {:?}", std::fs::read_dir(trees).unwrap().next());
    assert_eq!(stage.processes("agent"), []);
    assert_eq!(stage.processes("supervisor"), []);
    // What is not merged is there for as long as nobody says its name.
    let before = refs(&stage);
    let cleaned = found(&mut stage, true, &[]);
    assert!(cleaned.iter().all(|one| !one.removed), "{cleaned:#?}");
    assert_eq!(refs(&stage), before);
    let name = left[0].name.clone();
    let forced = found(&mut stage, true, &[&name]);
    let removed: Vec<_> = forced.iter().filter(|one| one.removed).collect();
    assert_eq!(removed.iter().map(|one| &*one.name).collect::<Vec<_>>(), [&*name]);
    assert_eq!(refs(&stage).len(), before.len() - 1);
}

#[test]
fn a_team_that_is_deleted_now_leaves_all_that_its_agents_had_in_hand() {
    everything_in_hand_is_kept(true);
}

#[test]
fn a_team_whose_deadline_passes_leaves_all_that_its_agents_had_in_hand() {
    everything_in_hand_is_kept(false);
}

#[test]
fn what_all_share_one_tree_for_is_kept_too() {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    let trees = Some("shared".to_owned());
    stage.team(Setup { trees, ..Setup::default() }, &["a"]);
    stage.tasks(&["put shared.txt x; here; pass never"]);
    stage.arrival();
    let left = delete(&mut stage, true);
    is_in(&stage, &left, "shared.txt");
}

#[test]
fn what_was_handed_in_and_has_not_landed_is_named() {
    let mut stage = Stage::new(CONFIG);
    stage.door("gate");
    let root = stage.root();
    let gate =
        vec![format!("echo '0 gate 0 $$ ' > {0}/here; read -r _ < {0}/gate.door", root.display())];
    stage.team(Setup { gate, red_base: true, ..Setup::default() }, &["a"]);
    stage.tasks(&["put handed-in.txt x"]);
    stage.arrival();
    let left = delete(&mut stage, true);
    is_in(&stage, &left, "handed-in.txt");
    assert!(left[0].why.starts_with("NOT merged, 1 commit: "), "{left:#?}");
}

#[test]
fn what_is_merged_goes_with_its_team_and_the_rest_is_the_persons() {
    let mut stage = Stage::new(CONFIG);
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = stage.tasks(&["put f1 x", "put f2 x"]);
    stage.finished(tasks.len());
    stage.ask(Ask::Merge(verbs::Merge { branches: true, no_gate: false }));
    stage.ask(Ask::Merge(verbs::Merge { branches: false, no_gate: false }));
    // One of those branches becomes the person's, and one was theirs from the beginning.
    stage.git(&["switch", "--quiet", &format!("shipmate/{TEAM}.task-1")]);
    stage.git(&["commit", "--quiet", "--allow-empty", "--message", "my review"]);
    stage.git(&["switch", "--quiet", "main"]);
    stage.git(&["branch", "shipmate/my-experiments"]);
    stage.git(&["branch", &format!("shipmate/{TEAM}.mine")]);
    let own = ["refs/heads/main", "refs/heads/shipmate/alpha.mine"];
    let own =
        [own[0], own[1], "refs/heads/shipmate/alpha.task-1", "refs/heads/shipmate/my-experiments"];
    let left = delete(&mut stage, false);
    // The copies that `merge --branches` makes are in no branch of the person's.
    let copies = ["refs/heads/shipmate/alpha.task-1", "refs/heads/shipmate/alpha.task-2"];
    assert_eq!(names(&left), copies, "{left:#?}");
    assert!(left[0].why.starts_with("NOT merged, 2 commits: "), "{left:#?}");
    assert!(left[0].why.contains("my review"), "{left:#?}");
    let cleaned = found(&mut stage, true, &["shipmate/alpha.task-2"]);
    let removed: Vec<&Leftover> = cleaned.iter().filter(|one| one.removed).collect();
    assert_eq!(removed[0].name, "refs/heads/shipmate/alpha.task-2");
    assert_eq!(refs(&stage), own);
    let cleaned = found(&mut stage, true, &["shipmate/alpha.task-1"]);
    assert_eq!(refs(&stage), [own[0], own[1], own[3]]);
    // With everything merged, the record goes too.
    assert!(!stage.place().state().join("deleted/alpha-1").exists(), "{cleaned:#?}");
    assert_eq!(found(&mut stage, true, &[]).len(), 0);
}

#[test]
fn refs_of_work_that_has_landed_are_collected() {
    let mut stage = Stage::new(CONFIG);
    stage.team(Setup::default(), &["a", "b", "c"]);
    // What a git leaves that was killed, which would be in the way of all of them.
    let own = stage.place().workspace.join(".git/refs/shipmate/alpha");
    let locks = ["work/1-999.lock", "aside/1-999.lock"].map(|name| own.join(name));
    for lock in &locks {
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        std::fs::write(lock, "").unwrap();
    }
    let lines: Vec<String> = (1..=12).map(|n| format!("put f{n} x")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    stage.tasks(&lines);
    stage.finished(12);
    // Whoever lands next does so after the queue has come to rest.
    stage.tasks(&["put last x"]);
    stage.finished(13);
    let work = |stage: &Stage| {
        refs(stage)
            .iter()
            .filter(|name| name.split('/').any(|part| part == "work"))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(work(&stage).len() <= 1, "{:#?}", work(&stage));
    assert!(!locks[0].exists(), "nobody hands in a task that is done");
    // The branch is not merged: it stays, and what is on it needs no other name.
    let left = delete(&mut stage, false);
    assert_eq!(names(&left), ["refs/heads/shipmate/alpha"], "{left:#?}");
    assert_eq!(refs(&stage), ["refs/heads/main", "refs/heads/shipmate/alpha"]);
    assert!(!locks[1].exists(), "nobody works for a team that is gone");
}

#[test]
fn a_coordinator_that_is_killed_while_it_rescues_leaves_the_rest_to_the_next() {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    stage.door("go");
    let root = stage.root();
    let root = root.display();
    stage.replace_git(&format!(
        "case \"$*\" in *'/aside/'*) echo '0 git 0 0 ' > {root}/here; read -r _ < {root}/go.door;; esac; \
         exec git \"$@\""
    ));
    stage.team(Setup::default(), &["a", "b"]);
    stage.tasks(&IN_HAND[..2]);
    stage.arrivals(2);
    let reason = "over".to_owned();
    stage.ask(Ask::TeamDelete(verbs::TeamDelete { team: None, reason, deadline_ms: 0, now: true }));
    // In the middle of the first, and of what the next one does.
    for _ in 0..3 {
        while stage.arrival().name != "git" {}
        processes::kill(stage.coordinator());
        // Whatever asks first starts the next one.
        drop(stage.person.welcome());
        drop(stage.person.ask(Ask::Teams));
    }
    stage.open("go", 1000);
    let left = left(&mut stage);
    is_in(&stage, &left, "files.txt");
    is_in(&stage, &left, "commits.txt");
    assert!(!stage.place().team(TEAM).exists());
    assert!(!stage.place().state().join("deleted/alpha-2").exists());
}

#[test]
fn a_tree_that_cannot_be_rescued_stays_until_it_can_be() {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    let full = stage.root().join("full");
    // As on a full disk.
    stage.replace_git(&format!(
        "case \"$*\" in *'/aside/'*) if [ -e {} ]; then echo 'no space' >&2; exit 1; fi;; esac; \
         exec git \"$@\"",
        full.display()
    ));
    std::fs::write(&full, "").unwrap();
    stage.team(Setup::default(), &["a", "b"]);
    stage.tasks(&[
        "put full.txt x; here; pass never",
        "git init -q sub; put sub/in.txt x; here; pass never",
    ]);
    stage.arrivals(2);
    let left_by = delete(&mut stage, true);
    let trees: Vec<&Leftover> = left_by.iter().filter(|one| one.kind == "tree").collect();
    assert_eq!(trees.len(), 2, "{left_by:#?}");
    assert!(trees.iter().any(|tree| tree.why.contains("no space")), "{left_by:#?}");
    for tree in &trees {
        assert!(tree.name.contains("/deleted/alpha-1/trees/"), "{}", tree.name);
    }
    std::fs::remove_file(&full).unwrap();
    let cleaned = found(&mut stage, true, &[]);
    let stays: Vec<&Leftover> =
        cleaned.iter().filter(|one| one.kind == "tree" && !one.removed).collect();
    assert_eq!(stays.len(), 1, "{cleaned:#?}");
    assert!(stays[0].why.contains("sub has a repository of its own"), "{}", stays[0].why);
    let path = std::path::Path::new(&stays[0].name);
    assert_eq!(std::fs::read_to_string(path.join("sub/in.txt")).unwrap(), "x\n");
    let seen = found(&mut stage, false, &[]);
    is_in(&stage, &seen, "full.txt");
    let cleaned = found(&mut stage, true, &[&stays[0].name]);
    assert!(cleaned.iter().any(|one| one.name == stays[0].name && one.removed), "{cleaned:#?}");
    assert!(!path.exists());
}

#[test]
fn a_teammate_that_is_removed_leaves_what_it_had_in_hand() {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put precious.txt x; here; pass never"]);
    stage.arrival();
    let (name, reason) = (Some("a".to_owned()), "enough".to_owned());
    stage.ask(Ask::Shutdown(verbs::Shutdown { name, reason, deadline_ms: 0 }));
    stage.event("teammate.stopped");
    stage.ask(Ask::TeammateRemove(verbs::TeammateRemove { name: "a".to_owned() }));
    let aside = stage.event("task.work_set_aside");
    let work = aside["work"].as_str().unwrap();
    assert_eq!(stage.git(&["show", &format!("{work}:precious.txt")]), "x\n");
}

#[test]
fn with_two_teams_what_a_deleted_one_left_is_seen_too() {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put files.txt x; here; pass never"]);
    stage.arrival();
    let left = delete(&mut stage, true);
    for name in ["beta", "gamma"] {
        let create = TeamCreate { name: name.to_owned(), ..TeamCreate::default() };
        stage.ask(Ask::TeamCreate(create));
    }
    stage.person.team = None;
    let seen = found(&mut stage, false, &[]);
    assert!(names(&seen).contains(&names(&left)[0]), "{seen:#?}");
}

#[test]
fn the_command_waits_for_the_end_and_says_where_the_work_is() {
    let mut stage = Stage::new(CONFIG);
    stage.door("never");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put files.txt x; here; pass never"]);
    stage.arrival();
    let output = stage.shipmate(&["team", "delete", TEAM, "--now"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        "ending a\n",
        "alpha/a@1: forced\n",
        "team alpha is deleted; this is in no branch of yours:\n",
    ];
    for line in expected {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
    let name = text.split_whitespace().find(|word| word.contains("/aside/")).unwrap();
    is_in(
        &stage,
        &[Leftover { name: name.trim_end_matches(':').to_owned(), ..Leftover::default() }],
        "files.txt",
    );
    assert_eq!(stage.processes("agent"), []);
    let doctor = stage.shipmate(&["doctor"]);
    let text = String::from_utf8(doctor.stdout).unwrap();
    assert!(!text.contains("there is no team"), "{text}");
    assert!(text.contains("NOT merged, 1 commit: "), "{text}");
}

#[test]
fn a_team_branch_that_the_person_committed_to_is_named_and_goes_only_by_its_name() {
    let mut stage = Stage::new(CONFIG);
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    stage.ask(Ask::Merge(verbs::Merge { branches: false, no_gate: false }));
    stage.git(&["switch", "--quiet", "shipmate/alpha"]);
    stage.git(&["commit", "--quiet", "--allow-empty", "--message", "by hand"]);
    stage.git(&["switch", "--quiet", "main"]);
    let left = delete(&mut stage, false);
    assert_eq!(names(&left), ["refs/heads/shipmate/alpha"], "{left:#?}");
    assert!(left[0].why.contains("by hand"), "{left:#?}");
    found(&mut stage, true, &[]);
    assert_eq!(refs(&stage), ["refs/heads/main", "refs/heads/shipmate/alpha"]);
    let forced = found(&mut stage, true, &["shipmate/alpha"]);
    assert!(forced.iter().all(|one| one.removed), "{forced:#?}");
    assert_eq!(refs(&stage), ["refs/heads/main"]);
}

/// A department of the team, with these teammates, each at work on its own line.
fn department_at_work(stage: &mut Stage, lines: &[&str]) {
    stage.door("never");
    stage.team(Setup::default(), &[]);
    let setup = Setup { trees: Some("own".to_owned()), ..Setup::default() };
    let (name, parent) = ("dep".to_owned(), Some(TEAM.to_owned()));
    let create =
        TeamCreate { name, parent, gate: true, setup: Some(setup), ..TeamCreate::default() };
    stage.ask(Ask::TeamCreate(create));
    stage.person.team = Some("dep".to_owned());
    for at in 0..lines.len() {
        stage.add(&format!("d{at}"), |add| add);
    }
    stage.tasks(lines);
    stage.arrivals(lines.len());
}

#[test]
fn what_a_department_left_is_named_when_its_root_is_deleted() {
    let mut stage = Stage::new(CONFIG);
    department_at_work(&mut stage, &["put dep.txt x; here; pass never"]);
    stage.person.team = Some(TEAM.to_owned());
    let left = delete(&mut stage, true);
    is_in(&stage, &left, "dep.txt");
}

#[test]
fn a_department_that_is_deleted_alone_leaves_what_its_agents_had_in_hand() {
    let mut stage = Stage::new(CONFIG);
    let lines =
        ["put dep.txt x; here; pass never", "git init -q sub; put sub/in.txt x; here; pass never"];
    department_at_work(&mut stage, &lines);
    let left = delete(&mut stage, true);
    is_in(&stage, &left, "dep.txt");
    let trees: Vec<&Leftover> = left.iter().filter(|one| one.kind == "tree").collect();
    assert_eq!(trees.len(), 1, "{left:#?}");
    let inside = std::path::Path::new(&trees[0].name).join("sub/in.txt");
    assert_eq!(std::fs::read_to_string(inside).unwrap(), "x\n");
    let seen = found(&mut stage, true, &[]);
    is_in(&stage, &seen, "dep.txt");
    assert!(seen.iter().all(|one| !one.precious || !one.removed), "{seen:#?}");
}

#[test]
fn a_folder_that_cannot_be_put_away_is_the_answer_and_not_tried_for_ever() {
    let mut stage = Stage::new(CONFIG);
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    let deleted = stage.place().state().join("deleted");
    std::fs::write(&deleted, "in the way").unwrap();
    stage.ask(Ask::TeamDelete(verbs::TeamDelete {
        team: None,
        reason: "over".to_owned(),
        deadline_ms: 0,
        now: true,
    }));
    let refused = stage.refusal(Ask::TeamEnd);
    assert_eq!(refused.code.as_str(), "NotPutAway", "{refused:?}");
    assert!(refused.message.contains(deleted.to_str().unwrap()), "{refused:?}");
    let output = stage.shipmate(&["team", "delete", TEAM]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("cannot be put away"), "{output:?}");
    assert!(stage.place().team(TEAM).exists());
    std::fs::remove_file(&deleted).unwrap();
    let output = stage.shipmate(&["team", "delete", TEAM]);
    assert!(output.status.success(), "{output:?}");
    assert!(deleted.join("alpha-1").exists() && !stage.place().team(TEAM).exists());
}

#[test]
fn a_record_that_cannot_be_judged_is_kept_with_the_reason() {
    let mut stage = Stage::new(CONFIG);
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    delete(&mut stage, false);
    let folder = stage.place().state().join("deleted/alpha-1");
    let name = folder.to_str().unwrap().to_owned();
    let record = |left: &[Leftover]| left.iter().find(|one| one.name == name).unwrap().clone();

    // The repository cannot be opened.
    let head = stage.place().workspace.join(".git/HEAD");
    let was = std::fs::read(&head).unwrap();
    std::fs::write(&head, "nonsense").unwrap();
    let kept = record(&found(&mut stage, true, &[]));
    assert!(kept.precious && !kept.removed && folder.exists(), "{kept:#?}");
    std::fs::write(&head, was).unwrap();

    // The log cannot be read.
    std::fs::remove_file(folder.join("made.json")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("log.db") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    std::fs::write(folder.join("log.db"), "nonsense").unwrap();
    let kept = record(&found(&mut stage, true, &[]));
    assert!(kept.precious && !kept.removed && folder.exists(), "{kept:#?}");
    assert!(kept.why.contains("its log cannot be read"), "{kept:#?}");
    let output = stage.shipmate(&["doctor"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&format!("--clean --force {name}")), "{said}");
    let forced = record(&found(&mut stage, true, &[&name]));
    assert!(forced.removed && !folder.exists(), "{forced:#?}");
    assert_eq!(refs(&stage), ["refs/heads/main", "refs/heads/shipmate/alpha"]);
}

#[test]
fn a_merge_clone_of_an_earlier_release_goes_with_its_team_and_leaves_nothing() {
    let mut stage = Stage::new(CONFIG);
    let gate = vec!["echo x > made-by-the-gate".to_owned()];
    stage.team(Setup { gate, ..Setup::default() }, &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    for end in ["", ".shadow"] {
        let [new, old] = ["_merge", "merge"].map(|name| stage.tree(&format!("{name}{end}")));
        std::fs::rename(new, old).unwrap();
    }
    let left = delete(&mut stage, false);
    assert_eq!(names(&left), ["refs/heads/shipmate/alpha"], "{left:#?}");
    assert!(!stage.place().state().join("deleted/alpha-1/trees").exists());
}
