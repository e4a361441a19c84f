//! What holds on every screen: it is accessible in light, in dark and on a phone, it fits, it is
//! worked by keys alone, and a picture of it can be taken.

use std::path::PathBuf;

use shipmate_testkit::browser::{Finding, Page};

use crate::cast::assemble;
use crate::scene::{Scene, seated, task};

/// Where pictures are kept; set by `cargo xtask shots`.
const SHOTS: &str = "SHIPMATE_SHOTS";

/// Each screen, its address, and what is there once it is ready.
const SCREENS: [(&str, &str, &str); 10] = [
    ("board", "board", "[data-task='2']"),
    ("graph", "graph", ".graph-row >> critical path"),
    ("team", "team", "[data-mate='alpha/dee'] >> now the handler"),
    ("teammate", "team/alpha/dee", "[role=log] >> now the handler"),
    ("messages", "messages", ".thread-row"),
    ("decisions", "decisions", ".queue-row"),
    ("timeline", "timeline", ".screen.timeline >> claims"),
    ("task", "task/2", ".gate-run >> green"),
    ("cost", "cost", ".cost-table >> cy"),
    ("notes", "notes", ".notes-page .empty"),
];

pub(crate) const LOOKS: [(&str, u32, u32, bool); 3] =
    [("light", 1280, 800, false), ("dark", 1280, 800, true), ("phone", 360, 740, false)];

/// Goes to every screen in every look.
fn everywhere(scene: &Scene, mut see: impl FnMut(&str, &str, &Page)) {
    for (look, width, height, dark) in LOOKS {
        scene.page.emulate(width, height, dark);
        for (name, route, ready) in SCREENS {
            scene.go(route);
            scene.page.see(ready);
            see(name, look, &scene.page);
        }
    }
}

pub(crate) fn serious(page: &Page) -> Vec<Finding> {
    page.axe().into_iter().filter(Finding::is_serious).collect()
}

