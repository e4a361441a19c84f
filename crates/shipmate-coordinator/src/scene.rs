//! What a request is looked at with: the state of the moment, who asks, and the team it is about.
//! Names are checked and references resolved here, for every verb alike.

mod handle;

use shipmate_core::State;
use shipmate_model::event::{Dependency, Mode};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::{Actor, Address, Name, Refusal, TaskId, TeammateRef};
use shipmate_protocol::{Code, Refused, refused};

pub(crate) use handle::task_id;

use crate::secret::Secrets;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) state: &'a State,
    pub(crate) actor: &'a Actor,
    pub(crate) secrets: &'a Secrets,
    /// The team the request names, else the actor's own, else the root.
    pub(crate) team: &'a Name,
    /// This host, where it has joined.
    pub(crate) here: Option<&'a Name>,
}

pub(crate) fn refusal(refusal: &Refusal) -> Refused {
    refused(refusal.code(), refusal.to_string(), &refusal.remedy().unwrap_or_default())
}

pub(crate) fn bad(message: String, remedy: &str) -> Refused {
    refused(Code::BadRequest, message, remedy)
}

pub(crate) fn name(text: &str) -> Result<Name, Refused> {
    text.parse().map_err(|e| refusal(&Refusal::BadName(e)))
}

pub(crate) fn optional(text: Option<&String>) -> Result<Option<Name>, Refused> {
    text.map(|text| name(text)).transpose()
}

pub(crate) fn files(patterns: &[String]) -> Result<FileSet, Refused> {
    let parsed: Result<Vec<Pattern>, _> = patterns.iter().map(|text| text.parse()).collect();
    parsed.map(FileSet::new).map_err(|e| refusal(&Refusal::BadPattern(e)))
}

pub(crate) fn mode(text: &str) -> Result<Mode, Refused> {
    match text {
        "normal" => Ok(Mode::Normal),
        "plan" => Ok(Mode::Plan),
        "delegate" => Ok(Mode::Delegate),
        "read_only" | "read-only" => Ok(Mode::ReadOnly),
        other => {
            Err(bad(format!("{other:?} is not a mode"), "use normal, plan, delegate or read_only"))
        }
    }
}

impl Scene<'_> {
    /// `ana` in the request's team, or `team/ana`.
    pub(crate) fn address(&self, text: &str) -> Result<Address, Refused> {
        if text.contains('/') {
            return text.parse().map_err(|e| refusal(&Refusal::BadName(e)));
        }
        Ok(Address { team: self.team.clone(), name: name(text)? })
    }

    pub(crate) fn current(&self, text: &str) -> Result<TeammateRef, Refused> {
        let address = self.address(text)?;
        let epoch = self.state.teammates.get(&address).map_or(0, |mate| mate.epoch);
        Ok(TeammateRef { address, epoch })
    }

    pub(crate) fn task(&self, text: &str) -> Result<TaskId, Refused> {
        task_id(self.state, self.actor, self.team, text)
    }

    pub(crate) fn optional_task(&self, text: Option<&String>) -> Result<Option<TaskId>, Refused> {
        text.map(|text| self.task(text)).transpose()
    }

    pub(crate) fn dependency(&self, text: &str) -> Result<Dependency, Refused> {
        match text.strip_prefix("group:") {
            Some(group) => Ok(Dependency::Group(name(group)?)),
            None => Ok(Dependency::Task(self.task(text)?)),
        }
    }

    pub(crate) fn dependencies(&self, texts: &[String]) -> Result<Vec<Dependency>, Refused> {
        texts.iter().map(|text| self.dependency(text)).collect()
    }
}

/// Nobody and nothing has this name; `what` is the noun of the command that lists them.
pub(crate) fn unknown(what: &str, code: Code, name: &str) -> Refused {
    let remedy = format!("`shipmate {what} list` names them");
    refused(code, format!("there is no {what} {name}"), &remedy)
}
