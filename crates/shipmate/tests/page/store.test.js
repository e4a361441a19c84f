// The picture that a tab keeps from deltas: what replaces what, what was fetched beside the stream,
// and that whoever looks is told once per frame. Frames are run by hand.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hostOf } from "../../src/web/page/hostcells.js";
import { Store, costKey, lifeKey } from "../../src/web/page/store.js";
import { card } from "./made.js";

/** A store whose frames come when they are called, and what was told in each. */
function watched() {
  const frames = [];
  const told = [];
  const store = new Store((run) => frames.push(run));
  store.subscribe((changed) => told.push([...changed].sort()));
  const frame = () => frames.splice(0).forEach((run) => run());
  return { store, frames, told, frame };
}

const delta = (position, more = {}) => ({ position, root: "alpha", now: 0, ...more });
const whole = (position, more = {}) => delta(position, { whole: true, ...more });
const mate = (name, more = {}) => ({ team: "alpha", name, state: "idle", ...more });
const span = (id, more = {}) => ({ id, who: "alpha/ana", epoch: 1, task: 1, began: 0, ...more });

test("a store begins empty and not loaded", () => {
  const { store } = watched();
  assert.deepEqual([store.loaded, store.position, store.tasks.size, store.timelineAt], [false, 0, 0, -1]);
});

test("a whole delta loads it and tells of every part, once", () => {
  const { store, told, frame } = watched();
  store.take(whole(7, { tasks: [card()], teams: [{ name: "alpha" }], log: "L", queue: "slow" }));
  const { loaded, position, root, log, queue } = store;
  assert.deepEqual([loaded, position, root, log, queue], [true, 7, "alpha", "L", "slow"]);
  assert.equal(store.touched.whole, true);
  frame();
  const all = ["accounts", "decisions", "hosts", "lines", "messages", "queue", "tasks", "teammates", "teams", "whole"];
  assert.deepEqual(told, [all]);
  assert.equal(store.touched.whole, false);
});

test("hosts are replaced as a whole, and gone after a whole without any", () => {
  const { store, told, frame } = watched();
  const host = (name, more = {}) => ({ name, state: "joined", ...more });
  store.take(delta(1, { hosts: [host("here"), host("box")] }));
  store.take(delta(2, { hosts: [host("here")] }));
  frame();
  assert.deepEqual([store.hosts.map(({ name }) => name), told], [["here"], [["hosts"]]]);
  store.take(delta(3));
  assert.equal(store.hosts.length, 1);
  store.take(whole(4));
  assert.equal(store.hosts.length, 0);
});

test("a teammate's host is said where there is another one", () => {
  const ana = mate("ana", { host: "box" });
  const box = { name: "box", state: "joined" };
  assert.equal(hostOf([], ana), "");
  assert.equal(hostOf([box, { name: "old", state: "left" }], ana), "");
  assert.equal(hostOf([box, { name: "old", state: "lost" }], ana), "box");
  assert.equal(hostOf([box, { name: "here", state: "joined" }], mate("bo")), "");
});

test("many deltas in one frame are told once, with the parts and rows of all", () => {
  const { store, frames, told, frame } = watched();
  let touched;
  store.subscribe(() => (touched = store.touched));
  store.take(delta(1, { tasks: [card({ id: 1 })] }));
  store.take(delta(2, { tasks: [card({ id: 2 })], teammates: [mate("ana")] }));
  store.take(delta(3, { tasks: [card({ id: 2, subject: "other" })] }));
  assert.equal(frames.length, 1);
  frame();
  assert.deepEqual(told, [["tasks", "teammates"]]);
  assert.deepEqual([[...touched.tasks], [...touched.teammates]], [[1, 2], ["alpha/ana"]]);
});

test("the next frame tells only what is new since", () => {
  const { store, told, frame } = watched();
  store.take(delta(1, { tasks: [card({ id: 1 })] }));
  frame();
  store.take(delta(2, { lines: [{ n: 2, at: 0, event: "a.b", text: "" }] }));
  assert.equal(store.touched.tasks.size, 0);
  frame();
  frame();
  assert.deepEqual(told, [["tasks"], ["lines"]]);
});

test("what changes while it is told is told in the next frame", () => {
  const { store, told, frame } = watched();
  let again = true;
  store.subscribe(() => {
    if (again) store.setLink("open");
    again = false;
  });
  store.take(delta(1, { tasks: [card()] }));
  frame();
  frame();
  assert.deepEqual(told, [["tasks"], ["link"]]);
});

