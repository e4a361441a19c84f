//! What the records say about teammates: their lives, and who takes nothing any more.

use shipmate_model::account::{SAME_RESET_MS, Window, moment};
use shipmate_model::event::{Loss, Outcome, Supervision};
use shipmate_model::pause::{Pause, PauseCause};
use shipmate_model::usage::Usage;
use shipmate_model::{Actor, Address, Name, Record};
use shipmate_protocol::view::AccountView;

use super::super::progress::{self, EventText};
use super::super::spent::Spent;
use super::{Account, BROKEN, EventKind, FullAccount, MateLine, first_line, health, step};

impl Account {
    pub(super) fn set_mate(&mut self, name: &str, word: &'static str) -> &mut MateLine {
        let mate = self.mates.entry(name.to_owned()).or_default();
        (mate.word, mate.since_ms) = (word, self.now_ms);
        mate
    }

    pub(super) fn mate_started(&mut self, who: &Address, supervision: Supervision) -> EventText {
        let name = self.name(who);
        let plans = self.led.plans(&name);
        let mate = self.set_mate(&name, if plans { "plans" } else { "idle" });
        mate.running = true;
        mate.by_hand = supervision == Supervision::None;
        mate.lives += 1;
        mate.used.values_mut().for_each(Spent::settle);
        match (supervision, mate.lives) {
            // Asked for, in task mode or by its role: nothing has failed.
            (Supervision::OneShot, _) if !self.open_breakers.contains(&who.team) => {
                step(format!("{name} runs as a one-shot agent"))
            }
            (Supervision::OneShot, _) => {
                let text = format!("{BROKEN}: switching from teammate to task for {name}");
                Some((EventKind::Fallback, text))
            }
            (_, 1) if plans => step(format!("{name} reads the repository and makes a plan")),
            (_, 1) => step(format!("{name} starts")),
            (_, n) => health(format!("{name} starts again, life {n}")),
        }
    }

    pub(super) fn mate_disappeared(&mut self, name: &str, reason: &str, loss: Loss) -> EventText {
        self.set_mate(name, "gone").running = false;
        self.disappeared += 1;
        let why = first_line(reason);
        self.tell_deviation(
            None,
            match loss {
                // A key, a program, an address: nobody vanished.
                Loss::Unable => format!("{name} cannot work: {why}"),
                _ if shipmate_model::old::is_silence(loss, reason) => {
                    let seconds = self.answer_ms / 1000;
                    format!("[HEALTH] Agent {name} disappeared after {seconds}s timeout.")
                }
                _ => format!("[HEALTH] Agent {name} disappeared: {why}"),
            },
        )
    }

    pub(super) fn mate_stopped(&mut self, name: &str, outcome: &Outcome) -> EventText {
        self.set_mate(name, "stopped").running = false;
        if self.shutdowns.extract_if(.., |_, (who, _)| *who == name).next().is_some() {
            let text = format!(
                "[SHUTDOWN] Protocol failed, force-proceeding with cleanup. {name} ended without \
                 an answer"
            );
            return self.tell_deviation(None, text);
        }
        if *outcome == Outcome::Clean {
            return None;
        }
        self.tell_deviation(None, format!("{name} did not stop cleanly: {outcome}"))
    }

    pub(super) fn mate_paused(
        &mut self,
        record: &Record,
        who: &Address,
        reason: &str,
    ) -> EventText {
        let (name, reason) = (self.name(who), first_line(reason));
        let text = match &record.by {
            Actor::Teammate(by) if by.address == *who => format!("{name} takes no more: {reason}"),
            Actor::Teammate(by) => {
                format!("{} has paused {name}: {reason}", self.name(&by.address))
            }
            Actor::Person | Actor::Runtime | Actor::Outside => {
                format!("{name} is paused: {reason}")
            }
        };
        let spent = Pause::of_record(record)?.cause == PauseCause::Budget;
        let mate = self.set_mate(&name, "paused");
        (mate.paused, mate.spent) = (true, spent);
        if spent {
            self.add_deviation(None, &text);
        }
        health(text)
    }

    /// It holds nothing any more.
    pub(super) fn is_free(&mut self, name: &str) {
        let account = self.mates.get(name).and_then(|mate| mate.account.as_ref());
        let is_parked = account.is_some_and(|account| self.has_no_room(account));
        self.set_mate(name, if is_parked { "parked" } else { "idle" });
    }

