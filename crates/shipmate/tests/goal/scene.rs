//! A repository, a scripted model, and a `shipmate run` that a test can talk to.

use serde_json::Value;
use shipmate_testkit::model::Server;

use crate::ran::{Ran, Running};
use crate::stage::{Stage, TEAM, hermetic};

pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) server: Server,
}

impl Scene {
    pub(crate) fn new(script: &str) -> Scene {
        Scene::with(script, "")
    }

    /// With more configuration.
    pub(crate) fn with(script: &str, more: &str) -> Scene {
        let server = Server::start(script);
        let config = format!(
            "[agents]\nstop-grace-seconds = 1\n{more}\n[models]\ndefault = \"test/scripted\"\n\
             [models.test]\nprotocol = \"anthropic\"\nbase-url = \"{}\"\nkey-variable = \"\"\n",
            server.url()
        );
        Scene { stage: Stage::new(&config), server }
    }

    /// Runs a goal to its end with native agents.
    pub(crate) fn run(&self, goal: &str, more: &[&str]) -> Ran {
        let mut args = vec!["--team", TEAM, "run", goal, "--agent", "native"];
        args.extend(more);
        Ran::of(&self.stage.shipmate(&args))
    }

    /// Begins one and goes on beside it.
    pub(crate) fn begin(&self, goal: &str, more: &[&str]) -> Running {
        let mut command = hermetic(&self.stage.root(), crate::stage::SHIPMATE);
        command.arg("--workspace").arg(self.stage.place().workspace);
        command
            .args(["--team", TEAM, "run", goal, "--agent", "native", "--wait", "10m"])
            .args(more);
        Running::begin(command)
    }

    /// The whole log, once a run is over.
    pub(crate) fn log(&mut self) -> Vec<Value> {
        self.stage.follow();
        self.stage.catch_up();
        self.stage.log.clone()
    }

    /// The first that the model was asked by this one.
    pub(crate) fn first_request_of(&self, name: &str) -> String {
        let own = format!("You are {name}");
        let requests = self.server.requests();
        let mut texts = requests.iter().map(|request| request.body.to_string());
        texts.find(|text| text.contains(&own)).unwrap()
    }

    /// How often the model was asked in conversations of this one.
    pub(crate) fn requests_of(&self, name: &str) -> usize {
        let own = format!("You are {name}");
        let requests = self.server.requests();
        requests.iter().filter(|request| request.body.to_string().contains(&own)).count()
    }
}

/// All events of this name in a log.
pub(crate) fn events<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    log.iter().filter_map(|record| record["event"].get(name)).collect()
}
