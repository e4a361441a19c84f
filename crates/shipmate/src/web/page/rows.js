// A list of any length in which only the rows that can be seen are in the page. Rows have one
// height. What must hold: a row whose item is the same object is not touched; a row that has
// the focus stays in the page even when it is scrolled away, else the focus would be lost.

import { el, setAttr } from "./dom.js";

const SPARE = 6;

/**
 * The rows to be in the page: those in sight, and a few around them. `last` is not one of them.
 * @param {number} scrollTop @param {number} clientHeight
 * @param {number} height of a row @param {number} count
 */
export function inSight(scrollTop, clientHeight, height, count) {
  return {
    first: Math.max(0, Math.floor(scrollTop / height) - SPARE),
    last: Math.min(count, Math.ceil((scrollTop + clientHeight) / height) + SPARE),
  };
}

/**
 * How far to scroll so that a row is in sight, and no further.
 * @param {number} at @param {number} scrollTop @param {number} clientHeight @param {number} height
 */
export function scrollFor(at, scrollTop, clientHeight, height) {
  const top = at * height;
  if (top < scrollTop) return top;
  return top + height > scrollTop + clientHeight ? top + height - clientHeight : scrollTop;
}

/** @template T */
export class Rows {
  /**
   * @param {{
   *   height: number,
   *   label: string,
   *   key: (item: T) => string | number,
   *   make: (item: T) => HTMLElement,
   *   change: (node: HTMLElement, item: T) => void,
   * }} spec
   */
  constructor(spec) {
    this.spec = spec;
    this.height = spec.height;
    /** @type {T[]} */
    this.items = [];
    this.space = el("div", { class: "rows-space", role: "list", "aria-label": spec.label });
    this.node = el(
      "div",
      { class: "rows", tabindex: "0", role: "group", "aria-label": spec.label },
      this.space,
    );
    /** @type {Map<string | number, { node: HTMLElement, item: T, at: number }>} */
    this.shown = new Map();
    this.asked = false;
    this.node.addEventListener("scroll", () => this.later(), { passive: true });
    this.sight = new ResizeObserver(() => this.draw());
    this.sight.observe(this.node);
  }

  close() {
    this.sight.disconnect();
  }

  /** @param {T[]} items may be the same array, changed */
  set(items) {
    this.items = items;
    this.draw();
  }

  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.draw();
    });
  }

  draw() {
    const { items, height, spec } = this;
    const tall = `${items.length * height}px`;
    if (this.space.style.height !== tall) this.space.style.height = tall;
    const { scrollTop, clientHeight } = this.node;
    const { first, last } = inSight(scrollTop, clientHeight, height, items.length);
    /** @type {Set<string | number>} */
    const seen = new Set();
    for (let at = first; at < last; at++) {
      const item = /** @type {T} */ (items[at]);
      const key = spec.key(item);
      seen.add(key);
      this.place(key, item, at);
    }
    const focus = this.space.contains(document.activeElement) ? document.activeElement : null;
    for (const [key, row] of this.shown) {
      if (seen.has(key)) continue;
      if (focus && row.node.contains(focus) && this.stays(key, row)) continue;
      row.node.remove();
      this.shown.delete(key);
    }
    this.sort(focus);
  }

  /**
   * Puts the nodes in the order of their places, which is the order they are read and tabbed in.
   * @param {Element | null} focus
   */
  sort(focus) {
    const rows = [...this.shown.values()].sort((a, b) => a.at - b.at);
    let at = this.space.firstChild;
    for (const { node } of rows) {
      if (node === at) at = at.nextSibling;
      else this.space.insertBefore(node, at);
    }
    if (focus instanceof HTMLElement && focus.isConnected && focus !== document.activeElement) {
      focus.focus({ preventScroll: true });
    }
  }

  /** @param {string | number} key @param {T} item @param {number} at */
  place(key, item, at) {
    let row = this.shown.get(key);
    if (!row) {
      const node = this.spec.make(item);
      node.classList.add("row");
      node.setAttribute("role", "listitem");
      row = { node, item, at: -1 };
      this.shown.set(key, row);
      this.space.append(node);
    } else if (row.item !== item) {
      this.spec.change(row.node, item);
      row.item = item;
    }
    if (row.at !== at) {
      row.at = at;
      row.node.style.transform = `translateY(${at * this.height}px)`;
      setAttr(row.node, "aria-posinset", String(at + 1));
    }
    setAttr(row.node, "aria-setsize", String(this.items.length));
  }

  /**
   * Keeps a row out of sight at its place, if it is still in the list.
   * @param {string | number} key @param {{ node: HTMLElement, item: T, at: number }} row
   */
  stays(key, row) {
    const at = this.items.findIndex((item) => this.spec.key(item) === key);
    if (at < 0) return false;
    this.place(key, /** @type {T} */ (this.items[at]), at);
    return row.at === at;
  }

  /** Brings a row into sight and returns its node. @param {number} at */
  reveal(at) {
    const { scrollTop, clientHeight } = this.node;
    const wanted = scrollFor(at, scrollTop, clientHeight, this.height);
    if (wanted !== scrollTop) this.node.scrollTop = wanted;
    this.draw();
    const item = this.items[at];
    return item === undefined ? null : (this.shown.get(this.spec.key(item))?.node ?? null);
  }
}