    /// Accounts without room, with until when.
    pub(super) fn without_room(&self) -> impl Iterator<Item = (&Name, u64)> {
        let full = self.full.iter().filter(|(account, _)| !self.refused.contains_key(*account));
        let full = full.map(|(account, full)| (account, full.until));
        self.refused.iter().map(|(account, until)| (account, *until)).chain(full)
    }

    pub(super) fn has_no_room(&self, account: &Name) -> bool {
        self.refused.contains_key(account) || self.full.contains_key(account)
    }

    pub(super) fn account_parked(&mut self, account: &Name, until: u64, reason: &str) -> EventText {
        let had_room = !self.has_no_room(account);
        self.refused.insert(account.clone(), until);
        self.describe_no_room(account, had_room, until, reason)
    }

    /// What the coordinator says of all accounts; gives what a person should hear of it.
    pub(crate) fn see_accounts(&mut self, accounts: &[AccountView]) -> Vec<progress::Event> {
        let mut texts = Vec::new();
        for view in accounts {
            let Ok(account) = view.name.parse::<Name>() else { continue };
            let (Some(why), Some(until)) = (&view.held, view.held_until) else {
                if self.full.remove(&account).is_some() {
                    texts.extend(self.describe_room(&account));
                }
                continue;
            };
            let had_room = !self.has_no_room(&account);
            let full = FullAccount { until, closed: view.closed };
            let before = self.full.insert(account.clone(), full);
            if had_room || before.is_some_and(|before| before.until != until) {
                texts.extend(self.describe_no_room(&account, had_room, until, why));
            }
        }
        let event = |(kind, text)| progress::Event { at_ms: self.now_ms, kind, text, tally: None };
        texts.into_iter().map(event).collect()
    }

    fn describe_no_room(
        &mut self,
        account: &Name,
        had_room: bool,
        until: u64,
        reason: &str,
    ) -> EventText {
        if had_room {
            self.parked_at.insert(account.clone(), self.now_ms);
        }
        for name in self.on_account(account) {
            self.set_mate(&name, "parked");
        }
        let text = format!(
            "account {account} has no room until {}: {}; its teammates are parked, nothing has failed{}",
            moment(until),
            first_line(reason),
            match self.caps.unwrap_or_default().resumes {
                true => "",
                false => "; `shipmate account resume` lets them go on",
            }
        );
        if had_room {
            self.add_deviation(None, &text);
        }
        health(text)
    }

    /// A window that was full is so until it is reset. Whether another one is now, the coordinator says.
    pub(super) fn account_told(
        &mut self,
        by: &Actor,
        account: &Name,
        windows: &[Window],
    ) -> EventText {
        self.moved.entry(account.clone()).or_default().told(windows, by);
        let until = self.full.get(account)?.until;
        let is_same = |reset: u64| reset.abs_diff(until) <= SAME_RESET_MS;
        if windows.iter().filter_map(|window| window.resets_at).any(is_same) {
            return None;
        }
        self.full.remove(account);
        self.describe_room(account)
    }

    pub(super) fn account_resumed(&mut self, account: &Name) -> EventText {
        let was_refused = self.refused.remove(account).is_some();
        let was_full = self.full.remove(account).is_some();
        (was_refused || was_full).then(|| self.describe_room(account)).flatten()
    }

    fn describe_room(&mut self, account: &Name) -> EventText {
        if self.has_no_room(account) {
            return None;
        }
        let at = self.parked_at.remove(account).unwrap_or(self.now_ms);
        *self.parked_ms.entry(account.clone()).or_default() += self.now_ms.saturating_sub(at);
        for name in self.on_account(account) {
            self.set_mate(&name, "idle");
        }
        health(format!("account {account} has room again: its teammates go on"))
    }

    /// Those of them who hold nothing.
    fn on_account(&self, account: &Name) -> Vec<String> {
        let own = |mate: &MateLine| mate.account.as_ref() == Some(account) && mate.held.is_empty();
        let own = self.mates.iter().filter(|(_, mate)| mate.running && own(mate));
        own.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn mate_used(&mut self, name: &str, usage: &Usage) {
        let mate = self.mates.entry(name.to_owned()).or_default();
        mate.used.entry(mate.account.clone()).or_default().add(usage);
    }

    pub(super) fn mate_continued(&mut self, name: &str) -> EventText {
        let mate = self.set_mate(name, "idle");
        (mate.paused, mate.spent) = (false, false);
        health(format!("{name} goes on"))
    }
}
