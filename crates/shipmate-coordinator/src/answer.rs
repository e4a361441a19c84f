//! Answers: from the state for requests that read, from their own records for those
//! that wrote. A request asked again gets its answer from the same records.

use serde_json::value::RawValue;
use shipmate_core::state::{State, Task};
use shipmate_log::AnyLog;
use shipmate_log::Log as _;
use shipmate_model::event::{Event, Recipient};
use shipmate_model::{Actor, Name, Record};
use shipmate_protocol::ask::TaskFilter;
use shipmate_protocol::refused;
use shipmate_protocol::view::{DeliveryStep, DeliveryTrace, InboxMessage, MessageTrace, TaskRow};
use shipmate_protocol::{Answer, Ask, Refused};

use crate::open::{self, read_refusal};
use crate::secret::Secrets;
use crate::signs::Signs;
use crate::translate::{self, Scene};
use crate::views::{self, look};

/// Most records one answer carries, and how many are read at once: a record may be large.
const RECORDS_MAX: usize = 10_000;
const RECORDS_AT_ONCE: usize = 64;
/// After how many bytes a page of the log ends.
pub(crate) const LOG_BYTES: usize = 4 * 1024 * 1024;

/// Answers what the present state alone can tell; `None` if it takes the log.
pub(crate) fn from_state(
    scene: &Scene<'_>,
    ask: &Ask,
    log: &str,
    signs: &Signs,
) -> Option<Result<Answer, Refused>> {
    let state = scene.state;
    Some(match ask {
        Ask::Teams => Ok(Answer::Teams(views::teams(state))),
        Ask::Status => Ok(Answer::Status(Box::new(views::status(state, log, signs)))),
        Ask::TeamShow => match state.teams.contains_key(scene.team) {
            true => Ok(Answer::Team(Box::new(views::team(state, scene.team)))),
            false => Err(unknown("team", "UnknownTeam", scene.team.as_str())),
        },
        Ask::Teammates => {
            let members = state.members_of(scene.team);
            let views = members.map(|(who, mate)| views::teammate(state, who, mate, signs));
            Ok(Answer::Teammates(views.collect()))
        }
        Ask::TeammateShow { name } => show_teammate(scene, name, signs),
        Ask::Tasks { filter } => Ok(Answer::Tasks(rows(scene, filter))),
        Ask::TaskShow { task } => {
            translate::task_id(state, scene.actor, scene.team, task).map(|id| {
                let task = state.task(id).expect("a resolved task exists");
                Answer::Task(Box::new(views::task(state, task)))
            })
        }
        Ask::Look { of } => Ok(Answer::Look(Box::new(look::look(state, of, log, signs)))),
        Ask::InboxPeek => Ok(Answer::Messages(peek(state, scene.actor, usize::MAX))),
        Ask::Plans { all } => Ok(Answer::Plans(views::plans(state, *all))),
        Ask::Questions { all } => Ok(Answer::Questions(views::questions(state, *all))),
        _ => return None,
    })
}

fn unknown(what: &str, code: &str, name: &str) -> Refused {
    let remedy = format!("`shipmate {what} list` names them");
    refused(code, format!("there is no {what} {name}"), &remedy)
}

fn show_teammate(scene: &Scene<'_>, text: &str, signs: &Signs) -> Result<Answer, Refused> {
    let name = text.rsplit('/').next().unwrap_or(text);
    let team = match text.split_once('/') {
        Some((team, _)) => translate::name(team)?,
        None => scene.team.clone(),
    };
    let name = translate::name(name)?;
    let mut members = scene.state.members_of(&team);
    match members.find(|(who, _)| who.name == name) {
        Some((who, mate)) => {
            Ok(Answer::Teammate(Box::new(views::teammate(scene.state, who, mate, signs))))
        }
        None => Err(unknown("teammate", "UnknownTeammate", name.as_str())),
    }
}

