// What stands around every screen: navigation, the state of the line, notices, theme and the
// list of keys. It knows no screen and no team's data beyond what the header shows.

/** @import { Ended, Key, Part } from "./types.d.ts" */
/** @import { Store } from "./store.js" */

import { el, prose, put, setAttr, setText, svg } from "./dom.js";
import { show } from "./dialog.js";
import { count } from "./words.js";

/** @typedef {{ route: string, name: string, key: string, icon: string }} Tab */

/** The screens, in the order of their keys. @type {Tab[]} */
export const TABS = [
  { route: "board", name: "Board", key: "1", icon: "M3 4h4v12H3zM9 4h4v8H9zM15 4h2v5h-2z" },
  {
    route: "graph",
    name: "Graph",
    key: "2",
    icon: "M3 8h4v4H3zM13 3h4v4h-4zM13 13h4v4h-4zM7 10h3V5h3M10 10v5h3",
  },
  {
    route: "team",
    name: "Team",
    key: "3",
    icon: "M7 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM2.5 16c0-3 2-4.5 4.500-4.500s4.500 1.500 4.500 4.500zM13 9a2 2 0 1 0 0-4M14 11.500c2 .300 3.500 1.700 3.500 4.500h-3",
  },
  { route: "messages", name: "Messages", key: "4", icon: "M3 4h14v9H9l-4 3.500V13H3z" },
  {
    route: "decisions",
    name: "Decisions",
    key: "5",
    icon: "M10 2.500 17.500 10 10 17.500 2.500 10zM10 6.500v4M10 13v.500",
  },
  { route: "timeline", name: "Timeline", key: "6", icon: "M3 5h7M6 10h9M10 15h7" },
  {
    route: "cost",
    name: "Cost",
    key: "7",
    icon: "M10 2.500a7.500 7.500 0 1 0 0 15 7.500 7.500 0 0 0 0-15zM12.500 7.500c-.500-1-1.500-1.300-2.500-1.300-1.300 0-2.400.600-2.400 1.800 0 2.600 5 1.300 5 3.900 0 1.200-1.200 1.900-2.600 1.900-1.200 0-2.200-.500-2.600-1.500M10 4.800v10.400",
  },
  { route: "notes", name: "Notes", key: "8", icon: "M4 3h12v10l-4 4H4zM12 17v-4h4M7 7h6M7 10h4" },
];

