//! Hooks that a harness has installed, beside the features playbook: they keep working, and what
//! they get wrong is not repeated.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::features::{AGENT, feature, one, scene_with};
use crate::stage::TEAM;

/// Runs the suite and says on its standard output, as harnesses do, why it rejects.
const VERIFY: &str = r#"#!/bin/bash
cat > /dev/null
[ -f .harness/init.sh ] || exit 0
out=$(bash -o pipefail .harness/init.sh 2>&1) || { echo "rejected by the harness: $out"; exit 2; }
! grep -rq LATER src || { echo "rejected by the harness: LATER is left"; exit 2; }
"#;

/// Offers whatever is not passing, without a look at what it depends on, and never tires of it.
const IDLE: &str = r#"#!/bin/bash
cat > /dev/null
echo asked >> "$S/notes/asked"
echo "3 claimable: F002: Build F002 (priority 1)"
exit 2
"#;

#[test]
fn the_hooks_of_a_harness_work_and_cannot_offer_what_is_blocked_or_loop() {
    let agent = format!(
        "if [ \"${{SHIPMATE_SUBJECT%%:*}}\" = F001 ]; then here; pass go; fi\n{AGENT}\n\
         if [ -z \"${{SHIPMATE_FEEDBACK:-}}\" ] && [ $id = F003 ]; then echo '# LATER' >> src/F003/a.sh; fi\n"
    );
    let features = [
        feature("F001", json!({})),
        feature("F002", json!({ "depends_on": ["F001"] })),
        feature("F003", json!({})),
    ];
    let mut scene = scene_with(
        &features,
        &[
            (".claude/hooks/verify-task-quality.sh", VERIFY),
            (".claude/hooks/check-remaining-tasks.sh", IDLE),
        ],
        &agent,
    );
    let root = scene.stage.root();
    for (event, script) in
        [("TaskCompleted", "verify-task-quality.sh"), ("TeammateIdle", "check-remaining-tasks.sh")]
    {
        let line = format!(
            "#!/bin/sh\nexport S={}\nexec bash {}/repo/.claude/hooks/{script}\n",
            root.display(),
            root.display()
        );
        scene.stage.write(&format!(".shipmate/hooks/{event}"), &line);
        let path = scene.stage.place().project().join("hooks").join(event);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene.stage.door("go");
    scene.run("features", &["--detach", "--yes"]).ends(0, &[]);
    scene.stage.follow();
    scene.stage.arrival();
    // The other teammate is done and idle: it is offered F002, which waits for F001.
    scene.stage.event("teammate.idle");
    assert!(scene.stage.events("task.claimed").iter().all(|claim| claim["task"] != 2));
    scene.stage.open("go", 1);
    scene.stage.finished(3);
    let returned = scene.stage.events("task.returned");
    let reasons: Vec<&str> = returned.iter().filter_map(|one| one["reason"].as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("LATER is left")), "{reasons:?}");
    // Only the feature that came back has it counted.
    assert_eq!(one(&scene, "F003")["correction_cycles"], 1);
    assert_eq!(one(&scene, "F001").get("correction_cycles"), None);
    let claims = scene.stage.events("task.claimed");
    let of_two: Vec<_> = claims.iter().filter(|claim| claim["task"] == 2).collect();
    assert_eq!(of_two.len(), 1, "one teammate took it, once: {of_two:?}");
    let done = scene.stage.shipmate(&["--team", TEAM, "status"]);
    assert!(done.status.success());
    let asked = std::fs::read_to_string(root.join("notes/asked")).unwrap().lines().count();
    // Three times after each claim at most, however often it says no.
    assert!(asked <= 3 * claims.len(), "asked {asked} times for {} claims", claims.len());
}

/// Looks for features that do not pass yet, as a harness does, and offers them.
const REMAINING: &str = r#"#!/bin/bash
cat > /dev/null
left=$(tr -d ' \n' < .harness/features.json | grep -o '"id":"[^"]*"[^{]*"status":"[a-z_-]*"' |
  grep -v '"status":"passing"' | sed 's/"id":"\([^"]*\)".*"status":"\([^"]*\)"/\1=\2/' | tr '\n' ' ')
echo "left: $left" >> "$S/notes/left"
case "$left" in *=pending*) echo "next: $left" >&2; exit 2 ;; esac
"#;

#[test]
fn the_idle_hook_sees_features_json_as_it_is_on_the_team_s_branch() {
    let features = [
        feature("F001", json!({})),
        feature("F002", json!({ "depends_on": ["F001"] })),
        feature("F003", json!({})),
    ];
    let hook = [(".claude/hooks/check-remaining-tasks.sh", REMAINING)];
    let scene = scene_with(&features, &hook, AGENT);
    let root = scene.stage.root();
    let line = format!(
        "#!/bin/sh\nexport S={}\nexec bash .claude/hooks/check-remaining-tasks.sh\n",
        root.display()
    );
    scene.stage.write(".shipmate/hooks/TeammateIdle", &line);
    let path = scene.stage.place().project().join("hooks/TeammateIdle");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    scene.run("features", &["--yes"]).ends(0, &["3 of 3 tasks"]);
    let left = std::fs::read_to_string(root.join("notes/left")).unwrap();
    // F002 is begun when F001 has passed: whoever is idle after that is not offered F001 again.
    let last = left.lines().last().unwrap();
    assert!(last.starts_with("left: ") && !last.contains("F001"), "{left}");
}
