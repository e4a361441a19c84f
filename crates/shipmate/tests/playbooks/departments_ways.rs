//! Departments in other ways: in task mode, with plans that wait for another run, with one-shot
//! roles on demand, and with agents that leave something behind.

use serde_json::{Value, json};

use crate::departments::{
    AGENT, ALL, DIR, ONE, all, backend, backend_with, joined, landed, plan, says, status,
};
use crate::native::Native;
use crate::processes;
use crate::scene::Scene;
use crate::stage::{TEAM, of};
use crate::views;

/// Everything that is on the branch in a run's folder, without what is another each time.
fn papers(scene: &Scene) -> Vec<(String, String)> {
    let branch = format!("shipmate/{}", TEAM);
    let listed = scene.stage.git(&["ls-tree", "-r", "--name-only", &branch, DIR]);
    let text = |path: &str| {
        let text = scene.landed(path);
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(mut fields)) => {
                fields.retain(|key, _| !["ch", "dt"].contains(&key.as_str()));
                Value::Object(fields).to_string()
            }
            _ => text,
        }
    };
    listed.lines().map(|path| (path.to_owned(), text(path))).collect()
}

#[test]
fn in_task_mode_everybody_has_one_task_and_the_files_are_the_same() {
    let mut team = all("");
    team.run("departments", &ALL).ends(0, &[]);
    let mut task = all("team-mode = \"task\"\n");
    task.run("departments", &ALL).ends(0, &["phase owner_signoff is done"]);
    assert_eq!(papers(&team), papers(&task));
    assert_eq!(team.phases().len(), task.phases().len());
    for department in ["uiux", "frontend", "backend"] {
        let [one, other] = [&team, &task].map(|scene| {
            let mut status = status(scene, department, "complete");
            status.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_at"));
            status
        });
        assert_eq!(one, other);
    }
    let log = task.log();
    let of = |event: &str| -> Vec<Value> {
        log.iter().filter_map(|record| record["event"].get(event)).cloned().collect()
    };
    assert!(of("teammate.started").iter().all(|started| started["supervision"] == "one_shot"));
    let written = log.iter().filter(|record| record["event"].get("message.sent").is_some());
    let written: Vec<&Value> = written.filter(|record| record["by"] != "runtime").collect();
    assert!(written.is_empty(), "nobody writes to anybody: {written:?}");
}

#[test]
fn in_task_mode_a_handoff_is_the_result_of_the_task_and_held_against_the_same_kind() {
    let agent = AGENT.replace(
        r#"  "Write the "*)"#,
        r#"  "Write the service") put lib/service.sh service
    status=complete; [ -n "$SHIPMATE_FEEDBACK" ] || status=done
    h='{"type":"dev_progress","task":"01-02/T1","plan_id":"01-02","status"'
    printf '%s:"%s"}' "$h" $status > "$SHIPMATE_RESULT" ;;
  "Write the "*)"#,
    );
    let mut scene = backend_with("team-mode = \"task\"\n");
    says(&scene, "agent.sh", &script(&agent));
    let ran = scene.run("departments", &ONE);
    ran.ends(0, &["phase owner_signoff is done"]);
    let wrong = r#"and must be one of complete, partial, failed"#;
    let told = scene.log().iter().any(|record| record["event"].to_string().contains(wrong));
    assert!(told, "{}", ran.out);
    let done = scene.stage.events("task.completed");
    let results = done.iter().filter_map(|task| task["result"].as_str());
    let mut results = results.filter_map(|result| serde_json::from_str::<Value>(result).ok());
    let handed = json!({"type":"dev_progress","task":"01-02/T1","plan_id":"01-02",
        "status":"complete"});
    assert!(results.any(|result| result == handed));
}

/// A plan that comes after one that waits.
const AFTER: &str = r#"{"p":"02","n":"02","t":"Last","w":2,"d":["02-01"],"mh":{},"obj":"the end"}
{"id":"T1","tp":"auto","a":"Write the end","f":["lib/end.sh"],"v":"","done":"","spec":"the end"}
"#;

