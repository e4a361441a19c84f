//! A second login of the same program as what takes a teammate's place at a limit.

use std::collections::BTreeMap;
use std::ffi::OsString;

use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{Setup, TeammateAdd};
use shipmate_testkit::model::{Meter, Server};
use shipmate_testkit::programs::{Program, Surroundings};

use crate::cast::{self, CLAUDE_SUBSCRIBED};
use crate::limits::{SCRIPT, logged_in, nothing_failed, soon, tasks};
use crate::stage::Stage;

/// What every program has around it anyway.
fn is_usual(name: &str) -> bool {
    name.starts_with("XDG_") || ["HOME", "PATH", "TMPDIR"].contains(&name)
}

/// Configures the same program with a folder and login of its own, on this model.
fn second_claude(stage: &Stage, server: &Server, own: &[(&str, &str)]) {
    let folder = stage.root().join("home/.claude-second");
    let environment = Surroundings::claude_subscribed(&folder, server);
    let text = |text: OsString| text.into_string().unwrap();
    let environment = environment.into_iter().map(|(name, value)| (text(name), text(value)));
    let mut env: BTreeMap<String, String> =
        environment.filter(|(name, _)| !is_usual(name)).collect();
    env.insert("CLAUDE_CONFIG_DIR".to_owned(), "~/.claude-second".to_owned());
    env.extend(own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let env: Vec<String> = env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let program = Program::Claude.path();
    let config = stage.place().config();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = format!(
        "{text}\n[agents.claude-second]\nlike = \"claude\"\nprogram = {program:?}\nenv = {{ {} }}\n",
        env.join(", ")
    );
    std::fs::write(config, text).unwrap();
}

/// Ana on the first login, who may go on with the second.
fn with_second_login(stage: &mut Stage) -> Ask {
    stage.team(Setup { gate: vec!["true".to_owned()], ..Setup::default() }, &[]);
    Ask::TeammateAdd(TeammateAdd {
        name: "ana".to_owned(),
        agent: "claude".to_owned(),
        fallback: "claude-second".to_owned(),
        when_needed: true,
        ..TeammateAdd::default()
    })
}

#[test]
fn a_second_login_of_the_same_program_takes_over_at_the_limit_of_the_first() {
    let (first, second) = (Server::start(SCRIPT), Server::start(SCRIPT));
    let mut stage = cast::stage(&CLAUDE_SUBSCRIBED, &first);
    second_claude(&stage, &second, &[]);
    let add = with_second_login(&mut stage);
    stage.ask(add);
    let one = tasks(&mut stage, 1, &[]);
    stage.finished(1);
    let own = stage.teammate("ana").account;
    first.meter(Meter::new(0, Some(soon(3600))));
    let more = tasks(&mut stage, 2, &[]);
    stage.finished(3);
    nothing_failed(&mut stage, &[one, more].concat());
    let mate = stage.teammate("ana");
    assert_eq!((mate.agent.as_str(), mate.instead_of.as_str()), ("claude-second", "claude"));
    assert!(mate.account.as_ref().unwrap().starts_with("claude-"), "{mate:?}");
    assert_ne!(mate.account, own);
    let asked = second.requests().len();
    assert!(asked > 0, "the second login was asked with");
    first.reset();
    assert!(stage.shipmate(&["account", "resume"]).status.success());
    while stage.events("teammate.fell_over").len() < 2 {
        stage.event("teammate.fell_over");
    }
    tasks(&mut stage, 1, &[]);
    stage.finished(4);
    assert_eq!(stage.teammate("ana").account, own);
}

#[test]
fn a_fallback_that_asks_with_the_same_account_is_refused() {
    let server = Server::start(SCRIPT);
    let mut stage = cast::stage(&CLAUDE_SUBSCRIBED, &server);
    logged_in(&stage, "u-1");
    let config = stage.place().config();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = format!("{text}\n[agents.claude-second]\nlike = \"claude\"\n");
    std::fs::write(config, text).unwrap();
    let add = with_second_login(&mut stage);
    let Ask::TeammateAdd(add) = add else { panic!("{add:?}") };
    for fallback in ["claude-second", "claude:haiku"] {
        let add = TeammateAdd { fallback: fallback.to_owned(), ..add.clone() };
        let refused = stage.refusal(Ask::TeammateAdd(add)).message;
        let fact = format!("claude and {fallback} ask with the same account");
        assert!(refused.contains(&fact), "{refused}");
    }
}
