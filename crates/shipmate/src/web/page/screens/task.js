// One task: what it is, why it stands where it stands, how it got there, what it changed. The
// card of the store is there at once; the rest is fetched, and again when the task changes.

/** @import { Card, CostRow, Ctx, DiffPage, GateRow, MessageRow, Screen, Span, Step, TaskPage } from "../types.d.ts" */

import { Refused } from "../api.js";
import { renderDiff } from "../diff.js";
import { badge, button, el, empty, put, setText } from "../dom.js";
import { write } from "../mateacts.js";
import { deeds, perform } from "../taskacts.js";
import { standing } from "../taskcard.js";
import { ago, clock, count, deliveryState, lasted, moment, money, nameOf, parts, seatOf, shortCommit, spanEnd, taskState, tokens } from "../words.js";

/** Changes come in bursts; one fetch for a burst is enough. */
const SETTLE_MS = 250;

/** @param {Ctx} ctx @param {string[]} params @returns {Screen} */
export function open(ctx, params) {
  const id = Number(params[0]);
  const page = new TaskScreen(ctx, id);
  const on = (/** @type {string} */ key) => ({ run: () => perform(ctx, ctx.store.tasks.get(id), key) });
  return {
    node: page.node,
    title: `Task ${params[0]}`,
    update: (changed) => {
      const { touched } = ctx.store;
      const about = [...touched.messages].some((one) => ctx.store.messages.get(one)?.task === id);
      if (touched.whole || touched.tasks.has(id) || about) page.again();
      // What it waits for shows its state too.
      else if (changed.has("tasks")) page.links();
    },
    close: () => page.close(),
    keys: {
      e: { does: "edit", ...on("e") },
      a: { does: "assign", ...on("a") },
      x: { does: "release", ...on("x") },
      r: { does: "retry", ...on("r") },
      Delete: { does: "delete", ...on("Delete") },
      m: { does: "message to its teammate", run: () => page.message() },
      Escape: { does: "back to the board", run: () => ctx.go("board") },
    },
  };
}

class TaskScreen {
  /** @param {Ctx} ctx @param {number} id */
  constructor(ctx, id) {
    this.ctx = ctx;
    this.id = id;
    /** @type {TaskPage | null} */
    this.page = null;
    /** What the diff was fetched for. */
    this.diffOf = "";
    this.life = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.head = el("div", { class: "task-head" });
    this.text = el("div");
    this.story = el("div");
    this.gates = el("div");
    this.diff = el("div");
    this.talk = el("div");
    this.facts = el("div");
    this.needs = el("div");
    this.spent = el("div");
    this.when = el("span", { class: "dim" });
    this.body = el("div", { class: "page task-page" });
    this.node = el("section", { class: "screen scroll", "aria-label": `Task ${id}` }, this.body);
    ctx.tick(() => this.tick());
    this.drawHead();
    put(this.body, this.head, el("div", { class: "skeleton", "aria-hidden": "true" }, el("i"), el("i"), el("i")));
    void this.fetch();
  }

  close() {
    clearTimeout(this.timer);
    this.life.abort();
  }

