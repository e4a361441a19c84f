//! Budgets and the programs of vendors: nothing is begun that there is no room for, a turn is broken
//! off before the request that would pass its budget, and a person is told.

use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Budget;
use shipmate_protocol::view::TaskStatus;
use shipmate_testkit::model::Server;

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, OPENCODE, task};
use crate::stage::Stage;

/// Each request takes 4010 tokens; there are more calls than any budget here has room for.
const DEAR: &str = r#"
as ana
on "write one"
  usage 4000 10
  shell echo 1 > one.txt
  usage 4000 10
  shell echo 2 >> one.txt
  usage 4000 10
  shell echo 3 >> one.txt
  usage 4000 10
  shell echo 4 >> one.txt
  usage 4000 10
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  usage 4000 10
  say Done.
"#;

fn tokens(max: u64) -> Ask {
    Ask::TeamBudget(verbs::TeamBudget {
        budget: Budget { tokens_max: Some(max), ..Budget::default() },
    })
}

fn money(micros: u64) -> Ask {
    Ask::TeamBudget(verbs::TeamBudget {
        budget: Budget { cost_micros_max: Some(micros), ..Budget::default() },
    })
}

fn begin(kind: &Kind, model: &str, budget: Ask) -> (Stage, Server) {
    let server = Server::start(DEAR);
    let mut stage = cast::stage(kind, &server);
    cast::team(&mut stage, kind, |add| add.model = model.to_owned());
    stage.ask(budget);
    stage.ask(task("write one", ""));
    (stage, server)
}

/// What was recorded: tokens, and millionths of a dollar.
fn used(stage: &mut Stage) -> (u64, u64) {
    stage.catch_up();
    let sum = |name: &str| -> u64 {
        stage.events("usage.recorded").iter().filter_map(|used| used["usage"][name].as_u64()).sum()
    };
    (sum("tokens_in") + sum("tokens_out"), sum("cost_micros"))
}

