//! A coordinator that is one of several: it says that it is there, hears the others, and opens every
//! team whose log it shares.

use std::collections::BTreeSet;
use std::rc::Rc;

use shipmate_model::Name;
use shipmate_model::status::HostState;
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Answer, Code, Refused, refused};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

use super::Coordinator;
use crate::board::Job;
use crate::connection::Connection;
use crate::crew::{code, copies};
use crate::errand;
use crate::host::{self, Forwarded, Here, OwnServer, Question, Told, Tunnel};

/// How long a server that should be there is waited for before it is looked at again.
const MIND_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);
/// How many signs are given in the time after which a silent host is lost.
const SIGNS_A_LEASE: u32 = 4;

impl Coordinator {
    /// How long another host may give no sign, while the line is up.
    pub(super) fn host_lease_ms(&self) -> Option<u64> {
        let here = self.here.as_ref().filter(|here| here.line.is_up())?;
        Some(here.lease.as_millis() as u64)
    }

    pub(super) fn begin_hosting(self: &Rc<Self>) {
        if let Some(here) = &self.here {
            let (this, here) = (Rc::clone(self), Rc::clone(here));
            tokio::task::spawn_local(async move { this.host(here).await });
            let place = &self.settings.place;
            // On their way when a coordinator was killed: they are got again.
            drop(std::fs::remove_dir_all(place.state().join("packs")));
            for tunnel in Tunnel::all(place).unwrap_or_default() {
                tokio::task::spawn_local(host::keep_up(place.clone(), tunnel));
            }
        }
    }

    async fn host(self: Rc<Self>, here: Rc<Here>) {
        let heard = tokio::try_join!(here.hear_signs(), here.hear_moves(), here.hear_questions());
        let (mut signs, mut moves, mut questions) = match heard {
            Ok(heard) => heard,
            Err(reason) => {
                *self.broken.borrow_mut() = Some(format!("the line cannot be heard: {reason}"));
                return self.changed.notify_one();
            }
        };
        // Programs may take long to look at: signs do not wait for that.
        let (this, own) = (Rc::clone(&self), Rc::clone(&here));
        tokio::task::spawn_local(async move {
            own.survey(&this.settings).await;
            for crew in this.crews() {
                crew.wake_host();
            }
        });
        let mut line = here.line.clone();
        let mut known = 0;
        let mut next = tokio::time::Instant::now();
        if here.line.is_up() {
            self.line_changed(&here);
        }
        loop {
            tokio::select! {
                heard = signs.next() => match heard {
                    Some((subject, words)) => {
                        self.listen();
                        self.heard(&here, &subject, &words);
                    }
                    None => return,
                },
                heard = moves.next() => match heard {
                    Some((subject, words)) => {
                        if let Some(moved) = here.moved(&subject, &words)
                            && let Some(crew) = self.crew(&moved.root)
                        {
                            crew.heard_of(&moved);
                        }
                        continue;
                    }
                    None => return,
                },
                heard = questions.next() => match heard {
                    Some((subject, words)) => {
                        self.asked(&here, &subject, &words);
                        continue;
                    }
                    None => return,
                },
                () = line.changed() => self.line_changed(&here),
                () = tokio::time::sleep_until(next) => {}
                () = self.opened.notified() => {}
            }
            let teams = self.begun();
            // Each time it is due, and at once when there is a team that others may not know.
            let now = tokio::time::Instant::now();
            let is_due = next <= now || teams.len() > known;
            known = teams.len();
            if is_due || self.is_silent.take() {
                next = now + here.lease / SIGNS_A_LEASE;
                self.mend_server(&here);
                here.give_sign(teams).await;
            }
        }
    }

    /// The teams that something is recorded of. One that was looked for in vain is told to nobody, or two
    /// machines would tell each other of it for ever.
    fn begun(&self) -> Vec<Name> {
        let boards = self.boards.borrow();
        let begun = boards.iter().filter(|(_, board)| board.has_begun());
        begun.map(|(root, _)| root.clone()).collect()
    }

    /// The server came or went: silence while it was away was nobody's.
    fn line_changed(self: &Rc<Self>, here: &Rc<Here>) {
        tracing::info!(up = here.line.is_up(), "the line to the other hosts");
        if !here.line.is_up() {
            self.mind_server(here);
        }
        self.listen();
        for board in self.boards.borrow().values() {
            board.look();
        }
        if here.line.is_up() {
            self.is_silent.set(true);
            let (this, here) = (Rc::clone(self), Rc::clone(here));
            tokio::task::spawn_local(async move { this.open_all(&here).await });
        }
    }

