//! contract-first, from a Markdown plan to the integrated layers, with commands behind everybody.

use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;

use crate::scene::{Ran, Scene};
use crate::stage::{Stage, TEAM, of};
use crate::views::until;

pub(crate) const PLAN: &str = "\
# Issue 42: greetings

## Files to Modify

| File | Change | Layer | Agent |
|---|---|---|---|
| `src/models/user.sh` | the fields of a user | Models | |
| `tests/models/test_user.sh` | they are set | Models | |
| `src/service/greet.sh` | greets a model User | Service | |
| `tests/service/test_greet.sh` | by name | Service | |
| `src/api/routes.sh` | GET /greet | API | ana |
| `tests/api/test_routes.sh` | it answers | API | ana |
| `src/app.sh` | register the route | Integration | lead |

## API

One route, `GET /greet`.
";

pub(crate) const WORKFLOW: &str = "\
version: 1
commands:
  test:
    focused: \"for t in {path}; do test -f $t && sh $t || exit 1; done\"
    full: 'for t in tests/*/test_*.sh; do sh $t || exit 1; done'
  lint: sh -n src/models/user.sh
  branch_pattern: feature/{issue_num}-{description}
";

/// Does its part of the plan, and nothing else.
const AGENT: &str = r##"
contracts() {
  put src/models/user.sh 'NAME='
  put src/service/greet.sh 'greet() { :; }'
  put src/api/routes.sh 'routes() { :; }'
  put tests/integration/test_flow.sh '# pytest.mark.skip'
}
models() {
  put src/models/user.sh 'NAME=ann'
  put tests/models/test_user.sh '. src/models/user.sh; [ "$NAME" = ann ]'
}
service() {
  . src/models/user.sh
  [ "$NAME" = ann ]
  put src/service/greet.sh 'greet() { echo "hello $1"; }'
  put tests/service/test_greet.sh '. src/service/greet.sh; [ "$(greet x)" = "hello x" ]'
}
api() {
  put src/api/routes.sh 'routes() { echo "GET /greet"; }'
  put tests/api/test_routes.sh '. src/api/routes.sh; [ "$(routes)" = "GET /greet" ]'
}
integrate() {
  put src/app.sh '. src/models/user.sh; . src/service/greet.sh; greet "$NAME"'
  put tests/integration/test_flow.sh '[ "$(sh src/app.sh)" = "hello ann" ]'
}
again() { contracts; }
mend() { :; }
finish() { :; }
# What a test does differently.
. "$S/other.sh"
case "$SHIPMATE_SUBJECT" in
  Contracts:*) contracts ;;
  "Mend the contracts"*) again ;;
  "Implement the Models layer") models ;;
  "Implement the Service layer") service ;;
  "Implement the API layer") api ;;
  Mend*) mend ;;
  Integrate:*) integrate ;;
  Finish*) finish ;;
esac
"##;

const PLAYBOOK: &str = include_str!("../../../shipmate-playbook/src/builtin/contract-first.toml");

fn scene(other: &str) -> Scene {
    with(other, &[])
}

/// A repository with the plan; these files besides, or instead.
pub(crate) fn with(other: &str, files: &[(&str, &str)]) -> Scene {
    let mut all = vec![("plans/issue-42.md", PLAN), (".claude/workflow.yaml", WORKFLOW)];
    all.retain(|(name, _)| !files.iter().any(|(own, _)| own == name));
    all.extend(files);
    let scene = Scene::new(&all, AGENT);
    std::fs::write(scene.stage.root().join("other.sh"), other).unwrap();
    scene
}

pub(crate) fn run(scene: &Scene) -> Ran {
    scene.run("contract-first", &["plans/issue-42.md"])
}

fn created(log: &[Value]) -> Vec<Value> {
    of(log, "task.created")
}

fn specs(log: &[Value], key: &str) -> Vec<String> {
    let specs = created(log).into_iter().map(|task| task["spec"].clone());
    specs.map(|spec| spec[key].as_str().unwrap_or_default().to_owned()).collect()
}

