//! Accounts across workspaces: what one coordinator has learnt of an account, those of the same user know.
//!
//! Each account is a file below the user's state folder. What a teammate or a person says is merged into it
//! under a lock, each part with its own time; what one workspace has from another is not written again.
//! Whoever has teammates on an account watches the folder: one refusal parks them all, in every workspace. A
//! refusal ends in each by itself, when its time has come; only a person's word ends it in all.
//!
//! The coordinator's thread does not wait for the lock: whoever may read the folder could hold it, an agent
//! behind its fence too. A file that cannot be read says nothing, and the next word about its account makes it
//! anew.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use shipmate_core::state::Account;
use shipmate_model::account::Window;
use shipmate_model::event::Event;
use shipmate_model::limits::WINDOWS_MAX;
use shipmate_model::{Act, Actor, Address, Name, Record};
use shipmate_process::regular_file::read_start;
use shipmate_programs::account::Login;
use shipmate_programs::around::Around;
use shipmate_programs::fence::user_state;
use shipmate_programs::{account, models, programs};

use super::Crew;
use crate::clock::wall_ms;
use crate::file_watch::Watch;

const BYTES_MAX: u64 = 64 * 1024;

/// Most words that wait for a lock.
const UNWRITTEN_MAX: usize = 1_000;

/// What is known of an account, as a file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Entry {
    windows: Vec<Told>,
    /// Its last refusal, unless a person has let it go on since.
    parked: Option<Refused>,
    /// When a person let it go on, where nobody was refused since.
    resumed_by_person: Option<u64>,
}

/// All of these with the wall clock of when they were learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    #[serde(default)]
    at: u64,
    #[serde(flatten)]
    window: Window,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Refused {
    #[serde(default)]
    at: u64,
    until: u64,
    /// The provider said when.
    told: bool,
    reason: String,
}

/// What somebody here has said of an account.
#[derive(Debug, Clone)]
enum Word {
    Windows(Vec<Told>),
    Refused(Refused),
    Resumed(u64),
}

impl Word {
    fn of(record: &Record) -> Option<(&Name, Word)> {
        let at = record.at;
        // What the runtime says it has from another workspace, or from the clock, which all have.
        if record.by == Actor::Runtime {
            return None;
        }
        Some(match &record.event {
            Event::AccountTold { account, windows } => {
                let windows = windows.iter().cloned().map(|window| Told { at, window });
                (account, Word::Windows(windows.collect()))
            }
            Event::AccountParked { account, until, told, reason } => {
                let (until, told, reason) = (*until, *told, reason.clone());
                (account, Word::Refused(Refused { at, until, told, reason }))
            }
            Event::AccountResumed { account } => (account, Word::Resumed(at)),
            _ => return None,
        })
    }
}

/// How far clocks may differ that one believes another.
const SKEW_MS: u64 = 60_000;

/// It was learnt by now. A clock that was ahead once must not hold everybody for good.
fn is_past(at: u64) -> bool {
    at <= wall_ms().saturating_add(SKEW_MS)
}

impl Entry {
    /// The order in which words come counts and not their times: a clock may be set back in between.
    fn learn(&mut self, word: Word) {
        let now = wall_ms();
        let is_over = |window: &Window| window.resets_at.is_none_or(|reset| reset <= now);
        match word {
            Word::Windows(windows) => {
                for told in windows.into_iter().filter(|told| !is_over(&told.window)) {
                    self.learn_window(told);
                }
            }
            Word::Refused(new) => {
                self.resumed_by_person = None;
                let holds = |old: &Refused| {
                    is_past(old.at)
                        && old.until > now
                        && (old.told, old.until) >= (new.told, new.until)
                };
                if !self.parked.as_ref().is_some_and(holds) {
                    self.parked = Some(new);
                }
            }
            Word::Resumed(at) => *self = Entry { resumed_by_person: Some(at), ..Entry::default() },
        }
        self.windows.retain(|told| is_past(told.at) && !is_over(&told.window));
    }

    fn learn_window(&mut self, mut new: Told) {
        let is_it = |told: &Told| told.window.name == new.window.name;
        if let Some(at) = self.windows.iter().position(is_it) {
            let old = self.windows.remove(at);
            // Of one span the most that was told counts, as for the team.
            if old.window.resets_at == new.window.resets_at && !new.window.pace && is_past(old.at) {
                new.window.used = new.window.used.max(old.window.used);
            }
            if old.window == new.window && is_past(old.at) {
                new.at = old.at;
            }
        }
        self.windows.push(new);
        self.windows.sort_by(|one, other| one.window.name.cmp(&other.window.name));
        self.windows.truncate(WINDOWS_MAX);
    }
}

