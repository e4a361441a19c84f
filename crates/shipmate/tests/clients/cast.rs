//! A team of one real program, and somebody by hand beside it whose words it hears.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shipmate_protocol::verbs::{Setup, Supervision, TaskNew, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Environment, Program, Surroundings};

use crate::stage::Stage;

/// A program as a teammate's agent is named, and what it needs around it.
pub(crate) struct Kind {
    pub(crate) agent: &'static str,
    /// None: our own agent, which is told of the model by the configuration.
    program: Option<Program>,
    surroundings: fn(&Path, &Server) -> Environment,
}

pub(crate) const CLAUDE: Kind =
    Kind { agent: "claude", program: Some(Program::Claude), surroundings: Surroundings::claude };
/// With the login of a subscription, whose limits its provider tells.
pub(crate) const CLAUDE_SUBSCRIBED: Kind = Kind {
    agent: "claude",
    program: Some(Program::Claude),
    surroundings: Surroundings::claude_subscribed,
};
pub(crate) const CODEX: Kind =
    Kind { agent: "codex", program: Some(Program::Codex), surroundings: Surroundings::codex };
pub(crate) const GEMINI: Kind =
    Kind { agent: "gemini", program: Some(Program::Gemini), surroundings: Surroundings::gemini };
pub(crate) const OPENCODE: Kind = Kind {
    agent: "opencode",
    program: Some(Program::Opencode),
    surroundings: Surroundings::opencode,
};

pub(crate) const NATIVE: Kind =
    Kind { agent: "native", program: None, surroundings: |_, _| Environment::new() };

/// A repository in which the program is found first. Files may be added before the team begins.
pub(crate) fn stage(kind: &Kind, server: &Server) -> Stage {
    let model = |provider: &str| {
        let url = server.url();
        format!(
            "[models.{provider}]\nprotocol = \"anthropic\"\nbase-url = \"{url}\"\nkey-variable = \"\"\n"
        )
    };
    let models = format!("[models]\ndefault = \"test/scripted\"\n{}", model("test"));
    let stage = match kind.program {
        Some(_) => Stage::new(""),
        None => Stage::new(&format!("{models}{}", model("anthropic"))),
    };
    install(&stage, kind, server);
    stage
}

/// Has the program found first, on this model.
pub(crate) fn install(stage: &Stage, kind: &Kind, server: &Server) {
    let Some(program) = kind.program else { return };
    let environment = (kind.surroundings)(&stage.root().join("home"), server);
    let (exports, program) = (Surroundings::exports(environment), program.path());
    put(stage, kind.agent, &format!("{exports}exec '{}' \"$@\"\n", program.display()));
}

/// Has a program of this name found first, which is this script.
pub(crate) fn put(stage: &Stage, name: &str, script: &str) {
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join(name), format!("#!/bin/sh\n{script}")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join(name), mode).unwrap();
}

/// A team with the program as ana, who runs when there is a task.
pub(crate) fn team(stage: &mut Stage, kind: &Kind, change: impl FnOnce(&mut TeammateAdd)) {
    team_of(stage, kind.agent, change);
}

/// The same with a program that was put there by hand.
pub(crate) fn team_of(stage: &mut Stage, agent: &str, change: impl FnOnce(&mut TeammateAdd)) {
    let gate = vec!["true".to_owned()];
    team_with(stage, agent, Setup { gate, ..Setup::default() }, change);
}

pub(crate) fn team_with(
    stage: &mut Stage,
    agent: &str,
    setup: Setup,
    change: impl FnOnce(&mut TeammateAdd),
) {
    stage.team(setup, &[]);
    stage.add("ana", |mut add| {
        add.command = String::new();
        add.agent = agent.to_owned();
        change(&mut add);
        add
    });
}

/// Has ana stay when there is nothing to do.
pub(crate) fn stays(stage: &mut Stage) {
    let (name, supervision) = ("ana".to_owned(), Supervision::Supervised);
    stage.ask(Ask::TeammateStart(verbs::TeammateStart { name, supervision }));
}

/// Bo, who acts by its token.
pub(crate) fn bo(stage: &mut Stage) -> Client {
    let name = || "bo".to_owned();
    stage.ask(Ask::TeammateAdd(TeammateAdd { name: name(), ..TeammateAdd::default() }));
    let start =
        Ask::TeammateStart(verbs::TeammateStart { name: name(), supervision: Supervision::None });
    let Answer::Started(answers::Started { token, .. }) = stage.ask(start) else { panic!() };
    stage.client_of(token)
}

pub(crate) fn task(subject: &str, description: &str) -> Ask {
    let (subject, description) = (subject.to_owned(), description.to_owned());
    let assignee = Some("ana".to_owned());
    Ask::TaskCreate(verbs::TaskCreate {
        tasks: vec![TaskNew { subject, description, assignee, ..TaskNew::default() }],
    })
}

pub(crate) fn message(body: &str) -> Ask {
    let (to, body) = ("ana".to_owned(), body.to_owned());
    Ask::Send(verbs::Send { to, body, kind: None, reply_to: None })
}