test("one who looks and fails leaves no rows of that frame behind", () => {
  const { store, frames } = watched();
  store.subscribe(() => {
    throw new Error("it fails");
  });
  store.take(delta(1, { tasks: [card()] }));
  assert.throws(() => frames[0](), /it fails/);
  assert.equal(store.touched.tasks.size, 0);
  assert.equal(store.scheduled, false);
});

test("who no longer looks is told nothing", () => {
  const { store, frame } = watched();
  const told = [];
  const leave = store.subscribe(() => told.push("more"));
  leave();
  store.take(delta(1, { tasks: [card()] }));
  frame();
  assert.deepEqual(told, []);
});

test("a delta without news tells nobody, but its position counts", () => {
  const { store, frames } = watched();
  store.take(delta(9));
  assert.equal(frames.length, 0);
  assert.equal(store.position, 9);
});

test("the position never goes back, but with a whole delta", () => {
  const { store } = watched();
  store.take(delta(9));
  store.take(delta(4));
  assert.equal(store.position, 9);
  store.take(whole(4));
  assert.equal(store.position, 4);
});

test("a row is replaced, never changed in place", () => {
  const { store } = watched();
  const first = card({ id: 3, subject: "one" });
  store.take(delta(1, { tasks: [first] }));
  store.take(delta(2, { tasks: [card({ id: 3, subject: "two" })] }));
  assert.equal(first.subject, "one");
  assert.equal(store.tasks.get(3).subject, "two");
});

test("a teammate that is gone leaves, and one that was never there changes nothing", () => {
  const { store, told, frame } = watched();
  store.take(delta(1, { teammates: [mate("ana"), mate("bo")] }));
  frame();
  store.take(delta(2, { gone: ["alpha/ana", "alpha/nobody"] }));
  assert.deepEqual([...store.teammates.keys()], ["alpha/bo"]);
  assert.deepEqual([...store.touched.teammates], ["alpha/ana"]);
  frame();
  assert.deepEqual(told, [["teammates"], ["teammates"]]);
});

test("teammates of one name in two teams are two", () => {
  const { store } = watched();
  store.take(delta(1, { teammates: [mate("ana"), mate("ana", { team: "alpha.qa" })] }));
  assert.deepEqual([...store.teammates.keys()], ["alpha/ana", "alpha.qa/ana"]);
});

test("a whole delta forgets what was there before, also what was fetched", () => {
  const { store } = watched();
  const row = { who: "alpha/ana", tokens_in: 1, tokens_out: 1, tokens_cached: 0, cost_micros: 0, calls: 1 };
  store.take(whole(5, { tasks: [card({ id: 1 })], teammates: [mate("ana")], decisions: [{ id: 1 }] }));
  store.take(delta(6, { lines: [{ n: 6 }], messages: [{ id: 6 }], decided: [{ n: 6 }] }));
  store.takeTimeline({ position: 6, spans: [span("s")], lives: [], path: [1], began: 4, now: 9 });
  store.takeCosts({ position: 6, costs: [row] });
  store.take(whole(8, { tasks: [card({ id: 2 })] }));
  assert.deepEqual([...store.tasks.keys()], [2]);
  for (const part of ["teammates", "teams", "messages", "spans", "lives", "costs", "rowsAt"]) {
    assert.equal(store[part].size, 0, part);
  }
  for (const part of ["decisions", "decided", "lines", "path"]) assert.deepEqual(store[part], [], part);
  assert.deepEqual([store.timelineAt, store.costsAt, store.began], [-1, -1, 0]);
});

test("the list of decisions is replaced as a whole, also by an empty one", () => {
  const { store } = watched();
  store.take(delta(1, { decisions: [{ id: 1 }, { id: 2 }] }));
  store.take(delta(2, {}));
  assert.equal(store.decisions.length, 2);
  store.take(delta(3, { decisions: [] }));
  assert.deepEqual(store.decisions, []);
});

test("lines and past decisions that come twice are kept once, in order", () => {
  const { store } = watched();
  const rows = (...ns) => ns.map((n) => ({ n }));
  store.take(delta(3, { lines: rows(1, 2, 3), decided: rows(1, 3) }));
  store.take(delta(5, { lines: rows(2, 3, 4, 5), decided: rows(3, 5) }));
  assert.deepEqual(store.lines.map(({ n }) => n), [1, 2, 3, 4, 5]);
  assert.deepEqual(store.decided.map(({ n }) => n), [1, 3, 5]);
});

test("the oldest lines, past decisions and messages go when there are too many", () => {
  const { store } = watched();
  const rows = (key, count) => Array.from({ length: count }, (_, n) => ({ [key]: n + 1 }));
  store.take(delta(1, { lines: rows("n", 2100), decided: rows("n", 1100), messages: rows("id", 5100) }));
  assert.deepEqual([store.lines.length, store.lines[0].n, store.lines.at(-1).n], [2000, 101, 2100]);
  assert.deepEqual([store.decided.length, store.decided[0].n], [1000, 101]);
  assert.deepEqual([store.messages.size, store.messages.has(100), store.messages.has(101)], [5000, false, true]);
});

