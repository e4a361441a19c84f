//! What a board does while the server that has its log is away or silent: it says so at once to everybody who
//! asks, tells nothing of others that it may only not have heard, and starts again from what the log has.
//!
//! What must hold: nobody is refused whose records may be in the log without being told that they may.

use std::time::Duration;

use shipmate_log::{AppendFailure, Line, Log as _};
use shipmate_model::{Act, Actor, Position};
use shipmate_protocol::{Code, Refused, refused};
use tokio::time::{Instant, sleep_until};

use super::{Board, FOLLOW_AGAIN_MS, Job, TELL_AGAIN_MS, Worker, refuse};

/// How long a server may take to answer a host before it counts as silent. A request takes two such answers
/// at most, and whoever came meanwhile is told with it: less than the two seconds within which every
/// command says that the server is away. Once it was silent it has as long as the log gives it.
const ANSWER_WITHIN: Duration = Duration::from_millis(800);
/// What a slow line carries in a millisecond: larger records have longer.
const BYTES_A_MS: usize = 100;

impl Board {
    /// A failure that ends when the server is there again.
    pub(super) fn is_passing(&self, refused: &Refused) -> bool {
        self.line.is_some() && refused.code == Code::LogUnavailable
    }

    /// The line is down.
    fn is_away(&self) -> bool {
        self.line.as_ref().is_some_and(|line| !line.is_up())
    }

    /// The answer to everybody, while the server is away.
    pub(super) fn told_away(&self) -> Option<Refused> {
        let away = self.away.borrow();
        away.as_ref().map(|away| match away.code {
            Code::LogUnavailable => self.away(),
            _ => away.clone(),
        })
    }

    /// The server that has the log is away, or lets this machine in no more.
    pub(crate) fn away(&self) -> Refused {
        away(self.line.as_ref())
    }
}

impl Board {
    /// Nothing can be written, for as long as its server is as it is.
    pub(crate) fn is_without_store(&self) -> bool {
        self.told_away().is_some() || self.confirms_nothing.get()
    }

    pub(crate) fn confirms_nothing(&self) -> bool {
        self.confirms_nothing.get()
    }

    /// Its server is another process from now on: the next append tells of that one.
    pub(crate) fn server_ended(&self) {
        self.confirms_nothing.set(false);
    }

    /// Its log is read and confirms nothing.
    pub(super) fn unconfirmed(&self) -> Refused {
        let text = "the server that has the log can be read and confirms nothing that is written: its disk \
                    is full, or most of its servers are away";
        let remedy = "make room where it runs, or have the others come back; agents go on. What it says is \
                      in its log, of one of shipmate's own in .shipmate/state/nats/server.log";
        refused(Code::LogUnavailable, text.to_owned(), remedy)
    }
}

/// Why nothing can be asked or told.
pub(crate) fn away(line: Option<&Line>) -> Refused {
    if let Some(expired) = line.and_then(Line::expired) {
        let text = format!("the NATS server does not let this machine in: {expired}");
        let remedy = "put new ones into that file: it is read again at once; agents go on";
        return refused(Code::LogUnavailable, text, remedy);
    }
    let text = "the NATS server that has the log cannot be reached".to_owned();
    let remedy =
        "agents go on, and what they hand in waits; .shipmate/state/host.json names the server";
    refused(Code::LogUnavailable, text, remedy)
}

impl Worker {
    pub(super) fn is_away(&self) -> bool {
        self.board.is_away()
    }

    /// How long an answer is waited for that so many bytes are sent for, where this machine is a host.
    pub(super) fn patience(&self, bytes: usize) -> Option<Duration> {
        let is_quick = self.board.line.is_some() && !self.is_stale;
        is_quick.then(|| ANSWER_WITHIN + Duration::from_millis((bytes / BYTES_A_MS) as u64))
    }

    /// Nothing is decided until the log could be asked, and whoever asks is told so at once.
    pub(super) fn tell_away(&mut self, why: &Refused) {
        self.is_stale = true;
        let again = self.clock.now_ms() + FOLLOW_AGAIN_MS;
        self.follow_at_ms = Some(self.follow_at_ms.unwrap_or(again));
        *self.board.away.borrow_mut() = Some(why.clone());
        let told = self.board.told_away().unwrap_or_else(|| why.clone());
        refuse(self.board.queue.take().into(), &told);
        refuse(self.reads.take_all(), &told);
    }

    /// Starts again from what the log has, once the server can be asked.
    pub(super) async fn is_fresh_again(
        &mut self,
        jobs: &[Job],
        due: &mut Vec<(Actor, Act)>,
    ) -> bool {
        self.doubt_silence(due);
        let rebuilt = match self.board.line.clone() {
            None => self.rebuild(0).await,
            // What was asked on a line that went is not answered on the next one.
            Some(mut line) => tokio::select! {
                biased;
                () = line.down() => Err(self.board.away()),
                rebuilt = self.rebuild(0) => rebuilt,
            },
        };
        match rebuilt {
            Ok(()) => {
                self.is_stale = false;
                *self.board.away.borrow_mut() = None;
            }
            Err(why) => {
                self.tell_away(&why);
                refuse(jobs.to_vec(), &self.board.told_away().unwrap_or(why));
                self.put_off(due);
            }
        }
        !self.is_stale
    }

    /// Appends; who is a host learns at once when the server goes meanwhile, and soon when it is silent.
    pub(super) async fn append(
        &mut self,
        expected: Position,
        texts: &[String],
    ) -> Result<Position, AppendFailure> {
        let Some(mut line) = self.board.line.clone() else {
            return self.log.append(expected, texts).await;
        };
        let patience = self.patience(texts.iter().map(String::len).sum());
        let silent = sleep_until(Instant::now() + patience.unwrap_or(ANSWER_WITHIN));
        let reason = tokio::select! {
            biased;
            appended = self.log.append(expected, texts) => return appended,
            () = line.down() => "the server is away",
            () = silent => "the server does not answer",
        };
        Err(AppendFailure::Unconfirmed(reason.to_owned()))
    }

    /// What may be otherwise by then is not told again as it was. Who does not reach the log does not hear
    /// the others either, and gives them their whole time again.
    pub(super) fn doubt_silence(&self, due: &mut Vec<(Actor, Act)>) {
        self.board.signs.borrow_mut().absences += 1;
        due.retain(|(_, act)| !self.is_doubted(act));
    }

    /// What the runtime had to tell is told again when the log may take it.
    pub(super) fn put_off(&mut self, due: &[(Actor, Act)]) {
        for one in due {
            if self.is_doubted(&one.1) {
                continue;
            }
            // Whoever has a branch move says it until it is on record: the last word counts. So does all
            // that is said again as it was.
            self.put_off.retain(|(_, earlier)| match (earlier, &one.1) {
                (Act::ReportBranch { branch: of, .. }, Act::ReportBranch { branch, .. }) => {
                    of != branch
                }
                (earlier, act) => earlier != act,
            });
            self.put_off.push(one.clone());
        }
        self.put_off_until_ms = Some(self.clock.now_ms() + TELL_AGAIN_MS);
    }

    /// That a host was silent: it may have been this one that heard nothing. That a life begins: its token
    /// is of one life, and another may have begun meanwhile. It is looked again whether they are so.
    pub(super) fn is_doubted(&self, act: &Act) -> bool {
        let is_doubted = matches!(act, Act::ReportHostLost { .. } | Act::StartTeammate(_));
        if is_doubted {
            self.board.looks.set(true);
        }
        is_doubted
    }
}
