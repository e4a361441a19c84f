//! The secrets in files that are copied into trees, to be hidden wherever the words of others are kept.
//!
//! Values of lines `NAME=value` and of JSON, TOML and YAML whose name says that it is one, each line of a
//! private key, and a file of one word that is called so. A plain word is none, whatever it is called: hiding
//! every `postgres` would change the names of files. Sixteen letters and more are no word. A setting about a
//! secret (`AUTH_CALLBACK_PATH`) is none either, and what has thousands of them is data.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use shipmate_model::setup::Preparation;
use shipmate_process::{blocking, hidden};
use shipmate_workspace::Repository;

use crate::definitions::yaml;
use crate::fence::{MARKERS, has_password, is_about_a_secret, looks_secret};

const FILE_BYTES_MAX: u64 = 1 << 20;
const VALUE_BYTES_MIN: usize = 8;
/// Of one file; more are the `key` fields of data, and every one is looked for in all that is printed.
const WORDS_MAX: usize = 1_000;
const ALL_WORDS_MAX: usize = 5_000;
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
            let all = whole(&path, &text).into_iter().chain(blocks(&text));
            all.chain(values(&path, &text)).take(WORDS_MAX)
        });
        Ok(all.take(ALL_WORDS_MAX).collect::<Vec<_>>())
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

/// The passwords of an address, and of a list of settings, each by itself.
fn passwords(value: &str) -> Vec<&str> {
    let user = || {
        let (_, rest) = value.split_once("://")?;
        let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
        Some(user.split_once(':')?.1)
    };
    // As long as it is, to the byte.
    let small = value.to_ascii_lowercase();
    let marked = MARKERS.iter().flat_map(|marker| {
        let behind = small.match_indices(marker).map(|(at, marker)| &value[at + marker.len()..]);
        behind.map(|rest| rest.split([';', '&', ',', '#', ' ', '"', '\'']).next().unwrap_or(rest))
    });
    let all = user().into_iter().chain(marked);
    all.filter(|word| word.len() >= VALUE_BYTES_MIN && !is_plain(word)).collect()
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

/// A line `NAME=value`, `"name": "value"` of JSON, or `name: value` of YAML.
fn pair_of(line: &str) -> Option<(String, String)> {
    let line = line.trim().trim_end_matches(',');
    // A colon inside a name is none: `//registry.host/:_authToken=…`.
    let is_end = |at: usize| {
        line[..at].ends_with(['"', '\''])
            || line[at + 1..].chars().next().is_none_or(char::is_whitespace)
    };
    let colon = line.match_indices(':').map(|(at, _)| at).find(|at| is_end(*at));
    let at = [colon, line.find('=')].into_iter().flatten().min().or_else(|| line.find(':'))?;
    // Also one that is commented out.
    let name = line[..at].trim_start_matches(['#', '-', ' ']).trim_start_matches("export ");
    Some((name.trim().trim_matches(['"', '\'']).to_owned(), value_of(&line[at + 1..]).to_owned()))
}

/// All texts in it under their own names; those of a list have the list's.
fn leaves(name: &str, value: Value, all: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => all.push((name.to_owned(), text)),
        Value::Array(items) => items.into_iter().for_each(|item| leaves(name, item, all)),
        Value::Object(map) => map.into_iter().for_each(|(name, item)| leaves(&name, item, all)),
        _ => {}
    }
}

/// What a file says by name. One that is not of its form is read by lines.
fn named(path: &str, text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let parsed = match path.rsplit('.').next().unwrap_or_default() {
        "json" => serde_json::from_str(text).ok(),
        "toml" => {
            text.parse::<toml::Table>().ok().and_then(|table| serde_json::to_value(table).ok())
        }
        "yaml" | "yml" => yaml(text).ok(),
        _ => None,
    };
    if let Some(value) = parsed {
        leaves("", value, &mut all);
    }
    all.extend(text.lines().filter_map(pair_of));
    all
}

fn values(path: &str, text: &str) -> Vec<(String, String)> {
    let is_secret = |(name, value): &(String, String)| {
        let is_named = looks_secret(name, value) && !is_about_a_secret(name);
        value.len() >= VALUE_BYTES_MIN && !is_plain(value) && (is_named || has_password(value))
    };
    let named = named(path, text).into_iter().flat_map(|(name, value)| lines_of(name, &value));
    let secret: Vec<(String, String)> = named.filter(is_secret).collect();
    let whole = secret.iter().map(|(name, value)| (name, value.as_str()));
    let parts = secret.iter().flat_map(|(name, value)| {
        passwords(value).into_iter().map(move |password| (name, password))
    });
    let mut known = BTreeSet::new();
    let found = whole.chain(parts).filter(|(_, value)| known.insert(*value));
    found.map(|(name, value)| (value.to_owned(), format!("[{name}]"))).collect()
}

