//! What a fence hides, and whom it protects from signals: real processes on real files.

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
use shipmate_process::{Exit, Fence, Ran, Spec, run};
use stage::{PATIENCE, Talking, lives};
use temp::TempDir;

const SECRET: &str = "the token of a person";

/// `state` is hidden, but for `state/trees/ana`, which may be written. `plain` is neither.
struct Yard(TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(TempDir::new());
        for folder in ["state/trees/ana/tmp", "state/trees/bo", "plain"] {
            fs::create_dir_all(yard.0.join(folder)).unwrap();
        }
        for file in ["state/token", "state/trees/bo/secret"] {
            fs::write(yard.0.join(file), SECRET).unwrap();
        }
        fs::write(yard.0.join("plain/file"), "plain").unwrap();
        fs::write(yard.0.join("beside"), "beside").unwrap();
        yard
    }

    fn fence(&self) -> Fence {
        Fence {
            write: vec![self.0.join("state/trees/ana")],
            hidden: vec![self.0.join("state"), self.0.join("not there")],
            required: true,
            ..Fence::default()
        }
    }

    fn spec(&self, line: &str) -> Spec {
        let cwd = self.0.join("state/trees/ana");
        let env = [("YARD", self.0.join("")), ("TMPDIR", cwd.join("tmp")), ("HOME", cwd.clone())];
        let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
        Spec { cwd, env, launcher: launcher(), fence: Some(self.fence()), ..sh(line) }
    }

    async fn ran(&self, line: &str) -> Ran {
        run(self.spec(line), PATIENCE).await.unwrap()
    }

    async fn passes(&self, line: &str) -> String {
        let ran = self.ran(line).await;
        assert_eq!(ran.exit, Exit::Code(0), "{line}: {}", ran.stderr.text());
        ran.stdout.text()
    }
}

#[tokio::test]
async fn what_is_hidden_cannot_be_read_by_any_name() {
    let yard = Yard::new();
    for line in [
        "cat $YARD/state/token",
        "cat ../../token",
        "cat ../bo/secret",
        "cd ../bo && cat secret",
        "ln -s $YARD/state/token link && cat link",
        "ln -s ../.. up && cat up/token",
        "cat /proc/self/root$YARD/state/token",
        "cat /proc/self/cwd/../../token",
        "cat /proc/$$/root$YARD/state/token",
        "ln ../../token linked && cat linked",
        "mv ../../token moved && cat moved",
        "cp ../../token copy && cat copy",
        "exec 3< ../../token && cat <&3",
        "dd if=../../token",
        "tar cf - ../../token",
        "git hash-object ../../token && git diff --no-index /dev/null ../../token",
        "chmod 666 ../../token; cat ../../token",
        "sh ../../token",
        "env -i cat $YARD/state/token",
        "setsid -w cat $YARD/state/token",
        "! grep -rs . $YARD/state --exclude-dir=ana",
    ] {
        let ran = yard.ran(line).await;
        let printed = ran.stdout.text() + &ran.stderr.text();
        assert!(!printed.contains(SECRET), "{line}: {printed}");
        assert!(!ran.exit.is_success() || line.starts_with('!'), "{line}: {printed}");
    }
}

#[tokio::test]
async fn all_beside_what_is_hidden_is_read_as_before() {
    let yard = Yard::new();
    let line = "cat $YARD/plain/file $YARD/beside /etc/passwd /proc/self/status >/dev/null && \
                ls $YARD/state $YARD/state/trees/bo && echo new > $YARD/state/trees/ana/new && \
                cat new && cat < /dev/null && printf 'a\\n' | cat /dev/stdin && \
                head -c 1 /dev/zero";
    let printed = yard.passes(line).await;
    assert!(printed.contains("secret\n") && printed.contains("new\n"), "{printed}");
}

#[tokio::test]
async fn no_disk_is_read_beside_its_files_and_no_device_made() {
    let yard = Yard::new();
    for disk in fs::read_dir("/sys/block").unwrap().flatten() {
        let disk = disk.file_name().into_string().unwrap();
        let ran = yard.ran(&format!("head -c 1 /dev/{disk}")).await;
        assert!(!ran.exit.is_success(), "{disk}");
    }
    assert!(!yard.ran("mknod own b 1 0 || mknod own c 1 1").await.exit.is_success());
    yard.passes("head -c 1 /dev/urandom > /dev/null && test -r /dev/tty").await;
}