/// The oldest unread messages.
pub(crate) fn peek(state: &State, actor: &Actor, max: usize) -> Vec<InboxMessage> {
    let inbox = match actor {
        Actor::Teammate(who) => state.teammates.get(&who.address).map(|mate| &mate.inbox),
        _ => Some(&state.person_inbox),
    };
    let ids = inbox.into_iter().flatten().take(max);
    ids.map(|id| views::message(*id, &state.messages[id])).collect()
}

/// The oldest messages that a supervisor was not handed.
pub(crate) fn untaken(state: &State, actor: &Actor, max: usize) -> Vec<InboxMessage> {
    let Actor::Teammate(who) = actor else { return Vec::new() };
    let ids = shipmate_core::untaken(state, &who.address, max);
    ids.iter().map(|id| views::message(*id, &state.messages[id])).collect()
}

fn rows(scene: &Scene<'_>, filter: &TaskFilter) -> Vec<TaskRow> {
    let state = scene.state;
    let limit = filter.limit.unwrap_or(usize::MAX);
    if filter.available {
        let all = state.tasks().len();
        // Of a team below others the best few may all be another team's.
        let is_below = state.teams.get(scene.team).is_some_and(|team| team.parent.is_some());
        let (ids, team) = match scene.actor {
            Actor::Teammate(who) => {
                (shipmate_core::available_for(state, who, limit.min(all)), None)
            }
            _ if is_below => (shipmate_core::available(state, all), Some(scene.team)),
            _ => (shipmate_core::available(state, limit.min(all)), None),
        };
        let tasks = ids.into_iter().filter_map(|id| state.task(id));
        let is_own = |task: &&Task| team.is_none_or(|team| is_within(state, &task.team, team));
        let own = tasks.filter(is_own).take(limit);
        return own.map(|task| views::row(state, task)).collect();
    }
    let search = filter.search.as_ref().map(|text| text.to_lowercase());
    let wanted = |task: &&Task| {
        let word = task.status_word();
        let status = match filter.status.is_empty() {
            true => word != "deleted",
            false => filter.status.iter().any(|status| status == word),
        };
        let group = filter.group.as_deref();
        status
            && is_within(state, &task.team, scene.team)
            && group.is_none_or(|group| task.spec.group.as_ref().map(Name::as_str) == Some(group))
            && search.as_ref().is_none_or(|text| task.spec.subject.to_lowercase().contains(text))
    };
    let tasks = state.tasks().iter().skip(filter.after as usize).filter(wanted);
    let rows = tasks.map(|task| views::row(state, task));
    let owned = rows.filter(|row| {
        let owner = filter.owner.as_deref();
        owner.is_none_or(|owner| row.owner.as_deref().is_some_and(|by| is_owner(by, owner)))
    });
    owned.take(limit).collect()
}

/// The team itself or one above it.
fn is_within(state: &State, team: &Name, above: &Name) -> bool {
    let mut at = Some(team);
    while let Some(here) = at {
        if here == above {
            return true;
        }
        at = state.teams.get(here).and_then(|team| team.parent.as_ref());
    }
    false
}

/// `alpha/ana@2` is `ana`, `alpha/ana` and itself.
fn is_owner(by: &str, owner: &str) -> bool {
    let address = by.split('@').next().unwrap_or(by);
    by == owner || address == owner || address.rsplit('/').next() == Some(owner)
}