/// A value of several lines has one word in each of them; a line of several words is prose.
fn lines_of(name: String, value: &str) -> Vec<(String, String)> {
    match value.trim() {
        one if !one.contains('\n') => vec![(name, one.to_owned())],
        many => {
            let words =
                many.lines().map(str::trim).filter(|line| !line.contains(char::is_whitespace));
            words.map(|line| (name.clone(), line.to_owned())).collect()
        }
    }
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
    let is_pair = word.trim_end_matches('=').contains('=');
    (is_word && !is_pair && !is_plain(word) && looks_secret(name, ""))
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
        assert_eq!(word("aHVudGVyMg==\n").as_deref(), Some("aHVudGVyMg=="));
        assert_eq!((word("postgres\n"), word("two words-here\n")), (None, None));
        assert_eq!(whole("config/notes", "hunter2-hunter2"), None);
    }

    #[test]
    fn a_file_of_keys_is_data_and_takes_no_time() {
        let items = (0..40_000).map(|n| format!("{{\"key\": \"img/picture-{n}.png\"}}"));
        let found = values("data.json", &format!("[{}]", items.collect::<Vec<_>>().join(",\n")));
        assert_eq!(found.len(), 40_000);
        hidden::hide(found);
    }

    #[test]
    fn values_whose_names_say_so_are_secrets_and_plain_words_are_not() {
        let file = "# TOKEN=in-a-comment-1\nexport API_KEY=\"s3cret-value\"\nDEBUG=true-or-false\n\
                    DB_PASSWORD=postgres\n\
                    MAIL_PASSWORD=abcdefghijklmnop\nDATABASE_URL=postgres://me:hunter22@db/x\n";
        let found = values(".env", file);
        let shown: Vec<&str> = found.iter().map(|(_, shown)| shown.as_str()).collect();
        let names = ["[TOKEN]", "[API_KEY]", "[MAIL_PASSWORD]", "[DATABASE_URL]", "[DATABASE_URL]"];
        assert_eq!(shown, names, "{found:?}");
        assert_eq!(found[4].0, "hunter22");
        // What everybody writes hides nothing: the whole address does.
        let plain = "DATABASE_URL=postgres://postgres:postgres@localhost:5432/app\n\
                     AUTH_URL=http://localhost:3000\nTOKEN_TTL_MS=86400000\n\
                     AUTH_CALLBACK_PATH=/auth/callback\nSESSION_COOKIE_DOMAIN=.example.com\n\
                     TOKEN_URL=https://auth.example.com/token\n";
        let words: Vec<String> = values(".env", plain).into_iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["postgres://postgres:postgres@localhost:5432/app"]);
        let npm = values(".npmrc", "//registry.host/:_authToken=npm_abcdef1\n");
        assert_eq!(npm[0].0, "npm_abcdef1");
    }

    #[test]
    fn secrets_of_json_toml_and_yaml_are_known_whatever_stands_on_one_line_or_in_the_value() {
        let json = "{\n  \"api_token\": \"abcdEFGH1234==\", \n \"debug\": true\n}";
        let line =
            r#"{"name": "x-y-z-1-2-3", "db": {"password": "hunter2-pw"}, "keys": ["k-1-2-3-4"]}"#;
        let toml = "name = \"x-y-z-1-2-3\"\ndb = { user = \"me\", password = \"hunter2-pw\" }\n";
        let yaml = "password: c2VjcmV0PW9uZQ=\nurl: http://a.b/?x=y-z-1-2-3\n";
        let block = "api_token: |\n  tok-abcDEF1\nnote_key: >\n  tok-abcDEF2\n  two words of it\n";
        let flow = "db: { password: hunter2-pw }\n---\nsecond: 1\ntoken: abc-def-12=\n";
        let cloud = "STORE=AccountName=me;AccountKey=abcDEF12345==;EndpointSuffix=x.y\n";
        let sql = "DSN=\"Server=db;Password=s3cret-pw;Timeout=30000000\"\n";
        let camel = r#"{"accountKey": "abc-def-12=", "encryptionKeys": "abc-def-13="}"#;
        for (path, text, words) in [
            ("a.json", json, &["abcdEFGH1234=="][..]),
            ("config/not-strict", json, &["abcdEFGH1234=="]),
            ("a.json", line, &["hunter2-pw", "k-1-2-3-4"]),
            ("a.toml", toml, &["hunter2-pw"]),
            ("a.yaml", yaml, &["c2VjcmV0PW9uZQ="]),
            ("a.yaml", block, &["tok-abcDEF1"]),
            ("a.yml", flow, &["hunter2-pw", "abc-def-12="]),
            (".env", cloud, &["abcDEF12345=="]),
            (".env", sql, &["s3cret-pw"]),
            (".env", "URL=jdbc:x://db/a?password=s3cret-pw&b=c\n", &["s3cret-pw"]),
            ("a.json", camel, &["abc-def-12=", "abc-def-13="]),
        ] {
            let found = values(path, text);
            for word in words {
                assert!(found.iter().any(|(known, _)| known == word), "{word}: {found:?}");
            }
            let other = ["x-y-z-1-2-3", "http://a.b/?x=y-z-1-2-3", "http"];
            assert!(!found.iter().any(|(known, _)| other.contains(&known.as_str())), "{found:?}");
        }
    }
}
