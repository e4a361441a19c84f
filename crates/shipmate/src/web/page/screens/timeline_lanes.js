// Lanes over time on a canvas: one per teammate, and above them the critical path. It knows bars
// and lives, zoom and pan; what a bar looks like is another file's.

import { el } from "../dom.js";
import { inkOf } from "./inks.js";
import { BAR, BESIDE, Bars, SHORTEST } from "./timeline_bar.js";

/** @import { Life } from "../types.d.ts" */
/** @import { Bar } from "./timeline_bar.js" */

/**
 * @typedef {{ key: string, name: string, note: string, spans: Bar[], lives: Life[] }} Lane
 * @typedef {{ bar: Bar, x: number, y: number, width: number, height: number }} Hit
 */

const AXIS = 26;
const GAP = 4;
const PAD = 6;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

export class Lanes {
  /**
   * @param {{ open: (task: number) => void, teammate: (key: string) => void, moved: () => void,
   *   now: () => number }} told
   */
  constructor(told) {
    this.told = told;
    this.canvas = el("canvas", { class: "lanes-canvas", "aria-hidden": "true" });
    this.space = el("div", { class: "lanes-space" });
    this.node = el("div", { class: "lanes", tabindex: 0, role: "img", "aria-label": "Lanes" }, this.canvas, this.space);
    /** @type {Lane[]} */
    this.lanes = [];
    /** Upper edges, and the rows each bar is in. @type {{ top: number, height: number, rows: number[] }[]} */
    this.places = [];
    this.from = 0;
    this.to = 1;
    this.began = 0;
    this.until = 1;
    this.fitted = true;
    /** Nobody works any more: there is no line for now. */
    this.quiet = false;
    /** @type {number | null} */
    this.moment = null;
    /** @type {Hit[]} */
    this.hits = [];
    /** @type {Bar | null} */
    this.pointed = null;
    this.width = 0;
    this.height = 0;
    this.gutter = 120;
    this.frame = 0;
    this.bars = new Bars();
    /** @type {ReturnType<typeof inkOf> | null} */
    this.inks = null;
    this.watched = new ResizeObserver(() => this.resize());
    this.watched.observe(this.node);
    this.recolour = () => {
      this.inks = null;
      this.later();
    };
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.theme.addEventListener("change", this.recolour);
    this.themed = new MutationObserver(this.recolour);
    this.themed.observe(document.documentElement, { attributes: true });
    this.listen();
  }

  close() {
    this.watched.disconnect();
    this.themed.disconnect();
    this.theme.removeEventListener("change", this.recolour);
    cancelAnimationFrame(this.frame);
  }

  /** @param {Lane[]} lanes @param {number} began @param {number} until */
  show(lanes, began, until) {
    this.lanes = lanes;
    this.began = began;
    this.until = Math.max(until, began + 1000);
    let top = AXIS;
    this.places = lanes.map((lane) => {
      const rows = rowsOf(lane.spans);
      const deepest = rows.reduce((most, row) => Math.max(most, row), 0);
      const height = 2 * PAD + (deepest + 1) * (BAR + GAP) - GAP;
      const place = { top, height, rows };
      top += height;
      return place;
    });
    this.space.style.height = `${Math.max(0, top - this.height)}px`;
    if (this.fitted) this.fit();
    this.later();
  }

  resize() {
    const { clientWidth, clientHeight } = this.node;
    if (clientWidth === this.width && clientHeight === this.height) return;
    this.width = clientWidth;
    this.height = clientHeight;
    this.gutter = clientWidth < 560 ? 76 : 150;
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.canvas.style.width = `${clientWidth}px`;
    this.canvas.style.height = `${clientHeight}px`;
    this.canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    const last = this.places.at(-1);
    this.space.style.height = `${Math.max(0, (last ? last.top + last.height : 0) - clientHeight)}px`;
    this.told.moved();
    this.later();
  }

  later() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  fit() {
    const air = (this.until - this.began) * 0.015;
    this.fitted = true;
    this.look(this.began - air, this.until + air);
  }

