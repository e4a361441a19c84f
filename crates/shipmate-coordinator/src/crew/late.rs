//! Late work: what lives left that were replaced, set aside here, told, and brought to the home.
//!
//! That it is owed lies in the life's folder, from before its process is ended until the log has it: whoever
//! was killed in between is followed by one that does it again, and the core tells it once.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::rc::Rc;

use shipmate_core::{Decided, decide};
use shipmate_model::{Act, Actor, Command, Name, TeammateRef};
use shipmate_process::blocking;
use shipmate_programs::order::{LifeFolder, Pulse};
use shipmate_programs::tenancy::{self, LateWork};
use shipmate_workspace::{Commit, WorkKey};

use super::Crew;
use super::code::{self, NotThere};
use crate::host::Here;

/// What was brought here from other machines, a line for each: it comes once, also where somebody has
/// removed it since.
const TAKEN_IN: &str = "late.taken";
/// How often the server is asked to take late work before it is told without: it is safe where it is.
const SENT_MAX: u32 = 5;

impl Crew {
    /// Looks for what a life left, and tells of it.
    pub(super) fn rescue_beside(self: &Rc<Self>, who: TeammateRef) {
        let this = Rc::clone(self);
        self.rescuing.set(self.rescuing.get() + 1);
        self.beside(async move {
            this.rescue(&who).await;
            this.rescuing.set(this.rescuing.get() - 1);
            this.rescued.notify_waiters();
            this.board.look();
        });
    }

    /// The team has given this machine up, and everybody on it: also whoever ended by itself before that
    /// was known here. It comes back only when nobody of before is left.
    pub(super) fn is_given_up(&self) -> bool {
        self.here.as_ref().is_some_and(|here| {
            self.board.with_state(|state| {
                state.hosts.get(&here.file.name).is_some_and(|host| !host.is_there())
            })
        })
    }

    async fn rescue(self: &Rc<Self>, who: &TeammateRef) {
        let folder = self.folder(who);
        let kept = match folder.read() {
            Ok(order) => {
                let task = tenancy::left_by(&order).map(|left| left.task);
                let handed_in = task.map(|task| self.handed_in(task)).unwrap_or_default();
                blocking(move || tenancy::keep_late(&order, &handed_in)).await
            }
            Err(_) => Ok(None),
        };
        match kept {
            Ok(Some(late)) => {
                self.send_late(&who.address.team, &late).await;
                if !self.tell_late(who, late).await {
                    return;
                }
            }
            Ok(None) => {}
            Err(reason) => {
                tracing::warn!(%who, reason, "late work could not be looked for");
                return;
            }
        }
        folder.rescued();
    }

    fn handed_in(&self, task: u32) -> Vec<Commit> {
        self.board.with_state(|state| {
            let commits = state.task(task).map(|task| task.handed_in.values());
            commits.into_iter().flatten().filter_map(|text| Commit::parse(text)).collect()
        })
    }

    /// Stores what was set aside here, for the home. What cannot be sent is safe where it is.
    pub(crate) async fn send_late(self: &Rc<Self>, team: &Name, late: &LateWork) {
        let (Some(here), true) = (&self.here, self.has_other_hosts()) else { return };
        let Some(commit) = Commit::parse(&late.commit) else { return };
        // A name that an agent gave: nothing else of the repository travels.
        if !late.work.starts_with("refs/shipmate/") {
            return;
        }
        for _ in 0..SENT_MAX {
            let key = WorkKey { team: team.to_string(), task: late.task, token: late.token };
            match code::send_late(self, here, key, commit.clone(), late.work.clone()).await {
                Ok(()) => return,
                Err(NotThere::Never(reason)) => {
                    return tracing::warn!(reason, "late work stays on this machine");
                }
                Err(failed) => self.wait_for_line(&failed.reason()).await,
            }
        }
    }

