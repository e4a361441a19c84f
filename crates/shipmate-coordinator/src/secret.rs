//! Tokens: who a connection acts as.
//!
//! The log holds a hash of each teammate's token and never the token. A token is
//! made from the workspace's key and the life it is for, so that a lost answer to
//! `teammate start` can be given again. Key, person's token and the one for new members are files
//! that only their owner can read. The last is nobody's here: the MCP server that knows it lets
//! whoever has it join a team, and a connection that shows it is refused.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use shipmate_core::State;
use shipmate_model::{Address, TeammateRef};
use shipmate_protocol::Place;
use shipmate_protocol::place::read_token;

use crate::host_file::write;

/// A key that begins like this is for HMAC. One without it was made by an earlier release, whose
/// tokens are in the hands of agents and clients and have their hashes in the log.
const HMAC_KEY: &str = "hmac.";

#[derive(Clone)]
pub(crate) struct Secrets {
    key: String,
    person: String,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

/// Who a token names, before it is proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) root: String,
    pub(crate) who: TeammateRef,
}

impl Secrets {
    pub(crate) fn load(place: &Place) -> io::Result<Secrets> {
        let key = load_or_make(&place.state().join("secret.key"), HMAC_KEY)?;
        let person = load_or_make(&place.person_token(), "person.")?;
        let secrets = Secrets { key, person };
        keep(&place.enrol_token(), &format!("enrol.{}", secrets.keyed("enrol", &[])))?;
        Ok(secrets)
    }

    pub(crate) fn is_person(&self, token: &str) -> bool {
        same(token.as_bytes(), self.person.as_bytes())
    }

    /// The token of one life: `root.team.name.epoch.secret`. The secret also depends on
    /// when the tree was made, so that a token dies with a deleted team and not only
    /// with an epoch: those begin again when the name does.
    pub(crate) fn token(&self, state: &State, who: &TeammateRef) -> String {
        let tree = state.root.as_ref().and_then(|root| state.teams.get_key_value(root));
        let (root, born) = tree.map_or(("", 0), |(root, team)| (root.as_str(), team.created_at));
        let name = format!("{root}.{}.{}.{}", who.address.team, who.address.name, who.epoch);
        let secret = self.keyed(&name, &born.to_le_bytes());
        format!("{name}.{secret}")
    }

    /// What words between hosts are sealed with: all of them have the key it is made from.
    pub(crate) fn line_key(&self) -> Vec<u8> {
        self.keyed("line between hosts", &[]).into_bytes()
    }

    /// What the records of hosts are sealed with.
    pub(crate) fn record_key(&self) -> Vec<u8> {
        self.keyed("records of hosts", &[]).into_bytes()
    }

    fn keyed(&self, name: &str, more: &[u8]) -> String {
        let Some(key) = self.key.strip_prefix(HMAC_KEY) else {
            return keyed_before_hmac(&self.key, name, more);
        };
        let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("any length is a key");
        HEXLOWER.encode(&mac.chain_update(name).chain_update(more).finalize().into_bytes())
    }
}

/// What keys of earlier releases sign with, for as long as their workspaces are there.
fn keyed_before_hmac(key: &str, name: &str, more: &[u8]) -> String {
    let inner = Sha256::new().chain_update(key).chain_update(name).chain_update(more).finalize();
    HEXLOWER.encode(&Sha256::new().chain_update(key).chain_update(inner).finalize())
}

pub(crate) fn hash(token: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(token.as_bytes()))
}

/// Is this the token that the log knows by this hash?
pub(crate) fn proves(token: &str, known_hash: &str) -> bool {
    same(hash(token).as_bytes(), known_hash.as_bytes())
}

pub(crate) fn named(token: &str) -> Option<Named> {
    let mut parts = token.split('.');
    let (root, team, name, epoch) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let address = Address { team: team.parse().ok()?, name: name.parse().ok()? };
    let who = TeammateRef { address, epoch: epoch.parse().ok()? };
    Some(Named { root: root.to_owned(), who })
}

/// Takes the same time wherever the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

fn load_or_make(path: &Path, prefix: &str) -> io::Result<String> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let mut random = [0_u8; 32];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let text = format!("{prefix}{}", HEXLOWER.encode(&random));
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            Ok(text)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let text = read_token(path)?;
            if text.len() < 64 {
                // A crash between create and write left it empty: nobody has used it.
                fs::remove_file(path)?;
                return load_or_make(path, prefix);
            }
            Ok(text)
        }
        Err(e) => Err(e),
    }
}

/// The key of a workspace, for another machine that shares its teams.
pub(crate) fn read_key(place: &Place) -> io::Result<String> {
    load_or_make(&place.state().join("secret.key"), HMAC_KEY)
}

pub(crate) fn write_key(place: &Place, key: &str) -> io::Result<()> {
    keep(&place.state().join("secret.key"), key)
}

/// Has a file hold this and nothing else, in one step.
fn keep(path: &Path, text: &str) -> io::Result<()> {
    if read_token(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_for_new_members_is_made_from_the_key_and_is_nobodys_own() {
        let folder = std::env::temp_dir().join(format!("shipmate-secret-{}", std::process::id()));
        let place = Place { workspace: folder.clone() };
        fs::create_dir_all(place.state()).unwrap();
        let token = || fs::read_to_string(place.enrol_token()).unwrap();
        let secrets = Secrets::load(&place).unwrap();
        let first = token();
        assert!(first.starts_with("enrol.") && first.len() == 70, "{first}");
        assert!(!secrets.is_person(&first) && named(&first).is_none());
        Secrets::load(&place).unwrap();
        assert_eq!(token(), first, "it is the same after a restart");
        fs::write(place.enrol_token(), "enrol.made-up").unwrap();
        Secrets::load(&place).unwrap();
        assert_eq!(token(), first);
        fs::remove_file(place.state().join("secret.key")).unwrap();
        Secrets::load(&place).unwrap();
        assert_ne!(token(), first, "with another key it is another");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The first value is what HMAC-SHA256 of other programs says, the second what releases before it
    /// said: neither may ever change, for tokens outlive the release that made them.
    #[test]
    fn a_token_stays_the_same_from_release_to_release() {
        let digits = "0123456789abcdef".repeat(4);
        for (key, expected) in [
            (
                format!("hmac.{digits}"),
                "5ac2da7eec3672f3f5d7c45cb3a1d12efdcd1937cef4b4ee68a4f6fef0c5bd1d",
            ),
            (digits.clone(), "c4f7c4d869d891ecf5f4788b568016718de52d3648fb0d07366332eb900c80f9"),
        ] {
            let secrets = Secrets { key, person: String::new() };
            assert_eq!(secrets.keyed("shop.shop.ana.1", &7_u64.to_le_bytes()), expected);
        }
    }
}
