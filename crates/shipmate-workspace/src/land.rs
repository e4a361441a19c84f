//! The way of work into the team branch: taken in, looked at, merged, advanced, found again.
//!
//! Merging makes objects only; `advance` moves the branch, with the old value as a condition. The
//! merge commit carries its task and token, and `landed` finds it after a crash. Merges that passed
//! the gate together are joined to one commit, so that no state which was not gated is on the
//! first-parent line: its second parent is the chain of its tasks' merges. What an agent writes into
//! its own commit messages proves nothing: its commits are second parents of those merges, and
//! only the first-parent lines of the branch and of such chains are searched.

use std::collections::BTreeMap;

use super::git::{Failure, Git};
use super::merging::merge_trees;
use super::repository::{Repository, team_ref};
use super::tree::Tree;
use super::{Author, Commit, WorkKey, path_text};

/// Who commits what the runtime merges. Authors are the teammates.
pub(super) const COMMITTER: (&str, &str) = ("shipmate", "shipmate@localhost");

#[derive(Debug, thiserror::Error)]
pub enum TakeInFailure {
    #[error("the commit {} does not exist in {branch}'s tree; commit the work there and name \
             that commit", commit.short())]
    NoSuchCommit { commit: Commit, branch: String },
    #[error("the commit {} is not on the branch {branch}; commit the work on that branch and \
             name that commit", commit.short())]
    NotOnBranch { commit: Commit, branch: String },
    #[error(
        "the work commits {path}, which was only put into the tree and is never committed; take it \
             out of every commit of the work (git rm --cached, git commit --amend)"
    )]
    Unversioned { path: String },
    #[error(
        "the work tells the value of {secret} in {place}, which is in a file that was only put into the tree; \
             take it out of every commit of the work (git commit --amend, git rebase)"
    )]
    Secret { place: String, secret: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

#[derive(Debug, thiserror::Error)]
pub enum AdvanceFailure {
    /// Merge again onto what was found.
    #[error("the team branch of {team} is no longer at {}; merge again onto where it stands",
            from.short())]
    Moved { team: String, from: Commit, found: Option<Commit> },
    /// Moving it would turn the user's files there into changes they did not make.
    #[error(
        "the branch shipmate/{team} is checked out in {at}; switch that checkout to another \
             branch, and the team goes on"
    )]
    CheckedOut { team: String, at: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Modified,
    /// Same content; executable or not, or a file became a link.
    ModeChanged,
    Deleted,
}

/// What the path holds after the change, or held before it was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Executable,
    Symlink,
    Submodule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    pub kind: ChangeKind,
    pub entry: EntryKind,
}

/// What a merge commit says about itself.
#[derive(Debug, Clone)]
pub struct MergeText {
    /// One line; line ends in it become spaces.
    pub subject: String,
    pub author: Author,
    pub teammate: String,
    pub key: WorkKey,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The merge commit. No branch has moved yet.
    Landed(Commit),
    /// The work changes nothing that is not there already.
    Nothing,
    Conflict {
        files: Vec<String>,
        text: String,
    },
    /// The work shares no history with the team branch.
    Unrelated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedWork {
    pub commit: Commit,
    pub task: u32,
    pub token: u64,
    pub teammate: String,
    pub subject: String,
    pub files: Vec<String>,
}

impl Repository {
    /// Brings a commit of a teammate into the repository, under the ref of its task and token.
    pub fn take_in(
        &self,
        tree: &Tree,
        commit: &Commit,
        key: &WorkKey,
    ) -> Result<String, TakeInFailure> {
        let name = key.refname();
        let branch = || tree.branch().to_owned();
        if tree.resolve(commit.as_str())?.as_ref() != Some(commit) {
            return Err(TakeInFailure::NoSuchCommit { commit: commit.clone(), branch: branch() });
        }
        if !tree.vouches_for(commit)? {
            return Err(TakeInFailure::NotOnBranch { commit: commit.clone(), branch: branch() });
        }
        if let Some(path) = self.holds_unversioned(tree, commit)? {
            return Err(TakeInFailure::Unversioned { path });
        }
        if let Some((place, secret)) = self.tells_secret(tree, commit)? {
            return Err(TakeInFailure::Secret { place, secret });
        }
        self.fetch_from(tree, commit, &name)?;
        Ok(name)
    }

    /// A fetch from a file or folder that checks every object and moves no ref but those it is told.
    pub(super) fn strict_fetch(&self) -> Git {
        self.git().env("GIT_ALLOW_PROTOCOL", "file").args([
            "-c",
            "fetch.fsckObjects=true",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--refmap=",
        ])
    }

