//! A task's page: what it changed, what the gate said, its commits, its story; the graph; the cost.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Setup, TaskNew, Usage};

use crate::scene::{Scene, claim, complete, seated, task};
use crate::stage::Stage;

const GATE: &str = "if grep -qs bad parser.txt; then echo 'test parses ... FAILED'; exit 1; fi; \
                    echo all 3 tests passed";

#[test]
fn a_task_shows_its_diff_gate_output_commits_story_and_messages() {
    let mut stage = Stage::new("");
    stage.write("parser.txt", "old line\n");
    stage.commit();
    stage.team(Setup { gate: vec![GATE.to_owned()], ..Setup::default() }, &["ana"]);
    let subject = "here; if [ -n \"$SHIPMATE_FEEDBACK\" ]; then put parser.txt 'good line'; else \
                   put parser.txt 'bad line'; fi; put 'a <b>.txt' new";
    let description = "Two lines, and no more.".to_owned();
    let new = TaskNew { subject: subject.to_owned(), description, ..TaskNew::default() };
    stage.create(vec![new]);
    stage.arrival();
    // Whoever has nothing to do any more stops and reads no mail.
    let send = Ask::Send(verbs::Send {
        to: "ana".to_owned(),
        body: "Thanks for task 1".to_owned(),
        kind: None,
        reply_to: None,
    });
    stage.ask(send);
    stage.arrival();
    stage.finished(1);
    let scene = Scene::on(stage);
    let page = &scene.page;
    page.click("[data-task='1'] .card-link");
    page.see("h1 >> put parser.txt");
    page.see(".task-line >> completed");
    page.see(".prose >> Two lines, and no more.");
    page.see("section.part >> Changes");
    page.wait_for("text('main').includes('good line') && text('main').includes('old line')");
    page.see("section.part >> a <b>.txt");
    // Red, then green, each with what it printed.
    page.wait_for("all('.gate-run').length === 2");
    page.click(".gate-run summary >> red");
    page.see(".gate-run .output >> test parses ... FAILED");
    page.click(".gate-run summary >> green");
    page.see(".gate-run .output >> all 3 tests passed");
    let commit = scene.task(1)["commit"].as_str().unwrap().to_owned();
    page.see(&format!(".copy >> {}", &commit[..9]));
    page.see(".story >> ana");
    page.see("main >> Thanks for task 1");
    page.see(".claims >> Transcript");
    page.click(".claims a >> Transcript");
    page.see("h1 >> ana");
}

#[test]
fn a_task_is_acted_on_where_it_is_read() {
    let (mut stage, mut seats) = seated(&["ana"]);
    let waits = TaskNew { blocked_by: vec!["1".to_owned()], ..task("Test the parser") };
    stage.create_in_turn(vec![task("Write the parser"), waits]);
    claim(&mut seats[0], 1);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.go("task/1");
    page.see("h1 >> Write the parser");
    page.see("aside >> Test the parser");
    page.key("x");
    scene.form(&[("reason", "not now")], "Release");
    page.see(".task-line >> ready");
    assert_eq!(scene.task(1)["status"], "pending");
    page.key("e");
    scene.form(&[("subject", "Write the lexer")], "Save");
    page.see("h1 >> Write the lexer");
    page.click("aside a >> Test the parser");
    page.see(".note >> Why it is not taken");
    page.key("Escape");
    page.see("section[aria-label=Board]");
}

#[test]
fn the_graph_shows_what_waits_for_what_in_words_too_and_opens_a_task() {
    let (mut stage, mut seats) = seated(&["ana"]);
    let after = |on: &[&str], subject: &str| TaskNew {
        blocked_by: on.iter().map(|one| (*one).to_owned()).collect(),
        ..task(subject)
    };
    stage.create_in_turn(vec![
        task("Write the grammar"),
        after(&["1"], "Write the parser"),
        after(&["1"], "Write the printer"),
        after(&["2", "3"], "Test both"),
    ]);
    let token = claim(&mut seats[0], 1);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("2", "Graph");
    page.see(".graph-summary >> 4 tasks");
    page.see(".graph-summary >> on the critical path (3 tasks)");
    page.see(".graph-row >> after 2, 3");
    page.see(".graph-row >> in progress, ana");
    // The drawing is not empty: it has ink in more than one colour.
    page.wait_for(
        "(() => { const c = one('canvas'), d = c.getContext('2d')
           .getImageData(0, 0, c.width, c.height).data, seen = new Set();
           for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
           return seen.size > 4; })()",
    );
    complete(&mut seats[0], 1, token);
    page.see(".graph-row >> completed");
    page.click("label >> open tasks only");
    page.see(".graph-summary >> 3 tasks");
    let zoomed = page.wait_for("text('.graph-zoom')");
    page.click("[aria-label='Zoom in (+)']");
    page.wait_for(&format!("text('.graph-zoom') !== {zoomed}"));
    // From the first to the one that waits for it, and in.
    page.run("document.activeElement.blur()");
    page.key("j");
    page.see(".graph [role=status] >> Task 2, Write the parser");
    page.key("l");
    page.see(".graph [role=status] >> Task 4, Test both");
    page.key("Enter");
    page.see("h1 >> Test both");
}

#[test]
fn the_cost_is_added_up_by_teammate_task_and_model_with_the_share_of_coordination() {
    let (mut stage, _) = seated(&[]);
    let mut ana = crate::scene::seat(&mut stage, "ana", |mut add| {
        add.model = "large".to_owned();
        add
    });
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("7", "Cost");
    page.see(".empty >> Nothing was spent yet.");
    let mut spend = |task: Option<&str>, tokens_in: u64, cost_micros: u64| {
        let usage = Usage {
            tokens_in,
            tokens_out: 100,
            tokens_cached: 50,
            cost_micros,
            ..Usage::default()
        };
        let task = task.map(str::to_owned);
        ana.ask(Ask::UsageReport(verbs::UsageReport { usage, task, reservation: None })).unwrap();
    };
    let create = Ask::TaskCreate(verbs::TaskCreate { tasks: vec![task("Write the parser")] });
    let mut scene_person = scene.stage.client();
    scene_person.ask(create).unwrap();
    spend(Some("1"), 4_000, 3_000_000);
    spend(None, 1_000, 1_000_000);
    page.see(".figure >> $4.00");
    page.see(".figure >> 25%");
    page.see(".cost-table >> ana");
    page.click(".segments button >> Task");
    page.see(".cost-table tr >> 1 Write the parser");
    page.see(".cost-table tr >> coordination (no task)");
    page.click(".segments button >> Model");
    page.see(".cost-table tr >> large");
    assert_eq!(scene.json("team show")["cost_micros"], 4_000_000);
    // A budget that is nearly used up says so.
    let output = scene.stage.shipmate(&["--team", "alpha", "team", "budget", "--cost", "5"]);
    assert!(output.status.success(), "{output:?}");
    page.see(".budget >> nearly used up");
}
