//! What the page reads: from the picture that is kept, from the files of lives, and where neither
//! has it, from the coordinator.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use shipmate_protocol::watch::Picture;
use shipmate_protocol::{Code, verbs};

use crate::time::now_ms;
use crate::web::Deck;
use crate::web::output::{self, Output, Slice};
use crate::web::reply::{self, Refusal};
use crate::web::shapes::{
    CostsPage, MessagesPage, MomentsPage, OutputPage, OutputPiece, TaskAnswer, TimelinePage,
};
use crate::web::tree::{self, Looking};

type Read = Result<Response, Refusal>;

/// How long a page waits for the first picture of a tree.
const FIRST_MAX: Duration = Duration::from_secs(20);
const MESSAGES_MAX: usize = 500;

impl Deck {
    /// The tree with this root, watched for as long as what is given back is kept.
    ///
    /// Nobody watches what is not there. A coordinator that cannot be reached is no reason to
    /// refuse: the watch says so, and goes on when it can.
    pub(super) async fn look(&self, root: &str) -> Result<Looking, Refusal> {
        if !output::is_name(root) {
            return Err(Refusal::not_found("there is no such team"));
        }
        if let Some(looking) = tree::look(&self.watched, root) {
            return Ok(looking);
        }
        match self.clients.ask(Some(root.to_owned()), verbs::Status).await {
            Ok(status) if status.root == root => {}
            Ok(status) => {
                let text = format!("{root} is a team below {}", status.root);
                return Err(Refusal::not_found(&text));
            }
            Err(refused) if matches!(refused.code, Code::Unreachable | Code::Slow) => {}
            Err(refused) => return Err(refused.into()),
        }
        Ok(tree::begin(&self.watched, root, &self.clients))
    }

    /// Has what a teammate on another machine has printed here, if it can be had.
    pub(super) async fn bring_output(&self, root: &str, (team, name): &(String, String)) {
        let attach = verbs::Attach { name: format!("{team}/{name}"), once: true };
        // What is here is shown in any case.
        drop(self.clients.ask(Some(root.to_owned()), attach).await);
    }

    /// What can be said of a tree's picture, as soon as there is one.
    async fn say<T>(&self, root: &str, say: impl FnOnce(&Picture) -> T) -> Result<T, Refusal> {
        let looking = self.look(root).await?;
        let mut ticks = looking.0.ticks();
        let ready = async {
            while looking.0.ready().is_none() && looking.0.trouble(0).is_none() {
                // The tree itself holds the other end.
                drop(ticks.changed().await);
            }
        };
        // Out of time is as good as in trouble.
        drop(tokio::time::timeout(FIRST_MAX, ready).await);
        looking.0.picture(say).ok_or_else(|| {
            let text = "the coordinator cannot be reached";
            let remedy = "see `shipmate doctor`";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unreachable, text, remedy)
        })
    }
}

pub(super) async fn teams(State(deck): State<Arc<Deck>>) -> Read {
    let teams = deck.clients.ask(None, verbs::Teams).await?;
    Ok(reply::json(&json!({ "teams": teams })))
}

pub(super) async fn task(
    State(deck): State<Arc<Deck>>,
    Path((root, id)): Path<(String, u32)>,
) -> Read {
    let found = deck.say(&root, |picture| picture.task(id)).await?;
    let Some(page) = found else {
        return Err(Refusal::not_found(&format!("there is no task {id}")));
    };
    let show = verbs::TaskShow { task: id.to_string() };
    let task = deck.clients.ask(Some(root), show).await?;
    Ok(reply::json(&TaskAnswer { task, page }))
}

pub(super) async fn diff(
    State(deck): State<Arc<Deck>>,
    Path((root, id)): Path<(String, u32)>,
) -> Read {
    let diff = verbs::TaskDiff { task: id.to_string() };
    Ok(reply::json(&deck.clients.ask(Some(root), diff).await?))
}

pub(super) async fn timeline(State(deck): State<Arc<Deck>>, Path(root): Path<String>) -> Read {
    let page = deck.say(&root, |picture| {
        let story = &picture.story;
        let began = story.moments().first().map_or(0, |(_, at)| *at);
        TimelinePage {
            position: story.position,
            spans: story.spans(),
            lives: story.lives(),
            path: picture.critical_path(),
            began,
            now: now_ms(),
        }
    });
    Ok(reply::json(&page.await?))
}

pub(super) async fn costs(State(deck): State<Arc<Deck>>, Path(root): Path<String>) -> Read {
    let page = deck.say(&root, |picture| {
        let story = &picture.story;
        CostsPage { position: story.position, costs: story.costs() }
    });
    Ok(reply::json(&page.await?))
}

#[derive(Deserialize)]
pub(super) struct Older {
    #[serde(default)]
    before: Option<u64>,
    #[serde(default)]
    max: Option<usize>,
}

pub(super) async fn messages(
    State(deck): State<Arc<Deck>>,
    Path(root): Path<String>,
    Query(older): Query<Older>,
) -> Read {
    let before = older.before.unwrap_or(u64::MAX);
    let max = older.max.unwrap_or(MESSAGES_MAX).min(MESSAGES_MAX);
    let page =
        deck.say(&root, |picture| MessagesPage { messages: picture.story.messages(before, max) });
    Ok(reply::json(&page.await?))
}

pub(super) async fn moments(State(deck): State<Arc<Deck>>, Path(root): Path<String>) -> Read {
    let page = deck.say(&root, |picture| MomentsPage { moments: picture.story.moments() });
    Ok(reply::json(&page.await?))
}

pub(super) async fn at(
    State(deck): State<Arc<Deck>>,
    Path((root, position)): Path<(String, u64)>,
) -> Read {
    let look = deck.clients.ask(Some(root.clone()), verbs::LookAt { position }).await?;
    Ok(reply::json(&Picture::then(look, &root)))
}

#[derive(Deserialize)]
pub(super) struct Which {
    #[serde(default)]
    life: Option<u32>,
    #[serde(default)]
    before: Option<u64>,
}

pub(super) async fn output(
    State(deck): State<Arc<Deck>>,
    Path((root, team, name)): Path<(String, String, String)>,
    Query(which): Query<Which>,
) -> Read {
    let who = output::teammate(&format!("{team}/{name}"))?;
    let address = format!("{team}/{name}");
    let is_member = deck.say(&root, |picture| {
        let mut members = picture.teammates();
        members.any(|mate| mate.team == who.0 && mate.name == who.1)
    });
    if !is_member.await? {
        return Err(Refusal::not_found(&format!("there is no teammate {address}")));
    }
    deck.bring_output(&root, &who).await;
    let place = deck.clients.place.clone();
    let read = tokio::task::spawn_blocking(move || {
        let lives = output::lives(&place, &root, &who);
        let life = which.life.or(lives.last().copied()).unwrap_or(0);
        let mut output = Output::open(&output::path(&place, &root, &who, life))?;
        let to = which.before.unwrap_or(u64::MAX).min(output.size());
        let slice = output.read_before(to)?;
        let Slice { from, to, text } = slice;
        let piece = OutputPiece { who: address, life, from, text };
        Ok::<_, std::io::Error>(OutputPage { piece, lives, to, size: output.size() })
    });
    match read.await {
        Ok(Ok(page)) => Ok(reply::json(&page)),
        Ok(Err(e)) => {
            let text = format!("the output cannot be read: {e}");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Unreadable, &text, ""))
        }
        Err(broken) => {
            let text = format!("the request broke off: {broken}");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Bug, &text, ""))
        }
    }
}
