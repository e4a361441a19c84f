//! What agents spend: ceilings in money that somebody can keep, and models that go in circles.

use std::os::unix::fs::PermissionsExt;

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Budget, Setup, TaskNew, TeamCreate, TeamSet, TeammateAdd};
use shipmate_testkit::model::Server;

use crate::native::{native, stage};
use crate::stage::{Stage, TEAM};

const IN_MONEY: Budget =
    Budget { tokens_max: None, cost_micros_max: Some(5_000_000), window_max: None };

#[test]
fn a_budget_in_money_is_refused_where_the_price_is_not_known() {
    let server = Server::start("on *\n  say x\n");
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    for ask in [
        Ask::TeamBudget(verbs::TeamBudget { budget: IN_MONEY }),
        Ask::TeammateBudget(verbs::TeammateBudget { name: "a".to_owned(), budget: IN_MONEY }),
    ] {
        let refused = stage.refusal(ask);
        assert_eq!(refused.code.as_str(), "UnknownPrice");
        let fact = "money cannot be counted for a: the price of test/scripted is not known";
        assert_eq!(refused.message, fact);
        let remedy = refused.remedy.unwrap();
        assert!(remedy.contains("[models.test]") && remedy.contains("--tokens"), "{remedy}");
    }
    // One in tokens beside it keeps another promise.
    let both = Budget { tokens_max: Some(100_000_000), ..IN_MONEY };
    assert_eq!(
        stage.refusal(Ask::TeamBudget(verbs::TeamBudget { budget: both })).code.as_str(),
        "UnknownPrice"
    );
    stage.ask(Ask::TeamBudget(verbs::TeamBudget {
        budget: Budget { cost_micros_max: None, ..both },
    }));
}

#[test]
fn a_budget_in_money_is_refused_where_the_price_of_a_fallback_is_not_known() {
    let server = Server::start("on *\n  say x\n");
    let price = "price = { input = 0, output = 0 }\n";
    let mut stage = stage(&server, "anthropic", price, &[]);
    stage.add("a", |add| TeammateAdd {
        command: String::new(),
        agent: "native".to_owned(),
        fallback: "native:ollama/dear".to_owned(),
        ..add
    });
    let refused = stage.refusal(Ask::TeamBudget(verbs::TeamBudget { budget: IN_MONEY }));
    let fact = "money cannot be counted for a: the price of ollama/dear is not known";
    assert_eq!((refused.code.as_str(), refused.message.as_str()), ("UnknownPrice", fact));
}

#[test]
fn nobody_gets_an_agent_under_a_budget_in_money_who_cannot_be_counted() {
    let server = Server::start("on *\n  say x\n");
    let price = "price = { input = 0, output = 0 }\n";
    let mut stage = stage(&server, "anthropic", price, &["a"]);
    let set = Ask::TeamSet;
    let model = || TeamSet { model: Some("ollama/dear".to_owned()), ..TeamSet::default() };
    let command = || TeamSet { command: "true".to_owned(), ..TeamSet::default() };
    for budget in [
        Ask::TeamBudget(verbs::TeamBudget { budget: IN_MONEY }),
        Ask::TeammateBudget(verbs::TeammateBudget { name: "a".to_owned(), budget: IN_MONEY }),
    ] {
        stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget: Budget::default() }));
        stage.ask(budget);
        let refused = stage.refusal(set(model()));
        assert!(refused.message.contains("the price of ollama/dear is not known"), "{refused:?}");
        let refused = stage.refusal(set(command()));
        assert_eq!(refused.code.as_str(), "UnknownPrice", "{refused:?}");
        assert!(refused.remedy.is_some_and(|remedy| !remedy.is_empty()));
    }
    stage.ask(Ask::TeammateBudget(verbs::TeammateBudget {
        name: "a".to_owned(),
        budget: Budget::default(),
    }));
    stage.ask(set(command()));
}

#[test]
fn a_share_of_a_window_is_refused_where_nobody_has_an_account() {
    let server = Server::start("on *\n  say x\n");
    let mut stage = stage(&server, "anthropic", "", &["a"]);
    let window = Budget { window_max: Some(300), ..Budget::default() };
    // Our own agent has one; whether it has windows is seen by its replies.
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget: window }));
    let plain = |name: &str| TeammateAdd {
        name: name.to_owned(),
        command: "true".to_owned(),
        when_needed: true,
        ..TeammateAdd::default()
    };
    let refused = stage.refusal(Ask::TeammateAdd(plain("b")));
    let fact = "no share of a window can be kept for b: a plain command has no account that is known \
                of: true";
    assert_eq!((refused.code.as_str(), refused.message.as_str()), ("UnknownPrice", fact));
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget: Budget::default() }));
    stage.ask(Ask::TeammateAdd(plain("b")));
    for ask in [
        Ask::TeamBudget(verbs::TeamBudget { budget: window }),
        Ask::TeammateBudget(verbs::TeammateBudget { name: "b".to_owned(), budget: window }),
    ] {
        assert_eq!(stage.refusal(ask).message, fact);
    }
    let own = verbs::TeammateBudget { name: "a".to_owned(), budget: window };
    stage.ask(Ask::TeammateBudget(own));
}

