//! Finds every process of a tree and ends it.
//!
//! Whose a process is: its own marker says, else its nearest ancestor's that has one. A process
//! with a marker that ours does not cover, and what stands below it, is somebody else's and is
//! never touched. An unmarked child of ours that is neither a tree's main process nor in our own
//! process group is an orphan that came to us as subreaper; it belongs to the only tree we have
//! alive, and while there are several it is left to the last of them.
//!
//! A process may fork between being seen and being killed, so rounds go on until one finds nobody.
//! They are bounded in time: whatever the kernel does not let go is reported.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process_group, pidfd_open,
    pidfd_send_signal, waitpid,
};
use tokio::time::{Instant, timeout_at};

use crate::census::{self, Seen};
use crate::marker::{Marker, covers};
use crate::registry;
use crate::spec::Distrust;
use crate::watched::Watched;

/// How long killed processes may take to go before they are given up.
const KILL_WITHIN: Duration = Duration::from_secs(10);
/// How often nobody is found before that is believed on a machine where processes come and go.
const LOOKS_MAX: u32 = 16;
/// How many pidfds are held at once: the usual limit on open files is 1024.
const WATCHED_MAX: usize = 128;

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many processes were found and signalled.
    pub ended: usize,
    /// Those that were still there in the end, not even gone after SIGKILL.
    pub remaining: Vec<Pid>,
}

/// Ends every process that carries this marker, and what stands below it: SIGTERM, and SIGKILL
/// after the grace. For a tree whose own supervisor is gone.
pub async fn sweep(marker: &Marker, grace: Duration) -> Swept {
    let marker = marker.to_string();
    end(&Scope { marker, main: None, distrusts: Distrust::Nobody }, grace).await
}

/// The live processes of a workspace, without this one.
pub fn marked(digest: &str) -> Vec<(Pid, Marker)> {
    others().filter(|(_, marker)| marker.digest() == digest).collect()
}

/// The live processes of any workspace whose working folder was removed.
pub fn forsaken() -> Vec<(Pid, Marker)> {
    let is_removed = |pid: Pid| {
        let folder = fs::metadata(format!("/proc/{}/cwd", pid.as_raw_nonzero()));
        folder.is_ok_and(|folder| folder.nlink() == 0)
    };
    others().filter(|(pid, _)| is_removed(*pid)).collect()
}

/// Everybody who carries a marker, but this process.
fn others() -> impl Iterator<Item = (Pid, Marker)> {
    let me = getpid();
    let others = census::everyone().0.into_iter().filter(move |seen| seen.alive && seen.pid != me);
    others.filter_map(|seen| Some((seen.pid, census::mark(seen.pid)?.parse::<Marker>().ok()?)))
}

/// Which processes are meant.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) marker: String,
    /// The main process, not reaped: its number, and its group's, cannot pass to another.
    pub(crate) main: Option<Pid>,
    pub(crate) distrusts: Distrust,
}

impl Scope {
    /// Whether a process is ours by its own marker; None where that says nothing.
    fn says(&self, pid: Pid, mark: &str) -> Option<bool> {
        let ours = covers(&self.marker, mark);
        let believes = match self.distrusts {
            Distrust::Nobody => true,
            Distrust::Fenced => !census::gains_no_rights(pid) || census::gains_no_rights(getpid()),
            Distrust::Everybody => false,
        };
        (ours || believes).then_some(ours)
    }
}

#[derive(Default)]
struct Found {
    members: Vec<Seen>,
    /// Dead children that came to us as orphans.
    zombies: Vec<Seen>,
    /// Whether a process went away meanwhile.
    vanished: bool,
    /// Whether somebody else's process is in the main process's group.
    group_is_shared: bool,
}

struct Census<'a> {
    scope: &'a Scope,
    me: Pid,
    /// None where its leader stands outside this PID namespace, as in a container.
    my_group: Option<Pid>,
    takes_orphans: bool,
    all: HashMap<Pid, Seen>,
    /// As [`Scope::says`]; None also where it has no marker.
    marks: HashMap<Pid, Option<bool>>,
}

