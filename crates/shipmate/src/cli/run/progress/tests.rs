//! How a run looks, at every size.

use super::*;

fn event(kind: EventKind, text: &str, tally: Option<(usize, usize)>) -> Event {
    Event { at_ms: 43_381_000, kind, text: text.to_owned(), tally }
}

fn row(name: &str, state: &'static str, task: Option<(u32, &str)>, secs: u64, said: &str) -> Row {
    Row {
        name: name.to_owned(),
        state_word: state,
        task: task.map(|(id, subject)| (id, subject.to_owned())),
        since_ms: secs * 1000,
        last_words: said.to_owned(),
        tasks_done: 2,
    }
}

fn waiting(id: u64) -> Waiting {
    Waiting {
        id,
        what: format!("plan {id} of ana\nin many lines"),
        command: format!("plan approve {id}"),
        instead: format!("plan reject {id} \"what to change\""),
        calls: true,
        ..Waiting::default()
    }
}

fn phase(name: &str, state: &str, round: u32, why: &str) -> PhaseView {
    let [name, why] = [name, why].map(str::to_owned);
    PhaseView { name, state: state.parse().unwrap(), round, why, ..PhaseView::default() }
}

fn view() -> RunView {
    RunView {
        title: "Add search".to_owned(),
        team: "search".to_owned(),
        here: String::new(),
        phase: None,
        phases: Vec::new(),
        tasks: TaskCounts {
            done: 4,
            in_progress: 2,
            submitted: 1,
            available: 1,
            blocked: 3,
            failed: 1,
            total: 12,
        },
        teammates: vec![
            row("ana", "active", Some((5, "Write the parser of queries")), 130, "cargo test …"),
            row("bo", "idle", None, 7, ""),
        ],
        critical_path: (300_000, 725_000),
        gate: Some("testing 2 submissions on top of 1f3a9c0".to_owned()),
        stopping: None,
        waiting: vec![waiting(12)],
        link: None,
        events: vec![event(EventKind::Step, "task 3 completed (ana)", Some((4, 12)))],
    }
}

fn live(width: usize, rows: usize, unicode: bool) -> Live {
    Live::new(Screen::of_width(Some(width)), rows, unicode).unwrap()
}

