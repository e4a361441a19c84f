// One claim as a bar. What was done is told by pattern as well as by colour: work stands on a full
// line, the gate is striped, work that came back is dotted; what is only expected is dashed.

/** @import { Span } from "../types.d.ts" */

import { honest } from "../dom.js";

/**
 * @typedef {{ task: number, label: string, from: number, to: number | undefined, guess?: boolean,
 *   end?: Span["end"], marked: boolean, parts: { kind: string, from: number, to?: number }[] }} Bar
 * @typedef {{ x: (at: number) => number, left: number, right: number, now: number,
 *   pointed: boolean, end: number, free: number, taken: number }} Frame  what of the canvas belongs to bars, where a
 *   time is on it, where this bar ends, and where the next one
 *   begins and the words of the one before end
 * @typedef {(token: string) => string} Ink
 */

export const BAR = 18;
/** However little time it took, it can be seen and pointed at. */
export const SHORTEST = 7;
/** Narrower than this, a bar has no room for a pattern. */
const NARROW = 20;
/** Narrower than this, a bar has its number inside at most, and its words beside it. */
const ROOMY = 110;
/** Words beside a bar are not longer than this. */
export const BESIDE = 260;
const ENDS = { completed: "●", returned: "↩", released: "○", failed: "✕", gone: "✕" };
/** @type {Record<string, string>} */
const COLOURS = { works: "claimed", gate: "submitted", returned: "returned" };

/** @param {Bar} bar */
const isBad = (bar) => bar.end === "failed" || bar.end === "gone";

export class Bars {
  constructor() {
    /** Texts cut to their room. @type {Map<string, string>} */
    this.short = new Map();
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Ink} ink @param {Bar} bar @param {number} y
   * @param {Frame} frame
   */
  draw(g, ink, bar, y, frame) {
    const x = frame.x(bar.from);
    const right = Math.max(x + 2, frame.end);
    this.beside(g, ink, bar, x, y, right, frame);
    if (right - x < NARROW && !bar.guess) {
      sliver(g, ink, bar, x, y, right - x, frame);
      return;
    }
    const shape = new Path2D();
    shape.roundRect(x, y, right - x, BAR, 3);
    g.save();
    if (bar.guess) {
      g.strokeStyle = ink(frame.pointed ? "accent" : "ink-3");
      g.setLineDash([4, 3]);
      g.stroke(shape);
      g.setLineDash([]);
      g.clip(shape);
    } else {
      g.save();
      g.clip(shape);
      for (const part of bar.parts) {
        const from = Math.max(frame.left - 40, frame.x(part.from));
        const to = Math.min(frame.right + 40, frame.x(part.to ?? frame.now));
        pattern(g, ink, part.kind, from, y, Math.max(1, to - from));
      }
      g.restore();
      g.strokeStyle = ink(frame.pointed ? "accent" : isBad(bar) ? "failed" : bar.marked ? "returned" : "line-strong");
      g.lineWidth = bar.marked || isBad(bar) || frame.pointed ? 2 : 1;
      g.stroke(shape);
      g.clip(shape);
    }
    this.texts(g, ink, bar, Math.max(x, frame.left), y, Math.min(right, frame.right));
    g.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Ink} ink @param {Bar} bar
   * @param {number} x @param {number} y @param {number} right
   */
  texts(g, ink, bar, x, y, right) {
    const room = right - x;
    g.font = `600 11px ${ink("font")}`;
    g.textBaseline = "middle";
    const end = bar.end ? ENDS[bar.end] : "";
    const left = room - (end ? 22 : 8);
    const number = String(bar.task);
    const long = room > ROOMY ? this.fitting(g, `${number} ${bar.label}`, Math.floor(left)) : "";
    const text = long || (g.measureText(number).width <= left ? number : "");
    if (text) written(g, ink, text, x + 5, y, "ink");
    if (!end || room < 30) return;
    const colour = bar.end === "completed" ? "completed" : bar.end === "released" ? "ink-2" : "failed";
    written(g, ink, end, right - 15, y, colour);
  }

