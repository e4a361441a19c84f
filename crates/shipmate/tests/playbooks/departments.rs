//! Departments under an owner, from their own plan files to the sign-off, with a scripted command
//! behind every role.

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::views;

pub(crate) const DIR: &str = "phases/01-accounts";

const BACKEND: &str = include_str!("departments/backend-01-01.plan.jsonl");

const SECOND: &str = include_str!("departments/backend-01-02.plan.jsonl");

/// What everybody does, by subject; `says` decides what the verdicts are.
pub(crate) const AGENT: &str = include_str!("departments/agent.sh");

pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

const UIUX: &str = include_str!("departments/uiux-01-01.plan.jsonl");

const FRONTEND: &str = include_str!("departments/frontend-01-01.plan.jsonl");

pub(crate) fn plan(department: &str, n: &str) -> String {
    match department {
        "backend" => format!("{DIR}/{n}.plan.jsonl"),
        other => format!("{DIR}/{other}/{n}.plan.jsonl"),
    }
}

pub(crate) fn backend() -> Scene {
    backend_with("")
}

pub(crate) fn backend_with(config: &str) -> Scene {
    let (first, second) = (plan("backend", "01-01"), plan("backend", "01-02"));
    Scene::with(config, &[(&first, BACKEND), (&second, SECOND)], AGENT)
}

pub(crate) fn all(config: &str) -> Scene {
    let (uiux, frontend) = (plan("uiux", "01-01"), plan("frontend", "01-01"));
    let (first, second) = (plan("backend", "01-01"), plan("backend", "01-02"));
    let files =
        [(uiux.as_str(), UIUX), (&frontend, FRONTEND), (&first, BACKEND), (&second, SECOND)];
    Scene::with(config, &files, AGENT)
}

/// A piece of work that has tests is tested; one that has none passes.
pub(crate) const TEST_ONE: &str = "test-one=t=tests/{id}.sh; test ! -e $t || sh $t";
pub(crate) const ONE: [&str; 5] = [DIR, "--set", "departments=backend", "--set", TEST_ONE];
pub(crate) const ALL: [&str; 3] = [DIR, "--set", TEST_ONE];

/// A file of the branch without what is another each time.
#[track_caller]
pub(crate) fn landed(scene: &Scene, path: &str, without: &[&str]) -> Value {
    let text = scene.landed(&format!("{DIR}/{path}"));
    assert_eq!(text.lines().count(), 1, "{path}: {text}");
    let mut value = json_of(&text);
    for key in without {
        assert!(value.as_object_mut().unwrap().remove(*key).is_some(), "{path} has {key}");
    }
    value
}

/// A file that is for reading only, once it says so: views follow the log, a moment later.
#[track_caller]
pub(crate) fn view(scene: &Scene, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let path = views::views(&scene.stage).join(DIR).join(path);
    let team = scene.stage.place().team(crate::stage::TEAM);
    views::until(&team, || views::json_of(&path).filter(&fits))
}

/// The same of what a department has done, once it has this status.
#[track_caller]
pub(crate) fn status(scene: &Scene, department: &str, status: &str) -> Value {
    let path = format!(".dept-status-{department}.json");
    view(scene, &path, |shown| shown["status"] == status)
}

/// What somebody says, a line for each time it is asked.
pub(crate) fn says(scene: &Scene, what: &str, lines: &str) {
    let script = what.ends_with(".sh");
    let what = if script { what.to_owned() } else { format!("notes/{what}") };
    std::fs::write(scene.stage.root().join(what), lines).unwrap();
}

/// Who joined a team, in order, `!` at those with a life for each task.
pub(crate) fn joined(log: &[Value], team: &str) -> Vec<String> {
    let added = log.iter().filter_map(|record| record["event"].get("teammate.added"));
    let own = added.filter_map(|added| {
        let (of, name) = added["who"].as_str()?.split_once('/')?;
        let mark = if added["profile"]["one_shot"] == true { "!" } else { "" };
        (of == team).then(|| format!("{mark}{name}"))
    });
    own.collect()
}

const STEPS: [&str; 9] = [
    "architecture",
    "planning",
    "design_review",
    "test_authoring",
    "implementation",
    "code_review",
    "qa",
    "security",
    "signoff",
];