/// Answers a request from the records it wrote.
pub(crate) fn from_records(
    ask: &Ask,
    records: &[Record],
    state: &State,
    secrets: &Secrets,
) -> Answer {
    let first = records.first().expect("a request that is done wrote a record");
    let last = records.last().expect("a request that is done wrote a record").n;
    match (ask, &first.event) {
        (Ask::TaskCreate { .. }, _) => Answer::Created {
            tasks: records
                .iter()
                .filter_map(|record| match record.event {
                    Event::TaskCreated { task, .. } => Some(task),
                    _ => None,
                })
                .collect(),
        },
        (Ask::TaskClaim { .. } | Ask::TaskNext { .. }, Event::TaskClaimed { task, .. }) => {
            claimed(state, *task, first.n)
        }
        (Ask::TaskClaim { .. }, Event::TaskRenewed { task, token, .. }) => {
            claimed(state, *task, *token)
        }
        (Ask::TaskSubmitNext { .. }, _) => {
            let next = records.iter().find_map(|record| match record.event {
                Event::TaskClaimed { task, .. } => Some(claimed(state, task, record.n)),
                _ => None,
            });
            next.unwrap_or(Answer::Done { first: first.n, last })
        }
        (Ask::Send { .. }, _) => {
            let sent = records.iter().find_map(|record| match &record.event {
                Event::MessageSent { to, .. } => Some((record.n, to)),
                _ => None,
            });
            match sent {
                Some((message, to)) => {
                    Answer::Sent { message, to: to.iter().map(ToString::to_string).collect() }
                }
                None => Answer::Done { first: first.n, last },
            }
        }
        (Ask::TeammateStart { .. } | Ask::Enrol(_), _) => {
            let started = records.iter().find_map(|record| match &record.event {
                Event::TeammateStarted { who, .. } => Some(who),
                _ => None,
            });
            let who = started.expect("a start wrote that it started");
            let token = secrets.token(state, who);
            match (ask, state.member(&who.address)) {
                (Ask::Enrol(_), Some(mate)) => {
                    let seat = Box::new(views::teammate(
                        state,
                        &who.address,
                        mate,
                        &crate::signs::Signs::default(),
                    ));
                    Answer::Enrolled { seat, token }
                }
                _ => Answer::Started { who: who.to_string(), token },
            }
        }
        (
            Ask::PlanSubmit { .. }
            | Ask::Question { .. }
            | Ask::Shutdown { .. }
            | Ask::UsageReserve { .. },
            _,
        ) => Answer::Opened { id: first.n },
        _ => Answer::Done { first: first.n, last },
    }
}

fn claimed(state: &State, task: u32, token: u64) -> Answer {
    let task = state.task(task).expect("a claimed task exists");
    Answer::Claimed { task: Box::new(views::task(state, task)), token }
}

/// The messages that a request has read, if that is what it did.
pub(crate) fn read_messages(records: &[Record]) -> Option<&[u64]> {
    match records {
        [
            Record {
                event:
                    Event::MessageAcknowledged { messages, .. } | Event::MessageOffered { messages, .. },
                ..
            },
        ] => Some(messages),
        _ => None,
    }
}

/// The texts of messages that may have left the state already.
pub(crate) async fn bodies(
    log: &mut AnyLog,
    messages: &[u64],
) -> Result<Vec<InboxMessage>, Refused> {
    let mut found = Vec::with_capacity(messages.len());
    for id in messages {
        found.push(message(&one(log, *id).await?));
    }
    Ok(found)
}

async fn one(log: &mut AnyLog, position: u64) -> Result<Record, Refused> {
    let none = || refused("UnknownMessage", format!("there is no record {position}"), "");
    let before = position.checked_sub(1).ok_or_else(none)?;
    let page = log.read(before, 1).await.map_err(|e| read_refusal(&e))?;
    let entry = page.into_iter().next().ok_or_else(none)?;
    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))
}

fn message(record: &Record) -> InboxMessage {
    let Event::MessageSent { kind, body, reply_to, .. } = &record.event else {
        unreachable!("an inbox holds positions of messages")
    };
    use shipmate_model::event::MessageKind::{Bounce, Notice, WorkDone};
    let runtime = matches!(kind, Notice | WorkDone | Bounce);
    let from = if runtime { Actor::Runtime } else { record.by.clone() };
    InboxMessage {
        id: record.n,
        from: from.to_string(),
        kind: views::kind_word(kind),
        body: body.clone(),
        reply_to: *reply_to,
        sent_at: record.at,
    }
}

