// What a form changes of a task, what its story says, what it cost, and words in lines of a box.

import assert from "node:assert/strict";
import { test } from "node:test";

import { entries } from "../../src/web/page/dialog.js";
import { changesOf, whole } from "../../src/web/page/taskacts.js";
import { about } from "../../src/web/page/taskparts.js";
import { add, price, zero } from "../../src/web/page/screens/cost.js";
import { linesOf } from "../../src/web/page/screens/graph_paint.js";

test("entries of a list stand on lines or between commas", () => {
  assert.deepEqual(entries(" a.rs, b.rs\n\n c d ,,\n"), ["a.rs", "b.rs", "c d"]);
  assert.deepEqual([entries(""), entries(undefined), entries(" , ")], [[], [], []]);
});

test("a number is whole or none", () => {
  assert.deepEqual(["7", " -3 ", "0"].map(whole), [7, -3, 0]);
  for (const text of ["", "1.5", "1e3", "x", undefined]) assert.equal(whole(text), undefined, text);
});

const SAME = { subject: "parse", description: "it", role: "dev" };
const TASK = { ...SAME, priority: 50, files: ["a", "b"], blocked_by: ["1", "2"] };
const FORM = { ...SAME, priority: "50", files: "a\nb", blocked_by: "1, 2" };

test("a form that was not touched changes nothing", () => {
  assert.deepEqual(changesOf(TASK, FORM), {});
  assert.deepEqual(changesOf({ subject: "a", priority: 100 }, { subject: " a ", priority: "100" }), {});
});

test("only what differs is changed", () => {
  for (const [form, changes] of [
    [{ subject: " lex " }, { subject: "lex" }],
    [{ description: "" }, { description: "" }],
    [{ role: "" }, { role: "" }],
    [{ priority: "7" }, { priority: 7 }],
    [{ priority: "soon" }, {}],
    [{ files: "" }, { files: [] }],
    [{ files: "b, a" }, { files: ["b", "a"] }],
    [{ blocked_by: "2, 3" }, { add_blocked_by: ["3"], remove_blocked_by: ["1"] }],
    [{ blocked_by: "2\n1" }, {}],
    [{ blocked_by: "" }, { remove_blocked_by: ["1", "2"] }],
    [{ blocked_by: "1,2,group:auth" }, { add_blocked_by: ["group:auth"] }],
  ]) {
    assert.deepEqual(changesOf(TASK, { ...FORM, ...form }), changes, JSON.stringify(form));
  }
});

test("a step's text is without what stands beside it already", () => {
  for (const [event, by, text, expected] of [
    ["task.claimed", "a/ana@1", "task 7", ""],
    ["task.claimed", "a/ana@1", "7 (parse)", ""],
    ["task.failed", "a/ana@1", "task 7 (parse): no disk", ": no disk"],
    ["task.failed", "a/ana@1", "7, no disk", ": no disk"],
    ["task.failed", "a/ana@1", "task 71 is meant", ": task 71 is meant"],
    ["task.updated", "person", "the subject", ": the subject"],
    ["question.asked", "a/ana@1", "a/ana@1, 42, task 7: tabs?", " 42: tabs?"],
    ["question.answered", "person", "42", " 42"],
    ["plan.approved", "person", "a/ana@1, 42", ": a/ana@1, 42"],
    ["gate.ran", "runtime", "", ""],
  ]) {
    assert.equal(about({ n: 1, at: 0, event, by, text }, 7), expected, `${event}: ${text}`);
  }
  assert.equal(about({ event: "gate.ran" }, 7), "");
});

test("costs add up, and calls without a price stay known as such", () => {
  const sum = zero("ana", "ana");
  const row = { tokens_in: 10, tokens_out: 2, tokens_cached: 4, tokens_unpriced: 0, tokens_estimated: 0, calls: 1 };
  add(sum, { ...row, cost_micros: 540_000 });
  assert.equal(price(sum), "$0.54");
  add(sum, { ...row, cost_micros: 0, tokens_unpriced: 12, tokens_estimated: 3 });
  assert.equal(price(sum), "$0.54 + unknown");
  const expected = { tokens_in: 20, tokens_out: 4, tokens_cached: 8, cost: 540_000, calls: 2, unpriced: 12, estimated: 3, worth: 0, worthUnpriced: 0, subscribed: 0 };
  assert.deepEqual(sum, { key: "ana", name: "ana", ...expected });
  const free = zero("bo", "bo");
  assert.equal(price(free), "$0.00");
  add(free, { ...row, cost_micros: 0, tokens_unpriced: 12 });
  assert.equal(price(free), "price unknown");
  const subscribed = zero("cy", "cy");
  add(subscribed, { ...row, cost_micros: 540_000 }, true);
  assert.equal(price(subscribed), "subscription (worth $0.54)");
  add(subscribed, { ...row, cost_micros: 0, tokens_unpriced: 12 }, true);
  assert.equal(price(subscribed), "subscription (worth at least $0.54)");
});

test("words are broken between each other, and the last line holds all that is left", () => {
  const g = { measureText: (text) => ({ width: text.length }) };
  assert.deepEqual(linesOf(g, "write a parser for it", 8, 9), ["write a", "parser", "for it"]);
  assert.deepEqual(linesOf(g, "write a parser for it", 8, 2), ["write a", "parser for it"]);
  assert.deepEqual(linesOf(g, "write a parser", 8, 1), ["write a parser"]);
  assert.deepEqual(linesOf(g, "unbreakable words", 4, 9), ["unbreakable", "words"]);
  assert.deepEqual(linesOf(g, "", 8, 3), [""]);
});
