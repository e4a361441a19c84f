//! Who is let in to the page's server, decided before anything else looks at a request.
//!
//! It listens on loopback, where any program and any web page of this machine's user can knock.
//! So: the host must be ours by name (a foreign name that was made to point here is not), a
//! request that a browser sends for another page is refused by what the browser says of it, and
//! whatever could tell something about a team wants the token of this very process. There are no
//! cookies: nothing that a browser adds by itself opens this door. Refusals without the token are
//! the same whether or not there is such a team, because nobody has looked.

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};

use shipmate_protocol::Code;

use crate::web::reply::Refusal;

/// Longest body that the page may send.
pub(super) const BODY_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Door {
    token: String,
    /// `127.0.0.1:PORT` and `localhost:PORT`.
    hosts: [String; 2],
}

impl Door {
    /// With a token that nobody has had before.
    pub(super) fn new(port: u16) -> Door {
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random).expect("the system gives random bytes");
        let token = data_encoding::HEXLOWER.encode(&random);
        Door { token, hosts: ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}")) }
    }

    /// What a person opens. The fragment is never sent to any server.
    pub(super) fn link(&self) -> String {
        format!("http://{}/#token={}", self.hosts[0], self.token)
    }

    /// Lets a request in, or says why not.
    pub(super) fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let host = self.host(uri, headers)?;
        if !uri.path().starts_with("/api/") {
            return only(method, &[Method::GET, Method::HEAD]);
        }
        is_same_origin(host, headers)?;
        self.token(headers)?;
        let is_ask = uri.path().ends_with("/ask");
        match is_ask {
            true => only(method, &[Method::POST])?,
            false => only(method, &[Method::GET, Method::HEAD])?,
        }
        body(is_ask, headers)
    }

    fn host<'h>(&self, uri: &Uri, headers: &'h HeaderMap) -> Result<&'h str, Refusal> {
        let host = single(headers, &header::HOST)?;
        let ours = host.filter(|host| self.hosts.iter().any(|our| our == host));
        match ours {
            // A request for a proxy names its host a second time.
            Some(host) if uri.authority().is_none() => Ok(host),
            _ => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                Code::WrongHost,
                "this server answers only under its own name",
                "open the link as it was printed",
            )),
        }
    }

    fn token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let said = single(headers, &header::AUTHORIZATION)?;
        let token = said.and_then(|said| {
            let (scheme, token) = said.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        if token.is_some_and(|token| is_same(&self.token, token)) {
            return Ok(());
        }
        Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            Code::NoToken,
            "this page has no token, or that of a server that has ended",
            "open the link that `shipmate serve` or `shipmate run` has printed last",
        ))
    }
}

/// Takes as long for a wrong token as for the right one.
fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    one.len() == other.len() && differs == 0
}

/// What a browser says of where a request comes from. Other programs say nothing.
fn is_same_origin(host: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let origin = single(headers, &header::ORIGIN)?;
    let from_us = origin.is_none_or(|origin| origin.strip_prefix("http://") == Some(host));
    let site = single(headers, &HeaderName::from_static("sec-fetch-site"))?;
    let for_us = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
    if from_us && for_us {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        Code::WrongOrigin,
        "another page has sent this",
        "only shipmate's own page may",
    ))
}

fn only(method: &Method, allowed: &[Method]) -> Result<(), Refusal> {
    if allowed.contains(method) {
        return Ok(());
    }
    let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let text = format!("{method} is nothing that can be done here; {} is", names.join(" or "));
    Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::WrongMethod, &text, ""))
}

/// A page elsewhere can send text without asking first, but not JSON.
fn body(is_ask: bool, headers: &HeaderMap) -> Result<(), Refusal> {
    let length = match single(headers, &header::CONTENT_LENGTH)? {
        Some(length) => length.parse().map_err(|_| Refusal::bad("the length is no number"))?,
        None => 0,
    };
    if length > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    if !is_ask {
        let has_body = length > 0 || headers.contains_key(header::TRANSFER_ENCODING);
        return match has_body {
            true => Err(Refusal::bad("nothing is sent along when something is read")),
            false => Ok(()),
        };
    }
    let kind = single(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::NotJson,
        "what is asked is sent as application/json",
        "",
    ))
}

pub(super) fn too_large() -> Refusal {
    Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooLarge,
        &format!("at most {} kB can be sent at once", BODY_BYTES_MAX / 1024),
        "send less: a plan of many tasks is made with `shipmate run PLAN`",
    )
}

/// A header that is said at most once. Two of a kind are read differently by different readers.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let mut all = headers.get_all(name).iter();
    let Some(first) = all.next() else { return Ok(None) };
    match (first.to_str(), all.next()) {
        (Ok(text), None) => Ok(Some(text)),
        _ => Err(Refusal::bad(&format!("the header {name} is said twice or is no text"))),
    }
}
