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
    program: Program,
    surroundings: fn(&Path, &Server) -> Environment,
}

pub(crate) const CLAUDE: Kind =
    Kind { agent: "claude", program: Program::Claude, surroundings: Surroundings::claude };
pub(crate) const CODEX: Kind =
    Kind { agent: "codex", program: Program::Codex, surroundings: Surroundings::codex };
pub(crate) const GEMINI: Kind =
    Kind { agent: "gemini", program: Program::Gemini, surroundings: Surroundings::gemini };
pub(crate) const OPENCODE: Kind =
    Kind { agent: "opencode", program: Program::Opencode, surroundings: Surroundings::opencode };

/// A repository in which the program is found first. Files may be added before the team begins.
pub(crate) fn stage(kind: &Kind, server: &Server) -> Stage {
    let stage = Stage::new("");
    let environment = (kind.surroundings)(&stage.root().join("home"), server);
    let (exports, program) = (Surroundings::exports(environment), kind.program.path());
    let script = format!("#!/bin/sh\n{exports}exec '{}' \"$@\"\n", program.display());
    let bin = stage.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join(kind.agent), script).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join(kind.agent), mode).unwrap();
    stage
}

/// A team with the program as ana, who runs when there is a task.
pub(crate) fn team(stage: &mut Stage, kind: &Kind, change: impl FnOnce(&mut TeammateAdd)) {
    stage.team(Setup { gate: vec!["true".to_owned()], ..Setup::default() }, &[]);
    stage.add("ana", |mut add| {
        add.command = String::new();
        add.agent = kind.agent.to_owned();
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
