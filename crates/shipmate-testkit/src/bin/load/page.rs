//! The page on a large board: first paint, event to pixel, memory, scrolling, and what open pages
//! cost the coordinator.
//!
//! What a person sees is measured in a real Chromium. What many pages cost is measured with their
//! streams alone, because no browser keeps twenty of them open to one server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use shipmate_protocol::verbs::{TaskChanges, TaskNew};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};
use shipmate_testkit::browser::{Browser, Page};

use crate::arguments::Arguments;
use crate::measure::{pass, used};
use crate::workspace::{TEAM, Workspace};

/// Layers of the graph, and tasks that are done before anybody looks.
const LAYERS: usize = 20;
/// Teammates that do the work that is watched; the others hold a task each.
const BUSY: usize = 8;
const EVENTS: usize = 30;
const SCROLLS: usize = 30;
/// Long enough for what a start leaves to be done.
const SETTLE: Duration = Duration::from_secs(2);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let tasks: usize = arguments.number("tasks", 10_000)?;
    let teammates: usize = arguments.number("teammates", 50)?;
    let pages: usize = arguments.number("pages", 20)?;
    let changes: usize = arguments.number("changes", 500)?;
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    let mut workers = fill(&mut workspace, tasks, teammates)?;
    let coordinator = workspace.coordinator().ok_or("no coordinator serves")?;

    // The same changes without a page, with one, with many, and without any again.
    let mut costs = Vec::new();
    for open in [0, 1, pages, 0] {
        let server = Server::start(&workspace)?;
        let streams = Streams::open(&server, open)?;
        pass(SETTLE);
        let (before, serving) = (used(coordinator)?, used(server.child.id())?);
        work(&mut workers, changes, End::GivenBack)?;
        let seen = streams.heard();
        pass(SETTLE);
        let (after, served) = (used(coordinator)?, used(server.child.id())?);
        costs.push(json!({
            "pages": open, "changes": changes, "streams_that_heard": seen,
            "coordinator_ms": (after.cpu_ns - before.cpu_ns) as f64 / 1e6,
            "server_ms": (served.cpu_ns - serving.cpu_ns) as f64 / 1e6,
            "server_rss_mib": served.rss_kib as f64 / 1024.0,
        }));
    }
    let server = Server::start(&workspace)?;
    let browser = Browser::start();
    let shown = shown(&browser, &server.link, &mut workspace)?;
    let report = json!({
        "workload": "page", "tasks": tasks, "teammates": teammates, "screen": shown, "costs": costs,
    });
    println!("{report}");
    Ok(())
}

/// A board at work: layers of tasks, some of them done, somebody at each of the next.
fn fill(workspace: &mut Workspace, tasks: usize, teammates: usize) -> Result<Vec<Client>, String> {
    let width = tasks.div_ceil(LAYERS);
    let new = |index: usize| TaskNew {
        subject: format!("Task {index}: make the part of the plan that carries this number"),
        alias: Some(format!("t{index}")),
        blocked_by: match index >= width {
            true => vec![format!("t{}", index - width), format!("t{}", index - width / 2 - 1)],
            false => Vec::new(),
        },
        files: vec![format!("src/part_{index}/**")],
        ..TaskNew::default()
    };
    workspace.tasks(&(0..tasks).map(new).collect::<Vec<_>>())?;
    let mut workers = Vec::new();
    for index in 0..teammates {
        let token = workspace.teammate(&format!("mate-{index}"), 1)?;
        workers.push(workspace.client(&token));
    }
    work(&mut workers, tasks / LAYERS * 2, End::Done)?;
    for index in 0..teammates * 4 {
        let to = format!("mate-{}", index % teammates);
        let body = format!("message {index}: see task {}", index + 1);
        workspace.ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }))?;
    }
    for worker in workers.iter_mut().skip(BUSY) {
        claim(worker)?;
    }
    Ok(workers)
}

fn claim(worker: &mut Client) -> Result<Option<(String, u64)>, String> {
    match worker.ask(Ask::TaskNext(verbs::TaskNext { lease_ms: Some(3_600_000), wait: false })) {
        Ok(Answer::Claimed(answers::Claimed { task, token })) => {
            Ok(Some((task.row.id.to_string(), token)))
        }
        Ok(_) => Ok(None),
        Err(e) => Err(e.to_string()),
    }
}

