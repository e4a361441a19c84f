//! A clone whose config, hooks and files were written to make the runtime run or overwrite
//! something.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use shipmate_workspace::{BroughtUp, Commit, Failure, Keep, Parent, Paths, TakeInFailure, Tree};

use crate::scene::{
    Scene, alone, author, commit_all, deliver, git, key, land, plain_git, read, save, write,
};

const HOOKS: [&str; 12] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-merge",
    "pre-merge-commit",
    "post-index-change",
    "reference-transaction",
    "pre-push",
    "post-rewrite",
    "fsmonitor-watchman",
];

/// A program that leaves a trace and otherwise passes its input on.
fn trap(scene: &Scene) -> (PathBuf, PathBuf) {
    let trace = scene.path("trace");
    let program = scene.path("trap.sh");
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trace.display());
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (program, trace)
}

fn set_traps(at: &Path, program: &Path) {
    let run = program.to_str().unwrap();
    let dot_git = git(at, &["rev-parse", "--absolute-git-dir"]);
    for name in HOOKS {
        fs::create_dir_all(Path::new(&dot_git).join("hooks")).unwrap();
        fs::copy(program, Path::new(&dot_git).join("hooks").join(name)).unwrap();
    }
    let included = Path::new(&dot_git).join("more");
    fs::write(&included, format!("[core]\n\tpager = {run}\n\teditor = {run}\n")).unwrap();
    let settings = [
        ("include.path", included.to_str().unwrap()),
        ("core.fsmonitor", run),
        ("core.sshCommand", run),
        ("core.gitProxy", run),
        ("core.alternateRefsCommand", run),
        ("core.askPass", run),
        ("credential.helper", run),
        ("filter.evil.clean", run),
        ("filter.evil.smudge", run),
        ("filter.evil.process", run),
        ("diff.external", run),
        ("diff.evil.command", run),
        ("diff.evil.textconv", run),
        ("merge.evil.driver", run),
        ("merge.default", "evil"),
        ("gpg.program", run),
        ("commit.gpgSign", "true"),
        ("uploadpack.packObjectsHook", run),
        ("uploadpack.allowFilter", "true"),
        ("submodule.recurse", "true"),
        ("status.submoduleSummary", "true"),
        ("trailer.x.command", run),
        ("log.showSignature", "true"),
    ];
    for (key, value) in settings {
        plain_git(at).args(["config", "core.fsmonitor", "false"]).output().unwrap();
        git(at, &["config", key, value]);
    }
    git(at, &["config", "core.fsmonitor", run]);
}

#[test]
fn nothing_of_an_agent_s_config_or_hooks_is_ever_run() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        let (program, trace) = trap(scene);
        let at = ana.path();
        // A nested repository that is tracked as a submodule, and one that is not.
        for name in ["tracked", "nested"] {
            git(at, &["init", "-q", name]);
            git(&at.join(name), &["config", "user.name", "x"]);
            git(&at.join(name), &["config", "user.email", "x@x"]);
            commit_all(&at.join(name), "inner");
        }
        git(at, &["add", "tracked"]);
        write(at, ".gitattributes", "* filter=evil diff=evil merge=evil\n");
        git(at, &["add", ".gitattributes"]);
        git(at, &["commit", "-q", "-m", "attributes"]);
        set_traps(at, &program);
        set_traps(&at.join("tracked"), &program);
        set_traps(&at.join("nested"), &program);
        write(at, "a.txt", "ana\n");

        // The traps are real: the agent's own git steps into them.
        let _ = plain_git(at).args(["status"]).output().unwrap();
        assert!(trace.exists());
        fs::remove_file(&trace).unwrap();

        assert!(!ana.is_clean().unwrap());
        let named = ["a.txt".to_owned(), "tracked".to_owned()];
        let made = ana.snapshot(Paths::Named(&named), "x", Parent::Commit(&base)).unwrap();
        repository.take_in(&ana, &made.commit.unwrap(), &key(1, 1)).unwrap();
        let rescued = repository.keep_aside(&ana, "crew", "x").unwrap();
        assert_eq!(rescued.left_out, ["nested"]);
        assert!(rescued.kept.is_some());
        let made = ana.snapshot(Paths::All, "x", Parent::Head).unwrap();
        assert_eq!(made.left_out, ["nested"]);
        let work = made.commit.unwrap();
        land(&repository, &ana, &work, &key(1, 2));
        repository.log("crew", &base).unwrap();

        write(bo.path(), "a.txt", "bo\n");
        write(bo.path(), "c.txt", "bo\n");
        let other = save(&bo);
        repository.take_in(&bo, &other, &key(2, 2)).unwrap();
        let files = vec!["a.txt".to_owned()];
        assert_eq!(ana.bring_up(&other, Keep::Work).unwrap(), BroughtUp::Conflicts(files.clone()));
        assert_eq!(ana.unfinished_conflicts().unwrap(), files);
        write(at, "a.txt", "both\n");
        write(at, "c.txt", "changed\n");
        save(&ana);
        ana.check_out(&work).unwrap();
        ana.bring_up(&base, Keep::Nothing).unwrap();
        let again = Tree::prepare(&repository, at, "ana", &author("ana")).unwrap();
        assert_eq!(again.head().unwrap(), Some(base));
        deliver(scene, &repository).unwrap();
        repository.let_go(again, "crew", "ana").unwrap();
        let ran = fs::read_to_string(&trace).unwrap_or_default();
        assert_eq!(ran, "", "the runtime ran what an agent configured");
    });
}