#[tokio::test]
async fn what_is_hidden_is_not_written_either() {
    let yard = Yard::new();
    for line in ["echo x > ../../token", "echo x > ../bo/new", "rm ../../token", "mkdir ../cy"] {
        assert!(!yard.ran(line).await.exit.is_success(), "{line}");
    }
    assert_eq!(fs::read_to_string(yard.0.join("state/token")).unwrap(), SECRET);
}

#[tokio::test]
async fn a_hidden_place_that_is_named_by_a_link_is_hidden_where_it_is() {
    let yard = Yard::new();
    std::os::unix::fs::symlink(yard.0.join("state"), yard.0.join("alias")).unwrap();
    let fence = Fence { hidden: vec![yard.0.join("alias")], ..yard.fence() };
    let spec = Spec { fence: Some(fence), ..yard.spec("cat ../../token") };
    assert!(!run(spec, PATIENCE).await.unwrap().exit.is_success());
}

#[tokio::test]
async fn without_a_hidden_place_all_is_read() {
    let yard = Yard::new();
    let fence = Fence { hidden: vec![yard.0.join("not there")], ..yard.fence() };
    let spec = Spec { fence: Some(fence), ..yard.spec("cat ../../token; echo x > $YARD/later") };
    let ran = run(spec, PATIENCE).await.unwrap();
    assert!(ran.stdout.text().contains(SECRET));
    assert!(!ran.exit.is_success());
}

#[tokio::test]
async fn modes_and_times_outside_are_kept_and_inside_are_not() {
    // It takes the right to mount.
    if !rustix::process::getuid().is_root() {
        return;
    }
    let yard = Yard::new();
    let facts = |path: &str| {
        let found = fs::metadata(yard.0.join(path)).unwrap();
        (found.permissions(), found.modified().unwrap(), found.len())
    };
    let places = ["beside", "plain", "plain/file", "state", "state/token", "state/trees/bo"];
    let before = places.map(facts);
    let with = |line: &str| {
        let fence = Fence { freeze: true, ..yard.fence() };
        Spec { fence: Some(fence), ..yard.spec(line) }
    };
    for change in ["chmod 600", "touch -d 2001-01-01", "touch", "chown 65534"] {
        for place in places {
            let ran = run(with(&format!("{change} $YARD/{place}")), PATIENCE).await.unwrap();
            assert!(!ran.exit.is_success(), "{change} {place}");
        }
    }
    assert_eq!(places.map(facts), before);
    let line = "echo x > own && chmod 700 own && touch -d 2001-01-01 own && mkdir -p a/b && \
                mv own a/b && : > $YARD/state/trees/ana/more && chmod 700 more tmp && \
                cat $YARD/beside && echo x > /dev/null && mktemp -p /dev/shm | xargs rm";
    let ran = run(with(line), PATIENCE).await.unwrap();
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
}

#[tokio::test]
async fn who_is_inside_signals_nobody_outside() {
    let yard = Yard::new();
    let mut outside = Talking::start(sh("echo $$; exec sleep 1000"));
    let victim = outside.process().await;
    let pid = victim.pid().as_raw_nonzero();
    let python = "import os, sys; os.kill(int(sys.argv[1]), 9)";
    for line in [
        format!("kill -9 {pid}"),
        format!("kill -TERM -- -{pid}"),
        format!("env kill -9 {pid}"),
        format!("python3 -c '{python}' {pid}"),
    ] {
        let ran = yard.ran(&line).await;
        assert!(!ran.exit.is_success(), "{line}");
        assert!(lives(&victim), "{line}");
    }
    outside.tree.clean().await;
}

#[tokio::test]
async fn who_is_inside_signals_its_own_children() {
    let yard = Yard::new();
    let line = "sleep 1000 & kill -9 $! && wait $!; test $? = 137";
    yard.passes(line).await;
}

