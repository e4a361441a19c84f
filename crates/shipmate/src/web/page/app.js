// Starts the page, goes where the address says, and hands keys out. One session per tree of
// teams: its store, its stream, its api. Screens are opened when the picture is there and are
// told of changes once per frame. What must hold: leaving a screen leaves nothing of it
// running; a key never acts while somebody types or a dialog is open.

/** @import { Ctx, CostsPage, Key, Open, Part, Screen, TimelinePage } from "./types.d.ts" */

import { Refused, apiOf, takeToken } from "./api.js";
import { Outbox } from "./outbox.js";
import { dialogOpen } from "./dialog.js";
import { button, el, put } from "./dom.js";
import { Shell, TABS, showKeys, startTheme } from "./shell.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";

const SCREENS = new Set([
  "board",
  "graph",
  "team",
  "teammate",
  "messages",
  "notes",
  "decisions",
  "timeline",
  "task",
  "cost",
]);

/** The screen that was open in this tab, for when a new link is opened in it. */
const LAST = "shipmate.last";

startTheme();
const shell = new Shell({ help: () => void help(), retry: () => session?.stream.retry() });

/** @type {Session | null} */
let session = null;
/** @type {Screen | null} */
let screen = null;
/** The team that a new link went back to by itself, until it is there. */
let returned = "";
/** Grows with each way taken: a screen that arrives late is not shown. */
let way = 0;
/** @type {(() => void)[]} */
let ticks = [];

class Session {
  /** @param {string} root */
  constructor(root) {
    this.root = root;
    this.store = new Store();
    this.api = apiOf(root);
    this.outbox = new Outbox(this.api, { say: (text, kind) => shell.say(text, kind), complain });
    /** @type {Map<string, Promise<void>>} */
    this.needed = new Map();
    this.retryInMs = 0;
    this.unsubscribe = this.store.subscribe((changed) => this.changed(changed));
    this.stream = new Stream(root, {
      delta: (delta) => {
        if (this.store.link === "trouble") this.store.setLink("open");
        this.store.take(delta);
      },
      trouble: (trouble) => {
        shell.trouble(trouble);
        this.store.setLink("trouble");
      },
      ended: (how) => shell.ended(how),
      gone: () => {
        this.stream.close();
        this.store.setLink("gone");
      },
      clock: (now) => this.store.setClock(now),
      output: (piece) => screen?.output?.(piece),
      position: () => this.store.position,
      link: (state, retryInMs = 0) => {
        this.retryInMs = retryInMs;
        this.store.setLink(state);
      },
      refused: (error) => refusedBy(error, root),
    });
  }

  /** @param {Set<Part>} changed */
  changed(changed) {
    if (changed.has("link")) shell.link(this.store, this.retryInMs);
    shell.update(this.store, changed);
    if (changed.has("decisions") || changed.has("whole")) retitle();
    if (changed.has("whole")) {
      const again = [...this.needed.keys()];
      this.needed.clear();
      for (const what of again) void this.need(/** @type {"timeline" | "costs"} */ (what));
      if (!screen) void openScreen();
    }
    screen?.update(changed);
  }

  /** @param {"timeline" | "costs"} what */
  need(what) {
    let there = this.needed.get(what);
    if (!there) {
      there = this.fetch(what).catch((error) => {
        this.needed.delete(what);
        throw error;
      });
      this.needed.set(what, there);
    }
    return there;
  }

  /** @param {"timeline" | "costs"} what */
  async fetch(what) {
    if (what === "timeline") {
      this.store.takeTimeline(/** @type {TimelinePage} */ (await this.api.get("timeline")));
    } else {
      this.store.takeCosts(/** @type {CostsPage} */ (await this.api.get("costs")));
    }
  }

  close() {
    this.outbox.close();
    this.unsubscribe();
    this.stream.close();
  }
}

