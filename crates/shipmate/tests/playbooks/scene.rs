//! A repository with the files of a way of working, a command that stands in for every agent, and
//! a run by a playbook.
//!
//! The agent is a shell script: it gets the task as any command
//! does, and writes what a test told it to write for that subject.

use serde_json::Value;

pub(crate) use crate::ran::Ran;
use crate::ran::Running;
use crate::stage::{SHIPMATE, Stage, TEAM, hermetic};

pub(crate) struct Scene {
    pub(crate) stage: Stage,
    /// Who must show a plan has to.
    pub(crate) plans: bool,
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
        // Who is asked for a plan first says one, unless the test is about that.
        let is_about = agent.contains("SHIPMATE_MODE");
        let plans = match is_about {
            true => "",
            false => {
                "if [ \"$SHIPMATE_MODE\" = plan ]; then echo \"do $SHIPMATE_SUBJECT\"; exit; fi\n"
            }
        };
        let script =
            format!("#!/bin/sh\nset -eu\nINPUT=$(cat)\n. \"$S/words.sh\"\n{plans}{agent}\n");
        std::fs::write(stage.root().join("agent.sh"), script).unwrap();
        stage.commit();
        Scene { stage, plans: is_about }
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
        args.extend(self.wish());
        args.extend(more);
        Ran::of(&self.stage.shipmate(&args))
    }

    /// Runs it with a program behind everybody that speaks ACP, and runs the same script. A lead that
    /// is told a goal makes these calls, a line each.
    pub(crate) fn run_acp(&self, playbook: &str, lead: &str, more: &[&str]) -> Ran {
        let (root, bin) = (self.stage.root(), self.stage.root().join("bin"));
        let agent = std::path::Path::new(SHIPMATE).with_file_name("acp_agent");
        assert!(agent.exists(), "build it with `cargo build -p shipmate-testkit --bin acp_agent`");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(root.join("lead.calls"), lead).unwrap();
        let at = root.display();
        let script = format!(
            "#!/bin/sh\nexport S='{at}' ACP_SCRIPT='{at}/agent.sh' ACP_LEAD='{at}/lead.calls'\n\
             exec '{}' \"$@\"\n",
            agent.display()
        );
        std::fs::write(bin.join("goose"), script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join("goose"), mode).unwrap();
        let mut command = hermetic(&root, SHIPMATE);
        command.arg("--workspace").arg(self.stage.place().workspace);
        command.args(["--team", TEAM, "run", "--playbook", playbook, "--agent", "goose"]);
        command.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1").args(self.wish()).args(more);
        Ran::of(&command.output().unwrap())
    }

    /// Begins a run and goes on beside it.
    pub(crate) fn begin(&self, playbook: &str, more: &[&str]) -> Running {
        let mut command = hermetic(&self.stage.root(), SHIPMATE);
        command.arg("--workspace").arg(self.stage.place().workspace);
        command.args(["--team", TEAM, "run", "--playbook", playbook]);
        command.args(["--agent", &self.agent(), "--wait", "10m"]).args(self.wish()).args(more);
        Running::begin(command)
    }

    fn wish(&self) -> &'static [&'static str] {
        if self.plans { &[] } else { &["--set", "plans=no"] }
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