fn drawn(live: &mut Live, view: &RunView) -> String {
    let mut out = Vec::new();
    live.draw(&mut out, view).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_table_says_where_a_run_stands() {
    assert_eq!(
        drawn(&mut live(80, 24, true), &view()),
        "\
Add search  team search
tasks  ██████▒▒▒▒▒░░░░░░░░░  4/12 done  1 failed, 2 in progress, 1 submitted, 1…
path   ████████░░░░░░░░░░░░  5m00s of 12m05s
gate   testing 2 submissions on top of 1f3a9c0
NAME  STATE   DONE     FOR  TASK                        LAST WORDS
ana   active     2   2m10s  5 Write the parser of que…  cargo test …
bo    idle       2      7s  -
waits for you: plan 12 of ana
  shipmate --team search plan approve 12   or: plan reject 12 \"what to change\"
12:03:01 task 3 completed (ana) 4/12
"
    );
}

#[test]
fn a_narrow_terminal_without_unicode_gets_letters_only() {
    let text = drawn(&mut live(60, 24, false), &view());
    assert!(text.is_ascii(), "{text}");
    assert_eq!(
        text,
        "\
Add search  team search
tasks  ####===.....  4/12 done  1 failed, 2 in progress, 1 ~
path   ####........  5m00s of 12m05s
gate   testing 2 submissions on top of 1f3a9c0
NAME  STATE   DONE     FOR  TASK
ana   active     2   2m10s  5 Write the parser of queries
bo    idle       2      7s  -
waits for you: plan 12 of ana
  shipmate --team search plan approve 12
12:03:01 task 3 completed (ana) 4/12
"
    );
}

#[test]
fn a_table_is_drawn_over_the_last_one_and_what_must_stay_stands_above_it() {
    let mut live = live(80, 24, true);
    let first = drawn(&mut live, &view());
    let events = vec![
        event(EventKind::Fallback, "no terminal for bo: one-shot agent", None),
        event(EventKind::Health, "bo disappeared\x1b[2J", None),
    ];
    let second = drawn(&mut live, &RunView { events, ..view() });
    let up = format!("\x1b[{}A\r\x1b[J", first.lines().count());
    let rest = second.strip_prefix(&up).unwrap();
    let (above, table) = rest.split_at(rest.find("Add search").unwrap());
    assert_eq!(
        above,
        "12:03:01 [FALLBACK] no terminal for bo: one-shot agent\n\
         12:03:01 bo disappeared\\x1b[2J\n"
    );
    assert_eq!(table, first);
    let mut out = Vec::new();
    live.clear(&mut out).unwrap();
    assert_eq!(out, up.as_bytes());
    live.clear(&mut out).unwrap();
    assert_eq!(out.len(), up.len(), "there is nothing left to take away");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_table_higher() {
    let mut view = view();
    view.title = "漢字 ".repeat(60);
    view.team = "t".repeat(64);
    view.gate = Some("g".repeat(300));
    view.waiting = (0..9).map(|id| Waiting { what: "w".repeat(200), ..waiting(id) }).collect();
    let phases = (0..30).map(|_| phase(&"p".repeat(30), "waits", 7, "for all"));
    view.phases = vec![(None, phases.collect())];
    view.teammates = (0..200)
        .map(|n| row(&format!("name-{n:060}"), "disappeared", Some((n, "漢字漢字")), 9, "x\ny"))
        .collect();
    view.teammates[3].last_words = "words ".repeat(90);
    for (width, rows) in [(60, 10), (61, 12), (79, 24), (80, 24), (200, 60), (500, 10)] {
        for unicode in [true, false] {
            let text = drawn(&mut live(width, rows, unicode), &view);
            assert!(text.lines().count() < rows, "{width}x{rows}:\n{text}");
            for line in text.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }
    let text = drawn(&mut live(100, 40, true), &view);
    assert!(text.contains("more: shipmate teammate list"), "{text}");
    assert!(text.contains("waits for you: 6 more"), "{text}");
    let empty = drawn(&mut live(80, 10, true), &RunView::default());
    assert!(empty.contains("tasks  ░░░░░░░░░░░░░░░░░░░░  0/0 done\n"), "{empty}");
}

#[test]
fn without_a_terminal_there_is_a_line_per_event() {
    assert!(Live::new(Screen::of_width(None), 24, true).is_none());
    assert!(Live::new(Screen::of_width(Some(59)), 24, true).is_none());
    let mut view = view();
    view.events.push(event(EventKind::Fallback, "no teammate could be started", None));
    let mut out = Vec::new();
    write_plain(&mut out, &view.events).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "12:03:01 task 3 completed (ana) 4/12\n\
         12:03:01 [FALLBACK] no teammate could be started\n"
    );
}

#[test]
fn the_first_locale_that_is_set_decides_about_unicode() {
    for (vars, unicode) in [
        (vec![("LANG", "de_DE.UTF-8")], true),
        (vec![("LANG", "C.utf8")], true),
        (vec![("LANG", "C")], false),
        (vec![], false),
        (vec![("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], false),
        (vec![("LC_ALL", ""), ("LANG", "en_US.UTF-8")], true),
    ] {
        let get = |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(is_unicode(get), unicode, "{vars:?}");
    }
}

#[test]
fn phases_are_told_with_their_state_their_round_and_what_they_wait_for() {
    let own = vec![
        phase("contracts", "done", 1, "all there"),
        phase("layers", "runs", 2, "waits: docs/api.md is not there\nand more"),
        phase("review", "ahead", 0, ""),
    ];
    let backend = vec![
        phase("design", "skipped", 0, "small"),
        phase("build", "waits", 1, "frontend is at work on src/shared.rs"),
    ];
    let phases = vec![(None, own), (Some("backend".to_owned()), backend)];
    let text = drawn(&mut live(80, 24, true), &RunView { phases, ..view() });
    let told = "\
phases contracts done, layers runs (round 2), review ahead
       layers runs: waits: docs/api.md is not there
backend design skipped, build waits
       build waits: frontend is at work on src/shared.rs
";
    assert!(text.contains(told), "{text}");
    let many =
        (0..12).map(|n| phase(&format!("p{n}"), if n < 10 { "done" } else { "ahead" }, 1, ""));
    let phases = vec![(None, many.collect())];
    let text = drawn(&mut live(80, 24, true), &RunView { phases, ..view() });
    assert!(text.contains("phases 10 done, p10 ahead, p11 ahead\n"), "{text}");
}

#[test]
fn a_command_that_does_not_fit_goes_on_in_the_next_line_and_loses_nothing() {
    let here = format!(" --workspace /srv/{}", "deep/".repeat(12));
    let mut view = RunView { here: here.clone(), ..view() };
    view.waiting[0].team = Some("backend".to_owned());
    let text = drawn(&mut live(80, 24, true), &view);
    let whole = text.replace(" \\\n ", "");
    let command = format!("  shipmate{here} --team backend plan approve 12");
    assert!(whole.contains(&command), "{text}");
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
}

#[test]
fn the_link_is_whole_or_opens_whole() {
    let link = format!("http://127.0.0.1:41234/#token={}", "a".repeat(64));
    let view = RunView { link: Some(link.clone()), ..view() };
    let text = drawn(&mut live(120, 24, true), &view);
    assert!(text.contains(&format!("\npage   {link}\n")), "{text}");
    let text = drawn(&mut live(80, 24, true), &view);
    assert!(text.contains(&format!("\npage   \x1b]8;;{link}\x1b\\http://127")), "{text}");
    assert!(text.lines().all(|line| visible(line) <= 80), "{text}");
}

#[test]
fn a_table_in_a_narrower_terminal_is_taken_away_with_the_rows_it_was_wrapped_into() {
    let mut live = live(120, 40, true);
    let first = drawn(&mut live, &view());
    live.resize(50, 40);
    let second = drawn(&mut live, &view());
    let wrapped: usize = first.lines().map(|line| columns(line).div_ceil(50).max(1)).sum();
    assert!(wrapped > first.lines().count());
    assert!(second.starts_with(&format!("\x1b[{wrapped}A\r\x1b[J")), "{second:?}");
    assert!(second.lines().all(|line| visible(line) <= 50), "{second}");
    live.resize(50, 4);
    let third = drawn(&mut live, &view());
    assert!(third.starts_with("\x1b[3A\r\x1b[J"), "no further than the screen: {third:?}");
    assert_eq!(third.lines().count(), 3);
    live.resize(200, 60);
    let wide = drawn(&mut live, &view());
    assert!(wide.starts_with("\x1b[3A\r\x1b[J") && wide.contains("LAST WORDS"), "{wide}");
}
