// Where tasks are drawn: columns by the longest chain before, few crossings, nothing on top of
// anything else, and the same drawing for the same tasks. The clock stands still or is counted.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { BOX, layOut, roomyBoxes, usualBoxes } from "../../src/web/page/screens/graph_layout.js";
import { chance } from "./made.js";

const STILL = { clock: () => 0 };

afterEach(() => usualBoxes());

/** `b: a` is a task b that waits for a; `b/g: a` is one of the group g. @param {string} text */
function items(text) {
  return text.split(";").map((one) => {
    const [name, after = ""] = one.split(":").map((part) => part.trim());
    const [key, group] = name.split("/");
    const waits = after.split(" ").filter(Boolean).map((k) => (k.startsWith("@") ? `group:${k.slice(1)}` : k));
    return { key, after: waits, ...(group ? { group } : {}) };
  });
}

/** Tasks that each wait for some of the `span` before. */
function scattered(count, span, most, seed) {
  const next = chance(seed);
  return Array.from({ length: count }, (_, n) => ({
    key: String(n),
    after: Array.from({ length: Math.floor(next() * (most + 1)) }, () => n - 1 - Math.floor(next() * span))
      .filter((other) => other >= 0)
      .map(String),
  }));
}

const layersOf = (placed) => Object.fromEntries(placed.keys.map((key, n) => [key, placed.layer[n]]));

/** The points of an edge from column to column. */
function wayOf(placed, e) {
  const middle = BOX.height / 2;
  const bends = placed.bends[e] ?? [];
  const points = [[placed.x[placed.from[e]], placed.y[placed.from[e]] + middle]];
  for (let i = 0; i < bends.length; i += 2) points.push([bends[i], bends[i + 1]]);
  points.push([placed.x[placed.to[e]], placed.y[placed.to[e]] + middle]);
  return points;
}

/** Crossings between neighbouring columns, each pair of edges looked at. */
function crossingsIn(placed) {
  const pieces = new Map();
  placed.bends.forEach((_, e) => {
    const way = wayOf(placed, e);
    for (let i = 0; i + 1 < way.length; i++) {
      const between = pieces.get(way[i][0]) ?? [];
      pieces.set(way[i][0], [...between, [way[i][1], way[i + 1][1]]]);
    }
  });
  let found = 0;
  for (const list of pieces.values()) {
    list.forEach(([a, b], i) => {
      for (const [c, d] of list.slice(i + 1)) if ((a - c) * (b - d) < 0) found++;
    });
  }
  return found;
}

/** Straight edges that cross, for drawings whose edges are not led around tasks. */
function straightCrossings(placed) {
  const side = (a, b, c) => Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
  const edges = placed.bends.map((_, e) => wayOf(placed, e));
  let found = 0;
  edges.forEach(([a, b], i) => {
    for (const [c, d] of edges.slice(i + 1)) {
      if (side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0) found++;
    }
  });
  return found;
}

/** What holds for every drawing. */
function assertSound(placed, message) {
  const { keys, x, y, width, height, from, to, columns } = placed;
  keys.forEach((key, n) => {
    assert.ok(x[n] >= 0 && x[n] + BOX.width <= width + 1e-6, `${message}: ${key} is left or right of the drawing`);
    assert.ok(y[n] >= -1e-6 && y[n] + BOX.height <= height + 1e-6, `${message}: ${key} is above or below it`);
  });
  from.forEach((f, e) => assert.ok(x[f] < x[to[e]], `${message}: ${keys[to[e]]} stands right of ${keys[f]}`));
  assert.deepEqual(columns.flat().sort((a, b) => a - b), [...keys.keys()], `${message}: each stands in one column`);
  columns.forEach((column, c) => {
    column.forEach((n, i) => {
      assert.equal(x[n], c * BOX.stepX, `${message}: ${keys[n]} stands where its column is`);
      if (i === 0) return;
      const gap = y[n] - y[column[i - 1]];
      assert.ok(gap >= BOX.stepY - 1e-6, `${message}: ${keys[n]} is ${gap} under ${keys[column[i - 1]]}`);
    });
  });
}

test("no tasks are an empty drawing", () => {
  const placed = layOut([], STILL);
  assert.deepEqual([placed.keys, placed.columns, placed.width, placed.height], [[], [], 0, 0]);
  assert.deepEqual([placed.from.length, placed.bends.length, placed.crossings], [0, 0, 0]);
});

