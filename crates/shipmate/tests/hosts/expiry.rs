//! Credentials that are not valid any more: said with the file and since when, and renewed without a restart.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::bad_input::{plain, says, to};
use crate::machines::Machines;
use crate::nats::Server;

const HOUR_S: u64 = 3_600;

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// What one key says of another, as NATS writes it.
fn token(by: &KeyPair, of: &KeyPair, ends_s: Option<u64>, nats: &Value) -> String {
    let head = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let mut claims = json!({
        "jti": "one", "iat": now_s() - 2 * HOUR_S, "iss": by.public_key(), "sub": of.public_key(),
        "name": "one", "nats": nats
    });
    if let Some(ends_s) = ends_s {
        claims["exp"] = json!(ends_s);
    }
    let text = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let said = format!("{}.{}", text(&head), text(&claims));
    let signature = BASE64URL_NOPAD.encode(&by.sign(said.as_bytes()).unwrap());
    format!("{said}.{signature}")
}

/// A server whose users have tokens that end.
struct Issuer {
    account: KeyPair,
    settings: String,
}

impl Issuer {
    fn new() -> Issuer {
        let (operator, account, system) =
            (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
        let limits = json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
            "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1
        });
        let own =
            json!({ "type": "operator", "version": 2, "system_account": system.public_key() });
        let is = |limits: &Value| json!({ "type": "account", "version": 2, "limits": limits });
        // The system's own account has no streams.
        let mut bare = limits.clone();
        for name in ["mem_storage", "disk_storage", "streams", "consumer"] {
            bare.as_object_mut().unwrap().remove(name);
        }
        let settings = format!(
            "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n {}: {}\n {}: {}\n}}\n",
            token(&operator, &operator, None, &own),
            system.public_key(),
            account.public_key(),
            token(&operator, &account, None, &is(&limits)),
            system.public_key(),
            token(&operator, &system, None, &is(&bare)),
        );
        Issuer { account, settings }
    }

    /// Lets a new user in until then.
    fn write(&self, path: &Path, ends_s: u64) {
        let user = KeyPair::new_user();
        let is = json!({
            "type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1
        });
        let token = token(&self.account, &user, Some(ends_s), &is);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed().unwrap()
        );
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn credentials_that_have_expired_are_said_and_new_ones_in_their_file_count_at_once() {
    let mut at = Machines::new(1);
    at.expect("plain");
    plain(&at, "plain");
    at.ok("plain", &["team", "create", "beta"]);
    let issuer = Issuer::new();
    let mut server = Server::start_with(&issuer.settings);
    let path = at.root().join("team.creds");
    let file = path.display().to_string();
    let url = server.url();
    issuer.write(&path, now_s() - HOUR_S);
    says(
        to(&at, &url, &["--credentials", &file]),
        "team.creds expired 60 min ago",
        "nothing was changed",
    );
    assert!(!at.place("plain").host_file().exists());

    issuer.write(&path, now_s() + HOUR_S);
    let moved = to(&at, &url, &["--credentials", &file]).output().unwrap();
    assert!(moved.status.success(), "{moved:?}");
    at.ok("plain", &["--team", "beta", "task", "create", "one"]);

    // They run out while the team works: the server asks for them again.
    issuer.write(&path, now_s() - HOUR_S);
    server.kill();
    server.restart();
    let list = ["--team", "beta", "task", "list"];
    let is_said = |at: &Machines| {
        let output = at.shipmate("plain", &list);
        let said = String::from_utf8_lossy(&output.stderr);
        said.contains("team.creds expired") && said.contains("put new ones into that file")
    };
    at.until("the end of the credentials is said", is_said);
    issuer.write(&path, now_s() + HOUR_S);
    at.until("it is let in again", |at| at.shipmate("plain", &list).status.success());
    at.ok("plain", &["--team", "beta", "task", "create", "two"]);
}
