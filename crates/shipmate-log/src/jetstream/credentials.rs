//! A credentials file: read anew for each connection, so that one that was renewed counts at once.

use crate::OpenFailure;
use async_nats::{Auth, AuthError, ConnectOptions};
use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// To connect with what is in the file then.
///
/// # Errors
/// It holds no credentials.
pub(super) fn connect(path: &Path) -> Result<ConnectOptions, OpenFailure> {
    read(path).map_err(|reason| {
        let path = path.display();
        OpenFailure::Unsuitable(format!("the credentials file {path} cannot be read: {reason}"))
    })?;
    let path = path.to_owned();
    Ok(ConnectOptions::with_auth_callback(move |nonce| {
        let signed = sign(&path, &nonce).map_err(AuthError::new);
        async move { signed }
    }))
}

/// That the credentials in a file are not valid any more, and since when.
pub(super) fn describe_expiry(path: &Path) -> Option<String> {
    let (token, _) = read(path).ok()?;
    let claims = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes()).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    let end = claims["exp"].as_u64().filter(|end| *end > 0)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let since = now.checked_sub(end)?;
    let ago = match since {
        0..=119 => format!("{since} s"),
        120..=7_199 => format!("{} min", since / 60),
        _ => format!("{} h", since / 3_600),
    };
    Some(format!("the credentials in {} expired {ago} ago", path.display()))
}

fn sign(path: &Path, nonce: &[u8]) -> Result<Auth, String> {
    let (token, key) = read(path)?;
    let mut auth = Auth::new();
    auth.jwt = Some(token);
    auth.signature = Some(key.sign(nonce).map_err(|e| e.to_string())?);
    Ok(auth)
}

/// The token and the key.
fn read(path: &Path) -> Result<(String, KeyPair), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let block = |begin: &str| -> Result<String, String> {
        let lines = text.lines().map(str::trim).skip_while(|line| !line.contains(begin)).skip(1);
        let found: String = lines.take_while(|line| !line.starts_with('-')).collect();
        if found.is_empty() { Err(format!("it has no {begin}")) } else { Ok(found) }
    };
    let token = block("BEGIN NATS USER JWT")?;
    let key = KeyPair::from_seed(&block("BEGIN USER NKEY SEED")?).map_err(|e| e.to_string())?;
    Ok((token, key))
}
