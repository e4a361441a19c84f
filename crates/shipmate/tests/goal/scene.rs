//! A repository, a scripted model, and a `shipmate run` that a test can talk to.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use shipmate_testkit::model::Server;

use crate::stage::{Stage, TEAM, hermetic};

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

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
        command.args(["--team", TEAM, "run", goal, "--agent", "native"]).args(more);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Running { child, lines, heard: String::new() }
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

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Ran { code, out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// It ended with this code and said all of that, in this order.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        let mut rest = self.out.as_str();
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else {
                panic!("{part:?} is missing in:\n{}\n{}", self.out, self.err);
            };
            rest = after;
        }
    }
}

pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    heard: String,
}

impl Running {
    /// Waits for a line that holds this.
    #[track_caller]
    pub(crate) fn says(&mut self, part: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(LIMIT) else {
                panic!("{part:?} was never said:\n{}", self.heard);
            };
            self.heard.push_str(&line);
            self.heard.push('\n');
            if line.contains(part) {
                return line;
            }
        }
    }

    pub(crate) fn ended(mut self) -> Ran {
        for line in self.lines.iter() {
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        let mut err = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut err).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran { code, out: std::mem::take(&mut self.heard), err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves it; one that is over is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// All events of this name in a log.
pub(crate) fn events<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    log.iter().filter_map(|record| record["event"].get(name)).collect()
}
