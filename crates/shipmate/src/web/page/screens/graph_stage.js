// The part of the graph that is looked at: a canvas with zoom and pan by wheel, pinch, drag and
// key. It knows nodes by number only; what they mean is the screen's.
//
// One drawing per frame at most. A scene too large for that is drawn once with a margin around
// what is in sight, and moved as a picture until the hand is still.

import { el } from "../dom.js";
import { BOX } from "./graph_layout.js";
import { Painter } from "./graph_paint.js";
import { inkOf } from "./inks.js";

/** @import { Scene, View, Inks } from "./graph_paint.js" */

const SCALE_MIN = 0.004;
const SCALE_MAX = 2.5;
/** Nodes and edges in sight that one frame can draw on a slow machine. */
const LIGHT = 2500;
const MARGIN = 0.35;
const STILL_MS = 140;

export class Stage {
  /**
   * @param {{ open: (n: number) => void, choose: (n: number) => void, moved: () => void,
   *   sized: (first: boolean) => void }} told
   */
  constructor(told) {
    this.told = told;
    this.painter = new Painter();
    this.canvas = el("canvas", { class: "graph-canvas", "aria-hidden": "true" });
    this.node = el("div", { class: "graph-stage", tabindex: 0, role: "application" }, this.canvas);
    /** @type {Scene | null} */
    this.scene = null;
    /** @type {View} */
    this.view = { x: 0, y: 0, scale: 1 };
    this.width = 0;
    this.height = 0;
    this.fitted = true;
    this.frame = 0;
    /** @type {ReturnType<typeof setTimeout> | 0} */
    this.still = 0;
    /**
     * @type {{ ground: HTMLCanvasElement, canvas: HTMLCanvasElement, view: View, width: number,
     *   height: number } | null}
     */
    this.picture = null;
    /** Something in the picture has another state by now. */
    this.stale = false;
    this.moving = false;
    /** @type {Inks | null} */
    this.inks = null;
    /** @type {Map<number, { x: number, y: number }>} */
    this.fingers = new Map();
    this.travelled = 0;
    this.watched = new ResizeObserver(() => this.resize());
    this.watched.observe(this.node);
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => {
      this.inks = null;
      this.redraw();
    };
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
    clearTimeout(this.still);
  }

  /** @param {Scene} scene */
  show(scene) {
    if (this.scene?.placed !== scene.placed) {
      this.painter.take(scene.placed);
      this.picture = null;
    }
    this.scene = scene;
    if (this.fitted) this.fit();
    this.restate();
  }

  /** The same drawing with other states. */
  restate() {
    this.stale = true;
    this.later();
  }

  resize() {
    const { clientWidth, clientHeight } = this.node;
    if (clientWidth === this.width && clientHeight === this.height) return;
    const first = this.width === 0;
    this.width = clientWidth;
    this.height = clientHeight;
    this.size(this.canvas, clientWidth, clientHeight);
    if (this.fitted) this.fit();
    this.told.sized(first);
    this.redraw();
  }