    /// Tells it until the log has it, which an append may not have reached; false where that cannot be
    /// known any more.
    async fn tell_late(&self, who: &TeammateRef, late: LateWork) -> bool {
        let LateWork { task, token, work, commit } = late;
        let host = self.here.as_ref().map(|here| here.file.name.clone());
        let act = Act::SetAsideWork { task, token, work, commit: Some(commit), host };
        let by = Actor::Teammate(who.clone());
        let command = Command { by: by.clone(), req: None, act: act.clone() };
        let is_owed = || {
            let decided = self.board.with_state(|state| decide(state, &command));
            matches!(decided, Ok(Decided::Events(events)) if !events.is_empty())
        };
        while is_owed() {
            if self.board.is_closed() {
                return false;
            }
            self.board.tell_as(by.clone(), act.clone());
            self.board.settled().await;
            if is_owed() {
                self.wait_for_line("late work is not in the log yet").await;
            }
        }
        true
    }

    /// Lives that were replaced: those whose process is still there are ended now, and what others left
    /// is told where nobody has done so.
    pub(super) fn end_earlier(self: &Rc<Self>, current: &[TeammateRef]) {
        let lives = self.settings.place.team(self.board.root.as_str()).join("lives");
        for entry in std::fs::read_dir(lives).into_iter().flatten().filter_map(Result::ok) {
            let folder = LifeFolder(entry.path());
            let name = entry.file_name();
            let who = name.to_str().and_then(|name| name.replacen('.', "/", 1).parse().ok());
            let Some(who) = who.filter(|who: &TeammateRef| !current.contains(who)) else {
                continue;
            };
            if !folder.is_over() {
                // A machine that was given up, and that was switched off meanwhile.
                if self.here.is_some() && left_work(&folder) {
                    folder.owe_rescue();
                }
                if let Ok(Pulse::Alive { pid }) = folder.pulse()
                    && self.adopt(&who, pid)
                {
                    continue;
                }
            }
            if folder.owes_rescue() {
                self.rescue_beside(who);
            }
        }
    }

    /// Brings here what was set aside on other machines, so that it can be looked at and merged at the
    /// home. What they could not send stays with them.
    pub(super) async fn take_in_late(self: &Rc<Self>, here: &Here) -> Result<(), NotThere> {
        let elsewhere: Vec<(WorkKey, Commit, String)> = self.board.with_state(|state| {
            let tasks = state.tasks().iter();
            let all = tasks.flat_map(|task| task.set_aside.iter().map(move |kept| (task, kept)));
            let of_others = all
                .filter(|(_, kept)| kept.host.as_ref().is_some_and(|host| *host != here.file.name));
            let with_commit = of_others.filter_map(|(task, kept)| {
                let commit = Commit::parse(kept.commit.as_deref()?)?;
                let (team, token) = (task.team.to_string(), kept.token);
                Some((WorkKey { team, task: task.id, token }, commit, kept.work.clone()))
            });
            with_commit.collect()
        });
        let file = self.settings.place.team(self.board.root.as_str()).join(TAKEN_IN);
        let taken_in = std::fs::read_to_string(&file).unwrap_or_default();
        for (key, commit, work) in elsewhere {
            let name = format!("{}-{}-{commit}", key.task, key.token);
            if taken_in.lines().any(|line| line == name) {
                continue;
            }
            match code::receive_late(self, here, key, commit, work).await {
                Err(NotThere::Later(reason)) => return Err(NotThere::Later(reason)),
                Err(NotThere::Never(reason)) => {
                    tracing::warn!(reason, "late work of another machine cannot be taken in");
                }
                Err(NotThere::Absent(_)) => {}
                Ok(()) => {
                    let opened = OpenOptions::new().create(true).append(true).open(&file);
                    // Not written, it is looked for again.
                    drop(opened.and_then(|mut file| writeln!(file, "{name}")));
                }
            }
        }
        Ok(())
    }
}

/// This life has left work in its tree, and nobody has worked there since.
fn left_work(folder: &LifeFolder) -> bool {
    folder
        .read()
        .is_ok_and(|order| tenancy::left_by(&order).is_some_and(|left| left.epoch == order.epoch))
}
