// Which task stands in which lane, and that moving one card gives the board that sorting all of
// them would give.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Lanes, NO_FILTER, isFiltered, passes } from "../../src/web/page/lanes.js";
import { card, chance } from "./made.js";

const laneOf = (lanes, key) => lanes.lanes.find((one) => one.key === key).cards.map(({ id }) => id);
const all = (lanes) => lanes.lanes.map((one) => [one.key, one.cards.map(({ id }) => id)]);

/** @param {"columns" | "list"} view @param {object[]} cards */
function filled(view, cards, filter = NO_FILTER) {
  const lanes = new Lanes(view);
  lanes.fill(cards.map(card), filter);
  return lanes;
}

test("each state has its lane, and a returned task stands with those in progress", () => {
  const lanes = filled("columns", [
    { id: 1, available: false },
    { id: 2 },
    { id: 3, status: "in_progress", stage: "claimed" },
    { id: 4, status: "in_progress", stage: "returned" },
    { id: 5, status: "in_progress", stage: "submitted" },
    { id: 6, status: "completed" },
    { id: 7, status: "failed" },
  ]);
  assert.deepEqual(all(lanes), [
    ["pending", [1]], ["ready", [2]], ["claimed", [3, 4]], ["submitted", [5]], ["completed", [6]], ["failed", [7]],
    ["deleted", []],
  ]);
});

test("deleted tasks are shown only to who asks for them", () => {
  const cards = [{ id: 1, status: "deleted" }, { id: 2 }];
  assert.deepEqual(laneOf(filled("columns", cards), "deleted"), []);
  const lanes = filled("columns", cards, { ...NO_FILTER, state: "deleted" });
  assert.deepEqual([laneOf(lanes, "deleted"), laneOf(lanes, "ready")], [[1], []]);
});

test("what is ready stands in the order it is handed out: priority, longest path, age", () => {
  const lanes = filled("columns", [
    { id: 1, priority: 100, path_ms: 5 },
    { id: 2, priority: 100, path_ms: 9 },
    { id: 3, priority: 10, path_ms: 0 },
    { id: 4, priority: 100, path_ms: 9 },
  ]);
  assert.deepEqual(laneOf(lanes, "ready"), [3, 2, 4, 1]);
});

test("what is over stands with the latest first", () => {
  const lanes = filled("columns", [
    { id: 1, status: "completed", changed_at: 5 },
    { id: 2, status: "completed", changed_at: 9 },
    { id: 3, status: "completed", changed_at: 5 },
  ]);
  assert.deepEqual(laneOf(lanes, "completed"), [2, 3, 1]);
});

test("the list has what moves first and what is over last", () => {
  const lanes = filled("list", [
    { id: 1, status: "completed" },
    { id: 2, available: false },
    { id: 3 },
    { id: 4, status: "failed" },
    { id: 5, status: "in_progress" },
    { id: 6, status: "in_progress", stage: "submitted" },
    { id: 7, status: "in_progress", stage: "returned" },
  ]);
  assert.deepEqual(laneOf(lanes, "all"), [7, 6, 5, 4, 3, 2, 1]);
});

test("in the list too, what is over stands with the latest first and the rest by urgency", () => {
  const two = (status) => [
    { id: 1, status, changed_at: 5, priority: 1, available: true },
    { id: 2, status, changed_at: 9, priority: 2, available: true },
  ];
  for (const [status, order] of [["completed", [2, 1]], ["failed", [2, 1]], ["pending", [1, 2]]]) {
    assert.deepEqual(laneOf(filled("list", two(status)), "all"), order, status);
  }
});

test("a filter passes what fits all of its parts", () => {
  const one = card({
    id: 12,
    subject: "Write the Parser",
    owner: "alpha/ana@3",
    status: "in_progress",
    alias: "AUTH-1",
    group: "auth",
    files: ["src/Lexer.rs"],
  });
  for (const [filter, fits] of [
    [{}, true],
    [{ text: "parser" }, true],
    [{ text: "12" }, true],
    [{ text: "#12" }, true],
    [{ text: "2" }, false],
    [{ text: "auth-1" }, true],
    [{ text: "lexer" }, true],
    [{ text: "ana" }, true],
    [{ text: "an" }, false],
    [{ text: "alpha" }, false],
    [{ state: "claimed" }, true],
    [{ state: "ready" }, false],
    [{ owner: "alpha/ana" }, true],
    [{ owner: "alpha/an" }, false],
    [{ owner: "beta/ana" }, false],
    [{ owner: "-" }, false],
    [{ part: "team:alpha" }, true],
    [{ part: "team:alph" }, false],
    [{ part: "group:auth" }, true],
    [{ part: "group:au" }, false],
    [{ waits: true }, false],
    [{ text: "parser", owner: "beta/ana" }, false],
  ]) {
    assert.equal(passes({ ...NO_FILTER, ...filter }, one), fits, JSON.stringify(filter));
  }
});

