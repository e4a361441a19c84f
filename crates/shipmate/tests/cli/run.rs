//! `shipmate run`: from a plan to a report, and everything that can stand in its way.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::transcript::{Workspace, exists, with_longer_limits};

pub(crate) const TWO: &str = r#"
[[tasks]]
id = "one"
subject = "One"
no_change = true
[[tasks]]
id = "two"
subject = "Two"
no_change = true
needs = ["one"]
"#;

/// Does the tasks of two plans, one of them right only when it is tried again.
const TWICE: &str = r#"case "$SHIPMATE_TASK_ALIAS" in
03-01/T1) echo table > db.sql ;;
03-01/T2) if [ -z "$SHIPMATE_FEEDBACK" ]; then echo bad; else echo good; fi > index.txt ;;
03-02/T1) cat db.sql index.txt > "page ü.html" ;;
esac
"#;

/// Plans lie beside the workspace: in it they would be uncommitted changes.
fn plan(workspace: &Workspace, name: &str, text: &str) {
    std::fs::write(workspace.beside(name), text).unwrap();
}

pub(crate) fn with_plan(text: &str) -> Workspace {
    let workspace = Workspace::with_repository();
    plan(&workspace, "two.toml", text);
    workspace
}

fn no_team(workspace: &Workspace) {
    workspace.check(
        r#"
        $ shipmate team list
        no teams yet; [..]
        "#,
    );
}

#[test]
fn two_plans_are_run_in_their_order_and_each_is_summed_up() {
    let workspace = Workspace::with_repository();
    plan(
        &workspace,
        "03-01.plan.jsonl",
        r#"{"p":"03","n":"01","t":"Search","d":[],"fm":["declared.txt"]}
{"id":"T1","a":"Write the schema","f":["db.sql"]}
{"id":"T2","a":"Write the index","f":["index.txt","untouched.txt"],"td":["T1"]}
"#,
    );
    plan(
        &workspace,
        "03-02.plan.jsonl",
        r#"{"p":"03","n":"02","t":"Page","d":["03-01"]}
{"id":"T1","a":"Show it","f":["page ü.html"]}
"#,
    );
    plan(&workspace, "agent.sh", TWICE);
    workspace.check(
        r#"
        $ shipmate run $W/../03-01.plan.jsonl $W/../03-02.plan.jsonl --agent 'sh $W/../agent.sh' \
            --gate '! grep -q bad index.txt'
        ...
        [..] the gate is red on task 2
        [..] task 2 (Write the index) came back to dev-1: the gate is red [..]
        ...
        [..] task 3 (Show it) completed (dev-1) 3/3
        done: 3 of 3 tasks in [..] (Search and 1 more, team 03-01)
        merged     3 commits on shipmate/03-01
        gate       5 runs, 4 green, 1 red
        ...
        summaries  $W/.shipmate/state/teams/03-01/summaries/03-01.summary.jsonl, [..]
        next       shipmate merge               bring the work to main
                   shipmate log                 what happened
        "#,
    );
    let folder = workspace.path.join(".shipmate/state/teams/03-01/summaries");
    let summary = |plan: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{plan}.summary.jsonl"))).unwrap();
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        // The commits and the day are the only things in it that nobody can know before.
        let commits = line["ch"].to_string();
        let date = line["dt"].as_str().unwrap().to_owned();
        assert_eq!(date.len(), 10);
        let hashes = line["ch"].as_array().unwrap();
        assert!(hashes.iter().all(|hash| hash.as_str().unwrap().len() == 40), "{commits}");
        text.replace(&commits, "CH").replace(&date, "DT")
    };
    assert_eq!(
        summary("03-01"),
        concat!(
            r#"{"p":"03","n":"01","t":"Search","s":"complete","dt":"DT","tc":2,"tt":2,"ch":CH,"#,
            r#""fm":["db.sql","index.txt"],"dv":[],"#,
            r#""built":["Write the schema","Write the index"],"tst":"red_green"}"#,
            "\n"
        )
    );
    assert_eq!(
        summary("03-02"),
        concat!(
            r#"{"p":"03","n":"02","t":"Page","s":"complete","dt":"DT","tc":1,"tt":1,"ch":CH,"#,
            r#""fm":["page ü.html"],"dv":[],"built":["Show it"],"tst":"green_only"}"#,
            "\n"
        )
    );
}

