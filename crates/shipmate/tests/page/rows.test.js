// A list of any length of which only the rows in sight are in the page. The nodes are stand-ins that
// know their order and what was done to them, and nothing of a browser.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Rows, inSight, scrollFor } from "../../src/web/page/rows.js";

/** As much of an element as the rows use. */
class Node {
  constructor() {
    this.children = [];
    this.attributes = new Map();
    this.style = {};
    this.classList = { add() {} };
    this.parent = null;
    this.scrollTop = 0;
    this.clientHeight = 0;
  }
  get firstChild() {
    return this.children[0] ?? null;
  }
  get nextSibling() {
    return this.parent.children[this.parent.children.indexOf(this) + 1] ?? null;
  }
  get isConnected() {
    return this.parent !== null;
  }
  contains(other) {
    return other === this || this.children.some((child) => child.contains(other));
  }
  /** As in a browser, what leaves the page or moves in it has the focus no more. */
  remove() {
    if (this.parent && this.contains(document.activeElement)) document.activeElement = null;
    this.parent?.children.splice(this.parent.children.indexOf(this), 1);
    this.parent = null;
  }
  insertBefore(node, at) {
    node.remove();
    this.children.splice(at ? this.children.indexOf(at) : this.children.length, 0, node);
    node.parent = this;
  }
  append(...nodes) {
    for (const node of nodes) this.insertBefore(node, null);
  }
  appendChild(node) {
    this.append(node);
  }
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  addEventListener() {}
  focus() {
    document.activeElement = this;
  }
}

Object.assign(globalThis, {
  Node,
  HTMLElement: Node,
  document: { createElement: () => new Node(), activeElement: null },
  ResizeObserver: class {
    observe() {}
  },
});

beforeEach(() => (document.activeElement = null));

const HEIGHT = 20;

/** A list of which ten rows are in sight, and what was made and changed. */
function list(count) {
  const done = [];
  const rows = new Rows({
    height: HEIGHT,
    label: "Tasks",
    key: (item) => item.id,
    make: (item) => (done.push(`make ${item.id}`), Object.assign(new Node(), { id: item.id })),
    change: (node, item) => done.push(`change ${item.id}`),
  });
  rows.node.clientHeight = 10 * HEIGHT;
  const items = Array.from({ length: count }, (_, id) => ({ id }));
  rows.set(items);
  const scroll = (at) => {
    rows.node.scrollTop = at * HEIGHT;
    rows.draw();
  };
  return { rows, items, done, scroll, ids: () => rows.space.children.map(({ id }) => id) };
}

const range = (from, to) => Array.from({ length: to - from }, (_, n) => from + n);

test("the rows in sight, with six around them, are those in the page", () => {
  for (const [scrollTop, clientHeight, count, first, last] of [
    [0, 200, 1000, 0, 16],
    [0, 200, 5, 0, 5],
    [0, 0, 1000, 0, 6],
    [400, 200, 1000, 14, 36],
    [410, 200, 1000, 14, 37],
    [19_800, 200, 1000, 984, 1000],
    [0, 200, 0, 0, 0],
  ]) {
    assert.deepEqual(inSight(scrollTop, clientHeight, HEIGHT, count), { first, last }, `${scrollTop} of ${count}`);
  }
});

test("every row that can be seen is among them, wherever it is scrolled", () => {
  for (let scrollTop = 0; scrollTop <= 800; scrollTop += 7) {
    const { first, last } = inSight(scrollTop, 200, HEIGHT, 50);
    for (let at = 0; at < 50; at++) {
      const seen = (at + 1) * HEIGHT > scrollTop && at * HEIGHT < scrollTop + 200;
      if (seen) assert.ok(at >= first && at < last, `row ${at} at ${scrollTop}`);
    }
    assert.ok(last - first <= 10 + 1 + 12, `${last - first} rows at ${scrollTop}`);
  }
});

