//! A tab, driven as a person drives it: by pointer and keys, and by looking.
//!
//! Elements are named by a selector, with a part of their text or label after ` >> ` where that is
//! what a person would look for: `button >> Pause`. Only what is shown counts. A click happens where
//! the element is on the screen, once it has stopped moving and nothing is in front of it, so a
//! button that a person could not press fails the test.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::keys;
use super::pipe::{LIMIT, Pipe};

/// How long a page may take to show what it was asked for, on a loaded machine.
const PATIENCE_MS: u32 = 300_000;

/// What every expression may use.
const WORDS: &str = r"
const shown = (e) => e.checkVisibility({checkVisibilityCSS: true}) && e.getClientRects().length > 0;
const all = (s) => {
  const [css, text] = s.split(' >> ');
  const says = (e) => (e.textContent + ' ' + (e.getAttribute('aria-label') ?? '') + ' '
    + (e.value ?? '')).replace(/\s+/g, ' ');
  return [...document.querySelectorAll(css)]
    .filter((e) => shown(e) && (!text || says(e).includes(text)));
};
const one = (s) => all(s)[0];
const text = (s) => one(s)?.innerText;
";

/// Waits for an expression to be true: it is looked at now, with every change and every frame.
const WAIT: &str = r"
new Promise((resolve) => {
  let done = false;
  const end = (value) => { done = true; changes.disconnect(); clearTimeout(late); resolve(value); };
  const look = () => {
    if (done) return;
    let value;
    try { value = test(); } catch { value = undefined; }
    if (value) end({value});
  };
  const changes = new MutationObserver(look);
  const late = setTimeout(() => end({}), PATIENCE);
  const frame = () => { look(); if (!done) requestAnimationFrame(frame); };
  changes.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  frame();
})";

/// Where to point at an element: its middle, once that is the same for two frames and in front.
const SPOT: &str = r"
const spot = (s) => {
  const e = one(s);
  if (!e || e.disabled) return undefined;
  e.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
  const box = e.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const [before, last] = [spot.last, JSON.stringify([x, y])];
  spot.last = last;
  const hit = document.elementFromPoint(x, y);
  const front = hit && (e.contains(hit) || hit.closest('label')?.control === e);
  return before === last && front ? [x, y] : undefined;
};
";

#[derive(Debug)]
pub struct Page {
    pipe: Arc<Pipe>,
    target: String,
    session: String,
    context: Option<String>,
    news: Receiver<Value>,
    heard: RefCell<Heard>,
    patience_ms: Cell<u32>,
}

#[derive(Debug, Default)]
struct Heard {
    errors: Vec<String>,
    /// The document that was loaded last.
    loaded: String,
}

