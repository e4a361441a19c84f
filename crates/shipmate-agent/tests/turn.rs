//! The turn machine, text in and text out.
//!
//! ```text
//! turn TEXT                 a turn is given
//! message TEXT              somebody says something meanwhile
//! reply STEP; STEP          the model answers: `say TEXT`, `call NAME`, `cut`, `refused`
//! result TEXT               every call gave that
//! fails too-long|key|later|final
//! budget                    the next request is over the budget
//! cancel
//! => ask N | use NAME, NAME | summarise | ended HOW | -      what is to be done next
//! shows: A | B | C          the conversation, one part for each message
//! ```

use serde_json::json;
use shipmate_agent::context::Context;
use shipmate_agent::message::{Arguments, Block, Call, CallResult, Message, Role};
use shipmate_agent::model::{Failure, Reply, Stop};
use shipmate_agent::turn::{Event, Machine, Step};
use shipmate_protocol::native::Ended;

const REQUESTS_MAX: u32 = 4;

struct Scene {
    machine: Machine,
    open: Vec<Call>,
    calls: usize,
}

fn scene(window: u64) -> Scene {
    scene_with(window, REQUESTS_MAX)
}

fn scene_with(window: u64, requests_max: u32) -> Scene {
    let context = Context::new("You are ana.".to_owned(), window, window / 4);
    Scene { machine: Machine::new(context, requests_max), open: Vec::new(), calls: 0 }
}

/// What a model that answers `reply(n)` the n-th time, and hears `result(n)`, comes to: after how
/// many requests, how, and how often it was told that it repeats itself.
fn rounds(reply: impl Fn(u32) -> String, result: impl Fn(u32) -> String) -> (u32, String, usize) {
    let mut scene = scene_with(10_000_000, 1_000);
    let turn = scene.event("turn Task 1");
    scene.machine.on(turn);
    for request in 1.. {
        let said = scene.event(&format!("reply {}", reply(request)));
        scene.machine.on(said);
        let came = scene.event(&format!("result {}", result(request)));
        if let Step::Ended(how) = scene.machine.on(came) {
            let how = step(&Step::Ended(how), &scene.machine);
            return (request, how, scene.shown().matches("You have made the same calls").count());
        }
    }
    unreachable!()
}

impl Scene {
    fn reply(&mut self, steps: &str) -> Reply {
        let mut reply = Reply::default();
        for step in steps.split(';').map(str::trim) {
            match step.split_once(' ').unwrap_or((step, "")) {
                ("say", text) => reply.blocks.push(Block::Text(text.to_owned())),
                ("call", tool) => {
                    self.calls += 1;
                    // `call NAME ARGUMENT` has one.
                    let (tool, about) = tool.split_once(' ').unwrap_or((tool, ""));
                    let (id, tool) = (format!("c{}", self.calls), tool.to_owned());
                    let arguments = Arguments::Json(json!({ "about": about }));
                    let call = Call { id, tool, arguments };
                    self.open.push(call.clone());
                    reply.blocks.push(Block::Call(call));
                }
                ("cut", _) => reply.stop = Stop::Length,
                ("refused", _) => reply.stop = Stop::Refused,
                ("", _) => {}
                other => panic!("no such step: {other:?}"),
            }
        }
        reply
    }

    fn event(&mut self, line: &str) -> Event {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = rest.trim().to_owned();
        match word {
            "turn" => Event::Turn { text: text.clone(), whole: text },
            "message" => Event::Message(text),
            "reply" => Event::Reply(self.reply(rest)),
            "result" => {
                let open = std::mem::take(&mut self.open);
                let result = |call: Call| CallResult {
                    id: call.id,
                    tool: call.tool,
                    text: text.clone(),
                    is_error: false,
                };
                Event::Results(open.into_iter().map(result).collect())
            }
            "fails" => Event::Failed(match rest.trim() {
                "too-long" => Failure::TooLong { text: "prompt is too long".to_owned() },
                "key" => Failure::Key { text: "the key is wrong".to_owned() },
                "later" => Failure::Later { text: "no network".to_owned(), after: None },
                "final" => Failure::Final { text: "no such model".to_owned() },
                other => panic!("no such failure: {other}"),
            }),
            "budget" => Event::Refused("the budget is spent".to_owned()),
            "cancel" => Event::Cancel,
            other => panic!("no such event: {other}"),
        }
    }

