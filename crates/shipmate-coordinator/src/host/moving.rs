//! Logs move between this workspace and the server, record for record, with their positions.
//!
//! The old one is sealed only when the new one holds everything and was read back to its end; a move
//! that was cut short goes on where the new log ends. The coordinator does it before it opens a team,
//! so nobody writes meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shipmate_log::{AnyLog, AppendFailure, Log as _};

use shipmate_core::Writer;
use shipmate_model::{Act, Actor, Command, Name};
use shipmate_protocol::Place;

use super::server::OwnServer;
use super::tunnel::Tunnel;
use crate::clock::wall_ms;
use crate::open;
use crate::secret::Secrets;
use crate::settings::{Durability, HostFile, Nats, Settings};

/// Records copied at once.
const PAGE: usize = 1_000;

/// What a log is called once it has moved.
const SEALED: &str = "log.moved.db";

/// Has every log where it belongs: with the server while this machine is a host, else here.
pub(crate) async fn settle(settings: &Settings, secrets: &Secrets) -> Result<(), String> {
    let going_back = HostFile::going_back(&settings.place);
    if let Some(mut file) = HostFile::read_from(&going_back)? {
        if let Some(mut server) = OwnServer::of(&settings.place)? {
            let ensured =
                shipmate_process::blocking(move || server.ensure().map(|()| server.url()));
            file.server.url = ensured.await?;
        }
        file.server.key = Some(secrets.record_key());
        from_server(settings, &file).await?;
        if let Some(server) = OwnServer::of(&settings.place)? {
            server.end().await;
            server.put_aside().map_err(|e| format!("the store of the server: {e}"))?;
            OwnServer::forget(&settings.place)
                .map_err(|e| format!("the list of the server: {e}"))?;
        }
        // What is left of them leads to a server that is gone.
        Tunnel::forget_all(&settings.place);
        fs::remove_file(&going_back).map_err(|e| format!("{}: {e}", going_back.display()))?;
    }
    to_server(settings).await
}

/// Moves every log that lies in this workspace to the server.
async fn to_server(settings: &Settings) -> Result<(), String> {
    let Some(file) = settings.host.as_ref().filter(|file| file.first) else { return Ok(()) };
    for folder in teams_with(settings, "log.db") {
        let root = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |reason: String| {
            format!(
                "the log of team {root} cannot be moved to {}: {reason}\n  nothing is lost: it is tried \
                 again at the next command; `shipmate log move sqlite` leaves it where it is",
                file.server.url
            )
        };
        let mut from =
            open::sqlite(&folder, Durability::Power).await.map_err(|e| failed(e.to_string()))?;
        let to = open::jetstream(&file.server, &root).await;
        let mut to = to.map_err(|e| failed(e.to_string()))?;
        copy(&mut from, &mut to).await.map_err(failed)?;
        drop(from);
        seal(&folder, &file.server).map_err(|e| failed(e.to_string()))?;
        tracing::info!(root, "a log has moved to the server");
    }
    Ok(())
}

/// Moves every log of the server that is at home here back to this workspace.
async fn from_server(settings: &Settings, file: &HostFile) -> Result<(), String> {
    // Every team that is at home here: those that moved, and those that were begun since.
    let folders = fs::read_dir(settings.place.teams()).into_iter().flatten().filter_map(Result::ok);
    for folder in folders.map(|folder| folder.path()).filter(|folder| folder.is_dir()) {
        let root = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed =
            |reason: String| format!("the log of team {root} cannot be moved back: {reason}");
        let from = open::jetstream(&file.server, &root).await;
        let mut from = from.map_err(|e| failed(e.to_string()))?;
        // What it had when it was sealed is the beginning of what the server has.
        match fs::rename(folder.join(SEALED), folder.join("log.db")) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(e.to_string()));
            }
            _ => {}
        }
        let to = open::sqlite(&folder, Durability::Power).await;
        let mut to = to.map_err(|e| failed(e.to_string()))?;
        copy(&mut from, &mut to).await.map_err(failed)?;
        record_leave(&mut to, file).await.map_err(failed)?;
        drop(fs::remove_file(folder.join("log.moved.txt")));
        tracing::info!(root, "a log has moved back");
    }
    Ok(())
}

/// The last host leaves: the team is on this machine alone.
async fn record_leave(log: &mut AnyLog, file: &HostFile) -> Result<(), String> {
    let (state, _) = open::fold(log).await.map_err(|e| e.to_string())?;
    let mut writer = Writer::new(state);
    // Another one that is the home may be lost: then its work goes on here.
    let host = &file.name;
    for act in
        [Act::MoveHome { host: host.clone() }, Act::LeaveHost { host: host.clone(), now: true }]
    {
        writer.handle(wall_ms(), &Command { by: Actor::Person, req: None, act });
    }
    let (expected, records) = writer.batch();
    let text = |record| serde_json::to_string(record).expect("a record is JSON");
    append(log, expected, records.iter().map(text).collect()).await
}

fn teams_with(settings: &Settings, file: &str) -> Vec<PathBuf> {
    let folders = fs::read_dir(settings.place.teams()).into_iter().flatten().filter_map(Result::ok);
    let with = folders.map(|folder| folder.path()).filter(|folder| folder.join(file).exists());
    with.collect()
}