#[test]
fn what_was_not_done_is_told_with_its_reason_and_in_the_summary_of_its_plan_only() {
    let workspace = Workspace::with_repository();
    plan(
        &workspace,
        "1.plan.jsonl",
        "{\"p\":\"1\",\"n\":\"1\"}\n{\"id\":\"a\",\"a\":\"Good\",\"f\":[\"good\"]}\n",
    );
    plan(
        &workspace,
        "2.plan.jsonl",
        "{\"p\":\"1\",\"n\":\"2\",\"d\":[\"1-1\"]}\n{\"id\":\"a\",\"a\":\"Bad\",\"f\":[\"x\"]}\n\
         {\"id\":\"b\",\"a\":\"Later\",\"f\":[],\"td\":[\"a\"]}\n",
    );
    let output = workspace.run(
        "shipmate --json run $W/../1.plan.jsonl $W/../2.plan.jsonl --summaries $W/../sums \
         --agent 'test $SHIPMATE_SUBJECT = Good && echo 1 > good'",
        b"",
    );
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["outcome"], "partial");
    assert_eq!(report["tasks"]["completed"], 1);
    let failed = "the agent command failed: exit status 1";
    assert_eq!(
        report["tasks"]["not_done"],
        serde_json::json!([
            { "id": 2, "subject": "Bad", "status": "failed", "why": failed },
            { "id": 3, "subject": "Later", "status": "pending", "why": "waits for 2" },
        ])
    );
    let deviation = format!("task 2 (Bad) failed: {failed}");
    assert_eq!(report["deviations"], serde_json::json!([deviation]));
    for (plan, state, done, files, deviations) in [
        ("1-1", "complete", 1, vec!["good"], vec![]),
        ("1-2", "failed", 0, vec![], vec![deviation]),
    ] {
        let path = workspace.beside("sums").join(format!("{plan}.summary.jsonl"));
        let line: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!((&line["s"], &line["tc"]), (&state.into(), &done.into()), "{plan}");
        assert_eq!((&line["fm"], &line["dv"]), (&files.into(), &deviations.into()), "{plan}");
        assert_eq!(line["tst"], "no_tests");
    }
    // The same for people, and without a repository, where only what is declared is known.
    workspace.check(
        r#"
        $ shipmate --team other run $W/../1.plan.jsonl --agent true --trees none
        ...
        done: 1 of 1 tasks in [..]
        ...
        "#,
    );
    let path = workspace.path.join(".shipmate/state/teams/other/summaries/1-1.summary.jsonl");
    assert!(std::fs::read_to_string(path).unwrap().contains(r#""fm":["good"]"#));
}

#[test]
fn a_run_that_nobody_can_go_on_with_ends_with_what_the_runtime_found() {
    let workspace = with_plan(TWO);
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent 'echo $SHIPMATE_TASK > file' --gate false
        ...
        nothing done: 0 of 2 tasks in [..] (two, team two)
        not done
        ...
        deviations
          the team waits: the gate fails at [..] already[..]
        ...
        => 8
        "#,
    );
}

#[test]
fn a_persons_pause_does_not_end_a_run_that_has_the_patience() {
    let workspace = with_plan(TWO);
    let go = workspace.pipe("go");
    let agent = format!("'cat {} > /dev/null'", go.display());
    let line = format!("shipmate run $W/../two.toml --wait 10m --agent {agent}");
    let mut run = workspace.start(&line);
    while !run.line().unwrap().ends_with("takes task 1 (One)") {}
    workspace.succeed("shipmate pause --reason lunch");
    std::fs::write(&go, "").unwrap();
    while !run.line().unwrap().ends_with("task 1 (One) completed (dev-1), without any change 1/2") {
    }
    // Takes as long as a run may look stuck, and began later.
    let stuck = workspace.run("shipmate --team stuck run $W/../two.toml --agent false", b"");
    assert_eq!(stuck.status.code(), Some(8));
    workspace.succeed("shipmate --team two continue");
    while !run.line().unwrap().ends_with("takes task 2 (Two)") {}
    std::fs::write(&go, "").unwrap();
    while !run.line().unwrap().starts_with("done: 2 of 2 tasks") {}
    while run.line().is_some() {}
    assert_eq!(run.exit_code(), 0);
}