#[test]
fn a_department_goes_from_its_plans_to_the_sign_off() {
    let mut scene = backend();
    scene.run("departments", &ONE).ends(0, &["phase owner_signoff is done"]);
    let mut phases = vec!["critique done".to_owned()];
    phases.extend(STEPS.map(|step| format!("yolo-backend: {step} done")));
    phases.extend(["departments", "integration", "owner_signoff"].map(|one| format!("{one} done")));
    assert_eq!(scene.phases(), phases);
    assert_eq!(
        landed(&scene, "01-01.summary.jsonl", &["ch", "dt"]),
        json!({"p":"01","n":"01","t":"Store","s":"complete","tc":2,"tt":2,
            "fm":["lib/query.sh","lib/store.sh"],"dv":[],
            "built":["Write the store","Write the query"],"tst":"red_green"})
    );
    assert_eq!(
        landed(&scene, "01-02.summary.jsonl", &["ch", "dt"]),
        json!({"p":"01","n":"02","t":"Service","s":"complete","tc":1,"tt":1,
            "fm":["lib/service.sh"],"dv":[],"built":["Write the service"],"tst":"green_only"})
    );
    assert_eq!(
        landed(&scene, "department-result-backend.json", &[]),
        json!({"type":"department_result","department":"backend","phase":"01","result":"PASS",
            "plans_completed":2,"plans_total":2,"qa_result":"PASS","security_result":"PASS",
            "tdd_coverage":33})
    );
    assert_eq!(
        landed(&scene, "owner-signoff.json", &[]),
        json!({"type":"owner_signoff","phase":"01","decision":"SHIP",
            "departments_approved":["backend"],"integration_qa":"skipped","notes":""})
    );
    assert_eq!(scene.landed(&format!("{DIR}/architecture.toon")), "decision: files\n");
}

#[test]
fn a_roster_joins_step_by_step_and_the_tester_before_the_devs() {
    let mut scene = backend();
    scene.run("departments", &ONE).ends(0, &[]);
    let log = scene.log();
    assert_eq!(joined(&log, "alpha"), ["owner", "!critic"]);
    let all = [
        "yolo-lead",
        "!scout",
        "!debugger",
        "architect",
        "senior",
        "tester",
        "dev-1",
        "dev-2",
        "dev-3",
        "qa",
        "qa-code",
        "security",
    ];
    assert_eq!(joined(&log, "yolo-backend"), all);
    // Nobody is there before the step that it is for.
    let at = |event: &str, field: &str, value: &str| {
        let fits = |record: &&Value| record["event"][event][field] == value;
        log.iter().find(fits).map(|record| record["n"].as_u64().unwrap()).unwrap()
    };
    for (who, step) in [
        ("architect", "architecture"),
        ("tester", "test_authoring"),
        ("dev-1", "implementation"),
        ("qa", "qa"),
        ("qa-code", "qa"),
        ("security", "security"),
    ] {
        let added = at("teammate.added", "who", &format!("yolo-backend/{who}"));
        let began = at("phase.began", "phase", step);
        assert!(added > began && added < began + 20, "{who} joins with {step}");
    }
    let designed = at("team.created", "team", "yolo-backend");
    assert!(at("phase.ended", "phase", "critique") < designed, "criticised before there is a team");
    let critic = at("teammate.added", "who", "alpha/critic");
    assert!(critic > at("phase.began", "phase", "critique"), "it joins with its phase");
    assert!(critic < at("phase.ended", "phase", "critique"), "and is there for it");
    for (role, text) in [
        ("architect", "critique.jsonl"),
        ("tester", "what was added is listed"),
        ("dev", "a file with add and list"),
    ] {
        let is_told = |record: &Value| {
            let spec = &record["event"]["task.created"]["spec"];
            let words = spec["description"].as_str();
            spec["role"] == role && words.is_some_and(|words| words.contains(text))
        };
        assert!(log.iter().any(is_told), "{role} is told {text}");
    }
}

