//! Brings a tree to a commit: at a claim to the team's tip, in the integration clone to a merge.
//!
//! Call it only while no agent works in the tree: lock files found there are those of dead
//! processes and are removed. After an error, bring the tree up again before anybody works in it.

use std::fs;

use super::dot_git::DotGit;
use super::git::Failure;
use super::merging::MergedTree;
use super::snapshot::{OwnIndex, Paths, SnapshotFailure, move_head};
use super::tree::{Tree, put};
use super::{Commit, Snapshot};

/// What happens to work in the tree that is not on the team branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It goes (ignored files stay). Take it in or keep it aside first.
    Nothing,
    /// It is committed, and the team's tip is merged into it.
    Work,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BroughtUp {
    /// Nothing was to be done.
    AlreadyThere,
    /// The tree stands on this commit: the tip, or own work with the tip merged into it.
    At(Commit),
    /// The files hold conflict markers, and the clone is in the middle of a merge. The next
    /// snapshot concludes it once the markers are gone.
    Conflicts(Vec<String>),
}

/// Names that stand in conflict markers instead of commit ids.
const OURS: &str = "YOUR_WORK";
const THEIRS: &str = "TEAM_BRANCH";

/// In the shadow while files are being changed: from which commit to which tree.
const ON_THE_WAY: &str = "on-the-way";

/// What an operation that was under way leaves in a `.git`.
const UNDER_WAY: [&str; 10] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

#[derive(Clone, Copy, PartialEq)]
enum Stand {
    OnOwnBranch,
    Detached,
}

impl Tree {
    pub fn bring_up(&self, tip: &Commit, keep: Keep) -> Result<BroughtUp, Failure> {
        let _turn = self.take_turn()?;
        match keep {
            Keep::Nothing => self.stand_on(tip, Stand::OnOwnBranch),
            Keep::Work => self.merge_in(tip),
        }
    }

    /// Files exactly as in the commit, untracked ones gone, ignored ones (build caches) kept.
    pub fn check_out(&self, commit: &Commit) -> Result<BroughtUp, Failure> {
        let _turn = self.take_turn()?;
        self.stand_on(commit, Stand::Detached)
    }

    pub(super) fn forget_merge(&self, dot_git: &DotGit) -> Result<(), Failure> {
        UNDER_WAY.iter().try_for_each(|name| dot_git.take_out(name, &self.fresh("bin")))
    }

    fn stand_on(&self, commit: &Commit, stand: Stand) -> Result<BroughtUp, Failure> {
        self.clear_the_way();
        let dot_git = DotGit::open(self.path())?;
        self.break_locks(&dot_git)?;
        let index_lock = dot_git.lock("index")?;
        // A HEAD that cannot be read is no obstacle: it is about to be replaced.
        let position = self.position().ok();
        let branch = (stand == Stand::OnOwnBranch).then(|| self.own_branch());
        let there = position.as_ref().is_some_and(|position| {
            position.branch == branch && position.commit.as_ref() == Some(commit)
        });
        let under_way = UNDER_WAY.iter().any(|name| dot_git.has(name));
        if there
            && !under_way
            && let Some(index) = self.is_like(commit)?
        {
            index.hand_over(self, index_lock, commit)?;
            return Ok(BroughtUp::AlreadyThere);
        }

        // First what the tree holds now, so that its files are known and not taken for untracked.
        let before = position.and_then(|position| position.commit);
        let index = self.index_of(before.as_ref().unwrap_or(commit).as_str())?;
        self.git().index(&index.0).args(["read-tree", "--reset", "-u"]).arg(commit).run()?;
        self.git().index(&index.0).args(["clean", "-ffdq"]).run()?;
        if let Some(branch) = &branch {
            dot_git.write(branch, format!("{commit}\n").as_bytes())?;
            dot_git.write("HEAD", format!("ref: {branch}\n").as_bytes())?;
        } else {
            dot_git.write("HEAD", format!("{commit}\n").as_bytes())?;
        }
        self.arrived();
        self.forget_merge(&dot_git)?;
        index.hand_over(self, index_lock, commit)?;
        Ok(BroughtUp::At(commit.clone()))
    }