  /** @param {number} from @param {number} to */
  look(from, to) {
    const whole = this.until - this.began;
    const long = Math.min(1.2 * whole, Math.max(2000, to - from));
    this.from = Math.min(this.until, Math.max(this.began - long, from));
    this.to = this.from + long;
    this.told.moved();
    this.later();
  }

  /** @param {number} by @param {number} [x] where the time stays */
  zoom(by, x = (this.gutter + this.width) / 2) {
    this.fitted = false;
    const at = this.timeAt(x);
    this.look(at - (at - this.from) / by, at + (this.to - at) / by);
  }

  /** @param {number} pixels */
  pan(pixels) {
    this.fitted = false;
    const by = (pixels * (this.to - this.from)) / Math.max(1, this.width - this.gutter);
    this.look(this.from + by, this.to + by);
  }

  /** @param {number} at */
  x(at) {
    return this.gutter + ((at - this.from) / (this.to - this.from)) * (this.width - this.gutter);
  }

  /** @param {number} x */
  timeAt(x) {
    return this.from + ((x - this.gutter) / Math.max(1, this.width - this.gutter)) * (this.to - this.from);
  }

  draw() {
    const g = this.canvas.getContext("2d");
    if (!g || this.width === 0) return;
    const ink = (this.inks ??= inkOf(this.node));
    const scroll = this.node.scrollTop;
    const now = this.told.now();
    g.fillStyle = ink("page");
    g.fillRect(0, 0, this.width, this.height);
    this.hits = [];
    this.places.forEach((place, i) => {
      const y = place.top - scroll;
      if (y > this.height || y + place.height < AXIS) return;
      this.lane(g, ink, this.lanes[i], place, y, i, now);
    });
    if (!this.quiet) this.line(g, now, ink("accent"), []);
    if (this.moment !== null) this.shade(g, ink);
    this.axis(g, ink);
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {ReturnType<typeof inkOf>} ink @param {Lane} lane
   * @param {{ top: number, height: number, rows: number[] }} place @param {number} y
   * @param {number} index @param {number} now
   */
  lane(g, ink, lane, place, y, index, now) {
    g.fillStyle = ink(index === 0 ? "sunken" : "page");
    g.fillRect(0, y, this.width, place.height);
    for (const life of lane.lives) {
      const from = Math.max(this.gutter, this.x(life.began));
      const to = Math.min(this.width, this.x(life.ended ?? now));
      g.fillStyle = ink("hover");
      if (to > from) g.fillRect(from, y + 1, to - from, place.height - 2);
    }
    g.save();
    g.beginPath();
    g.rect(this.gutter, Math.max(y, AXIS), this.width - this.gutter, place.height);
    g.clip();
    const next = nextInRow(lane.spans, place.rows);
    /** @type {Map<number, number>} */
    const taken = new Map();
    lane.spans.forEach((bar, n) => {
      const x = this.x(bar.from);
      const free = next[n] === undefined ? this.width : this.x(next[n]);
      const right = Math.max(this.x(bar.to ?? now), Math.min(x + SHORTEST, free - 1));
      if (right < this.gutter || x > this.width) return;
      const top = y + PAD + place.rows[n] * (BAR + GAP);
      this.hits.push({ bar, x, y: top, width: Math.max(2, right - x), height: BAR });
      this.bars.draw(g, ink, bar, top, {
        x: (at) => this.x(at), left: this.gutter, right: this.width, now, pointed: bar === this.pointed, end: right, free,
        taken: taken.get(place.rows[n]) ?? this.gutter,
      });
      taken.set(place.rows[n], right + BESIDE + 8);
    });
    for (const life of lane.lives) this.lifeEnd(g, ink, life, y, place.height);
    g.restore();
    this.name(g, ink, lane, y, place.height, index);
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {ReturnType<typeof inkOf>} ink @param {Life} life
   * @param {number} y @param {number} height
   */
  lifeEnd(g, ink, life, y, height) {
    if (life.ended === undefined) return;
    const x = this.x(life.ended);
    const gone = life.end === "disappeared";
    g.strokeStyle = g.fillStyle = ink(gone ? "failed" : "ink-3");
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x, y + 2);
    g.lineTo(x, y + height - 2);
    g.stroke();
    g.font = `600 11px ${ink("font")}`;
    g.textBaseline = "alphabetic";
    g.fillText(gone ? "✕" : "■", x + 3, y + height - 3);
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {ReturnType<typeof inkOf>} ink @param {Lane} lane
   * @param {number} y @param {number} height @param {number} index
   */
  name(g, ink, lane, y, height, index) {
    g.fillStyle = ink(index === 0 ? "sunken" : "page");
    g.fillRect(0, y, this.gutter, height);
    g.save();
    g.beginPath();
    g.rect(0, y, this.gutter - 8, height);
    g.clip();
    g.textBaseline = "middle";
    g.fillStyle = ink("ink");
    g.font = `600 12.5px ${ink("font")}`;
    g.fillText(index === 0 && this.gutter < 100 ? "path" : lane.name, 12, y + PAD + BAR / 2);
    if (this.gutter > 100 && lane.note) {
      const used = g.measureText(`${lane.name} `).width;
      g.fillStyle = ink("ink-3");
      g.font = `11.5px ${ink("font")}`;
      g.fillText(lane.note, 12 + used + 4, y + PAD + BAR / 2);
    }
    g.restore();
    g.strokeStyle = ink("line");
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(0, Math.round(y + height) - 0.5);
    g.lineTo(this.width, Math.round(y + height) - 0.5);
    g.moveTo(this.gutter - 0.5, y);
    g.lineTo(this.gutter - 0.5, y + height);
    g.stroke();
  }

  /** @param {CanvasRenderingContext2D} g @param {number} at @param {string} colour @param {number[]} dash */
  line(g, at, colour, dash) {
    const x = Math.round(this.x(at)) + 0.5;
    if (x < this.gutter || x > this.width) return;
    g.strokeStyle = colour;
    g.lineWidth = 1.5;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x, AXIS - 6);
    g.lineTo(x, this.height);
    g.stroke();
    g.setLineDash([]);
  }

  /** What comes after the moment that is shown. */
  /** @param {CanvasRenderingContext2D} g @param {ReturnType<typeof inkOf>} ink */
  shade(g, ink) {
    const at = /** @type {number} */ (this.moment);
    const x = Math.max(this.gutter, this.x(at));
    g.globalAlpha = 0.66;
    g.fillStyle = ink("page");
    if (x < this.width) g.fillRect(x, AXIS, this.width - x, this.height);
    g.globalAlpha = 1;
    this.line(g, at, ink("returned"), []);
  }

  /** @param {CanvasRenderingContext2D} g @param {ReturnType<typeof inkOf>} ink */
  axis(g, ink) {
    g.fillStyle = ink("page");
    g.fillRect(0, 0, this.width, AXIS);
    const room = Math.max(1, this.width - this.gutter);
    const least = ((this.to - this.from) / room) * 78;
    const step = stepOf(least);
    const days = step >= 86_400_000;
    const form = new Intl.DateTimeFormat(undefined, days
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", ...(step < 60_000 ? { second: "2-digit" } : {}), hourCycle: "h23" });
    const zone = new Date(this.from).getTimezoneOffset() * 60_000;
    g.font = `11px ${ink("font")}`;
    g.textBaseline = "middle";
    g.strokeStyle = ink("line");
    g.lineWidth = 1;
    for (let at = Math.ceil((this.from - zone) / step) * step + zone; at < this.to; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      if (x < this.gutter) continue;
      g.beginPath();
      g.moveTo(x, AXIS - 6);
      g.lineTo(x, AXIS);
      g.stroke();
      g.fillStyle = ink("ink-3");
      if (x < this.width - 40) g.fillText(form.format(at), x + 4, AXIS / 2);
    }
    g.beginPath();
    g.moveTo(0, AXIS - 0.5);
    g.lineTo(this.width, AXIS - 0.5);
    g.stroke();
  }

  listen() {
    const { node } = this;
    node.addEventListener("scroll", () => this.later(), { passive: true });
    node.addEventListener("wheel", (event) => {
      const box = node.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) * 0.004), event.clientX - box.left);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan(event.deltaX || event.deltaY);
      }
    }, { passive: false });
    /** @type {Map<number, number>} */
    const fingers = new Map();
    let travelled = 0;
    node.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      fingers.set(event.pointerId, event.clientX);
      travelled = fingers.size > 1 ? Infinity : 0;
    });
    node.addEventListener("pointermove", (event) => {
      const was = fingers.get(event.pointerId);
      if (was === undefined) return this.point(event);
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      travelled += Math.abs(event.clientX - was);
      if (travelled > 3 && !node.hasPointerCapture(event.pointerId)) node.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event.clientX);
      if (other !== undefined) {
        const left = node.getBoundingClientRect().left;
        const by = Math.abs(event.clientX - other) / Math.max(1, Math.abs(was - other));
        this.zoom(by, (event.clientX + other) / 2 - left);
      } else if (travelled > 3) this.pan(was - event.clientX);
    });
    node.addEventListener("pointerup", (event) => {
      if (!fingers.delete(event.pointerId) || travelled > 3) return;
      this.press(event);
    });
    node.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
    node.addEventListener("pointerleave", () => this.setPointed(null));
  }

  /** @param {PointerEvent} event */
  hit(event) {
    const box = this.node.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    if (x < this.gutter || y < AXIS) return null;
    return this.hits.find((h) => x >= h.x && x <= h.x + h.width && y >= h.y && y <= h.y + h.height) ?? null;
  }

  /** @param {PointerEvent} event */
  point(event) {
    this.setPointed(this.hit(event)?.bar ?? null);
  }

  /** @param {Bar | null} bar */
  setPointed(bar) {
    if (bar === this.pointed) return;
    this.pointed = bar;
    this.node.classList.toggle("on-task", bar !== null);
    this.node.title = bar ? `${bar.task} ${bar.label}${bar.guess ? " (expected)" : ""}` : "";
    this.later();
  }

  /** @param {PointerEvent} event */
  press(event) {
    const hit = this.hit(event);
    if (hit) return this.told.open(hit.bar.task);
    const box = this.node.getBoundingClientRect();
    if (event.clientX - box.left > this.gutter) return;
    const y = event.clientY - box.top + this.node.scrollTop;
    const i = this.places.findIndex((place) => y >= place.top && y < place.top + place.height);
    if (i > 0 && event.clientY - box.top > AXIS) this.told.teammate(this.lanes[i].key);
  }
}

/** The distance of two marks of the axis that are at least so far apart. @param {number} least */
export function stepOf(least) {
  return (STEPS.find((s) => s * 1000 >= least) ?? 604800) * 1000;
}

/**
 * When the next bar of the same row begins: until there, the room beside a bar is free.
 * @param {Bar[]} spans @param {number[]} rows @returns {(number | undefined)[]}
 */
export function nextInRow(spans, rows) {
  /** @type {Map<number, number>} */
  const begins = new Map();
  /** @type {(number | undefined)[]} */
  const next = new Array(spans.length);
  for (let n = spans.length - 1; n >= 0; n--) {
    next[n] = begins.get(rows[n]);
    begins.set(rows[n], spans[n].from);
  }
  return next;
}

/** Bars that overlap stand in rows under each other. @param {Bar[]} spans @returns {number[]} */
export function rowsOf(spans) {
  /** @type {number[]} */
  const ends = [];
  return spans.map((bar) => {
    let row = ends.findIndex((end) => end <= bar.from);
    if (row < 0) row = ends.length;
    ends[row] = bar.to ?? Infinity;
    return row;
  });
}