/// Who completed each task, by its subject.
pub(crate) fn done_by(log: &[Value]) -> Vec<(String, String)> {
    let subjects = specs(log, "subject");
    let claimed = |task: &Value| {
        let by = of(log, "task.claimed").into_iter().rfind(|claim| claim["task"] == *task);
        let by = by.unwrap()["by"].as_str().unwrap().to_owned();
        by.trim_start_matches("alpha/").split('@').next().unwrap().to_owned()
    };
    let completed = of(log, "task.completed").into_iter().map(|done| done["task"].clone());
    completed
        .map(|task| (subjects[task.as_u64().unwrap() as usize - 1].clone(), claimed(&task)))
        .collect()
}

/// The checkpoint, once the run is through.
fn checkpoint(stage: &Stage) -> String {
    let folder = stage.place().team(TEAM);
    until(&folder, || {
        let text = std::fs::read_to_string(folder.join("views/session-checkpoint.md")).ok()?;
        text.contains("- phase: through\n").then_some(text)
    })
}

#[test]
fn three_layers_are_filled_in_side_by_side_and_integrated_by_the_lead() {
    let mut scene = scene("");
    let ran = run(&scene);
    let typecheck = "its gate is without {typecheck}, for which nothing is configured";
    ran.ends(
        0,
        &[
            "no branch feature/42-{description}: a part of its name is missing (--set description=…)",
            "phase contracts is done",
            "phase layers begins",
            "phase layers is done",
            &format!("phase converge is done: {typecheck}"),
            "phase integrate is done",
            "5 of 5 tasks",
        ],
    );
    let ends = ["contracts done", "layers done", "converge done", "integrate done"];
    assert_eq!(scene.phases(), ends);
    assert!(scene.landed("tests/integration/test_flow.sh").contains("hello ann"));
    let log = scene.log();
    let owners: Vec<(String, String)> =
        specs(&log, "subject").into_iter().zip(specs(&log, "assignee")).collect();
    let expected = [
        ("Contracts: plans/issue-42.md", "lead"),
        ("Implement the Models layer", "models"),
        ("Implement the Service layer", "service"),
        ("Implement the API layer", "ana"),
        ("Integrate: plans/issue-42.md", "lead"),
    ]
    .map(|(subject, who)| (subject.to_owned(), who.to_owned()));
    assert_eq!(owners, expected);
    let contracts = &specs(&log, "description")[0];
    for part in [
        "in the project's type system",
        "model and type shells: field names and types only, no validators, no logic",
        "interface or protocol signatures: return types, no logic",
        "exports of new modules",
    ] {
        assert!(contracts.contains(part), "{contracts}");
    }
    for word in
        ["Pydantic", "Protocol/ABC", "YARD", "TypeScript", "Rust", "traits", "struct shells", "Go:"]
    {
        assert!(!contracts.contains(word), "no examples for a language: {contracts}");
    }
    // What waits for what: models for nothing, the others for it, and integration for all.
    let waits: Vec<Value> =
        created(&log).iter().map(|task| task["spec"]["blocked_by"].clone()).collect();
    let on_models = serde_json::json!([{ "task": 2 }]);
    assert_eq!(waits[1..4], [Value::Null, on_models.clone(), on_models]);
    // One agent for each, who does its own and nothing else.
    let mut done = done_by(&log);
    done.sort();
    let mut own = owners.clone();
    own.sort();
    assert_eq!(done, own);
    let joined = of(&log, "teammate.added");
    assert_eq!(joined.len(), 4, "a lead and an agent for each layer");
    // The lead writes in phases 0, 3 and 4, and not while the layers are filled in.
    let modes = of(&log, "teammate.mode_changed").into_iter();
    let modes: Vec<String> = modes.map(|one| one["mode"].as_str().unwrap().to_owned()).collect();
    assert_eq!(modes, ["delegate", "normal"]);
    let at = |kind: &str, key: &str, is: &str| {
        log.iter().position(|one| one["event"][kind][key] == is).unwrap()
    };
    let mode = |mode| at("teammate.mode_changed", "mode", mode);
    let (began, ended) =
        (at("phase.began", "phase", "layers"), at("phase.ended", "phase", "layers"));
    assert!(began < mode("delegate") && mode("delegate") < ended && ended < mode("normal"));
    let expected = "\
# Session checkpoint

- team: alpha
- branch: shipmate/alpha
- last commit: COMMIT
- mode: team
- phase: through

## Phases

- contracts done
- layers done: its gate is without {typecheck}, for which nothing is configured
- converge done: its gate is without {typecheck}, for which nothing is configured
- integrate done: its gate is without {test_integration}, {typecheck}, for which nothing is configured

## Tasks

- 1. Contracts: plans/issue-42.md: completed by lead in HASH
- 2. Implement the Models layer: completed by models in HASH
- 3. Implement the Service layer: completed by service in HASH
- 4. Implement the API layer: completed by ana in HASH
- 5. Integrate: plans/issue-42.md: completed by lead in HASH

Remaining: nothing
";
    let tip = scene.stage.git(&["rev-parse", &format!("shipmate/{TEAM}")]);
    let landed = of(&log, "task.completed").into_iter();
    let mut commits: Vec<(u64, String)> = landed
        .map(|one| {
            (one["task"].as_u64().unwrap(), one["commit"].as_str().unwrap()[..10].to_owned())
        })
        .collect();
    commits.sort();
    let mut expected = expected.replace("COMMIT", tip.trim());
    for (_, commit) in commits {
        expected = expected.replacen("HASH", &commit, 1);
    }
    assert_eq!(checkpoint(&scene.stage), expected);
}