  again() {
    this.drawHead();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetch(), SETTLE_MS);
  }

  async fetch() {
    try {
      const page = /** @type {TaskPage} */ (await this.ctx.api.get(`task/${this.id}`, this.life.signal));
      const first = this.page === null;
      this.page = page;
      if (first) this.frame();
      this.draw(page);
      this.fetchDiff(page);
    } catch (error) {
      if (this.life.signal.aborted) return;
      const told = error instanceof Refused ? error : new Refused(String(error), "", 0, "");
      if (this.page) this.ctx.complain(error);
      else {
        put(this.body, empty(told.message, told.remedy || null,
          el("p", null, el("a", { href: this.ctx.href("board") }, "Back to the board"))));
      }
    }
  }

  /** The places of the page, once. */
  frame() {
    put(this.body, this.head, el("div", { class: "task-cols" },
      el("div", { class: "task-main" }, this.text, section("Changes", this.diff), section("Gate", this.gates), section("Story", this.story), section("Messages about it", this.talk)),
      el("aside", { class: "task-side", "aria-label": "Facts" }, this.needs, this.facts, this.spent)));
  }

  drawHead() {
    const card = this.ctx.store.tasks.get(this.id);
    if (!card) return;
    const why = standing(card);
    const bad = card.status === "failed" || card.stage === "returned";
    put(this.head,
      el("nav", { class: "crumbs small", "aria-label": "Where this is" }, el("a", { href: this.ctx.href("board") }, "Board"), el("span", { class: "dim", "aria-hidden": "true" }, " / "),
        el("span", { class: "dim" }, `#${card.id}`), card.alias ? el("span", { class: "dim" }, ` · ${card.alias}`) : null),
      el("div", { class: "task-title" }, el("h1", { class: "wrap" }, card.subject)),
      el("div", { class: "task-line" }, badge(taskState(card)),
        card.owner ? el("span", null, card.status === "in_progress" ? "by " : "last by ", this.mate(card.owner)) : null,
        !card.owner && card.assignee ? el("span", { class: "soft" }, `for ${card.assignee}`) : null,
        card.retries > 0 ? el("span", { class: "warn" }, `${card.retries} of ${count(card.retries_max, "attempt")} failed`) : null,
        this.when,
        el("span", { class: "task-deeds" }, deeds(this.ctx, card).map((deed) => button(deed.label, () => void deed.run(), { kind: deed.kind ?? "plain", key: deed.key })))),
      why ? el("div", { class: `note wrap ${bad ? "bad-note" : ""}` }, el("strong", null, bad ? "It failed with: " : "Why it is not taken: "), why) : null);
    this.tick();
  }

  tick() {
    const card = this.ctx.store.tasks.get(this.id);
    if (card) setText(this.when, `changed ${ago(this.ctx.store.time() - card.changed_at)}`);
  }

  /** @param {string} who */
  mate(who) {
    const { team, name } = parts(who);
    const known = this.ctx.store.teammates.has(`${team}/${name}`);
    return known ? el("a", { href: this.ctx.href(`team/${team}/${name}`) }, name) : el("span", null, name || who);
  }

  message() {
    const owner = this.ctx.store.tasks.get(this.id)?.owner;
    if (owner) void write(this.ctx, parts(owner).name, parts(owner).team, `About task ${this.id}: `);
    else this.ctx.say("Nobody has this task: there is nobody to write to.");
  }

  /** @param {TaskPage} page */
  draw(page) {
    const { task } = page;
    put(this.text,
      task.description ? el("p", { class: "prose wrap" }, task.description) : el("p", { class: "dim" }, "No description."),
      task.result ? el("div", { class: "note wrap" }, el("strong", null, "Result: "), task.result) : null);
    put(this.gates, page.gates?.length
      ? page.gates.slice().reverse().map((gate, at) => gateRun(gate, at === 0))
      : el("p", { class: "dim" }, "The gate has not run for it yet: it runs when the task is submitted."));
    put(this.story, story(page.steps ?? []));
    put(this.talk, page.messages?.length
      ? el("ul", { class: "talk" }, page.messages.map((one) => messageRow(one)))
      : el("p", { class: "dim" }, "No message names this task."));
    this.links();
    put(this.facts, this.factsOf(page), this.claims(page.spans ?? []));
    put(this.spent, costs(page.costs ?? []));
  }

  /** Dependencies both ways, with the state of each. */
  links() {
    const task = this.page?.task;
    if (!task) return;
    put(this.needs, this.linkList("Waits for", (task.blocked_by ?? []).map(String), "Nothing: it waits for no other task."),
      this.linkList("Waited for by", (task.blocks ?? []).map(String), "No task waits for it."));
  }

  /** @param {string} title @param {string[]} ids @param {string} none */
  linkList(title, ids, none) {
    return el("section", { class: "side-part" }, el("h2", null, title, ids.length > 1 ? el("span", { class: "dim" }, ` ${ids.length}`) : null),
      ids.length === 0 ? el("p", { class: "dim small" }, none) : el("ul", { class: "dep-list" }, ids.map((one) => {
        const card = this.ctx.store.tasks.get(Number(one)) ?? this.byAlias(one);
        return el("li", null, card
          ? [el("span", { class: "sign", data: { state: taskState(card).key }, title: taskState(card).word }, taskState(card).sign),
              el("a", { href: this.ctx.href(`task/${card.id}`) }, `#${card.id} ${card.subject}`), el("span", { class: "unseen" }, ` (${taskState(card).word})`)]
          : el("span", null, one.startsWith("group:") ? `all of group ${one.slice(6)}` : one));
      })));
  }

  /** @param {string} alias @returns {Card | undefined} */
  byAlias(alias) {
    return [...this.ctx.store.tasks.values()].find((card) => card.alias === alias);
  }

  /** @param {TaskPage} page */
  factsOf({ task }) {
    /** @type {[string, (Node | string | null | undefined)][]} */
    const rows = [
      ["Team", task.team],
      ["Group", task.group],
      ["Role", task.role],
      ["Assigned to", task.assignee],
      ["Priority", task.priority ? String(task.priority) : undefined],
      ["Attempts", `${task.retries} of ${task.retries_max} failed`],
      ["Expected", task.duration_ms ? lasted(task.duration_ms) : undefined],
      ["Path to the end", task.path_ms ? lasted(task.path_ms) : undefined],
      ["Lease", task.lease_ms ? lasted(task.lease_ms) : undefined],
      ["Commit", task.commit ? this.commit(task.commit) : undefined],
      ["Created", el("span", { title: moment(task.created_at) }, `${moment(task.created_at)} by ${nameOf(task.created_by) || "somebody"}`)],
      ...Object.entries(task.metadata ?? {}),
    ];
    return el("section", { class: "side-part" }, el("h2", null, "Facts"),
      el("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => el("div", null, el("dt", null, name), el("dd", { class: "wrap" }, value)))),
      task.files?.length ? [el("h3", { class: "side-sub" }, "Files"), el("ul", { class: "mono small file-list" }, task.files.map((file) => el("li", { class: "wrap" }, file)))] : null,
      task.set_aside?.length ? [el("h3", { class: "side-sub" }, "Work set aside"), el("ul", { class: "mono small file-list" }, task.set_aside.map((one) => el("li", { class: "wrap" }, one)))] : null);
  }

  /** @param {string} commit */
  commit(commit) {
    return el("button", {
      type: "button", class: "copy mono", title: "Copy the whole commit id",
      on: {
        click: () => {
          navigator.clipboard.writeText(commit).then(() => this.ctx.say("Commit id copied", "good"), () => this.ctx.say(commit));
        },
      },
    }, shortCommit(commit));
  }

  /** Each claim of it, with the way to what its teammate printed meanwhile. @param {Span[]} spans */
  claims(spans) {
    if (spans.length === 0) return null;
    const now = this.ctx.store.time();
    return el("section", { class: "side-part" }, el("h2", null, "Who worked on it"), el("ul", { class: "claims" }, spans.slice().reverse().map((span) => {
      const { team, name } = parts(span.who);
      return el("li", null,
        el("div", null, this.mate(span.who), el("span", { class: "dim" }, ` · ${spanEnd(span.end)}`)),
        el("div", { class: "small dim", title: moment(span.began) }, `${clock(span.began)} · ${lasted((span.ended ?? now) - span.began)}`),
        el("a", { class: "small", href: this.ctx.href(`team/${team}/${name}/${span.epoch}`) }, "Transcript"));
    })));
  }

  /** Fetched once per commit or stage. @param {TaskPage} page */
  fetchDiff({ task }) {
    const about = `${task.status} ${task.stage ?? ""} ${task.commit ?? ""}`;
    if (about === this.diffOf) return;
    const first = this.diffOf === "";
    this.diffOf = about;
    if (first) put(this.diff, el("p", { class: "dim" }, "Fetching the changes…"));
    /** @type {Promise<DiffPage>} */ (this.ctx.api.get(`task/${this.id}/diff`, this.life.signal)).then(
      (page) => put(this.diff, renderDiff(page)),
      (error) => {
        if (this.life.signal.aborted) return;
        this.diffOf = "";
        put(this.diff, el("p", { class: "dim" }, error instanceof Refused ? `${error.message} ${error.remedy}` : String(error)));
      },
    );
  }
}