    fn shown(&self) -> String {
        let messages = self.machine.context.messages().iter().map(message);
        messages.collect::<Vec<_>>().join(" | ")
    }
}

fn message(message: &Message) -> String {
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text(text) => text.replace('\n', " "),
        Block::Call(call) => format!("call {}", call.tool),
        Block::Result(result) => format!("result {}: {}", result.tool, result.text),
        Block::Thinking { .. } | Block::Sealed(_) => "thinks".to_owned(),
    });
    let who = if message.role == Role::User { "" } else { "*" };
    format!("{who}{}", blocks.collect::<Vec<_>>().join(" + "))
}

fn step(step: &Step, machine: &Machine) -> String {
    match step {
        Step::Nothing => "-".to_owned(),
        Step::Ask => format!("ask {}", machine.context.messages().len()),
        Step::Summarise => "summarise".to_owned(),
        Step::Use(calls) => {
            let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
            format!("use {}", names.join(", "))
        }
        Step::Ended(Ended::Done { text }) => format!("ended done {text}").trim().to_owned(),
        Step::Ended(Ended::Failed { reason }) => format!("ended failed {reason}"),
        Step::Ended(Ended::Unable { reason }) => format!("ended unable {reason}"),
        Step::Ended(Ended::Limited { reason, .. }) => format!("ended limited {reason}"),
        Step::Ended(Ended::Stopped { reason }) => format!("ended stopped {reason}"),
        Step::Ended(Ended::Cancelled) => "ended cancelled".to_owned(),
    }
}

fn check(script: &str) {
    check_in(1_000_000, script);
}

fn check_in(window: u64, script: &str) {
    let mut scene = scene(window);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(expected) = line.strip_prefix("shows:") {
            assert_eq!(scene.shown(), expected.trim(), "in:\n{script}");
            continue;
        }
        let (said, expected) = line.split_once("=>").unwrap_or((line, "-"));
        let event = scene.event(said.trim());
        let next = scene.machine.on(event);
        let next = step(&next, &scene.machine);
        assert!(next.starts_with(expected.trim()), "{line}\n got: {next}\n in:\n{script}");
    }
}

#[test]
fn it_is_active_while_the_model_calls_tools_and_idle_otherwise() {
    check(
        "
        turn Task 1: look              => ask 1
        reply say I look.; call grep   => use grep
        result two lines               => ask 3
        reply say Done.                => ended done Done.
        shows: Task 1: look | *I look. + call grep | result grep: two lines | *Done.
        turn Task 2: more              => ask 5
        ",
    );
}

#[test]
fn messages_go_in_at_the_boundary_and_cancel_nothing() {
    check(
        "
        turn Task 1                    => ask
        reply call bash; call grep     => use bash, grep
        message bo: hello              => -
        message bo: again              => -
        result ok                      => ask 3
        shows: Task 1 | *call bash + call grep | result bash: ok + result grep: ok + bo: hello + bo: again
        reply say Done.                => ended done Done.
        ",
    );
}

#[test]
fn a_message_that_comes_while_the_model_ends_makes_one_more_request() {
    check(
        "
        turn Task 1                    => ask 1
        message bo: wait               => -
        reply say Done.                => ask 3
        reply say I wait.              => ended done I wait.
        shows: Task 1 | *Done. | bo: wait | *I wait.
        ",
    );
}

#[test]
fn without_a_turn_nothing_asks_the_model() {
    check(
        "
        message bo: hello              => -
        cancel                         => -
        reply say late                 => -
        result late                    => -
        fails later                    => -
        turn Task 1                    => ask 1
        shows: Task 1 + bo: hello
        ",
    );
}

#[test]
fn cancel_acts_at_once_and_leaves_a_conversation_that_can_go_on() {
    check(
        "
        turn Task 1                    => ask
        reply call bash                => use bash
        cancel                         => ended cancelled
        shows: Task 1 | *call bash | result bash: cancelled: whether it was carried out is not \
         known; look at what is there
        result late                    => -
        turn Task 2                    => ask 3
        ",
    );
    check(
        "
        turn Task 1                    => ask
        cancel                         => ended cancelled
        reply say late                 => -
        turn Task 2                    => ask 1
        ",
    );
}

