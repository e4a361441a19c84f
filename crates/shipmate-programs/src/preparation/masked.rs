//! What copied files keep secret, taken out of what is told: a red gate may print its environment, and
//! what it printed is recorded.
//!
//! Values of lines `NAME=value` in copied files are known by their text. Short ones are left: taking out
//! every `true` would take out the evidence.

use std::path::Path;

use shipmate_model::setup::Preparation;
use shipmate_process::blocking;
use shipmate_process::regular_file::read_inside;
use shipmate_workspace::Repository;

const FILE_BYTES_MAX: usize = 256 * 1024;
const VALUE_BYTES_MIN: usize = 8;

/// The values of copied files, each with the name that is shown instead.
#[derive(Debug, Default)]
pub struct Masked(Vec<(String, String)>);

impl Masked {
    pub async fn of(workspace: &Path, preparation: &Preparation) -> Masked {
        if preparation.copy.is_empty() {
            return Masked::default();
        }
        let (workspace, preparation) = (workspace.to_owned(), preparation.clone());
        let read = blocking(move || {
            let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
            let found =
                repository.unversioned(&preparation.copy, &[]).map_err(|e| e.to_string())?;
            let texts = found.copies.iter().filter_map(|path| {
                let text = read_inside(&workspace, Path::new(path), FILE_BYTES_MAX).ok()?;
                String::from_utf8(text).ok()
            });
            Ok(Masked::in_texts(texts))
        });
        // Nothing was copied, then.
        read.await.unwrap_or_default()
    }

    fn in_texts(texts: impl Iterator<Item = String>) -> Masked {
        let mut found = Vec::new();
        for text in texts {
            for line in text.lines() {
                let Some((name, value)) = line.split_once('=') else { continue };
                let name = name.trim().trim_start_matches("export ").trim();
                let value = value.trim().trim_matches(['"', '\'']);
                if value.len() >= VALUE_BYTES_MIN && !name.is_empty() && !name.starts_with('#') {
                    found.push((value.to_owned(), format!("[{name}]")));
                }
            }
        }
        // The longest first: one may be part of another.
        found.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Masked(found)
    }

    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, shown) in &self.0 {
            text = text.replace(value, shown);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_copied_files_are_shown_by_their_names() {
        let file = "# a comment=with-some-text\nexport KEY=\"s3cret-value\"\nDEBUG=true\nURL=s3cret-value-2\n";
        let masked = Masked::in_texts([file.to_owned()].into_iter());
        let text = masked.text("got s3cret-value and s3cret-value-2, debug true");
        assert_eq!(text, "got [KEY] and [URL], debug true");
    }
}
