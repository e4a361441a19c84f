//! kill -9 at the n-th call of the system, for n = 1, 2, … until none fires.
//!
//! What must hold after each: the user's repository is as before or as after, nothing of theirs is
//! changed, what was acknowledged is there, the next command goes on, the team finishes its work,
//! and no process, lock or half merge is left. See [`Subject`] for what is tried and [`Target`] for
//! who is killed.

mod repository;
mod scene;
mod subject;
mod trace;

use std::fmt;
use std::path::{Path, PathBuf};

use repository::Repository;
use scene::Scene;

pub use subject::Subject;
pub use trace::Target;

/// Which calls are killed at.
#[derive(Debug, Clone, Copy)]
pub enum Moments {
    /// The first, and from there every n-th, until none fires.
    Every { first: u64, stride: u64 },
    /// So many, spread evenly over a run that is counted before.
    Spread { kills: u64 },
    /// This one.
    Only(u64),
}

/// What a sweep came to.
#[derive(Debug, Default)]
pub struct Swept {
    /// Calls of the longest run.
    pub calls: u64,
    /// Kills that fired.
    pub fired: u64,
    pub violations: Vec<Violation>,
}

/// Something that must hold and did not.
#[derive(Debug)]
pub struct Violation {
    pub subject: &'static str,
    pub target: &'static str,
    pub at: u64,
    pub call: String,
    pub fact: String,
    pub evidence: PathBuf,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { subject, target, at, call, fact, evidence } = self;
        let evidence = evidence.display();
        write!(f, "{subject}, {target} killed at {at} ({call}): {fact}\n  kept: {evidence}")
    }
}

/// The place where commands are tried.
#[derive(Debug)]
pub struct Kills {
    scene: Scene,
}

impl Kills {
    /// With this build of shipmate; `name` tells folders of several apart.
    pub fn new(program: &Path, name: &str) -> Result<Kills, String> {
        Ok(Kills { scene: Scene::new(program, name)? })
    }

    /// Tries one command at these moments; `tell` hears of each kill.
    pub fn sweep(
        &mut self,
        subject: Subject,
        target: Target,
        moments: Moments,
        mut tell: impl FnMut(&str),
    ) -> Result<Swept, String> {
        let mut swept = Swept::default();
        let (mut at, step, last) = match moments {
            Moments::Every { first, stride } => (first, stride, u64::MAX),
            Moments::Only(at) => (at, 1, at),
            Moments::Spread { kills } => {
                let calls = self.trial(subject, target, u64::MAX, &mut swept, &mut tell)?;
                let step = (calls / (kills + 1)).max(1);
                (step, step, calls.min(step * kills))
            }
        };
        while at <= last {
            let fired = swept.fired;
            self.trial(subject, target, at, &mut swept, &mut tell)?;
            if swept.fired == fired && matches!(moments, Moments::Every { .. }) {
                break;
            }
            at += step;
        }
        Ok(swept)
    }

    /// One kill and everything after it; how many calls there were.
    fn trial(
        &mut self,
        subject: Subject,
        target: Target,
        at: u64,
        swept: &mut Swept,
        tell: &mut impl FnMut(&str),
    ) -> Result<u64, String> {
        self.scene.set(subject.state())?;
        let attach = match subject.needs_work() {
            true => Some(self.scene.begin_work()?),
            false => None,
        };
        let before = Repository::read(&self.scene)?;
        let command = self.scene.command(subject.args());
        let traced = trace::run(command, &self.scene.place, at, target, attach)?;
        let said = self.scene.printed();
        let code = traced.status.and_then(|status| status.code());
        swept.calls = swept.calls.max(traced.calls);
        swept.fired += u64::from(traced.fired.is_some());
        let held = match traced.status {
            Some(_) => subject.check(&self.scene, &before, code),
            None => Err("the command hangs".to_owned()),
        };
        let call = traced.fired.clone().unwrap_or_else(|| "none fired".to_owned());
        let (name, target) = (subject.name(), target.name());
        let result = if held.is_ok() { "held" } else { "VIOLATED" };
        tell(&format!("{name} {target} {at}/{}: {result} {call}", traced.calls));
        if let Err(fact) = held {
            let story =
                format!("{name} {target} {at}: {call}\nit ended with {code:?}: {said}\n{fact}\n");
            let evidence = self.scene.keep(&format!("kept-{name}-{target}-{at}"), &story)?;
            tell(&format!("  {fact}"));
            let violation = Violation { subject: name, target, at, call, fact, evidence };
            swept.violations.push(violation);
        }
        Ok(traced.calls)
    }

    /// Ends everything and removes the folder; call it when nothing in there is needed any more.
    pub fn remove(self) {
        self.scene.remove();
    }

    /// Ends everything and leaves the folder.
    pub fn end(&self) {
        self.scene.end_everything();
    }
}
