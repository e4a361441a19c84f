//! Playbooks on the command line: listed, shown, checked, copied, chosen, and used by a run.

use crate::transcript::Workspace;

const MINE: &str = r#"name = "mine"
title = "Two by two"
about = "Somebody writes, somebody looks."

[select]
files = ["pairs.txt"]
env = "PAIRS_ON"

[values]
test = "true"

[roles.lead]
lead = true
mode = "delegate"

[roles.writer]
cap = 3
model = "small"
reports-to = "lead"
scope = ["src/"]
upgrades = [{ model = "large", when = { files-min = 10 } }]

[gates.quick]
commands = ["{test}"]

[kinds.handover]
about = "What the next one has to know"
fields = { task = "text", files = "[text]", state = ["done", "partial"], "note?" = "text" }

[[routes]]
from = ["writer"]
to = ["lead", "person"]
kinds = ["message", "handover"]

[[phases]]
name = "write"
title = "Everybody writes"
roles = ["lead", "writer"]
makes = ["src/", { file = "log.jsonl", line = "all", key = "state", is = ["done", "partial"] }]
gate = "quick"
minutes = 15
late = "lead"
failed = { back = "write", rounds = 2 }

[[phases.tasks]]
id = "words"
role = "writer"
subject = "Write {goal}"

[[phases]]
name = "look"
optional = true
lead-mode = "normal"

[[phases.tasks]]
id = "look"
lead = true
subject = "Look at it"
"#;

fn with_mine() -> Workspace {
    let workspace = Workspace::with_repository();
    workspace.write(".shipmate/playbooks/mine.toml", MINE);
    workspace
}

#[test]
fn playbooks_are_listed_with_what_chooses_them() {
    let workspace = with_mine();
    workspace.check(
        r#"
        $ shipmate playbook list
        PLAYBOOK        FROM                           CHOSEN BY [..]
        mine            .shipmate/playbooks/mine.toml  pairs.txt [..]  Two by two
        ...
        contract-first  built in                       [..]
        ...

        a run here works by none, unless --playbook names one
        "#,
    );
    workspace.write("pairs.txt", "ana bo\n");
    workspace.check(
        r#"
        $ shipmate playbook list
        ...
        a run here works by mine: pairs.txt is here
        "#,
    );
    workspace.write(".shipmate/playbooks/other.toml", "name = 'other'\nselect.files = ['*.txt']\n");
    workspace.check(
        r#"
        $ shipmate playbook list
        ...
        other           .shipmate/playbooks/other.toml [..] cannot be used: 1 problem
        ...
        a run here works by mine: pairs.txt is here
        "#,
    );
    let list = workspace.succeed("shipmate playbook list --json");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["chosen"]["name"], "mine");
    assert_eq!(list["playbooks"][0]["found"], "pairs.txt");
    assert_eq!(list["playbooks"][0]["env"], "PAIRS_ON");
}

#[test]
fn a_playbook_is_shown_as_a_page_a_file_and_schemas() {
    let workspace = with_mine();
    workspace.check(
        r#"
        $ shipmate playbook show mine
        mine: Two by two (.shipmate/playbooks/mine.toml)
        Somebody writes, somebody looks.
        chosen where pairs.txt is there
        a team only where the variable PAIRS_ON is on; else task mode

        phases
          write  Everybody writes
                 makes src/
                 makes log.jsonl, where every line says state is done or partial
                 joined by lead, writer
                 task words (by writer): Write {goal}
                 gate quick
                 has 15 min; then the lead does what is left
                 where it fails write begins again, 2 times at most
          look   may be left out
                 the lead is in mode normal
                 task look (by the lead): Look at it

        roles
          lead    leads the team
                  mode delegate
          writer  model small
                  model large for 10 files or more
                  3 at most
                  reports to lead
                  writes src/

        routes
          writer to lead, person  message, handover

        kinds
          handover  What the next one has to know
                    files: list of text
                    note: text, may be left out
                    state: done | partial
                    task: text

        gates
          quick  {test}

        values
          test  true

        $ shipmate playbook show nobody
        refused: there is no playbook nobody
          there are [..]contract-first[..]mine[..]; a file is named with its path
        => 3
        "#,
    );
    assert_eq!(workspace.succeed("shipmate playbook show mine --toml"), MINE);
    let schemas = workspace.succeed("shipmate playbook show mine --schemas");
    let schemas: serde_json::Value = serde_json::from_str(&schemas).unwrap();
    let handover = &schemas["handover"];
    assert_eq!(handover["required"], serde_json::json!(["files", "state", "task"]));
    assert_eq!(handover["properties"]["files"]["items"]["type"], "string");
    assert_eq!(handover["properties"]["state"]["enum"][1], "partial");
}

