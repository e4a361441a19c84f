// The chain of tasks that decides when the team is done: what is left of it, and what lies behind.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isUnfinished,
  pathAhead,
  pathBehind,
  pathWords,
  waiting,
  workTime,
} from "../../src/web/page/screens/critical.js";
import { board } from "./made.js";

const done = (id, changed_at, more = {}) => ({ id, status: "completed", changed_at, ...more });

test("work is said in whole minutes, and never as sixty of them", () => {
  for (const [ms, expected] of [
    [0, "0 ms"],
    [30_000, "30 s"],
    [59_499, "59 s"],
    [59_500, "1 min"],
    [89_000, "1 min"],
    [91_000, "2 min"],
    [2_520_000, "42 min"],
    [3_569_000, "59 min"],
    [3_570_000, "1 h 00 min"],
    [3_600_000, "1 h 00 min"],
    [3_960_000, "1 h 06 min"],
  ]) {
    assert.equal(workTime(ms), expected, String(ms));
  }
});

test("what is completed or deleted is finished, and what failed is not", () => {
  const statuses = ["pending", "in_progress", "completed", "failed", "deleted"];
  assert.deepEqual(statuses.filter((status) => isUnfinished({ status })), ["pending", "in_progress", "failed"]);
});

test("a board without tasks has no path", () => {
  assert.deepEqual(pathAhead(new Map()), []);
  assert.deepEqual(pathBehind(new Map(), []), []);
});

test("the path begins with the longest way and follows the longest behind each", () => {
  const tasks = board(
    { id: 1, path_ms: 60 },
    { id: 2, path_ms: 90 },
    { id: 3, path_ms: 50, blocked_by: ["1", "2"] },
    { id: 4, path_ms: 20, blocked_by: ["2"] },
    { id: 5, path_ms: 10, blocked_by: ["3"] },
  );
  assert.deepEqual(pathAhead(tasks), [2, 3, 5]);
});

test("of two ways of one length the older task's is taken", () => {
  assert.deepEqual(pathAhead(board({ id: 9, path_ms: 5 }, { id: 4, path_ms: 5 })), [4]);
});

test("finished tasks are passed over, and a failed one is part of the path", () => {
  const tasks = board(
    done(1, 5, { path_ms: 99 }),
    { id: 2, status: "failed", path_ms: 40, blocked_by: ["1"] },
    { id: 3, path_ms: 30, blocked_by: ["2"] },
    { id: 4, status: "deleted", path_ms: 80, blocked_by: ["2"] },
  );
  assert.deepEqual(pathAhead(tasks), [2, 3]);
});

test("a group stands for its members", () => {
  const tasks = board(
    { id: 1, group: "g", path_ms: 30 },
    { id: 2, group: "g", path_ms: 40 },
    { id: 3, path_ms: 10, blocked_by: ["group:g", "1"] },
  );
  const links = waiting(tasks);
  assert.deepEqual(links.behind(tasks.get(1)), [3]);
  assert.deepEqual(links.behind(tasks.get(2)), [3]);
  assert.deepEqual(links.before(tasks.get(3)), [1, 2]);
  assert.deepEqual(links.before(tasks.get(1)), []);
  assert.deepEqual(pathAhead(tasks), [2, 3]);
});

test("what lies behind is what was completed last before each", () => {
  const tasks = board(
    done(1, 10),
    done(2, 20),
    done(3, 30, { blocked_by: ["1", "2"] }),
    done(4, 25, { blocked_by: ["1"] }),
    { id: 5, path_ms: 9, blocked_by: ["3", "4"] },
  );
  assert.deepEqual(pathBehind(tasks, pathAhead(tasks)), [2, 3]);
});

test("where nothing is left, what lies behind ends with the last that was completed", () => {
  const tasks = board(done(1, 10), done(2, 40, { blocked_by: ["1"] }), done(3, 30));
  assert.deepEqual(pathBehind(tasks, []), [1, 2]);
});

test("a dependency that is not there, or a circle, ends the path", () => {
  assert.deepEqual(pathBehind(board(done(2, 40, { blocked_by: ["1"] })), []), [2]);
  const round = board({ id: 1, path_ms: 5, blocked_by: ["2"] }, { id: 2, path_ms: 5, blocked_by: ["1"] });
  assert.deepEqual(pathAhead(round), [1, 2]);
  const past = board(done(1, 1, { blocked_by: ["2"] }), done(2, 2, { blocked_by: ["1"] }));
  assert.deepEqual(pathBehind(past, []), [1, 2]);
});

test("the path is told with its work, its tasks and what failed on it", () => {
  const tasks = board({ id: 1, path_ms: 480_000 }, { id: 2, status: "failed", path_ms: 60_000 });
  assert.equal(pathWords(tasks, [1]), "8 min of work on the critical path (1 task)");
  const two = "8 min of work on the critical path (2 tasks), 1 task failed on it";
  assert.equal(pathWords(tasks, [1, 2]), two);
});
