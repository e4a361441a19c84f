// Draws a placed graph on a canvas: only what is in sight, and only as much of it as can be read.
//
// Each state has its own shape and pattern besides its colour, at every distance. Drawing asks for
// no layout and keeps nothing of the board but shortened texts.

import { honest } from "../dom.js";
import { BOX } from "./graph_layout.js";

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
 * @typedef {{ left: number, top: number, right: number, foot: number }} Sight
 * @typedef {Record<Look, string> & { ground: string, box: string, text: string, dim: string,
 *   line: string, path: string, focus: string, font: string }} Inks
 */

/** From afar, which parts of a box are full: x, y, width, height, in parts of the box. */
/** @type {Partial<Record<Look, [number, number, number, number][]>>} */
const FAR = {
  completed: [[0, 0, 1, 1]],
  claimed: [[0, 0, 0.34, 1]],
  submitted: [[0, 0, 0.28, 1], [0.4, 0, 0.28, 1]],
  returned: [[0, 0.5, 1, 0.5]],
  ready: [[0, 0, 1, 0.28]],
  failed: [[0, 0.3, 1, 0.4]],
  pending: [[0, 0.86, 1, 0.14]],
};

const CURVED = 0.12;
const HEADS = 0.3;
const MANY = 2000;
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
   * The ground and the edges: what stays as it is when only states change.
   * @param {CanvasRenderingContext2D} g  scaled to CSS pixels
   * @param {Scene} scene @param {View} view @param {Inks} inks
   * @param {number} width @param {number} height
   */
  paintGround(g, scene, view, inks, width, height) {
    g.fillStyle = inks.ground;
    g.fillRect(0, 0, width, height);
    const sight = enter(g, view, width, height);
    this.edges(g, scene, view, inks, sight);
    g.restore();
  }

  /**
   * Everything that tells a state: boxes, the critical path, the chosen one.
   * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {View} view @param {Inks} inks
   * @param {number} width @param {number} height
   */
  paintTasks(g, scene, view, inks, width, height) {
    const sight = enter(g, view, width, height);
    this.telling(g, scene, view, inks);
    if (view.scale < NAME) this.fromAfar(g, scene, view.scale, inks, sight);
    else for (const n of this.inSight(sight)) this.node(g, scene, n, view.scale, inks);
    g.restore();
  }

  /**
   * Thousands of boxes of a few pixels: no text and no curves, one path for each state.
   * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {number} scale
   * @param {Inks} inks @param {Sight} sight
   */
  fromAfar(g, scene, scale, inks, sight) {
    const { placed } = scene;
    /** @type {Map<Look, number[]>} */
    const by = new Map();
    for (const n of this.inSight(sight)) {
      const { look } = scene.label(n);
      const list = by.get(look);
      if (list) list.push(n);
      else by.set(look, [n]);
    }
    const thin = 0.8 / scale;
    const outlined = BOX.height * scale > 6;
    for (const [look, list] of by) {
      g.fillStyle = inks.box;
      for (const n of list) g.fillRect(placed.x[n], placed.y[n], BOX.width, BOX.height);
      g.fillStyle = inks[look];
      for (const [x, y, width, height] of FAR[look] ?? []) {
        for (const n of list) {
          g.fillRect(placed.x[n] + x * BOX.width, placed.y[n] + y * BOX.height, width * BOX.width, height * BOX.height);
        }
      }
      if (!outlined) continue;
      g.strokeStyle = inks[look];
      g.lineWidth = look === "ready" ? 2 * thin : thin;
      g.beginPath();
      for (const n of list) {
        g.rect(placed.x[n], placed.y[n], BOX.width, BOX.height);
        if (look !== "failed") continue;
        g.moveTo(placed.x[n], placed.y[n]);
        g.lineTo(placed.x[n] + BOX.width, placed.y[n] + BOX.height);
        g.moveTo(placed.x[n], placed.y[n] + BOX.height);
        g.lineTo(placed.x[n] + BOX.width, placed.y[n]);
      }
      g.stroke();
    }
    for (const list of by.values()) for (const n of list) this.rings(g, scene, n, scale, inks);
  }

  /** @param {Sight} sight */
  *inSight(sight) {
    const placed = /** @type {import("./graph_layout.js").Placed} */ (this.placed);
    const first = Math.max(0, Math.floor((sight.left - BOX.width) / BOX.stepX));
    const last = Math.min(placed.columns.length - 1, Math.floor(sight.right / BOX.stepX));
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
   * @param {Inks} inks @param {Sight} sight
   */
  edges(g, scene, view, inks, sight) {
    const { placed } = scene;
    const b = this.bounds;
    const plain = new Path2D();
    const curved = view.scale > CURVED;
    for (let e = 0; e < placed.from.length; e++) {
      const i = e * 4;
      if (b[i] > sight.right || b[i + 2] < sight.left) continue;
      if (b[i + 1] > sight.foot || b[i + 3] < sight.top) continue;
      trace(plain, placed, e, curved, view.scale > HEADS);
    }
    g.lineJoin = curved ? "round" : "miter";
    g.strokeStyle = inks.line;
    g.lineWidth = curved ? Math.min(Math.max(1, 1 / view.scale), 3) : 0.6 / view.scale;
    // Many edges are a texture: they must not outshine the boxes.
    g.globalAlpha = placed.from.length > MANY ? 0.4 : 1;
    g.stroke(plain);
    g.globalAlpha = 1;
  }

  /**
   * Edges that mean something now: of the critical path, and of the chosen task.
   * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {View} view @param {Inks} inks
   */
  telling(g, scene, view, inks) {
    const { placed, markedEdge } = scene;
    const near = scene.chosen >= 0 ? scene.chosen : scene.pointed;
    const path = new Path2D();
    const lit = new Path2D();
    for (let e = 0; e < placed.from.length; e++) {
      const touches = placed.from[e] === near || placed.to[e] === near;
      if (!markedEdge[e] && !touches) continue;
      trace(markedEdge[e] ? path : lit, placed, e, view.scale > CURVED, view.scale > HEADS);
    }
    const thin = Math.max(1, 1 / view.scale);
    g.lineJoin = "round";
    g.strokeStyle = inks.focus;
    g.lineWidth = 2 * thin;
    g.stroke(lit);
    g.strokeStyle = inks.path;
    g.lineWidth = Math.max(3, 2.5 / view.scale);
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
    strip(g, label.look, x, y, ink);
    if (BOX.roomy) this.wrapped(g, x, y, label, scale, inks);
    else if (scale >= TEXT) this.texts(g, n, x, y, label, inks);
    else if (scale >= NAME) this.far(g, x, y, label, inks);
    outline(g, label.look, x, y, ink, scale);
    this.rings(g, scene, n, scale, inks);
  }

  /**
   * What is around a box: on the critical path, chosen, under the pointer.
   * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {number} n
   * @param {number} scale @param {Inks} inks
   */
  rings(g, scene, n, scale, inks) {
    const x = scene.placed.x[n];
    const y = scene.placed.y[n];
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

  /**
   * As many lines of the subject as there is room for, as large as they can be read; then the state.
   * @param {CanvasRenderingContext2D} g @param {number} x @param {number} y
   * @param {Label} label @param {number} scale @param {Inks} inks
   */
  wrapped(g, x, y, label, scale, inks) {
    const size = Math.min(24, Math.max(12.5, 11.5 / scale));
    const high = size * 1.22;
    const fit = Math.max(1, Math.floor((BOX.height - 9) / high));
    const left = x + 12 + size * 1.25;
    const room = BOX.width - 22 - size * 1.25;
    g.textBaseline = "alphabetic";
    g.font = `600 ${size}px ${inks.font}`;
    const lines = linesOf(g, honest(`${label.name} ${label.title}`.trim().slice(0, 200)), room, fit > 1 ? fit - 1 : 1);
    const all = lines.length + (fit > 1 ? 1 : 0);
    let foot = y + (BOX.height - 4 - all * high) / 2 + size;
    g.fillStyle = inks[label.look];
    g.fillText(label.sign, x + 10, foot);
    g.fillStyle = inks.text;
    for (const line of lines) {
      g.fillText(this.fitting(g, line, room), left, foot);
      foot += high;
    }
    if (fit < 2) return;
    g.fillStyle = inks.dim;
    g.font = `${size * 0.92}px ${inks.font}`;
    g.fillText(this.fitting(g, label.line, room), left, foot);
  }

  /** @param {CanvasRenderingContext2D} g @param {string} text @param {number} room */
  fitting(g, text, room) {
    const key = `${g.font} ${room}\n${text}`;
    const known = this.short.get(key);
    if (known !== undefined) return known;
    let cut = honest(text.slice(0, 200));
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
 * A text in lines, broken between words; the last one holds all that is left.
 * @param {CanvasRenderingContext2D} g @param {string} text @param {number} room @param {number} most
 */
export function linesOf(g, text, room, most) {
  /** @type {string[]} */
  const lines = [];
  const words = text.split(/\s+/);
  while (words.length > 0) {
    if (lines.length === most - 1) return [...lines, words.join(" ")];
    let line = /** @type {string} */ (words.shift());
    while (words[0] !== undefined && g.measureText(`${line} ${words[0]}`).width <= room) line += ` ${words.shift()}`;
    lines.push(line);
  }
  return lines;
}

/**
 * From here on `g` draws in graph units; what is in sight.
 * @param {CanvasRenderingContext2D} g @param {View} view @param {number} width @param {number} height
 * @returns {Sight}
 */
function enter(g, view, width, height) {
  g.save();
  g.scale(view.scale, view.scale);
  g.translate(-view.x, -view.y);
  return {
    left: view.x,
    top: view.y,
    right: view.x + width / view.scale,
    foot: view.y + height / view.scale,
  };
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
 * A strip along the foot: done is full, work a third, the gate two thirds in stripes, returned
 * striped all along, so that they are told apart in grey.
 * @param {CanvasRenderingContext2D} g @param {Look} look @param {number} x @param {number} y
 * @param {string} ink
 */
function strip(g, look, x, y, ink) {
  const shares = { claimed: 1 / 3, submitted: 2 / 3, returned: 1, completed: 1 };
  const share = shares[/** @type {keyof typeof shares} */ (look)];
  if (share === undefined) return;
  const wide = BOX.width * share;
  const top = y + BOX.height - 5;
  g.fillStyle = ink;
  if (look === "claimed" || look === "completed") {
    g.fillRect(x + 1, top, wide - 2, 5);
    return;
  }
  for (let s = 3; s < wide - 4; s += 7) g.fillRect(x + s, top, 4, 5);
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
