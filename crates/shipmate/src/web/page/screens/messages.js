// Who said what to whom: as conversations, or as one timeline. Each message shows how far it got
// with each recipient, and what the person has not read yet stands out.
//
// What the runtime says by itself is no conversation: it is one row for each recipient, and hidden
// where it is not said to the person, until it is asked for. What the person opens is read.
//
// Only the latest messages are in the page; older ones come when they are asked for.

import { button, el, empty, keep, put, setText } from "../dom.js";
import { Rows } from "../rows.js";
import { ago, count, nameOf, number, seatOf } from "../words.js";
import { called, canAnswer, isNotice, isUnread, kindWord, messageNode, recipients } from "./message_parts.js";
import { Writer } from "./message_write.js";

/** @import { Ctx, MessageRow, Part, Screen } from "../types.d.ts" */

/** @typedef {{ id: number, last: MessageRow, rows: MessageRow[], unread: number, people: string[], name?: string }} Thread */

/** How long what is opened must be in sight before it counts as read. */
const READ_MS = 1500;
const PAGE = 120;
const ROW = 66;

/** @param {Ctx} ctx @param {string[]} params @returns {Screen} */
export function open(ctx, params) {
  const screen = new Messages(ctx, params);
  return {
    node: screen.node,
    title: "Messages",
    update: (changed) => screen.update(changed),
    close: () => screen.close(),
    keys: {
      m: { does: "write a message", run: () => screen.writer.text.focus() },
      v: { does: "threads or timeline", run: () => screen.turn(screen.view === "threads" ? "timeline" : "threads") },
      j: { does: "next", run: () => screen.step(1) },
      k: { does: "the one before", run: () => screen.step(-1) },
      ArrowDown: { does: "next", run: () => screen.step(1) },
      ArrowUp: { does: "the one before", run: () => screen.step(-1) },
      r: { does: "reply", run: () => screen.reply() },
      u: { does: "next unread", run: () => screen.toUnread() },
      o: { does: "older messages", run: () => void screen.older() },
      "/": { does: "search", run: () => screen.find.focus() },
    },
  };
}

class Messages {
  /** @param {Ctx} ctx @param {string[]} params */
  constructor(ctx, params) {
    this.ctx = ctx;
    /** @type {"threads" | "timeline"} */
    this.view = "threads";
    this.thread = Number(params[0] ?? 0);
    this.shown = PAGE;
    this.ended = false;
    this.fetching = false;
    this.drawn = "";
    /** @type {Thread[]} */
    this.threads = [];
    /** The thread that the person opened or touched; what only happens to be in sight is not read. */
    this.opened = this.thread;
    /** The last message of the thread that the writer follows. */
    this.followed = "";
    /** @type {ReturnType<typeof setTimeout> | 0} */
    this.reads = 0;
    /** @type {Set<number>} */
    this.marked = new Set();
    this.writer = new Writer(ctx);
    this.who = el("select", { "aria-label": "Person", on: { change: () => this.filter() } });
    this.kind = el("select", { "aria-label": "Kind", on: { change: () => this.filter() } });
    this.find = el("input", { type: "search", placeholder: "Search", "aria-label": "Search the messages", on: { input: () => this.filter() } });
    this.notices = el("input", { type: "checkbox", on: { change: () => this.filter() } });
    this.ways = el("div", { class: "segments", role: "group", "aria-label": "View" });
    this.sum = el("span", { class: "message-unread small" });
    /** @type {Rows<Thread>} */
    this.list = new Rows({
      label: "Conversations",
      height: ROW,
      key: (thread) => thread.id,
      make: (thread) => this.threadRow(thread),
      change: (node, thread) => this.fillThread(node, thread),
    });
    this.more = button("Older messages", () => void this.older(), { key: "o" });
    this.flow = el("div", { class: "message-flow", role: "feed", "aria-label": "Messages" });
    this.scroll = el("div", { class: "message-scroll", tabindex: 0, role: "group", "aria-label": "Messages" }, el("div", { class: "message-more" }, this.more), this.flow);
    this.side = el("div", { class: "thread-pane" }, this.list.node);
    this.none = el("div", { class: "message-none" });
    this.toList = button("← All threads", () => this.overview(), { kind: "quiet" });
    this.toList.classList.add("to-list");
    this.panes = el(
      "div",
      { class: "message-panes" },
      this.side,
      el("div", { class: "message-main" }, this.toList, this.none, this.scroll, this.writer.node),
    );
    if (this.thread > 0) this.panes.dataset.open = "yes";
    this.node = el(
      "section",
      { class: "screen messages", "aria-label": "Messages" },
      el("h1", { class: "unseen" }, "Messages"),
      el("div", { class: "bar" }, this.ways, this.who, this.kind, this.find, el("label", { class: "toggle", title: "What the runtime tells teammates by itself" }, this.notices, "notices"), el("div", { class: "end" }, this.sum)),
      this.panes,
    );
    const touched = () => {
      this.opened = this.thread;
      this.readSoon();
    };
    this.scroll.addEventListener("pointerdown", touched);
    this.scroll.addEventListener("focusin", touched);
    ctx.tick(() => this.age());
    this.show();
    // There is nothing to scroll before the shell has put the screen into the page.
    requestAnimationFrame(() => (this.scroll.scrollTop = this.scroll.scrollHeight));
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    if (changed.has("teammates") || changed.has("teams") || changed.has("whole")) this.writer.names_();
    if (changed.has("messages") || changed.has("whole")) this.show();
  }

