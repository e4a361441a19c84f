//! The driver of the browser, held to a page that is made for it: what it does arrives, what goes
//! wrong is told, and nothing is left when it is gone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use shipmate_testkit::browser::{Browser, Page};

const HTML: &str = r#"<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>A page</title>
<link rel="stylesheet" href="/a.css"><link rel="icon" href="data:,"><script src="/a.js" defer></script>
</head><body><main><h1>A page</h1><label>Name <input id="name"></label>
<button id="go">Go</button><button id="far">Far</button><p id="said" role="status"></p>
<div id="cover">cover</div></main></body></html>"#;

const CSS: &str = "body { background: #fff; color: #111; height: 4000px }
@media (prefers-color-scheme: dark) { body { background: #000; color: #eee } }
#far { position: absolute; top: 3000px } #cover { display: none }
#cover.on { display: block; position: fixed; inset: 0; background: #777; color: #777 }";

const JS: &str = "const said = document.querySelector('#said');
document.querySelector('#go').addEventListener('click', (e) => {
  const name = document.querySelector('#name').value;
  setTimeout(() => { said.textContent = `went ${name} ${e.isTrusted}`; }, 30);
});
document.querySelector('#far').addEventListener('click', () => { said.textContent = 'far'; });
addEventListener('keydown', (e) => {
  if (e.target === document.body) said.textContent = `key ${e.key}`;
});";

/// Serves the page until the test is over; its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(|| answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let first = lines.next()?;
    while !lines.next()?.is_empty() {}
    let (kind, text) = match first.split(' ').nth(1)? {
        "/" => ("text/html", HTML),
        "/a.css" => ("text/css", CSS),
        "/a.js" => ("text/javascript", JS),
        _ => ("text/plain", ""),
    };
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:";
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-security-policy: {policy}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
    .ok()
}

fn open() -> (Browser, Page) {
    let browser = Browser::start();
    let page = browser.page(&serve());
    (browser, page)
}

#[test]
fn a_page_is_driven_by_pointer_and_keys() {
    let (_browser, page) = open();
    page.key("j");
    assert_eq!(page.wait_for("text('#said')"), "key j");
    page.fill("#name", "wrong");
    page.fill("#name", "Ana é/?");
    page.click("button >> Go");
    page.see("#said >> went Ana é/? true");
    page.click("#far");
    assert_eq!(page.wait_for("text('#said') === 'far' && scrollY > 1000"), true);
    page.key("Escape");
    page.see_none("#cover");
    assert_eq!(page.console_errors(), [""; 0]);
}

#[test]
fn a_click_on_what_is_covered_does_not_happen() {
    let (_browser, page) = open();
    page.run("document.querySelector('#cover').classList.add('on')");
    page.be_impatient();
    let clicked = catch_unwind(AssertUnwindSafe(|| page.click("#go")));
    let told = clicked.unwrap_err().downcast::<String>().unwrap();
    assert!(told.contains("this did not come true: `spot(\"#go\")`"), "{told}");
    assert!(told.contains("the page shows: http://127.0.0.1"), "{told}");
}

#[test]
fn the_theme_and_the_size_are_what_was_asked_for() {
    let (browser, page) = open();
    let background = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(page.eval::<String>(background), "rgb(255, 255, 255)");
    page.emulate(360, 740, true);
    assert_eq!(page.eval::<String>(background), "rgb(0, 0, 0)");
    assert_eq!(page.eval::<u32>("innerWidth"), 360);
    let path = browser.folder().join("shot.png");
    page.screenshot(&path);
    let picture = std::fs::read(path).unwrap();
    let size = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert!(picture.starts_with(b"\x89PNG"));
    assert_eq!((size(16), size(20)), (360, 740));
    assert!(picture.len() > 500, "{}", picture.len());
}

#[test]
fn every_kind_of_error_is_told_once() {
    let (_browser, page) = open();
    page.run("console.error('said', 7); setTimeout(() => { throw new Error('thrown') })");
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1';
         document.body.append(s); fetch('/a.js').catch(() => 0)",
    );
    let errors = page.console_errors();
    let has = |part: &str| errors.iter().filter(|error| error.contains(part)).count();
    assert_eq!(has("console: said 7"), 1, "{errors:#?}");
    assert_eq!(has("not caught: Error: thrown"), 1, "{errors:#?}");
    assert_eq!(has("violates the following Content Security Policy directive"), 2, "{errors:#?}");
    assert!(!page.eval::<bool>("'ran' in window"));
    assert_eq!(page.console_errors(), [""; 0]);
}