#[test]
fn a_detached_run_goes_on_by_itself() {
    let workspace = with_plan(TWO);
    let go = workspace.pipe("go");
    let agent = format!("'cat {} > /dev/null'", go.display());
    workspace.check(&format!(
        r#"
        $ shipmate run $W/../two.toml --agent {agent} --teammates 1 --detach
        team two is at work: `shipmate --team two status`, `shipmate --team two tui`, \
            `shipmate --team two attach NAME`, `shipmate --team two shutdown`

        $ shipmate status
        TEAM  PHASE   RUNNING  PENDING  IN PROGRESS  COMPLETED  FAILED  DESCRIPTION
        two   active  [..]
        ...

        $ shipmate --team json run $W/../two.toml --agent {agent} --teammates 1 \
            --detach --json
        {{"detached":true,"team":"json"}}

        $ shipmate --team json shutdown --now --wait
        ...
        "#
    ));
}

#[test]
fn ctrl_c_without_a_terminal_leaves_the_team_at_work() {
    let workspace = with_plan(TWO);
    let go = workspace.pipe("go");
    let agent = format!("'cat {} > /dev/null'", go.display());
    let mut child = workspace
        .command(&format!("shipmate run $W/../two.toml --agent {agent}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.ends_with("takes task 1 (One)")).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let left = "left at work: `shipmate --team two status`, `shipmate --team two tui`, \
                `shipmate --team two log --follow`, `shipmate --team two shutdown`";
    assert_eq!(lines.next().unwrap(), left);
    assert_eq!(lines.next(), None);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    std::fs::write(&go, "").unwrap();
    workspace.until("task.claimed 2");
    std::fs::write(&go, "").unwrap();
    workspace.until("task.completed 2");
}

#[test]
fn a_run_whose_time_is_over_is_ended() {
    // Somebody has to have taken a task by then.
    with_longer_limits(&["5s", "30s", "2m"], |timeout| {
        let workspace = with_plan(TWO);
        workspace.write(".shipmate/config.toml", "shutdown-deadline-seconds = 1\n");
        let go = workspace.pipe("go");
        let transcript = format!(
            r#"
        $ shipmate run $W/../two.toml --agent 'cat {}' --timeout {timeout}
        ...
        nothing done: 0 of 2 tasks in [..] (two, team two)
        not done
          task 1 pending: dev-1 had taken it: its holder stopped (One)
        ...
        deviations
        ...
          the team waits: the team's time of [..] is over
        ...
        => 8
        "#,
            go.display()
        );
        workspace.differences(&transcript, b"")
    });
}

#[test]
fn a_refusal_midway_leaves_no_half_team() {
    let workspace = with_plan(TWO);
    let closed = workspace.beside("closed");
    std::fs::write(&closed, "").unwrap();
    workspace.write(
        ".shipmate/config.toml",
        &format!(
            "[hooks]\nTaskCreated = [\"test ! -e {} || {{ echo not today >&2; exit 2; }}\"]\n",
            closed.display()
        ),
    );
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        refused: TaskCreated hook feedback:
          [..]not today
        ...
        => 1
        "#,
    );
    no_team(&workspace);
    std::fs::remove_file(closed).unwrap();
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        ...
        done: 2 of 2 tasks in [..]
        ...
        "#,
    );
}

