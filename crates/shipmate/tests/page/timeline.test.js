// The timeline: which record belongs to which time, what is expected of the path, which row a bar
// stands in, and zoom and pan. No page: the parts that draw are not made.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Store } from "../../src/web/page/store.js";
import { Timeline } from "../../src/web/page/screens/timeline.js";
import { Lanes, nextInRow, rowsOf, stepOf } from "../../src/web/page/screens/timeline_lanes.js";
import { Bars } from "../../src/web/page/screens/timeline_bar.js";
import { board, card, chance, withoutPage } from "./made.js";

/** A timeline at this time of the server, without its nodes. */
function timeline({ moments = [], now = 0, spans = [], tasks = board(), ...more } = {}) {
  const store = new Store(() => {});
  store.time = () => now;
  store.tasks = tasks;
  for (const one of spans) store.spans.set(String(one.id), one);
  return withoutPage(Timeline, { ctx: { store }, moments, quiet: false, began: null, shown: null, ...more });
}

const MOMENTS = [[10, 1000], [20, 2000], [20, 2500], [40, 6000]];

test("a record has its time, and between two known ones a share of it", () => {
  const line = timeline({ moments: MOMENTS });
  const times = [10, 15, 20, 30, 40].map((position) => line.timeOf(position));
  assert.deepEqual(times, [1000, 1500, 2500, 4250, 6000]);
});

test("a record after the last known one has its time", () => {
  assert.equal(timeline({ moments: MOMENTS }).timeOf(99), 6000);
  assert.equal(timeline({ moments: [[3, 700]] }).timeOf(3), 700);
});

test("the record nearest to a time is one of those that there are", () => {
  const line = timeline({ moments: MOMENTS });
  const found = [0, 1000, 1449, 1500, 2000, 2400, 6000, 9999].map((at) => line.nearest(at));
  assert.deepEqual(found, [10, 10, 14, 15, 20, 20, 40, 40]);
});

test("the record at the time of a record is that record", () => {
  const next = chance(5);
  const moments = [];
  for (let n = 0, position = 1, at = 0; n < 50; n++) {
    moments.push([(position += 1 + Math.floor(next() * 9)), (at += 100 + Math.floor(next() * 1000))]);
  }
  const line = timeline({ moments });
  for (let position = moments[0][0]; position <= moments.at(-1)[0]; position++) {
    assert.equal(line.nearest(line.timeOf(position)), position);
  }
});

test("a big step is a twentieth of all records, and ten at least", () => {
  const strided = (last) => {
    const line = timeline({ moments: [[0, 0], [last, 1]] });
    line.ctx.store.position = last;
    return line.stride();
  };
  assert.deepEqual([strided(40), strided(1000), strided(10_000)], [10, 50, 500]);
});

test("the last record is that of the picture or of the moments, whichever is later", () => {
  const line = timeline({ moments: [[3, 1], [9, 2]] });
  assert.deepEqual([line.first(), line.last()], [3, 9]);
  line.ctx.store.position = 12;
  assert.equal(line.last(), 12);
  assert.equal(timeline().first(), 0);
});

test("a step goes from the record that is shown, and from now only back", () => {
  const steps = (shown, by) => {
    const line = timeline({ moments: [[0, 0], [50, 1]], shown });
    const gone = [];
    line.travel = (to) => gone.push(to);
    line.step(by);
    return gone;
  };
  assert.deepEqual([steps(null, -1), steps(null, 1), steps(20, 1), steps(20, -10)], [[49], [], [21], [10]]);
});

test("a team is quiet a minute after its last record, unless somebody holds a task", () => {
  const ended = { id: 1, began: 0, ended: 5000 };
  const quiet = (now, spans) => timeline({ moments: [[1, 1000]], now, spans }).isQuiet();
  assert.equal(quiet(65_000, [ended]), false);
  assert.equal(quiet(65_001, [ended]), true);
  assert.equal(quiet(900_000, [ended, { id: 2, began: 0 }]), false);
  assert.equal(timeline({ now: 900_000 }).isQuiet(), false, "nothing is known yet");
});

test("the lanes end now, or shortly after the last record where it is quiet", () => {
  const line = timeline({ moments: [[1, 1000], [2, 101_000]], now: 900_000, began: 1000 });
  assert.equal(line.end(), 900_000);
  line.quiet = true;
  assert.equal(line.end(), 102_000);
  line.began = 100_900;
  assert.equal(line.end(), 101_500);
});