  close() {
    clearTimeout(this.reads);
    this.list.close();
  }

  filter() {
    this.shown = PAGE;
    this.show();
  }

  /** @param {"threads" | "timeline"} view */
  turn(view) {
    this.view = view;
    this.shown = PAGE;
    this.drawn = "";
    this.show();
  }

  /** @param {MessageRow} row */
  wanted(row) {
    if (isNotice(row) && !this.notices.checked && !isToPerson(row)) return false;
    const who = this.who.value;
    if (who && seatOf(row.from) !== who && !(row.to ?? []).some((one) => seatOf(one.to) === who)) return false;
    if (this.kind.value && row.kind !== this.kind.value) return false;
    const words = this.find.value.trim().toLowerCase();
    return words === "" || (row.body ?? "").toLowerCase().includes(words);
  }

  show() {
    const all = [...this.ctx.store.messages.values()].sort((a, b) => a.id - b.id);
    this.showBar(all);
    const rows = all.filter((row) => this.wanted(row));
    const threads = this.view === "threads";
    this.side.hidden = !threads;
    this.panes.dataset.view = this.view;
    if (threads) {
      this.threads = threadsOf(rows, this.ctx.store.messages);
      if (!this.threads.some((one) => one.id === this.thread)) this.thread = this.threads[0]?.id ?? 0;
      this.list.set(this.threads);
    }
    const mine = threads ? (this.threads.find((one) => one.id === this.thread)?.rows ?? []) : rows;
    this.showFlow(mine, all.length);
    this.follow(threads ? mine : []);
    this.readSoon();
  }

  /**
   * What is written under a thread belongs to it; what is being written, or was addressed by hand,
   * is not turned to somebody else by what comes in.
   * @param {MessageRow[]} rows
   */
  follow(rows) {
    const last = rows.findLast((row) => !isNotice(row));
    const thread = this.view === "threads" ? this.thread : 0;
    const now = `${thread} ${last?.id ?? ""}`;
    if (now === this.followed) return;
    const same = this.followed.split(" ")[0] === String(thread);
    if (same && (this.writer.byHand || this.writer.text.value !== "")) return;
    this.followed = now;
    this.writer.follow(last);
  }

  /** What the person opened is read once it was in sight for a moment. */
  readSoon() {
    const { thread } = this;
    if (this.reads || this.unreadHere().length === 0) return;
    this.reads = setTimeout(() => {
      this.reads = 0;
      const rows = this.thread === thread ? this.unreadHere() : [];
      for (const row of rows) this.marked.add(row.id);
      // It can still be marked by hand, so nobody has to hear that it went wrong.
      if (rows.length > 0) this.ctx.api.ask({ message_acknowledge: { messages: rows.map((row) => row.id) } }).catch(() => {});
      else this.readSoon();
    }, READ_MS);
  }

