//! An agent program that is driven over its standard input and output.
//!
//! Its process tree is the supervisor's: it ends with the supervisor, whatever it ignores.

use std::ffi::OsString;
use std::path::Path;

use shipmate_process::{
    Distrust, Exit, Fence, Launcher, Marker, Output, Program, Spec, Stdin, Tree,
};
use shipmate_programs::order::{LifeFolder, Order, last_line};
use tokio::net::unix::pipe;

use super::driver::NotGiven;

/// How to start the program of an order.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    order: Order,
    folder: LifeFolder,
    marker: Marker,
    /// Variables of this process that the program does not get.
    without: Vec<String>,
}

/// A program that runs, with its pipes.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) tree: Tree,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
}

impl Starter {
    pub(crate) fn new(order: &Order, folder: &LifeFolder, marker: Marker) -> Starter {
        Starter { order: order.clone(), folder: folder.clone(), marker, without: Vec::new() }
    }

    pub(crate) fn folder(&self) -> &LifeFolder {
        &self.folder
    }

    /// With this in the program's environment, unless the order says otherwise.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Starter {
        self.order.env.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        self
    }

    /// With this in the program's environment, whatever the order says.
    pub(crate) fn setting(mut self, name: &str, value: &str) -> Starter {
        self.order.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Without these in the program's environment.
    pub(crate) fn without(mut self, names: &[String]) -> Starter {
        self.order.env.retain(|name, _| !names.contains(name));
        self.without.extend_from_slice(names);
        self
    }

    pub(crate) fn marker(&self) -> &Marker {
        &self.marker
    }

    /// Starts the program with these arguments after its own. Where a program of this life
    /// wrote before, what it says on standard error goes on in the same file.
    pub(crate) fn start(
        &self,
        cwd: &Path,
        more: &[String],
        fence: Option<Fence>,
    ) -> Result<Running, NotGiven> {
        let words: Vec<String> = self.order.argv.iter().chain(more).cloned().collect();
        let running = self.beside(words, Vec::new(), cwd, fence)?;
        tracing::info!(agent = self.order.agent, "the agent's program was started");
        Ok(running)
    }

    /// The words that start this very program as something else.
    pub(crate) fn own_words(&self, what: &str) -> Vec<String> {
        vec![self.order.program.display().to_string(), what.to_owned()]
    }

    /// Starts another program of this life, with more in its environment.
    pub(crate) fn beside(
        &self,
        words: Vec<String>,
        more: Vec<(String, String)>,
        cwd: &Path,
        fence: Option<Fence>,
    ) -> Result<Running, NotGiven> {
        let argv: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let mut env = self.order.environment(fence.as_ref());
        env.extend(more.into_iter().map(|(name, value)| (name.into(), value.into())));
        let spec = Spec {
            env,
            env_remove: ["SHIPMATE_TOKEN", "SHIPMATE_TEAM"]
                .into_iter()
                .chain(self.without.iter().map(String::as_str))
                .map(OsString::from)
                .collect(),
            stdin: Stdin::Piped,
            output: Output::Stream {
                errors: self.folder.errors(),
                bytes_max: self.order.output_bytes_max,
            },
            launcher: Launcher::through(self.order.program.clone(), vec!["exec-tree".into()]),
            fence,
            distrusts: Distrust::Fenced,
            // Its end is not that of those beside it.
            ..Spec::new(Program::Argv(argv), cwd, self.marker.below().map_err(|e| e.to_string())?)
        };
        let mut tree = Tree::spawn(spec)?;
        let stdin = tree.take_stdin().expect("its input was asked for");
        let stdout = tree.take_stdout().expect("its output was asked for");
        Ok(Running { tree, stdin, stdout })
    }

    /// How the program ended, with the last thing it complained about.
    pub(crate) fn obituary(&self, exit: Exit) -> String {
        let name = &self.order.agent;
        tracing::info!(agent = name, %exit, "the agent's program has ended");
        match last_line(&self.folder.errors()) {
            Some(words) => format!("{name} ended ({exit}); it said last: {words}"),
            None => format!("{name} ended ({exit})"),
        }
    }
}
