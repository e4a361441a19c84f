//! The secrets in files that are copied into trees, to be hidden wherever the words of others are kept.
//!
//! Values of lines `NAME=value` whose name says that it is one, each line of a private key, and a file of one
//! word that is called so. A plain word is none, whatever it is called: hiding every `postgres` would
//! change the names of files. Sixteen letters and more are no word.

use std::path::Path;

use shipmate_model::setup::Preparation;
use shipmate_process::{blocking, hidden};
use shipmate_workspace::Repository;

use crate::fence::looks_secret;

const FILE_BYTES_MAX: u64 = 1 << 20;
const VALUE_BYTES_MIN: usize = 8;
/// The app passwords of mail providers are as long.
const WORD_BYTES_MAX: usize = 15;

/// Hides the secrets of the files that trees get copies of, in this process, from now on.
pub async fn hide(workspace: &Path, preparation: &Preparation) {
    if preparation.copy.is_empty() {
        return;
    }
    let (workspace, preparation) = (workspace.to_owned(), preparation.clone());
    let read = blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        // One that is not there says nothing about the others.
        let each = preparation.copy.iter().map(|pattern| Preparation {
            copy: vec![pattern.clone()],
            link: Vec::new(),
            ..preparation.clone()
        });
        let found: Vec<String> = each
            .filter_map(|one| super::found_for(&repository, &one).ok())
            .flat_map(|found| found.copies)
            .collect();
        let texts = found.iter().filter_map(|path| {
            let (text, _) = repository.read_unversioned(path, FILE_BYTES_MAX)?;
            Some((path.clone(), String::from_utf8_lossy(&text).into_owned()))
        });
        let all = texts.flat_map(|(path, text)| {
            values(&text).into_iter().chain(blocks(&text)).chain(whole(&path, &text))
        });
        Ok(all.collect::<Vec<_>>())
    });
    // What cannot be found was not copied.
    hidden::hide(read.await.unwrap_or_default());
}

/// A value without its quotes and what stands behind it.
fn value_of(text: &str) -> &str {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            return rest.split(quote).next().unwrap_or(rest);
        }
    }
    text.split(" #").next().unwrap_or(text).trim_end()
}

/// The password of an address by itself.
fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    Some(user.split_once(':')?.1).filter(|word| word.len() >= VALUE_BYTES_MIN && !is_plain(word))
}

/// A word, a number or an address of this machine: others write it too, and mean nothing secret.
fn is_plain(value: &str) -> bool {
    let is_local = |rest: &str| {
        let host = rest.split(['/', ':']).next().unwrap_or(rest);
        matches!(host, "localhost" | "127.0.0.1") && !rest.contains('@') && !rest.contains('?')
    };
    let all = |is: fn(char) -> bool| value.chars().all(is);
    (value.len() <= WORD_BYTES_MAX
        && (all(|c| c.is_ascii_lowercase()) || all(|c| c.is_ascii_digit())))
        || value.split_once("://").is_some_and(|(_, rest)| is_local(rest))
}

/// Lines `"name": "value"` of JSON and `name: value` of YAML as `name=value`.
fn as_pairs(text: &str) -> String {
    let pair = |line: &str| match line.split_once('=') {
        Some(_) => line.to_owned(),
        None => {
            let (name, value) =
                line.trim().trim_end_matches(',').split_once(':').unwrap_or_default();
            format!("{}={}", name.trim().trim_matches(['"', '\'']), value.trim())
        }
    };
    text.lines().map(pair).collect::<Vec<_>>().join("\n")
}

