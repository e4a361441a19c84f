//! The commands that are tried, and what must hold after each was killed.

use super::repository::{Repository, locked_refs, settled, unfinished};
use super::scene::{Ran, Scene, State, TASKS, TEAM};

/// A command, and the state it is tried in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Create,
    Run,
    Resume,
    Merge,
    /// Brings what the user has committed meanwhile to the team.
    Update,
    /// Of a team whose agents were killed at work.
    Delete,
    /// Of a team whose agents are at work.
    DeleteNow,
    /// Of a teammate that was killed at work.
    Remove,
    /// Of a team whose agents are at work.
    Shutdown,
}

impl Subject {
    pub const ALL: [Subject; 9] = [
        Subject::Create,
        Subject::Run,
        Subject::Resume,
        Subject::Merge,
        Subject::Update,
        Subject::Delete,
        Subject::DeleteNow,
        Subject::Remove,
        Subject::Shutdown,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subject::Create => "create",
            Subject::Run => "run",
            Subject::Resume => "resume",
            Subject::Merge => "merge",
            Subject::Update => "update",
            Subject::Delete => "delete",
            Subject::DeleteNow => "delete-now",
            Subject::Remove => "remove",
            Subject::Shutdown => "shutdown",
        }
    }

    pub(super) fn state(self) -> State {
        match self {
            Subject::Create | Subject::Run => State::Bare,
            Subject::Merge | Subject::Update => State::Done,
            _ => State::Halfway,
        }
    }

    /// Agents are at work when it is tried.
    pub(super) fn needs_work(self) -> bool {
        matches!(self, Subject::DeleteNow | Subject::Shutdown)
    }

    pub(super) fn args(self) -> &'static [&'static str] {
        match self {
            Subject::Create => {
                &["team", "create", TEAM, "--trees", "own", "--dirty", "--check", GATE_LINE]
            }
            Subject::Run => &["run", "../plan.toml", "--dirty"],
            Subject::Resume => &["resume"],
            Subject::Merge => &["merge"],
            Subject::Update => &["team", "update"],
            Subject::Delete => &["team", "delete", TEAM],
            Subject::DeleteNow => &["team", "delete", TEAM, "--now"],
            Subject::Remove => &["teammate", "remove", "ana"],
            Subject::Shutdown => &["shutdown", "--now"],
        }
    }

    /// After a kill: the next command, the same command again, and the work itself. `code` is how
    /// the killed command ended, if it ended by itself.
    pub(super) fn check(
        self,
        scene: &Scene,
        before: &Repository,
        code: Option<i32>,
    ) -> Result<(), String> {
        let looked = scene.shipmate(&["status"])?;
        crashed("status", &looked)?;
        self.hold(scene, before, "after `status`")?;
        if code == Some(0) {
            self.acknowledged(scene, before)?;
        }
        let again = scene.shipmate(self.args())?;
        crashed("the same command again", &again)?;
        self.hold(scene, before, "after the same command again")?;
        self.finish(scene, before, &again)?;
        let left = scene.left_over()?;
        if !left.is_empty() {
            return Err(format!("processes are left: {}", left.join("; ")));
        }
        match settled(scene, || Ok([unfinished(scene), locked_refs(scene)].concat()))? {
            found if found.is_empty() => scene.git(&["fsck", "--strict"]).map(drop),
            found => Err(format!("at the end: {}", found.join("; "))),
        }
    }

    /// Everything of the user's is as before, or as after.
    fn hold(self, scene: &Scene, before: &Repository, when: &str) -> Result<(), String> {
        let found = settled(scene, || {
            let mut found = unfinished(scene);
            let now = Repository::read(scene)?;
            found.extend(match self {
                Subject::Merge if now.commit != before.commit => now.merged(scene, before)?,
                _ => now.differences(before),
            });
            Ok(found)
        })?;
        match found.is_empty() {
            true => Ok(()),
            false => Err(format!("{when}: {}", found.join("; "))),
        }
    }

    /// What the command said it had done is done.
    fn acknowledged(self, scene: &Scene, before: &Repository) -> Result<(), String> {
        let teams = || scene.must(&["team", "list"]);
        let holds = match self {
            Subject::Create => teams()?.contains(TEAM),
            Subject::Delete | Subject::DeleteNow => !teams()?.contains(TEAM),
            Subject::Merge => Repository::read(scene)?.commit != before.commit,
            Subject::Update => is_up_to_date(scene)?,
            Subject::Run => landed(scene)?.len() == TASKS,
            Subject::Resume | Subject::Remove | Subject::Shutdown => true,
        };
        match holds {
            true => Ok(()),
            false => Err(format!("it ended with 0 and is not done: {}", scene.printed())),
        }
    }

    fn finish(self, scene: &Scene, before: &Repository, again: &Ran) -> Result<(), String> {
        match self {
            Subject::Create => {
                if again.code != Some(0) && !again.text.contains("exists") {
                    return Err(format!("create again: {:?} {}", again.code, again.text));
                }
                let agent = "sh \"${SHIPMATE_WORKSPACE%/repo}/agent.sh\"";
                scene.must(&["teammate", "add", "ana", "--command", agent])?;
                scene.must(&["task", "create", "write it"])?;
                scene.completed(1)?;
                works(scene, 1)
            }
            Subject::Run => {
                if again.code != Some(0) {
                    scene.must(&["resume"])?;
                    scene.completed(TASKS)?;
                }
                works(scene, TASKS)
            }
            Subject::Resume => {
                zero("resume again", again)?;
                scene.completed(TASKS)?;
                works(scene, TASKS)
            }
            Subject::Merge => {
                zero("merge again", again)?;
                let now = Repository::read(scene)?;
                match now.commit == before.commit {
                    true => Err("merged twice and not at all".to_owned()),
                    false => works(scene, TASKS),
                }
            }
            Subject::Update => {
                zero("update again", again)?;
                match is_up_to_date(scene)? {
                    true => works(scene, TASKS),
                    false => Err("updated twice and not at all".to_owned()),
                }
            }
            Subject::Delete | Subject::DeleteNow => {
                if again.code != Some(0) && !again.text.contains("no team") {
                    return Err(format!("delete again: {:?} {}", again.code, again.text));
                }
                if scene.must(&["team", "list"])?.contains(TEAM) {
                    return Err("the team is still listed".to_owned());
                }
                kept(scene, &[1, 2])
            }
            Subject::Remove => {
                if again.code != Some(0) && !again.text.contains("no teammate") {
                    return Err(format!("remove again: {:?} {}", again.code, again.text));
                }
                kept(scene, &[1, 2])?;
                scene.must(&["resume"])?;
                scene.completed(TASKS)?;
                works(scene, TASKS)
            }
            Subject::Shutdown => {
                kept(scene, &[1, 2])?;
                scene.must(&["resume"])?;
                scene.completed(TASKS)?;
                works(scene, TASKS)
            }
        }
    }
}