  unreadHere() {
    const seen = this.view === "threads" && this.opened === this.thread && !this.ctx.readonly && !document.hidden;
    const rows = seen ? (this.threads.find((one) => one.id === this.thread)?.rows ?? []) : [];
    return rows.filter((row) => isUnread(row) && !this.marked.has(row.id));
  }

  /** @param {MessageRow[]} all */
  showBar(all) {
    /** @type {["threads" | "timeline", string][]} */
    const views = [["threads", "Threads"], ["timeline", "Timeline"]];
    keep(
      this.ways,
      views,
      ([view]) => view,
      ([view, name]) => el("button", { type: "button", on: { click: () => this.turn(view) } }, name),
    );
    views.forEach(([view], i) => this.ways.children[i].setAttribute("aria-pressed", String(this.view === view)));
    const people = new Set(all.flatMap((row) => [seatOf(row.from), ...(row.to ?? []).map((one) => seatOf(one.to))]));
    const shown = new Set([...people].slice(0, 400));
    choices(this.who, "everybody", [...shown].sort().map((who) => [who, who === "person" ? "you" : this.seatName(who)]));
    const kinds = [...new Set(all.map((row) => row.kind))].sort();
    choices(this.kind, "every kind", kinds.map((kind) => [kind, kindWord(kind)]));
    this.kind.hidden = kinds.length < 2;
    const unread = all.filter(isUnread).length;
    if (this.sum.dataset.unread === String(unread)) return;
    this.sum.dataset.unread = String(unread);
    put(
      this.sum,
      unread > 0 ? button(`${number(unread)} unread ${unread === 1 ? "message" : "messages"} for you`, () => this.toUnread(), { kind: "quiet", title: "Go to the oldest one (u)" }) : null,
      unread > 1 ? button("Mark all as read", () => void this.readAll(), { kind: "quiet" }) : null,
    );
  }

  /** @param {string} who */
  seatName(who) {
    return this.ctx.store.teams.size > 1 ? who : nameOf(who);
  }

  /** @param {MessageRow[]} rows @param {number} all */
  showFlow(rows, all) {
    const atEnd = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 60;
    const other = `${this.view} ${this.view === "threads" ? this.thread : ""}`;
    const anew = other !== this.drawn;
    this.drawn = other;
    const shown = rows.slice(-this.shown);
    this.none.hidden = rows.length > 0;
    this.scroll.hidden = rows.length === 0;
    if (rows.length === 0) {
      put(this.none, all === 0
        ? empty("Nobody wrote anything yet.", "What teammates say to each other and to you appears here. You can write first.")
        : empty("No message fits the filter.", button("Show all", () => this.clear()), this.ended ? "" : button("Look in older ones", () => void this.older())));
    }
    const before = this.ctx.store.messages;
    this.more.hidden = rows.length <= this.shown && (this.ended || this.view === "threads");
    const height = this.scroll.scrollHeight;
    keep(
      this.flow,
      shown,
      (row) => `${row.id} ${(row.to ?? []).map((one) => one.state + one.at).join()}`,
      (row) =>
        messageNode(this.ctx, row, {
          reply: (one) => this.reply(one),
          read: (one) => void this.read([one]),
          ...(this.view === "timeline" ? { thread: (one) => this.openThread(this.threadOf(one)) } : {}),
          replied: row.reply_to === undefined || this.view === "threads" ? undefined : before.get(row.reply_to),
        }),
    );
    if (anew || atEnd) this.scroll.scrollTop = this.scroll.scrollHeight;
    else if (this.fetching) this.scroll.scrollTop += this.scroll.scrollHeight - height;
  }

  clear() {
    this.who.value = "";
    this.kind.value = "";
    this.find.value = "";
    this.notices.checked = true;
    this.filter();
  }

  /** @param {Thread} thread */
  threadRow(thread) {
    const node = el("div", { class: "thread" }, el("button", { type: "button", class: "thread-row", on: { click: () => this.openThread(thread.id) } }));
    this.fillThread(node, thread);
    return node;
  }