#[test]
fn every_playbook_that_comes_with_shipmate_can_be_shown() {
    let workspace = Workspace::new();
    let list = workspace.succeed("shipmate playbook list --json");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    for row in list["playbooks"].as_array().unwrap() {
        assert_eq!(row["problems"], 0, "{row}");
        let name = row["name"].as_str().unwrap();
        let page = workspace.succeed(&format!("shipmate playbook show {name}"));
        assert!(page.contains("\nphases\n"), "{page}");
    }
}

#[test]
fn everything_wrong_is_told_with_its_line_and_the_exit_code_is_2() {
    let workspace = with_mine();
    workspace.write("bad.toml", "name = \"bad\"\n\n[[phases]]\nname = \"a\"\nrole = [\"dev\"]\n");
    workspace.check(
        r#"
        $ shipmate playbook check
        .shipmate/playbooks/mine.toml: nothing is wrong

        $ shipmate playbook check mine bad.toml
        .shipmate/playbooks/mine.toml: nothing is wrong
        bad.toml:5: a phase has no key "role"
          did you mean roles?
        bad.toml: 1 problem
        => 2

        $ shipmate playbook check none.toml
        error: none.toml cannot be read: No such file or directory (os error 2)
          `shipmate playbook list` names those there are
        => 2
        "#,
    );
    workspace.write(".shipmate/playbooks/gated.toml", &MINE.replace("{test}", "./not-here --all"));
    workspace.check(
        r#"
        $ shipmate playbook check gated
        .shipmate/playbooks/gated.toml:1: the file is gated.toml, and its name is "mine"
          write name = "gated", or rename the file
        .shipmate/playbooks/gated.toml:24: gate quick: "./not-here" is no program in this repository
          name one that can be started; a script has to be executable
        .shipmate/playbooks/gated.toml: 2 problems
        => 2
        "#,
    );
    // Only what is certain: a name that is nowhere. Not what follows a setting, and no flag.
    let gates = "no-such-program --all\", \"CI=1 no-such-program\", \"sh --no-such-flag";
    let gated = MINE.replace("{test}", gates).replacen("\"mine\"", "\"gated\"", 1);
    workspace.write(".shipmate/playbooks/gated.toml", &gated);
    workspace.check(
        r#"
        $ shipmate playbook check gated
        .shipmate/playbooks/gated.toml:24: gate quick: there is no program "no-such-program" here
          name one that can be started; a script has to be executable
        .shipmate/playbooks/gated.toml: 1 problem
        => 2
        "#,
    );
    let told = workspace.run("shipmate playbook check bad.toml --json", b"");
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told[0]["problems"][0]["line"], 5);
    assert_eq!(told[0]["problems"][0]["remedy"], "did you mean roles?");
}

#[test]
fn a_playbook_is_put_to_use_by_one_line_of_the_settings() {
    let workspace = with_mine();
    workspace.write(".shipmate/config.toml", "# ours\nlease-seconds = 90\n");
    workspace.check(
        r#"
        $ shipmate playbook use mine
        wrote playbook = "mine" into .shipmate/config.toml

        $ shipmate playbook use mine
        nothing to change: .shipmate/config.toml says playbook = "mine"

        $ shipmate playbook list
        ...
        a run here works by mine: the project file says so

        $ shipmate playbook use nobody
        refused: there is no playbook nobody
          [..]
        => 3

        $ shipmate playbook use --none
        took playbook out of .shipmate/config.toml: the repository's files choose
        "#,
    );
    let config = std::fs::read_to_string(workspace.path.join(".shipmate/config.toml")).unwrap();
    assert_eq!(config.trim_start(), "# ours\nlease-seconds = 90\n");
}