impl Crew {
    /// Which account stands behind a teammate, if its agent were started here.
    fn account_of(&self, who: &Address) -> Option<Login> {
        let (agent, model) = self.board.with_state(|state| {
            let profile = &state.teammates.get(who)?.profile;
            Some((profile.agent.clone(), profile.model.clone()))
        })?;
        self.account_behind(&agent, &model)
    }

    /// Which account an agent asks with, started here.
    pub(crate) fn account_behind(&self, agent: &str, model: &str) -> Option<Login> {
        if agent == "native" {
            let around = Around::here();
            let found = models::find(model, &self.settings.agents.native.models, &around);
            // A recording is nobody's account.
            let asked = found.ok().filter(|model| model.protocol != "recorded");
            let account = asked.map(|model| account::of_model(&model, &around))?;
            return Some(Login { account, subscription: false });
        }
        programs::account(agent, &self.settings.agents)
    }

    /// Has the board know the account of somebody who is about to be started, and what is known of it.
    pub(super) fn look_at_account(self: &Rc<Self>, who: &Address) {
        let Some(Login { account: name, subscription }) = self.account_of(who) else { return };
        let is_known = self.board.with_state(|state| {
            state.teammates.get(who).is_some_and(|mate| mate.account.as_ref() == Some(&name))
        });
        if !is_known {
            self.board.tell(Act::SetAccount {
                who: who.clone(),
                account: name.clone(),
                subscription,
            });
        }
        let entry = folder().and_then(|folder| read(&folder, &name));
        let known = self.board.with_state(|state| state.accounts.get(&name).cloned());
        if let Some(entry) = entry {
            let acts = news(&name, &known.unwrap_or_default(), entry);
            acts.into_iter().for_each(|act| self.board.tell(act));
        }
    }

    /// What this log has of accounts is written where other workspaces look.
    pub(crate) fn keep_accounts(self: &Rc<Self>, records: &[Record]) {
        for record in records {
            match &record.event {
                Event::TeammateAccount { .. } => self.watch_accounts(),
                // Whoever told of it may have been let go on meanwhile.
                Event::AccountParked { .. } if record.by == Actor::Runtime => {
                    self.hear_of_accounts();
                }
                _ => {}
            }
            if let (Some(folder), Some((account, word))) = (folder(), Word::of(record)) {
                drop(keep(folder, account, word));
            }
        }
    }

    /// Watches for what others learn, once somebody here has an account.
    pub(crate) fn watch_accounts(self: &Rc<Self>) {
        let has_some = self.board.with_state(|state| !state.accounts.is_empty());
        if !has_some || self.accounts.borrow().is_some() {
            return;
        }
        let Some(folder) = folder() else { return };
        if let Err(e) = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder) {
            tracing::warn!(error = %e, "accounts are not watched");
            return;
        }
        let crew = Rc::downgrade(self);
        let look = move || {
            if let Some(crew) = crew.upgrade() {
                crew.hear_of_accounts();
            }
        };
        match Watch::begin([folder.join("any")].into(), look) {
            Ok(watch) => *self.accounts.borrow_mut() = Some(watch),
            Err(e) => tracing::warn!(error = %e, "accounts are not watched"),
        }
    }

    fn hear_of_accounts(&self) {
        let Some(folder) = folder() else { return };
        let accounts = self.board.with_state(|state| state.accounts.clone());
        for (name, account) in accounts {
            if let Some(entry) = read(&folder, &name) {
                news(&name, &account, entry).into_iter().for_each(|act| self.board.tell(act));
            }
        }
    }
}

/// What a file tells that the board does not know.
fn news(name: &Name, known: &Account, told: Entry) -> Vec<Act> {
    let (at, account) = (wall_ms(), Some(name.clone()));
    let mut acts = Vec::new();
    let refused = told.parked.filter(|refused| is_past(refused.at) && refused.until > at);
    match (refused, &known.parked, told.resumed_by_person) {
        (Some(refused), parked, _)
            if parked.as_ref().is_none_or(|parked| {
                refused.told && (refused.until > parked.until || !parked.told)
            }) =>
        {
            let (until, reason) = (Some(refused.until), refused.reason);
            acts.push(Act::ParkAccount { account: account.clone(), until, reason, at });
        }
        (_, Some(parked), Some(resumed))
            if is_past(resumed) && parked.at <= resumed.saturating_add(SKEW_MS) =>
        {
            acts.push(Act::ResumeAccount { account: name.clone(), parked: Some(parked.n) });
        }
        _ => {}
    }
    // What is reset by now says nothing.
    let fresh = |told: &Told| {
        is_past(told.at)
            && told.window.resets_at.is_some_and(|reset| reset > at)
            && !known.windows.contains(&told.window)
    };
    let windows = told.windows.into_iter().filter(fresh).map(|told| told.window);
    let windows: Vec<Window> = windows.collect();
    if known.parked.is_none() && acts.is_empty() && !windows.is_empty() {
        acts.push(Act::ReportWindows { account, windows, at });
    }
    acts
}