    /// The shadow serves what it borrows from the clone; see the module's header.
    pub(super) fn fetch_from(
        &self,
        tree: &Tree,
        commit: &Commit,
        name: &str,
    ) -> Result<(), Failure> {
        let fetch = || {
            let git = self.strict_fetch().fenced(&[&self.common], &[tree.shadow(), tree.path()]);
            git.arg("--end-of-options").arg(tree.shadow()).arg(format!("+{commit}:{name}")).run()
        };
        // It looks at every other work as well, and one that cannot be read at that moment must not cost
        // this one an attempt.
        match fetch() {
            Err(Failure::Git { .. }) => fetch(),
            fetched => fetched,
        }?;
        Ok(())
    }

    /// What `work` changes since it left `onto`. A rename is a deletion and an addition.
    pub fn changed(&self, onto: &Commit, work: &Commit) -> Result<Vec<Change>, Failure> {
        let base = self.git().arg("merge-base").arg(onto).arg(work).allow(&[0, 1]).run()?;
        let before = match base.code {
            0 => format!("{}^{{tree}}", base.text()),
            // No common history: all of it is change.
            _ => self.git().arg("mktree").input(Vec::new()).run()?.text(),
        };
        let compared = self.compare(&[(before, format!("{work}^{{tree}}"))])?;
        Ok(compared.into_iter().next().unwrap_or_default())
    }

    /// Merges without touching any working tree or branch.
    pub fn merge(
        &self,
        onto: &Commit,
        work: &Commit,
        about: &MergeText,
    ) -> Result<Merged, Failure> {
        // Attributes (a `merge=union`) are the team branch's, not those of the user's checkout.
        let git = self.git().env("GIT_ATTR_SOURCE", onto);
        let Some(merged) = merge_trees(git, onto.as_str(), work.as_str())? else {
            return Ok(Merged::Unrelated);
        };
        if !merged.clean {
            let (files, text) = (merged.conflicts(), merged.text);
            return Ok(Merged::Conflict { files, text });
        }
        if merged.tree == self.tree_of(onto)? {
            return Ok(Merged::Nothing);
        }
        let commit = by(self.git(), &about.author)
            .args([
                "commit-tree",
                &merged.tree,
                "-p",
                onto.as_str(),
                "-p",
                work.as_str(),
                "-F",
                "-",
            ])
            .input(message(about).into_bytes())
            .run()?
            .commit();
        Ok(Merged::Landed(commit))
    }

    /// Joins the merges from `onto` to `last` to one commit.
    pub fn join(
        &self,
        team: &str,
        onto: &Commit,
        last: &Commit,
        tasks: &[u32],
    ) -> Result<Commit, Failure> {
        let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        let text = format!(
            "Land tasks {} together\n\nShipmate-Team: {team}\nShipmate-Tasks: {}\n",
            tasks.join(", "),
            tasks.join(" ")
        );
        let author = Author { name: COMMITTER.0.to_owned(), email: COMMITTER.1.to_owned() };
        let tree = format!("{last}^{{tree}}");
        let git = by(self.git(), &author).args(["commit-tree", &tree, "-F", "-"]);
        let git = git.args(["-p", onto.as_str(), "-p", last.as_str()]);
        Ok(git.input(text.into_bytes()).run()?.commit())
    }

    /// Whether the team branch stands at a commit and can be moved from there.
    pub fn can_advance(&self, team: &str, from: &Commit) -> Result<(), AdvanceFailure> {
        self.require_not_checked_out(team)?;
        match self.tip(team)? {
            Some(found) if found == *from => Ok(()),
            found => {
                Err(AdvanceFailure::Moved { team: team.to_owned(), from: from.clone(), found })
            }
        }
    }

    pub(super) fn require_not_checked_out(&self, team: &str) -> Result<(), AdvanceFailure> {
        let Some(at) = self.checkout_of(&team_ref(team))? else { return Ok(()) };
        Err(AdvanceFailure::CheckedOut { team: team.to_owned(), at: at.display().to_string() })
    }

    /// Moves the team branch. Repeating a move that has happened is a success.
    pub fn advance(&self, team: &str, from: &Commit, to: &Commit) -> Result<(), AdvanceFailure> {
        self.require_not_checked_out(team)?;
        let moved =
            self.move_ref(&team_ref(team), from.as_str(), to.as_str(), "shipmate: work landed");
        let Err(failure) = moved else { return Ok(()) };
        let found = self.tip(team)?;
        match found {
            Some(found) if found == *to => Ok(()),
            Some(found) if found == *from => Err(failure.into()),
            found => {
                Err(AdvanceFailure::Moved { team: team.to_owned(), from: from.clone(), found })
            }
        }
    }

