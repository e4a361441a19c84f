//! A sign for a person who looks elsewhere: something waits for them, or the team is done.
//!
//! Only at a terminal, and once for each decision. The terminal gets its bell, and where notices
//! are asked for an escape that many show on the desktop and the others pass over; beside it
//! `notify-send` is called where there is a desktop. What a notice says is a peer's words: they come
//! without control characters, and as no markup.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::cli::screen::{Screen, cut, first_line, plain};
use crate::config::NotifyConfig;

const TITLE: &str = "shipmate";
const BODY_COLUMNS_MAX: usize = 200;

#[derive(Debug)]
pub(super) struct Notifier {
    how: NotifyConfig,
    escape: Escape,
    /// Decisions that were notified of.
    notified: BTreeSet<u64>,
}

/// The escape that a terminal is more likely to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Osc9,
    Osc777,
}

impl Escape {
    fn of_terminal(get: impl Fn(&str) -> Option<String>) -> Escape {
        let term = get("TERM").unwrap_or_default();
        let knows = get("VTE_VERSION").is_some_and(|version| !version.is_empty())
            || ["rxvt", "foot"].iter().any(|name| term.starts_with(name));
        if knows { Escape::Osc777 } else { Escape::Osc9 }
    }

    fn text(self, body: &str) -> String {
        match self {
            // Some take what begins with a number for a command.
            Escape::Osc9 => format!("\x1b]9;{TITLE}: {body}\x1b\\"),
            Escape::Osc777 => {
                format!("\x1b]777;notify;{TITLE};{}\x1b\\", body.replace(';', ","))
            }
        }
    }
}

impl Notifier {
    pub(super) fn new(how: NotifyConfig, screen: &Screen) -> Notifier {
        let is_terminal = screen.width.is_some() && !screen.json;
        Notifier {
            how: if is_terminal { how } else { NotifyConfig::Off },
            escape: Escape::of_terminal(|name| std::env::var(name).ok()),
            notified: BTreeSet::new(),
        }
    }

    /// Tells of a decision, the first time it is heard of.
    pub(super) fn waits(&mut self, out: &mut impl Write, id: u64, what: &str) -> io::Result<()> {
        match self.notified.insert(id) {
            true => self.notify(out, &format!("waits for you: {what}")),
            false => Ok(()),
        }
    }

    pub(super) fn notify(&self, out: &mut impl Write, body: &str) -> io::Result<()> {
        if self.how == NotifyConfig::Off {
            return Ok(());
        }
        let body = cut(&plain(first_line(body)), BODY_COLUMNS_MAX).into_owned();
        let mut text = "\x07".to_owned();
        if self.how == NotifyConfig::Desktop {
            text.push_str(&self.escape.text(&body));
            on_desktop(&body);
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// By whoever shows notices there. Where nobody does, the bell has to do.
fn on_desktop(body: &str) {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return;
    }
    let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut command = Command::new("notify-send");
    command.args(["--app-name", TITLE, "--", TITLE, &body]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The last notice may still be on its way when this command, or its terminal, has gone.
    command.process_group(0);
    if let Ok(mut child) = command.spawn() {
        // Waited for, so that it can be gone.
        std::thread::spawn(move || child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notifier(how: NotifyConfig, escape: Escape) -> Notifier {
        Notifier { how, escape, notified: BTreeSet::new() }
    }

    fn told(notifier: &mut Notifier, id: u64, what: &str) -> String {
        let mut out = Vec::new();
        notifier.waits(&mut out, id, what).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_decision_rings_once() {
        let mut bell = notifier(NotifyConfig::Bell, Escape::Osc9);
        assert_eq!(told(&mut bell, 7, "plan 7"), "\x07");
        assert_eq!(told(&mut bell, 7, "plan 7"), "");
        assert_eq!(told(&mut bell, 9, "question 9"), "\x07");
        let mut off = notifier(NotifyConfig::Off, Escape::Osc9);
        assert_eq!(told(&mut off, 7, "plan 7"), "");
    }

    #[test]
    fn a_notice_holds_nothing_that_drives_the_terminal() {
        let said = "question 3: a;b\x1b]0;x\x07\nmore";
        let mut nine = notifier(NotifyConfig::Desktop, Escape::Osc9);
        let shown = "waits for you: question 3: a;b\\x1b]0;x\\x07";
        assert_eq!(told(&mut nine, 3, said), format!("\x07\x1b]9;shipmate: {shown}\x1b\\"));
        let mut other = notifier(NotifyConfig::Desktop, Escape::Osc777);
        let shown = shown.replace(';', ",");
        let escape = format!("\x07\x1b]777;notify;shipmate;{shown}\x1b\\");
        assert_eq!(told(&mut other, 3, said), escape);
    }

    #[test]
    fn a_run_that_nobody_watches_at_a_terminal_tells_nobody() {
        let elsewhere = Notifier::new(NotifyConfig::Desktop, &Screen::of_width(None));
        assert_eq!(elsewhere.how, NotifyConfig::Off);
        let terminal = Notifier::new(NotifyConfig::Bell, &Screen::of_width(Some(80)));
        assert_eq!(terminal.how, NotifyConfig::Bell);
    }

    #[test]
    fn a_terminal_gets_the_escape_that_it_knows() {
        for (name, value, escape) in [
            ("TERM", "xterm-256color", Escape::Osc9),
            ("TERM", "foot", Escape::Osc777),
            ("TERM", "rxvt-unicode-256color", Escape::Osc777),
            ("VTE_VERSION", "7600", Escape::Osc777),
        ] {
            let get = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(Escape::of_terminal(get), escape, "{name}={value}");
        }
    }
}
