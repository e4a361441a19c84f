//! What a script means, and what is refused.

use super::*;

fn rules(text: &str) -> Vec<Rule> {
    text.parse::<Script>().unwrap_or_else(|e| panic!("{e}")).rules
}

fn refused(text: &str) -> String {
    text.parse::<Script>().expect_err("this script cannot be meant").to_string()
}

fn tool(name: &str) -> Act {
    Act::Tool { name: name.to_owned(), arguments: serde_json::json!({}) }
}

#[test]
fn a_text_goes_out_with_the_call_below_it_and_ends_the_turn_otherwise() {
    let rules = rules(
        r#"
        # a comment
        as ana                  # who
        on "task 1"  "urgent"   # which
          say I begin.
          shell echo a # b
          say Half.
          say "Done:\nall."
        "#,
    );
    let [rule] = &rules[..] else { panic!("{rules:?}") };
    let told = Actor::Told { name: "ana".to_owned(), text: "You are ana".to_owned() };
    assert_eq!((&rule.actor, rule.line), (&told, 4));
    assert_eq!(rule.on, ["task 1", "urgent"]);
    assert_eq!(
        rule.turns,
        [
            Turn {
                say: Some("I begin.".to_owned()),
                calls: vec![Act::Shell("echo a # b".to_owned())],
                ..Turn::default()
            },
            Turn { say: Some("Half.".to_owned()), ..Turn::default() },
            Turn { say: Some("Done:\nall.".to_owned()), ..Turn::default() },
        ]
    );
}

#[test]
fn calls_are_one_turn_each_unless_joined_and_stop_parts_a_text_from_a_call() {
    let rules = rules("on *\n tool A\n tool B {}\n & tool C\n say D\n stop\n tool E");
    let calls: Vec<_> = rules[0].turns.iter().map(|turn| turn.calls.clone()).collect();
    assert_eq!(calls, [vec![tool("A")], vec![tool("B"), tool("C")], vec![], vec![tool("E")]]);
    assert_eq!((&rules[0].actor, &rules[0].on), (&Actor::Everybody, &Vec::new()));
}

#[test]
fn a_script_may_name_the_only_key_and_the_only_model() {
    let script = "key right\nmodel large\non *\n say A".parse::<Script>();
    let script = script.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((script.key.as_deref(), script.model.as_deref()), (Some("right"), Some("large")));
    let named = "named other\non *\n say A".parse::<Script>().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(named.named.as_deref(), Some("other"));
    assert_eq!(refused("key"), "line 1 of the script: which key?");
}

#[test]
fn what_holds_up_belongs_to_the_reply_below_it() {
    let rules = rules(
        "as \"your name is bo\"\non *\n say A\n hold a\n wait 5\n error 529 retry-after 2 full\n \
         error 3 times 500\n error always 400\n think Hm.\n usage 7 8\n cut\n write a/b some text",
    );
    let told = "your name is bo".to_owned();
    assert_eq!(rules[0].actor, Actor::Told { name: told.clone(), text: told });
    let error = |status, times, retry_after, text: &str| Before::Error {
        status,
        times,
        retry_after,
        text: text.to_owned(),
    };
    let expected = Turn {
        before: vec![
            Before::Hold("a".to_owned()),
            Before::Wait { ms: 5 },
            error(529, Times::Only(1), Some(2), "full"),
            error(500, Times::Only(3), None, "an error of the script"),
            error(400, Times::Always, None, "an error of the script"),
        ],
        think: Some("Hm.".to_owned()),
        say: None,
        calls: vec![Act::Write { path: "a/b".to_owned(), text: "some text".to_owned() }],
        usage: Some(Usage { input: 7, output: 8 }),
        cut: true,
    };
    assert_eq!(rules[0].turns[1..], [expected]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_line() {
    for (script, told) in [
        ("say hello", "line 1 of the script: `say` stands outside a rule: begin one with `on`"),
        ("on *\n say a\n\n sing b", "line 4 of the script: `sing b` is no step; steps are"),
        ("on task", "line 1 of the script: `on` needs the text in quotes, or * for any text"),
        ("on \"\"", "line 1 of the script: `on` needs the text in quotes"),
        ("on \"task\n say a", "line 1 of the script: the text in quotes is not closed"),
        ("as ana bo", "line 1 of the script: `bo` is too much on this line"),
        ("on *", "line 1 of the script: this rule has no step"),
        ("on *\n say a\n hold b", "line 1 of the script: the last lines of this rule hold up"),
        ("on *\n & tool a", "line 2 of the script: `&` joins the line above"),
        ("on *\n stop", "line 2 of the script: `stop` ends a turn"),
        ("on *\n say", "line 2 of the script: say what?"),
        ("on *\n say \"a", "line 2 of the script: a text that begins with a quote must be one"),
        ("on *\n tool a {", "line 2 of the script: the arguments of a are no JSON"),
        ("on *\n tool a []", "line 2 of the script: the arguments of a must be a JSON object"),
        ("on *\n & say a", "line 2 of the script: `&` joins"),
        ("on *\n say a\n & say b", "line 3 of the script: `say` is no call"),
        ("on *\n error 200", "line 2 of the script: 200 is no error"),
        ("on *\n error soon", "line 2 of the script: error needs a status"),
        ("on *\n usage 1", "line 2 of the script: usage needs two numbers"),
        ("on *\n wait long", "line 2 of the script: wait needs milliseconds"),
        ("on *\n cut off", "line 2 of the script: `cut off` is no step"),
    ] {
        let answer = refused(script);
        assert!(answer.starts_with(told), "{script:?}: {answer}");
    }
}

#[test]
fn the_example_in_the_description_of_the_language_means_what_it_says() {
    let header = include_str!("../model.rs");
    let example = header.split("//! ```").nth(1).unwrap().strip_prefix("text").unwrap();
    let lines: Vec<_> = example.lines().map(|line| line.trim_start_matches("//!")).collect();
    let rules = rules(&lines.join("\n"));
    let calls: Vec<_> = rules[0].turns.iter().map(|turn| turn.calls.len()).collect();
    assert_eq!((rules.len(), calls), (2, vec![1, 2, 0]));
    assert_eq!(rules[0].turns[0].say.as_deref(), Some("I will write the file."));
}