test("one task is as large as its box", () => {
  const placed = layOut(items("a"), STILL);
  assert.deepEqual([placed.x[0], placed.y[0], placed.width, placed.height], [0, 0, BOX.width, BOX.height]);
});

test("a task's column is the length of the longest chain before it", () => {
  for (const [text, layers] of [
    ["a; b: a; c: b", { a: 0, b: 1, c: 2 }],
    ["a; b: a; c: a b", { a: 0, b: 1, c: 2 }],
    ["a; b; c: a b; d: b", { a: 0, b: 0, c: 1, d: 1 }],
    ["d: c; c: b; b: a; a", { a: 0, b: 1, c: 2, d: 3 }],
    ["a; b: a a a", { a: 0, b: 1 }],
    ["a; b: gone", { a: 0, b: 0 }],
    ["a: a; b: a", { a: 0, b: 1 }],
  ]) {
    const placed = layOut(items(text), STILL);
    assert.deepEqual(layersOf(placed), layers, text);
    assertSound(placed, text);
  }
});

test("a group stands between its members and who waits for it, with one edge each", () => {
  const placed = layOut(items("a/g; b/g; c: @g; d: @g"), STILL);
  assert.deepEqual(layersOf(placed), { a: 0, b: 0, c: 2, d: 2, "group:g": 1 });
  const edges = [...placed.from].map((f, e) => `${placed.keys[f]}>${placed.keys[placed.to[e]]}`);
  assert.deepEqual(edges.sort(), ["a>group:g", "b>group:g", "group:g>c", "group:g>d"]);
  assertSound(placed, "a group");
});

test("a group that nobody waits for is not drawn", () => {
  const placed = layOut(items("a/g; b/g"), STILL);
  assert.deepEqual(placed.keys, ["a", "b"]);
});

test("a group without members, and a member that waits for its own group, are drawn all the same", () => {
  assert.deepEqual(layersOf(layOut(items("a: @none"), STILL)), { a: 1, "group:none": 0 });
  assert.deepEqual(layersOf(layOut(items("a/g; b/g: @g"), STILL)), { a: 0, b: 2, "group:g": 1 });
});

test("a cycle, which no board has, is still a drawing of all its tasks", () => {
  const placed = layOut(items("a: c; b: a; c: b; d: a"), STILL);
  assert.equal(placed.keys.length, 4);
  assert.equal(placed.from.length, 4);
  assert.equal(placed.columns.flat().length, 4);
  assert.ok([...placed.x, ...placed.y].every(Number.isFinite));
});

test("two chains that are told crosswise are drawn without a crossing", () => {
  const placed = layOut(items("a; b; y: b; x: a; q: y; p: x"), STILL);
  assert.equal(placed.crossings, 0);
  assert.equal(crossingsIn(placed), 0);
});

test("a tree has no crossing, whatever the order its tasks are told in", () => {
  const above = (n) => (n === 0 ? [] : [String((n - 1) >> 1)]);
  const tree = Array.from({ length: 63 }, (_, n) => ({ key: String(n), after: above(n) }));
  for (let seed = 1; seed <= 20; seed++) {
    const next = chance(seed);
    const shuffled = tree.map((one) => ({ one, at: next() })).sort((a, b) => a.at - b.at).map(({ one }) => one);
    assert.equal(layOut(shuffled, STILL).crossings, 0, `seed ${seed}`);
  }
});

test("the crossings that it says are those that it draws", () => {
  let crossed = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const placed = layOut(scattered(24, 8, 3, seed), STILL);
    assert.equal(placed.crossings, crossingsIn(placed), `seed ${seed}`);
    crossed += placed.crossings;
  }
  assert.ok(crossed > 0, "some of them cannot be drawn without");
});

test("sweeps never leave more crossings than the order they began with", () => {
  let fewer = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const told = scattered(30, 10, 3, seed);
    const swept = layOut(told, STILL).crossings;
    const unswept = layOut(told, { clock: () => 0, budget_ms: 0 }).crossings;
    assert.ok(swept <= unswept, `seed ${seed}: ${swept} after, ${unswept} before`);
    if (swept < unswept) fewer++;
  }
  assert.ok(fewer > 20, `only ${fewer} of 40 have fewer`);
});