/// The same gate as the plan's.
const GATE_LINE: &str = super::scene::GATE;

/// A command may refuse; it must not be cut off or crash.
fn crashed(what: &str, ran: &Ran) -> Result<(), String> {
    match ran.code {
        Some(code) if code != 101 && code != 6 => Ok(()),
        code => Err(format!("{what} ended with {code:?}: {}", ran.text)),
    }
}

fn zero(what: &str, ran: &Ran) -> Result<(), String> {
    match ran.code {
        Some(0) => Ok(()),
        code => Err(format!("{what}: {code:?} {}", ran.text)),
    }
}

/// The team has what is checked out.
fn is_up_to_date(scene: &Scene) -> Result<bool, String> {
    let missing =
        scene.git(&["rev-list", "--count", "HEAD", "--not", &format!("shipmate/{TEAM}")])?;
    Ok(missing.trim() == "0")
}

/// Tasks whose work is on the team branch, each merge by its trailers.
fn landed(scene: &Scene) -> Result<Vec<u32>, String> {
    let branch = format!("shipmate/{TEAM}");
    // A batch lands as one commit, with the merge of each task behind it.
    let ours = ["log", "--merges", "--committer=shipmate@localhost", "--format=%B"];
    let text = scene.git(&[&ours[..], &[&branch, "--not", "v1"]].concat())?;
    let tasks = text.lines().filter_map(|line| line.strip_prefix("Shipmate-Task: "));
    let mut tasks: Vec<u32> = tasks.filter_map(|id| id.parse().ok()).collect();
    tasks.sort_unstable();
    Ok(tasks)
}

/// Each task is on the branch once, and the gate is green at every commit the branch ever was at.
fn works(scene: &Scene, tasks: usize) -> Result<(), String> {
    let found = landed(scene)?;
    if found != (1..=tasks as u32).collect::<Vec<_>>() {
        return Err(format!("landed on the branch: {found:?} of {tasks}"));
    }
    let branch = format!("shipmate/{TEAM}");
    let line = scene.git(&["log", "--first-parent", "--format=%H", &branch, "--not", "v1"])?;
    for commit in line.lines() {
        if !scene.gate_at(commit)? {
            return Err(format!("the gate is red at {commit}"));
        }
    }
    Ok(())
}

/// What agents were doing can be found: in a ref of the repository, or in what is kept on disk.
fn kept(scene: &Scene, tasks: &[u32]) -> Result<(), String> {
    let objects = scene.git(&["rev-list", "--objects", "--all"])?;
    for task in tasks {
        for word in ["kept", "draft"] {
            let name = format!("out/{word}-{task}");
            let state = scene.place.state();
            let in_ref = objects.lines().any(|line| line.ends_with(&format!(" {name}")));
            if !in_ref && !on_disk(&state, &format!("{word}-{task}")) {
                return Err(format!("{name} is lost: {}", scene.printed()));
            }
        }
    }
    Ok(())
}

fn on_disk(below: &std::path::Path, name: &str) -> bool {
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => on_disk(&entry.path(), name),
        _ => entry.file_name() == name,
    })
}