    /// After a crash: the merge commit on the team branch that carries this key, if it landed.
    pub fn landed(
        &self,
        team: &str,
        base: &Commit,
        key: &WorkKey,
    ) -> Result<Option<Commit>, Failure> {
        let found = self.merges(team, base)?.into_iter().find(|merge| merge.key == *key);
        Ok(found.map(|merge| merge.commit))
    }

    /// Whether a commit brought work to the team branch, wherever that stands now.
    pub fn has_brought_work(&self, team: &str, base: &Commit, commit: &Commit) -> bool {
        let line = self.first_parents(base, &[commit.as_str()]).unwrap_or_default();
        line.first().is_some_and(|one| one.merge(team).is_some())
    }

    /// What landed since `base`, oldest first.
    pub fn log(&self, team: &str, base: &Commit) -> Result<Vec<LandedWork>, Failure> {
        let merges = self.merges(team, base)?;
        let pairs = |merge: &Merge| {
            (format!("{}^1^{{tree}}", merge.commit), format!("{}^{{tree}}", merge.commit))
        };
        let compared = self.compare(&merges.iter().map(pairs).collect::<Vec<_>>())?;
        let landed = merges.into_iter().zip(compared).map(|(merge, changes)| LandedWork {
            commit: merge.commit,
            task: merge.key.task,
            token: merge.key.token,
            teammate: merge.teammate,
            subject: merge.subject,
            files: changes.into_iter().map(|change| change.path).collect(),
        });
        Ok(landed.collect())
    }

    pub(super) fn merges(&self, team: &str, base: &Commit) -> Result<Vec<Merge>, Failure> {
        let Some(tip) = self.tip(team)? else { return Ok(Vec::new()) };
        let line = self.first_parents(base, &[tip.as_str()])?;
        let lasts: Vec<&str> = line.iter().filter_map(|one| one.joined(team)).collect();
        let chains = if lasts.is_empty() { Vec::new() } else { self.first_parents(base, &lasts)? };
        let chains: BTreeMap<&str, &Logged> =
            chains.iter().map(|one| (one.id.as_str(), one)).collect();
        let mut found = Vec::new();
        // From the newest on, and turned round at the end.
        for one in &line {
            let Some(mut at) = one.joined(team) else {
                found.extend(one.merge(team));
                continue;
            };
            while Some(at) != one.parents().next()
                && let Some(inner) = chains.get(at)
            {
                found.extend(inner.merge(team));
                at = inner.parents().next().unwrap_or_default();
            }
        }
        found.reverse();
        Ok(found)
    }

    /// The commits since `base` that one comes to from these by first parents, newest first.
    fn first_parents(&self, base: &Commit, from: &[&str]) -> Result<Vec<Logged>, Failure> {
        let git = self.git().args(["rev-list", "--first-parent", "--no-commit-header"]);
        let git = git.args(["--format=%H%x00%P%x00%cn%x00%B%x00", "--stdin"]);
        let names = format!("^{base}\n{}\n", from.join("\n"));
        let output = git.input(names.into_bytes()).run()?;
        let fields: Vec<_> = output.stdout.split(|byte| *byte == 0).map(path_text).collect();
        let read = |record: &[String]| Logged {
            id: record[0].trim_start().to_owned(),
            parents: record[1].clone(),
            committer: record[2].clone(),
            message: record[3].clone(),
        };
        Ok(fields.chunks_exact(4).map(read).collect())
    }

    /// Compares pairs of trees in one call.
    fn compare(&self, pairs: &[(String, String)]) -> Result<Vec<Vec<Change>>, Failure> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let names: String =
            pairs.iter().map(|(before, after)| format!("{before}\n{after}\n")).collect();
        let git = self.git().args(["cat-file", "--batch-check=%(objectname)"]);
        let trees = git.input(names.into_bytes()).run()?.text();
        let trees: Vec<_> = trees.lines().collect();
        let pairs = trees.chunks_exact(2).map(|pair| pair.join(" ")).collect::<Vec<_>>();
        let args = ["diff-tree", "--stdin", "--raw", "-r", "-z", "--no-renames", "--no-abbrev"];
        let input = pairs.join("\n") + "\n";
        let output = self.git().args(args).input(input.into_bytes()).run()?;
        Ok(read_raw(&output.stdout))
    }
}

