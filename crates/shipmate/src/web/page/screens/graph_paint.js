// Draws a placed graph on a canvas: only what is in sight, and only as much of it as can be read.
//
// Each state has its own shape and pattern besides its colour, at every distance. Drawing asks for
// no layout and keeps nothing of the board but shortened texts.

import { BOX, STEP_X } from "./graph_layout.js";

/**
 * @typedef {"ready"|"pending"|"claimed"|"submitted"|"returned"|"completed"|"failed"|"deleted"
 *   |"group"} Look
 * @typedef {{ x: number, y: number, scale: number }} View  the corner in sight, in graph units
 * @typedef {{ look: Look, sign: string, name: string, title: string, line: string }} Label
 * @typedef {object} Scene
 * @property {import("./graph_layout.js").Placed} placed
 * @property {(n: number) => Label} label
 * @property {Uint8Array} marked     nodes of the critical path
 * @property {Uint8Array} markedEdge
 * @property {number} chosen         node under the cursor of the keyboard; −1 for none
 * @property {number} pointed        node under the pointer; −1 for none
 * @typedef {Record<Look, string> & { ground: string, box: string, text: string, dim: string,
 *   line: string, path: string, focus: string, font: string }} Inks
 */

/** Nearer than this, texts are written; farther than `NAME`, boxes only carry their pattern. */
const TEXT = 0.66;
const NAME = 0.26;

export class Painter {
  constructor() {
    /** @type {Float64Array} bounds of each edge: left, top, right, bottom */
    this.bounds = new Float64Array();
    /** @type {Map<string, string>} */
    this.short = new Map();
    /** @type {import("./graph_layout.js").Placed | null} */
    this.placed = null;
  }

  /** @param {import("./graph_layout.js").Placed} placed */
  take(placed) {
    this.placed = placed;
    this.bounds = new Float64Array(placed.from.length * 4);
    placed.from.forEach((f, e) => {
      const t = placed.to[e];
      let top = Math.min(placed.y[f], placed.y[t]);
      let foot = Math.max(placed.y[f], placed.y[t]) + BOX.height;
      const bends = placed.bends[e];
      for (let i = 1; bends && i < bends.length; i += 2) {
        top = Math.min(top, bends[i]);
        foot = Math.max(foot, bends[i]);
      }
      this.bounds.set([placed.x[f] + BOX.width, top, placed.x[t], foot], e * 4);
    });
    for (const column of placed.columns) column?.sort((a, b) => placed.y[a] - placed.y[b]);
  }

  /**
   * @param {CanvasRenderingContext2D} g  scaled to CSS pixels
   * @param {Scene} scene @param {View} view @param {Inks} inks
   * @param {number} width @param {number} height
   */
  paint(g, scene, view, inks, width, height) {
    g.fillStyle = inks.ground;
    g.fillRect(0, 0, width, height);
    g.save();
    g.scale(view.scale, view.scale);
    g.translate(-view.x, -view.y);
    const sight = {
      left: view.x,
      top: view.y,
      right: view.x + width / view.scale,
      foot: view.y + height / view.scale,
    };
    this.edges(g, scene, view, inks, sight);
    for (const n of this.inSight(sight)) this.node(g, scene, n, view.scale, inks);
    g.restore();
  }

