//! The same scene with shipmate's own agents behind everybody, on a model that follows a script.

use shipmate_testkit::model::Server;

use crate::ran::{Ran, Running};
use crate::scene::Scene;
use crate::stage::{SHIPMATE, TEAM, hermetic};

pub(crate) struct Native {
    pub(crate) scene: Scene,
    pub(crate) server: Server,
    /// Variables of the person's environment.
    pub(crate) env: Vec<(&'static str, &'static str)>,
}

impl Native {
    pub(crate) fn new(script: &str, files: &[(&str, &str)]) -> Native {
        let server = Server::start(script);
        let config = format!(
            "[agents]\nstop-grace-seconds = 1\n[models]\ndefault = \"test/scripted\"\n\
             [models.test]\nprotocol = \"openai\"\nbase-url = \"{}/v1\"\nkey-variable = \"\"\n",
            server.url()
        );
        Native { scene: Scene::with(&config, files, ""), server, env: Vec::new() }
    }

    pub(crate) fn run(&self, playbook: &str, more: &[&str]) -> Ran {
        self.begin(playbook, more).ended()
    }

    /// Begins one and goes on beside it.
    pub(crate) fn begin(&self, playbook: &str, more: &[&str]) -> Running {
        self.begin_as(playbook, &[&["--agent", "native"], more].concat())
    }

    /// The same with other agents.
    pub(crate) fn begin_as(&self, playbook: &str, more: &[&str]) -> Running {
        let stage = &self.scene.stage;
        let mut command = hermetic(&stage.root(), SHIPMATE);
        command.arg("--workspace").arg(stage.place().workspace);
        command.args(["--team", TEAM, "run", "--playbook", playbook]);
        command.args(more).envs(self.env.iter().copied());
        Running::begin(command)
    }

    /// The names of the tools that somebody was last offered.
    pub(crate) fn offered(&self, name: &str) -> Vec<String> {
        let own = format!("You are {name}");
        let requests = self.server.requests();
        let last = requests.iter().rfind(|request| request.body.to_string().contains(&own));
        let tools = last.unwrap_or_else(|| panic!("{name} asked nothing")).body["tools"].clone();
        let tools = tools.as_array().cloned().unwrap_or_default();
        let name = |tool: &serde_json::Value| tool["function"]["name"].as_str().map(str::to_owned);
        let mut names: Vec<String> = tools.iter().filter_map(name).collect();
        names.sort();
        names
    }
}
