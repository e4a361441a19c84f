//! Features that pass one by one and not together: the three ways out of it.

use serde_json::json;

use crate::features::{feature, features_of, one, run, scene_with};
use crate::scene::Scene;

/// Each feature writes what it believes a shared word is; the whole suite wants one.
const AGENT: &str = r#"
id=${SHIPMATE_SUBJECT%%:*}
build() {
  mkdir -p "src/$1" tests
  echo "echo $2" > "src/$1/a.sh"
  cat > "tests/$1.sh" <<END
sh src/$1/a.sh | grep -q .
printf 'SF:src/$1/a.sh\nDA:1,1\nend_of_record\n' >> lcov.info
END
}
case "$SHIPMATE_SUBJECT" in
  F001:*) build F001 same ;;
  F002:*) if [ -e .harness/integration.json ]; then build F002 same; else build F002 other; fi ;;
  "Decide what"*) . "$S/decide.sh" ;;
  *) exit 1 ;;
esac
"#;

/// Both say the same word, where both are there.
const FULL: &str = "test ! -e src/F001/a.sh || test ! -e src/F002/a.sh || \
                    test \"$(sh src/F001/a.sh)\" = \"$(sh src/F002/a.sh)\"";

fn scene(decide: &str) -> Scene {
    let scene = scene_with(&[feature("F001", json!({})), feature("F002", json!({}))], &[], AGENT);
    std::fs::write(scene.stage.root().join("decide.sh"), decide).unwrap();
    scene
}

fn go(scene: &Scene) -> crate::scene::Ran {
    let full = format!("full={FULL}");
    run(scene, &["--set", "single=no", "--set", &full])
}

const WAY: [&str; 11] = [
    "ready done",
    "repair skipped",
    "research skipped",
    "build done",
    "review skipped",
    "synthesis back",
    "repair done",
    "research skipped",
    "build done",
    "review skipped",
    "synthesis done",
];

#[test]
fn the_side_that_is_wrong_is_taken_back_and_done_anew() {
    let mut scene = scene(
        "put .harness/integration.json '{\"case\": \"one-side\", \"revert\": [\"F002\"], \
         \"again\": [\"F002\"], \"note\": \"F002 has the wrong word\"}'\nsed -i \
         's#src/F002/b.sh#src/F002/c.sh#' .harness/features.json",
    );
    let ran = go(&scene);
    ran.ends(
        0,
        &[
            "phase synthesis goes back",
            "was taken back",
            "is tried again",
            "phase synthesis is done",
        ],
    );
    assert_eq!(scene.phases(), WAY);
    assert!(scene.stage.task(2).files.contains(&"src/F002/c.sh".to_owned()), "scoped anew");
    assert_eq!(scene.landed("src/F002/a.sh"), "echo same\n");
    assert_eq!(features_of(&scene)["passing"], 2);
    let log = scene.stage.git(&["log", "--format=%s%n%b", "shipmate/alpha"]);
    assert!(log.contains("repair: take back F002"), "{log}");
    assert!(log.contains("Shipmate-Reverts: "), "{log}");
    let summary = scene.landed(".harness/context_summary.md");
    assert!(summary.contains("- conflict: the gate of the phase fails"), "{summary}");
    let done = "- resolution (one-side): taken back: F002; F002 has the wrong word";
    assert!(summary.contains(done), "{summary}");
    // The lead left delegate mode for it, and is back in it.
    let modes = scene.stage.events("teammate.mode_changed");
    let modes: Vec<&str> = modes.iter().filter_map(|change| change["mode"].as_str()).collect();
    assert_eq!(modes, ["normal", "delegate"]);
    let claims = scene.stage.events("task.claimed");
    let anew = claims.iter().rfind(|claim| claim["task"] == 2).unwrap();
    assert!(anew["by"].as_str().unwrap().starts_with("alpha/feature-"), "{claims:?}");
}

#[test]
fn a_side_that_is_not_done_anew_stays_failed_and_its_change_is_gone() {
    let mut scene = scene(
        "put .harness/integration.json '{\"case\": \"one-side\", \"revert\": [\"F002\"], \
         \"note\": \"later\"}'",
    );
    let ran = go(&scene);
    assert_ne!(ran.code, 0, "{}", ran.out);
    let f002 = one(&scene, "F002");
    assert_eq!(f002["status"], "failed");
    assert!(f002["notes"].as_str().unwrap().contains("has taken it back"), "{f002}");
    assert_eq!(one(&scene, "F001")["status"], "passing");
    let files = scene.stage.git(&["ls-tree", "-r", "--name-only", "shipmate/alpha"]);
    assert!(!files.contains("src/F002/") && files.contains("src/F001/a.sh"), "{files}");
    assert_eq!(scene.phases().last().unwrap(), "synthesis done");
}

#[test]
fn both_sides_partly_right_are_merged_by_the_leads_hand() {
    let mut scene = scene(
        "put src/F002/a.sh 'echo same'\n\
         put .harness/integration.json '{\"case\": \"both\", \"revert\": [], \"note\": \"by hand\"}'",
    );
    go(&scene).ends(0, &["phase repair is done", "phase synthesis is done"]);
    // There is nothing to build anew.
    let mut way = WAY;
    way[8] = "build skipped";
    assert_eq!(scene.phases(), way);
    assert!(scene.stage.events("task.reverted").is_empty());
    let modes = scene.stage.events("teammate.mode_changed");
    let modes: Vec<&str> = modes.iter().filter_map(|change| change["mode"].as_str()).collect();
    assert_eq!(modes, ["normal", "delegate"], "the lead leaves delegate mode for it");
    assert_eq!(scene.landed("src/F002/a.sh"), "echo same\n");
    // The tests of both sides are there, and both features stay passing.
    assert!(
        scene.landed("tests/F001.sh").contains("F001")
            && scene.landed("tests/F002.sh").contains("F002")
    );
    assert_eq!(features_of(&scene)["passing"], 2);
    let who =
        scene.stage.git(&["log", "--format=%an", "-1", "shipmate/alpha", "--", "src/F002/a.sh"]);
    assert_eq!(who.trim(), "lead");
    let summary = scene.landed(".harness/context_summary.md");
    assert!(summary.contains("- resolution (both): nothing taken back; by hand"), "{summary}");
}

#[test]
fn a_conflict_of_architecture_takes_both_back_and_gives_the_interface_one_owner() {
    let mut scene = scene(
        "put .harness/integration.json '{\"case\": \"architecture\", \"revert\": [\"F001\", \"F002\"], \
         \"again\": [\"F001\", \"F002\"], \"note\": \"F001 owns the word\"}'\n\
         sed -i '/\"id\": \"F001\"/,$ s/\"depends_on\": \\[\\]/\"depends_on\": [\"F001\"]/' \
         .harness/features.json",
    );
    go(&scene).ends(0, &["phase synthesis is done"]);
    scene.log();
    assert_eq!(scene.stage.events("task.reverted").len(), 2);
    // The second waited for the owner of the interface.
    let order: Vec<u64> = scene.stage.events("task.completed")[2..]
        .iter()
        .filter(|done| done["task"].as_u64().unwrap() <= 2)
        .map(|done| done["task"].as_u64().unwrap())
        .collect();
    assert_eq!(order, [1, 2]);
    assert_eq!(one(&scene, "F002")["depends_on"], json!(["F001"]));
    assert_eq!(features_of(&scene)["passing"], 2);
    let summary = scene.landed(".harness/context_summary.md");
    assert!(summary.contains("taken back: F001, F002; F001 owns the word"), "{summary}");
}
