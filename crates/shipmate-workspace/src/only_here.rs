//! What a clone holds and no ref of the user's leads to: commits under other names, commits that
//! only its logs name, and what is staged.
//!
//! Names, logs and index are an agent's to write. They are read as text within bounds, and count as
//! far as the objects that they name are there.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_process::hidden;

use super::Commit;
use super::aside::Label;
use super::clone_index::{StagedFile, staged_files};
use super::dot_git::DotGit;
use super::git::{Failure, Output};
use super::path_text;
use super::repository::Repository;
use super::snapshot::Staged;
use super::tree::Tree;

/// More commits than an agent makes; who has fetched another history has more.
const WALKED_MAX: usize = 200_000;

/// How many commits that a log names are looked at, and how many are kept: the newest ones.
const LOGGED_MAX: usize = 100_000;
const LOST_MAX: usize = 1_000;

/// A clone with more damaged objects than this is for a person to look at.
const BROKEN_MAX: usize = 100;

/// Commits that nothing of the user's leads to, with their parents.
#[derive(Default)]
struct OnlyHere {
    parents: BTreeMap<Commit, Vec<Commit>>,
    /// There are more: then none is known to be the user's.
    is_cut: bool,
}

impl OnlyHere {
    fn has(&self, commit: &Commit) -> bool {
        self.is_cut || self.parents.contains_key(commit)
    }
}

impl Repository {
    /// Keeps what only a name in the clone leads to, each under its name.
    pub(super) fn keep_names(
        &self,
        tree: &Tree,
        label: Label<'_>,
        tip: &Commit,
        mut names: Vec<(String, Commit)>,
    ) -> Result<(), Failure> {
        let mut known = self.known(tip)?;
        // Nearly always all of them: a clone begins with the user's tags, and what was handed in
        // has a ref of the team's.
        names.retain(|(_, id)| !known.contains(id.as_str()));
        if names.is_empty() {
            return Ok(());
        }
        known.extend(self.known_by_log()?);
        let ids: Vec<Commit> = names.iter().map(|(_, id)| id.clone()).collect();
        let commits = tree.commits_of(&ids)?;
        let only_here = tree.only_here(commits.values(), &known)?;
        let mut kept = BTreeSet::new();
        for (name, id) in &names {
            // What is not there was never the agent's: a name can be written by hand.
            let Some(commit) = commits.get(id).filter(|commit| only_here.has(commit)) else {
                continue;
            };
            if kept.insert(commit) {
                let name = name.trim_start_matches("refs/").trim_start_matches("heads/");
                self.keep(tree, label.and(&plain(&hidden::shown(name))), commit)?;
            }
        }
        Ok(())
    }

    /// Keeps the commits that only a log of the clone leads to (made on a detached `HEAD`, reset,
    /// amended or rebased away), all under one name. For a clone that goes: until then its logs
    /// have them.
    pub(super) fn keep_logged(
        &self,
        tree: &Tree,
        label: Label<'_>,
        tip: &Commit,
        mut logged: Vec<Commit>,
    ) -> Result<(), Failure> {
        let mut known = self.known(tip)?;
        logged.retain(|id| !known.contains(id.as_str()));
        logged.truncate(LOGGED_MAX);
        if logged.is_empty() {
            return Ok(());
        }
        known.extend(self.known_by_log()?);
        let there = tree.commits_of(&logged)?;
        let only_here = tree.only_here(there.values(), &known)?;
        let below: BTreeSet<&Commit> = only_here.parents.values().flatten().collect();
        let is_lost =
            |id: &&Commit| there.contains_key(*id) && only_here.has(id) && !below.contains(*id);
        let mut lost: Vec<&Commit> = logged.iter().filter(is_lost).collect();
        let more = lost.len().saturating_sub(LOST_MAX);
        lost.truncate(LOST_MAX);
        let commit = match lost.as_slice() {
            [] => return Ok(()),
            [one] if more == 0 => (*one).clone(),
            [newest, ..] => {
                let mut text = format!(
                    "kept aside: {}\n\nThe parents are {} commits that only the logs of the clone led \
                     to.\n",
                    label.text,
                    lost.len()
                );
                if more > 0 {
                    text.push_str(&format!("{more} older ones are not kept.\n"));
                }
                tree.commit(&tree.tree_of(newest)?, &lost, &text)?
            }
        };
        self.keep(tree, label.and("log"), &commit)?;
        Ok(())
    }

