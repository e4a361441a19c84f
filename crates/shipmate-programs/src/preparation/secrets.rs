//! The secrets in files that are copied into trees, to be hidden wherever the words of others are kept.
//!
//! Values of lines `NAME=value` whose name says that it is one. A plain word is none, whatever it is
//! called: hiding every `postgres` would change the names of files.

use std::path::Path;

use shipmate_model::setup::Preparation;
use shipmate_process::regular_file::read_inside;
use shipmate_process::{blocking, hidden};
use shipmate_workspace::Repository;

use crate::fence::looks_secret;

const FILE_BYTES_MAX: usize = 256 * 1024;
const VALUE_BYTES_MIN: usize = 8;

/// Hides the secrets of the files that trees get copies of, in this process, from now on.
pub async fn hide(workspace: &Path, preparation: &Preparation) {
    if preparation.copy.is_empty() {
        return;
    }
    let (workspace, preparation) = (workspace.to_owned(), preparation.clone());
    let read = blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let found = repository.unversioned(&preparation.copy, &[]).map_err(|e| e.to_string())?;
        let texts = found.copies.iter().filter_map(|path| {
            let text = read_inside(&workspace, Path::new(path), FILE_BYTES_MAX).ok()?;
            String::from_utf8(text).ok()
        });
        Ok(texts.flat_map(|text| values(&text)).collect::<Vec<_>>())
    });
    // What cannot be found was not copied.
    hidden::hide(read.await.unwrap_or_default());
}

fn values(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let named = lines.map(|(name, value)| {
        // Also one that is commented out.
        let name = name.trim_start_matches(['#', ' ']).trim_start_matches("export ").trim();
        (name, value.trim().trim_matches(['"', '\'']))
    });
    let is_secret = |(name, value): &(&str, &str)| {
        let is_word = value.chars().all(|c| c.is_ascii_lowercase());
        value.len() >= VALUE_BYTES_MIN && !is_word && looks_secret(name, value)
    };
    let secret = named.filter(is_secret);
    secret.map(|(name, value)| (value.to_owned(), format!("[{name}]"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_whose_names_say_so_are_secrets_and_plain_words_are_not() {
        let file = "# TOKEN=in-a-comment-1\nexport API_KEY=\"s3cret-value\"\nDEBUG=true-or-false\n\
                    DB_PASSWORD=postgres\nDATABASE_URL=postgres://me:hunter22@db/x\n";
        let found = values(file);
        let shown: Vec<&str> = found.iter().map(|(_, shown)| shown.as_str()).collect();
        assert_eq!(shown, ["[TOKEN]", "[API_KEY]", "[DATABASE_URL]"], "{found:?}");
    }
}