#[test]
fn links_planted_in_a_clone_do_not_aim_the_runtime_at_other_files() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let victim = scene.path("victim");
        fs::write(&victim, "precious").unwrap();
        let dot_git = tree.path().join(".git");
        for name in ["index", "HEAD", "refs/heads/ana", "MERGE_HEAD"] {
            let _ = fs::remove_file(dot_git.join(name));
            symlink(&victim, dot_git.join(name)).unwrap();
        }
        fs::create_dir(scene.path("folder")).unwrap();
        write(&scene.path("folder"), "done", "precious");
        symlink(scene.path("folder"), dot_git.join("rebase-merge")).unwrap();
        assert!(matches!(tree.head(), Err(Failure::BrokenTree { .. })));
        tree.bring_up(&base, Keep::Nothing).unwrap();
        assert_eq!(tree.head().unwrap(), Some(base.clone()));
        assert!(tree.is_clean().unwrap());
        assert_eq!(read(&scene.path(""), "victim"), "precious");
        assert_eq!(read(&scene.path("folder"), "done"), "precious");

        // The whole `.git`, and a folder inside of it.
        fs::remove_dir_all(dot_git.join("refs/heads")).unwrap();
        fs::create_dir(scene.path("heads")).unwrap();
        symlink(scene.path("heads"), dot_git.join("refs/heads")).unwrap();
        assert!(tree.bring_up(&base, Keep::Nothing).is_err());
        assert_eq!(fs::read_dir(scene.path("heads")).unwrap().count(), 0);
        fs::rename(&dot_git, scene.path("moved")).unwrap();
        symlink(scene.path("moved"), &dot_git).unwrap();
        assert!(matches!(tree.head(), Err(Failure::BrokenTree { .. })));
        fs::remove_file(&dot_git).unwrap();
        fs::write(&dot_git, format!("gitdir: {}\n", scene.path("moved").display())).unwrap();
        assert!(matches!(tree.head(), Err(Failure::BrokenTree { .. })));
    });
}

#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let head = tree.path().join(".git/HEAD");
        fs::remove_file(&head).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &head, fifo, mode, 0).unwrap();
        assert!(matches!(tree.head(), Err(Failure::BrokenTree { .. })));
        let pipe = tree.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
        tree.bring_up(&base, Keep::Nothing).unwrap();
        assert_eq!(tree.head().unwrap(), Some(base));
    });
}

/// Rewrites a clone's commit graph so that `child` seems to have `parent` as its only parent.
fn forge_graph(at: &Path, child: &Commit, parent: &Commit) {
    git(at, &["-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable"]);
    let path = at.join(".git/objects/info/commit-graph");
    let mut bytes = fs::read(&path).unwrap();
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let chunk = |id: &[u8; 4]| {
        let table = bytes[8..].chunks(12).find(|entry| entry[..4] == *id).unwrap();
        number(&table[4..12])
    };
    let (names, data) = (chunk(b"OIDL"), chunk(b"CDAT"));
    let place_of = |commit: &Commit| {
        let hex = |name: &[u8]| name.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        bytes[names..data].chunks(20).position(|name| hex(name) == commit.as_str()).unwrap()
    };
    let (child, parent) = (place_of(child), u32::try_from(place_of(parent)).unwrap());
    let field = data + child * 36 + 20;
    bytes[field..field + 4].copy_from_slice(&parent.to_be_bytes());
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
}

#[test]
fn a_forged_commit_graph_does_not_put_a_commit_on_the_branch() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let at = tree.path();
        git(at, &["checkout", "-q", "-b", "side"]);
        write(at, "side.txt", "x\n");
        let side = commit_all(at, "on the side");
        git(at, &["checkout", "-q", "ana"]);
        let one = commit_all(at, "one");
        let head = commit_all(at, "two");
        forge_graph(at, &one, &side);
        // The forgery is real: the agent's own git believes it.
        git(at, &["merge-base", "--is-ancestor", side.as_str(), head.as_str()]);
        let refused = repository.take_in(&tree, &side, &key(1, 1)).unwrap_err();
        assert!(matches!(refused, TakeInFailure::NotOnBranch { .. }), "{refused}");
        repository.take_in(&tree, &head, &key(1, 1)).unwrap();
        assert_eq!(repository.changed(&base, &head).unwrap(), []);
    });
}