/// Has one log hold all that another holds.
async fn copy(from: &mut AnyLog, to: &mut AnyLog) -> Result<(), String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let mut at = 0;
    let end = to.end().await.map_err(|e| text(&e))?;
    loop {
        let page = from.read(at, PAGE).await.map_err(|e| text(&e))?;
        let Some(last) = page.last().map(|record| record.position) else { break };
        let known = (end.min(last).saturating_sub(at)) as usize;
        let (known, new) = page.split_at(known);
        let texts = |records: &[shipmate_log::Record]| {
            records.iter().map(|record| record.text.clone()).collect::<Vec<_>>()
        };
        // What is there already must be the same.
        if !holds(to, at, &texts(known)).await? {
            return Err("another team of this name has its log there".to_owned());
        }
        if !new.is_empty() {
            append(to, at + known.len() as u64, texts(new)).await?;
        }
        at = last;
    }
    let (ours, theirs) = (from.end().await, to.end().await);
    match (ours, theirs) {
        // Beyond it, by what was recorded at the end of a move that was cut short.
        (Ok(ours), Ok(theirs)) if ours <= theirs => Ok(()),
        (Ok(ours), Ok(theirs)) => Err(format!("it has {theirs} records there and {ours} here")),
        (Err(e), _) | (_, Err(e)) => Err(text(&e)),
    }
}

/// How often a piece that was not confirmed is given again, once a second.
const UNCONFIRMED_MAX: u32 = 10;

/// In as many pieces as are taken. Of several servers one may not know yet of a stream that was just made.
async fn append(to: &mut AnyLog, expected: u64, records: Vec<String>) -> Result<(), String> {
    let mut rest = vec![(expected, records)];
    let mut unconfirmed = 0;
    while let Some((at, mut records)) = rest.pop() {
        match to.append(at, &records).await {
            Ok(_) => {}
            Err(AppendFailure::TooLarge { .. }) if records.len() > 1 => {
                let later = records.split_off(records.len() / 2);
                rest.push((at + records.len() as u64, later));
                rest.push((at, records));
            }
            Err(AppendFailure::Unconfirmed(reason)) if unconfirmed < UNCONFIRMED_MAX => {
                unconfirmed += 1;
                tracing::warn!(reason, "a piece of a log was not confirmed");
                tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(1))
                    .await;
                rest.push((at, records));
            }
            // It was stored all the same, at whatever time.
            Err(AppendFailure::Conflict { .. })
                if unconfirmed > 0 && holds(to, at, &records).await? => {}
            Err(failure) => return Err(failure.to_string()),
        }
    }
    Ok(())
}

/// Whether a log has these records behind a position.
async fn holds(log: &mut AnyLog, at: u64, records: &[String]) -> Result<bool, String> {
    let mut found = Vec::new();
    while found.len() < records.len() {
        let rest = records.len() - found.len();
        let page = log.read(at + found.len() as u64, rest).await.map_err(|e| e.to_string())?;
        if page.is_empty() {
            return Ok(false);
        }
        found.extend(page.into_iter().map(|record| record.text));
    }
    Ok(found == records)
}

/// The log of these teams went from this workspace to the server.
pub(crate) fn was_moved(place: &Place, root: &Name) -> bool {
    place.team(root.as_str()).join(SEALED).exists()
}

/// Nothing is written here any more; what it was stays to be read.
fn seal(folder: &Path, server: &Nats) -> std::io::Result<()> {
    crate::host_file::write(
        &folder.join("log.moved.txt"),
        &format!("the log is at {}\n", server.url),
    )?;
    fs::rename(folder.join("log.db"), folder.join(SEALED))
}

#[cfg(test)]
mod tests {
    use shipmate_log::{MemoryFault, MemoryLog};

    async fn with(count: usize) -> AnyLog {
        let mut log = AnyLog::Memory(MemoryLog::new());
        append(&mut log, 0, (0..count).map(|n| format!("record {n}")).collect()).await.unwrap();
        log
    }

    /// A move that was cut short anywhere goes on, and one that is begun again finds all of it there.
    #[tokio::test]
    async fn a_log_of_several_pages_moves_from_wherever_the_other_one_ends() {
        let many = 2 * PAGE + 500;
        for there in [0, 1, PAGE - 1, PAGE, PAGE + 1, many - 1, many, many + 3] {
            let (mut from, mut to) = (with(many).await, with(there).await);
            copy(&mut from, &mut to).await.unwrap_or_else(|e| panic!("{there} there: {e}"));
            assert_eq!(to.end().await.unwrap(), many.max(there) as u64, "{there} there");
            assert!(
                holds(&mut to, 0, &(0..many).map(|n| format!("record {n}")).collect::<Vec<_>>())
                    .await
                    .unwrap()
            );
        }
        let (mut from, mut to) = (with(many).await, with(PAGE).await);
        append(&mut to, PAGE as u64, vec!["another".to_owned()]).await.unwrap();
        assert!(copy(&mut from, &mut to).await.is_err());
    }

    use super::*;

    #[tokio::test]
    async fn a_piece_that_was_stored_without_an_answer_is_recognised() {
        let log = MemoryLog::new();
        let records = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut to = AnyLog::Memory(log.clone());
        log.inject(MemoryFault::LoseAnswer);
        append(&mut to, 0, records(&["one", "two"])).await.unwrap();
        append(&mut to, 2, records(&["three"])).await.unwrap();
        assert_eq!(log.end_now(), 3);
        // What somebody else has put there is not.
        assert!(append(&mut to, 2, records(&["other"])).await.is_err());
        log.inject(MemoryFault::LoseRequest);
        assert!(append(&mut to, 1, records(&["two", "other"])).await.is_err());
        assert_eq!(log.end_now(), 3);
    }
}
