//! Real processes behind a fence. On a kernel without Landlock these fail, and should: what they
//! promise does not hold there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/launcher.rs"]
mod launcher;
#[path = "support/shell.rs"]
mod shell;
#[path = "support/stage.rs"]
mod stage;
#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

use std::fs;

use launcher::launcher;
use shell::sh;
use shipmate_process::{Exit, Fence, Level, Ran, Signal, Spec, Tree, Watched, achieved, run};
use stage::{PATIENCE, Talking, lives};
use temp::TempDir;

/// `in` may be written, `out` not.
struct Yard(TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(TempDir::new());
        for folder in ["in", "out"] {
            fs::create_dir(yard.0.join(folder)).unwrap();
            fs::write(yard.0.join(folder).join("old"), "as it was").unwrap();
        }
        yard
    }

    fn fence(&self) -> Fence {
        let write = vec![self.0.join("in"), self.0.join("not there")];
        Fence { write, required: true, ..Fence::default() }
    }

    /// One line of shell behind the fence; every word of it a line of the launcher's arguments.
    fn spec(&self, line: &str) -> Spec {
        let fence = Some(self.fence());
        Spec { cwd: self.0.join("in"), launcher: launcher(), fence, ..sh(line) }
    }

    async fn ran(&self, line: &str) -> Ran {
        run(self.spec(line), PATIENCE).await.unwrap()
    }

    fn old(&self) -> String {
        fs::read_to_string(self.0.join("out/old")).unwrap()
    }
}

#[test]
fn this_kernel_builds_a_whole_fence() {
    assert_eq!(achieved(), Level::Full);
}

#[tokio::test]
async fn writing_inside_passes() {
    let yard = Yard::new();
    let line =
        "mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln -s d a/e && : > old && rm -r a";
    let ran = yard.ran(line).await;
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
}

#[tokio::test]
async fn nothing_outside_is_written_emptied_moved_or_removed() {
    let yard = Yard::new();
    for line in [
        "echo x > ../out/new",
        "echo x >> ../out/old",
        ": > ../out/old",
        "truncate -s 0 ../out/old",
        "rm ../out/old",
        "mv ../out/old ../out/older",
        "mv ../out/old here",
        "mkdir ../out/folder",
        "ln ../out/old here && echo x > here",
        "ln -s ../out link && echo x > link/new",
        "mkfifo ../out/fifo",
        "touch \"$HOME/shipmate-fence-test\"",
    ] {
        let ran = yard.ran(line).await;
        assert!(!ran.exit.is_success(), "{line}");
        let said = ran.stderr.text();
        assert!(said.contains("ermission denied") || said.contains("cross-device"), "{said}");
        assert_eq!(yard.old(), "as it was", "{line}");
    }
    assert_eq!(fs::read_dir(yard.0.join("out")).unwrap().count(), 1);
}

#[tokio::test]
async fn reading_outside_passes() {
    let yard = Yard::new();
    let ran = yard.ran("cat ../out/old && ls ../out /etc >/dev/null").await;
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
    assert!(ran.stdout.text().ends_with("as it was"), "{}", ran.stdout.text());
}

#[tokio::test]
async fn a_grandchild_and_a_daemon_are_fenced_too() {
    let yard = Yard::new();
    let write = "echo x > ../out/new || echo held";
    let line = format!("sh -c '({write})'; setsid -w sh -c '{write}'; env -i sh -c '{write}'");
    let ran = yard.ran(&line).await;
    assert_eq!(ran.stdout.text().matches("held\n").count(), 3, "{}", ran.stdout.text());
    assert!(!yard.0.join("out/new").exists());
}

#[tokio::test]
async fn a_fence_cannot_be_widened_from_within() {
    let yard = Yard::new();
    // The launcher once more, told to allow everything.
    let line = format!(
        "LAUNCHED_ARGV=\"$(printf 'sh\\n-c\\necho x > ../out/new')\" \
         SHIPMATE_LAUNCH_FENCE=\"$(printf 'wanted\\n+/')\" {} --exact launcher::entry --nocapture",
        std::env::current_exe().unwrap().display()
    );
    let ran = yard.ran(&line).await;
    assert!(ran.stderr.text().contains("ermission denied"), "{}", ran.stderr.text());
    assert!(!yard.0.join("out/new").exists());
}

#[tokio::test]
async fn git_works_in_the_tree() {
    let yard = Yard::new();
    let git = "git -c user.name=a -c user.email=a@b";
    let line = format!(
        "HOME=$PWD GIT_CONFIG_NOSYSTEM=1; export HOME GIT_CONFIG_NOSYSTEM; \
         git init -q . && echo x > f && git add f && {git} commit -qm one && git gc -q && \
         git clone -q --shared . copy && git -C copy log --format=%s"
    );
    let ran = yard.ran(&line).await;
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
    assert!(ran.stdout.text().ends_with("one\n"), "{}", ran.stdout.text());
}