#[test]
fn a_plan_that_waits_for_another_run_holds_only_itself_and_what_comes_after_it() {
    let own = include_str!("departments/native-01-01.plan.jsonl");
    let plans = ["01-01", "02-01", "02-02"].map(|n| plan("backend", n));
    let mut scene = Scene::new(&[(&plans[0], own), (&plans[1], WAITS), (&plans[2], AFTER)], AGENT);
    let summary = "phases/00-base/00-01.summary.jsonl";
    let mut running = scene.begin("departments", &ONE);
    running.says(&format!("implementation waits: plan 02-01: {summary} is not there (the base)"));
    scene.stage.follow();
    let aliased = |event: &Value, alias: &str| event["task.created"]["spec"]["alias"] == alias;
    let first = scene.stage.hear(|event| aliased(event, "backend/01-01/T1"));
    let first = first["event"]["task.created"]["task"].clone();
    scene.stage.hear(|event| event["task.completed"]["task"] == first);
    let made = scene.stage.events("task.created");
    let held = |task: &Value| task["spec"]["alias"].as_str().unwrap().starts_with("backend/02-");
    assert!(!made.iter().any(held), "{made:?}");
    scene.stage.write(summary, "{\"p\":\"00\",\"n\":\"01\",\"s\":\"complete\",\"fm\":[]}\n");
    let parts = ["implementation has what it waited for", "owner_signoff is done"];
    running.ended().ends(0, &parts);
    for n in ["01-01", "02-01", "02-02"] {
        assert_eq!(landed(&scene, &format!("{n}.summary.jsonl"), &["ch", "dt"])["s"], "complete");
    }
    let began = scene.log();
    let began =
        began.iter().filter(|record| record["event"]["phase.began"]["phase"] == "implementation");
    assert_eq!(began.count(), 1);
}

/// A plan that waits for what another run leaves behind.
const WAITS: &str = include_str!("departments/waits-02-01.plan.jsonl");

#[test]
fn a_plan_is_begun_when_the_other_run_has_left_what_it_needs() {
    let scene = Scene::new(&[(&plan("backend", "02-01"), WAITS)], AGENT);
    let summary = "phases/00-base/00-01.summary.jsonl";
    let mut running = scene.begin("departments", &ONE);
    running.says(&format!("waits: plan 02-01: {summary} is not there (the base)"));
    scene.stage.write(summary, "{\"p\":\"00\",\"n\":\"01\",\"s\":\"partial\",\"fm\":[]}\n");
    running.says(&format!("waits: plan 02-01: {summary} is not far enough"));
    scene.stage.write(summary, "{\"p\":\"00\",\"n\":\"01\",\"s\":\"complete\",\"fm\":[]}\n");
    running
        .ended()
        .ends(0, &["yolo-backend: phase implementation begins", "owner_signoff is done"]);
    assert_eq!(landed(&scene, "02-01.summary.jsonl", &["ch", "dt"])["s"], "complete");
}

#[test]
fn a_lead_asks_for_a_scout_and_nobody_makes_a_teammate_of_one() {
    let agent = AGENT.replace(
        "echo \"nobody plans here\" >&2; exit 1 ;;",
        r#"
    put $folder/01-01.plan.jsonl '{"p":"01","n":"01","t":"One","w":1,"d":[],"mh":{},"obj":""}
{"id":"T1","tp":"auto","a":"Write the one","f":["lib/one.sh"],"v":"","done":"","spec":""}'
    as task create "Find out where it is" --role scout > "$S/notes/asked" 2>&1
    for role in scout debugger; do
      as teammate add rover --role $role --command "S=$S sh $S/agent.sh" > "$S/notes/rover-$role" 2>&1 || true
    done
    as team create yolo-more --parent yolo-backend > "$S/notes/more" 2>&1 || true
    as send scout "hello" > "$S/notes/hello" 2>&1 || true ;;
  "Find out "*) echo '{"domain":"code"}' > "$SHIPMATE_RESULT" ;;"#,
    );
    let mut scene = Scene::new(&[("README.md", "x\n")], &agent);
    let folder = ["--set", &format!("dir={DIR}"), "--set", "departments=backend"];
    let ran = scene.run("departments", &[&["Accounts for everybody"], &folder[..]].concat());
    ran.ends(0, &["yolo-backend/scout runs as a one-shot agent", "phase owner_signoff is done"]);
    let told =
        |name: &str| std::fs::read_to_string(scene.stage.root().join("notes").join(name)).unwrap();
    for note in ["rover-scout", "rover-debugger"] {
        let rover = told(note);
        assert!(rover.contains("a role that has a life for one task"), "{rover}");
    }
    let more = told("more");
    assert!(more.contains("the playbook says which departments there are"), "{more}");
    let log = scene.log();
    let scout = joined(&log, "yolo-backend");
    assert!(scout.contains(&"!scout".to_owned()) && !scout.contains(&"rover".to_owned()));
    let started = log.iter().filter_map(|record| record["event"].get("teammate.started"));
    let scouts: Vec<&Value> =
        started.filter(|started| started["who"] == "yolo-backend/scout@1").collect();
    assert_eq!(scouts.len(), 1);
    assert_eq!(scouts[0]["supervision"], "one_shot");
    // The spec that the plan leaves open is the Senior's, who comes with that step.
    let at = |event: &str, key: &str, value: &str| {
        log.iter().position(|record| record["event"][event][key] == value).unwrap()
    };
    let senior = at("teammate.added", "who", "yolo-backend/senior");
    assert!(senior > at("phase.began", "phase", "design_review"));
    assert!(senior < at("phase.ended", "phase", "design_review"));
    let plan = scene.landed(&format!("{DIR}/01-01.plan.jsonl"));
    assert!(plan.contains("\"spec\":\"as planned\""), "{plan}");
}