#[test]
fn the_brief_of_a_layer_has_every_section_and_its_tree_has_the_contracts() {
    // The others wait for the models, so what the models see of them is the contracts alone.
    let look = "models() { put src/models/user.sh NAME=ann; put tests/models/test_user.sh \
                \"$(cat src/service/greet.sh src/api/routes.sh; \
                echo grep -q NAME=ann src/models/user.sh)\"; }\n\
                api() { put src/api/routes.sh \"$(cat src/models/user.sh)\"; \
                put tests/api/test_routes.sh 'grep -q NAME=ann src/api/routes.sh'; }\n\
                service() { put src/service/greet.sh x=1; \
                put tests/service/test_greet.sh 'grep -q x=1 src/service/greet.sh'; }\n\
                mend() { :; }\nintegrate() { put src/app.sh x=1; \
                put tests/integration/test_flow.sh '[ -e src/app.sh ]'; }";
    let mut scene = scene(look);
    let ran = scene.run(
        "contract-first",
        &["plans/issue-42.md", "--set", "issue_num=42", "--set", "description=greetings"],
    );
    assert_eq!(ran.code, 0, "{}", ran.out);
    // The branch that the brief names is there, with what the team has made.
    let [own, team] = ["feature/42-greetings", "shipmate/alpha"]
        .map(|branch| scene.stage.git(&["rev-parse", &format!("refs/heads/{branch}")]));
    assert_eq!(own, team);
    let log = scene.log();
    let brief = &specs(&log, "description")[3];
    let expected = "\
## Your Assignment
Implement the API layer

## Plan Excerpt
- src/api/routes.sh: GET /greet
- tests/api/test_routes.sh: it answers

## API

One route, `GET /greet`.

## File Ownership (CRITICAL)
You own ONLY these files:
- src/api/routes.sh
- tests/api/test_routes.sh
Do NOT edit files outside this list.
NEVER modify root-level test config -- create your own in your test subdirectory tests/api
If you need a file you don't own changed, message the lead.

## Git Workflow
Branch: feature/42-greetings
";
    assert!(brief.starts_with(expected), "{brief}");
    for part in [
        "\nYou work in a clone of your own, on the newest state of that branch. Commit your files by \
         name, NEVER `git add .`; there is nothing to pull or push.",
        "## TDD Workflow\nFollow TDD-First Completion Loop independently.\n\
         1. RED: Write test, confirm fails for right reason\n\
         2. GREEN: Minimum implementation to pass\n\
         3. REFACTOR: lint + typecheck, confirm still passing\n",
        "\nTest command: for t in 'tests/api/test_routes.sh'; do test -f $t && sh $t \
         || exit 1; done\n",
        "## Completion\nAll tests passing -> TaskUpdate(completed)\n3 failed attempts on same error",
    ] {
        assert!(brief.contains(part), "{part}\n---\n{brief}");
    }
    let seen = scene.landed("tests/models/test_user.sh");
    assert!(seen.starts_with("greet() { :; }\nroutes() { :; }\n"), "{seen}");
    assert_eq!(scene.landed("src/api/routes.sh"), "NAME=ann\n", "the models were done");
}

