//! A repository with the files of a way of working, a command that stands in for every agent, and
//! a run by a playbook.
//!
//! The agent is a shell script: it gets the role in `$SHIPMATE_ROLE` and the task as any command
//! does, and writes what a test told it to write for that subject.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::stage::{SHIPMATE, Stage, TEAM, hermetic};

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Scene {
    pub(crate) stage: Stage,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scene {
    /// Files of the repository, committed; `agent` is the body of the script that does every task.
    pub(crate) fn new(files: &[(&str, &str)], agent: &str) -> Scene {
        Scene::with("", files, agent)
    }

    /// With more configuration.
    pub(crate) fn with(config: &str, files: &[(&str, &str)], agent: &str) -> Scene {
        let mut stage = Stage::new(config);
        for (name, text) in files {
            stage.write(name, text);
        }
        let script = format!("#!/bin/sh\nset -eu\ncat > /dev/null\n. \"$S/words.sh\"\n{agent}\n");
        std::fs::write(stage.root().join("agent.sh"), script).unwrap();
        stage.commit();
        Scene { stage }
    }

    /// The command that stands behind everybody.
    pub(crate) fn agent(&self) -> String {
        let root = self.stage.root();
        format!("S={0} sh {0}/agent.sh", root.display())
    }

    /// Runs a playbook to its end.
    pub(crate) fn run(&self, playbook: &str, more: &[&str]) -> Ran {
        let agent = self.agent();
        let mut args =
            vec!["--team", TEAM, "run", "--playbook", playbook, "--agent", agent.as_str()];
        args.extend(more);
        Ran::of(&self.stage.shipmate(&args))
    }

    /// Begins a run and goes on beside it.
    pub(crate) fn begin(&self, playbook: &str, more: &[&str]) -> Running {
        let mut command = hermetic(&self.stage.root(), SHIPMATE);
        command.arg("--workspace").arg(self.stage.place().workspace);
        command.args(["--team", TEAM, "run", "--playbook", playbook]);
        command.args(["--agent", &self.agent()]).args(more);
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                drop(tell.send(line));
            }
        });
        Running { child, lines, heard: String::new() }
    }

    /// The whole log, once a run is over.
    pub(crate) fn log(&mut self) -> Vec<Value> {
        // It is followed once, from its first record on.
        if self.stage.log.is_empty() {
            self.stage.follow();
        }
        self.stage.catch_up();
        self.stage.log.clone()
    }

    /// A file of the team's branch.
    pub(crate) fn landed(&self, path: &str) -> String {
        self.stage.git(&["show", &format!("shipmate/{TEAM}:{path}")])
    }

    /// How each phase ended, in order: `contracts done`.
    pub(crate) fn phases(&mut self) -> Vec<String> {
        let log = self.log();
        let ended = log.iter().filter_map(|record| record["event"].get("phase.ended"));
        let words = ended.map(|ended| {
            let end = ended["end"].as_object().unwrap().keys().next().unwrap();
            let team = ended["team"].as_str().unwrap();
            let team = if team == TEAM { String::new() } else { format!("{team}: ") };
            format!("{team}{} {end}", ended["phase"].as_str().unwrap())
        });
        words.collect()
    }
}

/// A run beside the test.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    heard: String,
}

impl Running {
    /// Waits for a line that holds this.
    #[track_caller]
    pub(crate) fn says(&mut self, part: &str) {
        loop {
            let Ok(line) = self.lines.recv_timeout(LIMIT) else {
                panic!("{part:?} was never said:\n{}", self.heard);
            };
            self.heard.push_str(&line);
            self.heard.push('\n');
            if line.contains(part) {
                return;
            }
        }
    }

    pub(crate) fn ended(mut self) -> Ran {
        for line in self.lines.iter() {
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        let output = self.child.wait_with_output().unwrap();
        Ran { out: self.heard, ..Ran::of(&output) }
    }
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
