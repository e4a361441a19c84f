//! What the records say about teammates: their lives, and who takes nothing any more.

use shipmate_model::event::{Loss, Outcome, Supervision};
use shipmate_model::{Actor, Address, Record};
use shipmate_protocol::view::{PauseKind, PauseView};

use super::{Account, BROKEN, EventKind, Told, first_line, health, step};

impl Account {
    pub(super) fn set_mate(&mut self, name: &str, word: &'static str) {
        let mate = self.mates.entry(name.to_owned()).or_default();
        (mate.word, mate.since_ms) = (word, self.now_ms);
    }

    pub(super) fn mate_started(&mut self, who: &Address, supervision: Supervision) -> Told {
        let name = self.name(who);
        let plans = self.led.plans(&name);
        self.set_mate(&name, if plans { "plans" } else { "idle" });
        let mate = self.mates.get_mut(&name)?;
        mate.running = true;
        mate.by_hand = supervision == Supervision::None;
        mate.lives += 1;
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

    pub(super) fn mate_disappeared(&mut self, name: &str, reason: &str, loss: Loss) -> Told {
        self.set_mate(name, "gone");
        self.mates.get_mut(name)?.running = false;
        self.disappeared += 1;
        let why = first_line(reason);
        self.deviation(
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

    pub(super) fn mate_stopped(&mut self, name: &str, outcome: &Outcome) -> Told {
        self.set_mate(name, "stopped");
        self.mates.get_mut(name)?.running = false;
        if self.asked.extract_if(.., |_, (who, _)| *who == name).next().is_some() {
            let told = format!(
                "[SHUTDOWN] Protocol failed, force-proceeding with cleanup. {name} ended without \
                 an answer"
            );
            return self.deviation(None, told);
        }
        if *outcome == Outcome::Clean {
            return None;
        }
        self.deviation(None, format!("{name} did not stop cleanly: {outcome}"))
    }

    pub(super) fn mate_paused(&mut self, record: &Record, who: &Address, reason: &str) -> Told {
        let (name, reason) = (self.name(who), first_line(reason));
        self.set_mate(&name, "paused");
        let told = match &record.by {
            Actor::Teammate(by) if by.address == *who => format!("{name} takes no more: {reason}"),
            Actor::Teammate(by) => {
                format!("{} has paused {name}: {reason}", self.name(&by.address))
            }
            Actor::Person | Actor::Runtime | Actor::Outside => {
                format!("{name} is paused: {reason}")
            }
        };
        let spent = PauseView::of_record(record)?.kind == PauseKind::Budget;
        let mate = self.mates.get_mut(&name)?;
        (mate.paused, mate.spent) = (true, spent);
        if spent {
            self.deviates(None, &told);
        }
        health(told)
    }

    pub(super) fn mate_continued(&mut self, name: &str) -> Told {
        self.set_mate(name, "idle");
        let mate = self.mates.get_mut(name)?;
        (mate.paused, mate.spent) = (false, false);
        health(format!("{name} goes on"))
    }
}