#[test]
fn seven_free_tasks_bring_five_devs() {
    let mut text =
        r#"{"p":"01","n":"01","t":"Seven","w":1,"d":[],"mh":{},"obj":"seven"}"#.to_owned();
    for n in 1..=7 {
        let task = json!({"id": format!("T{n}"), "tp": "auto", "a": format!("Write the part {n}"),
            "f": [format!("lib/{n}.sh")], "v": "", "done": "", "spec": "a part"});
        text.push_str(&format!("\n{task}"));
    }
    let mut scene = Scene::new(&[(&plan("backend", "01-01"), &text)], AGENT);
    scene.run("departments", &ONE).ends(0, &["phase owner_signoff is done"]);
    let devs = joined(&scene.log(), "yolo-backend");
    let devs: Vec<&String> = devs.iter().filter(|name| name.starts_with("dev")).collect();
    assert_eq!(devs, ["dev-1", "dev-2", "dev-3", "dev-4", "dev-5"]);
    assert_eq!(landed(&scene, "01-01.summary.jsonl", &["ch", "dt"])["tc"], 7);
}

#[test]
fn what_a_department_must_leave_alone_is_kept_from_it_while_the_others_write_it() {
    let agent = AGENT.replace(r#""Write the service") "#, r#""Write the service never") "#);
    let agent = agent.replace(
        r#"  "Write the "*)"#,
        r#"  "Write the store") put "$SHIPMATE_FILES" store
    if [ -z "$SHIPMATE_FEEDBACK" ]; then put src/pages/mine.sh mine; else rm -f src/pages/mine.sh; fi ;;
  "Write the "*)"#,
    );
    let scene = all("");
    says(&scene, "agent.sh", &script(&agent));
    let mut running = scene.begin("departments", &ALL);
    running.says("src/pages/mine.sh (protected)");
    let asked = scene.stage.shipmate(&["--team", "alpha", "questions", "--json"]);
    let asked: Value = serde_json::from_slice(&asked.stdout).unwrap();
    let id = asked[0]["id"].to_string();
    scene.stage.shipmate(&["--team", "alpha", "answer", id.trim_matches('"'), "refuse"]);
    running.ended().ends(0, &["phase owner_signoff is done"]);
    assert!(!scene.stage.has_file("src/pages/mine.sh"));
    assert!(scene.stage.has_file("src/pages/list.sh"), "the frontend's own landed");
}

fn script(agent: &str) -> String {
    format!("#!/bin/sh\nset -eu\ncat > /dev/null\n. \"$S/words.sh\"\n{agent}\n")
}

/// The playbook with another time to stop in.
fn hurried(scene: &mut Scene, seconds: u32) {
    let text = include_str!("../../../shipmate-playbook/src/builtin/departments.toml");
    let text = text.replace("shutdown-seconds = 30", &format!("shutdown-seconds = {seconds}"));
    scene.stage.write(".shipmate/playbooks/departments.toml", &text);
    scene.stage.commit();
}

#[test]
fn who_does_not_answer_its_shutdown_is_in_the_summary_of_its_plan_alone() {
    // Everybody has the same time, and one that stands still for so long does not answer either.
    assert!(unanswered(1) || unanswered(20) || unanswered(100), "others are late too");
}