test("where crossings are too many to count, every sweep that there is time for is made", () => {
  const told = scattered(400, 60, 2, 7);
  let asked = 0;
  const placed = layOut(told, { clock: () => (asked++, 0) });
  assert.equal(placed.crossings, -1, "its edges are not led around tasks");
  // Twelve sweeps for the order and five for the heights look at the clock, and the beginning does.
  assert.ok(asked >= 12, `the clock was looked at ${asked} times`);
  // After one sweep, as when the time was up, it is worse.
  let looks = 0;
  const early = layOut(told, { clock: () => (looks++ < 2 ? 0 : 1e9) });
  const [all, one] = [straightCrossings(placed), straightCrossings(early)];
  assert.ok(all < 0.9 * one, `${all} with all sweeps, ${one} with one`);
});

test("the same tasks give the same drawing", () => {
  for (const told of [items("a; b: a; c: a; d: b c"), scattered(80, 12, 3, 3), scattered(500, 500, 3, 4)]) {
    assert.deepEqual(layOut(structuredClone(told), STILL), layOut(told, STILL));
  }
});

test("a drawing does not change the tasks that it is of", () => {
  const told = scattered(40, 10, 3, 5);
  const before = structuredClone(told);
  layOut(told, STILL);
  assert.deepEqual(told, before);
});

test("tasks stand right of what they wait for and on top of nothing", () => {
  for (let seed = 1; seed <= 60; seed++) {
    for (const [count, span, most] of [[12, 4, 2], [40, 12, 3], [90, 90, 1], [200, 30, 4]]) {
      assertSound(layOut(scattered(count, span, most, seed), STILL), `${count} tasks, seed ${seed}`);
    }
  }
});

test("an edge over several columns is led through each of them, inside the drawing", () => {
  let led = 0;
  const told = [items("a; b: a; c: a; d: c a")];
  for (let seed = 1; seed <= 300; seed++) told.push(scattered(13, 9, 3, seed));
  told.forEach((tasks, at) => {
    const placed = layOut(tasks, STILL);
    placed.bends.forEach((bends, e) => {
      const over = placed.layer[placed.to[e]] - placed.layer[placed.from[e]] - 1;
      assert.equal(bends?.length ?? 0, 2 * over, `drawing ${at}: a point for each column in between`);
      for (let i = 0; bends && i < bends.length; i += 2) {
        led++;
        assert.equal(bends[i], (placed.layer[placed.from[e]] + 1 + i / 2) * BOX.stepX);
        const inside = bends[i + 1] >= 0 && bends[i + 1] <= placed.height;
        assert.ok(inside, `drawing ${at}: an edge passes at ${bends[i + 1]} of ${placed.height}`);
      }
    });
  });
  assert.ok(led > 1000, `${led} points`);
});

test("an edge that passes a column goes through none of its tasks", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const placed = layOut(scattered(20, 8, 3, seed), STILL);
    placed.bends.forEach((bends) => {
      for (let i = 0; bends && i < bends.length; i += 2) {
        for (const n of placed.columns[bends[i] / BOX.stepX]) {
          const hit = bends[i + 1] > placed.y[n] && bends[i + 1] < placed.y[n] + BOX.height;
          assert.ok(!hit, `seed ${seed}: an edge runs through ${placed.keys[n]}`);
        }
      }
    });
  }
});

test("a chain is drawn level", () => {
  const placed = layOut(items("a; b: a; c: b; d: c"), STILL);
  assert.deepEqual([...placed.y], [0, 0, 0, 0]);
  assert.equal(placed.width, 4 * BOX.width + 3 * BOX.gapX);
});

test("a task between two stands at the middle of them", () => {
  const placed = layOut(items("a; b; c: a b"), STILL);
  const [a, b, c] = ["a", "b", "c"].map((key) => placed.y[placed.at.get(key)]);
  assert.equal(c, (a + b) / 2);
});

test("edges between neighbouring columns run nearly level", () => {
  let [rise, edges] = [0, 0];
  for (let seed = 1; seed <= 40; seed++) {
    const { from, to, layer, y } = layOut(scattered(24, 8, 2, seed), STILL);
    from.forEach((f, e) => {
      if (layer[to[e]] - layer[f] > 1) return;
      rise += Math.abs(y[to[e]] - y[f]);
      edges++;
    });
  }
  // 28 with heights as they are; 44 where each column begins at the top.
  assert.ok(rise / edges < 34, `${rise / edges} on average`);
});

