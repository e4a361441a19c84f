//! A team in the middle of its work, with something on every screen: for pictures, for keys, and
//! for what has to hold on all of them.
//!
//! What an agent does for a task is a script beside the repository, so that subjects read as they
//! would for a person.

use shipmate_protocol::ask::{QuestionKind, Setup, TaskNew, TeammateAdd, Usage};
use shipmate_protocol::{Answer, Ask, Client};

use crate::scene::{Scene, claim, seat, task};
use crate::stage::Stage;

const GATE: &str = "echo running 3 tests; if grep -qs TODO orders.rs; then \
                    echo 'test orders_survive_a_restart ... FAILED'; exit 1; fi; \
                    echo 'test result: ok. 3 passed; 0 failed'";

/// What is done for each task, by its number.
const ACTS: [(u32, &str); 5] = [
    (
        1,
        "echo reading README; put contract.md '# Orders
GET /orders lists them, newest first.
POST /orders makes one.'; echo the contract is written",
    ),
    (
        2,
        "if [ -n \"$SHIPMATE_FEEDBACK\" ]; then echo making it survive a restart; \
         put orders.rs 'pub fn save(order: &Order) { store.append(order); }'; \
         else put orders.rs 'pub fn save(order: &Order) { /* TODO */ }'; fi",
    ),
    (
        3,
        "echo '$ cargo test rejects'; echo 'running 2 tests'; \
         echo 'test rejects_an_order_without_items ... ok'; echo 'now the handler'; here; pass on",
    ),
    (4, "echo 'reading the styles of the list'; here; pass on"),
    (5, "echo 'the mail server refuses port 25' >&2; exit 1"),
];

const TASKS: [(&str, &[&str], &str); 12] = [
    ("Agree on the contract of the orders API", &[], "contract.md"),
    ("Store orders so that they survive a restart", &["1"], "orders.rs"),
    ("Reject orders without items", &["1"], "handler.rs"),
    ("Show the list of orders on a phone", &["1"], "list.css"),
    ("Send a receipt by mail", &["1"], "receipt.rs"),
    ("Page through long lists", &["2"], "paging.rs"),
    ("Search orders by customer", &["2"], "search.rs"),
    ("Export orders as CSV", &["2"], "export.rs"),
    ("Load test with 1,000 orders a second", &["3", "6"], "load.rs"),
    ("Write the manual page about orders", &["7", "8"], "manual.md"),
    ("Translate the error messages", &[], "messages.toml"),
    ("Announce it", &["9", "10"], "CHANGELOG.md"),
];

pub(crate) fn assemble() -> Scene {
    let mut stage = Stage::new("");
    stage.write("README", "A shop that takes orders.\n");
    stage.commit();
    let gate = vec![GATE.to_owned()];
    stage.team(Setup { gate, ..Setup::default() }, &[]);
    stage.door("on");
    let acts = stage.root().join("acts");
    std::fs::create_dir(&acts).unwrap();
    for (id, act) in ACTS {
        std::fs::write(acts.join(format!("{id}.sh")), act).unwrap();
    }
    let mut lead = seat(&mut stage, "lin", |add| TeammateAdd {
        lead: true,
        agent: "claude".to_owned(),
        model: "large-2".to_owned(),
        mode: Some("delegate".to_owned()),
        ..add
    });
    for (name, role) in [("ana", "storage"), ("bo", "frontend"), ("dee", "api")] {
        stage.add(name, |add| TeammateAdd {
            command: add
                .command
                .replace("eval \"$SHIPMATE_SUBJECT\"", ". \"$S/acts/$SHIPMATE_TASK.sh\""),
            role: Some(role.to_owned()),
            ..add
        });
    }
    let mut cy = seat(&mut stage, "cy", |add| TeammateAdd {
        agent: "codex".to_owned(),
        model: "swift-1".to_owned(),
        role: Some("writer".to_owned()),
        mode: Some("plan".to_owned()),
        ..add
    });
    stage.create(TASKS.iter().enumerate().map(|(at, one)| planned(at, *one)).collect());
    // Two are done, two are under way, one has failed.
    stage.finished(3);
    stage.arrivals(2);
    claim(&mut cy, 11);
    talk(&mut stage, &mut lead, &mut cy);
    ask(&mut lead, &mut cy);
    Scene::on(stage)
}

fn planned(at: usize, (subject, after, file): (&str, &[&str], &str)) -> TaskNew {
    let role = match at + 1 {
        1 | 2 | 5 => "storage",
        4 => "frontend",
        10..=12 => "writer",
        _ => "api",
    };
    TaskNew {
        description: "What it takes is in the contract. It is done when its tests are green."
            .to_owned(),
        alias: Some(format!("t{}", at + 1)),
        blocked_by: after.iter().map(|one| format!("t{one}")).collect(),
        files: vec![file.to_owned()],
        role: Some(role.to_owned()),
        group: (at >= 9).then(|| "release".to_owned()),
        priority: Some(if at + 1 == 3 { -1 } else { 0 }),
        duration_ms: Some(if at + 1 == 3 { 5_400_000 } else { 600_000 + 120_000 * at as u64 }),
        retries_max: Some(if at + 1 == 5 { 0 } else { 3 }),
        ..task(subject)
    }
}

fn send(from: &mut Client, to: &str, body: &str, reply_to: Option<u64>) -> u64 {
    let ask = Ask::Send { to: to.to_owned(), body: body.to_owned(), kind: None, reply_to };
    match from.ask(ask).unwrap() {
        Answer::Sent { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

fn talk(stage: &mut Stage, lead: &mut Client, cy: &mut Client) {
    let first = send(&mut stage.person, "lin", "How far is the list on the phone?", None);
    lead.ask(Ask::InboxRead { max: 10, wait: false }).unwrap();
    send(lead, "person", "bo has the layout. The sums are next, about 20 minutes.", Some(first));
    send(lead, "all", "The contract has landed: read contract.md before you go on.", None);
    let asked = send(cy, "lin", "Do we say “order” or “purchase” in errors?", None);
    lead.ask(Ask::InboxRead { max: 10, wait: false }).unwrap();
    send(lead, "cy", "Order, everywhere.", Some(asked));
    let spend = |client: &mut Client, task: Option<&str>, tokens_in: u64, cost_micros: u64| {
        let tokens_out = tokens_in / 12;
        let usage = Usage { tokens_in, tokens_out, tokens_cached: tokens_in / 2, cost_micros };
        let task = task.map(str::to_owned);
        client.ask(Ask::UsageReport { usage, task, reservation: None }).unwrap();
    };
    spend(lead, None, 84_000, 410_000);
    spend(cy, Some("11"), 212_000, 930_000);
    spend(cy, None, 9_000, 40_000);
}

fn ask(lead: &mut Client, cy: &mut Client) {
    let question = |kind, text: &str, options: &[&str]| Ask::Question {
        kind,
        text: text.to_owned(),
        options: options.iter().map(|one| (*one).to_owned()).collect(),
    };
    lead.ask(question(
        QuestionKind::Question,
        "How many orders does a page of the list show?",
        &["20", "50", "as many as fit"],
    ))
    .unwrap();
    cy.ask(question(QuestionKind::Permission, "Run `npx i18n-extract` to find all messages?", &[]))
        .unwrap();
    let body =
        "1. Collect the messages of every module.\n2. Translate them.\n3. Let the tests name \
                those that are missing."
            .to_owned();
    cy.ask(Ask::PlanSubmit { task: Some("11".to_owned()), body, work: None }).unwrap();
}
