//! Seed 001's own example: a lead, three teammates and four tasks that depend on each other, as
//! separate processes with conversations of their own.
//!
//! What docs/rest-to-graphql.md shows comes from this test: with `SHIPMATE_BLESS=1` it writes the
//! page, without it holds the page against the run. Only numbers may differ.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Setup;
use shipmate_testkit::model::Server;

use crate::stage::Stage;

const SCRIPT: &str = include_str!("graphql.model");

fn name(who: &Value) -> String {
    let who = who.as_str().unwrap_or("person");
    who.trim_start_matches("alpha/").split('@').next().unwrap_or_default().to_owned()
}

fn kind_of(message: &Value) -> &str {
    message["kind"].as_str().unwrap_or_default()
}

/// The records that tell the story, a line each.
fn told(record: &Value) -> Option<String> {
    let (kind, fields) = record["event"].as_object()?.iter().next()?;
    let task = &fields["task"];
    Some(match kind.as_str() {
        "task.created" => {
            let after = fields["spec"]["blocked_by"][0]["task"].as_u64();
            let after = after.map(|id| format!(", blocked by #{id}")).unwrap_or_default();
            format!("task #{task} created: {}{after}", fields["spec"]["subject"].as_str()?)
        }
        "teammate.started" => format!("{} started", name(&fields["who"])),
        "teammate.session" => {
            format!("{} stands behind a fence: {}", name(&fields["who"]), fields["fence"].as_str()?)
        }
        "task.claimed" => format!("{} takes #{task}", name(&fields["by"])),
        "task.submitted" => format!("#{task} handed in: {}", fields["result"].as_str()?),
        "task.completed" => format!("#{task} merged"),
        "message.sent" if ["message", "broadcast", "work_done"].contains(&kind_of(fields)) => {
            let body = fields["body"].as_str()?.lines().next()?;
            format!("{} says: {body}", name(&record["by"]))
        }
        "teammate.stopped" => format!("{} stops", name(&fields["who"])),
        _ => return None,
    })
}

const PAGE: &str = r"# REST to GraphQL: a lead, three teammates, four tasks

Four native agents as separate processes, on a scripted model over the Chat Completions protocol. The
person writes one sentence to the lead, which only delegates; it makes the tasks and the teammates,
who take their tasks as these become free. This page is written by a test:

```sh
cargo nextest run -p shipmate --test team graphql                        # hold it against a run
SHIPMATE_BLESS=1 cargo nextest run -p shipmate --test team graphql       # write it
```

From the log, shortened:

```text
{log}
```

What each agent printed (`shipmate attach NAME`):

{output}";

/// What is the same in every run: teammates work side by side, and machines differ.
fn stable(text: &str) -> Vec<String> {
    let digits = |c: char| if c.is_ascii_digit() { '#' } else { c };
    let mut lines: Vec<String> =
        text.lines().map(|line| line.chars().map(digits).collect()).collect();
    lines.sort();
    lines
}

#[test]
fn a_lead_and_three_teammates_move_an_app_from_rest_to_graphql() {
    let server = Server::start(SCRIPT);
    let config = format!(
        "[models]\ndefault = \"test/scripted\"\n[models.test]\nprotocol = \"openai\"\nbase-url = \
         \"{}/v1\"\nkey-variable = \"\"\n",
        server.url()
    );
    let mut stage = Stage::new(&config);
    stage.write("api/routes.txt", "GET /users\nGET /posts\n");
    stage.write("web/page.txt", "fetch GET /users\n");
    stage.commit();
    let gate = vec!["test -f api/routes.txt".to_owned()];
    stage.team(Setup { gate, ..Setup::default() }, &[]);
    stage.add("lead", |mut add| {
        (add.command, add.agent, add.lead) = (String::new(), "native".to_owned(), true);
        add.mode = Some("delegate".to_owned());
        add
    });
    let (to, body) = ("lead".to_owned(), "Migrate the app from REST to GraphQL".to_owned());
    stage.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }));
    stage.finished(4);
    // The lead reports by itself when the last task is merged.
    stage.hear(|event| event["message.sent"]["body"] == "Migration complete.");
    assert_eq!(stage.file("web/page.txt"), "fetch query { users }\n");
    assert_eq!(stage.file("api/resolvers.txt"), "users: from the store\nposts: from the store\n");
    stage.catch_up();
    let order = |kind: &str| -> Vec<u64> {
        stage.events(kind).iter().map(|one| one["task"].as_u64().unwrap()).collect()
    };
    assert_eq!(order("task.claimed"), [1, 2, 3, 4], "each waits for the one before");
    assert_eq!(order("task.completed"), [1, 2, 3, 4]);
    let by: Vec<String> = stage.events("task.claimed").iter().map(|one| name(&one["by"])).collect();
    assert_eq!(by, ["analyst", "backend", "backend", "frontend"]);
    let actors: BTreeSet<String> =
        server.requests().into_iter().filter_map(|request| request.actor).collect();
    assert_eq!(actors.len(), 4, "each has a conversation of its own: {actors:?}");

    // With nothing left to say, the lead is let go by the runtime like everybody else.
    stage.nothing_left();
    let mut output = String::new();
    for name in ["lead", "analyst", "backend", "frontend"] {
        let text = std::fs::read_to_string(stage.life(name, 1).join("output.log")).unwrap();
        writeln!(output, "**{name}**\n\n```text\n{}\n```\n", text.trim_end()).unwrap();
    }
    let log: Vec<String> = stage.log.iter().filter_map(told).collect();
    let page = PAGE.replace("{log}", &log.join("\n")).replace("{output}", output.trim_end()) + "\n";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/rest-to-graphql.md");
    if std::env::var_os("SHIPMATE_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(stable(&page), stable(&known), "SHIPMATE_BLESS=1 writes {}", path.display());
}