#[tokio::test]
async fn the_program_knows_nothing_of_its_fence() {
    let yard = Yard::new();
    let ran = yard.ran("echo ${SHIPMATE_LAUNCH_FENCE-none} ${SHIPMATE_PARENT-none}").await;
    assert!(ran.stdout.text().ends_with("none none\n"), "{}", ran.stdout.text());
}

#[tokio::test]
async fn a_fence_is_not_inherited_by_way_of_the_environment() {
    let yard = Yard::new();
    let mut spec =
        Spec { launcher: launcher(), ..sh("echo ${SHIPMATE_LAUNCH_FENCE-none}; : > $OUT") };
    spec.env.push(("OUT".into(), yard.0.join("out/new").into()));
    let ran = run(spec, PATIENCE).await.unwrap();
    assert!(ran.stdout.text().ends_with("none\n"));
    assert!(yard.0.join("out/new").exists(), "no fence was asked for");
}

#[tokio::test]
async fn a_single_file_may_be_written_and_not_replaced() {
    let yard = Yard::new();
    let fence = Fence { write: vec![yard.0.join("out/old")], ..yard.fence() };
    let with = |line: &str| Spec { fence: Some(fence.clone()), ..yard.spec(line) };
    let ran = run(with("echo new > ../out/old"), PATIENCE).await.unwrap();
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
    assert_eq!(yard.old(), "new\n");
    assert!(!run(with("rm ../out/old"), PATIENCE).await.unwrap().exit.is_success());
}

#[tokio::test]
async fn a_fenced_tree_is_stopped_like_any_other() {
    let yard = Yard::new();
    let line = "(setsid sh -c 'echo $$; exec sleep 1000' &) ; exec sleep 1000";
    let mut talking = Talking::start(yard.spec(line));
    let daemon = talking.process().await;
    let ended = talking.tree.stop(PATIENCE).await;
    assert_eq!(ended.exit, Exit::Signal(Signal::TERM.as_raw()));
    assert!(!lives(&daemon));
}

#[tokio::test]
async fn a_fenced_program_dies_with_the_process_that_started_it() {
    let yard = Yard::new();
    // The launcher's parent is a shell here; it is killed alone, without its group.
    let line = format!(
        "SHIPMATE_LAUNCH_FENCE=required LAUNCHED_ARGV=\"$(printf 'sh\\n-c\\necho $$; exec sleep 1000')\" \
         {} --exact launcher::entry --nocapture & wait",
        std::env::current_exe().unwrap().display()
    );
    let mut talking = Talking::start(Spec { cwd: yard.0.join("in"), ..sh(&line) });
    let launched = talking.process().await;
    Watched::open(talking.tree.pid()).unwrap().signal(Signal::KILL).unwrap();
    assert!(tokio::time::timeout(PATIENCE, launched.gone()).await.is_ok());
}

/// The kernel stacks sixteen fences and no more: a launcher in a launcher, twenty deep.
async fn ran_deep(fence: &str) -> Ran {
    let script = "test ${DEPTH:=0} -lt 20 || { echo deep; exit 0; }; export DEPTH=$((DEPTH+1)); \
                  export LAUNCHED_ARGV=\"$(printf 'sh\\n-c\\n%s' \"$SCRIPT\")\"; \
                  SHIPMATE_LAUNCH_FENCE=$FENCE exec $ME --exact launcher::entry --nocapture";
    let me = std::env::current_exe().unwrap();
    let env = [("SCRIPT", script.into()), ("FENCE", fence.into()), ("ME", me.into_os_string())];
    let env = env.map(|(name, value): (&str, std::ffi::OsString)| (name.into(), value)).to_vec();
    run(Spec { env, ..sh(script) }, PATIENCE).await.unwrap()
}

#[tokio::test]
async fn a_required_fence_that_cannot_be_built_starts_nothing() {
    let ran = ran_deep("required").await;
    assert_eq!(ran.exit, Exit::Code(127));
    assert!(ran.stderr.text().contains("no fence could be built: "), "{}", ran.stderr.text());
    assert!(!ran.stdout.text().contains("deep"));
}

#[tokio::test]
async fn a_fence_that_is_only_wanted_stops_nothing() {
    let ran = ran_deep("wanted").await;
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
    assert!(ran.stdout.text().ends_with("deep\n"));
}

#[tokio::test]
#[should_panic(expected = "a launcher builds the fence")]
async fn a_fence_without_a_launcher_is_a_bug() {
    let fence = Some(Fence::default());
    drop(Tree::spawn(Spec { fence, ..sh("exit 0") }));
}