#[test]
fn a_team_that_is_there_already_is_not_run_into() {
    let workspace = with_plan(TWO);
    workspace.succeed("shipmate run $W/../two.toml --agent 'echo 1 > $SHIPMATE_TASK'");
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        refused: there is a team two already
          go on with it: `shipmate --team two resume`, and watch it: `shipmate --team two tui`
          begin anew: `shipmate team delete two`, or `shipmate run --team OTHER …`
        => 1

        $ shipmate run $W/../two.toml --agent true --team three
        ...
        done: 2 of 2 tasks in [..] (two, team three)
        ...
        "#,
    );
}

#[test]
fn uncommitted_changes_are_not_passed_over_in_silence() {
    let workspace = with_plan(TWO);
    workspace.write("new", "");
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        refused: uncommitted changes: new
          teammates begin at the last commit and would not see them: commit or stash them, \
              or say --dirty
        => 1
        "#,
    );
    no_team(&workspace);
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent 'test ! -e new' --dirty
        ...
        done: 2 of 2 tasks in [..]
        ...
        "#,
    );
    assert!(exists(&workspace.path.join("new")));
}

#[test]
fn what_a_team_would_not_expect_of_a_repository_is_noted() {
    let workspace = with_plan(TWO);
    workspace.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ./x\n");
    workspace.git("add .gitmodules");
    workspace.git("commit --quiet --message submodule");
    workspace.git("checkout --quiet --detach");
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        note: HEAD is detached: `shipmate merge` will need a branch
        note: submodules are carried as they are; their files are not in the trees
        ...
        done: 2 of 2 tasks in [..]
        ...
        "#,
    );
}

#[test]
fn without_a_repository_or_a_commit_nothing_is_begun() {
    let workspace = Workspace::new();
    plan(&workspace, "two.toml", TWO);
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        refused: $W is not in a git repository; go to one, or name one with --workspace
          or make this folder one: git init && git add . && git commit -m 'first'
        => 1
        "#,
    );
    workspace.git("init --quiet");
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml --agent true
        refused: the repository $W has no commit yet, and a team needs one to start from
          git add . && git commit -m 'first'
        => 1
        "#,
    );
    no_team(&workspace);
}

#[test]
fn a_plan_that_nobody_can_do_leaves_no_team_behind() {
    let workspace = with_plan(TWO);
    workspace.check(
        r#"
        $ shipmate run $W/../two.toml
        refused: no agent is named for dev-1, and shipmate's own has no model: no model is named, and \
            no provider's key is set
          set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, or \
              models.default in the configuration; or name a program, such as agent "claude" \
              (`shipmate agents` lists them), or set agents.default in the configuration
        => 1

        $ shipmate run --playbook board "Write the second part of it"
        refused: no agent is named for lead, and shipmate's own has no model: no model is named, and \
            no provider's key is set
          say --agent PROGRAM; or set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, \
              OPENROUTER_API_KEY, or models.default in the configuration; or name a program, such as \
              agent "claude" (`shipmate agents` lists them), or set agents.default in the configuration
        => 1
        "#,
    );
    no_team(&workspace);
}

#[test]
fn what_is_wrong_with_a_plan_is_said_before_anything_starts() {
    let workspace = with_plan(TWO);
    plan(
        &workspace,
        "bad.toml",
        "[[tasks]]\nid = \"a\"\nsubject = \"A\"\nneeds = [\"b\"]\nx = 1\n",
    );
    workspace.check(
        r#"
        $ shipmate run $W/../none.toml --agent true
        error: $W/../none.toml: it cannot be read: No such file or directory (os error 2)
          name an existing plan file
        1 problem; nothing was started
        => 2

        $ shipmate run $W/../bad.toml --agent true
        error: $W/../bad.toml:1: task a waits for b, which is not in the plan
          add it, or take the dependency out
        $W/../bad.toml:5: a task has no key "x"
          its keys are [..]
        2 problems; nothing was started
        => 2

        $ shipmate run $W/../two.toml --agent true --trees shared
        error: $W/../two.toml:[..]: task One names no files, and in a shared tree only the files \
            it names are its own
          give it files, or run with --trees own
        => 2

        $ shipmate coordinator status
        not running; the next command starts it
        "#,
    );
    no_team(&workspace);
}