impl Page {
    pub(super) fn open(pipe: &Arc<Pipe>, context: Option<&str>) -> Page {
        let mut target = json!({"url": "about:blank"});
        if let Some(context) = context {
            target["browserContextId"] = context.into();
        }
        let made = pipe.call(None, "Target.createTarget", &target);
        let target = made["targetId"].as_str().expect("a tab has a name").to_owned();
        let attach = json!({"targetId": target, "flatten": true});
        let attached = pipe.call(None, "Target.attachToTarget", &attach);
        let session = attached["sessionId"].as_str().expect("a session has a name").to_owned();
        let news = pipe.listen(&session);
        let page = Page {
            pipe: Arc::clone(pipe),
            target,
            session,
            context: context.map(str::to_owned),
            news,
            heard: RefCell::default(),
            patience_ms: Cell::new(PATIENCE_MS),
        };
        for domain in ["Page", "Runtime", "Log", "Performance"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.call("Page.setLifecycleEventsEnabled", &json!({"enabled": true}));
        page.emulate(1280, 800, false);
        page
    }

    /// Goes to an address, and waits until its document is loaded.
    #[track_caller]
    pub fn goto(&self, url: &str) {
        let went = self.call("Page.navigate", &json!({"url": url}));
        assert_eq!(went.get("errorText"), None, "{url} cannot be shown");
        // Without one, the document stayed the same: only the part after # is another.
        if let Some(loader) = went["loaderId"].as_str() {
            self.until_loaded(loader);
        }
    }

    /// Loads the same address again.
    #[track_caller]
    pub fn reload(&self) {
        self.hear();
        self.heard.borrow_mut().loaded.clear();
        self.call("Page.reload", &json!({}));
        self.until_loaded("");
    }

    #[track_caller]
    fn until_loaded(&self, loader: &str) {
        let is =
            |loaded: &str| if loader.is_empty() { !loaded.is_empty() } else { loaded == loader };
        while !is(&self.heard.borrow().loaded) {
            let news = self.news.recv_timeout(LIMIT).expect("the document is loaded in time");
            self.note(&news);
        }
    }

    /// What an expression, or the promise it makes, comes to.
    #[track_caller]
    pub fn eval<T: DeserializeOwned>(&self, js: &str) -> T {
        let value = self.value(&format!("{{{WORDS} {js}}}")).unwrap_or_else(|told| {
            panic!("`{js}`: {told}\n{}", self.shown());
        });
        let shown = value.to_string();
        serde_json::from_value(value).unwrap_or_else(|e| panic!("`{js}` is {shown}: {e}"))
    }

    /// Runs statements, whatever they come to.
    #[track_caller]
    pub fn run(&self, js: &str) {
        self.eval::<Value>(js);
    }

    /// Waits until an expression is true, and returns what it came to.
    #[track_caller]
    pub fn wait_for(&self, js: &str) -> Value {
        self.wait_with("", js)
    }

    /// Waits until something with this selector is shown.
    #[track_caller]
    pub fn see(&self, selector: &str) {
        self.wait_for(&format!("one({})", json!(selector)));
    }

    /// Waits until nothing with this selector is shown.
    #[track_caller]
    pub fn see_none(&self, selector: &str) {
        self.wait_for(&format!("!one({})", json!(selector)));
    }

    /// For what is not to come: the page is not waited for as long as a slow machine needs.
    pub fn be_impatient(&self) {
        self.patience_ms.set(500);
    }

    #[track_caller]
    fn wait_with(&self, words: &str, js: &str) -> Value {
        let wait = WAIT.replace("PATIENCE", &self.patience_ms.get().to_string());
        // A node cannot leave the page, but it is as true as anything.
        let test = format!(
            "const test = () => {{ const it = ({js}); return it instanceof Node ? true : it; }};"
        );
        let expression = format!("{{{WORDS}{words}{test}{wait}}}");
        loop {
            match self.value(&expression) {
                Ok(mut outcome) => match outcome.get_mut("value") {
                    Some(value) => return value.take(),
                    None => panic!("this did not come true: `{js}`\n{}", self.shown()),
                },
                // The document was replaced while it was looked at: the next one is looked at.
                Err(told) if told.contains("navigated") || told.contains("context") => {}
                Err(told) => panic!("`{js}`: {told}\n{}", self.shown()),
            }
        }
    }

    fn value(&self, expression: &str) -> Result<Value, String> {
        let mut reply = self.pipe.try_call(
            Some(&self.session),
            "Runtime.evaluate",
            &json!({
                "expression": expression, "awaitPromise": true, "returnByValue": true,
                "userGesture": true,
            }),
        )?;
        self.hear();
        match reply.get("exceptionDetails") {
            Some(details) => {
                Err(details["exception"]["description"].as_str().unwrap_or("failed").to_owned())
            }
            None => Ok(reply["result"]["value"].take()),
        }
    }

    /// Presses an element, once that can be done.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let (x, y) = self.spot(selector);
        self.pointer("mouseMoved", (x, y), 0);
        self.pointer("mousePressed", (x, y), 1);
        self.pointer("mouseReleased", (x, y), 1);
    }

    /// Presses an element twice in a row, as fast as a hand that is used to it.
    #[track_caller]
    pub fn double_click(&self, selector: &str) {
        let (x, y) = self.spot(selector);
        self.pointer("mouseMoved", (x, y), 0);
        for clicks in [1, 2] {
            for kind in ["mousePressed", "mouseReleased"] {
                self.call(
                    "Input.dispatchMouseEvent",
                    &json!({
                        "type": kind, "x": x, "y": y, "button": "left", "buttons": 1,
                        "clickCount": clicks,
                    }),
                );
            }
        }
    }

    /// Presses an element, moves by this much in some steps, and lets go.
    #[track_caller]
    pub fn drag(&self, selector: &str, (dx, dy): (f64, f64)) {
        let (x, y) = self.spot(selector);
        self.pointer("mouseMoved", (x, y), 0);
        self.pointer("mousePressed", (x, y), 1);
        for step in 1..=8 {
            let part = f64::from(step) / 8.0;
            self.pointer("mouseMoved", (x + dx * part, y + dy * part), 1);
        }
        self.pointer("mouseReleased", (x + dx, y + dy), 1);
    }

    /// Turns the wheel over an element, as far as this many pixels, and waits until it has moved.
    #[track_caller]
    pub fn scroll(&self, selector: &str, pixels: f64) {
        let (x, y) = self.spot(selector);
        self.call(
            "Input.synthesizeScrollGesture",
            &json!({
                "x": x, "y": y, "yDistance": -pixels, "speed": 4000,
                "gestureSourceType": "mouse", "preventFling": true,
            }),
        );
    }

    #[track_caller]
    fn spot(&self, selector: &str) -> (f64, f64) {
        let spot = self.wait_with(SPOT, &format!("spot({})", json!(selector)));
        serde_json::from_value(spot).expect("a spot is two numbers")
    }

