//! What each key does where; `draw/help.rs` says the same in words.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::view::{Card, DecisionKind, DecisionView, TeammateState, TeammateView};

use super::{App, Page, Place, Said};
use crate::tui::form::{Form, Outcome};
use crate::tui::input::Input;
use crate::tui::list::{Scroll, Step};
use crate::tui::message::{Asked, Effect, Then};
use crate::tui::store::{address, decision_key};
use crate::tui::words::{Standing, name_of, options, seat_of, verdicts};

pub(super) fn key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        match key.code {
            KeyCode::Char('c') => return app.quit(),
            KeyCode::Char('z') => return vec![Effect::Suspend],
            KeyCode::Char('l') => return vec![Effect::Redraw],
            _ => {}
        }
    }
    if let Some(form) = &mut app.form {
        match form.key(key) {
            Outcome::Stays => {}
            Outcome::Closed => app.form = None,
            Outcome::Sent(asked) => {
                let form = app.form.take();
                app.said = None;
                return match form.as_ref().and_then(|form| form.decides.clone()) {
                    Some(key) => {
                        decide(app, key, *asked, form);
                        Vec::new()
                    }
                    None => app.ask(*asked),
                };
            }
        }
        return Vec::new();
    }
    if app.typing.is_some() {
        app.typed(key);
        return Vec::new();
    }
    if let Some(help) = &app.help {
        match step(key) {
            Some(step) => help.step(step),
            None => app.help = None,
        }
        return Vec::new();
    }
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return Vec::new();
    }
    if app.place == Place::Teams {
        return choosing(app, key);
    }
    anywhere(app, key)
}

fn step(key: KeyEvent) -> Option<Step> {
    Some(match key.code {
        KeyCode::Up | KeyCode::Char('k') => Step::Up,
        KeyCode::Down | KeyCode::Char('j') => Step::Down,
        KeyCode::PageUp => Step::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Step::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Step::First,
        KeyCode::End | KeyCode::Char('G') => Step::Last,
        _ => return None,
    })
}