test("a claim is a bar with its parts, and as work where none are told", () => {
  const line = timeline({ tasks: board({ id: 3, subject: "parse" }) });
  assert.deepEqual(line.bar({ task: 3, began: 5, ended: 9, end: "failed" }, true), {
    ...{ task: 3, label: "parse", from: 5, to: 9, marked: true, end: "failed" },
    parts: [{ kind: "works", from: 5, to: 9 }],
  });
  const open = line.bar({ task: 4, began: 5 }, false);
  assert.deepEqual([open.label, open.to, "end" in open], ["", undefined, false]);
  assert.deepEqual(open.parts, [{ kind: "works", from: 5 }]);
  const parts = [{ kind: "gate", from: 6 }];
  assert.equal(line.bar({ task: 3, began: 5, parts }, false).parts, parts);
});

/** What is expected: `task from-to`. */
const expected = (lane) => lane.spans.filter((bar) => bar.guess).map((bar) => `${bar.task} ${bar.from}-${bar.to}`);

test("what is left of the path is expected one after the other, from now on", () => {
  const tasks = board(
    { id: 1, path_ms: 90_000 },
    { id: 2, path_ms: 50_000, blocked_by: ["1"] },
    { id: 3, path_ms: 20_000, blocked_by: ["2"] },
  );
  const lane = timeline({ now: 1000, tasks }).pathLane([], [1, 2, 3]);
  assert.deepEqual(expected(lane), ["1 1000-41000", "2 41000-71000", "3 71000-91000"]);
});

test("of a task in progress only the rest is expected, and always a little", () => {
  const running = (changed_at) => {
    const tasks = board({ id: 1, status: "in_progress", path_ms: 30_000, changed_at });
    return expected(timeline({ now: 100_000, tasks }).pathLane([], [1]));
  };
  assert.deepEqual(running(90_000), ["1 100000-120000"]);
  assert.deepEqual(running(10_000), ["1 100000-101000"]);
});

test("a path that is quiet, or a task that is done meanwhile, expects nothing", () => {
  const tasks = board({ id: 1, path_ms: 9000 });
  assert.deepEqual(expected(timeline({ tasks, quiet: true }).pathLane([], [1])), []);
  assert.deepEqual(expected(timeline({ tasks: board({ id: 1, status: "completed" }) }).pathLane([], [1, 7])), []);
});

test("the lane of the path has every claim of its tasks, earliest first", () => {
  const spans = [
    { id: "a", task: 2, began: 50, ended: 60 },
    { id: "b", task: 1, began: 10, ended: 20 },
    { id: "c", task: 9, began: 5, ended: 8 },
  ];
  const tasks = new Map([[2, card({ id: 2, status: "completed" })]]);
  const lane = timeline({ now: 100, spans, tasks }).pathLane([1], [2]);
  assert.deepEqual(lane.spans.map((bar) => [bar.task, bar.from, bar.marked]), [[1, 10, true], [2, 50, true]]);
});

test("bars that overlap stand in rows under each other, and a row is used again", () => {
  const bars = (...pairs) => pairs.map(([from, to]) => ({ from, to }));
  assert.deepEqual(rowsOf([]), []);
  assert.deepEqual(rowsOf(bars([0, 5], [5, 9], [9, 12])), [0, 0, 0]);
  assert.deepEqual(rowsOf(bars([0, 9], [1, 3], [2, 4], [3, 5], [9, 10])), [0, 1, 2, 1, 0]);
  assert.deepEqual(rowsOf(bars([0, undefined], [5, 6], [7, 8])), [0, 1, 1]);
});

test("no two bars of one row are at one time, and no row more is used than bars overlap", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const next = chance(seed);
    const bars = Array.from({ length: 60 }, () => {
      const from = Math.floor(next() * 100);
      return { from, to: from + 1 + Math.floor(next() * 12) };
    }).sort((a, b) => a.from - b.from);
    const rows = rowsOf(bars);
    let overlap = 0;
    bars.forEach((one, i) => {
      overlap = Math.max(overlap, bars.filter((other) => other.from <= one.from && other.to > one.from).length);
      bars.slice(0, i).forEach((other, k) => {
        assert.ok(rows[i] !== rows[k] || other.to <= one.from, `seed ${seed}: ${i} and ${k} lie on each other`);
      });
    });
    assert.equal(Math.max(...rows) + 1, overlap, `seed ${seed}`);
  }
});

test("the room beside a bar ends where the next of its row begins", () => {
  const bars = [0, 2, 5, 8].map((from) => ({ from }));
  assert.deepEqual(nextInRow(bars, [0, 1, 0, 1]), [5, 8, undefined, undefined]);
  assert.deepEqual(nextInRow([], []), []);
});

test("marks of the axis are at round distances, and a week at most", () => {
  const steps = [1, 1000, 1001, 61_000, 3_600_000, 90_000_000, 9e12].map(stepOf);
  assert.deepEqual(steps, [1000, 1000, 2000, 120_000, 3_600_000, 172_800_000, 604_800_000]);
});

