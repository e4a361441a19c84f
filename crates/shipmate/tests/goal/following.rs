//! After approval: what wakes a lead, and what does not.

use crate::scene::{Scene, events};

#[test]
fn a_lead_answers_decides_and_mends_and_is_woken_by_nothing_else() {
    let mut scene = Scene::new(include_str!("scripts/a_lead_answers_decides.model"));
    let ran = scene.run("make three parts", &["--yes"]);
    ran.ends(0, &["│ Red, planned, and mended.", "done: 3 of 3 tasks"]);
    assert_eq!(scene.stage.file("fail.txt"), "mended\n");
    assert_eq!(scene.stage.file("plan.txt"), "planned\n");
    let log = scene.log();
    assert_eq!(events(&log, "question.answered").len(), 1);
    assert_eq!(events(&log, "plan.approved").len(), 2);
    assert_eq!(events(&log, "task.retried").len(), 1);
}