#[test]
fn axe_has_nothing_serious_against_any_screen_and_none_is_wider_than_a_phone() {
    let scene = assemble();
    let mut found = Vec::new();
    everywhere(&scene, |name, look, page| {
        found.extend(serious(page).into_iter().map(|one| format!("{name} {look}: {one:#?}")));
        let (wide, has): (u32, u32) = page
            .eval("[document.documentElement.scrollWidth, document.documentElement.clientWidth]");
        if wide > has {
            found.push(format!("{name} {look}: it is {wide} wide, and there is room for {has}"));
        }
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn axe_has_nothing_serious_against_dialogs_the_past_and_what_is_empty() {
    let scene = assemble();
    let mut found = Vec::new();
    let mut look = |name: &str, page: &Page| {
        for dark in [false, true] {
            page.emulate(1280, 800, dark);
            found.extend(serious(page).into_iter().map(|one| format!("{name}: {one:#?}")));
        }
    };
    for (key, ready) in [("n", "dialog [name=subject]"), ("?", "dialog .keys")] {
        scene.go("board");
        scene.page.see("[data-task='2']");
        scene.page.key(key);
        scene.page.see(ready);
        look(key, &scene.page);
        scene.page.key("Escape");
        scene.page.see_none("dialog");
    }
    scene.page.click("[data-view=list]");
    scene.page.see(".list-row[data-task='2']");
    look("list", &scene.page);
    scene.go("timeline/20");
    scene.page.see(".past-row");
    look("past", &scene.page);
    for (route, row, ready) in
        [("messages", ".thread-row", ".message"), ("decisions", ".queue-row", ".decision h2")]
    {
        scene.page.emulate(360, 740, false);
        scene.go(route);
        scene.page.click(row);
        scene.page.see(ready);
        let found = serious(&scene.page);
        assert!(found.is_empty(), "{route} on a phone: {found:#?}");
    }
    let stranger = scene.browser.page_in_new_context();
    stranger.goto(scene.server.address());
    stranger.see(".empty >> no valid token");
    look("no key", &stranger);
    let empty = Scene::on(seated(&[]).0);
    for route in ["board", "graph", "team", "messages", "decisions", "timeline", "cost"] {
        empty.go(route);
        empty.page.see(".empty, .screen h1");
        look(&format!("empty {route}"), &empty.page);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

pub(crate) fn shots_folder(scene: &Scene) -> PathBuf {
    let kept = std::env::var_os(SHOTS).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    kept.unwrap_or_else(|| scene.browser.folder().to_owned())
}

#[test]
fn a_picture_of_every_screen_is_taken_in_every_look() {
    let scene = assemble();
    let folder = shots_folder(&scene);
    let (mut count, mut bytes) = (0, 0);
    everywhere(&scene, |name, look, page| {
        let path = folder.join(format!("{name}-{look}.png"));
        page.screenshot(&path);
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size > 5_000, "{name} {look} is nearly empty: {size} bytes");
        (count, bytes) = (count + 1, bytes + size);
    });
    assert_eq!(count, SCREENS.len() * LOOKS.len());
    assert!(bytes < 3_000_000, "{bytes} bytes are too many for a repository");
}

#[test]
fn a_team_is_led_by_keys_alone() {
    let (mut stage, _seats) = seated(&["ana"]);
    stage.create(vec![task("Write the parser")]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    page.see("[data-task='1']");
    page.key("n");
    page.see("dialog [name=subject]");
    page.type_text("Write the manual");
    page.key("Enter");
    page.see("[data-task='2'] >> Write the manual");
    page.see_none("dialog");

    // Down to the last one, and edit it there.
    page.key("j");
    page.key("j");
    page.key("j");
    page.wait_for("document.activeElement.closest('[data-task]')?.dataset.task === '2'");
    page.key("e");
    page.see("dialog [name=subject]");
    page.key("Control+a");
    page.type_text("Write the guide");
    page.key("Enter");
    page.see("[data-task='2'] >> Write the guide");
    page.see_none("dialog");
    assert_eq!(scene.task(2)["subject"], "Write the guide");

    page.key("a");
    page.see("dialog select");
    page.type_text("ana");
    page.key("Control+Enter");
    page.see("[data-task='2'] >> for ana");
    assert_eq!(scene.task(2)["assignee"], "ana");

    page.key("Enter");
    page.see("h1 >> Write the guide");
    page.key("Escape");
    page.see("section[aria-label=Board]");
    page.key("?");
    page.see("dialog >> new task");
    // Keys rest while a dialog is open.
    page.key("5");
    page.see("dialog >> new task");
    page.key("Escape");
    page.see_none("dialog");
    for (key, screen) in [
        ("2", "Graph"),
        ("3", "Team"),
        ("4", "Messages"),
        ("5", "Decisions"),
        ("6", "Timeline"),
        ("7", "Cost"),
        ("1", "Board"),
    ] {
        page.key(key);
        page.see(&format!("section[aria-label={screen}]"));
        page.see(&format!("nav [aria-current=page] >> {screen}"));
    }
    let dark = "document.documentElement.dataset.theme";
    page.key("t");
    assert_eq!(page.wait_for(dark), "dark");
    page.key("t");
    assert_eq!(page.wait_for(&format!("{dark} === 'light' && {dark}")), "light");
}

#[test]
fn the_focus_is_seen_wherever_it_goes() {
    let scene = assemble();
    for (name, route, ready) in SCREENS {
        scene.go(route);
        let page = &scene.page;
        page.see(ready);
        for _ in 0..20 {
            page.key("Tab");
            let seen: (bool, String) = page.eval(
                "const e = document.activeElement, s = getComputedStyle(e);
                 const ring = (s) => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0
                   || s.boxShadow !== 'none';
                 [e === document.body || ring(s) || ring(getComputedStyle(e.parentElement)),
                  e.outerHTML.slice(0, 200)]",
            );
            assert!(seen.0, "{name}: no focus is seen on {}", seen.1);
        }
    }
}