/// The launcher once more, inside: a shell of a fenced agent's, behind a fence of its own.
fn nested(fence: &str, script: &str) -> String {
    format!(
        "LAUNCHED_ARGV=\"$(printf 'sh\\n-c\\n%s' '{script}')\" \
         SHIPMATE_LAUNCH_FENCE=\"$(printf '{fence}')\" {} --exact launcher::entry --nocapture",
        std::env::current_exe().unwrap().display()
    )
}

#[tokio::test]
async fn a_fence_inside_a_fence_adds_to_it() {
    let yard = Yard::new();
    let ana = yard.0.join("state/trees/ana");
    let of_shell = format!("required\\n+{0}/tmp\\n-{0}/own", ana.display());
    let ready = "mkdir -p own tmp && echo talk > own/talk && ";
    let line = format!("{ready}{}", nested(&of_shell, "cat own/talk"));
    assert!(!yard.ran(&line).await.exit.is_success(), "hidden by the inner fence");
    let line = format!("{ready}{}", nested(&of_shell, "cat ../../token"));
    assert!(!yard.ran(&line).await.exit.is_success(), "hidden by the outer fence");
    let line = format!("{ready}{}", nested(&of_shell, "echo x > here"));
    assert!(!yard.ran(&line).await.exit.is_success(), "closed by the inner fence");
    let line = nested("required\\n+/", "cat ../../token || echo x > ../bo/new");
    assert!(!yard.ran(&line).await.exit.is_success(), "the inner fence opens nothing");
    let line = format!("{ready}{}", nested(&of_shell, "echo x > tmp/a && cat tmp/a $YARD/beside"));
    assert!(yard.passes(&line).await.contains("x\nbeside"));
}

#[tokio::test]
async fn an_inner_process_learns_nothing_from_the_process_around_it() {
    let yard = Yard::new();
    let ana = yard.0.join("state/trees/ana");
    let fence = format!("required\\n+{}", ana.display());
    for file in ["environ", "mem", "maps", "fd/0", "root/etc/passwd", "cwd/tmp/x"] {
        let script = format!("head -c 100 /proc/$OUTER/{file}");
        let line = format!(
            "echo x > tmp/x; export OUTER=$$; KEY=\"{SECRET}\"; export KEY; \
             {}; echo inner $?; wait",
            nested(&fence, &script)
        );
        let ran = yard.ran(&line).await;
        let printed = ran.stdout.text() + &ran.stderr.text();
        assert!(!printed.contains(SECRET), "{file}: {printed}");
        assert!(printed.contains("ermission denied"), "{file}: {printed}");
    }
    let line = format!("export OUTER=$$; {}", nested(&fence, "kill -9 $OUTER"));
    assert!(yard.ran(&format!("{line}; exit 6")).await.exit == Exit::Code(6), "it was not killed");
}

#[tokio::test]
async fn git_works_in_a_shared_clone_whose_source_is_outside() {
    let yard = Yard::new();
    let git = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main";
    let prepare = format!(
        "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; {git} init -q source && cd source && \
         echo one > f && git add f && {git} commit -qm one && \
         {git} clone -q --shared . ../state/trees/ana/clone"
    );
    let ran = run(Spec { cwd: yard.0.join(""), ..sh(&prepare) }, PATIENCE).await.unwrap();
    assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr.text());
    let line = format!(
        "export GIT_CONFIG_NOSYSTEM=1; cd clone && git log --format=%s && echo two > f && \
         {git} commit -qam two && git checkout -qb side HEAD~1 && {git} merge -q main && \
         git fetch -q && git status --short && cat f"
    );
    assert!(yard.passes(&line).await.ends_with("one\ntwo\n"));
}

#[tokio::test]
async fn a_build_in_the_tree_works_with_its_temporary_files_there() {
    let yard = Yard::new();
    let program = "int main(void) { return 7; }";
    let script = "import tempfile, subprocess, os; f = tempfile.NamedTemporaryFile(); \
                  f.write(b\"x\"); f.flush(); subprocess.check_call([\"cat\", f.name]); \
                  os.mkfifo(\"fifo\")";
    let line = format!(
        "echo '{program}' > a.c && gcc -O1 a.c -o a; ./a; test $? = 7 && python3 -c '{script}' && \
         mktemp && printf 'here\\n' | tee copy && sed -i s/here/there/ copy && cat copy"
    );
    assert!(yard.passes(&line).await.ends_with("here\nthere\n"));
}
