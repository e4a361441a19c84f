//! This very test binary as a launcher, as a program starts itself with its launcher subcommand.

use std::fs::File;

use shipmate_process::{Launcher, exec_tree};

/// Not a check: what [`launcher`] starts. Standard output comes as descriptor 3: what the test
/// harness has to say is not the program's.
#[test]
fn entry() {
    if let Some(argv) = std::env::var_os("LAUNCHED_ARGV") {
        if let Ok(out) = File::options().write(true).open("/proc/self/fd/3") {
            rustix::stdio::dup2_stdout(out).unwrap();
        }
        let argv = argv.to_str().unwrap().split('\n').map(Into::into).collect();
        eprintln!("{}", exec_tree(argv));
        std::process::exit(127);
    }
}

pub(crate) fn launcher() -> Launcher {
    let me = std::env::current_exe().unwrap();
    let line = format!(
        "IFS='\n'; export LAUNCHED_ARGV=\"$*\"; exec {} --exact launcher::entry --nocapture \
         3>&1 >/dev/null",
        me.display()
    );
    Launcher::through("sh".into(), ["-c".into(), line.into(), "sh".into()].to_vec())
}
