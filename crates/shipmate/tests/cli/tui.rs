//! The screen in a real terminal: driven with keys, and what came of it asked of the board.

use serde_json::Value;

use crate::tmux::Tmux;
use crate::transcript::Workspace;

const SCREEN: &str = "exec \"$SHIPMATE\" tui";

fn json(workspace: &Workspace, line: &str) -> Value {
    serde_json::from_str(&workspace.succeed(line)).unwrap()
}

#[test]
fn a_person_works_with_a_team_on_the_screen() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate task create \"Write the lexer\"");
    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("Write the lexer");
    tmux.until("● live");

    // What others do is seen as it happens.
    workspace.succeed("shipmate --as ana task claim 1");
    tmux.until("◐ in progress");
    workspace.succeed("shipmate --as ana ask \"Which parser?\" --option nom --option winnow");
    tmux.until("5 Decisions (1)");

    tmux.keys("n");
    tmux.until("New task for alpha");
    tmux.text("Write the parser 漢字");
    tmux.keys("Tab Tab");
    tmux.text("src/parser.rs");
    tmux.keys("Tab");
    tmux.text("1");
    tmux.keys("Enter");
    tmux.until("created task 2");
    tmux.until("Write the parser 漢字");
    let task = json(&workspace, "shipmate task show 2 --json");
    assert_eq!(task["subject"], "Write the parser 漢字");
    assert_eq!(task["files"], serde_json::json!(["src/parser.rs"]));
    assert_eq!(task["blocked_by"], serde_json::json!(["1"]));

    tmux.keys("5");
    tmux.until("Which parser?");
    tmux.keys("2");
    tmux.until("2 (•) winnow");
    tmux.keys("Enter");
    tmux.until("is answered: winnow");
    tmux.keys("s");
    tmux.until("Nothing waits for you.");
    let questions = json(&workspace, "shipmate questions --all --json");
    assert_eq!(questions[0]["answer"], "winnow");

    tmux.keys("4");
    tmux.until("FROM → TO");
    tmux.keys("3");
    tmux.until("TEAMMATE");
    tmux.keys("m");
    tmux.until("Message");
    tmux.text("well done");
    tmux.keys("C-j");
    tmux.text("go on");
    tmux.keys("Enter");
    tmux.until("is on its way to ana");
    let inbox = workspace.succeed("shipmate --as ana inbox --json");
    assert!(inbox.contains("\"body\":\"well done\\ngo on\""), "{inbox}");

    tmux.keys("p");
    tmux.until("Pause ana");
    tmux.keys("Enter");
    tmux.until("‖ paused");
    let mate = json(&workspace, "shipmate teammate show ana --json");
    assert_eq!(mate["state"], "paused");
    tmux.keys("p");
    tmux.until("ana goes on");
    tmux.until_gone("‖ paused");

    tmux.keys("q");
    tmux.ended();
}

#[test]
fn one_press_is_one_decision_which_can_be_taken_back_until_it_is_sent() {
    let workspace = Workspace::with_team(&["ana", "bo"]);
    workspace.succeed("shipmate --as ana ask --kind permission \"May I run make?\"");
    workspace.succeed("shipmate --as bo ask --kind permission \"May I drop the table?\"");
    let answers = || {
        let all = json(&workspace, "shipmate questions --all --json");
        [all[0]["answer"].clone(), all[1]["answer"].clone()]
    };
    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("5 Decisions (2)");
    tmux.keys("5");
    tmux.until("│ May I run make?");
    // In one go: a slow machine must not send it before it is taken back.
    tmux.keys("y y u");
    tmux.until("taken back");
    tmux.until("5 Decisions (2)");
    tmux.until("│ May I run make?");
    // What was decided and is not sent yet is sent by whoever leaves.
    tmux.keys("y y q");
    tmux.ended();
    assert_eq!(answers(), ["allow".into(), Value::Null]);

    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("5 Decisions (1)");
    tmux.keys("5 h");
    tmux.until("permission");
    let screen = tmux.until("ana: May I run make?");
    assert!(screen.contains("person"), "{screen}");
    tmux.keys("h");
    tmux.until("│ May I drop the table?");
    // By itself, too.
    tmux.keys("y");
    tmux.until("Nothing waits for you.");
    assert_eq!(answers(), ["allow", "allow"]);
    tmux.keys("q");
    tmux.ended();
}

#[test]
fn a_refusal_is_shown_with_its_remedy_and_the_screen_goes_on() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate task create \"Write the lexer\"");
    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("Write the lexer");
    tmux.keys("a");
    tmux.until("Assign task 1");
    tmux.text("nobody-here");
    tmux.keys("Enter");
    tmux.until("✕ refused: ");
    let screen = tmux.until("ana");
    assert!(screen.contains("nobody-here"), "{screen}");
    tmux.keys("Escape");
    tmux.until_gone("✕ refused: ");
    tmux.keys("r");
    tmux.until("✕ refused: ");
    tmux.keys("q");
    tmux.ended();
}

