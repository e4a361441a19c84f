// Every state has a word and a sign, one name for one thing; amounts and times are rounded as people
// read them. That they are those of the terminal needs no test: both have them from one table.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as words from "../../src/web/page/words.js";
import * as table from "../../src/web/page/wordtable.js";
import { card } from "./made.js";

const shown = ({ sign, word }) => `${sign} ${word}`;
const source = (path) => readFileSync(new URL(`../../src/${path}`, import.meta.url), "utf8");

test("a task is shown in one of eight states", () => {
  for (const [status, stage, available, expected] of [
    ["pending", undefined, false, "○ pending"],
    ["pending", undefined, true, "◌ ready"],
    ["in_progress", undefined, false, "◐ in progress"],
    ["in_progress", "claimed", true, "◐ in progress"],
    ["in_progress", "returned", false, "↩ returned"],
    ["in_progress", "submitted", false, "◑ in the gate"],
    ["completed", undefined, false, "● completed"],
    ["failed", undefined, false, "✕ failed"],
    ["deleted", undefined, false, "⌫ deleted"],
  ]) {
    assert.equal(shown(words.taskState({ status, stage, available })), expected);
  }
});

test("a status or stage of a newer server is shown as something", () => {
  assert.equal(shown(words.taskState({ status: "resting", available: false })), "○ pending");
  assert.equal(shown(words.taskState({ status: "in_progress", stage: "resting" })), "◐ in progress");
  assert.equal(shown(words.mateState({ state: "resting" })), "○ resting");
  assert.equal(shown(words.phaseState({ state: "resting" })), "○ resting");
  assert.equal(shown(words.deliveryState("resting")), "○ resting");
  assert.equal(words.decisionKind("resting"), "resting");
  assert.equal(words.spanEnd("resting"), "resting");
});

test("no two states of a task have the same sign, word or key", () => {
  const states = Object.entries(words.TASK_STATES);
  for (const part of ["key", "sign", "word"]) {
    assert.equal(new Set(states.map(([, state]) => state[part])).size, states.length, part);
  }
  for (const [name, state] of states) assert.equal(state.key, name);
});

test("teammates, phases and deliveries are shown as their table says", () => {
  for (const [states, of] of [
    [table.TEAMMATE_STATES, (state) => words.mateState({ state })],
    [table.PHASE_STATES, (state) => words.phaseState({ state })],
    [table.DELIVERY_STATES, (state) => words.deliveryState(state)],
  ]) {
    for (const [name, state] of Object.entries(states)) {
      assert.deepEqual(of(name), state);
      assert.ok(state.key in words.TASK_STATES, `${name} has the colour of a task`);
    }
  }
  assert.equal(shown(words.mateState({ state: "active" })), "◐ working");
  assert.equal(shown(words.phaseState({ state: "skipped" })), "⌫ left out");
  assert.equal(shown(words.deliveryState("acknowledged")), "● read");
});

test("every state that the page knows of has a colour in its styles", () => {
  const styles = source("web/page/style.css");
  for (const key of Object.keys(words.TASK_STATES)) assert.match(styles, new RegExp(`--${key}\\b`), key);
});

test("what a task failed with is said where it stands still for that", () => {
  const failed = { status: "failed", last_failure: "no disk" };
  assert.equal(words.failure(card(failed)), "no disk");
  assert.equal(words.failure(card({ status: "failed", why: ["held", "failed: no net"] })), "no net");
  assert.equal(words.failure(card({ status: "in_progress", stage: "returned", why: ["came back: red"] })), "red");
  assert.equal(words.failure(card({ status: "in_progress", stage: "claimed", last_failure: "no disk" })), "");
  assert.equal(words.failure(card({ status: "pending", last_failure: "no disk" })), "");
  assert.equal(words.failure(card({ status: "failed" })), "");
});

test("what it waits for is everything but what it failed with", () => {
  const why = ["failed: x", "blocked by 3", "came back: y", "it failed: z"];
  assert.deepEqual(words.waitsFor(card({ why })), ["blocked by 3", "it failed: z"]);
  assert.deepEqual(words.waitsFor(card()), []);
});

test("a pause says who asks, and an approval that it is the person's", () => {
  const approval = { pause: { kind: "approval", by: "runtime" }, paused: "approval: merge now?" };
  assert.deepEqual(words.pauseWords(approval), { word: "waits for your approval", text: "merge now?" });
  const lead = { pause: { kind: "asked", by: "alpha/ana@2" }, paused: "lunch" };
  assert.deepEqual(words.pauseWords(lead), { word: "paused by ana", text: "lunch" });
  assert.deepEqual(words.pauseWords({ pause: { kind: "asked", by: "person" } }), { word: "paused", text: "" });
  assert.deepEqual(words.pauseWords({}), { word: "paused", text: "" });
});

