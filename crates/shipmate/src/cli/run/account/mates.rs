//! What the records say about teammates: their lives, and who takes nothing any more.

use shipmate_model::event::{Loss, Outcome, Supervision};
use shipmate_model::pause::{Pause, PauseCause};
use shipmate_model::{Actor, Address, Record};

use super::{Account, BROKEN, EventKind, EventText, MateLine, first_line, health, step};

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

    pub(super) fn mate_continued(&mut self, name: &str) -> EventText {
        let mate = self.set_mate(name, "idle");
        (mate.paused, mate.spent) = (false, false);
        health(format!("{name} goes on"))
    }
}