#[test]
fn the_output_of_a_teammate_is_followed_and_a_new_coordinator_is_no_interruption() {
    let workspace = Workspace::with_repository();
    let go = workspace.pipe("go");
    workspace.succeed("shipmate team create alpha --trees own");
    let agent = format!("'echo begins $SHIPMATE_SUBJECT; cat {}'", go.display());
    workspace.succeed(&format!("shipmate teammate add ana --command {agent}"));
    workspace.succeed("shipmate task create one --no-change");
    workspace.until("task.claimed 1");
    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("◐ in progress");
    tmux.keys("3");
    tmux.until("◐ working");
    tmux.keys("Enter");
    tmux.until("│ begins one");
    workspace.succeed("shipmate coordinator stop");
    std::fs::write(&go, "\u{1b}[2Jcannot hide\n").unwrap();
    tmux.until("│ \\x1b[2Jcannot hide");
    tmux.until("■ stopped");
    workspace.succeed("shipmate teammate add bo");
    tmux.keys("Escape");
    tmux.until("bo@1");
    tmux.keys("1");
    tmux.until("completed");
    tmux.keys("q");
    tmux.ended();
}

#[test]
fn the_terminal_is_handed_back_however_the_screen_ends() {
    let workspace = Workspace::with_team(&["ana"]);
    let mut tmux = Tmux::start(&workspace, "exec sh -i");
    // A key, Ctrl-C, and a request to end from elsewhere.
    for (at, end) in ["q", "C-c", "TERM"].into_iter().enumerate() {
        tmux.text("\"$SHIPMATE\" tui; echo ended $?");
        tmux.keys("Enter");
        tmux.until("The board is empty.");
        match end {
            "TERM" => signal(&workspace, "TERM"),
            keys => tmux.keys(keys),
        }
        tmux.until("ended 0");
        tmux.text(&format!("clear; echo $((100 + {at}))"));
        tmux.keys("Enter");
        let screen = tmux.until(&format!("{}", 100 + at));
        assert!(!screen.contains("The board is empty."), "{screen}");
    }

    // Suspended, and back; by a key and by a signal.
    tmux.text("\"$SHIPMATE\" tui");
    tmux.keys("Enter");
    for end in ["C-z", "TSTP"] {
        tmux.until("The board is empty.");
        match end {
            "TSTP" => signal(&workspace, "TSTP"),
            keys => tmux.keys(keys),
        }
        tmux.until("Stopped");
        tmux.text("echo $((30 + 3))");
        tmux.keys("Enter");
        tmux.until("33");
        tmux.text("clear; fg; echo over $?");
        tmux.keys("Enter");
    }
    tmux.until("The board is empty.");
    tmux.keys("q");
    tmux.until("over 0");
    tmux.text("exit");
    tmux.keys("Enter");
    tmux.ended();
}

/// Sends a signal to the screen, which is known by its arguments and its workspace.
fn signal(workspace: &Workspace, name: &str) {
    let is_ours = |pid: &str| {
        let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let here = format!("SHIPMATE_WORKSPACE={}\0", workspace.path.display());
        let env = read("environ");
        read("cmdline").ends_with(b"shipmate\0tui\0")
            && env.windows(here.len()).any(|part| part == here.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pid = pids.into_iter().find(|pid| is_ours(pid)).expect("the screen runs");
    let killed = std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn a_window_that_changes_its_size_is_drawn_anew() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate task create \"Write the lexer\"");
    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("── 1 Write the lexer ─");
    tmux.resize(70, 20);
    tmux.until("shipmate needs 80x24");
    tmux.resize(120, 40);
    let screen = tmux.until("│ 1 Write the lexer");
    assert!(!screen.contains("needs 80x24"), "{screen}");
    tmux.keys("q");
    tmux.ended();
}

#[test]
fn one_of_several_teams_is_chosen() {
    let workspace = Workspace::with_team(&["ana"]);
    workspace.succeed("shipmate team create beta");
    workspace.succeed("shipmate --team beta task create \"In the other team\"");
    let mut tmux = Tmux::start(&workspace, SCREEN);
    tmux.until("Which team?");
    tmux.keys("j Enter");
    tmux.until("In the other team");
    tmux.keys("Escape");
    tmux.until("Which team?");
    tmux.keys("q");
    tmux.ended();
    let mut tmux = Tmux::start(&workspace, "exec \"$SHIPMATE\" --team beta tui");
    tmux.until("In the other team");
    tmux.keys("q");
    tmux.ended();
}

#[test]
fn without_a_terminal_or_a_team_it_is_said_what_to_do() {
    let workspace = Workspace::new();
    workspace.check(
        r#"
        $ shipmate tui
        error: the screen needs a terminal to draw on
          `shipmate status` prints where everything stands, `shipmate status --json` the same [..]
        => 2
        "#,
    );
    let mut tmux = Tmux::start(&workspace, "\"$SHIPMATE\" tui; echo ended $?; cat");
    let screen = tmux.until("ended");
    assert!(screen.contains("refused: there is no team"), "{screen}");
}