    fn merge_in(&self, tip: &Commit) -> Result<BroughtUp, Failure> {
        self.clear_the_way();
        let dot_git = DotGit::open(self.path())?;
        let Some(head) = self.position()?.commit else {
            return self.stand_on(tip, Stand::OnOwnBranch);
        };
        self.break_locks(&dot_git)?;
        self.go_back(&dot_git, &head)?;
        let saved = match self.snapshot_head(Paths::All, "work in progress\n") {
            Ok(Snapshot { commit, .. }) => commit,
            Err(SnapshotFailure::Conflicts { files }) => return Ok(BroughtUp::Conflicts(files)),
            Err(SnapshotFailure::Failed(failure)) => return Err(failure),
        };
        let position = self.position()?;
        let head = position.commit.clone().expect("a tree with a commit keeps having one");
        if self.is_ancestor(tip, &head)? {
            return Ok(saved.map_or(BroughtUp::AlreadyThere, BroughtUp::At));
        }
        let index_lock = dot_git.lock("index")?;
        let index = self.index_of(head.as_str())?;
        if self.is_ancestor(&head, tip)? {
            self.go(&index, &head, tip.as_str())?;
            move_head(&dot_git, &position, tip)?;
            index.hand_over(self, index_lock, tip)?;
            self.arrived();
            return Ok(BroughtUp::At(tip.clone()));
        }
        let merged = self.merge_named(&head, tip)?;
        self.go(&index, &head, &merged.tree)?;
        if merged.clean {
            let commit = self.commit(&merged.tree, &[&head, tip], "merge the team's work\n")?;
            move_head(&dot_git, &position, &commit)?;
            index.hand_over(self, index_lock, tip)?;
            self.arrived();
            return Ok(BroughtUp::At(commit));
        }
        dot_git.write("MERGE_HEAD", format!("{tip}\n").as_bytes())?;
        dot_git.write("MERGE_MSG", b"merge the team's work\n")?;
        dot_git.write("MERGE_MODE", b"")?;
        self.show_conflicts(&index, &merged, tip)?;
        index.show(self, index_lock, tip)?;
        self.arrived();
        Ok(BroughtUp::Conflicts(merged.conflicts()))
    }

    /// Changes the files from one commit to another tree, and says so first: half of a merge must
    /// not be taken for the teammate's work after a crash.
    fn go(&self, index: &OwnIndex, from: &Commit, to: &str) -> Result<(), Failure> {
        put(&self.shadow().join(ON_THE_WAY), format!("{from} {to}").as_bytes())?;
        let git = self.git().index(&index.0).args(["read-tree", "-m", "-u", from.as_str(), to]);
        git.run().map(|_| ())
    }

    pub(super) fn arrived(&self) {
        let _ = fs::remove_file(self.shadow().join(ON_THE_WAY));
    }

    /// Undoes a way that a crash has cut short. All work was committed before it began.
    fn go_back(&self, dot_git: &DotGit, head: &Commit) -> Result<(), Failure> {
        let Ok(text) = fs::read_to_string(self.shadow().join(ON_THE_WAY)) else { return Ok(()) };
        if let Some((from, to)) = text.split_once(' ')
            && from == head.as_str()
        {
            self.forget_merge(dot_git)?;
            let index = self.index_of(to)?;
            self.git().index(&index.0).args(["read-tree", "--reset", "-u", from]).run()?;
        }
        self.arrived();
        Ok(())
    }

    fn merge_named(&self, head: &Commit, tip: &Commit) -> Result<MergedTree, Failure> {
        put(&self.shadow().join(OURS), format!("{head}\n").as_bytes())?;
        put(&self.shadow().join(THEIRS), format!("{tip}\n").as_bytes())?;
        self.merge_trees(OURS, THEIRS)?.ok_or_else(|| Failure::BrokenTree {
            tree: self.path().to_owned(),
            fact: "its branch shares no history with the team branch".to_owned(),
        })
    }

    /// The agent's own git shall say which files are unmerged.
    fn show_conflicts(
        &self,
        index: &OwnIndex,
        merged: &MergedTree,
        like: &Commit,
    ) -> Result<(), Failure> {
        let zero = "0".repeat(like.as_str().len());
        let gone = merged.stages.iter().map(|s| [b"0 ", zero.as_bytes(), b"\t", &s.path].concat());
        let sides = merged.stages.iter().map(|stage| stage.line.clone());
        let mut input = gone.chain(sides).collect::<Vec<_>>().join(&0);
        input.push(0);
        let git = self.git().index(&index.0).args(["update-index", "-z", "--index-info"]);
        git.input(input).run().map(|_| ())
    }

    fn break_locks(&self, dot_git: &DotGit) -> Result<(), Failure> {
        let own = format!("{}.lock", self.own_branch());
        let locks = ["index.lock", "HEAD.lock", "packed-refs.lock", &own];
        locks.iter().try_for_each(|lock| dot_git.take_out(lock, &self.fresh("bin")))
    }
}