    /// Keeps what is staged in the clone and neither committed nor in its files: as one commit, the
    /// files of the tree with the staged ones in their places.
    pub(super) fn keep_staged(
        &self,
        tree: &Tree,
        label: Label<'_>,
        onto: &Commit,
        files: &Staged,
        dot_git: &DotGit,
    ) -> Result<(), Failure> {
        let mut staged = staged_files(dot_git, onto.as_str().len());
        if staged.is_empty() {
            return Ok(());
        }
        let git = || tree.git().index(&files.index.0);
        let in_files = git().args(["ls-files", "--stage", "-z"]).run()?;
        let in_files: BTreeSet<&[u8]> = in_files.fields().collect();
        staged.retain(|file| !in_files.contains(file.line.as_slice()));
        if staged.is_empty() {
            return Ok(());
        }
        let committed = tree.git().args(["ls-tree", "-r", "-z", "--full-tree"]).arg(onto).run()?;
        let committed = committed_lines(&committed);
        staged.retain(|file| !committed.contains(&file.line));
        let blobs = tree.blobs(&staged)?;
        staged.retain(|file| blobs.contains(&file.id));
        if staged.is_empty() {
            return Ok(());
        }
        let input = staged.iter().flat_map(|file| [&file.line[..], b"\0"].concat()).collect();
        git().args(["update-index", "-z", "--replace", "--index-info"]).input(input).run()?;
        let files = git().arg("write-tree").run()?.text();
        let text = format!("kept aside: {}, as it was staged\n", label.text);
        let commit = tree.commit(&files, &[onto], &text)?;
        self.keep(tree, label.and("staged"), &commit)?;
        Ok(())
    }

    /// What the user's refs name, the team's and those of kept work included.
    fn known(&self, tip: &Commit) -> Result<BTreeSet<String>, Failure> {
        let refs = self.git().args(["for-each-ref", "--format=%(objectname)"]).run()?.text();
        Ok(refs.lines().map(str::to_owned).chain([tip.to_string()]).collect())
    }

    /// What the user's own logs name, such as a commit that they have amended since the clone was
    /// made with it.
    fn known_by_log(&self) -> Result<Vec<String>, Failure> {
        let git = self.git().args(["rev-list", "--no-walk", "--ignore-missing", "--reflog"]);
        // To git it is a failure when there are no logs.
        let output = git.allow(&[0, 128, 129]).run()?;
        Ok(output.text().lines().map(str::to_owned).collect())
    }
}

impl Tree {
    /// Which of these are there as commits, or as tags of one; each with that commit.
    fn commits_of(&self, ids: &[Commit]) -> Result<BTreeMap<Commit, Commit>, Failure> {
        let names: Vec<String> = ids.iter().map(|id| format!("{id}^{{commit}}")).collect();
        let found = ids.iter().zip(self.look_up(&names)?).filter_map(|(id, line)| {
            Some((id.clone(), Commit::parse(line.strip_suffix(" commit")?)?))
        });
        Ok(found.collect())
    }

    /// For each name `ID TYPE`, or something else where it is not there.
    fn look_up(&self, names: &[String]) -> Result<Vec<String>, Failure> {
        let mut found: Vec<String> = Vec::new();
        for _ in 0..BROKEN_MAX {
            let rest = &names[found.len()..];
            if rest.is_empty() {
                return Ok(found);
            }
            let git = self.git().args(["cat-file", "--batch-check=%(objectname) %(objecttype)"]);
            let output = git.input((rest.join("\n") + "\n").into_bytes()).allow(&[0, 128]).run()?;
            found.extend(path_text(&output.stdout).lines().take(rest.len()).map(str::to_owned));
            // Git ends at an object that is damaged: nobody has it any more.
            if found.len() < names.len() {
                found.push(String::new());
            }
        }
        let fact = format!("more than {BROKEN_MAX} of its objects are damaged");
        Err(Failure::BrokenTree { tree: self.path().to_owned(), fact })
    }

    fn only_here<'c>(
        &self,
        commits: impl Iterator<Item = &'c Commit>,
        known: &BTreeSet<String>,
    ) -> Result<OnlyHere, Failure> {
        let mut input: String = commits.map(|commit| format!("{commit}\n")).collect();
        if input.is_empty() {
            return Ok(OnlyHere::default());
        }
        input.extend(known.iter().map(|id| format!("^{id}\n")));
        let most = format!("--max-count={WALKED_MAX}");
        let git = self.git().args(["rev-list", "--parents", "--ignore-missing", &most, "--stdin"]);
        let output = git.input(input.into_bytes()).run()?.text();
        let mut found = OnlyHere::default();
        for line in output.lines() {
            let mut ids = line.split(' ').filter_map(Commit::parse);
            found.parents.extend(ids.next().map(|commit| (commit, ids.collect())));
        }
        found.is_cut = found.parents.len() >= WALKED_MAX;
        Ok(found)
    }

    /// The ids of those that are there.
    fn blobs(&self, files: &[StagedFile]) -> Result<BTreeSet<String>, Failure> {
        let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
        let lines = self.look_up(&ids)?.into_iter();
        Ok(lines.filter_map(|line| Some(line.strip_suffix(" blob")?.to_owned())).collect())
    }
}

/// `MODE TYPE ID<tab>PATH`, each as an index lists it.
fn committed_lines(output: &Output) -> BTreeSet<Vec<u8>> {
    let lines = output.fields().filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let words = path_text(&line[..tab]);
        let mut words = words.split(' ');
        let (mode, id) = (words.next()?, words.nth(1)?);
        Some([format!("{mode} {id} 0").as_bytes(), &line[tab..]].concat())
    });
    lines.collect()
}

/// As a part of a ref's name.
fn plain(name: &str) -> String {
    let fits = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    name.chars().map(|letter| if fits(letter) { letter } else { '-' }).collect()
}