#[test]
fn three_departments_work_beside_each_other_after_the_design() {
    let mut scene = all("");
    scene.run("departments", &ALL).ends(0, &["phase owner_signoff is done"]);
    let log = scene.log();
    let created = log.iter().filter_map(|record| record["event"].get("team.created"));
    let teams: Vec<(&str, &str)> = created
        .map(|team| (team["team"].as_str().unwrap(), team["description"].as_str().unwrap_or("")))
        .skip(1)
        .collect();
    assert_eq!(
        teams,
        [
            ("yolo-uiux", "UI/UX engineering team for phase 01: accounts"),
            ("yolo-frontend", "Frontend engineering team for phase 01: accounts"),
            ("yolo-backend", "Backend engineering team for phase 01: accounts"),
        ]
    );
    let n = |event: &str, team: &str, phase: &str| {
        let fits = |record: &&Value| {
            let fields = &record["event"][event];
            fields["team"] == team && fields["phase"] == phase
        };
        log.iter().find(fits).unwrap_or_else(|| panic!("{event} {team} {phase}"))["n"]
            .as_u64()
            .unwrap()
    };
    let designed = n("phase.ended", "yolo-uiux", "signoff");
    for team in ["yolo-frontend", "yolo-backend"] {
        assert!(n("phase.began", team, "architecture") > designed, "{team} waits for the design");
    }
    // Beside each other: each begins before the other is through.
    assert!(
        n("phase.began", "yolo-frontend", "architecture")
            < n("phase.ended", "yolo-backend", "signoff")
    );
    assert!(
        n("phase.began", "yolo-backend", "architecture")
            < n("phase.ended", "yolo-frontend", "signoff")
    );
    for (team, prefix) in [("yolo-uiux", "ux-"), ("yolo-frontend", "fe-")] {
        let roster = joined(&log, team);
        let own = ["architect", "senior", "dev-1", "qa", "qa-code"];
        let own = own.map(|role| format!("{prefix}{role}"));
        let mut all = vec![format!("yolo-{prefix}lead")];
        all.extend(["!scout", "!debugger"].map(str::to_owned));
        all.extend(own);
        assert!(roster.iter().all(|name| !name.contains("security")), "{team} has no security");
        let more = roster.iter().filter(|name| !all.contains(name)).collect::<Vec<_>>();
        let is_dev = |name: &&&String| name.starts_with(&format!("{prefix}dev-"));
        assert_eq!(more.iter().filter(|name| !is_dev(name)).count(), 0, "{team}: {roster:?}");
        assert!(all.iter().all(|name| roster.contains(name)), "{team}: {roster:?}");
    }
    for (department, security) in
        [("uiux", "skipped"), ("frontend", "skipped"), ("backend", "PASS")]
    {
        let result = landed(&scene, &format!("department-result-{department}.json"), &[]);
        assert_eq!(
            (&result["result"], &result["security_result"]),
            (&json!("PASS"), &json!(security))
        );
    }
    let signoff = landed(&scene, "owner-signoff.json", &[]);
    assert_eq!(signoff["decision"], "SHIP");
    assert_eq!(signoff["departments_approved"], json!(["uiux", "frontend", "backend"]));
    view(&scene, ".phase-orchestration.json", |states| {
        let gates = ["ux-complete", "api-contract", "all-depts"];
        gates.iter().all(|gate| states["gates"][gate]["status"] == "passed")
            && states["departments"]["frontend"]["status"] == "complete"
    });
    let status = status(&scene, "backend", "complete");
    let keys: Vec<&String> = status.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "dept",
            "error",
            "plans_complete",
            "plans_total",
            "started_at",
            "status",
            "step",
            "updated_at"
        ]
    );
    assert_eq!(status["plans_complete"], 2);
    let state = view(&scene, "frontend/.execution-state.json", |state| {
        let is = |step: &str, status: &str| state["steps"][step]["status"] == status;
        is("critique", "complete") && is("security", "skipped") && is("test_authoring", "skipped")
    });
    let steps = &state["steps"];
    assert_eq!(steps.as_object().unwrap().len(), 10, "{steps}");
    assert_eq!(steps["security"]["reason"], "yolo-frontend has no such step");
    assert_eq!(steps["test_authoring"]["reason"], "there is nothing to do in it");
}