#[test]
fn a_model_that_never_stops_calling_tools_is_stopped() {
    check(
        "
        turn Task 1                    => ask
        reply call bash                => use bash
        result ok                      => ask
        reply call bash                => use bash
        result ok                      => ask
        reply call bash                => use bash
        result ok                      => ask
        reply call bash                => use bash
        result ok                      => ended failed it asked its model 4 times in one turn
        turn Task 2                    => ask
        ",
    );
}

#[test]
fn the_same_call_with_the_same_result_is_told_to_the_model_and_then_ends_the_turn() {
    let (requests, how, told) = rounds(|_| "call nosuch x".to_owned(), |_| "no".to_owned());
    assert_eq!((requests, told), (8, 2), "{how}");
    assert!(how.starts_with("ended failed it repeats itself: the same calls"), "{how}");
    // Whatever it says beside its calls, and with several in one answer.
    let words = |n| format!("say try {n}; call grep a; call grep b");
    assert_eq!(rounds(words, |_| "none".to_owned()).0, 8);
}

#[test]
fn a_circle_of_several_calls_is_noticed_too() {
    for length in 2..=4 {
        let (requests, how, told) =
            rounds(|n| format!("call read_file {}", n % length), |n| format!("{}", n % length));
        assert_eq!((requests, told), (8 * length, 2), "{how}");
    }
}

#[test]
fn calls_that_lead_somewhere_are_no_circle() {
    // Other arguments, other results, or something else in between.
    let till_the_end = |(requests, how, told): (u32, String, usize)| {
        assert!(how.contains("asked its model 1000 times"), "{requests}: {how}");
        assert_eq!(told, 0);
    };
    till_the_end(rounds(|n| format!("call read_file {n}"), |_| "same".to_owned()));
    let (requests, _, told) = rounds(|_| "call bash make".to_owned(), |n| format!("{n} left"));
    assert_eq!((requests, told), (200, 0), "the same command, and something else each time");
    let polled = rounds(|_| "call bash_output b1".to_owned(), |_| "[b1, running]".to_owned());
    assert_eq!((polled.0, polled.2), (200, 0), "what still runs is waited for");
    let odd = |n: u32| format!("call read_file {}", if n.is_multiple_of(7) { n } else { 0 });
    let (_, how, _) = rounds(odd, |_| "same".to_owned());
    assert!(how.contains("asked its model 1000 times"), "{how}");
}

#[test]
fn a_new_turn_begins_to_count_again() {
    let mut scene = scene_with(1_000_000, 1_000);
    for _ in 0..4 {
        let turn = scene.event("turn Task 1");
        scene.machine.on(turn);
        for _ in 0..5 {
            let said = scene.event("reply call grep x");
            scene.machine.on(said);
            let came = scene.event("result none");
            assert_eq!(scene.machine.on(came), Step::Ask);
        }
        let done = scene.event("reply say Done.");
        assert!(matches!(scene.machine.on(done), Step::Ended(Ended::Done { .. })));
    }
}

#[test]
fn failures_say_whether_the_task_or_the_model_is_the_trouble() {
    check("turn Task 1 => ask\n fails key   => ended unable the key is wrong");
    check("turn Task 1 => ask\n fails later => ended unable no network");
    check("turn Task 1 => ask\n fails final => ended unable no such model");
    check("turn Task 1 => ask\n budget      => ended stopped the budget is spent");
    check("turn Task 1 => ask\n reply refused => ended failed the model's provider refused");
    check("turn Task 1 => ask\n fails too-long => ended failed the conversation does not fit");
}

#[test]
fn a_cut_answer_is_gone_on_with_and_an_empty_one_ends_the_turn() {
    check(
        "
        turn Task 1                    => ask 1
        reply say One; cut             => ask 3
        reply say two.                 => ended done two.
        shows: Task 1 | *One | Your answer was cut: it was too long. Go on. | *two.
        turn Task 2                    => ask
        reply                          => ended done
        ",
    );
}