#[test]
fn a_copy_of_a_playbook_is_the_project_s_own() {
    let workspace = with_mine();
    workspace.check(
        r#"
        $ shipmate playbook init ours --from mine
        wrote .shipmate/playbooks/ours.toml: a copy of mine
        `shipmate playbook check ours` says what is wrong with it once you have changed it

        $ shipmate playbook check ours
        .shipmate/playbooks/ours.toml: nothing is wrong

        $ shipmate playbook init ours --from mine
        error: .shipmate/playbooks/ours.toml exists already
          edit it, or choose another name
        => 2

        $ shipmate playbook init ../out --from mine
        error: "../out" is a path
          give a name: it becomes .shipmate/playbooks/NAME.toml
        => 2

        $ shipmate playbook init contract-first
        wrote .shipmate/playbooks/contract-first.toml: a copy of contract-first
        ...
        "#,
    );
    let list = workspace.succeed("shipmate playbook list --json");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let names = list["playbooks"].as_array().unwrap().iter();
    let own = names.filter(|row| row["name"] == "contract-first");
    let own: Vec<_> = own.map(|row| row["file"].as_str().unwrap()).collect();
    assert_eq!(own, [".shipmate/playbooks/contract-first.toml"]);
}

/// A run that only shows whether and why a playbook was taken: its first phase has work for
/// nobody, and waits for a file that never comes.
const WAITS: &str = r#"name = "waits"
[select]
files = ["waits/"]
env = "WAITS_ON"
[roles.lead]
lead = true
[[phases]]
name = "never"
entry = ["never.txt"]
roles = ["lead"]
[[phases.tasks]]
id = "a"
lead = true
subject = "a"
"#;

#[test]
fn a_run_says_which_playbook_the_repository_has_chosen() {
    let mut workspace = Workspace::with_repository();
    workspace.write(".shipmate/playbooks/waits.toml", WAITS);
    workspace.write("waits/x", "x\n");
    workspace.set("WAITS_ON", "1");
    workspace.check(
        r#"
        $ shipmate run --detach --dirty --agent true "say hello to everybody"
        playbook waits: waits/ is here (--playbook none works without)
        ...

        $ shipmate phase list
        say-hello-to-everybody (waits)
          never  waits[..]
        "#,
    );
    let status = workspace.succeed("shipmate log --json --after 0");
    assert!(status.contains("\"one_shot\":false") || !status.contains("\"one_shot\":true"));
}

#[test]
fn without_its_variable_a_playbook_runs_in_task_mode_and_says_why() {
    let mut workspace = Workspace::with_repository();
    workspace.write(".shipmate/playbooks/waits.toml", WAITS);
    workspace.set("WAITS_ON", "0");
    workspace.check(
        r#"
        $ shipmate run --detach --dirty --agent true --playbook waits "say hello"
        note: WAITS_ON is "0": task mode, one agent for each task
        ...
        "#,
    );
    assert!(workspace.succeed("shipmate log --json --after 0").contains("\"one_shot\":true"));
}

#[test]
fn two_playbooks_that_fit_have_to_be_told_apart() {
    let workspace = Workspace::with_repository();
    workspace.write(".shipmate/playbooks/waits.toml", WAITS);
    workspace.write(".shipmate/playbooks/mine.toml", MINE);
    workspace.write("waits/x", "x\n");
    workspace.write("pairs.txt", "x\n");
    workspace.check(
        r#"
        $ shipmate run --agent true "say hello"
        error: several playbooks fit this repository: pairs.txt is for mine, waits/ is for waits
          name one with --playbook, or none with --playbook none; `shipmate playbook use NAME` \
        settles it
        => 2

        $ shipmate run
        error: several playbooks fit this repository: pairs.txt is for mine, waits/ is for waits
        ...
        => 2

        $ shipmate run --playbook none
        error: there is nothing to run: no goal, no plan, and no playbook fits this repository
          say a goal in quotes, name a plan file, or a playbook with --playbook
        => 2

        $ shipmate run --playbook none --skip look plan.toml
        error: --set and --skip are for a playbook, and this run works by none
          name one with --playbook, or leave them out
        => 2
        "#,
    );
}

