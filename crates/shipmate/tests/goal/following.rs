//! After approval: what wakes a lead, and what does not.

use crate::scene::{Scene, events};

#[test]
fn a_lead_answers_decides_and_mends_and_is_woken_by_nothing_else() {
    let mut scene = Scene::new(
        r#"
as lead
on "three parts"
  tool ExitPlanMode {"plan":"p","tasks":[{"key":"ask","subject":"Ask first","files":["ask.txt"],"assignee":"ana"},{"key":"plan","subject":"Plan first","files":["plan.txt"],"assignee":"bo"},{"key":"fail","subject":"Fail first","description":"Boldly.","files":["fail.txt"],"assignee":"cy"}],"teammates":[{"name":"ana"},{"name":"bo","mode":"plan"},{"name":"cy"}]}
  say I have handed it in.
on "which colour?"
  tool AnswerQuestion {"question_id":"{{after (question}}","answer":"red"}
on "asks for approval of plan"
  tool Plan {"action":"approve","plan_id":"{{after of plan}}"}
on "failed after 4 attempts"
  tool TaskUpdate {"taskId":"3","description":"Gently."}
  tool TaskUpdate {"taskId":"3","status":"pending"}
on "All tasks are completed"
  say Red, planned, and mended.
as *
on "Task 1:"
  tool AskUserQuestion {"questions":[{"question":"which colour?","header":"Colour","options":[{"label":"red","description":""},{"label":"blue","description":""}],"multiSelect":false}]}
  say I wait.
on "answer to question"
  write ask.txt {{after question}}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"asked"}
  say Done.
on "Task 2:"
  tool ExitPlanMode {"plan":"I write plan.txt."}
  say I wait.
on "Your plan is approved"
  write plan.txt planned
  tool TaskUpdate {"taskId":"2","status":"completed","result":"planned"}
  say Done.
on "Task 3:" "Boldly"
  tool TaskUpdate {"taskId":"3","status":"failed","reason":"too bold"}
  say I cannot.
on "Task 3:" "Gently"
  write fail.txt mended
  tool TaskUpdate {"taskId":"3","status":"completed","result":"mended"}
  say Done.
"#,
    );
    let ran = scene.run("make three parts", &["--yes"]);
    ran.ends(0, &["│ Red, planned, and mended.", "done: 3 of 3 tasks"]);
    assert_eq!(scene.stage.file("fail.txt"), "mended\n");
    assert_eq!(scene.stage.file("plan.txt"), "planned\n");
    let log = scene.log();
    assert_eq!(events(&log, "question.answered").len(), 1);
    assert_eq!(events(&log, "plan.approved").len(), 2);
    assert_eq!(events(&log, "task.retried").len(), 1);
}
