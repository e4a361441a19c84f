//! The baseline: teammates that look for work, and look again later when there is none.
//!
//! Its strongest form: whoever finishes looks at once, and what is handed in counts at once, without
//! the merge queue. The timed wait is what is measured here; nothing in the product waits like this.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shipmate_protocol::client::ClientFailure;
use shipmate_protocol::{Answer, Ask, Client, Code, answers, verbs};

use crate::measure::pass;
use crate::team::Team;

/// How often an idle teammate looks, at scale 1.
pub(crate) const PERIOD: Duration = Duration::from_secs(2);

/// Works the board off with teammates that poll.
pub(crate) fn run(
    team: &mut Team,
    teammates: usize,
    period: Duration,
    limit_ms: u64,
) -> Result<(), String> {
    let tokens = (1..=teammates).map(|n| team.workspace.teammate(&format!("dev-{n}"), 1));
    let tokens = tokens.collect::<Result<Vec<String>, String>>()?;
    let limit = Instant::now() + Duration::from_millis(limit_ms);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = tokens
            .iter()
            .map(|token| {
                let mut client = team.workspace.client(token);
                let over = &over;
                scope.spawn(move || work(&mut client, period, limit, over))
            })
            .collect();
        let done = team.until_completed(limit_ms);
        over.store(true, Ordering::Relaxed);
        let worked: Vec<Result<(), String>> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect();
        done?;
        worked.into_iter().collect()
    })
}

fn work(
    client: &mut Client,
    period: Duration,
    limit: Instant,
    over: &AtomicBool,
) -> Result<(), String> {
    while !over.load(Ordering::Relaxed) && Instant::now() < limit {
        match client.ask(Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: false })) {
            Ok(Answer::Claimed(answers::Claimed { task, token })) => {
                pass(Duration::from_millis(task.duration_ms.unwrap_or_default()));
                let task = task.row.id.to_string();
                let submit = Ask::TaskSubmit(verbs::TaskSubmit {
                    task,
                    token,
                    commit: None,
                    result: String::new(),
                    handoff: None,
                });
                client.ask(submit).map_err(|e| e.to_string())?;
            }
            Ok(_) => pass(period),
            Err(ClientFailure::Refused(refused)) if refused.code == Code::NothingAvailable => {
                pass(period);
            }
            Err(failure) => return Err(failure.to_string()),
        }
    }
    Ok(())
}
