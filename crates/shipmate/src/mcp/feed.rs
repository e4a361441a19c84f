//! What a client is told without asking: that it has other tools, that a resource has changed.
//!
//! Event driven: a client that subscribes to nothing costs no connection.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::mcp::news::{self, Happening};
use crate::mcp::resources;
use crate::mcp::session::{Session, Signs};
use crate::mcp::session_board::CALL_MAX;

/// The resources that a client of an older protocol has subscribed to.
#[derive(Debug, Default)]
pub(crate) struct Subscribed(Mutex<BTreeSet<String>>);

impl Subscribed {
    pub(crate) fn add(&self, uri: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uri);
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Pushes to a client of an older protocol for as long as it can be reached.
pub(crate) async fn push(
    session: Arc<Session>,
    peer: Peer<RoleServer>,
    subscribed: Arc<Subscribed>,
) {
    let mut feed = Feed::of(&session);
    loop {
        match feed.next(&session).await {
            Change::Tools => {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            Change::News(happening) => {
                let who = me(&session).await;
                for uri in subscribed.all() {
                    if resources::is_changed(&uri, &happening, who.as_deref()) {
                        let updated = ResourceUpdatedNotificationParam::new(uri);
                        if peer.notify_resource_updated(updated).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }
}

/// The same for one subscription of the newest protocol, until it is cancelled.
pub(crate) async fn listen(session: &Session, context: &SubscriptionContext) {
    let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    if !uris.is_empty() {
        session.look_out();
    }
    let mut feed = Feed::of(session);
    loop {
        let change = tokio::select! {
            change = feed.next(session) => change,
            () = context.cancelled() => return,
        };
        // A filter that does not want it, or a client that is gone: neither ends anything here.
        match change {
            Change::Tools => drop(context.sink().notify_tool_list_changed().await),
            Change::News(happening) => {
                let who = me(session).await;
                for uri in &uris {
                    if resources::is_changed(uri, &happening, who.as_deref()) {
                        drop(context.sink().notify_resource_updated(uri).await);
                    }
                }
            }
        }
    }
}

/// `team/name` of the session's seat.
async fn me(session: &Session) -> Option<String> {
    session.taken().await.map(|seat| format!("{}/{}", seat.team, seat.name))
}

enum Change {
    Tools,
    News(Happening),
}

struct Feed {
    signs: watch::Receiver<Signs>,
    seen: Signs,
    news: Option<broadcast::Receiver<Happening>>,
    /// The news ended, or there were none: the next sign is a reason to look for them again.
    without: bool,
}

impl Feed {
    fn of(session: &Session) -> Feed {
        let mut signs = session.signs();
        let seen = *signs.borrow_and_update();
        Feed { signs, seen, news: None, without: false }
    }

    async fn next(&mut self, session: &Session) -> Change {
        loop {
            if self.seen.looks_out && self.news.is_none() && !self.without {
                self.news = session.news(Instant::now() + CALL_MAX).await;
                self.without = self.news.is_none();
            }
            let news = &mut self.news;
            let happening = async {
                match news {
                    Some(news) => news::next(news).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = self.signs.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                    let signs = *self.signs.borrow_and_update();
                    let before = std::mem::replace(&mut self.seen, signs);
                    self.news = None;
                    self.without = false;
                    if signs.tools != before.tools {
                        return Change::Tools;
                    }
                }
                happening = happening => match happening {
                    Some(happening) => return Change::News(happening),
                    None => (self.news, self.without) = (None, true),
                },
            }
        }
    }
}
