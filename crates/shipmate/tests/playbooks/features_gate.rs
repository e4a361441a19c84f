//! When a feature of the features playbook counts as done, and what is said when it does not.

use serde_json::{Value, json};

use crate::features::{AGENT, INIT, feature, harness, one, run, scene_with};
use crate::scene::Scene;
use crate::stage::TEAM;

const ALONE: [&str; 2] = ["--set", "single=no"];

/// Fails the first attempt in a way, and does it right when it comes back.
fn mends(first: &str) -> String {
    format!(
        "if [ -n \"${{SHIPMATE_FEEDBACK:-}}\" ]; then\n{AGENT}\nelse\n\
         id=${{SHIPMATE_SUBJECT%%:*}}\nmkdir -p src/$id tests\n{first}\nfi\n"
    )
}

fn returned(scene: &mut Scene) -> Vec<String> {
    scene.log();
    let events = scene.stage.events("task.returned");
    events.iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_failing_test_behind_a_pipe_keeps_a_feature_from_passing() {
    let agent = mends("echo 'exit 1' > src/$id/a.sh; echo \"sh src/$id/a.sh\" > tests/$id.sh");
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], &agent);
    run(&scene, &ALONE).ends(0, &["1 of 1 task"]);
    let told = returned(&mut scene);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("bash -o pipefail .harness/init.sh"), "{told:?}");
    // Only the feature that came back has a correction cycle, and it is counted.
    assert_eq!(one(&scene, "F001")["correction_cycles"], 1);
}

#[test]
fn a_feature_without_a_test_or_with_untested_lines_goes_back_with_the_numbers() {
    let agent = mends("echo 'echo x' > src/$id/a.sh");
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], &agent);
    run(&scene, &ALONE).ends(0, &["1 of 1 task"]);
    let told = returned(&mut scene).join("\n");
    assert!(told.contains("it has no test_file: its work holds no file like"), "{told}");
    // 19 of 20 lines are enough, 18 are not.
    let lines = |hit: u32| {
        let report: String =
            (1..=20).map(|n| format!("DA:{n},{}\\n", u8::from(n <= hit))).collect();
        format!(
            "seq 20 | sed 's/^/: /' > src/$id/a.sh\n\
             echo \"printf 'SF:src/$id/a.sh\\n{report}end_of_record\\n' >> lcov.info\" > tests/$id.sh"
        )
    };
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], &mends(&lines(18)));
    run(&scene, &ALONE).ends(0, &["1 of 1 task"]);
    let told = returned(&mut scene).join("\n");
    let numbers =
        "its tests reach 18 of the 20 lines that it touches, 90 %, and the target is 95 %";
    assert!(told.contains(numbers), "{told}");
    assert!(told.contains("not reached: src/F001/a.sh:19-20"), "{told}");
    let enough = format!("id=${{SHIPMATE_SUBJECT%%:*}}\nmkdir -p src/$id tests\n{}", lines(19));
    let mut scene = scene_with(&[feature("F001", json!({}))], &[], &enough);
    run(&scene, &ALONE).ends(0, &["1 of 1 task"]);
    assert!(returned(&mut scene).is_empty());
    assert_eq!(one(&scene, "F001")["coverage"], 95);
    // A feature's own target counts before the playbook's.
    let own = feature("F001", json!({ "coverage_target": 80 }));
    let eighteen = enough.replace(&lines(19), &lines(18));
    let mut scene = scene_with(&[own], &[], &eighteen);
    run(&scene, &ALONE).ends(0, &["1 of 1 task"]);
    assert!(returned(&mut scene).is_empty());
    assert_eq!(one(&scene, "F001")["coverage"], 90);
}

#[test]
fn a_feature_that_never_gets_there_is_failed_with_the_reason_and_the_others_go_on() {
    let agent = format!(
        "id=${{SHIPMATE_SUBJECT%%:*}}\nif [ $id = F001 ]; then mkdir -p src/F001; \
         echo \": $SHIPMATE_ATTEMPT $$\" > src/F001/a.sh; exit 0; fi\n{AGENT}"
    );
    let features = [
        feature("F001", json!({})),
        feature("F002", json!({})),
        feature("F003", json!({ "depends_on": ["F001"] })),
    ];
    let mut scene = scene_with(&features, &[], &agent);
    let ran = run(&scene, &ALONE);
    assert_ne!(ran.code, 0, "{}", ran.out);
    assert_eq!(one(&scene, "F002")["status"], "passing");
    let failed = one(&scene, "F001");
    assert_eq!((&failed["status"], &failed["assigned_to"]), (&json!("failed"), &Value::Null));
    let notes = failed["notes"].as_str().unwrap();
    assert!(notes.starts_with("shipmate: it has no test_file"), "{notes}");
    assert_eq!(one(&scene, "F003")["status"], "blocked");
    let progress = scene.landed("claude-progress.txt");
    assert!(
        progress.contains("Next: F001, F003 left; `shipmate run --playbook features`"),
        "{progress}"
    );
    assert_eq!(scene.phases()[3], "build passed");
}

#[test]
fn a_project_that_does_not_build_starts_nobody() {
    let init = format!("{INIT}\necho no compiler >&2\nfalse | tail -1\n");
    let text = harness(&[feature("F001", json!({}))]);
    let files = [(".harness/features.json", text.as_str()), (".harness/init.sh", &init)];
    let mut scene = Scene::new(&files, AGENT);
    let ran = run(&scene, &[]);
    let told = format!("{}{}", ran.out, ran.err);
    assert_ne!(ran.code, 0, "{told}");
    assert!(told.contains("no compiler"), "{told}");
    scene.log();
    assert!(scene.stage.events("teammate.started").is_empty());
    // No init.sh at all passes nothing either.
    let mut scene = Scene::new(&files[..1], AGENT);
    let ran = run(&scene, &[]);
    let told = format!("{}{}", ran.out, ran.err);
    assert_ne!(ran.code, 0, "{told}");
    assert!(told.contains(".harness/init.sh is not there"), "{told}");
    scene.log();
    assert!(scene.stage.events("teammate.started").is_empty());
}