/** Lanes of a width, over these times. */
function lanes(began, until) {
  const made = withoutPage(Lanes, {
    told: { moved() {} }, later() {}, space: { style: {} }, width: 1150, height: 300, gutter: 150, fitted: true,
    from: 0, to: 1,
  });
  made.show([], began, until);
  return made;
}

test("all of the time is in sight until somebody zooms", () => {
  const made = lanes(10_000, 110_000);
  assert.deepEqual([made.from, made.to, made.fitted], [8500, 111_500, true]);
  made.show([], 10_000, 210_000);
  assert.deepEqual([made.from, made.to], [7000, 213_000]);
  made.zoom(2);
  const before = [made.from, made.to];
  made.show([], 10_000, 310_000);
  assert.deepEqual([made.fitted, made.from, made.to], [false, ...before]);
});

test("a second is in sight at least", () => {
  const made = lanes(5000, 5000);
  assert.deepEqual([made.began, made.until], [5000, 6000]);
});

test("a place on the axis and its time belong together", () => {
  const made = lanes(0, 100_000);
  for (const x of [150, 400, 1150]) assert.ok(Math.abs(made.x(made.timeAt(x)) - x) < 1e-9);
  assert.equal(made.timeAt(150), made.from);
  assert.equal(made.timeAt(1150), made.to);
});

test("zoom keeps the time under the pointer where it is", () => {
  const made = lanes(0, 1_000_000);
  for (const [by, x] of [[1.4, 300], [3, 900], [1 / 1.2, 500]]) {
    const at = made.timeAt(x);
    made.zoom(by, x);
    assert.ok(Math.abs(made.timeAt(x) - at) < 1e-6, `by ${by} at ${x}`);
  }
  const middle = (made.from + made.to) / 2;
  made.zoom(2);
  assert.ok(Math.abs((made.from + made.to) / 2 - middle) < 1e-6, "with a key, that in the middle");
});

test("zoom ends at two seconds and at a little more than all", () => {
  const made = lanes(0, 1_000_000);
  for (let n = 0; n < 60; n++) made.zoom(1.4);
  assert.equal(Math.round(made.to - made.from), 2000);
  for (let n = 0; n < 90; n++) made.zoom(1 / 1.4);
  assert.equal(Math.round(made.to - made.from), 1_200_000);
});

test("pan moves by what was dragged, and never loses the lanes for good", () => {
  const made = lanes(0, 1_000_000);
  made.zoom(10);
  const { from, to } = made;
  made.pan(100);
  assert.ok(Math.abs(made.from - from - (to - from) / 10) < 1e-6);
  for (let n = 0; n < 200; n++) made.pan(1000);
  assert.equal(made.from, 1_000_000);
  for (let n = 0; n < 400; n++) made.pan(-1000);
  assert.equal(Math.round(made.to), 0);
});

test("a lane is as high as its rows, and the next begins under it", () => {
  const made = lanes(0, 100);
  const bar = (from, to) => ({ from, to });
  made.show([{ spans: [] }, { spans: [bar(0, 9), bar(1, 9), bar(2, 9)] }, { spans: [bar(0, 1)] }], 0, 100);
  assert.deepEqual(made.places.map(({ top, height }) => [top, height]), [[26, 30], [56, 74], [130, 30]]);
});

test("a lane of very many claims is laid out", () => {
  const made = lanes(0, 100);
  const spans = Array.from({ length: 300_000 }, (_, n) => ({ from: n, to: n + 1 }));
  made.show([{ spans }], 0, 300_000);
  assert.equal(made.places[0].height, 30);
});

/** A canvas on which every letter is ten wide. */
const canvas = () => {
  const g = { asked: 0, measureText: (text) => (g.asked++, { width: 10 * text.length }) };
  return g;
};

test("a text is cut to its room, or left out where not even its beginning has any", () => {
  const g = canvas();
  const bars = new Bars();
  assert.equal(bars.fitting(g, "parser", 60), "parser");
  assert.equal(bars.fitting(g, "write a parser", 80), "write a…");
  assert.equal(bars.fitting(g, "write a parser", 70), "write…");
  assert.equal(bars.fitting(g, "parser", 15), "");
  assert.equal(bars.fitting(g, "a\u202eb", 300), "a\\u{202e}b");
});

test("a text that was cut before is not measured again", () => {
  const g = canvas();
  const bars = new Bars();
  bars.fitting(g, "write a parser", 80);
  const { asked } = g;
  bars.fitting(g, "write a parser", 80);
  assert.equal(g.asked, asked);
});