/// A merge commit of the runtime.
pub(super) struct Merge {
    pub(super) commit: Commit,
    pub(super) key: WorkKey,
    teammate: String,
    subject: String,
}

/// A commit as git lists it.
struct Logged {
    id: String,
    parents: String,
    committer: String,
    message: String,
}

impl Logged {
    fn parents(&self) -> impl Iterator<Item = &str> {
        self.parents.split(' ')
    }

    /// The trailers of a merge that the runtime has made, and its subject.
    fn trailers(&self) -> Option<(&str, std::str::Lines<'_>)> {
        let ours = self.committer == COMMITTER.0 && self.parents().count() == 2;
        let (subject, trailers) = self.message.split_once("\n\n").filter(|_| ours)?;
        Some((subject, trailers.lines()))
    }

    /// The last of the merges that it joins; nothing unless it is exactly what [`Repository::join`]
    /// makes.
    fn joined(&self, team: &str) -> Option<&str> {
        let (_, mut lines) = self.trailers()?;
        let ours = lines.next()?.strip_prefix("Shipmate-Team: ")? == team
            && lines.next()?.starts_with("Shipmate-Tasks: ")
            && lines.next().is_none();
        self.parents().nth(1).filter(|_| ours)
    }

    /// Nothing unless it is exactly what [`message`] writes under two parents.
    fn merge(&self, team: &str) -> Option<Merge> {
        let (subject, mut lines) = self.trailers()?;
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(": ");
        let found_team = value("Shipmate-Team")?;
        let task = value("Shipmate-Task")?.parse().ok()?;
        let token = value("Shipmate-Token")?.parse().ok()?;
        let teammate = value("Shipmate-Teammate")?.to_owned();
        let ours = found_team == team && lines.next().is_none();
        ours.then(|| Merge {
            commit: Commit::parse(&self.id).expect("git lists commits by their ids"),
            key: WorkKey { team: team.to_owned(), task, token },
            teammate,
            subject: subject.to_owned(),
        })
    }
}

fn message(about: &MergeText) -> String {
    let key = &about.key;
    format!(
        "{}\n\nShipmate-Team: {}\nShipmate-Task: {}\nShipmate-Token: {}\nShipmate-Teammate: {}\n",
        one_line(&about.subject),
        key.team,
        key.task,
        key.token,
        one_line(&about.teammate),
    )
}

/// A subject comes from a task's title: it must not be able to write trailers.
fn one_line(text: &str) -> String {
    let text = text.replace('\0', " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "work".to_owned() } else { line }
}

pub(super) fn by(git: Git, author: &Author) -> Git {
    git.env("GIT_AUTHOR_NAME", &author.name)
        .env("GIT_AUTHOR_EMAIL", &author.email)
        .env("GIT_COMMITTER_NAME", COMMITTER.0)
        .env("GIT_COMMITTER_EMAIL", COMMITTER.1)
}

/// `diff-tree --stdin --raw -z`: a line for each pair, then `:modes ids letter` and path by turns.
fn read_raw(stdout: &[u8]) -> Vec<Vec<Change>> {
    let mut compared = Vec::new();
    let mut rest = stdout;
    let until = |end: u8, rest: &mut &[u8]| {
        let at = rest.iter().position(|byte| *byte == end).unwrap_or(rest.len());
        let field = path_text(&rest[..at]);
        *rest = rest.get(at + 1..).unwrap_or_default();
        field
    };
    while !rest.is_empty() {
        if rest[0] != b':' {
            until(b'\n', &mut rest);
            compared.push(Vec::new());
            continue;
        }
        let (raw, path) = (until(0, &mut rest), until(0, &mut rest));
        let words: Vec<_> = raw[1..].split(' ').collect();
        let [old_mode, new_mode, old, new, letter] = words[..] else { continue };
        let kind = match letter {
            "A" => ChangeKind::Added,
            "D" => ChangeKind::Deleted,
            _ if old == new => ChangeKind::ModeChanged,
            _ => ChangeKind::Modified,
        };
        let entry = match if kind == ChangeKind::Deleted { old_mode } else { new_mode } {
            "120000" => EntryKind::Symlink,
            "160000" => EntryKind::Submodule,
            "100755" => EntryKind::Executable,
            _ => EntryKind::File,
        };
        let changes = compared.last_mut().expect("git names the pair before its changes");
        changes.push(Change { path, kind, entry });
    }
    compared
}