test("tasks that nothing hangs on stand under the rest, in reading order", () => {
  const placed = layOut(items("a; b: a; u; v; w"), STILL);
  const below = ["u", "v", "w"].map((key) => placed.at.get(key));
  const foot = placed.y[placed.at.get("b")] + BOX.height;
  for (const n of below) assert.ok(placed.y[n] >= foot + BOX.gapY, placed.keys[n]);
  const read = [...below].sort((a, b) => placed.y[a] - placed.y[b] || placed.x[a] - placed.x[b]);
  assert.deepEqual(read, below);
  assertSound(placed, "with lone tasks");
});

test("a thousand lone tasks are a block, not a column", () => {
  const placed = layOut(Array.from({ length: 1000 }, (_, n) => ({ key: String(n), after: [] })), STILL);
  assertSound(placed, "a thousand");
  const shape = placed.width / placed.height;
  assert.ok(shape > 0.5 && shape < 4, `${placed.width} by ${placed.height}`);
});

test("thirty tasks behind one stand in one column, in the order they are told in", () => {
  const behind = Array.from({ length: 30 }, (_, n) => ({ key: String(n), after: ["first"] }));
  const placed = layOut([{ key: "first", after: [] }, ...behind], STILL);
  assert.deepEqual(placed.columns.map((column) => column.length), [1, 30]);
  assert.deepEqual(placed.columns[1].map((n) => placed.keys[n]), behind.map(({ key }) => key));
  assert.equal(placed.y[0], (placed.y[1] + placed.y[30]) / 2, "the first stands beside the middle of them");
});

test("two thousand tasks behind one are folded", () => {
  const told = [{ key: "first", after: [] }];
  for (let n = 0; n < 2000; n++) told.push({ key: String(n), after: ["first"] });
  const placed = layOut(told, STILL);
  assertSound(placed, "two thousand");
  assert.ok(placed.columns.length > 2, "one layer takes several columns");
  assert.ok(placed.height < 2000 * BOX.stepY / 4, `${placed.height} high`);
});

test("ten thousand tasks are drawn, as one chain or scattered", () => {
  const chain = Array.from({ length: 10_000 }, (_, n) => ({ key: String(n), after: n > 0 ? [String(n - 1)] : [] }));
  const long = layOut(chain, STILL);
  assert.equal(long.columns.length, 10_000);
  assert.equal(long.layer[9999], 9999);
  assertSound(layOut(scattered(10_000, 10_000, 2, 11), STILL), "ten thousand");
});

test("edges over thousands of columns do not become millions of points", () => {
  const before = (n) => (n > 0 ? [String(n - 1), "0"] : []);
  const told = Array.from({ length: 3000 }, (_, n) => ({ key: String(n), after: before(n) }));
  const placed = layOut(told, STILL);
  assert.ok(placed.bends.every((bends) => bends === null));
  assert.equal(placed.crossings, -1);
});

test("a drawing ends soon after its time is up", () => {
  let asked = 0;
  const clock = () => asked++;
  layOut(scattered(300, 40, 3, 9), { clock, budget_ms: 3 });
  assert.ok(asked < 8, `the clock was looked at ${asked} times`);
});

test("boxes for few tasks grow with the room, within limits, and are the usual ones again", () => {
  const usual = { width: BOX.width, height: BOX.height, gapX: BOX.gapX };
  const placed = layOut(items("a; b: a; c: a"), STILL);
  for (const [width, height, expected] of [
    [600, 200, { width: 272, height: 93 }],
    [10_000, 10_000, { width: 320, height: 104 }],
    [10, 10, { width: 150, height: 46 }],
  ]) {
    usualBoxes();
    roomyBoxes(placed, width, height);
    assert.deepEqual({ width: BOX.width, height: BOX.height, roomy: BOX.roomy }, { ...expected, roomy: true });
    assertSound(layOut(items("a; b: a; c: a"), STILL), `in ${width} by ${height}`);
  }
  usualBoxes();
  assert.deepEqual({ width: BOX.width, height: BOX.height, gapX: BOX.gapX }, usual);
  assert.equal(BOX.roomy, false);
});
