//! How a team works: its trees, gates and clocks, fixed when it is created.
//!
//! Recorded with the team, so that a restart finds the same gates and the same base, and
//! so that nothing a teammate writes can change them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::account::Caps;
use crate::files::FileSet;
use crate::id::TaskId;
use crate::limits::{ANSWER_DEFAULT_MS, SHUTDOWN_DEFAULT_MS, STALL_DEFAULT_MS};
use crate::name::Name;
use crate::playbook::Playbook;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// Absent for a team that works without a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<Trees>,
    /// Commands that must all succeed on the merged tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<String>,
    pub gate_timeout_ms: u64,
    /// The gate may fail on what the team begins with: its work is to make it pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub red_base: bool,
    /// Of the hooks as they were; they lie beside the log.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hooks_digest: String,
    /// The workspace whose coordinator starts, merges and runs gates; empty means any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Refused even inside a scope, unless granted.
    #[serde(skip_serializing_if = "FileSet::is_empty")]
    pub protected: FileSet,
    /// Silence of a teammate with a task before it is given up; 0 means never.
    pub stall_ms: u64,
    /// How long a supervisor has to answer.
    pub answer_ms: u64,
    /// How long a teammate has to stop when its work is done.
    pub shutdown_ms: u64,
    /// The whole team's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The program or command of teammates that a lead's plan names none for, and their model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// How many teammates there are at most where a lead's plan names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
    /// How much of the windows of accounts it may use.
    #[serde(skip_serializing_if = "Caps::is_default")]
    pub caps: Caps,
    /// Task mode: whoever the runtime starts does one task and ends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_shot: bool,
    /// The way of working, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playbook: Option<Box<Playbook>>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            trees: None,
            gate: Vec::new(),
            gate_timeout_ms: crate::limits::GATE_DEFAULT_MS,
            red_base: false,
            hooks_digest: String::new(),
            home: String::new(),
            protected: FileSet::default(),
            stall_ms: STALL_DEFAULT_MS,
            answer_ms: ANSWER_DEFAULT_MS,
            shutdown_ms: SHUTDOWN_DEFAULT_MS,
            timeout_ms: None,
            agent: String::new(),
            model: String::new(),
            cap: None,
            caps: Caps::default(),
            one_shot: false,
            playbook: None,
        }
    }
}

impl Setup {
    /// The team whose branch holds the verified work of this one.
    pub fn branch<'a>(&'a self, team: &'a Name) -> &'a Name {
        self.trees.as_ref().and_then(|trees| trees.branch.as_ref()).unwrap_or(team)
    }

    pub fn is_default(&self) -> bool {
        *self == Setup::default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trees {
    pub mode: TreeMode,
    /// The commit the team began at.
    pub base: String,
    /// The team whose branch its work lands on; absent: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Name>,
    #[serde(default, skip_serializing_if = "Preparation::is_none")]
    pub preparation: Preparation,
}

/// What is noted under when a tree was set up: no hook of anybody's, and nothing out of the ordinary.
pub const SET_UP: &str = "set-up";

/// How the evidence of a gate begins whose tree could not be set up.
pub const SET_UP_FAILS: &str = "the set-up of the tree fails";

/// What a tree gets beyond what is committed, so that work in it can be built and tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Preparation {
    /// Ignored files of the checkout: each tree has a copy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// Ignored folders of the checkout: each tree has a link to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<String>,
    /// Command lines that make a tree ready, once for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Files whose change has them run again; none: the lock files that are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lock_files: Vec<String>,
    /// How many ports of its own a tree has.
    #[serde(skip_serializing_if = "is_zero")]
    pub ports: u32,
    /// Variables for everything that runs in a tree.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Command lines for before a tree is deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<String>,
    /// How long the command lines of one tree may take together; 0: as long as is usual.
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_ms: u64,
    /// The file of another program that says it, where the configuration does not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// What is to be copied was listed for another program, and is taken as far as it fits.
    #[serde(skip_serializing_if = "is_zero")]
    pub copies_what_fits: bool,
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

impl Preparation {
    /// A tree is as it was committed.
    pub fn is_none(&self) -> bool {
        let Preparation { copy, link, setup, ports, env, teardown, .. } = self;
        let lists = [copy, link, setup, teardown];
        lists.iter().all(|list| list.is_empty()) && *ports == 0 && env.is_empty()
    }

    /// This, and where it says nothing the other.
    pub fn or(self, other: &Preparation) -> Preparation {
        let list = |own: Vec<String>, other: &Vec<String>| {
            if own.is_empty() { other.clone() } else { own }
        };
        let mut env = other.env.clone();
        let copies = if self.copy.is_empty() { other } else { &self };
        let copies_what_fits = copies.copies_what_fits;
        env.extend(self.env);
        Preparation {
            copies_what_fits,
            copy: list(self.copy, &other.copy),
            link: list(self.link, &other.link),
            setup: list(self.setup, &other.setup),
            lock_files: list(self.lock_files, &other.lock_files),
            ports: if self.ports == 0 { other.ports } else { self.ports },
            env,
            teardown: list(self.teardown, &other.teardown),
            timeout_ms: if self.timeout_ms == 0 { other.timeout_ms } else { self.timeout_ms },
            from: if self.from.is_empty() { other.from.clone() } else { self.from },
        }
    }

    /// What of this counts beside another that a person has written: copies where that has none, and
    /// commands where that has none.
    pub fn beside(mut self, said: &Preparation) -> Preparation {
        if !said.copy.is_empty() {
            self.copy.clear();
            self.copies_what_fits = false;
        }
        if !said.setup.is_empty() || !said.teardown.is_empty() {
            (self.setup, self.teardown) = (Vec::new(), Vec::new());
        }
        self
    }

    /// Whether something of this counts beside the other.
    pub fn adds_to(&self, said: &Preparation) -> bool {
        !self.clone().beside(said).is_none()
    }

    /// Commands make a tree ready.
    pub fn is_set_up(&self) -> bool {
        !self.setup.is_empty()
    }

    /// Something is to be done in a tree before anybody works there.
    pub fn does_something(&self) -> bool {
        [&self.copy, &self.link, &self.setup].iter().any(|list| !list.is_empty())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeMode {
    /// Each teammate has its own clone.
    Own,
    /// All work in one tree; each commit holds named paths only.
    Shared,
}

/// One run of a team's gate on a merged tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRun {
    pub team: Name,
    /// The submissions it was about; none for the base itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    pub commit: String,
    pub passed: bool,
    pub took_ms: u64,
    /// The end of what a red gate printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The team's gate, if that is what ran; empty where a task's own ran instead, and in records
    /// of releases that did not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tried: Tried,
}

/// What a run of a gate was about in the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tried {
    #[default]
    Gate,
    /// The set-up of the tree, and no command of the gate: that failed, or there is no gate.
    SetUp,
}
