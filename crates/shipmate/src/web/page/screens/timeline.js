// Who worked on what and when, against the chain of tasks that decides the end; and the board as it
// was at any record.
//
// The lanes grow with the clock of the server while somebody works, and end with the last record
// when nobody does any more. The slider stands under them on the same axis; between two records
// nothing changed, so it rests on the nearest one.

import { button, el, empty, put, setText } from "../dom.js";
import { clock, count, lasted, moment, nameOf, number, seatOf, spanEnd } from "../words.js";
import { isUnfinished, pathAhead, pathBehind, pathWords, waiting } from "./critical.js";
import { Lanes } from "./timeline_lanes.js";
import { Past } from "./timeline_past.js";
import { told } from "./told.js";

/** @import { Ctx, MomentsPage, Part, Screen, Span } from "../types.d.ts" */
/** @import { Bar } from "./timeline_bar.js" */
/** @import { Lane } from "./timeline_lanes.js" */

const TABLE_ROWS = 100;
/** So long after the last record, nobody works any more where no claim is open. */
const QUIET_MS = 60_000;
/** From the edge of a slider to the middle of its handle at that end. */
const HANDLE = 8;

/** @param {Ctx} ctx @param {string[]} params @returns {Screen} */
export function open(ctx, params) {
  const line = new Timeline(ctx, Number(params[0] ?? 0));
  return {
    node: line.node,
    title: "Timeline",
    update: (changed) => line.update(changed),
    close: () => line.close(),
    keys: {
      ArrowLeft: { does: "one record back", run: () => line.step(-1) },
      ArrowRight: { does: "one record on", run: () => line.step(1) },
      PageUp: { does: "many records back", run: () => line.step(-line.stride()) },
      PageDown: { does: "many records on", run: () => line.step(line.stride()) },
      Home: { does: "the first record", run: () => line.travel(line.first()) },
      End: { does: "back to now", run: () => line.now() },
      "+": { does: "zoom in", run: () => line.lanes.zoom(1.4) },
      "=": { does: "zoom in", run: () => line.lanes.zoom(1.4) },
      "-": { does: "zoom out", run: () => line.lanes.zoom(1 / 1.4) },
      0: { does: "show all of it", run: () => line.lanes.fit() },
      ",": { does: "earlier", run: () => line.lanes.pan(-160) },
      ".": { does: "later", run: () => line.lanes.pan(160) },
      v: { does: "lanes or table", run: () => line.turn() },
    },
  };
}

export class Timeline {
  /** @param {Ctx} ctx @param {number} wanted */
  constructor(ctx, wanted) {
    this.ctx = ctx;
    /** Records and their times, oldest first. @type {[number, number][]} */
    this.moments = [];
    /** The record that is shown; null is now. @type {number | null} */
    this.shown = null;
    this.wanted = wanted;
    this.table = false;
    this.tableRows = TABLE_ROWS;
    this.problem = "";
    this.past = new Past(ctx, { back: () => this.now() });
    this.lanes = new Lanes({
      open: (task) => ctx.go(`task/${task}`),
      teammate: (key) => ctx.go(`team/${key}`),
      moved: () => this.showSlider(),
      now: () => this.end(),
    });
    this.quiet = false;
    this.ahead = 0;
    this.view = button("Table", () => this.turn(), { title: "Lanes or table (v)" });
    this.sum = el("span", { class: "dim small" });
    this.slider = el("input", { type: "range", class: "moments", min: 0, max: 0, step: 1, "aria-label": "Moment", on: { input: () => this.slide() } });
    this.slider.addEventListener("keydown", (event) => this.slideBy(event));
    this.slid = el("output", { class: "moment-said" });
    this.none = el("div", { class: "timeline-none", hidden: true });
    this.spans = el("div", { class: "wide-box timeline-table", tabindex: 0, role: "group", "aria-label": "Claims as a table", hidden: true });
    this.node = this.frame();
    ctx.tick(() => this.tick());
    this.fetch();
    this.draw();
  }