  /** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
  size(canvas, width, height) {
    const ratio = Math.min(2, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    return g;
  }

  redraw() {
    this.picture = null;
    this.later();
  }

  later() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.scene || this.width === 0) return;
    const inks = (this.inks ??= readInks(this.node));
    const g = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    if (this.weight() <= LIGHT) {
      this.picture = null;
      this.painter.paintGround(g, this.scene, this.view, inks, this.width, this.height);
      this.painter.paintTasks(g, this.scene, this.view, inks, this.width, this.height);
      return;
    }
    const picture = this.picture && this.covers(this.picture) ? this.picture : this.capture(inks);
    if (this.stale && !this.moving) this.refresh(picture, inks);
    const zoom = this.view.scale / picture.view.scale;
    g.fillStyle = inks.ground;
    g.fillRect(0, 0, this.width, this.height);
    g.drawImage(
      picture.canvas,
      (picture.view.x - this.view.x) * this.view.scale,
      (picture.view.y - this.view.y) * this.view.scale,
      picture.width * zoom,
      picture.height * zoom,
    );
    // The hand is still again: then sharp, and with the news of meanwhile.
    if (zoom === 1 && !this.moving) return;
    clearTimeout(this.still);
    this.still = setTimeout(() => {
      this.moving = false;
      if (zoom !== 1) this.picture = null;
      this.later();
    }, STILL_MS);
  }

  weight() {
    const scene = /** @type {Scene} */ (this.scene);
    const seen = (this.width * this.height) / this.view.scale ** 2;
    const all = Math.max(1, scene.placed.width * scene.placed.height);
    return (scene.placed.keys.length + scene.placed.from.length) * Math.min(1, seen / all);
  }

  /** @param {NonNullable<Stage["picture"]>} picture */
  covers(picture) {
    const zoom = this.view.scale / picture.view.scale;
    if (zoom < 0.5 || zoom > 3) return false;
    const { placed } = /** @type {Scene} */ (this.scene);
    const inside = (
      /** @type {number} */ at, /** @type {number} */ long,
      /** @type {number} */ from, /** @type {number} */ room, /** @type {number} */ end,
    ) =>
      (at >= from - 1 || from <= -BOX.gapX) && (at + long <= from + room + 1 || from + room >= end);
    return (
      inside(this.view.x, this.width / this.view.scale, picture.view.x,
        picture.width / picture.view.scale, placed.width) &&
      inside(this.view.y, this.height / this.view.scale, picture.view.y,
        picture.height / picture.view.scale, placed.height)
    );
  }

  /** @param {Inks} inks */
  capture(inks) {
    const width = Math.round(this.width * (1 + 2 * MARGIN));
    const height = Math.round(this.height * (1 + 2 * MARGIN));
    const { scale } = this.view;
    const view = {
      x: this.view.x - (this.width * MARGIN) / scale,
      y: this.view.y - (this.height * MARGIN) / scale,
      scale,
    };
    const ground = this.picture?.ground ?? document.createElement("canvas");
    const canvas = this.picture?.canvas ?? document.createElement("canvas");
    const g = this.size(ground, width, height);
    this.painter.paintGround(g, /** @type {Scene} */ (this.scene), view, inks, width, height);
    this.size(canvas, width, height);
    this.picture = { ground, canvas, view, width, height };
    this.refresh(this.picture, inks);
    return this.picture;
  }

  /** States anew over the edges as they are. @param {NonNullable<Stage["picture"]>} picture @param {Inks} inks */
  refresh(picture, inks) {
    const { ground, canvas, view, width, height } = picture;
    const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    g.drawImage(ground, 0, 0, width, height);
    this.painter.paintTasks(g, /** @type {Scene} */ (this.scene), view, inks, width, height);
    this.stale = false;
  }

  fit() {
    const placed = this.scene?.placed;
    if (!placed || this.width === 0) return;
    const air = 28;
    const scale = Math.min(
      BOX.roomy ? 1.25 : 1,
      (this.width - 2 * air) / Math.max(1, placed.width),
      (this.height - 2 * air) / Math.max(1, placed.height),
    );
    this.fitted = true;
    this.look(
      placed.width / 2 - this.width / 2 / scale,
      placed.height / 2 - this.height / 2 / scale,
      scale,
    );
  }

  /** @param {number} x @param {number} y @param {number} scale */
  look(x, y, scale) {
    const placed = this.scene?.placed;
    const kept = Math.min(SCALE_MAX, Math.max(SCALE_MIN, scale));
    this.view = { x, y, scale: kept };
    if (placed) {
      // Some of the graph always stays in sight: nobody gets lost beside it.
      const halfX = this.width / 2 / kept;
      const halfY = this.height / 2 / kept;
      this.view.x = Math.min(placed.width - halfX, Math.max(-halfX, x));
      this.view.y = Math.min(placed.height - halfY, Math.max(-halfY, y));
    }
    this.moving = true;
    this.told.moved();
    this.later();
  }

  /** @param {number} dx @param {number} dy in pixels */
  pan(dx, dy) {
    this.fitted = false;
    this.look(this.view.x + dx / this.view.scale, this.view.y + dy / this.view.scale, this.view.scale);
  }

  /** @param {number} by @param {number} [px] @param {number} [py] the point that stays */
  zoom(by, px = this.width / 2, py = this.height / 2) {
    this.fitted = false;
    const { x, y, scale } = this.view;
    const next = Math.min(SCALE_MAX, Math.max(SCALE_MIN, scale * by));
    this.look(x + px / scale - px / next, y + py / scale - py / next, next);
  }

  /** Brings a node into sight, readable. @param {number} n @param {boolean} [centre] */
  reveal(n, centre = false) {
    const placed = this.scene?.placed;
    if (!placed || this.width === 0) return;
    const scale = centre ? Math.max(this.view.scale, 0.8) : this.view.scale;
    const x = placed.x[n] - this.view.x;
    const y = placed.y[n] - this.view.y;
    const wide = this.width / scale;
    const high = this.height / scale;
    const seen = x > 0 && y > 0 && x + BOX.width < wide && y + BOX.height < high;
    if (seen && scale === this.view.scale) return;
    this.fitted = false;
    this.look(
      placed.x[n] + BOX.width / 2 - wide / 2,
      placed.y[n] + BOX.height / 2 - high / 2,
      scale,
    );
  }

  /** The node at a point of the page, or −1. @param {number} px @param {number} py */
  at(px, py) {
    if (!this.scene) return -1;
    const x = this.view.x + px / this.view.scale;
    const y = this.view.y + py / this.view.scale;
    const spot = { left: x, right: x, top: y, foot: y };
    for (const n of this.painter.inSight(spot)) {
      const { placed } = this.scene;
      const nx = placed.x[n];
      const ny = placed.y[n];
      if (x >= nx && x <= nx + BOX.width && y >= ny && y <= ny + BOX.height) return n;
    }
    return -1;
  }

  listen() {
    const node = this.node;
    node.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    node.addEventListener("pointerdown", (event) => this.press(event));
    node.addEventListener("pointermove", (event) => this.drag(event));
    node.addEventListener("pointerup", (event) => this.lift(event));
    node.addEventListener("pointercancel", (event) => this.fingers.delete(event.pointerId));
    node.addEventListener("pointerleave", () => this.point(-1));
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.height : 1;
    if (!event.ctrlKey && (event.shiftKey || event.deltaX !== 0)) {
      this.pan((event.deltaX || event.deltaY) * unit, event.deltaX ? event.deltaY * unit : 0);
      return;
    }
    const box = this.node.getBoundingClientRect();
    const speed = event.ctrlKey ? 0.01 : 0.0016;
    const by = Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * speed);
    this.zoom(by, event.clientX - box.left, event.clientY - box.top);
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    this.node.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.fingers.size === 1) this.travelled = 0;
    else this.travelled = Infinity;
  }

  /** @param {PointerEvent} event */
  drag(event) {
    const box = this.node.getBoundingClientRect();
    const was = this.fingers.get(event.pointerId);
    if (!was) {
      this.point(this.at(event.clientX - box.left, event.clientY - box.top));
      return;
    }
    const now = { x: event.clientX, y: event.clientY };
    this.fingers.set(event.pointerId, now);
    this.travelled += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const before = Math.hypot(was.x - other.x, was.y - other.y);
      const after = Math.hypot(now.x - other.x, now.y - other.y);
      this.pan((was.x - now.x) / 2, (was.y - now.y) / 2);
      const middle = { x: (now.x + other.x) / 2 - box.left, y: (now.y + other.y) / 2 - box.top };
      if (before > 0) this.zoom(after / before, middle.x, middle.y);
    } else if (this.travelled > 3) this.pan(was.x - now.x, was.y - now.y);
  }

  /** @param {PointerEvent} event */
  lift(event) {
    if (!this.fingers.delete(event.pointerId) || this.travelled > 3) return;
    const box = this.node.getBoundingClientRect();
    const n = this.at(event.clientX - box.left, event.clientY - box.top);
    this.told.choose(n);
    if (n >= 0) this.told.open(n);
  }

  /** @param {number} n */
  point(n) {
    if (!this.scene || this.scene.pointed === n) return;
    this.scene.pointed = n;
    this.node.classList.toggle("on-task", n >= 0);
    const label = n >= 0 ? this.scene.label(n) : null;
    this.node.title = label ? `${label.name} ${label.title} (${label.line})` : "";
    if (this.weight() <= LIGHT) this.later();
  }
}

/** Colours come from the page's own, so that both themes hold here too. @param {HTMLElement} node */
function readInks(node) {
  const ink = inkOf(node);
  /** @type {Inks} */
  const inks = {
    ready: ink("ready"),
    pending: ink("pending"),
    claimed: ink("claimed"),
    submitted: ink("submitted"),
    returned: ink("returned"),
    completed: ink("completed"),
    failed: ink("failed"),
    deleted: ink("deleted"),
    group: ink("ink-3"),
    ground: ink("sunken"),
    box: ink("panel"),
    text: ink("ink"),
    dim: ink("ink-2"),
    line: ink("line-strong"),
    path: ink("returned"),
    focus: ink("accent"),
    font: ink("font"),
  };
  return inks;
}