test("a row is brought into sight with the least scrolling", () => {
  for (const [at, scrollTop, expected] of [
    [5, 0, 0],
    [9, 0, 0],
    [10, 0, 20],
    [99, 0, 1800],
    [3, 100, 60],
    [5, 100, 100],
    [0, 90, 0],
  ]) {
    assert.equal(scrollFor(at, scrollTop, 200, HEIGHT), expected, `row ${at} from ${scrollTop}`);
  }
});

test("of a thousand items sixteen are made, and the room is that of all", () => {
  const { rows, done, ids } = list(1000);
  assert.equal(done.length, 16);
  assert.deepEqual(ids(), range(0, 16));
  assert.equal(rows.space.style.height, "20000px");
});

test("scrolling takes rows out and puts others in, in their order", () => {
  const { rows, scroll, ids } = list(1000);
  scroll(500);
  assert.deepEqual(ids(), range(494, 516));
  scroll(498);
  assert.deepEqual(ids(), range(492, 514));
  const node = rows.shown.get(500).node;
  assert.equal(node.style.transform, "translateY(10000px)");
  assert.deepEqual([node.getAttribute("aria-posinset"), node.getAttribute("aria-setsize")], ["501", "1000"]);
});

test("a row whose item is the same object is not touched, another is changed", () => {
  const { rows, items, done } = list(12);
  done.length = 0;
  rows.set(items);
  assert.deepEqual(done, []);
  rows.set(items.map((item) => (item.id === 3 ? { id: 3 } : item)));
  assert.deepEqual(done, ["change 3"]);
});

test("a row keeps its node when its place changes", () => {
  const { rows, items, done, ids } = list(5);
  const node = rows.shown.get(4).node;
  done.length = 0;
  rows.set([items[4], ...items.slice(0, 4)]);
  assert.deepEqual([ids(), done], [[4, 0, 1, 2, 3], []]);
  assert.equal(rows.shown.get(4).node, node);
  assert.equal(node.getAttribute("aria-posinset"), "1");
});

test("what is no longer in the list leaves the page, and the room shrinks", () => {
  const { rows, items, ids } = list(8);
  rows.set(items.filter(({ id }) => id % 2 === 0));
  assert.deepEqual([ids(), rows.space.style.height], [[0, 2, 4, 6], "80px"]);
  assert.equal(rows.shown.get(6).node.getAttribute("aria-setsize"), "4");
});

test("a row with the focus keeps it when its place changes", () => {
  const { rows, items } = list(5);
  const { node } = rows.shown.get(4);
  node.focus();
  rows.set([items[4], ...items.slice(0, 4)]);
  assert.equal(document.activeElement, node);
});

test("rows that move take the focus from nobody else", () => {
  const { rows, items } = list(5);
  const elsewhere = new Node();
  elsewhere.focus();
  rows.set([...items].reverse());
  assert.equal(document.activeElement, elsewhere);
});

test("a row with the focus stays in the page at its place when it is scrolled away", () => {
  const { rows, scroll, ids } = list(1000);
  const { node } = rows.shown.get(0);
  node.focus();
  scroll(500);
  assert.deepEqual([ids(), document.activeElement], [[0, ...range(494, 516)], node]);
  document.activeElement = null;
  scroll(500);
  assert.deepEqual(ids(), range(494, 516));
});

test("a row with the focus that left the list leaves the page too", () => {
  const { rows, items, scroll, ids } = list(1000);
  rows.shown.get(2).node.focus();
  scroll(500);
  rows.set(items.filter(({ id }) => id !== 2));
  assert.ok(!ids().includes(2));
});

test("a row that is revealed is in the page, and one that is not there is none", () => {
  const { rows } = list(1000);
  assert.equal(rows.reveal(700).id, 700);
  assert.equal(rows.node.scrollTop, 701 * HEIGHT - 200);
  assert.equal(rows.reveal(5000), null);
});

test("a list without items has no rows", () => {
  const { rows, ids } = list(0);
  assert.deepEqual([ids(), rows.space.style.height], [[], "0px"]);
  assert.equal(rows.reveal(0), null);
});