#[test]
fn with_two_layers_one_agent_does_it_all_and_the_reason_is_said() {
    let plan: String = PLAN
        .lines()
        .filter(|line| !line.contains("| Service |"))
        .map(|l| format!("{l}\n"))
        .collect();
    let other = "integrate() { put src/app.sh '. src/models/user.sh; echo \"$NAME\"'; \
                 put tests/integration/test_flow.sh '[ \"$(sh src/app.sh)\" = ann ]'; }";
    let mut scene = with(other, &[("plans/issue-42.md", &plan)]);
    let ran = run(&scene);
    let why = "2 of 2 pieces (models, api) can be worked on side by side, and a team is worth it \
               from 3 on";
    ran.ends(
        0,
        &[
            &format!(
                "phase contracts is left out: one agent does it all: one agent is enough: {why}"
            ),
            &format!("one agent does it all: one agent is enough: {why}"),
            "phase layers begins",
            "phase integrate is done",
        ],
    );
    let log = scene.log();
    assert_eq!(of(&log, "teammate.added").len(), 1, "there is no team");
    let expected =
        ["Implement the Models layer", "Implement the API layer", "Integrate: plans/issue-42.md"]
            .map(|subject| (subject.to_owned(), "lead".to_owned()));
    assert_eq!(done_by(&log), expected, "one after the other");
    let text = checkpoint(&scene.stage);
    assert!(text.contains("- mode: single\n"), "{text}");
}

#[test]
fn a_contract_that_says_too_much_goes_back_with_file_count_and_limit() {
    let fields = |n: usize| vec!["  x=1"; n].join("\\n");
    let other = format!(
        "contracts() {{ printf 'user() {{\\n{}\\n}}\\n' > long.sh; }}\n\
         again() {{ printf 'user() {{\\n{}\\n}}\\n' > long.sh; }}",
        fields(18),
        fields(17),
    );
    let mut scene = scene(&other);
    let ran = run(&scene);
    let why = "phase contracts goes back: long.sh says too much: \"user() {\" in line 1 has 20 lines, \
               at most 19 are for it";
    ran.ends(0, &[why, "phase contracts begins, round 2", "phase contracts is done"]);
    let log = scene.log();
    assert_eq!(specs(&log, "subject")[1], "Mend the contracts: plans/issue-42.md");
    assert!(specs(&log, "description")[1].contains("at most 19"), "the lead is told why");
}

#[test]
fn a_skeleton_that_is_left_skipped_is_named_and_has_to_be_filled_in() {
    for mark in ["# @pytest.mark.skip", ": it.skip", "# #[ignore]"] {
        let other = format!(
            "contracts() {{ put tests/integration/test_flow.sh '{mark}'; }}\n\
             integrate() {{ put src/app.sh x=1; }}\n\
             finish() {{ put tests/integration/test_flow.sh '[ -e src/app.sh ]'; }}"
        );
        let scene = scene(&other);
        let ran = run(&scene);
        let why = "phase integrate goes back: tests/integration/test_flow.sh still has ";
        ran.ends(
            0,
            &[why, "in line 1", "phase integrate begins, round 2", "phase integrate is done"],
        );
        assert_eq!(scene.landed("tests/integration/test_flow.sh"), "[ -e src/app.sh ]\n");
    }
}

