// Messages in conversations, decisions with their answers, and who is meant.

import assert from "node:assert/strict";
import { test } from "node:test";

import { called, isNotice, isUnread, kindWord, recipients } from "../../src/web/page/screens/message_parts.js";
import { partners } from "../../src/web/page/screens/message_write.js";
import { threadsOf } from "../../src/web/page/screens/messages.js";
import { firstLine, others, verdicts, waits } from "../../src/web/page/screens/decisions.js";
import { told } from "../../src/web/page/screens/told.js";
import { Refused } from "../../src/web/page/api.js";

/** A message `from>to,to`, with how far it came. */
function message(id, way, more = {}) {
  const [from, to] = way.split(">");
  const state = more.state ?? "acknowledged";
  const sent = to === "" ? [] : to.split(",").map((who) => ({ to: who, state, at: 0 }));
  return { id, from, to: sent, thread: id, kind: "message", sent_at: id, ...more };
}

const threads = (rows, wanted = rows) => {
  const found = threadsOf(wanted, new Map(rows.map((row) => [row.id, row])));
  return found.map((one) => [one.rows.map(({ id }) => id).join(" "), one.unread]);
};

test("messages of one thread stand together, oldest first, and the latest thread is first", () => {
  const rows = [
    message(1, "alpha/ana@1>person"),
    message(2, "alpha/bo@1>alpha/ana"),
    message(3, "person>alpha/ana", { thread: 1 }),
  ];
  assert.deepEqual(threads(rows), [["1 3", 0], ["2", 0]]);
});

test("a thread is shown whole when one of its messages fits", () => {
  const answer = message(2, "person>alpha/ana", { thread: 1 });
  const rows = [message(1, "alpha/ana@1>person"), answer, message(3, "a/b@1>a/c")];
  assert.deepEqual(threads(rows, [answer]), [["1 2", 0]]);
});

test("notices stand together by whom they are for, unless they are in a conversation", () => {
  const rows = [
    message(1, "runtime>person"),
    message(2, "runtime>alpha/ana@1"),
    message(3, "runtime>person"),
    message(4, "alpha/ana@1>person"),
    message(5, "runtime>person", { thread: 4 }),
    message(6, "runtime>alpha/ana@2"),
  ];
  assert.deepEqual(threads(rows), [["2 6", 0], ["4 5", 0], ["1 3", 0]]);
});

test("a thread counts what the person has not read, and names who takes part once", () => {
  const rows = [
    message(1, "alpha/ana@1>person", { state: "queued" }),
    message(2, "alpha/ana@2>person", { thread: 1, state: "injected" }),
    message(3, "alpha/ana@2>alpha/bo", { thread: 1, state: "queued" }),
    message(4, "person>alpha/ana", { thread: 1 }),
  ];
  const [thread] = threadsOf(rows, new Map(rows.map((row) => [row.id, row])));
  assert.deepEqual([thread.unread, thread.people, thread.last.id], [2, ["ana", "you", "bo"], 4]);
});

test("a message is unread until the person has it, whoever else does not", () => {
  const unread = (way, state) => isUnread(message(1, way, { state }));
  const states = ["queued", "offered", "injected", "acknowledged", "expired", "bounced"];
  assert.deepEqual(states.filter((state) => unread("a/b>person", state)), ["queued", "offered", "injected"]);
  assert.equal(unread("a/b>a/c", "queued"), false);
  assert.equal(isUnread({ id: 1 }), false);
});

test("who gets it is named, or counted where they are many", () => {
  assert.equal(recipients(message(1, "a/b>")), "nobody");
  assert.equal(recipients(message(1, "a/b>person,a/ana@2")), "you, ana");
  assert.equal(recipients(message(1, "a/b>a/c,a/d,a/e,a/f")), "4 teammates");
  assert.deepEqual([called("person"), called("alpha/ana@3")], ["you", "ana"]);
  assert.deepEqual([isNotice({ from: "runtime" }), isNotice({ from: "a/runtime@1" })], [true, false]);
  assert.equal(kindWord("plan_approval-request"), "plan approval request");
});

test("an answer goes to who wrote to the person, else to all whom it is between", () => {
  assert.deepEqual(partners(message(1, "a/ana@2>person,a/bo")), ["a/ana"]);
  assert.deepEqual(partners(message(1, "a/ana@2>a/bo@1,a/cy@4")), ["a/bo", "a/cy", "a/ana"]);
  assert.deepEqual(partners(message(1, "person>a/ana")), ["a/ana", "person"]);
});

const decision = (kind, options, more = {}) => ({
  ...{ id: 1, kind, team: "alpha", at: 0, waiting: 0, waiting_ms: 0 },
  ...(options ? { options } : {}),
  ...more,
});

test("yes and no are answers only where they can be, as in the terminal", () => {
  for (const [kind, options, yes, no] of [
    ["plan", undefined, "Approve", "Reject"],
    ["approval", undefined, "Approve", undefined],
    ["permission", undefined, "Allow", "Deny"],
    ["permission", ["allow", "deny"], "Allow", "Deny"],
    ["scope", ["grant", "refuse"], "Grant", "Refuse"],
    ["question", ["Yes", "no"], "Yes", "No"],
    ["question", ["tabs", "spaces"], undefined, undefined],
    ["question", ["yes"], undefined, undefined],
    ["question", ["yes please", "no"], undefined, undefined],
    ["question", undefined, undefined, undefined],
    ["permission", ["once", "always"], undefined, undefined],
  ]) {
    const said = verdicts(decision(kind, options));
    assert.deepEqual([said.yes, said.no], [yes, no], `${kind} ${options}`);
  }
});

test("what is answered is the option as it was asked", () => {
  const said = verdicts(decision("question", ["maybe", "YES", "No"]));
  assert.deepEqual([said.yesIs, said.noIs], ["YES", "No"]);
  assert.deepEqual(others(decision("question", ["maybe", "YES", "No"])), ["maybe"]);
  assert.deepEqual(others(decision("permission")), []);
});

test("a decision says how much waits for it", () => {
  const waiting = (waiting, waiting_ms) => waits(decision("plan", undefined, { waiting, waiting_ms }));
  assert.equal(waiting(0, 0), "no task waits for it");
  assert.equal(waiting(1, 0), "1 task waits");
  assert.equal(waiting(7, 2_520_000), "7 tasks wait, 42 min of work");
});

test("a decision is named by its first line that says something", () => {
  assert.equal(firstLine(decision("question", undefined, { text: "\n  \nTabs?\nOr spaces?" })), "Tabs?");
  assert.equal(firstLine(decision("question", undefined, { text: "x".repeat(500) })).length, 160);
  assert.equal(firstLine(decision("plan", undefined, { work: { tasks: [{}, {}] } })), "2 tasks planned");
  assert.equal(firstLine(decision("plan")), "no words");
});

test("what went wrong is told with its remedy", () => {
  assert.equal(told(new Refused("It is gone.", "Look again.", 404, "Gone")), "It is gone. Look again.");
  assert.equal(told(new Refused("It is gone.", "", 404, "Gone")), "It is gone.");
  assert.equal(told(new Error("broken")), "broken");
  assert.equal(told("words"), "words");
});

test("only a token that is not good locks the page", () => {
  assert.deepEqual([401, 403, 0].map((status) => new Refused("", "", status, "").locked), [true, false, false]);
});