/** @param {string} title @param {HTMLElement} body */
function section(title, body) {
  return el("section", { class: "part" }, el("h2", null, title), body);
}

/** @param {GateRow} gate @param {boolean} open */
function gateRun(gate, open) {
  const others = (gate.tasks ?? []).length;
  return el("details", { class: "gate-run", open: open && !gate.passed },
    el("summary", null,
      el("span", { class: gate.passed ? "good" : "bad" }, gate.passed ? "✓ green" : "✕ red"),
      el("span", { class: "dim small", title: moment(gate.at) }, `${clock(gate.at)} · ${lasted(gate.took_ms)}`),
      gate.commit ? el("span", { class: "mono dim small" }, shortCommit(gate.commit)) : null,
      others > 1 ? el("span", { class: "dim small" }, `with ${count(others - 1, "other task")}`) : null),
    el("pre", { class: "output", tabindex: "0", "aria-label": "What the gate printed" }, gate.output || "It printed nothing."));
}

/** @param {Step[]} steps */
function story(steps) {
  if (steps.length === 0) return el("p", { class: "dim" }, "Nothing has happened to it yet.");
  return el("ol", { class: "story" }, steps.slice().reverse().map((step) => el("li", { title: step.event },
    el("span", { class: "dim small", title: moment(step.at) }, clock(step.at)),
    el("span", { class: "wrap" }, step.by ? el("strong", null, `${nameOf(step.by)} `) : null, step.text))));
}