/// Whether only the one that was frozen did not answer in time.
fn unanswered(seconds: u32) -> bool {
    let mut scene = backend();
    hurried(&mut scene, seconds);
    scene.stage.door("review");
    let agent =
        AGENT.replace(r#""Review the code"*) "#, r#""Review the code"*) here; pass review; "#);
    says(&scene, "agent.sh", &script(&agent));
    let running = scene.begin("departments", &ONE);
    scene.stage.arrival();
    // Its supervisor is there and says nothing from now on.
    let frozen = supervisor(&scene, "yolo-backend.dev-1@");
    processes::signal(frozen, rustix::process::Signal::STOP);
    scene.stage.open("review", 1);
    let told = format!("[SHUTDOWN] Timeout: yolo-backend/dev-1 did not respond within {seconds}s.");
    running.ended().ends(0, &[told.as_str(), "phase owner_signoff is done"]);
    let last = scene.log();
    let mut last = last.iter().filter_map(|record| record["event"].get("task.claimed"));
    let last = last.rfind(|claim| claim["by"] == "yolo-backend/dev-1@1").unwrap()["task"].clone();
    let (own, other) = match last.as_u64().unwrap() {
        6 => ("01-02", "01-01"),
        _ => ("01-01", "01-02"),
    };
    let dv =
        |plan: &str| landed(&scene, &format!("{plan}.summary.jsonl"), &["ch", "dt"])["dv"].clone();
    let (own, other) = (dv(own), dv(other));
    let is_other_late = scene.stage.events("shutdown.timed_out").len() > 1;
    if is_other_late && (&own, &other) != (&json!([told]), &json!([])) {
        return false;
    }
    assert_eq!(own, json!([told]));
    assert_eq!(other, json!([]));
    true
}

/// A dev that has begun to write the store and waits; whoever takes it after that one writes it.
const HALF: &str = r#"  "Write the store")
    if [ "$SHIPMATE_TEAMMATE" = dev-1 ]; then
      put lib/store.sh half; here; pass store; as shutdown --answer "$(cat "$S/notes/asked")" --left "T1 tests"
      exit 1
    fi
    put lib/store.sh store ;;
  "Write the "*)"#;