#[test]
fn the_ceiling_of_the_team_that_is_meant_counts_and_not_only_the_roots() {
    let server = Server::start("on *\n  say x\n");
    let mut stage = stage(&server, "anthropic", "", &[]);
    let below = TeamCreate {
        name: "dep".to_owned(),
        parent: Some(TEAM.to_owned()),
        ..TeamCreate::default()
    };
    stage.ask(Ask::TeamCreate(below));
    let mut dep = stage.client();
    dep.team = Some("dep".to_owned());
    dep.ask(Ask::TeamBudget(verbs::TeamBudget { budget: IN_MONEY })).unwrap();
    let plain = |name: &str| {
        let (name, command) = (name.to_owned(), "true".to_owned());
        Ask::TeammateAdd(TeammateAdd { name, command, when_needed: true, ..Default::default() })
    };
    let failure = dep.ask(plain("x")).unwrap_err();
    assert!(failure.to_string().contains("money cannot be counted for x"), "{failure}");
    // The team above has none.
    stage.ask(plain("y"));
}

#[test]
fn nobody_joins_a_team_with_a_budget_in_money_who_cannot_be_counted() {
    let server = Server::start("on *\n  say x\n");
    let price = "price = { input = 0, output = 0 }\n";
    let mut stage = stage(&server, "anthropic", price, &["a"]);
    // It costs nothing, and that is known.
    stage.ask(Ask::TeamBudget(verbs::TeamBudget { budget: IN_MONEY }));
    native(&mut stage, "b", "normal");
    let add = |name: &str| TeammateAdd {
        name: name.to_owned(),
        when_needed: true,
        ..TeammateAdd::default()
    };
    let dear = TeammateAdd { agent: "native".into(), model: "ollama/dear".into(), ..add("c") };
    let refused = stage.refusal(Ask::TeammateAdd(dear));
    assert!(refused.message.contains("the price of ollama/dear is not known"), "{refused:?}");
    let refused =
        stage.refusal(Ask::TeammateAdd(TeammateAdd { command: "./work.sh".into(), ..add("d") }));
    assert!(refused.message.contains("a plain command tells nobody what it spends"), "{refused:?}");
    // A session comes by itself: nobody starts it.
    stage.ask(Ask::TeammateAdd(TeammateAdd { when_needed: false, ..add("e") }));
}

#[test]
fn a_program_that_could_not_be_started_has_used_nothing() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let script = "#!/bin/sh\ncase \"$*\" in --version) echo 2.1.0; exit 0;; esac\nexit 1\n";
    std::fs::write(bin.join("claude"), script).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("claude"), mode).unwrap();
    stage.team(Setup::default(), &[]);
    stage.add("a", |mut add| {
        (add.command, add.agent) = (String::new(), "claude".to_owned());
        add
    });
    stage.tasks(&["write"]);
    stage.event("teammate.disappeared");
    let used = stage.events("usage.recorded");
    let tokens: u64 =
        used.iter().map(|one| one["usage"]["tokens_in"].as_u64().unwrap_or_default()).sum();
    assert_eq!(tokens, 0, "{used:?}");
}

#[test]
fn a_model_that_makes_the_same_call_again_and_again_fails_its_attempt_early() {
    let mut script = "as a\non \"Task 1:\"\n".to_owned();
    for _ in 0..40 {
        script.push_str("  shell false\n");
    }
    script.push_str("  say Done.\n");
    let server = Server::start(&script);
    let mut stage = stage(&server, "openai", "", &["a"]);
    let subject = "write".to_owned();
    stage.create(vec![TaskNew { subject, retries_max: Some(0), ..TaskNew::default() }]);
    stage.finished(1);
    let failed = stage.events("task.failed");
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it repeats itself: the same calls"), "{reason}");
    let requests = server.requests();
    assert_eq!(requests.len(), 8);
    let told = requests[3].body.to_string();
    assert!(told.contains("You have made the same calls 3 times"), "{told}");
}