#[test]
fn an_init_that_writes_no_report_of_coverage_is_told_before_anybody_starts() {
    let text = harness(&[feature("F001", json!({}))]);
    let files = [(".harness/features.json", text.as_str()), (".harness/init.sh", "true\n")];
    let mut scene = Scene::new(&files, AGENT);
    let ran = run(&scene, &[]);
    let told = format!("{}{}", ran.out, ran.err);
    assert_ne!(ran.code, 0, "{told}");
    assert!(told.contains("init.sh has written no report of coverage"), "{told}");
    assert!(told.contains("run with --set coverage_target=no"), "{told}");
    scene.log();
    assert!(scene.stage.events("teammate.started").is_empty());
    let scene = Scene::new(&files, AGENT);
    run(&scene, &["--set", "single=no", "--set", "coverage_target=no"]).ends(0, &["1 of 1 task"]);
}

#[test]
fn whoever_cannot_mend_a_missing_report_is_told_who_can() {
    // There is one before anybody begins, and none where the work is looked at.
    let init = format!("{INIT}\n[ ! -d src ] || rm -f lcov.info\n");
    let text = harness(&[feature("F001", json!({}))]);
    let files = [
        (".harness/features.json", text.as_str()),
        (".harness/init.sh", &init),
        (".gitignore", "lcov.info\n"),
    ];
    let mut scene = Scene::new(&files, AGENT);
    let ran = run(&scene, &ALONE);
    assert_ne!(ran.code, 0, "{}", ran.out);
    let told = returned(&mut scene).join("\n");
    for part in [
        "the gate (bash -o pipefail .harness/init.sh) has written none of coverage.json",
        "no change of this task mends that: tell the lead",
        "The person who started the run lets the gate write one, or runs with --set \
         coverage_target=no",
    ] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
    assert!(ran.out.contains("--set coverage_target=no"), "{}", ran.out);
}

#[test]
fn a_tree_that_is_not_fit_begins_no_task_and_the_lead_is_told() {
    // Red only in a teammate's own tree: the agent of one has left something in the way there.
    let init = format!("{INIT}\ncase $PWD in *feature-*) echo not fit here; exit 3 ;; esac\n");
    let text = harness(&[feature("F001", json!({}))]);
    let files = [
        (".harness/features.json", text.as_str()),
        (".harness/init.sh", &init),
        (".gitignore", "lcov.info\n"),
    ];
    let mut scene = Scene::new(&files, &format!("here\n{AGENT}"));
    let ran = run(&scene, &ALONE);
    assert_ne!(ran.code, 0, "{}", ran.out);
    scene.log();
    let released = scene.stage.events("task.released");
    let reason = released[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the tree is not fit to begin in: `bash -o pipefail"), "{reason}");
    assert!(reason.contains("failed with exit status 3\nnot fit here"), "{reason}");
    assert!(scene.stage.events("task.submitted").is_empty());
    let told = scene.stage.events("message.sent");
    let told = told.iter().filter(|message| message["to"][0]["member"] == "alpha/lead");
    let told: Vec<&str> = told.filter_map(|message| message["body"].as_str()).collect();
    assert!(told.iter().any(|body| body.starts_with("task 1 was not begun: ")), "{told:?}");
    assert_eq!(one(&scene, "F001")["status"], "failed");
}

#[test]
fn who_wants_anothers_file_is_told_whose_it_is_and_two_who_keep_at_it_are_proposed_to_be_one() {
    // Each of the two wants a file of the other; the first twice, while the second is not done.
    let agent = format!(
        "{AGENT}\nwants() {{ mkdir -p src/$1; echo : > src/$1/$2.sh; }}\nrm -f src/F00[12]/b.sh\n\
         case $id.$SHIPMATE_ATTEMPT in\n\
         F001.1) wants F002 b ;;\nF001.2) wants F002 a ;;\nF002.1) wants F001 b ;;\nF002.2) pass late ;;\nesac\n"
    );
    let features = [feature("F001", json!({})), feature("F002", json!({}))];
    let mut scene = scene_with(&features, &[], &agent);
    scene.stage.door("late");
    scene.run("features", &["--detach", "--yes", ALONE[0], ALONE[1]]).ends(0, &[]);
    scene.stage.follow();
    let mut texts = Vec::new();
    for _ in 0..3 {
        let asked = scene.stage.hear(|event| event.get("question.asked").is_some());
        texts.push(asked["event"]["question.asked"]["text"].as_str().unwrap().to_owned());
        let n = asked["n"].to_string();
        let refused = scene.stage.shipmate(&["--team", TEAM, "answer", &n, "refuse"]);
        assert!(refused.status.success(), "{refused:?}");
    }
    scene.stage.open("late", 1);
    let owned = |text: &String| text.contains("b.sh is owned by alpha/feature-");
    assert!(texts.iter().any(owned), "{texts:?}");
    scene.stage.finished(2);
    let told = scene.stage.events("message.sent");
    let told: Vec<&str> = told.iter().filter_map(|message| message["body"].as_str()).collect();
    let proposal = "have wanted each other's files 3 times";
    assert!(told.iter().any(|body| body.contains(proposal)), "{told:?}");
    assert!(told.iter().any(|body| body.contains("with SendMessage")), "{told:?}");
}
