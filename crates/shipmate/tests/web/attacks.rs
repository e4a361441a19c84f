//! What agents write is text on every screen: nothing of it runs, and it is seen as it was written.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{QuestionKind, TaskNew};

use crate::scene::{Scene, claim, fail, seated, task};

/// Markup that would leave a mark if it were taken for more than text.
const MARKUP: [&str; 5] = [
    "<script>window.caught=1</script>",
    "<img src=x onerror=window.caught=1>",
    "\"><svg onload=window.caught=1>",
    "<a href=\"javascript:window.caught=1\">here</a>",
    "</title><iframe srcdoc='<script>parent.caught=1</script>'></iframe>",
];

#[test]
fn no_screen_takes_what_agents_write_for_more_than_text() {
    let (mut stage, mut seats) = seated(&["ana"]);
    let new = |text: &str| TaskNew {
        description: text.to_owned(),
        retries_max: Some(0),
        files: vec!["src/<b>.rs".to_owned()],
        ..task(text)
    };
    stage.create(MARKUP.map(new).to_vec());
    let token = claim(&mut seats[0], 1);
    fail(&mut seats[0], 1, token, MARKUP[1]);
    for text in MARKUP {
        let (body, to) = (text.to_owned(), "person".to_owned());
        seats[0].ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None })).unwrap();
        let kind = QuestionKind::Question;
        let options = vec![MARKUP[0].to_owned(), "no".to_owned()];
        seats[0]
            .ask(Ask::Question(verbs::Question { kind, text: text.to_owned(), options }))
            .unwrap();
    }
    let scene = Scene::on(stage);
    for (route, shows) in [
        ("board", "main"),
        ("graph", ".graph-row"),
        ("task/1", "h1"),
        ("team", "[data-mate]"),
        ("messages", ".thread-row"),
        ("decisions", ".queue-row"),
        ("timeline", ".screen.timeline"),
        ("cost", "main .screen"),
    ] {
        scene.go(route);
        scene.page.see(shows);
        let strange = "main :is(script, iframe, img, [onload], [onerror], [href^=javascript])";
        scene.page.see_none(strange);
        assert!(scene.page.eval::<bool>("window.caught === undefined"), "{route}");
    }
    scene.go("board");
    scene.page.wait_for("text('main').includes('<script>window.caught=1</script>')");
}