#[test]
fn a_harness_is_made_for_what_the_project_is_and_leaves_what_is_there() {
    let workspace = Workspace::new();
    workspace.write("Cargo.toml", "[package]\n");
    workspace.write(".harness/context_summary.md", "mine\n");
    workspace.check(
        r#"
        $ shipmate playbook init features --harness
        made .harness/features.json, .harness/init.sh
        say in .harness/init.sh how the project is tested, and put features into .harness/features.json:
        docs/playbook-files.md shows one. Commit both. `shipmate run` does those that are not passing
        yet, now and in every later session

        $ shipmate playbook init features --harness --json
        {"made":[]}

        $ shipmate playbook init board --harness
        error: board has no harness
          `shipmate playbook init features --harness` makes one
        => 2
        "#,
    );
    let init = std::fs::read_to_string(workspace.path.join(".harness/init.sh")).unwrap();
    assert!(init.contains("\ncargo test --quiet\n"), "{init}");
    assert_eq!(
        std::fs::read_to_string(workspace.path.join(".harness/context_summary.md")).unwrap(),
        "mine\n"
    );
    assert!(workspace.succeed("shipmate playbook list").contains(".harness/ is here"));
}

#[test]
fn the_files_of_a_way_of_working_choose_its_playbook() {
    for (file, name) in [
        (".harness/features.json", "features"),
        (".harness/init.sh", "features"),
        (".yolo-planning/config.json", "departments"),
        (".claude/workflow.yaml", "contract-first"),
    ] {
        let workspace = Workspace::with_repository();
        let chosen = |workspace: &Workspace| {
            let list = workspace.succeed("shipmate playbook list --json");
            let list: serde_json::Value = serde_json::from_str(&list).unwrap();
            list["chosen"]["name"].as_str().unwrap_or("none").to_owned()
        };
        assert_eq!(chosen(&workspace), "none");
        workspace.write(file, "{}\n");
        assert_eq!(chosen(&workspace), name);
    }
}

#[test]
fn the_playbook_delegate_is_a_team_only_where_its_variable_is_on() {
    let variable = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
    for (value, told) in [
        (None, Some(format!("note: {variable} is not set: task mode"))),
        (Some("0"), Some(format!("note: {variable} is \"0\": task mode"))),
        (Some("false"), Some(format!("note: {variable} is \"false\": task mode"))),
        (Some("1"), None),
    ] {
        let mut workspace = Workspace::with_repository();
        // A program that could be talked to, and says nothing.
        let mute = "[agents.mute]\nprogram = \"cat\"\nprotocol = \"acp\"\n";
        workspace.write(".shipmate/config.toml", mute);
        if let Some(value) = value {
            workspace.set(variable, value);
        }
        let run = "shipmate run --detach --playbook delegate --agent mute \"say hello\"";
        let out = workspace.succeed(run);
        let note = out.lines().find(|line| line.starts_with("note: CLAUDE"));
        match &told {
            Some(told) => assert!(note.is_some_and(|note| note.starts_with(told)), "{out}"),
            None => assert_eq!(note, None),
        }
        let log = workspace.succeed("shipmate log --json --after 0");
        assert_eq!(log.contains("\"one_shot\":true"), told.is_some(), "{log}");
    }
}

