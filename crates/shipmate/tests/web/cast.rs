//! A team in the middle of its work, with something on every screen: for pictures, for keys, and
//! for what has to hold on all of them.
//!
//! What an agent does for a task is a script beside the repository, so that subjects read as they
//! would for a person.

use shipmate_protocol::verbs::{QuestionKind, Setup, TaskNew, TeammateAdd, Usage};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};

use crate::scene::{Scene, claim, seat, task};
use crate::stage::Stage;

const ORDERS: &str = "use crate::Order;

/// Keeps an order.
pub fn save(_order: &Order) {
    // TODO: they are gone after a restart
}

pub fn all() -> Vec<Order> {
    Vec::new()
}
";

/// What is done for each task, by its number.
const ACTS: [(u32, &str); 6] = [
    (
        1,
        "echo reading README; put contract.md '# Orders
GET /orders lists them, newest first.
POST /orders makes one.'; echo the contract is written",
    ),
    (
        2,
        "if [ -n \"$SHIPMATE_FEEDBACK\" ]; then echo making it survive a restart; \
         sed -i 's|// TODO.*|store().append(_order);|; s|Vec::new()|store().all()|; s|_order|order|' \
         orders.rs; else echo '// checked' >> orders.rs; fi",
    ),
    (
        3,
        "echo '$ cargo test rejects'; echo 'running 2 tests'; \
         echo 'test rejects_an_order_without_items ... ok'; echo 'now the handler'; here; pass on",
    ),
    (4, "echo 'reading the styles of the list'; here; pass on"),
    (5, "echo 'the mail server refuses port 25' >&2; exit 1"),
    (6, "put paging.rs 'pub const PAGE: usize = 50;'; here"),
];

/// Key, subject, what it waits for, its file, and the role it is for.
const TASKS: [(&str, &str, &[&str], &str, &str); 12] = [
    ("contract", "Agree on the contract of the orders API", &[], "contract.md", "storage"),
    ("store", "Store orders so that they survive a restart", &["contract"], "orders.rs", "storage"),
    ("reject", "Reject orders without items", &["contract"], "handler.rs", "api"),
    ("phone", "Show the list of orders on a phone", &["contract"], "list.css", "frontend"),
    ("receipt", "Send a receipt by mail", &["contract"], "receipt.rs", "storage"),
    ("paging", "Page through long lists", &["store"], "paging.rs", "storage"),
    ("search", "Search orders by customer", &["store"], "search.rs", "api"),
    ("csv", "Export orders as CSV", &["store"], "export.rs", "api"),
    ("load", "Load test with 1,000 orders a second", &["reject", "paging"], "load.rs", "api"),
    ("manual", "Write the manual page about orders", &["search", "words"], "manual.md", "writer"),
    ("words", "Translate the error messages", &[], "messages.toml", "writer"),
    ("announce", "Announce it", &["load", "manual"], "CHANGELOG.md", "writer"),
];

pub(crate) fn assemble() -> Scene {
    let mut stage = Stage::new("");
    stage.write("README", "A shop that takes orders.\n");
    stage.write("orders.rs", ORDERS);
    stage.commit();
    // Red until orders are kept; and for the pages of lists it takes for ever.
    let door = stage.root().join("on.door");
    let gate = vec![format!(
        "if [ -e paging.rs ]; then read -r _ < {}; fi; echo running 3 tests; \
         if grep -qs checked orders.rs && grep -qs TODO orders.rs; then \
         echo 'test orders_survive_a_restart ... FAILED'; exit 1; fi; \
         echo 'test result: ok. 3 passed; 0 failed'",
        door.display()
    )];
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
    stage.create(TASKS.iter().map(planned).collect());
    // Two are done, one has failed, two are under way, and one is in the gate.
    stage.finished(3);
    stage.arrivals(3);
    stage.hear(|event| event["task.submitted"]["task"] == 6);
    claim(&mut cy, 11);
    talk(&mut stage, &mut lead, &mut cy);
    ask(&mut lead, &mut cy);
    Scene::on(stage)
}

fn planned((alias, subject, after, file, role): &(&str, &str, &[&str], &str, &str)) -> TaskNew {
    TaskNew {
        alias: Some((*alias).to_owned()),
        description: "What it takes is in the contract. It is done when its tests are green."
            .to_owned(),
        blocked_by: after.iter().map(|one| (*one).to_owned()).collect(),
        files: vec![(*file).to_owned()],
        role: Some((*role).to_owned()),
        group: (*role == "writer").then(|| "release".to_owned()),
        priority: (*alias == "reject").then_some(1),
        duration_ms: Some(if *alias == "reject" { 5_400_000 } else { 1_200_000 }),
        retries_max: Some(if *alias == "receipt" { 0 } else { 3 }),
        ..task(subject)
    }
}

fn send(from: &mut Client, to: &str, body: &str, reply_to: Option<u64>) -> u64 {
    let ask =
        Ask::Send(verbs::Send { to: to.to_owned(), body: body.to_owned(), kind: None, reply_to });
    match from.ask(ask).unwrap() {
        Answer::Sent(answers::Sent { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

fn talk(stage: &mut Stage, lead: &mut Client, cy: &mut Client) {
    let first = send(&mut stage.person, "lin", "How far is the list on the phone?", None);
    lead.ask(Ask::InboxRead(verbs::InboxRead { max: 10, wait: false })).unwrap();
    send(lead, "person", "bo has the layout. The sums are next, about 20 minutes.", Some(first));
    send(lead, "all", "The contract has landed: read contract.md before you go on.", None);
    let asked = send(cy, "lin", "Do we say “order” or “purchase” in errors?", None);
    lead.ask(Ask::InboxRead(verbs::InboxRead { max: 10, wait: false })).unwrap();
    send(lead, "cy", "Order, everywhere.", Some(asked));
    let spend = |client: &mut Client, task: Option<&str>, tokens_in: u64, cost_micros: u64| {
        let tokens_out = tokens_in / 12;
        let usage = Usage {
            tokens_in,
            tokens_out,
            tokens_cached: tokens_in / 2,
            cost_micros,
            ..Usage::default()
        };
        let task = task.map(str::to_owned);
        client
            .ask(Ask::UsageReport(verbs::UsageReport { usage, task, reservation: None }))
            .unwrap();
    };
    spend(lead, None, 84_000, 410_000);
    spend(cy, Some("11"), 212_000, 930_000);
    spend(cy, None, 9_000, 40_000);
}

fn ask(lead: &mut Client, cy: &mut Client) {
    let question = |kind, text: &str, options: &[&str]| {
        Ask::Question(verbs::Question {
            kind,
            text: text.to_owned(),
            options: options.iter().map(|one| (*one).to_owned()).collect(),
        })
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
    cy.ask(Ask::PlanSubmit(verbs::PlanSubmit { task: Some("11".to_owned()), body, work: None }))
        .unwrap();
}