  frame() {
    const icon = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {() => void} */ run) => {
      const made = button(sign, run, { title: name });
      made.setAttribute("aria-label", name);
      return made;
    };
    return el(
      "section",
      { class: "screen timeline", "aria-label": "Timeline" },
      el("h1", { class: "unseen" }, "Timeline"),
      el(
        "div",
        { class: "bar" },
        el(
          "div",
          { class: "graph-buttons", role: "group", "aria-label": "Zoom" },
          icon("−", "Zoom out (-)", () => this.lanes.zoom(1 / 1.4)),
          icon("+", "Zoom in (+)", () => this.lanes.zoom(1.4)),
          button("Fit", () => this.lanes.fit(), { title: "Show all of it (0)" }),
        ),
        this.view,
        this.sum,
        el("div", { class: "end" }, legend()),
      ),
      this.none,
      this.lanes.node,
      this.spans,
      this.past.node,
      el(
        "div",
        { class: "moments-bar" },
        this.slid,
        this.slider,
      ),
    );
  }

  close() {
    this.lanes.close();
    this.past.close();
  }

  fetch() {
    const { ctx } = this;
    this.problem = "";
    const both = [ctx.need("timeline"), ctx.api.get("moments").then((page) => {
      this.moments = /** @type {MomentsPage} */ (page).moments ?? [];
    })];
    Promise.all(both).then(
      () => {
        this.draw();
        if (this.wanted > 0) this.travel(this.wanted);
      },
      (error) => {
        this.problem = told(error);
        this.draw();
      },
    );
  }

  /** @param {Set<Part>} changed */
  update(changed) {
    const { store } = this.ctx;
    const last = this.moments.at(-1);
    if (last && store.position > last[0]) this.moments.push([store.position, store.time()]);
    this.showSlider();
    const mine = ["spans", "lives", "path", "tasks", "teammates", "whole"];
    if (mine.some((part) => changed.has(/** @type {Part} */ (part)))) this.draw();
  }

  /** When the last thing happened that is recorded. */
  lastAt() {
    const { store } = this.ctx;
    const ends = [...store.spans.values()].map((span) => span.ended ?? span.began);
    return ends.reduce((a, b) => Math.max(a, b), this.moments.at(-1)?.[1] ?? store.began ?? 0);
  }

  isQuiet() {
    const { store } = this.ctx;
    if ([...store.spans.values()].some((span) => span.ended === undefined)) return false;
    return this.moments.length > 0 && store.time() - this.lastAt() > QUIET_MS;
  }

  /** Where the lanes end: now, or shortly after the last record when nobody works any more. */
  end() {
    if (!this.quiet) return this.ctx.store.time();
    const last = this.lastAt();
    return last + Math.max(500, 0.01 * (last - (this.began ?? last)));
  }

  tick() {
    if (this.isQuiet() !== this.quiet && this.ctx.store.timelineAt >= 0) this.draw();
    if (this.shown === null && !this.table) this.stretch();
    this.lanes.later();
  }

  turn() {
    this.table = !this.table;
    this.tableRows = TABLE_ROWS;
    setText(this.view, this.table ? "Lanes" : "Table");
    this.draw();
  }

  draw() {
    const { store } = this.ctx;
    const loading = store.timelineAt < 0;
    const bare = loading || (store.spans.size === 0 && store.lives.size === 0);
    this.none.hidden = !bare;
    this.lanes.node.hidden = bare || this.table;
    this.spans.hidden = bare || !this.table;
    this.showSlider();
    if (bare) {
      put(this.none, this.instead(loading));
      return;
    }
    this.showLanes();
    if (this.table) this.showTable();
  }

  /** @param {boolean} loading */
  instead(loading) {
    if (this.problem) {
      return el("div", { role: "alert" }, empty("The timeline could not be read.", this.problem, button("Try again", () => (this.fetch(), this.draw()))));
    }
    if (loading) return el("p", { class: "empty", role: "status" }, "Reading the records…");
    return empty("Nobody has worked yet.", "A lane begins when a teammate starts, and grows with each task it claims.");
  }

  showLanes() {
    const { store } = this.ctx;
    const links = waiting(store.tasks);
    const ahead = pathAhead(store.tasks, links);
    const behind = pathBehind(store.tasks, ahead, links);
    const path = new Set([...behind, ...ahead]);
    /** @type {Map<string, Lane>} */
    const lanes = new Map();
    const lane = (/** @type {string} */ who) => {
      const key = seatOf(who);
      let found = lanes.get(key);
      if (!found) {
        const mate = store.teammates.get(key);
        lanes.set(key, (found = { key, name: nameOf(key), note: mate?.role ?? (mate?.lead ? "leads" : ""), spans: [], lives: [] }));
      }
      return found;
    };
    for (const mate of [...store.teammates.values()].sort((a, b) => Number(b.lead) - Number(a.lead))) lane(`${mate.team}/${mate.name}`);
    for (const life of store.lives.values()) lane(life.who).lives.push(life);
    for (const span of store.spans.values()) lane(span.who).spans.push(this.bar(span, path.has(span.task)));
    for (const one of lanes.values()) one.spans.sort((a, b) => a.from - b.from);
    const starts = [...store.spans.values(), ...store.lives.values()].map((one) => one.began);
    this.began = starts.reduce((a, b) => Math.min(a, b), store.began || store.time());
    this.quiet = this.isQuiet();
    const first = this.pathLane(behind, ahead);
    const rest = [...lanes.values()].filter((one) => one.spans.length > 0 || one.lives.length > 0);
    const now = this.end();
    this.lanes.quiet = this.quiet;
    const left = ahead.length > 0 ? (store.tasks.get(ahead[0])?.path_ms ?? 0) : 0;
    this.ahead = this.quiet ? 0 : Math.min(left, 0.5 * (now - this.began));
    this.lanes.show([first, ...rest], this.began, now + this.ahead);
    const said = [count(rest.length, "teammate"), count(store.spans.size, "claim")];
    if (ahead.length > 0) said.push(pathWords(store.tasks, ahead));
    setText(this.sum, said.join(" · "));
    this.lanes.node.setAttribute("aria-label", `Lanes over time: ${said.join(", ")}. The button Table shows the same in words.`);
  }

  stretch() {
    this.lanes.until = Math.max(this.lanes.began + 1000, this.end() + this.ahead);
    if (this.lanes.fitted) this.lanes.fit();
  }

  /** @param {Span} span @param {boolean} marked @returns {Bar} */
  bar(span, marked) {
    return {
      task: span.task,
      label: this.ctx.store.tasks.get(span.task)?.subject ?? "",
      from: span.began,
      to: span.ended,
      marked,
      parts: span.parts ?? [{ kind: "works", from: span.began, ...(span.ended === undefined ? {} : { to: span.ended }) }],
      ...(span.end === undefined ? {} : { end: span.end }),
    };
  }

  /** What the path was, is, and is expected to be. @param {number[]} behind @param {number[]} ahead @returns {Lane} */
  pathLane(behind, ahead) {
    const { store } = this.ctx;
    const on = new Set([...behind, ...ahead]);
    const bars = [...store.spans.values()].filter((span) => on.has(span.task)).map((span) => this.bar(span, true));
    // Where nobody works, nothing is expected to begin now.
    let at = store.time();
    if (!this.quiet) ahead.forEach((id, i) => {
      const card = store.tasks.get(id);
      if (!card || !isUnfinished(card)) return;
      const rest = i + 1 < ahead.length ? (store.tasks.get(ahead[i + 1])?.path_ms ?? 0) : 0;
      const takes = Math.max(1000, card.path_ms - rest);
      const since = card.status === "in_progress" ? store.time() - card.changed_at : 0;
      const to = at + Math.max(1000, takes - since);
      bars.push({ task: id, label: card.subject, from: at, to, guess: true, marked: true, parts: [] });
      at = to;
    });
    bars.sort((a, b) => a.from - b.from);
    return { key: "", name: "critical path", note: "", spans: bars, lives: [] };
  }

  showTable() {
    const { store, ctx } = this;
    const spans = [...store.spans.values()].sort((a, b) => b.began - a.began);
    const now = store.time();
    const heads = ["began", "teammate", "task", "took", "in the gate", "end"];
    put(
      this.spans,
      el(
        "table",
        { class: "table" },
        el("caption", { class: "unseen" }, "Claims, latest first"),
        el("thead", null, el("tr", null, heads.map((name) => el("th", { scope: "col" }, name)))),
        el(
          "tbody",
          null,
          spans.slice(0, this.tableRows).map((span) => {
            const gate = (span.parts ?? []).filter((part) => part.kind === "gate").reduce((sum, part) => sum + ((part.to ?? now) - part.from), 0);
            const back = (span.parts ?? []).filter((part) => part.kind === "returned").length;
            return el(
              "tr",
              null,
              el("td", { title: moment(span.began) }, clock(span.began)),
              el("td", null, el("a", { href: ctx.href(`team/${seatOf(span.who)}`) }, nameOf(span.who))),
              el("td", { class: "grow" }, el("a", { href: ctx.href(`task/${span.task}`) }, `${span.task} ${store.tasks.get(span.task)?.subject ?? ""}`)),
              el("td", { class: "num" }, lasted((span.ended ?? now) - span.began)),
              el("td", { class: "num" }, gate > 0 ? lasted(gate) : "–"),
              el("td", null, spanEnd(span.end), back > 0 ? `, came back ${count(back, "time")}` : ""),
            );
          }),
        ),
      ),
      spans.length > this.tableRows ? button(`Show ${number(Math.min(TABLE_ROWS, spans.length - this.tableRows))} more`, () => ((this.tableRows += TABLE_ROWS), this.showTable())) : null,
    );
  }

  get store() {
    return this.ctx.store;
  }

  first() {
    return this.moments[0]?.[0] ?? 0;
  }

  last() {
    return Math.max(this.store.position, this.moments.at(-1)?.[0] ?? 0);
  }

  /** How far a big step goes. */
  stride() {
    return Math.max(10, Math.round((this.last() - this.first()) / 20));
  }

  /** @param {number} by */
  step(by) {
    const from = this.shown ?? this.last();
    if (this.shown === null && by > 0) return;
    this.travel(from + by);
  }

  /** @param {number} position */
  travel(position) {
    if (this.moments.length === 0) return;
    const at = Math.max(this.first(), Math.min(this.last(), position));
    if (at >= this.last()) {
      this.now();
      return;
    }
    this.shown = at;
    this.lanes.moment = this.timeOf(at);
    this.past.show(at, this.lanes.moment);
    this.node.classList.add("in-past");
    this.showSlider();
    this.lanes.later();
  }

  now() {
    if (this.shown === null) return;
    const focused = this.past.node.contains(document.activeElement);
    this.shown = null;
    this.lanes.moment = null;
    this.past.hide();
    this.node.classList.remove("in-past");
    this.showSlider();
    this.lanes.later();
    if (focused) this.slider.focus();
  }

  /** When a record was written; between two known ones, in proportion. @param {number} position */
  timeOf(position) {
    const { moments } = this;
    let low = 0;
    for (let high = moments.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (moments[middle][0] <= position) low = middle;
      else high = middle - 1;
    }
    const [p0, t0] = moments[low];
    const next = moments[low + 1];
    if (!next || next[0] === p0) return t0;
    return t0 + ((position - p0) / (next[0] - p0)) * (next[1] - t0);
  }

  /** The record nearest to a time; between two known ones, in proportion. @param {number} at */
  nearest(at) {
    const { moments } = this;
    let low = 0;
    for (let high = moments.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (moments[middle][1] <= at) low = middle;
      else high = middle - 1;
    }
    const [p0, t0] = moments[low];
    const next = moments[low + 1];
    if (!next || at <= t0 || next[1] === t0) return p0;
    return Math.round(p0 + ((at - t0) / (next[1] - t0)) * (next[0] - p0));
  }

  slide() {
    if (this.moments.length === 0) return;
    const { value, min, max } = this.slider;
    const whole = this.lanes.fitted;
    if (whole && value === min) this.travel(this.first());
    else if (whole && value === max) this.now();
    else this.travel(this.nearest(Number(value)));
    this.showSlider();
  }

  /** @param {KeyboardEvent} event */
  slideBy(event) {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -this.stride(), PageDown: this.stride() }[event.key];
    if (by !== undefined) this.step(by);
    else if (event.key === "Home") this.travel(this.first());
    else if (event.key === "End") this.now();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Its handle stands under the time that it means, whatever part of the lanes is in sight. */
  showSlider() {
    const any = this.moments.length > 1;
    const { lanes, slider } = this;
    slider.disabled = !any;
    const drawn = lanes.width > 0 && this.ctx.store.timelineAt >= 0;
    this.node.style.setProperty("--gutter", `${lanes.gutter}px`);
    const from = drawn ? lanes.timeAt(lanes.gutter + HANDLE) : (this.moments[0]?.[1] ?? 0);
    const to = drawn ? lanes.timeAt(lanes.width - HANDLE) : (this.moments.at(-1)?.[1] ?? 1);
    slider.min = String(Math.round(from));
    slider.max = String(Math.round(to));
    slider.value = String(Math.round(this.shown === null ? this.end() : this.timeOf(this.shown)));
    const text = this.shown === null ? (any ? "now" : "no records yet") : `${clock(this.timeOf(this.shown))}, record ${number(this.shown)}`;
    setText(this.slid, text);
    slider.setAttribute("aria-valuetext", text);
  }
}

/** The patterns as they are in the lanes. */
function legend() {
  const entry = (/** @type {string} */ kind, /** @type {string} */ word) =>
    el("li", null, el("span", { class: "swatch", data: { kind }, "aria-hidden": "true" }), word);
  const sign = (/** @type {string} */ text, /** @type {string} */ word) =>
    el("li", null, el("span", { class: "sign", "aria-hidden": "true" }, text), word);
  return el(
    "ul",
    { class: "lanes-legend", "aria-label": "What the patterns mean" },
    entry("works", "works"),
    entry("gate", "in the gate"),
    entry("returned", "came back"),
    entry("guess", "expected"),
    entry("failed", "failed"),
    sign("■", "stopped"),
    sign("✕", "disappeared"),
  );
}