test("an event is said in words, known or not", () => {
  for (const [event, expected] of [
    ["task.claimed", "took it"],
    ["gate.ran", "ran the gate"],
    ["task.moved_aside", "moved aside"],
    ["phase.left_out", "phase left out"],
    ["task", "task"],
    ["", ""],
  ]) {
    assert.equal(words.eventWord(event), expected, event);
  }
});

test("a claim that has not ended goes on", () => {
  assert.equal(words.spanEnd(undefined), "goes on");
  assert.equal(words.spanEnd("gone"), "teammate gone");
  assert.equal(words.spanEnd("completed"), "completed");
});

test("who is a team, a name and an epoch", () => {
  assert.deepEqual(words.parts("alpha/ana@12"), { team: "alpha", name: "ana", epoch: 12 });
  assert.deepEqual(words.parts("alpha/ana"), { team: "alpha", name: "ana", epoch: 0 });
  assert.deepEqual(words.parts("person"), { team: "", name: "person", epoch: 0 });
  assert.deepEqual(words.parts("alpha.qa/bo@1"), { team: "alpha.qa", name: "bo", epoch: 1 });
  assert.deepEqual(["alpha/ana@2", "person", "", undefined, null].map(words.nameOf), ["ana", "person", "", "", ""]);
  assert.deepEqual(["alpha/ana@2", "alpha/ana", "person"].map(words.seatOf), ["alpha/ana", "alpha/ana", "person"]);
});

test("an age is short, and never of the future", () => {
  const day = 86_400_000;
  for (const [ms, age, ago] of [
    [-5000, "now", "now"],
    [999, "now", "now"],
    [1000, "1s", "1s ago"],
    [59_999, "59s", "59s ago"],
    [60_000, "1m", "1m ago"],
    [3_599_999, "59m", "59m ago"],
    [3_600_000, "1h", "1h ago"],
    [day - 1, "23h", "23h ago"],
    [day, "1d", "1d ago"],
    [400 * day, "400d", "400d ago"],
  ]) {
    assert.deepEqual([words.age(ms), words.ago(ms)], [age, ago], String(ms));
  }
});

test("how long it took never shows a unit that is full", () => {
  for (const [ms, expected] of [
    [-3, "0 ms"],
    [0, "0 ms"],
    [850.4, "850 ms"],
    [999.4, "999 ms"],
    [999.6, "1 s"],
    [1000, "1 s"],
    [59_499, "59 s"],
    [59_500, "1 min 00 s"],
    [245_000, "4 min 05 s"],
    [3_599_499, "59 min 59 s"],
    [3_599_500, "1 h 00 min"],
    [12_000_000, "3 h 20 min"],
    [360_000_000, "100 h 00 min"],
  ]) {
    assert.equal(words.lasted(ms), expected, String(ms));
  }
});

test("money is in cents, and little money is not none", () => {
  for (const [micros, expected] of [
    [0, "$0.00"],
    [1, "<$0.01"],
    [9_999, "<$0.01"],
    [10_000, "$0.01"],
    [536_000, "$0.54"],
    [999_999, "$1.00"],
    [1_234_500_000, "$1,234.50"],
  ]) {
    assert.equal(words.money(micros), expected);
  }
});

test("a price that nobody knows never looks like nothing", () => {
  assert.equal(words.price(0, 0), "$0.00");
  assert.equal(words.price(0, 10), "price unknown");
  assert.equal(words.price(540_000, 10), "$0.54 + unknown");
  assert.equal(words.price(540_000, 0), "$0.54");
  assert.equal(words.cost({ cost_micros: 0 }), "$0.00");
  assert.equal(words.cost({ cost_micros: 0, tokens_unpriced: 7 }), "price unknown");
  assert.equal(words.cost({ cost_micros: 540_000 }), "$0.54");
  const subscribed = { cost_micros: 540_000, tokens_used: 9, subscription: true };
  assert.equal(words.cost({ ...subscribed, cost_notional_micros: 540_000, tokens_subscription: 9 }), "subscription (worth $0.54)");
  const partly = { ...subscribed, cost_notional_micros: 540_000, tokens_subscription: 9, tokens_subscription_unpriced: 4 };
  assert.equal(words.cost(partly), "subscription (worth at least $0.54)");
  assert.equal(words.cost(subscribed), "$0.54", "it was used with a key, before it fell over");
  assert.equal(words.cost({ cost_micros: 0, subscription: true }), "subscription");
  const mixed = { cost_micros: 540_000, cost_notional_micros: 40_000, tokens_subscription: 9, tokens_unpriced: 7 };
  assert.equal(words.cost(mixed), "$0.50 + unknown + subscription (worth $0.04)");
});