#[test]
fn one_department_fails_and_the_others_go_on() {
    let mut scene = all("");
    let broken = FRONTEND.replace("Write the page", "Break the page");
    scene.stage.write(&plan("frontend", "01-01"), &broken);
    scene.stage.commit();
    let ran = scene.run("departments", &ALL);
    ran.ends(8, &["yolo-frontend: phase implementation failed", "owner_signoff failed"]);
    let phases = scene.phases();
    assert!(phases.contains(&"yolo-backend: signoff done".to_owned()), "{phases:?}");
    assert!(phases.contains(&"yolo-frontend: implementation failed".to_owned()), "{phases:?}");
    let results = ["uiux", "frontend", "backend"].map(|department| {
        landed(&scene, &format!("department-result-{department}.json"), &[])["result"].clone()
    });
    assert_eq!(results, ["PASS", "FAIL", "PASS"]);
    let signoff = landed(&scene, "owner-signoff.json", &["notes"]);
    assert_eq!(
        (&signoff["decision"], &signoff["integration_qa"]),
        (&json!("HOLD"), &json!("FAIL"))
    );
    assert_eq!(signoff["departments_approved"], json!(["uiux", "backend"]));
    let summary = landed(&scene, "frontend/01-01.summary.jsonl", &["dt", "dv"]);
    assert_eq!((&summary["s"], &summary["tc"]), (&json!("failed"), &json!(0)));
    let failed = status(&scene, "frontend", "failed");
    assert!(failed["error"].as_str().unwrap().contains("Break the page"), "{failed}");
    status(&scene, "backend", "complete");
    for (team, word) in [("yolo-frontend", "error: "), ("yolo-backend", "phase_complete")] {
        let asked = scene.stage.events("shutdown.requested").into_iter().find(|asked| {
            asked["who"].as_str().is_some_and(|who| who.starts_with(&format!("{team}/")))
        });
        let asked = asked.unwrap();
        assert!(asked["reason"].as_str().unwrap().starts_with(word), "{asked}");
        assert_eq!(asked["deadline_ms"], 30_000);
    }
}

#[test]
fn a_design_that_is_a_draft_lets_nobody_through() {
    let mut scene = all("");
    says(&scene, "handoff", "draft\n");
    // What an earlier run left, or broke, says nothing about this one.
    scene.stage.write(&format!("{DIR}/.handoff-ux-complete"), "");
    scene.stage.write(&format!("{DIR}/.dept-status-uiux.json"), r#"{"status":"complete"}"#);
    scene.stage.write(&format!("{DIR}/.dept-status-backend.json"), r#"{"status":"complete"}"#);
    scene.stage.write(&format!("{DIR}/.dept-status-frontend.json"), "{");
    scene.stage.commit();
    let ran = scene.run("departments", &ALL);
    let told = "ux-complete: phases/01-accounts/design-handoff.jsonl is not far enough: no line of it \
                says status is complete or ready";
    ran.ends(8, &["yolo-uiux: phase signoff is done", told]);
    let log = scene.log();
    for team in ["yolo-frontend", "yolo-backend"] {
        assert_eq!(joined(&log, team), [""; 0], "{team} has not begun");
    }
    let states = view(&scene, ".phase-orchestration.json", |_| true);
    for gate in ["ux-complete", "all-depts"] {
        assert_eq!(states["gates"][gate]["status"], "pending", "{states}");
    }
    for department in ["frontend", "backend"] {
        let path = format!(".dept-status-{department}.json");
        assert_eq!(view(&scene, &path, |_| true)["status"], "pending", "{department}");
    }
}

#[test]
fn a_contract_that_is_only_proposed_holds_the_whole_and_an_implemented_one_lets_it_go() {
    let two = [DIR, "--set", TEST_ONE, "--set", "departments=backend, frontend"];
    for (word, code, decision) in [("proposed", 8, "HOLD"), ("implemented", 0, "SHIP")] {
        let mut scene = all("");
        says(&scene, "contract", &format!("{word}\n").repeat(2));
        let ran = scene.run("departments", &two);
        ran.ends(code, &["yolo-frontend: phase signoff is done", "phase integration"]);
        let closed = "api-contract: phases/01-accounts/api-contracts.jsonl is not far enough";
        assert_eq!(ran.out.contains(closed), code != 0, "{}", ran.out);
        assert_eq!(landed(&scene, "owner-signoff.json", &["notes"])["decision"], decision);
        assert_eq!(joined(&scene.log(), "yolo-uiux"), [""; 0], "it takes no part");
    }
}

#[test]
fn a_review_goes_back_twice_and_then_the_lead_settles_it() {
    let mut scene = backend();
    let changes = "changes_requested\n".repeat(3);
    says(&scene, "review.yolo-backend", &changes);
    let ran = scene.run("departments", &ONE);
    ran.ends(
        0,
        &["phase code_review goes back", "phase code_review goes back", "is left to the lead"],
    );
    let phases = scene.phases();
    let of =
        |end: &str| phases.iter().filter(|one| *one == &format!("yolo-backend: {end}")).count();
    assert_eq!(
        (of("code_review back"), of("code_review done"), of("implementation done")),
        (2, 1, 3)
    );
    let settled = scene.log();
    let settled = settled.iter().filter_map(|record| record["event"].get("task.created"));
    let settled: Vec<&Value> =
        settled.filter(|task| task["spec"]["subject"] == "Settle phase code_review").collect();
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0]["spec"]["assignee"], "yolo-lead");
}

