//! A three-way merge without a working tree: `git merge-tree --write-tree`.

use super::git::{Failure, Git};
use super::path_text;

/// The merged tree. With conflicts it holds the files with their markers.
#[derive(Debug)]
pub(super) struct MergedTree {
    pub(super) tree: String,
    pub(super) stages: Vec<Stage>,
    pub(super) text: String,
    pub(super) clean: bool,
}

/// One side of a conflicted file, as `git update-index --index-info` wants it.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) line: Vec<u8>,
    pub(super) path: Vec<u8>,
}

impl MergedTree {
    pub(super) fn conflicts(&self) -> Vec<String> {
        let mut files: Vec<_> = self.stages.iter().map(|stage| path_text(&stage.path)).collect();
        files.sort();
        files.dedup();
        files
    }
}

/// Nothing when the two share no history: there is no merging them.
pub(super) fn merge_trees(
    git: Git,
    ours: &str,
    theirs: &str,
) -> Result<Option<MergedTree>, Failure> {
    let args = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs];
    let output = match git.args(args).allow(&[0, 1]).run() {
        Err(Failure::Git { said, .. }) if said.contains("unrelated histories") => return Ok(None),
        other => other?,
    };
    let mut fields = output.stdout.split(|byte| *byte == 0);
    let tree = path_text(fields.next().unwrap_or_default());
    let mut stages = Vec::new();
    for line in fields.by_ref().take_while(|field| !field.is_empty()) {
        let at = line.iter().position(|byte| *byte == b'\t');
        let at = at.expect("git separates a stage from its path by a tab");
        stages.push(Stage { line: line.to_owned(), path: line[at + 1..].to_owned() });
    }
    Ok(Some(MergedTree { tree, stages, text: messages(fields), clean: output.code == 0 }))
}

/// Each message is `<number of paths> <path>… <kind> <text>`.
fn messages<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> String {
    let mut text = String::new();
    while let Some(count) = fields.next().and_then(|field| path_text(field).parse::<usize>().ok()) {
        let message = fields.nth(count + 1).map(path_text).unwrap_or_default();
        if !message.starts_with("Auto-merging") {
            text.push_str(message.trim_end());
            text.push('\n');
        }
    }
    text
}
