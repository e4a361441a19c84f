//! This very test binary as a launcher, as a program starts itself with its launcher subcommand.

use shipmate_process::{Launcher, exec_tree};

/// Not a check: what [`launcher`] starts.
#[test]
fn entry() {
    if let Some(argv) = std::env::var_os("LAUNCHED_ARGV") {
        let argv = argv.to_str().unwrap().split('\n').map(Into::into).collect();
        eprintln!("{}", exec_tree(argv));
        std::process::exit(127);
    }
}

pub(crate) fn launcher() -> Launcher {
    let me = std::env::current_exe().unwrap();
    let line = format!(
        "IFS='\n'; export LAUNCHED_ARGV=\"$*\"; exec {} --exact launcher::entry --nocapture",
        me.display()
    );
    Launcher::through("sh".into(), ["-c".into(), line.into(), "sh".into()].to_vec())
}