#[test]
fn a_conversation_that_the_provider_finds_too_long_is_shortened_and_asked_again() {
    check(
        "
        turn Task 1: look              => ask
        reply call grep                => use grep
        result two lines               => ask
        fails too-long                 => ask
        reply say Done.                => ended done Done.
        ",
    );
    check(
        "
        turn Task 1: look              => ask
        reply call grep                => use grep
        result two lines               => ask
        fails too-long                 => ask
        fails too-long                 => ended failed the conversation does not fit the model
        ",
    );
}

#[test]
fn a_full_window_is_summarised_and_the_agent_still_knows_who_it_is_and_its_task() {
    let long = "x".repeat(4_000);
    let mut scene = scene(1_200);
    let turn = scene.event("turn Task 7: write the parser in src/parse.rs");
    assert_eq!(scene.machine.on(turn), Step::Ask);
    let reply = scene.event("reply call write_file");
    scene.machine.on(reply);
    let results = scene.event(&format!("result {long}"));
    assert_eq!(scene.machine.on(results), Step::Summarise);
    let summary = scene.event("reply say The lexer is written.");
    assert_eq!(scene.machine.on(summary), Step::Ask);
    let first = scene.machine.context.messages()[0].text();
    for known in
        ["You are ana.", "Task 7: write the parser in src/parse.rs", "The lexer is written."]
    {
        assert!(first.contains(known), "{known} is not in:\n{first}");
    }
    assert_eq!(scene.machine.context.summaries(), 1);
    assert_eq!(scene.machine.context.messages().len(), 1, "the long result is gone");
}

#[test]
fn a_summary_that_does_not_come_is_made_without_the_model() {
    let long = "y".repeat(4_000);
    for answer in ["fails too-long", "reply call grep"] {
        let mut scene = scene(1_200);
        for line in ["turn Task 7", "reply say I write.; call write_file"] {
            let event = scene.event(line);
            scene.machine.on(event);
        }
        let results = scene.event(&format!("result {long}"));
        assert_eq!(scene.machine.on(results), Step::Summarise);
        let event = scene.event(answer);
        assert_eq!(scene.machine.on(event), Step::Ask);
        let first = scene.machine.context.messages()[0].text();
        assert!(first.contains("- I write.") && first.contains("called write_file"), "{first}");
    }
}

#[test]
fn old_large_results_shrink_before_anything_is_summarised() {
    let mut scene = scene(24_000);
    let turn = scene.event("turn Task 1");
    scene.machine.on(turn);
    for _ in 0..REQUESTS_MAX - 1 {
        for _ in 0..2 {
            let reply = scene.event("reply call read_file; call bash");
            scene.machine.context.push(Message::assistant(match reply {
                Event::Reply(reply) => reply.blocks,
                _ => unreachable!(),
            }));
            let results = scene.event(&format!("result {}", "z".repeat(4_800)));
            let Event::Results(results) = results else { unreachable!() };
            let blocks = results.into_iter().map(Block::Result).collect();
            scene.machine.context.push(Message { role: Role::User, blocks });
        }
    }
    let before = scene.machine.context.tokens();
    scene.machine.context.shrink();
    let shown = scene.shown();
    assert_eq!(shown.matches("this output was dropped").count(), 9, "all but the newest three");
    assert_eq!(shown.matches(&"z".repeat(4_800)).count(), 3);
    assert!(scene.machine.context.tokens() * 2 < before);
    assert_eq!(scene.machine.context.summaries(), 0);
}

#[test]
fn what_waits_when_a_turn_ends_is_kept_for_the_next() {
    check(
        "
        turn Task 1                    => ask
        reply call bash                => use bash
        message bo: hello              => -
        cancel                         => ended cancelled
        turn Task 2                    => ask
        shows: Task 1 | *call bash | result bash: cancelled: whether it was carried out is not \
         known; look at what is there + bo: hello + Task 2
        ",
    );
}

#[test]
fn answers_that_are_cut_again_and_again_are_no_end_of_the_work() {
    check(
        "
        turn Task 1                    => ask
        reply say One; cut             => ask
        reply say two; cut             => ask
        reply say three; cut           => ask
        reply cut                      => ended failed its answers were cut for their length
        ",
    );
}
