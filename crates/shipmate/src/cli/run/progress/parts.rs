//! The parts of the table: what is known of a run, in lines that fit.

use shipmate_protocol::view::{PhaseState, PhaseView};

use super::{Live, Row, RunView, Waiting};
use crate::cli::screen::{Paint, columns, cut, first_line, plain};
use crate::time::about;

const WAITING_MAX: usize = 3;
/// Lines about phases at most.
const PHASES_MAX: usize = 6;
/// Phases of a team that are behind it are only counted where there are more.
const PHASES_NAMED_MAX: usize = 8;

impl Live {
    pub(super) fn head(&self, view: &RunView) -> Vec<String> {
        let counts = &view.tasks;
        let phase = view.phase.as_ref().map(|phase| format!(", {phase}")).unwrap_or_default();
        let team = format!("  team {}{phase}", view.team);
        let room = self.width.saturating_sub(columns(&self.fit(&team, self.width / 2)));
        let title = self.screen.paint(Paint::Bold, &self.fit(&view.title, room));
        let mut lines = vec![format!("{title}{}", self.fit(&team, self.width / 2))];
        let words = [
            (counts.failed, "failed"),
            (counts.in_progress, "in progress"),
            (counts.submitted, "submitted"),
            (counts.available, "available"),
            (counts.blocked, "blocked"),
        ];
        let words: Vec<String> = words
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let busy = counts.in_progress + counts.submitted;
        let bar = self.bar(counts.done, busy, counts.total);
        let told = format!("{}/{} done  {}", counts.done, counts.total, words.join(", "));
        lines.push(self.labelled("tasks", &format!("{bar}  {told}")));
        let (done, total) = view.critical_path;
        if total > 0 {
            let bar = self.bar(done as usize, 0, total as usize);
            let [done, total] = [done, total].map(about);
            lines.push(self.labelled("path", &format!("{bar}  {done} of {total}")));
        }
        lines.extend(view.gate.as_ref().map(|gate| self.labelled("gate", &plain(gate))));
        lines.extend(view.stopping.as_ref().map(|left| {
            let left = if left.is_empty() { String::new() } else { format!(" {left}") };
            let line = self.fit(&format!("Stopping the team…{left}"), self.width);
            self.screen.paint(Paint::Busy, &line)
        }));
        lines.extend(view.link.as_ref().map(|link| self.page(link)));
        lines
    }

    /// Whole, or as a link that a terminal can open although it shows only the beginning.
    fn page(&self, link: &str) -> String {
        let line = self.labelled("page", link);
        match line.strip_prefix("page   ") {
            Some(shown) if !self.is_whole(link) => {
                format!("page   \x1b]8;;{}\x1b\\{shown}\x1b]8;;\x1b\\", plain(link))
            }
            _ => line,
        }
    }

    fn is_whole(&self, link: &str) -> bool {
        columns(link) + "page   ".len() <= self.width
    }

    /// A line for each team with the states of its phases, and what those that are not done wait
    /// for.
    pub(super) fn phases(&self, view: &RunView) -> Vec<String> {
        let mut lines = Vec::new();
        for (department, rows) in &view.phases {
            let label = department.as_deref().unwrap_or("phases");
            let behind =
                |row: &&PhaseView| matches!(row.state, PhaseState::Done | PhaseState::Skipped);
            let many = rows.len() > PHASES_NAMED_MAX;
            let counted = if many { rows.iter().take_while(behind).count() } else { 0 };
            let count = (counted > 0).then(|| format!("{counted} done"));
            let named = rows[counted..].iter().map(phase_words);
            let states: Vec<String> = count.into_iter().chain(named).collect();
            lines.push(self.labelled(label, &plain(&states.join(", "))));
            let open = rows.iter().filter(|row| !behind(row) && !row.why.is_empty());
            lines.extend(open.map(|row| {
                let line = format!("{} {}: {}", row.name, row.state, first_line(&row.why));
                self.labelled("", &plain(&line))
            }));
        }
        lines.truncate(PHASES_MAX);
        lines
    }

    fn labelled(&self, label: &str, text: &str) -> String {
        self.fit(&format!("{label:<6} {text}"), self.width).trim_end().to_owned()
    }

    /// What is done, what is under way, and the rest. Full only when everything is done.
    fn bar(&self, done: usize, busy: usize, total: usize) -> String {
        let width = if self.width < 80 { 12 } else { 20 };
        let signs = if self.unicode { ['█', '▒', '░'] } else { ['#', '=', '.'] };
        let cells = |amount: usize| (amount * width).checked_div(total).unwrap_or(0).min(width);
        let (full, half) = (cells(done), cells(done + busy));
        (0..width)
            .map(|cell| match cell {
                cell if cell < full => signs[0],
                cell if cell < half => signs[1],
                _ => signs[2],
            })
            .collect()
    }

