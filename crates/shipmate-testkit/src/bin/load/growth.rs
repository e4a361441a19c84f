//! Does it get slower as the board grows? One client asks one thing at a time.

use serde_json::{Value, json};
use shipmate_protocol::{Answer, Ask, verbs};

use crate::arguments::Arguments;
use crate::drain::words;
use crate::measure::{micros, timed};
use crate::worker;
use crate::workspace::Workspace;
use shipmate_protocol::verbs::TaskNew;

/// At most; a small board has fewer tasks to claim.
const SAMPLES: usize = 400;
/// The first ones find cold caches.
const WARM_UP: usize = 20;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let sizes = arguments.optional("sizes").unwrap_or_else(|| "100,1000,10000,100000".to_owned());
    let sizes: Result<Vec<usize>, _> = sizes.split(',').map(str::parse).collect();
    let sizes = sizes.map_err(|e| format!("--sizes: {e}"))?;
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    let token = workspace.teammate("ana", 1)?;
    workspace.teammate("bo", 1)?;
    let mut client = workspace.client(&token);
    let mut points: Vec<Value> = Vec::new();
    let mut open = 0;
    for size in sizes {
        let missing = size.saturating_sub(open);
        let tasks: Vec<TaskNew> = (0..missing)
            .map(|index| {
                let (subject, description) = words(index, usize::MAX);
                TaskNew { subject, description, ..TaskNew::default() }
            })
            .collect();
        workspace.tasks(&tasks)?;
        open += missing;
        let (mut claims, mut completions, mut sends) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..SAMPLES.min(size - WARM_UP) + WARM_UP {
            let next = Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: false });
            let (took, taken) = timed(|| client.ask(next));
            let taken = worker::taken(taken)?.ok_or("the board is empty too early")?;
            claims.push(took);
            let (took, done) = timed(|| client.ask(worker::complete(taken)));
            done.map_err(|e| e.to_string())?;
            completions.push(took);
            let (to, body) = ("bo".to_owned(), "as agreed".to_owned());
            let send = Ask::Send(verbs::Send { to, body, kind: None, reply_to: None });
            let (took, sent) = timed(|| client.ask(send));
            match sent.map_err(|e| e.to_string())? {
                Answer::Sent(_) => sends.push(took),
                other => return Err(format!("the message was answered by {other:?}")),
            }
            open -= 1;
        }
        points.push(json!({
            "tasks": size,
            "claim_us": micros(&claims[WARM_UP..]),
            "complete_us": micros(&completions[WARM_UP..]),
            "send_us": micros(&sends[WARM_UP..]),
        }));
    }
    let report = json!({
        "workload": "growth", "durability": workspace.durability, "points": points, "errors": 0,
    });
    println!("{report}");
    Ok(())
}
