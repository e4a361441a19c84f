//! Configuration: shown, made, layered, and refused with its line.

use crate::transcript::Workspace;

#[test]
fn the_settings_in_force_are_shown_with_their_source() {
    let workspace = Workspace::new();
    workspace.write("../.config/shipmate/config.toml", "lease-seconds = 90\nagent-teams = false\n");
    workspace.write(
        ".shipmate/config.toml",
        "lease-seconds = 120\n[agents]\nstop-grace-seconds = 0.5\n\
         [hooks]\nTaskCompleted = [\"./check\", \"./lint\"]\n",
    );
    workspace.check(
        r#"
        $ SHIPMATE_DURABILITY=process SHIPMATE_GATE_COMMANDS="cargo test" shipmate config
        SETTING                       VALUE                                 SOURCE
        durability                    "process"                             environment
        log                           "sqlite"                              default
        lease-seconds                 120                                   project file
        idle-exit-seconds             600                                   environment
        shutdown-deadline-seconds     30                                    default
        team-mode                     "auto"                                default
        playbook                      ""                                    default
        notify                        "bell"                                default
        page                          true                                  default
        fence                         "on"                                  default
        fence-write                   []                                    default
        agent-teams                   false                                 user file
        agent-teams-env               ""                                    default
        agents.default                ""                                    default
        agents.output-bytes           16777216                              default
        agents.stop-grace-seconds     0.5                                   project file
        agents.patience-seconds       600                                   default
        models.default                ""                                    default
        native.requests-max           1000                                  default
        native.shell-timeout-seconds  120                                   default
        native.shown-bytes            16384                                 default
        team.trees                    "own"                                 default
        team.cap                      5                                     default
        team.stall-seconds            600                                   default
        team.answer-seconds           60                                    default
        team.timeout-seconds          0                                     default
        team.protected                [".shipmate/", ".github/workflows/"]  default
        trees.copy                    []                                    default
        trees.link                    []                                    default
        trees.setup                   []                                    default
        trees.lock-files              []                                    default
        trees.ports                   0                                     default
        trees.env                     {}                                    default
        trees.teardown                []                                    default
        trees.timeout-seconds         900                                   default
        trees.detect                  true                                  default
        accounts.soft-cap             90                                    default
        accounts.hard-cap             98                                    default
        accounts.lead-reserve         3                                     default
        accounts.escrow               true                                  default
        accounts.auto-resume          true                                  default
        gate.commands                 ["cargo test"]                        environment
        gate.timeout-seconds          1800                                  default
        gate.batch                    16                                    default
        gate.env                      []                                    default
        gate.read                     []                                    default
        hooks.TaskCreated             []                                    default
        hooks.TaskCompleted           ["./check", "./lint"]                 project file
        hooks.TeammateIdle            []                                    default
        hooks.TeammateStarted         []                                    default
        hooks.TeammateDisappeared     []                                    default
        hooks.PlanSubmitted           []                                    default
        hooks.TeamShutdown            []                                    default
        hooks.timeout-seconds         60                                    default
        hooks.claude-settings         true                                  default
        views.at                      "state"                               default
        nats.url                      "nats://127.0.0.1:4222"               default
        nats.subject-prefix           "shipmate"                            default
        nats.credentials              ""                                    default
        nats.replicas                 1                                     default
        hosts.lease-seconds           30                                    default
        hosts.copy-to                 []                                    default

        $ shipmate config path
        $W/.shipmate/config.toml
        [..]/.config/shipmate/config.toml
        "#,
    );
}

#[test]
fn what_a_planning_folder_says_of_teams_counts_below_the_project_s_own_file() {
    let workspace = Workspace::new();
    let other = r#"{"agent_teams": false, "team_mode": "task"}"#;
    workspace.write(".yolo-planning/config.json", other);
    let shown = workspace.succeed("shipmate config");
    let shown: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split_whitespace().collect()).collect();
    let source = ".yolo-planning/config.json";
    for setting in [["team-mode", "\"task\"", source], ["agent-teams", "false", source]] {
        assert!(shown.contains(&setting.to_vec()), "{setting:?} is missing in {shown:?}");
    }
    workspace.write(".shipmate/config.toml", "team-mode = \"teammate\"\n");
    assert!(workspace.succeed("shipmate config").contains("project file"));
    workspace.write(source, "{\"team_mode\": 7}");
    workspace.check(
        r#"
        $ shipmate config
        error: $W/.yolo-planning/config.json: team_mode is 7
          mend it: agent_teams is true or false, team_mode is a text
        => 2
        "#,
    );
}

#[test]
fn the_default_file_is_made_once() {
    let workspace = Workspace::new();
    workspace.check(
        r#"
        $ shipmate config init
        wrote $W/.shipmate/config.toml

        $ shipmate config init
        error: $W/.shipmate/config.toml exists already
          edit it; `shipmate config --default` prints the defaults
        => 2
        "#,
    );
    let written = std::fs::read_to_string(workspace.path.join(".shipmate/config.toml")).unwrap();
    assert_eq!(written, workspace.succeed("shipmate config --default"));
}

#[test]
fn a_mistake_is_named_with_its_place_by_whichever_command_meets_it() {
    let workspace = Workspace::new();
    workspace.write(".shipmate/config.toml", "durability = \"power\"\nleese-seconds = 5\n");
    workspace.check(
        r#"
        $ shipmate config
        error: $W/.shipmate/config.toml:2:1: unknown field `leese-seconds`, expected one of [..]
          `shipmate config --default` shows every setting
        => 2

        $ shipmate team create alpha
        error: $W/.shipmate/config.toml:2:1: unknown field [..]
          `shipmate config --default` shows every setting
        => 2

        $ shipmate team list
        error: the coordinator could not be started: $W/.shipmate/config.toml:2:1: unknown field [..]
          `shipmate config --default` shows every setting
        => 6

        $ shipmate doctor
        ok       workspace    [..]
        ok       git          [..]
        ok       shell        [..]
        problem  config       $W/.shipmate/config.toml:2:1: unknown field [..]
                              `shipmate config --default` shows every setting
        ...
        => 1
        "#,
    );
    workspace.write(".shipmate/config.toml", "lease-seconds = 0\n");
    workspace.check(
        r#"
        $ shipmate config --json
        {"failed":{"code":"Usage","message":"$W/.shipmate/config.toml:1:17: \
            lease-seconds is 0, and its range is 1 to 86400","remedy":"write a number from 1 to 86400"}}
        => 2
        "#,
    );
}

#[test]
fn a_run_that_falls_back_to_task_mode_says_why() {
    let workspace = Workspace::with_repository();
    std::fs::write(workspace.beside("p.toml"), "[[tasks]]\nid = \"a\"\nsubject = \"A\"\n").unwrap();
    let variable = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
    workspace.write(".shipmate/config.toml", &format!("agent-teams-env = \"{variable}\"\n"));
    let run = |prefix: &str, team: &str| {
        let line = format!("shipmate --team {team} run ../p.toml --agent true --dirty --detach");
        workspace.succeed(&format!("{prefix} {line}"))
    };
    let told = run(&format!("{variable}=0"), "one");
    let notice = format!("note: {variable} is \"0\": task mode, one agent for each task\n");
    assert!(told.starts_with(&notice), "{told}");
    let told = run(&format!("{variable}=1"), "two");
    assert!(!told.contains("task mode"), "{told}");
    let told = run(&format!("{variable}=1 SHIPMATE_TEAM_MODE=zzz"), "three");
    assert!(told.contains("note: team-mode \"zzz\" is none of auto, teammate and task"), "{told}");
}