test("messages that come in any order lose the oldest by number", () => {
  const { store } = watched();
  store.takeMessages(Array.from({ length: 5000 }, (_, n) => ({ id: 5002 - n })));
  store.takeMessages([{ id: 1 }, { id: 2 }]);
  assert.equal(store.messages.size, 5000);
  assert.deepEqual([1, 2, 3, 5002].map((id) => store.messages.has(id)), [false, false, true, true]);
});

test("a timeline that is fetched does not undo what the stream knew newer", () => {
  const { store } = watched();
  store.take(delta(10, { spans: [span("a", { ended: 9 })] }));
  store.takeTimeline({ position: 8, spans: [span("a"), span("b")], lives: [], began: 1, now: 2 });
  assert.equal(store.spans.get("a").ended, 9);
  assert.ok(store.spans.has("b"));
});

test("the stream does not undo what was fetched newer", () => {
  const { store } = watched();
  const life = { who: "alpha/ana", epoch: 1, began: 0 };
  const fetched = { spans: [span("a", { ended: 9 })], lives: [{ ...life, ended: 9 }] };
  store.takeTimeline({ position: 10, began: 1, now: 2, ...fetched });
  store.take(delta(10, { spans: [span("a")], lives: [life] }));
  assert.deepEqual([store.spans.get("a").ended, store.lives.get("alpha/ana@1").ended], [9, 9]);
  store.take(delta(11, { spans: [span("a", { ended: 12 })] }));
  assert.equal(store.spans.get("a").ended, 12);
});

test("costs are fetched and followed in the same way, apart from the timeline", () => {
  const { store } = watched();
  const row = (calls, more = {}) => ({ who: "alpha/ana", calls, ...more });
  store.takeTimeline({ position: 20, began: 1, now: 2 });
  store.take(delta(6, { costs: [row(6)] }));
  store.takeCosts({ position: 5, costs: [row(5), row(5, { task: 1 })] });
  assert.equal(store.costs.get("alpha/ana|||").calls, 6);
  assert.equal(store.costs.get("alpha/ana||1|").calls, 5);
  store.takeCosts({ position: 9, costs: [row(9)] });
  store.take(delta(8, { costs: [row(8)] }));
  store.take(delta(9, { costs: [row(7)] }));
  assert.equal(store.costs.get("alpha/ana|||").calls, 9);
});

test("a span is one row whether its id comes as a number or as text", () => {
  const { store } = watched();
  store.take(delta(1, { spans: [span(7)] }));
  store.take(delta(2, { spans: [span("7", { ended: 2 })] }));
  assert.equal(store.spans.size, 1);
  assert.equal(store.spans.get("7").ended, 2);
});

test("what is paid for coordination, for tasks and for models are rows of their own", () => {
  assert.equal(costKey({ who: "a/b" }), "a/b|||");
  assert.equal(costKey({ who: "a/b", model: "m" }), "a/b|m||");
  assert.equal(costKey({ who: "a/b", model: "m", task: 0 }), "a/b|m|0|");
  assert.equal(costKey({ who: "a/b", account: "c" }), "a/b|||c");
  assert.equal(lifeKey({ who: "a/b", epoch: 2 }), "a/b@2");
});

test("a link that is as it was tells nobody", () => {
  const { store, told, frame } = watched();
  store.setLink("opening");
  store.setLink("opening");
  frame();
  store.setLink("opening");
  frame();
  assert.deepEqual(told, [["link"]]);
});

test("the queue is told when it comes and when it is empty again", () => {
  const { store, told, frame } = watched();
  store.take(delta(1, { queue: "3 wait" }));
  frame();
  store.take(delta(2, { queue: "3 wait" }));
  frame();
  store.take(delta(3));
  frame();
  assert.deepEqual([told, store.queue], [[["queue"], ["queue"]], ""]);
});

test("the server's time is kept as a distance to ours", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1000 });
  const { store } = watched();
  store.setClock(51_000);
  t.mock.timers.setTime(3000);
  assert.equal(store.time(), 53_000);
});

test("a picture of the past has its own time and schedules nothing", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 9000 });
  const store = Store.of(whole(4, { now: 2000, tasks: [card({ id: 4 })] }));
  assert.deepEqual([store.time(), store.position, store.loaded, store.tasks.has(4)], [2000, 4, true, true]);
});
