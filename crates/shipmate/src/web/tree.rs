//! A tree of teams as all open pages share it: one watch, and what it told last, kept once.
//!
//! The watch begins with the first page and ends some time after the last one has gone. What it
//! tells becomes text once, for everybody, and the last of it is kept: a page that comes back gets
//! what it has missed, and one that has missed more gets the whole. How far a page is read by its
//! browser is its own business: nobody waits for it here, and nothing is piled up for it.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use serde_json::json;
use shipmate_protocol::ClientFailure;
use shipmate_protocol::view::Delta;
use shipmate_protocol::watch::{Picture, Told, Watch};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::web::clients::{Clients, why};
use crate::web::event::event;

const KEPT_MAX: usize = 1_024;
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A whole that is so many changes old is still given, with the changes after it.
const WHOLE_AGE_MAX: u64 = 32;
/// How long a tree is watched without anybody looking.
const LINGER: Duration = Duration::from_secs(60);
const RETRY_MIN: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// The trees that are watched now.
pub(super) type Watched = Arc<Mutex<HashMap<String, Arc<Tree>>>>;

pub(super) struct Tree {
    pub(super) root: String,
    clients: Weak<Clients>,
    watched: Watched,
    handle: Handle,
    state: Mutex<State>,
    /// Only one page makes the whole, and the others that want it wait for that one.
    making: tokio::sync::Mutex<()>,
    /// Moves whenever anything was told, also what changes no picture.
    ticks: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    watch: Option<Watch>,
    /// The first whole has come, and no trouble since.
    is_ready: bool,
    kept: VecDeque<Change>,
    kept_bytes: usize,
    /// Of the last change that was told; those that are kept end with it.
    last: u64,
    /// Whoever has seen everything up to here needs only what is kept.
    since: u64,
    position: u64,
    queue: Option<String>,
    whole: Option<(u64, Bytes)>,
    trouble: Option<(u64, Bytes)>,
    troubles: u64,
    retry: Duration,
    /// Who looks.
    lookers: usize,
    idle_since: Option<Instant>,
}

struct Change {
    position: u64,
    event: Bytes,
}

/// What comes next for a page.
pub(super) enum Next {
    /// This, and then it has seen that much.
    Event(Bytes, u64),
    /// It has to be given everything.
    Whole,
    Nothing,
}

/// Somebody looks at a tree: it is watched for as long as there is one of these.
pub(super) struct Looking(pub(super) Arc<Tree>);

impl Drop for Looking {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.lookers -= 1;
        state.idle_since = Some(Instant::now());
    }
}

/// A tree that is watched already.
pub(super) fn look(watched: &Watched, root: &str) -> Option<Looking> {
    lock(watched).get(root).map(Tree::looked_at)
}

/// The tree, watched from here on. Within a runtime.
pub(super) fn begin(watched: &Watched, root: &str, clients: &Arc<Clients>) -> Looking {
    let mut all = lock(watched);
    if let Some(tree) = all.get(root) {
        return tree.looked_at();
    }
    let tree = Arc::new(Tree {
        root: root.to_owned(),
        clients: Arc::downgrade(clients),
        watched: Arc::clone(watched),
        handle: Handle::current(),
        state: Mutex::new(State { retry: RETRY_MIN, ..State::default() }),
        making: tokio::sync::Mutex::new(()),
        ticks: watch::Sender::new(0),
    });
    all.insert(root.to_owned(), Arc::clone(&tree));
    let looking = tree.looked_at();
    drop(all);
    tree.watch(clients);
    looking
}

