//! Whether the commands of gates can be started on this machine.
//!
//! Asked only by whoever checks a file: a playbook may be written for another machine, and what a
//! run needs may be built by it. Said only of what is certain: a program that is named plainly.

use std::os::unix::fs::PermissionsExt;
use std::path::Path as File;

use shipmate_protocol::problem::quoted;

use crate::document::{Node, Step};
use crate::fill::{Values, fill};

/// What a shell does itself, bash among them.
const OF_THE_SHELL: &str = "\
    . : [ alias bg break builtin case cd command continue declare dirs echo enable eval exec \
    exit export false fc fg for function getopts hash help if jobs kill let local mapfile \
    popd printf pushd pwd read readarray readonly return select set shift shopt source test \
    time times trap true type typeset ulimit umask unalias unset until wait while";

pub(crate) fn check(root: &Node<'_, '_>, workspace: &File) {
    let values = root.to("values").entries().into_iter();
    let values: Values =
        values.map(|(name, value)| (name.to_owned(), value.text().to_owned())).collect();
    let red = root.all("gates.*.red.commands.*");
    for command in root.all("gates.*.commands.*").iter().chain(&red) {
        let Some(Step::Key(name)) = command.path.0.get(1) else { continue };
        let line = fill(command.text(), &values);
        let Some(program) = program(&line) else { continue };
        let fact = match program.contains('/') {
            true if is_program(&workspace.join(program)) => continue,
            true => format!("gate {name}: {} is no program in this repository", quoted(program)),
            false if in_path(program) => continue,
            false => format!("gate {name}: there is no program {} here", quoted(program)),
        };
        command.add(fact, "name one that can be started; a script has to be executable");
    }
}

/// The program of a command, where it is plain to see.
fn program(line: &str) -> Option<&str> {
    let first = line.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+".contains(c);
    (first.chars().all(plain) && !OF_THE_SHELL.split(' ').any(|word| word == first))
        .then_some(first)
}

fn in_path(program: &str) -> bool {
    let path = shipmate_process::environment::var("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_program(&folder.join(program)))
}

fn is_program(path: &File) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn only_a_program_that_is_named_plainly_is_looked_for() {
        for (line, found) in [
            ("make test", Some("make")),
            ("./run --all", Some("./run")),
            ("true", None),
            ("source .venv/bin/activate && pytest", None),
            ("CI=1 make", None),
            ("$TOOL x", None),
            ("(cd a && make)", None),
            ("", None),
        ] {
            assert_eq!(program(line), found, "{line}");
        }
    }
}