#[test]
fn a_failed_verification_goes_back_and_the_audit_waits_for_one_that_passes() {
    let mut scene = backend();
    says(&scene, "qa.yolo-backend", "FAIL\nPASS\n");
    scene.run("departments", &ONE).ends(0, &["phase qa goes back", "phase owner_signoff is done"]);
    let phases = scene.phases();
    let from = phases.iter().position(|one| one == "yolo-backend: qa back").unwrap();
    assert_eq!(
        phases[from..from + 5],
        ["qa back", "implementation done", "code_review done", "qa done", "security done"]
            .map(|end| format!("yolo-backend: {end}"))
    );
    let added = |name: &str| joined(&scene.stage.log, "yolo-backend").iter().any(|one| one == name);
    assert!(added("security"));
    let log = &scene.stage.log;
    let at = |event: &str, key: &str, value: &str| {
        log.iter().rposition(|record| record["event"][event][key] == value).unwrap()
    };
    let security = at("teammate.added", "who", "yolo-backend/security");
    assert!(security > at("phase.ended", "phase", "qa"), "security joins after qa has passed");
}

#[test]
fn a_failed_audit_stops_everything_for_the_person() {
    let mut scene = backend();
    says(&scene, "security", "FAIL\n");
    let ran = scene.run("departments", &ONE);
    ran.ends(8, &["phase security failed", "yolo-backend stops everything in phase security"]);
    assert!(!scene.phases().iter().any(|one| one.contains("integration")), "nothing goes on");
    let signoff = landed(&scene, "owner-signoff.json", &["notes"]);
    assert_eq!(signoff["decision"], "HOLD");
    let told = scene.stage.inbox();
    assert!(
        told.iter().any(|body| body.contains("stops everything in phase security")),
        "{told:?}"
    );
}

#[test]
fn what_is_there_only_in_part_is_the_owners_choice() {
    for (word, code) in [("SHIP", 0), ("HOLD", 8)] {
        let scene = backend();
        says(&scene, "qa.yolo-backend", "PARTIAL\n");
        says(&scene, "owner", word);
        scene.run("departments", &ONE).ends(code, &["Decide whether accounts ships"]);
        let signoff = landed(&scene, "owner-signoff.json", &[]);
        assert_eq!(
            (&signoff["decision"], &signoff["notes"]),
            (&json!(word), &json!("good enough"))
        );
    }
}