  /**
   * What has no room in a short bar is written beside it, as far as the next one.
   * @param {CanvasRenderingContext2D} g @param {Ink} ink @param {Bar} bar
   * @param {number} x @param {number} y @param {number} right @param {Frame} frame
   */
  beside(g, ink, bar, x, y, right, frame) {
    if (right - x > ROOMY || right < frame.left) return;
    g.font = `11px ${ink("font")}`;
    g.textBaseline = "middle";
    const inside = right - x >= NARROW && g.measureText(String(bar.task)).width <= right - x - (bar.end ? 22 : 8);
    const words = inside ? bar.label : `${bar.task} ${bar.label}`;
    const room = Math.min(BESIDE, Math.min(frame.free, frame.right) - right - 8);
    const text = room < 40 ? "" : this.fitting(g, words, Math.floor(room));
    if (text) {
      written(g, ink, text, right + 4, y, "ink-2");
      return;
    }
    // At the right edge the words stand before the bar, unless those of another one may be there.
    const before = Math.min(BESIDE, x - frame.taken - 8);
    const other = before < 40 || frame.free < frame.right ? "" : this.fitting(g, words, Math.floor(before));
    if (other) written(g, ink, other, x - 4 - g.measureText(other).width, y, "ink-2");
  }

  /**
   * As much of a text as has room; nothing where not even its beginning has.
   * @param {CanvasRenderingContext2D} g @param {string} text @param {number} room
   */
  fitting(g, text, room) {
    const key = `${room} ${text}`;
    let cut = this.short.get(key);
    if (cut !== undefined) return cut;
    text = honest(text);
    const width = g.measureText(text).width;
    if (width <= room) cut = text;
    else {
      let n = Math.floor((text.length * room) / width);
      while (n > 0 && g.measureText(`${text.slice(0, n)}…`).width > room) n--;
      cut = n > 0 ? `${text.slice(0, n).trimEnd()}…` : "";
    }
    if (this.short.size > 20_000) this.short.clear();
    this.short.set(key, cut);
    return cut;
  }
}

/**
 * A halo of the ground keeps the letters readable over stripes and dots.
 * @param {CanvasRenderingContext2D} g @param {Ink} ink @param {string} text
 * @param {number} x @param {number} y @param {string} colour
 */
function written(g, ink, text, x, y, colour) {
  const middle = y + BAR / 2 + 0.5;
  g.lineWidth = 3;
  g.lineJoin = "round";
  g.strokeStyle = ink("panel");
  g.strokeText(text, x, middle);
  g.fillStyle = ink(colour);
  g.fillText(text, x, middle);
}

/**
 * @param {CanvasRenderingContext2D} g @param {Ink} ink @param {Bar} bar
 * @param {number} x @param {number} y @param {number} wide @param {Frame} frame
 */
function sliver(g, ink, bar, x, y, wide, frame) {
  let most = { kind: "works", long: -1 };
  for (const part of bar.parts) {
    const long = (part.to ?? frame.now) - part.from;
    if (long > most.long) most = { kind: part.kind, long };
  }
  const colour = COLOURS[most.kind] ?? "claimed";
  g.fillStyle = ink(frame.pointed ? "accent" : wide < 5 ? colour : `${colour}-tint`);
  g.fillRect(x, y, wide, BAR);
  g.fillStyle = ink(isBad(bar) ? "failed" : colour);
  g.fillRect(x, y + BAR - 4, wide, 4);
  if (!bar.marked) return;
  g.strokeStyle = ink("returned");
  g.lineWidth = 2;
  g.strokeRect(x, y, wide, BAR);
}

/**
 * @param {CanvasRenderingContext2D} g @param {Ink} ink @param {string} kind
 * @param {number} x @param {number} y @param {number} wide
 */
function pattern(g, ink, kind, x, y, wide) {
  const colour = COLOURS[kind] ?? "claimed";
  g.fillStyle = ink(`${colour}-tint`);
  g.fillRect(x, y, wide, BAR);
  g.fillStyle = ink(colour);
  if (kind === "gate") {
    g.save();
    g.beginPath();
    g.rect(x, y, wide, BAR);
    g.clip();
    g.strokeStyle = ink(colour);
    g.lineWidth = 1.5;
    g.beginPath();
    for (let s = x - BAR - (x % 7); s < x + wide; s += 7) g.moveTo(s, y + BAR), g.lineTo(s + BAR, y);
    g.stroke();
    g.restore();
  } else if (kind === "returned") {
    for (let s = x + 1; s < x + wide - 2; s += 6) {
      for (let t = y + 3, n = 0; t < y + BAR; t += 5, n++) g.fillRect(s + (n % 2) * 3, t, 2, 2);
    }
  } else g.fillRect(x, y + BAR - 4, wide, 4);
}