impl Census<'_> {
    fn is_ours(&mut self, pid: Pid) -> bool {
        let mut at = pid;
        // The picture was not taken in one moment, so the parents in it may form a ring.
        for _ in 0..self.all.len() {
            let Some(seen) = self.all.get(&at).copied() else { return false };
            let scope = self.scope;
            let own = *self
                .marks
                .entry(at)
                .or_insert_with(|| census::mark(at).and_then(|mark| scope.says(at, &mark)));
            if let Some(ours) = own {
                return ours;
            }
            if scope.main.is_some() && (scope.main == Some(at) || scope.main == seen.group) {
                return true;
            }
            match seen.parent {
                Some(parent) if parent == self.me => {
                    return self.takes_orphans && seen.group != self.my_group;
                }
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }
}

/// Looks once, and does something to each member as soon as it is known to be one.
fn look(scope: &Scope, mut act: impl FnMut(&Seen)) -> Found {
    let trees = registry::lock();
    let me = getpid();
    let (everyone, vanished) = census::everyone();
    let mut census = Census {
        scope,
        me,
        my_group: census::one(me).and_then(|own| own.group),
        takes_orphans: scope.main.is_some() && trees.iter().all(|tree| Some(*tree) == scope.main),
        all: everyone.iter().map(|seen| (seen.pid, *seen)).collect(),
        marks: HashMap::new(),
    };
    let mut found = Found { vanished, ..Found::default() };
    for seen in everyone.into_iter().filter(|seen| seen.pid != me) {
        if !seen.alive {
            if seen.parent == Some(me) && !trees.contains(&seen.pid) {
                found.zombies.push(seen);
            }
        } else if census.is_ours(seen.pid) {
            act(&seen);
            found.members.push(seen);
        } else if scope.main.is_some() && seen.group == scope.main {
            found.group_is_shared = true;
        }
    }
    found
}

pub(crate) async fn end(scope: &Scope, grace: Duration) -> Swept {
    let mut told = HashSet::new();
    if !grace.is_zero() {
        rounds(scope, Signal::TERM, grace, &mut told).await;
    }
    let mut killed = HashSet::new();
    let remaining = rounds(scope, Signal::KILL, KILL_WITHIN, &mut killed).await;
    let ended = told.union(&killed).filter(|(pid, _)| Some(*pid) != scope.main).count();
    Swept { ended, remaining }
}

/// Signals whoever is found until nobody is, or the time is over. Nobody is told twice to
/// terminate, which some programs take for impatience.
async fn rounds(
    scope: &Scope,
    signal: Signal,
    within: Duration,
    told: &mut HashSet<(Pid, u64)>,
) -> Vec<Pid> {
    let deadline = Instant::now() + within;
    let mut looks_left = LOOKS_MAX;
    loop {
        let mut watched = Vec::new();
        let mut tell = |seen: &Seen| {
            let first = told.insert(seen.key());
            let Some(process) = open_exactly(seen) else { return };
            if first || signal == Signal::KILL {
                // Failure means that it is gone, or not ours to signal: the next look tells.
                let _ = process.signal(signal);
            }
            if watched.len() < WATCHED_MAX {
                watched.push(process);
            }
        };
        let found = if signal == Signal::KILL {
            look(scope, tell)
        } else {
            // The oldest first: a parent learns of the end before its children are gone.
            let found = look(scope, |_| ());
            found.members.iter().rev().for_each(&mut tell);
            found
        };
        kill_group(scope, &found, signal);
        let reaped = reap(&found.zombies, scope, told);
        if found.members.is_empty() {
            // One that went away while we looked may have left a child that we did not see.
            looks_left -= u32::from(reaped == 0);
            if looks_left == 0 || (reaped == 0 && !found.vanished) {
                return Vec::new();
            }
        }
        let all_gone = async {
            for process in &watched {
                process.gone().await;
            }
        };
        // There may be nobody to wait for, and the loop must yield all the same.
        tokio::task::yield_now().await;
        if timeout_at(deadline, all_gone).await.is_err() || Instant::now() >= deadline {
            return look(scope, |_| ()).members.iter().map(|seen| seen.pid).collect();
        }
    }
}

/// The whole group in one stroke, which a process that forks cannot outrun.
fn kill_group(scope: &Scope, found: &Found, signal: Signal) {
    let group = scope.main.filter(|_| signal == Signal::KILL && !found.group_is_shared);
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
}

fn open_exactly(seen: &Seen) -> Option<Watched> {
    let fd = pidfd_open(seen.pid, PidfdFlags::empty()).ok()?;
    (census::one(seen.pid)?.born == seen.born).then_some(())?;
    Watched::from_pidfd(seen.pid, fd).ok()
}

/// Takes the exit statuses of orphans: of those that were ended here, of the tree's group, and of
/// any session but ours. What this program started by other means is in none of the three. Returns
/// how many there were.
fn reap(zombies: &[Seen], scope: &Scope, told: &HashSet<(Pid, u64)>) -> usize {
    let session = census::one(getpid()).and_then(|own| own.session);
    let of_trees = zombies.iter().filter(|zombie| {
        let of_group = scope.main.is_some() && zombie.group == scope.main;
        told.contains(&zombie.key()) || of_group || zombie.session != session
    });
    of_trees.filter(|zombie| waitpid(Some(zombie.pid), WaitOptions::NOHANG).is_ok()).count()
}

/// One round without waiting, for a tree that is dropped.
pub(crate) fn strike(scope: &Scope) {
    let found = look(scope, |seen| {
        let Ok(fd) = pidfd_open(seen.pid, PidfdFlags::empty()) else { return };
        if census::one(seen.pid).is_some_and(|now| now.born == seen.born) {
            let _ = pidfd_send_signal(fd, Signal::KILL);
        }
    });
    kill_group(scope, &found, Signal::KILL);
}
