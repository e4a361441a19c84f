//! The page's own files, and what the page reads of a team.

use serde_json::json;

use crate::http::{Events, Request};
use crate::stage::{Serving, Stage};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

#[test]
fn the_page_and_its_files_come_with_strict_headers_and_only_once() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page/app.js", "text/javascript; charset=utf-8"),
        ("/page/style.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let response = Request::new(serving.port, "GET", path).send();
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(response.header("content-type"), Some(kind), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-cache"), "{path}");
        let tag = response.header("etag").unwrap().to_owned();
        let again = Request::new(serving.port, "GET", path).header("If-None-Match", &tag).send();
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
        let head = Request::new(serving.port, "HEAD", path).send();
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
    }
    let nothing = Request::new(serving.port, "GET", "/nothing").send();
    assert_eq!(nothing.header("content-type"), Some("text/plain; charset=utf-8"));
    let refused = Request::new(serving.port, "GET", "/api/teams").send();
    let told = serving.request("GET", "/api/teams").send();
    assert_eq!(told.header("cache-control"), Some("no-store"));
    let page = Request::new(serving.port, "GET", "/").send();
    for response in [nothing, refused, told, page] {
        for (name, value) in [
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(response.header(name), Some(value), "{}", response.head);
        }
    }
}

#[test]
fn a_browser_of_our_own_page_is_let_in_under_both_names() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    for name in ["127.0.0.1", "localhost"] {
        let host = format!("{name}:{}", serving.port);
        let response = serving
            .request("GET", "/api/teams")
            .header("Host", &host)
            .header("Origin", &format!("http://{host}"))
            .header("Sec-Fetch-Site", "same-origin")
            .send();
        assert_eq!(response.status, 200, "{name}: {}", response.body);
    }
}

#[test]
fn the_page_acts_as_the_person_and_hears_refusals_in_words() {
    let stage = Stage::new();
    stage.department("design");
    let serving = Serving::start(&stage);
    let body = json!({
        "team": "design",
        "ask": { "task_create": { "tasks": [{ "subject": "for a department" }] } },
    });
    let made = serving
        .request("POST", "/api/t/alpha/ask")
        .header("Content-Type", "application/json; charset=utf-8")
        .body(&body.to_string())
        .send();
    assert_eq!(
        (made.status, made.json()),
        (200, json!({ "answer": { "created": { "tasks": [2] } } }))
    );
    let shown = serving.ask(json!({ "task_show": { "task": "2" } })).json();
    assert_eq!(shown["answer"]["task"]["team"], "design");
    assert_eq!(shown["answer"]["task"]["created_by"], "person");
    let refused = serving.ask(json!({ "task_retry": { "task": "1" } }));
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.json()["refused"]["message"].as_str().unwrap().contains("task 1"));
    let unknown = serving.ask(json!({ "task_show": { "task": "77" } }));
    assert_eq!(unknown.status, 404, "{}", unknown.body);
    let teams = serving.get("/api/teams");
    let names: Vec<_> =
        teams["teams"].as_array().unwrap().iter().map(|team| &team["name"]).collect();
    assert_eq!(names, ["alpha", "design"]);
    let below = serving.request("GET", "/api/t/design/timeline").send();
    assert_eq!(below.status, 404, "{}", below.body);
}

#[test]
fn a_task_is_shown_with_its_steps_and_what_it_changed() {
    let stage = Stage::with_agent("echo hello > greeting; rm README");
    let serving = Serving::start(&stage);
    let mut page = Events::open(serving.request("GET", "/api/t/alpha/stream?after=0"));
    stage.create("say hello");
    page.find("delta", |event| {
        let tasks = event.data["tasks"].as_array()?;
        tasks.iter().find(|task| task["status"] == "completed").map(|_| ())
    });
    let task = serving.get("/api/t/alpha/task/1");
    assert_eq!(task["task"]["subject"], "say hello");
    assert_eq!(task["card"]["status"], "completed");
    let steps = task["steps"].as_array().unwrap();
    let events: Vec<_> = steps.iter().map(|step| step["event"].as_str().unwrap()).collect();
    assert_eq!(events.first(), Some(&"task.created"), "{events:?}");
    assert!(events.contains(&"task.completed"), "{events:?}");
    assert_eq!(task["spans"][0]["end"], "completed");

    let diff = serving.get("/api/t/alpha/task/1/diff");
    assert_eq!(
        diff["files"],
        json!([
            { "path": "README", "added": 0, "removed": 1, "binary": false },
            { "path": "greeting", "added": 1, "removed": 0, "binary": false },
        ])
    );
    let text = diff["text"].as_str().unwrap();
    assert!(text.contains("+++ b/greeting\n@@ -0,0 +1 @@\n+hello\n"), "{text}");
    assert_eq!((&diff["cut"], diff.get("note")), (&json!(false), None));
    assert_eq!(diff["to"], stage.git(&["rev-parse", "shipmate/alpha"]));

    let timeline = serving.get("/api/t/alpha/timeline");
    assert_eq!(timeline["spans"][0]["who"], "alpha/ana");
    assert_eq!(timeline["lives"][0]["epoch"], 1);
    assert!(timeline["began"].as_u64() <= timeline["now"].as_u64());
    assert_eq!(serving.get("/api/t/alpha/costs")["costs"], json!([]));
    let moments = serving.get("/api/t/alpha/moments");
    let moments = moments["moments"].as_array().unwrap();
    assert_eq!(moments[0][0], 1);
    assert_eq!(moments.last().unwrap()[0].as_u64(), Some(stage.position()));
    let created = steps[0]["n"].as_u64().unwrap();
    let then = serving.get(&format!("/api/t/alpha/at/{created}"));
    assert_eq!((&then["whole"], &then["tasks"][0]["status"]), (&json!(true), &json!("pending")));
}

#[test]
fn messages_are_read_from_the_newest_backwards() {
    let stage = Stage::new();
    stage.shipmate(&["teammate", "add", "ana"]);
    let serving = Serving::start(&stage);
    for n in 0..5 {
        let body = format!("no {n}");
        let send = json!({ "to": "ana", "body": body, "kind": null, "reply_to": null });
        assert_eq!(serving.ask(json!({ "send": send })).status, 200);
    }
    let bodies = |path: &str| {
        let read = serving.get(path);
        let rows = read["messages"].as_array().unwrap().clone();
        let ids: Vec<u64> = rows.iter().map(|row| row["id"].as_u64().unwrap()).collect();
        let texts: Vec<String> =
            rows.iter().map(|row| row["body"].as_str().unwrap().to_owned()).collect();
        (ids, texts)
    };
    // What was asked is in the log before it is answered; the picture follows.
    let mut page = Events::open(serving.request("GET", "/api/t/alpha/stream?after=0"));
    page.find("delta", |event| {
        let rows = event.data["messages"].as_array()?;
        rows.iter().find(|row| row["body"] == "no 4").map(|_| ())
    });
    let (ids, texts) = bodies("/api/t/alpha/messages?max=2");
    assert_eq!(texts, ["no 3", "no 4"]);
    let (_, texts) = bodies(&format!("/api/t/alpha/messages?before={}&max=200", ids[0]));
    assert_eq!(texts, ["no 0", "no 1", "no 2"]);
}