    #[track_caller]
    fn pointer(&self, kind: &str, (x, y): (f64, f64), buttons: u32) {
        let button = if buttons == 0 { "none" } else { "left" };
        let clicks = u32::from(kind != "mouseMoved");
        self.call(
            "Input.dispatchMouseEvent",
            &json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
                "clickCount": clicks,
            }),
        );
    }

    /// Presses a key, written as `j`, `?`, `Enter` or `Shift+Tab`, wherever the focus is.
    #[track_caller]
    pub fn key(&self, keys: &str) {
        for event in keys::stroke(keys) {
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types a text, key by key, wherever the focus is.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        for one in text.chars() {
            self.key(&one.to_string());
        }
    }

    /// Presses a field, and types over what is in it.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        self.click(selector);
        self.key("Control+a");
        self.key("Delete");
        self.type_text(text);
    }

    /// Chooses an option by the beginning of its name, with the arrow keys.
    #[track_caller]
    pub fn choose(&self, selector: &str, option: &str) {
        let (selector, option) = (json!(selector), json!(option));
        let steps = self.wait_for(&format!(
            "(() => {{ const e = one({selector}); e.focus();
               const at = [...e.options].findIndex((o) => o.text.startsWith({option}));
               return at < 0 ? undefined : {{by: at - e.selectedIndex}}; }})()"
        ));
        let by = steps["by"].as_i64().expect("a step is a number");
        for _ in 0..by.unsigned_abs() {
            self.key(if by < 0 { "ArrowUp" } else { "ArrowDown" });
        }
    }

    /// Cuts the tab off from every server, or lets it through again.
    pub fn offline(&self, offline: bool) {
        self.call("Network.enable", &json!({}));
        self.call(
            "Network.emulateNetworkConditions",
            &json!({
                "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1,
            }),
        );
    }

    /// The size of the window and the theme that the person's system asks for.
    pub fn emulate(&self, width: u32, height: u32, dark: bool) {
        let phone = width < 600;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}),
        );
        let theme = if dark { "dark" } else { "light" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Puts this tab in front of the others, as far as it can know.
    pub fn bring_to_front(&self) {
        self.call("Page.bringToFront", &json!({}));
    }

    /// Writes what is to be seen as a PNG.
    #[track_caller]
    pub fn screenshot(&self, path: &Path) {
        // Two frames, so that what was just asked for is drawn.
        self.eval::<Value>(
            "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(1))))",
        );
        let taken = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let picture = taken["data"].as_str().expect("a picture is text");
        let picture =
            data_encoding::BASE64.decode(picture.as_bytes()).expect("a picture is base64");
        std::fs::write(path, picture)
            .unwrap_or_else(|e| panic!("{} cannot be written: {e}", path.display()));
    }

    /// Errors since the last look: what scripts reported, threw and did not catch, what the page's
    /// policy refused, and what could not be loaded.
    #[must_use]
    pub fn console_errors(&self) -> Vec<String> {
        // What was told before the answer has come before it.
        let _ = self.value("1");
        std::mem::take(&mut self.heard.borrow_mut().errors)
    }

    #[track_caller]
    pub(super) fn call(&self, method: &str, params: &Value) -> Value {
        self.pipe.call(Some(&self.session), method, params)
    }

    /// The next thing that the tab tells, of whatever kind.
    #[track_caller]
    pub(super) fn next_news(&self) -> Value {
        let news = self.news.recv_timeout(LIMIT).expect("the tab tells something in time");
        self.note(&news);
        news
    }

    /// Notes what has been told so far.
    pub(super) fn hear(&self) {
        while let Ok(news) = self.news.try_recv() {
            self.note(&news);
        }
    }

    fn note(&self, news: &Value) {
        let params = &news["params"];
        let mut heard = self.heard.borrow_mut();
        match news["method"].as_str().unwrap_or_default() {
            "Page.lifecycleEvent" if params["name"] == "load" => {
                params["loaderId"].as_str().unwrap_or_default().clone_into(&mut heard.loaded);
            }
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                let thrown = details["exception"]["description"].as_str();
                let told = thrown.or(details["text"].as_str()).unwrap_or("failed");
                heard.errors.push(format!("not caught: {told}"));
            }
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                let said = params["args"].as_array().into_iter().flatten().map(|arg| {
                    let text = arg["description"].as_str().or(arg["value"].as_str());
                    text.map_or_else(|| arg["value"].to_string(), str::to_owned)
                });
                heard.errors.push(format!("console: {}", said.collect::<Vec<_>>().join(" ")));
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                let entry = &params["entry"];
                let [source, text, url] =
                    ["source", "text", "url"].map(|key| entry[key].as_str().unwrap_or_default());
                heard.errors.push(format!("{source}: {text} {url}").trim_end().to_owned());
            }
            _ => {}
        }
    }

    /// What a person would see now, for the message of a test that failed.
    fn shown(&self) -> String {
        let text = self.value("location.href + '\\n' + document.body?.innerText");
        let text = text.map_or_else(|told| told, |text| text.as_str().unwrap_or("").to_owned());
        let text: String = text.chars().take(4000).collect();
        format!("the page shows: {text}\nerrors: {:#?}", self.heard.borrow().errors)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A browser that has ended has closed it already.
        let close = json!({"targetId": self.target});
        let _ = self.pipe.try_call(None, "Target.closeTarget", &close);
        if let Some(context) = &self.context {
            let dispose = json!({"browserContextId": context});
            let _ = self.pipe.try_call(None, "Target.disposeBrowserContext", &dispose);
        }
    }
}
