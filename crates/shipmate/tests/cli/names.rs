//! Names that could leave a folder, break a line or be taken for something else.

use crate::transcript::{Workspace, errors};

#[test]
fn a_bad_name_is_refused_wherever_it_stands() {
    let workspace = Workspace::with_team(&[]);
    let long = "a".repeat(65);
    let bad = ["a/b", "..", "a b", "a\tb", "a\x1b[0m", "-a", "_a", "ä", &long, "person", ""];
    for name in bad {
        for args in [
            vec!["team", "create", "--", name],
            vec!["teammate", "add", "--", name],
            vec!["teammate", "show", "--", name],
            vec!["shutdown", "--", name],
        ] {
            let mut command = workspace.command("shipmate");
            let output = command.args(&args).output().unwrap();
            let told = errors(&output.stderr);
            // `a/b` is a reference to a teammate, and there is none of that name.
            let expected = if name == "a/b" && args[0] != "team" { &[1, 3][..] } else { &[1] };
            let code = output.status.code().unwrap();
            assert!(expected.contains(&code), "{args:?} ended with {code}: {told}");
            assert!(told.starts_with("refused: "), "{args:?} was told {told:?}");
            assert!(!told.contains('\x1b') && !told.contains('\t'), "{told:?}");
        }
    }
    let teams = std::fs::read_dir(workspace.path.join(".shipmate/state/teams")).unwrap();
    let teams: Vec<_> = teams.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(teams, ["alpha"]);
    assert_eq!(workspace.succeed("shipmate teammate list --json"), "[]\n");
}

#[test]
fn the_longest_name_is_accepted() {
    let workspace = Workspace::with_team(&[]);
    let long = "a".repeat(64);
    workspace.check(&format!(
        r#"
        $ shipmate teammate add {long}
        added alpha/{long}@1
          act as it: shipmate --as {long} task next
        "#
    ));
}

#[test]
fn acting_as_a_name_that_is_none_reads_no_file() {
    Workspace::with_team(&[]).check(
        r#"
        $ shipmate --as ../person.token task list
        error: ".." is not a name
          names are letters, digits, '_' and '-', at most 64
        => 2

        $ shipmate --as alpha/../ana task list
        error: "../ana" is not a name
          names are letters, digits, '_' and '-', at most 64
        => 2
        "#,
    );
}