/** The address in its parts: tree, screen, and what the screen is about. */
function address() {
  const [root = "", route = "board", ...params] = location.hash
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  return { root, route, params };
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {string} root @param {string} route */
function href(root, route) {
  return `#/${[root, ...route.split("/")].map(encodeURIComponent).join("/")}`;
}

function closeScreen() {
  way++;
  ticks = [];
  const old = screen;
  screen = null;
  old?.close?.();
  session?.stream.listen(null);
}

async function route() {
  const linked = location.hash.startsWith("#token=");
  if (!(await takeToken())) {
    closeScreen();
    locked();
    return;
  }
  if (linked) goBack();
  const { root } = address();
  if (session && session.root !== root) {
    closeScreen();
    session.close();
    session = null;
  }
  if (root === "") {
    closeScreen();
    shell.team("");
    await openChoose();
    return;
  }
  if (!session) {
    shell.team(root);
    shell.skeleton();
    session = new Session(root);
  }
  await openScreen();
}

/** A new link: what was open before is opened anew, with the new token. */
function goBack() {
  closeScreen();
  session?.close();
  session = null;
  const last = sessionStorage.getItem(LAST);
  if (!last) return;
  history.replaceState(null, "", last);
  returned = address().root;
}

/** The server was replaced under an open page, or does not answer. @param {unknown} error */
function renewed(error) {
  console.error(error);
  // Loaded again, a page without a server would be the browser's own words.
  if (session && session.store.link !== "open") {
    shell.instead(
      "The server of this page does not answer.",
      "Run `shipmate serve` in the repository and open the link that it prints. What is open in this tab comes back by itself if the server does.",
    );
    return;
  }
  shell.instead(
    "The page was renewed: load it again.",
    button("Load it again", () => location.reload(), { kind: "main" }),
    "If that does not help: run `shipmate serve` in the repository and open its link.",
  );
}

async function openChoose() {
  const mine = way;
  /** @type {typeof import("./screens/choose.js")} */
  let module;
  try {
    module = await import("./screens/choose.js");
  } catch (error) {
    renewed(error);
    return;
  }
  if (mine !== way) return;
  shell.skeleton();
  const made = await module.open({
    // Somebody may have gone elsewhere meanwhile.
    go: (root) => mine === way && location.replace(href(root, "board")),
    refused: (error) => refusedBy(error, ""),
  });
  if (mine !== way || !made) return;
  screen = made;
  put(shell.main, made.node);
  retitle();
}

async function openScreen() {
  const here = session;
  if (!here) return;
  closeScreen();
  const { route: name, params } = address();
  const file = name === "team" && params.length >= 2 ? "teammate" : name;
  shell.current(name === "task" ? "board" : name);
  if (!here.store.loaded) return;
  if (!SCREENS.has(file)) {
    shell.instead(
      `There is no screen called ${name}.`,
      el("a", { href: href(here.root, "board") }, "Go to the board"),
    );
    return;
  }
  const mine = way;
  /** @type {{ open: Open }} */
  let module;
  try {
    module = await import(`./screens/${file}.js`);
  } catch (error) {
    renewed(error);
    return;
  }
  if (mine !== way) return;
  returned = "";
  sessionStorage.setItem(LAST, location.hash);
  screen = module.open(ctxOf(here), params);
  put(shell.main, screen.node);
  retitle();
  // Focus goes where the eyes go, but not into a field that the screen focused itself.
  if (!shell.main.contains(document.activeElement)) shell.main.focus({ preventScroll: true });
}

/** @param {Session} here @returns {Ctx} */
function ctxOf(here) {
  return {
    root: here.root,
    store: here.store,
    api: here.api,
    outbox: here.outbox,
    href: (to) => href(here.root, to),
    go: (to) => {
      location.hash = href(here.root, to);
    },
    back: () => back(),
    say: (text, kind) => shell.say(text, kind),
    async attempt(ask, done, team) {
      try {
        await here.api.ask(ask, team);
        if (done) shell.say(done, "good");
        return true;
      } catch (error) {
        complain(error);
        return false;
      }
    },
    complain,
    need: (what) => here.need(what),
    tick: (run) => void ticks.push(run),
    listen: (who) => here.stream.listen(who),
  };
}

/** @param {unknown} error */
function complain(error) {
  if (error instanceof Refused) {
    if (error.locked) locked();
    else shell.say(error.remedy ? `${error.message} ${error.remedy}` : error.message, "bad");
  } else {
    console.error(error);
    shell.say(String(error), "bad");
  }
}

/** @param {Refused} error @param {string} root */
function refusedBy(error, root) {
  closeScreen();
  if (error.locked) return locked();
  // The new link is of a server that does not have the team that was open before.
  if (root !== "" && returned === root && error.status === 404) {
    returned = "";
    sessionStorage.removeItem(LAST);
    location.replace("#/");
    return;
  }
  shell.instead(
    error.message,
    error.remedy || (root ? `Asked for the team ${root}.` : ""),
    el("a", { href: "#/" }, "Choose a team"),
  );
}

function locked() {
  session?.close();
  session = null;
  shell.team("");
  shell.instead(
    "This page has no valid token.",
    "Run `shipmate serve` in the repository and open the link that it prints: the token is in the link, and each start makes a new one.",
  );
}

function back() {
  const { route: name, params, root } = address();
  if (name === "task") location.hash = href(root, "board");
  else if (name === "team" && params.length > 0) location.hash = href(root, "team");
}

function retitle() {
  const waits = session?.store.decisions.length ?? 0;
  const parts = [screen?.title, session?.root, "shipmate"].filter(Boolean);
  document.title = `${waits > 0 ? `(${waits}) ` : ""}${parts.join(" · ")}`;
}

/** Keys that work on every screen. @returns {Record<string, Key>} */
function everywhere() {
  /** @type {Record<string, Key>} */
  const keys = {};
  if (session) {
    const { root } = session;
    for (const tab of TABS) {
      keys[tab.key] = { does: tab.name, run: () => void (location.hash = href(root, tab.route)) };
    }
    keys.Escape = { does: "back", run: back };
  }
  keys.t = { does: "light or dark", run: () => shell.theme() };
  keys["?"] = { does: "these keys", run: () => void help() };
  return keys;
}

function help() {
  return showKeys([
    [screen?.title ?? "This screen", screen?.keys ?? {}],
    ["Everywhere", everywhere()],
  ]);
}

/** @param {EventTarget | null} target */
function types(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement)
    return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target.isContentEditable || target.tagName === "TEXTAREA" || target.tagName === "SELECT";
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || dialogOpen())
    return;
  if (types(event.target)) {
    if (event.key === "Escape" && event.target instanceof HTMLElement) {
      event.target.blur();
      shell.main.focus({ preventScroll: true });
    }
    return;
  }
  // Enter and Space belong to the button or link that has the focus.
  const onControl =
    event.target instanceof HTMLElement && event.target.closest("a, button, summary") !== null;
  if (onControl && (event.key === "Enter" || event.key === " ")) return;
  const key = screen?.keys?.[event.key] ?? everywhere()[event.key];
  if (!key) return;
  event.preventDefault();
  key.run(event);
});

setInterval(() => {
  if (!document.hidden) for (const run of ticks) run();
}, 1000);

addEventListener("hashchange", () => void route());
// The new link was opened in another tab: this one has its token too.
addEventListener("storage", () => {
  if (!session && !screen) void route();
});
void route();
