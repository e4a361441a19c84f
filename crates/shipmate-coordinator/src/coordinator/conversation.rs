//! One connection: a hello that says who it is, then requests until it goes.
//!
//! Nothing is taken in before its size is known to be within bounds.

use std::rc::Rc;

use shipmate_model::{Actor, Name};
use shipmate_protocol::refused;
use shipmate_protocol::wire::{Hello, Reply, Request, Welcome};
use shipmate_protocol::{Code, HELLO_BYTES_MAX, LINE_BYTES_MAX, PROTOCOL, Refused};

use super::Coordinator;
use crate::connection::{Connection, LineEnd, Lines, values_in};
use crate::{scene, secret};

/// The longest line of a teammate: 10,000 tasks of a few words each.
const TEAMMATE_LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many values a request may hold: a line of nothing but braces takes a hundred times its size.
const VALUES_MAX: usize = 400_000;
const TEAMMATE_VALUES_MAX: usize = 50_000;

impl Coordinator {
    /// Hello, then requests until the client goes.
    pub(super) async fn converse(
        self: &Rc<Self>,
        connection: &Rc<Connection>,
    ) -> Result<(), Refused> {
        let mut lines = Lines::new(connection);
        let hello = match lines.next(HELLO_BYTES_MAX).await {
            Ok(line) => parse_hello(line)?,
            Err(LineEnd::Closed) => return Ok(()),
            Err(LineEnd::TooLong) => return Err(too_long(HELLO_BYTES_MAX)),
        };
        lines.free();
        connection.said_hello();
        let (actor, root) = self.authenticate(&hello.token).await?;
        connection.belongs_to(&actor)?;
        let (bytes_max, values_max) = match actor {
            Actor::Person => (LINE_BYTES_MAX, VALUES_MAX),
            _ => (TEAMMATE_LINE_BYTES_MAX, TEAMMATE_VALUES_MAX),
        };
        let client = scene::name(&bound(&hello.client, &actor))?;
        connection.send(&Reply::Welcome(Welcome {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            actor: actor.to_string(),
        }));
        loop {
            connection.may_ask().await;
            let line = match lines.next(bytes_max).await {
                Ok(line) => line,
                Err(LineEnd::Closed) => return Ok(()),
                Err(LineEnd::TooLong) => return Err(too_long(bytes_max)),
            };
            let (bytes, values) = (line.len(), values_in(line));
            if values > values_max {
                let text = format!("a request holds {values} values, and the most is {values_max}");
                return Err(refused(Code::TooLong, text, "send less at once"));
            }
            let request: Request = serde_json::from_slice(line).map_err(|e| {
                let text = format!("that is not a request: {e}");
                refused(Code::BadRequest, text, "one JSON object a line; see docs/reference")
            })?;
            lines.free();
            connection.asks(bytes, values);
            if !connection.is_open() {
                return Ok(());
            }
            self.dispatch(connection, &client, &actor, root.as_ref(), request).await;
            connection.asked();
            // Whoever sends without end lets the others have their turn.
            tokio::task::consume_budget().await;
        }
    }

    async fn authenticate(self: &Rc<Self>, token: &str) -> Result<(Actor, Option<Name>), Refused> {
        if self.secrets.is_person(token) {
            return Ok((Actor::Person, None));
        }
        let bad = || {
            refused(
                Code::BadToken,
                "this token belongs to nobody here".to_owned(),
                "start the teammate again for a new token",
            )
        };
        let named = secret::named(token).ok_or_else(bad)?;
        let root = scene::name(&named.root)?;
        let board = self.board(&root).await?.ok_or_else(bad)?;
        board.with_state(|state| {
            let mate = state.teammates.get(&named.who.address).ok_or_else(bad)?;
            if mate.epoch == named.who.epoch && secret::proves(token, &mate.token_hash) {
                return Ok((Actor::Teammate(named.who.clone()), Some(root.clone())));
            }
            if *token == self.secrets.token(state, &named.who) && mate.epoch > named.who.epoch {
                let (who, current) = (named.who.clone(), mate.epoch);
                return Err(scene::refusal(&shipmate_model::Refusal::StaleTeammate {
                    who,
                    current,
                }));
            }
            Err(bad())
        })
    }
}

/// A client's requests are its actor's too: another one that uses the same id can
/// neither get its answers nor make its requests look old.
fn bound(client: &str, actor: &Actor) -> String {
    match actor {
        Actor::Teammate(_) => format!("{client}-{}", &secret::hash(&actor.to_string())[..12]),
        _ => client.to_owned(),
    }
}

fn too_long(limit: usize) -> Refused {
    let text = format!("a line is longer than {limit} bytes");
    refused(Code::TooLong, text, "send less at once")
}

fn parse_hello(line: &[u8]) -> Result<Hello, Refused> {
    let hello: serde_json::Value = serde_json::from_slice(line).map_err(|e| {
        let text = format!("a connection begins with a hello, and this is none: {e}");
        refused(Code::BadHello, text, "use the shipmate command")
    })?;
    // The version comes first: a hello of another release may have other fields.
    let theirs = hello.get("protocol").and_then(serde_json::Value::as_u64);
    if theirs != Some(u64::from(PROTOCOL)) {
        let release = hello.get("version").and_then(serde_json::Value::as_str).unwrap_or("?");
        let theirs = theirs.map_or_else(|| "none".to_owned(), |n| n.to_string());
        let text = format!(
            "this client is shipmate {release} (protocol {theirs}), the running coordinator is {} \
             (protocol {PROTOCOL})",
            env!("CARGO_PKG_VERSION")
        );
        let remedy = "end it with `shipmate coordinator stop`; the next command starts a new one";
        return Err(refused(Code::Version, text, remedy));
    }
    serde_json::from_value(hello).map_err(|e| {
        refused(
            Code::BadHello,
            format!("this hello cannot be read: {e}"),
            "use the shipmate command",
        )
    })
}
