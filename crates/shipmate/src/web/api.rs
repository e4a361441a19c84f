//! What the page reads.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use shipmate_protocol::{Answer, Ask};

use crate::web::Deck;
use crate::web::reply::{self, Refusal};

pub(super) async fn teams(State(deck): State<Arc<Deck>>) -> Result<Response, Refusal> {
    match deck.desk.ask(None, Ask::Teams).await? {
        Answer::Teams(teams) => Ok(reply::json(&json!({ "teams": teams }))),
        _ => Err(Refusal::bad("the coordinator said something else than its teams")),
    }
}