/// So many tasks are claimed, and done or given back, by one after the other.
fn work(workers: &mut [Client], count: usize, end: End) -> Result<(), String> {
    for index in 0..count {
        let worker = &mut workers[index % BUSY];
        let Some((task, token)) = claim(worker)? else { return Err("nothing to do".to_owned()) };
        let (token, empty) = (Some(token), String::new());
        let end = match end {
            End::Done => {
                Ask::TaskComplete(verbs::TaskComplete { task, token, commit: None, result: empty })
            }
            End::GivenBack => {
                Ask::TaskRelease(verbs::TaskRelease { task, token, reason: "again".to_owned() })
            }
        };
        worker.ask(end).map_err(|e| e.to_string())?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum End {
    Done,
    /// The board stays as it is, however often this is done.
    GivenBack,
}

/// `shipmate serve` on this workspace; it ends when this is dropped.
struct Server {
    child: Child,
    link: String,
}

impl Server {
    fn start(workspace: &Workspace) -> Result<Server, String> {
        let mut child = Command::new(&workspace.program)
            .arg("--workspace")
            .arg(&workspace.place.workspace)
            .args(["serve", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line).map_err(|e| e.to_string())?;
        let told: Value = serde_json::from_str(&line).map_err(|e| format!("{e} in {line:?}"))?;
        let link = told["page"].as_str().ok_or_else(|| format!("no link in {line:?}"))?.to_owned();
        Ok(Server { child, link })
    }

    /// `127.0.0.1:PORT` and the token.
    fn door(&self) -> Result<(&str, &str), String> {
        let rest = self.link.strip_prefix("http://").ok_or("the link is no link")?;
        let (host, token) = rest.split_once("/#token=").ok_or("the link has no token")?;
        Ok((host, token))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _gone_already = kill_process(pid, Signal::TERM);
        }
        let _ended = self.child.wait();
    }
}

/// Pages that are open as far as the server can see.
struct Streams {
    first: Vec<Receiver<usize>>,
}

impl Streams {
    fn open(server: &Server, count: usize) -> Result<Streams, String> {
        let (host, token) = server.door()?;
        let mut first = Vec::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(host).map_err(|e| e.to_string())?;
            let ask = format!(
                "GET /api/t/{TEAM}/stream?after=0 HTTP/1.1\r\nHost: {host}\r\n\
                 Authorization: Bearer {token}\r\n\r\n"
            );
            stream.write_all(ask.as_bytes()).map_err(|e| e.to_string())?;
            let (tell, told) = channel();
            std::thread::spawn(move || {
                let mut bytes = [0; 64 * 1024];
                while let Ok(count) = stream.read(&mut bytes) {
                    if count == 0 || tell.send(count).is_err() {
                        return;
                    }
                }
            });
            first.push(told);
        }
        // Each has begun to hear the whole.
        for told in &first {
            told.recv_timeout(Duration::from_secs(60)).map_err(|_| "a stream says nothing")?;
        }
        Ok(Streams { first })
    }

    /// How many have heard anything since they were last asked.
    fn heard(&self) -> usize {
        self.first.iter().filter(|told| told.try_iter().count() > 0).count()
    }
}

fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64() * 1e3
}

/// What a person sees.
fn shown(browser: &Browser, link: &str, workspace: &mut Workspace) -> Result<Value, String> {
    let page = browser.page(link);
    page.emulate(1280, 800, false);
    page.goto(&link.replace("/#", "/?again#"));
    page.see("[data-task]");
    let board_ms: f64 = page.eval("performance.now()");
    let metrics = page.metrics();
    let mut pixels = events(&page, workspace)?;
    pixels.sort_by(f64::total_cmp);
    let scrolled = page.frames(|page| {
        for _ in 0..SCROLLS {
            page.scroll("[data-task]", 400.0);
        }
    });
    let later = page.metrics();
    Ok(json!({
        "first_paint_ms": metrics.first_contentful_paint_ms,
        "first_task_ms": board_ms,
        "event_to_pixel_ms": { "p50": pixels[pixels.len() / 2], "max": pixels[pixels.len() - 1] },
        "heap_mib": later.heap_bytes as f64 / 1_048_576.0,
        "nodes": later.nodes,
        "tab_mib": browser.memory_of_tabs() as f64 / 1_048_576.0,
        "scrolling": {
            "frames": scrolled.drawn, "dropped": scrolled.dropped, "longest_ms": scrolled.longest_ms,
        },
        "console_errors": page.console_errors(),
    }))
}

/// From the moment that something is asked for to the frame that shows it.
fn events(page: &Page, workspace: &mut Workspace) -> Result<Vec<f64>, String> {
    let task: String = page.eval("document.querySelector('[data-task]').dataset.task");
    let mut samples = Vec::new();
    for index in 0..EVENTS {
        let word = format!("seen-{index}");
        page.eval::<bool>(&format!(
            "(window.shown = new Promise((seen) => {{ const look = () => \
             document.body.innerText.includes('{word}') \
             ? requestAnimationFrame(() => seen(performance.timeOrigin + performance.now())) \
             : requestAnimationFrame(look); look(); }}), true)"
        ));
        let subject = Some(format!("{word} and nothing else"));
        let changes = TaskChanges { subject, ..TaskChanges::default() };
        let began = now_ms();
        workspace.ask(Ask::TaskUpdate(verbs::TaskUpdate { task: task.clone(), changes }))?;
        let seen: f64 = page.eval("window.shown");
        samples.push(seen - began);
    }
    Ok(samples)
}