fn folder() -> Option<PathBuf> {
    Some(user_state()?.join("accounts"))
}

fn read(folder: &Path, account: &Name) -> Option<Entry> {
    let text = read_start(&folder.join(format!("{account}.json")), BYTES_MAX).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Words that wait for the lock of their file. While there are some, a thread waits for it.
static UNWRITTEN: Mutex<VecDeque<(PathBuf, Name, Word)>> = Mutex::new(VecDeque::new());

fn unwritten() -> MutexGuard<'static, VecDeque<(PathBuf, Name, Word)>> {
    UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes at once, or where somebody else has the lock on a thread, which is returned.
fn keep(folder: PathBuf, account: &Name, word: Word) -> Option<JoinHandle<()>> {
    let mut waiting = unwritten();
    if waiting.is_empty() {
        let locked = lock(&folder, account, FlockOperation::NonBlockingLockExclusive);
        match locked {
            Ok(_lock) => {
                tell_failure(account, write(&folder, account, word));
                return None;
            }
            Err(e) if e.kind() != io::ErrorKind::WouldBlock => {
                tell_failure(account, Err(e));
                return None;
            }
            Err(_) => {}
        }
    }
    if waiting.len() >= UNWRITTEN_MAX {
        tell_failure(account, Err(io::Error::other("its lock is held for long")));
        return None;
    }
    waiting.push_back((folder, account.clone(), word));
    (waiting.len() == 1).then(|| thread::spawn(write_all))
}

fn write_all() {
    let mut next = unwritten().front().cloned();
    while let Some((folder, account, word)) = next {
        let locked = lock(&folder, &account, FlockOperation::LockExclusive);
        tell_failure(&account, locked.and_then(|_lock| write(&folder, &account, word)));
        // It was the first until now: nobody has started another thread.
        let mut waiting = unwritten();
        waiting.pop_front();
        next = waiting.front().cloned();
    }
}

fn tell_failure(account: &Name, written: io::Result<()>) {
    if let Err(e) = written {
        tracing::warn!(%account, error = %e, "other workspaces do not hear of an account");
    }
}

/// A file of its own: the one that is read is replaced.
fn lock(folder: &Path, account: &Name, how: FlockOperation) -> io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(folder.join(format!(".{account}.lock")))?;
    flock(&file, how)?;
    Ok(file)
}

/// Whoever calls this has the lock.
fn write(folder: &Path, account: &Name, word: Word) -> io::Result<()> {
    let found = read(folder, account);
    let mut entry = found.clone().unwrap_or_default();
    entry.learn(word);
    if found.as_ref() == Some(&entry) {
        return Ok(());
    }
    // A name of its own, and nothing that lies there is written through.
    let fresh = folder.join(format!(".{account}.{}.new", std::process::id()));
    drop(fs::remove_file(&fresh));
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written = file.write_all(&serde_json::to_vec(&entry).expect("an entry is JSON"));
    let kept = written.and_then(|()| fs::rename(&fresh, folder.join(format!("{account}.json"))));
    if kept.is_err() {
        drop(fs::remove_file(&fresh));
    }
    kept
}

#[cfg(test)]
mod tests {
    use shipmate_core::state::Parked;

    use super::*;

    fn name() -> Name {
        "claude-1".parse().unwrap()
    }

    fn refused(at: u64, until: u64, told: bool) -> Refused {
        Refused { at, until, told, reason: "limit".to_owned() }
    }

    fn known(at: u64, until: u64, told: bool) -> Account {
        let mut account = Account::default();
        account.parked.replace(Parked { n: 7, at, until, told, reason: "limit".to_owned() });
        account
    }

    fn window(at: u64, name: &str, used: u32, resets_at: u64) -> Told {
        let (name, used, resets_at) = (name.to_owned(), Some(used), Some(resets_at));
        Told { at, window: Window { name, used, resets_at, pace: false } }
    }

    fn after(words: impl IntoIterator<Item = Word>) -> Entry {
        let mut entry = Entry::default();
        words.into_iter().for_each(|word| entry.learn(word));
        entry
    }