#[test]
fn the_roster_of_departments_is_the_whole_roster() {
    let workspace = Workspace::new();
    let view = workspace.succeed("shipmate playbook show departments --json");
    let view: serde_json::Value = serde_json::from_str(&view).unwrap();
    let parts = view["parts"].as_array().unwrap();
    let roles = parts.iter().find(|part| part["part"] == "roles").unwrap();
    let lines = |name: &str| {
        let roles = roles["entries"].as_array().unwrap();
        let role = roles.iter().find(|role| role["name"] == name).unwrap();
        role["lines"].to_string()
    };
    let names = roles["entries"].as_array().unwrap().iter();
    let mut names: Vec<&str> = names.map(|role| role["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let one_life = ["critic", "debugger", "scout"];
    let staying =
        ["architect", "dev", "lead", "owner", "qa", "qa-code", "security", "senior", "tester"];
    let mut all: Vec<&str> = one_life.into_iter().chain(staying).collect();
    all.sort_unstable();
    assert_eq!(names, all);
    for name in one_life {
        assert!(lines(name).contains("a life for each task"), "{name}");
    }
    for name in staying {
        assert!(!lines(name).contains("a life for each task"), "{name}");
    }
    assert!(lines("dev").contains("5 at most"));
}

#[test]
fn between_departments_only_leads_and_the_owner_write_and_a_blocker_has_its_fields() {
    let workspace = Workspace::new();
    let view = workspace.succeed("shipmate playbook show departments --json");
    let view: serde_json::Value = serde_json::from_str(&view).unwrap();
    let parts = view["parts"].as_array().unwrap();
    let routes = parts.iter().find(|part| part["part"] == "routes").unwrap();
    let routes = routes["entries"].as_array().unwrap();
    let across = routes.iter().filter_map(|route| route["name"].as_str());
    let across: Vec<&str> = across.filter(|name| name.contains("other teams")).collect();
    let leads = ["owner to lead, also of other teams", "lead to owner, also of other teams"];
    assert_eq!(across, leads);
    let reports = routes.iter().find(|route| route["name"] == "senior to lead").unwrap();
    assert!(reports["lines"].to_string().contains("senior_spec, code_review_result"), "{reports}");
    let tester = routes.iter().find(|route| route["name"] == "tester to senior").unwrap();
    assert!(tester["lines"].to_string().contains("test_plan_result"), "{tester}");
    let schemas = workspace.succeed("shipmate playbook show departments --schemas");
    let schemas: serde_json::Value = serde_json::from_str(&schemas).unwrap();
    let needed = ["attempted", "blocker", "needs", "plan_id", "task"];
    assert_eq!(schemas["dev_blocker"]["required"], serde_json::json!(needed));
    assert_eq!(schemas["dev_blocker"]["properties"]["attempted"]["type"], "array");
    let fields = schemas["dev_progress"]["properties"].as_object().unwrap();
    let fields: Vec<&String> = fields.keys().collect();
    assert_eq!(fields, ["commit", "concerns", "plan_id", "status", "task"]);
}

const DELIBERATES: &str = r#"name = "deliberates"

[values]
short = "q-"

[roles.lead]
lead = true

[roles.quick]
called = "{short}quick"

[gates.tests]
commands = ["make test"]
red = { commands = ["make test"], files = ["tests/"], on = "decide" }

[commit]
branch = "feature/{title}"

[[phases]]
name = "decide"
roles = ["lead", "quick"]
dispatch = true

[phases.deliberation]
question = "How is {goal} done?"
by = ["quick", "quick"]
folder = "design"

[[phases]]
name = "build"
exit = [{ file = "src/", changed = true }]

[[phases.tasks]]
id = "build"
role = "quick"
subject = "Build it"
gate = "tests"
"#;

#[test]
fn a_deliberation_is_shown_as_the_tasks_and_the_end_that_it_comes_to() {
    let workspace = Workspace::with_repository();
    workspace.write(".shipmate/playbooks/deliberates.toml", DELIBERATES);
    workspace.check(
        r#"
        $ shipmate playbook show deliberates
        deliberates[..](.shipmate/playbooks/deliberates.toml)
        ...
        phases
          decide  at its end design/verdict.json, where a line says status is decided
                  at its end design/verdict.json, where a line says verdict is something
                  at its end design/verdict.json, where a line says reasons is something
                  joined by lead, quick
                  task proposal-1 (by quick, gate deliberation): Propose (1 of 2): How is {goal} done?
                  task proposal-2 (by quick, gate deliberation): Propose (2 of 2): How is {goal} done?
                  task critique-1 (by quick, after proposal-1, proposal-2, gate deliberation): [..]
                  task critique-2 (by quick, after proposal-1, proposal-2, gate deliberation): [..]
                  task verdict (by the lead, after critique-1, critique-2, gate deliberation): [..]
                  the lead gives each who joins its first task
          build   at its end src/ with a change in it
                  task build (by quick, gate tests): Build it

        roles
          lead   leads the team
          quick  called {short}quick

        gates
          deliberation  test -s {files}
          tests         make test
                        tests (tests/) have to fail on what phase decide left: make test
        ...
        rules
          branch  feature/{title} follows the team's
        "#,
    );
}
