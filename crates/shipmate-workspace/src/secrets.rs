//! Whether work tells a secret of a file that trees have copies of, and what is kept of work that does.
//!
//! This is for what happens by accident: see `shipmate_process::hidden`.

use std::collections::BTreeSet;
use std::path::Path;

use shipmate_process::hidden;

use super::git::Failure;
use super::unversioned::List;
use super::{Commit, Repository, Tree, path_text};

/// What is searched for secrets: files up to this size, and so much of all added lines.
const LARGE_FILE: &str = "core.bigFileThreshold=1m";
const SEARCHED_BYTES_MAX: usize = 32 << 20;

impl Repository {
    /// Where commits that are on no branch yet tell a secret of a copied file, in an added line or in their
    /// words, and which. Larger files are not looked at, nor is more than so much of it all: this is for accidents.
    /// What the person has committed as well is no secret of that file.
    pub(super) fn tells_secret(
        &self,
        tree: &Tree,
        commit: &Commit,
    ) -> Result<Option<(String, String)>, Failure> {
        if !hidden::is_anything_hidden() {
            return Ok(None);
        }
        let settings =
            ["-c", "core.quotePath=false", "-c", LARGE_FILE, "log", "--patch", "--unified=0"];
        let plain = ["--cc", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];
        let git = tree
            .git()
            .args(settings)
            .args(plain)
            .args(["--format=%x01%h%n%an %ae %cn %ce%n%B%x02", commit.as_str()]);
        let known = self.heads()?;
        let git = known.iter().fold(git.arg("--not"), |git, commit| git.arg(commit)).arg("--");
        // Work that calls its files binary is shown all the same: no attributes count.
        let empty = tree.git().args(["hash-object", "-t", "tree", "/dev/null"]).run()?.text();
        let output = git.env("GIT_ATTR_SOURCE", empty).most(SEARCHED_BYTES_MAX).run()?;
        let (mut place, mut is_message) = (String::new(), false);
        let mut committed = BTreeSet::new();
        for line in output.stdout.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let ends = is_message && line.ends_with('\u{2}');
            if let Some(name) = line.strip_prefix('\u{1}') {
                (place, is_message) = (format!("the message of commit {name}"), true);
            } else if let Some(path) = line.strip_prefix("+++ ").filter(|_| !is_message) {
                let path = path.trim_matches('"');
                place = path.strip_prefix("b/").unwrap_or(path).to_owned();
            }
            let is_name = line.starts_with("diff --");
            if is_message || is_name || line.starts_with('+') || line.starts_with(" +") {
                if is_name && !is_message {
                    "the name of a file".clone_into(&mut place);
                }
                for (word, shown) in hidden::words_in(&line) {
                    if !committed.contains(&word) && !self.is_committed(&word)? {
                        return Ok(Some((place, shown)));
                    }
                    committed.insert(word);
                }
            }
            is_message &= !ends;
        }
        Ok(None)
    }

    /// A file that the person has committed has this word. It is said on standard input: what a process is
    /// started with is seen by everybody.
    fn is_committed(&self, word: &str) -> Result<bool, Failure> {
        let Ok(head) = self.head() else { return Ok(false) };
        let git = self.git().args(["grep", "--quiet", "--fixed-strings", "-f", "-"]);
        let found = git.arg(head.commit.as_str()).input(word.as_bytes().to_vec());
        Ok(found.allow(&[0, 1]).run()?.code == 0)
    }

    /// The commit to keep instead of one that holds what was only put into its tree: its files without that,
    /// on what the team had when it left. What it was called is in its words.
    pub(super) fn without_unversioned(
        &self,
        tree: &Tree,
        commit: &Commit,
    ) -> Result<Commit, Failure> {
        let tells = self.tells_secret(tree, commit)?.is_some();
        if !tells && self.holds_unversioned(tree, commit)?.is_none() {
            return Ok(commit.clone());
        }
        let list = List::read(tree);
        let index = tree.index_of(commit.as_str())?;
        let files = tree.git().index(&index.0).args(["ls-files", "-z", "--cached"]).run()?;
        let is_unfit = |path: &str| list.has(path) || !hidden::words_in(path).is_empty();
        let held: Vec<Vec<u8>> =
            files.fields().filter(|path| is_unfit(&path_text(path))).map(<[u8]>::to_vec).collect();
        if !held.is_empty() {
            let input = held.join(&0);
            let args = ["update-index", "-z", "--force-remove", "--stdin"];
            tree.git().index(&index.0).args(args).input(input).run()?;
        }
        if tells {
            self.hide_secrets(tree, &index.0)?;
        }
        let written = tree.git().index(&index.0).args(["write-tree"]).run()?.text();
        let heads = self.heads()?;
        let mut parents = Vec::new();
        for head in &heads {
            let base = tree.git().arg("merge-base").arg(head).arg(commit).allow(&[0, 1]).run()?;
            parents.extend((base.code == 0).then(|| base.commit()));
        }
        let parent = parents.first();
        let text =
            format!("kept aside from {}, without copied files and their secrets\n", commit.short());
        tree.commit(&written, &parent.into_iter().collect::<Vec<_>>(), &text)
    }

    /// Files of the index that tell a secret tell its name instead.
    fn hide_secrets(&self, tree: &Tree, index: &Path) -> Result<(), Failure> {
        let mut words = Vec::new();
        for (word, _) in hidden::words() {
            if !self.is_committed(&word)? {
                words.push(word);
            }
        }
        if words.is_empty() {
            return Ok(());
        }
        let git = || tree.git().index(index);
        let search = ["grep", "--cached", "--text", "-l", "-z", "--fixed-strings", "-f", "-"];
        let found = git().args(search).input(words.join("\n").into_bytes()).allow(&[0, 1]).run()?;
        for path in found.fields().map(path_text) {
            let spec = format!(":(top,literal){path}");
            let entry = git().args(["ls-files", "-s", "--"]).arg(spec).run()?.text();
            let mut parts = entry.split_whitespace();
            let (Some(mode), Some(blob)) = (parts.next(), parts.next()) else { continue };
            let bytes = git().args(["cat-file", "blob", blob]).run()?.stdout;
            let shown = hidden::shown_bytes(&bytes).into_owned();
            let blob = git().args(["hash-object", "-w", "--stdin"]).input(shown).run()?.text();
            let line = format!("{mode} {blob}\t{path}\0").into_bytes();
            git().args(["update-index", "-z", "--index-info"]).input(line).run()?;
        }
        Ok(())
    }
}