  /** @param {HTMLElement} node @param {Thread} thread */
  fillThread(node, thread) {
    const target = /** @type {HTMLElement} */ (node.firstChild);
    const { last } = thread;
    if (thread.id === this.thread) target.setAttribute("aria-current", "true");
    else target.removeAttribute("aria-current");
    target.dataset.thread = String(thread.id);
    target.dataset.unread = thread.unread > 0 ? "yes" : "no";
    put(
      target,
      el(
        "span",
        { class: "thread-top" },
        el("span", { class: "thread-people cut" }, thread.name ?? thread.people.slice(0, 4).join(", ") + (thread.people.length > 4 ? ` and ${thread.people.length - 4} more` : "")),
        el("time", { class: "age", data: { at: last.sent_at } }, ago(Math.max(0, this.ctx.store.time() - last.sent_at))),
      ),
      el("span", { class: "thread-last cut" }, `${called(last.from)}: ${(last.body ?? "").split("\n")[0]}`),
      el(
        "span",
        { class: "thread-facts" },
        count(thread.rows.length, thread.name ? "notice" : "message"),
        last.kind !== "message" && !thread.name ? ` · ${kindWord(last.kind)}` : "",
        thread.unread > 0 ? el("span", { class: "unread-mark" }, el("span", { "aria-hidden": "true" }, " ◆ "), `${thread.unread} unread`) : null,
      ),
    );
  }

  age() {
    for (const node of this.side.querySelectorAll("time[data-at]")) {
      setText(node, ago(Math.max(0, this.ctx.store.time() - Number(node.getAttribute("data-at")))));
    }
  }

  /** On a narrow screen either the threads or one of them is seen. */
  overview() {
    this.panes.dataset.open = "no";
    const row = this.side.querySelector("button[aria-current]");
    if (row instanceof HTMLElement) row.focus();
  }

  /** @param {MessageRow} row */
  threadOf(row) {
    const threads = threadsOf([row], this.ctx.store.messages);
    return threads[0]?.id ?? row.thread;
  }

  /** @param {number} id */
  openThread(id) {
    this.view = "threads";
    this.panes.dataset.open = "yes";
    if (!this.threads.some((one) => one.id === id)) this.clear();
    this.thread = id;
    this.opened = id;
    this.followed = "";
    this.shown = PAGE;
    this.drawn = "";
    // Rows whose thread is the same are not touched: the mark of the chosen one is moved by hand.
    for (const node of this.side.querySelectorAll("button.thread-row")) {
      if (node instanceof HTMLElement && node.dataset.thread === String(id)) node.setAttribute("aria-current", "true");
      else node.removeAttribute("aria-current");
    }
    this.show();
    this.scroll.scrollTop = this.scroll.scrollHeight;
    const last = this.flow.lastElementChild;
    if (last instanceof HTMLElement) last.focus({ preventScroll: true });
  }

  /** @param {-1 | 1} way */
  step(way) {
    const nodes = [...this.flow.children].filter((node) => node instanceof HTMLElement);
    const here = nodes.findIndex((node) => node.contains(document.activeElement));
    if (this.view === "threads" && (here < 0 || this.side.contains(document.activeElement))) {
      this.stepThread(way);
      return;
    }
    const next = nodes[here < 0 ? nodes.length - 1 : here + way];
    if (next instanceof HTMLElement) {
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    } else if (this.view === "threads") this.stepThread(way);
  }

  /** @param {-1 | 1} way */
  stepThread(way) {
    const at = this.threads.findIndex((one) => one.id === this.thread);
    const next = this.threads[at + way];
    if (!next) return;
    this.openThread(next.id);
    const row = this.list.reveal(at + way);
    const button_ = row?.querySelector("button");
    if (button_) button_.focus({ preventScroll: true });
  }

  chosen() {
    const node = [...this.flow.children].find((one) => one.contains(document.activeElement)) ?? this.flow.lastElementChild;
    const id = Number((node instanceof HTMLElement ? node.dataset.key : "")?.split(" ")[0]);
    return this.ctx.store.messages.get(id);
  }

  /** @param {MessageRow | undefined} [row] */
  reply(row = this.chosen()) {
    if (row && row.from !== "person") {
      if (!canAnswer(this.ctx, row.from)) {
        this.ctx.say(`${called(row.from)} cannot be written to.`);
        return;
      }
      this.writer.reply(row);
    }
    this.writer.text.focus();
  }