#[test]
fn a_step_that_is_needed_cannot_be_left_out_and_one_that_is_not_is_recorded() {
    let mut scene = backend();
    for step in ["planning", "design_review", "implementation", "code_review", "signoff"] {
        let ran = scene.run("departments", &[&ONE[..], &["--skip", step]].concat());
        assert_ne!(ran.code, 0);
        assert!(
            ran.err.contains(&format!("phase {step} of departments cannot be left out")),
            "{}",
            ran.err
        );
    }
    let optional = ["critique", "architecture", "test_authoring", "qa", "security"];
    let skips: Vec<&str> = optional.iter().flat_map(|step| ["--skip", *step]).collect();
    scene
        .run("departments", &[&ONE[..], &skips[..]].concat())
        .ends(0, &["phase owner_signoff is done"]);
    let phases = scene.phases();
    assert!(phases.contains(&"critique skipped".to_owned()));
    for step in &optional[1..] {
        assert!(phases.contains(&format!("yolo-backend: {step} skipped")), "{phases:?}");
    }
    // Whoever a step that was left out would have brought comes with the next that needs it.
    assert_eq!(
        joined(&scene.log(), "yolo-backend")[3..],
        ["architect", "senior", "dev-1", "dev-2", "dev-3"]
    );
    // The plans and their specs are there: implementation is the first of its steps that begins.
    let log = scene.log();
    let at = |event: &str, field: &str, value: &str| {
        log.iter().position(|record| record["event"][event][field] == value).unwrap()
    };
    let began = at("phase.began", "phase", "implementation");
    for who in ["architect", "senior", "dev-1"] {
        assert!(at("teammate.added", "who", &format!("yolo-backend/{who}")) > began, "{who}");
    }
    view(&scene, ".execution-state.json", |state| {
        state["steps"]["qa"]["reason"] == "it was left out of this run"
    });
}

/// The lines of a department's health file about one member: state, and what it was before. The
/// last is waited for.
fn health(scene: &Scene, who: &str, last: &str) -> Vec<String> {
    let path = views::views(&scene.stage).join(DIR).join(".agent-health.jsonl");
    let team = scene.stage.place().team(crate::stage::TEAM);
    views::until(&team, || {
        let text = std::fs::read_to_string(&path).ok()?;
        let lines = text.lines().map(json_of).filter(|line| line["agent_id"] == who);
        let words = |line: Value| format!("{} after {}", line["state"], line["prev_state"]);
        let found: Vec<String> = lines.map(|line| words(line).replace('"', "")).collect();
        found.last().is_some_and(|shown| shown == last).then_some(found)
    })
}

#[test]
fn whoever_has_done_its_task_is_idle_in_the_health_file_until_it_stops() {
    let scene = backend();
    says(&scene, "review.yolo-backend", "changes_requested\napprove\n");
    scene.run("departments", &ONE).ends(0, &["phase owner_signoff is done"]);
    for who in ["architect", "tester", "qa", "qa-code", "security"] {
        let all = ["start after null", "idle after start", "stop after idle"];
        assert_eq!(health(&scene, who, all[2]), all, "{who}");
    }
    // It has reviewed twice.
    let all = ["start after null", "idle after start", "idle after idle", "stop after idle"];
    assert_eq!(health(&scene, "senior", all[3]), all);
    let map = view(&scene, ".agent-health.json", |map| map["qa-code"]["state"] == "stop");
    let keys: Vec<&String> = map["dev-1"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["dept", "prev_state", "state", "timestamp"]);
    for who in ["architect", "senior", "dev-1", "qa-code"] {
        let now = &map[who];
        assert_eq!((&now["state"], &now["dept"]), (&json!("stop"), &json!("backend")), "{who}");
        assert_eq!(now["prev_state"], "idle", "{who}");
    }
}

#[test]
fn the_lead_gives_each_dev_its_first_task_and_the_rest_is_taken() {
    let mut scene = backend();
    let first = "yolo-lead gives dev-1 its first task: Write the store";
    scene.run("departments", &ONE).ends(0, &[first, "phase owner_signoff is done"]);
    let log = scene.log();
    let made = log.iter().filter_map(|record| record["event"].get("task.created"));
    let given: Vec<(String, Value)> = made
        .map(|task| &task["spec"])
        .filter(|spec| spec["role"] == "dev")
        .map(|spec| (spec["subject"].as_str().unwrap().to_owned(), spec["assignee"].clone()))
        .collect();
    // The others wait for the store: whoever is free takes them.
    let nobody = Value::Null;
    for (subject, assignee) in &given {
        let wanted = if subject == "Write the store" { &json!("dev-1") } else { &nobody };
        assert_eq!(assignee, wanted, "{given:?}");
    }
    assert_eq!(given.len(), 3);
}
