//! One claimant: take the best task, complete it, again until there is none.
//!
//! The loop is the same for every board, so that a ratio compares boards and not workers.

use serde_json::json;
use shipmate_protocol::client::Launch;
use shipmate_protocol::{Answer, Ask, Client, ClientFailure, Code, answers, verbs};

use crate::arguments::Arguments;
use crate::files::FileBoard;
use crate::fleet::{say, wait_for_go};
use crate::measure::{now_ns, used};
use crate::pipeline::CombinedBoard;
use crate::reference::ReferenceBoard;
use crate::workspace;

/// The subject of the task after which nothing is left; whoever completes it says so.
pub(crate) const END: &str = "end";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) task: u64,
    pub(crate) token: u64,
    /// Nothing is left once this one is completed.
    pub(crate) is_end: bool,
}

/// What a drain asks of a board.
pub(crate) trait Board {
    /// `None` when there is nothing left to take.
    fn next(&mut self) -> Result<Option<Taken>, String>;
    fn complete(&mut self, taken: Taken) -> Result<(), String>;
    /// Completes one and takes the next; boards that can do it in one step may.
    fn complete_and_next(&mut self, taken: Taken) -> Result<Option<Taken>, String> {
        self.complete(taken)?;
        self.next()
    }
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let combined = arguments.switch("combined");
    let board: Box<dyn Board> = match arguments.text("board")?.as_str() {
        "shipmate" if combined => Box::new(CombinedBoard::connect(&mut arguments)?),
        "shipmate" => Box::new(ShipmateBoard::connect(&mut arguments)?),
        "files" => Box::new(FileBoard::open(&mut arguments)?),
        "reference" => Box::new(ReferenceBoard::connect(&mut arguments)?),
        other => return Err(format!("there is no board {other}")),
    };
    arguments.finish()?;
    wait_for_go()?;
    let before = used(std::process::id())?;
    let mut work = Work::default();
    let failure = match combined {
        true => work.drain_combined(board).err(),
        false => work.drain(board).err(),
    };
    let after = used(std::process::id())?;
    let report = json!({
        "cpu_ns": after.cpu_ns - before.cpu_ns,
        "tasks": work.taken.iter().map(|taken| taken.task).collect::<Vec<_>>(),
        "tokens": work.taken.iter().map(|taken| taken.token).collect::<Vec<_>>(),
        "completed": work.completed,
        "claim_ns": work.claim_ns,
        "complete_ns": work.complete_ns,
        "last_ns": work.last_ns,
        "failure": failure,
    });
    say(&report.to_string())
}

#[derive(Debug, Default)]
struct Work {
    taken: Vec<Taken>,
    completed: Vec<u64>,
    claim_ns: Vec<u64>,
    complete_ns: Vec<u64>,
    last_ns: u64,
}

impl Work {
    fn drain(&mut self, mut board: Box<dyn Board>) -> Result<(), String> {
        loop {
            let start = now_ns();
            let Some(taken) = board.next()? else { return Ok(()) };
            let claimed = now_ns();
            self.claim_ns.push(claimed - start);
            self.taken.push(taken);
            board.complete(taken)?;
            self.completed(taken, claimed)?;
        }
    }

    /// The times are then of both steps together.
    fn drain_combined(&mut self, mut board: Box<dyn Board>) -> Result<(), String> {
        let mut next = board.next()?;
        while let Some(taken) = next {
            let start = now_ns();
            self.taken.push(taken);
            next = board.complete_and_next(taken)?;
            self.completed(taken, start)?;
        }
        Ok(())
    }

    fn completed(&mut self, taken: Taken, since: u64) -> Result<(), String> {
        self.last_ns = now_ns();
        self.complete_ns.push(self.last_ns - since);
        self.completed.push(taken.task);
        if taken.is_end { say(END) } else { Ok(()) }
    }
}

/// The shipmate board through the ordinary client, which survives restarts of the coordinator.
#[derive(Debug)]
struct ShipmateBoard {
    client: Client,
    wait: bool,
}

impl ShipmateBoard {
    fn connect(arguments: &mut Arguments) -> Result<ShipmateBoard, String> {
        let wait = arguments.switch("wait");
        let place = workspace::place(arguments)?;
        let launch = match arguments.optional("shipmate") {
            Some(program) => workspace::launch(program.as_ref(), &place),
            None => Launch::Never,
        };
        let mut client = Client::new(place, launch, workspace::token_from_environment()?);
        client.welcome().map_err(|e| e.to_string())?;
        Ok(ShipmateBoard { client, wait })
    }
}

impl Board for ShipmateBoard {
    fn next(&mut self) -> Result<Option<Taken>, String> {
        taken(self.client.ask(Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: self.wait })))
    }

    fn complete(&mut self, taken: Taken) -> Result<(), String> {
        match self.client.ask(complete(taken)) {
            Ok(Answer::Done { .. }) => Ok(()),
            Ok(other) => Err(format!("the completion was answered by {other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }
}

pub(crate) fn complete(taken: Taken) -> Ask {
    let (task, token) = (taken.task.to_string(), Some(taken.token));
    Ask::TaskComplete(verbs::TaskComplete { task, token, commit: None, result: "done".to_owned() })
}

/// What an answer to `TaskNext` means. A board that is empty or shutting down ends the work.
pub(crate) fn taken(answer: Result<Answer, ClientFailure>) -> Result<Option<Taken>, String> {
    match answer {
        Ok(Answer::Claimed(answers::Claimed { task, token })) => {
            let is_end = task.row.subject == END;
            Ok(Some(Taken { task: u64::from(task.row.id), token, is_end }))
        }
        Ok(other) => Err(format!("the claim was answered by {other:?}")),
        Err(ClientFailure::Refused(refused))
            if matches!(refused.code, Code::NothingAvailable | Code::ShuttingDown) =>
        {
            Ok(None)
        }
        Err(failure) => Err(failure.to_string()),
    }
}