#[test]
fn axe_finds_what_was_planted_and_nothing_else() {
    let (_browser, page) = open();
    let serious = |page: &Page| -> Vec<String> {
        page.axe().into_iter().filter(|f| f.is_serious()).map(|f| f.rule).collect()
    };
    assert_eq!(serious(&page), [""; 0]);
    page.run("document.querySelector('main').append(Object.assign(new Image(), {src: 'data:,'}))");
    assert_eq!(serious(&page), ["image-alt"]);
}

#[test]
fn memory_paint_and_frames_are_counted() {
    let (browser, page) = open();
    let metrics = page.metrics();
    assert!(metrics.heap_bytes > 100_000, "{metrics:?}");
    assert!(metrics.nodes > 10, "{metrics:?}");
    assert!(metrics.first_contentful_paint_ms > 0.0, "{metrics:?}");
    assert!(browser.memory_of_tabs() > 1_000_000);
    let frames = page.frames(|page| page.scroll("main", 2000.0));
    assert_eq!(page.eval::<u32>("scrollY"), 2000);
    // How many there are is up to the machine.
    assert!(frames.drawn > 0 && frames.longest_ms > 0.0, "{frames:?}");
}

#[test]
fn pages_of_two_contexts_share_nothing_and_pages_of_one_share_all() {
    let (browser, page) = open();
    let address = page.eval::<String>("location.href");
    page.run("localStorage.setItem('a', '1')");
    let stored = "localStorage.getItem('a')";
    assert_eq!(browser.page(&address).eval::<Option<String>>(stored).as_deref(), Some("1"));
    let other = browser.page_in_new_context();
    other.goto(&address);
    assert_eq!(other.eval::<Option<String>>(stored), None);
}

#[test]
fn a_name_that_rebinds_is_this_machine_and_every_other_is_unknown() {
    let (browser, page) = open();
    let port = page.eval::<String>("location.port");
    let rebound = browser.page(&format!("http://evil.example:{port}/"));
    assert_eq!(rebound.eval::<String>("location.hostname"), "evil.example");
    let unknown = catch_unwind(AssertUnwindSafe(|| page.goto("http://example.org/")));
    let told = unknown.unwrap_err().downcast::<String>().unwrap();
    assert!(told.contains("ERR_NAME_NOT_RESOLVED"), "{told}");
}

/// The processes and the folder of a browser that is gone.
fn left(pids: &[u32], folder: &Path) -> (Vec<u32>, bool) {
    let alive = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| !words.is_empty())
    };
    (pids.iter().copied().filter(alive).collect(), folder.exists())
}

#[test]
fn nothing_is_left_of_a_browser_that_was_dropped_or_of_a_test_that_failed() {
    let (browser, page) = open();
    let (pids, folder) = (browser.processes(), browser.folder().to_owned());
    assert!(pids.len() > 2, "{pids:?}");
    drop(page);
    drop(browser);
    assert_eq!(left(&pids, &folder), (vec![], false));

    let mut seen = (Vec::new(), PathBuf::new());
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let (browser, page) = open();
        seen = (browser.processes(), browser.folder().to_owned());
        page.run("not.there");
    }));
    let told = failed.unwrap_err().downcast::<String>().unwrap();
    assert!(told.contains("ReferenceError: not is not defined"), "{told}");
    assert_eq!(left(&seen.0, &seen.1), (vec![], false));
}

#[test]
fn a_browser_that_was_killed_is_told_from_one_that_is_slow() {
    let (browser, page) = open();
    for pid in browser.processes() {
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let failed = catch_unwind(AssertUnwindSafe(|| page.eval::<u32>("1")));
    let told = failed.unwrap_err().downcast::<String>().unwrap();
    assert!(told.contains("Chromium has ended"), "{told}");
}