test("tokens are rounded to three digits, and never to a thousand of a unit", () => {
  for (const [n, expected] of [
    [0, "0"],
    [999, "999"],
    [1000, "1.0k"],
    [12_340, "12.3k"],
    [99_949, "99.9k"],
    [99_950, "100k"],
    [999_499, "999k"],
    [999_500, "1.0M"],
    [4_100_000, "4.1M"],
    [99_949_000, "99.9M"],
    [99_950_000, "100M"],
  ]) {
    assert.equal(words.tokens(n), expected);
  }
  for (let n = 1; n < 2e7; n = Math.ceil(n * 1.003)) assert.doesNotMatch(words.tokens(n), /^\d{4}/, String(n));
});

test("what is counted is one or many", () => {
  const tasks = [0, 1, 2, 1234].map((n) => words.count(n, "task"));
  assert.deepEqual(tasks, ["0 tasks", "1 task", "2 tasks", "1,234 tasks"]);
  assert.deepEqual([1, 2].map((n) => words.count(n, "entry", "entries")), ["1 entry", "2 entries"]);
  assert.deepEqual([1, 2, 1000].map(words.times), ["once", "2 times", "1,000 times"]);
});

test("where a teammate may run is said only where it may not run anywhere", () => {
  const told = [undefined, {}, { host: "box" }, { labels: ["big", "gpu"] }, { host: "box", labels: ["gpu"] }];
  assert.deepEqual(told.map(words.placeWords), ["", "", "on box", "on a host with big, gpu", "on box, with gpu"]);
});

test("a part of nothing has no percentage", () => {
  assert.deepEqual([words.percent(0, 0), words.percent(1, 0), words.percent(0, 4)], ["–", "–", "0%"]);
  assert.deepEqual([words.percent(1, 3), words.percent(2, 3), words.percent(5, 4)], ["33%", "67%", "125%"]);
});

test("attempts that failed are counted with the one that a task ended with", () => {
  const told = (status, retries, retries_max = 2) => words.attempts({ status, retries, retries_max });
  assert.equal(told("pending", 0), null);
  assert.deepEqual(told("pending", 1), { short: "failed 1 of 3", long: "failed once, gives up after 3" });
  assert.deepEqual(told("in_progress", 2), { short: "failed 2 of 3", long: "failed 2 times, gives up after 3" });
  assert.deepEqual(told("failed", 0), { short: "failed once", long: "failed once, given up" });
  assert.deepEqual(told("failed", 2), { short: "failed 3 times", long: "failed 3 times, given up" });
  assert.deepEqual(told("completed", 1), { short: "failed once", long: "failed once before" });
  assert.deepEqual(told("pending", 5, 2), { short: "failed 5 of 5", long: "failed 5 times, gives up after 5" });
});

test("a gate is green or red, with how often it was red", () => {
  const said = (passed, red) => words.gateWord({ passed, red });
  assert.deepEqual([said(true, 0), said(true, 2)], ["✓ green", "✓ green (2 red before)"]);
  assert.deepEqual([said(false, 1), said(false, 3)], ["✕ red", "✕ red (3 times)"]);
});

test("a commit is cut and words are not", () => {
  assert.equal(words.shortCommit("0123456789abcdef0123"), "012345678");
  assert.equal(words.shortCommit("012345678"), "012345678");
  assert.equal(words.shortCommit("working tree"), "working tree");
  assert.equal(words.shortCommit("deadbeefdeadbeefX"), "deadbeefdeadbeefX");
});

test("a time of day has hours up to 23, minutes and seconds", () => {
  assert.match(words.clock(Date.UTC(2024, 0, 1, 0, 0, 5)), /^([01]\d|2[0-3])\D\d\d\D05$/);
});

test("a teammate's own budget is shown with what is used of it", () => {
  const mate = { tokens_used: 12_300, cost_micros: 540_000 };
  const budget = (set) => words.ownBudget({ ...mate, ...set });
  assert.equal(budget({}), "");
  assert.equal(budget({ tokens_max: 0 }), "12.3k of 0 tokens");
  assert.equal(
    budget({ tokens_max: 20_000, cost_micros_max: 5_000_000, window_max: 200, window_used: 125 }),
    "12.3k of 20.0k tokens, $0.54 of $5.00, 12.5 % of a window of at most 20 %",
  );
});