/** @param {string} id */
function place(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has a place called ${id}`);
  return node;
}

/** @param {string} path */
export function icon(path) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: path }),
  );
}

const SUN =
  "M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M15.700 4.300l-1.100 1.100M5.400 14.600l-1.100 1.100";
const HELP =
  "M10 2.500a7.500 7.500 0 1 0 0 15 7.500 7.500 0 0 0 0-15zM7.700 7.800C7.800 6.400 8.800 5.700 10 5.700c1.300 0 2.300.800 2.300 2 0 1.700-2.300 1.900-2.300 3.700M10 13.700v.600";

const THEME = "shipmate.theme";

/** As stored, else as the system says. */
export function startTheme() {
  const stored = localStorage.getItem(THEME);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
}

export class Shell {
  /** @param {{ help: () => void, retry: () => void }} does */
  constructor(does) {
    this.does = does;
    this.main = place("main");
    this.nav = place("nav");
    this.banner = place("banner");
    this.outcome = place("outcome");
    this.brand = place("brand-name");
    this.line = el("span", { class: "line-state" });
    /** @type {Map<string, { link: HTMLElement, badge: HTMLElement }>} */
    this.tabs = new Map();
    put(
      place("top-end"),
      this.line,
      el(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Change between light and dark",
          title: "Light or dark (t)",
          on: { click: () => this.theme() },
        },
        icon(SUN),
      ),
      el(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Keys",
          title: "Keys (?)",
          on: { click: does.help },
        },
        icon(HELP),
      ),
    );
    place("skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.main.focus();
    });
  }

  theme() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    const next = dark ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(THEME, next);
    this.say(`${next === "dark" ? "Dark" : "Light"} theme`);
  }

  /** @param {string} root empty: no team is chosen */
  team(root) {
    setText(this.brand, root || "shipmate");
    this.nav.hidden = root === "";
    if (root === "") {
      this.line.hidden = true;
      this.banner.hidden = true;
    }
    this.tabs.clear();
    put(
      this.nav,
      TABS.map((tab) => {
        const badge = el("span", { class: "count", hidden: true });
        const link = el(
          "a",
          {
            href: `#/${encodeURIComponent(root)}/${tab.route}`,
            "aria-keyshortcuts": tab.key,
            title: `${tab.name} (${tab.key})`,
          },
          icon(tab.icon),
          el("span", { class: "tab-name" }, tab.name),
          badge,
        );
        this.tabs.set(tab.route, { link, badge });
        return link;
      }),
    );
  }

  /** @param {string} route */
  current(route) {
    for (const [name, { link }] of this.tabs) {
      setAttr(link, "aria-current", name === route ? "page" : null);
    }
  }

  /** @param {Store} store @param {Set<Part>} changed */
  update(store, changed) {
    if (changed.has("decisions") || changed.has("whole")) {
      const badge = this.tabs.get("decisions")?.badge;
      const n = store.decisions.length;
      if (badge) {
        badge.hidden = n === 0;
        put(
          badge,
          String(n),
          el("span", { class: "unseen" }, n === 1 ? " waits for you" : " wait for you"),
        );
      }
    }
  }

  /** @param {Store} store @param {number} retryInMs */
  link(store, retryInMs) {
    const state = store.link;
    const live = state === "open" || state === "opening" || state === "resting" || state === "off";
    put(
      this.line,
      el("span", { class: "dot", data: { live: live ? "yes" : "no" } }),
      el("span", { class: "line-word" }, live ? "live" : "offline"),
    );
    this.line.hidden = state === "off";
    if (state === "waiting") {
      const again = el(
        "button",
        { type: "button", class: "button quiet", on: { click: this.does.retry } },
        "Try now",
      );
      this.banner.hidden = false;
      put(
        this.banner,
        el("strong", null, "Reconnecting…"),
        el(
          "span",
          null,
          prose(
            `${
              store.loaded
                ? `What you see is as of the last news. Trying again in ${count(Math.ceil(retryInMs / 1000), "second")}.`
                : "The server does not answer."
            } If \`shipmate run\` or \`shipmate serve\` has ended, run \`shipmate serve\` and open the link that it prints.`,
          ),
        ),
        again,
      );
    } else if (state === "gone") {
      this.banner.hidden = false;
      put(
        this.banner,
        el("strong", null, "This page is closed."),
        el(
          "span",
          null,
          prose(
            "What you see is as of the last news: whoever served it has left. `shipmate serve` prints a new link.",
          ),
        ),
      );
    } else if (state === "open" && !this.banner.hidden) {
      this.banner.hidden = true;
      put(this.banner);
      this.say("Connected again", "good");
    }
  }

  /** How the run ended, and what comes next; it stays. @param {Ended} how */
  ended(how) {
    const good = how.outcome === "complete";
    this.outcome.hidden = false;
    this.outcome.dataset.good = good ? "yes" : "no";
    put(
      this.outcome,
      el("strong", null, `Run ended: ${how.text}`),
      how.next
        .slice(0, 3)
        .map(({ command, why }) =>
          el("span", null, el("code", null, command), why ? ` ${why}` : ""),
        ),
    );
    place("polite").textContent = `Run ended: ${how.text}`;
  }

  /**
   * The server is there, and cannot reach the team; it goes on trying by itself.
   * @param {{ message: string, remedy?: string }} trouble
   */
  trouble({ message, remedy }) {
    this.banner.hidden = false;
    put(
      this.banner,
      el("strong", null, "No news of the team"),
      el("span", null, prose(remedy ? `${message}; ${remedy}` : message)),
    );
  }

  /** @param {string} text @param {"plain" | "good" | "bad"} [kind] */
  say(text, kind = "plain") {
    const toasts = place("toasts");
    const node = el(
      "div",
      { class: `toast ${kind}` },
      el(
        "span",
        { class: "sign", "aria-hidden": "true" },
        kind === "good" ? "●" : kind === "bad" ? "✕" : "○",
      ),
      el("span", { class: "toast-text" }, prose(text)),
      el(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Dismiss",
          on: { click: () => node.remove() },
        },
        "✕",
      ),
    );
    while (toasts.children.length > 2) toasts.firstChild?.remove();
    toasts.append(node);
    place(kind === "bad" ? "urgent" : "polite").textContent = text;
    setTimeout(() => node.remove(), kind === "bad" ? 12_000 : 4_000);
  }

  /**
   * Instead of a screen: what stands in the way, and the remedy.
   * @param {string} title @param {...(Node | string)} more
   */
  instead(title, ...more) {
    put(
      this.main,
      el(
        "div",
        { class: "screen scroll" },
        el(
          "div",
          { class: "empty big", role: "alert" },
          el("h1", { class: "empty-title" }, prose(title)),
          more.map((one) => el("p", null, typeof one === "string" ? prose(one) : one)),
        ),
      ),
    );
  }

  skeleton() {
    put(
      this.main,
      el("div", { class: "skeleton", "aria-hidden": "true" }, el("i"), el("i"), el("i"), el("i")),
      el("p", { class: "unseen", role: "status" }, "Loading"),
    );
  }
}

/**
 * The list of keys, by key pressed.
 * @param {[string, Record<string, Key>][]} groups
 */
export function showKeys(groups) {
  return show(
    "Keys",
    () => [
      el(
        "div",
        { class: "keys", tabindex: "0", role: "group", "aria-label": "All keys" },
        groups
          .filter(([, keys]) => Object.keys(keys).length > 0)
          .map(([title, keys]) =>
            el(
              "section",
              null,
              el("h3", null, title),
              el(
                "dl",
                null,
                [...byDeed(keys)].map(([does, names]) =>
                  el(
                    "div",
                    null,
                    el(
                      "dt",
                      null,
                      names.map((name) => el("kbd", null, name)),
                    ),
                    el("dd", null, does),
                  ),
                ),
              ),
            ),
          ),
      ),
    ],
    "wide",
  );
}

/** Two keys that do the same stand in one line. @param {Record<string, Key>} keys */
function byDeed(keys) {
  /** @type {Map<string, string[]>} */
  const deeds = new Map();
  for (const [key, { does }] of Object.entries(keys))
    deeds.set(does, [...(deeds.get(does) ?? []), keyName(key)]);
  return deeds;
}

/** @param {string} key */
function keyName(key) {
  return (
    { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", " ": "Space" }[
      key
    ] ?? key
  );
}
