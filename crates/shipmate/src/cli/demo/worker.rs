//! One worker of the demo: a process that has a socket and a token, and nothing else.

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use shipmate_protocol::ask::ShutdownAnswer;
use shipmate_protocol::view::TaskView;
use shipmate_protocol::{Answer, Ask};

use super::plot::{self, LEASE_MS, WORKERS};
use crate::cli::failure::{Failure, unexpected};
use crate::cli::session::Session;

/// One worker of `shipmate demo`
#[derive(clap::Args, Debug)]
pub(crate) struct WorkerArgs {
    name: String,

    /// Hold on to the nth task and never finish it
    #[arg(long, value_name = "N")]
    stall_at: Option<usize>,
}

/// What it has to report when it ends, as one line of JSON.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Report {
    pub(crate) claims: usize,
    pub(crate) races_lost: usize,
    pub(crate) messages_read: usize,
}

pub(crate) fn work(args: &WorkerArgs, mut session: Session) -> Result<(), Failure> {
    let parent = parents_end();
    let mut report = Report::default();
    // Everybody wants the first task: one gets it, the others are told who has it.
    let first = Ask::TaskClaim { task: "1".to_owned(), lease_ms: Some(LEASE_MS) };
    let mut next = match session.ask(first) {
        Ok(answer) => Some(answer),
        Err(failure) if failure.refused().is_some() => {
            report.races_lost += 1;
            None
        }
        Err(failure) => return Err(failure),
    };
    loop {
        if read_inbox(&mut session, &mut report)?.is_some() {
            return session.screen.json(&report);
        }
        let answer = match next.take() {
            Some(answer) => answer,
            None => match session.ask(Ask::TaskNext { lease_ms: Some(LEASE_MS), wait: true }) {
                Ok(answer) => answer,
                Err(failure) if failure.refused().is_some_and(|r| r.code == "ShuttingDown") => {
                    // The request that is meant lies in the inbox.
                    continue;
                }
                Err(failure) => return Err(failure),
            },
        };
        let Answer::Claimed { task, token } = answer else { return Err(unexpected("a claim")) };
        report.claims += 1;
        let stalls = args.stall_at == Some(report.claims);
        let takes = if stalls { 60_000 } else { plot::work_ms(task.row.id) };
        // The wait is the work. It ends early only when the parent is gone.
        if parent.recv_timeout(Duration::from_millis(takes)).is_ok() {
            return Ok(());
        }
        match hand_in(&mut session, &args.name, &task, token) {
            // On a busy machine its own lease may run out: then another has the task.
            Err(failure) if failure.refused().is_some_and(|r| r.code == "StaleClaim") => {}
            handed_in => handed_in?,
        }
    }
}

/// Tells when the parent has gone: its end of our standard input is closed then.
fn parents_end() -> Receiver<()> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut nothing = [0_u8; 1];
        while matches!(std::io::stdin().read(&mut nothing), Ok(1..)) {}
        // Nobody listens when the worker has ended first.
        let _ended = tell.send(());
    });
    told
}

fn hand_in(session: &mut Session, name: &str, task: &TaskView, token: u64) -> Result<(), Failure> {
    let id = task.row.id.to_string();
    if task.metadata.contains_key(plot::FAILS_ONCE) && task.retries == 0 {
        let reason = "the figures vary by 30 %".to_owned();
        session.ask(Ask::TaskFail { task: id, token, reason })?;
        return Ok(());
    }
    let result = format!("done by {name}");
    session.ask(Ask::TaskSubmit { task: id.clone(), token, commit: None, result })?;
    if !task.blocks.is_empty() {
        let freed: Vec<String> = task.blocks.iter().map(ToString::to_string).collect();
        let body = format!("task {id} is done; {} waited for it", freed.join(" and "));
        let peer = WORKERS.iter().map(|(peer, _)| *peer).cycle();
        let peer = peer.skip_while(|peer| *peer != name).nth(1).unwrap_or("person").to_owned();
        session.ask(Ask::Send { to: peer, body, kind: None, reply_to: None })?;
    }
    Ok(())
}

/// Reads what there is, and answers a shutdown request among it.
fn read_inbox(session: &mut Session, report: &mut Report) -> Result<Option<u64>, Failure> {
    let Answer::Messages(messages) = session.ask(Ask::InboxRead { max: 100, wait: false })? else {
        return Err(unexpected("messages"));
    };
    report.messages_read += messages.len();
    let request = messages.iter().find(|message| message.kind == "shutdown_request");
    let Some(request) = request else { return Ok(None) };
    // The record of the request comes right before the one of the message about it.
    let shutdown = request.reply_to.unwrap_or(request.id - 1);
    session.ask(Ask::ShutdownAnswer { shutdown, answer: ShutdownAnswer::Clean })?;
    Ok(Some(shutdown))
}
