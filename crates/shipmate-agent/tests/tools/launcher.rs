//! This very test binary as the program behind `exec-tree`.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Not a check: what the script below starts. Standard output comes as descriptor 3: what the
/// test harness has to say is not the program's.
#[test]
fn entry() {
    let Ok(count) = std::env::var("LAUNCHED") else { return };
    let out = File::options().write(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(out).unwrap();
    let word = |n| std::env::var_os(format!("LAUNCHED_{n}")).unwrap();
    let argv = (1..=count.parse::<u32>().unwrap()).map(word).collect();
    eprintln!("{}", shipmate_process::exec_tree(argv));
    std::process::exit(127);
}

/// A program that knows `exec-tree`, and gives what it starts this home. `around` is a command
/// that it is started through.
pub(crate) fn program(folder: &Path, home: &Path, around: &str) -> PathBuf {
    let path = folder.join("program");
    let script = format!(
        "#!/bin/sh\nshift; n=0\n\
         for word; do n=$((n+1)); export \"LAUNCHED_$n=$word\"; done\n\
         export LAUNCHED=$n HOME={home} OUT={out} LC_ALL=C\n\
         exec {around} {me} --exact launcher::entry --nocapture 3>&1 >/dev/null\n",
        home = home.display(),
        out = home.parent().unwrap().display(),
        me = std::env::current_exe().unwrap().display(),
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}