/// The list of teams.
fn choosing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    if let Some(step) = step(key) {
        app.choice.step(step);
        return Vec::new();
    }
    match key.code {
        KeyCode::Enter => {
            let Some(root) = app.choice.selected().cloned() else { return Vec::new() };
            app.watch(root)
        }
        KeyCode::Char('q') => app.quit(),
        KeyCode::Char('?') => {
            app.help = Some(Scroll::default());
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn anywhere(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    if let Some(step) = step(key) {
        return moved(app, step);
    }
    if let KeyCode::Char(digit @ '1'..='9') = key.code {
        return digit_typed(app, digit);
    }
    // A key that is held down decides nothing more.
    let decides = matches!(key.code, KeyCode::Char('y' | 'd') | KeyCode::Enter);
    if app.place == Place::Decisions && decides && key.kind == KeyEventKind::Repeat {
        return Vec::new();
    }
    match key.code {
        KeyCode::Char('q') => return app.quit(),
        KeyCode::Char('?') => app.help = Some(Scroll::default()),
        KeyCode::Tab => app.go(app.place.next(1)),
        KeyCode::BackTab => app.go(app.place.next(Place::ALL.len() - 1)),
        KeyCode::Esc => return app.back(),
        KeyCode::Enter => return open(app),
        KeyCode::Char('/') if app.pages.is_empty() && app.place != Place::Decisions => {
            app.typing = Some(Input::of(&app.search));
        }
        KeyCode::Char('R') if app.over.is_some() => {
            return vec![Effect::Watch(app.watched.clone())];
        }
        KeyCode::Char(c) => return acted(app, c),
        _ => {}
    }
    Vec::new()
}

fn moved(app: &mut App, step: Step) -> Vec<Effect> {
    if let Some(page) = app.pages.last() {
        page.scroll().step(step);
        return Vec::new();
    }
    match app.place {
        Place::Teams => app.choice.step(step),
        Place::Board => app.board.step(step),
        Place::Team => app.team.step(step),
        Place::Decisions if app.is_past => app.decided.step(step),
        Place::Decisions => match step {
            // Whole pages are for the text of what is to be decided.
            Step::PageUp | Step::PageDown => app.detail.step(step),
            _ => {
                app.decisions.step(step);
                app.detail = Scroll::default();
            }
        },
        Place::Messages => {
            app.messages.step(step);
            let first = app.store.messages.keys().next().copied();
            if app.messages.at() == 0 && !app.all_messages {
                app.all_messages = true;
                return first.map(|before| Effect::OlderMessages { before }).into_iter().collect();
            }
        }
        Place::Log => {
            app.log.step(step);
            let first = app.store.lines.front().map(|line| line.n).filter(|n| *n > 1);
            if app.log.at() == 0 && !app.all_lines {
                app.all_lines = true;
                return first.map(|before| Effect::OlderLines { before }).into_iter().collect();
            }
        }
    }
    Vec::new()
}

/// A screen, or an option of the decision that is looked at.
fn digit_typed(app: &mut App, digit: char) -> Vec<Effect> {
    let number = digit as usize - '0' as usize;
    if app.place == Place::Decisions
        && app.pages.is_empty()
        && let Some(one) = decision(app)
        && (1..=options(one).len()).contains(&number)
    {
        app.marked = Some((decision_key(one), number - 1));
        return Vec::new();
    }
    if let Some((_, place, _)) = Place::ALL.iter().find(|(key, ..)| *key == digit) {
        let leaves_output = matches!(app.pages.last(), Some(Page::Teammate { .. }));
        app.go(*place);
        if leaves_output {
            return vec![Effect::Tail(None)];
        }
    }
    Vec::new()
}

fn open(app: &mut App) -> Vec<Effect> {
    if !app.pages.is_empty() {
        return Vec::new();
    }
    match app.place {
        Place::Board => {
            let id = app.board.selected().copied();
            id.map(|id| app.open_task(id)).unwrap_or_default()
        }
        Place::Team => {
            let address = app.team.selected().cloned();
            address.map(|address| app.open_teammate(address)).unwrap_or_default()
        }
        Place::Messages => {
            let row = app.messages.selected().and_then(|id| app.store.messages.get(id));
            if let Some(first) = row.map(|row| row.thread) {
                app.pages.push(Page::Thread { first, scroll: Scroll::default() });
            }
            Vec::new()
        }
        Place::Log => {
            let n = app.log.selected().copied();
            n.map(|n| app.open_record(n)).unwrap_or_default()
        }
        Place::Decisions if app.is_past => {
            let n = app.decided.selected().copied();
            n.map(|n| app.open_record(n)).unwrap_or_default()
        }
        Place::Decisions => answer(app),
        Place::Teams => Vec::new(),
    }
}

/// The decision that is looked at.
pub(in crate::tui) fn decision(app: &App) -> Option<&DecisionView> {
    if app.is_past {
        return None;
    }
    let key = app.decisions.selected()?;
    app.store.decisions.iter().find(|one| decision_key(one) == *key)
}

/// The task that keys act on.
pub(in crate::tui) fn task(app: &App) -> Option<&Card> {
    let id = match (app.pages.last(), app.place) {
        (Some(Page::Task { id, .. }), _) => *id,
        (None, Place::Board) => *app.board.selected()?,
        _ => return None,
    };
    app.store.cards.get(&id)
}

/// The teammate that keys act on.
pub(in crate::tui) fn mate(app: &App) -> Option<&TeammateView> {
    let address = match (app.pages.last(), app.place) {
        (Some(Page::Teammate { address, .. }), _) => address,
        (None, Place::Team) => app.team.selected()?,
        _ => return None,
    };
    app.store.teammates.get(address)
}

fn acted(app: &mut App, c: char) -> Vec<Effect> {
    match c {
        'n' => {
            let team = task(app).map_or(app.store.root.clone(), |card| card.team.clone());
            app.form = Some(Form::new_task(&team));
        }
        'm' => write(app),
        'N' => return app.open_notes(),
        'f' if app.place == Place::Board && app.pages.is_empty() => {
            app.filter = app.filter.next();
            app.list_all();
        }
        'e' | 'a' | 'x' | 'r' if task(app).is_some() => return on_task(app, c),
        'r' | 'p' | 's' if mate(app).is_some() => return on_mate(app, c),
        'o' => return open_owner(app),
        'p' | 'P' => return on_team(app, 'p'),
        's' | 'S' if app.place == Place::Board || c == 'S' => return on_team(app, 's'),
        'y' | 'd' if app.place == Place::Decisions => return decided(app, c),
        'u' if app.place == Place::Decisions => app.take_back(),
        's' if app.place == Place::Decisions => return app.send_now(),
        'h' if app.place == Place::Decisions && app.pages.is_empty() => app.is_past = !app.is_past,
        _ => {}
    }
    Vec::new()
}

fn on_task(app: &mut App, c: char) -> Vec<Effect> {
    let Some(card) = task(app).cloned() else { return Vec::new() };
    let (id, team) = (card.id, card.team.clone());
    match c {
        'e' => {
            let ask = Ask::TaskShow(verbs::TaskShow { task: id.to_string() });
            return app.ask(Asked { team: Some(team), ask, then: Then::Edit });
        }
        'a' => {
            let to = card.assignee.as_deref().map(seat_of).unwrap_or_default().to_owned();
            app.form = Some(Form::assign(id, &team, &to, &app.store.names()));
        }
        'x' => {
            let standing = Standing::of(&card);
            let is_held =
                matches!(standing, Standing::Claimed | Standing::Returned | Standing::Submitted);
            match card.owner.filter(|_| is_held) {
                Some(owner) => app.form = Some(Form::release(id, &team, name_of(&owner))),
                None => {
                    let why = format!("nobody has task {id}; only a task in progress is released");
                    app.said = Some(Said::Refused(why));
                }
            }
        }
        _ => {
            let said = format!("task {id} may be tried again");
            let ask = Ask::TaskRetry(verbs::TaskRetry { task: id.to_string() });
            return app.ask(Asked { team: Some(team), ask, then: Then::Say(said) });
        }
    }
    Vec::new()
}

fn on_mate(app: &mut App, c: char) -> Vec<Effect> {
    let Some(mate) = mate(app).cloned() else { return Vec::new() };
    let TeammateView { name, team, .. } = mate;
    let (ask, said) = match c {
        'p' if mate.state == TeammateState::Paused => (
            Ask::TeammateContinue(verbs::TeammateContinue { name: name.clone() }),
            format!("{name} goes on"),
        ),
        'p' => {
            app.form = Some(Form::pause(&team, &name));
            return Vec::new();
        }
        's' => {
            app.form = Some(Form::shutdown(&team, Some(&name), app.deadline_ms));
            return Vec::new();
        }
        _ => {
            let supervision = match mate.supervision {
                Supervision::OneShot => Supervision::OneShot,
                Supervision::None if mate.command.is_empty() && mate.agent.is_empty() => {
                    let why = format!("{name} is started by hand");
                    let remedy = format!("`shipmate teammate start {name}` gives it a token");
                    app.said = Some(Said::Refused(format!("{why}; {remedy}")));
                    return Vec::new();
                }
                _ => Supervision::Supervised,
            };
            let ask = Ask::TeammateStart(verbs::TeammateStart { name: name.clone(), supervision });
            (ask, format!("{name} begins a new life"))
        }
    };
    app.ask(Asked { team: Some(team), ask, then: Then::Say(said) })
}

fn on_team(app: &mut App, c: char) -> Vec<Effect> {
    let Some(team) = app.store.root_team().cloned() else { return Vec::new() };
    match c {
        // A phase begins with a yes to what is shown, and not by the way.
        'p' if team.awaits_approval() => {
            let said = "it waits for your yes: 5 shows what would begin".to_owned();
            app.said = Some(Said::Refused(said));
        }
        'p' if team.paused.is_some() => {
            let said = format!("team {} goes on", team.name);
            let then = Then::Say(said);
            return app.ask(Asked { team: Some(team.name), ask: Ask::TeamContinue, then });
        }
        'p' => app.form = Some(Form::pause_team(&team.name)),
        _ => app.form = Some(Form::shutdown(&team.name, None, app.deadline_ms)),
    }
    Vec::new()
}

/// Whoever has the task, or the task that a teammate has.
fn open_owner(app: &mut App) -> Vec<Effect> {
    if let Some(owner) = task(app).and_then(|card| card.owner.clone()) {
        let address = seat_of(&owner).to_owned();
        if app.store.teammates.contains_key(&address) {
            return app.open_teammate(address);
        }
    }
    let held = mate(app)
        .and_then(|mate| mate.holds.first().or(mate.returned.first()).or(mate.submitted.first()));
    match held.copied() {
        Some(id) => app.open_task(id),
        None => match decision(app).and_then(|one| one.task) {
            Some(id) if app.place == Place::Decisions => app.open_task(id),
            _ => Vec::new(),
        },
    }
}

/// Writes to whoever is looked at.
fn write(app: &mut App) {
    let root = app.store.root.clone();
    let names = app.store.names();
    let short = |who: &str| shipmate_protocol::view::words::short(seat_of(who), &root).to_owned();
    let latest_of = |first: u64| app.store.messages.values().rfind(|row| row.thread == first);
    let answered = match (app.pages.last(), app.place) {
        (Some(Page::Thread { first, .. }), _) => latest_of(*first),
        (None, Place::Messages) => {
            app.messages.selected().and_then(|id| app.store.messages.get(id))
        }
        _ => None,
    };
    if let Some(row) = answered.filter(|row| row.from != "runtime") {
        let to = match row.from.as_str() {
            "person" => row.to.first().map(|to| short(&to.to)).unwrap_or_default(),
            from => short(from),
        };
        app.form = Some(Form::send(&root, &to, Some(row.id), &names));
        return;
    }
    let to = mate(app).map(address);
    let to = to.or_else(|| task(app).and_then(|card| card.owner.clone()));
    let to = to.or_else(|| match app.place {
        Place::Decisions => decision(app).map(|one| one.who.clone()),
        _ => None,
    });
    app.form = Some(Form::send(&root, &to.map(|to| short(&to)).unwrap_or_default(), None, &names));
}

/// The decision that is looked at, if a frame has shown it: a key that came before decides nothing.
fn shown(app: &mut App) -> Option<DecisionView> {
    let one = decision(app).cloned();
    let is_seen = one.as_ref().map(decision_key) == *app.seen.borrow();
    match one {
        Some(one) if is_seen => Some(one),
        _ => {
            let waits = !app.decisions.keys().is_empty() && app.pages.is_empty() && !app.is_past;
            let said = waits.then(|| Said::Refused("look at one first: j or k".to_owned()));
            app.said = said.or(app.said.take());
            None
        }
    }
}

fn decided(app: &mut App, c: char) -> Vec<Effect> {
    let Some(one) = shown(app) else { return Vec::new() };
    let said = verdicts(&one);
    let word = if c == 'y' { said.yes } else { said.no };
    let (DecisionView { id, kind, team, .. }, Some(word)) = (&one, word) else {
        app.said = Some(Said::Refused(no_verdict(&one, c)));
        return Vec::new();
    };
    let (ask, told) = match (kind, c) {
        (DecisionKind::Plan, 'y') => {
            (Ask::PlanApprove(verbs::PlanApprove { plan: *id }), format!("plan {id} is approved"))
        }
        (DecisionKind::Approval, 'y') => (
            Ask::PhaseApprove(verbs::PhaseApprove { approval: *id }),
            format!("approved; team {team} goes on"),
        ),
        (_, 'd') if one.options.is_empty() => {
            app.form = Some(Form::deny(&one));
            return Vec::new();
        }
        _ => {
            let told = format!("{kind} {id} is answered: {word}");
            (Ask::Answer(verbs::QuestionAnswer { question: *id, answer: word }), told)
        }
    };
    let asked = Asked { team: Some(team.clone()), ask, then: Then::Say(told) };
    decide(app, decision_key(&one), asked, None);
    Vec::new()
}

/// Holds a decision back until it can be taken back no more.
fn decide(app: &mut App, key: String, asked: Asked, form: Option<Form>) {
    let said = match asked.then {
        Then::Say(said) => said,
        _ => String::new(),
    };
    let (what, then) = (said.clone(), Then::Decided { key: key.clone(), said });
    app.decide(key, what, Asked { then, ..asked }, form);
}

fn no_verdict(one: &DecisionView, c: char) -> String {
    match (one.kind, c) {
        (DecisionKind::Approval, _) => {
            "until it is approved the team stays where it is; S shuts it down".to_owned()
        }
        _ if one.options.is_empty() => "this needs words: Enter writes the answer".to_owned(),
        _ => "choose one: its number, then Enter".to_owned(),
    }
}

/// Decides for the option that is marked, or asks for words.
fn answer(app: &mut App) -> Vec<Effect> {
    let Some(one) = shown(app) else { return Vec::new() };
    let key = decision_key(&one);
    let marked = app.marked.as_ref().filter(|(of, _)| *of == key).map(|(_, at)| *at);
    if let Some(option) = marked.and_then(|at| options(&one).get(at).copied().cloned()) {
        let ask = Ask::Answer(verbs::QuestionAnswer { question: one.id, answer: option.clone() });
        let then = Then::Say(format!("{} {} is answered: {option}", one.kind, one.id));
        decide(app, key, Asked { team: Some(one.team), ask, then }, None);
        return Vec::new();
    }
    if one.kind == DecisionKind::Question && one.options.is_empty() {
        app.form = Some(Form::answer(&one));
    } else if options(&one).is_empty() {
        let said = verdicts(&one);
        let yes = said.yes.map(|yes| format!("y {yes}"));
        let keys: Vec<String> =
            yes.into_iter().chain(said.no.map(|no| format!("d {no}"))).collect();
        app.said = Some(Said::Refused(format!("say it with a key: {}", keys.join(", "))));
    } else {
        app.said = Some(Said::Refused("choose one: its number, then Enter".to_owned()));
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