#[test]
fn layers_that_do_not_fit_together_are_mended_by_the_lead() {
    // Each layer's own tests pass; the whole does not, until the lead has mended it.
    let other = "contracts() { put tests/contract/test_all.sh \
                 '[ -e src/models/user.sh ] || exit 0; . src/models/user.sh; [ \"$NAME\" != ann ]'; }\n\
                 mend() { put src/models/user.sh 'NAME=bob'; put tests/models/test_user.sh true; }\n\
                 integrate() { put src/app.sh x=1; }";
    let typed =
        WORKFLOW.replace("  lint:", "  typecheck: '! grep -q wrong src/models/user.sh'\n  lint:");
    let mut scene = with(other, &[(".claude/workflow.yaml", &typed)]);
    let ran = run(&scene);
    ran.ends(
        0,
        &[
            "phase converge goes back: the gate of the phase fails",
            "phase converge begins, round 2",
        ],
    );
    assert_eq!(scene.landed("src/models/user.sh"), "NAME=bob\n");
    let log = scene.log();
    let mended = done_by(&log).into_iter().find(|(subject, _)| subject.starts_with("Mend"));
    assert_eq!(mended.unwrap().1, "lead");
    assert!(!ran.out.contains("{typecheck}"), "{}", ran.out);
}

#[test]
fn the_type_check_of_the_project_is_part_of_convergence() {
    // Green in every layer's own gate; red where the phase is looked at, until it is mended.
    let check = "[ -e src/mended.sh ] || case $PWD in *._phase) echo types differ; exit 1; esac";
    let typed = WORKFLOW.replace("  lint:", &format!("  typecheck: '{check}'\n  lint:"));
    let scene = with("mend() { put src/mended.sh x=1; }", &[(".claude/workflow.yaml", &typed)]);
    let ran = run(&scene);
    ran.ends(
        0,
        &[
            "phase layers is done",
            "phase converge goes back: the gate of the phase fails",
            "phase converge begins, round 2",
            "phase converge is done",
        ],
    );
}

#[test]
fn a_layer_without_tests_has_the_full_suite_as_its_gate() {
    let plan: String = PLAN
        .lines()
        .filter(|line| !line.contains("tests/models"))
        .map(|l| format!("{l}\n"))
        .collect();
    let other = "contracts() { put tests/all/test_all.sh '! grep -q bad src/models/user.sh'; \
                 put src/models/user.sh x=1; }\n\
                 models() { if [ -n \"${SHIPMATE_FEEDBACK:-}\" ]; then put src/models/user.sh NAME=ann; \
                 else put src/models/user.sh bad=1; fi; }";
    let mut scene = with(other, &[("plans/issue-42.md", &plan)]);
    let ran = run(&scene);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let log = scene.log();
    let back = of(&log, "task.returned");
    assert_eq!(back.len(), 1, "{}", ran.out);
    assert!(back[0]["reason"].as_str().unwrap().contains("tests/*/test_*.sh"), "{back:?}");
}

#[test]
fn shared_exports_and_root_test_configuration_are_the_lead_s() {
    let other = "contracts() { put src/__init__.py one; put conftest.py root; }\n\
                 models() { put src/models/user.sh NAME=ann; \
                 put tests/models/test_user.sh 'grep -q ann src/models/user.sh'; \
                 if [ -z \"${SHIPMATE_FEEDBACK:-}\" ]; then put src/__init__.py two; \
                 put conftest.py mine; else put src/__init__.py one; put conftest.py root; \
                 fi; put tests/models/conftest.py own; }\n\
                 integrate() { put src/app.sh x=1; put src/__init__.py three; \
                 put tests/integration/test_flow.sh '[ -e src/app.sh ]'; }";
    let mut scene = scene(other);
    let agent = scene.agent();
    let args =
        ["--team", TEAM, "run", "--playbook", "contract-first", "--agent", &agent, "--detach"];
    let out = scene.stage.shipmate(&[&args[..], &["plans/issue-42.md"]].concat());
    assert!(out.status.success(), "{out:?}");
    let stage = &mut scene.stage;
    stage.follow();
    let asked = stage.hear(|event| event.get("question.asked").is_some());
    let text = asked["event"]["question.asked"]["text"].as_str().unwrap();
    assert!(text.contains("src/__init__.py (protected)"), "{text}");
    assert!(text.contains("conftest.py (protected)"), "{text}");
    assert!(!text.contains("tests/models/conftest.py"), "{text}");
    let question = asked["n"].as_u64().unwrap();
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer: "refuse".to_owned() }));
    stage.hear(|event| event["phase.ended"]["phase"] == "integrate");
    assert_eq!(stage.file("src/__init__.py"), "three\n", "the lead's lands");
    assert_eq!(stage.file("conftest.py"), "root\n");
    assert_eq!(stage.file("tests/models/conftest.py"), "own\n");
}

