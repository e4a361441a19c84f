//! A team, `shipmate serve` and a tab on the link that it printed.

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use shipmate_protocol::verbs::{Supervision, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};
use shipmate_testkit::browser::{Browser, Page};

use crate::stage::{SHIPMATE, Stage, TEAM, hermetic};

/// Keeps what is read aloud: a toast goes after four seconds, and a test may look later.
const KEEP_NOTICES: &str = "(() => {
  window.notices = [];
  const keep = (changes) => {
    for (const change of changes)
      for (const node of change.addedNodes) window.notices.push(node.textContent);
  };
  new MutationObserver(keep).observe(document.getElementById('polite'), {childList: true});
})()";

/// Dropped from above: the tab and the browser before the server, the server before the team.
pub(crate) struct Scene {
    pub(crate) page: Page,
    pub(crate) browser: Browser,
    pub(crate) server: Server,
    pub(crate) stage: Stage,
}

impl Scene {
    /// A tab on a team that is there.
    pub(crate) fn on(stage: Stage) -> Scene {
        let server = Server::start(&stage, 0);
        let browser = Browser::start();
        let page = browser.page(&server.link);
        page.see("main :is(.screen, .empty, h1)");
        page.run(KEEP_NOTICES);
        Scene { page, browser, server, stage }
    }

    /// Goes to a screen of the team, as by a bookmark.
    #[track_caller]
    pub(crate) fn go(&self, route: &str) {
        self.page.goto(&format!("{}#/{TEAM}/{route}", self.server.address()));
    }

    /// Goes to a screen by its key.
    #[track_caller]
    pub(crate) fn turn(&self, key: &str, name: &str) {
        self.page.key(key);
        self.page.see(&format!("section.screen[aria-label={name}]"));
    }

    /// What `shipmate … --json` says.
    #[track_caller]
    pub(crate) fn json(&self, words: &str) -> Value {
        let args: Vec<&str> = words.split(' ').chain(["--json"]).collect();
        let output = self.stage.shipmate(&[&["--team", TEAM], &*args].concat());
        assert!(output.status.success(), "shipmate {words}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn task(&self, id: u32) -> Value {
        self.json(&format!("task show {id}"))
    }

    #[track_caller]
    pub(crate) fn teammate(&self, name: &str) -> Value {
        self.json(&format!("teammate show {name}"))
    }

    /// The form that is open, filled in and sent.
    #[track_caller]
    pub(crate) fn form(&self, fields: &[(&str, &str)], send: &str) {
        for (name, text) in fields {
            self.page.fill(&format!("dialog [name={name}]"), text);
        }
        self.page.click(&format!("dialog button[type=submit] >> {send}"));
        self.page.see_none("dialog");
    }

    /// Waits for a notice with this text, after the one that was waited for last.
    #[track_caller]
    pub(crate) fn told(&self, text: &str) {
        let is_it = format!("(notice) => notice.includes({})", json!(text));
        self.page.wait_for(&format!("window.notices.splice(0, notices.findIndex({is_it}) + 1)[0]"));
    }

    /// Takes note of errors that a test brings about on purpose: there are none of another kind.
    #[track_caller]
    pub(crate) fn only_errors(&self, part: &str) {
        let errors = self.page.console_errors();
        let others: Vec<_> = errors.iter().filter(|error| !error.contains(part)).collect();
        assert!(others.is_empty(), "{others:#?}");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A test that failed has said why already.
        if !std::thread::panicking() {
            assert_eq!(self.page.console_errors(), [""; 0], "errors in the console");
        }
    }
}

/// `shipmate serve`; it ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) link: String,
}

impl Server {
    pub(crate) fn start(stage: &Stage, port: u16) -> Server {
        let mut command = hermetic(&stage.root(), SHIPMATE);
        command.arg("--workspace").arg(stage.place().workspace);
        command.args(["serve", "--json", "--port", &port.to_string()]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let said = child.stdout.take().unwrap();
        let said = serde_json::Deserializer::from_reader(said).into_iter::<Value>().next();
        let said = said.expect("it says where it is").unwrap();
        Server { child, link: said["page"].as_str().unwrap().to_owned() }
    }

    /// Without the token.
    pub(crate) fn address(&self) -> &str {
        self.link.split('#').next().unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        let port = self.address().trim_end_matches('/').rsplit(':').next().unwrap();
        port.parse().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A team without a repository whose teammates are held by the test: each does what it is told.
pub(crate) fn seated(names: &[&str]) -> (Stage, Vec<Client>) {
    let mut stage = Stage::new("");
    stage.ask(Ask::TeamCreate(TeamCreate { name: TEAM.to_owned(), ..TeamCreate::default() }));
    stage.follow();
    let seats = names.iter().map(|name| seat(&mut stage, name, |add| add)).collect();
    (stage, seats)
}

pub(crate) fn seat(
    stage: &mut Stage,
    name: &str,
    change: impl FnOnce(TeammateAdd) -> TeammateAdd,
) -> Client {
    let add = TeammateAdd { name: name.to_owned(), ..TeammateAdd::default() };
    stage.ask(Ask::TeammateAdd(change(add)));
    let start = Ask::TeammateStart(verbs::TeammateStart {
        name: name.to_owned(),
        supervision: Supervision::None,
    });
    match stage.ask(start) {
        Answer::Started(answers::Started { token, .. }) => stage.client_of(token),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn task(subject: &str) -> TaskNew {
    TaskNew { subject: subject.to_owned(), ..TaskNew::default() }
}

/// Takes a task; the claim's token.
#[track_caller]
pub(crate) fn claim(seat: &mut Client, task: u32) -> u64 {
    match seat
        .ask(Ask::TaskClaim(verbs::TaskClaim { task: task.to_string(), lease_ms: None }))
        .unwrap()
    {
        Answer::Claimed(answers::Claimed { token, .. }) => token,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn complete(seat: &mut Client, task: u32, token: u64) {
    let (task, result) = (task.to_string(), "done".to_owned());
    let ask =
        Ask::TaskComplete(verbs::TaskComplete { task, token: Some(token), commit: None, result });
    seat.ask(ask).unwrap();
}

#[track_caller]
pub(crate) fn fail(seat: &mut Client, task: u32, token: u64, reason: &str) {
    let (task, reason) = (task.to_string(), reason.to_owned());
    seat.ask(Ask::TaskFail(verbs::TaskFail { task, token, reason })).unwrap();
}

impl Stage {
    /// One request for each, so that a task can name one that was made before it by its number.
    pub(crate) fn create_in_turn(&mut self, tasks: Vec<TaskNew>) {
        for task in tasks {
            self.create(vec![task]);
        }
    }
}