    #[test]
    fn what_is_learnt_is_merged_and_a_clock_that_is_set_back_drops_no_refusal() {
        let now = wall_ms();
        let (guess, told) = (refused(now, now + 60_000, false), refused(now, now + 90_000, true));
        for words in [[guess.clone(), told.clone()], [told.clone(), guess]] {
            assert_eq!(after(words.map(Word::Refused)).parked, Some(told.clone()));
        }
        let week = Word::Windows(vec![window(now, "week", 500, now + 90_000)]);
        let hours = Word::Windows(vec![window(now - 5, "5 hours", 100, now + 9_000)]);
        let entry = after([Word::Refused(told.clone()), week.clone(), hours, week]);
        assert_eq!((entry.windows.len(), entry.parked), (2, Some(told.clone())));

        let back = refused(now - 30_000, now + 60_000, true);
        let entry = after([Word::Resumed(now), Word::Refused(back.clone())]);
        assert_eq!((entry.parked, entry.resumed_by_person), (Some(back), None));
        let ahead = refused(now + 3_600_000, u64::MAX, true);
        let entry = after([ahead, told.clone()].map(Word::Refused));
        assert_eq!(entry.parked, Some(told.clone()));
        let entry = after([Word::Refused(told), Word::Resumed(now)]);
        assert_eq!((entry.parked, entry.resumed_by_person), (None, Some(now)));
    }

    #[test]
    fn a_later_time_is_taken_over_and_only_a_persons_word_ends_a_refusal_for_all() {
        let now = wall_ms();
        let told = |words: Word, account: &Account| news(&name(), account, after([words]));
        let later = || Word::Refused(refused(now, now + 18_000_000, true));
        let parks = |acts: &[Act]| matches!(acts, [Act::ParkAccount { .. }]);
        assert!(parks(&told(later(), &Account::default())));
        assert!(parks(&told(later(), &known(now, now + 60_000, false))), "it knew a guess");
        assert!(parks(&told(later(), &known(now, now + 60_000, true))), "it is later");
        assert!(told(later(), &known(now, now + 18_000_000, true)).is_empty(), "it knows");
        let guess = || Word::Refused(refused(now, now + 60_000, false));
        assert!(told(guess(), &known(now, now + 50_000, true)).is_empty(), "a guess is none");
        let over = Word::Refused(refused(now - 9, now - 1, true));
        assert!(told(over.clone(), &Account::default()).is_empty(), "it is over");
        assert!(told(over, &known(now, now + 60_000, true)).is_empty(), "and frees nobody else");
        let resumed = told(Word::Resumed(now), &known(now - 1, now + 60_000, true));
        assert!(matches!(&resumed[..], [Act::ResumeAccount { parked: Some(7), .. }]));
        let long_ago = told(Word::Resumed(now - 600_000), &known(now, now + 60_000, true));
        assert!(long_ago.is_empty(), "it was refused since");
    }

    #[test]
    fn the_runtimes_own_words_are_not_written_again() {
        let event = Event::AccountResumed { account: name() };
        let record = |by: Actor| Record { n: 1, at: 5, by, req: None, event: event.clone() };
        assert!(Word::of(&record(Actor::Runtime)).is_none());
        assert!(matches!(Word::of(&record(Actor::Person)), Some((_, Word::Resumed(5)))));
    }

    #[test]
    fn whoever_finds_the_file_locked_writes_later_and_nothing_is_written_through_a_link() {
        let folder = std::env::temp_dir().join(format!("shipmate-ledger-{}", std::process::id()));
        let (now, account) = (wall_ms(), name());
        let word = |until: u64| Word::Refused(refused(now, until, true));
        let held = lock(&folder, &account, FlockOperation::LockExclusive).unwrap();
        let first = keep(folder.clone(), &account, word(now + 60_000)).expect("it waits");
        assert!(keep(folder.clone(), &account, word(now + 90_000)).is_none(), "behind the first");
        assert_eq!(read(&folder, &account), None);
        drop(held);
        first.join().unwrap();
        let parked = || read(&folder, &account).and_then(|entry| entry.parked);
        assert_eq!(parked(), Some(refused(now, now + 90_000, true)));

        let others = folder.join("others");
        fs::write(&others, "theirs").unwrap();
        let fresh = folder.join(format!(".claude-1.{}.new", std::process::id()));
        std::os::unix::fs::symlink(&others, &fresh).unwrap();
        assert!(keep(folder.clone(), &account, Word::Resumed(now)).is_none());
        assert_eq!(fs::read_to_string(&others).unwrap(), "theirs");
        assert_eq!(parked(), None);
        fs::write(folder.join("claude-1.json"), "no JSON").unwrap();
        assert_eq!(read(&folder, &account), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