/// Records as they are stored, for `log` and for those who follow. Fewer than `max` come once
/// there are so many bytes; none means that there are none.
pub(crate) async fn records(
    log: &mut AnyLog,
    after: u64,
    max: usize,
    bytes_max: usize,
) -> Result<Vec<Box<RawValue>>, Refused> {
    let max = max.min(RECORDS_MAX);
    let (mut found, mut bytes) = (Vec::new(), 0);
    while found.len() < max && bytes < bytes_max {
        let next = after + found.len() as u64;
        let page = log.read(next, (max - found.len()).min(RECORDS_AT_ONCE)).await;
        let page = page.map_err(|e| read_refusal(&e))?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            if bytes >= bytes_max {
                break;
            }
            bytes += entry.text.len();
            let record = RawValue::from_string(entry.text);
            let damaged = |e| refused("LogDamaged", format!("a record is not JSON: {e}"), "");
            found.push(record.map_err(damaged)?);
        }
    }
    Ok(found)
}

/// Follows one message through the log.
pub(crate) async fn trace(log: &mut AnyLog, id: u64) -> Result<Answer, Refused> {
    let sent = one(log, id).await?;
    let Event::MessageSent { to, .. } = &sent.event else {
        let remedy = "`shipmate log` shows records; messages are the message.sent ones";
        return Err(refused("UnknownMessage", format!("record {id} is not a message"), remedy));
    };
    let queued = |to: &Recipient| DeliveryTrace {
        to: to.to_string(),
        state: "queued".to_owned(),
        steps: vec![step("queued", &sent, None)],
    };
    let mut trace = MessageTrace { message: message(&sent), to: to.iter().map(queued).collect() };
    let mut at = id;
    let mut open = to.len();
    while open > 0 {
        let page = log.read(at, 4096).await.map_err(|e| read_refusal(&e))?;
        if page.is_empty() {
            break;
        }
        for entry in &page {
            at = entry.position;
            // Most records are not about messages; do not parse those.
            if entry.text.contains("\"message.") {
                let record =
                    open::parse(&entry.text, entry.position).map_err(|e| read_refusal(&e))?;
                open -= follow(&mut trace, &record, id);
            }
        }
    }
    Ok(Answer::Trace(Box::new(trace)))
}

/// Adds a record's step to the trace; how many deliveries ended with it.
fn follow(trace: &mut MessageTrace, record: &Record, id: u64) -> usize {
    let (to, messages, word, detail) = match &record.event {
        Event::MessageOffered { to, messages } => (to, messages, "offered", None),
        Event::MessageInjected { to, messages, turn } => {
            (to, messages, "injected", Some(format!("turn {turn}")))
        }
        Event::MessageAcknowledged { to, messages } => (to, messages, "acknowledged", None),
        Event::MessageExpired { to, messages, reason } => {
            (to, messages, "expired", Some(reason.clone()))
        }
        Event::MessageBounced { to, messages, reason } => {
            (to, messages, "bounced", Some(reason.clone()))
        }
        _ => return 0,
    };
    if !messages.contains(&id) {
        return 0;
    }
    let to = to.to_string();
    let ends = matches!(word, "acknowledged" | "expired" | "bounced");
    for delivery in trace.to.iter_mut().filter(|delivery| delivery.to == to) {
        delivery.state = word.to_owned();
        delivery.steps.push(step(word, record, detail.clone()));
    }
    usize::from(ends)
}

fn step(state: &str, record: &Record, detail: Option<String>) -> DeliveryStep {
    DeliveryStep { state: state.to_owned(), position: record.n, at: record.at, detail }
}

/// The state as of a position.
pub(crate) async fn at(log: &mut AnyLog, position: u64, end: u64) -> Result<State, Refused> {
    if position > end || position == 0 {
        let message = format!("the log has records 1 to {end}");
        return Err(refused("UnknownRecord", message, "name one of those"));
    }
    let mut state = State::default();
    open::fold_from(log, &mut state, position).await.map_err(|e| read_refusal(&e))?;
    Ok(state)
}