#[test]
fn in_integration_the_lead_leaves_the_layers_alone() {
    let other = "integrate() { put src/app.sh x=1; \
                 put tests/integration/test_flow.sh '[ -e src/app.sh ]'; \
                 if [ -z \"${SHIPMATE_FEEDBACK:-}\" ]; then put src/models/user.sh changed; \
                 else put src/models/user.sh NAME=ann; fi; }";
    let mut scene = scene(other);
    let mut running = scene.begin("contract-first", &["plans/issue-42.md"]);
    running.says("phase integrate begins");
    let stage = &mut scene.stage;
    stage.follow();
    let asked = stage.hear(|event| event.get("question.asked").is_some());
    let text = asked["event"]["question.asked"]["text"].as_str().unwrap();
    assert!(text.contains("src/models/user.sh (not among the task's files)"), "{text}");
    let question = asked["n"].as_u64().unwrap();
    // The lead cannot allow it to itself: a person is asked, with the way to answer.
    running.says(&format!("(shipmate answer {question} grant|refuse|without)"));
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer: "refuse".to_owned() }));
    running.ended().ends(0, &["phase integrate is done"]);
    assert_eq!(scene.landed("src/models/user.sh"), "NAME=ann\n");
}

#[test]
fn a_layer_that_fails_is_finished_by_the_lead_before_anything_converges() {
    let other = "[ \"$SHIPMATE_TEAMMATE\" != models ] || exit 1";
    let mut scene = scene(other);
    let ran = run(&scene);
    ran.ends(
        0,
        &[
            "task 2 (Implement the Models layer) is tried again",
            "phase layers is done",
            "phase converge begins",
            "phase layers is left to the lead: task 2 (Implement the Models layer) failed",
        ],
    );
    let log = scene.log();
    let models = done_by(&log).into_iter().find(|(subject, _)| subject.contains("Models"));
    assert_eq!(models.unwrap().1, "lead");
}

#[test]
fn when_the_team_s_time_is_over_the_lead_finishes_and_keeps_what_is_done() {
    let short = PLAYBOOK
        .replace("minutes = 15\nfrom", "seconds = 12\nfrom")
        .replace("shutdown-seconds = 30\n", "shutdown-seconds = 1\n");
    assert_ne!(short, PLAYBOOK);
    let other =
        "if [ \"$SHIPMATE_TEAMMATE\" = ana ]; then put src/api/half.sh half; pass never; fi";
    let mut scene = with(other, &[(".shipmate/playbooks/contract-first.toml", &short)]);
    scene.stage.door("never");
    let ran = run(&scene);
    ran.ends(
        0,
        &[
            "phase layers is done",
            "phase integrate is done",
            "5 of 5 tasks",
            "phase layers is left to the lead: the team's time of 12 s is over",
        ],
    );
    let log = scene.log();
    let cap = log.iter().position(|record| record["event"].get("phase.left_to_lead").is_some());
    let before = done_by(&log[..cap.unwrap()]);
    let all = done_by(&log);
    assert_eq!(all[..before.len()], before, "what was done stays as it was done");
    assert_eq!(of(&log, "task.reverted").len(), 0);
    let api = all.iter().find(|(subject, _)| subject.contains("API")).unwrap();
    assert_eq!(api.1, "lead");
    // What was not handed in is kept aside, as far as it was.
    let aside = of(&log, "task.work_set_aside");
    let kept = aside.iter().find(|one| one["task"] == 4).unwrap_or_else(|| panic!("{aside:?}"));
    let half = format!("{}:src/api/half.sh", kept["work"].as_str().unwrap());
    assert_eq!(scene.stage.git(&["show", &half]).trim(), "half");
    for (subject, who) in &all[before.len()..] {
        let handed_in_before = of(&log[..cap.unwrap()], "task.submitted").len() > before.len();
        assert!(who == "lead" || handed_in_before, "{subject} by {who} after the cap");
    }
    // Everybody else was asked at once, with the cap's own time; later phases have no team.
    let asked = of(&log[cap.unwrap()..], "shutdown.requested").into_iter();
    let stop = asked.filter(|one| one["reason"].as_str().unwrap().contains("time"));
    assert!(stop.clone().count() >= 1);
    assert!(stop.into_iter().all(|one| one["deadline_ms"] == 1000));
    let text = checkpoint(&scene.stage);
    let open = "task 4 (Implement the API layer)";
    let told = "- the lead works alone: the team's time of 12 s is over; not done: ".to_owned();
    let line = text.lines().find(|line| line.starts_with(&told)).unwrap_or_default();
    assert!(line.contains(open), "{text}");
    let said = ran.err.lines().find(|line| line.contains("phase layers is left to the lead: "));
    assert!(said.unwrap_or_default().contains(open), "{}", ran.err);
}