    pub(super) fn teammates(&self, rows: &[Row], room: usize) -> Vec<String> {
        if rows.is_empty() || room < 2 {
            return Vec::new();
        }
        // The title takes a line, and so does the count of those that do not fit.
        let shown = if rows.len() < room { rows.len() } else { room - 2 };
        let widest = |of: fn(&Row) -> &str, title: &str, most: usize| {
            let cells = rows.iter().map(|row| columns(&plain(of(row))));
            cells.chain([title.len()]).max().unwrap_or(0).min(most)
        };
        let name = widest(|row| &row.name, "NAME", 14);
        let state = widest(|row| row.state_word, "STATE", 11);
        let left = self.width.saturating_sub(name + state + 6 + 4 + 4 * 2);
        // Two columns of a few letters each say less than one.
        let words = if left < 40 { 0 } else { left / 2 - 2 };
        let task = if words == 0 { left } else { left - words - 2 };
        let line = |cells: [&str; 6], paint: Paint| {
            let [who, is, done, since, on, said] = cells;
            let is = self.screen.paint(paint, &self.pad(is, state));
            let (who, on) = (self.pad(who, name), self.pad(on, task));
            let said = if words == 0 { String::new() } else { self.fit(said, words) };
            format!("{who}  {is}  {done:>4}  {since:>6}  {on}  {said}").trim_end().to_owned()
        };
        let titles = ["NAME", "STATE", "DONE", "FOR", "TASK", "LAST WORDS"];
        let mut lines = vec![line(titles, Paint::Plain)];
        for row in &rows[..shown] {
            let on = row.task.as_ref().map(|(id, subject)| format!("{id} {subject}"));
            let (done, since) = (row.tasks_done.to_string(), about(row.since_ms));
            let (on, said) = (on.as_deref().unwrap_or("-"), row.last_words.trim());
            let paint = if row.state_word == "paused" { Paint::Busy } else { Paint::Dim };
            lines.push(line([&row.name, row.state_word, &done, &since, on, said], paint));
        }
        if shown < rows.len() {
            lines.push(format!("and {} more: shipmate teammate list", rows.len() - shown));
        }
        lines
    }

    /// Each decision, and below it the command that decides it.
    pub(super) fn waiting(&self, view: &RunView) -> Vec<String> {
        let mut lines = Vec::new();
        for waits in view.waiting.iter().take(WAITING_MAX) {
            let line = format!("waits for you: {}", first_line(&waits.what));
            let line = self.fit(&line, self.width);
            lines.push(self.screen.paint(Paint::Busy, &line));
            lines.extend(self.command(view, waits));
        }
        if view.waiting.len() > WAITING_MAX {
            lines.push(format!("waits for you: {} more", view.waiting.len() - WAITING_MAX));
        }
        lines
    }

    /// What does not fit of a command goes on in the next line, as in a shell. Only a word that alone
    /// is wider than the terminal is cut.
    fn command(&self, view: &RunView, waits: &Waiting) -> Vec<String> {
        let team = waits.team.as_ref().unwrap_or(&view.team);
        let command = format!("shipmate{} --team {team} {}", view.here, waits.command);
        let command = self.ascii(&plain(&command));
        let width = self.width.saturating_sub(4).max(1);
        let mut lines = vec![String::new()];
        for word in command.split(' ') {
            let line = lines.last_mut().expect("there is a line from the beginning on");
            if !line.is_empty() && columns(line) + columns(word) + 3 > width {
                line.push_str(" \\");
                lines.push(word.to_owned());
            } else {
                let space = if line.is_empty() { "" } else { " " };
                line.push_str(&format!("{space}{word}"));
            }
        }
        let last = lines.last_mut().expect("there is a line from the beginning on");
        let instead = format!("   or: {}", plain(&waits.instead));
        if !waits.instead.is_empty() && columns(last) + columns(&instead) <= width {
            last.push_str(&self.ascii(&instead));
        }
        lines
            .into_iter()
            .map(|line| format!("  {}", self.fit(&line, self.width.saturating_sub(2))))
            .collect()
    }

    /// Text of others that fits, in characters that the terminal has.
    pub(super) fn fit(&self, text: &str, width: usize) -> String {
        let text = self.ascii(&plain(text));
        let fits = cut(&text, width);
        if self.unicode { fits.into_owned() } else { fits.replace('…', "~") }
    }

    fn pad(&self, text: &str, width: usize) -> String {
        let text = self.fit(text, width);
        let room = width.saturating_sub(columns(&text));
        text + &" ".repeat(room)
    }

    pub(super) fn ascii(&self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
    }
}

/// `layers runs (round 2)`
fn phase_words(row: &PhaseView) -> String {
    let round = if row.round > 1 { format!(" (round {})", row.round) } else { String::new() };
    format!("{} {}{round}", row.name, row.state)
}
