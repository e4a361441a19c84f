//! Files of a commit: listed, read, and written as a commit of their own, without a working tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::git::Failure;
use super::land::by;
use super::{Author, Commit, Repository, path_text};

impl Repository {
    /// Every file of a commit, in order.
    pub fn files_of(&self, commit: &Commit) -> Result<Vec<String>, Failure> {
        let git = self.git().args(["ls-tree", "-r", "-z", "--name-only", "--full-tree"]);
        let output = git.arg(commit).run()?;
        Ok(output.fields().map(path_text).collect())
    }

    /// Ignored files and folders of the user's checkout, our own left out; so many at most.
    pub fn ignored(&self, most: usize) -> Result<Vec<String>, Failure> {
        let args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let output = self.git().args(args).run()?;
        let names = output.fields().map(path_text).filter(|name| !name.starts_with(".shipmate"));
        Ok(names.take(most).collect())
    }

    /// The file that says what git leaves alone in this clone only.
    pub fn exclude_file(&self) -> Result<PathBuf, Failure> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"];
        Ok(PathBuf::from(self.git().args(args).run()?.text()))
    }

    /// What a file holds in a commit; nothing where there is none.
    pub fn read_file(&self, commit: &Commit, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let name = format!("{commit}:{path}");
        let there = self.git().args(["cat-file", "-e", &name]).allow(&[0, 1, 128]).run()?;
        if there.code != 0 {
            return Ok(None);
        }
        Ok(Some(self.git().args(["cat-file", "blob", &name]).run()?.stdout))
    }

    /// The mode of a path in a commit, as git writes it (`100755`); nothing where there is none.
    pub fn mode_of(&self, commit: &Commit, path: &str) -> Result<Option<String>, Failure> {
        let git = self.git().args(["ls-tree", "-z", "--full-tree"]).arg(commit);
        let output = git.arg("--").arg(format!(":(top,literal){path}")).run()?;
        let entry = output.fields().next().map(path_text);
        Ok(entry.and_then(|entry| Some(entry.split_once(' ')?.0.to_owned())))
    }

    /// The files that commits change, each seen from its first parent.
    pub fn changed_by(&self, commits: &[Commit]) -> Result<Vec<String>, Failure> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let git = self.git().args(["show", "-z", "--format=", "--name-only"]);
        let git = git.arg("--diff-merges=first-parent");
        let git = commits.iter().fold(git, |git, commit| git.arg(commit));
        Ok(git.run()?.fields().map(path_text).collect())
    }

    /// The files that are other in one commit than in another; those that are gone are left out.
    pub fn changed_between(&self, from: &Commit, to: &Commit) -> Result<Vec<String>, Failure> {
        let git = self.git().args(["diff-tree", "-r", "-z", "--name-only", "--diff-filter=d"]);
        Ok(git.arg(from).arg(to).run()?.fields().map(path_text).collect())
    }

    /// A commit on top of another that holds these files as they are given, and changes no other.
    /// Nothing where they are there already.
    pub fn commit_files(
        &self,
        onto: &Commit,
        files: &[(String, Vec<u8>)],
        author: &Author,
        message: &str,
    ) -> Result<Option<Commit>, Failure> {
        let index = own_index();
        let git = || self.git().index(&index.0);
        git().args(["read-tree", onto.as_str()]).run()?;
        let mut entries = String::new();
        for (path, bytes) in files {
            let blob = self.git().args(["hash-object", "-w", "--stdin"]).input(bytes.clone());
            entries.push_str(&format!("100644 {}\t{path}\0", blob.run()?.text()));
        }
        git().args(["update-index", "-z", "--index-info"]).input(entries.into_bytes()).run()?;
        let tree = git().arg("write-tree").run()?.text();
        if tree == self.tree_of(onto)? {
            return Ok(None);
        }
        let commit = by(self.git(), author)
            .args(["commit-tree", &tree, "-p", onto.as_str(), "-F", "-"])
            .input(message.as_bytes().to_vec())
            .run()?
            .commit();
        Ok(Some(commit))
    }

    /// A commit on top of another that has these files as they are in a third one, and changes no
    /// other. Those that are not there are gone.
    pub fn with_files_of(
        &self,
        onto: &Commit,
        of: &Commit,
        is_wanted: impl Fn(&str) -> bool,
        author: &Author,
    ) -> Result<Commit, Failure> {
        let list = |commit: &Commit| {
            self.git().args(["ls-tree", "-r", "-z", "--full-tree"]).arg(commit).run()
        };
        let (mut entries, mut there) = (Vec::new(), BTreeSet::new());
        // `MODE TYPE OBJECT<tab>PATH`
        for line in list(of)?.fields() {
            let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
            let path = path_text(&line[tab + 1..]);
            if is_wanted(&path) {
                entries.extend_from_slice(line);
                entries.push(0);
                there.insert(path);
            }
        }
        let no_object = "0".repeat(onto.as_str().len());
        for path in self.files_of(onto)? {
            if is_wanted(&path) && !there.contains(&path) {
                entries.extend_from_slice(format!("0 {no_object}\t{path}").as_bytes());
                entries.push(0);
            }
        }
        let index = own_index();
        let git = || self.git().index(&index.0);
        git().args(["read-tree", onto.as_str()]).run()?;
        git().args(["update-index", "-z", "--index-info"]).input(entries).run()?;
        let tree = git().arg("write-tree").run()?.text();
        let git = by(self.git(), author).args(["commit-tree", &tree, "-p", onto.as_str()]);
        Ok(git.args(["-m", "files of another commit"]).run()?.commit())
    }

    /// The work with these files as they were before it. They are not in its history either: it is
    /// one commit then. The work itself where it leaves them alone.
    pub fn without(
        &self,
        onto: &Commit,
        work: &Commit,
        is_left_out: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Commit, Failure> {
        let Some(is_left_out) = is_left_out else { return Ok(work.clone()) };
        let changes = self.changed(onto, work)?;
        let paths: BTreeSet<&str> = changes
            .iter()
            .map(|change| change.path.as_str())
            .filter(|path| is_left_out(path))
            .collect();
        let base = self.git().arg("merge-base").arg(onto).arg(work).allow(&[0, 1]).run()?;
        if paths.is_empty() || base.code != 0 {
            return Ok(work.clone());
        }
        let base = base.text();
        let listed = self.git().args(["ls-tree", "-r", "-z", "--full-tree", &base]).run()?;
        // `MODE TYPE OBJECT<tab>PATH`
        let before = listed.fields().filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let path = path_text(&line[tab + 1..]);
            paths.contains(path.as_str()).then_some((path, line))
        });
        let before: BTreeMap<String, &[u8]> = before.collect();
        let mut entries = Vec::new();
        for path in &paths {
            match before.get(*path) {
                Some(line) => entries.extend_from_slice(line),
                None => entries.extend(format!("0 {}\t{path}", "0".repeat(base.len())).bytes()),
            }
            entries.push(0);
        }
        let index = own_index();
        let git = || self.git().index(&index.0);
        git().args(["read-tree", work.as_str()]).run()?;
        git().args(["update-index", "-z", "--index-info"]).input(entries).run()?;
        let tree = git().arg("write-tree").run()?.text();
        let words = self.git().args(["log", "-1", "--format=%B"]).arg(work).run()?.stdout;
        let git = self.dated(work)?.args(["commit-tree", &tree, "-p", &base, "-F", "-"]);
        Ok(git.input(words).run()?.commit())
    }
}

/// An index of its own, gone when it is dropped.
struct Index(std::path::PathBuf);

impl Drop for Index {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn own_index() -> Index {
    let mut name = [0; 8];
    getrandom::fill(&mut name).expect("the system gives random bytes");
    let name = data_encoding::HEXLOWER.encode(&name);
    Index(std::env::temp_dir().join(format!("shipmate-index-{name}")))
}