#[test]
fn what_an_earlier_team_left_is_told_before_a_new_one_begins() {
    let scene = scene("");
    let plan = scene.stage.root().join("gone.toml");
    std::fs::write(&plan, "[[tasks]]\nid = \"a\"\nsubject = \"A\"\n").unwrap();
    let plan = plan.display().to_string();
    let agent = "echo 1 > gone.txt";
    let ran = ["run", &plan, "--playbook", "none", "--team", "gone", "--agent", agent, "--no-page"];
    assert!(scene.stage.shipmate(&ran).status.success());
    assert!(scene.stage.shipmate(&["team", "delete", "gone"]).status.success());
    // No team made this one: it is the person's.
    scene.stage.git(&["branch", "shipmate/mine"]);
    let ran = run(&scene);
    ran.ends(0, &["note: left over of gone: work that is in no branch of yours (1)"]);
    assert!(!ran.out.contains("of mine"), "{}", ran.out);
}

#[test]
fn a_configuration_that_is_not_understood_stops_the_run_with_its_line() {
    let scene = with("", &[(".claude/workflow.yaml", "commands:\n  lint: &x y\n")]);
    let ran = run(&scene);
    assert_ne!(ran.code, 0);
    assert!(
        ran.err.contains(".claude/workflow.yaml:2: &x y is more than is understood"),
        "{}",
        ran.err
    );
}

#[test]
fn a_value_of_the_command_line_is_stronger_than_the_project_s() {
    let mut scene = scene("");
    let full = "test_full=echo the full suite of the command line && false";
    let ran = scene.run("contract-first", &["plans/issue-42.md", "--set", full]);
    assert_ne!(ran.code, 0);
    assert!(ran.out.contains("the full suite of the command line"), "{}", ran.out);
    assert_eq!(scene.phases()[..2], ["contracts done", "layers done"]);
}

#[test]
fn the_team_is_named_after_its_plan() {
    let scene = with("", &[("plans/issue-42-greetings.md", PLAN)]);
    let agent = scene.agent();
    let args =
        ["run", "--playbook", "contract-first", "--agent", &agent, "plans/issue-42-greetings.md"];
    let ran = Ran::of(&scene.stage.shipmate(&args));
    ran.ends(0, &["5 of 5 tasks", "team issue-42-greetings"]);
    let branches = scene.stage.git(&["branch", "--list", "shipmate/*"]);
    assert_eq!(branches.trim(), "shipmate/issue-42-greetings");
    // Its name also fills in the pattern of the branch.
    let [own, team] = ["feature/42-greetings", "shipmate/issue-42-greetings"]
        .map(|branch| scene.stage.git(&["rev-parse", &format!("refs/heads/{branch}")]));
    assert_eq!(own, team);
}

#[test]
fn a_lead_that_cannot_work_ends_the_run_and_keeps_nobody_waiting() {
    let scene = scene("no-such-program");
    let ran = run(&scene);
    assert_ne!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("nothing done: 0 of 1 tasks"), "{}", ran.out);
}