impl Tree {
    fn looked_at(self: &Arc<Tree>) -> Looking {
        self.state().lookers += 1;
        Looking(Arc::clone(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn ticks(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
    }

    /// What can be said of the picture, once there is one.
    pub(super) fn picture<T>(&self, say: impl FnOnce(&Picture) -> T) -> Option<T> {
        let watch = self.ready()?;
        let picture = watch.picture();
        Some(say(&picture))
    }

    pub(super) fn ready(&self) -> Option<Watch> {
        let state = self.state();
        state.watch.clone().filter(|_| state.is_ready)
    }

    /// Why nothing is seen of the tree, unless that was told already.
    pub(super) fn trouble(&self, told: u64) -> Option<(u64, Bytes)> {
        self.state().trouble.clone().filter(|(number, _)| *number > told)
    }

    fn watch(self: &Arc<Tree>, clients: &Clients) {
        let own = Arc::new(OnceLock::<Watch>::new());
        let (tree, its) = (Arc::clone(self), Arc::clone(&own));
        let watch = Watch::begin(
            clients.client(&self.root),
            clients.client(&self.root),
            // The watch may tell something before whoever began it has it in hand.
            move |told| tree.hear(told, its.wait()),
        );
        self.state().watch = Some(watch.clone());
        // Nobody else sets it.
        drop(own.set(watch));
    }

    /// On the thread of the watch.
    fn hear(self: &Arc<Tree>, told: Told, watch: &Watch) -> ControlFlow<()> {
        match told {
            Told::Delta(delta) => {
                self.take(*delta, watch);
                self.ticks.send_modify(|ticks| *ticks += 1);
                match self.is_left_alone() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
            Told::Over(failure) => {
                self.trouble_began(&failure);
                self.ticks.send_modify(|ticks| *ticks += 1);
                ControlFlow::Break(())
            }
        }
    }

    fn take(&self, mut delta: Delta, watch: &Watch) {
        delta.position = seen(&watch.picture());
        let (position, queue) = (delta.position, delta.queue.clone());
        if delta.whole {
            let event = event("delta", Some(position), &delta);
            let mut state = self.state();
            state.forget();
            state.is_ready = true;
            state.trouble = None;
            state.retry = RETRY_MIN;
            (state.since, state.position, state.queue) = (position, position, queue);
            // Whoever it was begun for wants just this.
            state.whole = Some((state.last, event));
            return;
        }
        if is_empty(&delta) {
            let state = self.state();
            if state.position == position && state.queue == queue {
                return;
            }
        }
        let event = event("delta", Some(position), &delta);
        let mut state = self.state();
        (state.position, state.queue) = (position, queue);
        state.keep(Change { position, event });
    }

    /// Nobody looks and nobody has for a while: then it is watched no more.
    fn is_left_alone(&self) -> bool {
        if self.clients.strong_count() == 0 {
            return true;
        }
        let mut all = lock(&self.watched);
        let state = self.state();
        let is_long_ago = |since: Instant| since.elapsed() > LINGER;
        let alone = state.lookers == 0 && state.idle_since.is_some_and(is_long_ago);
        if alone {
            all.remove(&self.root);
        }
        alone
    }

    fn trouble_began(self: &Arc<Tree>, failure: &ClientFailure) {
        let refused = why(failure);
        let remedy = refused.remedy.unwrap_or_default();
        let text = json!({ "message": refused.message, "remedy": remedy });
        let event = event("trouble", None, &text);
        let mut all = lock(&self.watched);
        let mut state = self.state();
        state.forget();
        state.is_ready = false;
        state.watch = None;
        state.troubles += 1;
        state.trouble = Some((state.troubles, event));
        if state.lookers == 0 {
            all.remove(&self.root);
            return;
        }
        let wait = state.retry;
        state.retry = (wait * 2).min(RETRY_MAX);
        let tree = Arc::clone(self);
        // A coordinator that cannot be started says nothing when it can be again.
        self.handle.spawn(async move {
            tokio::time::sleep_until(Instant::now() + wait).await;
            if let Some(clients) = tree.clients.upgrade() {
                tree.watch(&clients);
            }
        });
    }

    /// Where a page goes on that has seen everything up to a position; nowhere if too much
    /// has happened since, or nothing is known yet.
    pub(super) fn resume(&self, after: u64) -> Option<u64> {
        let state = self.state();
        if !state.is_ready || after < state.since || after > state.position || after == 0 {
            return None;
        }
        // What came at this very position may have been told after it.
        let unseen = state.kept.iter().rev().take_while(|change| change.position >= after).count();
        Some(state.last - unseen as u64)
    }

    pub(super) fn next(&self, seen: Option<u64>) -> Next {
        let state = self.state();
        if !state.is_ready {
            return Next::Nothing;
        }
        let before_kept = state.last - state.kept.len() as u64;
        match seen {
            Some(seen) if seen >= before_kept => {
                let at = (seen - before_kept) as usize;
                let next = state.kept.get(at).map(|change| change.event.clone());
                next.map_or(Next::Nothing, |event| Next::Event(event, seen + 1))
            }
            _ => Next::Whole,
        }
    }

    /// Everything, and how much has been seen with it. It is made once for all who want it.
    pub(super) async fn whole(self: &Arc<Tree>) -> Option<(u64, Bytes)> {
        let _making = self.making.lock().await;
        let watch = {
            let state = self.state();
            if let Some(whole) = state.fresh_whole() {
                return Some(whole);
            }
            state.watch.clone().filter(|_| state.is_ready)?
        };
        let tree = Arc::clone(self);
        let made = tokio::task::spawn_blocking(move || {
            // What is told between this and the picture is told again: it changes nothing.
            let last = tree.state().last;
            let whole = {
                let picture = watch.picture();
                Delta { position: seen(&picture), ..picture.whole() }
            };
            let event = event("delta", Some(whole.position), &whole);
            tree.state().whole = Some((last, event.clone()));
            (last, event)
        });
        made.await.ok()
    }
}

impl State {
    fn keep(&mut self, change: Change) {
        self.last += 1;
        self.kept_bytes += change.event.len();
        self.kept.push_back(change);
        while self.kept.len() > KEPT_MAX || self.kept_bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.kept_bytes -= oldest.event.len();
            self.since = oldest.position;
        }
        if self.fresh_whole().is_none() {
            self.whole = None;
        }
    }

    /// Whoever has seen something has to see the whole again.
    fn forget(&mut self) {
        self.last += 1;
        self.kept.clear();
        self.kept_bytes = 0;
        self.whole = None;
    }

    fn fresh_whole(&self) -> Option<(u64, Bytes)> {
        let before_kept = self.last - self.kept.len() as u64;
        let is_fresh = |at: u64| at >= before_kept && self.last - at <= WHOLE_AGE_MAX;
        self.whole.clone().filter(|(at, _)| is_fresh(*at))
    }
}

/// Up to where everything is in the picture: what was looked at and what was read of the log may
/// each be ahead of the other.
pub(super) fn seen(picture: &Picture) -> u64 {
    picture.position().min(picture.story.position)
}

fn is_empty(delta: &Delta) -> bool {
    delta.teams.is_empty()
        && delta.teammates.is_empty()
        && delta.gone.is_empty()
        && delta.hosts.is_none()
        && delta.accounts.is_none()
        && delta.tasks.is_empty()
        && delta.decisions.is_none()
        && delta.messages.is_empty()
        && delta.spans.is_empty()
        && delta.lives.is_empty()
        && delta.costs.is_empty()
        && delta.lines.is_empty()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