/** A message with its way to each who gets it. @param {MessageRow} row */
export function messageRow(row) {
  return el("li", { class: "talk-row" },
    el("div", { class: "talk-head" }, el("strong", null, nameOf(row.from)), el("span", { class: "dim" }, "to "),
      (row.to ?? []).map((one) => el("span", { class: "talk-to", title: one.detail ?? moment(one.at) }, nameOf(seatOf(one.to)), " ", badge(deliveryState(one.state)))),
      row.kind !== "message" ? el("span", { class: "chip" }, row.kind.replaceAll("_", " ")) : null,
      el("span", { class: "dim small talk-when", title: moment(row.sent_at) }, clock(row.sent_at))),
    el("p", { class: "wrap" }, row.body ?? "", row.cut ? el("span", { class: "dim" }, " … (cut; `shipmate inbox` shows all of it)") : null));
}

/** @param {CostRow[]} rows */
function costs(rows) {
  if (rows.length === 0) return null;
  const sum = rows.reduce((all, row) => all + row.cost_micros, 0);
  return el("section", { class: "side-part" }, el("h2", null, "Cost ", el("span", { class: "dim" }, money(sum))),
    el("ul", { class: "claims" }, rows.map((row) => el("li", null,
      el("div", null, nameOf(row.who), el("span", { class: "dim" }, ` · ${row.model || "unknown model"}`)),
      el("div", { class: "small dim" }, `${money(row.cost_micros)} · ${tokens(row.tokens_in)} in, ${tokens(row.tokens_out)} out, ${tokens(row.tokens_cached)} cached · ${count(row.calls, "call")}`)))));
}
