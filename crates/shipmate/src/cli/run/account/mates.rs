//! What the records say about teammates: their lives, and who takes nothing any more.

use serde_json::Value;
use shipmate_protocol::view::words::outcome_words;

use super::{Account, BROKEN, EventKind, SILENT, first_line, number, pause, text, who};

impl Account {
    pub(super) fn set_mate(&mut self, name: &str, word: &'static str, at: u64) {
        let mate = self.mates.entry(name.to_owned()).or_default();
        (mate.word, mate.since_ms) = (word, at);
    }

    pub(super) fn teammate(
        &mut self,
        event: &str,
        fields: &Value,
        record: &Value,
    ) -> Option<(EventKind, String)> {
        let at = number(record, "at");
        let name = who(self.phases.root(), fields, "who");
        let health = |text: String| Some((EventKind::Health, text));
        match event {
            "teammate.added" => {
                self.led.added(&name, fields);
                self.set_mate(&name, "waits", at);
                None
            }
            "teammate.started" => {
                let one_shot = text(fields, "supervision") == "one_shot";
                let team = text(fields, "who").split('/').next().unwrap_or_default().to_owned();
                let plans = self.led.plans(&name);
                self.set_mate(&name, if plans { "plans" } else { "idle" }, at);
                let mate = self.mates.get_mut(&name)?;
                mate.running = true;
                mate.by_hand = text(fields, "supervision") == "none";
                mate.lives += 1;
                let lives = mate.lives;
                match (one_shot, lives) {
                    (false, 1) if plans => {
                        let told = format!("{name} reads the repository and makes a plan");
                        Some((EventKind::Step, told))
                    }
                    // Asked for, in task mode or by its role: nothing has failed.
                    (true, _) if !self.open_breakers.contains(&team) => {
                        Some((EventKind::Step, format!("{name} runs as a one-shot agent")))
                    }
                    (true, _) => {
                        let text = format!("{BROKEN}: switching from teammate to task for {name}");
                        Some((EventKind::Fallback, text))
                    }
                    (false, 1) => Some((EventKind::Step, format!("{name} starts"))),
                    (false, n) => health(format!("{name} starts again, life {n}")),
                }
            }
            "teammate.disappeared" => {
                self.set_mate(&name, "gone", at);
                self.mates.get_mut(&name)?.running = false;
                self.disappeared += 1;
                let told = match (text(fields, "loss"), text(fields, "reason")) {
                    // A key, a program, an address: nobody vanished.
                    ("unable", reason) => format!("{name} cannot work: {}", first_line(reason)),
                    ("silent", _) | ("" | "died", SILENT) => {
                        let seconds = self.answer_ms / 1000;
                        format!("[HEALTH] Agent {name} disappeared after {seconds}s timeout.")
                    }
                    (_, reason) => {
                        format!("[HEALTH] Agent {name} disappeared: {}", first_line(reason))
                    }
                };
                self.deviates(None, &told);
                health(told)
            }
            "teammate.stopped" => {
                self.set_mate(&name, "stopped", at);
                self.mates.get_mut(&name)?.running = false;
                let asked = self.asked.extract_if(.., |_, (who, _)| *who == name).next();
                if asked.is_some() {
                    let told = format!(
                        "[SHUTDOWN] Protocol failed, force-proceeding with cleanup. {name} ended \
                         without an answer"
                    );
                    self.deviates(None, &told);
                    return health(told);
                }
                if fields.get("outcome").and_then(Value::as_str) == Some("clean") {
                    return None;
                }
                let told =
                    format!("{name} did not stop cleanly: {}", outcome_words(&fields["outcome"]));
                self.deviates(None, &told);
                health(told)
            }
            "teammate.paused" => {
                let reason = first_line(text(fields, "reason"));
                let pause = pause(record, fields)?;
                self.set_mate(&name, "paused", at);
                let by = self.phases.root().and_then(|root| pause.teammate(root));
                let told = match by {
                    Some(by) if by == name => format!("{name} takes no more: {reason}"),
                    Some(by) => format!("{by} has paused {name}: {reason}"),
                    None => format!("{name} is paused: {reason}"),
                };
                let mate = self.mates.get_mut(&name)?;
                (mate.paused, mate.spent) = (true, pause.kind == "budget");
                if mate.spent {
                    self.deviates(None, &told);
                }
                health(told)
            }
            "teammate.continued" => {
                self.set_mate(&name, "idle", at);
                let mate = self.mates.get_mut(&name)?;
                (mate.paused, mate.spent) = (false, false);
                health(format!("{name} goes on"))
            }
            "teammate.stalled" => match number(fields, "step") {
                0 => health(format!("{name} moves again")),
                n => health(format!("{name} makes no progress (warning {n})")),
            },
            _ => None,
        }
    }
}