/// Waits until ana has stopped for want of a budget, and has given its task back at no cost.
fn paused(stage: &mut Stage) -> String {
    let paused = stage.event("teammate.paused");
    let reason = paused["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("its budget is spent: the budget of team alpha"), "{reason}");
    assert!(reason.contains("`shipmate --team alpha team budget --"), "{reason}");
    stage.event("task.released");
    let task = stage.task(1);
    assert_eq!((task.row.status.word(), task.retries), ("pending", 0));
    assert_eq!(stage.events("task.failed"), Vec::<Value>::new());
    reason
}

/// Requests for a reply of the script; programs ask for titles and the like beside them.
fn asked(server: &Server) -> usize {
    server.requests().iter().filter(|request| request.contains("write one")).count()
}

fn goes_on(stage: &mut Stage) {
    stage.ask(tokens(1_000_000));
    stage.finished(1);
    assert_eq!(stage.task(1).result.unwrap(), "ok");
    stage.nothing_left();
}

fn is_not_begun_without_room(kind: &Kind) {
    let (mut stage, server) = begin(kind, "", tokens(100));
    paused(&mut stage);
    assert_eq!((asked(&server), used(&mut stage)), (0, (0, 0)));
    goes_on(&mut stage);
}

#[test]
fn a_claude_asks_nothing_where_there_is_no_room_for_a_request() {
    is_not_begun_without_room(&CLAUDE);
}

#[test]
fn a_codex_asks_nothing_where_there_is_no_room_for_a_request() {
    is_not_begun_without_room(&CODEX);
}

#[test]
fn a_claude_stops_before_the_request_that_would_pass_its_budget() {
    let (mut stage, server) = begin(&CLAUDE, "", tokens(10_000));
    let reason = paused(&mut stage);
    is_told_of_two(&mut stage, &server, &reason);
    goes_on(&mut stage);
}

#[test]
fn a_codex_stops_before_the_request_that_would_pass_its_budget() {
    let (mut stage, server) = begin(&CODEX, "gpt-5", tokens(14_000));
    let reason = paused(&mut stage);
    let (tokens, cost) = used(&mut stage);
    assert_eq!((asked(&server), tokens), (3, 12_030), "{reason}");
    assert_eq!(cost, 3 * (4_000 * 125 / 100 + 10 * 10), "at the price of its model");
    goes_on(&mut stage);
}

#[test]
fn neither_asks_anything_for_half_a_thousandth_of_a_dollar() {
    for (kind, model) in [(&CLAUDE, "claude-opus-5-5"), (&CODEX, "gpt-5")] {
        let (mut stage, server) = begin(kind, model, money(500));
        let reason = paused(&mut stage);
        assert!(reason.contains("$0.0005"), "{reason}");
        assert_eq!((asked(&server), used(&mut stage)), (0, (0, 0)), "{}", kind.agent);
    }
}

#[test]
fn a_claude_stops_before_it_has_spent_more_money_than_it_may() {
    // A request is $0.0162.
    let (mut stage, server) = begin(&CLAUDE, "", money(40_000));
    let reason = paused(&mut stage);
    is_told_of_two(&mut stage, &server, &reason);
}

/// A request is $0.0608 at the dearest price of its kind, and $0.0162 at that of the model it is to ask.
#[test]
fn within_a_turn_a_claude_model_without_a_known_price_counts_as_the_dearest() {
    let server = Server::start(&format!("named harbour-9\n{DEAR}"));
    let mut stage = cast::stage(&CLAUDE, &server);
    cast::team(&mut stage, &CLAUDE, |_| {});
    stage.ask(money(100_000));
    stage.ask(task("write one", ""));
    let reason = paused(&mut stage);
    assert_eq!(asked(&server), 1, "{reason}");
}

/// Two requests at the price of its model. The program calls a tool while the reply still comes:
/// broken off there, it may tell one of the ten tokens that came out, and count its money by that.
fn is_told_of_two(stage: &mut Stage, server: &Server, reason: &str) {
    assert_eq!(asked(server), 2, "{reason}");
    let (tokens, cost) = used(stage);
    assert!((2 * 4_001..=2 * 4_010).contains(&tokens), "{tokens} tokens: {reason}");
    let of = |out: u64| 2 * (4_000 * 4 + out * 20);
    assert!((of(1)..=of(10)).contains(&cost), "{cost} for {tokens} tokens: {reason}");
}

#[test]
fn a_codex_stops_before_it_has_spent_more_money_than_it_may() {
    // A request is $0.0051.
    let (mut stage, server) = begin(&CODEX, "gpt-5", money(18_000));
    paused(&mut stage);
    assert_eq!((asked(&server), used(&mut stage)), (3, (12_030, 15_300)));
}

#[test]
fn a_task_that_was_called_done_with_the_last_of_the_budget_is_done() {
    let script = r#"
        as ana
        on "write one"
          usage 9000 10
          tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
          usage 9000 10
          say Done.
    "#;
    for kind in [&CLAUDE, &CODEX] {
        let server = Server::start(script);
        let mut stage = cast::stage(kind, &server);
        cast::team(&mut stage, kind, |_| {});
        stage.ask(tokens(9_000));
        // Codex tells what a request took after its tools have answered: by then only the length of the
        // text says that there is no room for two, whatever else a request holds.
        stage.ask(task("write one", &"a word ".repeat(3_000)));
        // What comes next there is no budget for, and somebody says so.
        stage.ask(task("write two", ""));
        stage.finished(1);
        assert_eq!(stage.task(1).result.unwrap(), "ok");
        if stage.events("teammate.paused").is_empty() {
            stage.event("teammate.paused");
        }
        let paused = stage.events("teammate.paused").remove(0);
        // Claude Code tells one token of a reply when that begins, and the rest at its end.
        let spent = ["9001 of 9000 tokens", "9010 of 9000 tokens"];
        let reason = paused["reason"].as_str().unwrap();
        assert!(spent.iter().any(|spent| reason.contains(spent)), "{paused}");
        assert!((9_001..=9_010).contains(&used(&mut stage).0), "{}", kind.agent);
        assert_eq!(asked(&server), 1, "{}", kind.agent);
        assert_eq!(stage.task(2).row.status, TaskStatus::Pending);
    }
}

#[test]
fn money_is_not_counted_for_a_program_that_names_no_model_of_a_known_price() {
    let server = Server::start(DEAR);
    let mut stage = cast::stage(&CODEX, &server);
    cast::team(&mut stage, &CODEX, |_| {});
    let refused = stage.refusal(money(1));
    assert_eq!(refused.code.as_str(), "UnknownPrice");
    assert!(
        refused.message.contains("codex tells its tokens and not what they cost"),
        "{refused:?}"
    );
    assert!(refused.remedy.unwrap().contains("--model MODEL"));
}

fn an_acp_program_stops(kind: &Kind) {
    is_not_begun_without_room(kind);
    // Until its turn ends a request counts as what shipmate puts into it, which is the least of it.
    let (mut stage, server) = begin(kind, "", tokens(3_000));
    paused(&mut stage);
    let asked = asked(&server);
    assert!((1..=3).contains(&asked), "it asked {asked} times");
    let (tokens, _) = used(&mut stage);
    assert!(tokens > 0 && tokens < 16_000, "{tokens} tokens");
    goes_on(&mut stage);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn a_gemini_stops_near_its_budget() {
    an_acp_program_stops(&GEMINI);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn an_opencode_stops_near_its_budget() {
    an_acp_program_stops(&OPENCODE);
}