    fn listen(&self) {
        let lease_ms = self.host_lease_ms();
        for board in self.boards.borrow().values() {
            if board.signs.borrow_mut().listen(lease_ms) {
                board.look();
            }
        }
    }

    /// A server of ours that has ended is started again, for as long as it is not there: one that was just
    /// killed may seem to listen.
    fn mind_server(self: &Rc<Self>, here: &Here) {
        if self.minds_server.replace(true) {
            return;
        }
        let (place, mut line) = (self.settings.place.clone(), here.line.clone());
        let this = Rc::clone(self);
        tokio::task::spawn_local(async move {
            while !line.is_up() {
                let place = place.clone();
                let ensured = shipmate_process::blocking(move || match OwnServer::of(&place)? {
                    Some(server) => server.try_ensure(),
                    None => Ok(()),
                });
                if let Err(reason) = ensured.await {
                    tracing::warn!(?reason, "the server of this workspace does not run");
                }
                drop(tokio::time::timeout(MIND_AGAIN, line.changed()).await);
            }
            this.minds_server.set(false);
        });
    }

    /// A server of ours that kept nothing on a full disk does so until it begins anew, also with room again.
    fn mend_server(self: &Rc<Self>, here: &Rc<Here>) {
        let is_without = self.boards.borrow().values().any(|board| board.is_without_store());
        if !is_without || !here.line.is_up() || self.minds_server.get() {
            return;
        }
        let (this, here) = (Rc::clone(self), Rc::clone(here));
        tokio::task::spawn_local(async move {
            let Ok(Some(server)) = OwnServer::of(&this.settings.place) else { return };
            let confirms_nothing =
                this.boards.borrow().values().any(|board| board.confirms_nothing());
            if server.has_room() && (confirms_nothing || here.is_without_store().await) {
                tracing::warn!("the server of this workspace keeps nothing: it is started again");
                server.end().await;
                this.boards.borrow().values().for_each(|board| board.server_ended());
            }
        });
    }

    /// Opens every team that is in the stream.
    async fn open_all(self: &Rc<Self>, here: &Here) {
        let logs = here.line.logs().await.unwrap_or_else(|reason| {
            tracing::warn!(?reason, "the logs cannot be listed");
            Default::default()
        });
        let prefix = format!("{}.", here.file.server.subject_prefix);
        let roots = logs.iter().filter_map(|log| log.strip_prefix(&prefix)?.split('.').next());
        let roots: std::collections::BTreeSet<Name> =
            roots.filter_map(|root| root.parse().ok()).collect();
        let mut is_all = !roots.is_empty();
        for root in roots {
            is_all &= self.open_heard_of(&root).await;
        }
        if is_all {
            self.settle_keys().await;
        }
    }

    /// Whoever was removed while this machine was down is let in no more by a server of ours. Only where
    /// every team is open: another may still be on it.
    async fn settle_keys(&self) {
        let (mut there, mut left) = (BTreeSet::new(), BTreeSet::new());
        for board in self.boards.borrow().values() {
            board.with_state(|state| {
                for (name, host) in &state.hosts {
                    let list = if host.state == HostState::Left { &mut left } else { &mut there };
                    list.insert(name.clone());
                }
            });
        }
        // This machine's own key is the only way to a server that stands here.
        let own = self.here.as_ref().map(|here| here.file.name.clone());
        left.retain(|name| !there.contains(name) && Some(name) != own.as_ref());
        let place = self.settings.place.clone();
        let settled = shipmate_process::blocking(move || match OwnServer::of(&place)? {
            Some(mut server) => server.settle(&there, &left).map_err(|e| e.to_string()),
            None => Ok(()),
        });
        if let Err(reason) = settled.await {
            tracing::warn!(reason, "a host that left may still be let in by the server");
        }
    }