  /** @param {{ left: number, top: number, right: number, foot: number }} sight */
  *inSight(sight) {
    const placed = /** @type {import("./graph_layout.js").Placed} */ (this.placed);
    const first = Math.max(0, Math.floor((sight.left - BOX.width) / STEP_X));
    const last = Math.min(placed.columns.length - 1, Math.floor(sight.right / STEP_X));
    for (let c = first; c <= last; c++) {
      const column = placed.columns[c] ?? [];
      let low = 0;
      for (let high = column.length; low < high; ) {
        const middle = (low + high) >> 1;
        if (placed.y[column[middle]] + BOX.height < sight.top) low = middle + 1;
        else high = middle;
      }
      for (; low < column.length && placed.y[column[low]] < sight.foot; low++) yield column[low];
    }
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {View} view
   * @param {Inks} inks @param {{ left: number, top: number, right: number, foot: number }} sight
   */
  edges(g, scene, view, inks, sight) {
    const { placed, markedEdge } = scene;
    const b = this.bounds;
    const near = scene.chosen >= 0 ? scene.chosen : scene.pointed;
    const plain = new Path2D();
    const path = new Path2D();
    const lit = new Path2D();
    const curved = view.scale > 0.12;
    for (let e = 0; e < placed.from.length; e++) {
      const i = e * 4;
      if (b[i] > sight.right || b[i + 2] < sight.left) continue;
      if (b[i + 1] > sight.foot || b[i + 3] < sight.top) continue;
      const touches = placed.from[e] === near || placed.to[e] === near;
      const into = markedEdge[e] ? path : touches ? lit : plain;
      trace(into, placed, e, curved, view.scale > 0.3);
    }
    const thin = Math.max(1, 1 / view.scale);
    g.lineJoin = "round";
    g.strokeStyle = inks.line;
    g.lineWidth = Math.min(thin, 3);
    g.stroke(plain);
    g.strokeStyle = inks.focus;
    g.lineWidth = 2 * thin;
    g.stroke(lit);
    g.strokeStyle = inks.path;
    g.lineWidth = 3 * Math.min(thin, 6);
    g.stroke(path);
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {number} n
   * @param {number} scale @param {Inks} inks
   */
  node(g, scene, n, scale, inks) {
    const { placed } = scene;
    const x = placed.x[n];
    const y = placed.y[n];
    const label = scene.label(n);
    const ink = inks[label.look];
    g.fillStyle = inks.box;
    box(g, x, y, label.look === "group" ? BOX.height / 2 : 6);
    g.fill();
    pattern(g, label.look, x, y, ink, scale);
    if (scale >= TEXT) this.texts(g, n, x, y, label, inks);
    else if (scale >= NAME) this.far(g, x, y, label, inks);
    outline(g, label.look, x, y, ink, scale);
    if (scene.marked[n]) {
      g.strokeStyle = inks.path;
      g.lineWidth = Math.max(2.5, 1.5 / scale);
      box(g, x - 4, y - 4, 9, 8);
      g.stroke();
    }
    if (n === scene.chosen || n === scene.pointed) {
      g.strokeStyle = inks.focus;
      g.lineWidth = Math.max(n === scene.chosen ? 3 : 1.5, 2 / scale);
      box(g, x - 8, y - 8, 12, 16);
      g.stroke();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {number} n @param {number} x @param {number} y
   * @param {Label} label @param {Inks} inks
   */
  texts(g, n, x, y, label, inks) {
    g.textBaseline = "alphabetic";
    g.fillStyle = inks[label.look];
    g.font = `15px ${inks.font}`;
    g.fillText(label.sign, x + 14, y + 20);
    g.fillStyle = inks.text;
    g.font = `600 12.5px ${inks.font}`;
    g.fillText(this.fitting(g, `${label.name} ${label.title}`, BOX.width - 46), x + 34, y + 19);
    g.fillStyle = inks.dim;
    g.font = `11.5px ${inks.font}`;
    g.fillText(this.fitting(g, label.line, BOX.width - 46), x + 34, y + 36);
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y
   * @param {Label} label @param {Inks} inks
   */
  far(g, x, y, label, inks) {
    g.textBaseline = "middle";
    g.font = `600 24px ${inks.font}`;
    g.fillStyle = inks[label.look];
    g.fillText(label.sign, x + 11, y + BOX.height / 2);
    g.fillStyle = inks.text;
    const middle = y + BOX.height / 2 + 1;
    g.fillText(this.fitting(g, `${label.name} ${label.title}`.trim(), BOX.width - 48), x + 40, middle);
  }

  /** @param {CanvasRenderingContext2D} g @param {string} text @param {number} room */
  fitting(g, text, room) {
    const key = `${g.font}\n${text}`;
    const known = this.short.get(key);
    if (known !== undefined) return known;
    let cut = text.length > 200 ? text.slice(0, 200) : text;
    if (g.measureText(cut).width > room) {
      let low = 0;
      for (let high = cut.length; low < high; ) {
        const middle = (low + high + 1) >> 1;
        if (g.measureText(`${cut.slice(0, middle)}…`).width <= room) low = middle;
        else high = middle - 1;
      }
      cut = `${cut.slice(0, low).trimEnd()}…`;
    }
    if (this.short.size > 40_000) this.short.clear();
    this.short.set(key, cut);
    return cut;
  }
}

/**
 * @param {Path2D} into @param {import("./graph_layout.js").Placed} placed @param {number} e
 * @param {boolean} curved @param {boolean} head
 */
function trace(into, placed, e, curved, head) {
  let x = placed.x[placed.from[e]] + BOX.width;
  let y = placed.y[placed.from[e]] + BOX.height / 2;
  into.moveTo(x, y);
  const reach = (/** @type {number} */ toX, /** @type {number} */ toY) => {
    if (curved) {
      const half = Math.min(60, (toX - x) / 2);
      into.bezierCurveTo(x + half, y, toX - half, toY, toX, toY);
    } else into.lineTo(toX, toY);
    x = toX;
    y = toY;
  };
  const bends = placed.bends[e];
  for (let i = 0; bends && i < bends.length; i += 2) {
    reach(bends[i], bends[i + 1]);
    x += BOX.width;
    if (curved) into.lineTo(x, y);
  }
  reach(placed.x[placed.to[e]], placed.y[placed.to[e]] + BOX.height / 2);
  if (!head) return;
  into.moveTo(x - 7, y - 4);
  into.lineTo(x, y);
  into.lineTo(x - 7, y + 4);
}

/**
 * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y
 * @param {number} radius @param {number} [more] wider and higher by this
 */
function box(g, x, y, radius, more = 0) {
  g.beginPath();
  g.roundRect(x, y, BOX.width + more, BOX.height + more, radius);
}

/**
 * Done is full, work is a third, the gate two thirds in stripes, returned is striped all over,
 * failed is crossed out: told apart in grey and from afar.
 * @param {CanvasRenderingContext2D} g @param {Look} look @param {number} x @param {number} y
 * @param {string} ink @param {number} scale
 */
function pattern(g, look, x, y, ink, scale) {
  const strip = scale >= NAME;
  g.save();
  box(g, x, y, 6);
  g.clip();
  g.fillStyle = ink;
  g.strokeStyle = ink;
  const share = { claimed: 1 / 3, submitted: 2 / 3, returned: 1, completed: 1 };
  const wide = BOX.width * (share[/** @type {keyof typeof share} */ (look)] ?? 0);
  // From near, the pattern is a strip along the foot, so that the text stays readable.
  const top = strip ? y + BOX.height - 5 : y;
  if (look === "claimed" || look === "completed") g.fillRect(x, top, wide, BOX.height);
  else if (look === "submitted" || look === "returned") {
    g.lineWidth = strip ? 3 : 8;
    const step = strip ? 7 : 20;
    g.beginPath();
    for (let s = -BOX.height; s < wide; s += step) {
      g.moveTo(x + s, y + BOX.height);
      g.lineTo(x + s + BOX.height, y);
    }
    if (strip) {
      g.save();
      g.beginPath();
      g.rect(x, top, wide, 5);
      g.clip();
      g.beginPath();
      for (let s = -6; s < wide; s += step) g.moveTo(x + s, top + 5), g.lineTo(x + s + 5, top);
      g.stroke();
      g.restore();
    } else g.stroke();
  } else if (look === "failed" && !strip) {
    g.lineWidth = 10;
    g.beginPath();
    g.moveTo(x, y), g.lineTo(x + BOX.width, y + BOX.height);
    g.moveTo(x, y + BOX.height), g.lineTo(x + BOX.width, y);
    g.stroke();
  }
  g.restore();
}

/**
 * @param {CanvasRenderingContext2D} g @param {Look} look @param {number} x @param {number} y
 * @param {string} ink @param {number} scale
 */
function outline(g, look, x, y, ink, scale) {
  g.strokeStyle = ink;
  const heavy = look === "ready" || look === "failed" || look === "claimed";
  g.lineWidth = Math.max(heavy ? 2 : 1, (heavy ? 1.2 : 0.7) / scale);
  if (look === "pending" || look === "deleted") g.setLineDash([6, 4]);
  box(g, x, y, look === "group" ? BOX.height / 2 : 6);
  g.stroke();
  g.setLineDash([]);
}