fn values(text: &str) -> Vec<(String, String)> {
    let text = as_pairs(text);
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let named = lines.map(|(name, value)| {
        // Also one that is commented out.
        let name = name.trim_start_matches(['#', ' ']).trim_start_matches("export ").trim();
        (name, value_of(value))
    });
    let is_secret = |(name, value): &(&str, &str)| {
        value.len() >= VALUE_BYTES_MIN && !is_plain(value) && looks_secret(name, value)
    };
    let secret: Vec<(&str, &str)> = named.filter(is_secret).collect();
    let passwords = secret.iter().filter_map(|(name, value)| Some((*name, password(value)?)));
    let all = secret.iter().copied().chain(passwords);
    all.map(|(name, value)| (value.to_owned(), format!("[{name}]"))).collect()
}

/// The lines of private keys, of which each is a word of its own: in a file, or as one line with `\n` in it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let text = text.replace(r"\r", "").replace(r"\n", "\n");
    let mut found = Vec::new();
    let mut of: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some((_, label)) = line.split_once("-----BEGIN ") {
            let label = label.split("-----").next().unwrap_or_default();
            of = label.contains("PRIVATE KEY").then(|| format!("[{label}]"));
        } else if line.contains("-----END ") {
            of = None;
        } else if let Some(label) = &of
            && line.len() >= VALUE_BYTES_MIN
            && !line.contains(' ')
        {
            found.push((line.to_owned(), label.clone()));
        }
    }
    found
}

/// A file that holds one word and is called what it is, as `secrets/db_password`.
fn whole(path: &str, text: &str) -> Option<(String, String)> {
    let (name, word) = (path.rsplit('/').next()?, text.trim());
    let is_word = word.len() >= VALUE_BYTES_MIN && !word.contains(char::is_whitespace);
    (is_word && !word.contains('=') && !is_plain(word) && looks_secret(name, ""))
        .then(|| (word.to_owned(), format!("[{name}]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_private_key_is_a_secret_and_a_certificate_is_none() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA7x\nzz9+/Q==\nab==\n\
                   -----END RSA PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE\n\
                   -----END CERTIFICATE-----\n";
        let words = ["MIIEpAIBAAKCAQEA7x", "zz9+/Q=="];
        let hidden = words.map(|word| (word.to_owned(), "[RSA PRIVATE KEY]".to_owned()));
        assert_eq!(blocks(key), hidden);
        assert_eq!(blocks(&format!("SIGNER=\"{}\"\n", key.trim().replace('\n', "\\n"))), hidden);
        let word = |text| whole("secrets/db_password", text).map(|(word, _)| word);
        assert_eq!(word("hunter2-hunter2\n").as_deref(), Some("hunter2-hunter2"));
        assert_eq!((word("postgres\n"), word("two words-here\n")), (None, None));
        assert_eq!(whole("config/notes", "hunter2-hunter2"), None);
    }

    #[test]
    fn values_whose_names_say_so_are_secrets_and_plain_words_are_not() {
        let file = "# TOKEN=in-a-comment-1\nexport API_KEY=\"s3cret-value\"\nDEBUG=true-or-false\n\
                    DB_PASSWORD=postgres\n\
                    MAIL_PASSWORD=abcdefghijklmnop\nDATABASE_URL=postgres://me:hunter22@db/x\n";
        let found = values(file);
        let shown: Vec<&str> = found.iter().map(|(_, shown)| shown.as_str()).collect();
        let names = ["[TOKEN]", "[API_KEY]", "[MAIL_PASSWORD]", "[DATABASE_URL]", "[DATABASE_URL]"];
        assert_eq!(shown, names, "{found:?}");
        assert_eq!(found[4].0, "hunter22");
        // What everybody writes hides nothing: the whole address does.
        let plain = "DATABASE_URL=postgres://postgres:postgres@localhost:5432/app\n\
                     AUTH_URL=http://localhost:3000\nTOKEN_TTL_MS=86400000\n";
        let words: Vec<String> = values(plain).into_iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["postgres://postgres:postgres@localhost:5432/app"]);
        let json = values("{\n  \"api_token\": \"abc-def-123\", \n \"debug\": true\n}");
        assert_eq!(json, [("abc-def-123".to_owned(), "[api_token]".to_owned())]);
    }
}