test("a task without an owner is found by whom it is assigned to", () => {
  const assigned = card({ assignee: "bo" });
  assert.equal(passes({ ...NO_FILTER, owner: "alpha/bo" }, assigned), true);
  assert.equal(passes({ ...NO_FILTER, owner: "-" }, assigned), false);
  assert.equal(passes({ ...NO_FILTER, owner: "-" }, card()), true);
});

test("what stands still is blocked, failed, or waits while it is in progress", () => {
  const waits = (more) => passes({ ...NO_FILTER, waits: true }, card(more));
  assert.equal(waits({ available: false }), true);
  assert.equal(waits({ status: "failed" }), true);
  assert.equal(waits({ status: "in_progress", why: ["asks you"] }), true);
  assert.equal(waits({ status: "in_progress", stage: "returned", why: ["came back: red"] }), false);
  assert.equal(waits({}), false);
  assert.equal(waits({ status: "completed" }), false);
});

test("a filter is one when any part of it is set", () => {
  assert.equal(isFiltered(NO_FILTER), false);
  for (const part of [{ text: "a" }, { state: "failed" }, { owner: "-" }, { part: "team:a" }, { waits: true }]) {
    assert.equal(isFiltered({ ...NO_FILTER, ...part }), true, JSON.stringify(part));
  }
});

test("a changed card leaves its lane for the other, and both are fresh", () => {
  const lanes = filled("columns", [{ id: 1 }, { id: 2 }]);
  for (const one of lanes.lanes) one.fresh = false;
  lanes.move(1, card({ id: 1, status: "in_progress" }), NO_FILTER);
  assert.deepEqual([laneOf(lanes, "ready"), laneOf(lanes, "claimed")], [[2], [1]]);
  assert.deepEqual(lanes.lanes.filter((one) => one.fresh).map((one) => one.key), ["ready", "claimed"]);
});

test("a card that is the same object touches nothing", () => {
  const same = card({ id: 1 });
  const lanes = new Lanes("columns");
  lanes.fill([same], NO_FILTER);
  for (const one of lanes.lanes) one.fresh = false;
  lanes.move(1, same, NO_FILTER);
  lanes.move(9, undefined, NO_FILTER);
  assert.ok(lanes.lanes.every((one) => !one.fresh));
});

test("a card that went, or fits the filter no more, stands nowhere", () => {
  const lanes = filled("columns", [{ id: 1 }, { id: 2 }]);
  lanes.move(1, undefined, NO_FILTER);
  lanes.move(2, card({ id: 2, status: "deleted" }), NO_FILTER);
  assert.ok(lanes.lanes.every((one) => one.cards.length === 0));
  assert.equal(lanes.spot(1), null);
});

test("after any changes the lanes are as if all were sorted anew", () => {
  const statuses = [
    ["pending"], ["pending"], ["in_progress", "claimed"], ["in_progress", "submitted"], ["in_progress", "returned"],
    ["completed"], ["failed"], ["deleted"],
  ];
  for (const view of ["columns", "list"]) {
    for (let seed = 1; seed <= 15; seed++) {
      const next = chance(seed);
      const pick = (n) => Math.floor(next() * n);
      const made = (id) => {
        const [status, stage] = statuses[pick(statuses.length)];
        const few = { priority: pick(3), path_ms: pick(3), changed_at: pick(4), available: pick(2) === 0 };
        return card({ id, status, ...(stage ? { stage } : {}), ...few });
      };
      const filter = { ...NO_FILTER, waits: seed % 4 === 0 };
      const cards = new Map(Array.from({ length: 30 }, (_, id) => [id, made(id)]));
      const lanes = new Lanes(view);
      lanes.fill(cards.values(), filter);
      for (let n = 0; n < 120; n++) {
        const id = pick(40);
        if (pick(6) === 0) cards.delete(id);
        else cards.set(id, made(id));
        lanes.move(id, cards.get(id), filter);
      }
      const anew = new Lanes(view);
      anew.fill(cards.values(), filter);
      assert.deepEqual(all(lanes), all(anew), `${view}, seed ${seed}`);
      for (const [id, { lane }] of lanes.placed) {
        const spot = lanes.spot(id);
        assert.equal(lanes.lanes[spot.lane], lane);
        assert.equal(lane.cards[spot.at].id, id);
      }
    }
  }
});