  toUnread() {
    const rows = [...this.ctx.store.messages.values()].filter(isUnread).sort((a, b) => a.id - b.id);
    const row = rows[0];
    if (!row) {
      this.ctx.say("You have read everything.");
      return;
    }
    if (!this.wanted(row)) this.clear();
    if (this.view === "threads") this.openThread(this.threadOf(row));
    const node = [...this.flow.children].find((one) => one instanceof HTMLElement && one.dataset.key?.startsWith(`${row.id} `));
    if (node instanceof HTMLElement) {
      node.focus({ preventScroll: true });
      node.scrollIntoView({ block: "center" });
    }
  }

  /** @param {MessageRow[]} rows */
  async read(rows) {
    await this.ctx.attempt({ message_acknowledge: { messages: rows.map((row) => row.id) } }, "");
  }

  readAll() {
    return this.read([...this.ctx.store.messages.values()].filter(isUnread));
  }

  /** What is in the store first, then from the server. */
  async older() {
    const { store, api } = this.ctx;
    const known = [...store.messages.keys()];
    const held = this.view === "timeline" ? [...store.messages.values()].filter((row) => this.wanted(row)).length : 0;
    this.shown += PAGE;
    this.fetching = true;
    if (held >= this.shown || this.ended) {
      this.show();
      this.fetching = false;
      return;
    }
    this.more.disabled = true;
    try {
      const first = known.length > 0 ? Math.min(...known) : Number.MAX_SAFE_INTEGER;
      /** @type {{ messages?: MessageRow[] }} */
      const page = await api.get(`messages?before=${first}&max=200`);
      this.ended = (page.messages ?? []).length === 0;
      store.takeMessages(page.messages ?? []);
      if (this.ended) this.ctx.say("There are no older messages.");
      this.show();
    } catch (error) {
      this.ctx.complain(error);
    } finally {
      this.more.disabled = false;
      this.fetching = false;
    }
  }
}

/** @param {MessageRow} row */
const isToPerson = (row) => (row.to ?? []).some((one) => one.to === "person");

/** Rows of notices by recipients; below zero, where no message is. @type {Map<string, number>} */
const noticeIds = new Map();

/** @param {MessageRow} row */
function noticeId(row) {
  const name = isToPerson(row) ? "person" : (row.to ?? []).map((one) => seatOf(one.to)).sort().join();
  const id = noticeIds.get(name) ?? -1 - noticeIds.size;
  noticeIds.set(name, id);
  return id;
}

/** @param {MessageRow[]} rows @param {Map<number, MessageRow>} all @returns {Thread[]} */
export function threadsOf(rows, all) {
  /** @type {Map<number, Thread>} */
  const threads = new Map();
  // A notice in a conversation belongs to it; alone, it stands with the others for its recipient.
  const talked = new Set([...all.values()].filter((row) => !isNotice(row)).map((row) => row.thread));
  const idOf = (/** @type {MessageRow} */ row) => (talked.has(row.thread) ? row.thread : noticeId(row));
  const wanted = new Set(rows.map(idOf));
  // A thread is shown whole, whichever of its messages fits the filter.
  for (const row of [...all.values()].sort((a, b) => a.id - b.id)) {
    const id = idOf(row);
    if (!wanted.has(id)) continue;
    let thread = threads.get(id);
    if (!thread) threads.set(id, (thread = { id, last: row, rows: [], unread: 0, people: [] }));
    thread.rows.push(row);
    thread.last = row;
    if (id < 0) thread.name = `runtime → ${isToPerson(row) ? "you" : recipients(row)}`;
    if (isUnread(row)) thread.unread++;
    for (const who of [row.from, ...(row.to ?? []).map((one) => one.to)]) {
      const name = called(who);
      if (!thread.people.includes(name)) thread.people.push(name);
    }
  }
  return [...threads.values()].sort((a, b) => b.last.id - a.last.id);
}

/** @param {HTMLSelectElement} select @param {string} all @param {string[][]} options */
function choices(select, all, options) {
  const key = options.map(([value]) => value).join();
  if (select.dataset.options === key) return;
  select.dataset.options = key;
  const before = select.value;
  put(select, el("option", { value: "" }, all), options.map(([value, name]) => el("option", { value }, name)));
  select.value = before;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}