#[test]
fn what_somebody_leaves_behind_is_kept_and_in_the_summary_of_its_plan_alone() {
    let mut scene = backend();
    scene.stage.door("store");
    says(&scene, "agent.sh", &script(&AGENT.replace(r#"  "Write the "*)"#, HALF)));
    let running = scene.begin("departments", &ONE);
    scene.stage.arrival();
    scene.stage.follow();
    let asks = ["--team", "yolo-backend", "shutdown", "dev-1", "--no-wait", "--deadline", "600s"];
    assert!(scene.stage.shipmate(&asks).status.success());
    let asked = scene.stage.hear(|event| event.get("shutdown.requested").is_some());
    says(&scene, "asked", &asked["n"].to_string());
    scene.stage.open("store", 1);
    running.ended().ends(0, &["phase owner_signoff is done"]);
    let dv =
        |plan: &str| landed(&scene, &format!("{plan}.summary.jsonl"), &["ch", "dt"])["dv"].clone();
    assert_eq!(dv("01-02"), json!([]));
    let dv = dv("01-01");
    let texts: Vec<&str> =
        dv.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert!(texts.contains(&"yolo-backend/dev-1 left work in progress: T1 tests"), "{texts:?}");
    let kept = texts
        .iter()
        .find_map(|text| text.strip_prefix("work of dev-1 on backend/01-01/T1 was set aside: "));
    let kept = kept.unwrap_or_else(|| panic!("{texts:?}"));
    assert_eq!(scene.stage.git(&["show", &format!("{kept}:lib/store.sh")]), "half\n");
    assert_eq!(scene.stage.file("lib/store.sh"), "store\n");
}

#[test]
fn who_ends_without_an_answer_is_told_and_the_rest_is_looked_at_all_the_same() {
    let mut scene = backend();
    scene.stage.door("review");
    let agent =
        AGENT.replace(r#""Review the code"*) "#, r#""Review the code"*) here; pass review; "#);
    says(&scene, "agent.sh", &script(&agent));
    let running = scene.begin("departments", &ONE);
    scene.stage.arrival();
    scene.stage.follow();
    let frozen = supervisor(&scene, "yolo-backend.dev-1@");
    processes::signal(frozen, rustix::process::Signal::STOP);
    let asks = ["--team", "yolo-backend", "shutdown", "dev-1", "--no-wait", "--deadline", "600s"];
    assert!(scene.stage.shipmate(&asks).status.success());
    scene.stage.hear(|event| event.get("shutdown.requested").is_some());
    processes::kill(frozen);
    scene.stage.hear(|event| event.get("teammate.stopped").is_some());
    scene.stage.open("review", 1);
    let told = "[SHUTDOWN] Protocol failed, force-proceeding with cleanup. yolo-backend/dev-1 ended \
                without an answer";
    running.ended().ends(0, &[told, "phase owner_signoff is done"]);
    let dv = ["01-01", "01-02"].map(|plan| {
        landed(&scene, &format!("{plan}.summary.jsonl"), &["ch", "dt"])["dv"].to_string()
    });
    assert!(dv.concat().contains(told), "{dv:?}");
}

fn supervisor(scene: &Scene, of: &str) -> u32 {
    let found = scene.stage.processes("supervisor");
    found.iter().find(|one| one.label.starts_with(of)).expect("it has a supervisor").pid
}

#[test]
fn a_department_whose_agents_die_goes_on_with_one_shots_and_the_others_as_they_were() {
    let mut scene = all("");
    scene.stage.door("page");
    let agent = AGENT.replace(
        r#"  "Write the "*)"#,
        r#"  "Write the page") here; pass page; put "$SHIPMATE_FILES" page ;;
  "Write the "*)"#,
    );
    says(&scene, "agent.sh", &script(&agent));
    let running = scene.begin("departments", &ALL);
    for _ in 0..2 {
        scene.stage.arrival();
        processes::kill(supervisor(&scene, "yolo-frontend.fe-dev-1@"));
    }
    scene.stage.arrival();
    scene.stage.open("page", 3);
    let ran = running.ended();
    ran.ends(
        0,
        &["[HEALTH] Agent yolo-frontend/fe-dev-1 disappeared: ", "phase owner_signoff is done"],
    );
    let told = "[FALLBACK] teammates disappeared one after the other: switching from teammate to task \
                for yolo-frontend";
    assert!(ran.err.contains(told), "{}", ran.err);
    let dv = landed(&scene, "frontend/01-01.summary.jsonl", &["ch", "dt"])["dv"].to_string();
    assert!(
        dv.contains(told) && dv.contains("[HEALTH] Agent yolo-frontend/fe-dev-1 disappeared"),
        "{dv}"
    );
    assert_eq!(landed(&scene, "01-01.summary.jsonl", &["ch", "dt"])["dv"], json!([]));
    for record in scene.log() {
        let started = &record["event"]["teammate.started"];
        let one_shot = started["supervision"] == "one_shot";
        let own = started["who"].as_str().is_some_and(|who| who.starts_with("yolo-backend/"));
        assert!(!(one_shot && own), "the backend has its teammates: {started}");
    }
    status(&scene, "frontend", "complete");
    let path = views::views(&scene.stage).join(DIR).join("frontend/.agent-health.jsonl");
    let dev: Vec<Value> = views::until(&scene.stage.place().team(TEAM), || {
        let text = std::fs::read_to_string(&path).ok()?;
        let health = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let dev = health.filter(|line| line["agent_id"] == "fe-dev-1").collect::<Vec<_>>();
        (dev.len() >= 4).then_some(dev)
    });
    let words: Vec<&Value> = dev.iter().map(|line| &line["state"]).collect();
    assert_eq!(words[..4], ["start", "disappeared", "start", "disappeared"]);
    let keys: Vec<&String> = dev[1].as_object().unwrap().keys().collect();
    let all = ["agent_id", "dept", "prev_state", "state", "timeout_triggered", "timestamp", "type"];
    assert_eq!(keys, all);
    assert_eq!((&dev[1]["dept"], &dev[1]["prev_state"]), (&json!("frontend"), &json!("start")));
    assert_eq!(dev[1]["type"], "agent_health_event");
    let at = dev[1]["timestamp"].as_str().unwrap();
    assert!(at.len() == 20 && at.as_bytes()[10] == b'T' && at.ends_with('Z'), "{at}");
    let is_sent =
        |record: &Value| record["event"]["message.sent"]["kind"]["handoff"] == "agent_health_event";
    assert!(!scene.log().iter().any(is_sent), "nobody sends it");
}

/// Who sent which handoff to whom, of everybody's own.
fn handed(log: &[Value]) -> Vec<String> {
    let sent = log.iter().filter(|record| record["by"] != "runtime").filter_map(|record| {
        let sent = record["event"].get("message.sent")?;
        let kind = sent["kind"]["handoff"].as_str()?;
        let by = record["by"].as_str()?.split('@').next()?;
        let to = sent["to"].as_array()?.iter().map(recipient).collect::<Vec<_>>().join(", ");
        Some(format!("{by} {kind} {to}"))
    });
    sent.collect()
}

fn recipient(to: &Value) -> String {
    let named = to.as_str().or_else(|| to["member"].as_str());
    named.map_or_else(|| to.to_string(), str::to_owned)
}

#[test]
fn native_agents_take_a_department_from_its_plan_to_the_sign_off_and_hand_over_in_words_that_fit() {
    let plan = (plan("backend", "01-01"), include_str!("departments/native-01-01.plan.jsonl"));
    let model = include_str!("departments/native.model");
    let native = Native::new(model, &[(&plan.0, plan.1)]);
    let running = native.begin("departments", &[DIR, "--set", "departments=backend"]);
    let Native { mut scene, server, .. } = native;
    // The dev goes on when the owner has answered what the lead told it.
    server.wait_for(|request| request.contains("Write the store"));
    scene.stage.follow();
    scene.stage.hear(|event| event["message.sent"]["kind"]["handoff"] == "owner_review");
    server.release("reviewed");
    running.ended().ends(0, &["phase owner_signoff is done"]);
    assert_eq!(
        landed(&scene, "01-01.summary.jsonl", &["ch", "dt"]),
        json!({"p":"01","n":"01","t":"Store","s":"complete","tc":1,"tt":1,"fm":["lib/store.sh"],
            "dv":[],"built":["Write the store"],"tst":"no_tests"})
    );
    assert_eq!(landed(&scene, "owner-signoff.json", &[])["decision"], "SHIP");
    let own = |words: &str| words.replace('~', "yolo-backend/");
    let all = [
        "~architect architecture_design ~yolo-lead",
        "~yolo-lead phase_progress alpha/owner",
        "alpha/owner owner_review ~yolo-lead",
        "~dev-1 dev_progress ~senior",
        "~dev-1 task_complete ~yolo-lead",
        "~senior code_review_result ~yolo-lead",
        "~qa qa_result ~yolo-lead",
        "~security security_audit ~yolo-lead",
    ];
    assert_eq!(handed(&scene.log()), all.map(own));
    // What did not fit was refused, and whoever sent it was told what does.
    for told in [
        "architecture_design is not as its kind says: decisions is \"a file\" and must be a list, \
         each of it an object with alternatives, decision, rationale",
        "dev_progress is not as its kind says: status is \"done\" and must be one of complete, \
         partial, failed",
        "mend that and send it again, such as {",
        "yolo-backend/dev-1 (dev) may not send dev_blocker to yolo-backend/yolo-lead; it may write to: \
         senior (message, dev_progress, dev_blocker, escalation), lead (task_claim, \
         task_complete)",
        "yolo-backend/dev-1 (dev) may not send message to yolo-backend/architect",
        "department_result is not sent: it goes by file, department-result-{department}.json",
        "alpha/owner (owner) may not send message to yolo-backend/architect",
    ] {
        let requests = server.requests();
        assert!(requests.iter().any(|request| request.contains(told)), "nobody was told {told:?}");
    }
}

/// All work may be in the teams below: the one above has no task of its own.
#[test]
fn a_run_that_works_or_is_not_merged_is_not_replaced_by_the_next() {
    let mut scene = backend();
    let args = [&ONE[..], &["--skip", "critique", "--set", "integration=true"]].concat();
    let mut run = scene.begin("departments", &args);
    run.says("takes task");
    let again = scene.run("departments", &args);
    assert_eq!(again.code, 1, "{}", again.out);
    assert!(again.err.contains("there is a team alpha already"), "{}", again.err);
    run.ended().ends(0, &["phase owner_signoff is done"]);
    // What was run is told as such.
    assert_eq!(landed(&scene, "owner-signoff.json", &[])["integration_qa"], "PASS");
    let again = scene.run("departments", &args);
    assert_eq!(again.code, 1, "{}", again.out);
    assert!(again.err.contains("the team alpha is over, and"), "{}", again.err);
    let log = scene.log();
    assert!(of(&log, "team.deletion_requested").is_empty(), "nobody ended it");
}