    fn heard(self: &Rc<Self>, here: &Here, subject: &str, words: &[u8]) {
        let Some(sign) = here.sign(subject, words) else { return };
        here.heard_of.borrow_mut().insert(sign.host.clone());
        for board in self.boards.borrow().values() {
            // A sign of an earlier boot says nothing of the one that is on record.
            let is_it = board.with_state(|state| {
                state.hosts.get(&sign.host).is_none_or(|found| found.spec.boot == sign.boot)
            });
            if is_it {
                board.signs.borrow_mut().hear_host(&sign.host);
            }
            board.look();
        }
        for crew in self.crews() {
            crew.tell_hosts();
        }
        for root in sign.teams {
            if !self.boards.borrow().contains_key(&root) {
                let this = Rc::clone(self);
                tokio::task::spawn_local(async move { this.open_heard_of(&root).await });
            }
        }
    }

    /// Another host asks something.
    fn asked(self: &Rc<Self>, here: &Rc<Here>, subject: &str, words: &[u8]) {
        let Some((id, question)) = here.question::<Question>(subject, words) else { return };
        let (this, here) = (Rc::clone(self), Rc::clone(here));
        tokio::task::spawn_local(async move {
            let found = async {
                match question {
                    Question::Request(forwarded) => {
                        let told = this.carry_out(*forwarded).await;
                        serde_json::to_vec(&told).expect("an answer is JSON")
                    }
                    Question::Fold { root, branch, wanted, have } => match this.crew(&root) {
                        Some(crew) => {
                            let folded = code::fold(crew.crew(), &here, &branch, &wanted, &have);
                            folded.await.unwrap_or_default().into_bytes()
                        }
                        None => Vec::new(),
                    },
                    Question::Copies { root, team, host, known } => match this.crew(&root) {
                        Some(crew) => {
                            copies::give(crew.crew(), &here, (&team, &host), &known).await
                        }
                        None => Vec::new(),
                    },
                    Question::Output { root, who, since } => match this.crew(&root) {
                        Some(crew) => crew.printed_since(&who, since).await,
                        None => Vec::new(),
                    },
                }
            };
            here.answer(&id, found).await;
        });
    }

    /// Does for another host what only this one can, as if whoever asked there had asked here.
    async fn carry_out(self: &Rc<Self>, forwarded: Forwarded) -> Told {
        let answer = self.answer_for(&forwarded).await.and_then(|answer| answer);
        let board = self.boards.borrow().get(&forwarded.root).cloned();
        let position = board.map_or(0, |board| board.with_state(|state| state.position));
        Told { answer, position }
    }

    async fn answer_for(
        self: &Rc<Self>,
        forwarded: &Forwarded,
    ) -> Result<Result<Answer, Refused>, Refused> {
        let Forwarded { root, actor, client, number, team, ask } = forwarded;
        let not_here = || {
            let text = format!("team {root} is not looked after here");
            refused(Code::HostSilent, text, "try again: its home may have moved")
        };
        let board = self.board(root).await?.ok_or_else(not_here)?;
        let crew = self.crew(root).ok_or_else(not_here)?;
        let broken = |e: std::io::Error| refused(Code::Bug, e.to_string(), "");
        let (mut end, stream) = UnixStream::pair().map_err(broken)?;
        let connection = Connection::new(stream, &self.room).map_err(broken)?;
        if let Err(refused) = connection.belongs_to(actor) {
            connection.close();
            return Err(refused);
        }
        let job = Job {
            connection: Rc::clone(&connection),
            id: *number,
            client: client.clone(),
            actor: actor.clone(),
            team: team.clone(),
            ask: ask.clone(),
        };
        if errand::elsewhere(&crew, &job).is_some() {
            connection.close();
            return Err(not_here());
        }
        if let Some(job) = errand::take(&crew, job) {
            board.push(job);
        }
        let mut text = String::new();
        let (read, ()) = tokio::join!(end.read_to_string(&mut text), connection.finish());
        read.map_err(broken)?;
        let replies = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut answers = replies.filter_map(|reply| match reply {
            Reply::Answer { answer, .. } => Some(Ok(answer)),
            Reply::Refused { refused, .. } => Some(Err(refused)),
            Reply::Welcome(_) | Reply::Notice(_) => None,
        });
        answers.next().ok_or_else(not_here)
    }

    /// False where it is not known what is recorded there.
    async fn open_heard_of(self: &Rc<Self>, root: &Name) -> bool {
        match self.board(root).await {
            // Nothing is recorded there: it has ended, or was never begun.
            Ok(Some(board)) if board.with_state(|state| state.root.is_none()) => {
                board.end_if_empty();
                true
            }
            Ok(_) => true,
            Err(refused) => {
                tracing::warn!(%root, reason = ?refused.message, "a team cannot be opened");
                false
            }
        }
    }
}
